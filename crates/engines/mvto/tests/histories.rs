//! What concurrent transactions saw, judged by both judges: there is a serial order, the claimed one is one, and it is that
//! of real time.

mod support;

use check::{History, Model, Operation, Record, Scalar, Status};
use env::{Clock, MonotonicClock, Randomness};
use model::history::{self, Recorder};
use model::{Access, Begin, Columns, Finish, Interactive, Item, Key, Mode, Result, RowBuf, Scan, Storage, TableId};
use seriatim_mvto::{Mvto, Options};
use std::ops::{Bound, ControlFlow};
use std::thread;
use support::{integer, registers};

/// A configuration under test: limits so small that the rare path is the common one.
#[derive(Clone, Copy, Debug)]
struct Setting {
    threads: u32,
    sites: usize,
    /// Keys in each of the two tables.
    keys: u64,
    /// Versions of a row.
    versions: usize,
    /// Modes that a transaction may draw.
    modes: &'static [Mode],
    /// Operations of the whole history, about.
    operations: u32,
    /// The longest scan, in rows.
    scan_rows: u64,
    /// Whether clients pause between statements.
    thinks: bool,
}

const MIXED: &[Mode] = &[Mode::ReadWrite, Mode::ReadWrite, Mode::OwnAtStatement, Mode::ReadOnly, Mode::Snapshot];

/// Operations that a transaction asks for on average; each is written down as one or two.
const STATEMENTS: u64 = 6;

/// What one client does: random transactions on few keys.
struct Client<'e> {
    engine: &'e Mvto,
    setting: Setting,
    ordered: TableId,
    hash: TableId,
    clock: MonotonicClock,
    number: u32,
    random: Randomness,
    written: u64,
}

impl Client<'_> {
    fn run(mut self) -> Vec<history::Transaction> {
        let mut operations = 0;
        let mut history = Vec::new();
        while operations < self.setting.operations / self.setting.threads {
            let transaction = self.transaction();
            // Transactions that fail at once count too, so that every run ends.
            operations += transaction.operations.len().max(1) as u32;
            history.push(transaction);
        }
        history
    }

    fn transaction(&mut self) -> history::Transaction {
        let start_ns = self.clock.now();
        let mode = self.setting.modes[self.below(self.setting.modes.len() as u64) as usize];
        let begin = Begin { mode, ..Begin::default() };
        let mut transaction = self.engine.begin(begin).expect("begin only notes down");
        transaction.set_reads_wait(self.below(2) == 0);
        let mut recorder = Recorder::new(transaction);
        for _ in 0..1 + self.below(2 * STATEMENTS - 1) {
            // Mistakes and duplicates leave the transaction alive; after an abort everything fails alike.
            let _ = self.statement(&mut recorder);
            if self.setting.thinks && self.below(8) == 0 {
                thread::yield_now(); // Others go on beside what it owns.
            }
        }
        let (transaction, operations) = recorder.into_parts();
        let reads_only = matches!(mode, Mode::ReadOnly | Mode::Snapshot);
        let outcome = if !reads_only && self.below(20) == 0 {
            transaction.abort();
            history::Outcome::Aborted
        } else {
            match transaction.commit() {
                Ok(committed) => history::Outcome::Committed(committed.serial_point),
                Err(error) if reads_only => panic!("read-only transactions always commit: {error}"),
                Err(_) => history::Outcome::Aborted,
            }
        };
        if self.below(64) == 0 {
            self.engine.collect();
        }
        history::Transaction { client: self.number, start_ns, end_ns: self.clock.now(), outcome, operations }
    }

    fn statement(&mut self, access: &mut impl Access) -> Result<()> {
        let table = if self.below(3) == 0 { self.hash } else { self.ordered };
        let key = Key::from_u64(self.below(self.setting.keys));
        let mut row = RowBuf::new();
        match self.below(10) {
            0..=2 => access.read(table, &key, Columns::All, &mut row).map(drop),
            3 => access.read_for_update(table, &key, &mut row).map(drop),
            4 | 5 => access.put(table, &key, self.value().row()),
            6 | 7 => access.insert(table, &key, self.value().row()),
            8 => access.delete(table, &key).map(drop),
            _ => self.scan(access),
        }
    }

    fn scan(&mut self, access: &mut impl Access) -> Result<()> {
        let mut bound = || match self.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(Key::from_u64(self.below(self.setting.keys))),
            _ => Bound::Excluded(Key::from_u64(self.below(self.setting.keys))),
        };
        let (lower, upper) = (bound(), bound());
        let mut scan = Scan::table(self.ordered).between(lower, upper);
        if self.below(2) == 0 {
            scan = scan.backward();
        }
        let mut left = 1 + self.below(self.setting.scan_rows);
        let end = access.scan(&scan, &mut |_: Item<'_>| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        end.map(drop)
    }

    /// A value that is never written again.
    fn value(&mut self) -> RowBuf {
        self.written += 1;
        RowBuf::from_bytes(&(self.written << 8 | u64::from(self.number)).to_be_bytes())
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.in_range(0..limit)
    }
}

/// Keys of the hash table stand behind those of the ordered one.
const HASHED: u64 = 1 << 32;

/// The history in the judges' words.
fn told(history: Vec<history::Transaction>, hash: TableId) -> Vec<Record> {
    history.into_iter().enumerate().map(|(id, transaction)| record(id as u64, transaction, hash)).collect()
}

fn record(id: u64, transaction: history::Transaction, hash: TableId) -> Record {
    let (status, serial_point) = match transaction.outcome {
        history::Outcome::Committed(point) => (Status::Committed, Some(point.0)),
        history::Outcome::Aborted => (Status::Aborted, None),
        history::Outcome::Unknown => (Status::Unknown, None),
    };
    let operations = transaction.operations.into_iter().filter_map(|it| operation(it, hash)).collect();
    let process = transaction.client.into();
    Record { id, process, start_ns: transaction.start_ns, end_ns: transaction.end_ns, status, serial_point, operations }
}

/// `None` for a scan of an empty range, of which the format has none.
fn operation(operation: history::Operation, hash: TableId) -> Option<Operation> {
    let scalar = |table: TableId, key: &Key| Scalar::from(integer(key) + if table == hash { HASHED } else { 0 });
    let value = |row: &[u8]| Scalar::from(integer(row));
    Some(match operation {
        history::Operation::Read(table, key, row) => {
            Operation::Read { key: scalar(table, &key), value: row.map(|row| value(&row)), version: None }
        }
        history::Operation::Write(table, key, row) => {
            Operation::Write { key: scalar(table, &key), value: value(&row), version: None }
        }
        history::Operation::Delete(table, key) => Operation::Delete { key: scalar(table, &key), version: None },
        history::Operation::Scan(_, lower, upper, rows) => {
            let low = match lower {
                Bound::Unbounded => 0,
                Bound::Included(key) => integer(&key),
                Bound::Excluded(key) => integer(&key) + 1,
            };
            let high = match upper {
                Bound::Unbounded => HASHED - 1,
                Bound::Included(key) => integer(&key),
                Bound::Excluded(key) => integer(&key).checked_sub(1)?,
            };
            if low > high {
                return None;
            }
            let entries = rows.iter().map(|(key, row)| (integer(key).into(), value(row))).collect();
            Operation::Scan { low: Some(low.into()), high: Some(high.into()), entries }
        }
    })
}

/// The history of several clients on one engine.
fn run(setting: Setting) -> Vec<Record> {
    let options = Options { sites: setting.sites, versions: setting.versions, ..Options::default() };
    let engine = Mvto::in_memory(options).expect("nothing can fail in memory");
    let ordered = engine.create_table(registers("ordered", Storage::Ordered)).expect("a new table");
    let hash = engine.create_table(registers("hash", Storage::Hash)).expect("a new table");
    let clock = MonotonicClock::new();
    let history = thread::scope(|scope| {
        let client = |number| {
            let random = Randomness::from_seed(u64::from(number));
            Client { engine: &engine, setting, ordered, hash, clock, number, random, written: 0 }
        };
        let clients: Vec<_> = (0..setting.threads).map(|number| scope.spawn(move || client(number).run())).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.active, stats.waiting_versions), (0, 0), "nothing is left open or uncollected");
    let may_move = setting.modes.contains(&Mode::OwnAtStatement);
    assert!(stats.moved > 0 || !may_move || setting.operations < 10_000, "nobody was pushed");
    told(history, hash)
}

fn judge(records: Vec<Record>) -> check::Report {
    check::judge(&History::from_records(records).expect("a well-formed history"), Model::Strict)
}

/// Both judges find nothing, and enough committed for that to mean something.
#[track_caller]
fn assert_serial(setting: Setting) {
    let records = run(setting);
    let operations: usize = records.iter().map(|record| record.operations.len()).sum();
    assert!(operations as u32 > setting.operations / 2, "only {operations} operations");
    let report = judge(records);
    assert!(report.valid && !report.judges_disagree, "{report}");
    assert!(report.counts.committed * 4 > report.counts.transactions, "most aborted: {:?}", report.counts);
}

#[test]
fn two_threads_on_eight_keys() {
    let setting = Setting {
        threads: 2,
        sites: 2,
        keys: 8,
        versions: 100,
        modes: MIXED,
        operations: 100_000,
        scan_rows: 8,
        thinks: false,
    };
    assert_serial(setting);
}

#[test]
fn four_threads_on_one_site_with_few_versions() {
    let setting = Setting {
        threads: 4,
        sites: 1,
        keys: 16,
        versions: 3,
        modes: MIXED,
        operations: 100_000,
        scan_rows: 16,
        thinks: false,
    };
    assert_serial(setting);
}

#[test]
fn eight_threads_on_two_sites_over_several_leaves() {
    let setting = Setting {
        threads: 8,
        sites: 2,
        keys: 400,
        versions: 10,
        modes: MIXED,
        operations: 100_000,
        scan_rows: 100,
        thinks: false,
    };
    assert_serial(setting);
}

#[test]
fn four_threads_that_only_own_at_commit() {
    let modes = &[Mode::ReadWrite];
    let setting = Setting {
        threads: 4,
        sites: 4,
        keys: 64,
        versions: 100,
        modes,
        operations: 100_000,
        scan_rows: 8,
        thinks: false,
    };
    assert_serial(setting);
}

#[test]
fn four_threads_that_own_at_the_statement() {
    let modes = &[Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadOnly];
    let setting = Setting {
        threads: 4,
        sites: 64,
        keys: 32,
        versions: 100,
        modes,
        operations: 100_000,
        scan_rows: 8,
        thinks: false,
    };
    assert_serial(setting);
}

/// Everybody owns and thinks, on few keys: most are pushed, and those that commit have moved rightly.
#[test]
fn four_threads_that_push_each_other() {
    let modes = &[Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadOnly];
    let setting = Setting {
        threads: 4,
        sites: 64,
        keys: 24,
        versions: 100,
        modes,
        operations: 100_000,
        scan_rows: 12,
        thinks: true,
    };
    assert_serial(setting);
}

/// All modes at once, over leaves that split and merge, with long scans.
#[test]
fn eight_threads_that_push_each_other_beside_others() {
    let modes = &[Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadWrite, Mode::ReadOnly, Mode::Snapshot];
    let setting = Setting {
        threads: 8,
        sites: 4,
        keys: 300,
        versions: 100,
        modes,
        operations: 100_000,
        scan_rows: 300,
        thinks: true,
    };
    assert_serial(setting);
}

/// The judges would notice: the same history with one read changed to what was never there.
#[test]
fn a_forged_read_is_refused() {
    let setting = Setting {
        threads: 2,
        sites: 2,
        keys: 8,
        versions: 100,
        modes: MIXED,
        operations: 2_000,
        scan_rows: 8,
        thinks: false,
    };
    let mut records = run(setting);
    let committed = records.iter_mut().filter(|record| record.status == Status::Committed);
    let forged = committed.flat_map(|record| &mut record.operations).find_map(|operation| match operation {
        Operation::Read { value: value @ Some(_), .. } => Some(value),
        _ => None,
    });
    *forged.expect("somebody read something") = Some(Scalar::from(u64::MAX));
    assert!(!judge(records).valid);
}

/// The judges would notice: two transactions that exchange their places in the serial order.
#[test]
fn a_forged_serial_point_is_refused() {
    let setting = Setting {
        threads: 2,
        sites: 2,
        keys: 8,
        versions: 100,
        modes: MIXED,
        operations: 2_000,
        scan_rows: 8,
        thinks: false,
    };
    let mut records = run(setting);
    let writes = |record: &Record| record.operations.iter().any(|it| matches!(it, Operation::Write { .. }));
    let mut writers: Vec<&mut Record> =
        records.iter_mut().filter(|record| record.status == Status::Committed && writes(record)).collect();
    let (first, last) = (writers[0].serial_point, writers[writers.len() / 2 - 1].serial_point);
    let half = writers.len() / 2 - 1;
    (writers[0].serial_point, writers[half].serial_point) = (last, first);
    assert!(!judge(records).valid);
}

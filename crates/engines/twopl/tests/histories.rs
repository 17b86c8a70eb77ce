//! What concurrent transactions saw has a serial order: the claimed one, by replay on the naive twin and by both judges.

mod common;

use check::{History, Model, Operation, Record, Scalar, Status};
use common::statements::{Statement, answer, statement};
use common::{accounts, registers};
use env::{Clock, MonotonicClock, Randomness};
use model::history::{self, Recorder};
use model::twin::Twin;
use model::{
    Access, Begin, Columns, Finish, Interactive, Item, Key, Mode, Result, RowBuf, Scan, Schema, SerialPoint, Storage,
    TableId,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use seriatim_twopl::{Options, TwoPhaseLocking};
use std::ops::{Bound, ControlFlow};
use std::thread;

const THREADS: u32 = 4;

/// Limits so small that transactions run into them.
fn shrunken() -> Options {
    Options { locks: 12, write_set_rows: 4, write_set_bytes: 100, ..Options::default() }
}

// ---------------------------------------------------------------------------------------------------------------
// Replay on the twin: everything that was answered, index scans and errors too.

/// A committed transaction, and what it was answered.
type Story = (SerialPoint, Vec<(Statement, String)>);

/// Programs of up to eight statements, the same in every run.
fn programs(seed: u8, count: usize) -> Vec<Vec<Statement>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let program = proptest::collection::vec(statement(), 1..9);
    (0..count).map(|_| program.new_tree(&mut runner).expect("no filter rejects").current()).collect()
}

/// Runs each program as one transaction, committed but for those that end with an abort; tells the committed ones.
fn live(engine: &TwoPhaseLocking, table: TableId, programs: &[Vec<Statement>]) -> Vec<Story> {
    programs.iter().filter_map(|program| attempt(engine, table, program)).collect()
}

fn attempt(engine: &TwoPhaseLocking, table: TableId, program: &[Statement]) -> Option<Story> {
    let mode = if program.iter().all(Statement::only_reads) { Mode::ReadOnly } else { Mode::ReadWrite };
    let mut transaction = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one per thread");
    let mut told = Vec::new();
    for statement in program.iter().filter(|statement| !matches!(statement, Statement::Commit)) {
        if let Statement::Abort = statement {
            return None;
        }
        told.push((statement.clone(), answer(&mut transaction, table, statement)));
    }
    let committed = transaction.commit().ok()?;
    Some((committed.serial_point, told))
}

fn replay(storage: Storage) {
    let engine = TwoPhaseLocking::new(Options::default());
    let table = engine.create_table(accounts("accounts", storage)).expect("a new table");
    let mut stories: Vec<Story> = thread::scope(|scope| {
        let worlds: Vec<_> = (0..THREADS as u8).map(|seed| programs(seed, 400)).collect();
        let engine = &engine;
        let lives: Vec<_> =
            worlds.into_iter().map(|programs| scope.spawn(move || live(engine, table, &programs))).collect();
        lives.into_iter().flat_map(|life| life.join().expect("no thread panics")).collect()
    });
    stories.sort_by_key(|(point, _)| *point);
    assert!(stories.len() > 100, "only {} of {} committed", stories.len(), THREADS * 400);
    let mut twin = Twin::new();
    twin.create_table(accounts("accounts", storage));
    for (point, told) in &stories {
        for (statement, answered) in told {
            assert_eq!(*answered, answer(&mut twin, table, statement), "{statement:?} at {point}");
        }
        twin.commit();
    }
    let rows = twin.rows(table).count() as u64;
    assert_eq!(engine.stats().records, rows * 3, "a row and two entries each, and nothing left over");
    assert_eq!((engine.stats().committed, engine.stats().open), (stories.len() as u64, 0));
}

#[test]
fn the_claimed_order_replays_on_the_twin() {
    replay(Storage::Ordered);
}

#[test]
fn the_claimed_order_replays_on_the_twin_with_a_hash_table() {
    replay(Storage::Hash);
}

// ---------------------------------------------------------------------------------------------------------------
// Both judges: points, scans, inserts and deletes on registers.

/// What one client does: random transactions on few keys.
struct Client<'e> {
    engine: &'e TwoPhaseLocking,
    ordered: TableId,
    hash: TableId,
    clock: MonotonicClock,
    number: u32,
    random: Randomness,
    written: u64,
}

const KEYS: u64 = 12;

impl Client<'_> {
    fn run(mut self, transactions: u32) -> Vec<history::Transaction> {
        (0..transactions).map(|_| self.transaction()).collect()
    }

    fn transaction(&mut self) -> history::Transaction {
        let start_ns = self.clock.now();
        let modes = [Mode::ReadWrite, Mode::ReadWrite, Mode::OwnAtStatement, Mode::ReadOnly];
        let how = Begin { mode: modes[self.below(4) as usize], ..Begin::default() };
        let mut recorder = Recorder::new(self.engine.begin(how).expect("room for one per client"));
        for _ in 0..1 + self.below(6) {
            // Limits and duplicates leave the transaction alive; after an abort everything fails alike.
            let _ = self.statement(&mut recorder);
        }
        let (transaction, operations) = recorder.into_parts();
        let outcome = if self.below(10) == 0 {
            transaction.abort();
            history::Outcome::Aborted
        } else {
            transaction.commit().map_or(history::Outcome::Aborted, |it| history::Outcome::Committed(it.serial_point))
        };
        history::Transaction { client: self.number, start_ns, end_ns: self.clock.now(), outcome, operations }
    }

    fn statement(&mut self, access: &mut impl Access) -> Result<()> {
        let table = if self.below(3) == 0 { self.hash } else { self.ordered };
        let key = Key::from_u64(self.below(KEYS));
        let mut row = RowBuf::new();
        match self.below(8) {
            0 | 1 => access.read(table, &key, Columns::All, &mut row).map(drop),
            2 => access.read_for_update(table, &key, &mut row).map(drop),
            3 => access.put(table, &key, self.value().row()),
            4 => access.insert(table, &key, self.value().row()),
            5 => access.delete(table, &key).map(drop),
            _ => self.scan(access),
        }
    }

    fn scan(&mut self, access: &mut impl Access) -> Result<()> {
        let mut bound = || match self.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(Key::from_u64(self.below(KEYS))),
            _ => Bound::Excluded(Key::from_u64(self.below(KEYS))),
        };
        let (lower, upper) = (bound(), bound());
        let mut scan = Scan::table(self.ordered).between(lower, upper);
        if self.below(2) == 0 {
            scan = scan.backward();
        }
        let mut left = 1 + self.below(2 * KEYS);
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

/// The history in the judges' words. Keys of the hash table come after those of the ordered one.
fn told(history: Vec<history::Transaction>, hash: TableId) -> Vec<Record> {
    let integer = |bytes: &[u8]| Key::to_u64(bytes).expect("eight bytes");
    let scalar = |table: TableId, key: &Key| Scalar::from(integer(key) + if table == hash { 1 << 32 } else { 0 });
    let value = |row: &[u8]| Scalar::from(integer(row));
    let operation = |operation: history::Operation| match operation {
        history::Operation::Read(table, key, row) => {
            Some(Operation::Read { key: scalar(table, &key), value: row.map(|row| value(&row)), version: None })
        }
        history::Operation::Write(table, key, row) => {
            Some(Operation::Write { key: scalar(table, &key), value: value(&row), version: None })
        }
        history::Operation::Delete(table, key) => Some(Operation::Delete { key: scalar(table, &key), version: None }),
        history::Operation::Scan(_, lower, upper, rows) => {
            let low = match lower {
                Bound::Unbounded => 0,
                Bound::Included(key) => integer(&key),
                Bound::Excluded(key) => integer(&key) + 1,
            };
            let high = match upper {
                Bound::Unbounded => Some(KEYS),
                Bound::Included(key) => Some(integer(&key)),
                Bound::Excluded(key) => integer(&key).checked_sub(1),
            };
            let entries = rows.iter().map(|(key, row)| (integer(key).into(), value(row))).collect();
            let high = high.filter(|&high| low <= high)?;
            Some(Operation::Scan { low: Some(low.into()), high: Some(high.into()), entries })
        }
    };
    let record = |(id, it): (usize, history::Transaction)| {
        let (status, serial_point) = match it.outcome {
            history::Outcome::Committed(point) => (Status::Committed, Some(point.0)),
            history::Outcome::Aborted => (Status::Aborted, None),
            history::Outcome::Unknown => (Status::Unknown, None),
        };
        let operations = it.operations.into_iter().filter_map(operation).collect();
        let (id, process) = (id as u64, it.client.into());
        Record { id, process, start_ns: it.start_ns, end_ns: it.end_ns, status, serial_point, operations }
    };
    history.into_iter().enumerate().map(record).collect()
}

/// A history of four clients on one engine.
fn history(options: Options, transactions: u32) -> Vec<Record> {
    let engine = TwoPhaseLocking::new(options);
    let ordered = engine.create_table(registers("ordered")).expect("a new table");
    let hash = Schema::bytes("hash").u64_key().storage(Storage::Hash).build().expect("a good schema");
    let hash = engine.create_table(hash).expect("a new table");
    let clock = MonotonicClock::new();
    let history = thread::scope(|scope| {
        let client = |number| {
            let random = Randomness::from_seed(u64::from(number));
            Client { engine: &engine, ordered, hash, clock, number, random, written: 0 }
        };
        let clients: Vec<_> =
            (0..THREADS).map(client).map(|client| scope.spawn(move || client.run(transactions))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no thread panics")).collect()
    });
    assert_eq!(engine.stats().open, 0);
    told(history, hash)
}

fn assert_clean(records: Vec<Record>) {
    let history = History::from_records(records).expect("a well-formed history");
    let report = check::judge(&history, Model::Strict);
    assert!(report.valid && !report.judges_disagree, "{report:?}");
    assert!(report.counts.committed > 100, "too few to say anything: {:?}", report.counts);
}

#[test]
fn both_judges_find_nothing() {
    assert_clean(history(Options::default(), 3_000));
}

#[test]
fn both_judges_find_nothing_under_shrunken_limits() {
    assert_clean(history(shrunken(), 3_000));
}

#[test]
fn both_judges_find_nothing_where_nobody_waits() {
    assert_clean(history(common::impatient(), 3_000));
}

/// The judges would notice: the same history with one read changed to what was never there is refused by both.
#[test]
fn a_forged_history_is_refused() {
    let mut records = history(Options::default(), 200);
    let mut operations =
        records.iter_mut().filter(|it| it.status == Status::Committed).flat_map(|it| &mut it.operations);
    let forged = operations.find_map(|operation| match operation {
        Operation::Read { value: value @ Some(_), .. } => Some(value),
        _ => None,
    });
    *forged.expect("somebody read something") = Some(Scalar::from(u64::MAX));
    let history = History::from_records(records).expect("a well-formed history");
    assert!(!check::judge(&history, Model::Strict).valid);
}

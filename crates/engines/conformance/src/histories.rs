//! Histories of concurrent transactions, checked by both judges: a serial order exists, the claimed order is one, and it agrees
//! with real time.

use crate::fixture::{Fixture, Knobs, Open, Sessions, begin, claim};
use crate::judges::{assert_serial, judge, records};
use crate::registers::{get, registers, state};
use crate::seeds;
use check::{KeyForm, Operation, Record, Scalar, Status};
use env::{Clock, MonotonicClock, Randomness};
use model::history::{self, Recorder};
use model::{Access, Begin, Columns, Finish, Interactive, Item, Key, Mode, Result, RowBuf, Scan, Storage, TableId};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::thread;

/// A mix of transactions.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Clients at once.
    pub threads: u32,
    /// Keys in each of the two tables.
    pub keys: u64,
    /// The longest scan, in rows.
    pub scan_rows: u64,
    /// Modes that a transaction may draw.
    pub modes: &'static [Mode],
    /// Operations of the whole history, about.
    pub operations: u32,
    /// One in so many transactions is a single read ([`Interactive::get`]); 0: none.
    pub single_reads_one_in: u64,
    /// Whether clients pause between statements.
    pub thinks: bool,
    /// Options with which the engine is opened.
    pub knobs: Knobs,
    /// At least one in so many transactions commits.
    pub commits_one_in: usize,
}

/// Every mode.
pub const MIXED: &[Mode] = &[Mode::ReadWrite, Mode::ReadWrite, Mode::OwnAtStatement, Mode::ReadOnly, Mode::Snapshot];

/// Runs until one reaches the rare paths.
const MOST_RUNS: u64 = 50;

/// Operations that a transaction asks for on average; each is written down as one or two.
const STATEMENTS: u64 = 6;

impl Default for Setting {
    fn default() -> Setting {
        Setting {
            threads: 4,
            keys: 16,
            scan_rows: 16,
            modes: MIXED,
            operations: 50_000,
            single_reads_one_in: 0,
            thinks: false,
            knobs: Knobs::patient(),
            commits_one_in: 4,
        }
    }
}

/// Two tables of registers and a source of random statements on them.
pub(crate) struct Statements {
    pub ordered: TableId,
    pub hash: TableId,
    pub keys: u64,
    pub scan_rows: u64,
    pub client: u32,
    pub random: Randomness,
    pub written: u64,
}

impl Statements {
    pub fn new(client: u32, seed: u64, (ordered, hash): (TableId, TableId), keys: u64, scan_rows: u64) -> Statements {
        let random = Randomness::from_seed(seed ^ u64::from(client) << 32);
        Statements { ordered, hash, keys, scan_rows, client, random, written: 0 }
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.random.in_range(0..limit)
    }

    fn table(&mut self) -> TableId {
        if self.below(3) == 0 { self.hash } else { self.ordered }
    }

    fn key(&mut self) -> Key {
        Key::from_u64(self.below(self.keys))
    }

    pub fn one(&mut self, access: &mut impl Access) -> Result<()> {
        let (table, key) = (self.table(), self.key());
        let mut row = RowBuf::new();
        match self.below(10) {
            0..=2 => access.read(table, &key, Columns::All, &mut row).map(drop),
            3 => access.read_for_update(table, &key, Columns::All, &mut row).map(drop),
            4 | 5 => access.put(table, &key, self.value().row()),
            6 | 7 => access.insert(table, &key, self.value().row()),
            8 => access.delete(table, &key).map(drop),
            _ => self.scan(access),
        }
    }

    fn scan(&mut self, access: &mut impl Access) -> Result<()> {
        let mut bound = || match self.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(Key::from_u64(self.below(self.keys))),
            _ => Bound::Excluded(Key::from_u64(self.below(self.keys))),
        };
        let (lower, upper) = (bound(), bound());
        let mut scan = Scan::table(self.ordered).between(lower, upper);
        if self.below(2) == 0 {
            scan = scan.backward();
        }
        let mut left = 1 + self.below(self.scan_rows);
        let end = access.scan(&scan, &mut |_: Item<'_>| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        end.map(drop)
    }

    /// A value that is never written again.
    pub fn value(&mut self) -> RowBuf {
        self.written += 1;
        RowBuf::from_bytes(&(self.written << 8 | u64::from(self.client)).to_be_bytes())
    }
}

/// Creates the two tables.
pub(crate) fn tables<F: Fixture>(engine: &F::Engine) -> (TableId, TableId) {
    let create = |name, storage| F::create_table(engine, registers(name, storage)).expect("a new table");
    (create("ordered", Storage::Ordered), create("hash", Storage::Hash))
}

/// Returns the form in which the judges read the keys of the two tables.
pub(crate) fn forms((_, hash): (TableId, TableId)) -> impl Fn(TableId) -> KeyForm + Copy {
    move |table| if table == hash { KeyForm::Text("hash".into()) } else { KeyForm::Integers }
}

/// One client: random transactions on few keys.
struct Client<'e, F: Sessions> {
    engine: &'e Arc<F::Engine>,
    setting: &'e Setting,
    clock: &'e MonotonicClock,
    statements: Statements,
}

impl<F: Sessions> Client<'_, F> {
    fn run(mut self) -> Vec<history::Transaction> {
        let mut operations = 0;
        let mut history = Vec::new();
        while operations < self.setting.operations / self.setting.threads {
            let one_in = self.setting.single_reads_one_in;
            let is_single = one_in > 0 && self.statements.below(one_in) == 0;
            let transaction = if is_single { self.single_read() } else { self.transaction() };
            // Transactions that fail at once count too, so that every run ends.
            operations += transaction.operations.len().max(1) as u32;
            history.push(transaction);
        }
        history
    }

    /// A read without a transaction, written down as one that claims no serial point.
    fn single_read(&mut self) -> history::Transaction {
        let (table, key, client) = (self.statements.table(), self.statements.key(), self.statements.client);
        let (start_ns, mut row) = (self.clock.now(), RowBuf::new());
        let read = self.engine.get(table, &key, Columns::All, &mut row);
        let end_ns = self.clock.now();
        let (outcome, operations) = match read {
            Ok(got) => {
                let seen = got.found.then(|| row.bytes().to_vec());
                (history::Outcome::Committed(None), vec![history::Operation::Read(table, key, seen)])
            }
            Err(error) => {
                let may_abort = !F::READERS_COMMIT || self.setting.knobs == Knobs::impatient();
                assert!(may_abort && error.is_retryable(), "a single read failed: {error}");
                (history::Outcome::Aborted, Vec::new())
            }
        };
        history::Transaction { client, start_ns, end_ns, outcome, operations }
    }

    fn transaction(&mut self) -> history::Transaction {
        let mut start_ns = self.clock.now();
        let mode = self.setting.modes[self.statements.below(self.setting.modes.len() as u64) as usize];
        if mode == Mode::Snapshot && F::SNAPSHOTS_READ_THE_PAST {
            // Exactly what such a snapshot promises: it may stand before what had ended when it began, and nothing else.
            start_ns = 0;
        }
        let mut open = self.engine.begin_owned(Begin { mode, ..Begin::default() }).expect("room for one per client");
        open.set_reads_wait(self.statements.below(2) == 0);
        let mut recorder = Recorder::new(open);
        for _ in 0..1 + self.statements.below(2 * STATEMENTS - 1) {
            // Mistakes and duplicates leave the transaction alive; after an abort everything fails alike.
            let _ = self.statements.one(&mut recorder);
            if self.setting.thinks && self.statements.below(8) == 0 {
                thread::yield_now(); // Others go on beside what it owns.
            }
        }
        let (open, operations) = recorder.into_parts();
        let outcome = self.end(open, mode);
        if self.statements.below(64) == 0 {
            F::collect(self.engine);
        }
        let client = self.statements.client;
        history::Transaction { client, start_ns, end_ns: self.clock.now(), outcome, operations }
    }

    fn end(&mut self, open: Open<F>, mode: Mode) -> history::Outcome {
        let reads_only = matches!(mode, Mode::ReadOnly | Mode::Snapshot);
        if !reads_only && self.statements.below(20) == 0 {
            open.abort();
            return history::Outcome::Aborted;
        }
        match open.commit() {
            Ok(committed) => history::Outcome::Committed(claim::<F>(&committed)),
            Err(error) => {
                let always_commits = reads_only && F::READERS_COMMIT && self.setting.knobs != Knobs::impatient();
                assert!(!always_commits, "a read-only transaction did not commit: {error}");
                history::Outcome::Aborted
            }
        }
    }
}

/// The history of several clients on one engine.
pub fn run<F: Sessions>(setting: &Setting, seed: u64) -> Vec<Record> {
    exercise::<F>(setting, seed).0
}

/// The same, and whether the engine's rare paths were reached.
fn exercise<F: Sessions>(setting: &Setting, seed: u64) -> (Vec<Record>, bool) {
    let engine = F::open(&setting.knobs);
    let tables = tables::<F>(&engine);
    let clock = MonotonicClock::new();
    let history = thread::scope(|scope| {
        let client = |number| {
            let statements = Statements::new(number, seed, tables, setting.keys, setting.scan_rows);
            let client = Client::<F> { engine: &engine, setting, clock: &clock, statements };
            scope.spawn(move || client.run())
        };
        let clients: Vec<_> = (0..setting.threads).map(client).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    F::collect(&engine);
    let rows: usize = final_rows::<F>(&engine, tables, setting.keys);
    F::assert_idle(&engine, rows as u64);
    let was_exercised = F::was_exercised(&engine, setting.modes);
    (records(history, forms(tables)), was_exercised)
}

fn final_rows<F: Sessions>(engine: &Arc<F::Engine>, (ordered, hash): (TableId, TableId), keys: u64) -> usize {
    // Each read on its own: small limits on what one transaction reads are in force here too.
    let is_there = |key: &u64| {
        let mut reader = begin::<F>(engine, Mode::ReadOnly);
        get(&mut reader, hash, *key).expect("nobody in the way").is_some()
    };
    (0..keys).filter(is_there).count() + state::<F>(engine, ordered).len()
}

/// Both judges find nothing, and enough happened for that to mean something. Which paths a run reaches is also a matter of the
/// schedule: where two processors are busy, clients hardly meet. So there are more runs until one has met them.
#[track_caller]
pub fn assert_setting_serial<F: Sessions>(setting: &Setting) {
    let is_long = setting.operations >= 10_000;
    let seeds = (0..MOST_RUNS).map(|run| seeds::fixed().wrapping_add(run));
    let was_exercised =
        seeds.map(|seed| assert_run_serial::<F>(setting, seed)).find(|exercised| *exercised || !is_long);
    assert!(was_exercised.is_some(), "no client was in the way of another in {MOST_RUNS} runs");
}

/// Judges one run. Returns whether it reached the engine's rare paths.
#[track_caller]
fn assert_run_serial<F: Sessions>(setting: &Setting, seed: u64) -> bool {
    let (records, was_exercised) = exercise::<F>(setting, seed);
    let operations: usize = records.iter().map(|record| record.operations.len()).sum();
    assert!(operations as u32 > setting.operations / 2, "only {operations} operations");
    if setting.single_reads_one_in > 0 {
        // Single reads claim no point, and then only dependencies are judged: the others are judged by their points too.
        let is_single = |record: &Record| record.status == Status::Committed && record.serial_point.is_none();
        let others = records.iter().filter(|record| !F::CLAIMS_SERIAL_POINTS || !is_single(record)).cloned().collect();
        assert_serial(others, &seeds::replay(seed));
    }
    let report = assert_serial(records, &seeds::replay(seed));
    let enough = report.counts.committed * setting.commits_one_in > report.counts.transactions;
    assert!(enough, "too few committed: {:?}", report.counts);
    was_exercised
}

/// Two clients on eight keys.
pub fn two_clients_on_eight_keys<F: Sessions>() {
    assert_setting_serial::<F>(&Setting { threads: 2, keys: 8, scan_rows: 8, ..Setting::default() });
}

/// Four clients, in an engine whose internal sizes are small.
pub fn four_clients_with_small_parts<F: Sessions>() {
    let knobs = Knobs { has_small_parts: true, ..Knobs::patient() };
    assert_setting_serial::<F>(&Setting { knobs, ..Setting::default() });
}

/// Eight clients, over more keys than a leaf holds.
pub fn eight_clients_over_several_leaves<F: Sessions>() {
    let knobs = Knobs { has_small_parts: true, ..Knobs::patient() };
    assert_setting_serial::<F>(&Setting { threads: 8, keys: 400, scan_rows: 100, knobs, ..Setting::default() });
}

/// Four clients that take hold of rows when they commit.
pub fn four_clients_that_own_at_commit<F: Sessions>() {
    let modes = &[Mode::ReadWrite];
    assert_setting_serial::<F>(&Setting { keys: 64, scan_rows: 8, modes, ..Setting::default() });
}

/// Four clients that take hold of rows at the statement.
pub fn four_clients_that_own_at_the_statement<F: Sessions>() {
    let modes = &[Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadOnly];
    assert_setting_serial::<F>(&Setting { keys: 32, scan_rows: 8, modes, ..Setting::default() });
}

/// Four clients that take hold of rows at the statement and then think, on few keys.
pub fn four_clients_that_think<F: Sessions>() {
    let modes = &[Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadOnly];
    assert_setting_serial::<F>(&Setting { keys: 24, scan_rows: 12, modes, thinks: true, ..Setting::default() });
}

/// Eight clients in all modes, with long scans.
pub fn eight_clients_with_long_scans<F: Sessions>() {
    let modes = &[Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadWrite, Mode::ReadOnly, Mode::Snapshot];
    let setting = Setting { threads: 8, keys: 300, scan_rows: 300, modes, thinks: true, ..Setting::default() };
    assert_setting_serial::<F>(&setting);
}

/// Four clients that never wait: every conflict is an abort.
pub fn four_clients_that_never_wait<F: Sessions>() {
    assert_setting_serial::<F>(&Setting { knobs: Knobs::impatient(), commits_one_in: 20, ..Setting::default() });
}

/// Four clients on few keys, a third of whose transactions are single reads, in an engine whose internal sizes are small.
pub fn four_clients_that_read_single_rows<F: Sessions>() {
    let knobs = Knobs { has_small_parts: true, ..Knobs::patient() };
    let setting = Setting { keys: 8, scan_rows: 8, single_reads_one_in: 3, knobs, ..Setting::default() };
    assert_setting_serial::<F>(&setting);
}

/// Two clients, most of whose transactions are single reads beside owners at the statement.
pub fn two_clients_that_read_single_rows_beside_owners<F: Sessions>() {
    let modes = &[Mode::OwnAtStatement, Mode::ReadWrite];
    let setting = Setting {
        threads: 2,
        keys: 4,
        scan_rows: 4,
        single_reads_one_in: 2,
        modes,
        thinks: true,
        ..Setting::default()
    };
    assert_setting_serial::<F>(&setting);
}

/// Four clients that run into the limits on what they read and write.
pub fn four_clients_that_meet_limits<F: Sessions>() {
    let knobs = Knobs { write_set_rows: Some(4), write_set_bytes: Some(100), read_set: Some(12), ..Knobs::patient() };
    assert_setting_serial::<F>(&Setting { knobs, ..Setting::default() });
}

/// A short history, to be forged.
pub(crate) const SHORT: Setting = Setting {
    threads: 2,
    keys: 8,
    scan_rows: 8,
    modes: MIXED,
    operations: 2_000,
    single_reads_one_in: 0,
    thinks: false,
    knobs: Knobs {
        wait_limit: None,
        has_small_parts: false,
        key_bytes: None,
        row_bytes: None,
        write_set_rows: None,
        write_set_bytes: None,
        read_set: None,
        transactions: None,
        tables: None,
        memory_bytes: None,
    },
    commits_one_in: 4,
};

/// The judges notice a read of a value that was never there.
pub fn a_forged_read_is_refused<F: Sessions>() {
    let mut records = run::<F>(&SHORT, seeds::fixed());
    let committed = records.iter_mut().filter(|record| record.status == Status::Committed);
    let forged = committed.flat_map(|record| &mut record.operations).find_map(|operation| match operation {
        Operation::Read { value: value @ Some(_), .. } => Some(value),
        _ => None,
    });
    *forged.expect("somebody read something") = Some(Scalar::from("forged"));
    assert!(!judge(records).valid);
}

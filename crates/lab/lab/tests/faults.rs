//! Engines with one fault each: the lab must detect it. Otherwise its verdict on the others would mean nothing.

use check::{History, Model, Record, Report, Status};
use env::Randomness;
use model::{Abort, AbortClass, Target, Timestamp};
use model::{
    Access, Begin, Columns, Committed, Delta, Durability, Error, Finish, Interactive, Item, LogPosition, Pending,
    Result, RowBuf, RowRef, Scan, ScanEnd, Schema, SerialPoint, TableId,
};
use seriatim_lab::driver::{Extent, Outcome, Run, RunError};
use seriatim_lab::engines::{Adapted, DoorName, OnEngine, OneMutex};
use seriatim_lab::workloads::Workload;
use seriatim_lab::workloads::bank::{self, Bank};
use seriatim_lab::workloads::mixed::Mixed;
use seriatim_lab::workloads::parameters::Presets;
use seriatim_lab::workloads::smallbank::{self, Smallbank};
use seriatim_lab::workloads::tatp::{self, Tatp};
use seriatim_lab::workloads::tpcc::{self, Tpcc};
use seriatim_lab::workloads::ycsb::{self, Ycsb};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A fault of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// Every third commit is an abort instead: allowed.
    AbortsEveryThird,
    /// A dropped transaction keeps what it wrote.
    NoRollback,
    /// One put in fifty does nothing.
    LosesPuts,
    /// One write in fifty does nothing, whatever its kind.
    LosesWrites,
    /// The twentieth write of this table does nothing. The load does not count.
    LosesOneWriteOf(u32),
    /// One insert in five goes to a key beside its own. The load does not count.
    MisplacesInserts,
    /// One update in twenty of the first table changes a column that it was not asked to.
    SmudgesUpdates,
    /// Every third commit takes effect and is reported as an abort.
    CommitsWhatItAborts,
    /// Index scans leave out one entry in ten.
    IndexPhantoms,
    /// Rows come back with their last byte changed, one read in fifty.
    TornReads,
    /// Serial points count down.
    BackwardPoints,
    /// The log has failed.
    LogFails,
    /// The hundredth put panics.
    Panics,
}

struct Faulty {
    inner: OneMutex,
    /// Tables that are indexes.
    indexes: Vec<TableId>,
    fault: Fault,
    calls: AtomicU64,
    /// Whether anything was read: then the load is over.
    is_loaded: AtomicBool,
}

impl Faulty {
    /// True at every `n`th call, if the engine has this fault.
    fn strikes(&self, fault: Fault, n: u64) -> bool {
        self.fault == fault && self.calls.fetch_add(1, Ordering::Relaxed) % n == n - 1
    }

    /// True if this write is lost.
    fn loses_write(&self, table: TableId) -> bool {
        let is_loaded = self.is_loaded.load(Ordering::Relaxed);
        let is_the_one = self.fault == Fault::LosesOneWriteOf(table.0)
            && is_loaded
            && self.calls.fetch_add(1, Ordering::Relaxed) == 19;
        is_the_one || self.strikes(Fault::LosesWrites, 50)
    }
}

struct Transaction<'e> {
    engine: &'e Faulty,
    inner: Option<<OneMutex as Interactive>::Transaction<'e>>,
    poison: Option<Error>,
}

impl<'e> Transaction<'e> {
    fn inner(&mut self) -> &mut <OneMutex as Interactive>::Transaction<'e> {
        self.inner.as_mut().expect("there until it ends")
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let (Fault::NoRollback, Some(inner)) = (self.engine.fault, self.inner.take()) {
            inner.commit().expect("it never fails");
        }
    }
}

impl Access for Transaction<'_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.engine.is_loaded.store(true, Ordering::Relaxed);
        let found = self.inner().read(table, key, columns, row)?;
        if found && self.engine.strikes(Fault::TornReads, 50) {
            let mut bytes = row.bytes().to_vec();
            *bytes.last_mut().expect("rows have bytes") ^= 1;
            row.set_bytes(&bytes);
        }
        Ok(found)
    }
    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        assert!(!self.engine.strikes(Fault::Panics, 100), "the engine panics on purpose");
        let is_lost = self.engine.strikes(Fault::LosesPuts, 50) || self.engine.loses_write(table);
        if is_lost { Ok(()) } else { self.inner().put(table, key, row) }
    }
    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        if self.engine.is_loaded.load(Ordering::Relaxed) && self.engine.strikes(Fault::MisplacesInserts, 5) {
            let mut beside = key.to_vec();
            *beside.last_mut().expect("keys have bytes") ^= 8;
            return self.inner().insert(table, &beside, row);
        }
        if self.engine.loses_write(table) { Ok(()) } else { self.inner().insert(table, key, row) }
    }
    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        if table == TableId(0) && self.engine.strikes(Fault::SmudgesUpdates, 20) {
            return self.inner().update(table, key, &delta.clone().set(5, 77));
        }
        if self.engine.loses_write(table) { Ok(true) } else { self.inner().update(table, key, delta) }
    }
    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        if self.engine.loses_write(table) { Ok(true) } else { self.inner().delete(table, key) }
    }
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let engine = self.engine;
        let leaves_out = || engine.indexes.contains(&scan.table) && engine.strikes(Fault::IndexPhantoms, 10);
        self.inner().scan(scan, &mut |item| if leaves_out() { ControlFlow::Continue(()) } else { visit(item) })
    }
}

impl Finish for Transaction<'_> {
    fn poison(&self) -> Option<&Error> {
        self.poison.as_ref()
    }
    fn rests_on(&self) -> LogPosition {
        LogPosition::ZERO
    }
    fn timestamp(&self) -> Option<Timestamp> {
        None
    }
    fn start(&mut self) -> Result<()> {
        self.inner().start()
    }
    fn set_durability(&mut self, durability: Durability) {
        self.inner().set_durability(durability);
    }
    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.inner().set_wait_limit(limit);
    }
    fn set_reads_wait(&mut self, wait: bool) {
        self.inner().set_reads_wait(wait);
    }
    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        let inner = self.inner.take().expect("there until it ends");
        if self.engine.strikes(Fault::AbortsEveryThird, 3) {
            return Pending::ready(Err(conflict()));
        }
        if self.engine.strikes(Fault::CommitsWhatItAborts, 3) {
            inner.commit().expect("it never fails");
            return Pending::ready(Err(conflict()));
        }
        let is_backward = self.engine.fault == Fault::BackwardPoints;
        inner.begin_commit().map(move |decided| {
            let mut committed = decided?;
            if is_backward {
                committed.serial_point = Some(SerialPoint(u64::MAX - committed.claimed().0));
            }
            Ok(committed)
        })
    }
    fn abort(self) {}
}

fn conflict() -> Error {
    let (class, rule, explanation) = (AbortClass::ReadWrite, "every-third", "so that retries are seen");
    let (table, target, transaction, other) = (None, Target::None, Timestamp(1), None);
    Abort { class, rule, explanation, table, target, transaction, other, met: None }.into()
}

impl Interactive for Faulty {
    type Transaction<'engine> = Transaction<'engine>;
    type Owned = <OneMutex as Interactive>::Owned;

    fn begin(&self, how: Begin) -> Result<Transaction<'_>> {
        Ok(Transaction { engine: self, inner: Some(self.inner.begin(how)?), poison: None })
    }
    fn begin_owned(self: &Arc<Self>, _: Begin) -> Result<Self::Owned> {
        unreachable!("clients borrow the engine")
    }
    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        match self.fault {
            Fault::LogFails => Err(model::Fault::OutcomeUnknown { detail: "the disk is gone".into() }.into()),
            _ => Ok(()),
        }
    }
    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        Pending::ready(self.wait_durable(position))
    }
}

fn run<W: Workload>(fault: Fault, workload: &W, run: Run<'_, W>) -> std::result::Result<Outcome, RunError> {
    let inner = OneMutex::new();
    let mut indexes = Vec::new();
    let mut create = |schema: Schema| {
        let is_index = schema.is_index();
        let table = inner.create_table(schema);
        indexes.extend(is_index.then_some(table));
        table
    };
    let tables = workload.schemas().into_iter().map(&mut create).collect();
    run.run(
        Adapted::new(Faulty { inner, indexes, fault, calls: AtomicU64::new(0), is_loaded: AtomicBool::new(false) }),
        tables,
    )
}

fn plan<W>(workload: &W, clients: u32, extent: Extent) -> Run<'_, W> {
    Run {
        workload,
        clients,
        streams: 1,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent,
        door: DoorName::Program,
        batch: 1,
        rate: None,
        durability: Durability::None,
        is_recorded: true,
        load_batch: 3,
        seed: 5,
        on_load: &|_| {},
    }
}

fn mixed(fault: Fault) -> Outcome {
    let workload = Mixed::new(20);
    run(fault, &workload, plan(&workload, 1, Extent::Operations(5000))).expect("the run itself is fine")
}

fn judged(records: Vec<Record>) -> Report {
    check::judge(&History::from_records(records).expect("a well-formed history"), Model::Strict)
}

#[test]
fn an_engine_without_a_fault_passes() {
    let report = judged(mixed(Fault::None).records);
    assert!(report.valid && report.counts.operations >= 5000, "{report}");
}

#[test]
fn judges_see_each_fault_of_an_engine_in_its_history() {
    for fault in [Fault::NoRollback, Fault::LosesPuts, Fault::IndexPhantoms, Fault::TornReads, Fault::BackwardPoints] {
        let report = judged(mixed(fault).records);
        assert!(!report.valid, "{fault:?} went unseen: {report}");
    }
}

#[test]
fn aborted_attempts_are_counted_recorded_and_run_again() {
    let workload = Mixed::new(20);
    let outcome = run(Fault::AbortsEveryThird, &workload, plan(&workload, 2, Extent::Transactions(600))).unwrap();
    let given_up = outcome.clients.aborts.by_name()["given-up"];
    let aborted = outcome.clients.aborts.by_name()["every-third"];
    assert_eq!(outcome.clients.commits + given_up, 600, "all others commit at last");
    assert!(aborted >= outcome.clients.commits / 2 - 2, "{aborted} of {}", outcome.clients.commits);
    // The loader (client 0) meets aborts too, and they are not counted.
    let failed = outcome.records.iter().filter(|record| record.process > 0 && record.status == Status::Aborted).count();
    assert_eq!(failed as u64, aborted + given_up, "one record for each attempt");
    let report = judged(outcome.records);
    assert!(report.valid, "aborting is allowed: {report}");
}

#[test]
fn a_wrong_sum_ends_the_run() {
    let workload =
        Bank::new(bank::Parameters { accounts: 10, audits: 20.0, partitions: 1, remote: 0.0, own_at_statement: false });
    let error = run(Fault::LosesWrites, &workload, plan(&workload, 2, Extent::Transactions(1000))).unwrap_err();
    assert!(matches!(&error, RunError::Wrong(_)), "{error}");
    // Also when no client ever audits: the closing audit finds it.
    let workload =
        Bank::new(bank::Parameters { accounts: 10, audits: 0.0, partitions: 1, remote: 0.0, own_at_statement: false });
    let error = run(Fault::LosesWrites, &workload, plan(&workload, 2, Extent::Transactions(1000))).unwrap_err();
    assert!(matches!(&error, RunError::Wrong(_)), "{error}");
}

/// Runs the workload, unrecorded, on an engine with this fault.
fn audited<W: Workload>(fault: Fault, workload: &W) -> std::result::Result<Outcome, RunError> {
    run(fault, workload, Run { is_recorded: false, ..plan(workload, 2, Extent::Transactions(3000)) })
}

/// An audit or a check found it, or a row stood where none can.
fn is_caught(error: &RunError) -> bool {
    matches!(error, RunError::Wrong(_) | RunError::Engine(Error::Duplicate(_)))
}

/// Checks that a sound engine passes the workload's audit, and that each of these faults fails it.
fn assert_caught<W: Workload>(workload: &W, faults: &[Fault]) {
    let name = std::any::type_name::<W>();
    audited(Fault::None, workload).unwrap_or_else(|error| panic!("{name}: {error}"));
    audited(Fault::AbortsEveryThird, workload).unwrap_or_else(|error| panic!("{name}, with aborts: {error}"));
    for &fault in faults {
        match audited(fault, workload) {
            Err(error) if is_caught(&error) => {}
            Err(error) => panic!("{name} on an engine with {fault:?}: {error}"),
            Ok(_) => panic!("{name} does not catch {fault:?}"),
        }
    }
}

fn ycsb_parameters() -> ycsb::Parameters {
    ycsb::Parameters {
        records: 1000,
        record_bytes: 24,
        storage: ycsb::StorageName::Ordered,
        keys_per_txn: 4,
        rmws: 0,
        reads: 50.0,
        theta: 0.5,
        scans: 5.0,
        scan_length: 20,
        long_reads: 5.0,
        long_reader_keys: 50,
        own_at_statement: false,
    }
}

#[test]
fn blind_writes_are_audited_in_tables_of_both_kinds() {
    assert_caught(&Ycsb::new(ycsb_parameters()), &[Fault::LosesWrites, Fault::TornReads]);
    let storage = ycsb::StorageName::Hash;
    let by_hash = ycsb::Parameters { storage, scans: 0.0, ..ycsb_parameters() };
    assert_caught(&Ycsb::new(by_hash), &[Fault::LosesWrites, Fault::TornReads]);
}

#[test]
fn read_modify_writes_are_counted() {
    let faults = [Fault::LosesWrites, Fault::CommitsWhatItAborts];
    for record_bytes in [8, 100] {
        let parameters = ycsb::Parameters { record_bytes, rmws: 2, reads: 100.0, ..ycsb_parameters() };
        assert_caught(&Ycsb::new(parameters), &faults);
    }
}

#[test]
fn banks_are_audited() {
    let workload =
        Bank::new(bank::Parameters { accounts: 200, audits: 1.0, partitions: 1, remote: 0.0, own_at_statement: false });
    assert_caught(&workload, &[Fault::LosesWrites]);
    for storage in [ycsb::StorageName::Ordered, ycsb::StorageName::Hash] {
        let parameters =
            smallbank::Parameters { customers: 200, theta: 0.5, spin_us: 0, storage, own_at_statement: false };
        assert_caught(&Smallbank::new(parameters), &[Fault::LosesWrites, Fault::CommitsWhatItAborts]);
    }
}

#[test]
fn subscribers_are_audited() {
    let workload = Tatp::new(tatp::Parameters { subscribers: 300, own_at_statement: false });
    assert_caught(&workload, &[Fault::LosesWrites, Fault::CommitsWhatItAborts, Fault::SmudgesUpdates]);
    assert_caught(&workload, &[Fault::MisplacesInserts]);
}

#[test]
fn a_wholesale_supplier_is_audited() {
    assert_caught(&Tpcc::new(small_tpcc()), &[Fault::LosesWrites, Fault::CommitsWhatItAborts]);
}

/// The conditions see a single lost write of each kind of row: an audit that only adds up commits would not.
#[test]
fn each_table_of_the_supplier_is_audited() {
    // No order takes the lost write back.
    let workload = Tpcc::new(tpcc::Parameters { rollbacks: 0.0, ..small_tpcc() });
    let names: Vec<String> = workload.schemas().iter().map(|schema| schema.name().to_owned()).collect();
    let is_written = |name: &String| name != "item" && name != "customer_by_name";
    for (table, name) in names.iter().enumerate().filter(|(_, name)| is_written(name)) {
        let fault = Fault::LosesOneWriteOf(table as u32);
        match audited(fault, &workload) {
            Err(error) if is_caught(&error) => {}
            Err(error) => panic!("{name}: {error}"),
            Ok(_) => panic!("{name}: a lost write was not caught"),
        }
    }
}

fn small_tpcc() -> tpcc::Parameters {
    let presets = Presets::read(tpcc::NAME, tpcc::PRESETS).expect("sound presets");
    let changes = serde_json::json!({
        "warehouses": 2, "items": 100, "customers": 30, "stock_scans": 1, "top_customers": 1,
    });
    presets.parameters("default", &changes).expect("sound parameters")
}

#[test]
fn a_failed_log_ends_the_run() {
    let workload =
        Bank::new(bank::Parameters { accounts: 10, audits: 0.0, partitions: 1, remote: 0.0, own_at_statement: false });
    let plan = Run { durability: Durability::Fsync, ..plan(&workload, 2, Extent::Transactions(1000)) };
    let error = run(Fault::LogFails, &workload, plan).unwrap_err();
    assert!(matches!(&error, RunError::Engine(Error::Fault(model::Fault::OutcomeUnknown { .. }))), "{error}");
}

#[test]
#[should_panic(expected = "on purpose")]
fn a_panic_ends_the_run_though_others_would_go_on_for_ever() {
    let workload =
        Bank::new(bank::Parameters { accounts: 10, audits: 0.0, partitions: 1, remote: 0.0, own_at_statement: false });
    let endless = Run { long_readers: 2, ..plan(&workload, 1, Extent::Transactions(1_000_000)) };
    let _ = run(Fault::Panics, &workload, endless);
}

#[test]
fn equal_seeds_draw_equal_transactions() {
    let operations = || mixed(Fault::None).records.into_iter().map(|record| record.operations).collect::<Vec<_>>();
    assert_eq!(operations(), operations());
    let mut seeds = Randomness::from_seed(5);
    assert_ne!(seeds.fork().next_u64(), seeds.fork().next_u64(), "clients draw different ones");
}

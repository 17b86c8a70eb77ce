//! A recorded run of a workload on an engine, audited and judged.

use env::time::Duration;
use model::Durability;
use seriatim_lab::driver::{Extent, Outcome, Run, RunError};
use seriatim_lab::engines::{DoorName, EngineName, Settings, on_engine};
use seriatim_lab::workloads::Workload;

/// Runs so many transactions of two clients. The driver audits the database at the end.
pub fn run(
    workload: &impl Workload,
    engine: EngineName,
    door: DoorName,
    (transactions, is_recorded): (u64, bool),
) -> Result<Outcome, RunError> {
    let run = Run {
        workload,
        clients: 2,
        streams: 1,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent: Extent::Transactions(transactions),
        door,
        batch: 7,
        rate: None,
        durability: Durability::None,
        is_recorded,
        load_batch: 100,
        seed: 3,
        on_load: &|_| {},
    };
    on_engine(engine, &Settings::default(), workload.schemas(), run).expect("an engine in memory")
}

/// The same, recorded; every transaction must commit or give up by itself, and both judges must accept the history, if the engine is
/// serializable.
pub fn run_and_judge(workload: &impl Workload, engine: EngineName, door: DoorName, transactions: u64) {
    let outcome = run(workload, engine, door, (transactions, true));
    let outcome = outcome.unwrap_or_else(|error| panic!("{engine}, {door}: {error}"));
    let refused = outcome.clients.aborts.by_name();
    let by_itself: u64 = ["insufficient-funds", "rolled-back"].iter().filter_map(|rule| refused.get(*rule)).sum();
    assert_eq!(
        outcome.clients.commits + by_itself,
        transactions,
        "{engine}, {door}: all others commit at last: {refused:?}"
    );
    assert!(outcome.bare_ns.is_none(), "a recorded run measures nothing");
    let history = check::History::from_records(outcome.records).expect("a well-formed history");
    let report = check::judge(&history, check::Model::Strict);
    let is_right = report.valid || !engine.is_serializable();
    assert!(is_right && !report.judges_disagree, "{engine}, {door}: {report}");
    assert!(report.counts.committed as u64 > outcome.clients.commits, "the clients, the load and the audit are in it");
}

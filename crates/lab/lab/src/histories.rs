//! Histories for the judges: random transactions of every kind, on few keys, with small limits, for any number of operations.

use crate::cli::{HistoryArguments, Limits};
use crate::driver::{Extent, Outcome, Run};
use crate::engines::{EngineName, Settings, on_engine};
use crate::report::grouped;
use crate::trial::Failure;
use crate::workloads::Workload;
use crate::workloads::mixed::Mixed;
use check::{History, Model, Record, Report};
use env::time::Duration;
use model::Durability;

/// Records that one transaction loads: no more than small limits allow.
const LOAD_BATCH: u64 = 4;

/// Runs the engine and returns everything that was done.
///
/// # Errors
/// Failures other than aborts of transactions.
pub fn record(arguments: &HistoryArguments, engine: EngineName) -> Result<Vec<Record>, Failure> {
    let workload = Mixed::new(arguments.keys);
    let settings = Settings { has_small_limits: arguments.limits == Limits::Small, ..Settings::default() };
    let run = Run {
        workload: &workload,
        clients: arguments.threads,
        streams: 1,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent: Extent::Operations(arguments.operations),
        door: arguments.door,
        batch: 1,
        rate: None,
        durability: Durability::None,
        is_recorded: true,
        load_batch: LOAD_BATCH,
        seed: arguments.seed,
        on_load: &|_| {},
    };
    let outcome = on_engine(engine, &settings, workload.schemas(), run)
        .map_err(|error| format!("cannot open {engine}: {error}"))?
        .map_err(|error| format!("mixed on {engine}: {error}"))?;
    show(arguments, engine, &outcome);
    Ok(outcome.records)
}

fn show(arguments: &HistoryArguments, engine: EngineName, outcome: &Outcome) {
    let (clients, reasons) = (&outcome.clients, outcome.clients.aborts.by_name());
    eprintln!(
        "{engine}, {} thread(s), seed {}: {} transactions committed in {:.1} s",
        arguments.threads,
        arguments.seed,
        grouped(clients.commits as f64),
        clients.elapsed().as_secs_f64()
    );
    for (reason, count) in reasons {
        eprintln!("  {count:>9} attempts ended by {reason}");
    }
}

/// Asks both judges whether the history is strictly serializable.
///
/// # Errors
/// The history is none.
pub fn judge(records: Vec<Record>) -> Result<Report, Failure> {
    let history = History::from_records(records).map_err(|error| format!("not a history: {error}"))?;
    Ok(check::judge(&history, Model::Strict))
}

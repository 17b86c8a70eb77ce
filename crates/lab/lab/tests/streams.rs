//! Clients that share a thread: their transactions are open at once, and the judges accept what comes of it.

use env::time::Duration;
use model::Durability;
use serde_json::json;
use seriatim_lab::driver::{Extent, Outcome, Run};
use seriatim_lab::engines::{DoorName, EngineName, HyperVariant, Settings, ValidationName, on_engine};
use seriatim_lab::workloads::Workload;
use seriatim_lab::workloads::parameters::{DEFAULT, Presets};
use seriatim_lab::workloads::tpcc::{self, Tpcc};

const TRANSACTIONS: u64 = 300;

fn run(streams: u32, hyper: HyperVariant) -> Outcome {
    let changes = json!({ "warehouses": 1, "items": 50, "customers": 20, "rollbacks": 0, "top_customers": 5 });
    let parameters = Presets::read(tpcc::NAME, tpcc::PRESETS).and_then(|it| it.parameters(DEFAULT, &changes));
    let workload = Tpcc::new(parameters.expect("sound parameters"));
    let run = Run {
        workload: &workload,
        clients: 1,
        streams,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent: Extent::Transactions(TRANSACTIONS),
        door: DoorName::Interactive,
        batch: 1,
        rate: None,
        durability: Durability::None,
        is_recorded: true,
        load_batch: 100,
        seed: 3,
        on_load: &|_| {},
    };
    let settings = Settings { hyper, ..Settings::default() };
    let outcome = on_engine(EngineName::Hyper, &settings, workload.schemas(), run).expect("an engine in memory");
    let outcome = outcome.unwrap_or_else(|error| panic!("{streams} streams, {hyper:?}: {error}"));
    assert_eq!(outcome.clients.commits, TRANSACTIONS, "{streams} streams, {hyper:?}: all commit at last");
    outcome
}

#[test]
fn transactions_that_share_a_thread_conflict_and_are_serializable() {
    assert_eq!(run(1, HyperVariant::WHOLE).clients.aborts.total(), 0, "one stream has no conflicts");
    let moves_starts = HyperVariant::WHOLE;
    for hyper in [moves_starts, HyperVariant { moves_starts: false, ..moves_starts }] {
        let outcome = run(6, hyper);
        assert!(outcome.clients.aborts.total() > 0, "{hyper:?}: one warehouse is contended");
        let history = check::History::from_records(outcome.records).expect("a well-formed history");
        let report = check::judge(&history, check::Model::Strict);
        assert!(report.valid && !report.judges_disagree, "{hyper:?}: {report}");
    }
}

#[test]
fn the_turns_follow_from_the_seed() {
    let hyper = HyperVariant { validation: ValidationName::SrRl, moves_starts: false, ..HyperVariant::WHOLE };
    let aborts = || run(6, hyper).clients.aborts.by_name();
    assert_eq!(aborts(), aborts());
}

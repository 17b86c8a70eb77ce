//! Every workload through every door of every engine: audited at the end, and judged.

mod common;

use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use seriatim_lab::driver::RunError;
use seriatim_lab::engines::{DoorName, EngineName};
use seriatim_lab::workloads::Workload;
use seriatim_lab::workloads::parameters::{DEFAULT, Presets};
use seriatim_lab::workloads::{bank, dml, mixed, smallbank, tatp, tpcc, ycsb};

fn parameters<P: DeserializeOwned>(name: &'static str, presets: &str, changes: Value) -> P {
    Presets::read(name, presets).and_then(|it| it.parameters(DEFAULT, &changes)).expect("sound parameters")
}

fn passes_through_every_door(workload: &impl Workload) {
    for &engine in EngineName::value_variants() {
        for &door in DoorName::value_variants().iter().filter(|door| engine.has_door(**door)) {
            // Prepared transactions are not recorded.
            if door != DoorName::Prepared {
                common::run_and_judge(workload, engine, door, 300);
            }
            // As it is measured: nothing is recorded, and the audit alone looks at it.
            let measured = common::run(workload, engine, door, (300, false));
            let measured = measured.unwrap_or_else(|error| panic!("{engine}, {door}: {error}"));
            assert!(measured.clients.commits > 200 && measured.records.is_empty(), "{engine}, {door}");
            assert!(measured.bare_ns.is_some_and(|bare| bare > 0.0), "{engine}, {door}");
        }
    }
}

#[test]
fn ycsb_passes_through_every_door() {
    let changes =
        json!({ "records": 60, "record_bytes": 32, "keys_per_txn": 4, "theta": 0.5, "scans": 10, "scan_length": 20 });
    passes_through_every_door(&ycsb::Ycsb::new(parameters(ycsb::NAME, ycsb::PRESETS, changes)));
}

#[test]
fn bank_passes_through_every_door() {
    let changes = json!({ "accounts": 20, "audits": 5 });
    passes_through_every_door(&bank::Bank::new(parameters(bank::NAME, bank::PRESETS, changes)));
}

#[test]
fn smallbank_passes_through_every_door() {
    let changes = json!({ "customers": 20 });
    passes_through_every_door(&smallbank::Smallbank::new(parameters(smallbank::NAME, smallbank::PRESETS, changes)));
}

#[test]
fn dml_passes_through_every_door() {
    let changes = json!({ "records": 40, "operations": 3, "updates": 40, "delete_inserts": 40 });
    passes_through_every_door(&dml::Dml::new(parameters(dml::NAME, dml::PRESETS, changes)));
}

#[test]
fn tatp_passes_through_every_door() {
    let changes = json!({ "subscribers": 40 });
    passes_through_every_door(&tatp::Tatp::new(parameters(tatp::NAME, tatp::PRESETS, changes)));
}

#[test]
fn tpcc_passes_through_every_door() {
    let changes = json!({ "warehouses": 2, "items": 50, "customers": 20, "remote_items": 10, "deliveries": 10 });
    passes_through_every_door(&tpcc::Tpcc::new(parameters(tpcc::NAME, tpcc::PRESETS, changes)));
}

#[test]
fn a_program_without_a_footprint_cannot_be_declared() {
    for &engine in EngineName::value_variants() {
        let outcome = common::run(&mixed::Mixed::new(20), engine, DoorName::Declared, (10, true));
        assert!(matches!(outcome, Err(RunError::NoFootprint)), "{engine}: {outcome:?}");
    }
}

#[test]
fn a_door_that_an_engine_lacks_is_refused() {
    let bank = bank::Bank::new(parameters(bank::NAME, bank::PRESETS, json!({ "accounts": 20 })));
    let outcome = common::run(&bank, EngineName::Bohm, DoorName::Interactive, (10, true));
    assert!(matches!(outcome, Err(RunError::NoDoor(DoorName::Interactive))), "{outcome:?}");
}

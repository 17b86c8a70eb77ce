//! The engine's fixtures for the battery, and short ways to open it.
#![allow(dead_code, reason = "each test takes what it needs")]

use conformance::{Fixture, Knobs, Procedures, Programs, Sessions};
use model::{AsDeclared, AsReexecutable, Result, Schema, Storage, TableId};
use seriatim_hekaton::{Hekaton, Options};
use std::sync::Arc;

/// Validates what was read.
pub struct Validating;

/// Snapshot isolation.
pub struct Si;

/// The options that the battery asks for.
pub fn options_for(knobs: &Knobs) -> Options {
    let default = Options::default();
    Options {
        key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
        row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
        write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
        write_set_bytes: knobs.write_set_bytes.unwrap_or(default.write_set_bytes),
        read_set: knobs.read_set.unwrap_or(default.read_set),
        transactions: knobs.transactions.unwrap_or(default.transactions),
        tables: knobs.tables.unwrap_or(default.tables),
        has_small_nodes: knobs.has_small_parts,
        ..default
    }
}

/// An engine with one ordered table of registers.
pub fn with_registers(options: Options) -> (Arc<Hekaton>, TableId) {
    let engine = Arc::new(Hekaton::new(options));
    let registers = conformance::registers::registers("registers", Storage::Ordered);
    let table = engine.create_table(registers).expect("a new table");
    (engine, table)
}

macro_rules! fixture {
    ($subject:ty, $validates:literal) => {
        impl Fixture for $subject {
            type Engine = Hekaton;

            const CLAIMS_SERIAL_POINTS: bool = $validates;

            fn open(knobs: &Knobs) -> Arc<Hekaton> {
                Arc::new(Hekaton::new(Options { validates: $validates, ..options_for(knobs) }))
            }

            fn create_table(engine: &Hekaton, schema: Schema) -> Result<TableId> {
                engine.create_table(schema)
            }

            fn collect(engine: &Hekaton) -> u64 {
                engine.collect() as u64
            }

            /// Keys without a row leave no record, once nobody is open.
            fn assert_idle(engine: &Hekaton, entries: u64) {
                engine.collect();
                let stats = engine.stats();
                assert_eq!((stats.open, stats.garbage, stats.versions, stats.records), (0, 0, 0, entries));
            }
        }

        impl Sessions for $subject {
            const READERS_COMMIT: bool = true;
            const SNAPSHOTS_WAIT: bool = false;
            const NAMED_BY_SERIAL_POINT: bool = $validates;
            const RECORDINGS: Option<&'static str> =
                if $validates { Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts")) } else { None };
        }
    };
}

fixture!(Validating, true);
fixture!(Si, false);

impl Programs for Validating {
    type Door = Hekaton;

    fn programs(engine: &Arc<Hekaton>) -> Arc<Hekaton> {
        engine.clone()
    }
}

impl Procedures for Validating {
    type Door = AsDeclared<AsReexecutable<Hekaton>>;

    fn procedures(engine: &Arc<Hekaton>) -> Arc<AsDeclared<AsReexecutable<Hekaton>>> {
        Arc::new(AsDeclared(AsReexecutable(engine.clone())))
    }
}

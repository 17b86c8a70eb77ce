//! The engine's fixtures for the battery, and short ways to open it.
#![allow(dead_code, reason = "each test takes what it needs")]

use conformance::{Fixture, Knobs, Procedures, Programs, Sessions};
use model::{AsDeclared, AsReexecutable, Result, Schema, Storage, TableId};
use seriatim_silo::{Options, Silo};
use std::sync::Arc;

/// Each commit claims a place.
pub struct Claiming;

/// No commit does.
pub struct Plain;

/// Epochs that only tests advance, each with a snapshot.
pub fn options() -> Options {
    Options { epoch_period: None, snapshot_every: 1, ..Options::default() }
}

/// The options that the battery asks for.
pub fn options_for(knobs: &Knobs) -> Options {
    let default = options();
    Options {
        key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
        row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
        write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
        write_set_bytes: knobs.write_set_bytes.unwrap_or(default.write_set_bytes),
        // The rows of a scan count one by one: as many again, so that the last look at all rows has room.
        read_set: knobs.read_set.map_or(default.read_set, |most| 2 * most),
        transactions: knobs.transactions.unwrap_or(default.transactions),
        tables: knobs.tables.unwrap_or(default.tables),
        has_small_nodes: knobs.has_small_parts,
        snapshot_every: if knobs.has_small_parts { 1 } else { 3 },
        ..default
    }
}

/// An engine with one ordered table of registers.
pub fn with_registers(options: Options) -> (Arc<Silo>, TableId) {
    let engine = Arc::new(Silo::new(options));
    let registers = conformance::registers::registers("registers", Storage::Ordered);
    let table = engine.create_table(registers).expect("a new table");
    (engine, table)
}

macro_rules! fixture {
    ($subject:ty, $claims:literal) => {
        impl Fixture for $subject {
            type Engine = Silo;

            const CLAIMS_SERIAL_POINTS: bool = $claims;

            fn open(knobs: &Knobs) -> Arc<Silo> {
                Arc::new(Silo::new(Options { claims: $claims, ..options_for(knobs) }))
            }

            fn create_table(engine: &Silo, schema: Schema) -> Result<TableId> {
                engine.create_table(schema)
            }

            fn collect(engine: &Silo) -> u64 {
                engine.collect() as u64
            }

            /// Keys without a row leave no record, once nobody is open.
            fn assert_idle(engine: &Silo, entries: u64) {
                engine.collect();
                let stats = engine.stats();
                assert_eq!((stats.open, stats.garbage, stats.records), (0, 0, entries));
            }
        }

        impl Sessions for $subject {
            const READERS_COMMIT: bool = false;
            const NAMED_BY_SERIAL_POINT: bool = $claims;
            const SNAPSHOTS_READ_THE_PAST: bool = true;
            const RECORDINGS: Option<&'static str> =
                if $claims { Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts")) } else { None };

            fn settle(engine: &Silo) {
                engine.settle();
            }
        }
    };
}

fixture!(Claiming, true);
fixture!(Plain, false);

impl Programs for Claiming {
    type Door = Silo;

    fn programs(engine: &Arc<Silo>) -> Arc<Silo> {
        engine.clone()
    }
}

impl Procedures for Claiming {
    type Door = AsDeclared<AsReexecutable<Silo>>;

    fn procedures(engine: &Arc<Silo>) -> Arc<AsDeclared<AsReexecutable<Silo>>> {
        Arc::new(AsDeclared(AsReexecutable(engine.clone())))
    }
}

//! The engine's fixtures for the battery, and short ways to open it.
#![allow(dead_code, reason = "each test takes what it needs")]

use conformance::{Durable, Fixture, Knobs, Procedures, Programs, Sessions, Waits};
use env::SimDisk;
use model::{AsDeclared, AsReexecutable, Result, Schema, Storage, TableId};
use seriatim_hyper::{Driver, Hyper, LogOptions, Options, Validation};
use std::sync::Arc;

/// Values of columns, as in the paper.
pub struct ByColumn;

/// Whole rows; any change of a row counts; starts stay; no places are claimed.
pub struct ByRow;

/// The options that the battery asks for.
pub fn options_for(knobs: &Knobs) -> Options {
    let default = Options::default();
    Options {
        key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
        row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
        write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
        write_set_bytes: knobs.write_set_bytes.unwrap_or(default.write_set_bytes),
        predicates: knobs.read_set.unwrap_or(default.predicates),
        transactions: knobs.transactions.unwrap_or(default.transactions),
        tables: knobs.tables.unwrap_or(default.tables),
        wait_limit: knobs.wait_limit.unwrap_or(default.wait_limit),
        memory_bytes: knobs.memory_bytes.map(|bytes| bytes as usize),
        block_rows: if knobs.has_small_parts { 4 } else { default.block_rows },
        has_small_nodes: knobs.has_small_parts,
        ..default
    }
}

/// An engine with one ordered table of registers.
pub fn with_registers(options: Options) -> (Arc<Hyper>, TableId) {
    let engine = Arc::new(Hyper::new(options));
    let registers = conformance::registers::registers("registers", Storage::Ordered);
    let table = engine.create_table(registers).expect("a new table");
    (engine, table)
}

macro_rules! fixture {
    ($subject:ty, $options:expr, $recordings:expr) => {
        impl Fixture for $subject {
            type Engine = Hyper;

            const CLAIMS_SERIAL_POINTS: bool = $recordings.is_some();

            fn open(knobs: &Knobs) -> Arc<Hyper> {
                Arc::new(Hyper::new(Options { ..$options(options_for(knobs)) }))
            }

            fn create_table(engine: &Hyper, schema: Schema) -> Result<TableId> {
                engine.create_table(schema)
            }

            fn collect(engine: &Hyper) -> u64 {
                engine.collect() as u64
            }

            /// No version, no writer and no key without a row is left, once nobody is open.
            fn assert_idle(engine: &Hyper, entries: u64) {
                engine.collect();
                let stats = engine.stats();
                assert_eq!((stats.open, stats.asleep), (0, 0));
                assert_eq!((stats.garbage, stats.versioned, stats.rows), (0, 0, entries));
            }
        }

        impl Sessions for $subject {
            const READERS_COMMIT: bool = true;
            const SNAPSHOTS_WAIT: bool = false;
            const RECORDINGS: Option<&'static str> = $recordings;
        }

        impl Waits for $subject {
            fn asleep(engine: &Hyper) -> usize {
                engine.stats().asleep as usize
            }
        }
    };
}

fixture!(ByColumn, |options| options, Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts")));
fixture!(
    ByRow,
    |options| Options {
        by_row: true,
        validation: Validation::Rows,
        moves_starts: false,
        claims: false,
        whole_versions: true,
        ..options
    },
    None::<&'static str>
);

impl Durable for ByColumn {
    fn reopen(disk: &SimDisk) -> Result<Arc<Hyper>> {
        let log = LogOptions {
            segment_bytes: 2048,
            part_bytes: 64,
            buffer_bytes: 1024,
            driver: Driver::Caller,
            recovery_threads: 3,
            ..LogOptions::default()
        };
        let options = Options { log, ..options_for(&Knobs::impatient()) };
        Hyper::open(Arc::new(disk.clone()), options).map(Arc::new)
    }

    fn table(engine: &Hyper, name: &str) -> Option<TableId> {
        engine.table_named(name)
    }
}

impl Programs for ByColumn {
    type Door = AsReexecutable<Hyper>;

    fn programs(engine: &Arc<Hyper>) -> Arc<AsReexecutable<Hyper>> {
        Arc::new(AsReexecutable(engine.clone()))
    }
}

impl Procedures for ByColumn {
    type Door = AsDeclared<AsReexecutable<Hyper>>;

    fn procedures(engine: &Arc<Hyper>) -> Arc<Self::Door> {
        Arc::new(AsDeclared(AsReexecutable(engine.clone())))
    }
}

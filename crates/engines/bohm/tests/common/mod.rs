//! The engine's fixture for the battery.
#![allow(dead_code, reason = "each test takes what it needs")]

use conformance::{Fixture, Knobs, Procedures, Programs};
use model::{Result, Schema, TableId};
use seriatim_bohm::{Bohm, Options};
use std::sync::Arc;

/// One planner, one executing thread.
pub struct OneAndOne;

/// More threads than cores, in small batches, and evaluations that are cut short.
pub struct Many;

/// Small numbers, so that rare paths are common.
pub fn small() -> Options {
    Options {
        planners: 3,
        executors: 3,
        batch: 7,
        run_ahead: 2,
        queue: 16,
        depth: 2,
        has_small_nodes: true,
        ..Options::default()
    }
}

macro_rules! fixture {
    ($subject:ty, $options:expr) => {
        impl Fixture for $subject {
            type Engine = Bohm;

            fn open(knobs: &Knobs) -> Arc<Bohm> {
                let default: Options = $options;
                Arc::new(Bohm::new(Options {
                    key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
                    row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
                    write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
                    tables: knobs.tables.map_or(default.tables, |most| most as usize),
                    ..default
                }))
            }

            fn create_table(engine: &Bohm, schema: Schema) -> Result<TableId> {
                engine.create_table(schema)
            }

            fn collect(engine: &Bohm) -> u64 {
                engine.collect()
            }

            /// Keys without a row leave no record.
            fn assert_idle(engine: &Bohm, entries: u64) {
                engine.collect();
                let stats = engine.stats();
                assert_eq!((stats.readers, stats.garbage, stats.records), (0, 0, entries));
            }
        }

        impl Procedures for $subject {
            type Door = Bohm;

            fn procedures(engine: &Arc<Bohm>) -> Arc<Bohm> {
                engine.clone()
            }
        }

        impl Programs for $subject {
            type Door = Bohm;

            fn programs(engine: &Arc<Bohm>) -> Arc<Bohm> {
                engine.clone()
            }
        }
    };
}

/// The same, of threads that move: more partitions than threads that plan.
pub struct Moving;

fixture!(OneAndOne, Options::default());
fixture!(Moving, Options { moves_threads: true, executors: 1, ..small() });
fixture!(Many, small());

//! The engine's fixtures for the battery: one node that executes one transaction at a time, one that executes many, and three nodes
//! whose callers take turns.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod cluster;

use cluster::Cluster;
use conformance::{Fixture, Knobs, Procedures, Programs};
use model::{Result, Schema, TableId};
use seriatim_dur::{Options, Policy, Window};
use std::sync::Arc;

/// One node, one transaction at a time: XDUR.
pub struct OneAtATime;

/// One node, more threads than cores.
pub struct Many;

/// Three nodes in sets, with small limits.
pub struct ThreeInSets;

/// Three nodes with a sliding window.
pub struct ThreeSliding;

/// Three nodes that hold what they write, with small limits.
pub struct ThreeConflictAware;

/// One executing thread, no speculation.
pub fn conflict_aware() -> Options {
    Options { policy: Policy::ConflictAware, executors: 1, ..Options::default() }
}

/// One executing thread, one transaction at a time.
pub fn xdur() -> Options {
    Options { executors: 1, speculative: 1, ..Options::default() }
}

/// Small numbers, so that rare paths are common.
pub fn small() -> Options {
    Options { executors: 3, speculative: 3, pending: 7, batch: 2, payloads: 2, queue: 16, ..Options::default() }
}

macro_rules! fixture {
    ($subject:ty, $nodes:expr, $options:expr) => {
        impl Fixture for $subject {
            type Engine = Cluster;

            fn open(knobs: &Knobs) -> Arc<Cluster> {
                let default: Options = $options;
                Arc::new(Cluster::open(
                    $nodes,
                    Options {
                        key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
                        row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
                        write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
                        tables: knobs.tables.map_or(default.tables, |most| most as usize),
                        ..default
                    },
                ))
            }

            fn create_table(cluster: &Cluster, schema: Schema) -> Result<TableId> {
                cluster.create_table(schema)
            }

            /// Keys without a row leave no object.
            fn assert_idle(cluster: &Cluster, entries: u64) {
                cluster.assert_idle(Some(entries));
            }
        }

        impl Procedures for $subject {
            type Door = Cluster;

            /// Procedures wait in one queue, and are executed by several threads on several nodes.
            const KEEPS_ORDER: bool = false;

            fn procedures(cluster: &Arc<Cluster>) -> Arc<Cluster> {
                cluster.clone()
            }
        }

        impl Programs for $subject {
            type Door = Cluster;

            fn programs(cluster: &Arc<Cluster>) -> Arc<Cluster> {
                cluster.clone()
            }
        }
    };
}

fixture!(OneAtATime, 1, xdur());
fixture!(Many, 1, Options { executors: 6, speculative: 5, window: Window::Sliding, ..Options::default() });
fixture!(ThreeInSets, 3, small());
fixture!(ThreeConflictAware, 3, Options { policy: Policy::ConflictAware, ..small() });
fixture!(ThreeSliding, 3, Options { window: Window::Sliding, speculative: 8, ..small() });

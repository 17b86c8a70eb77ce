//! The battery that every engine passes, on one node and on the first of three; over both kinds of local store.

mod common;

use common::{Kind, Nodes, options};
use conformance::{Fixture, Knobs, Procedures, Programs, Sessions, Waits};
use model::{AsDeclared, AsReexecutable, Begin, Interactive, LogPosition, Pending, Result, Schema, TableId, Tables};
use seriatim_cluster::{Limits, Options, Transaction};
use std::sync::Arc;

/// The first of some nodes; the others apply what it writes.
pub struct First(Nodes);

impl Interactive for First {
    type Transaction<'engine> = Transaction;
    type Owned = Transaction;

    fn begin(&self, how: Begin) -> Result<Transaction> {
        Interactive::begin(&**self.0.node(0), how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Transaction> {
        Interactive::begin_owned(self.0.node(0), how)
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.0.node(0).wait_durable(position)
    }

    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        self.0.node(0).durable(position)
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        self.0.node(0).ddl()
    }
}

fn options_for(knobs: &Knobs) -> Options {
    let default = options();
    Options {
        limits: Limits { tables: knobs.tables.unwrap_or(default.limits.tables), ..default.limits },
        key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
        row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
        write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
        write_set_bytes: knobs.write_set_bytes.unwrap_or(default.write_set_bytes),
        read_set: knobs.read_set.unwrap_or(default.read_set),
        transactions: knobs.transactions.unwrap_or(default.transactions),
        wait_limit: knobs.wait_limit.unwrap_or(default.wait_limit),
        // So short that most transactions are proposed in parts.
        part_bytes: if knobs.has_small_parts { 64 } else { default.part_bytes },
        ..default
    }
}

macro_rules! fixture {
    ($subject:ident, $nodes:expr, $kind:expr) => {
        pub struct $subject;

        impl Fixture for $subject {
            type Engine = First;

            const CLAIMS_SERIAL_POINTS: bool = false;

            fn open(knobs: &Knobs) -> Arc<First> {
                Arc::new(First(Nodes::open($nodes, $kind, options_for(knobs))))
            }

            fn create_table(engine: &First, schema: Schema) -> Result<TableId> {
                engine.0.node(0).create_table_unlisted(schema)
            }

            fn assert_idle(engine: &First, _: u64) {
                let status = engine.0.node(0).status();
                assert_eq!((status.open, status.waiting, status.proposed), (0, 0, 0));
                assert_eq!(engine.0.node(0).rows_held(), 0);
            }
        }

        impl Sessions for $subject {
            const READERS_COMMIT: bool = true;
            const SNAPSHOTS_WAIT: bool = false;
        }

        impl Waits for $subject {
            fn asleep(engine: &First) -> usize {
                engine.0.node(0).status().waiting as usize
            }
        }

        impl Programs for $subject {
            type Door = AsReexecutable<First>;

            fn programs(engine: &Arc<First>) -> Arc<Self::Door> {
                Arc::new(AsReexecutable(engine.clone()))
            }
        }

        impl Procedures for $subject {
            type Door = AsDeclared<AsReexecutable<First>>;

            fn procedures(engine: &Arc<First>) -> Arc<Self::Door> {
                Arc::new(AsDeclared(AsReexecutable(engine.clone())))
            }
        }
    };
}

macro_rules! run {
    ($module:ident, $subject:ident, $nodes:expr, $kind:expr) => {
        mod $module {
            use super::*;

            fixture!($subject, $nodes, $kind);

            conformance::battery! {
                $subject: anomalies definitions histories limits mistakes procedures programs rows savepoints snapshots tickets twin waits;
                lacks durability "what was acknowledged is as durable as the order: tests of their own stop and start nodes",
                lacks memory "the limit is the local store's",
                lacks serial_points "a reader has no place in the order",
                lacks views "a transaction's footprint belongs to one thread",
            }
        }
    };
}

run!(one_over_hyper, OneHyper, 1, Kind::Hyper);
run!(three_over_mvto, ThreeMvto, 3, Kind::Mvto);

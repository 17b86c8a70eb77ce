//! The battery that every engine passes, on two-phase locking.

use conformance::{Fixture, Knobs, Procedures, Programs, Sessions, Waits};
use model::{Result, Schema, TableId};
use seriatim_twopl::{Options, TwoPhaseLocking};
use std::sync::Arc;

struct Subject;

impl Fixture for Subject {
    type Engine = TwoPhaseLocking;

    fn open(knobs: &Knobs) -> Arc<TwoPhaseLocking> {
        let default = Options::default();
        Arc::new(TwoPhaseLocking::new(Options {
            key_bytes: knobs.key_bytes.unwrap_or(default.key_bytes),
            row_bytes: knobs.row_bytes.unwrap_or(default.row_bytes),
            write_set_rows: knobs.write_set_rows.unwrap_or(default.write_set_rows),
            write_set_bytes: knobs.write_set_bytes.unwrap_or(default.write_set_bytes),
            locks: knobs.read_set.unwrap_or(default.locks),
            transactions: knobs.transactions.unwrap_or(default.transactions),
            tables: knobs.tables.unwrap_or(default.tables),
            wait_limit: knobs.wait_limit.unwrap_or(default.wait_limit),
            has_small_nodes: true,
            ..default
        }))
    }

    fn create_table(engine: &TwoPhaseLocking, schema: Schema) -> Result<TableId> {
        engine.create_table(schema)
    }

    /// Keys that were locked without having a row leave no record.
    fn assert_idle(engine: &TwoPhaseLocking, entries: u64) {
        let stats = engine.stats();
        assert_eq!((stats.open, stats.asleep, stats.records), (0, 0, entries));
    }
}

impl Sessions for Subject {
    const READERS_COMMIT: bool = false;
    const RECORDINGS: Option<&'static str> = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts"));
}

impl Waits for Subject {
    fn asleep(engine: &TwoPhaseLocking) -> usize {
        engine.stats().asleep as usize
    }
}

impl Programs for Subject {
    type Door = TwoPhaseLocking;

    fn programs(engine: &Arc<TwoPhaseLocking>) -> Arc<TwoPhaseLocking> {
        engine.clone()
    }
}

impl Procedures for Subject {
    type Door = TwoPhaseLocking;

    fn procedures(engine: &Arc<TwoPhaseLocking>) -> Arc<TwoPhaseLocking> {
        engine.clone()
    }
}

conformance::battery! {
    Subject: anomalies definitions histories limits mistakes procedures programs rows savepoints serial_points tickets twin
        waits;
    lacks durability "in memory only",
    lacks memory "for comparison: nothing is counted",
    lacks snapshots "readers take locks, wait for writers and can be wounded",
    lacks views "the locks of a transaction are taken by one thread",
}

//! What EXPLAIN ANALYZE tells of each operator.

use crate::plan::Plan;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Counters by operator: plans do not move while they run, so that an operator's address names it.
#[derive(Debug, Default)]
pub struct Counters(HashMap<usize, Counter>);

/// What one operator did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    /// How often it was started.
    pub loops: u64,
    /// Rows that it returned, over all loops.
    pub rows: u64,
    /// Time that it took, its inputs' included.
    pub total: Duration,
}

impl Counters {
    /// The counter of an operator; `None` if it never ran.
    pub fn of(&self, plan: &Plan) -> Option<Counter> {
        self.0.get(&address(plan)).copied()
    }

    pub(super) fn started(&mut self, plan: &Plan) {
        self.0.entry(address(plan)).or_default().loops += 1;
    }

    pub(super) fn returned(&mut self, plan: &Plan, since: Instant, row: bool) {
        let counter = self.0.entry(address(plan)).or_default();
        counter.total += since.elapsed();
        counter.rows += u64::from(row);
    }
}

fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

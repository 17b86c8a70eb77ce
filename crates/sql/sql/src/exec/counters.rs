//! Counters of each operator for EXPLAIN ANALYZE.

use crate::plan::Plan;
use crate::stack::ensure_stack;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Counters by operator. Plans do not move while they run, so an operator's address identifies it.
#[derive(Debug, Default)]
pub struct Counters {
    operators: HashMap<usize, Counter>,
    /// Rows that did not satisfy a condition, by the address of what has the condition.
    removed: HashMap<usize, u64>,
}

/// Counters of one operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    /// Number of starts.
    pub loops: u64,
    /// Number of rows returned, over all loops.
    pub rows: u64,
    /// Time until its first row, including its inputs.
    pub startup: Duration,
    /// Total time over all loops, including its inputs.
    pub total: Duration,
}

impl Counters {
    /// The counter of an operator; `None` if it was never started.
    pub fn of(&self, plan: &Plan) -> Option<Counter> {
        self.operators.get(&address(plan)).copied()
    }

    /// Number of rows that the condition of a scan, a filter or a join has removed.
    pub fn removed_by<T>(&self, owner: &T) -> u64 {
        self.removed.get(&std::ptr::from_ref(owner).addr()).copied().unwrap_or_default()
    }

    pub(super) fn removes<T>(&mut self, owner: &T) {
        *self.removed.entry(std::ptr::from_ref(owner).addr()).or_default() += 1;
    }

    /// Records the start of a plan, with everything below it that starts with it.
    pub(super) fn started(&mut self, plan: &Plan) {
        self.operators.entry(address(plan)).or_default().loops += 1;
        match plan {
            Plan::With { body, .. } => ensure_stack(|| self.started(body)),
            Plan::Recursive { start, .. } => ensure_stack(|| self.started(start)),
            Plan::Join(join) if join.lateral => ensure_stack(|| self.started(&join.left)),
            _ => plan.each_input(&mut |input, _| ensure_stack(|| self.started(input))),
        }
    }

    /// Records that a plan, started once, has returned so many rows together.
    pub(super) fn has_returned(&mut self, plan: &Plan, rows: u64) {
        self.operators.entry(address(plan)).or_default().rows += rows;
    }

    pub(super) fn returned(&mut self, plan: &Plan, since: Instant, rows: u64) {
        let counter = self.operators.entry(address(plan)).or_default();
        counter.total += since.elapsed();
        if counter.rows == 0 && rows > 0 {
            counter.startup = counter.total;
        }
        counter.rows += rows;
    }
}

fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

//! Counters of each operator for EXPLAIN ANALYZE.

use crate::plan::Plan;
use crate::stack::ensure_stack;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Counters by operator. Plans do not move while they run, so an operator's address identifies it.
#[derive(Debug, Default)]
pub struct Counters(HashMap<usize, Counter>);

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
        self.0.get(&address(plan)).copied()
    }

    /// Records the start of a plan, with everything below it that starts with it.
    pub(super) fn started(&mut self, plan: &Plan) {
        self.0.entry(address(plan)).or_default().loops += 1;
        match plan {
            Plan::With { body, .. } => ensure_stack(|| self.started(body)),
            Plan::Recursive { start, .. } => ensure_stack(|| self.started(start)),
            Plan::Join(join) if join.lateral => ensure_stack(|| self.started(&join.left)),
            _ => plan.each_input(&mut |input, _| ensure_stack(|| self.started(input))),
        }
    }

    pub(super) fn returned(&mut self, plan: &Plan, since: Instant, row: bool) {
        let counter = self.0.entry(address(plan)).or_default();
        counter.total += since.elapsed();
        if row {
            counter.rows += 1;
            if counter.rows == 1 {
                counter.startup = counter.total;
            }
        }
    }
}

fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

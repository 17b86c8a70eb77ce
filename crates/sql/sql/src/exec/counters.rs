//! What EXPLAIN ANALYZE tells of each operator.

use crate::plan::Plan;
use crate::stack::deeper;
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
    /// Time until its first row; its inputs' included.
    pub startup: Duration,
    /// Time that it took, over all loops; its inputs' included.
    pub total: Duration,
}

impl Counters {
    /// The counter of an operator; `None` if it was never started.
    pub fn of(&self, plan: &Plan) -> Option<Counter> {
        self.0.get(&address(plan)).copied()
    }

    /// Notes that a plan is started, with everything below it that starts with it.
    pub(super) fn started(&mut self, plan: &Plan) {
        self.0.entry(address(plan)).or_default().loops += 1;
        match plan {
            Plan::With { body, .. } => deeper(|| self.started(body)),
            Plan::Recursive { start, .. } => deeper(|| self.started(start)),
            Plan::Join(join) if join.lateral => deeper(|| self.started(&join.left)),
            _ => plan.each_input(&mut |input, _| deeper(|| self.started(input))),
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

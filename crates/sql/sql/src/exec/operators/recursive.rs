//! WITH RECURSIVE: the step runs over the rows of the previous step until it returns none.

use super::super::key_table::KeyTable;
use super::super::scope::{Cte, Run};
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::Plan;
use crate::types::Row;
use pgtypes::memory::push;
use std::sync::Arc;

/// The state of a recursion.
pub struct RecursiveState {
    /// State of the start, later of the step.
    node: Node,
    /// Whether the start has ended.
    stepping: bool,
    /// Input of the step, while the step does not run.
    working: Option<Cte>,
    /// Input rows of the next step.
    fresh: Vec<Row>,
    /// Bytes of these rows, and of the rows that the running step reads.
    bytes: (usize, usize),
    /// All rows so far, for UNION.
    seen: Option<KeyTable>,
}

impl RecursiveState {
    pub fn new(start: Node) -> RecursiveState {
        RecursiveState { node: start, stepping: false, working: None, fresh: Vec::new(), bytes: (0, 0), seen: None }
    }

    pub fn next(
        &mut self,
        number: usize,
        start: &Arc<Plan>,
        step: &Arc<Plan>,
        distinct: bool,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Row>> {
        if distinct && self.seen.is_none() {
            self.seen = Some(KeyTable::new(run.output_types(start)));
        }
        loop {
            run.tick()?;
            let row = if self.stepping { self.next_of_step(number, step, run)? } else { self.node.next(start, run)? };
            let Some(row) = row else {
                if self.fresh.is_empty() {
                    return Ok(None);
                }
                self.turn(number, start, step, run);
                continue;
            };
            if let Some(seen) = &mut self.seen {
                if !seen.insert(row.clone())?.1 {
                    continue;
                }
                run.hold(row_bytes(&row), "WITH RECURSIVE")?;
            }
            let bytes = row_bytes(&row);
            run.hold(bytes, "WITH RECURSIVE")?;
            self.bytes.0 += bytes;
            push(&mut self.fresh, row.clone())?;
            return Ok(Some(row));
        }
    }

    /// Starts the next step over the rows of the previous one.
    fn turn(&mut self, number: usize, start: &Arc<Plan>, step: &Plan, run: &mut Run<'_, '_>) {
        run.exec.memory.give_back(self.bytes.1);
        self.bytes = (0, self.bytes.0);
        let outer = run.define_cte(number, start.clone(), None, std::mem::take(&mut self.fresh));
        self.working = exchange(number, outer, run);
        run.started(step);
        self.node = Node::new(step);
        self.stepping = true;
    }

    /// While the step runs, the number denotes the previous step's rows; afterwards its old meaning is restored.
    fn next_of_step(&mut self, number: usize, step: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let outer = exchange(number, self.working.take(), run);
        let row = self.node.next(step, run);
        self.working = exchange(number, outer, run);
        row
    }
}

/// Changes the meaning of a number; returns the previous one.
fn exchange(number: usize, cte: Option<Cte>, run: &mut Run<'_, '_>) -> Option<Cte> {
    match cte {
        Some(cte) => run.scope.ctes.insert(number, cte),
        None => run.scope.ctes.remove(&number),
    }
}

//! State shared by a running plan: enclosing rows, queries of WITH, results of subqueries.

mod kept;
mod subquery;

pub(super) use kept::{KeptBatches, SHARE};
pub(super) use subquery::{Answer, CachedRows, SubqueryState};

use super::counters::Counters;
use crate::context::Exec;
use crate::error::{Result, SqlError, state};
use crate::plan::Plan;
use crate::stack;
use crate::types::Row;
use std::collections::HashMap;
use std::sync::Arc;
use vectors::Batch;

/// Maximum nesting of plans and expressions at run time, including subqueries and lateral joins. Each level may use a piece of
/// a new stack.
const MAX_DEPTH: usize = 20_000;

/// Rows of a plan as they come.
pub(super) enum Rows {
    /// One.
    One(Row),
    /// Some, with all columns.
    Batch(Batch),
}

/// State of a running plan. Expressions use it for subqueries, independently of the operators.
pub(super) trait PlanRows: Send {
    /// Returns the next row of the plan for which it was started.
    ///
    /// # Errors
    /// Errors of the expressions and of the engine; 53200, 57014.
    fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>>;

    /// Returns the next rows, as they come. A plan is asked for its rows in one of both ways.
    ///
    /// # Errors
    /// Those of [`PlanRows::next`].
    fn next_rows(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Rows>> {
        Ok(self.next(plan, run)?.map(Rows::One))
    }
}

/// A query of WITH in scope.
pub(super) struct Cte {
    /// The query; for the rows of a recursion's last step, one with the same columns.
    pub plan: Arc<Plan>,
    /// The state of the query, unless it has ended.
    pub node: Option<Box<dyn PlanRows>>,
    /// Number of enclosing rows that it sees.
    pub height: usize,
    /// Its rows so far, those as batches first.
    pub batches: KeptBatches,
    /// The rows that came one by one since.
    pub rows: Vec<Row>,
    /// Bytes of these.
    pub bytes: usize,
    /// Whether they may be made batches, which go to a file.
    pub may_pack: bool,
    /// Distinguishes two runs of the same query.
    pub generation: u64,
}

/// State of a running plan that its operators share.
pub(super) struct Scope {
    /// Starts a plan.
    start: fn(&Plan) -> Box<dyn PlanRows>,
    /// Enclosing rows, the nearest last.
    pub outer: Vec<Row>,
    /// The queries of WITH that are in scope, by number.
    pub ctes: HashMap<usize, Cte>,
    /// States of subqueries in expressions, by the address of their plan (which the state keeps alive).
    pub subqueries: HashMap<usize, SubqueryState>,
    /// Rows and times of operators, for EXPLAIN ANALYZE.
    pub counters: Option<Counters>,
    /// Number of queries of WITH that were ever in scope; distinguishes two runs of the same one.
    pub generation: u64,
    depth: usize,
    steps: u64,
}

/// A call into a running plan: the statement's handle, and the plan's scope.
pub(super) struct Run<'r, 's> {
    /// The statement's handle.
    pub exec: &'r mut Exec<'s>,
    /// The plan's scope.
    pub scope: &'r mut Scope,
}

impl Scope {
    /// An empty scope. `start` starts the plans of subqueries and of WITH.
    pub fn new(start: fn(&Plan) -> Box<dyn PlanRows>) -> Scope {
        Scope {
            start,
            outer: Vec::new(),
            ctes: HashMap::new(),
            subqueries: HashMap::new(),
            counters: None,
            generation: 0,
            depth: 0,
            steps: 0,
        }
    }
}

impl Run<'_, '_> {
    /// Starts a plan.
    pub fn start(&self, plan: &Plan) -> Box<dyn PlanRows> {
        (self.scope.start)(plan)
    }

    /// Runs `work` one nesting level further in.
    pub fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.scope.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.scope.depth += 1;
        let result = stack::ensure_stack(|| work(self));
        self.scope.depth -= 1;
        result
    }

    /// Counts a row that did not satisfy the condition of a scan, a filter or a join.
    pub fn count_removed<T>(&mut self, owner: &T) {
        if let Some(counters) = &mut self.scope.counters {
            counters.removes(owner);
        }
    }

    /// Counts a step of work; checks the cancel flag from time to time.
    pub fn tick(&mut self) -> Result<()> {
        self.scope.steps = self.scope.steps.wrapping_add(1);
        self.exec.check_at_row(self.scope.steps)
    }

    /// Counts bytes that an operator will hold.
    ///
    /// # Errors
    /// 53200 with the operator's name.
    pub fn hold(&mut self, bytes: usize, operator: &str) -> Result<()> {
        let memory = &mut self.exec.memory;
        memory.take(bytes).map_err(|mut error| {
            let fields = error.fields_mut();
            if fields.detail.is_none() {
                fields.detail = Some(format!("The memory ended in {operator}, with {} bytes in use.", memory.used()));
            }
            error
        })
    }

    /// Records a further start of an operator, for EXPLAIN ANALYZE.
    pub fn started(&mut self, plan: &Plan) {
        if let Some(counters) = &mut self.scope.counters {
            counters.started(plan);
        }
    }

    /// Runs `work` with one more enclosing row, and returns the row.
    pub fn inside<T>(&mut self, row: Row, work: impl FnOnce(&mut Self) -> Result<T>) -> (Result<T>, Row) {
        self.scope.outer.push(row);
        let result = work(self);
        (result, self.scope.outer.pop().unwrap_or_default())
    }

    /// Runs `work` with only the first `height` enclosing rows in scope.
    pub fn outside<T>(&mut self, height: usize, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let nearer = self.scope.outer.split_off(height.min(self.scope.outer.len()));
        let result = work(self);
        self.scope.outer.extend(nearer);
        result
    }
}

fn too_deep() -> SqlError {
    SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint("The statement nests expressions or queries too deeply.")
}

/// Internal error: the plan and its state do not match.
pub(super) fn out_of_step() -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, "a plan does not match its execution state")
}

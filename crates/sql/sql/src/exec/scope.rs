//! What a running plan knows besides its own state: enclosing rows, queries of WITH, results of subqueries.

mod subquery;

pub(super) use subquery::{Answer, Kept, SubqueryState};

use super::counters::Counters;
use crate::context::Context;
use crate::error::{Result, SqlError, state};
use crate::plan::Plan;
use crate::stack;
use crate::types::Row;
use std::collections::HashMap;
use std::sync::Arc;

/// How deep plans and expressions may nest at run time, subqueries and lateral joins included; each level may take a piece
/// of a new stack.
const MAX_DEPTH: usize = 20_000;

/// How many steps pass between two looks at the cancel flag.
const STEPS_BETWEEN_CHECKS: u32 = 256;

/// The state of a running plan. Expressions hold one for a subquery, and know no operator.
pub(super) trait PlanRows: Send {
    /// The next row of the plan that it was started for.
    ///
    /// # Errors
    /// Of the expressions, the engine's, 53200, 57014.
    fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>>;
}

/// A query of WITH in scope.
pub(super) struct Cte {
    /// The query; of the rows of a recursion's last step, one with the same columns.
    pub plan: Arc<Plan>,
    /// The state of the query, unless it has ended.
    pub node: Option<Box<dyn PlanRows>>,
    /// How many enclosing rows it sees.
    pub height: usize,
    /// Its rows so far.
    pub rows: Vec<Row>,
    /// Tells two runs of the same query apart.
    pub generation: u64,
}

/// What a running plan knows besides its own state.
pub(super) struct Scope {
    /// Starts a plan.
    start: fn(&Plan) -> Box<dyn PlanRows>,
    /// The enclosing rows, the nearest last.
    pub outer: Vec<Row>,
    /// The queries of WITH that are in scope, by number.
    pub ctes: HashMap<usize, Cte>,
    /// What is known of subqueries in expressions, by the address of their plan (which the state keeps alive).
    pub subqueries: HashMap<usize, SubqueryState>,
    /// Rows and times of operators, when EXPLAIN ANALYZE wants them.
    pub counters: Option<Counters>,
    /// Counts the queries of WITH that were ever in scope, to tell two runs of the same one apart.
    pub generation: u64,
    depth: usize,
    steps: u32,
}

/// A call into a running plan: the statement's context, and the plan's scope.
pub(super) struct Run<'r, 's> {
    /// The statement's context.
    pub context: &'r mut Context<'s>,
    /// The plan's scope.
    pub scope: &'r mut Scope,
}

impl Scope {
    /// Nothing yet. `start` starts the plans of subqueries and of WITH.
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

    /// Goes one level deeper for the time of `work`.
    pub fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.scope.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.scope.depth += 1;
        let result = stack::deeper(|| work(self));
        self.scope.depth -= 1;
        result
    }

    /// Counts a step of work; looks now and then whether somebody wants the statement to stop.
    pub fn tick(&mut self) -> Result<()> {
        self.scope.steps = self.scope.steps.wrapping_add(1);
        if self.scope.steps.is_multiple_of(STEPS_BETWEEN_CHECKS) { self.context.check_cancel() } else { Ok(()) }
    }

    /// Counts bytes that an operator will hold.
    ///
    /// # Errors
    /// 53200, with the operator's name.
    pub fn hold(&mut self, bytes: usize, operator: &str) -> Result<()> {
        let memory = &mut self.context.memory;
        memory.take(bytes).map_err(|mut error| {
            let fields = error.fields_mut();
            if fields.detail.is_none() {
                fields.detail = Some(format!("The memory ended in {operator}, with {} bytes in use.", memory.used()));
            }
            error
        })
    }

    /// Notes for EXPLAIN ANALYZE that an operator is started again.
    pub fn started(&mut self, plan: &Plan) {
        if let Some(counters) = &mut self.scope.counters {
            counters.started(plan);
        }
    }

    /// Does `work` with one enclosing row more, and gives the row back.
    pub fn inside<T>(&mut self, row: Row, work: impl FnOnce(&mut Self) -> Result<T>) -> (Result<T>, Row) {
        self.scope.outer.push(row);
        let result = work(self);
        (result, self.scope.outer.pop().unwrap_or_default())
    }

    /// Does `work` where only the first `height` enclosing rows are seen.
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

/// A plan and the state that runs it have come apart: an error of this program.
pub(super) fn out_of_step() -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, "a plan and its state are out of step")
}

//! WITH: queries that run at most once, only as far as they are read, and are shared by all readers.

use super::super::scope::{Cte, PlanRows, Run, out_of_step};
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::Plan;
use crate::types::{Row, Type};
use pgtypes::memory::push;
use std::sync::Arc;

/// The state of WITH.
pub struct WithState {
    body: Node,
    started: bool,
}

impl WithState {
    pub fn new(body: Node) -> WithState {
        WithState { body, started: false }
    }

    pub fn next(&mut self, queries: &[(usize, Arc<Plan>)], body: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if !self.started {
            self.started = true;
            for (number, plan) in queries {
                run.started(plan);
                let node = run.start(plan);
                run.define_cte(*number, plan.clone(), Some(node), Vec::new());
            }
        }
        self.body.next(body, run)
    }
}

/// Returns the next row of a query of WITH for a reader that has read `at` rows.
pub fn next_of_cte(at: &mut usize, number: usize, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    let cte = run.scope.ctes.get_mut(&number).ok_or_else(out_of_step)?;
    if let Some(row) = cte.rows.get(*at) {
        *at += 1;
        return Ok(Some(row.clone()));
    }
    let Some(mut node) = cte.node.take() else { return Ok(None) };
    let (plan, height) = (cte.plan.clone(), cte.height);
    let row = run.outside(height, |run| node.next(&plan, run))?;
    let Some(row) = row else { return Ok(None) };
    run.hold(row_bytes(&row), "a query of WITH")?;
    let cte = run.scope.ctes.get_mut(&number).ok_or_else(out_of_step)?;
    cte.node = Some(node);
    push(&mut cte.rows, row.clone())?;
    *at += 1;
    Ok(Some(row))
}

impl Run<'_, '_> {
    /// Brings a query of WITH into scope. Returns the previous query of its number.
    pub(super) fn define_cte(
        &mut self,
        number: usize,
        plan: Arc<Plan>,
        node: Option<Box<dyn PlanRows>>,
        rows: Vec<Row>,
    ) -> Option<Cte> {
        self.scope.generation += 1;
        let generation = self.scope.generation;
        let cte = Cte { plan, node, height: self.scope.outer.len(), rows, generation };
        self.scope.ctes.insert(number, cte)
    }

    /// The types of a plan's columns.
    pub(super) fn output_types(&self, plan: &Plan) -> Vec<Type> {
        plan.output_types(&|number| self.scope.ctes.get(&number).map(|cte| cte.plan.clone()))
    }
}

//! The operators: each pulls rows from its inputs on demand.
//!
//! A [`Node`] is the state of one operator. The plan is separate and is passed to each call, so that nothing is copied out of
//! it and nothing stays borrowed between calls.

mod aggregate;
mod build;
mod distinct;
mod join;
mod left_build_join;
mod limit;
mod lock;
mod recursive;
mod rows;
mod scan;
mod set;
mod sort;
mod vectors;
mod window;
mod with;

pub use scan::Logged;

use super::scope::{PlanRows, Rows, Run, out_of_step};
use crate::error::Result;
use crate::plan::Plan;
use crate::types::Row;
use std::time::Instant;

/// State of a running operator.
pub(super) enum Node {
    Values(usize),
    Scan(Box<scan::ScanState>),
    ComputedRows(rows::ComputedRows),
    Functions(rows::Sides),
    Filter(Box<Node>),
    Project(Box<Node>),
    ProjectSet(Box<rows::Sets>),
    Join(Box<join::JoinState>),
    Aggregate(Box<aggregate::AggregateState>),
    Window(Box<window::WindowState>),
    Sort(Box<sort::SortState>),
    Limit(Box<limit::LimitState>),
    Distinct(Box<distinct::DistinctState>),
    Set(Box<set::SetState>),
    With(Box<with::WithState>),
    CteScan(Box<with::CteReader>),
    Recursive(Box<recursive::RecursiveState>),
    Vectors(Box<vectors::VectorsState>),
    Lock(Box<lock::LockState>),
}

impl PlanRows for Node {
    fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        Node::next(self, plan, run)
    }

    fn next_rows(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Rows>> {
        let (Node::Vectors(state), Plan::Vectors { input, wanted: None }) = (&mut *self, plan) else {
            return Ok(Node::next(self, plan, run)?.map(Rows::One));
        };
        run.tick()?;
        let since = Instant::now();
        let rows = run.nested(|run| state.next_rows(input, run))?;
        if let Some(counters) = &mut run.scope.counters {
            let count = match &rows {
                None => 0,
                Some(Rows::One(_)) => 1,
                Some(Rows::Batch(batch)) => batch.rows as u64,
            };
            counters.returned(plan, since, count);
        }
        Ok(rows)
    }
}

impl Node {
    /// State of a plan before its first row.
    pub fn new(plan: &Plan) -> Node {
        crate::stack::ensure_stack(|| Node::start(plan))
    }

    fn start(plan: &Plan) -> Node {
        match plan {
            Plan::Values { .. } => Node::Values(0),
            Plan::Scan(_) => Node::Scan(Box::default()),
            Plan::Virtual { .. } => Node::ComputedRows(None),
            Plan::Functions { .. } => Node::Functions(rows::Sides::default()),
            Plan::Filter { input, .. } => Node::Filter(Box::new(Node::new(input))),
            Plan::Project { input, .. } => Node::Project(Box::new(Node::new(input))),
            Plan::ProjectSet { input, .. } => Node::ProjectSet(Box::new(rows::Sets::new(Node::new(input)))),
            Plan::Join(join) => Node::Join(Box::new(join::JoinState::new(join))),
            Plan::Aggregate(aggregation) => {
                Node::Aggregate(Box::new(aggregate::AggregateState::new(Node::new(&aggregation.input))))
            }
            Plan::Window(window) => Node::Window(Box::new(window::WindowState::new(Node::new(&window.input)))),
            Plan::Sort { input, .. } => Node::Sort(Box::new(sort::SortState::new(Node::new(input)))),
            Plan::Limit { input, .. } => Node::Limit(Box::new(limit::LimitState::new(Node::new(input)))),
            Plan::Distinct { input, .. } => Node::Distinct(Box::new(distinct::DistinctState::new(Node::new(input)))),
            Plan::Set { left, right, .. } => Node::Set(Box::new(set::SetState::new(Node::new(left), Node::new(right)))),
            Plan::With { body, .. } => Node::With(Box::new(with::WithState::new(Node::new(body)))),
            Plan::CteScan { .. } => Node::CteScan(Box::default()),
            Plan::Recursive { start, .. } => {
                Node::Recursive(Box::new(recursive::RecursiveState::new(Node::new(start))))
            }
            Plan::Vectors { wanted, .. } => Node::Vectors(Box::new(vectors::VectorsState::new(wanted.as_deref()))),
            Plan::Lock { input, .. } => Node::Lock(Box::new(lock::LockState::new(Node::new(input)))),
        }
    }

    /// Returns the next row.
    pub fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        run.tick()?;
        if run.scope.counters.is_some() {
            return self.next_counted(plan, run);
        }
        run.nested(|run| self.step(plan, run))
    }

    fn next_counted(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let since = Instant::now();
        let result = run.nested(|run| self.step(plan, run));
        if let (Some(counters), Ok(row)) = (&mut run.scope.counters, &result) {
            counters.returned(plan, since, u64::from(row.is_some()));
        }
        result
    }

    fn step(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        match (self, plan) {
            (Node::Values(at), Plan::Values { rows }) => rows::next_values(at, rows, run),
            (Node::Scan(state), Plan::Scan(scan)) => state.next(scan, run),
            (Node::ComputedRows(made), Plan::Virtual { table, name }) => {
                rows::next_virtual(made, table, name.as_ref(), run)
            }
            (Node::Functions(sides), Plan::Functions { calls, ordinality }) => sides.next(calls, *ordinality, run),
            (Node::Filter(node), Plan::Filter { input, condition }) => rows::next_passing(node, input, condition, run),
            (Node::Project(node), Plan::Project { input, columns }) => match node.next(input, run)? {
                Some(row) => run.evaluate_all(columns, &row).map(Some),
                None => Ok(None),
            },
            (Node::ProjectSet(state), Plan::ProjectSet { input, columns }) => state.next(input, columns, run),
            (Node::Join(state), Plan::Join(join)) => state.next(join, run),
            (Node::Aggregate(state), Plan::Aggregate(aggregation)) => state.next(aggregation, run),
            (Node::Window(state), Plan::Window(window)) => state.next(window, run),
            (Node::Sort(state), Plan::Sort { input, keys }) => state.next(input, keys, run),
            (Node::Limit(state), Plan::Limit { input, limit, ties, offset }) => {
                state.next(input, limit.as_ref(), ties.as_deref(), offset.as_ref(), run)
            }
            (Node::Distinct(state), Plan::Distinct { input, on }) => state.next(input, on.as_deref(), run),
            (Node::Set(state), Plan::Set { operation, all, left, right }) => {
                state.next(*operation, *all, left, right, run)
            }
            (Node::With(state), Plan::With { queries, body }) => state.next(queries, body, run),
            (Node::CteScan(reader), Plan::CteScan { number }) => reader.next(*number, run),
            (Node::Recursive(state), Plan::Recursive { number, start, step, distinct }) => {
                state.next(*number, start, step, *distinct, run)
            }
            (Node::Vectors(state), Plan::Vectors { input, .. }) => state.next(input, run),
            (Node::Lock(state), Plan::Lock { input, tables }) => state.next(input, tables, run),
            _ => Err(out_of_step()),
        }
    }

    /// Announces to a sort below that only its first `rows` will be read.
    fn bound(&mut self, rows: usize) {
        match self {
            Node::Project(input) => input.bound(rows),
            Node::Sort(state) => state.bound(rows),
            Node::Vectors(state) => state.bound(rows),
            _ => {}
        }
    }
}

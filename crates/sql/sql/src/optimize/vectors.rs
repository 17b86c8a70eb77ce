//! Chooses the operators that run over batches: those that can, where they read so many rows that setting them up pays.

pub mod keys;

use super::estimate::rows;
use super::{Facts, column_pruning};
use crate::env::Vectors;
use crate::plan::{Expr, ExprKind, JoinKind, Path, Plan, Scan};
use crate::stack::ensure_stack;
use crate::types::{Datum, Styles, Type};
use crate::vectorize::{self, Context, Source, conjuncts};
use std::sync::Arc;

/// Rows below which the row executor is as fast, or nearly.
pub const LEAST: f64 = 4000.0;

/// The plan, with [`Plan::Vectors`] above what runs over batches.
pub fn choose(plan: Plan, vectors: Vectors, facts: &Facts<'_>) -> Plan {
    if vectors == Vectors::Off {
        return plan;
    }
    let mut chooser = Chooser { vectors, facts, has_found: false };
    let mut plan = chooser.plan(keys::computed(plan, vectors, facts));
    if chooser.has_found {
        column_pruning::prune(&mut plan, None, facts);
    }
    plan
}

struct Chooser<'f, 's> {
    vectors: Vectors,
    facts: &'f Facts<'s>,
    /// Whether something runs over batches.
    has_found: bool,
}

impl Chooser<'_, '_> {
    fn plan(&mut self, mut plan: Plan) -> Plan {
        ensure_stack(|| {
            self.subqueries(&mut plan);
            self.step(plan)
        })
    }

    /// Chooses in subqueries of expressions that run once.
    fn subqueries(&mut self, plan: &mut Plan) {
        plan.each_expression_mut(&mut |expression| {
            expression.walk_mut(&mut |part| {
                if let ExprKind::Subquery(subquery) = &mut part.kind
                    && vectorize::runs_once(subquery)
                {
                    let inner = std::mem::replace(&mut subquery.plan, Arc::new(Plan::Values { rows: Vec::new() }));
                    subquery.plan = Arc::new(self.plan(Arc::unwrap_or_clone(inner)));
                }
            });
        });
        if !matches!(plan, Plan::Recursive { .. } | Plan::Lock { .. }) {
            plan.each_input_mut(&mut |input, deeper| {
                if deeper == 0 {
                    ensure_stack(|| self.subqueries(input));
                }
            });
        }
    }

    fn step(&mut self, plan: Plan) -> Plan {
        let gains = vectorize::is_root(&plan);
        self.chosen(plan, gains)
    }

    /// The plan over batches, if it gains by them and that is possible; otherwise what is below it.
    fn chosen(&mut self, mut plan: Plan, gains: bool) -> Plan {
        if gains
            && (self.vectors == Vectors::Force || read(&plan, self.facts) >= LEAST)
            && vectorize::is_repeatable(&plan)
            && let Some(translation) = vectorize::translate(&plan, None, &mut Planned { facts: self.facts })
        {
            self.has_found = true;
            let by_rows = translation.sources.iter().filter_map(|source| match source {
                Source::Rows(place, _) => Some(*place),
                Source::Table(_) => None,
            });
            self.below_rows(&mut plan, &by_rows.collect::<Vec<_>>(), &mut 0);
            sides(&mut plan, self.facts);
            return Plan::Vectors { input: Box::new(plan), wanted: None };
        }
        match &mut plan {
            Plan::With { queries, body } => {
                queries.iter_mut().for_each(|(_, query)| self.kept(Arc::make_mut(query)));
                let inner = std::mem::replace(&mut **body, Plan::Values { rows: Vec::new() });
                **body = ensure_stack(|| self.step(inner));
            }
            // What is locked is read as it is looked for.
            Plan::Recursive { .. } | Plan::Lock { .. } => {}
            plan => plan.each_input_mut(&mut |input, deeper| {
                if deeper == 0 {
                    let inner = std::mem::replace(input, Plan::Values { rows: Vec::new() });
                    *input = ensure_stack(|| self.step(inner));
                }
            }),
        }
        plan
    }

    /// Chooses for a query of WITH. Its rows are kept: as batches they take less memory, and may go to a file.
    fn kept(&mut self, query: &mut Plan) {
        let gains =
            vectorize::is_root(query) || matches!(query, Plan::Scan(_) | Plan::Filter { .. } | Plan::Project { .. });
        let inner = std::mem::replace(query, Plan::Values { rows: Vec::new() });
        *query = ensure_stack(|| self.chosen(inner, gains));
    }

    /// Chooses below operators of a translated plan that stay with rows. They are given by their places (see [`vectorize::nodes`]); `at`
    /// is the plan's own.
    fn below_rows(&mut self, plan: &mut Plan, by_rows: &[usize], at: &mut usize) {
        if by_rows.contains(at) {
            *at += vectorize::nodes(plan).len();
            let inner = std::mem::replace(plan, Plan::Values { rows: Vec::new() });
            *plan = ensure_stack(|| self.step(inner));
            return;
        }
        *at += 1;
        plan.each_input_mut(&mut |input, _| ensure_stack(|| self.below_rows(input, by_rows, at)));
    }
}

/// Chooses the side that each join builds, where either may be built.
fn sides(plan: &mut Plan, facts: &Facts<'_>) {
    if let Plan::Join(join) = plan
        && matches!(join.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::Anti)
    {
        join.builds_left = rows(&join.left, facts) < rows(&join.right, facts);
    }
    plan.each_input_mut(&mut |input, _| ensure_stack(|| sides(input, facts)));
}

/// About how many rows are read below an operator.
fn read(plan: &Plan, facts: &Facts<'_>) -> f64 {
    let mut sum = 0.0;
    plan.each_input(&mut |input, _| sum += ensure_stack(|| read(input, facts)));
    match plan {
        Plan::Scan(scan) if matches!(scan.path, Path::All) => facts.sizes.rows(&scan.table),
        _ if sum == 0.0 => rows(plan, facts),
        _ => sum,
    }
}

/// A translation that is not run: every constant is NULL.
struct Planned<'f, 's> {
    facts: &'f Facts<'s>,
}

impl Context for Planned<'_, '_> {
    fn constant(&mut self, of: &Expr) -> Option<Datum> {
        // Of an array the elements are looked at.
        let array = || Datum::from(pgtypes::Array::new(of.data_type.scalar, Vec::new()));
        Some(if of.data_type.is_array { array() } else { Datum::Null })
    }

    fn rest(&mut self, scan: &Scan) -> Vec<usize> {
        let filter = scan.filter.as_ref().map_or(&[][..], conjuncts);
        (0..filter.len()).collect()
    }

    fn types(&self, plan: &Plan) -> Vec<Type> {
        self.facts.types(plan)
    }

    fn styles(&self) -> Arc<Styles> {
        Arc::default()
    }
}

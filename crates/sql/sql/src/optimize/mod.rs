//! Optimizer: rewrites plans into faster ones with the same meaning.
//!
//! The passes, in order: `with.rs` inlines queries of WITH that are read once; `decorrelate.rs` turns subqueries into joins;
//! `filters.rs` moves conditions down to the source of their columns; `joins.rs` puts joins into the cheapest order; `access.rs`
//! chooses indexes, with `conditions.rs` for the conditions on a column; `order.rs` drops sorts that an index makes unnecessary;
//! `min_max.rs` reads `min` and `max` from the ends of an index; `column_pruning.rs` leaves out unused columns. `columns.rs` renumbers
//! columns when an expression moves; `factor.rs` takes conditions out of an OR. `sizes.rs` asks the engine for the sizes of tables,
//! and `sampled.rs` evaluates conditions for sampled rows; by these `estimate.rs` estimates rows and costs, by rows and over batches,
//! and `vectors.rs` chooses, last, what runs over batches
//! (docs/decisions/0132-the-planner-knows-what-batches-cost.md).

mod access;
mod column_pruning;
mod columns;
mod conditions;
mod decorrelate;
mod estimate;
mod expected;
mod factor;
mod filters;
mod joins;
mod min_max;
mod order;
mod partial;
mod sampled;
mod sizes;
mod vectors;
mod with;

pub use expected::estimate;
pub use sizes::{Noted, Sizes};

#[cfg(test)]
mod tests;

use crate::catalog::Table;
use crate::env::Vectors;
use crate::plan::{Assignment, Expr, ExprKind, MergeClause, Plan, Returning, RowLock, Scan, Statement, WhenHeld};
use crate::stack::ensure_stack;
use crate::storage::Sample;
use crate::types::Type;
use crate::vectorize;
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of a plan beside the plan itself.
pub struct Facts<'s> {
    /// The queries of WITH in the statement, by number.
    ctes: Arc<HashMap<usize, Arc<Plan>>>,
    sizes: &'s Sizes<'s>,
    /// Whether operators that read many rows run over batches.
    batches: bool,
    /// Whether small tables count for the rows that they have ([`Facts::rows`]).
    counts_small: bool,
}

impl<'s> Facts<'s> {
    /// The facts of a plan.
    pub fn new(plan: &Plan, sizes: &'s Sizes<'s>) -> Facts<'s> {
        let mut ctes = HashMap::new();
        plan.walk(&mut |plan| match plan {
            Plan::With { queries, .. } => ctes.extend(queries.iter().cloned()),
            Plan::Recursive { number, start, .. } => {
                ctes.entry(*number).or_insert_with(|| start.clone());
            }
            _ => {}
        });
        Facts { ctes: Arc::new(ctes), sizes, batches: false, counts_small: joins_many_rows(plan, sizes) }
    }

    /// About how many rows a table has. A small one counts as more rows than it has ([`Sizes::rows`]), but not where it is joined with a
    /// large one: how many rows of that remain, and how it is best read, depends on the rows of all small ones.
    fn rows(&self, table: &Table) -> f64 {
        if self.counts_small { self.sizes.counted_rows(table) } else { self.sizes.rows(table) }
    }

    /// A sample of a table that is large, or whose rows count.
    fn sample(&self, table: &Table) -> Option<Arc<Sample>> {
        if self.counts_small { self.sizes.sample_of_any(table) } else { self.sizes.sample(table) }
    }

    /// The facts of a plan whose operators may run over batches.
    fn in_batches(&self) -> Facts<'s> {
        Facts { ctes: self.ctes.clone(), batches: true, ..*self }
    }

    /// The facts of a plan that the row executor runs, because it runs again and again.
    fn by_rows(&self) -> Facts<'s> {
        Facts { ctes: self.ctes.clone(), batches: false, ..*self }
    }

    /// Returns whether a statement is expected to have the memory to hold a plan's rows.
    fn can_hold(&self, plan: &Plan) -> bool {
        self.sizes.has_memory(estimate::rows(plan, self) * expected::width(plan, self) as f64)
    }

    /// The facts of a statement's plans.
    pub fn of_statement(statement: &Statement, sizes: &'s Sizes<'s>) -> Facts<'s> {
        match statement {
            Statement::Query(query) => Facts::new(&query.plan, sizes),
            Statement::Insert(insert) => Facts::new(&insert.source, sizes),
            Statement::Update(update) => Facts::new(&update.source, sizes),
            Statement::Delete(delete) => Facts::new(&delete.source, sizes),
            Statement::Merge(merge) => Facts::new(&merge.source, sizes),
            Statement::Modifying(modifying) => {
                let mut facts = Facts::of_statement(&modifying.body, sizes);
                for (_, part) in &modifying.parts {
                    let more = Facts::of_statement(part, sizes).ctes;
                    Arc::make_mut(&mut facts.ctes).extend(more.iter().map(|(number, query)| (*number, query.clone())));
                }
                facts
            }
        }
    }

    /// The query of WITH of this number.
    fn get(&self, number: usize) -> Option<&Arc<Plan>> {
        self.ctes.get(&number)
    }

    /// Types of a plan's columns.
    fn types(&self, plan: &Plan) -> Vec<Type> {
        plan.output_types(&|number| self.get(number).cloned())
    }
}

/// The improved plan, for the row executor.
pub fn optimize(plan: Plan, sizes: &Sizes<'_>) -> Plan {
    improved(plan, false, sizes)
}

/// The improved plan. `batches`: operators that read many rows will run over batches where they can.
fn improved(plan: Plan, batches: bool, sizes: &Sizes<'_>) -> Plan {
    let plan = with::inline(plan);
    let facts = Facts { batches: batches && reads_once(&plan), ..Facts::new(&plan, sizes) };
    let mut plan = tree(plan, &facts);
    column_pruning::prune(&mut plan, None, &facts);
    plan
}

/// The improved statement.
pub fn statement(statement: Statement, vectors: Vectors, sizes: &Sizes<'_>) -> Statement {
    match statement {
        Statement::Query(mut query) => {
            query.plan = read_only(query.plan, vectors, sizes);
            Statement::Query(query)
        }
        Statement::Insert(mut insert) => {
            insert.source = read_only(insert.source, vectors, sizes);
            if let Some(update) = insert.on_conflict.as_mut().and_then(|conflict| conflict.update.as_mut()) {
                in_assignments(&mut update.assignments, sizes);
                update.condition.iter_mut().for_each(|condition| in_expression(condition, sizes));
            }
            in_returning(&mut insert.returning, sizes);
            Statement::Insert(insert)
        }
        Statement::Modifying(mut modifying) => {
            modifying.parts = modifying
                .parts
                .into_iter()
                .map(|(number, part)| (number, self::statement(part, vectors, sizes)))
                .collect();
            modifying.body = Box::new(self::statement(*modifying.body, vectors, sizes));
            Statement::Modifying(modifying)
        }
        Statement::Update(mut update) => {
            update.source =
                Arc::new(owning(optimize(Arc::unwrap_or_clone(update.source), sizes), update.table.columns.len()));
            in_assignments(&mut update.assignments, sizes);
            in_returning(&mut update.returning, sizes);
            Statement::Update(update)
        }
        Statement::Merge(mut merge) => {
            let key = merge.key();
            merge.source = Arc::new(owning(optimize(Arc::unwrap_or_clone(merge.source), sizes), key));
            let expressions = merge.clauses.iter_mut().flat_map(MergeClause::expressions_mut);
            expressions.for_each(|expression| in_expression(expression, sizes));
            Statement::Merge(merge)
        }
        Statement::Delete(mut delete) => {
            delete.source =
                Arc::new(owning(optimize(Arc::unwrap_or_clone(delete.source), sizes), delete.table.columns.len()));
            in_returning(&mut delete.returning, sizes);
            Statement::Delete(delete)
        }
    }
}

fn in_assignments(assignments: &mut [Assignment], sizes: &Sizes<'_>) {
    let expressions = assignments.iter_mut().flat_map(Assignment::expressions_mut);
    expressions.for_each(|expression| in_expression(expression, sizes));
}

fn in_returning(returning: &mut Option<Returning>, sizes: &Sizes<'_>) {
    let columns = returning.iter_mut().flat_map(|returning| &mut returning.columns);
    columns.for_each(|column| in_expression(column, sizes));
}

/// Improves the plans of subqueries in an expression that a statement has beside its source.
fn in_expression(expression: &mut Expr, sizes: &Sizes<'_>) {
    expression.walk_mut(&mut |expression| {
        if let ExprKind::Subquery(subquery) = &mut expression.kind {
            let inner = std::mem::replace(&mut subquery.plan, Arc::new(Plan::Values { rows: Vec::new() }));
            subquery.plan = shared(inner, sizes);
        }
    });
}

/// The improved plan of rows that are not written, over batches where that pays.
fn read_only(plan: Arc<Plan>, vectors: Vectors, sizes: &Sizes<'_>) -> Arc<Plan> {
    let plan = improved(Arc::unwrap_or_clone(plan), vectors != Vectors::Off, sizes);
    let facts = Facts::new(&plan, sizes);
    Arc::new(vectors::choose(plan, vectors, &facts))
}

/// Returns whether a plan reads several tables of which one is so large that operators over batches pay.
fn joins_many_rows(plan: &Plan, sizes: &Sizes<'_>) -> bool {
    let mut tables = Vec::new();
    plan.walk(&mut |plan| {
        if let Plan::Scan(scan) = plan {
            tables.push(&scan.table);
        }
    });
    tables.len() > 1 && tables.iter().any(|table| sizes.rows(table) >= vectors::LEAST)
}

/// Returns whether a plan owns no rows and repeats nothing: what owns rows or runs again is never run over batches.
fn reads_once(plan: &Plan) -> bool {
    let mut is = true;
    plan.walk(&mut |plan| {
        is &= match plan {
            Plan::Scan(scan) => !scan.for_update,
            plan => !matches!(plan, Plan::Lock { .. } | Plan::Recursive { .. }),
        };
    });
    is
}

fn shared(plan: Arc<Plan>, sizes: &Sizes<'_>) -> Arc<Plan> {
    Arc::new(optimize(Arc::unwrap_or_clone(plan), sizes))
}

/// A plan and the plans of the subqueries in its expressions.
fn tree(plan: Plan, facts: &Facts<'_>) -> Plan {
    let plan = decorrelate::tree(plan, facts);
    let plan = filters::push(plan, Vec::new(), facts);
    let plan = joins::arrange(plan, facts);
    let mut plan = access::choose(plan, None, facts);
    subqueries(&mut plan, facts);
    plan
}

/// Improves the plans of subqueries in expressions, and the queries of WITH.
fn subqueries(plan: &mut Plan, facts: &Facts<'_>) {
    plan.each_expression_mut(&mut |expression| {
        expression.walk_mut(&mut |expression| {
            if let ExprKind::Subquery(subquery) = &mut expression.kind {
                let inner = std::mem::replace(&mut subquery.plan, Arc::new(Plan::Values { rows: Vec::new() }));
                // A plan that refers to the row runs for each.
                subquery.plan = Arc::new(match vectorize::plan_runs_once(&inner) {
                    true => tree(Arc::unwrap_or_clone(inner), facts),
                    false => tree(Arc::unwrap_or_clone(inner), &facts.by_rows()),
                });
            }
        });
    });
    plan.each_input_mut(&mut |input, _| ensure_stack(|| subqueries(input, facts)));
}

/// Makes the source of UPDATE or DELETE own exactly the rows that it returns: a scan owns what it returns, but a join
/// above it may drop some of that. The row's key stands at `key`.
fn owning(mut plan: Plan, key: usize) -> Plan {
    if is_scan(&plan) {
        return plan;
    }
    let mut target = None;
    plan.each_scan_mut(&mut |scan| {
        if scan.for_update {
            scan.for_update = false;
            target = Some(scan.table.clone());
        }
    });
    match target {
        Some(table) => {
            Plan::Lock { input: Box::new(plan), tables: vec![RowLock { table, key, when_held: WhenHeld::Wait }] }
        }
        None => plan,
    }
}

/// Returns whether every row of a scan below becomes a row of the plan.
fn is_scan(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(_) => true,
        Plan::Project { input, .. } => is_scan(input),
        _ => false,
    }
}

impl Plan {
    /// Calls `visit` with each scan, those in subqueries of expressions excepted.
    fn each_scan_mut(&mut self, visit: &mut dyn FnMut(&mut Scan)) {
        if let Plan::Scan(scan) = self {
            visit(scan);
        }
        self.each_input_mut(&mut |input, _| ensure_stack(|| input.each_scan_mut(visit)));
    }

    /// Number of columns.
    fn width(&self, facts: &Facts<'_>) -> usize {
        facts.types(self).len()
    }
}

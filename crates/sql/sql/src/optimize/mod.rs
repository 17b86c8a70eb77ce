//! Optimizer: rewrites plans into faster ones with the same meaning.
//!
//! The passes, in order: `with.rs` inlines queries of WITH that are read once; `decorrelate.rs` turns EXISTS and IN into joins;
//! `filters.rs` moves conditions down to the source of their columns; `joins.rs` orders inner joins so that equalities connect
//! them; `access.rs` chooses indexes, with `conditions.rs` for the conditions on a column; `order.rs` drops sorts that an index
//! makes unnecessary; `min_max.rs` reads `min` and `max` from the ends of an index; `column_pruning.rs` finds unused
//! columns. `columns.rs` renumbers columns when an expression moves.

mod access;
mod column_pruning;
mod columns;
mod conditions;
mod decorrelate;
mod estimate;
mod filters;
mod joins;
mod min_max;
mod order;
mod partial;
mod with;

#[cfg(test)]
mod tests;

use crate::plan::{Expr, ExprKind, Plan, Returning, RowLock, Scan, Statement, WhenHeld};
use crate::stack::ensure_stack;
use std::collections::HashMap;
use std::sync::Arc;

/// The queries of WITH in a statement, by number.
type Ctes = HashMap<usize, Arc<Plan>>;

/// The improved plan.
pub fn optimize(plan: Plan) -> Plan {
    let plan = with::inline(plan);
    let mut ctes = Ctes::new();
    plan.walk(&mut |plan| match plan {
        Plan::With { queries, .. } => ctes.extend(queries.iter().cloned()),
        Plan::Recursive { number, start, .. } => {
            ctes.entry(*number).or_insert_with(|| start.clone());
        }
        _ => {}
    });
    let mut plan = tree(plan, &ctes);
    column_pruning::prune(&mut plan, None, &ctes);
    plan
}

/// The improved statement.
pub fn statement(statement: Statement) -> Statement {
    match statement {
        Statement::Query(mut query) => {
            query.plan = shared(query.plan);
            Statement::Query(query)
        }
        Statement::Insert(mut insert) => {
            insert.source = shared(insert.source);
            if let Some(update) = insert.on_conflict.as_mut().and_then(|conflict| conflict.update.as_mut()) {
                update.assignments.iter_mut().for_each(|(_, value)| in_expression(value));
                update.condition.iter_mut().for_each(in_expression);
            }
            in_returning(&mut insert.returning);
            Statement::Insert(insert)
        }
        Statement::Modifying(mut modifying) => {
            modifying.parts =
                modifying.parts.into_iter().map(|(number, part)| (number, self::statement(part))).collect();
            modifying.body = Box::new(self::statement(*modifying.body));
            Statement::Modifying(modifying)
        }
        Statement::Update(mut update) => {
            update.source = Arc::new(owning(optimize(Arc::unwrap_or_clone(update.source)), update.table.columns.len()));
            update.assignments.iter_mut().for_each(|(_, value)| in_expression(value));
            in_returning(&mut update.returning);
            Statement::Update(update)
        }
        Statement::Delete(mut delete) => {
            delete.source = Arc::new(owning(optimize(Arc::unwrap_or_clone(delete.source)), delete.table.columns.len()));
            in_returning(&mut delete.returning);
            Statement::Delete(delete)
        }
    }
}

fn in_returning(returning: &mut Option<Returning>) {
    returning.iter_mut().flat_map(|returning| &mut returning.columns).for_each(in_expression);
}

/// Improves the plans of subqueries in an expression that a statement has beside its source.
fn in_expression(expression: &mut Expr) {
    expression.walk_mut(&mut |expression| {
        if let ExprKind::Subquery(subquery) = &mut expression.kind {
            let inner = std::mem::replace(&mut subquery.plan, Arc::new(Plan::Values { rows: Vec::new() }));
            subquery.plan = shared(inner);
        }
    });
}

fn shared(plan: Arc<Plan>) -> Arc<Plan> {
    Arc::new(optimize(Arc::unwrap_or_clone(plan)))
}

/// A plan and the plans of the subqueries in its expressions.
fn tree(plan: Plan, ctes: &Ctes) -> Plan {
    let plan = decorrelate::tree(plan, ctes);
    let plan = filters::push(plan, Vec::new(), ctes);
    let plan = joins::arrange(plan, ctes);
    let mut plan = access::choose(plan, None, ctes);
    subqueries(&mut plan, ctes);
    plan
}

/// Improves the plans of subqueries in expressions, and the queries of WITH.
fn subqueries(plan: &mut Plan, ctes: &Ctes) {
    plan.each_expression_mut(&mut |expression| {
        expression.walk_mut(&mut |expression| {
            if let ExprKind::Subquery(subquery) = &mut expression.kind {
                let inner = std::mem::replace(&mut subquery.plan, Arc::new(Plan::Values { rows: Vec::new() }));
                subquery.plan = Arc::new(tree(Arc::unwrap_or_clone(inner), ctes));
            }
        });
    });
    plan.each_input_mut(&mut |input, _| ensure_stack(|| subqueries(input, ctes)));
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
    fn width(&self, ctes: &Ctes) -> usize {
        self.output_types(&|number| ctes.get(&number).cloned()).len()
    }
}

//! Plans inside statements.

use super::{Assignment, Expr, ExprKind, Field, MergeClause, Plan, Statement};
use crate::types::{Datum, Type};
use std::sync::Arc;

impl Statement {
    /// The columns of the rows that a statement returns: of a query, or of RETURNING.
    pub fn columns(&self) -> Option<&[Field]> {
        let returning = match self {
            Statement::Query(query) => return Some(&query.fields),
            Statement::Modifying(modifying) => return modifying.body.columns(),
            Statement::Insert(insert) => &insert.returning,
            Statement::Update(update) => &update.returning,
            Statement::Delete(delete) => &delete.returning,
            Statement::Merge(_) => return None,
        };
        returning.as_ref().map(|returning| returning.fields.as_slice())
    }

    /// Calls `visit` with each plan of a statement: its source, and the subqueries in its other expressions, which lie one row
    /// further in.
    pub fn each_plan_mut(&mut self, visit: &mut dyn FnMut(&mut Plan, usize)) {
        let mut expressions: Vec<&mut Expr> = vec![];
        match self {
            Statement::Query(query) => visit(Arc::make_mut(&mut query.plan), 0),
            Statement::Insert(insert) => {
                visit(Arc::make_mut(&mut insert.source), 0);
                if let Some(update) = insert.on_conflict.as_mut().and_then(|conflict| conflict.update.as_mut()) {
                    expressions.extend(update.assignments.iter_mut().flat_map(Assignment::expressions_mut));
                    expressions.extend(&mut update.condition);
                }
                expressions.extend(insert.returning.iter_mut().flat_map(|returning| &mut returning.columns));
            }
            Statement::Update(update) => {
                visit(Arc::make_mut(&mut update.source), 0);
                expressions.extend(update.assignments.iter_mut().flat_map(Assignment::expressions_mut));
                expressions.extend(update.returning.iter_mut().flat_map(|returning| &mut returning.columns));
            }
            Statement::Delete(delete) => {
                visit(Arc::make_mut(&mut delete.source), 0);
                expressions.extend(delete.returning.iter_mut().flat_map(|returning| &mut returning.columns));
            }
            Statement::Merge(merge) => {
                visit(Arc::make_mut(&mut merge.source), 0);
                expressions.extend(merge.clauses.iter_mut().flat_map(MergeClause::expressions_mut));
            }
            Statement::Modifying(modifying) => {
                for (_, part) in &mut modifying.parts {
                    part.each_plan_mut(visit);
                }
                modifying.body.each_plan_mut(visit);
            }
        }
        for expression in expressions {
            expression.walk_mut(&mut |expression| {
                if let ExprKind::Subquery(subquery) = &mut expression.kind {
                    visit(Arc::make_mut(&mut subquery.plan), 1);
                }
            });
        }
    }
}

impl Plan {
    /// Returns a plan of no rows, of these types. It is a limit, so that no pass merges it with its reader.
    pub fn no_rows(types: &[Type]) -> Plan {
        let row = types.iter().map(|data_type| Expr::constant(Datum::Null, *data_type)).collect();
        let limit = Some(Expr::constant(Datum::Int8(0), Type::INT8));
        Plan::Limit { input: Box::new(Plan::Values { rows: vec![row] }), limit, ties: None, offset: None }
    }
}

//! WITH whose queries write.
//!
//! All parts see the state at the statement's start: each computes its writes and its rows, in order, and only then is anything
//! written. The other parts see the rows that a part returns, not its writes.

use super::write::{Intent, Preparation};
use super::{Changed, KeyChecks, delete, insert, merge, source, update};
use crate::context::Exec;
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind, Modifying, Plan, Statement};
use crate::stack::ensure_stack;
use crate::types::{Row, Type};
use std::sync::Arc;

/// The rows of the parts so far, by the number under which they are read.
type PartResults = Vec<(usize, Arc<Plan>)>;

/// Runs it: the rows that the body returns, and how many it changed.
///
/// # Errors
/// Errors of [`super::insert`].
pub fn modifying(exec: &mut Exec<'_>, statement: &Modifying) -> Result<Changed> {
    let mut preparation = Preparation::of_parts();
    let mut given = PartResults::new();
    // The parts as they are run: with the rows of the earlier ones in place.
    let parts: Vec<Statement> = statement.parts.iter().map(|(_, part)| part.clone()).collect();
    let (mut parts, mut body) = (parts, (*statement.body).clone());
    let mut intents = vec![];
    for ((number, _), part) in statement.parts.iter().zip(&mut parts) {
        give(part, &given);
        let types: Vec<Type> = part.columns().unwrap_or_default().iter().map(|field| field.data_type).collect();
        let (rows, intent) = prepare(exec, part, &mut preparation)?;
        given.push((*number, Arc::new(constant_rows(rows, &types))));
        intents.extend(intent);
    }
    give(&mut body, &given);
    let (rows, intent) = prepare(exec, &body, &mut preparation)?;
    let mut key_checks = KeyChecks::default();
    for intent in intents {
        intent.apply(exec, &mut key_checks)?;
    }
    let mut changed = Changed { rows: 0, returned: rows };
    if let Some(intent) = intent {
        changed.rows = intent.apply(exec, &mut key_checks)?.rows;
    }
    key_checks.finish(exec)?;
    Ok(changed)
}

/// The rows that a part returns, and what it will write.
fn prepare<'s>(
    exec: &mut Exec<'_>,
    part: &'s Statement,
    preparation: &mut Preparation,
) -> Result<(Vec<Row>, Option<Intent<'s>>)> {
    let mut intent = match part {
        Statement::Query(query) => {
            exec.transaction.set_reads_wait(query.locks);
            return Ok((source::rows(exec, &query.plan)?, None));
        }
        Statement::Insert(part) => insert::prepare(exec, part, preparation)?,
        Statement::Update(part) => update::prepare(exec, part, preparation)?,
        Statement::Delete(part) => delete::prepare(exec, part, preparation)?,
        Statement::Merge(part) => merge::prepare(exec, part, preparation)?,
        Statement::Modifying(_) => {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
    };
    let rows = std::mem::take(&mut intent.returned);
    Ok((rows, Some(intent)))
}

/// Returns computed rows as a plan, with the types of their columns even if there are none.
fn constant_rows(rows: Vec<Row>, types: &[Type]) -> Plan {
    if rows.is_empty() {
        return Plan::no_rows(types);
    }
    let constant = |(value, data_type): (_, &Type)| Expr::constant(value, *data_type);
    let row = |row: Row| row.into_iter().zip(types).map(constant).collect();
    Plan::Values { rows: rows.into_iter().map(row).collect() }
}

/// Inserts the rows of earlier parts where a plan reads them.
fn give(part: &mut Statement, given: &PartResults) {
    part.each_plan_mut(&mut |plan, _| give_to(plan, given));
}

fn give_to(plan: &mut Plan, given: &PartResults) {
    plan.each_expression_mut(&mut |expression| {
        expression.walk_mut(&mut |expression| {
            if let ExprKind::Subquery(subquery) = &mut expression.kind {
                give_to(Arc::make_mut(&mut subquery.plan), given);
            }
        });
    });
    let Plan::With { queries, body } = plan else {
        plan.each_input_mut(&mut |input, _| ensure_stack(|| give_to(input, given)));
        return;
    };
    for (number, query) in queries {
        match given.iter().find(|(known, _)| known == number) {
            Some((_, rows)) => *query = rows.clone(),
            None => give_to(Arc::make_mut(query), given),
        }
    }
    ensure_stack(|| give_to(body, given));
}

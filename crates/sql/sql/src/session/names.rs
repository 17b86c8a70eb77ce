//! Object identifiers that print as names: `regclass` and its kin leave as the names that they stand for, which only the
//! catalog knows. Describe still tells their type.

use crate::error::Result;
use crate::functions::resolve_function;
use crate::plan::{Expr, ExprKind, Field, Plan, Returning, Statement};
use crate::types::{Scalar, Type};
use std::sync::Arc;

/// The statement, whose rows have names where its fields are such identifiers.
pub(super) fn with_names(mut statement: Statement) -> Result<Statement> {
    name_fields(&mut statement)?;
    Ok(statement)
}

fn name_fields(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Query(query) if query.fields.iter().any(is_name) => {
            let column = |(at, field): (usize, &Field)| {
                named(Expr::column(at, field.data_type, field.modifier), field.data_type)
            };
            let columns = query.fields.iter().enumerate().map(column).collect::<Result<_>>()?;
            query.plan = Arc::new(Plan::Project { input: Box::new((*query.plan).clone()), columns });
        }
        Statement::Query(_) => {}
        Statement::Insert(insert) => name_returning(&mut insert.returning)?,
        Statement::Update(update) => name_returning(&mut update.returning)?,
        Statement::Delete(delete) => name_returning(&mut delete.returning)?,
        Statement::Modifying(modifying) => {
            name_fields(&mut modifying.body)?;
        }
    }
    Ok(())
}

fn name_returning(returning: &mut Option<Returning>) -> Result<()> {
    let Some(returning) = returning else { return Ok(()) };
    for column in &mut returning.columns {
        let data_type = column.data_type;
        *column = named(column.clone(), data_type)?;
    }
    Ok(())
}

fn is_name(field: &Field) -> bool {
    output_function(field.data_type).is_some()
}

/// The function that gives the name.
fn output_function(data_type: Type) -> Option<&'static str> {
    if data_type.is_array {
        return None;
    }
    match data_type.scalar {
        Scalar::Regclass => Some("regclassout"),
        Scalar::Regtype => Some("regtypeout"),
        Scalar::Regproc => Some("regprocout"),
        Scalar::Regnamespace => Some("regnamespaceout"),
        Scalar::Regrole => Some("regroleout"),
        _ => None,
    }
}

fn named(expression: Expr, data_type: Type) -> Result<Expr> {
    let Some(function) = output_function(data_type) else { return Ok(expression) };
    let resolved = resolve_function(function, &[data_type])?;
    Ok(Expr::new(ExprKind::Call(resolved, vec![expression]), data_type))
}

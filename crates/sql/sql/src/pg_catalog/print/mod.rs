//! Expressions and queries in PostgreSQL's printed form, as `pg_get_expr` and its kin give them.
//!
//! The catalog keeps expressions as their authors wrote them. To print one it is bound again, so that types and
//! implicit casts are known (`c >= 0` of a numeric column is `c >= (0)::numeric`), and the bound tree is written down by
//! the rules of PostgreSQL's `ruleutils.c`: every operator in parentheses, or, when pretty, only where they are needed.

mod columns;
mod constant;
mod operator;
mod query;
mod tree;

pub(super) use columns::columns_in;
pub(super) use query::query;

use super::names;
use crate::bind;
use crate::catalog::{Domain, Table};
use crate::context::Names;
use crate::plan::ExprKind;
use crate::types::{Modifier, Type};
use syntax::ast::{Expr, Literal, Value};

/// Defaults that are words of SQL: bound, they are calls of `now()`.
const TIME_WORDS: [&str; 5] = ["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"];

/// An expression over the columns of a table, as PostgreSQL prints it; as it is kept, if it cannot be bound any more.
pub(super) fn expression(names: &mut Names<'_>, text: &str, table: Option<&Table>, pretty: bool) -> String {
    if let Some(word) = TIME_WORDS.iter().find(|word| word.eq_ignore_ascii_case(text.trim())) {
        return (*word).to_owned();
    }
    let visible: Vec<(String, Type, Modifier)> = table.map_or_else(Vec::new, columns_of);
    let bound = match bind::expression_as_written(names, text, &visible) {
        Ok(bound) => bound,
        Err(_) => return text.to_owned(),
    };
    if let ExprKind::Constant(value) = &bound.kind
        && is_typed_string(text)
    {
        return constant::of_string(value, bound.data_type);
    }
    let columns = visible.iter().map(|(name, ..)| names::quote(name)).collect();
    let mut printer = tree::Printer { names, columns, pretty };
    printer.top(&bound).unwrap_or_else(|| text.to_owned())
}

/// Returns whether an expression is `'text'::type`, a constant of that type.
fn is_typed_string(text: &str) -> bool {
    let is_string = |expression: &Expr| matches!(expression, Expr::Literal(Literal { value: Value::String(_), .. }));
    matches!(syntax::expression(text), Ok(Expr::Cast { expr, .. }) if is_string(&expr))
}

/// The columns by position; dropped ones by a name that no expression says.
fn columns_of(table: &Table) -> Vec<(String, Type, Modifier)> {
    let columns = table.columns.iter().map(|column| {
        let name = if column.dropped { String::new() } else { column.name.clone() };
        (name, column.data_type, column.modifier)
    });
    columns.collect()
}

/// A condition over the value of a domain. The value of a domain over another is of that other, and converted where it is used.
pub(super) fn of_value(names: &mut Names<'_>, text: &str, domain: &Domain, pretty: bool) -> String {
    let value = [(bind::VALUE.to_owned(), domain.data_type, domain.modifier)];
    let Ok(bound) = bind::expression_as_written(names, text, &value) else { return text.to_owned() };
    let data_type = domain.data_type.name();
    let value = match (domain.over, pretty) {
        (None, _) => "VALUE".to_owned(),
        (Some(_), true) => format!("VALUE::{data_type}"),
        (Some(_), false) => format!("(VALUE)::{data_type}"),
    };
    let mut printer = tree::Printer { names, columns: vec![value], pretty };
    printer.top(&bound).unwrap_or_else(|| text.to_owned())
}

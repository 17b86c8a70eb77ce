//! Which columns an expression names.

use crate::catalog::Table;
use std::ops::ControlFlow;
use syntax::ast::{Expr, visit_expressions};

/// The positions of the columns that an expression over a table's columns names, each once, as they appear.
pub(in crate::pg_catalog) fn columns_in(expression: &str, table: &Table) -> Vec<usize> {
    let Ok(parsed) = syntax::expression(expression) else { return Vec::new() };
    let mut columns = Vec::new();
    let _ = visit_expressions(&parsed, |part| {
        let name = match part {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        let column = name.and_then(|name| table.column(&fold(name)));
        columns.extend(column.filter(|column| !columns.contains(column)));
        ControlFlow::<()>::Continue(())
    });
    columns
}

/// A name as the catalog keeps it.
fn fold(name: &syntax::ast::Ident) -> String {
    if name.quoted { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

//! Expressions and predicates of indexes.

use super::coerce::is_immutable_cast;
use crate::catalog::{EXPRESSION, NameLookup, Table};
use crate::error::Result;
use crate::functions::Volatility;
use crate::plan::{Expr, ExprKind, IndexRule, IndexRules};
use crate::types::{Modifier, Type};
use std::collections::BTreeSet;

/// What a table's indexes compute of its rows.
///
/// # Errors
/// Errors of binding.
pub(crate) fn index_rules(names: &mut dyn NameLookup, table: &Table) -> Result<IndexRules> {
    if !table.indexes.iter().any(|index| index.is_computed()) {
        return Ok(IndexRules::default());
    }
    let columns = row_columns(table);
    let mut rules = vec![];
    for index in table.indexes.iter().filter(|index| index.is_computed()) {
        let expressions: Vec<Expr> = index
            .expressions
            .iter()
            .map(|text| super::expression(names, text, &columns, None))
            .collect::<Result<_>>()?;
        let wanted = Some((Type::BOOL, Modifier::NONE));
        let predicate = match &index.predicate {
            Some(text) => Some(super::expression(names, text, &columns, wanted)?),
            None => None,
        };
        let mut columns = columns_of(expressions.iter().chain(&predicate));
        columns.extend(index.columns.iter().filter(|column| **column != EXPRESSION));
        rules.push(IndexRule { index: index.oid, expressions, predicate, columns });
    }
    Ok(IndexRules::new(rules))
}

fn columns_of<'e>(expressions: impl Iterator<Item = &'e Expr>) -> Vec<usize> {
    let mut columns = BTreeSet::new();
    for expression in expressions {
        expression.walk(&mut |part| {
            if let ExprKind::Column(column) = part.kind {
                columns.insert(column);
            }
        });
    }
    columns.into_iter().collect()
}

/// The columns of a table's row as the binder takes them; dropped ones get names that cannot be written in SQL.
pub(crate) fn row_columns(table: &Table) -> Vec<(String, Type, Modifier)> {
    let name = |at: usize| match &table.columns[at] {
        column if column.dropped => format!("........pg.dropped.{}........", at + 1),
        column => column.name.clone(),
    };
    table.columns.iter().enumerate().map(|(at, column)| (name(at), column.data_type, column.modifier)).collect()
}

/// Functions that PostgreSQL calls stable, since their formats follow the locale, though no setting changes them here.
const BY_LOCALE: [&str; 3] = ["to_char", "to_date", "to_number"];

/// Returns whether an expression has the same value for the same row at any time and in any session.
pub(crate) fn is_immutable(expression: &Expr) -> bool {
    !expression.any(|part| match &part.kind {
        ExprKind::Call(function, _) | ExprKind::Quantified { operator: function, .. } => {
            function.function.volatility != Volatility::Immutable || BY_LOCALE.contains(&function.function.name)
        }
        ExprKind::Cast { input, .. } => {
            input.data_type != part.data_type && !is_immutable_cast(input.data_type, part.data_type)
        }
        _ => false,
    })
}

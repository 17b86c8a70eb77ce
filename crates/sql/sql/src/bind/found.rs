//! Rows that an outer join does not find.
//!
//! As a value such a row is NULL, while a row whose columns are all NULL is a row (PostgreSQL's whole-row variables). A part of
//! the row's key tells them apart. Rows without a key, of subqueries and catalogs say, get a column that is true below the
//! join; only where the statement names them as rows, so that other plans stay as they are.

use super::Binder;
use super::from::{FromItem, join_node};
use super::name::{fold, split};
use super::scope::{Names, TableNames};
use super::system_column::present;
use crate::error::Result;
use crate::plan::{Expr, ExprKind, JoinKind, Plan};
use crate::stack::ensure_stack;
use crate::types::{Datum, Modifier, Type};
use std::ops::ControlFlow;
use syntax::ast::{self, Argument, JoinKind as Written, TableFactor, TableWithJoins, Visit, visit_expressions};

/// What the tables of FROM return beside their columns.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The rows' keys, for FOR UPDATE and `ctid`.
    pub keys: bool,
    /// Whether the rows of tables with these names are there.
    pub rows: Vec<String>,
}

/// What says whether an outer join found a table's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// The row's key, where the row has one.
    Key,
    /// A column at this position, which is true if the join found the row, else NULL.
    Column(usize),
    /// Nothing: the "table" is a join under an alias, whose row is made of the columns even where they are NULL.
    Join,
}

impl Presence {
    /// Moves the column with the row that it is in.
    pub(super) fn shift(&mut self, by: usize) {
        if let Presence::Column(at) = self {
            *at += by;
        }
    }
}

/// The names that a statement, and more expressions, may use as rows, if its FROM has an outer join.
pub(super) fn rows_named<'s>(
    from: impl IntoIterator<Item = &'s TableWithJoins>,
    statement: &impl Visit,
    more: impl IntoIterator<Item = &'s ast::Expr>,
) -> Vec<String> {
    let mut names = Vec::new();
    if from.into_iter().any(has_outer_join) {
        note_rows(statement, &mut names);
        more.into_iter().for_each(|expression| note_rows(expression, &mut names));
    }
    names
}

/// The join that an item in parentheses is.
pub(super) fn nested_join(factor: &TableFactor) -> Option<&TableWithJoins> {
    match factor {
        TableFactor::NestedJoin { table, .. } => Some(table),
        _ => None,
    }
}

fn has_outer_join(item: &TableWithJoins) -> bool {
    let nested = |factor| nested_join(factor).is_some_and(|join| ensure_stack(|| has_outer_join(join)));
    let is_outer = |kind| matches!(kind, Written::Left | Written::Right | Written::Full);
    nested(&item.relation) || item.joins.iter().any(|join| is_outer(join.kind) || nested(&join.relation))
}

/// Adds the names that may denote rows: identifiers without a table, and `t.*` in an expression.
fn note_rows(node: &impl Visit, names: &mut Vec<String>) {
    let mut note = |name: Option<String>| names.extend(name);
    let last = |name: &ast::ObjectName| split(name).ok().map(|(_, table)| table);
    let _: ControlFlow<()> = visit_expressions(node, |expression| {
        match expression {
            ast::Expr::Identifier(name) => note(Some(fold(name))),
            ast::Expr::TableRow(name) => note(last(name)),
            ast::Expr::Function(function) => {
                for argument in function.arguments.iter().flatten() {
                    if let Argument::TableRow(name) = argument {
                        note(last(name));
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
}

impl Binder<'_, '_> {
    /// Binds a FROM whose tables return this beside their columns.
    pub(super) fn with_wanted<T>(&mut self, wanted: Wanted, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.scope.wanted, wanted);
        let bound = bind(self);
        self.scope.wanted = outer;
        bound
    }

    /// The side of an outer join whose rows it may replace by NULLs.
    pub(super) fn nullable_side(&self, mut side: FromItem) -> FromItem {
        side.names.tables.iter_mut().for_each(|table| table.nullable = true);
        let lacks = |table: &TableNames| {
            table.found == Presence::Key && present(table).is_empty() && self.scope.wanted.rows.contains(&table.name)
        };
        if !side.names.tables.iter().any(lacks) {
            return side;
        }
        let at = side.names.width;
        side.names.tables.iter_mut().filter(|table| lacks(table)).for_each(|table| table.found = Presence::Column(at));
        let found = Expr::constant(Datum::Bool(true), Type::BOOL);
        let names = Names { width: 1, ..Names::default() };
        let one = FromItem { plan: Plan::Values { rows: vec![vec![found]] }, names };
        join_node(side, one, JoinKind::Inner, false, None)
    }
}

/// The row of a table as a value: NULL where an outer join found none.
pub(super) fn if_found(table: &TableNames, row: Expr) -> Expr {
    let marker = match table.found {
        Presence::Key => present(table).into_iter().next(),
        Presence::Column(at) => Some(Expr::column(at, Type::BOOL, Modifier::NONE)),
        Presence::Join => None,
    };
    match marker.filter(|_| table.nullable) {
        Some(marker) => with_marker(Expr::new(ExprKind::IsNull(Box::new(marker)), Type::BOOL), row),
        None => row,
    }
}

fn with_marker(absent: Expr, row: Expr) -> Expr {
    let (data_type, modifier) = (row.data_type, row.modifier);
    let null = Expr { kind: ExprKind::Constant(Datum::Null), data_type, modifier };
    let kind = ExprKind::Case { branches: vec![(absent, null)], otherwise: Some(Box::new(row)) };
    Expr { kind, data_type, modifier }
}

/// Takes apart what [`if_found`] made; the second part is the row.
pub(super) fn row_if_found(kind: &ExprKind) -> Option<(&Expr, &Expr)> {
    let ExprKind::Case { branches, otherwise: Some(row) } = kind else { return None };
    match branches.as_slice() {
        [(absent, Expr { kind: ExprKind::Constant(Datum::Null), .. })] if matches!(row.kind, ExprKind::Row(..)) => {
            Some((absent, row))
        }
        _ => None,
    }
}

/// The expression with a change to the row in it.
pub(super) fn in_found_row(expression: &Expr, change: impl FnOnce(Expr) -> Result<Expr>) -> Option<Result<Expr>> {
    let (absent, row) = row_if_found(&expression.kind)?;
    Some(change(row.clone()).map(|row| with_marker(absent.clone(), row)))
}

/// The row alone: a conversion to another type makes a row of the fields, found or not, as PostgreSQL's does.
pub(super) fn row_of_found(kind: ExprKind) -> ExprKind {
    match row_if_found(&kind) {
        Some((_, row)) => row.kind.clone(),
        None => kind,
    }
}

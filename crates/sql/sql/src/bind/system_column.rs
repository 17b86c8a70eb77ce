//! System columns: `ctid`, `xmin`, `xmax`, `tableoid`.
//!
//! They are functions of the row's key and values (docs/decisions/0081-system-columns-are-functions-of-the-row.md). Those of
//! a row that an outer join did not find are NULL: the functions are strict, and an argument is a part of the key.

use super::Binder;
use super::clause::Clause;
use super::scope::TableNames;
use crate::catalog::Table;
use crate::error::{Result, SqlError, state};
use crate::functions::{Resolved, system_column as functions};
use crate::plan::{Expr, ExprKind};
use crate::types::{Datum, Modifier, Type};
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::ast::{self, OrderByExpr, Select, visit_expressions};

/// The names that no column can have.
pub(crate) const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"];

/// Returns whether a query may use `ctid`. Rows of tables without a primary key then carry their keys.
pub(super) fn mentions_ctid(select: &Select, order: &[OrderByExpr]) -> bool {
    let mut look = |expression: &ast::Expr| {
        let last = match expression {
            ast::Expr::Identifier(name) => Some(name),
            ast::Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        match last {
            Some(name) if name.value.eq_ignore_ascii_case("ctid") => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    visit_expressions(select, &mut look).is_break()
        || order.iter().any(|key| visit_expressions(&key.expr, &mut look).is_break())
}

fn call(function: Resolved, arguments: Vec<Expr>) -> Expr {
    let result = function.result;
    Expr::new(ExprKind::Call(function, arguments), result)
}

fn types(arguments: &[Expr]) -> Vec<Type> {
    arguments.iter().map(|argument| argument.data_type).collect()
}

/// The columns of the primary key by which a table's rows are stored.
fn key_columns(table: &Arc<Table>, first: usize) -> Option<Vec<Expr>> {
    let column = |&at: &usize| Expr::column(first + at, table.columns[at].data_type, table.columns[at].modifier);
    Some(table.row_key()?.columns.iter().map(column).collect())
}

/// Parts of the row that are NULL only if the row is not there.
pub(super) fn present(names: &TableNames) -> Vec<Expr> {
    let key = names.table.as_ref().and_then(|(table, first)| key_columns(table, *first));
    key.or_else(|| Some(vec![Expr::column(names.key?, Type::BYTEA, Modifier::NONE)])).unwrap_or_default()
}

fn ctid(names: &TableNames) -> Result<Expr> {
    let table = names.table.as_ref();
    match (table.and_then(|(table, first)| key_columns(table, *first)), names.key) {
        (Some(key), _) => Ok(call(functions::ctid(&types(&key)), key)),
        (None, Some(key)) => {
            Ok(call(functions::ctid_of_row_number(), vec![Expr::column(key, Type::BYTEA, Modifier::NONE)]))
        }
        (None, None) => {
            let error = SqlError::unsupported("ctid of a table without a primary key at this place");
            Err(error.hint("Select it in a query of its own, or give the table a primary key."))
        }
    }
}

fn xmin(names: &TableNames) -> Expr {
    let columns: Vec<Expr> = names.columns.iter().map(|column| column.value.clone()).collect();
    let titles: Vec<String> = names.columns.iter().map(|column| column.name.clone()).collect();
    let mut arguments = present(names);
    arguments.push(Expr::row(columns, &titles));
    call(functions::xmin(&types(&arguments)), arguments)
}

fn tableoid(names: &TableNames) -> Option<Expr> {
    let oid = Expr::constant(Datum::Oid(names.oid?), Type::OID);
    let present = if names.nullable { present(names) } else { Vec::new() };
    if present.is_empty() {
        return Some(oid);
    }
    let arguments: Vec<Expr> = std::iter::once(oid).chain(present).collect();
    Some(call(functions::tableoid(&types(&arguments)), arguments))
}

impl Binder<'_, '_> {
    /// A system column of a table of FROM, over the row of that table's frame; `None` where it has none of that name.
    pub(super) fn system_column(&mut self, names: &TableNames, clause: Clause, column: &str) -> Result<Option<Expr>> {
        if names.oid.is_none() || !SYSTEM_COLUMNS.contains(&column) {
            return Ok(None);
        }
        match column {
            "tableoid" => Ok(tableoid(names)),
            "xmin" => Ok(Some(xmin(names))),
            "ctid" if names.table.is_some() => ctid(names).map(Some),
            "xmax" if names.table.is_some() => Ok(Some(self.xmax(names, clause))),
            _ => Err(SqlError::unsupported(format_args!("the system column {column} of \"{}\"", names.name))),
        }
    }

    /// 0, as no other transaction can have deleted a row that is seen; in RETURNING of INSERT another number for rows that
    /// were there.
    fn xmax(&mut self, names: &TableNames, clause: Clause) -> Expr {
        match &names.table {
            // UPDATE and DELETE have keys.
            Some((table, first)) if clause == Clause::Returning && names.key.is_none() => {
                self.returns_xmax = true;
                Expr::column(first + table.columns.len(), Type::XID, Modifier::NONE)
            }
            _ => {
                let present = present(names);
                call(functions::xmax(&types(&present)), present)
            }
        }
    }

    /// Refuses a system column as the target of a statement that writes.
    pub(super) fn check_assignable(column: &str) -> Result<()> {
        if SYSTEM_COLUMNS.contains(&column) {
            let message = format!("cannot assign to system column \"{column}\"");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(())
    }
}

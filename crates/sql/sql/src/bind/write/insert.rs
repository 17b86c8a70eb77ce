//! INSERT.

use super::null_of;
use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::coerce::LocatedExpr;
use crate::bind::index::index_rules;
use crate::bind::name::{self, fold, is_default};
use crate::bind::position::{NOWHERE, start};
use crate::bind::query::Bound;
use crate::bind::scope::Names;
use crate::bind::target::UnknownLiterals;
use crate::catalog::{Identity, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, Insert, Plan};
use std::sync::Arc;
use syntax::ast::{self, Expr as Syntax, Overriding, SetExpr};

impl Binder<'_, '_> {
    /// Binds INSERT.
    pub(in crate::bind) fn insert(&mut self, insert: &ast::Insert) -> Result<Insert> {
        let table = self.written_table(&insert.table, "insert into")?;
        let alias = insert.alias.as_ref().map(fold);
        let columns = self.insert_columns(&table, &insert.columns)?;
        let is_listed = !insert.columns.is_empty();
        let source = match &insert.source {
            None => self.default_row(&table)?,
            Some(query) => self.insert_source(&table, query, &columns, is_listed, insert)?,
        };
        let on_conflict = match &insert.on_conflict {
            None => None,
            Some(conflict) => Some(self.on_conflict(&table, alias.clone(), conflict)?),
        };
        let generated = self.generated(&table)?;
        let checks = self.checks(&table)?;
        let rules = index_rules(self.names, &table)?;
        let names = Self::names_of(&table, alias);
        let returning = self.returning(insert.returning.as_ref(), names)?;
        Ok(Insert { table, source: Arc::new(source), generated, checks, rules, on_conflict, returning })
    }

    /// Columns that receive values: the listed ones, or all.
    pub(super) fn insert_columns(&self, table: &Table, listed: &[ast::ObjectName]) -> Result<Vec<usize>> {
        if listed.is_empty() {
            return Ok(table.live_columns().map(|(at, _)| at).collect());
        }
        let mut columns = Vec::with_capacity(listed.len());
        for name in listed {
            let at = self.written_column(table, name)?;
            if columns.contains(&at) {
                let message = format!("column \"{}\" specified more than once", table.columns[at].name);
                let error = SqlError::new(state::DUPLICATE_COLUMN, message);
                return Err(self.text.error_at(error, name::location(name)));
            }
            columns.push(at);
        }
        Ok(columns)
    }

    /// DEFAULT VALUES
    fn default_row(&mut self, table: &Table) -> Result<Plan> {
        let row = self.full_row(table, &[], vec![])?;
        Ok(Plan::Values { rows: vec![row] })
    }

    fn insert_source(
        &mut self,
        table: &Table,
        query: &ast::Query,
        columns: &[usize],
        is_listed: bool,
        insert: &ast::Insert,
    ) -> Result<Plan> {
        let is_plain =
            query.with.is_none() && query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none();
        match &*query.body {
            SetExpr::Values { rows, .. } if is_plain => self.insert_rows(table, rows, columns, is_listed, insert),
            _ => {
                let bound = self.query(query, UnknownLiterals::Keep)?;
                self.check_count(bound.fields.len(), columns.len(), is_listed, insert, None)?;
                self.insert_query(table, bound, columns, insert.overriding)
            }
        }
    }

    /// Rows of VALUES: each value is converted by itself, and may be DEFAULT.
    fn insert_rows(
        &mut self,
        table: &Table,
        rows: &[ast::ValuesRow],
        columns: &[usize],
        is_listed: bool,
        insert: &ast::Insert,
    ) -> Result<Plan> {
        let clause = if rows.len() == 1 { Clause::InsertRow } else { Clause::Values };
        let width = rows.first().map_or(0, Vec::len);
        let bind = |binder: &mut Self| {
            let mut bound = Vec::with_capacity(rows.len());
            for row in rows {
                if row.len() != width {
                    let error = SqlError::new(state::SYNTAX_ERROR, "VALUES lists must all be the same length");
                    return Err(binder.text.error_at(error, row.first().map_or(NOWHERE, start)));
                }
                binder.check_count(row.len(), columns.len(), is_listed, insert, Some(row))?;
                let mut values = Vec::with_capacity(row.len());
                for (value, at) in row.iter().zip(columns) {
                    values.push(binder.row_value(table, value, *at, insert.overriding)?);
                }
                bound.push(binder.full_row(table, &columns[..row.len()], values)?);
            }
            Ok(bound)
        };
        let (mut rows, frame) = self.within(Names::default(), clause, bind)?;
        if frame.calls.sets.is_empty() {
            return Ok(Plan::Values { rows });
        }
        let mut row = rows.pop().unwrap_or_default();
        let one = Plan::Values { rows: vec![vec![]] };
        let plan = self.add_windows_and_sets(one, 0, frame.calls, &mut row);
        Ok(Plan::Project { input: Box::new(plan), columns: row })
    }

    pub(super) fn row_value(
        &mut self,
        table: &Table,
        value: &Syntax,
        at: usize,
        overriding: Option<Overriding>,
    ) -> Result<Option<Expr>> {
        if is_default(value) || !given_counts(table, at, overriding)? {
            return Ok(None);
        }
        let value = self.placed(value)?;
        self.value_for(value, table, at).map(Some)
    }

    /// Rows of a query.
    fn insert_query(
        &mut self,
        table: &Table,
        mut bound: Bound,
        columns: &[usize],
        overriding: Option<Overriding>,
    ) -> Result<Plan> {
        let wanted: Vec<_> = bound
            .fields
            .iter()
            .zip(columns)
            .map(|(field, at)| match field.data_type {
                crate::types::Type::UNKNOWN => table.columns[*at].data_type,
                known => known,
            })
            .collect();
        bound = self.convert_columns(bound, &wanted)?;
        let mut values = Vec::with_capacity(columns.len());
        for (place, (field, at)) in bound.fields.iter().zip(columns).enumerate() {
            let column: LocatedExpr = (Expr::column(place, field.data_type, field.modifier), NOWHERE);
            values.push(match given_counts(table, *at, overriding)? {
                true => Some(self.value_for(column, table, *at)?),
                false => None,
            });
        }
        let columns = &columns[..bound.fields.len().min(columns.len())];
        let row = self.full_row(table, columns, values)?;
        Ok(Plan::Project { input: Box::new(bound.plan), columns: row })
    }

    /// Builds a row of all columns of the table: the given values, and defaults for the others.
    pub(super) fn full_row(
        &mut self,
        table: &Table,
        columns: &[usize],
        values: Vec<Option<Expr>>,
    ) -> Result<Vec<Expr>> {
        let mut given: Vec<Option<Expr>> = vec![None; table.columns.len()];
        for (at, value) in columns.iter().zip(values) {
            given[*at] = value;
        }
        let mut row = Vec::with_capacity(given.len());
        for (value, column) in given.into_iter().zip(&table.columns) {
            row.push(match value {
                Some(value) => value,
                None if column.dropped || column.generated.is_some() => null_of(column),
                None => self.default_of(column)?,
            });
        }
        Ok(row)
    }

    pub(super) fn check_count(
        &self,
        found: usize,
        columns: usize,
        is_listed: bool,
        insert: &ast::Insert,
        row: Option<&Vec<Syntax>>,
    ) -> Result<()> {
        if found > columns {
            let error = SqlError::new(state::SYNTAX_ERROR, "INSERT has more expressions than target columns");
            let at = row.and_then(|row| row.get(columns)).map_or(NOWHERE, start);
            return Err(self.text.error_at(error, at));
        }
        if is_listed && found < columns {
            let error = SqlError::new(state::SYNTAX_ERROR, "INSERT has more target columns than expressions");
            return Err(self.text.error_at(error, insert.columns.get(found).map_or(NOWHERE, name::location)));
        }
        Ok(())
    }
}

/// Returns whether a given value is used; otherwise the table generates its own.
///
/// # Errors
/// 428C9 for a given value in a column that is always generated.
fn given_counts(table: &Table, at: usize, overriding: Option<Overriding>) -> Result<bool> {
    let column = &table.columns[at];
    let error = || {
        let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        SqlError::new(state::GENERATED_ALWAYS, message)
    };
    if column.generated.is_some() {
        return Err(error().detail(format!("Column \"{}\" is a generated column.", column.name)));
    }
    match (column.identity, overriding) {
        (Some(_), Some(Overriding::User)) => Ok(false),
        (Some(Identity::Always), None) => Err(error()
            .detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
            .hint("Use OVERRIDING SYSTEM VALUE to override.")),
        _ => Ok(true),
    }
}

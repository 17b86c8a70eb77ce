//! INSERT, UPDATE, DELETE, MERGE.

mod assignment;
mod conflict;
mod delete;
mod insert;
mod merge;
mod update;

use super::Binder;
use super::clause::Clause;
use super::coerce::LocatedExpr;
use super::index::row_columns;
use super::position::NOWHERE;
use super::scope::Names;
use super::target::UnknownLiterals;
use crate::catalog::{Column, Table};
use crate::error::{Result, SqlError, state};
use crate::functions::resolve_function;
use crate::plan::{Expr, ExprKind, Returning, Statement};
use crate::types::{Datum, Modifier, Type, defined};
use syntax::ast::{self, SelectItem, With};

impl Binder<'_, '_> {
    /// A writing statement with a WITH clause before it.
    pub(super) fn writing_with(&mut self, with: Option<&With>, inner: &ast::Statement) -> Result<Statement> {
        let scope = self.open_with(with)?;
        let bound = self.rows(inner);
        self.close_with_writing(scope, bound)
    }

    /// RETURNING over a row.
    fn returning(&mut self, items: Option<&Vec<SelectItem>>, names: Names) -> Result<Option<Returning>> {
        let Some(items) = items else { return Ok(None) };
        let outer = std::mem::take(&mut self.returns_xmax);
        let bound = self.within(names, Clause::Returning, |binder| binder.targets(items, UnknownLiterals::Text));
        let with_xmax = std::mem::replace(&mut self.returns_xmax, outer);
        let (targets, _) = bound?;
        let (columns, fields) = targets.into_iter().map(|target| (target.expression, target.field)).unzip();
        Ok(Some(Returning { columns, fields, with_xmax }))
    }

    /// The generated columns of a table over its new row.
    fn generated(&mut self, table: &Table) -> Result<Vec<(usize, Expr)>> {
        let columns = row_columns(table);
        let mut generated = vec![];
        for (at, column) in table.live_columns() {
            if let Some(text) = &column.generated {
                let value = self.definition_over(text, &columns, Some((column.data_type, column.modifier)))?;
                generated.push((at, value));
            }
        }
        Ok(generated)
    }

    /// The CHECK constraints of a table over its new row, then the rules of its columns' domains.
    fn checks(&mut self, table: &Table) -> Result<Vec<Expr>> {
        let columns = row_columns(table);
        let wanted = Some((Type::BOOL, Modifier::NONE));
        let checks = table.checks.iter().map(|check| self.definition_over(&check.expression, &columns, wanted));
        let mut checks = checks.collect::<Result<Vec<_>>>()?;
        checks.extend(super::rules_of_columns(self.names, table)?);
        Ok(checks)
    }

    fn definition_over(
        &mut self,
        text: &str,
        columns: &[(String, Type, Modifier)],
        wanted: Option<(Type, Modifier)>,
    ) -> Result<Expr> {
        super::expression(self.names, text, columns, wanted)
    }

    /// Value of a column that the statement omits: the next number, its default, or NULL.
    fn default_of(&mut self, column: &Column) -> Result<Expr> {
        let wanted = (column.data_type, column.modifier);
        let of_domain = match (&column.default, column.domain) {
            (None, Some(domain)) if column.identity.is_none() => super::domain_default(self.names, domain)?,
            _ => None,
        };
        match (column.default.as_ref().or(of_domain.as_ref()), column.sequence) {
            (Some(text), _) => {
                let value = self.definition_over(text, &[], Some(wanted))?;
                self.locks |= value.calls_volatile();
                Ok(value)
            }
            (None, Some(sequence)) if column.identity.is_some() => {
                let function = resolve_function("nextval", &[Type::REGCLASS])?;
                let sequence = Expr::constant(Datum::Oid(sequence), Type::REGCLASS);
                let next = self.call(function, vec![(sequence, NOWHERE)])?;
                self.assign((next, NOWHERE), column)
            }
            _ => Ok(Expr { kind: ExprKind::Constant(Datum::Null), data_type: wanted.0, modifier: wanted.1 }),
        }
    }

    /// The position of a column that a statement writes.
    fn written_column(&self, table: &Table, name: &ast::ObjectName) -> Result<usize> {
        let parts = super::name::parts(name);
        let column = parts.first().map_or("", String::as_str);
        let at = super::name::location(name);
        let found = Self::check_assignable(column).and_then(|()| {
            let message = || format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
            let found = table.column(column).ok_or_else(|| SqlError::new(state::UNDEFINED_COLUMN, message()))?;
            match parts.get(1) {
                None => Ok(found),
                Some(field) => Err(field_refused(&table.columns[found], field)),
            }
        });
        found.map_err(|error| self.text.error_at(error, at))
    }

    /// A value for a column, converted.
    fn value_for(&mut self, value: LocatedExpr, table: &Table, at: usize) -> Result<Expr> {
        self.assign(value, &table.columns[at])
    }
}

/// The error of an assignment to a field of a column: PostgreSQL's where it refuses too.
fn field_refused(column: &Column, field: &str) -> SqlError {
    let (name, data_type) = (&column.name, column.data_type.name());
    let refused = |why: String| format!("cannot assign to field \"{field}\" of column \"{name}\" because {why}");
    let Some(found) = column.data_type.composite().and_then(defined::find) else {
        let message = refused(format!("its type {data_type} is not a composite type"));
        return SqlError::new(state::DATATYPE_MISMATCH, message);
    };
    if !found.attributes.iter().any(|attribute| attribute.name == *field) {
        let message = refused(format!("there is no such column in data type {data_type}"));
        return SqlError::new(state::UNDEFINED_COLUMN, message);
    }
    let error = SqlError::unsupported(format_args!("an assignment to the field \"{field}\" of column \"{name}\""));
    error.hint(format!("Assign the whole value, with the fields that stay: ROW(...)::{data_type}."))
}

/// NULL of a column's type, for the place of a dropped column.
fn null_of(column: &Column) -> Expr {
    Expr { kind: ExprKind::Constant(Datum::Null), data_type: column.data_type, modifier: column.modifier }
}

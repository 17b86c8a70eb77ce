//! The fields of records.
//!
//! A composite type says which fields its values have. The type `record` does not. As in PostgreSQL, the binder numbers the row
//! shapes that it encounters. The number is stored as the type's modifier and passes through subqueries, WITH and views to where a
//! field is named.

use super::Binder;
use super::coerce::{LocatedExpr, cannot_cast};
use super::data_type::{domain_rules, in_domain};
use super::found::{if_found, row_if_found};
use super::scope::{ScopeColumn, TableNames};
use crate::error::Result;
use crate::functions::Resolved;
use crate::plan::{Expr, ExprKind, Field, Statement};
use crate::types::{CastContext, Modifier, Type, cast, defined};
use pgtypes::defined::Attribute;
use syntax::ast::Location;

/// The fields of a record: names, types and modifiers.
pub(super) type Shape = Vec<(String, Type, Modifier)>;

/// The shapes of the records that a statement has used so far, indexed by the modifiers of their types.
#[derive(Debug, Default)]
pub(super) struct RecordShapes(Vec<Shape>);

impl RecordShapes {
    /// Returns the fields of a record, if they are known.
    pub(super) fn of(&self, record: &Expr) -> Option<Shape> {
        if let Some(oid) = record.data_type.composite() {
            let found = defined::find(oid)?;
            let field = |it: &Attribute| (it.name.to_string(), it.data_type, it.modifier);
            return Some(found.attributes.iter().map(field).collect());
        }
        if record.data_type != Type::RECORD {
            return None;
        }
        let known = usize::try_from(record.modifier.0).ok().and_then(|number| self.0.get(number));
        match &record.kind {
            _ if known.is_some() => known.cloned(),
            ExprKind::Call(function, _) => shape_of_function(function),
            ExprKind::Row(fields, shape) => {
                let name = |at: usize| shape.fields.get(at).map_or_else(String::new, |(name, _)| name.to_string());
                let field = |(at, field): (usize, &Expr)| (name(at), field.data_type, field.modifier);
                Some(fields.iter().enumerate().map(field).collect())
            }
            _ => None,
        }
    }

    /// Returns the modifier that stands for these fields.
    pub(super) fn modifier_of(&mut self, shape: Shape) -> Modifier {
        let number = self.0.iter().position(|known| *known == shape).unwrap_or_else(|| {
            self.0.push(shape);
            self.0.len() - 1
        });
        i32::try_from(number).map_or(Modifier::NONE, Modifier)
    }

    /// Returns the record with the modifier that identifies its fields. A composite type identifies them itself.
    pub(super) fn with_shape(&mut self, mut record: Expr) -> Expr {
        if record.data_type == Type::RECORD
            && record.modifier == Modifier::NONE
            && let Some(shape) = self.of(&record)
        {
            record.modifier = self.modifier_of(shape);
        }
        record
    }

    /// Columns as one record.
    fn row_of(&mut self, columns: &[ScopeColumn]) -> Expr {
        let field = |column: &ScopeColumn| (column.name.clone(), column.value.data_type, column.value.modifier);
        let modifier = self.modifier_of(columns.iter().map(field).collect());
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let row = Expr::row(columns.iter().map(|column| column.value.clone()).collect(), &names);
        Expr { modifier, ..row }
    }

    /// Modifier of the result of a set-returning function.
    pub(super) fn modifier_of_function(&mut self, function: &Resolved) -> Modifier {
        match shape_of_function(function) {
            Some(shape) if function.result == Type::RECORD => self.modifier_of(shape),
            _ => Modifier::NONE,
        }
    }
}

fn shape_of_function(function: &Resolved) -> Option<Shape> {
    let field = |(name, data_type): &(&'static str, Type)| ((*name).to_owned(), *data_type, Modifier::NONE);
    Some(function.columns.as_ref()?.iter().map(field).collect())
}

impl Binder<'_, '_> {
    /// The whole row of a table, of the table's own type; for a function with one value, the value.
    pub(super) fn whole_row(&mut self, table: &TableNames) -> Result<Expr> {
        if let ([column], true) = (table.columns.as_slice(), table.is_value) {
            return Ok(column.value.clone());
        }
        let relation = table.table.as_ref().map(|(table, _)| table.oid).or(table.view);
        if let Some(relation) = relation
            && self.names.defined_type(defined::row_of(relation))?.is_some()
            && let Some(found) = defined::find(defined::row_of(relation))
            && found.attributes.len() == table.columns.len()
        {
            let fields = table.columns.iter().map(|column| column.value.clone()).collect();
            return Ok(if_found(table, Expr::composite(fields, found.shape.clone())));
        }
        Ok(if_found(table, self.records.row_of(&table.columns)))
    }

    /// The fields of ROW(...) as a value of a composite type. Source: PostgreSQL 15, `coerce_record_to_complex`.
    ///
    /// # Errors
    /// 42846, errors of the fields' casts.
    pub(super) fn row_as(
        &mut self,
        fields: Vec<LocatedExpr>,
        data_type: Type,
        context: CastContext,
        at: Location,
    ) -> Result<Expr> {
        let found = data_type.composite().and_then(defined::find);
        let found = found.ok_or_else(|| crate::types::type_not_found(&data_type.name()))?;
        let refused = |detail: String| cannot_cast(Type::RECORD, data_type).detail(detail);
        let mut converted = Vec::with_capacity(found.attributes.len());
        let mut fields = fields.into_iter();
        for (number, attribute) in (1..).zip(&found.attributes) {
            let Some((field, place)) = fields.next() else {
                return Err(self.text.error_at(refused("Input has too few columns.".to_owned()), at));
            };
            let field = undecided(field);
            if !self.is_convertible(&field, attribute.data_type, context) {
                let (from, to) = (field.data_type.name(), attribute.data_type.name());
                let detail = format!("Cannot cast type {from} to {to} in column {number}.");
                return Err(self.text.error_at(refused(detail), at));
            }
            let value = self.coerce(field, attribute.data_type, attribute.modifier, context, place)?;
            converted.push(match attribute.domain {
                Some(domain) => in_domain(value, domain_rules(self.names, domain)?),
                None => value,
            });
        }
        if fields.next().is_some() {
            return Err(self.text.error_at(refused("Input has too many columns.".to_owned()), at));
        }
        Ok(Expr::composite(converted, found.shape.clone()))
    }

    /// Returns whether a cast converts an expression in a context.
    pub(super) fn is_convertible(&self, from: &Expr, to: Type, context: CastContext) -> bool {
        is_row_for(from, to)
            || from.data_type == Type::UNKNOWN
            || cast::context(from.data_type, to).is_some_and(|needed| needed <= context)
    }
}

/// Returns whether an expression is a row that is written out, where a value of a composite type is wanted.
pub(super) fn is_row_for(expression: &Expr, wanted: Type) -> bool {
    let is_written = || matches!(expression.kind, ExprKind::Row(..)) || row_if_found(&expression.kind).is_some();
    expression.data_type == Type::RECORD && wanted.composite().is_some() && is_written()
}

/// A literal of a row became text when the row was bound, before its type was known.
fn undecided(field: Expr) -> Expr {
    match (&field.kind, field.data_type) {
        (ExprKind::Constant(_), Type::TEXT) => Expr { data_type: Type::UNKNOWN, ..field },
        _ => field,
    }
}

/// Field of a record, by position.
pub(super) fn field_of(record: &Expr, at: usize, (_, data_type, modifier): &(String, Type, Modifier)) -> Expr {
    match &record.kind {
        ExprKind::Row(fields, _) if at < fields.len() => fields[at].clone(),
        _ => {
            let kind = ExprKind::Field(Box::new(record.clone()), at);
            Expr { kind, data_type: *data_type, modifier: *modifier }
        }
    }
}

/// Removes the binder's shape numbers from the description of a result.
pub(super) fn forget_shapes(statement: &mut Statement) {
    let returning = |returning: &mut Option<crate::plan::Returning>| {
        returning.iter_mut().flat_map(|returning| &mut returning.fields).for_each(forget);
    };
    match statement {
        Statement::Query(query) => query.fields.iter_mut().for_each(forget),
        Statement::Insert(insert) => returning(&mut insert.returning),
        Statement::Update(update) => returning(&mut update.returning),
        Statement::Delete(delete) => returning(&mut delete.returning),
        Statement::Merge(_) => {}
        Statement::Modifying(modifying) => forget_shapes(&mut modifying.body),
    }
}

fn forget(field: &mut Field) {
    if field.data_type == Type::RECORD {
        field.modifier = Modifier::NONE;
    }
}

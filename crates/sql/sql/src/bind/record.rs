//! The fields of records.
//!
//! A record's type does not describe its fields. As in PostgreSQL, the binder numbers the row shapes that it encounters. The
//! number is stored as the type's modifier and passes through subqueries, WITH and views to where a field is named.

use super::scope::{ScopeColumn, TableNames};
use crate::functions::Resolved;
use crate::plan::{Expr, ExprKind, Field, Statement};
use crate::types::{Modifier, Type};

/// The fields of a record: names, types and modifiers.
pub(super) type Shape = Vec<(String, Type, Modifier)>;

/// The shapes of the records that a statement has used so far, indexed by the modifiers of their types.
#[derive(Debug, Default)]
pub(super) struct RecordShapes(Vec<Shape>);

impl RecordShapes {
    /// Returns the fields of a record, if they are known.
    pub(super) fn of(&self, record: &Expr) -> Option<Shape> {
        if record.data_type != Type::RECORD {
            return None;
        }
        let known = usize::try_from(record.modifier.0).ok().and_then(|number| self.0.get(number));
        match &record.kind {
            _ if known.is_some() => known.cloned(),
            ExprKind::Call(function, _) => shape_of_function(function),
            ExprKind::Row(fields, shape) => {
                let name = |at: usize| shape.0.get(at).map_or_else(String::new, |(name, _)| name.to_string());
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

    /// Returns the record with the modifier that identifies its fields.
    pub(super) fn with_shape(&mut self, mut record: Expr) -> Expr {
        if record.modifier == Modifier::NONE
            && let Some(shape) = self.of(&record)
        {
            record.modifier = self.modifier_of(shape);
        }
        record
    }

    /// The whole row of a table; for a function with one value, the value.
    pub(super) fn whole_row(&mut self, table: &TableNames) -> Expr {
        if let ([column], true) = (table.columns.as_slice(), table.is_value) {
            return column.value.clone();
        }
        self.row_of(&table.columns)
    }

    /// Columns as one record.
    pub(super) fn row_of(&mut self, columns: &[ScopeColumn]) -> Expr {
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

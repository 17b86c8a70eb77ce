//! SET: columns and their new values.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::coerce::LocatedExpr;
use crate::bind::expression::row_subquery;
use crate::bind::name::is_default;
use crate::bind::position::{NOWHERE, start};
use crate::catalog::{Identity, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind};
use syntax::ast::{Assignment, AssignmentTarget, Expr as Syntax, ObjectName};

impl Binder<'_, '_> {
    /// Binds the assignments of SET over the current row.
    pub(super) fn assignments(&mut self, table: &Table, assignments: &[Assignment]) -> Result<Vec<(usize, Expr)>> {
        let mut bound: Vec<(usize, Expr)> = vec![];
        for assignment in assignments {
            let new = match &assignment.target {
                AssignmentTarget::Column(column) => vec![self.assignment(table, column, &assignment.value)?],
                AssignmentTarget::Row(columns) => self.row_assignment(table, columns, &assignment.value)?,
            };
            for (at, value) in new {
                if bound.iter().any(|(other, _)| *other == at) {
                    let message = format!("multiple assignments to same column \"{}\"", table.columns[at].name);
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
                bound.push((at, value));
            }
        }
        Ok(bound)
    }

    fn assignment(&mut self, table: &Table, column: &ObjectName, value: &Syntax) -> Result<(usize, Expr)> {
        let at = self.written_column(table, column)?;
        if is_default(value) {
            return Ok((at, self.default_of(&table.columns[at])?));
        }
        self.check_assigned(table, at)?;
        let value = self.in_clause(Clause::Update, |binder| binder.placed(value))?;
        Ok((at, self.value_for(value, table, at)?))
    }

    /// `(a, b) = (1, 2)`, `(a, b) = (SELECT ...)`
    fn row_assignment(&mut self, table: &Table, columns: &[ObjectName], value: &Syntax) -> Result<Vec<(usize, Expr)>> {
        let places: Vec<usize> =
            columns.iter().map(|column| self.written_column(table, column)).collect::<Result<_>>()?;
        let fields: Vec<&Syntax> = match value {
            Syntax::Subquery(query) => {
                let bound = self.in_clause(Clause::Update, |binder| binder.subquery(query))?;
                self.check_assigned_width(places.len(), bound.fields.len(), value)?;
                let types: Vec<_> = bound.fields.iter().map(|field| (field.data_type, field.modifier)).collect();
                let record = row_subquery(bound);
                let mut assigned = Vec::with_capacity(places.len());
                for (field, (at, (data_type, modifier))) in places.into_iter().zip(types).enumerate() {
                    self.check_assigned(table, at)?;
                    let kind = ExprKind::Field(Box::new(record.clone()), field);
                    let value: LocatedExpr = (Expr { kind, data_type, modifier }, NOWHERE);
                    assigned.push((at, self.value_for(value, table, at)?));
                }
                return Ok(assigned);
            }
            Syntax::Row { fields, .. } => fields.iter().collect(),
            Syntax::Nested(field) => vec![field],
            other => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return Err(self.text.error_at(SqlError::new(state::FEATURE_NOT_SUPPORTED, message), start(other)));
            }
        };
        self.check_assigned_width(places.len(), fields.len(), value)?;
        columns.iter().zip(fields).map(|(column, field)| self.assignment(table, column, field)).collect()
    }

    fn check_assigned_width(&self, columns: usize, values: usize, value: &Syntax) -> Result<()> {
        if columns == values {
            return Ok(());
        }
        let error = SqlError::new(state::SYNTAX_ERROR, "number of columns does not match number of values");
        Err(self.text.error_at(error, start(value)))
    }

    fn check_assigned(&self, table: &Table, at: usize) -> Result<()> {
        let column = &table.columns[at];
        let detail = if column.generated.is_some() {
            format!("Column \"{}\" is a generated column.", column.name)
        } else if column.identity == Some(Identity::Always) {
            format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name)
        } else {
            return Ok(());
        };
        let message = format!("column \"{}\" can only be updated to DEFAULT", column.name);
        Err(self.text.error_at(SqlError::new(state::GENERATED_ALWAYS, message).detail(detail), NOWHERE))
    }
}

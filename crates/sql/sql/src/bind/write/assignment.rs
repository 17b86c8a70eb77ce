//! SET: columns and their new values.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::coerce::LocatedExpr;
use crate::bind::expression::row_subquery;
use crate::bind::name::is_default;
use crate::bind::position::{NOWHERE, start};
use crate::catalog::{Identity, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{Assignment, Expr, ExprKind};
use syntax::ast::{self, AssignmentTarget, Expr as Syntax, ObjectName};

impl Binder<'_, '_> {
    /// Binds the assignments of SET over the current row.
    pub(super) fn assignments(&mut self, table: &Table, assignments: &[ast::Assignment]) -> Result<Vec<Assignment>> {
        let (mut bound, mut written) = (vec![], vec![]);
        for assignment in assignments {
            let new = match &assignment.target {
                AssignmentTarget::Column(column) => {
                    let value = self.assignment(table, column, &assignment.value)?;
                    Assignment { record: None, values: vec![value] }
                }
                AssignmentTarget::Row(columns) => self.row_assignment(table, columns, &assignment.value)?,
            };
            for at in new.columns() {
                if written.contains(&at) {
                    let message = format!("multiple assignments to same column \"{}\"", table.columns[at].name);
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
                written.push(at);
            }
            bound.push(new);
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
    fn row_assignment(&mut self, table: &Table, columns: &[ObjectName], value: &Syntax) -> Result<Assignment> {
        let places: Vec<usize> =
            columns.iter().map(|column| self.written_column(table, column)).collect::<Result<_>>()?;
        let fields: Vec<&Syntax> = match value {
            Syntax::Subquery(query) => {
                let bound = self.in_clause(Clause::Update, |binder| binder.subquery(query))?;
                self.check_assigned_width(places.len(), bound.fields.len(), value)?;
                let types: Vec<_> = bound.fields.iter().map(|field| (field.data_type, field.modifier)).collect();
                let record = row_subquery(bound);
                let own = Expr::column(0, record.data_type, record.modifier);
                let mut values = Vec::with_capacity(places.len());
                for (field, (at, (data_type, modifier))) in places.into_iter().zip(types).enumerate() {
                    self.check_assigned(table, at)?;
                    let kind = ExprKind::Field(Box::new(own.clone()), field);
                    let value: LocatedExpr = (Expr { kind, data_type, modifier }, NOWHERE);
                    values.push((at, self.value_for(value, table, at)?));
                }
                return Ok(Assignment { record: Some(record), values });
            }
            Syntax::Row { fields, .. } => fields.iter().collect(),
            Syntax::Nested(field) => vec![field],
            other => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return Err(self.text.error_at(SqlError::new(state::FEATURE_NOT_SUPPORTED, message), start(other)));
            }
        };
        self.check_assigned_width(places.len(), fields.len(), value)?;
        let values = columns.iter().zip(fields).map(|(column, field)| self.assignment(table, column, field));
        Ok(Assignment { record: None, values: values.collect::<Result<_>>()? })
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

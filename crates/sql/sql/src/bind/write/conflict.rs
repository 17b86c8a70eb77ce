//! ON CONFLICT.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::name::{self, fold};
use crate::bind::scope::Names;
use crate::catalog::Table;
use crate::error::{Result, SqlError, state};
use crate::plan::{ConflictUpdate, OnConflict};
use std::sync::Arc;
use syntax::ast::{self, ConflictTarget};

impl Binder<'_, '_> {
    /// Binds ON CONFLICT.
    pub(super) fn on_conflict(
        &mut self,
        table: &Arc<Table>,
        alias: Option<String>,
        conflict: &ast::OnConflict,
    ) -> Result<OnConflict> {
        let arbiters = match &conflict.target {
            None => vec![],
            Some(ConflictTarget::Columns(columns)) => self.arbiters(table, columns)?,
            Some(ConflictTarget::OnConstraint(constraint)) => vec![self.constraint_index(table, constraint)?],
        };
        let update = match &conflict.update {
            None => None,
            Some(_) if arbiters.is_empty() => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                let error = SqlError::new(state::SYNTAX_ERROR, message);
                return Err(error.hint("For example, ON CONFLICT (column_name)."));
            }
            Some(update) => Some(self.conflict_update(table, alias, update)?),
        };
        Ok(OnConflict { arbiters, update })
    }

    /// The unique indexes over exactly these columns.
    fn arbiters(&self, table: &Table, columns: &[ast::Ident]) -> Result<Vec<usize>> {
        let mut wanted = Vec::with_capacity(columns.len());
        for column in columns {
            let folded = fold(column);
            let at = table.column(&folded).ok_or_else(|| {
                let error = SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{folded}\" does not exist"));
                self.text.error_at(error, column.span.start)
            })?;
            if !wanted.contains(&at) {
                wanted.push(at);
            }
        }
        wanted.sort_unstable();
        let covers = |columns: &[usize]| {
            let mut columns = columns.to_vec();
            columns.sort_unstable();
            columns == wanted
        };
        let indexes = table.indexes.iter().enumerate();
        let found: Vec<usize> =
            indexes.filter(|(_, index)| index.unique && covers(&index.columns)).map(|(at, _)| at).collect();
        if found.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(found)
    }

    fn constraint_index(&self, table: &Table, constraint: &ast::ObjectName) -> Result<usize> {
        let (_, wanted) = name::split(constraint)?;
        let found = table.indexes.iter().position(|index| index.name == wanted && (index.constraint || index.primary));
        found.ok_or_else(|| {
            let message = format!("constraint \"{wanted}\" for table \"{}\" does not exist", table.name);
            SqlError::new(state::UNDEFINED_OBJECT, message)
        })
    }

    fn conflict_update(
        &mut self,
        table: &Arc<Table>,
        alias: Option<String>,
        update: &ast::DoUpdate,
    ) -> Result<ConflictUpdate> {
        let existing = Self::names_of(table, alias);
        let mut excluded: Names = Self::names_of(table, Some("excluded".into()));
        excluded.tables.iter_mut().for_each(|names| names.behind = None);
        let names = existing.followed_by(excluded);
        let bind = |binder: &mut Self| {
            let assignments = binder.assignments(table, &update.assignments)?;
            let condition = match &update.selection {
                None => None,
                Some(condition) => {
                    Some(binder.in_clause(Clause::Where, |binder| binder.condition(condition, "WHERE"))?)
                }
            };
            Ok(ConflictUpdate { assignments, condition })
        };
        self.within(names, Clause::Update, bind).map(|(update, _)| update)
    }
}

//! ON CONFLICT.

use crate::bind::Binder;
use crate::bind::clause::Clause;
use crate::bind::index::index_rules;
use crate::bind::name::{self, fold};
use crate::bind::scope::Names;
use crate::catalog::{Index, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{ConflictUpdate, ExprKind, IndexRules, OnConflict, implies};
use std::collections::BTreeSet;
use std::sync::Arc;
use syntax::ast::{self, ConflictTarget, IndexColumn};

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
            Some(ConflictTarget::Index(columns, predicate)) => self.arbiters(table, columns, predicate.as_ref())?,
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

    /// The unique indexes over exactly these columns and expressions that have all rows for which the predicate is true.
    ///
    /// Source: PostgreSQL 15, `infer_arbiter_indexes`.
    fn arbiters(
        &mut self,
        table: &Arc<Table>,
        columns: &[IndexColumn],
        predicate: Option<&ast::Expr>,
    ) -> Result<Vec<usize>> {
        let rules = index_rules(self.names, table)?;
        let bind = |binder: &mut Self| {
            let mut keys = BTreeSet::new();
            for column in columns {
                keys.insert(binder.conflict_key(table, &rules, column)?);
            }
            let condition = predicate.map(|condition| binder.condition(condition, "WHERE")).transpose()?;
            Ok((keys, condition))
        };
        let names = Self::names_of(table, None);
        let ((keys, condition), _) = self.within(names, Clause::Where, bind)?;
        let is_arbiter = |index: &Index| {
            let own: BTreeSet<usize> = rules.numbers(table, index).into_iter().collect();
            let predicate = rules.of(index).and_then(|rule| rule.predicate.as_ref());
            index.unique && own == keys && predicate.is_none_or(|predicate| implies(condition.as_ref(), predicate))
        };
        let indexes = table.indexes.iter().enumerate();
        let found: Vec<usize> = indexes.filter(|(_, index)| is_arbiter(index)).map(|(at, _)| at).collect();
        if found.is_empty() {
            let message = "there is no unique or exclusion constraint matching the ON CONFLICT specification";
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
        }
        Ok(found)
    }

    /// A column of the target, by position, or an expression, by the number that the indexes' equal one has.
    fn conflict_key(&mut self, table: &Table, rules: &IndexRules, column: &IndexColumn) -> Result<usize> {
        let wrong = |clause: &str| {
            let message = format!("{clause} is not allowed in ON CONFLICT clause");
            Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message))
        };
        if column.descending {
            return wrong("ASC/DESC");
        }
        if column.nulls_first.is_some() {
            return wrong("NULLS FIRST/LAST");
        }
        if let ast::Expr::Identifier(name) = &column.key {
            let folded = fold(name);
            return table.column(&folded).ok_or_else(|| {
                let error = SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{folded}\" does not exist"));
                self.text.error_at(error, name.span.start)
            });
        }
        let bound = self.expression(&column.key)?;
        let bound = self.known(bound)?;
        Ok(match bound.kind {
            ExprKind::Column(column) => column,
            // No index has it: no number of any column, or expression.
            _ => rules.number_of(table, &bound).unwrap_or(usize::MAX),
        })
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

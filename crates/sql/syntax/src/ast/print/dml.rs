//! Statements that write rows.

use super::super::definition::IndexColumn;
use super::super::dml::{
    Assignment, AssignmentTarget, ConflictTarget, Delete, DoUpdate, Insert, Merge, MergeAction, MergeClause,
    OnConflict, Overriding, Statement, Update, WrittenTable,
};
use super::super::expression::Expr;
use super::{Clause, List, ListClause};
use std::fmt::{self, Display, Formatter};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Query(query) => write!(f, "{query}"),
            Statement::Insert(insert) => write!(f, "{insert}"),
            Statement::Update(update) => write!(f, "{update}"),
            Statement::Delete(delete) => write!(f, "{delete}"),
            Statement::Merge(merge) => write!(f, "{merge}"),
        }
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INSERT INTO {}{}", self.table, Clause(" AS ", self.alias.as_ref()))?;
        insert_row(f, self)?;
        write!(f, "{}", Clause(" ", self.on_conflict.as_ref()))?;
        returning(f, self.returning.as_deref())
    }
}

/// The columns of INSERT, and the rows.
fn insert_row(f: &mut Formatter<'_>, insert: &Insert) -> fmt::Result {
    if !insert.columns.is_empty() {
        write!(f, " ({})", List(&insert.columns))?;
    }
    f.write_str(match insert.overriding {
        None => "",
        Some(Overriding::System) => " OVERRIDING SYSTEM VALUE",
        Some(Overriding::User) => " OVERRIDING USER VALUE",
    })?;
    match &insert.source {
        Some(source) => write!(f, " {source}"),
        None => f.write_str(" DEFAULT VALUES"),
    }
}

impl Display for OnConflict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("ON CONFLICT")?;
        match &self.target {
            None => {}
            Some(ConflictTarget::Index(columns, predicate)) => {
                write!(f, " ({}){}", List(columns), Clause(" WHERE ", predicate.as_ref()))?;
            }
            Some(ConflictTarget::OnConstraint(constraint)) => write!(f, " ON CONSTRAINT {constraint}")?,
        }
        match &self.update {
            None => f.write_str(" DO NOTHING"),
            Some(DoUpdate { assignments, selection }) => {
                write!(f, " DO UPDATE SET {}{}", List(assignments), Clause(" WHERE ", selection.as_ref()))
            }
        }
    }
}

impl Display for IndexColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.key {
            Expr::Identifier(name) => write!(f, "{name}")?,
            computed => write!(f, "({computed})")?,
        }
        write!(f, "{}", Clause(" ", self.class.as_ref()))?;
        f.write_str(if self.descending { " DESC" } else { "" })?;
        f.write_str(match self.nulls_first {
            None => "",
            Some(true) => " NULLS FIRST",
            Some(false) => " NULLS LAST",
        })
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.target {
            AssignmentTarget::Column(column) => write!(f, "{column} = {}", self.value),
            AssignmentTarget::Row(columns) => write!(f, "({}) = {}", List(columns), self.value),
        }
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "UPDATE {} SET {}", self.table, List(&self.assignments))?;
        write!(f, "{}{}", ListClause(" FROM ", &self.from), Clause(" WHERE ", self.selection.as_ref()))?;
        returning(f, self.returning.as_deref())
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DELETE FROM {}{}", self.table, ListClause(" USING ", &self.using))?;
        write!(f, "{}", Clause(" WHERE ", self.selection.as_ref()))?;
        returning(f, self.returning.as_deref())
    }
}

impl Display for Merge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MERGE INTO {} USING {} ON {}", self.table, self.source, self.on)?;
        self.clauses.iter().try_for_each(|clause| write!(f, " {clause}"))
    }
}

impl Display for MergeClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.matched { "MATCHED" } else { "NOT MATCHED" };
        write!(f, "WHEN {kind}{} THEN {}", Clause(" AND ", self.condition.as_ref()), self.action)
    }
}

impl Display for MergeAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MergeAction::Nothing => f.write_str("DO NOTHING"),
            MergeAction::Delete => f.write_str("DELETE"),
            MergeAction::Update(assignments) => write!(f, "UPDATE SET {}", List(assignments)),
            MergeAction::Insert(insert) => {
                f.write_str("INSERT")?;
                insert_row(f, insert)
            }
        }
    }
}

impl Display for WrittenTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, Clause(" ", self.alias.as_ref()))
    }
}

fn returning(f: &mut Formatter<'_>, items: Option<&[super::super::query::SelectItem]>) -> fmt::Result {
    match items {
        Some(items) => write!(f, " RETURNING {}", List(items)),
        None => Ok(()),
    }
}

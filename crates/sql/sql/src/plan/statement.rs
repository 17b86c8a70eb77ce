//! Statements that read and write rows.

use super::{Expr, Field, IndexRules, Plan, Query};
use crate::catalog::Table;
use std::sync::Arc;

/// A statement over rows. Everything else (definitions, transactions, settings) is run from its syntax.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT, VALUES, TABLE
    Query(Query),
    /// INSERT
    Insert(Insert),
    /// UPDATE
    Update(Update),
    /// DELETE
    Delete(Delete),
    /// MERGE
    Merge(Merge),
    /// WITH whose queries write.
    Modifying(Modifying),
}

/// A statement with a WITH clause that writes. All parts see the state at its start.
#[derive(Clone, Debug)]
pub struct Modifying {
    /// The queries of WITH, in order, and the number under which [`Plan::With`] of later parts and of the body has their
    /// rows; the query that stands there is a placeholder.
    pub parts: Vec<(usize, Statement)>,
    /// The main statement; its result is the result of the whole.
    pub body: Box<Statement>,
}

/// INSERT.
#[derive(Clone, Debug)]
pub struct Insert {
    /// Into which table.
    pub table: Arc<Table>,
    /// Rows of one datum for each of [`Table::columns`], defaults filled in, all of the columns' types and lengths;
    /// generated columns are still NULL.
    pub source: Arc<Plan>,
    /// The generated columns over the new row.
    pub generated: Vec<(usize, Expr)>,
    /// The CHECK constraints over the new row, by their place in [`Table::checks`]; then the rules of columns' domains.
    pub checks: Vec<Expr>,
    /// What the table's indexes compute of its rows.
    pub rules: IndexRules,
    /// ON CONFLICT
    pub on_conflict: Option<OnConflict>,
    /// RETURNING over the new row.
    pub returning: Option<Returning>,
}

/// RETURNING.
#[derive(Clone, Debug)]
pub struct Returning {
    /// The columns.
    pub columns: Vec<Expr>,
    /// Their description.
    pub fields: Vec<Field>,
    /// Of INSERT: whether `xmax` is behind the row's columns, 0 for a row that was not there before.
    pub with_xmax: bool,
}

/// ON CONFLICT.
#[derive(Clone, Debug)]
pub struct OnConflict {
    /// The unique indexes (of [`Table::indexes`]) whose violation is a conflict; empty: any.
    pub arbiters: Vec<usize>,
    /// DO UPDATE; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
}

/// DO UPDATE. Expressions are over the existing row, then the row that was to be inserted (`excluded`).
#[derive(Clone, Debug)]
pub struct ConflictUpdate {
    /// SET
    pub assignments: Vec<Assignment>,
    /// WHERE
    pub condition: Option<Expr>,
}

/// An item of SET.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// `(a, b) = (SELECT ...)`: the row of the subquery as a record, which is evaluated once. The values are over a row of it alone.
    pub record: Option<Expr>,
    /// Columns and their new values, of the columns' types and lengths.
    pub values: Vec<(usize, Expr)>,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct Update {
    /// Which table.
    pub table: Arc<Table>,
    /// Rows: the table's columns as they are, the row's key (bytea), then what FROM adds. A row that comes twice is
    /// updated once, by the first.
    pub source: Arc<Plan>,
    /// SET, over the source's row.
    pub assignments: Vec<Assignment>,
    /// The generated columns over the new row.
    pub generated: Vec<(usize, Expr)>,
    /// The CHECK constraints over the new row, by their place in [`Table::checks`]; then the rules of columns' domains.
    pub checks: Vec<Expr>,
    /// What the table's indexes compute of its rows.
    pub rules: IndexRules,
    /// RETURNING over the source's row with the table's columns replaced by the new ones.
    pub returning: Option<Returning>,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Which table.
    pub table: Arc<Table>,
    /// Rows: the table's columns, the row's key (bytea), then what USING adds.
    pub source: Arc<Plan>,
    /// What the table's indexes compute of its rows.
    pub rules: IndexRules,
    /// RETURNING over the source's row.
    pub returning: Option<Returning>,
}

/// MERGE.
#[derive(Clone, Debug)]
pub struct Merge {
    /// Which table.
    pub table: Arc<Table>,
    /// Rows: those of the source, each with the table's columns and the key (bytea) of a row that belongs to it; NULLs if none does.
    pub source: Arc<Plan>,
    /// Where the table's columns begin in them.
    pub first: usize,
    /// The clauses, in order.
    pub clauses: Vec<MergeClause>,
    /// The generated columns over the new row.
    pub generated: Vec<(usize, Expr)>,
    /// The CHECK constraints over the new row, by their place in [`Table::checks`].
    pub checks: Vec<Expr>,
    /// What the table's indexes compute of its rows.
    pub rules: IndexRules,
}

/// WHEN of a MERGE. Its expressions are over the source's row.
#[derive(Clone, Debug)]
pub struct MergeClause {
    /// MATCHED, not NOT MATCHED.
    pub matched: bool,
    /// AND
    pub condition: Option<Expr>,
    /// THEN
    pub action: MergeAction,
}

/// THEN of a MERGE.
#[derive(Clone, Debug)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE: its SET.
    Update(Vec<Assignment>),
    /// INSERT: the whole row, defaults filled in; generated columns are still NULL.
    Insert(Vec<Expr>),
}

impl Merge {
    /// Where the key of a row that belongs to a source's row stands.
    pub fn key(&self) -> usize {
        self.first + self.table.columns.len()
    }
}

impl Assignment {
    /// The columns that it writes.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.values.iter().map(|(column, _)| *column)
    }

    /// Its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.record.iter().chain(self.values.iter().map(|(_, value)| value))
    }

    /// Its expressions, mutable.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.record.iter_mut().chain(self.values.iter_mut().map(|(_, value)| value))
    }
}

impl MergeClause {
    /// Its expressions.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (updated, inserted) = match &mut self.action {
            MergeAction::Nothing | MergeAction::Delete => (None, None),
            MergeAction::Update(assignments) => {
                (Some(assignments.iter_mut().flat_map(Assignment::expressions_mut)), None)
            }
            MergeAction::Insert(row) => (None, Some(row.iter_mut())),
        };
        self.condition.iter_mut().chain(updated.into_iter().flatten()).chain(inserted.into_iter().flatten())
    }
}

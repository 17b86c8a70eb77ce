//! Statements that read and write rows.

use super::definition::IndexColumn;
use super::expression::Expr;
use super::name::{Ident, ObjectName};
use super::query::{Query, SelectItem};
use super::table::{TableAlias, TableFactor, TableWithJoins};

/// A statement that reads or writes rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES; INSERT, UPDATE, DELETE and MERGE with WITH before them.
    Query(Box<Query>),
    /// INSERT
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// MERGE
    Merge(Box<Merge>),
}

/// INSERT
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The table.
    pub table: ObjectName,
    /// The name that it has here.
    pub alias: Option<Ident>,
    /// The columns that get values; none: all.
    pub columns: Vec<ObjectName>,
    /// OVERRIDING
    pub overriding: Option<Overriding>,
    /// The rows; `None`: DEFAULT VALUES.
    pub source: Option<Box<Query>>,
    /// ON CONFLICT
    pub on_conflict: Option<OnConflict>,
    /// RETURNING
    pub returning: Option<Vec<SelectItem>>,
}

/// OVERRIDING of an INSERT, for columns with generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overriding {
    /// OVERRIDING SYSTEM VALUE: the given values count.
    System,
    /// OVERRIDING USER VALUE: they do not.
    User,
}

/// ON CONFLICT
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// The conflicts that it is about; `None`: all.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE; `None`: DO NOTHING.
    pub update: Option<DoUpdate>,
}

/// What a row conflicts about.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// What a unique index is on, and WHERE: the rows that it has at least.
    Index(Vec<IndexColumn>, Option<Expr>),
    /// ON CONSTRAINT
    OnConstraint(ObjectName),
}

/// DO UPDATE
#[derive(Clone, Debug, PartialEq)]
pub struct DoUpdate {
    /// SET
    pub assignments: Vec<Assignment>,
    /// WHERE
    pub selection: Option<Expr>,
}

/// `column = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// What gets the value.
    pub target: AssignmentTarget,
    /// The value.
    pub value: Expr,
}

/// What an assignment changes.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignmentTarget {
    /// A column.
    Column(ObjectName),
    /// `(a, b)`
    Row(Vec<ObjectName>),
}

/// UPDATE
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The table.
    pub table: WrittenTable,
    /// SET
    pub assignments: Vec<Assignment>,
    /// FROM
    pub from: Vec<TableWithJoins>,
    /// WHERE
    pub selection: Option<Expr>,
    /// RETURNING
    pub returning: Option<Vec<SelectItem>>,
}

/// DELETE
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The table.
    pub table: WrittenTable,
    /// USING
    pub using: Vec<TableWithJoins>,
    /// WHERE
    pub selection: Option<Expr>,
    /// RETURNING
    pub returning: Option<Vec<SelectItem>>,
}

/// MERGE
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The table.
    pub table: WrittenTable,
    /// The rows that it is compared with.
    pub source: TableFactor,
    /// Which rows belong together.
    pub on: Expr,
    /// What happens, by the first that applies to a row.
    pub clauses: Vec<MergeClause>,
}

/// WHEN of a MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// MATCHED, not NOT MATCHED.
    pub matched: bool,
    /// AND
    pub condition: Option<Expr>,
    /// THEN
    pub action: MergeAction,
}

/// THEN of a MERGE.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// DELETE
    Delete,
    /// UPDATE SET
    Update(Vec<Assignment>),
    /// INSERT of one row. Its table is that of the statement.
    Insert(Box<Insert>),
}

/// The table that UPDATE, DELETE or MERGE changes.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenTable {
    /// Its name.
    pub name: ObjectName,
    /// The name that it has here.
    pub alias: Option<TableAlias>,
}

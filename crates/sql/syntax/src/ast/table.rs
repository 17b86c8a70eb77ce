//! FROM.

use super::data_type::DataType;
use super::expression::Expr;
use super::name::{Ident, ObjectName};
use super::query::Query;

/// An item of FROM: a table, and those that are joined to it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableWithJoins {
    /// The leftmost.
    pub relation: TableFactor,
    /// The others, from left to right.
    pub joins: Vec<Join>,
}

/// `JOIN relation ON condition`
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// The rows that it keeps.
    pub kind: JoinKind,
    /// The right side.
    pub relation: TableFactor,
    /// What joins the sides.
    pub constraint: JoinConstraint,
}

/// Kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER] JOIN`
    Inner,
    /// CROSS JOIN
    Cross,
    /// `LEFT [OUTER] JOIN`
    Left,
    /// `RIGHT [OUTER] JOIN`
    Right,
    /// `FULL [OUTER] JOIN`
    Full,
}

/// What joins two sides.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinConstraint {
    /// Nothing.
    None,
    /// ON
    On(Expr),
    /// USING
    Using(Vec<ObjectName>),
    /// NATURAL
    Natural,
}

/// What gives the rows of FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum TableFactor {
    /// A relation, or a query of WITH.
    Table {
        /// Its name.
        name: ObjectName,
        /// The name that it has here.
        alias: Option<TableAlias>,
    },
    /// Functions side by side.
    Functions {
        /// How they are written.
        form: FunctionsForm,
        /// LATERAL
        lateral: bool,
        /// The calls.
        calls: Vec<TableFunction>,
        /// WITH ORDINALITY
        ordinality: bool,
        /// The name that they have here.
        alias: Option<TableAlias>,
    },
    /// A query in parentheses.
    Derived {
        /// LATERAL
        lateral: bool,
        /// The query.
        subquery: Box<Query>,
        /// Its name.
        alias: Option<TableAlias>,
    },
    /// Joins in parentheses.
    NestedJoin {
        /// The joins.
        table: Box<TableWithJoins>,
        /// Their name.
        alias: Option<TableAlias>,
    },
}

/// How functions in FROM are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionsForm {
    /// `f(x)`
    Call,
    /// `UNNEST(a, b)`: a call for each array.
    Unnest,
    /// `ROWS FROM (f(x), g(y))`
    RowsFrom,
}

/// A call in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFunction {
    /// The function's name.
    pub name: ObjectName,
    /// Its arguments.
    pub arguments: Vec<Expr>,
}

/// The name of something in FROM, or of a query of WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct TableAlias {
    /// Whether the word AS is there.
    pub explicit: bool,
    /// The name.
    pub name: Ident,
    /// The names of its columns, with their types if a function returns records of any.
    pub columns: Vec<TableAliasColumn>,
}

/// The name of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct TableAliasColumn {
    /// The name.
    pub name: Ident,
    /// Its type.
    pub data_type: Option<DataType>,
}

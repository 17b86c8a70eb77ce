//! Queries.

use super::dml::Statement;
use super::expression::{Expr, WindowSpec};
use super::name::{Ident, ObjectName, Span};
use super::table::{TableAlias, TableWithJoins};

/// A query with the clauses around its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// WITH
    pub with: Option<With>,
    /// SELECT, VALUES, UNION and the like.
    pub body: Box<SetExpr>,
    /// ORDER BY
    pub order_by: Vec<OrderByExpr>,
    /// LIMIT, FETCH
    pub limit: Option<Limit>,
    /// OFFSET
    pub offset: Option<Expr>,
    /// FOR UPDATE and the like.
    pub locks: Vec<LockClause>,
}

/// WITH
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// The place of the word WITH.
    pub span: Span,
    /// RECURSIVE
    pub recursive: bool,
    /// Its queries.
    pub queries: Vec<Cte>,
}

/// `name AS (query)`
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name, and those of its columns.
    pub alias: TableAlias,
    /// The query, or a statement that writes.
    pub query: Box<Query>,
    /// MATERIALIZED, NOT MATERIALIZED
    pub materialized: Option<bool>,
}

/// The body of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum SetExpr {
    /// SELECT
    Select(Box<Select>),
    /// A query in parentheses.
    Query(Box<Query>),
    /// UNION, INTERSECT, EXCEPT
    SetOperation {
        /// The left side.
        left: Box<SetExpr>,
        /// The operation.
        operator: SetOperator,
        /// ALL
        all: bool,
        /// The right side.
        right: Box<SetExpr>,
    },
    /// VALUES
    Values {
        /// Its rows.
        rows: Vec<ValuesRow>,
        /// From the first parenthesis to the last.
        span: Span,
    },
    /// INSERT, UPDATE, DELETE after or in WITH.
    Write(Box<Statement>),
}

/// Operations on queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// UNION
    Union,
    /// INTERSECT
    Intersect,
    /// EXCEPT
    Except,
}

/// A row of VALUES.
pub type ValuesRow = Vec<Expr>;

/// SELECT
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// The place of the word SELECT.
    pub span: Span,
    /// DISTINCT
    pub distinct: Option<Distinct>,
    /// The select list.
    pub projection: Vec<SelectItem>,
    /// FROM
    pub from: Vec<TableWithJoins>,
    /// WHERE
    pub selection: Option<Expr>,
    /// GROUP BY
    pub group_by: Vec<GroupingElement>,
    /// HAVING
    pub having: Option<Expr>,
    /// WINDOW
    pub windows: Vec<NamedWindow>,
}

/// DISTINCT
#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    /// DISTINCT
    Rows,
    /// DISTINCT ON
    On(Vec<Expr>),
}

/// An item of the select list.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// An expression.
    Expr(Expr),
    /// `expr AS alias`
    ExprWithAlias {
        /// The expression.
        expr: Expr,
        /// Its name.
        alias: Ident,
    },
    /// `*`, and its place.
    Wildcard(Span),
    /// `table.*`
    TableWildcard(ObjectName),
    /// `(record).*`
    RecordWildcard(Expr),
}

/// An element of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupingElement {
    /// A key.
    Key(Expr),
    /// `(a, b)`: keys that form one set.
    Set(Vec<Expr>),
    /// ROLLUP
    Rollup(Vec<Vec<Expr>>),
    /// CUBE
    Cube(Vec<Vec<Expr>>),
    /// GROUPING SETS
    Sets(Vec<GroupingElement>),
}

/// `name AS (definition)` of the WINDOW clause.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    /// Its name.
    pub name: Ident,
    /// Its definition.
    pub spec: WindowSpec,
}

/// A key of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderByExpr {
    /// The key.
    pub expr: Expr,
    /// Its direction.
    pub options: OrderByOptions,
}

/// The direction of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderByOptions {
    /// ASC, DESC
    pub asc: Option<bool>,
    /// NULLS FIRST, NULLS LAST
    pub nulls_first: Option<bool>,
}

/// The number of rows of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// LIMIT
    Count(Expr),
    /// FETCH FIRST
    Fetch {
        /// The number; `None`: one row.
        count: Option<Expr>,
        /// WITH TIES
        with_ties: bool,
    },
}

/// FOR UPDATE, FOR SHARE
#[derive(Clone, Debug, PartialEq)]
pub struct LockClause {
    /// Its strength.
    pub lock_type: LockType,
    /// The table; `None`: all.
    pub of: Option<ObjectName>,
    /// NOWAIT, SKIP LOCKED
    pub nonblock: Option<NonBlock>,
}

/// Strengths of row locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockType {
    /// FOR UPDATE
    Update,
    /// FOR SHARE
    Share,
}

/// What a query does about rows that others have locked, other than to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonBlock {
    /// NOWAIT
    Nowait,
    /// SKIP LOCKED
    SkipLocked,
}

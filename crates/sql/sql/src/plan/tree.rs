//! Queries: a tree of relational operators. Each produces rows; expressions refer to their columns by position.

use super::{Expr, IndexRules, Subquery};
use crate::catalog::Table;
use crate::functions::{Resolved, ResolvedAggregate, WindowFunction};
use crate::types::{Modifier, Type};
use std::ops::Bound;
use std::sync::Arc;

/// A query with the description of its rows.
#[derive(Clone, Debug)]
pub struct Query {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Its columns.
    pub fields: Vec<Field>,
    /// Whether the query may write or lock (FOR UPDATE, `nextval`). A read-only transaction refuses it.
    pub locks: bool,
}

/// A column of a result, as reported by Describe.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: Type,
    /// The type's modifier.
    pub modifier: Modifier,
    /// The table and column (number from 1) that it comes from, if it is one.
    pub origin: Option<(crate::catalog::Oid, u16)>,
}

/// What an operator is expected to do, for EXPLAIN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Cost until the first row.
    pub startup: f64,
    /// Cost until the last row.
    pub total: f64,
    /// Number of rows.
    pub rows: f64,
    /// Bytes of a row.
    pub width: usize,
}

/// A relational operator.
#[expect(clippy::large_enum_variant, reason = "a plan is made once, and its scans are known by their addresses")]
#[derive(Clone, Debug)]
pub enum Plan {
    /// Rows of expressions. `SELECT` without FROM is one empty row.
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// The rows of a table.
    Scan(Scan),
    /// The rows of a catalog table that is computed.
    Virtual {
        /// Which.
        table: &'static crate::catalog::VirtualTable,
        /// The only name whose rows are wanted, if the table can tell them apart ([`crate::catalog::ByName`]).
        name: Option<Expr>,
    },
    /// The rows of set-returning functions in FROM, side by side (ROWS FROM), NULLs where one is shorter.
    Functions {
        /// The functions and their arguments; a scalar one makes one row.
        calls: Vec<(Resolved, Vec<Expr>)>,
        /// WITH ORDINALITY: a bigint column more.
        ordinality: bool,
    },
    /// Rows for which the condition is true.
    Filter {
        /// From where.
        input: Box<Plan>,
        /// The condition.
        condition: Expr,
    },
    /// New rows of expressions.
    Project {
        /// From where.
        input: Box<Plan>,
        /// The columns.
        columns: Vec<Expr>,
    },
    /// Like Project, with set-returning functions in the select list: each input row becomes as many as the longest set.
    ProjectSet {
        /// From where.
        input: Box<Plan>,
        /// The columns.
        columns: Vec<SetColumn>,
    },
    /// A join: the left row's columns, then the right's.
    Join(Box<Join>),
    /// Groups: the keys, then the aggregates.
    Aggregate(Box<Aggregation>),
    /// The input's columns, then one for each window call. All calls share partition and order.
    Window(Box<Window>),
    /// Sorted rows.
    Sort {
        /// From where.
        input: Box<Plan>,
        /// By what, most significant first.
        keys: Vec<SortKey>,
    },
    /// Some of the rows.
    Limit {
        /// From where.
        input: Box<Plan>,
        /// Row count from LIMIT (bigint). NULL means no limit.
        limit: Option<Expr>,
        /// FETCH ... WITH TIES: also those equal to the last by these keys.
        ties: Option<Vec<SortKey>>,
        /// Number of rows to skip.
        offset: Option<Expr>,
    },
    /// Each row once; `on` rows, the first of each group that agrees in these columns (the input is sorted by them).
    Distinct {
        /// From where.
        input: Box<Plan>,
        /// DISTINCT ON, by column.
        on: Option<Vec<Expr>>,
    },
    /// UNION, INTERSECT, EXCEPT; the sides have the same types.
    Set {
        /// Which.
        operation: SetOperation,
        /// ALL.
        all: bool,
        /// Left.
        left: Box<Plan>,
        /// Right.
        right: Box<Plan>,
    },
    /// WITH: named queries that run at most once, then the body. `CteScan` names them.
    With {
        /// Number and query, in order.
        queries: Vec<(usize, Arc<Plan>)>,
        /// The body.
        body: Box<Plan>,
    },
    /// The rows of a query of WITH, by its number (unique in the statement).
    CteScan {
        /// The number.
        number: usize,
    },
    /// WITH RECURSIVE: the start's rows, then the rows of the step over the previous rows (a `CteScan` of the same number),
    /// until a step returns none.
    Recursive {
        /// Its number.
        number: usize,
        /// The non-recursive term.
        start: Arc<Plan>,
        /// The recursive term.
        step: Arc<Plan>,
        /// UNION, not UNION ALL: no row twice.
        distinct: bool,
    },
    /// The rows of a plan that works on many rows at a time.
    Vectors {
        /// The plan.
        input: Box<Plan>,
        /// The columns that anybody looks at; the others may be left NULL. `None`: all.
        wanted: Option<Vec<usize>>,
    },
    /// FOR UPDATE: owns the rows of these tables by their keys.
    Lock {
        /// From where.
        input: Box<Plan>,
        /// The tables.
        tables: Vec<RowLock>,
    },
}

/// A table whose rows FOR UPDATE owns.
#[derive(Clone, Debug)]
pub struct RowLock {
    /// The table.
    pub table: Arc<Table>,
    /// The column with the row's key.
    pub key: usize,
    /// What becomes of a row that another transaction has.
    pub when_held: WhenHeld,
}

/// What FOR UPDATE does about a row that another transaction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenHeld {
    /// It waits.
    Wait,
    /// NOWAIT: it fails.
    Fail,
    /// SKIP LOCKED: it passes over the row.
    Skip,
}

/// The rows of a table, whole: one datum for each of [`Table::columns`], and the key as bytea behind them if asked for.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub table: Arc<Table>,
    /// Access path. The binder sets [`Path::All`].
    pub path: Path,
    /// Rows for which it is not true are passed over. Over the scan's own row.
    pub filter: Option<Expr>,
    /// The columns that anybody looks at; the others may be left NULL. `None`: all.
    pub wanted: Option<Vec<usize>>,
    /// Columns of which only the least or the greatest values are looked at, if there are no others: the scan may return a row for each,
    /// with that one alone.
    pub extremes: Vec<model::Extreme>,
    /// Whether the engine's key follows the columns.
    pub with_key: bool,
    /// Whether the rows will be written. Such rows are owned as they are read.
    pub for_update: bool,
    /// What the table's indexes compute of its rows. Its expressions are over the table's row, wherever the scan's rows go.
    pub rules: IndexRules,
}

/// Access path of a scan. The expressions are constants of the scan: parameters and columns of enclosing rows.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a scan has one path, and nothing else holds any")]
pub enum Path {
    /// All rows, in the order of the table's keys.
    All,
    /// Rows of an index (of [`Table::indexes`]) whose leading columns equal these values and whose next column lies between the
    /// bounds, in the index's order. The primary key is an index too. A NULL value or bound selects no rows.
    Index {
        /// Which index.
        index: usize,
        /// The values of the leading columns.
        equal: Vec<Expr>,
        /// The lower bound of the next column.
        lower: Bound<Expr>,
        /// The upper bound of the next column.
        upper: Bound<Expr>,
        /// From the other end.
        backward: bool,
    },
    /// Like Index, for these alternatives of leading values one after another (`IN`, `= ANY`), each once.
    Alternatives {
        /// Which index.
        index: usize,
        /// For each alternative, the values of the leading columns.
        equal: Vec<Vec<Expr>>,
    },
    /// Like Alternatives, one for each element of an array that is evaluated when the scan starts (`= ANY ($1)`).
    AnyOf {
        /// Which index.
        index: usize,
        /// The values of the leading columns.
        equal: Vec<Expr>,
        /// The values of the next one.
        array: Box<Expr>,
    },
}

/// A column of [`Plan::ProjectSet`].
#[derive(Clone, Debug)]
pub enum SetColumn {
    /// One value, repeated.
    Value(Expr),
    /// A set.
    Set(Resolved, Vec<Expr>),
}

/// A join.
#[derive(Clone, Debug)]
pub struct Join {
    /// Which rows without a partner stay.
    pub kind: JoinKind,
    /// Left.
    pub left: Plan,
    /// Right. If `lateral`, it refers to the left row as its nearest enclosing row.
    pub right: Plan,
    /// The condition over both rows.
    pub condition: Option<Expr>,
    /// Whether the right side runs once for each left row.
    pub lateral: bool,
    /// Number of columns on the left.
    pub left_width: usize,
    /// Number of columns on the right.
    pub right_width: usize,
    /// Equalities between an expression of the left row and one of the right row (numbered from 0), taken out of the
    /// condition by `optimize`: the join can hash.
    pub equalities: Vec<(Expr, Expr)>,
    /// Whether the rows must keep the order of the left side, because an operator above relies on it.
    pub keeps_order: bool,
    /// Whether operators over batches put the left side into the hash table: it has fewer rows, as far as is known.
    pub builds_left: bool,
}

/// Which rows without a partner stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// None.
    Inner,
    /// Left ones.
    Left,
    /// Right ones.
    Right,
    /// Both.
    Full,
    /// Left rows with a partner, once, without the right's columns.
    Semi,
    /// Left rows without a partner, without the right's columns.
    Anti,
    /// Left rows that are known to have no partner, without the right's columns: NOT IN. The join has one equality and no condition; that
    /// NULL equals something is unknown.
    NotIn,
    /// All left rows, each with a boolean instead of the right's columns: whether the condition is true for a right row of which the
    /// equalities hold, or else NULL if it is unknown for one.
    Mark,
    /// The same of IN: the join has one equality and no condition, and that NULL equals something is unknown.
    MarkIn,
}

impl JoinKind {
    /// Returns whether the right side only decides which left rows stay.
    pub fn asks_only(self) -> bool {
        matches!(self, JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn)
    }

    /// Returns whether a boolean follows the left row's columns.
    pub fn is_mark(self) -> bool {
        matches!(self, JoinKind::Mark | JoinKind::MarkIn)
    }

    /// Returns whether NULL in the one equality leaves unknown whether it holds.
    pub fn is_null_aware(self) -> bool {
        matches!(self, JoinKind::NotIn | JoinKind::MarkIn)
    }

    /// Returns whether the right row's columns follow the left's.
    pub fn shows_right(self) -> bool {
        !self.asks_only() && !self.is_mark()
    }
}

/// Groups and aggregates.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// From where.
    pub input: Plan,
    /// The keys. Without keys there is one group, even of no rows.
    pub keys: Vec<Expr>,
    /// GROUPING SETS: for each set, which keys count (the others are NULL). One set of all keys is the plain case.
    pub sets: Vec<Vec<usize>>,
    /// The aggregates.
    pub calls: Vec<AggregateCall>,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which.
    pub aggregate: ResolvedAggregate,
    /// Arguments, over the input's row.
    pub arguments: Vec<Expr>,
    /// DISTINCT
    pub distinct: bool,
    /// FILTER (WHERE ...)
    pub filter: Option<Expr>,
    /// ORDER BY inside the call (WITHIN GROUP for ordered-set aggregates).
    pub order: Vec<SortKey>,
    /// `GROUPING(...)`: bits by these keys instead of an aggregate.
    pub grouping: Option<Vec<usize>>,
}

/// Window calls over one partitioning and order.
#[derive(Clone, Debug)]
pub struct Window {
    /// From where.
    pub input: Plan,
    /// PARTITION BY
    pub partition: Vec<Expr>,
    /// ORDER BY
    pub order: Vec<SortKey>,
    /// The calls.
    pub calls: Vec<WindowCall>,
}

/// A window call.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Which function.
    pub function: WindowKind,
    /// Arguments, over the input's row.
    pub arguments: Vec<Expr>,
    /// FILTER, for aggregates.
    pub filter: Option<Expr>,
    /// The frame.
    pub frame: Frame,
}

/// The function of a window call.
#[derive(Clone, Debug)]
pub enum WindowKind {
    /// One that exists only over windows.
    Window(WindowFunction),
    /// An aggregate over the frame.
    Aggregate(ResolvedAggregate),
}

/// The rows around the current one that a window call looks at.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Unit of the offsets.
    pub unit: FrameUnit,
    /// Start of the frame.
    pub start: FrameBound,
    /// End of the frame.
    pub end: FrameBound,
    /// EXCLUDE
    pub exclude: FrameExclude,
}

/// Unit of a frame's offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Values of the one ordering column.
    Range,
    /// Groups of equal rows.
    Groups,
}

/// An end of a frame.
#[derive(Clone, Debug)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    Start,
    /// `n PRECEDING`
    Preceding(Expr),
    /// CURRENT ROW
    Current,
    /// `n FOLLOWING`
    Following(Expr),
    /// UNBOUNDED FOLLOWING
    End,
}

/// Rows that a frame excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclude {
    /// Nothing.
    None,
    /// The current row.
    Current,
    /// The current row and its equals.
    Group,
    /// The equals of the current row, but not the row.
    Ties,
}

/// An ordering column.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// By what.
    pub expression: Expr,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST (the default of DESC)
    pub nulls_first: bool,
}

/// UNION and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// In either.
    Union,
    /// In both.
    Intersect,
    /// In the left only.
    Except,
}

impl From<Subquery> for Expr {
    /// The expression of a subquery, typed later by the binder for scalars and arrays.
    fn from(subquery: Subquery) -> Expr {
        Expr::new(super::ExprKind::Subquery(Box::new(subquery)), Type::BOOL)
    }
}

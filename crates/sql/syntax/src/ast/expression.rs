//! Expressions.

use super::data_type::DataType;
use super::name::{Ident, ObjectName, Span};
use super::query::{OrderByExpr, Query};
use std::borrow::Cow;

/// An expression. Parentheses are nodes: printed, an expression is what was written.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `column`, or a table's name for its row.
    Identifier(Ident),
    /// `table.column`, `schema.table.column`
    CompoundIdentifier(Vec<Ident>),
    /// DEFAULT, in the place of a value.
    Default(Span),
    /// `table.*` in the place of a value: the table's row.
    TableRow(ObjectName),
    /// `array[1]`, `(record).field`
    Access {
        /// What is taken apart.
        root: Box<Expr>,
        /// One step after another.
        chain: Vec<Access>,
    },
    /// `(inner)`
    Nested(Box<Expr>),
    /// A constant, or a parameter.
    Literal(Literal),
    /// `date '2020-02-02'`
    TypedLiteral {
        /// Its type.
        data_type: Box<DataType>,
        /// Its text.
        text: Box<Literal>,
    },
    /// `interval '1' day`
    Interval(Box<Interval>),
    /// `CAST(expr AS type)`, `expr::type`
    Cast {
        /// The value.
        expr: Box<Expr>,
        /// Its new type.
        data_type: Box<DataType>,
        /// Whether it is written `::`.
        short: bool,
    },
    /// `expr COLLATE collation`
    Collate {
        /// The text.
        expr: Box<Expr>,
        /// Its collation.
        collation: ObjectName,
    },
    /// AND of two operands or more.
    And(Vec<Expr>),
    /// OR of two operands or more.
    Or(Vec<Expr>),
    /// NOT
    Not(Box<Expr>),
    /// `operator operand`
    Prefix {
        /// The symbol.
        operator: &'static str,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `left operator right`
    Infix {
        /// The left operand.
        left: Box<Expr>,
        /// The operator.
        operator: Operator,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `left operator ANY (right)`, `left operator ALL (right)`
    Quantified {
        /// The left operand.
        left: Box<Expr>,
        /// The operator.
        operator: Operator,
        /// An array, or [`Expr::Subquery`].
        right: Box<Expr>,
        /// ALL
        all: bool,
    },
    /// `expr IS NULL`
    IsNull {
        /// The value.
        expr: Box<Expr>,
        /// IS NOT NULL
        negated: bool,
    },
    /// `expr IS TRUE`
    IsTruth {
        /// The value.
        expr: Box<Expr>,
        /// TRUE, FALSE; `None`: UNKNOWN.
        truth: Option<bool>,
        /// IS NOT
        negated: bool,
    },
    /// `left IS DISTINCT FROM right`
    IsDistinct {
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
        /// IS NOT DISTINCT FROM
        negated: bool,
    },
    /// `expr IN (a, b)`
    InList {
        /// The value.
        expr: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
        /// NOT IN
        negated: bool,
    },
    /// `expr IN (SELECT ...)`
    InSubquery {
        /// The value.
        expr: Box<Expr>,
        /// The query.
        subquery: Box<Query>,
        /// NOT IN
        negated: bool,
    },
    /// `expr BETWEEN low AND high`
    Between {
        /// The value.
        expr: Box<Expr>,
        /// One bound.
        low: Box<Expr>,
        /// The other.
        high: Box<Expr>,
        /// SYMMETRIC: the bounds may be in either order.
        symmetric: bool,
        /// NOT BETWEEN
        negated: bool,
    },
    /// `expr LIKE pattern`
    Like {
        /// Kind of pattern.
        kind: LikeKind,
        /// The text.
        expr: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// ESCAPE
        escape: Option<Box<Literal>>,
        /// NOT LIKE
        negated: bool,
    },
    /// A call with words between its arguments.
    Special {
        /// The function.
        call: SpecialCall,
        /// Its arguments, the value that it works on first.
        arguments: Vec<Expr>,
    },
    /// A call, or a word that stands for one: `current_date`.
    Function(Box<Function>),
    /// CASE
    Case(Box<Case>),
    /// `(SELECT ...)`
    Subquery(Box<Query>),
    /// EXISTS
    Exists(Box<Query>),
    /// `ARRAY(SELECT ...)`
    ArraySubquery {
        /// The query.
        subquery: Box<Query>,
        /// The place of the word ARRAY.
        keyword: Span,
    },
    /// `ARRAY[a, b]`
    Array {
        /// Its elements.
        elements: Vec<Expr>,
        /// Whether the word is there: arrays in arrays do not need it.
        keyword: bool,
    },
    /// `(a, b)`, `ROW(a, b)`
    Row {
        /// Its fields.
        fields: Vec<Expr>,
        /// The place of the word ROW, if it is there.
        keyword: Option<Span>,
    },
}

/// A step into an array or a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// `.field`
    Field(Ident),
    /// `[index]`
    Index(Expr),
    /// `[from:to]`
    Slice(Option<Expr>, Option<Expr>),
}

/// A constant or a parameter, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    /// What it says.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// A constant or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Digits, perhaps with a point and an exponent.
    Number(String),
    /// A string, however it is quoted.
    String(String),
    /// TRUE, FALSE
    Boolean(bool),
    /// NULL
    Null,
    /// `$1`
    Parameter(String),
}

/// `interval 'text' leading TO last`
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its text.
    pub text: Literal,
    /// The unit, or the larger of two.
    pub leading: Option<String>,
    /// Digits after the leading unit.
    pub leading_precision: Option<u64>,
    /// The smaller unit.
    pub last: Option<String>,
    /// Digits of a second's fraction.
    pub fraction_precision: Option<u64>,
}

/// An operator between two operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Symbol(Cow<'static, str>),
    /// `OPERATOR(pg_catalog.+)`: its words and the symbol.
    Qualified(Vec<String>),
}

impl Operator {
    /// The operator of this symbol.
    pub const fn of(symbol: &'static str) -> Operator {
        Operator::Symbol(Cow::Borrowed(symbol))
    }

    /// Its symbol.
    pub fn symbol(&self) -> &str {
        match self {
            Operator::Symbol(symbol) => symbol,
            Operator::Qualified(words) => words.last().map_or("", String::as_str),
        }
    }
}

/// Kinds of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeKind {
    /// LIKE
    Like,
    /// ILIKE
    ILike,
    /// SIMILAR TO
    Similar,
}

/// Functions that have words between their arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecialCall {
    /// `time AT TIME ZONE zone`
    AtTimeZone,
    /// `CEIL(number)`
    Ceil,
    /// `FLOOR(number)`
    Floor,
    /// `EXTRACT(field FROM time)`
    Extract {
        /// The field.
        field: Ident,
        /// Whether a comma stands in the place of FROM.
        comma: bool,
    },
    /// `OVERLAY(text PLACING new FROM start FOR count)`
    Overlay,
    /// `POSITION(part IN text)`: the part comes first.
    Position,
    /// `SUBSTRING(text FROM start FOR count)`
    Substring {
        /// Whether it says where to start; otherwise an argument after the text is the count.
        from: bool,
        /// Whether commas stand in the place of the words.
        comma: bool,
        /// `SUBSTR`
        short: bool,
    },
    /// `TRIM(side characters FROM text)`
    Trim {
        /// The side; `None`: both.
        side: Option<TrimSide>,
        /// `TRIM(text, characters)`
        comma: bool,
    },
}

/// A side of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimSide {
    /// BOTH
    Both,
    /// LEADING
    Leading,
    /// TRAILING
    Trailing,
}

/// CASE
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// `CASE operand WHEN value ...`
    pub operand: Option<Expr>,
    /// WHEN ... THEN ...
    pub branches: Vec<CaseWhen>,
    /// ELSE
    pub otherwise: Option<Expr>,
    /// From CASE to END.
    pub span: Span,
}

/// WHEN condition THEN result
#[derive(Clone, Debug, PartialEq)]
pub struct CaseWhen {
    /// The condition, or the value that the operand must have.
    pub condition: Expr,
    /// The result.
    pub result: Expr,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The function's name.
    pub name: ObjectName,
    /// The arguments; `None` for a word without parentheses.
    pub arguments: Option<Vec<Argument>>,
    /// DISTINCT
    pub distinct: bool,
    /// ORDER BY inside the parentheses.
    pub order_by: Vec<OrderByExpr>,
    /// WITHIN GROUP
    pub within_group: Vec<OrderByExpr>,
    /// FILTER
    pub filter: Option<Expr>,
    /// OVER
    pub over: Option<Window>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A value.
    Expr(Expr),
    /// `name => value`
    Named(Ident, Expr),
    /// `*`
    Star,
    /// `table.*`
    TableRow(ObjectName),
}

/// The window of a call, or of a name in the WINDOW clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// One that the WINDOW clause defines.
    Named(Ident),
    /// `(PARTITION BY ... ORDER BY ... ROWS ...)`
    Spec(WindowSpec),
}

/// The definition of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowSpec {
    /// The window that it completes.
    pub base: Option<Ident>,
    /// PARTITION BY
    pub partition_by: Vec<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderByExpr>,
    /// ROWS, RANGE, GROUPS
    pub frame: Option<WindowFrame>,
}

/// The rows of a partition that a call sees.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// What its bounds count.
    pub units: WindowFrameUnits,
    /// Its first row.
    pub start: WindowFrameBound,
    /// Its last row; `None`: CURRENT ROW.
    pub end: Option<WindowFrameBound>,
    /// EXCLUDE
    pub exclusion: Option<Exclusion>,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFrameUnits {
    /// ROWS
    Rows,
    /// RANGE
    Range,
    /// GROUPS
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowFrameBound {
    /// CURRENT ROW
    CurrentRow,
    /// PRECEDING; `None`: UNBOUNDED.
    Preceding(Option<Box<Expr>>),
    /// FOLLOWING; `None`: UNBOUNDED.
    Following(Option<Box<Expr>>),
}

/// Rows that a window's frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// EXCLUDE NO OTHERS
    NoOthers,
    /// EXCLUDE CURRENT ROW
    CurrentRow,
    /// EXCLUDE GROUP
    Group,
    /// EXCLUDE TIES
    Ties,
}

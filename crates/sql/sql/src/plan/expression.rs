//! Expressions: typed, names resolved, every conversion explicit.

use super::Plan;
use crate::functions::Resolved;
use crate::stack::ensure_stack;
use crate::types::{Datum, Modifier, RowShape, Scalar, Type};
pub use model::Comparison;
use smol_str::SmolStr;
use std::sync::Arc;

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// The operation.
    pub kind: ExprKind,
    /// The type of its value.
    pub data_type: Type,
    /// The modifier of the type, for Describe.
    pub modifier: Modifier,
}

/// Operation of an expression. All operands have the types that the operation requires.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Constant(Datum),
    /// A column of the row at hand.
    Column(usize),
    /// A column of the row of an enclosing query: `depth` 1 is the nearest (a subquery or a LATERAL side adds one).
    Outer {
        /// Number of enclosing queries outwards.
        depth: usize,
        /// The column there.
        column: usize,
    },
    /// `$1` is number 0.
    Parameter(usize),
    /// A function or operator with one value.
    Call(Resolved, Vec<Expr>),
    /// To the expression's type and modifier. `explicit`: as CAST, which truncates where assignment refuses.
    Cast {
        /// The value to cast.
        input: Box<Expr>,
        /// Whether it was written as a cast.
        explicit: bool,
    },
    /// All true, three-valued.
    And(Vec<Expr>),
    /// Any true, three-valued.
    Or(Vec<Expr>),
    /// NOT, three-valued.
    Not(Box<Expr>),
    /// IS NULL; of a record: all fields are.
    IsNull(Box<Expr>),
    /// IS NOT DISTINCT FROM: NULL equals NULL. Both sides have one type.
    IsSame(Box<Expr>, Box<Expr>),
    /// IS TRUE, IS FALSE, IS UNKNOWN.
    IsTruth(Box<Expr>, Option<bool>),
    /// `left = right` and its kin, on one type that has an order.
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// Searched CASE; simple CASE is bound to comparisons.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// COALESCE
    Coalesce(Vec<Expr>),
    /// NULLIF(a, b): NULL if the comparison holds, else the value.
    NullIf(Box<Expr>, Box<Expr>),
    /// GREATEST, or LEAST.
    Extreme {
        /// GREATEST, not LEAST.
        greatest: bool,
        /// The compared values.
        of: Vec<Expr>,
    },
    /// `value IN (a, b, c)`: equal to any of the list, three-valued.
    InList(Box<Expr>, Vec<Expr>),
    /// `left op ANY (array)` or `ALL`.
    Quantified {
        /// The comparison of `left` with one element: a boolean function of two arguments.
        operator: Resolved,
        /// The left side.
        left: Box<Expr>,
        /// The array.
        array: Box<Expr>,
        /// ALL, not ANY.
        all: bool,
    },
    /// ARRAY[...]
    Array(Vec<Expr>),
    /// `array[subscript]`
    Subscript(Box<Expr>, Box<Expr>),
    /// `array[from:to]`
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// ROW(...), with the names and types of its fields.
    Row(Vec<Expr>, Arc<RowShape>),
    /// `(record).field`, by position.
    Field(Box<Expr>, usize),
    /// A subquery.
    Subquery(Box<Subquery>),
    /// The value, if it is one of a domain.
    Domain(Box<Expr>, Arc<DomainRules>),
}

/// The rules of a domain, with those of the domain that it restricts before its own.
#[derive(Debug)]
pub struct DomainRules {
    /// The domain's schema and name.
    pub domain: (String, String),
    /// Its name as messages show it.
    pub shown: String,
    /// Whether it refuses NULL.
    pub not_null: bool,
    /// The names of its constraints, and their conditions over a row of the value alone.
    pub checks: Vec<(String, Expr)>,
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// Use of the subquery's rows.
    pub kind: SubqueryKind,
    /// The query. Its references to enclosing rows are [`ExprKind::Outer`] with depth 1 and more.
    pub plan: Arc<Plan>,
    /// Whether the subquery refers to enclosing rows. If not, it runs once.
    pub correlated: bool,
}

/// Use of a subquery's rows.
#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// Its one value. More than one row is an error; no row is NULL.
    Scalar,
    /// Whether the subquery has a row.
    Exists,
    /// `left op ANY (query)`, `IN`, or ALL.
    Quantified {
        /// The left side: several for a row comparison.
        left: Vec<Expr>,
        /// The comparison of each with the query's column at the same place.
        operators: Vec<Resolved>,
        /// Whether the operators are all `=` on equal types, so that the rows can be looked up by hash.
        equality: bool,
        /// ALL, not ANY.
        all: bool,
    },
    /// ARRAY(query)
    Array,
}

/// Written by hand, because a chain of operators is as deep as it is long.
impl Clone for Expr {
    fn clone(&self) -> Expr {
        let Expr { kind, data_type, modifier } = self;
        Expr { kind: ensure_stack(|| kind.clone()), data_type: *data_type, modifier: *modifier }
    }
}

impl Expr {
    /// An expression without a modifier.
    pub fn new(kind: ExprKind, data_type: Type) -> Expr {
        Expr { kind, data_type, modifier: Modifier::NONE }
    }

    /// A constant.
    pub fn constant(value: Datum, data_type: Type) -> Expr {
        Expr::new(ExprKind::Constant(value), data_type)
    }

    /// A row whose fields have these names; without a name, the third is `f3`.
    pub fn row(fields: Vec<Expr>, names: &[String]) -> Expr {
        let name = |at: usize| names.get(at).map_or_else(|| RowShape::nameless(at), SmolStr::from);
        let described = fields.iter().enumerate().map(|(at, field)| (name(at), field.data_type));
        let shape = Arc::new(RowShape::record(described.collect()));
        Expr::new(ExprKind::Row(fields, shape), Type::RECORD)
    }

    /// A value of a composite type.
    pub fn composite(fields: Vec<Expr>, shape: Arc<RowShape>) -> Expr {
        let data_type = match &shape.composite {
            Some(composite) => Type::of(Scalar::Composite(composite.oid)),
            None => Type::RECORD,
        };
        Expr::new(ExprKind::Row(fields, shape), data_type)
    }

    /// A column of the row at hand.
    pub fn column(at: usize, data_type: Type, modifier: Modifier) -> Expr {
        Expr { kind: ExprKind::Column(at), data_type, modifier }
    }
}

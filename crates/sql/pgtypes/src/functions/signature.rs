//! Description of a function.

use crate::error::Result;
use crate::{Datum, Env, Scalar, Type};

/// A scalar or set-returning function, or an operator. A host's functions have bodies of a type of its own.
pub struct Function<B = Body> {
    /// Its name; an operator's is its symbol.
    pub name: &'static str,
    /// The types of its arguments, as its code expects them.
    pub arguments: &'static [Type],
    /// The type of further arguments, if it takes any number.
    pub variadic: Option<Type>,
    /// The type of its result (of one row's column, for a set).
    pub result: Type,
    /// Whether a NULL argument makes the result NULL without a call.
    pub strict: bool,
    /// Whether the result may differ for the same arguments.
    pub volatility: Volatility,
    /// Whether the function returns a set.
    pub returns_set: bool,
    /// The implementation.
    pub body: B,
}

/// Degree of a function's volatility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// On its arguments only: it can be computed when the statement is planned.
    Immutable,
    /// On the statement too (`now()`, a setting, the catalog).
    Stable,
    /// On when it is called (`nextval`, `random`).
    Volatile,
}

/// Implementation of a function.
#[derive(Clone, Copy)]
pub enum Body {
    /// One value of its arguments alone.
    Pure(fn(&[Datum]) -> Result<Datum>),
    /// One value, with the session's styles and clock.
    Session(fn(&dyn Env, &[Datum]) -> Result<Datum>),
    /// One value, by the types of the arguments as they were bound ([`Resolved::arguments`]): for functions that take
    /// any type, because a datum alone does not tell a text from a json.
    Typed(fn(&dyn Env, &[Type], &[Datum]) -> Result<Datum>),
    /// A set of values; of several columns if they are [`Datum::Record`]s.
    Set(fn(&dyn Env, &[Datum]) -> Result<Vec<Datum>>),
    /// A set of values, by the types of the arguments.
    TypedSet(TypedSet),
    /// A set of values that are made one by one, as they are asked for.
    Series(fn(&dyn Env, &[Datum]) -> Result<Series>),
}

/// Makes a set of values by the types of the arguments.
pub type TypedSet = fn(&dyn Env, &[Type], &[Datum]) -> Result<Vec<Datum>>;

/// Makes the next value of a set; `None` after the last.
pub type Series = Box<dyn FnMut() -> Result<Option<Datum>> + Send>;

/// Stand-ins for types in the tables of functions, where PostgreSQL has pseudo-types. No value ever has the type by which
/// they are written here.
pub mod pseudo {
    use super::{Scalar, Type};

    /// `"any"`: each argument is passed unchanged.
    pub const ANY: Type = Type::VOID;
    /// `anyelement`: all such arguments have one type.
    pub const ANYELEMENT: Type = Type::array_of(Scalar::Void);
    /// `anyarray`: an array of what `anyelement` is.
    pub const ANYARRAY: Type = Type::array_of(Scalar::Unknown);
    /// `anynonarray`: as `anyelement`, and no array.
    pub const ANYNONARRAY: Type = Type::array_of(Scalar::PgNodeTree);
    /// `anycompatible`: all such arguments are cast to one type.
    pub const ANYCOMPATIBLE: Type = Type::array_of(Scalar::OidVector);
    /// `anyenum`: as `anyelement`, and an enum.
    pub const ANYENUM: Type = Type::of(Scalar::Enum(0));
    /// `anycompatiblearray`: an array of what `anycompatible` is.
    pub const ANYCOMPATIBLEARRAY: Type = Type::array_of(Scalar::Int2Vector);
}

/// A function that a call means.
#[derive(Clone)]
pub struct Resolved<B: 'static = Body> {
    /// The function.
    pub function: &'static Function<B>,
    /// Types to which the arguments must be cast (implicitly) first.
    pub arguments: Vec<Type>,
    /// The type of the result, where it follows from the arguments (arrays, polymorphic functions).
    pub result: Type,
    /// The names and types of a set's columns, if it returns rows.
    pub columns: Option<Vec<(&'static str, Type)>>,
}

/// An aggregate function, also usable over a window frame.
pub struct Aggregate {
    /// Its name.
    pub name: &'static str,
    /// The types of its arguments; empty for `count(*)`.
    pub arguments: &'static [Type],
    /// The type of its result.
    pub result: Type,
    /// Whether rows with a NULL argument are skipped.
    pub strict: bool,
    /// An empty state.
    pub start: fn() -> Box<dyn Accumulator>,
}

/// The state of an aggregate over one group.
pub trait Accumulator: Send {
    /// Takes one row's arguments.
    ///
    /// # Errors
    /// Overflow, say.
    fn add(&mut self, arguments: &[Datum]) -> Result<()>;

    /// The value so far. May be called between rows (running windows).
    ///
    /// # Errors
    /// Overflow, say.
    fn value(&self) -> Result<Datum>;

    /// The bytes that it holds beyond a fixed size, for the limit on memory.
    fn memory(&self) -> usize {
        0
    }
}

/// An aggregate that a call means.
#[derive(Clone)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: &'static Aggregate,
    /// Types to which the arguments must be cast (implicitly) first.
    pub arguments: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

/// A function that exists only over windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFunction {
    /// `row_number()`
    RowNumber,
    /// `rank()`
    Rank,
    /// `dense_rank()`
    DenseRank,
    /// `percent_rank()`
    PercentRank,
    /// `cume_dist()`
    CumeDist,
    /// `ntile(n)`
    Ntile,
    /// `lag(value [, offset [, default]])`
    Lag,
    /// `lead(value [, offset [, default]])`
    Lead,
    /// `first_value(value)`
    FirstValue,
    /// `last_value(value)`
    LastValue,
    /// `nth_value(value, n)`
    NthValue,
}

impl Function {
    /// A strict function of this crate.
    pub(super) const fn new(
        name: &'static str,
        arguments: &'static [Type],
        result: Type,
        volatility: Volatility,
        body: Body,
    ) -> Function {
        let returns_set = matches!(body, Body::Set(_) | Body::TypedSet(_) | Body::Series(_));
        Function { name, arguments, variadic: None, result, strict: true, volatility, returns_set, body }
    }
}

impl<B: Copy> Function<B> {
    /// Called with NULL arguments too.
    #[must_use]
    pub const fn called_on_null(mut self) -> Function<B> {
        self.strict = false;
        self
    }

    /// Stable.
    #[must_use]
    pub const fn stable(mut self) -> Function<B> {
        self.volatility = Volatility::Stable;
        self
    }

    /// Volatile.
    #[must_use]
    pub const fn volatile(mut self) -> Function<B> {
        self.volatility = Volatility::Volatile;
        self
    }

    /// Takes any number of further arguments.
    #[must_use]
    pub const fn variadic(mut self, of: Type) -> Function<B> {
        self.variadic = Some(of);
        self
    }
}

impl<B> std::fmt::Debug for Function<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?})", self.name, self.arguments)
    }
}

impl std::fmt::Debug for Aggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?})", self.name, self.arguments)
    }
}

impl<B> std::fmt::Debug for Resolved<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.function.fmt(f)
    }
}

impl std::fmt::Debug for ResolvedAggregate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.aggregate.fmt(f)
    }
}

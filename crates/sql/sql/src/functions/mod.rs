//! Functions of the session: PostgreSQL's own ([`crate::types::functions`]), and those that read the session, the catalog or
//! the sequences (`system.rs`). Further tables are registered before the first statement ([`register`]).

mod advisory;
mod notify;
mod system;
pub(crate) mod system_column;
mod table;

pub use crate::types::functions::{
    Accumulator, ResolvedAggregate, RowColumns, Series, Volatility, WindowFunction, common_type, is_aggregate,
    is_ordered_set, json_agg_of_rows, parameters, quote_identifier,
};
pub use system::sequence_state;
pub(crate) use table::{names, pure, set, system};

use crate::context::{Names, System};
use crate::error::{Result, SqlError};
use crate::types::functions::{self as values, Registry};
use crate::types::{Datum, Type};
use model::Comparison;
use std::sync::OnceLock;

/// A scalar or set-returning function, or an operator.
pub type Function = values::Function<Body>;

/// A function that a call means.
pub type Resolved = values::Resolved<Body>;

/// Implementation of a function.
#[derive(Clone, Copy)]
pub enum Body {
    /// A function of values, with the session's styles and clock.
    Values(values::Body),
    /// One value of its arguments alone.
    Pure(fn(&[Datum]) -> Result<Datum>),
    /// One value, computed with access to the catalog.
    Names(fn(&mut Names<'_>, &[Datum]) -> Result<Datum>),
    /// One value, computed with access to the session, the sequences or the server.
    System(fn(&mut System<'_>, &[Datum]) -> Result<Datum>),
    /// A set of values; of several columns if they are [`Datum::Record`]s.
    Set(fn(&mut System<'_>, &[Datum]) -> Result<Vec<Datum>>),
}

impl Body {
    /// Calls a function of its arguments alone; `None` for another.
    pub fn call_pure(self, arguments: &[Datum]) -> Option<Result<Datum>> {
        match self {
            Body::Values(values::Body::Pure(body)) => Some(body(arguments).map_err(SqlError::from)),
            Body::Pure(body) => Some(body(arguments)),
            _ => None,
        }
    }
}

/// Functions of this module alone, until more are registered.
static OWN: OnceLock<Registry<Body>> = OnceLock::new();
/// With those that were registered.
static ALL: OnceLock<Registry<Body>> = OnceLock::new();

/// Adds tables of functions to this module's, with the columns of those that return rows. Must be called before the first
/// statement is bound; only the first call in a process has an effect.
pub(crate) fn register(functions: &[&'static [Function]], columns: &'static RowColumns) {
    ALL.get_or_init(|| with(functions, &[columns]));
}

fn registry() -> &'static Registry<Body> {
    ALL.get().unwrap_or_else(|| OWN.get_or_init(|| with(&[], &[])))
}

fn with(tables: &[&'static [Function]], columns: &[&'static RowColumns]) -> Registry<Body> {
    let own = [system::FUNCTIONS, system::SEQUENCES, system::PRIVILEGES, advisory::FUNCTIONS, notify::FUNCTIONS];
    Registry::new(Body::Values, &[tables, &own].concat(), columns)
}

/// Resolves a call of the function of this name with arguments of these types.
///
/// # Errors
/// 42883 if no function fits, 42725 if several fit equally well.
pub fn resolve_function(name: &str, arguments: &[Type]) -> Result<Resolved> {
    Ok(registry().function(name, arguments)?)
}

/// Resolves the operator of a symbol between (or, without `left`, before) operands of these types.
///
/// # Errors
/// Errors of [`resolve_function`].
pub fn resolve_operator(symbol: &str, left: Option<Type>, right: Type) -> Result<Resolved> {
    Ok(registry().operator(symbol, left, right)?)
}

/// Resolves a call of the aggregate of this name; `None` if no aggregate has the name. `count(*)` has no arguments.
///
/// # Errors
/// Errors of [`resolve_function`].
pub fn resolve_aggregate(name: &str, arguments: &[Type]) -> Result<Option<ResolvedAggregate>> {
    Ok(values::resolve_aggregate(name, arguments)?)
}

/// The function over windows that a call means, the types to which its arguments are cast, and its result's type; `None`
/// if the name is not one of theirs.
///
/// # Errors
/// 42883 if it does not take these arguments.
pub fn window_function(name: &str, arguments: &[Type]) -> Result<Option<(WindowFunction, Vec<Type>, Type)>> {
    Ok(values::window_function(name, arguments)?)
}

/// The type on which two types compare.
///
/// # Errors
/// 42883 `operator does not exist: integer = text`.
pub fn comparison_type(left: Type, right: Type) -> Result<Type> {
    Ok(values::comparison_type(left, right)?)
}

/// Returns the type on which two types compare by the operator of this symbol; the symbol is for the error.
///
/// # Errors
/// Errors of [`comparison_type`].
pub fn comparison_type_by(symbol: &str, left: Type, right: Type) -> Result<Type> {
    Ok(values::comparison_type_by(symbol, left, right)?)
}

/// The boolean function that compares two values of a type.
pub fn comparison_function(comparison: Comparison, data_type: Type) -> Resolved {
    use values::Comparison::*;
    let comparison = match comparison {
        Comparison::Equal => Equal,
        Comparison::NotEqual => NotEqual,
        Comparison::Less => Less,
        Comparison::LessOrEqual => LessOrEqual,
        Comparison::Greater => Greater,
        Comparison::GreaterOrEqual => GreaterOrEqual,
    };
    registry().comparison(comparison, data_type)
}

//! Casts between types: their contexts and their conversions.
//!
//! `table.rs` is `pg_cast`; a type without a cast to or from text is converted through its text ("I/O conversion").

mod convert;
mod table;
#[cfg(test)]
mod tests;

use super::text::{apply_modifier, parse, to_string};
use super::{Array, Datum, Modifier, Scalar, Styles, Type};
use crate::error::{Error, Result, state};
use std::sync::Arc;

/// Contexts in which a cast applies without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// In an assignment to a column.
    Assignment,
    /// Only where it is written.
    Explicit,
}

/// Method of a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// The value stays unchanged.
    Same,
    /// By a function of its own.
    Function,
    /// By output as text and input from it.
    Text,
    /// Element by element.
    Elements,
}

/// Returns the context in which values of one type convert to another; `None` if never. A type casts to itself implicitly.
pub fn context(from: Type, to: Type) -> Option<CastContext> {
    find(from, to).map(|(context, _)| context)
}

fn find(from: Type, to: Type) -> Option<(CastContext, Method)> {
    use CastContext::{Assignment, Explicit, Implicit};
    if from == to {
        return Some((Implicit, Method::Same));
    }
    if from == Type::UNKNOWN {
        return Some((Implicit, Method::Text));
    }
    if to == Type::RECORD && from.composite().is_some() {
        return Some((Implicit, Method::Same));
    }
    if to == Type::UNKNOWN || is_pseudo(from) || is_pseudo(to) {
        return (from == Type::RECORD && is_text(to)).then_some((Assignment, Method::Text));
    }
    match (from.element(), to.element()) {
        // A vector becomes an array, but not the other way around.
        (Some(from), Some(element)) if to.is_array => {
            return Some((context(from, element)?, Method::Elements));
        }
        (None, None) => {
            if let Some(found) = table::find(from.scalar, to.scalar) {
                return Some(found);
            }
        }
        _ => {}
    }
    // To a text type by assignment, from one only where it is written.
    if is_text(to) {
        Some((Assignment, Method::Text))
    } else if is_text(from) {
        Some((Explicit, Method::Text))
    } else {
        None
    }
}

fn is_pseudo(data_type: Type) -> bool {
    data_type.kind() == 'p'
}

/// Returns whether a type is a text by category; `"char"` is not.
fn is_text(data_type: Type) -> bool {
    data_type.category() == 'S'
}

/// Returns whether a cast must look up names in the catalog: one between a text and a reg* type, or between their arrays. [`cast`]
/// itself treats such values as numbers.
pub fn needs_catalog(from: Type, to: Type) -> bool {
    let written = |data_type: Type| is_text(Type::of(data_type.scalar)) || data_type == Type::UNKNOWN;
    (from.scalar.is_reg() && written(to)) || (to.scalar.is_reg() && written(from))
}

/// Casts a value and applies the modifier. NULL stays NULL.
///
/// # Errors
/// 42846 for no such cast, 22P02, 22003 and the like for a value that has no counterpart.
pub fn cast(value: &Datum, from: Type, to: Type, modifier: Modifier, explicit: bool, styles: &Styles) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let Some((_, method)) = find(from, to) else {
        return Err(Error::new(state::CANNOT_COERCE, format!("cannot cast type {from} to {to}")));
    };
    let converted = match method {
        Method::Same => value.clone(),
        Method::Function => convert::convert(value, from.scalar, to.scalar, styles)?,
        Method::Text => through_text(value, from, to, modifier, styles)?,
        Method::Elements => return cast_elements(value, from, to, modifier, explicit, styles),
    };
    if modifier == Modifier::NONE { Ok(converted) } else { apply_modifier(converted, to, modifier, explicit) }
}

fn through_text(value: &Datum, from: Type, to: Type, modifier: Modifier, styles: &Styles) -> Result<Datum> {
    // Only intervals use the modifier while they are read; other values are fitted to it afterwards, by the rules of the cast.
    let reading = if to.scalar == Scalar::Interval { modifier } else { Modifier::NONE };
    match value.as_text() {
        Some(text) if from.scalar == Scalar::Bpchar && !is_text(to) => {
            parse(super::compare::without_blanks(text), to, reading, styles)
        }
        Some(text) => parse(text, to, reading, styles),
        None => parse(&to_string(value, from, styles), to, reading, styles),
    }
}

fn cast_elements(
    value: &Datum,
    from: Type,
    to: Type,
    modifier: Modifier,
    explicit: bool,
    styles: &Styles,
) -> Result<Datum> {
    let Some(array) = value.as_array() else {
        return Err(Error::new(state::INTERNAL_ERROR, format!("{from} holds no array")));
    };
    let (inner_from, inner_to) = (from.element().unwrap_or(from), Type::of(to.scalar));
    let elements = array
        .elements
        .iter()
        .map(|element| match element {
            Datum::Array(_) => cast_elements(element, from, to, modifier, explicit, styles),
            _ => cast(element, inner_from, inner_to, modifier, explicit, styles),
        })
        .collect::<Result<_>>()?;
    Ok(Datum::Array(Arc::new(Array { element: to.scalar, lower_bound: array.lower_bound, elements })))
}

//! Implicit casts of arguments, and resolution of the polymorphic types of [`super::pseudo`] in a call.

use super::pseudo::*;
use crate::Type;
use crate::cast::{CastContext, context};
use crate::error::{Error, Result, state};

/// Returns whether a value of type `from` is accepted where `to` is declared.
pub(super) fn is_castable(from: Type, to: Type) -> bool {
    if from == to || from == Type::UNKNOWN {
        return true;
    }
    match to {
        ANY | ANYELEMENT | ANYCOMPATIBLE => true,
        ANYARRAY | ANYCOMPATIBLEARRAY => from.element().is_some(),
        ANYNONARRAY => from.element().is_none(),
        ANYENUM => from.kind() == 'e',
        Type::RECORD => from.composite().is_some(),
        _ => context(from, to) == Some(CastContext::Implicit),
    }
}

/// The category of a declared type; the stand-ins are pseudo-types.
pub(super) fn category_of(declared: Type) -> char {
    match declared {
        ANY | ANYELEMENT | ANYNONARRAY | ANYENUM | ANYARRAY | ANYCOMPATIBLE | ANYCOMPATIBLEARRAY => 'P',
        _ => declared.category(),
    }
}

/// Returns whether arguments of the actual types are accepted for the declared ones, with consistent polymorphic types.
pub(super) fn accepts(declared: &[Type], actual: &[Type]) -> bool {
    declared.len() == actual.len()
        && declared.iter().zip(actual).all(|(to, from)| is_castable(*from, *to))
        && element_type(declared, actual).is_some()
        && compatible_type(declared, actual).is_some()
}

/// Returns the concrete types of arguments and result in a call with the actual types.
///
/// # Errors
/// 42804 if a polymorphic type can only be derived from literals of unknown type.
pub(super) fn make_concrete(declared: &[Type], result: Type, actual: &[Type]) -> Result<(Vec<Type>, Type)> {
    let element = element_type(declared, actual).flatten();
    let compatible = compatible_type(declared, actual).flatten();
    let arguments = declared.iter().zip(actual);
    let arguments = arguments.map(|(declared, actual)| concrete(*declared, *actual, element, compatible));
    let arguments = arguments.collect::<Result<_>>()?;
    Ok((arguments, concrete(result, Type::UNKNOWN, element, compatible)?))
}

fn concrete(declared: Type, actual: Type, element: Option<Type>, compatible: Option<Type>) -> Result<Type> {
    let undetermined =
        || Error::new(state::DATATYPE_MISMATCH, "could not determine polymorphic type because input has type unknown");
    let array_of = |element: Option<Type>| {
        let element = element.ok_or_else(undetermined)?;
        element.to_array().ok_or_else(|| {
            let message = format!("could not find array type for data type {}", element.name());
            Error::new(state::UNDEFINED_OBJECT, message)
        })
    };
    match declared {
        ANY if actual == Type::UNKNOWN => Ok(Type::TEXT),
        ANY => Ok(actual),
        ANYELEMENT | ANYNONARRAY | ANYENUM => element.ok_or_else(undetermined),
        ANYCOMPATIBLE => Ok(compatible.unwrap_or(Type::TEXT)),
        // A vector of the catalogs stays what it is.
        ANYARRAY if !actual.is_array && actual.element().is_some() => Ok(actual),
        ANYARRAY => array_of(element),
        ANYCOMPATIBLEARRAY => array_of(Some(compatible.unwrap_or(Type::TEXT))),
        _ => Ok(declared),
    }
}

/// Type for which `anyelement` stands: `None` if the arguments disagree, `Some(None)` if no argument determines it.
fn element_type(declared: &[Type], actual: &[Type]) -> Option<Option<Type>> {
    let mut element: Option<Type> = None;
    for (declared, actual) in declared.iter().zip(actual) {
        let candidate = match *declared {
            _ if *actual == Type::UNKNOWN => continue,
            ANYELEMENT | ANYENUM => *actual,
            ANYNONARRAY if !actual.is_array => *actual,
            ANYNONARRAY => return None,
            ANYARRAY => actual.element()?,
            _ => continue,
        };
        if *element.get_or_insert(candidate) != candidate {
            return None;
        }
    }
    Some(element)
}

/// Type for which `anycompatible` stands: `None` if the arguments have no common type, `Some(None)` if no argument determines
/// it.
fn compatible_type(declared: &[Type], actual: &[Type]) -> Option<Option<Type>> {
    let mut types = Vec::new();
    for (declared, actual) in declared.iter().zip(actual) {
        match *declared {
            _ if *actual == Type::UNKNOWN => {}
            ANYCOMPATIBLE => types.push(*actual),
            ANYCOMPATIBLEARRAY => types.push(actual.element()?),
            _ => {}
        }
    }
    if types.is_empty() {
        return Some(None);
    }
    let common = common_type(&types)?;
    let has_array = declared.contains(&ANYCOMPATIBLEARRAY);
    let fits = types.iter().all(|data_type| is_castable(*data_type, common)) && !(has_array && common.is_array);
    fits.then_some(Some(common))
}

/// The type to which values of these types are brought together (UNION, CASE, ARRAY, `anycompatible`); `None` if their
/// categories differ. Literals of unknown type do not count; text if there are only such.
///
/// Source: PostgreSQL 15, `select_common_type`; manual, section 10.5.
pub fn common_type(types: &[Type]) -> Option<Type> {
    let mut known = types.iter().copied().filter(|data_type| *data_type != Type::UNKNOWN);
    let Some(mut common) = known.next() else { return Some(Type::TEXT) };
    for other in known {
        if other == common {
            continue;
        }
        if other.category() != common.category() {
            return None;
        }
        let forward = context(common, other) == Some(CastContext::Implicit);
        let backward = context(other, common) == Some(CastContext::Implicit);
        if !common.is_preferred() && forward && !backward {
            common = other;
        }
    }
    Some(common)
}

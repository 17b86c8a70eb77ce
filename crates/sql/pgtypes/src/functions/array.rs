//! Arrays.

use super::arguments::{Arguments, check_length};
use super::table::*;
use crate::interrupt::work;
use crate::memory::check_piece;
use crate::{compare_typed, equal_typed};

/// The functions and operators.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("array_length", &[ANYARRAY, INT4], INT4, |a| {
        Ok(bounds(a.array(0)?, a.int4(1)?).map(|(_, length)| length).into())
    }),
    pure("array_lower", &[ANYARRAY, INT4], INT4, |a| Ok(bounds(a.array(0)?, a.int4(1)?).map(|(low, _)| low).into())),
    pure("array_upper", &[ANYARRAY, INT4], INT4, |a| {
        Ok(bounds(a.array(0)?, a.int4(1)?).map(|(low, length)| low.saturating_add(length) - 1).into())
    }),
    pure("array_ndims", &[ANYARRAY], INT4, |a| {
        let dimensions = dimensions(a.array(0)?).len() as i32;
        Ok((dimensions > 0).then_some(dimensions).into())
    }),
    pure("array_dims", &[ANYARRAY], TEXT, |a| {
        let array = a.array(0)?;
        let lower = |at| if at == 0 { i64::from(array.lower_bound) } else { 1 };
        let dimensions = dimensions(array);
        let texts = dimensions.iter().enumerate();
        let texts = texts.map(|(at, length)| format!("[{}:{}]", lower(at), lower(at) + *length as i64 - 1));
        let text: String = texts.collect();
        Ok((!text.is_empty()).then_some(text).into())
    }),
    pure("cardinality", &[ANYARRAY], INT4, |a| {
        let mut count = 0;
        for_each_element(a.array(0)?, &mut |_| count += 1);
        Ok(Datum::Int4(count))
    }),
    pure_typed("array_append", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY, append).called_on_null(),
    pure_typed("||", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY, append).called_on_null(),
    pure_typed("array_prepend", &[ANYCOMPATIBLE, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY, prepend).called_on_null(),
    pure_typed("||", &[ANYCOMPATIBLE, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY, prepend).called_on_null(),
    pure("array_cat", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY, concatenate).called_on_null(),
    pure("||", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY, concatenate).called_on_null(),
    pure_typed("array_position", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], INT4, position).called_on_null(),
    pure_typed("array_position", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, INT4], INT4, position).called_on_null(),
    pure_typed("array_positions", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], INT4_ARRAY, |_, types, a| {
        if a[0].is_null() {
            return Ok(Datum::Null);
        }
        let array = one_dimension(a.array(0)?, "searching for elements in multidimensional arrays is not supported")?;
        let found = array.elements.iter().zip(array.lower_bound..);
        let found = found.filter(|(element, _)| equal_typed(types[1], element, &a[1]));
        Ok(Array::new(Scalar::Int4, found.map(|(_, at)| Datum::Int4(at)).collect()).into())
    })
    .called_on_null(),
    pure_typed("array_remove", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY, |_, types, a| {
        if a[0].is_null() {
            return Ok(Datum::Null);
        }
        let message = "removing elements from multidimensional arrays is not supported";
        let array = one_dimension(a.array(0)?, message)?;
        let kept = array.elements.iter().filter(|element| !equal_typed(types[1], element, &a[1]));
        Ok(Array { elements: kept.cloned().collect(), ..array.clone() }.into())
    })
    .called_on_null(),
    pure_typed(
        "array_replace",
        &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, ANYCOMPATIBLE],
        ANYCOMPATIBLEARRAY,
        |_, types, a| {
            if a[0].is_null() {
                return Ok(Datum::Null);
            }
            let replace =
                |element: &Datum| if equal_typed(types[1], element, &a[1]) { a[2].clone() } else { element.clone() };
            Ok(mapped(a.array(0)?, &replace).into())
        },
    )
    .called_on_null(),
    pure("trim_array", &[ANYARRAY, INT4], ANYARRAY, |a| {
        let array = a.array(0)?;
        let (count, wanted) = (array.elements.len(), a.int4(1)?);
        let kept = usize::try_from(wanted).ok().and_then(|wanted| count.checked_sub(wanted)).ok_or_else(|| {
            let message = format!("number of elements to trim must be between 0 and {count}");
            Error::new(state::ARRAY_SUBSCRIPT_ERROR, message)
        })?;
        Ok(Array { elements: array.elements[..kept].to_vec(), ..array.clone() }.into())
    }),
    pure_typed("array_fill", &[ANYELEMENT, INT4_ARRAY], ANYARRAY, |_, types, a| {
        if a[1].is_null() {
            let message = "dimension array or low bound array cannot be null";
            return Err(Error::new(state::NULL_VALUE_NOT_ALLOWED, message));
        }
        fill(types[0], &a[0], &a.array(1)?.elements)
    })
    .called_on_null(),
    pure_typed("@>", &[ANYARRAY, ANYARRAY], BOOL, |_, types, a| Ok(contains(types, a.array(0)?, a.array(1)?).into())),
    pure_typed("<@", &[ANYARRAY, ANYARRAY], BOOL, |_, types, a| Ok(contains(types, a.array(1)?, a.array(0)?).into())),
    pure_typed("&&", &[ANYARRAY, ANYARRAY], BOOL, |_, types, a| {
        let (left, right) = (sorted(types, a.array(0)?), a.array(1)?);
        let mut overlap = false;
        for_each_element(right, &mut |element| overlap |= holds(types, &left, element));
        Ok(overlap.into())
    }),
    set("unnest", &[ANYARRAY], ANYELEMENT, |_, a| {
        let mut elements = Vec::new();
        for_each_element(a.array(0)?, &mut |element| elements.push(element.clone()));
        Ok(elements)
    }),
    set("generate_subscripts", &[ANYARRAY, INT4], INT4, |_, a| subscripts(a.array(0)?, a.int4(1)?, false)),
    set("generate_subscripts", &[ANYARRAY, INT4, BOOL], INT4, |_, a| {
        subscripts(a.array(0)?, a.int4(1)?, a.boolean(2)?)
    }),
];

/// Calls a function with each element, including elements of nested arrays.
pub(super) fn for_each_element(array: &Array, visit: &mut impl FnMut(&Datum)) {
    for element in &array.elements {
        match element {
            Datum::Array(inner) => for_each_element(inner, visit),
            _ => visit(element),
        }
    }
}

/// Calls a function that may fail with each element, as [`for_each_element`].
pub(super) fn try_each_element(array: &Array, visit: &mut impl FnMut(&Datum) -> Result<()>) -> Result<()> {
    array.elements.iter().try_for_each(|element| match element {
        Datum::Array(inner) => try_each_element(inner, visit),
        _ => visit(element),
    })
}

/// The array with each element replaced.
fn mapped(array: &Array, map: &impl Fn(&Datum) -> Datum) -> Array {
    let replaced = array.elements.iter().map(|element| match element {
        Datum::Array(inner) => mapped(inner, map).into(),
        _ => map(element),
    });
    Array { elements: replaced.collect(), ..array.clone() }
}

/// The length of each dimension; none of an empty array.
fn dimensions(array: &Array) -> Vec<usize> {
    let mut dimensions = Vec::new();
    let mut level = Some(array);
    while let Some(array) = level.filter(|array| !array.elements.is_empty()) {
        dimensions.push(array.elements.len());
        level = array.elements[0].as_array();
    }
    dimensions
}

/// Lower bound and length of a dimension, counted from 1.
fn bounds(array: &Array, dimension: i32) -> Option<(i32, i32)> {
    let at = usize::try_from(dimension).ok()?.checked_sub(1)?;
    let length = *dimensions(array).get(at)?;
    Some((if at == 0 { array.lower_bound } else { 1 }, i32::try_from(length).ok()?))
}

fn one_dimension<'a>(array: &'a Array, otherwise: &str) -> Result<&'a Array> {
    if dimensions(array).len() > 1 {
        return Err(Error::new(state::FEATURE_NOT_SUPPORTED, otherwise));
    }
    Ok(array)
}

/// The array at a place; NULL is an empty one.
fn array_or_empty(types: &[Type], a: &[Datum], at: usize) -> Result<Array> {
    match &a[at] {
        Datum::Null => Ok(Array::new(types[at].element().map_or(Scalar::Text, |element| element.scalar), vec![])),
        _ => a.array(at).cloned(),
    }
}

fn check_flat(array: &Array) -> Result<()> {
    if dimensions(array).len() > 1 {
        return Err(Error::new("22000", "argument must be empty or one-dimensional array"));
    }
    check_length(array.elements.len().saturating_mul(size_of::<Datum>()))
}

fn append(_: &dyn Env, types: &[Type], a: &[Datum]) -> Result<Datum> {
    let mut array = array_or_empty(types, a, 0)?;
    check_flat(&array)?;
    array.elements.push(a[1].clone());
    Ok(array.into())
}

fn prepend(_: &dyn Env, types: &[Type], a: &[Datum]) -> Result<Datum> {
    let mut array = array_or_empty(types, a, 1)?;
    check_flat(&array)?;
    array.elements.insert(0, a[0].clone());
    Ok(array.into())
}

fn concatenate(a: &[Datum]) -> Result<Datum> {
    if a[0].is_null() || a[1].is_null() {
        return Ok(if a[0].is_null() { a[1].clone() } else { a[0].clone() });
    }
    let (left, right) = (a.array(0)?, a.array(1)?);
    if left.elements.is_empty() || right.elements.is_empty() {
        return Ok(if left.elements.is_empty() { a[1].clone() } else { a[0].clone() });
    }
    check_length((left.elements.len() + right.elements.len()).saturating_mul(size_of::<Datum>()))?;
    let (outer, inner) = (dimensions(left), dimensions(right));
    let mut elements = left.elements.clone();
    if outer[1..] == inner[1..] {
        elements.extend(right.elements.iter().cloned());
    } else if outer[1..] == inner[..] {
        elements.push(a[1].clone());
    } else if outer[..] == inner[1..] {
        elements = std::iter::once(a[0].clone()).chain(right.elements.iter().cloned()).collect();
    } else {
        return Err(Error::new(state::ARRAY_SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays"));
    }
    Ok(Array { elements, ..left.clone() }.into())
}

fn position(_: &dyn Env, types: &[Type], a: &[Datum]) -> Result<Datum> {
    if a[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = one_dimension(a.array(0)?, "searching for elements in multidimensional arrays is not supported")?;
    let from = match a.get(2) {
        None => array.lower_bound,
        Some(Datum::Null) => {
            return Err(Error::new(state::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
        }
        Some(_) => a.int4(2)?,
    };
    let mut numbered = array.elements.iter().zip(array.lower_bound..);
    let found = numbered.find(|(element, at)| *at >= from && equal_typed(types[1], element, &a[1]));
    Ok(found.map(|(_, at)| at).into())
}

/// Cost of an element that is copied.
const CLONING: usize = 16;

fn fill(element: Type, value: &Datum, lengths: &[Datum]) -> Result<Datum> {
    let mut total: usize = 1;
    let mut filled = value.clone();
    for length in lengths.iter().rev() {
        let Some(length) = length.as_i64() else {
            return Err(Error::new(state::NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null"));
        };
        let length = usize::try_from(length).map_err(|_| {
            Error::new(state::PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed (134217727)")
        })?;
        total = total.saturating_mul(length);
        if total > 134_217_727 {
            let message = "array size exceeds the maximum allowed (134217727)";
            return Err(Error::new(state::PROGRAM_LIMIT_EXCEEDED, message));
        }
        check_piece(total.saturating_mul(size_of::<Datum>()))?;
        let inner = total / length.max(1);
        let mut elements = Vec::with_capacity(length);
        for _ in 0..length {
            work(CLONING.saturating_mul(inner))?;
            elements.push(filled.clone());
        }
        filled = Array::new(element.scalar, elements).into();
    }
    Ok(if lengths.is_empty() { Array::new(element.scalar, vec![]).into() } else { filled })
}

/// The elements, sorted for look-ups; NULL equals nothing.
fn sorted(types: &[Type], array: &Array) -> Vec<Datum> {
    let element = types[0].element().unwrap_or(types[0]);
    let mut elements = Vec::new();
    for_each_element(array, &mut |value| {
        if !value.is_null() {
            elements.push(value.clone());
        }
    });
    elements.sort_by(|left, right| compare_typed(element, left, right));
    elements
}

fn holds(types: &[Type], sorted: &[Datum], wanted: &Datum) -> bool {
    let element = types[0].element().unwrap_or(types[0]);
    !wanted.is_null() && sorted.binary_search_by(|value| compare_typed(element, value, wanted)).is_ok()
}

fn contains(types: &[Type], outer: &Array, inner: &Array) -> bool {
    let outer = sorted(types, outer);
    let mut all = true;
    for_each_element(inner, &mut |element| all &= holds(types, &outer, element));
    all
}

fn subscripts(array: &Array, dimension: i32, reverse: bool) -> Result<Vec<Datum>> {
    let Some((low, length)) = bounds(array, dimension) else { return Ok(vec![]) };
    let all = (0..length).map(|at| Datum::Int4(low.saturating_add(at)));
    Ok(if reverse { all.rev().collect() } else { all.collect() })
}

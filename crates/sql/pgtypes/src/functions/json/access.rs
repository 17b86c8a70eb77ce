//! Parts of JSON values.

use super::super::arguments::{Arguments, count, invalid};
use super::super::table::*;
use super::scan::{Value, as_text, element, follow, member, parse, unquote};

/// The same functions for json and jsonb.
macro_rules! both {
    ($($symbol:literal | $symbol_b:literal: [$($argument:expr),*] -> $result:expr, $result_b:expr; $body:expr),* $(,)?) => {
        &[
            $(pure($symbol, &[JSON $(, $argument)*], $result, $body),
            pure($symbol_b, &[JSONB $(, $argument)*], $result_b, $body),)*
            pure("json_extract_path", &[JSON], JSON, |a| part(a.text(0)?, &a[1..])).variadic(TEXT),
            pure("jsonb_extract_path", &[JSONB], JSONB, |a| part(a.text(0)?, &a[1..])).variadic(TEXT),
            pure("json_extract_path_text", &[JSON], TEXT, |a| part_text(a.text(0)?, &a[1..])).variadic(TEXT),
            pure("jsonb_extract_path_text", &[JSONB], TEXT, |a| part_text(a.text(0)?, &a[1..])).variadic(TEXT),
            set("json_array_elements", &[JSON], JSON, |_, a| elements(a, "json_array_elements", json_of)),
            set("jsonb_array_elements", &[JSONB], JSONB, |_, a| elements(a, "jsonb_array_elements", json_of)),
            set("json_array_elements_text", &[JSON], TEXT, |_, a| elements(a, "json_array_elements_text", as_text)),
            set("jsonb_array_elements_text", &[JSONB], TEXT, |_, a| elements(a, "jsonb_array_elements_text", as_text)),
            set("json_object_keys", &[JSON], TEXT, |_, a| names(a, "json_object_keys")),
            set("jsonb_object_keys", &[JSONB], TEXT, |_, a| names(a, "jsonb_object_keys")),
            set("json_each", &[JSON], RECORD, |_, a| each(a, "json_each", json_of)),
            set("jsonb_each", &[JSONB], RECORD, |_, a| each(a, "jsonb_each", json_of)),
            set("json_each_text", &[JSON], RECORD, |_, a| each(a, "json_each_text", as_text)),
            set("jsonb_each_text", &[JSONB], RECORD, |_, a| each(a, "jsonb_each_text", as_text)),
            pure("?", &[JSONB, TEXT], BOOL, |a| has(a.text(0)?, a.text(1)?).map(Into::into)),
            pure("jsonb_exists", &[JSONB, TEXT], BOOL, |a| has(a.text(0)?, a.text(1)?).map(Into::into)),
            pure("?|", &[JSONB, TEXT_ARRAY], BOOL, |a| {
                let mut found = false;
                for name in a.array(1)?.elements.iter().filter_map(Datum::as_text) {
                    found |= has(a.text(0)?, name)?;
                }
                Ok(found.into())
            }),
            pure("?&", &[JSONB, TEXT_ARRAY], BOOL, |a| {
                let mut found = true;
                for name in a.array(1)?.elements.iter().filter_map(Datum::as_text) {
                    found &= has(a.text(0)?, name)?;
                }
                Ok(found.into())
            }),
            pure("@>", &[JSONB, JSONB], BOOL, |a| contains(a.text(0)?, a.text(1)?, true).map(Into::into)),
            pure("<@", &[JSONB, JSONB], BOOL, |a| contains(a.text(1)?, a.text(0)?, true).map(Into::into)),
        ]
    };
}

/// The functions and operators.
pub(super) static FUNCTIONS: &[Function] = both!(
    "->" | "->": [TEXT] -> JSON, JSONB; |a| Ok(member(a.text(0)?, a.text(1)?)?.into()),
    "->" | "->": [INT4] -> JSON, JSONB; |a| Ok(element(a.text(0)?, a.int4(1)?.into()).into()),
    "->>" | "->>": [TEXT] -> TEXT, TEXT; |a| text_of(member(a.text(0)?, a.text(1)?)?),
    "->>" | "->>": [INT4] -> TEXT, TEXT; |a| text_of(element(a.text(0)?, a.int4(1)?.into())),
    "#>" | "#>": [TEXT_ARRAY] -> JSON, JSONB; |a| part(a.text(0)?, &a.array(1)?.elements),
    "#>>" | "#>>": [TEXT_ARRAY] -> TEXT, TEXT; |a| part_text(a.text(0)?, &a.array(1)?.elements),
    "json_typeof" | "jsonb_typeof": [] -> TEXT, TEXT; |a| Ok(parse(a.text(0)?).kind().into()),
    "json_array_length" | "jsonb_array_length": [] -> INT4, INT4; |a| match parse(a.text(0)?) {
        Value::Array(elements) => count(elements.len()),
        Value::Object(_) => Err(invalid("cannot get array length of a non-array")),
        _ => Err(invalid("cannot get array length of a scalar")),
    },
);

fn json_of(json: &str) -> Result<Datum> {
    Ok(json.into())
}

fn text_of(json: Option<&str>) -> Result<Datum> {
    json.map_or(Ok(Datum::Null), as_text)
}

fn part(json: &str, path: &[Datum]) -> Result<Datum> {
    Ok(follow(json, path)?.into())
}

fn part_text(json: &str, path: &[Datum]) -> Result<Datum> {
    text_of(follow(json, path)?)
}

fn elements(a: &[Datum], function: &str, form: fn(&str) -> Result<Datum>) -> Result<Vec<Datum>> {
    let is_binary = function.starts_with("jsonb");
    match parse(a.text(0)?) {
        Value::Array(elements) => elements.into_iter().map(form).collect(),
        Value::Object(_) if is_binary => Err(invalid("cannot extract elements from an object")),
        Value::Object(_) => Err(invalid(format!("cannot call {function} on a non-array"))),
        _ if is_binary => Err(invalid("cannot extract elements from a scalar")),
        _ => Err(invalid(format!("cannot call {function} on a scalar"))),
    }
}

fn object<'t>(a: &'t [Datum], function: &str) -> Result<Vec<(&'t str, &'t str)>> {
    match parse(a.text(0)?) {
        Value::Object(members) => Ok(members),
        Value::Array(_) if function.ends_with("keys") => Err(invalid(format!("cannot call {function} on an array"))),
        Value::Array(_) if !function.starts_with("jsonb") => Err(invalid("cannot deconstruct an array as an object")),
        _ if function.ends_with("keys") => Err(invalid(format!("cannot call {function} on a scalar"))),
        _ if !function.starts_with("jsonb") => Err(invalid("cannot deconstruct a scalar")),
        _ => Err(invalid(format!("cannot call {function} on a non-object"))),
    }
}

fn names(a: &[Datum], function: &str) -> Result<Vec<Datum>> {
    object(a, function)?.into_iter().map(|(name, _)| unquote(name).map(Into::into)).collect()
}

fn each(a: &[Datum], function: &str, form: fn(&str) -> Result<Datum>) -> Result<Vec<Datum>> {
    let row = |(name, value)| Ok(vec![unquote(name)?.into(), form(value)?].into());
    object(a, function)?.into_iter().map(row).collect()
}

/// Returns whether a text is a name of an object, a string of an array, or the string itself.
fn has(json: &str, wanted: &str) -> Result<bool> {
    let strings: Vec<&str> = match parse(json) {
        Value::Object(_) => return Ok(member(json, wanted)?.is_some()),
        Value::Array(elements) => elements.into_iter().filter(|element| element.starts_with('"')).collect(),
        Value::String(string) => vec![string],
        _ => vec![],
    };
    for string in strings {
        if unquote(string)? == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the outer value contains the inner: names with contained values, elements in any order. At the top an array
/// contains a scalar that is among its elements.
fn contains(outer: &str, inner: &str, is_top: bool) -> Result<bool> {
    crate::stack::ensure_stack(|| match (parse(outer), parse(inner)) {
        (Value::Object(_), Value::Object(members)) => {
            for (name, wanted) in members {
                match member(outer, &unquote(name)?)? {
                    Some(value) if contains(value, wanted, false)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::Array(elements), Value::Array(wanted)) => {
            for wanted in wanted {
                if !any_contains(&elements, wanted)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Array(elements), Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null) if is_top => {
            any_contains(&elements, inner)
        }
        (Value::Number(left), Value::Number(right)) => {
            Ok(Numeric::parse(left)?.compare(&Numeric::parse(right)?).is_eq())
        }
        (left, right) => Ok(left == right),
    })
}

fn any_contains(elements: &[&str], wanted: &str) -> Result<bool> {
    for element in elements {
        if contains(element, wanted, false)? {
            return Ok(true);
        }
    }
    Ok(false)
}

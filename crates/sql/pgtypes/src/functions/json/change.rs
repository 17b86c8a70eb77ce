//! Changes of JSON values: parts set, deleted, joined, stripped.

use super::super::arguments::{Arguments, invalid};
use super::super::table::*;
use super::build::push_string;
use super::normalized;
use super::scan::{Value, parse, unquote};

/// The functions and operators.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("jsonb_set", &[JSONB, TEXT_ARRAY, JSONB], JSONB, |a| set_path(a, true, Edit::Set)),
    pure("jsonb_set", &[JSONB, TEXT_ARRAY, JSONB, BOOL], JSONB, |a| set_path(a, a.boolean(3)?, Edit::Set)),
    pure("jsonb_insert", &[JSONB, TEXT_ARRAY, JSONB], JSONB, |a| set_path(a, true, Edit::InsertBefore)),
    pure("jsonb_insert", &[JSONB, TEXT_ARRAY, JSONB, BOOL], JSONB, |a| {
        set_path(a, true, if a.boolean(3)? { Edit::InsertAfter } else { Edit::InsertBefore })
    }),
    pure("||", &[JSONB, JSONB], JSONB, |a| concatenate(a.text(0)?, a.text(1)?)),
    pure("-", &[JSONB, TEXT], JSONB, |a| delete_names(a.text(0)?, &a[1..])),
    pure("-", &[JSONB, TEXT_ARRAY], JSONB, |a| delete_names(a.text(0)?, &a.array(1)?.elements)),
    pure("-", &[JSONB, INT4], JSONB, |a| delete_element(a.text(0)?, a.int4(1)?)),
    pure("#-", &[JSONB, TEXT_ARRAY], JSONB, |a| {
        normalized(&edited(a.text(0)?, &a.array(1)?.elements, None, false, Edit::Set)?)
    }),
    pure("jsonb_delete_path", &[JSONB, TEXT_ARRAY], JSONB, |a| {
        normalized(&edited(a.text(0)?, &a.array(1)?.elements, None, false, Edit::Set)?)
    }),
    pure("json_strip_nulls", &[JSON], JSON, |a| Ok(stripped(a.text(0)?).into())),
    pure("jsonb_strip_nulls", &[JSONB], JSONB, |a| normalized(&stripped(a.text(0)?))),
    pure("jsonb_pretty", &[JSONB], TEXT, |a| {
        let mut out = String::new();
        push_pretty(&mut out, a.text(0)?, 0);
        Ok(out.into())
    }),
];

/// Change at the end of a path.
#[derive(Clone, Copy, PartialEq)]
enum Edit {
    Set,
    InsertBefore,
    InsertAfter,
}

fn set_path(a: &[Datum], create: bool, edit: Edit) -> Result<Datum> {
    let path = &a.array(1)?.elements;
    if matches!(parse(a.text(0)?), Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null) {
        return Err(invalid("cannot set path in scalar"));
    }
    normalized(&edited(a.text(0)?, path, Some(a.text(2)?), create, edit)?)
}

fn object_of<'t>(members: impl IntoIterator<Item = (&'t str, String)>) -> String {
    let members: Vec<String> = members.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{{{}}}", members.join(", "))
}

fn array_of(elements: &[String]) -> String {
    format!("[{}]", elements.join(", "))
}

/// The value after an edit: the element at `path` is set to `new`; deleted if `new` is `None`.
fn edited(json: &str, path: &[Datum], new: Option<&str>, create: bool, edit: Edit) -> Result<String> {
    let Some((step, rest)) = path.split_first() else { return Ok(json.to_owned()) };
    let Some(step) = step.as_text() else { return Err(Error::new("22004", "path element at position 1 is null")) };
    crate::stack::ensure_stack(|| match parse(json) {
        Value::Object(members) => edited_object(&members, step, rest, new, create, edit),
        Value::Array(elements) => edited_array(&elements, step, rest, new, create, edit),
        _ => Ok(json.to_owned()),
    })
}

fn edited_object(
    members: &[(&str, &str)],
    step: &str,
    rest: &[Datum],
    new: Option<&str>,
    create: bool,
    edit: Edit,
) -> Result<String> {
    let mut out = Vec::with_capacity(members.len() + 1);
    let mut found = false;
    for (name, value) in members {
        if unquote(name)? != step {
            out.push((*name, (*value).to_owned()));
            continue;
        }
        found = true;
        match new {
            _ if !rest.is_empty() => out.push((name, edited(value, rest, new, create, edit)?)),
            None => {}
            Some(_) if edit != Edit::Set => {
                return Err(invalid("cannot replace existing key")
                    .hint("Try using the function jsonb_set to replace key value."));
            }
            Some(new) => out.push((name, new.to_owned())),
        }
    }
    let mut quoted = String::new();
    if let (false, true, true, Some(new)) = (found, create, rest.is_empty(), new) {
        push_string(&mut quoted, step)?;
        out.push((&quoted, new.to_owned()));
    }
    Ok(object_of(out))
}

fn edited_array(
    elements: &[&str],
    step: &str,
    rest: &[Datum],
    new: Option<&str>,
    create: bool,
    edit: Edit,
) -> Result<String> {
    let count = elements.len() as i64;
    let place: i64 = step.trim().parse().map_err(|_| {
        let message = format!("path element at position 1 is not an integer: \"{step}\"");
        Error::new(state::INVALID_TEXT_REPRESENTATION, message)
    })?;
    let from_start = if place < 0 { place.saturating_add(count) } else { place };
    let mut out: Vec<String> = elements.iter().map(|element| (*element).to_owned()).collect();
    match usize::try_from(from_start).ok().filter(|at| *at < elements.len()) {
        Some(at) if !rest.is_empty() => out[at] = edited(elements[at], rest, new, create, edit)?,
        Some(at) => match (new, edit) {
            (None, _) => drop(out.remove(at)),
            (Some(new), Edit::Set) => out[at] = new.to_owned(),
            (Some(new), Edit::InsertBefore) => out.insert(at, new.to_owned()),
            (Some(new), Edit::InsertAfter) => out.insert(at + 1, new.to_owned()),
        },
        None => {
            if let (true, true, Some(new)) = (create, rest.is_empty(), new) {
                let at = if from_start < 0 { 0 } else { out.len() };
                out.insert(at, new.to_owned());
            }
        }
    }
    Ok(array_of(&out))
}

/// Concatenation (`||`): of two objects, their members; of anything else, their elements, where a scalar or an object counts as
/// an array of one element.
fn concatenate(left: &str, right: &str) -> Result<Datum> {
    let elements = |value: &Value<'_>, json: &str| match value {
        Value::Array(elements) => elements.iter().map(|element| (*element).to_owned()).collect(),
        _ => vec![json.to_owned()],
    };
    match (parse(left), parse(right)) {
        (Value::Object(first), Value::Object(second)) => {
            normalized(&object_of(first.into_iter().chain(second).map(|(name, value)| (name, value.to_owned()))))
        }
        (first, second) => normalized(&array_of(&[elements(&first, left), elements(&second, right)].concat())),
    }
}

fn delete_names(json: &str, names: &[Datum]) -> Result<Datum> {
    let is_named = |quoted: &str| -> Result<bool> {
        let text = unquote(quoted)?;
        Ok(names.iter().any(|name| name.as_text() == Some(&text)))
    };
    match parse(json) {
        Value::Object(members) => {
            let mut kept = Vec::with_capacity(members.len());
            for (name, value) in members {
                if !is_named(name)? {
                    kept.push((name, value.to_owned()));
                }
            }
            normalized(&object_of(kept))
        }
        Value::Array(elements) => {
            let mut kept = Vec::with_capacity(elements.len());
            for element in elements {
                if !(element.starts_with('"') && is_named(element)?) {
                    kept.push(element.to_owned());
                }
            }
            normalized(&array_of(&kept))
        }
        _ => Err(invalid("cannot delete from scalar")),
    }
}

fn delete_element(json: &str, place: i32) -> Result<Datum> {
    match parse(json) {
        Value::Array(elements) => {
            let place = i64::from(place);
            let at = if place < 0 { place + elements.len() as i64 } else { place };
            let kept = elements.iter().zip(0..).filter(|(_, index)| *index != at);
            normalized(&array_of(&kept.map(|(element, _)| (*element).to_owned()).collect::<Vec<_>>()))
        }
        Value::Object(_) => Err(invalid("cannot delete from object using integer index")),
        _ => Err(invalid("cannot delete from scalar")),
    }
}

/// Without the members that are null.
fn stripped(json: &str) -> String {
    crate::stack::ensure_stack(|| match parse(json) {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| parse(value) != Value::Null);
            let members: Vec<String> = kept.map(|(name, value)| format!("{name}:{}", stripped(value))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(elements) => {
            format!("[{}]", elements.into_iter().map(stripped).collect::<Vec<_>>().join(","))
        }
        _ => json.to_owned(),
    })
}

/// Appends the value as `jsonb_pretty` prints it: a line for each member and element, indented by four spaces per level.
fn push_pretty(out: &mut String, json: &str, level: usize) {
    let new_line = |out: &mut String, level: usize| {
        out.push('\n');
        out.push_str(&" ".repeat(4 * level));
    };
    crate::stack::ensure_stack(|| match parse(json) {
        Value::Object(members) => {
            out.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(out, level + 1);
                out.push_str(name);
                out.push_str(": ");
                push_pretty(out, value, level + 1);
            }
            new_line(out, level);
            out.push('}');
        }
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                new_line(out, level + 1);
                push_pretty(out, element, level + 1);
            }
            new_line(out, level);
            out.push(']');
        }
        _ => out.push_str(json),
    });
}

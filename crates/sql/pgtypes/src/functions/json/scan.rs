//! Finds the parts of a JSON text. The text was checked when it became a json or a jsonb.

use super::super::table::*;

/// A JSON value, as slices of its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'t> {
    /// Names (as written, in quotes) and values.
    Object(Vec<(&'t str, &'t str)>),
    /// Values.
    Array(Vec<&'t str>),
    /// Raw text, in quotes.
    String(&'t str),
    /// Raw text.
    Number(&'t str),
    /// A boolean.
    Bool(bool),
    /// null
    Null,
}

/// Takes a value apart, one level deep.
pub(super) fn parse(json: &str) -> Value<'_> {
    let json = json.trim_matches(is_blank);
    match json.as_bytes().first() {
        Some(b'{') => Value::Object(members(json)),
        Some(b'[') => Value::Array(parts(json, b',')),
        Some(b'"') => Value::String(json),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') | None => Value::Null,
        Some(_) => Value::Number(json),
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The parts between the outer brackets, at separators outside of inner brackets and strings.
fn parts(json: &str, separator: u8) -> Vec<&str> {
    let inner = json.get(1..json.len().saturating_sub(1)).unwrap_or("");
    if inner.trim_matches(is_blank).is_empty() {
        return vec![];
    }
    split(inner, separator)
}

fn split(text: &str, separator: u8) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ if byte == separator && depth == 0 => {
                parts.push(text[from..at].trim_matches(is_blank));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim_matches(is_blank));
    parts
}

fn members(json: &str) -> Vec<(&str, &str)> {
    let members = parts(json, b',').into_iter();
    let pair = |member| match split(member, b':')[..] {
        [name, value] => (name, value),
        _ => (member, ""),
    };
    members.map(pair).collect()
}

/// A string without its quotes and escapes.
pub(super) fn unquote(string: &str) -> Result<String> {
    serde_json::from_str(string).map_err(|_| {
        Error::new("22P05", "unsupported Unicode escape sequence").detail("The string is no text of UTF-8.")
    })
}

impl Value<'_> {
    /// Returns the name that `json_typeof` gives.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Null => "null",
        }
    }
}

/// The value as text: a string's characters, NULL for null, everything else as written.
pub(super) fn as_text(json: &str) -> Result<Datum> {
    match parse(json) {
        Value::String(string) => unquote(string).map(Into::into),
        Value::Null => Ok(Datum::Null),
        _ => Ok(json.trim_matches(is_blank).into()),
    }
}

/// The value of a name; the last if there are several.
pub(super) fn member<'t>(json: &'t str, name: &str) -> Result<Option<&'t str>> {
    let Value::Object(members) = parse(json) else { return Ok(None) };
    for (quoted, value) in members.into_iter().rev() {
        if unquote(quoted)? == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The value at a place, from 0; from the end if negative.
pub(super) fn element(json: &str, at: i64) -> Option<&str> {
    let Value::Array(elements) = parse(json) else { return None };
    let at = if at < 0 { at.checked_add(i64::try_from(elements.len()).ok()?)? } else { at };
    elements.get(usize::try_from(at).ok()?).copied()
}

/// The value at the end of a path of names and places.
pub(super) fn follow<'t>(json: &'t str, path: &[Datum]) -> Result<Option<&'t str>> {
    let mut at = json;
    for step in path {
        let Some(step) = step.as_text() else { return Ok(None) };
        let next = match parse(at) {
            Value::Object(_) => member(at, step)?,
            Value::Array(_) => step.trim().parse().ok().and_then(|place| element(at, place)),
            _ => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

//! JSON built from values.

use super::super::arguments::{check_length, invalid};
use super::super::table::*;
use super::normalized;
use crate::interrupt::{text_pieces, work};
use crate::{DateStyle, Styles, text};

/// Cost of a value beside its characters, and of a character.
const VALUE: usize = 64;
const CHARACTER: usize = 4;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    typed("to_json", &[ANYELEMENT], JSON, |env, types, a| Ok(value_of(env, types[0], &a[0])?.into())),
    typed("to_jsonb", &[ANYELEMENT], JSONB, |env, types, a| normalized(&value_of(env, types[0], &a[0])?)),
    typed("row_to_json", &[RECORD], JSON, |env, types, a| Ok(value_of(env, types[0], &a[0])?.into())),
    typed("array_to_json", &[ANYARRAY], JSON, |env, types, a| Ok(value_of(env, types[0], &a[0])?.into())),
    typed("json_build_array", &[], JSON, |env, types, a| Ok(array(env, types, a)?.into()))
        .variadic(ANY)
        .called_on_null(),
    typed("jsonb_build_array", &[], JSONB, |env, types, a| normalized(&array(env, types, a)?))
        .variadic(ANY)
        .called_on_null(),
    typed("json_build_object", &[], JSON, |env, types, a| {
        Ok(object(env, types, a, "argument %1 cannot be null")?.into())
    })
    .variadic(ANY)
    .called_on_null(),
    typed("jsonb_build_object", &[], JSONB, |env, types, a| {
        normalized(&object(env, types, a, "argument %1: key must not be null")?)
    })
    .variadic(ANY)
    .called_on_null(),
];

fn value_of(env: &dyn Env, data_type: Type, value: &Datum) -> Result<String> {
    let mut out = String::new();
    push_value(&mut out, data_type, value, &env.styles())?;
    Ok(out)
}

fn array(env: &dyn Env, types: &[Type], values: &[Datum]) -> Result<String> {
    let mut out = String::from("[");
    for (at, (data_type, value)) in types.iter().zip(values).enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        push_value(&mut out, *data_type, value, &env.styles())?;
        check_length(out.len())?;
    }
    out.push(']');
    Ok(out)
}

/// Builds an object from names and values in turn. `on_null` is the message for a NULL name, with `%1` for its number.
fn object(env: &dyn Env, types: &[Type], values: &[Datum], on_null: &str) -> Result<String> {
    if !values.len().is_multiple_of(2) {
        let function = if on_null.contains("key") { "jsonb_build_object" } else { "json_build_object" };
        return Err(invalid("argument list must have even number of elements")
            .hint(format!("The arguments of {function}() must consist of alternating keys and values.")));
    }
    let styles = env.styles();
    let mut out = String::from("{");
    for at in (0..values.len()).step_by(2) {
        if values[at].is_null() {
            let error = invalid(on_null.replace("%1", &(at + 1).to_string()));
            let hint = "Object keys should be text.";
            return Err(if on_null.contains("key") { error } else { error.hint(hint) });
        }
        out.push_str(if at == 0 { "" } else { ", " });
        push_key(&mut out, types[at], &values[at], &styles)?;
        out.push_str(" : ");
        push_value(&mut out, types[at + 1], &values[at + 1], &styles)?;
        check_length(out.len())?;
    }
    out.push('}');
    Ok(out)
}

/// The type that a value shows by itself, where none was declared: of a record's fields.
pub(in super::super) fn natural_type(value: &Datum) -> Type {
    match value {
        Datum::Null => UNKNOWN,
        Datum::Bool(_) => BOOL,
        Datum::Int2(_) => INT2,
        Datum::Int4(_) => INT4,
        Datum::Int8(_) => INT8,
        Datum::Float4(_) => FLOAT4,
        Datum::Float8(_) => FLOAT8,
        Datum::Numeric(_) => NUMERIC,
        Datum::Text(_) => TEXT,
        Datum::Bytea(_) => BYTEA,
        Datum::Date(_) => DATE,
        Datum::Time(_) => TIME,
        Datum::Timestamp(_) => TIMESTAMP,
        Datum::Timestamptz(_) => TIMESTAMPTZ,
        Datum::Interval(_) => INTERVAL,
        Datum::Uuid(_) => UUID,
        Datum::Oid(_) => OID,
        Datum::Array(array) => Type::array_of(array.element),
        Datum::Record(record) => record.data_type(),
        Datum::Enum(label) => Type::of(Scalar::Enum(label.enumeration)),
    }
}

/// Appends the text of a value as an object's name.
pub(in super::super) fn push_key(out: &mut String, data_type: Type, value: &Datum, styles: &Styles) -> Result<()> {
    push_string(out, &text::to_string(value, data_type, styles))
}

/// Appends a value as JSON.
pub(in super::super) fn push_value(out: &mut String, data_type: Type, value: &Datum, styles: &Styles) -> Result<()> {
    work(VALUE)?;
    match value {
        Datum::Null => out.push_str("null"),
        Datum::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Datum::Array(array) => {
            let element = data_type.element().unwrap_or(Type::of(array.element));
            for (at, inner) in array.elements.iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                let inner_type = if matches!(inner, Datum::Array(_)) { data_type } else { element };
                crate::stack::ensure_stack(|| push_value(out, inner_type, inner, styles))?;
            }
            out.push_str(if array.elements.is_empty() { "[]" } else { "]" });
        }
        Datum::Record(record) => {
            for (at, (name, data_type, field)) in record.described().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                push_string(out, &name)?;
                out.push(':');
                crate::stack::ensure_stack(|| push_value(out, data_type, field, styles))?;
            }
            out.push_str(if record.fields.is_empty() { "{}" } else { "}" });
        }
        _ => push_scalar(out, data_type, value, styles)?,
    }
    Ok(())
}

fn push_scalar(out: &mut String, data_type: Type, value: &Datum, styles: &Styles) -> Result<()> {
    // ISO 8601, whatever DateStyle says.
    let text = match value {
        Datum::Date(_) | Datum::Timestamp(_) | Datum::Timestamptz(_) => {
            text::to_string(value, data_type, &Styles { dates: DateStyle::Iso, ..styles.clone() })
        }
        _ => text::to_string(value, data_type, styles),
    };
    match data_type.scalar {
        Scalar::Json | Scalar::Jsonb => out.push_str(&text),
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 => out.push_str(&text),
        Scalar::Float4 | Scalar::Float8 | Scalar::Numeric if text.ends_with(|c: char| c.is_ascii_digit()) => {
            out.push_str(&text);
        }
        Scalar::Timestamp => push_string(out, &text.replacen(' ', "T", 1))?,
        Scalar::Timestamptz => push_string(out, &with_minutes(&text.replacen(' ', "T", 1)))?,
        _ => push_string(out, &text)?,
    }
    Ok(())
}

/// A time with the minutes of its offset, which SQL leaves out when they are zero.
fn with_minutes(time: &str) -> String {
    let Some(sign) = time.rfind(['+', '-']).filter(|at| time[..*at].contains('T')) else { return time.to_owned() };
    let end = time[sign + 1..].find(' ').map_or(time.len(), |at| sign + 1 + at);
    if end - sign == 3 { format!("{}:00{}", &time[..end], &time[end..]) } else { time.to_owned() }
}

/// Appends a text in quotes, with JSON's escapes.
pub(super) fn push_string(out: &mut String, text: &str) -> Result<()> {
    out.push('"');
    for piece in text_pieces(text, CHARACTER) {
        piece?.chars().for_each(|c| push_escaped(out, c));
    }
    out.push('"');
    Ok(())
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => out.push(c),
    }
}

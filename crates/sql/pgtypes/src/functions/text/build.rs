//! Texts from values, and values from texts: `||`, `concat`, `string_to_array`, `array_to_string`.

use super::super::arguments::{Arguments, check_length};
use super::super::table::*;
use super::quote::output;
use crate::interrupt::work;
use crate::{Modifier, cast};

/// The functions and operators.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("||", &[TEXT, TEXT], TEXT, |a| joined(a.text(0)?, a.text(1)?)),
    typed("||", &[ANYNONARRAY, TEXT], TEXT, |env, types, a| joined(&as_text(env, types[0], &a[0])?, a.text(1)?)),
    typed("||", &[TEXT, ANYNONARRAY], TEXT, |env, types, a| joined(a.text(0)?, &as_text(env, types[1], &a[1])?)),
    typed("concat", &[], TEXT, |env, types, a| concat(env, "", types, a)).variadic(ANY).called_on_null(),
    typed("concat_ws", &[TEXT], TEXT, |env, types, a| match a.optional_text(0)? {
        None => Ok(Datum::Null),
        Some(separator) => concat(env, separator, &types[1..], &a[1..]),
    })
    .variadic(ANY)
    .called_on_null(),
    pure("string_to_array", &[TEXT, TEXT], TEXT_ARRAY, string_to_array).called_on_null(),
    pure("string_to_array", &[TEXT, TEXT, TEXT], TEXT_ARRAY, string_to_array).called_on_null(),
    set("string_to_table", &[TEXT, TEXT], TEXT, |_, a| Ok(fields(a)?.unwrap_or_default())).called_on_null(),
    set("string_to_table", &[TEXT, TEXT, TEXT], TEXT, |_, a| Ok(fields(a)?.unwrap_or_default())).called_on_null(),
    typed("array_to_string", &[ANYARRAY, TEXT], TEXT, array_to_string),
    typed("array_to_string", &[ANYARRAY, TEXT, TEXT], TEXT, array_to_string).called_on_null(),
];

fn joined(left: &str, right: &str) -> Result<Datum> {
    check_length(left.len().saturating_add(right.len()))?;
    Ok([left, right].concat().into())
}

/// A value as its cast to text gives it.
fn as_text(env: &dyn Env, data_type: Type, value: &Datum) -> Result<String> {
    if data_type == BOOL {
        let text = cast::cast(value, data_type, TEXT, Modifier::NONE, true, &env.styles())?;
        return Ok(text.as_text().unwrap_or_default().to_owned());
    }
    Ok(output(env, data_type, value))
}

/// The values' texts with a separator between; NULLs are passed over.
fn concat(env: &dyn Env, separator: &str, types: &[Type], values: &[Datum]) -> Result<Datum> {
    let mut out = String::new();
    let mut first = true;
    for (data_type, value) in types.iter().zip(values).filter(|(_, value)| !value.is_null()) {
        if !std::mem::take(&mut first) {
            out.push_str(separator);
        }
        crate::text::format(value, *data_type, &env.styles(), &mut out);
        check_length(out.len())?;
    }
    Ok(out.into())
}

/// Cost of a field beside its bytes.
const FIELD: usize = 32;

fn string_to_array(a: &[Datum]) -> Result<Datum> {
    Ok(fields(a)?.map(|fields| Array::new(Scalar::Text, fields)).into())
}

/// The fields of a text; without a delimiter its characters. A field that equals the third argument is NULL.
fn fields(a: &[Datum]) -> Result<Option<Vec<Datum>>> {
    let Some(text) = a.optional_text(0)? else { return Ok(None) };
    if text.is_empty() {
        return Ok(Some(vec![]));
    }
    let delimiter = a.optional_text(1)?;
    let count = match delimiter {
        None => text.len(),
        Some("") => 1,
        Some(delimiter) => text.matches(delimiter).count() + 1,
    };
    check_length(count.saturating_mul(size_of::<Datum>()))?;
    let null = a.optional_text(2)?;
    let field = |field: &str| {
        work(FIELD + field.len())?;
        Ok(if null == Some(field) { Datum::Null } else { field.into() })
    };
    Ok(Some(match delimiter {
        None => text.chars().map(|c| field(c.encode_utf8(&mut [0; 4]))).collect::<Result<_>>()?,
        Some("") => vec![field(text)?],
        Some(delimiter) => text.split(delimiter).map(field).collect::<Result<_>>()?,
    }))
}

fn array_to_string(env: &dyn Env, types: &[Type], a: &[Datum]) -> Result<Datum> {
    if a[0].is_null() || a[1].is_null() {
        return Ok(Datum::Null);
    }
    let null = a.optional_text(2)?;
    let element = types[0].element().unwrap_or(TEXT);
    let mut texts = Vec::new();
    let mut push = |value: &Datum| {
        match (value, null) {
            (Datum::Null, None) => {}
            (Datum::Null, Some(null)) => texts.push(null.to_owned()),
            _ => texts.push(output(env, element, value)),
        }
        work(FIELD + texts.last().map_or(0, String::len))
    };
    super::super::array::try_each_element(a.array(0)?, &mut push)?;
    let separator = a.text(1)?;
    let length = texts.iter().map(|text| text.len() + separator.len()).fold(0, usize::saturating_add);
    check_length(length)?;
    Ok(texts.join(separator).into())
}

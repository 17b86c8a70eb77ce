//! Constants.

use crate::types::{Datum, Modifier, Scalar, Styles, Type, text};

/// A constant with its type where it does not follow from how it looks.
pub(super) fn constant(value: &Datum, data_type: Type, pretty: bool) -> String {
    let type_name = data_type.format(Modifier::NONE);
    if value.is_null() {
        return format!("NULL::{type_name}");
    }
    if let Some(plain) = plain(value, data_type) {
        return plain;
    }
    let printed = text::to_string(value, data_type, &Styles::default());
    let magnitude = printed.strip_prefix('-').unwrap_or(&printed);
    let (looks, is_negative) = (Looks::of(magnitude), magnitude.len() < printed.len());
    let is_integer = looks == Looks::Integer && printed.parse::<i32>().is_ok();
    match data_type.scalar {
        // Numbers of other types come from literals of these two by an implicit cast.
        Scalar::Int2 | Scalar::Int8 | Scalar::Numeric | Scalar::Float4 | Scalar::Float8
            if !data_type.is_array
                && (is_integer
                    || looks == Looks::Decimal && matches!(data_type.scalar, Scalar::Float4 | Scalar::Float8)) =>
        {
            let literal = match is_negative {
                true => quoted(&printed, if is_integer { "integer" } else { "numeric" }),
                false => printed,
            };
            if pretty { format!("{literal}::{type_name}") } else { format!("({literal})::{type_name}") }
        }
        _ => quoted(&printed, &type_name),
    }
}

/// A constant that is written as a string of its type: in quotes, unless a number without them has the same type.
pub(super) fn of_string(value: &Datum, data_type: Type) -> String {
    let printed = || quoted(&text::to_string(value, data_type, &Styles::default()), &data_type.format(Modifier::NONE));
    plain(value, data_type).unwrap_or_else(printed)
}

/// A constant whose text alone has its type.
fn plain(value: &Datum, data_type: Type) -> Option<String> {
    let printed = text::to_string(value, data_type, &Styles::default());
    match data_type.scalar {
        _ if data_type.is_array => None,
        Scalar::Bool => Some(if printed == "t" { "true" } else { "false" }.to_owned()),
        Scalar::Int4 if Looks::of(&printed) == Looks::Integer => Some(printed),
        Scalar::Numeric if Looks::of(&printed) == Looks::Decimal => Some(printed),
        Scalar::Unknown => Some(literal(&printed)),
        _ => None,
    }
}

/// A string in quotes. A backslash is a character like any other: whoever reads it has `standard_conforming_strings`.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn quoted(printed: &str, type_name: &str) -> String {
    format!("{}::{type_name}", literal(printed))
}

/// What a number's text would be read as.
#[derive(PartialEq)]
enum Looks {
    Integer,
    Decimal,
    Neither,
}

impl Looks {
    fn of(text: &str) -> Looks {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match text.split_once('.') {
            None if digits(text) => Looks::Integer,
            Some((whole, fraction)) if digits(whole) && digits(fraction) => Looks::Decimal,
            _ => Looks::Neither,
        }
    }
}

//! Constants.

use crate::functions::quote_literal;
use crate::types::{Datum, Modifier, Scalar, Styles, Type, text};

/// A constant with its type where it does not follow from how it looks.
pub(super) fn constant(value: &Datum, data_type: Type, pretty: bool) -> String {
    let type_name = data_type.format(Modifier::NONE);
    if value.is_null() {
        return format!("NULL::{type_name}");
    }
    let printed = text::to_string(value, data_type, &Styles::default());
    let looks = Looks::of(&printed);
    match data_type.scalar {
        _ if data_type.is_array => quoted(&printed, &type_name),
        Scalar::Bool => if printed == "t" { "true" } else { "false" }.to_owned(),
        Scalar::Int4 if looks == Looks::Integer => printed,
        Scalar::Numeric if looks == Looks::Decimal => printed,
        // Numbers of other types come from literals of these two by an implicit cast.
        Scalar::Int2 | Scalar::Int8 | Scalar::Numeric | Scalar::Float4 | Scalar::Float8
            if looks == Looks::Integer && printed.parse::<i32>().is_ok()
                || looks == Looks::Decimal && matches!(data_type.scalar, Scalar::Float4 | Scalar::Float8) =>
        {
            if pretty {
                format!("{printed}::{type_name}")
            } else {
                format!("({printed})::{type_name}")
            }
        }
        Scalar::Unknown => quote_literal(&printed),
        _ => quoted(&printed, &type_name),
    }
}

fn quoted(printed: &str, type_name: &str) -> String {
    format!("{}::{type_name}", quote_literal(printed))
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

//! Sizes. The engine keeps all tables in one log and one memory and counts no bytes by table: each says 0.

use super::{argument_oid, argument_text};
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::names;
use crate::types::{Datum, Numeric};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};

pub(super) fn relation(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let found = names::name_of_relation(names, argument_oid(arguments, 0))?;
    Ok(found.map_or(Datum::Null, |_| Datum::Int8(0)))
}

pub(super) fn database(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    let known = names.databases()?.iter().any(|database| database.oid == oid);
    Ok(if known { Datum::Int8(0) } else { Datum::Null })
}

pub(super) fn database_named(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let name = argument_text(arguments, 0);
    let found = names.database_named(name)?;
    found.map(|_| Datum::Int8(0)).ok_or_else(|| crate::database::missing(name))
}

pub(super) fn tablespace(_: &[Datum]) -> Result<Datum> {
    Ok(Datum::Int8(0))
}

/// The units of [`pretty`], each 1,024 times the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
/// From here on the next unit is used.
const LIMIT: u128 = 10 * 1024;

pub(super) fn pretty(arguments: &[Datum]) -> Result<Datum> {
    let size = arguments.first().and_then(Datum::as_i64).unwrap_or_default();
    Ok(in_units(i128::from(size)))
}

/// Halves are rounded away from zero in the unit that is printed, as PostgreSQL does.
fn in_units(size: i128) -> Datum {
    let sign = if size < 0 { "-" } else { "" };
    let bytes = size.unsigned_abs();
    if bytes < LIMIT {
        return Datum::Text(format!("{sign}{bytes} bytes").into());
    }
    let mut halves = bytes >> 9;
    let mut units = UNITS.iter().skip(1).peekable();
    while let Some(unit) = units.next() {
        let rounded = halves.div_ceil(2);
        if rounded < LIMIT || units.peek().is_none() {
            return Datum::Text(format!("{sign}{rounded} {unit}").into());
        }
        halves >>= 10;
    }
    Datum::Null
}

/// The bytes that a text such as `1.5 MB` says.
pub(super) fn bytes(arguments: &[Datum]) -> Result<Datum> {
    let text = argument_text(arguments, 0);
    let invalid = || SqlError::new(state::INVALID_PARAMETER_VALUE, format!("invalid size: \"{text}\""));
    let trimmed = text.trim();
    let (number, unit) = trimmed.split_at(number_end(trimmed));
    let number: BigDecimal = number.trim_end_matches('.').parse().map_err(|_| invalid())?;
    let unit = unit.trim();
    let power = match UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)) {
        Some(power) => power,
        None if unit.is_empty() => 0,
        None => {
            return Err(invalid()
                .detail(format!("Invalid size unit: \"{unit}\"."))
                .hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
        }
    };
    let bytes = (0..power).fold(number, |bytes, _| bytes * BigDecimal::from(1024));
    let whole = bytes.with_scale_round(0, RoundingMode::HalfUp).to_i64();
    let too_many = || SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    whole.map(Datum::Int8).ok_or_else(too_many)
}

/// Where the number ends that a text begins with: a sign, digits with a point, an exponent.
fn number_end(text: &str) -> usize {
    let skip = |from: usize, what: fn(&u8) -> bool| {
        from + text.as_bytes()[from..].iter().take_while(|byte| what(byte)).count()
    };
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = skip(sign, u8::is_ascii_digit);
    if text[end..].starts_with('.') {
        end = skip(end + 1, u8::is_ascii_digit);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = skip(end + 1 + sign, u8::is_ascii_digit);
        // Of a number with an absurd exponent nothing is computed.
        if exponent > end + 1 + sign && exponent - end < 6 {
            end = exponent;
        }
    }
    end
}

pub(super) fn pretty_numeric(arguments: &[Datum]) -> Result<Datum> {
    let Some(Datum::Numeric(Numeric::Finite(size))) = arguments.first() else { return Ok(Datum::Null) };
    let ten_kilobytes = BigDecimal::from(10 * 1024);
    if size.abs() < ten_kilobytes {
        return Ok(Datum::Text(format!("{} bytes", size.to_plain_string()).into()));
    }
    let whole = size.with_scale_round(0, RoundingMode::Down);
    Ok(whole.to_i128().map_or(Datum::Null, in_units))
}

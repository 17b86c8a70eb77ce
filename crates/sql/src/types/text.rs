//! Values as text: PostgreSQL's input and output functions.

use super::{Datum, Modifier, Type};
use crate::error::Result;
use jiff::tz::TimeZone;

/// What the text forms of values depend on. DateStyle is `ISO, MDY`, IntervalStyle `postgres`, bytea_output `hex`.
#[derive(Clone, Debug)]
pub struct Styles {
    /// The session's time zone.
    pub zone: TimeZone,
    /// The transaction's start in microseconds since 1970-01-01 UTC: 'now' and 'today'.
    pub now_micros: i64,
}

impl Default for Styles {
    fn default() -> Styles {
        Styles { zone: TimeZone::UTC, now_micros: 0 }
    }
}

/// Reads a value from text and applies the modifier as an assignment does.
///
/// # Errors
/// 22P02, 22003, 22007, 22008 as the type's input function raises them.
#[allow(unused_variables)]
pub fn parse(text: &str, data_type: Type, modifier: Modifier, styles: &Styles) -> Result<Datum> {
    todo!()
}

/// Appends a value's text; nothing for NULL.
#[allow(unused_variables)]
pub fn format(value: &Datum, data_type: Type, styles: &Styles, out: &mut String) {
    todo!()
}

/// A value's text.
pub fn to_string(value: &Datum, data_type: Type, styles: &Styles) -> String {
    let mut out = String::new();
    format(value, data_type, styles, &mut out);
    out
}

/// Makes a value fit its column's modifier: lengths, precisions, scales. An explicit cast cuts what is too long.
///
/// # Errors
/// 22001 for a text that is too long, 22003 for a numeric that does not fit.
#[allow(unused_variables)]
pub fn apply_modifier(value: Datum, data_type: Type, modifier: Modifier, explicit: bool) -> Result<Datum> {
    todo!()
}

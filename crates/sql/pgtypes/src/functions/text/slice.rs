//! Parts of texts and bytes, by position.

use super::super::arguments::{Arguments, check_length, count, invalid};
use super::super::table::*;
use crate::interrupt::repeated;
use std::ops::Range;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("substring", &[TEXT, INT4], TEXT, |a| text_slice(a.text(0)?, a.int4(1)?, None)),
    pure("substring", &[TEXT, INT4, INT4], TEXT, |a| text_slice(a.text(0)?, a.int4(1)?, Some(a.int4(2)?))),
    pure("substr", &[TEXT, INT4], TEXT, |a| text_slice(a.text(0)?, a.int4(1)?, None)),
    pure("substr", &[TEXT, INT4, INT4], TEXT, |a| text_slice(a.text(0)?, a.int4(1)?, Some(a.int4(2)?))),
    pure("substring", &[BYTEA, INT4], BYTEA, |a| byte_slice(a.bytes(0)?, a.int4(1)?, None)),
    pure("substring", &[BYTEA, INT4, INT4], BYTEA, |a| byte_slice(a.bytes(0)?, a.int4(1)?, Some(a.int4(2)?))),
    pure("substr", &[BYTEA, INT4], BYTEA, |a| byte_slice(a.bytes(0)?, a.int4(1)?, None)),
    pure("substr", &[BYTEA, INT4, INT4], BYTEA, |a| byte_slice(a.bytes(0)?, a.int4(1)?, Some(a.int4(2)?))),
    pure("overlay", &[TEXT, TEXT, INT4], TEXT, |a| {
        let length = i32::try_from(a.text(1)?.chars().count()).unwrap_or(i32::MAX);
        overlay(a.text(0)?, a.text(1)?, a.int4(2)?, length)
    }),
    pure("overlay", &[TEXT, TEXT, INT4, INT4], TEXT, |a| overlay(a.text(0)?, a.text(1)?, a.int4(2)?, a.int4(3)?)),
    pure("position", &[TEXT, TEXT], INT4, |a| position(a.text(0)?, a.text(1)?)),
    pure("strpos", &[TEXT, TEXT], INT4, |a| position(a.text(0)?, a.text(1)?)),
    pure("position", &[BYTEA, BYTEA], INT4, |a| {
        let (bytes, wanted) = (a.bytes(0)?, a.bytes(1)?);
        if wanted.is_empty() {
            return Ok(Datum::Int4(1));
        }
        count(memchr::memmem::find(bytes, wanted).map_or(0, |at| at + 1))
    }),
    pure("left", &[TEXT, INT4], TEXT, |a| {
        let text = a.text(0)?;
        Ok(text[..offset(text, from_end(text, a.int4(1)?))].into())
    }),
    pure("right", &[TEXT, INT4], TEXT, |a| {
        let (text, wanted) = (a.text(0)?, a.int4(1)?);
        let length = text.chars().count();
        let skipped = if wanted < 0 { wanted.unsigned_abs() as usize } else { length.saturating_sub(wanted as usize) };
        Ok(text[offset(text, skipped)..].into())
    }),
    pure("lpad", &[TEXT, INT4], TEXT, |a| pad(a.text(0)?, a.int4(1)?, " ", true)),
    pure("lpad", &[TEXT, INT4, TEXT], TEXT, |a| pad(a.text(0)?, a.int4(1)?, a.text(2)?, true)),
    pure("rpad", &[TEXT, INT4], TEXT, |a| pad(a.text(0)?, a.int4(1)?, " ", false)),
    pure("rpad", &[TEXT, INT4, TEXT], TEXT, |a| pad(a.text(0)?, a.int4(1)?, a.text(2)?, false)),
    pure("split_part", &[TEXT, TEXT, INT4], TEXT, |a| split_part(a.text(0)?, a.text(1)?, a.int4(2)?)),
];

/// The places, counted from 0, that `substring(... from start for length)` means.
fn range(start: i32, length: Option<i32>) -> Result<Range<usize>> {
    let from = i64::from(start) - 1;
    let to = match length {
        None => i64::MAX,
        Some(length) if length < 0 => {
            return Err(Error::new(state::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(length) => from + i64::from(length),
    };
    let place = |at: i64| usize::try_from(at.max(0)).unwrap_or(usize::MAX);
    Ok(place(from)..place(to))
}

/// Byte offset of the character at a position; the end if there is no such character.
pub(super) fn offset(text: &str, at: usize) -> usize {
    text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
}

/// Number of characters that `left(text, wanted)` keeps.
fn from_end(text: &str, wanted: i32) -> usize {
    match usize::try_from(wanted) {
        Ok(wanted) => wanted,
        Err(_) => text.chars().count().saturating_sub(wanted.unsigned_abs() as usize),
    }
}

fn text_slice(text: &str, start: i32, length: Option<i32>) -> Result<Datum> {
    let places = range(start, length)?;
    let rest = &text[offset(text, places.start)..];
    Ok(rest[..offset(rest, places.end.saturating_sub(places.start))].into())
}

fn byte_slice(bytes: &[u8], start: i32, length: Option<i32>) -> Result<Datum> {
    let places = range(start, length)?;
    let from = places.start.min(bytes.len());
    Ok(bytes[from..places.end.clamp(from, bytes.len())].into())
}

fn overlay(text: &str, with: &str, start: i32, length: i32) -> Result<Datum> {
    if start <= 0 {
        return Err(Error::new(state::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let overflow = || super::super::arguments::out_of_range("integer");
    let end = start.checked_add(length).ok_or_else(overflow)?;
    let before = &text[..offset(text, start as usize - 1)];
    let after = &text[offset(text, usize::try_from(end - 1).unwrap_or(0))..];
    Ok(format!("{before}{with}{after}").into())
}

fn position(text: &str, wanted: &str) -> Result<Datum> {
    count(text.find(wanted).map_or(0, |byte| text[..byte].chars().count() + 1))
}

fn pad(text: &str, length: i32, fill: &str, left: bool) -> Result<Datum> {
    let wanted = usize::try_from(length).unwrap_or(0);
    check_length(wanted.saturating_mul(4))?;
    let missing = wanted.saturating_sub(text.chars().count());
    if missing == 0 || fill.is_empty() {
        return Ok(text[..offset(text, wanted)].into());
    }
    let (whole, rest) = (missing / fill.chars().count(), missing % fill.chars().count());
    let fill = repeated(fill, whole)? + &fill[..offset(fill, rest)];
    Ok(if left { format!("{fill}{text}") } else { format!("{text}{fill}") }.into())
}

fn split_part(text: &str, delimiter: &str, field: i32) -> Result<Datum> {
    if field == 0 {
        return Err(invalid("field position must not be zero"));
    }
    let fields: Vec<&str> = if delimiter.is_empty() { vec![text] } else { text.split(delimiter).collect() };
    let fields = if text.is_empty() { vec![] } else { fields };
    let at = match usize::try_from(field) {
        Ok(field) => Some(field - 1),
        Err(_) => fields.len().checked_sub(field.unsigned_abs() as usize),
    };
    Ok(at.and_then(|at| fields.get(at)).copied().unwrap_or("").into())
}

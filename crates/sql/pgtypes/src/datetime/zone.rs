//! Names of time zones.

use super::civil::{MINUTE, SECOND};
use crate::Interval;
use crate::error::{Error, Result, state};
use jiff::tz::{Offset, TimeZone};

/// Abbreviations and their minutes ahead of UTC, as in PostgreSQL's default set.
const ABBREVIATIONS: &[(&str, i64)] = &[
    ("utc", 0),
    ("ut", 0),
    ("z", 0),
    ("zulu", 0),
    ("gmt", 0),
    ("wet", 0),
    ("west", 60),
    ("bst", 60),
    ("cet", 60),
    ("cest", 120),
    ("eet", 120),
    ("eest", 180),
    ("sast", 120),
    ("msk", 180),
    ("ist", 120),
    ("pkt", 300),
    ("sgt", 480),
    ("hkt", 480),
    ("awst", 480),
    ("jst", 540),
    ("kst", 540),
    ("acst", 570),
    ("aest", 600),
    ("aedt", 660),
    ("nzst", 720),
    ("nzdt", 780),
    ("art", -180),
    ("brt", -180),
    ("nst", -210),
    ("ndt", -150),
    ("ast", -240),
    ("adt", -180),
    ("est", -300),
    ("edt", -240),
    ("cst", -360),
    ("cdt", -300),
    ("mst", -420),
    ("mdt", -360),
    ("pst", -480),
    ("pdt", -420),
    ("akst", -540),
    ("akdt", -480),
    ("hst", -600),
];

/// The fixed zone so many seconds ahead of UTC; within a day, as far as PostgreSQL allows (15:59:59).
pub(super) fn fixed(seconds: i64) -> Option<TimeZone> {
    let seconds = i32::try_from(seconds).ok().filter(|seconds| seconds.abs() < 16 * 3600)?;
    Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?))
}

/// The zone of an abbreviation or a name, in any case.
pub(super) fn lookup(name: &str) -> Option<TimeZone> {
    match ABBREVIATIONS.iter().find(|(abbreviation, _)| abbreviation.eq_ignore_ascii_case(name)) {
        Some((_, minutes)) => fixed(minutes * 60),
        None => TimeZone::get(name).ok(),
    }
}

/// `+hh`, `+hhmm`, `+hh:mm`, `+hh:mm:ss`: seconds.
pub(super) fn parse_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let parts: Vec<&str> = digits.split(':').collect();
    if parts.iter().any(|part| part.is_empty() || !part.bytes().all(|c| c.is_ascii_digit())) {
        return None;
    }
    let number = |part: &str| part.parse::<i64>().ok();
    let (hours, minutes, seconds) = match parts.as_slice() {
        [short] if short.len() <= 2 => (number(short)?, 0, 0),
        [long] if long.len() <= 4 => (number(&long[..long.len() - 2])?, number(&long[long.len() - 2..])?, 0),
        [long] if long.len() <= 6 => {
            let (hours, rest) = long.split_at(long.len() - 4);
            (number(hours)?, number(&rest[..2])?, number(&rest[2..])?)
        }
        [hours, minutes] => (number(hours)?, number(minutes)?, 0),
        [hours, minutes, seconds] => (number(hours)?, number(minutes)?, number(seconds)?),
        _ => return None,
    };
    (hours <= 15 && minutes < 60 && seconds < 60).then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}

fn not_recognized(name: &str) -> Error {
    Error::new(state::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

/// The time zone of this name, abbreviation or offset. A bare offset has POSIX's sign: `UTC-3` and `-3` are east.
///
/// # Errors
/// 22023 `time zone "x" not recognized`
pub fn zone_named(name: &str) -> Result<TimeZone> {
    if let Some(zone) = lookup(name) {
        return Ok(zone);
    }
    let sign = name.find(['+', '-']).or_else(|| name.find(|c: char| c.is_ascii_digit()));
    let offset = sign.and_then(|at| {
        let (letters, offset) = name.split_at(at);
        let plain = letters.bytes().all(|c| c.is_ascii_alphabetic());
        let signed = if offset.starts_with(['+', '-']) { offset.to_owned() } else { format!("+{offset}") };
        if plain { parse_offset(&signed) } else { None }
    });
    offset.and_then(|seconds| fixed(-seconds)).ok_or_else(|| not_recognized(name))
}

/// The fixed zone of an interval (AT TIME ZONE interval '...').
///
/// # Errors
/// 22023 for months and days, or more than a day.
pub fn zone_of_interval(offset: &Interval) -> Result<TimeZone> {
    let mut text = String::new();
    super::text::write_interval(offset, &mut text);
    let wrong = |rule: &str| {
        Error::new(state::INVALID_PARAMETER_VALUE, format!("interval time zone \"{text}\" must not include {rule}"))
    };
    if offset.months != 0 || offset.days != 0 {
        return Err(wrong("months or days"));
    }
    fixed(offset.micros.div_euclid(SECOND)).ok_or_else(|| not_recognized(&text))
}

/// Writes an offset in seconds as SHOW TimeZone prints it, and as a time has it in front (`+03`).
pub(super) fn write_offset(seconds: i64, out: &mut String) {
    use std::fmt::Write;
    let sign = if seconds < 0 { '-' } else { '+' };
    let total = seconds.abs();
    let (hours, minutes, rest) = (total / 3600, total / (MINUTE / SECOND) % 60, total % 60);
    // Writing to a string cannot fail.
    let _ = match (minutes, rest) {
        (0, 0) => write!(out, "{sign}{hours:02}"),
        (_, 0) => write!(out, "{sign}{hours:02}:{minutes:02}"),
        _ => write!(out, "{sign}{hours:02}:{minutes:02}:{rest:02}"),
    };
}

//! The text form, read line by line; no input makes it panic.

use super::{Builder, History, HistoryError, HistoryErrorKind, MAX_LINE_BYTES, Operation, Record, Scalar, Status};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::io::{BufRead, Read};

pub(super) fn read(mut input: impl BufRead) -> Result<History, HistoryError> {
    let mut builder = Builder::default();
    let mut text = Vec::new();
    let mut line = 0;
    loop {
        text.clear();
        let at = |kind| HistoryError { line: line + 1, kind };
        let length = input
            .by_ref()
            .take(MAX_LINE_BYTES + 1)
            .read_until(b'\n', &mut text)
            .map_err(|error| at(HistoryErrorKind::Io(error)))?;
        if length == 0 {
            return builder.finish();
        }
        if length as u64 > MAX_LINE_BYTES {
            return Err(at(HistoryErrorKind::LineTooLong));
        }
        line += 1;
        builder.line = line;
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let record = parse_line(&text).map_err(|text| HistoryError { line, kind: HistoryErrorKind::Syntax(text) })?;
        builder.push_at(line, record)?;
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    id: u64,
    p: u64,
    #[serde(borrow)]
    s: &'a RawValue,
    #[serde(borrow)]
    e: Option<&'a RawValue>,
    st: Outcome,
    at: Option<u64>,
    ops: Vec<Operation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    Fail,
    Info,
}

fn parse_line(text: &[u8]) -> Result<Record, String> {
    let line: Line = serde_json::from_slice(text).map_err(|error| describe(&error))?;
    let status = match line.st {
        Outcome::Ok => Status::Committed,
        Outcome::Fail => Status::Aborted,
        Outcome::Info => Status::Unknown,
    };
    let seconds = |field: &str, value: &RawValue| {
        parse_seconds(value.get()).ok_or_else(|| format!("`{field}` is not a time in seconds: {}", value.get()))
    };
    let end_ns = match line.e {
        Some(value) => seconds("e", value)?,
        None if status == Status::Unknown => u64::MAX,
        None => return Err("missing field `e`".to_owned()),
    };
    Ok(Record {
        id: line.id,
        process: line.p,
        start_ns: seconds("s", line.s)?,
        end_ns,
        status,
        serial_point: line.at,
        operations: line.ops,
    })
}

/// The parser's words, with the column but without its own line number, which is always 1.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, _)) => format!("{message} (column {})", error.column()),
        None => text,
    }
}

/// Seconds in JSON's number syntax as nanoseconds, exactly; digits below the nanosecond are dropped.
///
/// Dropping them is safe: the judges only ask whether one time is below another, and rounding down never invents that.
/// `None` for what is not a number, is negative, or exceeds 64 bits of nanoseconds (584 years).
pub fn parse_seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (mantissa, ""),
    };
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // How many of the digits stand at or above the nanosecond; beyond their end, zeros.
    let wanted = whole.len() as i64 + exponent + 9;
    let mut nanoseconds: u64 = 0;
    let mut taken = 0;
    for digit in digits() {
        if taken >= wanted {
            return Some(nanoseconds);
        }
        nanoseconds = nanoseconds.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        taken += 1;
    }
    while taken < wanted && nanoseconds > 0 {
        nanoseconds = nanoseconds.checked_mul(10)?;
        taken += 1;
    }
    Some(nanoseconds)
}

/// An exponent, limited to where every further step changes nothing but the sign of the answer's absurdity.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0i64, |size, digit| (size * 10 + i64::from(digit - b'0')).min(1 << 40));
    Some(if negative { -size } else { size })
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(OperationVisitor)
    }
}

#[derive(Deserialize)]
enum Letter {
    #[serde(rename = "a")]
    Append,
    #[serde(rename = "r")]
    Read,
    #[serde(rename = "w")]
    Write,
    #[serde(rename = "d")]
    Delete,
    #[serde(rename = "s")]
    Scan,
}

struct OperationVisitor;

impl<'de> Visitor<'de> for OperationVisitor {
    type Value = Operation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation such as [\"w\",key,value]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Operation, A::Error> {
        let operation = match next(&mut parts, "an operation's letter")? {
            Letter::Append => {
                Operation::Append { key: next(&mut parts, "a key")?, value: next(&mut parts, "a value")? }
            }
            Letter::Read => read_operation(&mut parts)?,
            Letter::Write => Operation::Write {
                key: next(&mut parts, "a key")?,
                value: next(&mut parts, "a value")?,
                version: version(&mut parts)?,
            },
            Letter::Delete => Operation::Delete { key: next(&mut parts, "a key")?, version: version(&mut parts)? },
            Letter::Scan => Operation::Scan {
                low: next(&mut parts, "a low bound")?,
                high: next(&mut parts, "a high bound")?,
                entries: next(&mut parts, "the scanned entries")?,
            },
        };
        match parts.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom("an operation with too many parts")),
            None => Ok(operation),
        }
    }
}

fn next<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(parts: &mut A, what: &str) -> Result<T, A::Error> {
    parts.next_element()?.ok_or_else(|| A::Error::custom(format_args!("an operation lacks {what}")))
}

fn version<'de, A: SeqAccess<'de>>(parts: &mut A) -> Result<Option<u64>, A::Error> {
    Ok(parts.next_element::<Option<u64>>()?.flatten())
}

fn read_operation<'de, A: SeqAccess<'de>>(parts: &mut A) -> Result<Operation, A::Error> {
    let key = next(parts, "a key")?;
    Ok(match next(parts, "what was read")? {
        Found::List(values) => Operation::ReadList { key, values },
        Found::Register(value) => Operation::Read { key, value, version: version(parts)? },
    })
}

/// Result of a read: a list's elements, or a register's value if any.
enum Found {
    List(Vec<Scalar>),
    Register(Option<Scalar>),
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FoundVisitor)
    }
}

struct FoundVisitor;

impl<'de> Visitor<'de> for FoundVisitor {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, an integer, a string, or a list of them")
    }

    fn visit_unit<E: Error>(self) -> Result<Found, E> {
        Ok(Found::Register(None))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Found, E> {
        Ok(Found::Register(Some(value.into())))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Found, E> {
        Ok(Found::Register(Some(value.into())))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Found, E> {
        Ok(Found::Register(Some(value.into())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Found, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
        }
        Ok(Found::List(values))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer from -2^63 to 2^64-1 or a string")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Scalar, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
        Ok(value.into())
    }
}

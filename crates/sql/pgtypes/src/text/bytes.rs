//! Booleans, names, "char", bytea and uuid as text.

use super::invalid_syntax;
use crate::Datum;
use crate::error::{Error, Result, state};
use crate::numeric::is_space;

/// Reads a boolean: unambiguous beginnings of true, false, yes, no, on, off, and 1 and 0.
pub(super) fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(is_space);
    let begins = |full: &str, least: usize| {
        word.len() >= least
            && word.len() <= full.len()
            && full.as_bytes()[..word.len()].eq_ignore_ascii_case(word.as_bytes())
    };
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || word == "1" {
        Ok(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid_syntax("boolean", text))
    }
}

/// At most 63 bytes, cut between characters.
pub(super) fn truncate_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(63)]
}

/// Reads a `"char"`: the first byte, or an octal escape. The empty text is the zero byte.
pub(super) fn parse_char(text: &str) -> Datum {
    let byte = match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'),
        [first, ..] => *first,
        [] => 0,
    };
    char_of_byte(byte)
}

fn char_of_byte(byte: u8) -> Datum {
    match byte {
        0 => Datum::Text("".into()),
        1..0x80 => Datum::from(char::from(byte).encode_utf8(&mut [0; 4]) as &str),
        _ => Datum::Text(format!("\\{byte:03o}").into()),
    }
}

/// The byte that a `"char"` is.
pub(crate) fn char_byte(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'),
        [first, ..] => *first,
        [] => 0,
    }
}

/// Reads a bytea in hex (`\x...`) or escape format.
pub(super) fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text),
    }
}

fn parse_hex(hex: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    let mut characters = hex.chars();
    let wrong = |message: String| Error::new(state::INVALID_PARAMETER_VALUE, message);
    let digit = |c: char| {
        c.to_digit(16).map(|digit| digit as u8).ok_or_else(|| wrong(format!("invalid hexadecimal digit: \"{c}\"")))
    };
    while let Some(high) = characters.next() {
        if is_space(high) {
            continue;
        }
        let high = digit(high)?;
        let low =
            characters.next().ok_or_else(|| wrong("invalid hexadecimal data: odd number of digits".to_owned()))?;
        bytes.push(high << 4 | digit(low)?);
    }
    Ok(bytes)
}

fn parse_escaped(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return Ok(bytes),
            [b'\\', b'\\', after @ ..] => {
                bytes.push(b'\\');
                after
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            [b'\\', ..] => {
                return Err(Error::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea"));
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                after
            }
        }
    }
}

/// Appends `\x` and the bytes in hex.
pub(super) fn write_bytea(bytes: &[u8], out: &mut String) {
    out.push_str("\\x");
    out.reserve(bytes.len() * 2);
    bytes.iter().for_each(|byte| push_hex(*byte, out));
}

/// Writes a bytea by the style `escape`: printable characters as they are, other bytes in octal.
pub(super) fn write_escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                out.push('\\');
                [byte >> 6, byte >> 3 & 7, byte & 7].iter().for_each(|digit| out.push(char::from(b'0' + digit)));
            }
        }
    }
}

fn push_hex(byte: u8, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

/// Reads a uuid: 32 digits, a hyphen allowed after each group of four, braces around all of it.
pub(super) fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let wrong = || invalid_syntax("uuid", text);
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').ok_or_else(wrong)?,
        None => text,
    };
    let mut rest = inner.as_bytes();
    let mut uuid = [0; 16];
    for (at, byte) in uuid.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else { return Err(wrong()) };
        let digit = |c: u8| char::from(c).to_digit(16).map(|digit| digit as u8).ok_or_else(wrong);
        *byte = digit(*high)? << 4 | digit(*low)?;
        rest = match after {
            [b'-', after @ ..] if at % 2 == 1 && at < 15 => after,
            _ => after,
        };
    }
    if rest.is_empty() { Ok(uuid) } else { Err(wrong()) }
}

/// Appends a uuid in groups of 8-4-4-4-12 digits.
pub(super) fn write_uuid(uuid: &[u8; 16], out: &mut String) {
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        push_hex(*byte, out);
    }
}

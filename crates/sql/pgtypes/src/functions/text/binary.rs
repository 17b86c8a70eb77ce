//! Bytes: lengths, encodings, digests.

use super::super::arguments::{Arguments, check_length, count, invalid};
use super::super::table::*;
use crate::encoding::{self, Encoding};
use crate::interrupt::{byte_pieces, text_pieces};
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// The functions and operators.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("length", &[BYTEA], INT4, |a| count(a.bytes(0)?.len())),
    pure("octet_length", &[BYTEA], INT4, |a| count(a.bytes(0)?.len())),
    pure("bit_length", &[BYTEA], INT4, |a| count(a.bytes(0)?.len().saturating_mul(8))),
    pure("||", &[BYTEA, BYTEA], BYTEA, |a| {
        check_length(a.bytes(0)?.len().saturating_add(a.bytes(1)?.len()))?;
        Ok([a.bytes(0)?, a.bytes(1)?].concat().into())
    }),
    pure("md5", &[TEXT], TEXT, |a| Ok(hex(&digest::<Md5>(a.text(0)?.as_bytes())?)?.into())),
    pure("md5", &[BYTEA], TEXT, |a| Ok(hex(&digest::<Md5>(a.bytes(0)?)?)?.into())),
    pure("sha224", &[BYTEA], BYTEA, |a| Ok(digest::<Sha224>(a.bytes(0)?)?.into())),
    pure("sha256", &[BYTEA], BYTEA, |a| Ok(digest::<Sha256>(a.bytes(0)?)?.into())),
    pure("sha384", &[BYTEA], BYTEA, |a| Ok(digest::<Sha384>(a.bytes(0)?)?.into())),
    pure("sha512", &[BYTEA], BYTEA, |a| Ok(digest::<Sha512>(a.bytes(0)?)?.into())),
    pure("encode", &[BYTEA, TEXT], TEXT, |a| encode(a.bytes(0)?, a.text(1)?)),
    pure("decode", &[TEXT, TEXT], BYTEA, |a| decode(a.text(0)?, a.text(1)?)),
    pure("convert_from", &[BYTEA, NAME], TEXT, |a| convert_from(a.bytes(0)?, a.text(1)?)),
    pure("convert_to", &[TEXT, NAME], BYTEA, |a| convert_to(a.text(0)?, a.text(1)?)),
    pure("convert", &[BYTEA, NAME, NAME], BYTEA, |a| convert(a.bytes(0)?, a.text(1)?, a.text(2)?)),
    pure("length", &[BYTEA, NAME], INT4, |a| length(a.bytes(0)?, a.text(1)?)),
    pure("get_byte", &[BYTEA, INT4], INT4, |a| {
        let bytes = a.bytes(0)?;
        Ok(Datum::Int4(i32::from(bytes[byte_at(bytes, a.int4(1)?)?])))
    }),
    pure("set_byte", &[BYTEA, INT4, INT4], BYTEA, |a| {
        let mut bytes = a.bytes(0)?.to_vec();
        let at = byte_at(&bytes, a.int4(1)?)?;
        bytes[at] = a.int4(2)? as u8;
        Ok(bytes.into())
    }),
    pure("btrim", &[BYTEA, BYTEA], BYTEA, |a| trim(a, true, true)),
    pure("ltrim", &[BYTEA, BYTEA], BYTEA, |a| trim(a, true, false)),
    pure("rtrim", &[BYTEA, BYTEA], BYTEA, |a| trim(a, false, true)),
];

/// Cost of a byte that is digested or encoded.
const ENCODING: usize = 4;

fn digest<D: Digest>(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut digest = D::new();
    for piece in byte_pieces(bytes, ENCODING) {
        digest.update(piece?);
    }
    Ok(digest.finalize().to_vec())
}

fn hex(bytes: &[u8]) -> Result<String> {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut out = String::with_capacity(2 * bytes.len());
    for piece in byte_pieces(bytes, ENCODING) {
        out.extend(piece?.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
    }
    Ok(out)
}

fn byte_at(bytes: &[u8], at: i32) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at < bytes.len()).ok_or_else(|| {
        let last = bytes.len() as i64 - 1;
        Error::new(state::ARRAY_SUBSCRIPT_ERROR, format!("index {at} out of valid range, 0..{last}"))
    })
}

fn trim(a: &[Datum], start: bool, end: bool) -> Result<Datum> {
    let (mut bytes, wanted) = (a.bytes(0)?, a.bytes(1)?);
    while let [first, rest @ ..] = bytes
        && start
        && wanted.contains(first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && end
        && wanted.contains(last)
    {
        bytes = rest;
    }
    Ok(bytes.into())
}

/// Padding is read where it is, and missed nowhere: PostgreSQL checks the length.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

fn unrecognized(encoding: &str) -> Error {
    invalid(format!("unrecognized encoding: \"{encoding}\""))
}

fn encode(bytes: &[u8], encoding: &str) -> Result<Datum> {
    check_length(bytes.len().saturating_mul(4))?;
    Ok(match encoding.to_ascii_lowercase().as_str() {
        "hex" => hex(bytes)?.into(),
        "base64" => {
            let text = BASE64.encode(bytes);
            // Lines of 76 characters, as MIME has them. The text is ASCII.
            let lines: Vec<&str> = (0..text.len()).step_by(76).map(|at| &text[at..text.len().min(at + 76)]).collect();
            lines.join("\n").into()
        }
        "escape" => {
            let mut out = String::with_capacity(bytes.len());
            for piece in byte_pieces(bytes, 2 * ENCODING) {
                push_escaped(&mut out, piece?);
            }
            out.into()
        }
        _ => return Err(unrecognized(encoding)),
    })
}

fn push_escaped(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            _ => out.push(char::from(*byte)),
        }
    }
}

fn decode(text: &str, encoding: &str) -> Result<Datum> {
    match encoding.to_ascii_lowercase().as_str() {
        "hex" => decode_hex(text),
        "base64" => {
            let digits: String = text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r')).collect();
            let bytes = BASE64.decode(&digits).map_err(|error| match error {
                base64::DecodeError::InvalidByte(_, byte) if byte != b'=' => {
                    let symbol = digits.chars().find(|c| !c.is_ascii_alphanumeric() && !"+/=".contains(*c));
                    let symbol = symbol.unwrap_or(char::from(byte));
                    invalid(format!("invalid symbol \"{symbol}\" found while decoding base64 sequence"))
                }
                _ => invalid("invalid base64 end sequence")
                    .hint("Input data is missing padding, is truncated, or is otherwise corrupted."),
            })?;
            Ok(bytes.into())
        }
        "escape" => crate::text::parse(text, BYTEA, crate::Modifier::NONE, &Default::default()),
        _ => Err(unrecognized(encoding)),
    }
}

fn decode_hex(text: &str) -> Result<Datum> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let value = |c: char| c.to_digit(16).ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")));
    let mut high = None;
    for piece in text_pieces(text, ENCODING) {
        for digit in piece?.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r')) {
            match high.take() {
                None => high = Some(value(digit)?),
                Some(high) => bytes.push((high * 16 + value(digit)?) as u8),
            }
        }
    }
    match high {
        None => Ok(bytes.into()),
        Some(_) => Err(invalid("invalid hexadecimal data: odd number of digits")),
    }
}

/// The encoding of a name; `what`: `source` or `destination`.
///
/// # Errors
/// 22023 for an unknown name.
fn encoding_named(name: &str, what: &str) -> Result<Encoding> {
    Encoding::named(name).ok_or_else(|| invalid(format!("invalid {what} encoding name \"{name}\"")))
}

fn convert_from(bytes: &[u8], encoding: &str) -> Result<Datum> {
    let converted = encoding::convert(bytes, encoding_named(encoding, "source")?, Encoding::Utf8)?;
    Ok(encoding::utf8(&converted)?.into())
}

fn convert_to(text: &str, encoding: &str) -> Result<Datum> {
    let converted = encoding::convert(text.as_bytes(), Encoding::Utf8, encoding_named(encoding, "destination")?)?;
    Ok((&*converted).into())
}

fn convert(bytes: &[u8], from: &str, to: &str) -> Result<Datum> {
    let (from, to) = (encoding_named(from, "source")?, encoding_named(to, "destination")?);
    Ok((&*encoding::convert(bytes, from, to)?).into())
}

/// Number of characters of bytes in an encoding.
fn length(bytes: &[u8], encoding: &str) -> Result<Datum> {
    let encoding = Encoding::named(encoding).ok_or_else(|| invalid(format!("invalid encoding name \"{encoding}\"")))?;
    count(encoding.count_characters(bytes)?)
}

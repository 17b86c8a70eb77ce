//! The server's messages for clients whose encoding is not UTF-8.

use super::backend::message;
use sql::error::Result;

/// Bytes of a column behind its name in RowDescription.
const COLUMN: usize = 18;

/// Appends a text in the client's encoding.
type Encode<'e> = &'e dyn Fn(&str, &mut Vec<u8>) -> Result<()>;

/// Returns these complete messages with their texts converted. Rows and COPY data stay: each of their values is converted by itself.
///
/// # Errors
/// Errors of `encode`.
pub fn converted(messages: &[u8], encode: Encode<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(messages.len());
    let mut rest = messages;
    while let Some((&[kind, a, b, c, d], after)) = rest.split_first_chunk() {
        let length = (u32::from_be_bytes([a, b, c, d]) as usize).saturating_sub(4).min(after.len());
        let (body, following) = after.split_at(length);
        let mut texts = Vec::with_capacity(body.len());
        match kind {
            // Types of fields and zero bytes between texts are ASCII, which every encoding has.
            b'S' | b'C' | b'E' | b'N' => convert(body, &mut texts, encode)?,
            b'A' => convert_behind(body, size_of::<i32>(), &mut texts, encode)?,
            b'T' => convert_columns(body, &mut texts, encode)?,
            _ => texts.extend_from_slice(body),
        }
        message(&mut out, kind, |out| out.extend_from_slice(&texts));
        rest = following;
    }
    Ok(out)
}

/// The server's texts are UTF-8.
fn convert(text: &[u8], out: &mut Vec<u8>, encode: Encode<'_>) -> Result<()> {
    match std::str::from_utf8(text) {
        Ok(text) => encode(text, out)?,
        Err(_) => out.extend_from_slice(text),
    }
    Ok(())
}

fn convert_behind(body: &[u8], head: usize, out: &mut Vec<u8>, encode: Encode<'_>) -> Result<()> {
    let (head, text) = body.split_at(head.min(body.len()));
    out.extend_from_slice(head);
    convert(text, out, encode)
}

/// The number of columns; then each one's name, a zero byte, and numbers.
fn convert_columns(body: &[u8], out: &mut Vec<u8>, encode: Encode<'_>) -> Result<()> {
    let (count, mut rest) = body.split_at(size_of::<u16>().min(body.len()));
    out.extend_from_slice(count);
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        convert(&rest[..end], out, encode)?;
        let (numbers, following) = rest[end..].split_at((1 + COLUMN).min(rest.len() - end));
        out.extend_from_slice(numbers);
        rest = following;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::backend;
    use sql::types::{Encoding, Modifier, Type};
    use sql::{Field, SqlError};

    fn latin1(write: impl FnOnce(&mut Vec<u8>)) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        write(&mut out);
        converted(&out, &|text, out| {
            out.extend_from_slice(&Encoding::Latin1.encode(text)?);
            Ok(())
        })
    }

    fn field(name: &str) -> Field {
        Field { name: name.to_owned(), data_type: Type::INT4, modifier: Modifier::NONE, origin: None }
    }

    #[test]
    fn texts_of_messages_are_converted_and_lengths_follow() {
        let failed = SqlError::new("42703", "column \"é\" does not exist").at(8);
        let messages = latin1(|out| {
            backend::parameter_status(out, "a", "ß");
            backend::key_data(out, (-1, 0x00c3_a9c3));
            backend::complete(out, "é");
            backend::error(out, "ERROR", &failed);
            backend::notification(out, 0x00c3_a900, "ü", "é");
        });
        let expected: &[u8] = b"S\0\0\0\x08a\0\xdf\0K\0\0\0\x0c\xff\xff\xff\xff\0\xc3\xa9\xc3C\0\0\0\x06\xe9\0\
            E\0\0\0\x38SERROR\0VERROR\0C42703\0Mcolumn \"\xe9\" does not exist\0P8\0\0A\0\0\0\x0c\0\xc3\xa9\0\xfc\0\xe9\0";
        assert_eq!(messages.unwrap(), expected);
        let columns = latin1(|out| backend::row_description(out, &[field("é"), field("b")], &[])).unwrap();
        let mut plain = Vec::new();
        backend::row_description(&mut plain, &[field("e"), field("b")], &[]);
        plain[7] = 0xe9;
        assert_eq!(columns, plain);
        assert_eq!(latin1(|out| backend::row_description(out, &[field("€")], &[])).unwrap_err().code(), "22P05");
    }

    #[test]
    fn values_stay() {
        let row = |out: &mut Vec<u8>| {
            backend::data_row(out, 1, |out| backend::value(out, Some(|out: &mut Vec<u8>| out.extend("é".as_bytes()))));
            backend::copy_data(out, "é".as_bytes());
        };
        let mut plain = Vec::new();
        row(&mut plain);
        assert_eq!(latin1(row).unwrap(), plain);
    }
}

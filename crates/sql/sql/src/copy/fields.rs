//! From lines to fields, and back.

use super::bad_format;
use super::options::Options;
use crate::error::Result;
use crate::types::encoding;

/// The fields of one line; memory is kept from line to line.
#[derive(Debug, Default)]
pub(super) struct Fields {
    text: Vec<u8>,
    /// For each field, its end in the text and whether it is NULL.
    ends: Vec<(usize, bool)>,
}

impl Fields {
    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field; `None` for NULL.
    ///
    /// # Errors
    /// 22021 for bytes that escapes made and that are no UTF-8.
    pub(super) fn get(&self, at: usize) -> Result<Option<&str>> {
        let (end, null) = self.ends[at];
        let start = if at == 0 { 0 } else { self.ends[at - 1].0 };
        if null { Ok(None) } else { Ok(encoding::utf8(&self.text[start..end]).map(Some)?) }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn end(&mut self, null: bool) {
        self.ends.push((self.text.len(), null));
    }

    /// Splits a line of text format.
    pub(super) fn split_text(&mut self, line: &[u8], options: &Options) {
        self.clear();
        let mut start = 0;
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            at += 1;
            if byte == options.delimiter {
                self.end(&line[start..at - 1] == options.null.as_bytes());
                start = at;
            } else if byte == b'\\' {
                at += self.unescape(&line[at..]);
            } else {
                self.text.push(byte);
            }
        }
        self.end(&line[start..] == options.null.as_bytes());
    }

    /// Appends the bytes of an escape, and returns its length. A backslash at the end of a line is ignored.
    fn unescape(&mut self, rest: &[u8]) -> usize {
        let digits = |rest: &[u8], radix: u32, most: usize| {
            rest.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count()
        };
        let value = |digits: &[u8], radix: u32| {
            digits.iter().fold(0u32, |value, digit| {
                value.wrapping_mul(radix).wrapping_add(char::from(*digit).to_digit(radix).unwrap_or_default())
            }) as u8
        };
        let Some(&byte) = rest.first() else { return 0 };
        let (meant, used) = match byte {
            b'0'..=b'7' => {
                let count = digits(rest, 8, 3);
                (value(&rest[..count], 8), count)
            }
            b'x' => match digits(&rest[1..], 16, 2) {
                0 => (b'x', 1),
                count => (value(&rest[1..=count], 16), 1 + count),
            },
            b'b' => (0x08, 1),
            b'f' => (0x0c, 1),
            b'n' => (b'\n', 1),
            b'r' => (b'\r', 1),
            b't' => (b'\t', 1),
            b'v' => (0x0b, 1),
            other => (other, 1),
        };
        self.text.push(meant);
        used
    }

    /// Splits a line of CSV. A quoted field is never NULL.
    ///
    /// # Errors
    /// 22P04 for a quote that is never closed.
    pub(super) fn split_csv(&mut self, line: &[u8], options: &Options) -> Result<()> {
        self.clear();
        let (mut start, mut at) = (0, 0);
        let (mut quoted, mut in_quotes) = (false, false);
        while let Some(&byte) = line.get(at) {
            at += 1;
            let following = line.get(at).copied();
            if in_quotes {
                match following {
                    Some(next) if byte == options.escape && (next == options.escape || next == options.quote) => {
                        self.text.push(next);
                        at += 1;
                    }
                    _ if byte == options.quote => in_quotes = false,
                    _ => self.text.push(byte),
                }
            } else if byte == options.delimiter {
                self.end(!quoted && &line[start..at - 1] == options.null.as_bytes());
                (start, quoted) = (at, false);
            } else if byte == options.quote {
                (quoted, in_quotes) = (true, true);
            } else {
                self.text.push(byte);
            }
        }
        if in_quotes {
            return Err(bad_format("unterminated CSV quoted field"));
        }
        self.end(!quoted && &line[start..] == options.null.as_bytes());
        Ok(())
    }
}

/// Appends a field in text format.
pub(super) fn write_text(field: &str, delimiter: u8, out: &mut Vec<u8>) {
    for &byte in field.as_bytes() {
        let letter = match byte {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            _ if byte == b'\\' || byte == delimiter => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
}

/// Appends a field of CSV. Quotes keep it from being read as NULL, as several fields or lines, or (`alone`) as the end
/// marker.
pub(super) fn write_csv(field: &str, options: &Options, force: bool, alone: bool, out: &mut Vec<u8>) {
    let special = |byte: u8| byte == options.delimiter || byte == options.quote || matches!(byte, b'\n' | b'\r');
    let quoted = force || field == options.null || (alone && field == "\\.") || field.bytes().any(special);
    if !quoted {
        return out.extend_from_slice(field.as_bytes());
    }
    out.push(options.quote);
    for byte in field.bytes() {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}

//! json, which is kept as written, and jsonb, which is kept as PostgreSQL prints it.

use super::push_display;
use crate::error::{Error, Result, state};
use crate::interrupt::work;
use crate::{Datum, Numeric};
use std::collections::BTreeMap;

/// Arrays and objects inside each other, at most.
const MAX_DEPTH: usize = 1000;
/// Work of a value in a jsonb.
const VALUE: usize = 128;

fn invalid(text: &str, error: &serde_json::Error) -> Error {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let detail = match error.classify() {
        serde_json::error::Category::Eof => "The input string ended unexpectedly.".to_owned(),
        _ => {
            let token = line.get(error.column().saturating_sub(1)..).map_or("", first_token);
            format!("Token \"{token}\" is invalid.")
        }
    };
    Error::new(state::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json").detail(detail)
}

/// The word, or else the character, that stands first.
fn first_token(text: &str) -> &str {
    let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let end = if word > 0 { word } else { text.chars().next().map_or(0, char::len_utf8) };
    &text[..end]
}

fn check(text: &str) -> Result<()> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).map(|_| ()).map_err(|error| invalid(text, &error))
}

/// Checks a json and keeps its text unchanged.
pub(super) fn parse_json(text: &str) -> Result<Datum> {
    check(text)?;
    Ok(Datum::Text(text.into()))
}

/// Reads a json and keeps it as jsonb prints it: keys once and in order, numbers as numeric writes them, blanks after colons
/// and commas.
pub(super) fn parse_jsonb(text: &str) -> Result<Datum> {
    check(text)?;
    let mut out = String::with_capacity(text.len());
    Normalizer { rest: text }.value(0, &mut out)?;
    Ok(Datum::Text(out.into()))
}

/// Walks over a text that was checked, and writes it in normal form.
struct Normalizer<'t> {
    rest: &'t str,
}

impl<'t> Normalizer<'t> {
    /// The next character that is no blank.
    fn peek(&mut self) -> u8 {
        self.rest = self.rest.trim_ascii_start();
        self.rest.as_bytes().first().copied().unwrap_or(b'}')
    }

    /// Passes over the next character that is no blank, if it is this one.
    fn pass(&mut self, character: u8) -> bool {
        let there = !self.rest.is_empty() && self.peek() == character;
        if there {
            self.rest = &self.rest[1..];
        }
        there
    }

    /// Returns the text before the first of these characters.
    fn until(&mut self, end: impl Fn(char) -> bool) -> &'t str {
        let (head, tail) = self.rest.split_at(self.rest.find(end).unwrap_or(self.rest.len()));
        self.rest = tail;
        head
    }

    fn value(&mut self, depth: usize, out: &mut String) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        work(VALUE)?;
        match self.peek() {
            b'{' => self.object(depth, out)?,
            b'[' => self.array(depth, out)?,
            b'"' => write_string(&self.string()?, out)?,
            b'-' | b'0'..=b'9' => {
                let number = self.until(|c| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
                push_display(&Numeric::parse(number)?, out);
            }
            _ => out.push_str(self.until(|c| !c.is_ascii_alphabetic())),
        }
        Ok(())
    }

    fn array(&mut self, depth: usize, out: &mut String) -> Result<()> {
        self.pass(b'[');
        out.push('[');
        while !self.pass(b']') {
            if self.pass(b',') {
                out.push_str(", ");
            }
            self.value(depth + 1, out)?;
        }
        out.push(']');
        Ok(())
    }

    /// Shorter keys come first, then by bytes; of keys that stand twice the last counts.
    fn object(&mut self, depth: usize, out: &mut String) -> Result<()> {
        self.pass(b'{');
        let mut fields = BTreeMap::new();
        while !self.pass(b'}') {
            self.pass(b',');
            self.peek();
            let name = self.string()?;
            self.pass(b':');
            let mut value = String::new();
            self.value(depth + 1, &mut value)?;
            fields.insert((name.len(), name), value);
        }
        out.push('{');
        for (at, ((_, name), value)) in fields.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            write_string(name, out)?;
            out.push_str(": ");
            out.push_str(value);
        }
        out.push('}');
        Ok(())
    }

    fn string(&mut self) -> Result<String> {
        let mut escaped = true;
        let end = self.rest.bytes().position(|c| {
            let closes = c == b'"' && !escaped;
            escaped = c == b'\\' && !escaped;
            closes
        });
        let (literal, rest) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 1));
        self.rest = rest;
        work(literal.len())?;
        serde_json::from_str(literal).map_err(|error| invalid(literal, &error))
    }
}

fn write_string(text: &str, out: &mut String) -> Result<()> {
    if text.contains('\0') {
        return Err(
            Error::new("22P05", "unsupported Unicode escape sequence").detail("\\u0000 cannot be converted to text.")
        );
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => push_display(&format_args!("\\u{:04x}", u32::from(c)), out),
            c => out.push(c),
        }
    }
    out.push('"');
    Ok(())
}

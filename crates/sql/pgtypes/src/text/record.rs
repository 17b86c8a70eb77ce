//! Rows as text.

use super::format;
use crate::defined::{self, Attribute};
use crate::error::{Error, Result, state};
use crate::numeric::is_space;
use crate::{Datum, Record, Styles};
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

/// Reads `(1,,"a b")` as a value of a composite type. Source: PostgreSQL 15, `record_in`.
pub(super) fn parse(text: &str, oid: u32, styles: &Styles) -> Result<Datum> {
    let found = defined::find(oid).ok_or_else(|| defined::unknown(oid))?;
    let mut reader = Reader { whole: text, rest: text.chars().peekable() };
    reader.skip_blanks();
    if reader.rest.next() != Some('(') {
        return Err(reader.malformed("Missing left parenthesis."));
    }
    let mut fields = Vec::with_capacity(found.attributes.len());
    for (at, attribute) in found.attributes.iter().enumerate() {
        if at > 0 && reader.rest.next_if_eq(&',').is_none() {
            return Err(reader.malformed("Too few columns."));
        }
        let value = match reader.field()? {
            Some(written) => crate::stack::ensure_stack(|| read_field(&written, attribute, styles))?,
            None => check_null(attribute)?,
        };
        fields.push(value);
    }
    if reader.rest.next() != Some(')') {
        return Err(reader.malformed("Too many columns."));
    }
    reader.skip_blanks();
    if reader.rest.peek().is_some() {
        return Err(reader.malformed("Junk after right parenthesis."));
    }
    Ok(Datum::Record(Arc::new(Record { fields, shape: Some(found.shape.clone()) })))
}

fn read_field(written: &str, attribute: &Attribute, styles: &Styles) -> Result<Datum> {
    check_rules(attribute)?;
    super::parse(written, attribute.data_type, attribute.modifier, styles)
}

fn check_null(attribute: &Attribute) -> Result<Datum> {
    check_rules(attribute).map(|()| Datum::Null)
}

/// Values do not know the rules of domains, which only ROW(...) applies.
///
/// # Errors
/// 0A000 for an attribute of a domain.
pub(crate) fn check_rules(attribute: &Attribute) -> Result<()> {
    if attribute.domain.is_none() {
        return Ok(());
    }
    let message = format!("input of a row whose column \"{}\" is of a domain is not supported", attribute.name);
    Err(Error::new(state::FEATURE_NOT_SUPPORTED, message).hint("Write the row as ROW(...), with a cast to its type."))
}

struct Reader<'t> {
    whole: &'t str,
    rest: Peekable<Chars<'t>>,
}

impl Reader<'_> {
    fn malformed(&self, detail: &str) -> Error {
        let message = format!("malformed record literal: \"{}\"", self.whole);
        Error::new(state::INVALID_TEXT_REPRESENTATION, message).detail(detail)
    }

    fn skip_blanks(&mut self) {
        while self.rest.next_if(|c| is_space(*c)).is_some() {}
    }

    /// The text of a field, up to what ends it; `None` for NULL, of which nothing is written.
    fn field(&mut self) -> Result<Option<String>> {
        if matches!(self.rest.peek(), Some(',' | ')')) {
            return Ok(None);
        }
        let (mut value, mut quoted) = (String::new(), false);
        loop {
            match self.rest.peek() {
                Some(',' | ')') if !quoted => return Ok(Some(value)),
                _ => {}
            }
            let next = self.rest.next();
            match next.ok_or_else(|| self.malformed("Unexpected end of input."))? {
                '\\' => value.push(self.rest.next().ok_or_else(|| self.malformed("Unexpected end of input."))?),
                '"' if !quoted => quoted = true,
                '"' if self.rest.next_if_eq(&'"').is_some() => value.push('"'),
                '"' => quoted = false,
                c => value.push(c),
            }
        }
    }
}

/// Appends `(a,b)`.
pub(super) fn write(record: &Record, styles: &Styles, out: &mut String) {
    out.push('(');
    for (at, (_, data_type, field)) in record.described().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let start = out.len();
        format(field, data_type, styles, out);
        if !field.is_null() {
            quote_field(start, out);
        }
    }
    out.push(')');
}

fn quote_field(start: usize, out: &mut String) {
    let text = &out[start..];
    let special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || is_space(c);
    if text.is_empty() || text.contains(special) {
        let text = out.split_off(start);
        out.push('"');
        for c in text.chars() {
            if matches!(c, '"' | '\\') {
                out.push(c);
            }
            out.push(c);
        }
        out.push('"');
    }
}

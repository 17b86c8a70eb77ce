//! Arrays and vectors as text.

use super::{format, parse};
use crate::error::{Error, Result, state};
use crate::numeric::is_space;
use crate::{Array, Datum, Modifier, Scalar, Styles, Type};
use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::Arc;

/// Reads `{1,2,NULL,"a b"}`, nested for more dimensions, with bounds (`[0:2]={1,2,3}`) or without.
pub(super) fn parse_array(text: &str, element: Type, modifier: Modifier, styles: &Styles) -> Result<Datum> {
    let (lower_bound, declared, body) = parse_bounds(text)?;
    let mut reader = Reader { whole: text, rest: body.char_indices().peekable(), element, modifier, styles };
    reader.skip_blanks();
    if !matches!(reader.rest.peek(), Some((_, '{'))) {
        return Err(reader.malformed("Array value must start with \"{\" or dimension information."));
    }
    let elements = reader.list(1)?;
    reader.skip_blanks();
    if reader.rest.peek().is_some() {
        return Err(reader.malformed("Junk after closing right brace."));
    }
    let array = Array { element: element.scalar, lower_bound, elements };
    if declared.is_some_and(|declared| declared != array.dimensions()) {
        return Err(malformed(text).detail("Specified array dimensions do not match array contents."));
    }
    check_rectangular(&array, text)?;
    Ok(Datum::Array(Arc::new(array)))
}

fn malformed(text: &str) -> Error {
    Error::new(state::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\""))
}

/// Lower bound of the first dimension, the lengths if they are declared, and what follows.
fn parse_bounds(text: &str) -> Result<(i32, Option<Vec<usize>>, &str)> {
    let trimmed = text.trim_start_matches(is_space);
    if !trimmed.starts_with('[') {
        return Ok((1, None, text));
    }
    let wrong = |detail: &str| malformed(text).detail(detail);
    let (head, body) = trimmed.split_once('=').ok_or_else(|| wrong("Missing \"=\" after array dimensions."))?;
    let (mut lower, mut lengths) = (None, Vec::new());
    for dimension in head.trim_end_matches(is_space).split(']').filter(|part| !part.is_empty()) {
        let range = dimension
            .strip_prefix('[')
            .ok_or_else(|| wrong("\"[\" must introduce explicitly-specified array dimensions."))?;
        let (from, to) = range.split_once(':').unwrap_or(("1", range));
        let bound = |number: &str| number.trim().parse::<i32>().map_err(|_| wrong("Missing array dimension value."));
        let (from, to) = (bound(from)?, bound(to)?);
        if to < from {
            return Err(Error::new(state::ARRAY_SUBSCRIPT_ERROR, "upper bound cannot be less than lower bound"));
        }
        lower.get_or_insert(from);
        lengths.push((i64::from(to) - i64::from(from) + 1) as usize);
    }
    Ok((lower.unwrap_or(1), Some(lengths), body))
}

/// All arrays of one depth must have the same length.
fn check_rectangular(array: &Array, text: &str) -> Result<()> {
    fn matches(elements: &[Datum], dimensions: &[usize]) -> bool {
        match dimensions.split_first() {
            None => true,
            Some((length, inner)) => {
                elements.len() == *length
                    && elements.iter().all(|element| match element {
                        Datum::Array(array) => !inner.is_empty() && matches(&array.elements, inner),
                        _ => inner.is_empty(),
                    })
            }
        }
    }
    if matches(&array.elements, &array.dimensions()) {
        return Ok(());
    }
    Err(malformed(text).detail("Multidimensional arrays must have sub-arrays with matching dimensions."))
}

struct Reader<'t> {
    whole: &'t str,
    rest: Peekable<CharIndices<'t>>,
    element: Type,
    modifier: Modifier,
    styles: &'t Styles,
}

impl Reader<'_> {
    fn malformed(&self, detail: &str) -> Error {
        malformed(self.whole).detail(detail)
    }

    fn skip_blanks(&mut self) {
        while self.rest.next_if(|(_, c)| is_space(*c)).is_some() {}
    }

    fn ended(&self) -> Error {
        self.malformed("Unexpected end of input.")
    }

    /// Reads the elements between braces; the opening brace is next.
    fn list(&mut self, depth: usize) -> Result<Vec<Datum>> {
        Array::check_dimensions(depth)?;
        self.rest.next();
        let mut elements = Vec::new();
        self.skip_blanks();
        if self.rest.next_if(|(_, c)| *c == '}').is_some() {
            if depth > 1 {
                return Err(self.malformed("Unexpected \"}\" character."));
            }
            return Ok(elements);
        }
        loop {
            self.skip_blanks();
            let next = self.rest.peek().map(|(_, c)| *c);
            elements.push(match next.ok_or_else(|| self.ended())? {
                '{' => Array::new(self.element.scalar, self.list(depth + 1)?).into(),
                '"' => self.quoted()?,
                _ => self.bare()?,
            });
            self.skip_blanks();
            match self.rest.next() {
                Some((_, ',')) => {}
                Some((_, '}')) => return Ok(elements),
                Some((_, '"')) => return Err(self.malformed("Unexpected array element.")),
                Some((_, '{')) => return Err(self.malformed("Unexpected \"{\" character.")),
                Some(_) => return Err(self.malformed("Unexpected array element.")),
                None => return Err(self.ended()),
            }
        }
    }

    fn quoted(&mut self) -> Result<Datum> {
        self.rest.next();
        let mut value = String::new();
        loop {
            match self.rest.next() {
                Some((_, '"')) => return parse(&value, self.element, self.modifier, self.styles),
                Some((_, '\\')) => value.push(self.rest.next().ok_or_else(|| self.ended())?.1),
                Some((_, c)) => value.push(c),
                None => return Err(self.ended()),
            }
        }
    }

    fn bare(&mut self) -> Result<Datum> {
        let mut value = String::new();
        // Blanks at the end do not count, unless they are escaped.
        let (mut kept, mut escaped) = (0, false);
        while let Some((_, c)) = self.rest.peek().copied() {
            match c {
                ',' | '}' => break,
                '{' => return Err(self.malformed("Unexpected \"{\" character.")),
                '"' => return Err(self.malformed("Unexpected array element.")),
                '\\' => {
                    self.rest.next();
                    value.push(self.rest.next().ok_or_else(|| self.ended())?.1);
                    (kept, escaped) = (value.len(), true);
                }
                _ => {
                    self.rest.next();
                    value.push(c);
                    if !is_space(c) {
                        kept = value.len();
                    }
                }
            }
        }
        value.truncate(kept);
        match value.as_str() {
            "" if !escaped => match self.rest.peek().copied() {
                None => Err(self.ended()),
                Some((_, c)) => Err(self.malformed(&format!("Unexpected \"{c}\" character."))),
            },
            null if !escaped && null.eq_ignore_ascii_case("null") => Ok(Datum::Null),
            value => parse(value, self.element, self.modifier, self.styles),
        }
    }
}

/// Reads an `int2vector` or `oidvector`: numbers with blanks between.
pub(super) fn parse_vector(text: &str, element: Type, styles: &Styles) -> Result<Datum> {
    let elements = text
        .split(is_space)
        .filter(|word| !word.is_empty())
        .map(|word| parse(word, element, Modifier::NONE, styles))
        .collect::<Result<_>>()?;
    Ok(Datum::Array(Arc::new(Array { element: element.scalar, lower_bound: 0, elements })))
}

/// Appends `{...}`, with bounds in front if the first is not 1.
pub(super) fn write_array(array: &Array, styles: &Styles, out: &mut String) {
    if array.lower_bound != 1 && !array.elements.is_empty() {
        for (at, length) in array.dimensions().into_iter().enumerate() {
            let from = if at == 0 { i64::from(array.lower_bound) } else { 1 };
            super::push_display(&format_args!("[{from}:{}]", from + length as i64 - 1), out);
        }
        out.push('=');
    }
    write_braces(array, styles, out);
}

fn write_braces(array: &Array, styles: &Styles, out: &mut String) {
    out.push('{');
    for (at, element) in array.elements.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match element {
            Datum::Null => out.push_str("NULL"),
            Datum::Array(inner) if array.element != Scalar::Int2Vector && array.element != Scalar::OidVector => {
                write_braces(inner, styles, out);
            }
            element => {
                let start = out.len();
                format(element, Type::of(array.element), styles, out);
                quote_element(start, out);
            }
        }
    }
    out.push('}');
}

/// Puts what stands from `start` on into quotes if an array needs that.
fn quote_element(start: usize, out: &mut String) {
    let text = &out[start..];
    let special = |c: char| matches!(c, '"' | '\\' | '{' | '}' | ',') || is_space(c);
    if text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(special) {
        let text = out.split_off(start);
        out.push('"');
        for c in text.chars() {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out.push('"');
    }
}

/// Appends numbers with blanks between.
pub(super) fn write_vector(array: &Array, styles: &Styles, out: &mut String) {
    for (at, element) in array.elements.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        format(element, Type::of(array.element), styles, out);
    }
}

//! Functions and operators of regular expressions.

use super::super::arguments::{Arguments, check_length, count, invalid};
use super::super::table::*;
use super::regex::{Options, compiled};
use super::search::{Groups, Pattern};
use super::slice::offset;
use crate::interrupt;
use std::ops::ControlFlow;

macro_rules! operator {
    ($symbol:literal, $left:expr, $caseless:literal, $wanted:literal) => {
        pure($symbol, &[$left, TEXT], BOOL, |a| {
            let options = Options { caseless: $caseless, ..Options::default() };
            Ok(Datum::Bool(compiled(a.text(1)?, options)?.is_match(a.text(0)?)? == $wanted))
        })
    };
}

/// The functions and operators.
pub(super) static FUNCTIONS: &[Function] = &[
    operator!("~", TEXT, false, true),
    operator!("~*", TEXT, true, true),
    operator!("!~", TEXT, false, false),
    operator!("!~*", TEXT, true, false),
    operator!("~", BPCHAR, false, true),
    operator!("~*", BPCHAR, true, true),
    operator!("!~", BPCHAR, false, false),
    operator!("!~*", BPCHAR, true, false),
    operator!("~", NAME, false, true),
    operator!("~*", NAME, true, true),
    operator!("!~", NAME, false, false),
    operator!("!~*", NAME, true, false),
    pure("similar_to_escape", &[TEXT], TEXT, |a| similar_to_regex(a.text(0)?, "\\").map(Into::into)),
    pure("similar_to_escape", &[TEXT, TEXT], TEXT, |a| similar_to_regex(a.text(0)?, a.text(1)?).map(Into::into)),
    pure("substring", &[TEXT, TEXT], TEXT, |a| first_part(&*compiled(a.text(1)?, Options::default())?, a.text(0)?)),
    pure("substring", &[TEXT, TEXT, TEXT], TEXT, |a| {
        let pattern = similar_to_regex(a.text(1)?, a.text(2)?)?;
        first_part(&*compiled(&pattern, Options::default())?, a.text(0)?)
    }),
    pure("regexp_like", &[TEXT, TEXT], BOOL, regexp_like),
    pure("regexp_like", &[TEXT, TEXT, TEXT], BOOL, regexp_like),
    pure("regexp_count", &[TEXT, TEXT], INT4, regexp_count),
    pure("regexp_count", &[TEXT, TEXT, INT4], INT4, regexp_count),
    pure("regexp_count", &[TEXT, TEXT, INT4, TEXT], INT4, regexp_count),
    pure("regexp_substr", &[TEXT, TEXT], TEXT, regexp_substr),
    pure("regexp_substr", &[TEXT, TEXT, INT4], TEXT, regexp_substr),
    pure("regexp_substr", &[TEXT, TEXT, INT4, INT4], TEXT, regexp_substr),
    pure("regexp_match", &[TEXT, TEXT], TEXT_ARRAY, regexp_match),
    pure("regexp_match", &[TEXT, TEXT, TEXT], TEXT_ARRAY, regexp_match),
    set("regexp_matches", &[TEXT, TEXT], TEXT_ARRAY, |_, a| regexp_matches(a)),
    set("regexp_matches", &[TEXT, TEXT, TEXT], TEXT_ARRAY, |_, a| regexp_matches(a)),
    pure("regexp_replace", &[TEXT, TEXT, TEXT], TEXT, |a| replace(a, Options::default(), 0, Some(1))),
    pure("regexp_replace", &[TEXT, TEXT, TEXT, TEXT], TEXT, |a| {
        let options = Options::parse(a.text(3)?)?;
        replace(a, options, 0, (!options.global).then_some(1))
    }),
    pure("regexp_replace", &[TEXT, TEXT, TEXT, INT4], TEXT, |a| replace(a, Options::default(), start(a, 3)?, Some(1))),
    pure("regexp_replace", &[TEXT, TEXT, TEXT, INT4, INT4], TEXT, |a| {
        replace(a, Options::default(), start(a, 3)?, occurrence(a, 4)?)
    }),
    pure("regexp_replace", &[TEXT, TEXT, TEXT, INT4, INT4, TEXT], TEXT, |a| {
        replace(a, Options::parse(a.text(5)?)?, start(a, 3)?, occurrence(a, 4)?)
    }),
    pure("regexp_split_to_array", &[TEXT, TEXT], TEXT_ARRAY, |a| {
        Ok(Array::new(Scalar::Text, split(a, "regexp_split_to_array")?).into())
    }),
    pure("regexp_split_to_array", &[TEXT, TEXT, TEXT], TEXT_ARRAY, |a| {
        Ok(Array::new(Scalar::Text, split(a, "regexp_split_to_array")?).into())
    }),
    set("regexp_split_to_table", &[TEXT, TEXT], TEXT, |_, a| split(a, "regexp_split_to_table")),
    set("regexp_split_to_table", &[TEXT, TEXT, TEXT], TEXT, |_, a| split(a, "regexp_split_to_table")),
];

/// Work of a search beside the bytes that it passes.
const SEARCH: usize = 128;

/// Shows the matches from a byte on until `visit` breaks.
fn each_match<'t>(
    regex: &Pattern,
    text: &'t str,
    from: usize,
    mut visit: impl FnMut(Groups<'t>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut at = from;
    while at <= text.len()
        && let Some(found) = regex.find_at(text, at)?
    {
        let whole = found.whole();
        interrupt::work(SEARCH + whole.end - at)?;
        if visit(found)?.is_break() {
            break;
        }
        // After an empty match, on to the next character.
        at = if whole.is_empty() {
            whole.end + text[whole.end..].chars().next().map_or(1, char::len_utf8)
        } else {
            whole.end
        };
    }
    Ok(())
}

/// The match of this number, from 1.
fn nth_match<'t>(regex: &Pattern, text: &'t str, from: usize, wanted: usize) -> Result<Option<Groups<'t>>> {
    let (mut number, mut found) = (0, None);
    each_match(regex, text, from, |groups| {
        number += 1;
        if number < wanted {
            return Ok(ControlFlow::Continue(()));
        }
        found = Some(groups);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// The first group, or the whole match if there are no groups.
fn first_part(regex: &Pattern, text: &str) -> Result<Datum> {
    let Some(found) = regex.find_at(text, 0)? else { return Ok(Datum::Null) };
    Ok(found.get(usize::from(found.len() > 1)).map(str::to_owned).into())
}

/// The groups as an array of texts; the whole match if there are none.
fn groups(found: &Groups<'_>) -> Datum {
    let first = usize::from(found.len() > 1);
    let groups = (first..found.len()).map(|group| found.get(group).map(str::to_owned).into());
    Array::new(Scalar::Text, groups.collect()).into()
}

/// The flags at a place, without `g`, which the function does not take.
fn options(a: &[Datum], at: usize, function: &str, hint: Option<&str>) -> Result<Options> {
    let options = a.optional_text(at)?.map_or(Ok(Options::default()), Options::parse)?;
    if !options.global {
        return Ok(options);
    }
    let error = invalid(format!("{function}() does not support the \"global\" option"));
    Err(match hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

/// The byte at which the search starts, by a character's number from 1.
fn start(a: &[Datum], at: usize) -> Result<usize> {
    if a.len() <= at {
        return Ok(0);
    }
    let start = a.int4(at)?;
    if start <= 0 {
        return Err(invalid(format!("invalid value for parameter \"start\": {start}")));
    }
    Ok(offset(a.text(0)?, start as usize - 1))
}

/// Which match counts; `None` for all of them.
fn occurrence(a: &[Datum], at: usize) -> Result<Option<usize>> {
    let number = a.int4(at)?;
    let number =
        usize::try_from(number).map_err(|_| invalid(format!("invalid value for parameter \"n\": {number}")))?;
    Ok((number > 0).then_some(number))
}

fn regexp_like(a: &[Datum]) -> Result<Datum> {
    let options = options(a, 2, "regexp_like", None)?;
    Ok(compiled(a.text(1)?, options)?.is_match(a.text(0)?)?.into())
}

fn regexp_count(a: &[Datum]) -> Result<Datum> {
    let options = options(a, 3, "regexp_count", None)?;
    let mut found = 0;
    each_match(&*compiled(a.text(1)?, options)?, a.text(0)?, start(a, 2)?, |_| {
        found += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    count(found)
}

fn regexp_substr(a: &[Datum]) -> Result<Datum> {
    let wanted = if a.len() > 3 { a.int4(3)? } else { 1 };
    let at = usize::try_from(wanted).ok().filter(|wanted| *wanted > 0);
    let at = at.ok_or_else(|| invalid(format!("invalid value for parameter \"n\": {wanted}")))?;
    let found = nth_match(&*compiled(a.text(1)?, Options::default())?, a.text(0)?, start(a, 2)?, at)?;
    Ok(found.and_then(|found| found.get(0)).map(str::to_owned).into())
}

fn regexp_match(a: &[Datum]) -> Result<Datum> {
    let options = options(a, 2, "regexp_match", Some("Use the regexp_matches function instead."))?;
    let found = nth_match(&*compiled(a.text(1)?, options)?, a.text(0)?, 0, 1)?;
    Ok(found.as_ref().map_or(Datum::Null, groups))
}

fn regexp_matches(a: &[Datum]) -> Result<Vec<Datum>> {
    let options = a.optional_text(2)?.map_or(Ok(Options::default()), Options::parse)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    each_match(&*compiled(a.text(1)?, options)?, a.text(0)?, 0, |found| {
        rows.push(groups(&found));
        bytes += (found.len() + 2) * size_of::<Datum>() + found.whole().len();
        check_length(bytes)?;
        Ok(if options.global { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(rows)
}

/// Replaces the match of this number, or all, from a byte on.
fn replace(a: &[Datum], options: Options, from: usize, wanted: Option<usize>) -> Result<Datum> {
    let (text, replacement) = (a.text(0)?, a.text(2)?);
    let regex = compiled(a.text(1)?, options)?;
    let mut out = String::new();
    let mut copied = 0;
    let mut number = 0;
    each_match(&regex, text, from, |found| {
        let whole = found.whole();
        number += 1;
        if wanted.is_some_and(|wanted| wanted != number) {
            return Ok(ControlFlow::Continue(()));
        }
        out.push_str(&text[copied..whole.start]);
        push_replacement(&mut out, replacement, &found);
        check_length(out.len())?;
        copied = whole.end;
        Ok(if wanted.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    out.push_str(&text[copied..]);
    Ok(out.into())
}

/// `\1` is the first group, `\&` the whole match, `\\` a backslash.
fn push_replacement(out: &mut String, replacement: &str, found: &Groups<'_>) {
    let mut rest = replacement.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('&') => out.push_str(found.get(0).unwrap_or_default()),
            Some(digit @ '1'..='9') => {
                let group = digit.to_digit(10).and_then(|digit| found.get(digit as usize));
                out.push_str(group.unwrap_or_default());
            }
            Some('\\') | None => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
        }
    }
}

/// The texts between matches; empty matches at the ends, or right behind another, separate nothing.
fn split(a: &[Datum], function: &str) -> Result<Vec<Datum>> {
    let options = options(a, 2, function, None)?;
    let text = a.text(0)?;
    let mut parts: Vec<Datum> = Vec::new();
    let mut from = 0;
    each_match(&*compiled(a.text(1)?, options)?, text, 0, |found| {
        let whole = found.whole();
        if whole.start < text.len() && whole.end > from {
            parts.push(text[from..whole.start].into());
            check_length(parts.len().saturating_mul(size_of::<Datum>()))?;
            from = whole.end;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    parts.push(text[from..].into());
    Ok(parts)
}

/// Regular expression of a SIMILAR TO pattern: anchored, `%` any text, `_` any character, the rest unchanged.
fn similar_to_regex(pattern: &str, escape: &str) -> Result<String> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(Error::new("22019", "invalid escape string").hint("Escape string must be empty or one character."));
    }
    let mut out = String::from("^(?:");
    let (mut escaped, mut in_bracket, mut separators) = (false, false, 0);
    for c in pattern.chars() {
        if escaped {
            if c == '"' && !in_bracket {
                out.push_str(separator(separators)?);
                separators += 1;
            } else {
                out.push('\\');
                out.push(c);
            }
            escaped = false;
            continue;
        }
        match c {
            c if Some(c) == escape => escaped = true,
            ']' if in_bracket => {
                out.push(c);
                in_bracket = false;
            }
            '\\' => out.push_str("\\\\"),
            c if in_bracket => out.push(c),
            '[' => {
                out.push(c);
                in_bracket = true;
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '.' | '^' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// Regular expression for the first and the second escaped quote of `substring(... similar ...)`; the result lies between them.
fn separator(before: usize) -> Result<&'static str> {
    match before {
        0 => Ok(")("),
        1 => Ok(")(?:"),
        _ => {
            let message = "SQL regular expression may not contain more than two escape-double-quote separators";
            Err(Error::new("2200C", message))
        }
    }
}

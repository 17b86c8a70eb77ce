//! LIKE, ILIKE and their negations.

use super::super::arguments::Arguments;
use super::super::table::*;
use super::basic::lower;
use crate::interrupt;

macro_rules! operator {
    ($symbol:literal, $left:expr, $matches:expr, $wanted:literal) => {
        pure($symbol, &[$left, TEXT], BOOL, |a| {
            let matches: fn(&str, &str) -> Result<bool> = $matches;
            Ok(Datum::Bool(matches(a.text(0)?, a.text(1)?)? == $wanted))
        })
    };
}

/// The functions and operators. `character(n)` is matched with its blanks.
pub(super) static FUNCTIONS: &[Function] = &[
    operator!("~~", TEXT, like, true),
    operator!("!~~", TEXT, like, false),
    operator!("~~*", TEXT, like_caseless, true),
    operator!("!~~*", TEXT, like_caseless, false),
    operator!("~~", BPCHAR, like, true),
    operator!("!~~", BPCHAR, like, false),
    operator!("~~*", BPCHAR, like_caseless, true),
    operator!("!~~*", BPCHAR, like_caseless, false),
    operator!("~~", NAME, like, true),
    operator!("!~~", NAME, like, false),
    operator!("~~*", NAME, like_caseless, true),
    operator!("!~~*", NAME, like_caseless, false),
    operator!("like", TEXT, like, true),
    operator!("notlike", TEXT, like, false),
    pure("like_escape", &[TEXT, TEXT], TEXT, |a| like_escape(a.text(0)?, a.text(1)?)),
];

fn like_caseless(text: &str, pattern: &str) -> Result<bool> {
    like(&lower(text)?, &lower(pattern)?)
}

/// Matches from the left; where a character fails, the last `%` takes one character more.
fn like(text: &str, pattern: &str) -> Result<bool> {
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let mut ahead = pattern.clone();
        let matched = match ahead.next() {
            Some('%') => {
                pattern = ahead;
                if pattern.as_str().is_empty() {
                    return Ok(true);
                }
                retry = Some((text.clone(), pattern.clone()));
                continue;
            }
            None if text.as_str().is_empty() => return Ok(true),
            None => false,
            // At the end of the text the rest of the pattern is not examined.
            _ if text.as_str().is_empty() => false,
            Some('_') => text.next().is_some(),
            Some('\\') => {
                let literal = ahead.next().ok_or_else(|| {
                    Error::new(state::INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
                })?;
                text.next() == Some(literal)
            }
            Some(literal) => text.next() == Some(literal),
        };
        if matched {
            pattern = ahead;
            continue;
        }
        let Some((from, after)) = &mut retry else { return Ok(false) };
        // Long runs that match and then fail make this quadratic.
        interrupt::work(1 + after.as_str().len() - pattern.as_str().len())?;
        if from.next().is_none() {
            return Ok(false);
        }
        (text, pattern) = (from.clone(), after.clone());
    }
}

/// The pattern with a backslash where it has another escape character.
fn like_escape(pattern: &str, escape: &str) -> Result<Datum> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(Error::new(state::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .hint("Escape string must be empty or one character."));
    }
    let mut out = String::with_capacity(pattern.len());
    let mut after_escape = false;
    for c in pattern.chars() {
        match c {
            c if Some(c) == escape && !after_escape => {
                out.push('\\');
                after_escape = true;
                continue;
            }
            '\\' if escape != Some('\\') && !after_escape => out.push_str("\\\\"),
            c => out.push(c),
        }
        after_escape = false;
    }
    Ok(out.into())
}

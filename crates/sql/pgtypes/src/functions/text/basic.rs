//! Lengths, case, trimming, replacing.

use super::super::arguments::{Arguments, check_length, count, invalid};
use super::super::table::*;
use crate::interrupt::{repeated, text_pieces, work};
use std::collections::HashMap;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("length", &[TEXT], INT4, |a| count(a.text(0)?.chars().count())),
    pure("length", &[BPCHAR], INT4, |a| count(a.text(0)?.trim_end_matches(' ').chars().count())),
    pure("char_length", &[TEXT], INT4, |a| count(a.text(0)?.chars().count())),
    pure("character_length", &[TEXT], INT4, |a| count(a.text(0)?.chars().count())),
    pure("char_length", &[BPCHAR], INT4, |a| count(a.text(0)?.trim_end_matches(' ').chars().count())),
    pure("character_length", &[BPCHAR], INT4, |a| count(a.text(0)?.trim_end_matches(' ').chars().count())),
    pure("octet_length", &[TEXT], INT4, |a| count(a.text(0)?.len())),
    pure("octet_length", &[BPCHAR], INT4, |a| count(a.text(0)?.len())),
    pure("bit_length", &[TEXT], INT4, |a| count(a.text(0)?.len().saturating_mul(8))),
    pure("lower", &[TEXT], TEXT, |a| Ok(lower(a.text(0)?)?.into())),
    pure("upper", &[TEXT], TEXT, |a| Ok(upper(a.text(0)?)?.into())),
    pure("initcap", &[TEXT], TEXT, |a| Ok(capitalized(a.text(0)?)?.into())),
    pure("btrim", &[TEXT], TEXT, |a| Ok(a.text(0)?.trim_matches(' ').into())),
    pure("ltrim", &[TEXT], TEXT, |a| Ok(a.text(0)?.trim_start_matches(' ').into())),
    pure("rtrim", &[TEXT], TEXT, |a| Ok(a.text(0)?.trim_end_matches(' ').into())),
    pure("btrim", &[TEXT, TEXT], TEXT, |a| Ok(a.text(0)?.trim_matches(any_of(a.text(1)?)).into())),
    pure("ltrim", &[TEXT, TEXT], TEXT, |a| Ok(a.text(0)?.trim_start_matches(any_of(a.text(1)?)).into())),
    pure("rtrim", &[TEXT, TEXT], TEXT, |a| Ok(a.text(0)?.trim_end_matches(any_of(a.text(1)?)).into())),
    pure("replace", &[TEXT, TEXT, TEXT], TEXT, replace),
    pure("translate", &[TEXT, TEXT, TEXT], TEXT, translate),
    pure("repeat", &[TEXT, INT4], TEXT, |a| {
        let (text, times) = (a.text(0)?, usize::try_from(a.int4(1)?).unwrap_or(0));
        check_length(text.len().saturating_mul(times))?;
        Ok(repeated(text, times)?.into())
    }),
    pure("reverse", &[TEXT], TEXT, |a| reverse(a.text(0)?)),
    pure("ascii", &[TEXT], INT4, |a| Ok(Datum::Int4(a.text(0)?.chars().next().map_or(0, |c| u32::from(c) as i32)))),
    pure("chr", &[INT4], TEXT, |a| chr(a.int4(0)?)),
    pure("starts_with", &[TEXT, TEXT], BOOL, |a| Ok(a.text(0)?.starts_with(a.text(1)?).into())),
    pure("^@", &[TEXT, TEXT], BOOL, |a| Ok(a.text(0)?.starts_with(a.text(1)?).into())),
];

/// Cost of a character that is mapped, a byte.
const MAPPING: usize = 4;

/// Maps each character to one or none.
fn mapped(text: &str, mut map: impl FnMut(char) -> Option<char>) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    for piece in text_pieces(text, MAPPING) {
        out.extend(piece?.chars().filter_map(&mut map));
    }
    Ok(out)
}

/// Maps each character to one. A character that Unicode maps to several stays unchanged, as under the operating system's rules.
fn one_to_one(text: &str, ascii: fn(&str) -> String, map: impl Fn(char) -> char) -> Result<String> {
    if text.is_ascii() { Ok(ascii(text)) } else { mapped(text, |c| Some(map(c))) }
}

fn reverse(text: &str) -> Result<Datum> {
    let pieces = text_pieces(text, MAPPING).collect::<Result<Vec<&str>>>()?;
    let mut out = String::with_capacity(text.len());
    for piece in pieces.into_iter().rev() {
        work(piece.len() * MAPPING)?;
        out.extend(piece.chars().rev());
    }
    Ok(out.into())
}

fn lower_char(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

fn upper_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(only), None) => only,
        _ => c,
    }
}

/// `lower(text)`
pub(super) fn lower(text: &str) -> Result<String> {
    one_to_one(text, str::to_ascii_lowercase, lower_char)
}

fn upper(text: &str) -> Result<String> {
    one_to_one(text, str::to_ascii_uppercase, upper_char)
}

fn capitalized(text: &str) -> Result<String> {
    let mut inside = false;
    let mut next = |c: char| {
        let mapped = if inside { lower_char(c) } else { upper_char(c) };
        inside = c.is_alphanumeric();
        mapped
    };
    mapped(text, |c| Some(next(c)))
}

fn any_of(characters: &str) -> impl Fn(char) -> bool + Copy + '_ {
    move |c| characters.contains(c)
}

/// Cost of a place that is replaced.
const REPLACING: usize = 32;

fn replace(a: &[Datum]) -> Result<Datum> {
    let (text, from, to) = (a.text(0)?, a.text(1)?, a.text(2)?);
    if from.is_empty() {
        return Ok(a[0].clone());
    }
    if to.len() > from.len() {
        let growth = text.matches(from).count().saturating_mul(to.len() - from.len());
        check_length(text.len().saturating_add(growth))?;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Pieces of the pattern are not counted: a look for it is as fast as memory.
    while let Some(at) = rest.find(from) {
        work(at + REPLACING)?;
        out.push_str(&rest[..at]);
        out.push_str(to);
        rest = &rest[at + from.len()..];
    }
    out.push_str(rest);
    Ok(out.into())
}

fn translate(a: &[Datum]) -> Result<Datum> {
    let mut to = a.text(2)?.chars();
    let mut map = HashMap::new();
    for from in a.text(1)?.chars() {
        let target = to.next();
        map.entry(from).or_insert(target);
    }
    Ok(mapped(a.text(0)?, |c| map.get(&c).copied().unwrap_or(Some(c)))?.into())
}

fn chr(code: i32) -> Result<Datum> {
    if code == 0 {
        return Err(Error::new(state::PROGRAM_LIMIT_EXCEEDED, "null character not permitted"));
    }
    let Ok(code) = u32::try_from(code) else {
        return Err(invalid("character number must be positive"));
    };
    let character = char::from_u32(code).ok_or_else(|| {
        let what = if code > 0x10_FFFF { "too large for encoding" } else { "not valid for encoding" };
        Error::new(state::PROGRAM_LIMIT_EXCEEDED, format!("requested character {what}: {code}"))
    })?;
    Ok(Datum::Text(character.to_string().into()))
}

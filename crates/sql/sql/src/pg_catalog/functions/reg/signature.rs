//! Functions and operators with the types of their arguments: `regprocedure`, `regoperator`.

use super::find::{find_type, is_catalog, name_of, no_type, oid_of, operators, seeded, symbol};
use crate::catalog::Oid;
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::names;
use crate::pg_catalog::seed;
use crate::types::{Datum, Row};

/// The positions of the columns that are read here.
mod position {
    /// `pg_proc.proargtypes`
    pub(super) const ARGUMENTS: usize = 19;
    /// `pg_operator.oprleft`
    pub(super) const LEFT: usize = 7;
    /// `pg_operator.oprright`
    pub(super) const RIGHT: usize = 8;
}

/// Splits `name(type, type)`.
///
/// # Errors
/// 22P02 for missing parentheses.
fn split_signature(text: &str) -> Result<(&str, Vec<&str>)> {
    let malformed = |message| SqlError::new(state::INVALID_TEXT_REPRESENTATION, message);
    let open = outside_quotes(text, '(').next().ok_or_else(|| malformed("expected a left parenthesis"))?;
    let (name, rest) = (&text[..open], text[open + 1..].trim_end());
    let list = rest.strip_suffix(')').ok_or_else(|| malformed("expected a right parenthesis"))?;
    let mut types = Vec::new();
    let (mut from, mut depth) = (0, 0);
    for (at, character) in separators(list) {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => {
                types.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if !types.is_empty() || !list.trim().is_empty() {
        types.push(list[from..].trim());
    }
    Ok((name.trim(), types))
}

/// The places of a character outside of double quotes.
fn outside_quotes(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut quoted = false;
    text.char_indices().filter_map(move |(at, character)| {
        quoted ^= character == '"';
        (!quoted && character == wanted).then_some(at)
    })
}

/// Parentheses and commas outside of double quotes.
fn separators(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quoted = false;
    text.char_indices().filter(move |(_, character)| {
        quoted ^= *character == '"';
        !quoted && matches!(character, '(' | ')' | ',')
    })
}

fn types_named(names: &mut Names<'_>, types: &[&str], none: Option<Oid>) -> Result<Vec<Oid>> {
    let find = |text: &&str| match none {
        Some(none) if text.eq_ignore_ascii_case("none") => Ok(none),
        _ => find_type(names, text)?.ok_or_else(|| no_type(text)),
    };
    types.iter().map(find).collect()
}

pub(super) fn find_procedure(names: &mut Names<'_>, text: &str) -> Result<Option<Oid>> {
    let (name, types) = split_signature(text)?;
    let wanted = types_named(names, &types, None)?;
    let (schema, name) = names::relation_name(name)?;
    if !is_catalog(names, schema.as_deref())? {
        return Ok(None);
    }
    let is_meant = |row: &&'static Row| name_of(row) == Some(&name) && arguments(row).eq(wanted.iter().copied());
    Ok(seed::rows("pg_proc").iter().find(is_meant).and_then(oid_of))
}

fn arguments(row: &Row) -> impl Iterator<Item = Oid> {
    let types = row.get(position::ARGUMENTS).and_then(Datum::as_array).map_or(&[][..], |types| &types.elements);
    types.iter().filter_map(Datum::as_oid)
}

pub(super) fn no_procedure(text: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"))
}

pub(super) fn print_procedure(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    let Some(row) = seeded("pg_proc", oid) else { return Ok(None) };
    let name = names::quote(name_of(row).unwrap_or_default());
    let types = arguments(row).map(|data_type| names::print_type(names, data_type, None));
    Ok(Some(format!("{name}({})", types.collect::<Result<Vec<_>>>()?.join(","))))
}

pub(super) fn find_operator(names: &mut Names<'_>, text: &str) -> Result<Option<Oid>> {
    let (name, types) = split_signature(text)?;
    let wanted = match types_named(names, &types, Some(0))?[..] {
        [left, right] => [left, right],
        [_] => {
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, "missing argument")
                .hint("Use NONE to denote the missing argument of a unary operator."));
        }
        _ => {
            return Err(SqlError::new("54023", "too many arguments").hint("Provide two argument types for operator."));
        }
    };
    let Some(symbol) = symbol(names, name)? else { return Ok(None) };
    Ok(operators(symbol).find(|row| operands(row) == wanted).and_then(oid_of))
}

fn operands(row: &Row) -> [Oid; 2] {
    [position::LEFT, position::RIGHT].map(|at| row.get(at).and_then(Datum::as_oid).unwrap_or_default())
}

pub(super) fn print_operator(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    let Some(row) = seeded("pg_operator", oid) else { return Ok(None) };
    let mut print = |data_type| match data_type {
        0 => Ok("NONE".to_owned()),
        data_type => names::print_type(names, data_type, None),
    };
    let [left, right] = operands(row);
    Ok(Some(format!("{}({},{})", name_of(row).unwrap_or_default(), print(left)?, print(right)?)))
}

//! From an object's name to its identifier, and back.

use crate::bind;
use crate::catalog::Oid;
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::names::{self, PROCEDURES};
use crate::pg_catalog::{derived, seed, shared};
use crate::types::{Datum, Row};

pub(in super::super) fn find_class(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let (schema, name) = names::relation_name(name)?;
    names::find_relation(names, schema.as_deref(), &name)
}

pub(super) fn no_class(name: &str) -> SqlError {
    let name = names::split(name).map_or_else(|_| name.to_owned(), |parts| parts.join("."));
    SqlError::new(state::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

/// A type of SQL, a pseudo-type, or the type of a table's rows; with a modifier, which does not matter, or as an array.
pub(super) fn find_type(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let written = syntax::data_type(name)?;
    match bind::named_type(names, &written) {
        Ok(named) => return Ok(Some(named.domain.unwrap_or_else(|| named.data_type.oid()))),
        Err(error) if error.code() == state::UNDEFINED_OBJECT => {}
        Err(error) if error.code() == state::FEATURE_NOT_SUPPORTED => {}
        Err(error) => return Err(error),
    }
    let (element, is_array) =
        name.trim_end().strip_suffix("[]").map_or((name, false), |element| (element.trim_end(), true));
    let Ok((schema, bare)) = names::relation_name(element) else { return Ok(None) };
    if let (None | Some("pg_catalog"), false) = (schema.as_deref(), is_array)
        && let Some(pseudo) = named_row("pg_type", &bare)
    {
        return Ok(oid_of(pseudo));
    }
    let of_row = if is_array { derived::row_array } else { derived::row_type };
    Ok(names::find_relation(names, schema.as_deref(), &bare)?.map(of_row))
}

pub(super) fn no_type(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", name.trim()))
}

pub(super) fn print_type(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    let name = names::print_type(names, oid, None)?;
    Ok(Some(name).filter(|name| name != "???"))
}

/// A function of this name, if it is the only one.
pub(super) fn find_procedure(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let (schema, bare) = names::relation_name(name)?;
    if !is_catalog(names, schema.as_deref())? {
        return Ok(None);
    }
    match PROCEDURES.oids.get(bare.as_str()).map(Vec::as_slice) {
        None | Some([]) => Ok(None),
        Some([one]) => Ok(Some(*one)),
        Some(_) => Err(SqlError::new(state::AMBIGUOUS_FUNCTION, format!("more than one function named \"{name}\""))),
    }
}

pub(super) fn no_procedure(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_FUNCTION, format!("function \"{name}\" does not exist"))
}

pub(super) fn print_procedure(_: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    Ok(PROCEDURES.names.get(&oid).map(|name| {
        let alone = PROCEDURES.oids.get(name).is_some_and(|oids| oids.len() == 1);
        if alone { names::quote(name) } else { names::qualified("pg_catalog", name) }
    }))
}

/// Whether a schema is none or `pg_catalog`, the only one with functions, operators and collations.
///
/// # Errors
/// 3F000 for a schema that does not exist.
pub(super) fn is_catalog(names: &mut Names<'_>, schema: Option<&str>) -> Result<bool> {
    match schema {
        None | Some("pg_catalog") => Ok(true),
        Some(schema) if names.searched_namespace(schema)?.is_some() => Ok(false),
        Some(schema) => Err(names::no_schema(schema)),
    }
}

/// The schema, if any, and the symbol of an operator.
///
/// # Errors
/// 42602, 3F000.
pub(super) fn symbol<'t>(names: &mut Names<'_>, name: &'t str) -> Result<Option<&'t str>> {
    let (schema, symbol) = match name.trim().rsplit_once('.') {
        Some((schema, symbol)) => (Some(names::split(schema)?.join(".")), symbol),
        None => (None, name.trim()),
    };
    Ok(is_catalog(names, schema.as_deref())?.then_some(symbol.trim()))
}

/// The operators of a symbol.
pub(super) fn operators(symbol: &str) -> impl Iterator<Item = &'static Row> {
    seed::rows("pg_operator").iter().filter(move |row| name_of(row) == Some(symbol))
}

/// An operator of this symbol, if it is the only one.
pub(super) fn find_operator(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let Some(symbol) = symbol(names, name)? else { return Ok(None) };
    let mut all = operators(symbol);
    match (all.next(), all.next()) {
        (Some(_), Some(_)) => {
            Err(SqlError::new(state::AMBIGUOUS_FUNCTION, format!("more than one operator named {name}")))
        }
        (one, _) => Ok(one.and_then(oid_of)),
    }
}

pub(super) fn no_operator(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_FUNCTION, format!("operator does not exist: {name}"))
}

pub(super) fn print_operator(_: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    let Some(symbol) = seeded("pg_operator", oid).and_then(name_of) else { return Ok(None) };
    let is_alone = operators(symbol).nth(1).is_none();
    Ok(Some(if is_alone { symbol.to_owned() } else { format!("pg_catalog.{symbol}") }))
}

pub(super) fn find_namespace(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let name = names::split(name)?.join(".");
    if name == "pg_temp" {
        return Ok(None); // It qualifies names, and is none itself.
    }
    Ok(names.searched_namespace(&name)?.map(|namespace| namespace.oid))
}

pub(super) fn print_namespace(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    Ok(names::name_of_schema(names, oid)?.map(|name| names::quote(&name)))
}

pub(super) fn find_role(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    shared::role_oid(names, &names::split(name)?.join("."))
}

pub(super) fn no_role(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

pub(super) fn print_role(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    Ok(shared::role_name(names, oid)?.map(|name| names::quote(&name)))
}

pub(super) fn find_collation(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let (schema, bare) = names::relation_name(name)?;
    Ok(if is_catalog(names, schema.as_deref())? { named_row("pg_collation", &bare).and_then(oid_of) } else { None })
}

pub(super) fn no_collation(name: &str) -> SqlError {
    let name = names::split(name).map_or_else(|_| name.to_owned(), |parts| parts.join("."));
    let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

pub(super) fn print_collation(_: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    Ok(seeded("pg_collation", oid).and_then(name_of).map(names::quote))
}

/// The fixed row of a table with this name; names are the second column of all of them.
fn named_row(table: &str, name: &str) -> Option<&'static Row> {
    seed::rows(table).iter().find(|row| name_of(row) == Some(name))
}

/// The fixed row of a table with this identifier.
pub(super) fn seeded(table: &str, oid: Oid) -> Option<&'static Row> {
    seed::rows(table).iter().find(|row| oid_of(row) == Some(oid))
}

pub(super) fn name_of(row: &'static Row) -> Option<&'static str> {
    row.get(1).and_then(Datum::as_text)
}

pub(super) fn oid_of(row: &Row) -> Option<Oid> {
    row.first().and_then(Datum::as_oid)
}

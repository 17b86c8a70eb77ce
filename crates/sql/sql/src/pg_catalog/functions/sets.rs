//! Functions that return rows.

use super::argument_oid;
use crate::context::System;
use crate::error::Result;
use crate::pg_catalog::names::KEYWORDS;
use crate::pg_catalog::shared::role_oid;
use crate::types::Datum;

fn elements(argument: Option<&Datum>) -> impl Iterator<Item = &Datum> {
    argument.and_then(Datum::as_array).into_iter().flat_map(|array| &array.elements)
}

fn text(text: &str) -> Datum {
    Datum::Text(text.into())
}

/// `name=value` each.
pub(super) fn options(_: &mut System<'_>, arguments: &[Datum]) -> Result<Vec<Datum>> {
    let options = elements(arguments.first()).filter_map(Datum::as_text);
    Ok(options
        .map(|option| {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            Datum::record([text(name), value.map_or(Datum::Null, text)])
        })
        .collect())
}

pub(super) fn keywords(_: &mut System<'_>, _: &[Datum]) -> Result<Vec<Datum>> {
    let row = |keyword: &crate::pg_catalog::names::Keyword| {
        let category = match keyword.category {
            "U" => "unreserved",
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            _ => "reserved",
        };
        let label = if keyword.bare_label { "can be bare label" } else { "requires AS" };
        let columns =
            [text(keyword.word), text(keyword.category), Datum::Bool(keyword.bare_label), text(category), text(label)];
        Datum::record(columns)
    };
    Ok(KEYWORDS.iter().map(row).collect())
}

/// The rows of `pg_settings`.
pub(super) fn all_settings(system: &mut System<'_>, _: &[Datum]) -> Result<Vec<Datum>> {
    let rows = crate::pg_catalog::sessions::settings(system)?;
    Ok(rows.into_iter().map(Datum::record).collect())
}

/// What CREATE EXTENSION accepts.
pub(super) fn available_extensions(_: &mut System<'_>, _: &[Datum]) -> Result<Vec<Datum>> {
    Ok(crate::pg_catalog::extensions::described().map(Datum::record).collect())
}

/// Each element with its number from 1, as `information_schema._pg_expandarray` does with arrays.
pub(super) fn expand_vector(_: &mut System<'_>, arguments: &[Datum]) -> Result<Vec<Datum>> {
    let numbered = elements(arguments.first()).zip(1..);
    Ok(numbered.map(|(element, number)| Datum::record([element.clone(), Datum::Int4(number)])).collect())
}

/// How a sequence counts.
pub(super) fn sequence_parameters(system: &mut System<'_>, arguments: &[Datum]) -> Result<Vec<Datum>> {
    let sequence = crate::catalog::sequence::definition(&mut system.names(), argument_oid(arguments, 0))?;
    let columns = [
        Datum::Int8(sequence.start),
        Datum::Int8(sequence.min),
        Datum::Int8(sequence.max),
        Datum::Int8(sequence.increment),
        Datum::Bool(sequence.cycle),
        Datum::Int8(sequence.cache),
        Datum::Oid(sequence.data_type.oid()),
    ];
    Ok(vec![Datum::record(columns)])
}

/// No table is a partition, and none is partitioned.
pub(super) fn no_partitions(_: &mut System<'_>, _: &[Datum]) -> Result<Vec<Datum>> {
    Ok(Vec::new())
}

/// The letters of privileges, and their names.
pub(super) const PRIVILEGES: &[(char, &str)] = &[
    ('r', "SELECT"),
    ('a', "INSERT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('c', "CONNECT"),
    ('T', "TEMPORARY"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

/// The privileges of items such as `postgres=arwd*/postgres`: `*` is the right to grant the one before.
pub(super) fn explode_privileges(system: &mut System<'_>, arguments: &[Datum]) -> Result<Vec<Datum>> {
    let mut rows = Vec::new();
    for item in elements(arguments.first()).filter_map(Datum::as_text) {
        let Some((grantee, (privileges, grantor))) =
            item.split_once('=').and_then(|(grantee, rest)| Some((grantee, rest.split_once('/')?)))
        else {
            continue;
        };
        let mut letters = privileges.chars().peekable();
        while let Some(letter) = letters.next() {
            let grantable = letters.next_if_eq(&'*').is_some();
            if let Some((_, name)) = PRIVILEGES.iter().find(|(known, _)| *known == letter) {
                let row = [role(system, grantor)?, role(system, grantee)?, text(name), Datum::Bool(grantable)];
                rows.push(Datum::record(row));
            }
        }
    }
    Ok(rows)
}

/// The role of a name; 0 is everybody.
fn role(system: &mut System<'_>, name: &str) -> Result<Datum> {
    Ok(Datum::Oid(role_oid(&mut system.names(), name)?.unwrap_or_default()))
}

//! Roles, encodings, comments, other sessions.

use super::{argument_int, argument_oid, argument_text, optional};
use crate::context::{Names, System};
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::names;
use crate::pg_catalog::shared::role_name;
use crate::types::{Array, Datum, Encoding, Scalar};
use std::sync::Arc;

/// Of kinds of objects of which there are none, and of what is not recorded.
pub(super) fn null(_: &[Datum]) -> Result<Datum> {
    Ok(Datum::Null)
}

/// Of a standby server.
pub(super) fn no_recovery(_: &[Datum]) -> Result<Datum> {
    let message = "recovery is not in progress";
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .hint("Recovery control functions can only be executed during recovery."))
}

/// Of properties that nothing has.
pub(super) fn no(_: &[Datum]) -> Result<Datum> {
    Ok(Datum::Bool(false))
}

pub(super) fn user_by_id(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    optional(Some(role_name(names, oid)?.unwrap_or_else(|| format!("unknown (OID={oid})"))))
}

fn encoding_numbered(arguments: &[Datum]) -> Option<Encoding> {
    argument_int(arguments, 0).and_then(|number| Encoding::from_number(i32::try_from(number).ok()?))
}

pub(super) fn encoding_name(arguments: &[Datum]) -> Result<Datum> {
    Ok(encoding_numbered(arguments).map_or("", Encoding::name).into())
}

pub(super) fn encoding_longest_character(arguments: &[Datum]) -> Result<Datum> {
    Ok(encoding_numbered(arguments).map_or(Datum::Null, |encoding| Datum::Int4(encoding.longest_character())))
}

pub(super) fn encoding_number(arguments: &[Datum]) -> Result<Datum> {
    Ok(Datum::Int4(Encoding::named(argument_text(arguments, 0)).map_or(-1, Encoding::number)))
}

/// Everything is in the database's own directory, which prints as nothing.
pub(super) fn tablespace_location(_: &[Datum]) -> Result<Datum> {
    Ok(Datum::Text("".into()))
}

/// The comment on an object that the databases share, by its catalog's name.
pub(super) fn shared_description(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    crate::pg_catalog::shared::comment(names, argument_oid(arguments, 0), argument_text(arguments, 1))
}

/// The comment on an object; the catalog's name narrows it down.
pub(super) fn object_description(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let class = match arguments.get(1).and_then(Datum::as_text) {
        Some(class) => match names::find_relation(names, Some("pg_catalog"), class)? {
            Some(class) => Some(class),
            None => return Ok(Datum::Null),
        },
        None => None,
    };
    description(names, argument_oid(arguments, 0), class, 0)
}

pub(super) fn column_description(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let column = argument_int(arguments, 1).unwrap_or_default();
    let class = crate::pg_catalog::relations::class::PG_CLASS;
    description(names, argument_oid(arguments, 0), Some(class), column)
}

fn description(names: &mut Names<'_>, object: u32, class: Option<u32>, column: i64) -> Result<Datum> {
    crate::pg_catalog::comments::find(names, object, class, column)
}

/// What an owner may do with an object of a kind without anybody having been granted anything.
pub(super) fn default_privileges(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let owner = role_name(names, argument_oid(arguments, 1))?.unwrap_or_default();
    let (everybody, own) = match argument_text(arguments, 0) {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "n" => ("", "UC"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        "L" => ("", "rw"),
        "p" => ("", "sA"),
        _ => return Ok(Datum::Null),
    };
    let item = |grantee: &str, letters: &str| {
        (!letters.is_empty()).then(|| Datum::Text(format!("{grantee}={letters}/{owner}").into()))
    };
    let elements = [item("", everybody), item(&owner, own)].into_iter().flatten().collect();
    Ok(Datum::Array(Arc::new(Array { element: Scalar::AclItem, lower_bound: 1, elements })))
}

/// The sessions that one waits for.
pub(super) fn blocking_processes(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    let blocking = system.database().blockers(process(arguments));
    let elements = blocking.into_iter().map(Datum::Int4).collect();
    Ok(Datum::Array(Arc::new(Array { element: Scalar::Int4, lower_bound: 1, elements })))
}

/// When the server began to take sessions.
pub(super) fn start_time(system: &mut System<'_>, _: &[Datum]) -> Result<Datum> {
    Ok(Datum::Timestamptz(system.sessions().since()))
}

/// Stops what another session runs.
pub(super) fn cancel_backend(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    let process = process(arguments);
    let found = system.sessions().cancel_backend(process);
    Ok(reached(system, process, found))
}

/// Ends another session. Whether it has ended in so many milliseconds is not waited for.
pub(super) fn terminate_backend(system: &mut System<'_>, arguments: &[Datum]) -> Result<Datum> {
    let process = process(arguments);
    let found = system.sessions().terminate_backend(process);
    Ok(reached(system, process, found))
}

fn process(arguments: &[Datum]) -> i32 {
    argument_int(arguments, 0).and_then(|process| i32::try_from(process).ok()).unwrap_or_default()
}

fn reached(system: &mut System<'_>, process: i32, found: bool) -> Datum {
    if !found {
        let message = format!("PID {process} is not a PostgreSQL server process");
        system.notice(SqlError::new(state::WARNING, message));
    }
    Datum::Bool(found)
}

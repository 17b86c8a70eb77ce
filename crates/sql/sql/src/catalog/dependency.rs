//! Which relation's definition names which other one: views what they read, defaults the sequences that they call. Foreign
//! keys and indexes stand in the tables' definitions.

use super::Oid;
use crate::context::Context;
use crate::error::Result;
use model::{Key, RowRef, Scan};
use std::ops::ControlFlow;

/// Keys say who depends on a relation, ...
const DEPENDENTS: &[u8] = b"d";
/// ... and, the other way round, on what a relation depends.
const DEPENDS_ON: &[u8] = b"u";

fn half_key(direction: &[u8], of: Oid) -> Key {
    let mut key = Key::from_bytes(direction);
    key.push_raw(&of.to_be_bytes());
    key
}

fn key(direction: &[u8], of: Oid, other: Oid) -> Key {
    let mut key = half_key(direction, of);
    key.push_raw(&other.to_be_bytes());
    key
}

/// Notes that a relation depends on others.
///
/// # Errors
/// The engine's.
pub(crate) fn depend(context: &mut Context<'_>, dependent: Oid, on: impl IntoIterator<Item = Oid>) -> Result<()> {
    let table = context.database.cache.table();
    for on in on {
        context.transaction.put(table, &key(DEPENDENTS, on, dependent), RowRef::new(&[]))?;
        context.transaction.put(table, &key(DEPENDS_ON, dependent, on), RowRef::new(&[]))?;
    }
    Ok(())
}

/// The relations that depend on a relation, oldest first.
///
/// # Errors
/// The engine's.
pub(crate) fn dependents(context: &mut Context<'_>, on: Oid) -> Result<Vec<Oid>> {
    others(context, DEPENDENTS, on)
}

/// Forgets on what a relation depends.
///
/// # Errors
/// The engine's.
pub(crate) fn forget_dependencies(context: &mut Context<'_>, dependent: Oid) -> Result<()> {
    let table = context.database.cache.table();
    for on in others(context, DEPENDS_ON, dependent)? {
        context.transaction.delete(table, &key(DEPENDENTS, on, dependent))?;
        context.transaction.delete(table, &key(DEPENDS_ON, dependent, on))?;
    }
    Ok(())
}

fn others(context: &mut Context<'_>, direction: &[u8], of: Oid) -> Result<Vec<Oid>> {
    let prefix = half_key(direction, of);
    let mut found = Vec::new();
    let scan = Scan::table(context.database.cache.table()).prefix(prefix.clone());
    context.transaction.scan(&scan, &mut |item| {
        let other = item.key.strip_prefix(&*prefix).and_then(|rest| rest.try_into().ok());
        found.extend(other.map(Oid::from_be_bytes));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

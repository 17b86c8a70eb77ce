//! Definitions: CREATE, ALTER, DROP, TRUNCATE. Each is part of the transaction that says it: it writes the catalog's rows
//! and those of the tables as every statement does, so whatever rolls those back rolls it back.
//!
//! Each file interprets a statement's syntax; the floor below, [`alter`](crate::alter), makes the changes.

mod accepted;
mod alter;
mod alter_sequence;
mod alter_table;
mod column;
mod comment;
mod composite;
mod constraint;
mod create_table;
pub(crate) mod database;
mod defined_type;
mod domain;
mod drop;
mod extension;
mod foreign_key;
mod index;
mod like;
mod owned;
mod role;
mod schema;
mod sequence;
mod table_as;
mod truncate;
mod view;
mod view_query;

use crate::bind::name::check_database;
use crate::context::Change;
use crate::context::NameLookup;
use crate::error::{Result, SqlError, state};
use syntax::ast::{Definition, ObjectName};

/// Runs a definition. Returns its tag (`CREATE TABLE`). Notices (`table "x" does not exist, skipping`) are pushed.
///
/// # Errors
/// 42P07, 42P01, 42701, 2BP01 and the like, errors of the engine.
pub fn run(change: &mut Change<'_>, definition: &Definition, notices: &mut Vec<SqlError>) -> Result<String> {
    for name in named(definition) {
        check_database(name, change.names().database_name())?;
    }
    match definition {
        Definition::CreateTable(create) => create_table::run(change, create, notices)?,
        Definition::CreateTableAs(create) => return table_as::run(change, create, notices),
        Definition::CreateIndex(create) => index::create(change, create, notices)?,
        Definition::CreateView(create) => view::create(change, create)?,
        Definition::CreateSequence(create) => sequence::create(change, create, notices)?,
        Definition::CreateSchema(create) => schema::create(change, create, notices)?,
        Definition::CreateExtension(create) => extension::create(change, create, notices)?,
        Definition::AlterDatabase(alter) => database::alter(change, alter)?,
        Definition::CreateDatabase(_) | Definition::DropDatabase(_) => {
            return Err(SqlError::new(state::INTERNAL_ERROR, "the session makes and drops databases"));
        }
        Definition::CreateType(create) => defined_type::create(change, create)?,
        Definition::CreateRole(create) => role::create(change, create, notices)?,
        Definition::AlterRole(alter) => role::alter(change, alter, notices)?,
        Definition::DropRole(drop) => role::drop(change, drop, notices)?,
        Definition::Membership(membership) => role::membership(change, membership, notices)?,
        Definition::Owned(owned) => owned::run(change, owned, notices)?,
        Definition::CreateDomain(create) => domain::create(change, create)?,
        Definition::Alter(alter) => alter::run(change, alter, notices)?,
        Definition::Drop(drop) => drop::run(change, drop, notices)?,
        Definition::Truncate(truncate) => truncate::run(change, truncate, notices)?,
        Definition::Comment(comment) => comment::run(change, comment)?,
        Definition::Privileges(privileges) => accepted::privileges(change, privileges, notices)?,
        Definition::Lock(lock) => accepted::lock(change, lock)?,
        Definition::Maintenance(maintenance) => accepted::maintenance(&mut change.names(), maintenance, notices)?,
    }
    Ok(definition.tag())
}

/// The relations that a definition names first, and may name with their database.
fn named(definition: &Definition) -> &[ObjectName] {
    use std::slice::from_ref;
    match definition {
        Definition::CreateTable(create) => from_ref(&create.name),
        Definition::CreateTableAs(create) => from_ref(&create.name),
        Definition::CreateIndex(create) => from_ref(&create.table),
        Definition::CreateView(create) => from_ref(&create.name),
        Definition::CreateSequence(create) => from_ref(&create.name),
        Definition::Alter(alter) => from_ref(&alter.name),
        Definition::Drop(drop) => &drop.names,
        Definition::Truncate(truncate) => &truncate.names,
        Definition::Lock(lock) => &lock.names,
        Definition::Maintenance(maintenance) => &maintenance.names,
        _ => &[],
    }
}

//! The engine tables that definitions name: made at once, outside any transaction, under names that nobody had before, and
//! hidden until a definition that names them is committed. What no definition names in the end is dropped.

use super::change::{delete_relation, remove_relation};
use super::{Cache, Column, KeyForm, Oid, Relation, Storage};
use crate::context::Context;
use crate::database::Database;
use crate::definition::cache::{all_relations, relations_of};
use crate::env::{State, TouchedStorage};
use crate::error::Result;
use crate::storage::column_type;
use crate::store::{Store, independently};
use model::{Mode, Schema, SchemaBuilder};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the names of these engine tables start with. The number of the relation and a fresh number follow: `sql 16384.3`.
const PREFIX: &str = "sql ";
/// What the schemas of temporary relations start with.
pub(crate) const TEMPORARY: &str = "pg_temp_";

/// Makes an engine table for the rows of a relation.
///
/// # Errors
/// The engine's.
pub(crate) fn create_row_storage(
    context: &mut Context<'_>,
    relation: Oid,
    columns: &[Column],
    key: KeyForm,
) -> Result<Storage> {
    let name = fresh_name(context, relation)?;
    // The engine has no typed rows without columns.
    let start = if columns.is_empty() { Schema::bytes(name) } else { Schema::table(name) };
    let named = columns.iter().enumerate();
    let schema =
        named.fold(start, |schema, (at, column)| schema.nullable(at.to_string(), column_type(column.data_type)));
    create(context, relation, schema, key)
}

/// Makes an engine table for the entries of an index.
///
/// # Errors
/// The engine's.
pub(crate) fn create_index_storage(context: &mut Context<'_>, relation: Oid) -> Result<Storage> {
    let name = fresh_name(context, relation)?;
    create(context, relation, Schema::bytes(name), KeyForm::Columns)
}

fn fresh_name(context: &Context<'_>, relation: Oid) -> Result<String> {
    Ok(format!("{PREFIX}{relation}.{}", context.database.sequences.fresh_version()?))
}

fn create(context: &mut Context<'_>, relation: Oid, schema: SchemaBuilder, key: KeyForm) -> Result<Storage> {
    let schema = match key {
        KeyForm::RowNumber | KeyForm::Eight => schema.u64_key(),
        KeyForm::Columns => schema,
    };
    let table = context.database.store.create_table(schema.build().map_err(model::Error::from)?)?.0;
    context.session.touched_storage.push(TouchedStorage { relation, table });
    Ok(Storage { table, key })
}

/// Notes that a relation's definition does not name this storage any more.
pub(crate) fn leave_storage(context: &mut Context<'_>, relation: Oid, storage: Storage) {
    context.session.touched_storage.push(TouchedStorage { relation, table: storage.table });
}

/// The relation that an engine table was made for, by the table's name.
pub(crate) fn relation_of(engine_table: &str) -> Option<Oid> {
    let (relation, number) = engine_table.strip_prefix(PREFIX)?.split_once('.')?;
    number.parse::<u64>().ok()?;
    relation.parse().ok()
}

/// Drops what the committed transaction's definitions left.
pub fn after_commit(database: &Arc<Database>, session: &mut State) {
    settle(database, session);
}

/// Drops what the definitions of a transaction that was rolled back had made.
pub fn forget_created(database: &Arc<Database>, session: &mut State) {
    settle(database, session);
}

/// Drops the touched engine tables that no definition names, now that the transaction is over. Savepoints that were rolled
/// back need no bookkeeping of their own: the catalog says what became of each.
///
/// A failure leaves the tables for the next time that the database is opened.
fn settle(database: &Database, session: &mut State) {
    let touched = std::mem::take(&mut session.touched_storage);
    if touched.is_empty() {
        return;
    }
    let Ok(unnamed) = unnamed(database, &touched) else { return };
    for (id, schema) in database.store.tables() {
        if unnamed.contains(&id.0) {
            // It may be gone already, or the log may be full; the next opening looks again.
            let _ = database.store.drop_table(schema.name());
        }
    }
}

fn unnamed(database: &Database, touched: &[TouchedStorage]) -> Result<HashSet<u32>> {
    independently(&*database.store, Mode::ReadOnly, |transaction| {
        let mut unnamed = HashSet::new();
        for TouchedStorage { relation, table } in touched {
            let found = database.cache.relation_by_oid(transaction, *relation)?;
            if found.is_none() {
                database.cache.forget(*relation);
            }
            if !found.is_some_and(|relation| storages(&relation).any(|storage| storage.table == *table)) {
                unnamed.insert(*table);
            }
        }
        Ok(unnamed)
    })
}

/// The engine tables that a definition names.
fn storages(relation: &Relation) -> impl Iterator<Item = Storage> {
    let table = if let Relation::Table(table) = relation { Some(table) } else { None };
    table
        .into_iter()
        .flat_map(|table| std::iter::once(table.storage).chain(table.indexes.iter().filter_map(|index| index.storage)))
}

/// Drops the temporary relations of the session, as a part of its transaction.
///
/// # Errors
/// The engine's.
pub fn discard_temporary(context: &mut Context<'_>) -> Result<()> {
    let Some(schema) = context.session.temporary_schema.clone() else { return Ok(()) };
    for relation in context.relations_in(&schema)? {
        remove_relation(context, &relation)?;
        storages(&relation).for_each(|storage| leave_storage(context, relation.oid(), storage));
    }
    Ok(())
}

/// Drops the temporary relations of a session that ends.
///
/// # Errors
/// The engine's; what remains goes when the database is opened next.
pub fn drop_temporary(database: &Arc<Database>, session: &mut State) -> Result<()> {
    let Some(schema) = session.temporary_schema.take() else { return Ok(()) };
    let dropped = independently(&*database.store, Mode::ReadWrite, |transaction| {
        let cache = &database.cache;
        let relations = cache.scan(transaction, relations_of(&schema), |row| cache.decode(row))?;
        relations.iter().try_for_each(|relation| delete_relation(cache, transaction, relation))?;
        Ok(relations)
    })?;
    let touched = dropped.iter().flat_map(|relation| {
        storages(relation).map(|storage| TouchedStorage { relation: relation.oid(), table: storage.table })
    });
    session.touched_storage.extend(touched);
    settle(database, session);
    Ok(())
}

/// Removes what earlier sessions left: temporary relations, engine tables that no definition names, states of sequences
/// that are gone.
pub(crate) fn clean(store: &Arc<dyn Store>, cache: &Cache) -> Result<()> {
    let mut tables: HashMap<String, u32> = store
        .tables()
        .into_iter()
        .filter(|(_, schema)| relation_of(schema.name()).is_some())
        .map(|(id, schema)| (schema.name().to_owned(), id.0))
        .collect();
    let relations = independently(&**store, Mode::ReadWrite, |transaction| {
        cache.begin(transaction)?;
        let all = cache.scan(transaction, all_relations(), |row| cache.decode(row))?;
        let (temporary, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|relation| relation.schema().starts_with(TEMPORARY));
        temporary.iter().try_for_each(|relation| delete_relation(cache, transaction, relation))?;
        Ok(kept)
    })?;
    let named: HashSet<u32> = relations.iter().flat_map(storages).map(|storage| storage.table).collect();
    tables.retain(|_, id| !named.contains(id));
    tables.keys().try_for_each(|name| store.drop_table(name))?;
    crate::sequence::forget_all_but(store, &relations)
}

//! Conversion of directories of earlier versions: there the engine kept the indexes of programs' tables, and no catalog listed
//! these tables.
//!
//! Such a table is an engine table of typed rows whose key is columns of the row; this layer makes none. Its definition still
//! says which indexes it had ([`model::Schema::former_indexes`]). It is converted step by step, each a transaction:
//!
//! 1. a note in the catalog says which definition, with new storage, the table is going to have;
//! 2. batch by batch its rows move into that storage, where they get their entries; no row is ever in both, so there is need for
//!    the memory of one table, not of two;
//! 3. the definition enters the catalog, and the note says so.
//!
//! Then the old table is dropped. After a crash the next opening goes on at the step that it finds: with the rows that have not
//! moved, with the definition, or with the drop. Storage that was made before the note, and is in none, is removed as all such
//! storage is (T3). When all tables are converted, the catalog gets its present form; an old table that is found after that is one
//! that was to be dropped. Reasons: docs/decisions/0054.

use crate::batches::{BatchSize, Batches};
use crate::catalog::{Catalog, PUBLIC};
use crate::definition::Table;
use crate::entries;
use crate::layout::Layout;
use crate::schema::Schema;
use crate::sequences::Sequences;
use crate::tables::{as_limit, define, enter, layout_of, relation_name};
use crate::transact::transact;
use model::{Access, Columns, Fault, Invalid, Key, KeyKind, Mode, Result, RowBuf, RowKind, RowRef, Store, TableId};
use std::sync::Arc;

/// The tables that an earlier version made for programs.
pub(crate) fn old_tables(engine: &dyn Store) -> impl Iterator<Item = (TableId, Arc<model::Schema>)> + use<> {
    let is_old =
        |schema: &model::Schema| schema.rows() == RowKind::Typed && matches!(schema.key(), KeyKind::Columns(_));
    engine.tables().into_iter().filter(move |(_, schema)| is_old(schema))
}

/// Refuses to read a database that has tables of an earlier version and cannot be written.
pub(crate) fn refuse_old(engine: &dyn Store, catalog: Option<&Catalog>) -> Result<()> {
    let Some((_, schema)) = old_tables(engine).next() else { return Ok(()) };
    if let Some(catalog) = catalog
        && transact(engine, Mode::ReadOnly, |access| catalog.has_tables_of_programs(access))?
    {
        return Ok(());
    }
    let what = "an earlier version created it: open the database once for writing, which converts its tables \
                (`seriatim checkpoint --data DIR` does)";
    Err(Invalid::Shape { table: schema.name().into(), what: what.into() }.into())
}

/// State of a table's conversion.
enum State {
    /// Not at all.
    Untouched,
    /// Its rows are moving into the storage of this definition.
    Moving(Box<Table>),
    /// It is in the catalog.
    Done,
}

/// Converts the tables of an earlier version.
pub(crate) fn convert_old_tables(
    engine: &dyn Store,
    catalog: &Catalog,
    sequences: &Sequences,
    size: BatchSize,
) -> Result<()> {
    for (old, schema) in old_tables(engine) {
        let table = match transact(engine, Mode::ReadOnly, |access| state(access, catalog, old))? {
            State::Untouched => Some(begin(engine, catalog, sequences, old, &schema)?),
            State::Moving(table) => Some(*table),
            State::Done => None,
        };
        if let Some(table) = table {
            move_rows(engine, old, &layout_of(&table)?, size)?;
            finish(engine, catalog, sequences, old, table)?;
        }
        engine.drop_table(schema.name())?;
    }
    Ok(())
}

/// Key of the note about an old table. Its row is the definition while rows move, and empty afterwards.
fn note(old: TableId) -> Key {
    let mut key = Key::from_bytes(b"taken in");
    key.push_raw(&old.0.to_be_bytes());
    key
}

fn state(access: &mut dyn Access, catalog: &Catalog, old: TableId) -> Result<State> {
    let mut noted = RowBuf::new();
    let is_noted = access.read(catalog.table(), &note(old), Columns::All, &mut noted)?;
    if catalog.has_tables_of_programs(access)? || is_noted && noted.bytes().is_empty() {
        return Ok(State::Done);
    }
    if !is_noted {
        return Ok(State::Untouched);
    }
    let damaged = |error| Fault::Corruption {
        detail: format!("the record of the conversion of an old table is damaged: {error}"),
    };
    Ok(State::Moving(serde_json::from_slice(noted.bytes()).map_err(damaged)?))
}

/// Makes the storage, and notes it.
fn begin(
    engine: &dyn Store,
    catalog: &Catalog,
    sequences: &Sequences,
    old: TableId,
    schema: &model::Schema,
) -> Result<Table> {
    let mut table = define(engine, sequences, &Schema::former(schema.clone())?, &[])?;
    transact(engine, Mode::ReadWrite, |access| {
        table.name = free_name(access, catalog, schema.name())?;
        let definition = serde_json::to_vec(&table).expect("a definition is plain data");
        access.put(catalog.table(), &note(old), RowRef::new(&definition))
    })?;
    Ok(table)
}

/// The table's name, or one with a number behind it where SQL has given the name to a relation of its own: programs' tables and
/// those of SQL had a space of names each. Both are there then, and either can be renamed.
fn free_name(access: &mut dyn Access, catalog: &Catalog, wanted: &str) -> Result<String> {
    let mut name = wanted.to_owned();
    for number in 1.. {
        if catalog.relation(access, PUBLIC, &name)?.is_none() {
            break;
        }
        name = relation_name(wanted, &number.to_string());
    }
    Ok(name)
}

/// Moves the rows that are still in the old table, and makes their entries.
fn move_rows(engine: &dyn Store, old: TableId, layout: &Layout, size: BatchSize) -> Result<()> {
    Batches::of(old).sized(size).transact_each(engine, |access, batch| {
        for (key, row) in batch {
            access.delete(old, key)?;
            let key = layout.stored_key(key)?;
            let inserted = entries::insert(access, layout, layout.table(), &key, row, RowRef::new(row));
            inserted.map_err(|error| why_not(layout, error))?;
        }
        Ok(())
    })
}

fn why_not(layout: &Layout, error: crate::Error) -> model::Error {
    match error {
        crate::Error::Engine(error) => error,
        crate::Error::Duplicate(_) => {
            let detail = format!("two rows of table {} share an entry of a unique index", layout.table().name);
            Fault::Corruption { detail }.into()
        }
    }
}

fn finish(engine: &dyn Store, catalog: &Catalog, sequences: &Sequences, old: TableId, mut table: Table) -> Result<()> {
    let version = sequences.fresh_version().map_err(as_limit)?;
    transact(engine, Mode::ReadWrite, |access| {
        access.put(catalog.table(), &note(old), RowRef::new(&[]))?;
        enter(access, catalog, &mut table, version)
    })
}

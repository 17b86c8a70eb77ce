//! Directories of earlier versions: programs' tables had indexes that the engine kept, and stood in no catalog.
//!
//! Such a table is an engine table of typed rows whose key is columns of the row; this layer makes none. It is taken in by
//! copying its rows, with their entries, into storage that nobody knows yet. One transaction then enters the definition, and
//! notes the old table; after it the old table is dropped. A crash at any point leaves the old table or the note: the next
//! opening copies again, or only drops. When all are taken in, the catalog gets its present form; an old table that is found
//! after that is one that was to be dropped.

use crate::catalog::Catalog;
use crate::entries;
use crate::layout::Layout;
use crate::sequences::Sequences;
use crate::tables::{BATCH, as_limit, define, enter, layout_of};
use crate::transact::transact;
use model::{
    Access, Columns, Invalid, Key, KeyKind, Mode, Result, RowBuf, RowKind, RowRef, Scan, ScanEnd, Schema, Store,
    TableId,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of rows that are copied at once.
const BATCH_BYTES: usize = 1 << 20;

/// The tables that an earlier version made for programs.
pub(crate) fn old_tables(engine: &dyn Store) -> impl Iterator<Item = (TableId, Arc<Schema>)> + use<> {
    let is_old = |schema: &Schema| schema.rows() == RowKind::Typed && matches!(schema.key(), KeyKind::Columns(_));
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
    let what = "an earlier version has made it: open the database once for writing, which takes its tables in \
                (`seriatim checkpoint --data DIR` does)";
    Err(Invalid::Shape { table: schema.name().into(), what: what.into() }.into())
}

/// Takes in the tables of an earlier version.
pub(crate) fn take_in(engine: &dyn Store, catalog: &Catalog, sequences: &Sequences) -> Result<()> {
    for (id, schema) in old_tables(engine) {
        let is_done = transact(engine, Mode::ReadOnly, |access| {
            Ok(catalog.has_tables_of_programs(access)?
                || access.read(catalog.table(), &note(id), Columns::None, &mut RowBuf::new())?)
        })?;
        if !is_done {
            take_in_one(engine, catalog, sequences, id, &schema)?;
        }
        engine.drop_table(schema.name())?;
    }
    Ok(())
}

/// Key of the note that an old table was taken in.
fn note(old: TableId) -> Key {
    let mut key = Key::from_bytes(b"taken in");
    key.push_raw(&old.0.to_be_bytes());
    key
}

fn take_in_one(
    engine: &dyn Store,
    catalog: &Catalog,
    sequences: &Sequences,
    old: TableId,
    schema: &Schema,
) -> Result<()> {
    let mut table = define(engine, sequences, schema, &[])?;
    copy(engine, old, &layout_of(&table)?)?;
    let version = sequences.fresh_version().map_err(as_limit)?;
    let entered = transact(engine, Mode::ReadWrite, |access| {
        access.put(catalog.table(), &note(old), RowRef::new(&[]))?;
        enter(access, catalog, &mut table, version)
    });
    entered.map_err(|error| match error {
        model::Error::Duplicate(_) => {
            let what = "it is there twice, made by a program and made by SQL, and now there is one space of names: rename \
                        that of SQL with the version that made it";
            Invalid::Shape { table: schema.name().into(), what: what.into() }.into()
        }
        error => error,
    })
}

/// Copies the rows of an old table and makes their entries. Nobody else sees the new storage, so each batch is a transaction.
fn copy(engine: &dyn Store, old: TableId, layout: &Layout) -> Result<()> {
    let mut scan = Scan::table(old);
    loop {
        let (batch, end) = transact(engine, Mode::ReadOnly, |access| read_batch(access, &scan))?;
        transact(engine, Mode::ReadWrite, |access| {
            for (key, row) in &batch {
                let key = layout.stored_key(key)?;
                entries::insert(access, layout, layout.table(), &key, row, RowRef::new(row))?;
            }
            Ok(())
        })?;
        match end {
            ScanEnd::Finished => return Ok(()),
            ScanEnd::Stopped(position) => scan = scan.resume(position),
        }
    }
}

type Batch = Vec<(Key, Vec<u8>)>;

fn read_batch(access: &mut dyn Access, scan: &Scan<'_>) -> Result<(Batch, ScanEnd)> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let end = access.scan(scan, &mut |item| {
        bytes += item.row.bytes().len();
        batch.push((Key::from_bytes(item.key), item.row.bytes().to_vec()));
        if batch.len() < BATCH && bytes < BATCH_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok((batch, end))
}

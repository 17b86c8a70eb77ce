//! What a transaction logs of its writes: rows as they stand in place.

use crate::Hyper;
use crate::writer::Write;
use model::{Columns, RowBuf};
use wal::redo::{self, WritesSize};

/// Encodes writes, from one on, in at most `limit` bytes (or one row), as they stand in place: their rows are owned. Returns the
/// write with which to go on.
pub(crate) fn encode_writes(
    engine: &Hyper,
    record: &mut Vec<u8>,
    writes: &[Write],
    from: usize,
    limit: usize,
) -> Option<usize> {
    redo::begin_writes(record);
    let mut row = RowBuf::new();
    let mut logged = logged(writes, from);
    logged.find_map(|(at, write)| (!redo::add_write(record, &in_place(engine, write, &mut row), limit)).then_some(at))
}

/// Bytes of all writes.
pub(crate) fn encoded_size(engine: &Hyper, writes: &[Write]) -> WritesSize {
    let (mut size, mut row) = (WritesSize::default(), RowBuf::new());
    logged(writes, 0).for_each(|(_, write)| size.add(&in_place(engine, write, &mut row)));
    size
}

/// The writes that change something, with their places, from one on.
fn logged(writes: &[Write], from: usize) -> impl Iterator<Item = (usize, &Write)> {
    writes.iter().enumerate().skip(from).filter(|(_, write)| !write.columns.is_empty())
}

/// What a write has left in place, by way of a buffer.
fn in_place<'a>(engine: &Hyper, write: &'a Write, row: &'a mut RowBuf) -> redo::Write<'a> {
    let is_there = copy_row(engine, write, row);
    redo::Write { table: write.table, key: &write.key, row: is_there.then_some(row.bytes()) }
}

/// Copies what stands in place; false and nothing if no row does.
fn copy_row(engine: &Hyper, write: &Write, row: &mut RowBuf) -> bool {
    row.clear();
    // Recovery passes over it if its table was dropped.
    let Some(table) = engine.found_table(write.table) else { return false };
    let rows = table.block(write.place.block).read();
    let newest = rows.newest(write.place.slot as usize);
    if newest.is_there() {
        newest.copy(Columns::All, row);
    }
    newest.is_there()
}

//! Redo records: what a transaction wrote, a created table, a dropped table; and the rows of checkpoints.
//!
//! A written row is logged whole. Replay is in the order of the log, which for each key is the order of its versions. The format is
//! that of `mvto`: either engine opens what the other one has left.

use crate::Hyper;
use crate::writer::Write;
use codec::{put_bytes32, put_u32, put_u64};
use model::{Columns, RowBuf, RowRef, Schema, TableId};

pub(crate) const WRITES: u8 = 1;
pub(crate) const CREATE: u8 = 2;
pub(crate) const DROP: u8 = 3;
pub(crate) const CHECKPOINT_START: u8 = 4;
pub(crate) const CHECKPOINT_ROW: u8 = 5;
pub(crate) const ROW: u8 = 1;
pub(crate) const DELETE: u8 = 0;

/// Bytes that a logged row takes beside its own and its key's.
const ROW_OVERHEAD: usize = 4 + 4 + 1 + 4;

/// Encodes writes, from one on, in at most `limit` bytes (or one row), as they stand in place: their rows are owned. Returns the
/// write with which to go on.
pub(crate) fn encode_writes(
    engine: &Hyper,
    record: &mut Vec<u8>,
    writes: &[Write],
    from: usize,
    limit: usize,
) -> Option<usize> {
    record.clear();
    record.push(WRITES);
    let mut row = RowBuf::new();
    for (at, write) in writes.iter().enumerate().skip(from).filter(|(_, write)| !write.columns.is_empty()) {
        let is_there = copy_row(engine, write, &mut row);
        let bytes = ROW_OVERHEAD + write.key.len() + row.bytes().len();
        if record.len() > 1 && record.len() + bytes > limit {
            return Some(at);
        }
        put_u32(record, write.table.0);
        put_bytes32(record, &write.key);
        if is_there {
            record.push(ROW);
            put_bytes32(record, row.bytes());
        } else {
            record.push(DELETE);
        }
    }
    None
}

/// Bytes of all writes, encoded, and of the largest in a record of its own.
pub(crate) fn encoded_size(engine: &Hyper, writes: &[Write]) -> (u64, usize) {
    let mut row = RowBuf::new();
    let logged = writes.iter().filter(|write| !write.columns.is_empty());
    let sizes = logged.map(|write| {
        copy_row(engine, write, &mut row);
        ROW_OVERHEAD + write.key.len() + row.bytes().len()
    });
    sizes.fold((0, 0), |(total, largest), bytes| (total + bytes as u64, largest.max(1 + bytes)))
}

/// Copies what stands in place; false and nothing if no row does.
fn copy_row(engine: &Hyper, write: &Write, row: &mut RowBuf) -> bool {
    row.clear();
    let Some(table) = engine.tables.get(write.table) else { return false };
    let rows = table.block(write.place.block).read();
    if write.place.slot as usize >= rows.slots() {
        return false; // Freed with its table, since the writer's start has moved behind the drop: recovery passes over it.
    }
    let newest = rows.newest(write.place.slot as usize);
    if newest.is_there() {
        newest.copy(Columns::All, row);
    }
    newest.is_there()
}

/// A created table.
pub(crate) fn encode_create(record: &mut Vec<u8>, id: TableId, schema: &Schema) {
    record.push(CREATE);
    put_u32(record, id.0);
    schema.encode(record);
}

/// A dropped table.
pub(crate) fn encode_drop(record: &mut Vec<u8>, id: TableId) {
    record.push(DROP);
    put_u32(record, id.0);
}

/// The start of a checkpoint: table numbers below `next` have been given.
pub(crate) fn encode_checkpoint_start(record: &mut Vec<u8>, next: TableId) {
    record.push(CHECKPOINT_START);
    put_u32(record, next.0);
}

/// A row of a checkpoint.
pub(crate) fn encode_checkpoint_row(record: &mut Vec<u8>, id: TableId, key: &[u8], row: RowRef<'_>) {
    record.push(CHECKPOINT_ROW);
    put_u32(record, id.0);
    put_u64(record, 0); // Engines that replay by timestamps keep theirs here.
    put_bytes32(record, key);
    put_bytes32(record, row.bytes());
}

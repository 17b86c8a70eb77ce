//! Redo records, and what is made of them when an engine is opened.
//!
//! A record is the timestamp, then one of: the writes of a transaction, a created table, a dropped table. Index entries are
//! not logged: they follow from the rows.

use crate::write_set::{Buffered, WriteSet};
use model::{Schema, TableId, Timestamp};

/// What recovery found.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport;

const WRITES: u8 = 1;
const CREATE: u8 = 2;
const DROP: u8 = 3;
const ROW: u8 = 1;
const DELETE: u8 = 0;

/// Starts a record.
pub(crate) fn encode_timestamp(record: &mut Vec<u8>, at: Timestamp) {
    record.extend_from_slice(&at.0.to_le_bytes());
}

/// The rows that a transaction writes.
pub(crate) fn encode_writes(record: &mut Vec<u8>, writes: &WriteSet) {
    record.push(WRITES);
    for write in &writes.entries {
        if write.space.space != 0 || write.buffered == Buffered::Unchanged {
            continue;
        }
        let row = writes.value(write.buffered).expect("it changes");
        record.extend_from_slice(&write.space.table.0.to_le_bytes());
        record.extend_from_slice(&(write.key.len() as u16).to_le_bytes());
        record.extend_from_slice(&write.key);
        match row {
            None => record.push(DELETE),
            Some(row) => {
                record.push(ROW);
                record.extend_from_slice(&(row.len() as u32).to_le_bytes());
                record.extend_from_slice(row);
            }
        }
    }
}

/// A created table.
pub(crate) fn encode_create(record: &mut Vec<u8>, id: TableId, schema: &Schema) {
    record.push(CREATE);
    record.extend_from_slice(&id.0.to_le_bytes());
    schema.encode(record);
}

/// A dropped table.
pub(crate) fn encode_drop(record: &mut Vec<u8>, id: TableId) {
    record.push(DROP);
    record.extend_from_slice(&id.0.to_le_bytes());
}

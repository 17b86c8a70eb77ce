//! What engines log: the rows that a transaction wrote, created and dropped tables, the rows of checkpoints. All engines write this
//! one format, so each opens what another has left. The log itself never looks at it: other payloads are as welcome.
//!
//! | record | bytes |
//! | --- | --- |
//! | writes | 1, then of each write: table, key, 1 and the row, or 0: deleted |
//! | created table | 2, table, schema |
//! | dropped table | 3, table |
//! | a checkpoint's first | 4, the next table's number |
//! | a checkpoint's row | 5, table, timestamp of its version, key, row |
//! | calls | 6, then calls of procedures that are executed again: the engine `bohm` describes them |
//!
//! Tables are four bytes, timestamps eight, little-endian; keys and rows have their length in four bytes before them. A written
//! row is logged whole.

use codec::{put_bytes32, put_u32, put_u64};
use model::{Decoder, Malformed, Schema, TableId};

const WRITES: u8 = 1;
const CREATE: u8 = 2;
const DROP: u8 = 3;
const CHECKPOINT_START: u8 = 4;
const CHECKPOINT_ROW: u8 = 5;
const CALLS: u8 = 6;
const ROW: u8 = 1;
const DELETE: u8 = 0;

/// Bytes that a write takes beside its key and row.
pub const WRITE_OVERHEAD: usize = 4 + 4 + 1 + 4;

/// A row that was written under a key, or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Table.
    pub table: TableId,
    /// Key, encoded.
    pub key: &'a [u8],
    /// The whole row; `None`: deleted.
    pub row: Option<&'a [u8]>,
}

/// A record of an engine.
#[derive(Debug)]
pub enum Record<'a> {
    /// Rows that a transaction wrote.
    Writes(Writes<'a>),
    /// A table was created.
    Create(TableId, Schema),
    /// A table was dropped.
    Drop(TableId),
    /// Begins a checkpoint: the numbers of tables below this have been given.
    CheckpointStart(TableId),
    /// A row of a checkpoint, and the timestamp of its version: zero of engines that replay in the order of the log.
    CheckpointRow(u64, Write<'a>),
    /// Calls of procedures, in their order: not decoded here.
    Calls(Decoder<'a>),
}

impl<'a> Write<'a> {
    /// Returns the bytes that it takes in a record, at most.
    #[inline]
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        WRITE_OVERHEAD + self.key.len() + self.row.map_or(0, <[u8]>::len)
    }

    #[inline]
    pub(crate) fn encode(&self, record: &mut Vec<u8>) {
        put_u32(record, self.table.0);
        put_bytes32(record, self.key);
        match self.row {
            None => record.push(DELETE),
            Some(row) => {
                record.push(ROW);
                put_bytes32(record, row);
            }
        }
    }

    #[inline]
    pub(crate) fn decode(from: &mut Decoder<'a>) -> Result<Self, Malformed> {
        let (table, key) = (TableId(from.u32()?), from.bytes32()?);
        let row = match from.u8()? {
            ROW => Some(from.bytes32()?),
            DELETE => None,
            _ => return Err(Malformed),
        };
        Ok(Self { table, key, row })
    }
}

impl<'a> Record<'a> {
    /// Reads a record. Of writes only the kind: they are read one by one.
    ///
    /// # Errors
    /// The bytes are no record of an engine.
    pub fn decode(record: &'a [u8]) -> Result<Self, Malformed> {
        let mut from = Decoder::new(record);
        let redo = match from.u8()? {
            WRITES => return Ok(Self::Writes(Writes(from))),
            CALLS => return Ok(Self::Calls(from)),
            CREATE => Self::Create(TableId(from.u32()?), Schema::decode(&mut from)?),
            DROP => Self::Drop(TableId(from.u32()?)),
            CHECKPOINT_START => Self::CheckpointStart(TableId(from.u32()?)),
            CHECKPOINT_ROW => {
                let (table, timestamp) = (TableId(from.u32()?), from.u64()?);
                let (key, row) = (from.bytes32()?, Some(from.bytes32()?));
                Self::CheckpointRow(timestamp, Write { table, key, row })
            }
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(redo)
    }
}

/// The writes of a record, in their order. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Writes<'a>(Decoder<'a>);

impl<'a> Iterator for Writes<'a> {
    type Item = Result<Write<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let write = Write::decode(&mut self.0);
        if write.is_err() {
            self.0.rest();
        }
        Some(write)
    }
}

/// Makes an empty record of writes.
#[inline]
pub fn begin_writes(record: &mut Vec<u8>) {
    record.clear();
    record.push(WRITES);
}

/// Makes an empty record of calls.
pub fn begin_calls(record: &mut Vec<u8>) {
    record.clear();
    record.push(CALLS);
}

/// Adds a write to a record of writes, unless the record has one and would exceed `limit` bytes. Returns whether it did.
#[inline]
pub fn add_write(record: &mut Vec<u8>, write: &Write<'_>, limit: usize) -> bool {
    let fits = record.len() <= 1 || record.len() + write.encoded_bytes() <= limit;
    if fits {
        write.encode(record);
    }
    fits
}

/// Bytes of a transaction's writes, for [`Log::begin_large`](crate::Log::begin_large).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WritesSize {
    /// Of all of them.
    pub all: u64,
    /// Of the largest in a record of its own.
    pub largest: usize,
}

impl WritesSize {
    /// Counts a write.
    #[inline]
    pub fn add(&mut self, write: &Write<'_>) {
        self.all += write.encoded_bytes() as u64;
        self.largest = self.largest.max(1 + write.encoded_bytes());
    }
}

/// Appends the record of a created table.
pub fn encode_create(record: &mut Vec<u8>, id: TableId, schema: &Schema) {
    record.push(CREATE);
    put_u32(record, id.0);
    schema.encode(record);
}

/// Appends the record of a dropped table.
pub fn encode_drop(record: &mut Vec<u8>, id: TableId) {
    record.push(DROP);
    put_u32(record, id.0);
}

/// Appends the first record of a checkpoint: the numbers of tables below `next` have been given.
pub fn encode_checkpoint_start(record: &mut Vec<u8>, next: TableId) {
    record.push(CHECKPOINT_START);
    put_u32(record, next.0);
}

/// Appends the record of a row of a checkpoint.
pub fn encode_checkpoint_row(record: &mut Vec<u8>, id: TableId, timestamp: u64, key: &[u8], row: &[u8]) {
    record.push(CHECKPOINT_ROW);
    put_u32(record, id.0);
    put_u64(record, timestamp);
    put_bytes32(record, key);
    put_bytes32(record, row);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(key: &'static [u8], row: Option<&'static [u8]>) -> Write<'static> {
        Write { table: TableId(7), key, row }
    }

    fn writes(record: &[u8]) -> Result<Vec<Write<'_>>, Malformed> {
        match Record::decode(record)? {
            Record::Writes(writes) => writes.collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Directories hold these bytes.
    #[test]
    fn bytes_stay_as_they_are() {
        let mut record = Vec::new();
        begin_writes(&mut record);
        assert!(add_write(&mut record, &write(b"ab", Some(b"xyz")), 100));
        assert!(add_write(&mut record, &write(b"c", None), 100));
        let expected = b"\x01\x07\0\0\0\x02\0\0\0ab\x01\x03\0\0\0xyz\x07\0\0\0\x01\0\0\0c\0";
        assert_eq!(record, expected);
        assert_eq!(writes(&record), Ok(vec![write(b"ab", Some(b"xyz")), write(b"c", None)]));

        record.clear();
        encode_checkpoint_row(&mut record, TableId(7), 258, b"k", b"v");
        assert_eq!(record, b"\x05\x07\0\0\0\x02\x01\0\0\0\0\0\0\x01\0\0\0k\x01\0\0\0v");
        record.clear();
        encode_drop(&mut record, TableId(1));
        encode_checkpoint_start(&mut record, TableId(2));
        assert_eq!(record, b"\x03\x01\0\0\0\x04\x02\0\0\0");
    }

    #[test]
    fn every_truncation_is_malformed_or_has_fewer_writes() {
        let mut record = Vec::new();
        begin_writes(&mut record);
        add_write(&mut record, &write(b"ab", Some(b"xyz")), 100);
        let first = record.len();
        add_write(&mut record, &write(b"c", None), 100);
        for end in 1..record.len() {
            let whole = [1, first].iter().position(|whole| *whole == end);
            assert_eq!(writes(&record[..end]).ok().map(|writes| writes.len()), whole, "{end}");
        }
        let mut row = Vec::new();
        encode_checkpoint_row(&mut row, TableId(7), 1, b"k", b"v");
        (0..row.len()).for_each(|end| assert!(Record::decode(&row[..end]).is_err(), "{end}"));
        row.push(0);
        assert!(Record::decode(&row).is_err(), "a byte too many");
        assert!(Record::decode(b"\x09").is_err(), "an unknown kind");
    }

    /// A limit holds but for a first write, and the sizes tell what it takes.
    #[test]
    fn records_are_cut_at_the_limit() {
        let all = [write(b"ab", Some(&[9; 40])), write(b"cd", None), write(b"ef", Some(b"1"))];
        let mut size = WritesSize::default();
        all.iter().for_each(|write| size.add(write));
        assert_eq!(size, WritesSize { all: 55 + 15 + 16, largest: 56 });
        let (mut record, mut next, mut parts) = (Vec::new(), 0, Vec::new());
        while next < all.len() {
            begin_writes(&mut record);
            let added = all[next..].iter().take_while(|write| add_write(&mut record, write, 40)).count();
            parts.push((added, record.len()));
            next += added;
        }
        assert_eq!(parts, [(1, 56), (2, 1 + 11 + 16)]);
    }
}

//! What nodes send each other through the order.
//!
//! ```text
//!   hello        1, version, limits, number of the start: the first payload of a life
//!   create       3, schema
//!   drop         4, name
//!   part         5, whether it is the first (1) and the last one (2), bytes of one of the others
//!   transaction  6, base, read set, writes
//! ```
//! Number 2 was a transaction of version 1, whose read set had ranges without filters: nodes of the two versions do not read each
//! other's by mistake.

use crate::codes::{TableKey, position, put_position};
use crate::options::Limits;
use crate::read_set::ReadSet;
use crate::writes::{Row, Writes};
use codec::put_number;
use model::{Decoder, Malformed, Schema};
use total::Position;

/// The version of these bytes, and of the state that nodes fetch. Nodes of different versions refuse each other.
pub(crate) const VERSION: u64 = 3;

const HELLO: u8 = 1;
const CREATE: u8 = 3;
const DROP: u8 = 4;
const PART: u8 = 5;
const TRANSACTION: u8 = 6;
const FIRST: u8 = 1;
const LAST: u8 = 2;
/// Bytes of a part before those that it carries.
const PART_HEADER: usize = 2;

/// A payload that was delivered.
#[derive(Debug)]
pub(crate) enum Payload<'p> {
    Hello { version: u64, limits: Limits, start: u64 },
    Transaction(Proposal),
    Create(Schema),
    Drop(&'p str),
    Part { is_first: bool, is_last: bool, bytes: &'p [u8] },
}

/// A transaction, as it is certified.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub base: Position,
    pub read_set: ReadSet,
    pub writes: Vec<(TableKey, Row)>,
}

pub(crate) fn hello(limits: Limits, start: u64) -> Vec<u8> {
    let mut out = vec![HELLO];
    put_number(&mut out, VERSION);
    put_limits(&mut out, limits);
    put_number(&mut out, start);
    out
}

pub(crate) fn put_limits(out: &mut Vec<u8>, limits: Limits) {
    put_number(out, limits.window_transactions);
    put_number(out, limits.window_bytes);
    put_number(out, limits.tables);
}

pub(crate) fn limits(from: &mut Decoder<'_>) -> Result<Limits, Malformed> {
    Ok(Limits { window_transactions: from.number()?, window_bytes: from.number()?, tables: from.number()? })
}

pub(crate) fn transaction(base: Position, read_set: &ReadSet, writes: &Writes) -> Vec<u8> {
    let mut out = vec![TRANSACTION];
    put_position(&mut out, base);
    read_set.encode(&mut out);
    writes.encode(&mut out);
    out
}

pub(crate) fn create(schema: &Schema) -> Vec<u8> {
    let mut out = vec![CREATE];
    schema.encode(&mut out);
    out
}

pub(crate) fn drop_table(name: &str) -> Vec<u8> {
    [&[DROP], name.as_bytes()].concat()
}

/// A payload as payloads of at most `longest` bytes, in their order.
pub(crate) fn in_parts(payload: Vec<u8>, longest: usize) -> Vec<Vec<u8>> {
    if payload.len() <= longest {
        return vec![payload];
    }
    let chunks = payload.chunks(longest - PART_HEADER);
    let last = chunks.len() - 1;
    let place = |at: usize| (u8::from(at == 0) * FIRST) | (u8::from(at == last) * LAST);
    chunks.enumerate().map(|(at, chunk)| [&[PART, place(at)], chunk].concat()).collect()
}

impl Payload<'_> {
    /// Reads a payload.
    ///
    /// # Errors
    /// It is none of this version.
    pub fn decode(payload: &[u8]) -> Result<Payload<'_>, Malformed> {
        let mut from = Decoder::new(payload);
        let decoded = match from.u8()? {
            HELLO => Payload::Hello { version: from.number()?, limits: limits(&mut from)?, start: from.number()? },
            TRANSACTION => Payload::Transaction(Proposal {
                base: position(&mut from)?,
                read_set: ReadSet::decode(&mut from)?,
                writes: Writes::decode(&mut from)?,
            }),
            CREATE => Payload::Create(Schema::decode(&mut from)?),
            DROP => Payload::Drop(std::str::from_utf8(from.rest()).map_err(|_| Malformed)?),
            PART => {
                let place = from.u8()?;
                Payload::Part { is_first: place & FIRST != 0, is_last: place & LAST != 0, bytes: from.rest() }
            }
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::ColumnSet;
    use model::{RowBuf, TableId};

    fn sample() -> Vec<u8> {
        let mut read_set = ReadSet::default();
        read_set.add_point(TableId(1), b"read", None, ColumnSet::ALL, 9).unwrap();
        let mut writes = Writes::default();
        writes.write(TableId(1), b"kept", Some(RowBuf::from_bytes(b"row")), 9, 99).unwrap();
        writes.write(TableId(2), b"gone", None, 9, 99).unwrap();
        transaction(Position { instance: 300, index: 7 }, &read_set, &writes)
    }

    #[test]
    fn a_transaction_is_read_as_it_was_written_and_cut_off_is_malformed() {
        let bytes = sample();
        let Ok(Payload::Transaction(read)) = Payload::decode(&bytes) else { panic!("a transaction") };
        assert_eq!((read.base, read.read_set.points.len()), (Position { instance: 300, index: 7 }, 1));
        assert_eq!(read.writes.iter().map(|(_, row)| row.is_some()).collect::<Vec<_>>(), [true, false]);
        for end in 0..bytes.len() {
            assert!(Payload::decode(&bytes[..end]).is_err(), "{end}");
        }
    }

    /// As version 1 wrote it: base (300, 7), one key read, one row written.
    #[test]
    fn a_transaction_of_version_1_is_refused() {
        let mut old = vec![2, 0xac, 2, 7, 1, 1, 4];
        old.extend_from_slice(b"read");
        old.extend_from_slice(&[0, 1, 1, 4]);
        old.extend_from_slice(b"kept");
        old.extend_from_slice(&[1, 3]);
        old.extend_from_slice(b"row");
        assert!(Payload::decode(&old).is_err());
    }

    #[test]
    fn parts_put_together_are_the_payload() {
        let bytes = sample();
        let parts = in_parts(bytes.clone(), 10);
        assert!(parts.iter().all(|part| part.len() <= 10));
        let mut whole = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let Ok(Payload::Part { is_first, is_last, bytes }) = Payload::decode(part) else { panic!("a part") };
            assert_eq!((is_first, is_last), (at == 0, at + 1 == parts.len()));
            whole.extend_from_slice(bytes);
        }
        assert_eq!(whole, bytes);
        assert_eq!(in_parts(bytes.clone(), bytes.len()), [bytes]);
    }
}

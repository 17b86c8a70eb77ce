//! What nodes send each other through the order: transactions with their reads and writes, and definitions of tables.
//!
//! ```text
//!   transactions  1, then each: length, record
//!   record        turn, flags, base, lives that are named, reads, ranges, writes
//!   definition    2, number of the request, schema
//! ```

use crate::attempt::{Attempt, ScannedRange};
use crate::store::KeyRange;
use crate::turn::{OriginId, Place, Seen, Turn};
use codec::{put_bytes, put_number};
use model::{Decoder, Malformed, Schema, TableId, decode_bound, encode_bound};
use total::Origin;

const TRANSACTIONS: u8 = 1;
const DEFINITION: u8 = 2;

/// It accesses what belongs to another node, or to nobody: it is always validated.
pub(crate) const CROSSES: u8 = 1;

/// A payload that was delivered.
pub(crate) enum Payload<'p> {
    Transactions(Vec<Record<'p>>),
    Definition { request: u64, schema: Schema },
}

/// A transaction, as it is certified.
#[derive(Debug)]
pub(crate) struct Record<'p> {
    pub turn: Turn,
    pub flags: u8,
    /// The place up to which its node had applied everything when it began.
    pub base: Place,
    /// Lives that its reads name; it is itself of none of them.
    pub lives: Vec<Origin>,
    pub reads: Vec<Read<'p>>,
    pub ranges: Vec<ScannedRange>,
    pub writes: Vec<Write<'p>>,
}

/// A key that is written, and its row; none: it is deleted.
pub(crate) type Write<'p> = (TableId, &'p [u8], Option<&'p [u8]>);

/// A key that was read.
#[derive(Debug)]
pub(crate) struct Read<'p> {
    pub table: TableId,
    pub key: &'p [u8],
    /// Whose row it was: the life (zero: the record's own, else one of those it names) and the turn. `None`: no row.
    pub seen: Option<(usize, Turn)>,
}

/// Begins a payload of transactions; records follow, each with its length.
pub(crate) fn begin_transactions() -> Vec<u8> {
    vec![TRANSACTIONS]
}

/// A payload that defines a table.
pub(crate) fn encode_definition(request: u64, schema: &Schema) -> Vec<u8> {
    let mut out = vec![DEFINITION];
    put_number(&mut out, request);
    schema.encode(&mut out);
    out
}

/// The record of an attempt whose body has ended. `life_of` names the lives of other writers.
pub(crate) fn encode(attempt: &Attempt<'_>, flags: u8, life_of: impl Fn(OriginId) -> Origin) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    put_number(&mut out, attempt.turn().0);
    out.push(flags);
    put_number(&mut out, attempt.base().0);
    let reads: Vec<_> = attempt
        .entries
        .iter()
        .filter_map(|((table, key), entry)| entry.read.as_ref().map(|(seen, _)| (*table, key, *seen)))
        .collect();
    let mut lives: Vec<OriginId> = Vec::new();
    for (_, _, seen) in &reads {
        if let Seen::Row(writer) = seen
            && writer.origin != OriginId::OWN
            && !lives.contains(&writer.origin)
        {
            lives.push(writer.origin);
        }
    }
    put_number(&mut out, lives.len() as u64);
    for life in &lives {
        let Origin { node, life } = life_of(*life);
        put_number(&mut out, node);
        put_number(&mut out, life);
    }
    put_number(&mut out, reads.len() as u64);
    for (table, key, seen) in reads {
        put_number(&mut out, table.0.into());
        put_bytes(&mut out, key);
        match seen {
            Seen::Absent => put_number(&mut out, 0),
            Seen::Row(writer) => {
                let at = lives.iter().position(|life| *life == writer.origin).map_or(0, |at| at + 1);
                put_number(&mut out, at as u64 + 1);
                put_number(&mut out, writer.turn.0);
            }
        }
    }
    put_number(&mut out, attempt.ranges.len() as u64);
    for ScannedRange { table, range, rows } in &attempt.ranges {
        put_number(&mut out, table.0.into());
        encode_bound(&range.lower, &mut out);
        encode_bound(&range.upper, &mut out);
        put_number(&mut out, *rows);
    }
    let writes = || attempt.entries.iter().filter_map(|(place, entry)| entry.write.as_ref().map(|row| (place, row)));
    put_number(&mut out, writes().count() as u64);
    for ((table, key), row) in writes() {
        put_number(&mut out, table.0.into());
        put_bytes(&mut out, key);
        out.push(u8::from(row.is_some()));
        if let Some(row) = row {
            put_bytes(&mut out, row);
        }
    }
    out
}

/// Reads a payload.
///
/// # Errors
/// It is none of this version.
pub(crate) fn decode(payload: &[u8]) -> Result<Payload<'_>, Malformed> {
    let mut from = Decoder::new(payload);
    match from.u8()? {
        TRANSACTIONS => {
            let mut records = Vec::new();
            while !from.is_empty() {
                let mut record = Decoder::new(from.bytes()?);
                records.push(decode_record(&mut record)?);
                record.end()?;
            }
            Ok(Payload::Transactions(records))
        }
        DEFINITION => {
            let request = from.number()?;
            let schema = Schema::decode(&mut from)?;
            from.end()?;
            Ok(Payload::Definition { request, schema })
        }
        _ => Err(Malformed),
    }
}

fn decode_record<'p>(from: &mut Decoder<'p>) -> Result<Record<'p>, Malformed> {
    let (turn, flags, base) = (Turn(from.number()?), from.u8()?, Place(from.number()?));
    let lives = list(from, |from| Ok(Origin { node: from.number()?, life: from.number()? }))?;
    let reads = list(from, |from| {
        let (table, key) = (table(from)?, from.bytes()?);
        let seen = match from.number()? {
            0 => None,
            life => Some((usize::try_from(life - 1).map_err(|_| Malformed)?, Turn(from.number()?))),
        };
        if seen.is_some_and(|(life, _)| life > lives.len()) {
            return Err(Malformed);
        }
        Ok(Read { table, key, seen })
    })?;
    let ranges = list(from, |from| {
        let (table, lower, upper) = (table(from)?, decode_bound(from)?, decode_bound(from)?);
        Ok(ScannedRange { table, range: KeyRange { lower, upper }, rows: from.number()? })
    })?;
    let writes = list(from, |from| {
        let (table, key) = (table(from)?, from.bytes()?);
        match from.u8()? {
            0 => Ok((table, key, None)),
            1 => Ok((table, key, Some(from.bytes()?))),
            _ => Err(Malformed),
        }
    })?;
    Ok(Record { turn, flags, base, lives, reads, ranges, writes })
}

fn table(from: &mut Decoder<'_>) -> Result<TableId, Malformed> {
    Ok(TableId(u32::try_from(from.number()?).map_err(|_| Malformed)?))
}

/// A list with its length. Nothing is reserved for an announced length.
fn list<'p, T>(
    from: &mut Decoder<'p>,
    mut item: impl FnMut(&mut Decoder<'p>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    for _ in 0..from.number()? {
        items.push(item(from)?);
    }
    Ok(items)
}

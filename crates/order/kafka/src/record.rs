//! What stands in the topic: the value of a Kafka record.
//!
//! ```text
//!   format (1 byte), kind (1 byte), number of the order (8 bytes), then by kind:
//!   begin    node, life before this one, number that no other begin has (8 bytes), what the node needs
//!   batch    node, life, number of the first payload, number of payloads, then each payload with its length before it
//!   mark     node, life, what the node needs
//!   base     offset, last payload, number of nodes, then of each: node, life, number of its next payload, what it needs
//!   last     offset of its record and one more (0: there is none), then, if there is one, its place in the record
//! ```
//! Numbers have a variable length where no width is named. The format is 1, but for a base 2; one of format 1 lacks the last payload: then
//! the last record that it speaks for may have had one.

use crate::ledger::{Ledger, Node};
use bytes::Bytes;
use codec::{Malformed, Reader, put_bytes, put_number, put_u64};
use total::Position;

const FORMAT: u8 = 1;
/// Of a base that says what the last payload was.
const FORMAT_OF_BASE: u8 = 2;
const BEGIN: u8 = 1;
const BATCH: u8 = 2;
const MARK: u8 = 3;
const BASE: u8 = 4;

/// Greatest length of what a record adds to its payload, if it has one.
pub const HEADER_BYTES: usize = 2 + 8 + 5 * 10;

/// A record of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The order to which it belongs.
    pub order: u64,
    pub kind: Kind,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A life begins, if `before` is the node's last one.
    Begin { node: u64, before: u64, nonce: u64, needed: u64 },
    /// Payloads of a life, in the order of their submission. There may be none: then it is a place for barriers.
    Batch { node: u64, life: u64, first: u64, payloads: Vec<Bytes> },
    /// What a node needs: the records behind this offset.
    Mark { node: u64, life: u64, needed: u64 },
    /// What the records up to this offset have come to.
    Base { up_to: u64, nodes: Ledger },
}

impl Record {
    /// Returns the record's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.payload_bytes());
        let head = |out: &mut Vec<u8>, kind: u8, numbers: &[u64]| {
            out.extend([if kind == BASE { FORMAT_OF_BASE } else { FORMAT }, kind]);
            put_u64(out, self.order);
            numbers.iter().for_each(|number| put_number(out, *number));
        };
        match &self.kind {
            Kind::Begin { node, before, nonce, needed } => {
                head(&mut out, BEGIN, &[*node, *before]);
                put_u64(&mut out, *nonce);
                put_number(&mut out, *needed);
            }
            Kind::Batch { node, life, first, payloads } => {
                head(&mut out, BATCH, &[*node, *life, *first, payloads.len() as u64]);
                payloads.iter().for_each(|payload| put_bytes(&mut out, payload));
            }
            Kind::Mark { node, life, needed } => head(&mut out, MARK, &[*node, *life, *needed]),
            Kind::Base { up_to, nodes } => {
                head(&mut out, BASE, &[*up_to]);
                put_last(&mut out, nodes.last());
                put_number(&mut out, nodes.len() as u64);
                for (node, Node { life, next, needed, .. }) in nodes.iter() {
                    [node, *life, *next, *needed].into_iter().for_each(|number| put_number(&mut out, number));
                }
            }
        }
        out
    }

    fn payload_bytes(&self) -> usize {
        match &self.kind {
            Kind::Batch { payloads, .. } => payloads.iter().map(|payload| payload.len() + 10).sum(),
            _ => 0,
        }
    }

    /// Reads a record. Payloads are slices of it.
    ///
    /// # Errors
    /// It is none of this format.
    pub fn decode(value: &Bytes) -> Result<Record, Malformed> {
        let mut reader = Reader::new(value);
        let format = reader.u8()?;
        let tag = reader.u8()?;
        if format != FORMAT && (format, tag) != (FORMAT_OF_BASE, BASE) {
            return Err(Malformed::value_at(0));
        }
        let order = reader.u64()?;
        let kind = match tag {
            BEGIN => {
                let (node, before) = (reader.number()?, reader.number()?);
                Kind::Begin { node, before, nonce: reader.u64()?, needed: reader.number()? }
            }
            BATCH => {
                let (node, life, first) = (reader.number()?, reader.number()?, reader.number()?);
                let mut payloads = Vec::new();
                for _ in 0..reader.number()? {
                    payloads.push(value.slice_ref(reader.bytes()?));
                }
                if u32::try_from(payloads.len()).is_err() {
                    return Err(Malformed::value_at(value.len()));
                }
                Kind::Batch { node, life, first, payloads }
            }
            MARK => Kind::Mark { node: reader.number()?, life: reader.number()?, needed: reader.number()? },
            BASE => {
                let up_to = reader.number()?;
                let last = if format == FORMAT { Some(end_of(up_to)) } else { read_last(&mut reader)? };
                Kind::Base { up_to, nodes: read_nodes(order, last, &mut reader)? }
            }
            _ => return Err(Malformed::value_at(1)),
        };
        reader.end()?;
        Ok(Record { order, kind })
    }
}

/// Behind everything that a record may have.
fn end_of(instance: u64) -> Position {
    Position { instance, index: u32::MAX }
}

fn put_last(out: &mut Vec<u8>, last: Option<Position>) {
    put_number(out, last.map_or(0, |last| last.instance.saturating_add(1)));
    last.iter().for_each(|last| put_number(out, last.index.into()));
}

fn read_last(reader: &mut Reader<'_>) -> Result<Option<Position>, Malformed> {
    let Some(instance) = reader.number()?.checked_sub(1) else { return Ok(None) };
    let at = reader.offset();
    let index = u32::try_from(reader.number()?).map_err(|_| Malformed::value_at(at))?;
    Ok(Some(Position { instance, index }))
}

fn read_nodes(order: u64, last: Option<Position>, reader: &mut Reader<'_>) -> Result<Ledger, Malformed> {
    let count = reader.number()?;
    let mut nodes = Ledger::of_order(order, last);
    for _ in 0..count {
        let at = reader.offset();
        let node = reader.number()?;
        let (life, next, needed) = (reader.number()?, reader.number()?, reader.number()?);
        // Greater ones cannot be counted on, and no order has come so far.
        let is_countable = [life, next, needed].iter().all(|number| *number < 1 << 62);
        if !is_countable || !nodes.add(node, Node { life, next, needed, nonce: None }) {
            return Err(Malformed::value_at(at));
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Ledger {
        let mut nodes = Ledger::of_order(77, Some(Position { instance: 1 << 40, index: 7 }));
        for node in [0, 4, u64::MAX] {
            assert!(nodes.add(node, Node { life: node / 8, next: 900, needed: 3, nonce: None }));
        }
        nodes
    }

    #[test]
    fn a_record_comes_back_and_a_part_of_it_does_not() {
        let payloads: Vec<Bytes> = [&b"one"[..], b"2", &[0; 300]].map(Bytes::copy_from_slice).into();
        for kind in [
            Kind::Begin { node: u64::MAX, before: 7, nonce: u64::MAX - 3, needed: 1 << 40 },
            Kind::Batch { node: 1, life: 2, first: u64::MAX, payloads },
            Kind::Batch { node: 1, life: 2, first: 3, payloads: vec![] },
            Kind::Mark { node: 1, life: u64::MAX, needed: 0 },
            Kind::Base { up_to: 1 << 50, nodes: nodes() },
            Kind::Base { up_to: 1 << 50, nodes: Ledger::of_order(77, None) },
        ] {
            let record = Record { order: 77, kind };
            let value = Bytes::from(record.encode());
            assert_eq!(Record::decode(&value), Ok(record));
            for cut in 0..value.len() {
                assert!(Record::decode(&value.slice(..cut)).is_err(), "cut at {cut}");
            }
            for at in [0, 1] {
                let mut other = value.to_vec();
                other[at] = 9;
                assert!(Record::decode(&other.into()).is_err(), "another format or kind");
            }
        }
    }

    #[test]
    fn one_payload_adds_no_more_than_the_header() {
        let longest = Bytes::from(vec![7; 1 << 20]);
        let kind = Kind::Batch { node: u64::MAX, life: u64::MAX, first: u64::MAX, payloads: vec![longest.clone()] };
        assert!(Record { order: 1, kind }.encode().len() <= HEADER_BYTES + longest.len());
    }

    #[test]
    fn a_node_stands_once_in_a_base() {
        let record = Record { order: 77, kind: Kind::Base { up_to: 3, nodes: nodes() } };
        let mut value = record.encode();
        // Behind the header, the offset, the last payload and the count: node 0, then node 4.
        let second = 2 + 8 + 1 + (6 + 1) + 1 + (1 + 1 + 2 + 1);
        assert_eq!(value[second], 4);
        value[second] = 0;
        assert!(Record::decode(&value.into()).is_err());
        let mut nodes = Ledger::of_order(77, None);
        nodes.add(1, Node { life: u64::MAX, next: 0, needed: 0, nonce: None });
        let record = Record { order: 77, kind: Kind::Base { up_to: 3, nodes } };
        assert!(Record::decode(&record.encode().into()).is_err(), "no order has had so many lives");
    }

    /// As the first version wrote it: it does not say what was the last payload, which may have been in the last record.
    #[test]
    fn a_base_of_the_first_format_is_read() {
        let mut value = vec![1, BASE];
        put_u64(&mut value, 77);
        value.extend([9, 1, 4, 2, 5, 3]);
        let mut nodes = Ledger::of_order(77, Some(Position { instance: 9, index: u32::MAX }));
        nodes.add(4, Node { life: 2, next: 5, needed: 3, nonce: None });
        assert_eq!(Record::decode(&value.into()), Ok(Record { order: 77, kind: Kind::Base { up_to: 9, nodes } }));
    }
}

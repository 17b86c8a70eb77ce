//! Which records count, without I/O: a rule that all readers apply alike, so that a record which was sent twice, late, or by a life that
//! is over changes nothing (K1, K2).
//!
//! Kafka's brokers forget producers: their numbers after a day without records, transactional names after a week. The topic itself
//! forgets nothing that is still read, so the rule needs no more than what stands in it.

use crate::record::{Kind, Record};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use total::Position;

/// What is known of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its last life; the first one is 1.
    pub life: u64,
    /// Number of the life's next payload.
    pub next: u64,
    /// It needs the records behind this offset.
    pub needed: u64,
    /// Number of the record with which the life began, where this reader has read that.
    pub nonce: Option<u64>,
}

/// What the records so far have come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The order's number; none before its first record.
    order: Option<u64>,
    nodes: BTreeMap<u64, Node>,
    /// The last payload that was delivered, if there is one. Records that are behind it have delivered nothing.
    last: Option<Position>,
}

/// What a record means to who has read all before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// These payloads are delivered, the first one under this number.
    Deliver { node: u64, life: u64, first: u64, payloads: Vec<Bytes> },
    /// Nothing is delivered.
    Nothing,
    /// The records up to this offset may be deleted.
    Base { up_to: u64 },
    /// It does not count: it was sent twice, or came too late.
    Void,
}

/// A record that the order's nodes do not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It is no record of an order.
    Value { offset: u64 },
    /// It is a record of another order.
    Order { offset: u64 },
    /// The record before it is missing.
    Hole { offset: u64, expected: u64 },
    /// Payloads before it are missing.
    Gap { offset: u64, node: u64, first: u64, expected: u64 },
    /// It is of a life that has not begun.
    Life { offset: u64, node: u64, life: u64 },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { offset } => write!(f, "the record at offset {offset} is none of an order's"),
            Self::Order { offset } => write!(f, "the record at offset {offset} is of another order"),
            Self::Hole { offset, expected } => {
                write!(f, "a record at offset {offset} follows, where {expected} should")
            }
            Self::Gap { offset, node, first, expected } => write!(
                f,
                "the record of node {node} at offset {offset} begins with payload {first}, but {expected} follows"
            ),
            Self::Life { offset, node, life } => {
                write!(f, "the record of node {node} at offset {offset} is of its life {life}, which has not begun")
            }
        }?;
        write!(
            f,
            "; another program has written to the topic, or Kafka has lost records that it had acknowledged: begin a new order with \
             another topic"
        )
    }
}

impl Ledger {
    /// Of an order without nodes, of which this payload was the last one.
    pub fn of_order(order: u64, last: Option<Position>) -> Self {
        Self { order: Some(order), nodes: BTreeMap::new(), last }
    }

    /// Adds a node; returns whether it was not there.
    pub fn add(&mut self, node: u64, known: Node) -> bool {
        self.nodes.insert(node, known).is_none()
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Node)> {
        self.nodes.iter().map(|(node, known)| (*node, known))
    }

    pub fn order(&self) -> Option<u64> {
        self.order
    }

    /// The last payload that was delivered.
    pub fn last(&self) -> Option<Position> {
        self.last
    }

    pub fn node(&self, node: u64) -> Option<&Node> {
        self.nodes.get(&node)
    }

    /// The last life of a node; 0 if it has had none.
    pub fn life(&self, node: u64) -> u64 {
        self.nodes.get(&node).map_or(0, |known| known.life)
    }

    /// Returns the offset behind which some node needs all records.
    pub fn needed(&self) -> u64 {
        self.nodes.values().map(|known| known.needed).min().unwrap_or(0)
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// It is none that the order's nodes write.
    pub fn take(&mut self, offset: u64, value: &Bytes) -> Result<Meaning, Damage> {
        let record = Record::decode(value).map_err(|_| Damage::Value { offset })?;
        if let Kind::Begin { node, before, nonce, needed } = record.kind {
            return Ok(self.begin(record.order, node, before, nonce, needed));
        }
        if self.order != Some(record.order) {
            return Err(Damage::Order { offset });
        }
        match record.kind {
            Kind::Batch { node, life, first, payloads } => self.batch(offset, node, life, first, payloads),
            Kind::Mark { node, life, needed } => match self.nodes.get_mut(&node).filter(|known| known.life == life) {
                Some(known) => {
                    known.needed = needed;
                    Ok(Meaning::Nothing)
                }
                None => Ok(Meaning::Void),
            },
            Kind::Base { up_to, .. } => Ok(Meaning::Base { up_to }),
            Kind::Begin { .. } => Ok(Meaning::Nothing),
        }
    }

    /// A life begins, unless another one has begun since its node has looked (K1). The first one makes the order.
    fn begin(&mut self, order: u64, node: u64, before: u64, nonce: u64, needed: u64) -> Meaning {
        if *self.order.get_or_insert(order) != order || self.life(node) != before {
            return Meaning::Void;
        }
        // What a node has once asked to keep is kept until a life of it says something else.
        let needed = self.nodes.get(&node).map_or(needed, |known| known.needed);
        self.nodes.insert(node, Node { life: before + 1, next: 0, needed, nonce: Some(nonce) });
        Meaning::Nothing
    }

    fn batch(
        &mut self,
        offset: u64,
        node: u64,
        life: u64,
        first: u64,
        payloads: Vec<Bytes>,
    ) -> Result<Meaning, Damage> {
        let known = self.nodes.get_mut(&node).filter(|known| known.life >= life);
        let known = known.ok_or(Damage::Life { offset, node, life })?;
        if known.life > life || first < known.next {
            return Ok(Meaning::Void);
        }
        if first > known.next {
            return Err(Damage::Gap { offset, node, first, expected: known.next });
        }
        known.next += payloads.len() as u64;
        // A record has no more of them than this (`Record::decode`).
        if let Some(index) = payloads.len().checked_sub(1).and_then(|index| u32::try_from(index).ok()) {
            self.last = Some(Position { instance: offset, index });
        }
        Ok(Meaning::Deliver { node, life, first, payloads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: u64 = 5;

    fn take(ledger: &mut Ledger, kind: Kind) -> Result<Meaning, Damage> {
        ledger.take(9, &Record { order: ORDER, kind }.encode().into())
    }

    fn begin(node: u64, before: u64, nonce: u64) -> Kind {
        Kind::Begin { node, before, nonce, needed: 3 }
    }

    fn batch(node: u64, life: u64, first: u64, count: usize) -> Kind {
        Kind::Batch { node, life, first, payloads: vec![Bytes::from_static(b"x"); count] }
    }

    fn delivered(meaning: Result<Meaning, Damage>) -> Option<(u64, usize)> {
        match meaning.unwrap() {
            Meaning::Deliver { first, payloads, .. } => Some((first, payloads.len())),
            _ => None,
        }
    }

    #[test]
    fn a_batch_counts_once_whatever_is_sent_how_often() {
        let mut ledger = Ledger::default();
        assert_eq!(take(&mut ledger, begin(1, 0, 7)), Ok(Meaning::Nothing));
        assert_eq!(delivered(take(&mut ledger, batch(1, 1, 0, 2))), Some((0, 2)));
        assert_eq!(take(&mut ledger, batch(1, 1, 0, 2)), Ok(Meaning::Void), "again");
        assert_eq!(delivered(take(&mut ledger, batch(1, 1, 2, 1))), Some((2, 1)));
        assert_eq!(take(&mut ledger, batch(1, 1, 0, 2)), Ok(Meaning::Void), "late");
        assert_eq!(delivered(take(&mut ledger, batch(1, 1, 3, 0))), Some((3, 0)), "a place for barriers");
        let gap = Damage::Gap { offset: 9, node: 1, first: 4, expected: 3 };
        assert_eq!(take(&mut ledger, batch(1, 1, 4, 1)), Err(gap));
    }

    #[test]
    fn only_what_delivers_is_the_last_payload() {
        let mut ledger = Ledger::default();
        take(&mut ledger, begin(1, 0, 7)).unwrap();
        assert_eq!(ledger.last(), None);
        take(&mut ledger, batch(1, 1, 0, 2)).unwrap();
        let last = Some(Position { instance: 9, index: 1 });
        assert_eq!(ledger.last(), last);
        for kind in [batch(1, 1, 2, 0), batch(1, 1, 0, 2), Kind::Mark { node: 1, life: 1, needed: 4 }, begin(2, 0, 8)] {
            ledger.take(10, &Record { order: ORDER, kind }.encode().into()).unwrap();
            assert_eq!(ledger.last(), last);
        }
    }

    #[test]
    fn an_earlier_life_adds_nothing() {
        let mut ledger = Ledger::default();
        take(&mut ledger, begin(1, 0, 7)).unwrap();
        take(&mut ledger, batch(1, 1, 0, 4)).unwrap();
        assert_eq!(take(&mut ledger, begin(1, 0, 8)), Ok(Meaning::Void), "it has not looked");
        assert_eq!((ledger.life(1), ledger.node(1).unwrap().nonce), (1, Some(7)));
        take(&mut ledger, begin(1, 1, 8)).unwrap();
        assert_eq!(take(&mut ledger, batch(1, 1, 4, 1)), Ok(Meaning::Void), "of the life before");
        assert_eq!(take(&mut ledger, Kind::Mark { node: 1, life: 1, needed: 99 }), Ok(Meaning::Void));
        assert_eq!(take(&mut ledger, begin(1, 0, 7)), Ok(Meaning::Void), "sent again");
        assert_eq!(delivered(take(&mut ledger, batch(1, 2, 0, 1))), Some((0, 1)));
        assert_eq!(take(&mut ledger, batch(1, 3, 0, 1)), Err(Damage::Life { offset: 9, node: 1, life: 3 }));
        assert_eq!(take(&mut ledger, batch(2, 1, 0, 1)), Err(Damage::Life { offset: 9, node: 2, life: 1 }));
    }

    #[test]
    fn what_any_node_needs_is_needed() {
        let mut ledger = Ledger::default();
        take(&mut ledger, begin(1, 0, 7)).unwrap();
        take(&mut ledger, begin(2, 0, 8)).unwrap();
        assert_eq!(ledger.needed(), 3);
        take(&mut ledger, Kind::Mark { node: 1, life: 1, needed: 20 }).unwrap();
        take(&mut ledger, Kind::Mark { node: 2, life: 1, needed: 10 }).unwrap();
        assert_eq!(ledger.needed(), 10);
        take(&mut ledger, begin(2, 1, 9)).unwrap();
        assert_eq!(ledger.needed(), 10, "the life before has asked for it");
    }

    #[test]
    fn what_is_of_no_order_or_of_another_one_is_noticed() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.take(9, &Bytes::from_static(b"hello")), Err(Damage::Value { offset: 9 }));
        assert_eq!(take(&mut ledger, batch(1, 1, 0, 1)), Err(Damage::Order { offset: 9 }), "none has begun");
        take(&mut ledger, begin(1, 0, 7)).unwrap();
        let other = |kind| Bytes::from(Record { order: 6, kind }.encode());
        assert_eq!(ledger.take(9, &other(begin(2, 0, 8))), Ok(Meaning::Void), "two nodes have made it at once");
        assert_eq!(ledger.take(9, &other(batch(1, 1, 0, 1))), Err(Damage::Order { offset: 9 }));
    }
}

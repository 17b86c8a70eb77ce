//! Where this node stands in the log, without I/O.
//!
//! A node that begins, or goes on from a state that it has fetched, reads the log from its begin: what counts depends on what stood
//! before. Where the begin was deleted, a base says what it came to; records are only deleted up to the offset of one (K4).

use crate::ledger::{Damage, Ledger, Meaning};
use crate::record::{Kind, Record};
use bytes::Bytes;
use total::{Delivered, Origin, Position};

/// Where this node stands in the log.
#[derive(Debug)]
pub struct Incoming {
    /// Everything up to here is in the consumer's state.
    after: Option<Position>,
    /// All records below this offset were taken.
    next: u64,
    /// There is a base that speaks for the records up to this offset.
    based: Option<u64>,
    ledger: Ledger,
}

impl Incoming {
    /// At the begin of what is kept, with what the records before it have come to.
    pub fn at_begin(next: u64, ledger: Ledger, after: Option<Position>) -> Self {
        Self { after, next, based: None, ledger }
    }

    /// Offset of the record to be read next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// What the records so far have come to.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the offset up to which some base speaks for the records.
    pub fn based(&self) -> Option<u64> {
        self.based
    }

    /// Takes the next record, and returns what of it is delivered. One that was taken already says nothing.
    ///
    /// # Errors
    /// It is none that the order's nodes write.
    pub fn take(&mut self, offset: u64, value: &Bytes) -> Result<Vec<Delivered>, Damage> {
        if offset < self.next {
            return Ok(Vec::new());
        }
        if offset > self.next {
            return Err(Damage::Hole { offset, expected: self.next });
        }
        let meaning = self.ledger.take(offset, value)?;
        self.next = offset + 1;
        let (node, life, first, payloads) = match meaning {
            Meaning::Deliver { node, life, first, payloads } => (node, life, first, payloads),
            Meaning::Base { up_to } => {
                self.based = self.based.max(Some(up_to));
                return Ok(Vec::new());
            }
            Meaning::Nothing | Meaning::Void => return Ok(Vec::new()),
        };
        let origin = Origin { node, life };
        let delivered = (0u32..).zip(first..).zip(payloads).map(|((index, submission), payload)| {
            let position = Position { instance: offset, index };
            Delivered { position, origin, submission, payload }
        });
        Ok(delivered.filter(|delivered| Some(delivered.position) > self.after).collect())
    }
}

/// The search for a base in a log whose begin was deleted.
#[derive(Debug)]
pub struct Search {
    /// The first offset that is kept.
    begin: u64,
}

impl Search {
    /// In a log whose first kept offset is this one.
    pub fn from(begin: u64) -> Self {
        Self { begin }
    }

    /// Looks at a record. Returns the offset up to which it speaks for the records that are not kept, and what they have come to, if it
    /// is the base that is sought. Records that are none of ours are the business of who reads on.
    pub fn look(&self, offset: u64, value: &Bytes) -> Option<(u64, Ledger)> {
        match Record::decode(value).ok()?.kind {
            // It speaks for records before it.
            Kind::Base { up_to, nodes } if up_to < offset && up_to + 1 >= self.begin => Some((up_to, nodes)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Node;

    fn value(kind: Kind) -> Bytes {
        Record { order: 1, kind }.encode().into()
    }

    fn batch(life: u64, first: u64, count: usize) -> Bytes {
        value(Kind::Batch { node: 1, life, first, payloads: vec![Bytes::from_static(b"x"); count] })
    }

    fn taken(incoming: &mut Incoming, offset: u64, value: &Bytes) -> Vec<(u64, u32, u64)> {
        let all = incoming.take(offset, value).unwrap();
        all.iter().map(|it| (it.position.instance, it.position.index, it.submission)).collect()
    }

    #[test]
    fn a_position_within_a_batch_has_the_rest_of_it() {
        let after = Some(Position { instance: 1, index: 0 });
        let mut incoming = Incoming::at_begin(0, Ledger::default(), after);
        taken(&mut incoming, 0, &value(Kind::Begin { node: 1, before: 0, nonce: 4, needed: 0 }));
        assert_eq!(taken(&mut incoming, 1, &batch(1, 0, 3)), [(1, 1, 1), (1, 2, 2)]);
        assert_eq!(taken(&mut incoming, 1, &batch(1, 0, 3)), [], "again");
        assert_eq!(taken(&mut incoming, 2, &batch(1, 0, 3)), [], "the same batch elsewhere");
        assert_eq!(incoming.take(7, &batch(1, 3, 1)), Err(Damage::Hole { offset: 7, expected: 3 }));
        assert_eq!(taken(&mut incoming, 3, &batch(1, 3, 1)), [(3, 0, 3)]);
        assert_eq!(incoming.next(), 4);
    }

    #[test]
    fn a_reader_that_begins_with_a_base_delivers_what_all_deliver() {
        let mut whole = Incoming::at_begin(0, Ledger::default(), None);
        let mut log =
            vec![value(Kind::Begin { node: 1, before: 0, nonce: 4, needed: 0 }), batch(1, 0, 3), batch(1, 3, 2)];
        (0..).zip(&log).for_each(|(offset, value)| drop(whole.take(offset, value).unwrap()));
        // A repetition of what is deleted, and a life that is over, behind the cut.
        log.push(batch(1, 3, 2));
        log.push(value(Kind::Begin { node: 1, before: 1, nonce: 5, needed: 0 }));
        log.push(value(Kind::Base { up_to: 2, nodes: whole.ledger().clone() }));
        log.push(batch(1, 5, 1));
        log.push(batch(2, 0, 1));
        let search = Search::from(3);
        let (up_to, nodes) = (3..).zip(&log[3..]).find_map(|(offset, value)| search.look(offset, value)).unwrap();
        let mut late = Incoming::at_begin(up_to + 1, nodes, None);
        for (offset, value) in (3..).zip(&log[3..]) {
            assert_eq!(late.take(offset, value), whole.take(offset, value), "K4: offset {offset}");
        }
        assert_eq!(late.ledger().life(1), 2);
    }

    #[test]
    fn a_base_of_what_was_deleted_before_does_not_serve() {
        let mut nodes = Ledger::of_order(1, None);
        nodes.add(1, Node { life: 2, next: 3, needed: 4, nonce: None });
        let base = |up_to| value(Kind::Base { up_to, nodes: nodes.clone() });
        let search = Search::from(10);
        assert_eq!(search.look(20, &base(8)), None);
        assert_eq!(search.look(20, &base(9)), Some((9, nodes.clone())));
        assert_eq!(
            search.look(20, &base(12)),
            Some((12, nodes.clone())),
            "others have deleted less than it speaks for"
        );
        assert_eq!(search.look(20, &base(u64::MAX)), None, "it cannot speak for what is behind it");
        assert_eq!(search.look(20, &Bytes::from_static(b"x")), None);
    }
}

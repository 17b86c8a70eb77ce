//! Payloads of this life that were handed in and not yet delivered, without I/O.
//!
//! They wait, then travel in batches, one at a time: the next one leaves when the answer to the one before is there. A batch whose answer
//! is lost is sent again as it is; readers count it once (K2).

use bytes::Bytes;
use std::collections::VecDeque;
use total::{OrderError, Room};

/// The longest payload. The topic takes twice as much.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Limits of what waits, and of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub proposals: usize,
    pub bytes: usize,
    /// Bytes of payloads in a batch of more than one.
    pub batch_bytes: usize,
}

/// Payloads that were not delivered yet.
#[derive(Debug)]
pub struct Outgoing {
    limits: Limits,
    /// In no batch yet.
    waiting: VecDeque<Bytes>,
    /// Lengths of those that are in one and were not delivered, the oldest first.
    travelling: VecDeque<usize>,
    submissions: u64,
    open_bytes: usize,
}

impl Outgoing {
    pub fn new(limits: Limits) -> Self {
        Self { limits, waiting: VecDeque::new(), travelling: VecDeque::new(), submissions: 0, open_bytes: 0 }
    }

    /// Returns how much is taken.
    pub fn room(&self) -> Room {
        let open = self.waiting.len() + self.travelling.len();
        Room {
            proposals: self.limits.proposals.saturating_sub(open),
            bytes: self.limits.bytes.saturating_sub(self.open_bytes),
        }
    }

    /// Takes a payload, and returns how many were taken before it.
    pub fn propose(&mut self, payload: Bytes) -> Result<u64, OrderError> {
        let bytes = payload.len();
        if bytes == 0 {
            return Err(OrderError::Empty);
        }
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(OrderError::TooLarge { bytes, limit: MAX_PAYLOAD_BYTES });
        }
        if !self.room().is_left() {
            return Err(OrderError::Busy);
        }
        self.open_bytes += bytes;
        self.waiting.push_back(payload);
        self.submissions += 1;
        Ok(self.submissions - 1)
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the payloads of the next batch, which may be none, and the number of the first of them.
    pub fn next_batch(&mut self) -> (u64, Vec<Bytes>) {
        let first = self.submissions - self.waiting.len() as u64;
        let mut bytes = 0;
        let fits = |payload: &&Bytes| {
            bytes += payload.len();
            bytes <= self.limits.batch_bytes
        };
        let count = self.waiting.iter().take_while(fits).count().max(1).min(self.waiting.len());
        let payloads: Vec<Bytes> = self.waiting.drain(..count).collect();
        self.travelling.extend(payloads.iter().map(Bytes::len));
        (first, payloads)
    }

    /// All of this life's payloads below this number were delivered here, or are in the state that this node goes on from.
    pub fn delivered(&mut self, below: u64) {
        let oldest = self.submissions - (self.waiting.len() + self.travelling.len()) as u64;
        for _ in oldest..below {
            self.open_bytes -= self.travelling.pop_front().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Ledger, Meaning};
    use crate::record::{Kind, Record};
    use env::Randomness;

    const LIMITS: Limits = Limits { proposals: 64, bytes: 10_000, batch_bytes: 500 };

    #[test]
    fn batches_have_their_size_and_their_number() {
        let mut outgoing = Outgoing::new(LIMITS);
        assert_eq!(outgoing.next_batch(), (0, vec![]), "a place for barriers");
        for bytes in [300, 200, 1, 600, 400] {
            outgoing.propose(vec![1; bytes].into()).unwrap();
        }
        let mut next = || {
            let (first, payloads) = outgoing.next_batch();
            (first, payloads.iter().map(Bytes::len).collect::<Vec<_>>())
        };
        assert_eq!([next(), next(), next()], [(0, vec![300, 200]), (2, vec![1]), (3, vec![600])]);
        assert_eq!((next(), next()), ((4, vec![400]), (5, vec![])));
        outgoing.delivered(3);
        assert_eq!(outgoing.room(), Room { proposals: 62, bytes: 9_000 });
        outgoing.delivered(3);
        outgoing.delivered(5);
        assert_eq!(outgoing.room(), Room { proposals: LIMITS.proposals, bytes: LIMITS.bytes });
    }

    #[test]
    fn too_much_is_not_taken() {
        let mut outgoing = Outgoing::new(LIMITS);
        assert_eq!(outgoing.propose(Bytes::new()), Err(OrderError::Empty));
        let long = vec![0; MAX_PAYLOAD_BYTES + 1];
        assert!(matches!(outgoing.propose(long.into()), Err(OrderError::TooLarge { .. })));
        for _ in 0..LIMITS.proposals {
            outgoing.propose(Bytes::from_static(b"x")).unwrap();
        }
        assert_eq!(outgoing.propose(Bytes::from_static(b"x")), Err(OrderError::Busy));
    }

    /// Two lives of each of two nodes, the second one begun while records of the first are on the way; what is on the way is carried out
    /// late, often, and in any order, unless its sender waits for it.
    #[test]
    fn whatever_is_lost_or_repeated_all_count_once_and_in_order() {
        for seed in 0..300 {
            let mut randomness = Randomness::from_seed(seed);
            let mut ledger = Ledger::default();
            let mut old: Vec<Bytes> = Vec::new();
            let mut delivered: Vec<(u64, u64, u64)> = Vec::new();
            let mut append = |ledger: &mut Ledger, value: &Bytes| {
                if let Meaning::Deliver { node, life, first, payloads } = ledger.take(0, value).unwrap() {
                    delivered.extend((first..).zip(payloads).map(|(number, _)| (node, life, number)));
                }
            };
            let mut proposed = Vec::new();
            for life in 1..=2 {
                for node in 0..2 {
                    let kind = Kind::Begin { node, before: life - 1, nonce: seed, needed: 0 };
                    let begin = Bytes::from(Record { order: 1, kind }.encode());
                    append(&mut ledger, &begin);
                    old.push(begin);
                    let mut outgoing = Outgoing::new(LIMITS);
                    for _ in 0..20 {
                        (0..randomness.in_range(0..4)).for_each(|_| {
                            let number = outgoing.propose(vec![1; 200].into()).unwrap();
                            proposed.push((node, life, number));
                        });
                        while outgoing.is_waiting() {
                            let (first, payloads) = outgoing.next_batch();
                            let kind = Kind::Batch { node, life, first, payloads };
                            let batch = Bytes::from(Record { order: 1, kind }.encode());
                            // The answer that counts comes last; what was sent before may be carried out at any later time.
                            (0..randomness.in_range(1..4)).for_each(|_| append(&mut ledger, &batch));
                            old.push(batch);
                            let late = randomness.in_range(0..old.len() as u64) as usize;
                            append(&mut ledger, &old[late]);
                        }
                        outgoing.delivered(ledger.node(node).unwrap().next);
                    }
                    assert!(outgoing.room().proposals == LIMITS.proposals && outgoing.room().bytes == LIMITS.bytes);
                }
            }
            assert!(delivered == proposed, "K2: seed {seed}");
        }
    }
}

//! Payloads of this life that were handed in and not yet delivered, without I/O.
//!
//! They wait, then travel in batches. Each batch puts the node's key once, and says which version of the key it makes: etcd
//! carries it out only if the key has the version before. So several batches may be under way at once, in any order and any
//! number of times; each is applied once, and in its turn (E2).

use crate::batch;
use bytes::Bytes;
use std::collections::VecDeque;
use total::{OrderError, Room};

/// The longest payload. etcd refuses requests above 1.5 MiB unless its operator permits more.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Limits of what waits, and of what is under way.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub proposals: usize,
    pub bytes: usize,
    /// Bytes of payloads in a batch of more than one.
    pub batch_bytes: usize,
    /// Batches under way.
    pub in_flight: usize,
}

/// A batch to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The version of the node's key that it makes.
    pub version: u64,
    pub value: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be sent.
    Ready,
    /// Sent; no answer yet.
    Sent,
    /// Refused, since the batch before it was not applied yet.
    Early,
    /// Applied; not delivered here yet.
    Applied,
}

#[derive(Debug)]
struct Travelling {
    payloads: usize,
    bytes: usize,
    /// Empty from when it is applied.
    value: Bytes,
    state: State,
}

/// Payloads that were not delivered yet.
#[derive(Debug)]
pub struct Outgoing {
    life: u64,
    limits: Limits,
    /// In no batch yet.
    waiting: VecDeque<Bytes>,
    /// The oldest first; their versions have no gaps.
    batches: VecDeque<Travelling>,
    /// Version that the next batch will make.
    next_version: u64,
    submissions: u64,
    open: usize,
    open_bytes: usize,
}

impl Outgoing {
    /// For a life whose key has this version when it begins.
    pub fn new(life: u64, version: u64, limits: Limits) -> Self {
        Self {
            life,
            limits,
            waiting: VecDeque::new(),
            batches: VecDeque::new(),
            next_version: version + 1,
            submissions: 0,
            open: 0,
            open_bytes: 0,
        }
    }

    /// Returns how much is taken.
    pub fn room(&self) -> Room {
        Room {
            proposals: self.limits.proposals.saturating_sub(self.open),
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
        self.open += 1;
        self.open_bytes += bytes;
        self.waiting.push_back(payload);
        self.submissions += 1;
        Ok(self.submissions - 1)
    }

    /// Returns the next batch to send, if there is one and not too many are under way.
    pub fn next_append(&mut self) -> Option<Append> {
        let applied = self.batches.iter().take_while(|batch| batch.state == State::Applied).count();
        if !self.batches.range(applied..).any(|batch| batch.state == State::Ready) {
            if self.waiting.is_empty() || self.batches.len() - applied >= self.limits.in_flight.max(1) {
                return None;
            }
            self.fill();
        }
        let oldest = self.oldest_version();
        let ready = self.batches.iter_mut().zip(oldest..).find(|(batch, _)| batch.state == State::Ready);
        let (batch, version) = ready?;
        batch.state = State::Sent;
        Some(Append { version, value: batch.value.clone() })
    }

    /// Makes a batch of what waits.
    fn fill(&mut self) {
        let mut bytes = 0;
        let fits = |payload: &&Bytes| {
            bytes += payload.len();
            bytes <= self.limits.batch_bytes
        };
        let payloads = self.waiting.iter().take_while(fits).count().max(1);
        let first = self.submissions - self.waiting.len() as u64;
        let value = batch::encode(self.life, first, self.waiting.range(..payloads));
        let bytes = self.waiting.drain(..payloads).map(|payload| payload.len()).sum();
        self.batches.push_back(Travelling { payloads, bytes, value, state: State::Ready });
        self.next_version += 1;
    }

    fn oldest_version(&self) -> u64 {
        self.next_version - self.batches.len() as u64
    }

    fn batch(&mut self, version: u64) -> Option<&mut Travelling> {
        let at = version.checked_sub(self.oldest_version())?;
        self.batches.get_mut(usize::try_from(at).ok()?)
    }

    /// The node's key has this version: all batches up to it are applied.
    pub fn applied(&mut self, version: u64) {
        let oldest = self.oldest_version();
        for (batch, makes) in self.batches.iter_mut().zip(oldest..) {
            if makes <= version {
                batch.state = State::Applied;
                batch.value = Bytes::new();
            } else if batch.state == State::Early {
                batch.state = State::Ready;
            }
        }
    }

    /// This batch was refused, since the one before it was not applied then.
    pub fn early(&mut self, version: u64) {
        let predecessor = self.batch(version - 1).map(|batch| batch.state);
        let state = match predecessor {
            None | Some(State::Applied) => State::Ready,
            Some(_) => State::Early,
        };
        if let Some(batch) = self.batch(version).filter(|batch| batch.state == State::Sent) {
            batch.state = state;
        }
    }

    /// No answer will come to anything that was sent.
    pub fn lost(&mut self) {
        for batch in self.batches.iter_mut().filter(|batch| batch.state != State::Applied) {
            batch.state = State::Ready;
        }
    }

    /// All batches up to this version were delivered here, or are in the state that this node goes on from.
    pub fn delivered(&mut self, version: u64) {
        self.applied(version);
        while self.oldest_version() <= version
            && let Some(batch) = self.batches.pop_front()
        {
            self.open -= batch.payloads;
            self.open_bytes -= batch.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::Randomness;

    const LIMITS: Limits = Limits { proposals: 64, bytes: 10_000, batch_bytes: 500, in_flight: 4 };
    const LIFE: u64 = 9;

    /// A store that carries out what arrives, in any order and more than once, and whose answers may be lost.
    struct FaultyStore {
        version: u64,
        delivered: Vec<Bytes>,
        next: u64,
        on_the_way: Vec<Append>,
        randomness: Randomness,
    }

    impl FaultyStore {
        fn one_in(&mut self, n: u64) -> bool {
            self.randomness.in_range(0..n) == 0
        }

        /// As the transaction of `Member::append` does it.
        fn carry_out(&mut self, append: &Append) -> bool {
            if self.version + 1 != append.version {
                return false;
            }
            self.version += 1;
            let batch = batch::decode(&append.value).unwrap();
            assert_eq!((batch.life, batch.first), (LIFE, self.next), "E2: in their turn");
            self.next += batch.payloads.len() as u64;
            self.delivered.extend(batch.payloads);
            true
        }

        fn step(&mut self, outgoing: &mut Outgoing, rough: bool) {
            while let Some(append) = outgoing.next_append() {
                self.on_the_way.push(append);
            }
            while !(self.on_the_way.is_empty() || rough && self.one_in(4)) {
                let which = if rough { self.randomness.in_range(0..self.on_the_way.len() as u64) as usize } else { 0 };
                let stays = rough && self.one_in(4);
                let append = if stays { self.on_the_way[which].clone() } else { self.on_the_way.swap_remove(which) };
                let _ = self.carry_out(&append);
                match self.version >= append.version {
                    // The answer is lost.
                    _ if rough && self.one_in(3) => (),
                    true => outgoing.applied(self.version),
                    false => outgoing.early(append.version),
                }
            }
            if rough && self.one_in(8) {
                outgoing.lost();
            }
            if !rough || self.one_in(2) {
                outgoing.delivered(self.version);
            }
        }
    }

    #[test]
    fn whatever_is_lost_or_repeated_all_are_applied_once_and_in_order() {
        for seed in 0..300 {
            let mut outgoing = Outgoing::new(LIFE, 5, LIMITS);
            let randomness = Randomness::from_seed(seed);
            let mut store = FaultyStore { version: 5, delivered: vec![], next: 0, on_the_way: vec![], randomness };
            let mut proposed = Vec::new();
            for _ in 0..300 {
                let payload = Bytes::from(vec![proposed.len() as u8; 1 + proposed.len() % 300]);
                match outgoing.propose(payload.clone()) {
                    Ok(submission) => {
                        assert_eq!(submission, proposed.len() as u64);
                        proposed.push(payload);
                    }
                    Err(error) => assert_eq!(error, OrderError::Busy),
                }
                store.step(&mut outgoing, true);
            }
            outgoing.lost();
            for _ in 0..100 {
                store.step(&mut outgoing, false);
            }
            assert!(store.delivered == proposed, "seed {seed}");
            assert_eq!(outgoing.room(), Room { proposals: LIMITS.proposals, bytes: LIMITS.bytes }, "seed {seed}");
        }
    }

    #[test]
    fn batches_have_their_size_and_their_number() {
        let mut outgoing = Outgoing::new(LIFE, 0, LIMITS);
        for bytes in [300, 200, 1, 600, 400, 400, 400] {
            outgoing.propose(vec![1; bytes].into()).unwrap();
        }
        let sent: Vec<_> = std::iter::from_fn(|| outgoing.next_append()).collect();
        let sizes: Vec<Vec<usize>> = sent
            .iter()
            .map(|append| batch::decode(&append.value).unwrap().payloads.iter().map(Bytes::len).collect())
            .collect();
        assert_eq!(sizes, [vec![300, 200], vec![1], vec![600], vec![400]]);
        assert_eq!(sent.iter().map(|append| append.version).collect::<Vec<_>>(), [1, 2, 3, 4]);
        outgoing.applied(2);
        let more: Vec<_> = std::iter::from_fn(|| outgoing.next_append()).map(|append| append.version).collect();
        assert_eq!(more, [5, 6]);
        outgoing.early(6);
        assert_eq!(outgoing.next_append(), None, "the one before it is under way");
        outgoing.applied(5);
        assert_eq!(outgoing.next_append().map(|append| append.version), Some(6));
        outgoing.delivered(6);
        assert_eq!(outgoing.room(), Room { proposals: LIMITS.proposals, bytes: LIMITS.bytes });
    }

    #[test]
    fn too_much_is_not_taken() {
        let mut outgoing = Outgoing::new(LIFE, 0, LIMITS);
        assert_eq!(outgoing.propose(Bytes::new()), Err(OrderError::Empty));
        let long = vec![0; MAX_PAYLOAD_BYTES + 1];
        assert!(matches!(outgoing.propose(long.into()), Err(OrderError::TooLarge { .. })));
        for _ in 0..LIMITS.proposals {
            outgoing.propose(Bytes::from_static(b"x")).unwrap();
        }
        assert_eq!(outgoing.propose(Bytes::from_static(b"x")), Err(OrderError::Busy));
    }
}

//! Decides which payloads are delivered: those of each life in the order of submission, each once.

use std::collections::BTreeMap;

use codec::{Malformed, Reader, put_number, put_u64};

use crate::core::{Instance, ReplicaId};

/// Lives of one node that are remembered. A payload of a life that so many later ones have displaced, sent again, would count as one of a
/// new life: it would have to be on its way while its node starts so often.
const LIVES: usize = 64;

/// A node's life: a number that no other life of it has.
pub(super) type Life = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// The submission that is delivered next.
    next: u64,
    /// The instance of the last one.
    active: Instance,
}

/// Deliveries of each life. A function of the batches so far, and so equal on all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lives(BTreeMap<ReplicaId, BTreeMap<Life, Known>>);

/// Position of a payload in the sequence of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is its life's next.
    Next,
    /// It was delivered before.
    Repeated,
    /// One before it is missing: both come again.
    Early,
}

impl Lives {
    /// Decides on the payload with this number of a life, ordered at this instance.
    pub(super) fn judge(&mut self, origin: ReplicaId, life: Life, submission: u64, at: Instance) -> Turn {
        let next = self.next_of(origin, life);
        if submission != next {
            return if submission < next { Turn::Repeated } else { Turn::Early };
        }
        let lives = self.0.entry(origin).or_default();
        lives.insert(life, Known { next: next + 1, active: at });
        if lives.len() > LIVES {
            let idle = lives.iter().min_by_key(|(life, known)| (known.active, **life)).map(|(life, _)| *life);
            if let Some(life) = idle {
                lives.remove(&life);
            }
        }
        Turn::Next
    }

    /// Returns the number of the payload of a life that is delivered next.
    pub(super) fn next_of(&self, origin: ReplicaId, life: Life) -> u64 {
        self.0.get(&origin).and_then(|lives| lives.get(&life)).map_or(0, |known| known.next)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_number(out, self.0.len() as u64);
        for (origin, lives) in &self.0 {
            put_number(out, *origin);
            put_number(out, lives.len() as u64);
            for (life, Known { next, active }) in lives {
                put_u64(out, *life);
                put_number(out, *next);
                put_number(out, *active);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut all = BTreeMap::new();
        for _ in 0..reader.number()? {
            let (origin, count) = (reader.number()?, reader.number()?);
            let lives = (0..count).map(|_| {
                let life = reader.u64()?;
                Ok((life, Known { next: reader.number()?, active: reader.number()? }))
            });
            all.insert(origin, lives.collect::<Result<_, Malformed>>()?);
        }
        Ok(Self(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_life_s_payloads_come_in_their_order_and_once() {
        let mut lives = Lives::default();
        let mut judge = |life, submission| lives.judge(1, life, submission, 5);
        assert_eq!((judge(9, 1), judge(9, 0), judge(9, 0)), (Turn::Early, Turn::Next, Turn::Repeated));
        assert_eq!((judge(8, 0), judge(9, 1), judge(9, 3)), (Turn::Next, Turn::Next, Turn::Early));
        assert_eq!(lives.judge(2, 9, 0, 5), Turn::Next, "another node's");
    }

    #[test]
    fn so_many_lives_of_a_node_are_remembered_and_the_longest_idle_goes() {
        let mut lives = Lives::default();
        let count = LIVES as u64;
        (0..count).for_each(|life| assert_eq!(lives.judge(1, life, 0, life), Turn::Next));
        assert_eq!(lives.judge(1, 0, 1, count), Turn::Next, "the oldest lives on");
        assert_eq!(lives.judge(1, count, 0, count + 1), Turn::Next);
        assert_eq!(lives.judge(1, 0, 1, count + 2), Turn::Repeated);
        assert_eq!(lives.judge(1, 1, 1, count + 2), Turn::Early, "it is forgotten");
        assert_eq!(lives.judge(1, count - 1, 1, count + 2), Turn::Next);
    }

    #[test]
    fn what_is_remembered_comes_back() {
        let mut lives = Lives::default();
        for (origin, life, submission) in [(0, 7, 0), (0, 7, 1), (3, u64::MAX, 0), (0, 1, 0)] {
            assert_eq!(lives.judge(origin, life, submission, 1 << 40), Turn::Next);
        }
        let mut bytes = Vec::new();
        lives.encode(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!((Lives::decode(&mut reader), reader.end()), (Ok(lives), Ok(())));
        for cut in 0..bytes.len() {
            assert!(Lives::decode(&mut Reader::new(&bytes[..cut])).is_err(), "cut at {cut}");
        }
    }
}

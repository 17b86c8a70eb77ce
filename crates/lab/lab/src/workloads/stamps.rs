//! Stamps: numbers that name the writes of a run, and bytes that follow from them.

use model::RowRef;
use serde::{Deserialize, Serialize};

/// Names one write of one attempt: no other write of a run has it. At most 63 bits, so that it fits every integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The stamp as the value of an integer column.
    pub fn to_int(self) -> i64 {
        self.0 as i64
    }

    /// The client whose write it is.
    pub fn client(self) -> u32 {
        (self.0 >> COUNTER_BITS) as u32
    }

    /// Returns whether it is one of the initial load.
    pub fn is_loaded(self) -> bool {
        self.client() == LOADER
    }
}

/// The client that loads; the clients of a run count from 1.
pub const LOADER: u32 = 0;

const COUNTER_BITS: u32 = 44;
const MAX_CLIENT: u32 = (1 << (63 - COUNTER_BITS)) - 1;
/// Stamps set aside for one submitted call: the writes of the largest (a delivery draws some 130, and as many in its trial run) in some
/// hundred attempts. A client has them for 268 million calls.
const SUBMISSION: u64 = 1 << 16;

/// The stamps of one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps {
    next: u64,
}

impl Stamps {
    /// Stamps of this client: a range of 17 trillion.
    pub fn of_client(client: u32) -> Stamps {
        Stamps { next: u64::from(client & MAX_CLIENT) << COUNTER_BITS }
    }

    /// The next one.
    #[inline]
    pub fn draw(&mut self) -> Stamp {
        self.next += 1;
        Stamp(self.next)
    }

    /// Passes over what a copy of this may draw: the copy goes its own way.
    pub fn pass_over_a_submission(&mut self) {
        self.next += SUBMISSION;
    }
}

/// Bytes that follow from a stamp: whoever reads them whole knows the write, and bytes of two writes do not mix unseen.
#[derive(Clone, Debug, Default)]
pub struct StampedBytes(Vec<u8>);

const WORD_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl StampedBytes {
    /// The fewest bytes: the stamp itself.
    pub const MIN_BYTES: usize = 8;

    /// `length` bytes, zero until filled.
    pub fn new(length: usize) -> StampedBytes {
        StampedBytes(vec![0; length])
    }

    /// Fills in the bytes of a stamp.
    #[inline]
    pub fn fill(&mut self, stamp: Stamp) -> RowRef<'_> {
        StampedBytes::write(&mut self.0, stamp);
        RowRef::new(&self.0)
    }

    /// Writes the bytes of a stamp over `bytes`.
    #[inline]
    pub fn write(bytes: &mut [u8], Stamp(stamp): Stamp) {
        let mut word = stamp;
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            word = word.wrapping_add(WORD_STEP);
        }
    }

    /// The stamp of these bytes; `None` if they are not those of one stamp.
    pub fn stamp_of(bytes: &[u8]) -> Option<Stamp> {
        let stamp = Stamp(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
        let mut same = StampedBytes::new(bytes.len());
        (same.fill(stamp).bytes() == bytes).then_some(stamp)
    }

    /// Returns whether the bytes begin and end as those of one stamp do: a check that costs next to nothing.
    #[inline]
    pub fn has_matching_ends(bytes: &[u8]) -> bool {
        let Some(first) = bytes.get(..8) else { return false };
        let first = u64::from_le_bytes(first.try_into().expect("eight bytes"));
        let last_word = (bytes.len() - 1) / 8;
        let expected = first.wrapping_add(WORD_STEP.wrapping_mul(last_word as u64)).to_le_bytes();
        let end = &bytes[last_word * 8..];
        end == &expected[..end.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamped_bytes_give_their_stamp_back_unless_they_are_mixed() {
        for length in [8, 9, 16, 100, 1000] {
            let (mut one, mut other) = (StampedBytes::new(length), StampedBytes::new(length));
            one.fill(Stamp(7));
            assert_eq!(StampedBytes::stamp_of(&one.0), Some(Stamp(7)));
            assert!(StampedBytes::has_matching_ends(&one.0));
            other.fill(Stamp(8));
            if length > 9 {
                one.0[8..].copy_from_slice(&other.0[8..]);
                assert_eq!(StampedBytes::stamp_of(&one.0), None, "half of one write and half of another");
                assert!(!StampedBytes::has_matching_ends(&one.0));
            }
        }
        assert_eq!(StampedBytes::stamp_of(&[1, 2, 3]), None);
        assert!(!StampedBytes::has_matching_ends(&[1, 2, 3]));
    }

    #[test]
    fn clients_do_not_share_stamps() {
        let mut seen = std::collections::BTreeSet::new();
        for client in [0, 1, 2, 500] {
            let mut stamps = Stamps::of_client(client);
            assert!((0..100).all(|_| seen.insert(stamps.draw())));
            let mut submitted = stamps.clone();
            stamps.pass_over_a_submission();
            assert!((0..SUBMISSION).all(|_| seen.insert(submitted.draw())));
            assert!(seen.insert(stamps.draw()));
        }
        assert!(seen.iter().all(|stamp| i64::try_from(stamp.0).is_ok() && stamp.0 > 0));
    }
}

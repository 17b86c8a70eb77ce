//! Workloads: what is stored, and which transactions run on it. Written once, for every engine.

pub mod bank;
pub mod mixed;
pub mod ycsb;

use crate::record::Form;
use env::Randomness;
use model::{Error, Key, Mode, Program, RowBuf, RowRef, Schema, TableId};

/// A database to fill and clients to run on it.
pub trait Workload: Sync {
    /// Runs the workload's transactions, one after another.
    type Client: Client;

    /// The tables. Their positions here are how the rest of a workload names them.
    fn schemas(&self) -> Vec<Schema>;

    /// Representation of each table in a history, in the order of [`Workload::schemas`].
    fn forms(&self) -> Vec<Form>;

    /// Returns the initial number of records in the tables.
    fn records(&self) -> u64;

    /// Fills in the key and row of a record; returns its table.
    fn record(&self, number: u64, stamp: Stamp, key: &mut Key, row: &mut RowBuf) -> usize;

    /// A client. Equal seeds make equal choices.
    fn client(&self, at: ClientSlot<'_>) -> Self::Client;

    /// A client that reads in the background for as long as the others run.
    fn long_reader(&self, at: ClientSlot<'_>) -> Self::Client;

    /// A client whose next transaction checks the whole database after a run, if the workload has such a check.
    fn closing(&self, at: ClientSlot<'_>) -> Option<Self::Client>;
}

/// Place of a client in a run.
#[derive(Debug)]
pub struct ClientSlot<'a> {
    /// The tables of [`Workload::schemas`], by position.
    pub tables: &'a [TableId],
    /// The source of its choices.
    pub randomness: Randomness,
    /// The source of its stamps.
    pub stamps: Stamps,
}

/// One client: the program of its current transaction, and how to draw the next.
///
/// The program may run several times between two draws (retries) and must ask for the same accesses each time; only
/// stamps are fresh, so that every write of every attempt is told from every other.
pub trait Client: Program<Error = Error> + Send {
    /// Draws the next transaction.
    fn draw(&mut self) -> Mode;

    /// Looks at what a committed transaction returned. Never called for one that did not commit: what those saw need not
    /// make sense under every protocol.
    ///
    /// # Errors
    /// Describes the violation: the run has failed.
    fn check(&mut self, output: Self::Output) -> Result<(), String>;
}

/// Names one write of one attempt: no other write of a run has it. At most 63 bits, so that it fits every integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

const COUNTER_BITS: u32 = 40;

/// The stamps of one client.
#[derive(Clone, Debug)]
pub struct Stamps {
    next: u64,
}

impl Stamps {
    /// Stamps of this client: a range of a trillion.
    pub fn of_client(client: u32) -> Stamps {
        Stamps { next: u64::from(client & 0x007f_ffff) << COUNTER_BITS }
    }

    /// The next one.
    #[inline]
    pub fn draw(&mut self) -> Stamp {
        self.next += 1;
        Stamp(self.next)
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
    pub fn fill(&mut self, Stamp(stamp): Stamp) -> RowRef<'_> {
        let mut word = stamp;
        for chunk in self.0.chunks_mut(8) {
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            word = word.wrapping_add(WORD_STEP);
        }
        RowRef::new(&self.0)
    }

    /// The stamp of these bytes; `None` if they are not those of one stamp.
    pub fn stamp_of(bytes: &[u8]) -> Option<Stamp> {
        let stamp = Stamp(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
        let mut same = StampedBytes::new(bytes.len());
        (same.fill(stamp).bytes() == bytes).then_some(stamp)
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
            other.fill(Stamp(8));
            if length > 9 {
                one.0[8..].copy_from_slice(&other.0[8..]);
                assert_eq!(StampedBytes::stamp_of(&one.0), None, "half of one write and half of another");
            }
        }
        assert_eq!(StampedBytes::stamp_of(&[1, 2, 3]), None);
    }

    #[test]
    fn clients_do_not_share_stamps() {
        let mut seen = std::collections::BTreeSet::new();
        for client in [0, 1, 2, 500] {
            let mut stamps = Stamps::of_client(client);
            assert!((0..100).all(|_| seen.insert(stamps.draw())));
        }
        assert!(seen.iter().all(|stamp| i64::try_from(stamp.0).is_ok() && stamp.0 > 0));
    }
}

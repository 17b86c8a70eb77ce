//! Positions: places in the log of procedures, which is the serial order.

use model::{SerialPoint, Timestamp};

/// Bits of a place within a batch. The upper half of the places belongs to readers behind the batch.
const INDEX_BITS: u32 = 18;

/// Procedures of one batch, at most.
pub(crate) const BATCH_LIMIT: usize = 1 << (INDEX_BITS - 1);

/// Numbers of batches end here.
pub(crate) const BATCHES: u64 = 1 << (u64::BITS - INDEX_BITS);

/// A place in the log: the batch, and the index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(u64);

impl Position {
    /// Below every procedure's.
    pub const START: Position = Position(0);

    pub fn new(batch: u64, index: usize) -> Position {
        debug_assert!(index < BATCH_LIMIT, "a batch is sealed before it is longer");
        Position(batch << INDEX_BITS | index as u64)
    }

    /// Behind all procedures of a batch, and before those of the next one.
    pub fn end_of(batch: u64) -> Position {
        Position(batch << INDEX_BITS | (BATCH_LIMIT as u64 - 1))
    }

    /// The place of a reader behind a batch, by a number drawn for it. Places repeat after 131,072 readers of one
    /// batch.
    pub fn of_reader(batch: u64, number: u64) -> Position {
        Position(batch << INDEX_BITS | BATCH_LIMIT as u64 | (number % BATCH_LIMIT as u64))
    }

    pub fn batch(self) -> u64 {
        self.0 >> INDEX_BITS
    }

    pub fn from_number(number: u64) -> Position {
        Position(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }

    pub fn serial_point(self) -> SerialPoint {
        SerialPoint(self.0)
    }

    pub fn timestamp(self) -> Timestamp {
        Timestamp(self.0)
    }
}

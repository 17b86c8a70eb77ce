//! Positions in the serial order and in the log, and the durability that an acknowledgement waits for.

use std::fmt;

/// A transaction's timestamp: its begin timestamp where the order is fixed at begin. It also names the transaction.
///
/// Unit: the engine's own (ticks of its clock, or positions of a counter). Zero is before every transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Before every transaction.
    pub const ZERO: Timestamp = Timestamp(0);
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// Position of a committed transaction in the one serial order. Unique per engine, and increasing with real time where the
/// engine promises strict serializability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SerialPoint(pub u64);

impl fmt::Display for SerialPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A position in the redo log: everything below it precedes it. Unit: bytes of the logical log. Zero: nothing to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(pub u64);

impl LogPosition {
    /// Rests on nothing in the log.
    pub const ZERO: LogPosition = LogPosition(0);
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Durability of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// No wait and no guarantee: the record reaches the disk with some later group or a clean close.
    None,
    /// Nothing, but the log is synced within a bounded time: a crash loses at most that window.
    Async,
    /// The record, and every version that the transaction read, is on disk before the acknowledgement.
    #[default]
    Fsync,
}

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

/// Position of a committed transaction in the one serial order, as its engine claims it. Unique per engine, and increasing with real
/// time where the engine promises strict serializability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SerialPoint(pub u64);

impl fmt::Display for SerialPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A position in the log of one store: everything below it precedes it. Opaque: it is compared with positions of the same store
/// and waited for ([`crate::Interactive::wait_durable`]). What it counts is the log's affair: bytes in a redo log, deliveries in a
/// replicated one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(u64);

impl LogPosition {
    /// Rests on nothing in the log: no wait.
    pub const ZERO: LogPosition = LogPosition(0);

    /// The position that a log counts as `raw`. For logs, and for engines that keep a position beside each version.
    #[must_use]
    pub const fn from_raw(raw: u64) -> LogPosition {
        LogPosition(raw)
    }

    /// The log's own count, as in [`LogPosition::from_raw`].
    #[must_use]
    pub const fn to_raw(self) -> u64 {
        self.0
    }
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

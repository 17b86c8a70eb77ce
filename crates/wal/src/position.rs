//! Positions in the log.

use std::fmt;

/// Where a record ends in the log's one endless stream of bytes. Later records have greater positions, across segments and
/// restarts; what a record leaves durable is everything up to its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(pub(crate) u64);

impl LogPosition {
    /// Before every record: always durable.
    pub const NOTHING: Self = Self(0);

    /// Rebuilds a position from [`get`](Self::get).
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes since the log's creation.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

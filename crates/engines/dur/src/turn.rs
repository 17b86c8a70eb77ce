//! Numbers: a transaction's turn in the speculative order of its node, its place in the total order, and who wrote a version.

use model::{SerialPoint, Timestamp};

/// A transaction's place in the speculative order of its node (the thesis' `T.ID`). Counts from 1 in each life of a node. The
/// order layer keeps it: transactions of a life are delivered by their turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Turn(pub u64);

/// A transaction's place in the total order, the same on all nodes. Counts from 1: what was delivered, committed or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(pub u64);

/// A life of a node, by a number that this node gave it: the own life is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OriginId(pub u32);

/// Who wrote a version: the same on all nodes, and known before the transaction has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    pub origin: OriginId,
    pub turn: Turn,
}

/// What a transaction has found under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// No row, whoever has deleted it: rows that are gone leave nothing behind that nodes would have to agree on.
    Absent,
    /// The row of this writer.
    Row(Writer),
}

impl OriginId {
    pub const OWN: OriginId = OriginId(0);
}

impl Turn {
    pub fn next(self) -> Turn {
        Turn(self.0 + 1)
    }

    /// Its name in errors.
    pub fn timestamp(self) -> Timestamp {
        Timestamp(self.0)
    }
}

/// Bits of a serial point that tell readers of one place apart.
const READER_BITS: u32 = 20;
/// Bits of those that tell nodes apart.
const NODE_BITS: u32 = 6;
/// Nodes whose readers have points: the numbers below this.
pub(crate) const READING_NODES: u64 = 1 << NODE_BITS;
/// Readers of one node and one place that have points.
pub(crate) const READERS_OF_A_PLACE: u64 = 1 << (READER_BITS - NODE_BITS);

impl Place {
    pub fn next(self) -> Place {
        Place(self.0 + 1)
    }

    /// Where the transaction stands that was delivered here.
    pub fn serial_point(self) -> SerialPoint {
        SerialPoint(self.0 << READER_BITS)
    }

    /// Where a reader of the state at this place stands: the number, from 1, is another one for each reader of a node.
    pub fn reader_point(self, number: u64, node: u64) -> SerialPoint {
        SerialPoint(self.0 << READER_BITS | number << NODE_BITS | node)
    }
}

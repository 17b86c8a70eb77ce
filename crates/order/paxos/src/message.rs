//! Messages between replicas. `wire` encodes them.

use crate::core::generated::{Ballot, Instance, Message};
use bytes::Bytes;

/// Between replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The automaton's own. [`Message::Snapshot`] never travels whole: the transport cuts it into [`PeerMessage::Piece`]s, and sends
    /// them only to a replica that has asked.
    Core(Message),
    /// The sender has not heard of the leader of this ballot for the suspicion timeout. A replica becomes a candidate only if a
    /// majority says so, lest one that hears nobody deposes a leader whom all others hear.
    Suspicion(Ballot),
    /// Number of durable records of the sender's journal, those of earlier lives included. A smaller number than before means
    /// lost records.
    Records(u64),
    /// The sender's consumer has everything below this instance on its disk. The last report counts, even if it is lower than others were.
    Durable(Instance),
    /// A part of the snapshot of everything below `at`: `total` bytes in all, these begin at `offset`.
    Piece {
        /// Instances below it are in the snapshot.
        at: Instance,
        /// Position of `bytes` in the whole.
        offset: u64,
        /// The whole snapshot's length.
        total: u64,
        /// The part.
        bytes: Bytes,
    },
}

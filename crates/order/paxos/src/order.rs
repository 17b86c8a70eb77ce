//! A total order of opaque payloads, as replication protocols use it: they name this trait, never Paxos, so that an operator may put
//! an ordering service that he runs already (etcd, Kafka) in its place.
//!
//! ```text
//!   propose ──► proposer ──► core's mailbox ──► batches ──► lives: next? ──► mailbox ──► deliver
//!                  ▲                                           │
//!                  └────────── delivered, early, lost ─────────┘
//! ```
//!
//! [`NodeOrder`] stands directly on a replica of this process: an entry of a batch is a payload, with its origin, the life of the node
//! that proposed it, and its number in this life. No sessions, no replies, no socket on the way.
//!
//! # Invariants
//! - **O1** All nodes deliver the same payloads in the same order; each of them once. (P1, `lives.rs`)
//! - **O2** Payloads of one life are delivered in the order of their submission, without holes. (`lives.rs`; the proposer asserts it)
//! - **O3** A payload that was taken is delivered, as long as its node lives and a majority runs: what may be lost is handed over again.

mod application;
mod lives;
mod node;
mod proposer;

use bytes::Bytes;
use std::fmt;
use std::time::Duration;

pub use node::{NodeOrder, OrderLimits};

/// The longest payload.
pub const MAX_PAYLOAD_BYTES: usize = crate::request::MAX_BODY_BYTES;

/// A place in the total order. Greater is later; there may be gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderPosition {
    /// The instance (or the foreign log's offset).
    pub instance: u64,
    /// Which payload of the instance's batch.
    pub index: u32,
}

/// A payload that was ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its place.
    pub position: OrderPosition,
    /// The node that proposed it.
    pub origin: u64,
    /// Number of payloads that this origin had proposed before it (in this life of the origin).
    pub submission: u64,
    /// Payload as proposed.
    pub payload: Bytes,
}

/// Why a proposal was not taken, or nothing was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderError {
    /// Too many proposals of this node wait to be ordered: deliver some first, then try again.
    Busy,
    /// Longer than the order takes, in bytes.
    TooLarge {
        /// The payload's length.
        bytes: usize,
        /// Maximum length.
        limit: usize,
    },
    /// Nothing came within the time given.
    TimedOut,
    /// This node was away so long that what it missed is not kept any more: its state must come from another node.
    Missed,
    /// The order has stopped; whether proposals that were not delivered will be is unknown.
    Stopped(String),
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(f, "too many proposals wait to be ordered"),
            Self::TooLarge { bytes, limit } => {
                write!(f, "a proposal of {bytes} bytes exceeds the limit of {limit} bytes")
            }
            Self::TimedOut => write!(f, "nothing was delivered in time"),
            Self::Missed => write!(f, "the deliveries that this node missed are no longer kept"),
            Self::Stopped(why) => write!(f, "the order has stopped: {why}"),
        }
    }
}

impl std::error::Error for OrderError {}

/// One node's end of a total order.
///
/// All nodes are delivered the same payloads in the same order, each once. Those of one origin come in the order in which it proposed
/// them (its `submission` counts up without holes).
pub trait TotalOrder: Send + Sync {
    /// Hands in a payload. It returns at once; the payload is ordered when it is delivered, here and everywhere.
    ///
    /// # Errors
    /// [`OrderError::Busy`], [`OrderError::TooLarge`], [`OrderError::Stopped`]: nothing was handed in.
    fn propose(&self, payload: Bytes) -> Result<u64, OrderError>;

    /// The next payload in the order, waiting for it at most `time_limit`.
    ///
    /// # Errors
    /// [`OrderError::TimedOut`], [`OrderError::Missed`], [`OrderError::Stopped`].
    fn deliver(&self, time_limit: Duration) -> Result<Delivered, OrderError>;
}

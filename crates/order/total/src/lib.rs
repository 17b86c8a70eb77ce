//! A total order of opaque payloads, as replication stands on it: who replicates names this trait, never Paxos, so that
//! an operator may put an ordering service that he runs already in its place.
//!
//! # The idea
//! Each node hands in payloads, and each node is delivered the payloads of all, in one order. There is nothing else: no
//! answers, no sessions, no state. What consumers make of the payloads is theirs; the order keeps a payload until its
//! consumers say that they do not need it any more ([`TotalOrder::keep_from`]), or until it may keep no more.
//!
//! ```text
//!   node 0  propose a ─┐                        ┌─► deliver  a b c
//!   node 1  propose b ─┼─► order: a b c ────────┼─► deliver  a b c
//!   node 2  propose c ─┘                        └─► deliver  a b      (slower, and held up by nobody)
//! ```
//!
//! # Invariants
//! - **O1** All nodes are delivered the same payloads in the same order, each of them once.
//! - **O2** What is delivered of one origin (a life of a node) is a prefix of what it handed in, in the same order: if a
//!   payload is delivered, all before it were. The numbers of its payloads grow. They may have gaps, since an order may
//!   number its barriers too.
//! - **O3** A payload that was taken is delivered, as long as its node lives and the order has its majority.
//! - **O4** A barrier's position is at or behind every payload that was delivered anywhere before the barrier was asked
//!   for.
//! - **O5** What a node asked to keep is delivered again to a later life that resumes before it, unless the order kept
//!   its limit instead; then the life is told so ([`Event::Behind`]), and nothing is left out in silence.
//!
//! [`suite`] tests them, on every implementation, with nodes that stop, restart, lag and lose each other.
//!
//! # Orders
//! | | where | what for |
//! | --- | --- | --- |
//! | [`sequencer`] | here | one process: tests, simulations, several nodes of a program |
//! | proved Multi-Paxos | `paxos::order` | clusters |
//! | etcd | `etcd` | clusters whose operator runs etcd already |
//! | Kafka | `kafka` | clusters whose operator runs Kafka already |
//!
//! [`adapter`] holds what orders on foreign logs share.
//!
//! # What is deliberately absent
//! Tentative delivery, ahead of the final order: deferred update speculates on its own submissions, and does not need
//! it. [`Event`] may grow by it.
//!
//! Source: Pandey, *Optimizing Distributed Transactions* (thesis, 2016), section 2.1: the primitive of atomic broadcast,
//! without optimistic delivery.

#![forbid(unsafe_code)]

pub mod adapter;
mod error;
mod limits;
pub mod sequencer;
pub mod suite;

pub use error::OrderError;
pub use limits::OrderLimits;

use bytes::Bytes;
use env::time::Duration;

/// A life of a node: from its start to its end. A node that starts again is another origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The node.
    pub node: u64,
    /// A number that no other life of this node has.
    pub life: u64,
}

/// A place in the total order. Greater is later; there may be gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The instance (or the foreign log's offset).
    pub instance: u64,
    /// Which payload of the instance's batch.
    pub index: u32,
}

/// A payload that was ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its place.
    pub position: Position,
    /// Who proposed it.
    pub origin: Origin,
    /// What [`TotalOrder::propose`] returned for it: greater for each further payload of an origin, by one or more.
    pub submission: u64,
    /// Payload as proposed.
    pub payload: Bytes,
}

/// What a node is told, in the order of positions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A payload was ordered. This is final.
    Ordered(Delivered),
    /// All up to this position, which is that of a barrier of this node, was delivered.
    Barrier(Position),
    /// What this node missed is not kept any more. It must fetch a state that has everything up to `earliest`, or more,
    /// and say so by [`TotalOrder::resume`], or first by [`TotalOrder::follow`]; until then nothing is delivered.
    Behind {
        /// The last position that is not kept.
        earliest: Position,
        /// Nodes that may have such a state.
        holders: Vec<u64>,
    },
}

/// Room for proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Payloads.
    pub proposals: usize,
    /// Bytes of them.
    pub bytes: usize,
}

impl Room {
    /// Returns whether one more payload is taken.
    #[must_use]
    pub fn is_left(self) -> bool {
        self.proposals > 0 && self.bytes > 0
    }
}

/// What an order can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The longest payload, in bytes.
    pub payload_bytes: usize,
    /// Whether a barrier costs no place in the order.
    pub has_cheap_barrier: bool,
}

/// One node's end of a total order.
///
/// One thread takes deliveries; any thread proposes, asks for barriers and says what to keep.
pub trait TotalOrder: Send + Sync {
    /// Returns who this node is in [`Delivered::origin`] of its own payloads, in this life.
    fn origin(&self) -> Origin;

    /// Returns what this order can do.
    fn capabilities(&self) -> Capabilities;

    /// Hands in a payload, and returns its number, which is greater than that of each payload before it in this life (O2).
    /// It does not wait; the payload is ordered when it is delivered, here and everywhere.
    ///
    /// # Errors
    /// [`OrderError::Busy`], [`OrderError::Empty`], [`OrderError::TooLarge`], [`OrderError::NoSpace`],
    /// [`OrderError::Stopped`]: nothing was handed in.
    fn propose(&self, payload: Bytes) -> Result<u64, OrderError>;

    /// Waits until [`TotalOrder::propose`] would take a payload, and returns how much it would take. Others may use the
    /// room first.
    ///
    /// # Errors
    /// [`OrderError::TimedOut`], [`OrderError::NoSpace`], [`OrderError::Stopped`].
    fn room(&self, patience: Duration) -> Result<Room, OrderError>;

    /// Adds what comes next in the order, at least one event and at most `most` (not zero), waiting for the first.
    ///
    /// # Errors
    /// [`OrderError::TimedOut`]: nothing came. [`OrderError::Missed`]: the node was told that it is behind, and has not
    /// resumed. [`OrderError::Stopped`].
    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError>;

    /// Says that this node's state is durable up to this position, so that a later life resumes there or behind it. The
    /// order may forget what is before. As long as nothing was said it keeps what it needs for itself only. Who has said so once, or
    /// resumes, goes on saying so: an order may deliver no more before that, if it would have to forget what this node lacks.
    fn keep_from(&self, at: Position);

    /// Says that this node's state has everything up to `after`: what comes next is behind it. For a state that was
    /// fetched from another node; where a life begins is told when it is started. Who follows says it again when its own state has come so
    /// far; what it was delivered is not delivered again.
    ///
    /// # Errors
    /// [`OrderError::Missed`]: what follows this position is not kept any more.
    fn resume(&self, after: Position) -> Result<(), OrderError>;

    /// Says that this node fetches a state that has everything up to `after`. What comes behind it is delivered meanwhile, for the node to
    /// keep until the state is there: a state takes longer than payloads are kept. The node resumes when it has applied what it kept.
    /// Until then an order may take it for one that is behind, for which nothing is kept and nobody waits.
    ///
    /// # Errors
    /// Same as [`TotalOrder::resume`].
    fn follow(&self, after: Position) -> Result<(), OrderError> {
        self.resume(after)
    }

    /// Returns a position at or behind every payload that was delivered anywhere before the call. The consumer has reached it
    /// when it has been delivered [`Event::Barrier`] with this position or a greater one: a state after that is not
    /// stale. Somebody has to take deliveries meanwhile.
    ///
    /// # Errors
    /// [`OrderError::TimedOut`], [`OrderError::Busy`], [`OrderError::Stopped`].
    fn barrier(&self, patience: Duration) -> Result<Position, OrderError>;
}

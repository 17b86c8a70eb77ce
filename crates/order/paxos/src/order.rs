//! A total order of opaque payloads ([`total`]) of replicas of the proved protocol.
//!
//! ```text
//!   propose ──► proposer ──► core's mailbox ──► batches ──► lives: next? ──► mailbox ──► deliver
//!                  ▲                                           │
//!                  └────────── delivered, early, lost ─────────┘
//! ```
//!
//! [`NodeOrder`] stands directly on a replica of this process: an entry of a batch is a payload, with its origin, the life of the node
//! that proposed it, and its number in this life. No sessions, no replies, no socket on the way. A payload without bytes is a barrier: it
//! has a place, and its own node alone is told.
//!
//! The replica's snapshots say where the order stands, not what its consumers made of it. So a replica's own snapshot stays behind what
//! its consumer has made durable ([`total::TotalOrder::keep_from`], `kept.rs`): a life that starts again is delivered what follows its
//! consumer's state. Where all consumers have disks, it stays behind what a majority of them has made durable, too
//! ([`total::OrderLimits::forgets_by_majority`]). Beyond [`total::OrderLimits::kept_bytes`], or half of the span, the replica delivers no
//! more until more is durable. Who was away longer than the others keep is told so, and goes on behind a snapshot.
//!
//! # Invariants
//! Those of [`total`], here:
//! - **O1** by P1 and `lives.rs`: what comes twice is not delivered.
//! - **O2** by `lives.rs`; the proposer asserts it.
//! - **O3** by the proposer: what may be lost is handed over again.
//! - **O4**: a barrier is a payload of its node.
//! - **O5** by `kept.rs`, and `application.rs` `begin`.

mod application;
mod kept;
mod lives;
mod node;
mod outgoing;
mod proposer;
#[cfg(feature = "sim")]
mod stepped;
mod taken;
mod waiters;

use crate::config::{MAX_KEPT_BYTES, Options};
use kept::Kept;
use total::{OrderLimits, Position};

pub use kept::WaitsFor;
pub use node::NodeOrder;
#[cfg(feature = "sim")]
pub use stepped::SteppedOrder;

/// The longest payload.
pub const MAX_PAYLOAD_BYTES: usize = crate::request::MAX_BODY_BYTES;

/// The places that a replica with these options keeps: half of the span that it has, and of the bytes, since beyond three quarters of them
/// the replica must forget, and nothing is proposed beyond the whole. Learners forget for themselves: nobody counts on them.
fn kept_by(options: &Options, limits: &OrderLimits, resume_after: Option<Position>) -> Kept {
    let most_bytes = (limits.kept_bytes as u64).min(MAX_KEPT_BYTES / 2);
    let mut kept = Kept::new(most_bytes, options.core().span / 2);
    if !options.votes() {
        kept = kept.for_learner();
    } else if limits.forgets_by_majority {
        kept = kept.for_majority();
    }
    resume_after.into_iter().for_each(|at| kept.keep_from(at));
    kept
}

//! Hands the state of a node to another node, which has missed more than the order keeps ([`total::Event::Behind`]).
//!
//! ```text
//!   node that is behind                              holder
//!     fetch ── Fetch(at) ──────────────────────────►  a thread writes the state of one moment
//!     Read  ◄── Piece, Piece, ... ──────────────────  two pieces wait at most, then the writer does
//!           ◄── End: bytes ─────────────────────────
//! ```
//!
//! The stream is opaque here: what it holds, and how its reader checks and installs it, belongs to the nodes. Connections
//! are those of [`net`]: with a key both ends prove that they hold it, and each piece is tagged.
//!
//! # Invariants
//! - **S1** A stream ends without an error only if all of it came: its holder has said how long it is, and its reader has counted.
//! - **S2** A holder has at most [`MAX_QUEUED_PIECES`] pieces of a stream in memory, and a reader too, however long the stream is and
//!   however slow the other end.
//! - **S3** Only a node of the same cluster is answered, of the same format, with the same key.
//! - **S4** An end that nothing is heard of gives up after [`Limits::patience`]: a holder keeps its old versions no longer for it.
//!
//! | | asserted | tests |
//! | --- | --- | --- |
//! | S1 | `fetch.rs` `Incoming::read` | `a_stream_that_breaks_off_is_an_error` |
//! | S2 | by the channels' bounds | `a_holder_waits_for_a_slow_reader` |
//! | S3 | `server.rs` `judge`, `fetch.rs` `judge` | `strangers_are_refused_by_name` |
//! | S4 | `server.rs` `send`, `fetch.rs` `next` | `a_silent_holder_is_given_up` |
//!
//! Deliberately absent: which node to ask, and when; resumption in the middle, since a state is of one moment, and the holder's next one
//! is another; encryption.

#![forbid(unsafe_code)]

mod fetch;
mod greeting;
mod message;
mod server;

pub use fetch::{FetchError, Holder, Incoming, fetch};
pub use greeting::{Member, Refusal};
pub use message::PIECE_BYTES;
pub use server::{ServeError, Server, Source};

use std::time::Duration;

/// Pieces of a stream that wait at either end.
pub const MAX_QUEUED_PIECES: usize = 2;

/// Limits of either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// States that a holder hands over at once; one more is refused ([`Refusal::TooMany`]). Default 2.
    pub transfers: usize,
    /// Time that an end waits for the other. Default 20 s.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { transfers: 2, patience: Duration::from_secs(20) }
    }
}

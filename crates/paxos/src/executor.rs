//! Batches in, replies out: sessions, the service, and the replies that may be asked for again.

use crate::core::{Instance, Sequence, Session};
use crate::message::Outcome;

/// An answer for a client of this replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The session that the client with this nonce has opened.
    Opened {
        /// The client's.
        nonce: u64,
        /// The new session.
        session: Session,
    },
    /// What came of a request.
    Done {
        /// The request's session.
        session: Session,
        /// Its number there.
        sequence: Sequence,
        /// What came of it.
        outcome: Outcome,
    },
}

/// What an executor has done since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Executed {
    /// Requests that were executed.
    pub requests: u64,
    /// Requests that had been executed before, or came too early, or had no session.
    pub refused: u64,
    /// Sessions that are open.
    pub sessions: u64,
    /// The next instance.
    pub next: Instance,
}

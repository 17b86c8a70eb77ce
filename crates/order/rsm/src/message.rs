//! Messages between clients and replicas. `wire` encodes them.

use bytes::Bytes;
use paxos::core::{Instance, ReplicaId, Sequence, Session};

/// From a client to a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage {
    /// Open a session. The nonce is the client's own, drawn at random; it comes back with the session's number, and whoever does not know
    /// it cannot use the session.
    Open(u64),
    /// Order and execute this.
    Request {
        /// The session, opened before.
        session: Session,
        /// 1 for the session's first request, then 2, ...; at most [`SESSION_WINDOW`] after the oldest one without a reply.
        sequence: Sequence,
        /// With which the session was opened.
        nonce: u64,
        /// For the service.
        body: Bytes,
    },
    /// Asks for the status of the replica.
    Status,
}

/// Requests of one session that may be without a reply at a time, and replies that a replica remembers of each session.
pub const SESSION_WINDOW: u64 = 32;

/// From a replica to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaMessage {
    /// First after the connection is made, and again whenever the leader changes: whatever has no reply yet should be sent again.
    Leader {
        /// Leader; `None`: there is none, or it is not known.
        leader: Option<ReplicaId>,
        /// Address of that replica for clients, if this one knows it.
        address: Option<String>,
    },
    /// The session with this nonce has this number.
    Opened {
        /// Nonce of [`ClientMessage::Open`].
        nonce: u64,
        /// The session's number.
        session: Session,
    },
    /// A request was executed (once, however often it was sent).
    Reply {
        /// The request's session.
        session: Session,
        /// The request's number.
        sequence: Sequence,
        /// Outcome of the request.
        outcome: Outcome,
    },
    /// No session was opened for this nonce: the limit of sessions for this connection or address is reached.
    TooManySessions {
        /// Nonce of [`ClientMessage::Open`].
        nonce: u64,
        /// Maximum number of sessions.
        limit: u64,
    },
    /// Answer to [`ClientMessage::Status`]: a JSON object, see [`crate::status`].
    Status(String),
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was executed, now or earlier, at this instance; the service's answer.
    Executed(Instance, Bytes),
    /// It was executed so long ago that its reply is forgotten: the client sent more than [`SESSION_WINDOW`] after it.
    Forgotten,
    /// Not executed: an earlier request of the session is missing. Send from that one on again.
    Early,
    /// Not executed: the session was never opened, or has been idle so long that it was forgotten.
    UnknownSession,
    /// Not executed: the session is another client's, who opened it with another nonce.
    ForeignSession,
    /// Not executed: longer than this replica takes, in bytes.
    TooLarge(u64),
    /// It was executed, but the answer of this number of bytes is too long to send.
    ReplyTooLarge(u64),
}

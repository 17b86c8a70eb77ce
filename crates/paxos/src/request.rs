//! Requests, and the bytes of a batch of them.
//!
//! A batch is what the core calls a value: entries one after another, and nothing else. A batch without entries is the no-op that
//! fills a hole.
//!
//! | field of an entry | bytes |
//! | --- | --- |
//! | origin: the replica whose client sent it | 1 |
//! | session; 0: open one | 1 to 10 (LEB128) |
//! | sequence; of session 0: the client's nonce | 1 to 10 (LEB128) |
//! | length of the body | 1 to 5 (LEB128) |
//! | body | as it says |
//!
//! Invariant: whatever is in a batch came through [`Chunk`], whose only makers check every entry; decoding a batch that a peer sent
//! ends with a named error, never with a panic.

use crate::core::{ReplicaId, Sequence, Session};
use bytes::Bytes;

/// The longest body of one request, in bytes.
pub const MAX_BODY_BYTES: usize = 8 << 20;

/// One request, as it stands in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The replica whose client sent it: the one that answers.
    pub origin: ReplicaId,
    /// The session; [`OPEN`] to open one.
    pub session: Session,
    /// The request's number in its session, or the nonce.
    pub sequence: Sequence,
    /// For the service.
    pub body: &'a [u8],
}

/// The session of requests that open a session.
pub const OPEN: Session = 0;

/// Some requests in a row, encoded: what a connection hands to the batcher, and what the batcher joins to batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    bytes: Vec<u8>,
    requests: usize,
    body_bytes: usize,
}

/// Bytes that are no batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBatch {
    /// Where the entry begins that cannot be read.
    pub offset: usize,
}

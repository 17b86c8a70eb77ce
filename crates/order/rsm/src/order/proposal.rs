//! The bytes of a proposal, as the body of a request: who proposed it, when in its life, and the payload.

use super::OrderError;
use codec::{Malformed, Reader, put_number};
use paxos::core::ReplicaId;
use paxos::request::MAX_BODY_BYTES;

/// Bytes that may come before the payload.
const MAX_HEADER_BYTES: usize = 1 + 10 + 8 + 10;
/// The longest payload.
pub(super) const MAX_PAYLOAD_BYTES: usize = MAX_BODY_BYTES - MAX_HEADER_BYTES;

const VERSION: u8 = 1;

/// A payload and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Proposal<'a> {
    /// The node that proposed it.
    pub(super) origin: ReplicaId,
    /// Which life of that node: a number that no other life has.
    pub(super) life: u64,
    /// How many this life had proposed before.
    pub(super) submission: u64,
    /// What is to be ordered.
    pub(super) payload: &'a [u8],
}

impl<'a> Proposal<'a> {
    pub(super) fn to_bytes(self) -> Result<Vec<u8>, OrderError> {
        let bytes = self.payload.len();
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(OrderError::TooLarge { bytes, limit: MAX_PAYLOAD_BYTES });
        }
        let mut out = Vec::with_capacity(MAX_HEADER_BYTES + bytes);
        out.push(VERSION);
        put_number(&mut out, self.origin);
        out.extend_from_slice(&self.life.to_le_bytes());
        put_number(&mut out, self.submission);
        out.extend_from_slice(self.payload);
        Ok(out)
    }

    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != VERSION {
            return Err(Malformed::value_at(0));
        }
        let origin = reader.number()?;
        let life = reader.u64()?;
        Ok(Self { origin, life, submission: reader.number()?, payload: reader.rest() })
    }
}

//! Records as the log takes them: whole, or in pieces where they are longer than a segment (J3).

use super::error::JournalError;
use super::record::{self, Decoded};
use crate::core::Record;
use codec::Malformed;

/// The first byte of a piece.
const WHOLE: u8 = 0;
const FIRST: u8 = 1;
const MIDDLE: u8 = 2;
const LAST: u8 = 3;

/// Bytes of the encoding buffer that are kept: a rare long record does not hold its memory for ever.
const KEPT_BYTES: usize = 1 << 20;

/// Cuts records into pieces of limited length.
#[derive(Debug)]
pub(super) struct Pieces {
    limit: usize,
    /// A record's encoding, after the byte of a whole one.
    buffer: Vec<u8>,
}

impl Pieces {
    /// For pieces of at most `limit` bytes, at least two.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), buffer: Vec::new() }
    }

    /// Hands every piece of the record to `take`, in order.
    pub(super) fn cut(
        &mut self,
        record: &Record,
        mut take: impl FnMut(&[u8]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        self.buffer.clear();
        self.buffer.push(WHOLE);
        record::encode(record, &mut self.buffer).map_err(JournalError::snapshot)?;
        if self.buffer.len() <= self.limit {
            return take(&self.buffer);
        }
        let mut piece = Vec::with_capacity(self.limit);
        let parts = self.buffer[1..].chunks(self.limit - 1);
        let last = parts.len() - 1;
        for (index, part) in parts.enumerate() {
            piece.clear();
            piece.push(if index == 0 {
                FIRST
            } else if index == last {
                LAST
            } else {
                MIDDLE
            });
            piece.extend_from_slice(part);
            take(&piece)?;
        }
        if self.buffer.capacity() > KEPT_BYTES {
            self.buffer = Vec::new();
        }
        Ok(())
    }
}

/// Puts records together again.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// The pieces so far of a record that is not complete.
    begun: Option<Vec<u8>>,
}

impl Assembly {
    /// Adds a piece; gives the record that it completes. A record that was begun and is followed by another was cut off by a crash
    /// before it was durable, and is dropped.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<Option<Decoded>, Malformed> {
        let wrong = Malformed::value_at(0);
        let (kind, part) = piece.split_first().ok_or(wrong)?;
        match *kind {
            WHOLE => {
                self.begun = None;
                record::decode(part).map(Some)
            }
            FIRST => {
                self.begun = Some(part.to_vec());
                Ok(None)
            }
            MIDDLE | LAST => {
                let begun = self.begun.as_mut().ok_or(wrong)?;
                begun.extend_from_slice(part);
                if *kind == MIDDLE {
                    return Ok(None);
                }
                let bytes = self.begun.take().unwrap_or_default();
                record::decode(&bytes).map(Some)
            }
            _ => Err(wrong),
        }
    }
}

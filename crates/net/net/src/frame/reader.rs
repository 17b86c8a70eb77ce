//! Fields of a message, read from a frame's body.

use bytes::Bytes;
use codec::{Malformed, Reason};

use super::{BadFrame, NUMBER_LIMIT};

/// Byte strings that are kept for long and are shorter than this are copied: a slice would keep the whole buffer in memory that
/// was read with it.
const COPY_BELOW: usize = 4 << 10;

/// A place in a frame's body.
#[derive(Debug)]
pub struct Reader<'a> {
    body: &'a Bytes,
    fields: codec::Reader<'a>,
}

impl From<Malformed> for BadFrame {
    fn from(malformed: Malformed) -> Self {
        match malformed.reason {
            Reason::CutOff => Self::CutOff,
            Reason::Number | Reason::Value => Self::BadNumber,
            Reason::Text => Self::BadText,
        }
    }
}

impl<'a> Reader<'a> {
    /// At the body's begin.
    #[must_use]
    pub fn new(body: &'a Bytes) -> Self {
        Self { body, fields: codec::Reader::new(body) }
    }

    /// Is nothing left?
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.fields.is_empty()
    }

    /// Bytes that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.fields.left()
    }

    pub(super) fn skip_all(&mut self) {
        self.fields.rest();
    }

    /// One byte.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn byte(&mut self) -> Result<u8, BadFrame> {
        Ok(self.fields.u8()?)
    }

    /// One byte that is 0 or 1.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn flag(&mut self) -> Result<bool, BadFrame> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(BadFrame::BadNumber),
        }
    }

    /// `N` bytes.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], BadFrame> {
        Ok(self.fields.array()?)
    }

    /// Any 64 bits: eight bytes, little-endian.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn word(&mut self) -> Result<u64, BadFrame> {
        Ok(self.fields.u64()?)
    }

    /// A number that counts on, below 2^62.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn number(&mut self) -> Result<u64, BadFrame> {
        let number = self.fields.number()?;
        if number < NUMBER_LIMIT { Ok(number) } else { Err(BadFrame::NumberTooLarge(number)) }
    }

    /// A number that is at most `limit`.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn number_up_to(&mut self, limit: u64) -> Result<u64, BadFrame> {
        let number = self.number()?;
        if number <= limit { Ok(number) } else { Err(BadFrame::NumberTooLarge(number)) }
    }

    /// Reads the number of items of a list, each of at least `item_bytes`. Never returns more than the remaining bytes could
    /// hold.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn count(&mut self, item_bytes: usize) -> Result<usize, BadFrame> {
        let count = self.number()?;
        match usize::try_from(count) {
            Ok(count) if count.checked_mul(item_bytes).is_some_and(|bytes| bytes <= self.left()) => Ok(count),
            _ => Err(BadFrame::CutOff),
        }
    }

    /// A byte string, as a slice of the buffer that was read: for what is used up at once.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn slice(&mut self) -> Result<Bytes, BadFrame> {
        let length = self.count(1)?;
        Ok(self.body.slice_ref(self.fields.take(length)?))
    }

    /// A byte string that may be kept for long.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn bytes(&mut self) -> Result<Bytes, BadFrame> {
        let slice = self.slice()?;
        Ok(if slice.len() < COPY_BELOW { Bytes::copy_from_slice(&slice) } else { slice })
    }

    /// A text of at most `limit` bytes.
    ///
    /// # Errors
    /// [`BadFrame`].
    pub fn text(&mut self, limit: usize) -> Result<String, BadFrame> {
        let bytes = self.slice()?;
        if bytes.len() > limit {
            return Err(BadFrame::NumberTooLarge(bytes.len() as u64));
        }
        String::from_utf8(bytes.to_vec()).map_err(|_| BadFrame::BadText)
    }
}

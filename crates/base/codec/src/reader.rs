//! Fields, read from the front.

use std::fmt;

/// Why a field cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The bytes end within it.
    CutOff,
    /// A number that exceeds 64 bits, or is not in its shortest encoding.
    Number,
    /// A text that is not UTF-8.
    Text,
    /// A value that the format does not allow there, such as an unknown tag.
    Value,
}

/// Bytes that do not hold the field that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where the field begins.
    pub offset: usize,
    /// Why it cannot be read.
    pub reason: Reason,
}

impl Malformed {
    /// The error that the field at `offset` has a value which the format does not allow.
    #[must_use]
    pub fn value_at(offset: usize) -> Self {
        Self { offset, reason: Reason::Value }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::CutOff => "the bytes end within the field",
            Reason::Number => "a number that is not in its shortest encoding of at most 64 bits",
            Reason::Text => "a text that is not UTF-8",
            Reason::Value => "a value that is not allowed there",
        };
        write!(f, "malformed at byte {}: {reason}", self.offset)
    }
}

impl std::error::Error for Malformed {}

/// Reads fields from the front of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Number of bytes read so far.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of bytes left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Returns whether no bytes are left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    fn malformed(&self, reason: Reason) -> Malformed {
        Malformed { offset: self.offset, reason }
    }

    /// A number in LEB128.
    ///
    /// # Errors
    /// [`Malformed`] at the number's first byte, as all methods below.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Malformed> {
        match self.bytes.get(self.offset) {
            Some(byte) if *byte < 0x80 => {
                self.offset += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0u64;
        for (position, shift) in (self.offset..).zip((0..64).step_by(7)) {
            let byte = *self.bytes.get(position).ok_or(self.malformed(Reason::CutOff))?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    break;
                }
                self.offset = position + 1;
                return Ok(number);
            }
        }
        Err(self.malformed(Reason::Number))
    }

    /// One byte.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// Two bytes, little-endian.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let array = self.bytes[self.offset..].first_chunk().ok_or(self.malformed(Reason::CutOff))?;
        self.offset += N;
        Ok(*array)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let taken = self.bytes[self.offset..].get(..count).ok_or(self.malformed(Reason::CutOff))?;
        self.offset += count;
        Ok(taken)
    }

    /// A byte string with its length as a number.
    ///
    /// # Errors
    /// [`Malformed`], at the length.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let mut ahead = *self;
        let length = ahead.number()?;
        let length = usize::try_from(length).map_err(|_| self.malformed(Reason::CutOff))?;
        let bytes = ahead.take(length).map_err(|_| self.malformed(Reason::CutOff))?;
        *self = ahead;
        Ok(bytes)
    }

    /// A byte string with its length in four bytes.
    ///
    /// # Errors
    /// [`Malformed`], at the length.
    #[inline]
    pub fn bytes32(&mut self) -> Result<&'a [u8], Malformed> {
        let mut ahead = *self;
        let length = ahead.u32()?;
        let bytes = ahead.take(length as usize).map_err(|_| self.malformed(Reason::CutOff))?;
        *self = ahead;
        Ok(bytes)
    }

    /// A text with its length in four bytes.
    ///
    /// # Errors
    /// [`Malformed`], at the length.
    pub fn text32(&mut self) -> Result<&'a str, Malformed> {
        let mut ahead = *self;
        let text = std::str::from_utf8(ahead.bytes32()?).map_err(|_| self.malformed(Reason::Text))?;
        *self = ahead;
        Ok(text)
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.offset..];
        self.offset = self.bytes.len();
        rest
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`Malformed`] at the first byte that is left.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(self.malformed(Reason::Value)) }
    }
}

/// The four little-endian bytes at `offset` of a block of fixed layout.
///
/// # Panics
/// If the block is shorter.
#[must_use]
pub fn u32_at(block: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| block[offset + index]))
}

/// The eight little-endian bytes at `offset` of a block of fixed layout.
///
/// # Panics
/// If the block is shorter.
#[must_use]
pub fn u64_at(block: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| block[offset + index]))
}

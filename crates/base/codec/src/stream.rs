//! Fields, read from a stream: what is too long to be in memory whole.

use crate::{Malformed, Reason};
use std::fmt;
use std::io::{self, BufRead, Read};

/// Why a field of a stream cannot be read.
#[derive(Debug)]
pub enum StreamError {
    /// The bytes do not hold it. The offset counts from the beginning of the stream.
    Malformed(Malformed),
    /// The bytes cannot be read.
    Io(io::Error),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "{error}"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StreamError {}

impl From<Malformed> for StreamError {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl From<io::Error> for StreamError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads fields from a stream: the same ones as [`Reader`](crate::Reader) from bytes.
#[derive(Debug)]
pub struct StreamReader<R> {
    input: R,
    offset: usize,
}

impl<R: BufRead> StreamReader<R> {
    /// A reader at the first byte of `input`.
    pub fn new(input: R) -> Self {
        Self { input, offset: 0 }
    }

    /// Number of bytes read so far.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The stream, from the first byte that was not read.
    pub fn into_inner(self) -> R {
        self.input
    }

    fn malformed(&self, reason: Reason) -> StreamError {
        Malformed { offset: self.offset, reason }.into()
    }

    /// A number in LEB128.
    ///
    /// # Errors
    /// [`StreamError`] at the number's first byte, as all methods below.
    pub fn number(&mut self) -> Result<u64, StreamError> {
        let mut bytes = [0; 10];
        for position in 0..bytes.len() {
            self.fill(&mut bytes[position..=position])?;
            if bytes[position] < 0x80 {
                let number = crate::Reader::new(&bytes[..=position]).number();
                let number = number.map_err(|error| self.malformed(error.reason))?;
                self.offset += position + 1;
                return Ok(number);
            }
        }
        Err(self.malformed(Reason::Number))
    }

    /// One byte.
    ///
    /// # Errors
    /// [`StreamError`].
    pub fn u8(&mut self) -> Result<u8, StreamError> {
        self.array().map(|[byte]| byte)
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// [`StreamError`].
    pub fn u64(&mut self) -> Result<u64, StreamError> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`StreamError`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], StreamError> {
        let mut array = [0; N];
        self.fill(&mut array)?;
        self.offset += N;
        Ok(array)
    }

    /// The next `count` bytes. Memory is taken for the bytes that come, not for the count.
    ///
    /// # Errors
    /// [`StreamError`].
    pub fn take(&mut self, count: u64) -> Result<Box<[u8]>, StreamError> {
        let mut bytes = Vec::new();
        (&mut self.input).take(count).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < count {
            return Err(self.malformed(Reason::CutOff));
        }
        self.offset += bytes.len();
        Ok(bytes.into())
    }

    /// A byte string with its length as a number, which is at most `longest`.
    ///
    /// # Errors
    /// [`StreamError`].
    pub fn bytes(&mut self, longest: u64) -> Result<Box<[u8]>, StreamError> {
        let wrong = self.malformed(Reason::Value);
        match self.number()? {
            length if length <= longest => self.take(length),
            _ => Err(wrong),
        }
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// [`StreamError`] at the first byte that is left.
    pub fn end(&mut self) -> Result<(), StreamError> {
        if self.input.fill_buf()?.is_empty() { Ok(()) } else { Err(self.malformed(Reason::Value)) }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), StreamError> {
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.malformed(Reason::CutOff),
            _ => error.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reader, put_bytes, put_number};
    use proptest::prelude::*;

    fn reason<T>(result: Result<T, StreamError>) -> Option<(usize, Reason)> {
        match result {
            Err(StreamError::Malformed(Malformed { offset, reason })) => Some((offset, reason)),
            _ => None,
        }
    }

    #[test]
    fn fields_come_back() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, u64::MAX);
        put_bytes(&mut bytes, b"abc");
        bytes.extend(7_u64.to_le_bytes());
        bytes.push(9);
        // A buffer of one byte: every field is cut.
        let mut reader = StreamReader::new(io::BufReader::with_capacity(1, bytes.as_slice()));
        assert_eq!(reader.number().unwrap(), u64::MAX);
        assert_eq!(*reader.bytes(3).unwrap(), *b"abc");
        assert_eq!(reader.u64().unwrap(), 7);
        assert_eq!(reason(reader.end()), Some((22, Reason::Value)));
        assert_eq!((reader.u8().unwrap(), reader.offset()), (9, 23));
        reader.end().unwrap();
        assert_eq!(reason(reader.u8()), Some((23, Reason::CutOff)));
    }

    #[test]
    fn a_length_that_is_too_great_is_refused_where_it_stands() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, 1 << 60);
        assert_eq!(reason(StreamReader::new(bytes.as_slice()).bytes(10)), Some((0, Reason::Value)));
        let cut = reason(StreamReader::new(bytes.as_slice()).bytes(u64::MAX));
        assert_eq!(cut, Some((9, Reason::CutOff)), "the bytes end; none was allocated for the rest");
    }

    proptest! {
        /// The two readers agree on every number, good or bad.
        #[test]
        fn numbers_are_those_of_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
            let expected = Reader::new(&bytes).number();
            match (StreamReader::new(bytes.as_slice()).number(), expected) {
                (Ok(found), Ok(expected)) => prop_assert_eq!(found, expected),
                (Err(StreamError::Malformed(found)), Err(expected)) => prop_assert_eq!(found, expected),
                (found, expected) => prop_assert!(false, "{found:?} and {expected:?}"),
            }
        }
    }
}

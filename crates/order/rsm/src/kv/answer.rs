//! Encoding of the key-value service's answers.

use super::command::{optional, put_optional};
use codec::{Malformed, Reader, put_bytes, put_number};
use std::fmt;

const VALUE: u8 = 1;
const DONE: u8 = 2;
const SWAPPED: u8 = 3;
const DIFFERS: u8 = 4;
const COUNTER: u8 = 5;
const LISTED: u8 = 6;
const REFUSED: u8 = 7;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The key's value, if it has one.
    Value(Option<&'a [u8]>),
    /// The key has its new value, or none.
    Done {
        /// Whether the key had a value before.
        existed: bool,
    },
    /// The key had the value that was expected and has the new one.
    Swapped,
    /// The key has this value, not the one that was expected: nothing was changed.
    Differs(Option<&'a [u8]>),
    /// The sum.
    Counter(i64),
    /// Keys with their values.
    Listed {
        /// In the order of the keys' bytes.
        entries: Vec<(&'a [u8], &'a [u8])>,
        /// Whether more keys have the prefix: ask for those after the last one.
        more: bool,
    },
    /// The command could not be carried out: nothing was changed.
    Refused(Refusal),
}

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its bytes are no command.
    Unreadable,
    /// The key is longer than [`MAX_KEY_BYTES`](super::MAX_KEY_BYTES).
    KeyTooLong,
    /// The value is longer than [`MAX_VALUE_BYTES`](super::MAX_VALUE_BYTES).
    ValueTooLong,
    /// The value to add to is no decimal number of 64 bits.
    NotANumber,
    /// The sum is no number of 64 bits.
    Overflow,
    /// The map is full.
    Full,
}

impl Refusal {
    const ALL: [Self; 6] =
        [Self::Unreadable, Self::KeyTooLong, Self::ValueTooLong, Self::NotANumber, Self::Overflow, Self::Full];
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => write!(f, "the command cannot be read"),
            Self::KeyTooLong => write!(f, "the key is longer than {} bytes", super::MAX_KEY_BYTES),
            Self::ValueTooLong => write!(f, "the value is longer than {} bytes", super::MAX_VALUE_BYTES),
            Self::NotANumber => write!(f, "the value is not a decimal integer of 64 bits"),
            Self::Overflow => write!(f, "the sum does not fit into 64 bits"),
            Self::Full => write!(f, "the map is full"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Bytes that are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadAnswer {
    /// Start of the field that cannot be read.
    pub offset: usize,
}

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed key-value answer at byte {}", self.offset)
    }
}

impl std::error::Error for BadAnswer {}

impl<'a> Answer<'a> {
    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Value(value) => {
                out.push(VALUE);
                put_optional(out, *value);
            }
            Self::Done { existed } => out.extend_from_slice(&[DONE, u8::from(*existed)]),
            Self::Swapped => out.push(SWAPPED),
            Self::Differs(value) => {
                out.push(DIFFERS);
                put_optional(out, *value);
            }
            Self::Counter(sum) => {
                out.push(COUNTER);
                out.extend_from_slice(&sum.to_le_bytes());
            }
            Self::Listed { entries, more } => {
                out.extend_from_slice(&[LISTED, u8::from(*more)]);
                put_number(out, entries.len() as u64);
                for (key, value) in entries {
                    put_bytes(out, key);
                    put_bytes(out, value);
                }
            }
            Self::Refused(refusal) => out.extend_from_slice(&[REFUSED, *refusal as u8]),
        }
    }

    /// Reads what [`encode`](Self::encode) has written.
    ///
    /// # Errors
    /// The bytes are no answer.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BadAnswer> {
        let mut reader = Reader::new(bytes);
        Self::read(&mut reader)
            .and_then(|answer| reader.end().map(|()| answer))
            .map_err(|Malformed { offset, .. }| BadAnswer { offset })
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match reader.u8()? {
            VALUE => Self::Value(optional(reader)?),
            DONE => Self::Done { existed: flag(reader)? },
            SWAPPED => Self::Swapped,
            DIFFERS => Self::Differs(optional(reader)?),
            COUNTER => Self::Counter(i64::from_le_bytes(reader.array()?)),
            LISTED => {
                let more = flag(reader)?;
                let count = reader.number()?;
                let entry = |_| Ok((reader.bytes()?, reader.bytes()?));
                Self::Listed { entries: (0..count).map(entry).collect::<Result<_, _>>()?, more }
            }
            REFUSED => {
                let offset = reader.offset();
                let refusal = Refusal::ALL.get(usize::from(reader.u8()?));
                Self::Refused(*refusal.ok_or(Malformed::value_at(offset))?)
            }
            _ => return Err(Malformed::value_at(0)),
        })
    }
}

fn flag(reader: &mut Reader<'_>) -> Result<bool, Malformed> {
    let offset = reader.offset();
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed::value_at(offset)),
    }
}

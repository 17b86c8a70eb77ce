//! Encoding of the key-value service's requests: a tag, then keys and values with their lengths.

use codec::{Malformed, Reader, put_bytes, put_number};
use std::fmt;

const GET: u8 = 1;
const PUT: u8 = 2;
const DELETE: u8 = 3;
const COMPARE_AND_SET: u8 = 4;
const ADD: u8 = 5;
const LIST: u8 = 6;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The key's value: [`Answer::Value`](super::Answer::Value).
    Get {
        /// The key.
        key: &'a [u8],
    },
    /// Gives the key this value: [`Answer::Done`](super::Answer::Done).
    Put {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// Takes the key's value away: [`Answer::Done`](super::Answer::Done).
    Delete {
        /// The key.
        key: &'a [u8],
    },
    /// If the key has the value that is expected, gives it the new one: [`Answer::Swapped`](super::Answer::Swapped), else
    /// [`Answer::Differs`](super::Answer::Differs).
    CompareAndSet {
        /// The key.
        key: &'a [u8],
        /// The value that it must have; `None`: it must have none.
        expected: Option<&'a [u8]>,
        /// Its new value; `None`: none.
        new: Option<&'a [u8]>,
    },
    /// Adds to the decimal number that is the key's value: [`Answer::Counter`](super::Answer::Counter).
    Add {
        /// The key.
        key: &'a [u8],
        /// Number to add.
        delta: i64,
    },
    /// The first keys with this prefix, in the order of their bytes: [`Answer::Listed`](super::Answer::Listed).
    List {
        /// Prefix of the keys.
        prefix: &'a [u8],
        /// Only keys greater than this.
        after: Option<&'a [u8]>,
        /// Maximum number of entries (and at most [`MAX_LISTED`](super::MAX_LISTED)).
        limit: u64,
    },
}

/// Bytes that are no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCommand {
    /// Start of the field that cannot be read.
    pub offset: usize,
}

impl fmt::Display for BadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed key-value command at byte {}", self.offset)
    }
}

impl std::error::Error for BadCommand {}

impl<'a> Command<'a> {
    /// The bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Get { key } => put(out, GET, &[key]),
            Self::Put { key, value } => put(out, PUT, &[key, value]),
            Self::Delete { key } => put(out, DELETE, &[key]),
            Self::CompareAndSet { key, expected, new } => {
                put(out, COMPARE_AND_SET, &[key]);
                put_optional(out, expected);
                put_optional(out, new);
            }
            Self::Add { key, delta } => {
                put(out, ADD, &[key]);
                out.extend_from_slice(&delta.to_le_bytes());
            }
            Self::List { prefix, after, limit } => {
                put(out, LIST, &[prefix]);
                put_optional(out, after);
                put_number(out, limit);
            }
        }
    }

    /// Reads what [`encode`](Self::encode) has written.
    ///
    /// # Errors
    /// The bytes are no command.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BadCommand> {
        let mut reader = Reader::new(bytes);
        Self::read(&mut reader)
            .and_then(|command| reader.end().map(|()| command))
            .map_err(|Malformed { offset, .. }| BadCommand { offset })
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match reader.u8()? {
            GET => Self::Get { key: reader.bytes()? },
            PUT => Self::Put { key: reader.bytes()?, value: reader.bytes()? },
            DELETE => Self::Delete { key: reader.bytes()? },
            COMPARE_AND_SET => {
                Self::CompareAndSet { key: reader.bytes()?, expected: optional(reader)?, new: optional(reader)? }
            }
            ADD => Self::Add { key: reader.bytes()?, delta: i64::from_le_bytes(reader.array()?) },
            LIST => Self::List { prefix: reader.bytes()?, after: optional(reader)?, limit: reader.number()? },
            _ => return Err(Malformed::value_at(0)),
        })
    }
}

fn put(out: &mut Vec<u8>, tag: u8, fields: &[&[u8]]) {
    out.push(tag);
    fields.iter().for_each(|field| put_bytes(out, field));
}

/// A byte that says whether there is something, and that.
pub(super) fn put_optional(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    out.push(u8::from(bytes.is_some()));
    bytes.into_iter().for_each(|bytes| put_bytes(out, bytes));
}

pub(super) fn optional<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    let offset = reader.offset();
    match reader.u8()? {
        0 => Ok(None),
        1 => reader.bytes().map(Some),
        _ => Err(Malformed::value_at(offset)),
    }
}

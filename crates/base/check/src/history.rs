//! Transaction histories: what they say, their text form, and their compact form in memory.
//!
//! # Text form
//! JSON lines, one transaction a line, in any order; blank lines are skipped, unknown fields ignored:
//!
//! ```json
//! {"id":1,"p":0,"s":0.000000001,"e":0.000000002,"st":"ok","at":7,"ops":[["r","x",null],["w","x",5]]}
//! ```
//!
//! | field | meaning |
//! | --- | --- |
//! | `id` | the transaction's name, unique in the history (unsigned 64 bits) |
//! | `p` | the client or process that ran it (unsigned 64 bits) |
//! | `s`, `e` | when it started and ended, in seconds of one monotonic clock; read exactly to the nanosecond, finer digits are dropped |
//! | `st` | `ok` committed; `fail` certainly had no effect; `info` outcome unknown (`e` may then be absent) |
//! | `at` | the claimed serial point (optional, unsigned 64 bits): where in the serial order the engine says it stands |
//! | `ops` | its operations in program order |
//!
//! | operation | meaning |
//! | --- | --- |
//! | `["a",key,value]` | append `value` to the list at `key` |
//! | `["r",key,[value,...]]` | read the whole list at `key` (an absent list is the empty list, or `null`) |
//! | `["w",key,value,version?]` | write a register |
//! | `["r",key,value,version?]` | read a register; `null` means that it was absent |
//! | `["d",key,version?]` | delete a register |
//! | `["s",low,high,[[key,value],...]]` | scan all registers with `low <= key <= high`, both bounds inclusive; a `null` bound is open; the order of the entries carries no meaning |
//!
//! Keys and values are JSON integers (from -2^63 to 2^64-1) or strings.
//! Keys are ordered: integers by value, before strings by bytes. A key is either a list or a register in one history, never both;
//! scans see registers only. At the beginning every register is absent and every list empty.
//! A value is written at most once to the same key, in whatever transaction: a read then names the write that it saw.
//! Versions, where given, order the writes of one key as the engine installed them; version 0 is the initial absence.
//!
//! # In memory
//! [`History`] interns keys and values. [`KeyId`]s are ranks: comparing two of them compares the keys.

mod build;
mod read;
mod write;

pub use build::Builder;
pub use read::parse_seconds;
pub use write::Writer;

use serde::{Serialize, Serializer};
use std::fmt;
use std::io::BufRead;
use std::ops::Range;

/// A key or a value: an integer or a string. Integers come before strings; strings are ordered by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// A JSON integer.
    Integer(i128),
    /// A JSON string.
    Text(String),
}

impl From<u64> for Scalar {
    fn from(value: u64) -> Self {
        Scalar::Integer(value.into())
    }
}

impl From<i64> for Scalar {
    fn from(value: i64) -> Self {
        Scalar::Integer(value.into())
    }
}

impl From<&str> for Scalar {
    fn from(value: &str) -> Self {
        Scalar::Text(value.to_owned())
    }
}

impl From<String> for Scalar {
    fn from(value: String) -> Self {
        Scalar::Text(value)
    }
}

/// As in JSON, but a string that reads like a plain word stands without quotes.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Integer(value) => value.fmt(f),
            Scalar::Text(text) if is_plain_word(text) => f.write_str(text),
            Scalar::Text(text) => write!(f, "{text:?}"),
        }
    }
}

fn is_plain_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic()) && text.chars().all(|c| c.is_alphanumeric() || "_-/.:".contains(c))
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Scalar::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(small), _) => serializer.serialize_i64(small),
                (_, Ok(large)) => serializer.serialize_u64(large),
                _ => serializer.serialize_i128(*value),
            },
            Scalar::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// Outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It committed, and the client was told so.
    Committed,
    /// It certainly had no effect.
    Aborted,
    /// The client does not know: it may have taken effect, at any time after it started, or not.
    Unknown,
}

impl Status {
    /// The word for it in the text form.
    pub fn word(self) -> &'static str {
        match self {
            Status::Committed => "ok",
            Status::Aborted => "fail",
            Status::Unknown => "info",
        }
    }
}

/// One operation as a client records it; see the [module](self) for the text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Append to a list.
    Append {
        /// Which list.
        key: Scalar,
        /// The new last element.
        value: Scalar,
    },
    /// Read a whole list.
    ReadList {
        /// Which list.
        key: Scalar,
        /// Its elements, oldest first.
        values: Vec<Scalar>,
    },
    /// Write a register.
    Write {
        /// Which register.
        key: Scalar,
        /// Written value; no other operation writes it to this key.
        value: Scalar,
        /// The version's place among those of the key, when the engine tells; above 0.
        version: Option<u64>,
    },
    /// Read a register.
    Read {
        /// Which register.
        key: Scalar,
        /// Value read; `None` when absent.
        value: Option<Scalar>,
        /// The version that was read, when the engine tells; 0 is the initial absence.
        version: Option<u64>,
    },
    /// Delete a register.
    Delete {
        /// Which register.
        key: Scalar,
        /// As in [`Operation::Write`].
        version: Option<u64>,
    },
    /// Read all registers of a range.
    Scan {
        /// Lowest key of the range, inclusive; `None` is open.
        low: Option<Scalar>,
        /// Highest key of the range, inclusive; `None` is open.
        high: Option<Scalar>,
        /// The keys that were present, with their values, in any order.
        entries: Vec<(Scalar, Scalar)>,
    },
}

/// One transaction as a client records it: a line of the text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Unique in the history.
    pub id: u64,
    /// The client or process that ran it.
    pub process: u64,
    /// When it started, in nanoseconds of the history's monotonic clock.
    pub start_ns: u64,
    /// When it ended, in nanoseconds of the same clock; without meaning when the outcome is unknown.
    pub end_ns: u64,
    /// Outcome.
    pub status: Status,
    /// Its claimed place in the serial order.
    pub serial_point: Option<u64>,
    /// Operations in program order.
    pub operations: Vec<Operation>,
}

/// An interned key: its rank among the keys of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub(crate) u32);

impl KeyId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An interned value; equal exactly when the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(crate) u32);

/// A stretch of one of the history's pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// All but the last `count` of it.
    pub(crate) fn without_last(self, count: u32) -> Span {
        let end = self.end.saturating_sub(count).max(self.start);
        Span { end, ..self }
    }
}

/// An [`Operation`] in the compact form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of Operation, interned")]
pub enum Event {
    /// See [`Operation::Append`].
    Append { key: KeyId, value: ValueId },
    /// See [`Operation::ReadList`]; the elements are in [`History::elements`].
    ReadList { key: KeyId, elements: Span },
    /// See [`Operation::Write`].
    Write { key: KeyId, value: ValueId, version: Option<u64> },
    /// See [`Operation::Read`].
    Read { key: KeyId, value: Option<ValueId>, version: Option<u64> },
    /// See [`Operation::Delete`].
    Delete { key: KeyId, version: Option<u64> },
    /// See [`Operation::Scan`]; the entries are in [`History::entries`], ordered by key.
    Scan { low: Option<KeyId>, high: Option<KeyId>, entries: Span },
}

/// A [`Record`] in the compact form.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Unique in the history.
    pub id: u64,
    /// The client or process that ran it.
    pub process: u64,
    /// When it started, in nanoseconds.
    pub start_ns: u64,
    /// When it certainly had ended, in nanoseconds; `u64::MAX` when the outcome is unknown, since it may take effect at any later time.
    pub end_ns: u64,
    /// Outcome.
    pub status: Status,
    /// Its claimed place in the serial order.
    pub serial_point: Option<u64>,
    /// The line of the text form, or the ordinal of the record, from 1.
    pub line: u64,
    events: Span,
}

/// A well-formed history: ids are unique, transactions end after they start, no value is written twice to a key, no key is both list
/// and register.
#[derive(Debug)]
pub struct History {
    transactions: Vec<Transaction>,
    events: Vec<Event>,
    elements: Vec<ValueId>,
    entries: Vec<(KeyId, ValueId)>,
    keys: Vec<Scalar>,
    values: Vec<Scalar>,
}

impl History {
    /// Reads the text form to its end.
    ///
    /// # Errors
    /// The first line that cannot be read, or the later of two that contradict each other; an input without any transaction.
    pub fn read(input: impl BufRead) -> Result<History, HistoryError> {
        read::read(input)
    }

    /// Builds a history from records, as if they were read from lines in this order.
    ///
    /// # Errors
    /// Errors of [`History::read`].
    pub fn from_records(records: impl IntoIterator<Item = Record>) -> Result<History, HistoryError> {
        let mut builder = Builder::default();
        for record in records {
            builder.push(record)?;
        }
        builder.finish()
    }

    /// All transactions, in the order of the input.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Operations of a transaction in program order.
    pub fn events(&self, transaction: &Transaction) -> &[Event] {
        &self.events[transaction.events.range()]
    }

    /// The elements of a list read, oldest first.
    pub fn elements(&self, span: Span) -> &[ValueId] {
        &self.elements[span.range()]
    }

    /// The entries of a scan, ordered by key; a key that the scan returned twice is here twice.
    pub fn entries(&self, span: Span) -> &[(KeyId, ValueId)] {
        &self.entries[span.range()]
    }

    /// Number of operations of all transactions.
    pub fn operation_count(&self) -> usize {
        self.events.len()
    }

    /// Number of distinct keys, those that only bound a scan included; every [`KeyId`] is below it.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }

    /// The key as it stands in the text.
    pub fn key(&self, key: KeyId) -> &Scalar {
        &self.keys[key.index()]
    }

    /// The value as it stands in the text.
    pub fn value(&self, value: ValueId) -> &Scalar {
        &self.values[value.0 as usize]
    }
}

/// Why a text is not a history, and on which line.
#[derive(Debug)]
pub struct HistoryError {
    /// From 1; for errors of the input as a whole, the last line read.
    pub line: u64,
    /// Kind of fault.
    pub kind: HistoryErrorKind,
}

/// Faults in the text of a history.
#[derive(Debug)]
#[non_exhaustive]
pub enum HistoryErrorKind {
    /// The input could not be read.
    Io(std::io::Error),
    /// There is no transaction in it.
    Empty,
    /// The line is longer than [`MAX_LINE_BYTES`].
    LineTooLong,
    /// The line is not JSON, or not a transaction; the text says where.
    Syntax(String),
    /// Two transactions have this id; the first stands on `first_line`.
    DuplicateId {
        /// The id.
        id: u64,
        /// Where it stood first.
        first_line: u64,
    },
    /// The transaction ends before it starts.
    EndsBeforeStart,
    /// A scan's low bound is above its high bound.
    ReversedRange {
        /// The low bound.
        low: Scalar,
        /// The high bound.
        high: Scalar,
    },
    /// The value was written to the key before, so that a read of it would not say which write it saw.
    DuplicateWrite {
        /// The key.
        key: Scalar,
        /// The value.
        value: Scalar,
        /// Where it was written first.
        first_line: u64,
    },
    /// Two transactions wrote the same version of the key.
    DuplicateVersion {
        /// The key.
        key: Scalar,
        /// The version.
        version: u64,
        /// Where it was written first.
        first_line: u64,
    },
    /// Version 0 is the initial absence; no operation writes it.
    VersionZeroWritten {
        /// The key.
        key: Scalar,
    },
    /// The key is used as a list here and as a register elsewhere, or the other way round.
    ListAndRegister {
        /// The key.
        key: Scalar,
    },
    /// More transactions, operations, keys or values than 32 bits can count.
    TooLarge,
}

/// Longest line that is read, in bytes.
pub const MAX_LINE_BYTES: u64 = 256 << 20;

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => self.kind.fmt(f), // About the whole input.
            line => write!(f, "line {line}: {}", self.kind),
        }
    }
}

impl fmt::Display for HistoryErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot read: {error}"),
            Self::Empty => f.write_str("no transaction in the input"),
            Self::LineTooLong => write!(f, "line longer than {MAX_LINE_BYTES} bytes"),
            Self::Syntax(text) => f.write_str(text),
            Self::DuplicateId { id, first_line } => {
                write!(f, "transaction id {id} was used before, on line {first_line}")
            }
            Self::EndsBeforeStart => f.write_str("the transaction ends (e) before it starts (s)"),
            Self::ReversedRange { low, high } => {
                write!(f, "scan from {low} to {high}: the low bound is above the high bound")
            }
            Self::DuplicateWrite { key, value, first_line } => write!(
                f,
                "{value} was written to key {key} before, on line {first_line}; written values must be unique per key"
            ),
            Self::DuplicateVersion { key, version, first_line } => {
                write!(f, "version {version} of key {key} was written before, on line {first_line}")
            }
            Self::VersionZeroWritten { key } => {
                write!(f, "version 0 of key {key} is its initial absence and cannot be written")
            }
            Self::ListAndRegister { key } => write!(f, "key {key} is used both as a list and as a register"),
            Self::TooLarge => f.write_str("the history has more than 2^32 parts"),
        }
    }
}

impl std::error::Error for HistoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            HistoryErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

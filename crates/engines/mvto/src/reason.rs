//! Reasons for which this protocol aborts a transaction.

use crate::catalog::Table;
use model::{Abort, AbortClass, Key, Schema, Target, Timestamp};
use std::sync::Arc;

/// The rules that a transaction can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A transaction with a later timestamp has read what this one wants to write.
    LaterReader,
    /// A transaction with a later timestamp has written it.
    LaterWriter,
    /// A transaction with a later timestamp is about to write it.
    YoungerOwner,
    /// A transaction with a later timestamp has found the key absent, or scanned over its gap.
    LaterGapReader,
    /// Others have read what this one writes, and what it has read itself has changed since: it can commit neither below nor
    /// above them.
    RefreshFailed,
    /// The same, but it has read more than is kept to be looked at again.
    TooManyReads,
    /// An older transaction held it for longer than the limit on waiting.
    WaitLimit,
    /// The same, and among those that it waited for is one that its own thread has begun.
    OwnWriter,
    /// Its supervisor ended its wait.
    Interrupted,
    /// The transaction is older than the limit.
    Age,
    /// The transaction is older than the table.
    OlderThanSchema,
    /// The caller asked for it, or dropped the transaction.
    Requested,
}

impl Reason {
    /// All of them, for counting.
    pub const ALL: [Reason; 12] = [
        Reason::LaterReader,
        Reason::LaterWriter,
        Reason::YoungerOwner,
        Reason::LaterGapReader,
        Reason::RefreshFailed,
        Reason::TooManyReads,
        Reason::WaitLimit,
        Reason::OwnWriter,
        Reason::Interrupted,
        Reason::Age,
        Reason::OlderThanSchema,
        Reason::Requested,
    ];

    /// Its name in errors, statistics and reports.
    pub fn rule(self) -> &'static str {
        match self {
            Reason::LaterReader => "later-reader",
            Reason::LaterWriter => "later-writer",
            Reason::YoungerOwner => "younger-owner",
            Reason::LaterGapReader => "later-gap-reader",
            Reason::RefreshFailed => "refresh-failed",
            Reason::TooManyReads => "too-many-reads",
            Reason::WaitLimit => "wait-limit",
            Reason::OwnWriter => "own-writer",
            Reason::Interrupted => "interrupted",
            Reason::Age => "age",
            Reason::OlderThanSchema => "older-than-schema",
            Reason::Requested => "requested",
        }
    }

    /// The class that all protocols share.
    pub fn class(self) -> AbortClass {
        match self {
            Reason::WaitLimit | Reason::OwnWriter => AbortClass::WaitLimit,
            Reason::Interrupted => AbortClass::Interrupted,
            Reason::Age => AbortClass::Age,
            Reason::Requested => AbortClass::Requested,
            Reason::OlderThanSchema => AbortClass::Definition,
            Reason::LaterWriter | Reason::YoungerOwner => AbortClass::WriteWrite,
            Reason::LaterReader | Reason::LaterGapReader | Reason::RefreshFailed | Reason::TooManyReads => {
                AbortClass::ReadWrite
            }
        }
    }

    fn explanation(self) -> &'static str {
        match self {
            Reason::LaterReader => "a transaction with a later timestamp has already read what this one wants to write",
            Reason::LaterWriter => {
                "a transaction with a later timestamp has already written what this one wants to write"
            }
            Reason::YoungerOwner => {
                "a transaction with a later timestamp is about to write what this one wants to write"
            }
            Reason::LaterGapReader => {
                "a transaction with a later timestamp has already found absent, or scanned over, the key that this one wants to insert"
            }
            Reason::RefreshFailed => {
                "a row that it has read has changed since, and it must commit at a later timestamp because of what other transactions have read or written"
            }
            Reason::TooManyReads => {
                "it must commit at a later timestamp because of what other transactions have read or written, and it has read more keys than the engine keeps to check them again (option read_set)"
            }
            Reason::WaitLimit => "an older transaction held the row for longer than the wait limit",
            Reason::OwnWriter => {
                "a settled read waits for older writers, and one of them is open on the same thread: end that one first"
            }
            Reason::Interrupted => "its wait for an older transaction or for the log's disk was cancelled",
            Reason::Age => "the transaction is older than the age limit",
            Reason::OlderThanSchema => "the table was created after the transaction began",
            Reason::Requested => "the caller aborted or dropped it",
        }
    }

    /// The abort of `transaction` for this reason, which is about a whole table.
    pub(crate) fn abort_at_table(self, transaction: Timestamp, table: Arc<Schema>) -> Abort {
        Abort { table: Some(table), ..self.abort(transaction, None, None) }
    }

    /// The abort of `transaction` for this reason.
    pub(crate) fn abort(self, transaction: Timestamp, at: Option<(&Table, &[u8])>, other: Option<Timestamp>) -> Abort {
        let target = at.map_or(Target::None, |(_, key)| {
            let key = Key::from_bytes(key);
            if self == Reason::LaterGapReader { Target::Gap(key) } else { Target::Key(key) }
        });
        Abort {
            class: self.class(),
            rule: self.rule(),
            explanation: self.explanation(),
            table: at.map(|(table, _)| table.schema.clone()),
            target,
            transaction,
            other,
            met: None,
        }
    }
}

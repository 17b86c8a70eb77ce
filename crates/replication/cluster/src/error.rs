//! Why a transaction is refused, by rule.

use model::{Abort, AbortClass, Error, Fault, Schema, TableId, Target, Timestamp};
use std::sync::Arc;
use total::OrderError;

/// A read that does not hold, or a wait that ended.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub class: AbortClass,
    pub rule: &'static str,
    explanation: &'static str,
    pub table: Option<TableId>,
    target: Target,
    /// The other transaction: its place among those that were certified, or the number of one that is open on this node.
    pub other: Option<u64>,
}

impl Conflict {
    pub fn key_changed((table, key): crate::codes::TableKey, other: u64) -> Box<Conflict> {
        Box::new(Conflict {
            class: AbortClass::ReadWrite,
            rule: "key-changed",
            explanation: "a transaction that was ordered before changed a row that this one had read",
            table: Some(table),
            target: Target::Key(key),
            other: Some(other),
        })
    }

    pub fn range_changed(table: TableId, target: Target, other: u64) -> Box<Conflict> {
        Box::new(Conflict {
            class: AbortClass::ReadWrite,
            rule: "range-changed",
            explanation: "a transaction that was ordered before wrote into a range that this one had read",
            table: Some(table),
            target,
            other: Some(other),
        })
    }

    pub fn too_old() -> Box<Conflict> {
        Box::new(Conflict {
            class: AbortClass::ReadWrite,
            rule: "snapshot-too-old",
            explanation: "the transaction has read a state so old that later writes are not remembered for its certification",
            table: None,
            target: Target::None,
            other: None,
        })
    }

    pub fn dropped(table: TableId) -> Box<Conflict> {
        Box::new(Conflict {
            class: AbortClass::Definition,
            rule: "table-dropped",
            explanation: "a table that this transaction has used was dropped before its place in the order",
            table: Some(table),
            target: Target::None,
            other: None,
        })
    }

    /// The wait for the holder of a row of this node ended without it.
    pub fn waited(why: WaitEnd, (table, key): crate::codes::TableKey, other: u64) -> Box<Conflict> {
        let (class, rule, explanation) = match why {
            WaitEnd::Deadlock => (
                AbortClass::Priority,
                "deadlock",
                "the transaction that has the row waits for this one, so that neither could go on",
            ),
            WaitEnd::Limit => (
                AbortClass::WaitLimit,
                "wait-limit",
                "the transaction that has the row did not end within the wait limit",
            ),
            WaitEnd::Interrupted => {
                (AbortClass::Interrupted, "interrupted", "the wait for the transaction that has the row was ended")
            }
        };
        let (table, target, other) = (Some(table), Target::Key(key), Some(other));
        Box::new(Conflict { class, rule, explanation, table, target, other })
    }

    /// The abort of a transaction.
    pub fn abort(self, transaction: Timestamp, schema: impl FnOnce(TableId) -> Option<Arc<Schema>>) -> Abort {
        Abort {
            class: self.class,
            rule: self.rule,
            explanation: self.explanation,
            table: self.table.and_then(schema),
            target: self.target,
            transaction,
            other: self.other.map(Timestamp),
            met: None,
        }
    }
}

/// How a wait for a row ends without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    Deadlock,
    Limit,
    Interrupted,
}

/// An abort that its caller asked for.
pub(crate) fn requested(transaction: Timestamp) -> Error {
    let abort = Abort {
        class: AbortClass::Requested,
        rule: "requested",
        explanation: "the caller ended the transaction",
        table: None,
        target: Target::None,
        transaction,
        other: None,
        met: None,
    };
    abort.into()
}

/// The order did not do what it was asked for.
pub(crate) fn order_failed(error: &OrderError) -> Error {
    Fault::LogFailed { detail: error.to_string() }.into()
}

/// The outcome of what was proposed is not known.
pub(crate) fn unknown(detail: impl Into<String>) -> Error {
    Fault::OutcomeUnknown { detail: detail.into() }.into()
}

/// The node has not caught up in time.
pub(crate) fn behind(detail: impl Into<String>) -> Error {
    Fault::Behind { detail: detail.into() }.into()
}

/// A state or payload that this version did not write.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Fault::Corruption { detail: format!("replicated state: {what}") }.into()
}

//! Why a transaction is refused, by rule.

use crate::change::{Change, Version};
use crate::columns::ColumnSet;
use crate::read_set::Range;
use model::{
    Abort, AbortClass, ColumnChange, Error, Fault, Met, Predicate, RawValue, RowChange, Schema, TableId, Target,
    Timestamp, Value,
};
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
    /// What was read, and the write that changes it. Long values are not shortened yet.
    met: Option<Box<Met>>,
}

/// A write that a read would have seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The place of its transaction.
    place: u64,
    restriction: Predicate,
    change: Option<RowChange>,
    columns: Vec<ColumnChange>,
}

impl Seen {
    /// With the columns of the filter, and then those that were changed.
    pub fn of(
        place: u64,
        change: &Change,
        filter: Option<&Predicate>,
        (before, after): (&Version<'_>, &Version<'_>),
    ) -> Seen {
        let looked_at = filter.map_or(ColumnSet::NONE, ColumnSet::looked_at);
        let width = before.width().max(after.width());
        let first = (0..width).filter(|column| looked_at.has(*column));
        let rest = (0..width).filter(|column| change.columns.has(*column) && !looked_at.has(*column));
        let shown = |column| ColumnChange {
            column,
            before: before.value(column).map(|value| value.to_owned()),
            after: after.value(column).map(|value| value.to_owned()),
        };
        let columns = first.chain(rest).take(Met::COLUMNS).map(shown).collect();
        Seen { place, restriction: filter.cloned().unwrap_or_default(), change: change.kind, columns }
    }

    fn met(self, keys: Target) -> Option<Box<Met>> {
        let Seen { restriction, change, columns, .. } = self;
        Some(Box::new(Met { keys, restriction, change: change?, columns }))
    }
}

impl Conflict {
    pub fn key_changed((table, key): crate::codes::TableKey, seen: Seen) -> Box<Conflict> {
        Box::new(Conflict {
            class: AbortClass::ReadWrite,
            rule: "key-changed",
            explanation: "a transaction that was ordered before changed a row that this one had read",
            table: Some(table),
            target: Target::Key(key.clone()),
            other: Some(seen.place),
            met: seen.met(Target::Key(key)),
        })
    }

    /// A row of a range, or of those of a range that pass a filter, came, went or changed.
    pub fn range_changed(range: &Range, (table, key): crate::codes::TableKey, seen: Seen) -> Box<Conflict> {
        let (rule, explanation) = match range.filter {
            None => {
                ("range-changed", "a transaction that was ordered before wrote into a range that this one had read")
            }
            Some(_) => (
                "predicate-met",
                "a transaction that was ordered before changed rows that satisfy a predicate by which this one had read",
            ),
        };
        Box::new(Conflict {
            class: AbortClass::ReadWrite,
            rule,
            explanation,
            table: Some(table),
            target: Target::Key(key),
            other: Some(seen.place),
            met: seen.met(Target::Range(range.lower.clone(), range.upper.clone())),
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
            met: None,
        })
    }

    pub fn aged() -> Box<Conflict> {
        Box::new(Conflict {
            class: AbortClass::Age,
            rule: "age",
            explanation: "the transaction is older than the age limit",
            table: None,
            target: Target::None,
            other: None,
            met: None,
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
            met: None,
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
        Box::new(Conflict { class, rule, explanation, table, target, other, met: None })
    }

    /// The abort of a transaction.
    pub fn abort(self, transaction: Timestamp, schema: impl FnOnce(TableId) -> Option<Arc<Schema>>) -> Abort {
        let table = self.table.and_then(schema);
        let met = self.met.zip(table.as_deref()).map(|(met, schema)| shortened(met, schema));
        Abort {
            class: self.class,
            rule: self.rule,
            explanation: self.explanation,
            table,
            target: self.target,
            transaction,
            other: self.other.map(Timestamp),
            met,
        }
    }
}

/// With the beginnings of long values.
fn shortened(mut met: Box<Met>, schema: &Schema) -> Box<Met> {
    for ColumnChange { column, before, after } in &mut met.columns {
        let shown = |value: &mut Option<Value>| {
            *value = value.take().and_then(|value| Met::shown(RawValue::of(value.as_ref()), schema, *column));
        };
        shown(before);
        shown(after);
    }
    met
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
    stopped(error)
}

/// This node takes part no more. Nothing was changed.
pub(crate) fn stopped(why: impl std::fmt::Display) -> Error {
    Fault::Left { detail: why.to_string() }.into()
}

/// The outcome of what was proposed is not known. It may be ordered still, so a read that does not find it decides nothing.
pub(crate) fn unknown(why: impl std::fmt::Display) -> Error {
    let detail = format!(
        "{why}; it may be there or still come: connect to this node or another one, and read whether it is there, before it is run again"
    );
    Fault::OutcomeUnknown { detail }.into()
}

/// The node has not caught up in time.
pub(crate) fn behind(detail: impl Into<String>) -> Error {
    Fault::Behind { detail: detail.into() }.into()
}

/// A state or payload that this version did not write.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Fault::Corruption { detail: format!("replicated state: {what}") }.into()
}

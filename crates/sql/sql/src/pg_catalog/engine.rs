//! What the engine does with transactions: `seriatim_aborts`, `seriatim_transactions` and `seriatim_versions`.

use super::layout::{columns, tables};
use super::value::{NULL, bool, oid, text};
use crate::Result;
use crate::catalog::{Relation, VirtualTable};
use crate::context::System;
use crate::env::{Conflict, Entry};
use crate::types::{Datum, Interval, Row};
use model::{OpenTransaction, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use tables::storage::relation_of;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", System:
    12902 seriatim_aborts = aborts; {
        at: Timestamptz, pid: Int4, rule: Text, transaction: Text, other: Text, schemaname: Name, relname: Name,
        indexname: Name, written: Text, change: Text, read: Text, repeated: Bool, query: Text
    }
    12903 seriatim_transactions = transactions; {
        transaction: Text, pid: Int4, age: Interval, read_only: Bool, versions: Int8
    }
    12904 seriatim_versions = versions; {
        relid: Oid, schemaname: Name, relname: Name, versions: Int8
    }
};

/// The last conflicts, with both sides of each: what the other transaction has written, and what this one had read.
fn aborts(system: &mut System<'_>) -> Result<Vec<Row>> {
    let database = system.database().clone();
    let row = |conflict: Conflict| {
        let Conflict { at, process, is_repeated, query, abort, .. } = conflict;
        let sides = database.sides_of(&abort);
        let optional = |value: Option<String>| value.map_or(NULL, text);
        vec![
            Datum::Timestamptz(at),
            Datum::Int4(process),
            text(abort.rule),
            text(abort.transaction.to_string()),
            optional(abort.other.map(|other| other.to_string())),
            optional(sides.schema),
            optional(sides.table),
            optional(sides.index),
            optional(sides.target),
            optional(sides.change),
            optional(sides.read),
            bool(is_repeated),
            text(query),
        ]
    };
    Ok(database.conflicts.of_database(database.oid).into_iter().map(row).collect())
}

/// The open transactions that have touched data: all of the engine's, where it shows them, else those of sessions.
fn transactions(system: &mut System<'_>) -> Result<Vec<Row>> {
    let sessions: HashMap<_, _> =
        system.sessions().all().into_iter().filter_map(|entry| Some((entry.cancel.transaction()?, entry))).collect();
    if let Some(open) = system.open_transactions() {
        let row = |open: OpenTransaction| {
            let pid = sessions.get(&open.name).map_or(NULL, |entry| Datum::Int4(entry.process));
            let age = interval(i64::try_from(open.age.as_micros()).unwrap_or(i64::MAX));
            let versions = open.versions.map_or(NULL, count);
            vec![text(open.name.to_string()), pid, age, bool(open.reads_only), versions]
        };
        return Ok(open.into_iter().map(row).collect());
    }
    let now = crate::clock::now();
    let row = |(name, entry): (&Timestamp, &Arc<Entry>)| {
        let activity = entry.activity();
        let since = activity.transaction_since.unwrap_or(activity.query_since);
        vec![text(name.to_string()), Datum::Int4(entry.process), interval((now - since).max(0)), NULL, NULL]
    };
    Ok(sessions.iter().map(row).collect())
}

/// How many older versions are kept, for each table of the database that has some: its rows and its indexes together.
fn versions(system: &mut System<'_>) -> Result<Vec<Row>> {
    let mut kept: HashMap<u32, u64> = HashMap::new();
    for (name, versions) in system.kept_versions() {
        if let Some(relation) = relation_of(&name) {
            *kept.entry(relation).or_default() += versions;
        }
    }
    let mut rows = Vec::new();
    for (relation, versions) in kept {
        if let Some(Relation::Table(table)) = system.names().relation_by_oid(relation)? {
            rows.push(vec![oid(relation), text(&table.schema), text(&table.name), count(versions)]);
        }
    }
    Ok(rows)
}

fn interval(micros: i64) -> Datum {
    Datum::Interval(Arc::new(Interval { months: 0, days: 0, micros }))
}

fn count(number: u64) -> Datum {
    Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX))
}

//! Locks and waits of sessions: `pg_locks`, `pg_blocking_pids`, wait events.
//!
//! There is no table of locks, but for advisory ones. A transaction is the owner of the rows that it writes, and a session that
//! waits knows for which transaction; sessions know the name of their own. What is shown here is put together from that when
//! somebody looks.

use super::value::{NULL, bool, oid, text};
use crate::Result;
use crate::cancel::{Wait, Waiting};
use crate::context::System;
use crate::env::{Activity, Entry};
use crate::types::{Datum, Row};
use advisory::{Holding, Key};
use model::Timestamp;
use tables::storage::relation_of;

/// The kinds and names of events that a session waits for, as `pg_stat_activity` shows them.
pub(super) fn wait_event(entry: &Entry, activity: &Activity) -> Option<(&'static str, &'static str)> {
    match entry.cancel.waiting().map(|waiting| waiting.reason) {
        Some(Wait::Transaction { table: Some(_), .. }) => Some(("Lock", "transactionid")),
        Some(Wait::Transaction { table: None, .. }) => Some(("IPC", "SafeSnapshot")),
        Some(Wait::ClientRead) => Some(("Client", "ClientRead")),
        Some(Wait::ClientWrite) => Some(("Client", "ClientWrite")),
        Some(Wait::LogRoom) => Some(("IO", "WALWrite")),
        Some(Wait::Advisory) => Some(("Lock", "advisory")),
        Some(Wait::Sessions) => Some(("IPC", "ProcSignalBarrier")),
        Some(Wait::Sleep) => Some(("Timeout", "PgSleep")),
        Some(Wait::Log) => Some(("IO", "WALSync")),
        None if entry.cancel.log_wait().is_some() => Some(("IO", "WALSync")),
        None if !activity.is_active => Some(("Client", "ClientRead")),
        None => None,
    }
}

/// A row of `pg_locks`, before it is one.
#[derive(Default)]
struct Lock {
    kind: &'static str,
    database: u32,
    relation: Option<u32>,
    virtual_transaction: Option<String>,
    transaction: Option<Timestamp>,
    advisory: Option<Key>,
    mode: &'static str,
    /// Since when it is awaited.
    awaited: Option<i64>,
}

pub(super) fn locks(system: &mut System<'_>) -> Result<Vec<Row>> {
    let advisory = system.database().advisory.all();
    Ok(system.sessions().all().iter().flat_map(|entry| of_session(entry, &advisory)).collect())
}

fn of_session(entry: &Entry, advisory: &[Holding]) -> Vec<Row> {
    let own = format!("{}/{}", entry.process, entry.cancel.transaction().unwrap_or_default());
    let mut locks = of_transaction(entry, &own);
    locks.extend(advisory.iter().filter(|holding| holding.owner == entry.process).map(|holding| {
        let waiting = entry.cancel.waiting().filter(|_| !holding.is_granted);
        let awaited = waiting.map(|waiting| waiting.since).or_else(|| (!holding.is_granted).then_some(0));
        Lock {
            kind: "advisory",
            database: holding.key.database,
            advisory: Some(holding.key),
            mode: holding.mode.name(),
            awaited,
            ..Lock::default()
        }
    }));
    locks.into_iter().map(|lock| lock.row(entry.process, &own)).collect()
}

fn of_transaction(entry: &Entry, own: &str) -> Vec<Lock> {
    let Some(transaction) = entry.cancel.transaction() else { return Vec::new() };
    let exclusive = |kind| Lock { kind, mode: "ExclusiveLock", ..Lock::default() };
    let mut locks = vec![
        Lock { virtual_transaction: Some(own.to_owned()), ..exclusive("virtualxid") },
        Lock { transaction: Some(transaction), ..exclusive("transactionid") },
    ];
    let relations = entry.relations().into_iter();
    let database = entry.database_oid;
    locks.extend(relations.map(|(oid, mode)| relation(database, oid, mode.name())));
    if let Some(Waiting { reason: Wait::Transaction { other, table }, since, .. }) = entry.cancel.waiting() {
        if let Some(oid) = table.and_then(|table| relation_of(table.name())) {
            // Its place in the row's queue, as PostgreSQL shows it: what it waits for is the owner's end.
            locks.push(Lock { database, relation: Some(oid), ..exclusive("tuple") });
        }
        locks.push(Lock { transaction: other, mode: "ShareLock", awaited: Some(since), ..exclusive("transactionid") });
    }
    locks
}

fn relation(database: u32, oid: u32, mode: &'static str) -> Lock {
    Lock { kind: "relation", database, relation: Some(oid), mode, ..Lock::default() }
}

impl Lock {
    fn row(self, process: i32, own: &str) -> Row {
        let is_fast = self.kind == "virtualxid";
        vec![
            text(self.kind),
            if self.relation.is_some() || self.advisory.is_some() { oid(self.database) } else { NULL },
            self.relation.map_or(NULL, oid),
            NULL,
            NULL,
            self.virtual_transaction.map_or(NULL, text),
            self.transaction.map_or(NULL, transaction_id),
            self.advisory.map_or(NULL, |key| oid(key.class)),
            self.advisory.map_or(NULL, |key| oid(key.object)),
            self.advisory.map_or(NULL, |key| Datum::Int2(key.kind)),
            text(own),
            Datum::Int4(process),
            text(self.mode),
            bool(self.awaited.is_none()),
            bool(is_fast),
            self.awaited.map_or(NULL, Datum::Timestamptz),
        ]
    }
}

/// The last 32 bits of a timestamp: what `xid` has room for. Those of transactions that are open at once differ.
fn transaction_id(at: Timestamp) -> Datum {
    Datum::Oid(at.0 as u32)
}

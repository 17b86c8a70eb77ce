//! Who holds what and who waits for whom: `pg_locks`, `pg_blocking_pids`, wait events.
//!
//! There is no table of locks. A transaction is the owner of the rows that it writes, and a session that waits knows for which
//! transaction; sessions know the name of their own. What is shown here is put together from that when somebody looks.

use super::value::{NULL, bool, oid, text};
use crate::Result;
use crate::cancel::{Wait, Waiting};
use crate::context::System;
use crate::env::{Activity, Entry, Registry};
use crate::types::{Datum, Row};
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
        Some(Wait::Sleep) => Some(("Timeout", "PgSleep")),
        Some(Wait::Log) => Some(("IO", "WALSync")),
        None if entry.cancel.log_wait().is_some() => Some(("IO", "WALSync")),
        None if !activity.is_active => Some(("Client", "ClientRead")),
        None => None,
    }
}

/// The sessions that one waits for; zero stands for a transaction that is no session's.
pub(super) fn blocking(sessions: &Registry, process: i32) -> Vec<i32> {
    let all = sessions.all();
    let waiting = all.iter().find(|entry| entry.process == process).and_then(|entry| entry.cancel.waiting());
    let Some(Waiting { reason: Wait::Transaction { other: Some(other), .. }, .. }) = waiting else {
        return Vec::new();
    };
    let owner = all.iter().find(|entry| entry.cancel.transaction() == Some(other));
    vec![owner.map_or(0, |entry| entry.process)]
}

/// A row of `pg_locks`, before it is one.
#[derive(Default)]
struct Lock {
    kind: &'static str,
    relation: Option<u32>,
    virtual_transaction: Option<String>,
    transaction: Option<Timestamp>,
    mode: &'static str,
    /// Since when it is awaited.
    awaited: Option<i64>,
}

pub(super) fn locks(system: &mut System<'_>) -> Result<Vec<Row>> {
    Ok(system.sessions().all().iter().flat_map(|entry| of_session(entry)).collect())
}

fn of_session(entry: &Entry) -> Vec<Row> {
    let Some(transaction) = entry.cancel.transaction() else { return Vec::new() };
    let own = format!("{}/{transaction}", entry.process);
    let exclusive = |kind| Lock { kind, mode: "ExclusiveLock", ..Lock::default() };
    let mut locks = vec![
        Lock { virtual_transaction: Some(own.clone()), ..exclusive("virtualxid") },
        Lock { transaction: Some(transaction), ..exclusive("transactionid") },
    ];
    let relations = entry.relations().into_iter();
    locks.extend(relations.map(|(oid, mode)| relation(oid, mode.name())));
    if let Some(Waiting { reason: Wait::Transaction { other, table }, since, .. }) = entry.cancel.waiting() {
        if let Some(oid) = table.and_then(|table| relation_of(table.name())) {
            // Its place in the row's queue, as PostgreSQL shows it: what it waits for is the owner's end.
            locks.push(Lock { relation: Some(oid), ..exclusive("tuple") });
        }
        locks.push(Lock { transaction: other, mode: "ShareLock", awaited: Some(since), ..exclusive("transactionid") });
    }
    locks.into_iter().map(|lock| lock.row(entry.process, &own)).collect()
}

fn relation(oid: u32, mode: &'static str) -> Lock {
    Lock { kind: "relation", relation: Some(oid), mode, ..Lock::default() }
}

impl Lock {
    fn row(self, process: i32, own: &str) -> Row {
        let is_fast = self.kind == "virtualxid";
        vec![
            text(self.kind),
            self.relation.map_or(NULL, |_| oid(super::sessions::DATABASE)),
            self.relation.map_or(NULL, oid),
            NULL,
            NULL,
            self.virtual_transaction.map_or(NULL, text),
            self.transaction.map_or(NULL, transaction_id),
            NULL,
            NULL,
            NULL,
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

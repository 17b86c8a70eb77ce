//! What functions about the system touch.

use super::Names;
use crate::cancel::Cancel;
use crate::database::Database;
use crate::definition::{Oid, Relation};
use crate::env::{Advisory, Registry, State};
use crate::error::{Result, SqlError};
use crate::memory::Budget;
use crate::notify::{NOTIFY_OF_NODE, Notification};
use crate::store::Transaction;
use model::{LogPosition, OpenTransaction, Timestamp, Usage};
use std::ops::Bound;
use std::sync::Arc;
use tables::Sequences;

/// The right of functions about the system and of computed relations: they read the catalog, read and set the session, draw
/// from sequences, see other sessions and the server's figures. It reads and writes no rows.
pub struct System<'a> {
    /// Cancel flag of the statement.
    pub cancel: &'a Cancel,
    pub(super) transaction: &'a mut (dyn Transaction + 'a),
    pub(super) database: &'a Arc<Database>,
    pub(super) session: &'a mut State,
}

impl System<'_> {
    /// The catalog.
    pub fn names(&mut self) -> Names<'_> {
        Names { transaction: &mut *self.transaction, database: self.database, session: self.session }
    }

    /// The session: user, settings, times, last values of sequences.
    pub fn session(&self) -> &State {
        self.session
    }

    /// Sets a setting, as SET or SET LOCAL.
    ///
    /// # Errors
    /// 42704, 22023, 55P02.
    pub fn set(&mut self, name: &str, value: &str, local: bool) -> Result<()> {
        self.session.set(name, value, local)
    }

    /// Notes what must be durable before the next answer leaves.
    pub fn rest_on(&mut self, position: LogPosition) {
        self.session.rest_on(position);
    }

    /// Warns of what only the sessions of this node share, where it is a node of a cluster.
    pub fn warn_of_node(&mut self, what: &'static str) {
        if self.database.options.cluster.is_some() {
            self.session.warn_of_node(what);
        }
    }

    /// Adds a notice for the client.
    pub fn notice(&mut self, notice: SqlError) {
        self.session.notices.push(notice);
    }

    /// Has the transaction's snapshot exported when the statement is over. Returns its name: the same for each statement of a
    /// transaction.
    ///
    /// # Errors
    /// 0A000 in a transaction that may write, the engine's.
    pub fn export_snapshot(&mut self) -> Result<String> {
        if !self.session.settings.is_on("transaction_read_only") {
            return Err(SqlError::unsupported("pg_export_snapshot in a transaction that may write")
                .hint("Say BEGIN TRANSACTION READ ONLY."));
        }
        self.transaction.start()?;
        let (process, at) = (self.session.process, self.session.transaction_time);
        let name = format!("{process:08X}-{at:016X}-1");
        self.session.exports = Some(name.clone());
        Ok(name)
    }

    /// Notes what a sequence returned, for `currval` and `lastval`.
    pub fn note_drawn(&mut self, sequence: Oid, value: i64) {
        self.note_set(sequence, value);
        self.session.last_sequence = Some(sequence);
    }

    /// Notes the value to which a sequence was set, for `currval`.
    pub fn note_set(&mut self, sequence: Oid, value: i64) {
        self.session.last_values.insert(sequence, value);
    }

    /// The database, for what all sessions share.
    pub fn database(&self) -> &Arc<Database> {
        self.database
    }

    /// Notes what became of an advisory lock.
    pub fn advisory(&mut self) -> &mut Advisory {
        &mut self.session.advisory
    }

    /// Sends a notification at COMMIT.
    ///
    /// # Errors
    /// 54000
    pub fn notify(&mut self, notification: Notification) -> Result<()> {
        self.warn_of_node(NOTIFY_OF_NODE);
        let bytes = self.session.pending.notify(notification);
        self.database.channels.check_room(bytes)
    }

    /// The open sessions.
    pub fn sessions(&self) -> &Registry {
        &self.database.sessions
    }

    /// The state of the sequences.
    pub fn sequences(&self) -> &Sequences {
        &self.database.sequences
    }

    /// The memory of all sessions' statements.
    pub fn budget(&self) -> &Budget {
        &self.database.budget
    }

    /// About how many rows a table has; `None` where the engine cannot tell, and for what is no table.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn estimated_rows(&mut self, relation: Oid) -> Result<Option<u64>> {
        let Some(Relation::Table(table)) = self.names().relation_by_oid(relation)? else { return Ok(None) };
        let engine = self.database.store.ddl();
        Ok(engine.and_then(|engine| engine.estimate_keys(table.storage.id(), Bound::Unbounded, Bound::Unbounded)))
    }

    /// The engine's use of memory and disk, if it counts them.
    pub fn usage(&self) -> Option<Usage> {
        self.database.store.usage()
    }

    /// The engine's open transactions, if it shows them.
    pub fn open_transactions(&self) -> Option<Vec<OpenTransaction>> {
        self.database.store.ddl()?.transactions()
    }

    /// How many older versions are kept, for each table of the engine that has some: by its name.
    pub fn kept_versions(&self) -> Vec<(String, u64)> {
        let Some(engine) = self.database.store.ddl() else { return Vec::new() };
        let tables = engine.tables().into_iter();
        let kept = tables.filter_map(|(table, schema)| Some((schema.name().to_owned(), engine.versions(table)?)));
        kept.filter(|(_, versions)| *versions > 0).collect()
    }

    /// The transaction's serial point, if the engine has chosen it.
    pub fn serial_point(&self) -> Option<Timestamp> {
        self.transaction.timestamp()
    }
}

//! What functions about the system touch.

use super::Names;
use crate::cancel::Cancel;
use crate::database::Database;
use crate::env::{Registry, State};
use crate::memory::Budget;
use crate::store::Transaction;
use model::{Timestamp, Usage};
use std::sync::Arc;
use tables::Sequences;

/// The right of functions about the system and of computed relations: they read the catalog, read and set the session, draw
/// from sequences, see other sessions and the server's figures. It reads and writes no rows.
pub struct System<'a> {
    /// The session: settings, user, last values of sequences, notices.
    pub session: &'a mut State,
    /// Cancel flag of the statement.
    pub cancel: &'a Cancel,
    pub(super) transaction: &'a mut (dyn Transaction + 'a),
    pub(super) database: &'a Arc<Database>,
}

impl System<'_> {
    /// The catalog.
    pub fn names(&mut self) -> Names<'_> {
        Names { transaction: &mut *self.transaction, database: self.database, session: self.session }
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

    /// The engine's use of memory and disk, if it counts them.
    pub fn usage(&self) -> Option<Usage> {
        self.database.store.usage()
    }

    /// The transaction's serial point, if the engine has chosen it.
    pub fn serial_point(&self) -> Option<Timestamp> {
        self.transaction.timestamp()
    }
}

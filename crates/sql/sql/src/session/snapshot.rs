//! Snapshots that one session exports and others import: `pg_export_snapshot`, SET TRANSACTION SNAPSHOT.

use super::Session;
use super::transaction::supervise;
use crate::error::{Result, SqlError, state};
use crate::store::Elsewhere;

impl Session {
    /// Makes the block's transaction one that others can join, if the statement that has run asked for it.
    pub(super) fn export_snapshot(&mut self) {
        let Some(name) = self.state.exports.take() else { return };
        let Some(open) = self.open.as_mut().filter(|open| open.explicit) else { return };
        if let Some(transaction) = open.transaction.take() {
            open.transaction = Some(Box::new(self.database.exported.export(self.database.oid, name, transaction)));
        }
    }

    /// SET TRANSACTION SNAPSHOT.
    ///
    /// # Errors
    /// 22023 for a snapshot that is not there, 25001 after the first query, 0A000 outside a block and in a transaction that may write.
    pub(super) fn import_snapshot(&mut self, name: &str) -> Result<()> {
        let Some(open) = self.open.as_mut().filter(|open| open.explicit) else {
            self.set_transaction(syntax::Modes::default())?; // It warns.
            let message = "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        };
        if open.transaction.is_some() {
            let message = "SET TRANSACTION SNAPSHOT must be called before any query";
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
        }
        if !open.read_only {
            return Err(SqlError::unsupported("SET TRANSACTION SNAPSHOT in a transaction that may write")
                .hint("Say BEGIN TRANSACTION READ ONLY."));
        }
        let joined = self.database.exported.join(self.database.oid, name).map_err(|Elsewhere| {
            let message = "cannot import a snapshot from a different database";
            SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
        })?;
        let Some(mut joined) = joined else {
            let message = format!("invalid snapshot identifier: \"{name}\"");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        };
        supervise(&mut joined, self.entry.cancel.clone());
        open.transaction = Some(Box::new(joined));
        Ok(())
    }
}

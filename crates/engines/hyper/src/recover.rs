//! Recovery: the checkpoint, then the log; of each key in its order, of keys side by side. Nobody else has the database meanwhile.

use crate::order::Order;
use crate::{Hyper, Options};
use env::Disk;
use model::{Malformed, Result, RowKind, RowRef, Schema, TableId};
use std::fmt;
use std::sync::Arc;
use wal::{Log, Rebuild, redo};

/// Report of a recovery.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// The database is new.
    pub created: bool,
    /// The last run ended with a clean close.
    pub clean: bool,
    /// Bytes at the end of the log that had never been known to be durable and could not be used, in words.
    pub cut: Option<String>,
    /// Rows of the checkpoint.
    pub checkpoint_rows: u64,
    /// Redo records after it.
    pub records: u64,
    /// Rows in all tables now.
    pub rows: u64,
    /// Tables now.
    pub tables: usize,
    /// Timestamps begin above this.
    pub start: u64,
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.created {
            return f.write_str("created a new database");
        }
        let how = if self.clean { "clean stop" } else { "recovered from a crash" };
        let RecoveryReport { rows, tables, checkpoint_rows, records, .. } = self;
        write!(
            f,
            "{how}: {rows} rows in {tables} tables ({checkpoint_rows} rows of a checkpoint, {records} log records)"
        )?;
        self.cut.iter().try_for_each(|cut| write!(f, "; {cut}, none of them acknowledged as durable"))
    }
}

impl Hyper {
    /// Opens the database in a directory, or creates it, and recovers what it holds.
    ///
    /// # Errors
    /// [`model::Fault::Locked`] if another process has it, [`model::Fault::Corruption`] if what had been durable cannot be read,
    /// [`model::Fault::Disk`].
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Hyper> {
        let (log, recovered) = Log::open(disk, options.log.clone())?;
        let found = recovered.report.clone();
        let mut engine = Hyper::new(options);
        let replayed = recovered.replay(&Rebuilding(&engine))?;
        let start = found.ceiling.max(found.max_stamp) + 1;
        let stats = engine.stats();
        engine.recovery = Some(RecoveryReport {
            created: found.created,
            clean: found.clean,
            cut: found.cut.map(|cut| cut.to_string()),
            checkpoint_rows: replayed.checkpoint_rows,
            records: replayed.records,
            rows: stats.rows,
            tables: engine.tables().len(),
            start,
        });
        engine.order = Order::new(start);
        engine.renew_at.store(0, parts::sync::atomic::Ordering::Relaxed);
        engine.log = Some(log);
        Ok(engine)
    }

    /// What was recovered; `None` of a database in memory.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.recovery.as_ref()
    }

    /// Stops cleanly: everything committed is durable, and the next open has nothing to recover. Transactions that are still
    /// open fail from here on.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn close(&self) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), |log| Ok(log.close()?))
    }
}

/// A database that is being rebuilt, in the order of the log.
struct Rebuilding<'h>(&'h Hyper);

impl Rebuild for Rebuilding<'_> {
    type Own = ();

    fn own(&self) {}

    /// A table that a record has created, unless the checkpoint has it already.
    fn create_table(&self, id: TableId, schema: Schema, _: bool) -> std::result::Result<(), Malformed> {
        let mut names = self.0.names();
        if self.0.tables.get(id).is_some() {
            return Ok(());
        }
        names.next = names.next.max(id.0 + 1);
        names.listed.push((schema.name().to_owned(), id));
        self.0.add_table(id, schema).map_err(|_| Malformed)
    }

    fn drop_table(&self, id: TableId) {
        self.0.names().listed.retain(|(_, listed)| *listed != id);
        if let Some(table) = self.0.tables.get(id) {
            table.mark_dropped();
            table.clear();
        }
    }

    fn reserve(&self, next: TableId) {
        self.0.names().next = next.0;
    }

    /// Puts rows in the place of whatever is there under their keys.
    fn write<'a>(
        &self,
        (): &mut (),
        writes: impl Iterator<Item = std::result::Result<(u64, redo::Write<'a>), Malformed>>,
    ) -> std::result::Result<(), Malformed> {
        for write in writes {
            let (_, redo::Write { table, key, row }) = write?;
            let Some(table) = self.0.tables.get(table).filter(|table| !table.is_dropped()) else { continue };
            table.schema().check_key(key).map_err(|_| Malformed)?;
            let row = row.map(RowRef::new);
            if let (RowKind::Typed, Some(row)) = (table.schema().rows(), row) {
                table.schema().check_row(key, row).map_err(|_| Malformed)?;
            }
            table.replace(key, row);
        }
        Ok(())
    }
}

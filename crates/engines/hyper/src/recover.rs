//! Recovery: the checkpoint, then the log, in its order. Nobody else has the database meanwhile.

use crate::order::Order;
use crate::{Hyper, Options};
use env::Disk;
use model::{Fault, LogPosition, Malformed, Result, RowKind, RowRef, Schema, TableId};
use std::fmt;
use std::sync::Arc;
use wal::redo::{self, Record};
use wal::{Log, Recovered};

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
    /// [`Fault::Locked`] if another process has it, [`Fault::Corruption`] if what had been durable cannot be read,
    /// [`Fault::Disk`].
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Hyper> {
        let (log, recovered) = Log::open(disk, options.log.clone())?;
        let found = recovered.report.clone();
        let mut engine = Hyper::new(options);
        let (checkpoint_rows, records) = engine.replay(recovered)?;
        let start = found.ceiling.max(found.max_stamp) + 1;
        let stats = engine.stats();
        engine.recovery = Some(RecoveryReport {
            created: found.created,
            clean: found.clean,
            cut: found.cut.map(|cut| cut.to_string()),
            checkpoint_rows,
            records,
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

    /// Replays what was found. Returns the rows of the checkpoint and the records of the log.
    fn replay(&self, recovered: Recovered) -> Result<(u64, u64)> {
        let Recovered { checkpoint, mut records, .. } = recovered;
        let (mut start, mut rows, mut count) = (LogPosition::ZERO, 0, 0);
        if let Some(mut checkpoint) = checkpoint {
            start = checkpoint.info().start;
            while let Some(row) = checkpoint.next_row()? {
                rows += u64::from(self.apply(row).map_err(|_| undecodable("a row of the checkpoint"))?);
            }
        }
        while let Some(record) = records.next_record()? {
            // What lies before the start is in the checkpoint, deletions included.
            if record.position > start {
                count += u64::from(record.is_end);
                let applied = self.apply(record.payload);
                applied.map_err(|_| undecodable(&format!("the redo record that ends at {}", record.position)))?;
            }
        }
        Ok((rows, count))
    }

    /// Applies a record. Returns whether it is a row of a checkpoint.
    fn apply(&self, record: &[u8]) -> std::result::Result<bool, Malformed> {
        let record = Record::decode(record)?;
        let is_row = matches!(record, Record::CheckpointRow(..));
        match record {
            Record::Writes(writes) => {
                for write in writes {
                    self.replace(write?)?;
                }
            }
            Record::Create(id, schema) => self.recreate(id, schema)?,
            Record::Drop(id) => self.forget_table(id),
            Record::CheckpointStart(next) => self.names().next = next.0,
            Record::CheckpointRow(_, row) => self.replace(row)?,
        }
        Ok(is_row)
    }

    /// A table that a record has created, unless the checkpoint has it already.
    fn recreate(&self, id: TableId, schema: Schema) -> std::result::Result<(), Malformed> {
        let mut names = self.names();
        if self.tables.get(id).is_some() {
            return Ok(());
        }
        names.next = names.next.max(id.0 + 1);
        names.listed.push((schema.name().to_owned(), id));
        self.add_table(id, schema).map_err(|_| Malformed)
    }

    fn forget_table(&self, id: TableId) {
        self.names().listed.retain(|(_, listed)| *listed != id);
        if let Some(table) = self.tables.get(id) {
            table.mark_dropped();
            table.clear();
        }
    }

    /// Puts a row in the place of whatever is there under its key.
    fn replace(&self, write: redo::Write<'_>) -> std::result::Result<(), Malformed> {
        let redo::Write { table, key, row } = write;
        let Some(table) = self.tables.get(table).filter(|table| !table.is_dropped()) else { return Ok(()) };
        table.schema().check_key(key).map_err(|_| Malformed)?;
        let row = row.map(RowRef::new);
        if let (RowKind::Typed, Some(row)) = (table.schema().rows(), row) {
            table.schema().check_row(key, row).map_err(|_| Malformed)?;
        }
        table.replace(key, row);
        Ok(())
    }
}

fn undecodable(what: &str) -> Fault {
    Fault::Corruption {
        detail: format!(
            "{what} passed its checksum but cannot be decoded: another program or a newer version has written it"
        ),
    }
}

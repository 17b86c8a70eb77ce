//! Optional capabilities of an engine or an open transaction, beyond the doors. Each is an `Option`: an engine that lacks one
//! keeps the default method, and the caller decides what to do without.

use super::columns::ColumnReads;
use crate::{Columns, Extreme, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, Supervisor, TableId, Timestamp};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

/// A place in an open transaction to roll back to. Valid only for the transaction that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Savepoint {
    /// Which transaction: a number of the engine's choice, unique among those that are open.
    pub transaction: u64,
    /// Which savepoint of that transaction.
    pub number: u64,
}

/// A transaction that can go back to where it was.
pub trait Savepoints {
    /// Sets a savepoint.
    ///
    /// # Errors
    /// The abort that poisoned the transaction.
    fn savepoint(&mut self) -> Result<Savepoint>;

    /// Undoes the writes since the savepoint. The savepoint stays; later ones are released. Reads stay in the read set, and owned
    /// rows may stay owned.
    ///
    /// # Errors
    /// [`crate::Invalid::UnknownSavepoint`], or the abort that poisoned the transaction.
    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()>;

    /// Forgets a savepoint and later ones; what was written stays written. Savepoints that are kept cost memory for every
    /// write.
    fn release(&mut self, savepoint: Savepoint);
}

/// A transaction whose waits can be watched and ended from outside.
pub trait Supervised {
    /// Sets the supervisor. From then on a wait that ends at its limit or by the supervisor fails its statement
    /// ([`crate::Error::Unavailable`]) and not the transaction, in engines that can undo a single statement. With a wait limit of
    /// zero the statement fails at once if another transaction holds what it needs.
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>);
}

/// A transaction that can take rows that nobody else has, and pass over the others without having read them: SKIP LOCKED.
///
/// What it looks at while it skips is no read of the transaction: nothing that it does rests on the rows that it passes over. What
/// it takes by [`crate::Access::read_for_update`] is read and owned as ever. So its choice is some of the rows that match, and any such
/// choice is an outcome that a serial execution allows.
pub trait SkipsLocked {
    /// Begins to look for rows, at the latest state that the transaction can stand on. Returns the place of that state.
    ///
    /// # Errors
    /// Same as the first access.
    fn begin_skipping(&mut self) -> Result<Timestamp>;

    /// Until [`SkipsLocked::stop_skipping`], reads of these tables wait for no transaction that executes, and are forgotten;
    /// [`crate::Access::read_for_update`] takes what is free and has not been changed since `since`, and everything else is
    /// [`crate::Error::Unavailable`].
    fn skip(&mut self, since: Timestamp, tables: Arc<[TableId]>);

    /// Reads count again.
    fn stop_skipping(&mut self);
}

/// The reads of one transaction, from several threads at once. They see its own writes; it cannot write while the view lives.
///
/// # Errors
/// Same as [`crate::Access`]. After an abort the transaction behind it is poisoned.
pub trait ReadView: Sync {
    /// Same as [`crate::Access::read`].
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool>;

    /// Same as [`crate::Access::scan`].
    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd>;

    /// Scans by column, if the engine stores columns. [`crate::columns::batches`] reads rows where it does not.
    fn columns(&self) -> Option<&dyn ColumnReads> {
        None
    }

    /// Least and greatest values, if the engine protects them better than by a scan.
    fn extremes(&self) -> Option<&dyn Extremes> {
        None
    }
}

/// Least and greatest values of columns: what is protected is the answer, and not the range that was searched.
pub trait Extremes {
    /// Returns whether anything is written down for the transaction. Where it is not, a scan finds values as well, and on several threads.
    fn is_logged(&self) -> bool;

    /// Same as [`crate::Access::extreme`].
    ///
    /// # Errors
    /// Same as [`crate::Access`].
    fn extreme(&self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>>;
}

impl<V: ReadView + ?Sized> ReadView for Box<V> {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        (**self).read(table, key, columns, row)
    }

    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        (**self).scan(scan, visit)
    }

    fn columns(&self) -> Option<&dyn ColumnReads> {
        (**self).columns()
    }

    fn extremes(&self) -> Option<&dyn Extremes> {
        (**self).extremes()
    }
}

/// A transaction that can share its reads.
pub trait SharedReads {
    /// The transaction's reads, to be shared by reference. Begins the transaction if nothing has yet.
    ///
    /// # Errors
    /// Same as a statement's.
    fn read_view(&mut self) -> Result<Box<dyn ReadView + '_>>;
}

/// An engine whose tables come and go while it runs.
pub trait Tables {
    /// Creates a table that every transaction may use, also one that began before: the caller decides when to publish its
    /// number. Durable no later than any transaction that commits afterwards.
    ///
    /// # Errors
    /// The name is taken, the limit on tables is reached, the log could not take it.
    fn create_table_unlisted(&self, schema: crate::Schema) -> Result<TableId>;

    /// Same as [`Tables::create_table_unlisted`], with waits for a disk that the supervisor may end. Provided for engines that
    /// do not wait.
    ///
    /// # Errors
    /// Same as [`Tables::create_table_unlisted`]; [`Error::Unavailable`](crate::Error::Unavailable) if a wait was ended.
    fn create_table_supervised(&self, schema: crate::Schema, supervisor: Arc<dyn Supervisor>) -> Result<TableId> {
        drop(supervisor);
        self.create_table_unlisted(schema)
    }

    /// Drops a table and all its rows. Open transactions that use it abort or go on seeing it. Durable no later than any
    /// transaction that commits afterwards.
    ///
    /// # Errors
    /// There is no such table, or the log could not take it.
    fn drop_table(&self, name: &str) -> Result<()>;

    /// All tables.
    fn tables(&self) -> Vec<(TableId, Arc<crate::Schema>)>;

    /// Returns whether other processes write this store too: what this one did not make may be another one's.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns whether a table that no definition names was left behind by a process that has ended, so that this one may drop it. Asked
    /// when a database is opened.
    fn is_left_over(&self, table: TableId) -> bool {
        let _ = table;
        true
    }

    /// Returns the engine's resource use, if it is counted.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Returns whether scans are protected by writing down what they asked for: range, predicate and columns.
    fn logs_predicates(&self) -> bool {
        false
    }

    /// Returns whether scans by column ([`ColumnReads`](crate::columns::ColumnReads)) copy values out of columns: a row of them costs a
    /// small part of what a row costs that is read as a whole.
    fn stores_columns(&self) -> bool {
        false
    }

    /// Returns about how many keys of a table lie between two bounds, whatever their rows' visibility. It is no read of any
    /// transaction: nothing comes to depend on the answer. `None` in an engine that cannot tell quickly, for a table stored by
    /// hash unless both bounds are open, and for an unknown table.
    fn estimate_keys(&self, table: TableId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        let _ = (table, lower, upper);
        None
    }

    /// Returns up to `most` keys from all over a table, each picked with about the same probability and maybe more than once; the
    /// same keys each time as long as the table does not change. No read of any transaction, like [`Tables::estimate_keys`].
    /// Empty in an engine that cannot tell quickly.
    fn sample_keys(&self, table: TableId, most: usize) -> Vec<Key> {
        let _ = (table, most);
        Vec::new()
    }

    /// Shows up to `most` rows from all over a table, those of [`Tables::sample_keys`] once each, as it is committed at the moment of
    /// the look. A row that is being decided or moved is left out: nobody is waited for. No read of any transaction, like
    /// [`Tables::estimate_keys`]: the rows of one call need not have been there together, and nothing comes to depend on them. `visit` says
    /// whether to go on. None in an engine that cannot look at a row without a transaction.
    fn sample_rows(&self, table: TableId, most: usize, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) {
        let _ = (table, most, visit);
    }

    /// Returns about how many bytes of memory the keys and rows of a table take with the older versions that are kept, from the
    /// sizes of a few of them: more than 0 for a table with rows. No read of any transaction, like [`Tables::estimate_keys`].
    /// `None` in an engine that cannot tell quickly, and for an unknown table.
    fn estimate_bytes(&self, table: TableId) -> Option<u64> {
        let _ = table;
        None
    }

    /// Returns the open transactions that have begun, if the engine shows them: about, while some begin and end.
    fn transactions(&self) -> Option<Vec<OpenTransaction>> {
        None
    }

    /// Returns how many older versions of a table's rows are kept, or not collected yet. `None` in an engine that does not count
    /// them by table, and for an unknown table.
    fn versions(&self, table: TableId) -> Option<u64> {
        let _ = table;
        None
    }

    /// Writes a checkpoint, so that the next start is short; if one is being written already, afterwards. No effect in an engine
    /// without a disk.
    ///
    /// # Errors
    /// The disk could not take it; the checkpoint before stays.
    fn checkpoint(&self) -> Result<()>;
}

/// An open transaction, as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Its name.
    pub name: Timestamp,
    /// Time since it began.
    pub age: Duration,
    /// Whether it can only read.
    pub reads_only: bool,
    /// Replaced versions that it may still read; `None` in an engine that does not count them.
    pub versions: Option<u64>,
}

/// Resource use of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of memory that rows, versions, indexes and open transactions take.
    pub memory_bytes: u64,
    /// Bytes of memory that they may take.
    pub memory_limit_bytes: u64,
    /// Use of its log, if it has one.
    pub log: Option<LogUsage>,
}

/// Volume of the log and its checkpoints since the engine was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogUsage {
    /// Bytes of records appended to the log.
    pub log_bytes: u64,
    /// Checkpoints finished.
    pub checkpoints: u64,
    /// Bytes that checkpoints have written, finished or not.
    pub checkpoint_bytes: u64,
    /// Bytes of the last checkpoint, of this run or found at its start.
    pub last_checkpoint_bytes: u64,
    /// How records become durable, by the name of the system's call.
    pub sync_method: &'static str,
}

/// An engine with real snapshots: in [`crate::Mode::Snapshot`] a transaction reads as of one point, and neither aborts others
/// nor is aborted by them.
pub trait Snapshots {
    /// Point below which every transaction has ended: a snapshot that begins now reads there, or later once older writers
    /// have ended.
    fn settled(&self) -> Timestamp;
}

//! Redo records, and their replay when an engine is opened.
//!
//! The log keeps a record's timestamp beside it. Replay is per key by timestamp, so the order of records matters only for tables. A
//! transaction's rows may be a large record of the log: each of its parts has whole rows, and the log returns only parts of
//! committed records, so they are replayed like records.

use crate::begin::is_installed;
use crate::catalog::{Catalog, Table};
use crate::engine::{Mvto, log_fault};
use crate::gc::discard;
use crate::options::Options;
use crate::ownership::Ownership;
use crate::store::{Pinned, Replaced, Tuple, VersionPool, version_size};
use crate::write_set::WriteSet;
use env::{Clock, Disk, SystemClock};
use model::{Limit, LimitKind, LogPosition, Malformed, Result, RowKind, RowRef, Schema, TableId, Timestamp};
use parts::epoch::{self, Guard};
use parts::index::Insert;
use parts::memory::Allowance;
use parts::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use parts::sync::{RwLock, RwLockWriteGuard};
use std::fmt;
use std::sync::{Arc, PoisonError};
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
    /// Rows of the checkpoint, those of indexes among them.
    pub checkpoint_rows: u64,
    /// Redo records after it.
    pub records: u64,
    /// Rows in all tables now, those of indexes apart.
    pub rows: u64,
    /// Tables now that are not indexes ([`Schema::is_index`]).
    pub tables: usize,
    /// Rows of indexes now.
    pub entries: u64,
    /// Tables now that are indexes.
    pub indexes: usize,
    /// Timestamps begin above this.
    pub start: Timestamp,
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecoveryReport { rows, tables, indexes, checkpoint_rows, records, .. } = self;
        let state = format_args!(
            "{rows} rows in {tables} tables and {indexes} indexes ({checkpoint_rows} rows and entries of a checkpoint, {records} \
             log records)"
        );
        wal::write_recovery(f, (self.created, self.clean, self.cut.as_deref()), state)
    }
}

/// The rows that a transaction writes, from an entry of its write set on, in at most `limit` bytes (or one row). Returns the entry
/// with which to go on.
pub(crate) fn encode_writes(record: &mut Vec<u8>, writes: &WriteSet, from: usize, limit: usize) -> Option<usize> {
    redo::begin_writes(record);
    let mut logged = logged(writes, from);
    logged.find_map(|(at, write)| (!redo::add_write(record, &write, limit)).then_some(at))
}

/// Bytes of all rows that a transaction writes.
pub(crate) fn encoded_size(writes: &WriteSet) -> redo::WritesSize {
    let mut size = redo::WritesSize::default();
    logged(writes, 0).for_each(|(_, write)| size.add(&write));
    size
}

/// The rows that a transaction writes, with their places in its write set, from one on.
fn logged(writes: &WriteSet, from: usize) -> impl Iterator<Item = (usize, redo::Write<'_>)> {
    let installed = writes.entries.iter().enumerate().skip(from).filter(|(_, write)| is_installed(write));
    installed.map(|(at, write)| {
        let row = writes.value(write.buffered).expect("it changes");
        (at, redo::Write { table: write.table, key: &write.key, row })
    })
}

impl Mvto<SystemClock> {
    /// Opens the database in a directory, or creates it, and recovers what it holds.
    ///
    /// # Errors
    /// [`model::Fault::Locked`] if another process has it, [`model::Fault::Corruption`] if what had been durable cannot be read,
    /// [`model::Fault::Disk`], [`LimitKind::MemoryToOpen`] if it needs more memory than the limit.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Mvto> {
        Mvto::open_with(disk, options, SystemClock::best())
    }
}

impl<C: Clock> Mvto<C> {
    /// Same as [`Mvto::open`], on this clock.
    ///
    /// # Errors
    /// Same as [`Mvto::open`].
    pub fn open_with(disk: Arc<dyn Disk>, options: Options, clock: C) -> Result<Mvto<C>> {
        let (log, recovered) = Log::open(disk, options.log.clone()).map_err(log_fault)?;
        let found = recovered.report.clone();
        let rebuilding = Rebuilding::new(&options);
        let replayed = recovered.replay(&rebuilding)?;
        rebuilding.check_memory()?;
        let Rebuilding { catalog, memory, .. } = rebuilding;
        let catalog = catalog.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (rows, entries) = forget_deletions(&catalog);
        let start = replayed.newest.max(found.ceiling).max(found.max_stamp) + 1;
        let report = RecoveryReport {
            created: found.created,
            clean: found.clean,
            cut: found.cut.map(|cut| cut.to_string()),
            checkpoint_rows: replayed.checkpoint_rows,
            records: replayed.records,
            rows,
            tables: catalog.tables().filter(|table| !table.schema.is_index()).count(),
            entries,
            indexes: catalog.tables().filter(|table| table.schema.is_index()).count(),
            start: Timestamp(start),
        };
        Ok(Mvto::assemble(options, clock, memory, start, catalog, Some(log), Some(report)))
    }

    /// Stops cleanly: everything committed is durable, and the next open has nothing to recover. Transactions that are still
    /// open fail from here on.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn close(&self) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), |log| log.close().map_err(log_fault))
    }
}

/// A database being rebuilt, not visible to others yet.
struct Rebuilding {
    /// Same as [`Options::hash_seed`].
    hash_seed: Option<u64>,
    catalog: RwLock<Catalog>,
    memory: Allowance,
    /// Memory that the rest would take, about, from where on it was clear that it would be too much; nothing is kept any more.
    /// `Relaxed`: a sum.
    beyond_limit_bytes: AtomicUsize,
}

/// An index has at most about this many bytes of nodes for each of its keys: nodes are at least half full.
const NODE_BYTES_PER_KEY: usize = 40;

impl Rebuilding {
    fn new(options: &Options) -> Rebuilding {
        Rebuilding {
            hash_seed: options.hash_seed,
            catalog: RwLock::default(),
            memory: Allowance::new(options.memory_limit()),
            beyond_limit_bytes: AtomicUsize::new(0),
        }
    }

    /// Checks that everything found fits the limit on memory.
    fn check_memory(&self) -> Result<()> {
        let beyond = self.beyond_limit_bytes.load(Relaxed);
        if beyond == 0 {
            return Ok(());
        }
        let actual = self.memory.meter.used() + beyond;
        Err(Limit { kind: LimitKind::MemoryToOpen, limit: self.memory.limit as u64, actual: actual as u64 }.into())
    }

    /// Returns whether there is room for a row; if not, the bytes of this and all later rows are only added up.
    fn has_room(&self, key: &[u8], row: Option<&[u8]>) -> bool {
        let used = self.memory.meter.about();
        if self.beyond_limit_bytes.load(Relaxed) == 0 && used < self.memory.limit_of_updates() {
            return true;
        }
        let own = row.map_or(0, |row| NODE_BYTES_PER_KEY + recovered_size(key, row));
        self.beyond_limit_bytes.fetch_add(own.max(1), Relaxed);
        false
    }

    fn catalog(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the newest of a key's versions. Deletions are kept too, until all records have been seen.
    fn place(&self, pool: &mut VersionPool, table: &Table, at: Timestamp, key: &[u8], row: Option<&[u8]>) {
        let guard = epoch::pin();
        let tuple = place(table.space(), key, row, &guard);
        if tuple.newest().is_none_or(|newest| newest.begin() < at) {
            // Nobody reads yet: what is replaced is used again at once.
            let replaced = tuple.install(at, LogPosition::ZERO, row, pool, Timestamp(u64::MAX));
            if let Replaced::Retired(Some(block)) = replaced {
                pool.recycle(block);
            }
        }
    }
}

impl Rebuild for Rebuilding {
    type Own = VersionPool;

    fn own(&self) -> VersionPool {
        VersionPool::new(self.memory.meter.clone())
    }

    fn create_table(&self, id: TableId, schema: Schema, is_of_checkpoint: bool) -> std::result::Result<(), Malformed> {
        let mut catalog = self.catalog();
        // In the checkpoint already, or dropped before it, if it was written by an older version of this program.
        if is_of_checkpoint || id >= catalog.next_id() {
            let table = Table::new(id, Timestamp::ZERO, schema, self.hash_seed, &self.memory.meter);
            *catalog = catalog.with(table).map_err(|_| Malformed)?;
        }
        Ok(())
    }

    fn drop_table(&self, id: TableId) {
        let mut catalog = self.catalog();
        *catalog = catalog.without(id);
    }

    fn reserve(&self, next: TableId) {
        self.catalog().reserve(next);
    }

    fn write<'a>(
        &self,
        pool: &mut VersionPool,
        writes: impl Iterator<Item = std::result::Result<(u64, redo::Write<'a>), Malformed>>,
    ) -> std::result::Result<(), Malformed> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        for write in writes {
            let (at, redo::Write { table, key, row }) = write?;
            let Some(table) = catalog.get(table) else { continue };
            table.schema.check_key(key).map_err(|_| Malformed)?;
            if let (RowKind::Typed, Some(row)) = (table.schema.rows(), row) {
                RowRef::new(row).check()?;
            }
            if self.has_room(key, row) {
                self.place(pool, table, Timestamp(at), key, row);
            }
        }
        Ok(())
    }
}

/// Forgets deletions. Returns the number of rows, and that of entries in tables that are indexes.
fn forget_deletions(catalog: &Catalog) -> (u64, u64) {
    let (mut rows, mut entries) = (0, 0);
    for table in catalog.tables() {
        let (space, count) = (table.space(), if table.schema.is_index() { &mut entries } else { &mut rows });
        let Ok(()) = space.for_each(|tuple, guard| {
            match tuple.newest().expect("every recovered tuple has a version").row() {
                Some(_) => *count += 1,
                None => discard(space, tuple, guard),
            }
            Ok::<(), std::convert::Infallible>(())
        });
    }
    (rows, entries)
}

/// The tuple of a key, made if there is none.
fn place<'g>(space: &crate::store::Space, key: &[u8], row: Option<&[u8]>, guard: &'g Guard) -> &'g Tuple {
    match space.insert(key, u64::MAX, guard, Ownership::free(), row.map(<[u8]>::len)) {
        Insert::Exists(tuple) => tuple,
        Insert::Inserted(tuple) => {
            Pinned::adopt(tuple).unpin();
            tuple
        }
        Insert::Stamped(_) => unreachable!("nobody has read anything yet"),
    }
}

/// The bytes of a tuple with one version.
fn recovered_size(key: &[u8], row: &[u8]) -> usize {
    let block = if Tuple::has_home(row.len()) { 0 } else { version_size(row.len()) };
    Tuple::size(key.len(), Some(row.len())) + block
}

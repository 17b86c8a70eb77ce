//! RocksDB: pessimistic (`TransactionDB`) and optimistic transactions.
//!
//! Serializable by key: every read of a transaction that writes is a `GetForUpdate`, which locks the key, shared unless it is going
//! to be written (pessimistic), or has it validated at commit (optimistic). Ranges have no such protection: a transaction that
//! writes and scans sees rows that others commit meanwhile. Transactions that only read take a snapshot.
//!
//! `none`: no log. `fsync`: the log is synced at each commit; threads that commit at once share a sync.

use crate::store::{Body, Intent, Range, Store, Transaction, Visit, conflict, fault};
use model::{Direction, Error, Result};
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DBAccess, DBCompressionType,
    DBRawIteratorWithThreadMode, ErrorKind, OptimisticTransactionDB, OptimisticTransactionOptions, Options,
    SnapshotWithThreadMode, TransactionDB, TransactionDBOptions, TransactionOptions, WriteOptions,
};
use std::ops::{Bound, ControlFlow};
use std::path::Path;

/// Bytes of the block cache: all records of the workloads.
const CACHE_BYTES: usize = 1 << 30;
/// Bytes of a table's rows in memory before they are written to a file.
const MEMTABLE_BYTES: usize = 256 << 20;

/// The kinds of transactions that RocksDB has.
pub trait Kind: DBAccess + Send + Sync + Sized + 'static {
    /// Opens a database with these tables.
    fn open(options: &Options, directory: &Path, tables: Vec<ColumnFamilyDescriptor>) -> Opened<Self>;

    /// Finds a table.
    fn table(&self, name: &str) -> Option<&ColumnFamily>;

    /// Begins a transaction.
    fn begin(&self, options: &WriteOptions) -> rocksdb::Transaction<'_, Self>;
}

/// What opening a database returns.
pub type Opened<D> = std::result::Result<D, rocksdb::Error>;

impl Kind for TransactionDB {
    fn open(options: &Options, directory: &Path, tables: Vec<ColumnFamilyDescriptor>) -> Opened<Self> {
        TransactionDB::open_cf_descriptors(options, &TransactionDBOptions::default(), directory, tables)
    }

    fn table(&self, name: &str) -> Option<&ColumnFamily> {
        self.cf_handle(name)
    }

    fn begin(&self, options: &WriteOptions) -> rocksdb::Transaction<'_, Self> {
        let mut how = TransactionOptions::default();
        how.set_deadlock_detect(true);
        self.transaction_opt(options, &how)
    }
}

impl Kind for OptimisticTransactionDB {
    fn open(options: &Options, directory: &Path, tables: Vec<ColumnFamilyDescriptor>) -> Opened<Self> {
        OptimisticTransactionDB::open_cf_descriptors(options, directory, tables)
    }

    fn table(&self, name: &str) -> Option<&ColumnFamily> {
        self.cf_handle(name)
    }

    fn begin(&self, options: &WriteOptions) -> rocksdb::Transaction<'_, Self> {
        self.transaction_opt(options, &OptimisticTransactionOptions::default())
    }
}

/// The store.
pub struct Rocks<D> {
    database: D,
    names: Vec<String>,
    is_durable: bool,
}

fn options(cache: &Cache) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(MEMTABLE_BYTES);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

fn failure(error: rocksdb::Error) -> Error {
    match error.kind() {
        ErrorKind::Busy => conflict("busy"),
        ErrorKind::TimedOut => conflict("lock-timeout"),
        ErrorKind::TryAgain => conflict("try-again"),
        _ => fault(error),
    }
}

impl<D: Kind> Store for Rocks<D> {
    fn open(directory: &Path, tables: usize, is_durable: bool) -> Result<Self> {
        let cache = Cache::new_lru_cache(CACHE_BYTES).map_err(fault)?;
        let names: Vec<String> = (0..tables).map(|table| format!("table{table}")).collect();
        let described = names.iter().map(|name| ColumnFamilyDescriptor::new(name, options(&cache))).collect();
        let database = D::open(&options(&cache), directory, described).map_err(fault)?;
        Ok(Rocks { database, names, is_durable })
    }

    fn transact(&self, reads_only: bool, body: &mut impl Body) -> Result<()> {
        if reads_only {
            body.run(&mut Reading { store: self, snapshot: SnapshotWithThreadMode::new(&self.database) });
            return Ok(());
        }
        let mut how = WriteOptions::default();
        how.set_sync(self.is_durable);
        how.disable_wal(!self.is_durable);
        let mut writing = Writing { store: self, transaction: self.database.begin(&how) };
        match body.run(&mut writing) {
            true => writing.transaction.commit().map_err(failure),
            false => writing.transaction.rollback().map_err(fault),
        }
    }
}

impl<D: Kind> Rocks<D> {
    fn table(&self, table: usize) -> &ColumnFamily {
        self.database.table(&self.names[table]).expect("made when it was opened")
    }
}

/// A transaction that only reads.
struct Reading<'a, D: Kind> {
    store: &'a Rocks<D>,
    snapshot: SnapshotWithThreadMode<'a, D>,
}

impl<D: Kind> Transaction for Reading<'_, D> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        let found = self.snapshot.get_pinned_cf(self.store.table(table), key).map_err(failure)?;
        row.extend_from_slice(found.as_deref().unwrap_or_default());
        Ok(found.is_some())
    }

    fn put(&mut self, _: usize, _: &[u8], _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn delete(&mut self, _: usize, _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        walk(self.snapshot.raw_iterator_cf(self.store.table(table)), range, visit)
    }
}

/// A transaction that may write.
struct Writing<'a, D: Kind> {
    store: &'a Rocks<D>,
    transaction: rocksdb::Transaction<'a, D>,
}

impl<D: Kind> Transaction for Writing<'_, D> {
    fn get(&mut self, table: usize, key: &[u8], intent: Intent, row: &mut Vec<u8>) -> Result<bool> {
        let (table, is_exclusive) = (self.store.table(table), intent == Intent::Write);
        let how = rocksdb::ReadOptions::default();
        let found = self.transaction.get_pinned_for_update_cf_opt(table, key, is_exclusive, &how).map_err(failure)?;
        row.extend_from_slice(found.as_deref().unwrap_or_default());
        Ok(found.is_some())
    }

    fn put(&mut self, table: usize, key: &[u8], row: &[u8]) -> Result<()> {
        self.transaction.put_cf(self.store.table(table), key, row).map_err(failure)
    }

    fn delete(&mut self, table: usize, key: &[u8]) -> Result<()> {
        self.transaction.delete_cf(self.store.table(table), key).map_err(failure)
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        walk(self.transaction.raw_iterator_cf(self.store.table(table)), range, visit)
    }
}

fn walk<D: DBAccess>(mut rows: DBRawIteratorWithThreadMode<'_, D>, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
    let is_forward = range.direction == Direction::Forward;
    let (first, last) = if is_forward { (range.lower, range.upper) } else { (range.upper, range.lower) };
    match (first, is_forward) {
        (Bound::Unbounded, true) => rows.seek_to_first(),
        (Bound::Unbounded, false) => rows.seek_to_last(),
        (Bound::Included(key) | Bound::Excluded(key), true) => rows.seek(key),
        (Bound::Included(key) | Bound::Excluded(key), false) => rows.seek_for_prev(key),
    }
    if matches!(first, Bound::Excluded(key) if rows.key() == Some(key)) {
        step(&mut rows, is_forward);
    }
    while let Some((key, row)) = rows.item() {
        let is_behind = match (last, is_forward) {
            (Bound::Unbounded, _) => false,
            (Bound::Included(last), true) => key > last,
            (Bound::Excluded(last), true) => key >= last,
            (Bound::Included(last), false) => key < last,
            (Bound::Excluded(last), false) => key <= last,
        };
        if is_behind || visit(key, row) == ControlFlow::Break(()) {
            break;
        }
        step(&mut rows, is_forward);
    }
    rows.status().map_err(failure)
}

fn step<D: DBAccess>(rows: &mut DBRawIteratorWithThreadMode<'_, D>, is_forward: bool) {
    if is_forward { rows.next() } else { rows.prev() }
}

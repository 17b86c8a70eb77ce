//! fjall: optimistic transactions, which validate at commit what they have read, ranges included. Serializable. Transactions
//! that only read take a snapshot.
//!
//! `none`: the journal is not flushed. `fsync`: `fdatasync` of the journal at each commit, one after another.

use crate::store::{Body, Intent, Range, Store, Transaction, Visit, conflict, fault};
use ::fjall::{
    CompressionType, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, PersistMode,
    Readable, Snapshot, config::CompressionPolicy,
};
use model::{Direction, Result};
use std::ops::ControlFlow;
use std::path::Path;

/// Bytes of the block cache: all records of the workloads.
const CACHE_BYTES: u64 = 1 << 30;
/// Bytes of a table's rows in memory before they are written to a file.
const MEMTABLE_BYTES: u64 = 256 << 20;

/// The store.
pub struct Fjall {
    database: OptimisticTxDatabase,
    tables: Vec<OptimisticTxKeyspace>,
    is_durable: bool,
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
        .max_memtable_size(MEMTABLE_BYTES)
}

impl Store for Fjall {
    fn open(directory: &Path, tables: usize, is_durable: bool) -> Result<Self> {
        let builder = OptimisticTxDatabase::builder(directory).cache_size(CACHE_BYTES);
        let database = builder.manual_journal_persist(!is_durable).open().map_err(fault)?;
        let create = |table| database.keyspace(&format!("table{table}"), options).map_err(fault);
        let tables = (0..tables).map(create).collect::<Result<_>>()?;
        Ok(Fjall { database, tables, is_durable })
    }

    fn transact(&self, reads_only: bool, body: &mut impl Body) -> Result<()> {
        if reads_only {
            body.run(&mut Reading { store: self, snapshot: self.database.read_tx() });
            return Ok(());
        }
        let mode = self.is_durable.then_some(PersistMode::SyncData);
        let transaction = self.database.write_tx().map_err(fault)?.durability(mode);
        let mut writing = Writing { store: self, transaction };
        if !body.run(&mut writing) {
            writing.transaction.rollback();
            return Ok(());
        }
        writing.transaction.commit().map_err(fault)?.map_err(|_| conflict("conflict"))
    }
}

fn get(from: &impl Readable, table: &OptimisticTxKeyspace, key: &[u8], row: &mut Vec<u8>) -> Result<bool> {
    let found = from.get(table.inner(), key).map_err(fault)?;
    row.extend_from_slice(found.as_deref().unwrap_or_default());
    Ok(found.is_some())
}

fn scan(from: &impl Readable, table: &OptimisticTxKeyspace, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
    let mut rows = from.range::<&[u8], _>(table.inner(), (range.lower, range.upper));
    loop {
        let next = match range.direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let Some(item) = next else { return Ok(()) };
        let (key, row) = item.into_inner().map_err(fault)?;
        if visit(&key, &row) == ControlFlow::Break(()) {
            return Ok(());
        }
    }
}

struct Reading<'a> {
    store: &'a Fjall,
    snapshot: Snapshot,
}

impl Transaction for Reading<'_> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        get(&self.snapshot, &self.store.tables[table], key, row)
    }

    fn put(&mut self, _: usize, _: &[u8], _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn delete(&mut self, _: usize, _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        scan(&self.snapshot, &self.store.tables[table], range, visit)
    }
}

struct Writing<'a> {
    store: &'a Fjall,
    transaction: OptimisticWriteTx,
}

impl Transaction for Writing<'_> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        get(&self.transaction, &self.store.tables[table], key, row)
    }

    fn put(&mut self, table: usize, key: &[u8], row: &[u8]) -> Result<()> {
        self.transaction.insert(self.store.tables[table].inner(), key, row);
        Ok(())
    }

    fn delete(&mut self, table: usize, key: &[u8]) -> Result<()> {
        self.transaction.remove(self.store.tables[table].inner(), key);
        Ok(())
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        scan(&self.transaction, &self.store.tables[table], range, visit)
    }
}

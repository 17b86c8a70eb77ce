//! LMDB: one writer at a time, readers of snapshots beside it. Strict serializable.
//!
//! `none`: the map is written in place and never synced. `fsync`: as LMDB has it by default.

use crate::store::{Body, Intent, Range, Store, Transaction, Visit, fault};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithTls};
use model::{Direction, Result};
use std::ops::ControlFlow;
use std::path::Path;

/// Address space of the map; the file is only as large as what is in it.
const MAP_BYTES: usize = 64 << 30;
/// Clients and long readers.
const READERS: u32 = 4096;

type Table = Database<Bytes, Bytes>;

/// The store.
pub struct Lmdb {
    environment: Env,
    tables: Vec<Table>,
}

impl Store for Lmdb {
    fn open(directory: &Path, tables: usize, is_durable: bool) -> Result<Self> {
        let environment = open(directory, tables as u32, is_durable).map_err(fault)?;
        let mut writer = environment.write_txn().map_err(fault)?;
        let create = |table| environment.create_database(&mut writer, Some(&format!("table{table}"))).map_err(fault);
        let tables = (0..tables).map(create).collect::<Result<_>>()?;
        writer.commit().map_err(fault)?;
        Ok(Lmdb { environment, tables })
    }

    fn transact(&self, reads_only: bool, body: &mut impl Body) -> Result<()> {
        if reads_only {
            body.run(&mut Reading { store: self, transaction: self.environment.read_txn().map_err(fault)? });
            return Ok(());
        }
        let mut writing = Writing { store: self, transaction: self.environment.write_txn().map_err(fault)? };
        match body.run(&mut writing) {
            true => writing.transaction.commit().map_err(fault),
            false => {
                writing.transaction.abort();
                Ok(())
            }
        }
    }
}

/// The only place that is not safe: what the file is mapped to changes if somebody else changes the file.
#[expect(unsafe_code, reason = "the directory was made for this trial, and nobody else opens it")]
fn open(directory: &Path, tables: u32, is_durable: bool) -> heed::Result<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_dbs(tables).max_readers(READERS);
    let flags =
        if is_durable { EnvFlags::empty() } else { EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC | EnvFlags::NO_SYNC };
    // SAFETY: the directory is this trial's own. Without syncs the file may be damaged after a crash, and then is not opened again.
    unsafe { options.flags(flags).open(directory) }
}

fn get(table: Table, transaction: &RoTxn<'_>, key: &[u8], row: &mut Vec<u8>) -> Result<bool> {
    let found = table.get(transaction, key).map_err(fault)?;
    row.extend_from_slice(found.unwrap_or_default());
    Ok(found.is_some())
}

fn scan(table: Table, transaction: &RoTxn<'_>, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
    let bounds = (range.lower, range.upper);
    let mut show = |item: heed::Result<(&[u8], &[u8])>| -> Result<bool> {
        let (key, row) = item.map_err(fault)?;
        Ok(visit(key, row) == ControlFlow::Break(()))
    };
    let forward = || table.range(transaction, &bounds);
    match range.direction {
        Direction::Forward => {
            for item in forward().map_err(fault)? {
                if show(item)? {
                    break;
                }
            }
        }
        Direction::Backward => {
            for item in table.rev_range(transaction, &bounds).map_err(fault)? {
                if show(item)? {
                    break;
                }
            }
        }
    }
    Ok(())
}

struct Reading<'a> {
    store: &'a Lmdb,
    transaction: RoTxn<'a, WithTls>,
}

impl Transaction for Reading<'_> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        get(self.store.tables[table], &self.transaction, key, row)
    }

    fn put(&mut self, _: usize, _: &[u8], _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn delete(&mut self, _: usize, _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        scan(self.store.tables[table], &self.transaction, range, visit)
    }
}

struct Writing<'a> {
    store: &'a Lmdb,
    transaction: RwTxn<'a>,
}

impl Transaction for Writing<'_> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        get(self.store.tables[table], &self.transaction, key, row)
    }

    fn put(&mut self, table: usize, key: &[u8], row: &[u8]) -> Result<()> {
        self.store.tables[table].put(&mut self.transaction, key, row).map_err(fault)
    }

    fn delete(&mut self, table: usize, key: &[u8]) -> Result<()> {
        self.store.tables[table].delete(&mut self.transaction, key).map(drop).map_err(fault)
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        scan(self.store.tables[table], &self.transaction, range, visit)
    }
}

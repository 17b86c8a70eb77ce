//! redb: one writer at a time, readers of snapshots beside it. Strict serializable.
//!
//! `none`: `Durability::None`, a commit that the file gets with a later one. `fsync`: `Durability::Immediate`.

use crate::store::{Body, Intent, Range, Store, Transaction, Visit, fault};
use ::redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, Table, TableDefinition};
use model::{Direction, Result};
use std::ops::ControlFlow;
use std::path::Path;

type Bytes = &'static [u8];

/// The names that tables have.
const NAMES: [&str; 16] =
    ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10", "t11", "t12", "t13", "t14", "t15"];

/// The store.
pub struct Redb {
    database: Database,
    tables: Vec<TableDefinition<'static, Bytes, Bytes>>,
    is_durable: bool,
}

impl Store for Redb {
    fn open(directory: &Path, tables: usize, is_durable: bool) -> Result<Self> {
        let database = Database::create(directory.join("redb")).map_err(fault)?;
        let tables: Vec<_> = NAMES[..tables].iter().map(|name| TableDefinition::new(name)).collect();
        let writer = database.begin_write().map_err(fault)?;
        for &table in &tables {
            writer.open_table(table).map_err(fault)?;
        }
        writer.commit().map_err(fault)?;
        Ok(Redb { database, tables, is_durable })
    }

    fn transact(&self, reads_only: bool, body: &mut impl Body) -> Result<()> {
        if reads_only {
            let reader = self.database.begin_read().map_err(fault)?;
            let open = |&table| reader.open_table(table).map_err(fault);
            body.run(&mut Reading(self.tables.iter().map(open).collect::<Result<_>>()?));
            return Ok(());
        }
        let mut writer = self.database.begin_write().map_err(fault)?;
        let durability = if self.is_durable { Durability::Immediate } else { Durability::None };
        writer.set_durability(durability).map_err(fault)?;
        let open = |&table| writer.open_table(table).map_err(fault);
        let mut writing = Writing(self.tables.iter().map(open).collect::<Result<_>>()?);
        let commits = body.run(&mut writing);
        drop(writing);
        if commits { writer.commit().map_err(fault) } else { writer.abort().map_err(fault) }
    }
}

fn get(table: &impl ReadableTable<Bytes, Bytes>, key: &[u8], row: &mut Vec<u8>) -> Result<bool> {
    let found = table.get(key).map_err(fault)?;
    row.extend_from_slice(found.as_ref().map_or(&[], |found| found.value()));
    Ok(found.is_some())
}

fn scan(table: &impl ReadableTable<Bytes, Bytes>, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
    let mut rows = table.range::<&[u8]>((range.lower, range.upper)).map_err(fault)?;
    loop {
        let next = match range.direction {
            Direction::Forward => rows.next(),
            Direction::Backward => rows.next_back(),
        };
        let Some(item) = next else { return Ok(()) };
        let (key, row) = item.map_err(fault)?;
        if visit(key.value(), row.value()) == ControlFlow::Break(()) {
            return Ok(());
        }
    }
}

struct Reading(Vec<ReadOnlyTable<Bytes, Bytes>>);

impl Transaction for Reading {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        get(&self.0[table], key, row)
    }

    fn put(&mut self, _: usize, _: &[u8], _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn delete(&mut self, _: usize, _: &[u8]) -> Result<()> {
        unreachable!("it only reads")
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        scan(&self.0[table], range, visit)
    }
}

struct Writing<'a>(Vec<Table<'a, Bytes, Bytes>>);

impl Transaction for Writing<'_> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        get(&self.0[table], key, row)
    }

    fn put(&mut self, table: usize, key: &[u8], row: &[u8]) -> Result<()> {
        self.0[table].insert(key, row).map(drop).map_err(fault)
    }

    fn delete(&mut self, table: usize, key: &[u8]) -> Result<()> {
        self.0[table].remove(key).map(drop).map_err(fault)
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        scan(&self.0[table], range, visit)
    }
}

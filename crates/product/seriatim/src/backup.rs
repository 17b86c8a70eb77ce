//! Backups of a database, and their verification.

use crate::directory::check_to_back_up;
use crate::snapshot::Snapshot;
use crate::{Database, Durability, Fault, Invalid, Result, Schema, SerialPoint, TransactionOptions};
use env::{Disk, RealDisk};
use model::{Access, Key, RowBuf, RowRef, Scan, TableId};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tables::{Batch, BatchSize, Batches, Layout, Table, schema_of};

/// Bytes that one transaction of a copy writes: far below the limit on a write set.
const COPY: BatchSize = BatchSize { rows: 1_000, bytes: 4 << 20 };

/// Report of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Position of the copy in the serial order of the database, as in [`crate::Receipt::serial_point`]: it contains every
    /// transaction up to it and none after it.
    pub serial_point: Option<SerialPoint>,
}

/// Report of a verification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Entries of all secondary indexes.
    pub index_entries: u64,
}

impl Database {
    /// Copies the database as of now to the directory `path`, while transactions run. The copy can be opened as a database.
    ///
    /// `path` must not exist, or must be an empty directory. The copy is built under another name beside it and renamed when it
    /// is complete, so that an interrupted backup cannot be mistaken for a complete one.
    ///
    /// ```
    /// # use seriatim::{BytesTable, Database, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let path = std::env::temp_dir().join(format!("seriatim-doc-backup-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let db = Database::in_memory()?;
    /// let words: BytesTable = db.bytes_table("words")?;
    /// db.run(|txn| words.put(txn, "eins", "one"))?;
    /// assert_eq!(db.backup_to(&path)?.rows, 1);
    ///
    /// let copy = Database::open(&path)?;
    /// let words: BytesTable = copy.bytes_table("words")?;
    /// assert!(copy.read(|snapshot| words.contains(snapshot, "eins"))?);
    /// # drop(copy);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid::Directory`] if `path` is not empty or lies in this database's own directory, [`Fault::Disk`] if it cannot
    /// be written.
    pub fn backup_to(&self, path: impl AsRef<Path>) -> Result<BackupReport> {
        let path = path.as_ref();
        let refuse = |what: &str| Fault::Disk { detail: format!("cannot back up to {}: {what}", path.display()) };
        let (parent, name) = split(path).ok_or_else(|| refuse("the path does not end in a name"))?;
        let beside = RealDisk::new(parent);
        check_to_back_up(path, self.path())?;
        let partial = format!("{name}.partial");
        if RealDisk::new(parent.join(&partial)).list("").is_ok() {
            let what =
                format!("{partial} exists: a backup is running or was interrupted; if none is running, remove it");
            return Err(Invalid::Directory { path: path.display().to_string(), what }.into());
        }
        let report = self.copy_to(&parent.join(&partial))?;
        let renamed = beside.rename(&partial, name).and_then(|()| beside.sync_dir(""));
        renamed.map_err(|error| refuse(&error.to_string()))?;
        Ok(report)
    }

    fn copy_to(&self, path: &Path) -> Result<BackupReport> {
        // The list comes first: a table created later is not in the snapshot either.
        let engine_tables = self.shared.store().tables();
        let snapshot = self.snapshot()?;
        let copy = Database::builder().durability(Durability::Async).checkpoint_after(None).open(path)?;
        let mut report = BackupReport { tables: 0, rows: 0, serial_point: None };
        let rows: HashSet<TableId> = self.tables_with_rows(&snapshot)?;
        let mut numbers = HashMap::new();
        for (from, schema) in engine_tables {
            let to = copy.shared.store().create_table((*schema).clone())?;
            numbers.insert(from, to);
            let copied = copy_table(&snapshot, from, &copy, to)?;
            if rows.contains(&from) {
                report.rows += copied;
                report.tables += 1;
            }
        }
        tables::renumber(&*copy.store(), |from| numbers.get(&from).copied())?;
        // What was copied must not be lost here and live on there.
        report.serial_point = snapshot.finish()?.serial_point;
        copy.checkpoint()?;
        copy.close()?;
        Ok(report)
    }

    /// The engine tables that hold rows of users: neither index entries nor the catalog.
    fn tables_with_rows(&self, _: &Snapshot) -> Result<HashSet<TableId>> {
        let defined = tables::Tables::of_all_databases(self.shared.store())?;
        let defined = defined.into_iter().map(|table| table.storage.id());
        Ok(defined.chain(self.plain_tables().map(|(id, _)| id)).collect())
    }

    /// Reads every row and every index entry in one snapshot while transactions run, and checks that each row fits its table and
    /// has its index entries. The files on disk are checked by opening, and by `seriatim verify` on a database that is not open.
    ///
    /// # Errors
    /// [`Fault::Corruption`] names the first inconsistency.
    pub fn verify(&self) -> Result<VerifyReport> {
        let defined = tables::Tables::of_all_databases(self.shared.store())?;
        let plain: Vec<_> = self.plain_tables().collect();
        let snapshot = self.snapshot()?;
        let mut report = VerifyReport { tables: 0, rows: 0, index_entries: 0 };
        for table in defined {
            verify_defined(&snapshot, table, &mut report)?;
        }
        for (table, schema) in plain {
            verify_plain(&snapshot, table, &schema, &mut report)?;
        }
        snapshot.finish()?;
        Ok(report)
    }
}

fn split(path: &Path) -> Option<(&Path, &str)> {
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    Some((parent, path.file_name()?.to_str()?))
}

fn copy_table(snapshot: &Snapshot, from: TableId, copy: &Database, to: TableId) -> Result<u64> {
    let mut copied = 0;
    // Nobody else writes to the copy, so nothing conflicts; and nothing need be durable before the checkpoint.
    let options = TransactionOptions::new().durability(Durability::Async);
    for_each_batch(snapshot, from, |batch| {
        let txn = copy.begin_with(&options)?;
        for (key, row) in batch {
            txn.with(|engine| engine.put(to, key, RowRef::new(row)))?;
        }
        txn.commit()?;
        copied += batch.len() as u64;
        Ok(())
    })?;
    Ok(copied)
}

/// Calls `body` with the keys and rows of an engine table, batch by batch.
fn for_each_batch(snapshot: &Snapshot, table: TableId, mut body: impl FnMut(&Batch) -> Result<()>) -> Result<()> {
    let mut batches = Batches::of(table).sized(COPY);
    while let Some(batch) = snapshot.with(|engine| batches.next(engine))? {
        body(&batch)?;
    }
    Ok(())
}

/// A table that no definition names: each row fits it.
fn verify_plain(snapshot: &Snapshot, table: TableId, schema: &Schema, report: &mut VerifyReport) -> Result<()> {
    let mut wrong = None;
    snapshot.scan(&Scan::table(table), &mut |item| {
        report.rows += 1;
        match schema.check_row(item.key, item.row).and_then(|()| schema.check_key(item.key)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                wrong = Some(format!("key {:?}: {error}", Key::from_bytes(item.key)));
                ControlFlow::Break(())
            }
        }
    })?;
    report.tables += 1;
    wrong.map_or(Ok(()), |what| Err(damaged(schema.name(), &what)))
}

/// A table of the catalog: each row fits it and has its entries, and there are no others.
fn verify_defined(snapshot: &Snapshot, table: Arc<Table>, report: &mut VerifyReport) -> Result<()> {
    let layout = match schema_of(&table, None, model::Storage::Ordered) {
        Ok(schema) => Some(Layout::new(table.clone(), Arc::new(schema))?),
        // It has values that only SQL knows: its rows and entries are counted.
        Err(_) => None,
    };
    let mut rows = 0;
    for_each_batch(snapshot, table.storage.id(), |batch| {
        rows += batch.len() as u64;
        let Some(layout) = &layout else { return Ok(()) };
        batch.iter().try_for_each(|(key, row)| verify_row(snapshot, layout, key, RowRef::new(row)))
    })?;
    for index in &table.indexes {
        let Some(storage) = index.storage else { continue };
        let entries = snapshot.count(Scan::table(storage.id()))?;
        // A partial index leaves rows out.
        if entries > rows || entries < rows && index.predicate.is_none() {
            return Err(damaged(&table.name, &format!("index {}: {entries} entries for {rows} rows", index.name)));
        }
        report.index_entries += entries;
    }
    report.rows += rows;
    report.tables += 1;
    Ok(())
}

fn verify_row(snapshot: &Snapshot, layout: &Layout, key: &[u8], row: RowRef<'_>) -> Result<()> {
    let mut buffer = RowBuf::new();
    row.check()
        .map_err(|_| damaged(layout.schema().name(), &format!("key {:?}: not a typed row", Key::from_bytes(key))))?;
    let shown = layout.program_row(row, &mut buffer);
    let fits = layout.program_key(key).map(|key| layout.schema().check_row(&key, shown));
    match fits {
        Some(Ok(())) => snapshot.with(|engine| layout.check_entries(engine, key, row)),
        Some(Err(error)) => Err(damaged(layout.schema().name(), &format!("key {:?}: {error}", Key::from_bytes(key)))),
        None => Err(damaged(layout.schema().name(), &format!("key {:?} cannot be decoded", Key::from_bytes(key)))),
    }
}

fn damaged(table: &str, what: &str) -> crate::Error {
    Fault::Corruption { detail: format!("table {table}: {what}") }.into()
}

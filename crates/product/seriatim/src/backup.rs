//! Copies of a database, and whether one is sound.

use crate::database::Shared;
use crate::directory::check_to_back_up;
use crate::snapshot::Snapshot;
use crate::{Database, Durability, Fault, Invalid, Result, RowKind, RowTable, Schema, SerialPoint, TransactionOptions};
use env::{Disk, RealDisk};
use model::{IndexId, Scan};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Rows written by one transaction of a copy.
const COPY_ROWS: usize = 1_000;
/// Bytes after which a transaction of a copy ends early: far below the limit on a write set.
const COPY_BYTES: usize = 4 << 20;

/// What a backup copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Where the copy stands in the serial order of the database: it holds every transaction up to here and none after.
    pub serial_point: SerialPoint,
}

/// What a verification looked at.
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
    /// Copies the database, as of now, to the directory `path`, while transactions go on. The copy opens as a database.
    ///
    /// `path` must not exist, or be an empty directory. The copy is built beside it and gets its name when it is whole, so
    /// that a backup that was interrupted cannot be taken for one.
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
        let (parent, name) = split(path).ok_or_else(|| refuse("it has no name"))?;
        let beside = RealDisk::new(parent);
        check_to_back_up(path, self.path())?;
        let partial = format!("{name}.partial");
        if RealDisk::new(parent.join(&partial)).list("").is_ok() {
            let what =
                format!("{partial} is there, left by a backup that was interrupted, or one is running; remove it");
            return Err(Invalid::Directory { path: path.display().to_string(), what }.into());
        }
        let report = self.copy_to(&parent.join(&partial))?;
        let renamed = beside.rename(&partial, name).and_then(|()| beside.sync_dir(""));
        renamed.map_err(|error| refuse(&error.to_string()))?;
        Ok(report)
    }

    fn copy_to(&self, path: &Path) -> Result<BackupReport> {
        // The list comes first: a table created later is not in the snapshot either.
        let tables = self.tables();
        let snapshot = self.snapshot()?;
        let copy = Database::builder().durability(Durability::Async).checkpoint_after(None).open(path)?;
        let mut report = BackupReport { tables: 0, rows: 0, serial_point: SerialPoint::default() };
        for schema in tables {
            let (from, to) = (self.open_table(schema.name())?, copy.create_table(&*schema)?);
            report.rows += copy_table(&snapshot, &from, &copy, &to)?;
            report.tables += 1;
        }
        // What was copied must not be lost here and live on there.
        report.serial_point = snapshot.finish()?.serial_point;
        copy.checkpoint()?;
        copy.close()?;
        Ok(report)
    }

    /// Reads every row and every index entry in one snapshot, and checks that each row fits its table and has its entries,
    /// while transactions go on. Whether the files are sound is `seriatim verify`'s question, asked of a database that is
    /// not open; opening asks it too.
    ///
    /// # Errors
    /// [`Fault::Corruption`] names the first thing that is wrong.
    pub fn verify(&self) -> Result<VerifyReport> {
        let tables = self.tables();
        let snapshot = self.snapshot()?;
        let mut report = VerifyReport { tables: 0, rows: 0, index_entries: 0 };
        for schema in tables {
            verify_table(&self.shared, &snapshot, &schema, &mut report)?;
            report.tables += 1;
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

fn copy_table(snapshot: &Snapshot, from: &RowTable, copy: &Database, to: &RowTable) -> Result<u64> {
    let mut rows = from.iter(snapshot);
    let mut copied = 0;
    // Nobody else writes to the copy, so nothing conflicts; and nothing need be durable before the checkpoint.
    let options = TransactionOptions::new().durability(Durability::Async);
    loop {
        let mut txn = copy.begin_with(&options)?;
        let (mut count, mut bytes) = (0, 0);
        while count < COPY_ROWS && bytes < COPY_BYTES {
            let Some(row) = rows.next() else { break };
            let row = row?;
            to.put_raw(&mut txn, row.key_bytes(), row.stored())?;
            count += 1;
            bytes += row.key_bytes().len() + row.stored().bytes().len();
        }
        txn.commit()?;
        copied += count as u64;
        if count == 0 {
            return Ok(copied);
        }
    }
}

fn verify_table(shared: &Shared, snapshot: &Snapshot, schema: &Arc<Schema>, report: &mut VerifyReport) -> Result<()> {
    let damaged = |what: String| Fault::Corruption { detail: format!("table {}: {what}", schema.name()) };
    let unknown = || Invalid::UnknownTable { table: schema.name().into() };
    let (table, _) = shared.engine.table(schema.name()).ok_or_else(unknown)?;
    let mut wrong = None;
    let mut rows = 0;
    snapshot.scan(&Scan::table(table), &mut |item| {
        rows += 1;
        match schema.check_row(item.key, item.row).and_then(|()| schema.check_key(item.key)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                wrong = Some(format!("key {:?}: {error}", model::Key::from_bytes(item.key)));
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(what) = wrong {
        return Err(damaged(what).into());
    }
    for (number, index) in schema.indexes().iter().enumerate() {
        let id = IndexId(number as u16);
        let (mut entries, mut astray) = (0, None);
        snapshot.scan(&Scan::index(table, id), &mut |item| {
            entries += 1;
            if schema.rows() == RowKind::Typed && schema.index_entry(id, item.key, item.row)[..] != *item.position {
                astray = Some(format!("index {}: an entry leads to a row that is not its own", index.name));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        if let Some(what) = astray {
            return Err(damaged(what).into());
        }
        if entries != rows {
            return Err(damaged(format!("index {}: {entries} entries for {rows} rows", index.name)).into());
        }
        report.index_entries += entries;
    }
    report.rows += rows;
    Ok(())
}

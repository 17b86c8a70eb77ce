//! The database: opening, tables, transactions, maintenance.

use crate::SchemaBuilder;
use crate::builder::{Builder, Settings};
use crate::closing::Closing;
use crate::defined::KnownTables;
use crate::directory::check_to_open;
use crate::engine::{self, Engine, EngineStats, OpenEngine};
use crate::maintenance::{MaintenanceThread, log_bytes};
use crate::options::TransactionOptions;
use crate::resolve::{Place, TableRef};
use crate::shape::check_rows;
use crate::snapshot::Snapshot;
use crate::{
    BytesKey, BytesTable, CheckpointReport, Conflict, Error, Invalid, Record, RecoveryReport, Result, RetryPolicy,
    RowTable, Schema, Table, Transaction,
};
use env::time::Duration;
use env::{Disk, RealDisk};
use model::{Begin, Store};
use mvto::Pace;
use std::any::TypeId;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A database. Clones are handles of the same database and may be used from any thread. It is closed cleanly when the last
/// handle and the last transaction are dropped.
///
/// See the [crate] for a tour.
#[derive(Clone)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

/// State shared by handles and transactions.
pub(crate) struct Shared {
    /// Identifies this database among those open in the process, so that a table handle is not used with another one.
    pub id: u64,
    pub engine: Arc<dyn OpenEngine>,
    kind: Engine,
    /// The wait limit of transactions that do not set one.
    pub wait_limit: Duration,
    #[cfg(feature = "sql")]
    pub memory_limit: usize,
    pub retry: RetryPolicy,
    place: Option<PathBuf>,
    maintenance: Arc<MaintenanceThread>,
    /// How the drop of the last handle waits for the disk; `None` in memory.
    closing: Option<Closing>,
    /// Whether [`Database::close`] has closed it: then a drop has nothing to do, and takes no thread for it.
    is_closed: AtomicBool,
    retries: Mutex<Vec<(&'static str, u64)>>,
    /// Tables whose rows are known to fit a record with narrow fields.
    checked: Mutex<HashSet<(Place, TypeId)>>,
    pub kept: KnownTables,
    #[cfg(feature = "sql")]
    pub durability: model::Durability,
    #[cfg(feature = "sql")]
    sql: Mutex<Option<Arc<::sql::database::Database>>>,
}

impl Database {
    /// Opens the database in the directory `path`, creates it if it does not exist, and recovers it after a crash.
    ///
    /// ```
    /// # use seriatim::{BytesTable, Database, Error};
    /// # fn main() -> Result<(), Error> {
    /// # let path = std::env::temp_dir().join(format!("seriatim-doc-open-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let db = Database::open(&path)?;
    /// let words: BytesTable = db.bytes_table("words")?;
    /// db.run(|txn| words.put(txn, "eins", "one"))?;
    /// drop(db);
    ///
    /// let db = Database::open(&path)?;
    /// let words: BytesTable = db.bytes_table("words")?;
    /// assert!(db.read(|snapshot| words.contains(snapshot, "eins"))?);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Fault::Locked`](crate::Fault::Locked) if another process has it, [`Fault::Corruption`](crate::Fault::Corruption)
    /// if it is damaged (with file and offset), [`Fault::NewerFormat`](crate::Fault::NewerFormat) if a newer version has
    /// written it, [`Invalid::Directory`](crate::Invalid::Directory) if the directory holds other files and no database,
    /// [`Fault::Disk`](crate::Fault::Disk) if the disk fails. A full disk is not an error if the database exists already: see
    /// [`Database::read_only`].
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Database::builder().open(path)
    }

    /// Creates a database without a disk. Its contents are lost when it is dropped.
    ///
    /// # Errors
    /// [`Error::Fault`] if the clock cannot be read.
    pub fn in_memory() -> Result<Database> {
        Database::builder().in_memory()
    }

    /// Returns a builder, for options before [`Builder::open`] or [`Builder::in_memory`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn with_settings(settings: Settings, place: Option<&Path>) -> Result<Database> {
        engine::check(&settings, place.is_some())?;
        let is_read_only = settings.engine_options.log.read_only;
        place.map_or(Ok(()), |place| check_to_open(place, is_read_only))?;
        let disk = place.map(if is_read_only { RealDisk::read_only } else { RealDisk::new });
        Database::on_disk(settings, disk.map(|disk| Arc::new(disk) as _), place)
    }

    fn on_disk(settings: Settings, disk: Option<Arc<dyn Disk>>, place: Option<&Path>) -> Result<Database> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let is_read_only = settings.engine_options.log.read_only;
        let is_on_disk = disk.is_some();
        let backlog = disk.as_deref().map_or(0, log_bytes);
        let engine = engine::open(&settings, disk)?;
        let kept = match settings.is_engine_alone {
            true => KnownTables::none(engine.clone()),
            false => KnownTables::open(engine.clone(), settings.database.clone(), is_read_only)?,
        };
        let checkpoint_after = settings.checkpoint_after.filter(|_| is_on_disk && !is_read_only);
        let maintenance = Arc::new(MaintenanceThread::start(engine.clone(), checkpoint_after, backlog)?);
        Ok(Database {
            shared: Arc::new(Shared {
                // Only uniqueness matters, so no order is needed.
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                engine,
                kind: settings.engine,
                wait_limit: settings.engine_options.wait_limit,
                #[cfg(feature = "sql")]
                memory_limit: settings.engine_options.memory_limit(),
                retry: settings.retry,
                place: place.map(Path::to_owned),
                maintenance,
                closing: is_on_disk.then_some(settings.closing),
                is_closed: AtomicBool::new(false),
                retries: Mutex::default(),
                checked: Mutex::default(),
                kept,
                #[cfg(feature = "sql")]
                durability: settings.engine_options.durability,
                #[cfg(feature = "sql")]
                sql: Mutex::default(),
            }),
        })
    }

    /// Returns the engine.
    pub fn engine(&self) -> Engine {
        self.shared.kind
    }

    /// Returns the directory; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        self.shared.place.as_deref()
    }

    /// Opens the table whose rows are `R`, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Invalid::Shape`](crate::Invalid::Shape) if a table of this name has another definition (the error names the
    /// difference and what to do), or has a value that does not fit into a field: if a record has fields of `i32` or `u32`, the
    /// first call for it reads the whole table.
    /// [`Invalid::Schema`](crate::Invalid::Schema) if the record's own schema is invalid.
    pub fn table<R: Record>(&self) -> Result<Table<R>> {
        let (at, schema) = self.open_or_create(R::schema().build()?, &R::defaults())?;
        if R::NARROW {
            self.shared.check_once::<R>(at, &schema)?;
        }
        Ok(Table::new(at))
    }

    /// Opens the table of bytes called `name`, and creates it if it does not exist. See [`BytesTable`].
    ///
    /// # Errors
    /// [`Invalid::Shape`](crate::Invalid::Shape) if a table of this name has another definition.
    pub fn bytes_table<K: BytesKey + ?Sized>(&self, name: &str) -> Result<BytesTable<K>> {
        let (at, _) = self.open_or_create(crate::bytes::schema::<K>(name)?, &[])?;
        Ok(BytesTable::new(at))
    }

    /// Creates a table by its schema. See [`RowTable`].
    ///
    /// # Errors
    /// [`Invalid::TableExists`](crate::Invalid::TableExists), [`Invalid::Schema`](crate::Invalid::Schema) if the schema
    /// is invalid, [`Error::Limit`] with too many tables.
    pub fn create_table(&self, schema: impl IntoSchema) -> Result<RowTable> {
        let schema = Arc::new(schema.into_schema()?);
        Ok(RowTable::new(self.create_new(&schema)?, schema))
    }

    /// Opens the table of this schema, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Invalid::Shape`](crate::Invalid::Shape) if a table of this name has another definition,
    /// [`Invalid::Schema`](crate::Invalid::Schema) if the schema is invalid.
    pub fn create_table_if_missing(&self, schema: impl IntoSchema) -> Result<RowTable> {
        let (at, schema) = self.open_or_create(schema.into_schema()?, &[])?;
        Ok(RowTable::new(at, schema))
    }

    /// Opens a table by its name, whatever its columns are.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`](crate::Invalid::UnknownTable).
    pub fn open_table(&self, name: &str) -> Result<RowTable> {
        let (at, schema) = self.open_any(name)?;
        Ok(RowTable::new(at, schema))
    }

    /// Drops a table with all its rows. Calls through its handles return
    /// [`Invalid::UnknownTable`](crate::Invalid::UnknownTable) from then on.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`](crate::Invalid::UnknownTable), [`Error::Fault`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.drop_any(name)
    }

    /// Returns the schemas of all tables that [`Database::open_table`] opens: those made by programs, and those made by SQL whose
    /// columns all have types that programs can use.
    pub fn tables(&self) -> Vec<Arc<Schema>> {
        self.shapes_of_all()
    }

    /// Returns the names of the SQL tables that [`Database::open_table`] refuses: those without a primary key, and those with
    /// columns of types that programs cannot use.
    pub fn tables_for_sql_alone(&self) -> Vec<String> {
        self.names_for_sql_alone()
    }

    /// Begins a transaction that the caller holds open. Its place in the serial order is fixed at its first statement; short
    /// transactions have fewer conflicts. Unlike [`Database::run`], this does not retry.
    ///
    /// # Errors
    /// [`Error::Limit`] with too many open transactions, [`Error::Fault`] if the clock or the log has failed.
    pub fn begin(&self) -> Result<Transaction> {
        self.begin_with(&TransactionOptions::new())
    }

    /// Begins a transaction with options. See [`Database::begin`].
    ///
    /// # Errors
    /// Errors of [`Database::begin`].
    pub fn begin_with(&self, options: &TransactionOptions) -> Result<Transaction> {
        Ok(Transaction::new(Snapshot::begin(&self.shared, options.clone())?))
    }

    /// Begins a snapshot: one unchanging view of the database, for as long as it is held. No conflict ends it; the limits on
    /// waiting and on age can. Old versions are kept while a snapshot may read them.
    ///
    /// # Errors
    /// Errors of [`Database::begin`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::begin(&self.shared, TransactionOptions::new().read_only())?.fix()
    }

    /// Begins a snapshot with options: [`settled`](TransactionOptions::settled), the wait limit, the durability. It is always
    /// read-only. See [`Database::snapshot`].
    ///
    /// # Errors
    /// Errors of [`Database::begin`]; [`Error::Nested`] if it is settled and had to wait inside the body of another transaction of
    /// the same thread, perhaps for that one.
    pub fn snapshot_with(&self, options: &TransactionOptions) -> Result<Snapshot> {
        if options.mode == model::Mode::Snapshot {
            return self.settled_snapshot(options);
        }
        Snapshot::begin(&self.shared, options.clone().read_only())?.fix()
    }

    /// Writes a checkpoint of the whole database, so that the log before it can be removed and the next start is quick.
    /// Transactions run meanwhile. The report counts the engine's tables: rows, index entries and the catalog alike. With
    /// [`Builder::checkpoint_after`] checkpoints are automatic.
    ///
    /// # Errors
    /// [`Invalid::Unsupported`](crate::Invalid::Unsupported) in memory, [`Error::Fault`] if the disk fails (the database stays as it was).
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        let unsupported = Invalid::Unsupported { what: "a checkpoint of a database in memory" };
        let maintenance = self.shared.engine.maintenance().ok_or(unsupported)?;
        Ok(maintenance.checkpoint(Pace::Full)?)
    }

    /// Returns the reason why the database cannot be written at present; `None` if it can be. Reads work in any case.
    ///
    /// [`Fault::DiskFull`](crate::Fault::DiskFull) if the database was opened on a full disk: commits that write fail with the
    /// same, and the first one that finds space ends the state, without a restart. [`Fault::ReadOnly`](crate::Fault::ReadOnly)
    /// if it was opened by [`Builder::read_only`]. [`Fault::LogFailed`](crate::Fault::LogFailed) if its log has failed: it has
    /// to be opened again.
    pub fn read_only(&self) -> Option<Error> {
        self.shared.engine.maintenance()?.refuses_writes().map(Error::from)
    }

    /// Returns the report of recovery; `None` in memory.
    pub fn recovery(&self) -> Option<RecoveryReport> {
        self.shared.engine.maintenance()?.recovery()
    }

    /// Returns counters and gauges.
    pub fn stats(&self) -> Stats {
        Stats {
            engine: self.shared.engine.stats(),
            retries: self.shared.lock_retries().clone(),
            checkpoint_failure: self.shared.maintenance.last_failure(),
        }
    }

    /// The engine as an object, as SQL sees it.
    pub fn store(&self) -> Arc<dyn Store> {
        self.shared.engine.clone()
    }

    /// Closes the database now, even if there are other handles: calls through them are refused from then on. Waits for the disk
    /// without a limit. Dropping the last handle does the same for at most [`Builder::close_limit`], and reports a failure to
    /// [`Builder::on_unclean_close`] only.
    ///
    /// # Errors
    /// [`Error::Fault`] if the rest of the log could not be written.
    pub fn close(self) -> Result<()> {
        self.shared.close()
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Shared {
    /// Door 1.
    pub fn store(&self) -> &dyn Store {
        &*self.engine
    }

    pub fn begin(&self, options: &TransactionOptions) -> Begin {
        Begin { mode: options.mode, durability: options.durability, wait_limit: options.wait_limit, ..Begin::default() }
    }

    /// The SQL database, created at its first use.
    #[cfg(feature = "sql")]
    pub fn sql(
        &self,
        open: impl FnOnce() -> Result<Arc<::sql::database::Database>>,
    ) -> Result<Arc<::sql::database::Database>> {
        let mut made = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(database) => Ok(database.clone()),
            None => Ok(made.insert(open()?).clone()),
        }
    }

    /// Checks that the rows of a table fit a record, the first time that the record is opened. Writes through the record always
    /// fit.
    fn check_once<R: Record>(self: &Arc<Shared>, table: TableRef, schema: &Schema) -> Result<()> {
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let this = (table.place, TypeId::of::<R>());
        if !checked().contains(&this) {
            check_rows::<R>(self, table, schema)?;
            checked().insert(this);
        }
        Ok(())
    }

    pub fn count_retry(&self, conflict: &Conflict) {
        let mut retries = self.lock_retries();
        match retries.iter_mut().find(|(rule, _)| *rule == conflict.rule()) {
            Some((_, count)) => *count += 1,
            None => retries.push((conflict.rule(), 1)),
        }
    }

    fn lock_retries(&self) -> std::sync::MutexGuard<'_, Vec<(&'static str, u64)>> {
        // Counters are right whatever a panicking thread was doing.
        self.retries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) -> Result<()> {
        close(&*self.engine, &self.maintenance)?;
        // Relaxed: only a drop reads it, which comes after.
        self.is_closed.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn close(engine: &dyn OpenEngine, maintenance: &MaintenanceThread) -> Result<()> {
    maintenance.stop();
    engine.maintenance().map_or(Ok(()), |maintenance| Ok(maintenance.close()?))
}

impl Drop for Shared {
    /// Opening after a failure recovers as after a crash.
    fn drop(&mut self) {
        if *self.is_closed.get_mut() {
            return;
        }
        let closed = match &self.closing {
            None => self.close(),
            Some(closing) => {
                let (engine, maintenance) = (self.engine.clone(), self.maintenance.clone());
                closing.wait_for(move || close(&*engine, &maintenance))
            }
        };
        if let (Err(error), Some(closing)) = (closed, &self.closing) {
            closing.tell(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{Operation, SimDisk, SimDiskOptions, WatchedDisk};
    use std::sync::{RwLock, mpsc};

    /// A disk that does not respond delays a drop by no more than the limit. The directory stays locked until it responds; then
    /// the database is closed, and complete.
    #[test]
    fn a_drop_does_not_wait_for_a_disk_that_stands_still() {
        // Syncs pass the gate while nobody holds it.
        let (gate, disk) = (Arc::<RwLock<()>>::default(), SimDisk::new(1, SimDiskOptions::default()));
        let open = |builder: Builder| {
            let gate = gate.clone();
            let disk = WatchedDisk::new(disk.clone(), move |operation, _| {
                if operation == Operation::Sync {
                    drop(gate.read().unwrap());
                }
            });
            let disk: Arc<dyn Disk> = Arc::new(disk);
            Database::on_disk(builder.into_settings(), Some(disk), None)
        };
        let (sender, receiver) = mpsc::channel();
        let builder = Database::builder().durability(crate::Durability::Async).close_limit(Duration::from_millis(20));
        let db = open(builder.on_unclean_close(move |error| drop(sender.send(error.to_string())))).unwrap();
        let words: BytesTable = db.bytes_table("words").unwrap();
        db.run(|txn| words.put(txn, "eins", "one")).unwrap();
        let shut = gate.write().unwrap();
        drop(db);
        let message = receiver.try_recv().expect("the drop says that it has not waited");
        assert!(message.contains("locked until"), "{message}");
        let refused = open(Database::builder().directory_lock_limit(Duration::ZERO)).expect_err("it is still open");
        assert!(matches!(refused, Error::Fault(crate::Fault::Locked { .. })), "{refused}");

        drop(shut);
        let db = loop {
            match open(Database::builder()) {
                Ok(db) => break db,
                Err(Error::Fault(crate::Fault::Locked { .. })) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        assert!(db.recovery().is_some_and(|found| found.clean), "it was closed in the end");
        let words: BytesTable = db.bytes_table("words").unwrap();
        assert!(db.read(|snapshot| words.contains(snapshot, "eins")).unwrap());
        db.close().expect("the disk goes on");
        assert!(receiver.try_recv().is_err(), "one message");
    }
}

/// Converts to a schema: implemented for schemas and for their builders.
pub trait IntoSchema {
    /// Returns the schema.
    ///
    /// # Errors
    /// [`Invalid::Schema`](crate::Invalid::Schema) names what is wrong.
    fn into_schema(self) -> Result<Schema>;
}

impl IntoSchema for Schema {
    fn into_schema(self) -> Result<Schema> {
        Ok(self)
    }
}

impl IntoSchema for &Schema {
    fn into_schema(self) -> Result<Schema> {
        Ok(self.clone())
    }
}

impl IntoSchema for SchemaBuilder {
    fn into_schema(self) -> Result<Schema> {
        Ok(self.build()?)
    }
}

/// Counters and gauges of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Figures of the engine: commits, aborts by rule, memory, the log.
    pub engine: EngineStats,
    /// Number of times that [`Database::run`] ran a body again, by the rule of the conflict.
    pub retries: Vec<(&'static str, u64)>,
    /// Error of the last automatic checkpoint, if it failed. Checkpoints are tried again.
    pub checkpoint_failure: Option<Error>,
}

//! Building a database of procedures: options, tables, procedures.

use crate::batch::admission::Admission;
use crate::batch::arguments::Arguments;
use crate::batch::bytes::BytesTable;
use crate::batch::database::{Database, Knobs, Shared};
use crate::batch::defined::{Defined, Wanted, is_of};
use crate::batch::footprint::Footprint;
use crate::batch::kept::{Kept, OnDisk};
use crate::batch::procedure::{Code, Procedure, register};
use crate::batch::table::{Table, TableAt};
use crate::batch::transaction::Transaction;
use crate::builder::{ChooseEngine, Settings, sealed};
use crate::directory::check_to_open;
use crate::engine::once_unlocked;
use crate::maintenance::{MaintenanceThread, log_bytes};
use crate::{BytesKey, Error, Invalid, Record, Result, Schema, Storage, Value};
use bohm::Pace;
use env::{Disk, RealDisk};
use model::{NameTaken, Registry, TableId};
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Markers of [`Database::settle`] and the like, which stand in the engine's queue beside the calls.
const MARKERS: usize = 1024;

/// The engine BOHM, which puts procedures into an order before it runs them: an argument of
/// [`Builder::engine`](crate::Builder::engine), with its knobs.
///
/// ```
/// # use seriatim::{Database, Error, batch};
/// # fn main() -> Result<(), Error> {
/// let db = Database::builder().engine(batch::Bohm::default().executors(2).batch(256)).in_memory()?;
/// assert_eq!(db.stats().under_way, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Bohm {
    options: bohm::Options,
    under_way: usize,
    places: u32,
}

impl Default for Bohm {
    fn default() -> Bohm {
        Bohm { options: bohm::Options::default(), under_way: 16_384, places: 100 }
    }
}

impl sealed::Sealed for Bohm {}

impl ChooseEngine for Bohm {
    type Builder = Builder;

    fn choose(self, builder: crate::Builder) -> Builder {
        Builder::new(builder.into_settings(), self)
    }
}

impl Bohm {
    /// Sets the number of threads that plan, each for its share of the keys: 1 to 64. Default 1. More help where footprints are
    /// large and bodies short.
    pub fn planners(mut self, threads: usize) -> Bohm {
        self.options.planners = threads;
        self
    }

    /// Sets the number of threads that execute bodies: at least 1. Default 1. More help where bodies are long.
    pub fn executors(mut self, threads: usize) -> Bohm {
        self.options.executors = threads;
        self
    }

    /// Sets whether threads move between planning and execution by what there is to do: so many as [`Bohm::planners`] and
    /// [`Bohm::executors`] say together. Default false.
    pub fn moves_threads(mut self, moves: bool) -> Bohm {
        self.options.moves_threads = moves;
        self
    }

    /// Sets the number of procedures of one batch, at most: 1 to 131,072. Default 1,024. A batch is what has come in while the one
    /// before was planned, so few clients do not wait for a batch to fill. Smaller values shorten waits under full load, larger
    /// ones do more per second.
    pub fn batch(mut self, procedures: usize) -> Bohm {
        self.options.batch = procedures;
        self
    }

    /// Sets how many procedures may be accepted and not ended. Default 16,384. Beyond it a submission waits, or fails with
    /// [`LimitKind::Queue`](crate::LimitKind::Queue).
    pub fn under_way(mut self, procedures: usize) -> Bohm {
        self.under_way = procedures.max(1);
        self
    }

    /// Sets how many places of the order a call gets whose guessed footprints miss, at most. Default 100. Beyond it the call is
    /// aborted by the rule `footprint-missed`.
    pub fn places(mut self, places: u32) -> Bohm {
        self.places = places.max(1);
        self
    }

    /// Changes any other option of the engine.
    pub fn options(mut self, change: impl FnOnce(&mut bohm::Options)) -> Bohm {
        change(&mut self.options);
        self
    }
}

/// Opens a database of procedures. Made by [`Builder::engine`](crate::Builder::engine). Tables and procedures are made known
/// before it is opened, since recovery executes procedures.
pub struct Builder {
    settings: Settings,
    bohm: Bohm,
    /// Identifies the database among those of the process.
    database: u64,
    wanted: Vec<Wanted>,
    /// Names of tables to drop.
    dropped: Vec<String>,
    /// Names of the procedures, and what makes them known to recovery.
    procedures: Vec<(String, Register)>,
}

type Register = Box<dyn Fn(&Arc<Shared>, &mut Registry) -> std::result::Result<(), NameTaken>>;

impl Builder {
    fn new(settings: Settings, bohm: Bohm) -> Builder {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only uniqueness matters.
        let database = NEXT.fetch_add(1, Relaxed);
        Builder { settings, bohm, database, wanted: Vec::new(), dropped: Vec::new(), procedures: Vec::new() }
    }

    /// Adds the table whose rows are `R`, and returns its handle, for bodies and footprints.
    ///
    /// # Errors
    /// [`Invalid::TableExists`] if it was added already, [`Invalid::Schema`] if the record's schema is invalid.
    pub fn table<R: Record>(&mut self) -> Result<Table<R>> {
        Ok(Table::new(self.add_table(R::schema().build()?, R::defaults())?))
    }

    /// Same as [`Builder::table`], with another storage than the record's schema says: [`Storage::Hash`] keeps the records by the hash of
    /// their keys, for lookups in fewer steps. Reads of ranges of such a table are [`Invalid::NotOrdered`]; its indexes are ordered as
    /// ever. It takes no further fields later.
    ///
    /// # Errors
    /// Same as [`Builder::table`].
    pub fn table_in<R: Record>(&mut self, storage: Storage) -> Result<Table<R>> {
        Ok(Table::new(self.add_table(R::schema().storage(storage).build()?, R::defaults())?))
    }

    /// Adds a table of bytes, and returns its handle.
    ///
    /// # Errors
    /// Same as [`Builder::table`].
    pub fn bytes_table<K: BytesKey + ?Sized>(&mut self, name: &str) -> Result<BytesTable<K>> {
        self.bytes_table_in(name, Storage::Ordered)
    }

    /// Same as [`Builder::bytes_table`], with a storage: see [`Builder::table_in`].
    ///
    /// # Errors
    /// Same as [`Builder::table`].
    pub fn bytes_table_in<K: BytesKey + ?Sized>(&mut self, name: &str, storage: Storage) -> Result<BytesTable<K>> {
        let schema = K::declare(Schema::bytes(name).storage(storage)).build()?;
        Ok(BytesTable::new(self.add_table(schema, Vec::new())?))
    }

    fn add_table(&mut self, schema: Schema, defaults: Vec<(&'static str, Value)>) -> Result<TableAt> {
        let name = schema.name();
        if self.wanted.iter().any(|wanted| wanted.schema.name() == name) || self.dropped.iter().any(|it| it == name) {
            return Err(Invalid::TableExists { table: name.into() }.into());
        }
        self.wanted.push(Wanted { schema: Arc::new(schema), defaults });
        Ok(TableAt { database: self.database, number: self.wanted.len() - 1 })
    }

    /// Has the table of this name be dropped, with its rows and indexes, when the database is opened, if it is there. The procedures that
    /// use it must not be in the log any more: see [`Builder::open`].
    ///
    /// # Errors
    /// [`Invalid::TableExists`] if the program has a table of this name.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        if self.wanted.iter().any(|wanted| wanted.schema.name() == name) {
            return Err(Invalid::TableExists { table: name.into() }.into());
        }
        self.dropped.push(name.to_owned());
        Ok(())
    }

    /// Begins a procedure. The name is written to the log, and so is the version: it changes whenever the body does something else
    /// with the same arguments and the same rows.
    pub fn procedure<A: Arguments>(&mut self, name: impl Into<String>, version: u32) -> NewProcedure<'_, A> {
        NewProcedure {
            builder: self,
            name: name.into(),
            version,
            is_read_only: false,
            declare: None,
            arguments: PhantomData,
        }
    }

    /// Creates a database without a disk.
    ///
    /// # Errors
    /// [`Invalid::Unsupported`] for options of the [`Builder`](crate::Builder) that the engine lacks.
    pub fn in_memory(self) -> Result<Database> {
        self.check()?;
        let shared = self.shared()?;
        let engine = Arc::new(bohm::Bohm::new(self.options()));
        shared.tables.open(&engine)?;
        Ok(Database::new(engine, shared, self.knobs(), None))
    }

    /// Opens the database in the directory `path`, and creates it if it does not exist. After a crash, and after a stop, the calls
    /// behind the last checkpoint are executed again, in their order; [`Database::recovery`] reports that.
    ///
    /// ```
    /// # use seriatim::{Database, Error, batch, record};
    /// # record! { pub struct Counter { pub name: String, pub value: i64, } table "counters"; key (name); }
    /// # let path = std::env::temp_dir().join(format!("seriatim-doc-batch-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let open = || -> Result<_, Error> {
    ///     let mut builder = Database::builder().engine(batch::Bohm::default());
    ///     let counters = builder.table::<Counter>()?;
    ///     let next = builder.procedure("next", 1).body(move |txn, name: &String| {
    ///         let value = counters.get(txn, name)?.map_or(1, |counter| counter.value + 1);
    ///         counters.put(txn, &Counter { name: name.clone(), value })?;
    ///         Ok::<_, Error>(value)
    ///     })?;
    ///     Ok((builder.open(&path)?, next))
    /// };
    /// let (db, next) = open()?;
    /// assert_eq!(db.call(&next, "visits".into())?, 1);
    /// drop(db);
    /// let (db, next) = open()?;
    /// assert_eq!(db.call(&next, "visits".into())?, 2);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid::LoggedCall`] if the log has calls of a procedure that is not registered, or with another version;
    /// [`Invalid::Shape`] if a table is there with another definition, or is to get further fields while the log has calls behind the
    /// last checkpoint; those of [`Builder::in_memory`] and of
    /// [`seriatim::Database::open`](crate::Database::open).
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        self.check()?;
        check_to_open(path.as_ref(), false)?;
        self.open_on(Arc::new(RealDisk::new(path.as_ref())))
    }

    pub(crate) fn open_on(self, disk: Arc<dyn Disk>) -> Result<Database> {
        let backlog = log_bytes(&*disk);
        // What is executed again may know tables that are gone at its end.
        let replayed = self.shared()?;
        let engine = Arc::new(once_unlocked(&self.settings, || self.recover(&disk, &replayed))?);
        let shared = self.shared()?;
        shared.tables.open(&engine)?;
        self.drop_tables(&engine)?;
        if replayed.tables.has_lost(&engine) {
            // So that no later recovery meets the calls of a dropped table and those of another one of its name.
            engine.write_checkpoint(Pace::Full)?;
        }
        let kept = Arc::new(Kept::new(engine.clone()));
        let after = self.settings.checkpoint_after;
        let disk = OnDisk {
            maintenance: Arc::new(MaintenanceThread::start(kept, after, backlog)?),
            closing: self.settings.closing.clone(),
        };
        Ok(Database::new(engine, shared, self.knobs(), Some(disk)))
    }

    /// Opens the engine; it executes again what was logged.
    fn recover(&self, disk: &Arc<dyn Disk>, shared: &Arc<Shared>) -> model::Result<bohm::Bohm> {
        let mut registry = Registry::new();
        for (_, register) in &self.procedures {
            register(shared, &mut registry).map_err(|taken| Invalid::Option { what: taken.to_string() })?;
        }
        // A definition that contradicts itself fails again when all tables are known.
        let mut tell = |id: TableId, schema: &model::Schema| drop(shared.tables.note(id, Arc::new(schema.clone())));
        bohm::Bohm::open_telling(disk.clone(), registry, self.options(), &mut tell)
    }

    fn drop_tables(&self, engine: &bohm::Bohm) -> Result<()> {
        for (_, schema) in engine.tables() {
            if self.dropped.iter().any(|name| is_of(name, &schema)) {
                engine.drop_table(schema.name())?;
            }
        }
        Ok(())
    }

    fn shared(&self) -> Result<Arc<Shared>> {
        let tables = Defined::new(self.database, &self.wanted)?;
        Ok(Arc::new(Shared { tables, admission: Admission::new(self.bohm.under_way) }))
    }

    fn knobs(&self) -> Knobs {
        Knobs {
            database: self.database,
            places: self.bohm.places,
            #[cfg(feature = "sql")]
            statement_bytes: self.settings.engine_options.memory_limit() / 3,
        }
    }

    /// Refuses options that the engine does not have.
    fn check(&self) -> Result<()> {
        let knobs = &self.settings.engine_options;
        let unsupported = [
            (self.settings.database.is_some(), "a named database with the engine bohm"),
            (knobs.transaction_age.is_some(), "an age limit of transactions with the engine bohm: none stays open"),
            (knobs.log.read_only, "opening for reading only with the engine bohm"),
        ];
        match unsupported.into_iter().find(|(is_set, _)| *is_set) {
            Some((_, what)) => Err(Invalid::Unsupported { what }.into()),
            None => Ok(()),
        }
    }

    fn options(&self) -> bohm::Options {
        let knobs = &self.settings.engine_options;
        bohm::Options {
            key_bytes: knobs.key_bytes as u64,
            row_bytes: knobs.row_bytes as u64,
            write_set_rows: knobs.write_set_rows as u64,
            memory_bytes: knobs.memory_bytes,
            durability: knobs.durability,
            log: knobs.log.clone(),
            // Whoever was admitted finds room.
            queue: self.bohm.under_way + MARKERS,
            ..self.bohm.options.clone()
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("bohm", &self.bohm)
            .field("procedures", &self.procedures.len())
            .finish_non_exhaustive()
    }
}

type Declare<A> = Box<dyn Fn(&mut Footprint<'_>, &A) + Send + Sync>;

/// A procedure that is being declared: see [`Builder::procedure`].
#[must_use = "a procedure is registered by its body"]
pub struct NewProcedure<'b, A> {
    builder: &'b mut Builder,
    name: String,
    version: u32,
    is_read_only: bool,
    declare: Option<Declare<A>>,
    arguments: PhantomData<fn(A)>,
}

impl<A: Arguments> NewProcedure<'_, A> {
    /// Declares what the body touches. Without it the footprint is found by running the body when its batch is put together, on the
    /// state of the last complete batch with what such bodies before it would write, and once more whenever that missed.
    pub fn footprint(mut self, declare: impl Fn(&mut Footprint<'_>, &A) + Send + Sync + 'static) -> Self {
        self.declare = Some(Box::new(declare));
        self
    }

    /// Refuses writes of the body. It may read anything then: its footprint is not asked for, and costs nothing.
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Registers the procedure with its body, and returns its handle.
    ///
    /// The body may run more than once. With the same arguments and the same rows it must do the same: its effects are those
    /// through the transaction, and it takes time and random numbers from there. Its error leaves nothing of its writes.
    ///
    /// # Errors
    /// [`Invalid::Option`] if a procedure of this name is registered already.
    pub fn body<T, E>(
        self,
        body: impl Fn(&mut Transaction<'_>, &A) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Procedure<A, T, E>>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let NewProcedure { builder, name, version, is_read_only, declare, .. } = self;
        if builder.procedures.iter().any(|(other, _)| *other == name) {
            return Err(Invalid::Option {
                what: format!("a procedure {name} is registered already: give it another name"),
            }
            .into());
        }
        let database = builder.database;
        let code = Code { database, name: name.clone(), version, is_read_only, declare, body: Box::new(body) };
        let code = Arc::new(code);
        let known = code.clone();
        builder.procedures.push((name, Box::new(move |shared, registry| register(&known, shared, registry))));
        Ok(Procedure { code })
    }
}

impl<A> fmt::Debug for NewProcedure<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewProcedure").field("name", &self.name).field("version", &self.version).finish_non_exhaustive()
    }
}

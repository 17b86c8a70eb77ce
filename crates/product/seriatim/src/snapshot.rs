//! One transaction's view of the database.

use crate::database::Shared;
use crate::handles::Used;
use crate::options::TransactionOptions;
use crate::{Error, Receipt, Result};
use model::{Access, Columns, Finish, Interactive, Item, Mode, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::cell::{RefCell, RefMut};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use tables::Layout;

/// The engine's transaction behind every view.
pub(crate) type Open = Box<dyn model::Transaction>;

/// One unchanging view of the whole database: the writes of every transaction before it in the serial order, and of none after
/// it.
///
/// [`Database::read`](crate::Database::read) and [`Database::snapshot`](crate::Database::snapshot) begin one. A
/// [`Transaction`](crate::Transaction) is a snapshot that can also write: it can be passed wherever a `&Snapshot` is expected. A
/// snapshot owns a handle of the database, has no lifetime, may move between threads, and keeps the database open.
///
/// No writer can make a read-only snapshot abort. It is `Send` but not `Sync`: it can move to another thread, and threads that
/// read at the same time use one each. It may show what is not durable yet, so its end waits until that is durable; only then may
/// it be disclosed to others. [`Snapshot::finish`] reports whether it is durable; dropping waits, too.
///
/// ```
/// # use seriatim::{Database, BytesTable, Error};
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let cities: BytesTable = db.bytes_table("cities")?;
/// db.run(|txn| cities.put(txn, "Reims", "51100"))?;
///
/// let before = db.snapshot()?;
/// db.run(|txn| cities.put(txn, "Reims", "51454"))?;
/// assert_eq!(cities.get(&before, "Reims")?.unwrap(), b"51100");
/// assert_eq!(cities.get(&db.snapshot()?, "Reims")?.unwrap(), b"51454");
/// # Ok(())
/// # }
/// ```
pub struct Snapshot {
    core: RefCell<Core>,
    used: Used,
    shared: Arc<Shared>,
    options: TransactionOptions,
}

/// State that a call needs exclusively. Reads go through a shared reference, so that iterations over several tables can be
/// nested; no code of the caller runs while it is borrowed.
struct Core {
    /// `None` after the end, which comes before the database may close.
    engine: Option<Open>,
    row: RowBuf,
}

impl Core {
    fn engine(&mut self) -> &mut Open {
        self.engine.as_mut().expect("whoever ends the view has it to himself")
    }
}

impl Snapshot {
    pub(crate) fn begin(shared: &Arc<Shared>, options: TransactionOptions) -> Result<Snapshot> {
        let engine = shared.store().begin(shared.begin(&options))?;
        let core = RefCell::new(Core { engine: Some(engine), row: RowBuf::new() });
        Ok(Snapshot { core, used: Used::default(), shared: shared.clone(), options })
    }

    /// Fixes the view now, not at the first read.
    pub(crate) fn fix(self) -> Result<Snapshot> {
        self.engine().start()?;
        Ok(self)
    }

    /// Checks that this view is of `database`.
    pub(crate) fn check_database(&self, database: u64) -> Result<()> {
        if self.shared.id == database { Ok(()) } else { Err(Error::OtherDatabase) }
    }

    pub(crate) fn engine(&self) -> RefMut<'_, Open> {
        RefMut::map(self.core.borrow_mut(), Core::engine)
    }

    /// Runs an operation of the engine, and translates its conflicts into the names that the tables' users know.
    pub(crate) fn with<T, E: Into<tables::Error>>(
        &self,
        work: impl FnOnce(&mut Open) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let done = work(self.core.borrow_mut().engine());
        done.map_err(|error| self.explain(error))
    }

    /// Runs a statement on a table, and undoes its writes if it fails: with index entries (`writes_entries`) it writes several
    /// engine rows, each of which may reach a limit.
    pub(crate) fn statement<T>(
        &self,
        writes_entries: bool,
        work: impl FnOnce(&mut Open) -> tables::Result<T>,
    ) -> Result<T> {
        if !writes_entries {
            return self.with(work);
        }
        let before = self.with(|engine| engine.savepoint())?;
        let outcome = self.with(work);
        if outcome.is_err() && self.engine().poison().is_none() {
            self.with(|engine| engine.rollback_to(&before))?;
        }
        self.engine().release(before);
        outcome
    }

    /// Same as [`Snapshot::statement`], with a row that `make` fills before the engine is borrowed.
    pub(crate) fn statement_with_row<T>(
        &self,
        writes_entries: bool,
        make: impl FnOnce(&mut RowBuf),
        work: impl FnOnce(&mut Open, RowRef<'_>) -> tables::Result<T>,
    ) -> Result<T> {
        let mut row = self.take_row();
        make(&mut row);
        let done = self.statement(writes_entries, |engine| work(engine, row.row()));
        self.core.borrow_mut().row = row;
        done
    }

    fn take_row(&self) -> RowBuf {
        std::mem::take(&mut self.core.borrow_mut().row)
    }

    fn explain(&self, error: impl Into<tables::Error>) -> Error {
        self.shared.explain(&self.used, error.into())
    }

    /// Returns the layout of a table of the catalog by its handle. The definition is read once.
    pub(crate) fn layout(&self, handle: u32) -> Result<&Layout> {
        match self.used.get(handle) {
            Some(layout) => Ok(layout),
            None => self.find_layout(handle),
        }
    }

    fn find_layout(&self, handle: u32) -> Result<&Layout> {
        let core = &mut *self.core.borrow_mut();
        let mut row = std::mem::take(&mut core.row);
        let guess = self.used.guess(&self.shared.kept.handles, handle).zip(self.shared.known_tables());
        let found = match guess {
            Some((guess, tables)) if guess.is_current(core.engine(), tables.catalog(), &mut row)? => {
                self.used.confirm(handle, guess)
            }
            _ => self.used.add(handle, self.shared.layout(core.engine(), handle)?),
        };
        core.row = row;
        Ok(found)
    }

    /// Reads a row and lets `make` look at it.
    pub(crate) fn read<T>(
        &self,
        table: TableId,
        key: &[u8],
        columns: Columns<'_>,
        make: impl FnOnce(&RowBuf) -> Result<T>,
    ) -> Result<Option<T>> {
        self.read_row(|engine, row| engine.read(table, key, columns, row), make)
    }

    /// Same as [`Snapshot::read`], with any reading operation.
    pub(crate) fn read_row<T>(
        &self,
        read: impl FnOnce(&mut Open, &mut RowBuf) -> model::Result<bool>,
        make: impl FnOnce(&RowBuf) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut row = self.take_row();
        let made = match self.with(|engine| read(engine, &mut row)) {
            Ok(true) => make(&row).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        self.core.borrow_mut().row = row;
        made
    }

    pub(crate) fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.with(|engine| engine.scan(scan, visit))
    }

    /// Returns the number of rows that a scan visits, without copying them.
    pub(crate) fn count(&self, scan: Scan<'_>) -> Result<u64> {
        let mut count = 0;
        self.scan(&scan.columns(Columns::None), &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// The error that every call of this transaction returns since it was aborted.
    pub(crate) fn poison(&self) -> Option<Error> {
        let poison = self.engine().poison().cloned();
        poison.map(|error| self.explain(error))
    }

    /// Ends the view, and waits until everything that it showed is durable, so that it may be disclosed to others.
    ///
    /// # Errors
    /// [`Error::Fault`] if the log failed first: what was shown may be lost after a restart.
    pub fn finish(self) -> Result<Receipt> {
        self.end()?.wait()
    }

    /// Commits without waiting.
    pub(crate) fn end(mut self) -> Result<Pending> {
        let committed = self.take_engine().map(Open::commit).expect("it has not ended");
        let committed = committed.map_err(|error| self.explain(error))?;
        Ok(Pending { committed, shared: self.shared.clone() })
    }

    /// Rolls back, and waits until what was shown is durable.
    pub(crate) fn abort(mut self) -> Result<()> {
        self.abort_durably()
    }

    /// Rolls back without waiting: what was shown is not disclosed to anybody.
    pub(crate) fn forget(mut self) {
        self.take_engine();
    }

    fn abort_durably(&mut self) -> Result<()> {
        match self.take_engine() {
            Some(engine) => Ok(self.shared.store().abort_durably(engine)?),
            None => Ok(()),
        }
    }

    fn take_engine(&mut self) -> Option<Open> {
        self.core.get_mut().engine.take()
    }

    /// Returns whether writes are refused.
    pub fn is_read_only(&self) -> bool {
        matches!(self.options.mode, Mode::ReadOnly | Mode::Snapshot)
    }
}

impl Drop for Snapshot {
    /// An error returned with `?` drops the view before the caller sees the error, which may disclose what was read.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.take_engine();
        }
        // A log that has failed says so at the next call.
        let _ = self.abort_durably();
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A transaction that is visible and not yet known to be durable.
#[derive(Debug)]
pub(crate) struct Pending {
    pub committed: model::Committed,
    pub shared: Arc<Shared>,
}

impl Pending {
    pub fn wait(self) -> Result<Receipt> {
        // The position is zero where nothing need be waited for: in memory, or by the transaction's durability.
        self.shared.engine.wait_durable(self.committed.log_position)?;
        Ok(Self::receipt(self.committed))
    }

    /// Same as [`Pending::wait`], for callers that must not block. The database stays open until then.
    pub fn later(self) -> model::Pending<Result<Receipt>> {
        let Pending { committed, shared } = self;
        let durable = shared.engine.durable(committed.log_position);
        durable.map(move |synced| {
            drop(shared);
            synced?;
            Ok(Self::receipt(committed))
        })
    }

    fn receipt(committed: model::Committed) -> Receipt {
        Receipt { serial_point: committed.serial_point, attempts: 1 }
    }
}

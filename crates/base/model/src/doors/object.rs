//! `Interactive` as objects, for callers that choose the engine at run time: SQL, and a library over any engine.
//!
//! Each call through an object costs a few nanoseconds. The objects are doors themselves: `dyn Store` is [`Interactive`], and a
//! boxed transaction is [`Access`] and [`Finish`], so that whatever is generic over `Interactive` takes them too.

use crate::Supervisor;
use crate::{
    Access, Begin, Columns, Committed, Durability, Error, Finish, Got, Interactive, Invalid, LogPosition, Pending,
    Result, RowBuf, Savepoint, Savepoints, Schema, SharedReads, SkipsLocked, Snapshots, Supervised, TableId, Tables,
    Timestamp, Usage,
};
use std::sync::Arc;
use std::time::Duration;

/// An [`Interactive`](crate::Interactive) engine, as an object.
pub trait Store: Send + Sync + 'static {
    /// Begins a transaction that does not borrow the engine and may move between threads.
    ///
    /// # Errors
    /// Same as [`Interactive::begin`].
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>>;

    /// Same as [`Interactive::get`].
    ///
    /// # Errors
    /// Same as [`Interactive::get`].
    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got>;

    /// Same as [`Interactive::wait_durable`].
    ///
    /// # Errors
    /// Same as [`Interactive::wait_durable`].
    fn wait_durable(&self, position: LogPosition) -> Result<()>;

    /// Same as [`Interactive::wait_durable_unless`].
    ///
    /// # Errors
    /// Same as [`Interactive::wait_durable`].
    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool>;

    /// Same as [`Interactive::recheck_waits`].
    fn recheck_waits(&self);

    /// Same as [`Interactive::durable`].
    fn durable(&self, position: LogPosition) -> Pending<Result<()>>;

    /// Same as [`Interactive::ddl`].
    fn ddl(&self) -> Option<&dyn Tables>;

    /// Same as [`Interactive::snapshots`].
    fn snapshots(&self) -> Option<&dyn Snapshots>;
}

/// An open transaction, as an object.
pub trait Transaction: Access + Finish + Send {
    /// Same as [`Finish::begin_commit`].
    fn begin_commit_boxed(self: Box<Self>) -> Pending<Result<Committed>>;

    /// Same as [`Finish::abort`].
    fn abort_boxed(self: Box<Self>);
}

impl<T: Access + Finish + Send + 'static> Transaction for T {
    fn begin_commit_boxed(self: Box<Self>) -> Pending<Result<Committed>> {
        (*self).begin_commit()
    }

    fn abort_boxed(self: Box<Self>) {
        (*self).abort();
    }
}

/// An engine behind [`Store`].
pub struct Engine<E>(pub Arc<E>);

impl<E: Interactive> Store for Engine<E> {
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        Ok(Box::new(self.0.begin_owned(how)?))
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        self.0.get(table, key, columns, row)
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.0.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        self.0.wait_durable_unless(position, is_over)
    }

    fn recheck_waits(&self) {
        self.0.recheck_waits();
    }

    fn durable(&self, position: LogPosition) -> Pending<Result<()>> {
        self.0.durable(position)
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        self.0.ddl()
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.0.snapshots()
    }
}

impl Interactive for dyn Store {
    type Transaction<'engine> = Box<dyn Transaction>;
    type Owned = Box<dyn Transaction>;

    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        Store::begin(self, how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Box<dyn Transaction>> {
        Store::begin(&**self, how)
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        Store::get(self, table, key, columns, row)
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        Store::wait_durable(self, position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        Store::wait_durable_unless(self, position, is_over)
    }

    fn recheck_waits(&self) {
        Store::recheck_waits(self);
    }

    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        Store::durable(&**self, position)
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Store::ddl(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Store::snapshots(self)
    }
}

/// [`Tables`] of an engine that must have them.
impl dyn Store + '_ {
    fn required_ddl(&self) -> Result<&dyn Tables> {
        Store::ddl(self)
            .ok_or_else(|| Invalid::Unsupported { what: "creating and dropping tables while transactions run" }.into())
    }

    /// Same as [`Tables::create_table_unlisted`].
    ///
    /// # Errors
    /// Same as there; [`Invalid::Unsupported`] in an engine without [`Interactive::ddl`].
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        self.required_ddl()?.create_table_unlisted(schema)
    }

    /// Same as [`Tables::create_table_supervised`].
    ///
    /// # Errors
    /// Same as there; [`Invalid::Unsupported`] in an engine without [`Interactive::ddl`].
    pub fn create_table_supervised(&self, schema: Schema, supervisor: Arc<dyn Supervisor>) -> Result<TableId> {
        self.required_ddl()?.create_table_supervised(schema, supervisor)
    }

    /// Same as [`Tables::drop_table`].
    ///
    /// # Errors
    /// Same as there; [`Invalid::Unsupported`] in an engine without [`Interactive::ddl`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.required_ddl()?.drop_table(name)
    }

    /// Same as [`Tables::tables`]; none in an engine without [`Interactive::ddl`].
    pub fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        Store::ddl(self).map(Tables::tables).unwrap_or_default()
    }

    /// Same as [`Tables::usage`]; `None` in an engine without [`Interactive::ddl`].
    pub fn usage(&self) -> Option<Usage> {
        Store::ddl(self).and_then(Tables::usage)
    }

    /// Same as [`Tables::checkpoint`].
    ///
    /// # Errors
    /// Same as there; [`Invalid::Unsupported`] in an engine without [`Interactive::ddl`].
    pub fn checkpoint(&self) -> Result<()> {
        self.required_ddl()?.checkpoint()
    }
}

/// [`Savepoints`] of a transaction that must have them.
impl dyn Transaction + '_ {
    fn required_savepoints(&mut self) -> Result<&mut dyn Savepoints> {
        self.savepoints().ok_or_else(|| Invalid::Unsupported { what: "savepoints" }.into())
    }

    /// Same as [`Savepoints::savepoint`].
    ///
    /// # Errors
    /// Same as there; [`Invalid::Unsupported`] in an engine without savepoints.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.required_savepoints()?.savepoint()
    }

    /// Same as [`Savepoints::rollback_to`].
    ///
    /// # Errors
    /// Same as there; [`Invalid::Unsupported`] in an engine without savepoints.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.required_savepoints()?.rollback_to(savepoint)
    }

    /// Same as [`Savepoints::release`].
    pub fn release(&mut self, savepoint: Savepoint) {
        if let Some(savepoints) = self.savepoints() {
            savepoints.release(savepoint);
        }
    }
}

impl Finish for Box<dyn Transaction> {
    fn poison(&self) -> Option<&Error> {
        (**self).poison()
    }
    fn rests_on(&self) -> LogPosition {
        (**self).rests_on()
    }
    fn timestamp(&self) -> Option<Timestamp> {
        (**self).timestamp()
    }
    fn start(&mut self) -> Result<()> {
        (**self).start()
    }
    fn set_durability(&mut self, durability: Durability) {
        (**self).set_durability(durability);
    }
    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        (**self).set_wait_limit(limit);
    }
    fn set_reads_wait(&mut self, wait: bool) {
        (**self).set_reads_wait(wait);
    }
    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        (**self).savepoints()
    }
    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        (**self).supervised()
    }
    fn check_reads(&mut self) -> Result<()> {
        (**self).check_reads()
    }
    fn skips_locked(&mut self) -> Option<&mut dyn SkipsLocked> {
        (**self).skips_locked()
    }
    fn shared_reads(&mut self) -> Option<&mut dyn SharedReads> {
        (**self).shared_reads()
    }
    fn begin_commit(self) -> Pending<Result<Committed>> {
        Transaction::begin_commit_boxed(self)
    }
    fn abort(self) {
        Transaction::abort_boxed(self);
    }
}

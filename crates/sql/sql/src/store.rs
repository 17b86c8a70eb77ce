//! The engine as SQL sees it: door 1 and three capabilities, as objects, since a statement is planned at run time.
//!
//! Each call through an object costs a few nanoseconds; a statement costs microseconds.

mod recorded;

pub use recorded::Recorded;

use model::{
    Access, Begin, Committed, Error, Interactive, LogPosition, Result, Savepoints, Schema, Supervisor, TableId, Tables,
};
use std::sync::Arc;
use std::time::Duration;

/// An engine that holds transactions open and keeps tables.
pub trait Store: Send + Sync + 'static {
    /// Begins a transaction that lives as long as it likes and may move between threads.
    ///
    /// # Errors
    /// As [`Interactive::begin`].
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>>;

    /// Blocks until the log is durable up to `position`.
    ///
    /// # Errors
    /// As [`Interactive::wait_durable`].
    fn wait_durable(&self, position: LogPosition) -> Result<()>;

    /// Creates a table that every transaction may use, older ones too: who may see it is decided by SQL's own catalog.
    ///
    /// # Errors
    /// As [`Tables::create_table_unlisted`].
    fn create_table(&self, schema: Schema) -> Result<TableId>;

    /// Drops a table. Transactions that use it meanwhile abort.
    ///
    /// # Errors
    /// As [`Tables::drop_table`].
    fn drop_table(&self, name: &str) -> Result<()>;

    /// All tables.
    fn tables(&self) -> Vec<(TableId, Arc<Schema>)>;

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// As [`Tables::checkpoint`].
    fn checkpoint(&self) -> Result<()>;
}

/// An open transaction.
pub trait Transaction: Access + Send {
    /// Notes what has been written so far. Savepoints nest: they are numbered by the caller's stack.
    ///
    /// # Errors
    /// As [`Savepoints::savepoint`].
    fn savepoint(&mut self) -> Result<Box<dyn std::any::Any + Send>>;

    /// Drops what was written since the savepoint, which stays.
    ///
    /// # Errors
    /// As [`Savepoints::rollback_to`].
    fn rollback_to(&mut self, savepoint: &(dyn std::any::Any + Send)) -> Result<()>;

    /// Forgets a savepoint and later ones; what was written stays written.
    fn release(&mut self, savepoint: Box<dyn std::any::Any + Send>);

    /// The abort that poisoned it, if one did.
    fn poison(&self) -> Option<&Error>;

    /// What an answer that tells what it has read so far must wait for, as [`model::Finish::rests_on`].
    fn rests_on(&self) -> LogPosition;

    /// A number of its own, once the engine has given it one.
    fn timestamp(&self) -> Option<model::Timestamp>;

    /// Sets what its acknowledgement waits for.
    fn set_durability(&mut self, durability: model::Durability);

    /// Sets how long it waits for one other transaction from now on; `None`: for as long as the engine says.
    fn set_wait_limit(&mut self, limit: Option<Duration>);

    /// Sets who sees its waits and may end them.
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>);

    /// As [`Savepoints::set_reads_wait`].
    fn set_reads_wait(&mut self, wait: bool);

    /// Commits.
    ///
    /// # Errors
    /// As [`model::Finish::commit`].
    fn commit(self: Box<Self>) -> Result<Committed>;

    /// Drops everything it wrote.
    fn abort(self: Box<Self>);
}

/// Everything by the transaction inside.
macro_rules! access_through {
    ($inner:ident) => {
        fn read(
            &mut self,
            table: TableId,
            key: &[u8],
            columns: model::Columns<'_>,
            row: &mut model::RowBuf,
        ) -> Result<bool> {
            self.$inner().read(table, key, columns, row)
        }
        fn read_for_update(&mut self, table: TableId, key: &[u8], row: &mut model::RowBuf) -> Result<bool> {
            self.$inner().read_for_update(table, key, row)
        }
        fn put(&mut self, table: TableId, key: &[u8], row: model::RowRef<'_>) -> Result<()> {
            self.$inner().put(table, key, row)
        }
        fn insert(&mut self, table: TableId, key: &[u8], row: model::RowRef<'_>) -> Result<()> {
            self.$inner().insert(table, key, row)
        }
        fn update(&mut self, table: TableId, key: &[u8], delta: &model::Delta) -> Result<bool> {
            self.$inner().update(table, key, delta)
        }
        fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
            self.$inner().delete(table, key)
        }
        fn scan(
            &mut self,
            scan: &model::Scan<'_>,
            visit: &mut dyn FnMut(model::Item<'_>) -> std::ops::ControlFlow<()>,
        ) -> Result<model::ScanEnd> {
            self.$inner().scan(scan, visit)
        }
    };
}

impl Access for Box<dyn Transaction> {
    access_through!(as_mut);
}

/// An engine behind [`Store`].
pub struct Engine<E>(pub Arc<E>);

impl<E> Store for Engine<E>
where
    E: Interactive + Tables,
    E::Owned: Savepoints,
{
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        Ok(Box::new(Open(self.0.begin_owned(how)?)))
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.0.wait_durable(position)
    }

    fn create_table(&self, schema: Schema) -> Result<TableId> {
        self.0.create_table_unlisted(schema)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        self.0.drop_table(name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.0.tables()
    }

    fn checkpoint(&self) -> Result<()> {
        self.0.checkpoint()
    }
}

/// A transaction of an engine.
struct Open<T>(T);

impl<T: Savepoints + Access + model::Finish + Send + 'static> Transaction for Open<T> {
    fn savepoint(&mut self) -> Result<Box<dyn std::any::Any + Send>> {
        Ok(Box::new(self.0.savepoint()?))
    }

    fn rollback_to(&mut self, savepoint: &(dyn std::any::Any + Send)) -> Result<()> {
        let savepoint = savepoint.downcast_ref().ok_or(model::Invalid::UnknownSavepoint)?;
        self.0.rollback_to(savepoint)
    }

    fn release(&mut self, savepoint: Box<dyn std::any::Any + Send>) {
        if let Ok(savepoint) = savepoint.downcast() {
            self.0.release(*savepoint);
        }
    }

    fn poison(&self) -> Option<&Error> {
        self.0.poison()
    }

    fn rests_on(&self) -> LogPosition {
        self.0.rests_on()
    }

    fn timestamp(&self) -> Option<model::Timestamp> {
        self.0.timestamp()
    }

    fn set_durability(&mut self, durability: model::Durability) {
        self.0.set_durability(durability);
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.0.set_wait_limit(limit);
    }

    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>) {
        self.0.set_supervisor(supervisor);
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.0.set_reads_wait(wait);
    }

    fn commit(self: Box<Self>) -> Result<Committed> {
        self.0.commit()
    }

    fn abort(self: Box<Self>) {
        self.0.abort();
    }
}

impl<T: Access> Access for Open<T> {
    access_through!(inner);
}

impl<T> Open<T> {
    fn inner(&mut self) -> &mut T {
        &mut self.0
    }
}

//! A read-only transaction that several sessions read in: the one that exported its snapshot, and those that imported it.
//!
//! They read one after another: a read of one waits for that of another, which takes as long as a page of a scan. There is one
//! transaction in the engine, and in a history, however many sessions share it; the last of them to end ends it.

use super::Transaction;
use model::{
    Access, Columns, Committed, Delta, Durability, Error, Finish, Item, LogPosition, Pending, Result, RowBuf, RowRef,
    Scan, ScanEnd, Supervised, Supervisor, TableId, Timestamp,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

type Common = Mutex<Box<dyn Transaction>>;

/// A session's part in a transaction.
pub struct Shared {
    /// `None` after the end.
    common: Option<Arc<Common>>,
    /// Supervisor of the waits of this session.
    supervisor: Option<Arc<dyn Supervisor>>,
}

/// The snapshots that open transactions have exported, by name.
#[derive(Default)]
pub struct Exported(Mutex<BTreeMap<String, (u32, Weak<Common>)>>);

/// A snapshot of another database.
#[derive(Debug)]
pub struct Elsewhere;

impl Exported {
    /// Makes a transaction one that others of its database can join by this name, as long as somebody reads in it.
    pub fn export(&self, database: u32, name: String, transaction: Box<dyn Transaction>) -> Shared {
        let common = Arc::new(Mutex::new(transaction));
        let mut exported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        exported.retain(|_, (_, common)| common.strong_count() > 0);
        exported.insert(name, (database, Arc::downgrade(&common)));
        Shared { common: Some(common), supervisor: None }
    }

    /// A part in the transaction of this name; `None` if there is none, or it has ended.
    ///
    /// # Errors
    /// [`Elsewhere`]
    pub fn join(&self, database: u32, name: &str) -> std::result::Result<Option<Shared>, Elsewhere> {
        let exported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match exported.get(name) {
            Some((of, _)) if *of != database => Err(Elsewhere),
            Some((_, common)) => {
                let common = common.upgrade();
                Ok(common.map(|common| Shared { common: Some(common), supervisor: None }))
            }
            None => Ok(None),
        }
    }
}

impl Shared {
    fn with<T>(&self, work: impl FnOnce(&mut dyn Transaction) -> T) -> T {
        let common = self.common.as_ref().expect("only the end takes it");
        let mut transaction = common.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(supervisor), Some(waits)) = (&self.supervisor, transaction.supervised()) {
            waits.set_supervisor(supervisor.clone());
        }
        work(&mut **transaction)
    }

    /// The transaction, if this is the last part in it.
    fn take_last(&mut self) -> Option<Box<dyn Transaction>> {
        let common = Arc::into_inner(self.common.take()?)?;
        Some(common.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(transaction) = self.take_last() {
            transaction.abort();
        }
    }
}

impl Supervised for Shared {
    fn set_supervisor(&mut self, supervisor: Arc<dyn Supervisor>) {
        self.supervisor = Some(supervisor);
    }
}

/// Savepoints of several sessions in one transaction would undo each other: it has none.
impl Finish for Shared {
    fn poison(&self) -> Option<&Error> {
        None // Each call of a transaction that has aborted returns why.
    }

    fn rests_on(&self) -> LogPosition {
        self.with(|transaction| transaction.rests_on())
    }

    fn timestamp(&self) -> Option<Timestamp> {
        self.with(|transaction| transaction.timestamp())
    }

    fn start(&mut self) -> Result<()> {
        self.with(|transaction| transaction.start())
    }

    fn set_durability(&mut self, durability: Durability) {
        self.with(|transaction| transaction.set_durability(durability));
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.with(|transaction| transaction.set_wait_limit(limit));
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.with(|transaction| transaction.set_reads_wait(wait));
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        Some(self)
    }

    fn begin_commit(mut self) -> Pending<Result<Committed>> {
        let log_position = self.rests_on();
        match self.take_last() {
            Some(transaction) => transaction.begin_commit(),
            None => Pending::ready(Ok(Committed { serial_point: None, log_position })),
        }
    }

    fn abort(self) {}
}

impl Access for Shared {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.with(|transaction| transaction.read(table, key, columns, row))
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.with(|transaction| transaction.put(table, key, row))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.with(|transaction| transaction.insert(table, key, row))
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.with(|transaction| transaction.update(table, key, delta))
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.with(|transaction| transaction.delete(table, key))
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.with(|transaction| transaction.scan(scan, visit))
    }
}

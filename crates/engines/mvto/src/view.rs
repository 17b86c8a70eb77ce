//! The view of a transaction, which is what its reads need of it; and parallel reads, by which several threads share the view of
//! one open transaction.
//!
//! Each call of a parallel read uses a copy of the transaction's view. It leaves its results (the log position that the
//! acknowledgement must await, an abort) in notes that the transaction takes over at its next statement. The transaction is
//! mutably borrowed meanwhile, so it cannot write or end, and counts as being in a statement.

use crate::begin::Core;
use crate::doors::{Handle, Transaction};
use crate::engine::Mvto;
use crate::ownership::Owner;
use crate::read::Scope;
use crate::read_set::ReadSet;
use crate::write_set::Workspace;
use env::time::Duration;
use model::{
    Columns, Error, Item, LogPosition, ReadView, Result, RowBuf, Scan, ScanEnd, SharedReads, Supervisor, TableId,
    Timestamp,
};
use parts::sync::Mutex;
use parts::sync::atomic::{AtomicU64, Ordering};
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// A statement that skips rows which other transactions own. What it reads of these tables is not noted, so the transaction may
/// move whatever becomes of them; and it never moves in order to own a row, so a row that it owns is as it was when the
/// statement began.
#[derive(Clone, Debug)]
pub(crate) struct Skips {
    /// The begin of the statement. A row that was changed later is skipped.
    pub since: Timestamp,
    /// The tables.
    pub tables: Arc<[TableId]>,
}

/// View of a transaction: what its reads need to know of it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The place in the serial order, zero before the first statement: the timestamp that it began at, or has moved to.
    pub at: Timestamp,
    /// The timestamp that owner words and aborts show as its name, and by which others decide whether to wait for it: the first
    /// one, or the one that it moved to while it owned nothing.
    pub name: Timestamp,
    /// Whether it may move: it owns at the statement, and later readers push it.
    pub moves: bool,
    /// Whether a read waits for an older transaction that owns the row and still executes, instead of reading the version before
    /// and pushing the owner. Set where the transaction will write what it reads: an old version would make that write fail.
    pub waits: bool,
    /// The statement that skips rows, if there is one.
    pub skips: Option<Skips>,
    /// Whether reads raise last-read stamps. A settled snapshot need not: no older writer is left.
    pub stamps: bool,
    /// The end of the last redo record among those of the versions that were read.
    pub rests_on: LogPosition,
    /// The longest wait for one other transaction.
    pub wait_limit: Duration,
    /// Supervisor that sees its waits and may end them.
    pub supervisor: Option<Arc<dyn Supervisor>>,
}

impl View {
    /// Returns the begin of the statement, if it skips rows of this table.
    pub fn skips(&self, table: TableId) -> Option<Timestamp> {
        self.skips.as_ref().filter(|skips| skips.tables.contains(&table)).map(|skips| skips.since)
    }

    /// Returns its entry in owner words: at a statement, or at its commit if it does not move.
    pub fn owner(&self) -> Owner {
        Owner { at: self.name, executes: self.moves }
    }
}

/// Notes that read views, which only borrow their transaction, leave for its next statement.
#[derive(Debug, Default)]
pub(crate) struct SharedNotes {
    /// Same as [`View::rests_on`].
    pub rests_on: AtomicU64,
    /// Their read set, if the transaction may move.
    pub reads: Mutex<ReadSet>,
    /// The abort that one of them met.
    pub abort: Mutex<Option<Error>>,
}

/// The reads of one transaction, for any number of threads.
#[derive(Debug)]
pub(crate) struct SharedView<'transaction, H: Handle> {
    engine: &'transaction Mvto<H::Clock>,
    core: &'transaction Core,
}

impl<H: Handle> SharedReads for Transaction<H> {
    fn read_view(&mut self) -> Result<Box<dyn ReadView + '_>> {
        self.statement(|engine, core| {
            engine.start(core)?;
            core.shared = Some(Box::default());
            Ok(())
        })?;
        let (engine, core) = self.parts();
        engine.enter(core)?;
        Ok(Box::new(SharedView::<H> { engine, core }))
    }
}

impl<H: Handle> SharedView<'_, H> {
    fn reading<T>(&self, read: impl FnOnce(&mut View, Scope<'_>) -> Result<T>) -> Result<T> {
        let SharedNotes { rests_on, abort, reads: shared } = self.core.shared.as_deref().expect("made before the view");
        let lock = || abort.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(aborted) = lock().clone() {
            return Err(aborted);
        }
        let (mut view, mut reads) = (self.core.view.clone(), ReadSet::default());
        let Workspace { catalog, writes, .. } = &*self.core.work;
        let scope = Scope { catalog, writes, reads: view.moves.then_some(&mut reads), kept: None };
        let result = read(&mut view, scope);
        if view.moves {
            let limit = self.engine.options.read_set;
            shared.lock().unwrap_or_else(PoisonError::into_inner).take_over(&mut reads, limit);
        }
        rests_on.fetch_max(view.rests_on.to_raw(), Ordering::Relaxed); // Read again only after the borrow has ended.
        if let Err(error @ Error::Aborted(_)) = &result {
            lock().get_or_insert_with(|| error.clone()); // The first one stays.
        }
        result
    }
}

impl<H: Handle> ReadView for SharedView<'_, H> {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        row.clear();
        self.reading(|view, scope| self.engine.read_at(view, scope, table, key, columns, row))
    }

    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.reading(|view, scope| self.engine.scan_at(view, scope, scan, visit))
    }
}

impl<H: Handle> Drop for SharedView<'_, H> {
    fn drop(&mut self) {
        self.engine.leave(self.core);
    }
}

//! Parallel reads: the read view of one open transaction, shared by reference between threads.
//!
//! Each call reads with a copy of the transaction's view. It leaves its results (the log position that the acknowledgement must
//! await, an abort) in notes that the transaction takes over at its next statement. The transaction is mutably borrowed
//! meanwhile, so it cannot write or end, and counts as being in a statement.

use crate::begin::{Core, SharedNotes, View};
use crate::doors::{Handle, Transaction};
use crate::engine::Mvto;
use crate::read::Scope;
use crate::read_set::ReadSet;
use crate::write_set::Workspace;
use model::{Columns, Error, Item, ReadView, Result, RowBuf, Scan, ScanEnd, SharedReads, TableId};
use parts::sync::atomic::Ordering;
use std::ops::ControlFlow;
use std::sync::PoisonError;

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

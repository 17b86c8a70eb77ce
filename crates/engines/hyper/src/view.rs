//! Shared reads: several threads read for one open transaction, by key, by range and by column.

use crate::Hyper;
use crate::begin::Transaction;
use crate::column_scan::BlockScan;
use crate::extreme::{self, Ended};
use crate::predicates::{PredicateLog, looked_at};
use crate::read::View;
use crate::skips::Skips;
use crate::wait::Refusal;
use model::columns::{Batches, ColumnReads, Summing};
use model::{Columns, Extreme, Extremes, Item, Key, ReadView, Result, RowBuf, Scan, ScanEnd, SharedReads, TableId};
use parts::sync::Mutex;
use std::ops::{ControlFlow, Deref};
use std::sync::PoisonError;

/// The reads of one transaction, for several threads. What they log goes into the transaction's own log, under a latch.
#[derive(Debug)]
pub(crate) struct SharedView<'t> {
    pub engine: &'t Hyper,
    pub view: View<'t>,
    log: Option<Mutex<&'t mut PredicateLog>>,
    /// The transaction's place, if it is to be left: a view is one statement.
    slot: Option<u64>,
    skips: Option<&'t Skips>,
}

impl Drop for SharedView<'_> {
    fn drop(&mut self) {
        self.slot.inspect(|&slot| self.engine.starts.leave_statement(slot));
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    pub(super) fn shared_view(&mut self) -> Result<SharedView<'_>> {
        if let Some(error) = &self.core.poison {
            return Err(error.clone());
        }
        self.enter()?;
        self.engine.start(&mut self.core)?;
        let slot = self.engine.options.transaction_age.map(|_| self.core.worker().slot);
        let is_logged = self.engine.logs(&self.core);
        let start = self.core.start();
        let crate::begin::Core { worker, writer, rests_on, skips, supervisor, name, .. } = &mut self.core;
        let stop = self.engine.never().of(supervisor.as_deref(), *name);
        let log = &mut worker.as_mut().expect("it is open").log;
        Ok(SharedView {
            engine: &self.engine,
            view: View { start, own: writer.as_ref(), rests_on: Some(rests_on), stops: false, stop },
            log: is_logged.then(|| Mutex::new(log)),
            slot,
            skips: skips.as_ref(),
        })
    }
}

impl SharedView<'_> {
    fn logged(&self, table: TableId, log: impl FnOnce(&mut PredicateLog)) {
        if let Some(mutex) = &self.log
            && self.skips.is_none_or(|skips| skips.of(table).is_none())
        {
            log(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl<H: Deref<Target = Hyper>> SharedReads for Transaction<H> {
    fn read_view(&mut self) -> Result<Box<dyn ReadView + '_>> {
        Ok(Box::new(self.shared_view()?))
    }
}

impl ReadView for SharedView<'_> {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let table = self.engine.table(table)?;
        table.schema().check_key(key)?;
        table.schema().check_columns(columns)?;
        let read = self.view.read(table, key, columns, row).map_err(Refusal::statement)?;
        if !read.is_own {
            let (columns, most) = (self.engine.counted(looked_at(columns, None)), self.engine.options.predicates);
            self.logged(table.id, |log| log.point(table.id, key, columns, most as usize));
        }
        Ok(read.found)
    }

    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let table = self.engine.table(scan.table)?;
        table.schema().check_scan(scan)?;
        let end = self.view.scan(table, scan, visit).map_err(|(refusal, _)| refusal.statement())?;
        self.logged(table.id, |log| self.engine.log_scan(log, scan, scan.seen(&end)));
        Ok(end)
    }

    fn columns(&self) -> Option<&dyn ColumnReads> {
        Some(self)
    }

    fn extremes(&self) -> Option<&dyn Extremes> {
        Some(self)
    }
}

impl Extremes for SharedView<'_> {
    fn is_logged(&self) -> bool {
        self.log.is_some()
    }

    fn extreme(&self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
        let table = self.engine.table(scan.table)?;
        extreme::check(table, scan, of)?;
        let found = self.view.extreme(table, scan, of, row);
        let found = found.map_err(Ended::statement)?;
        self.logged(table.id, |log| self.engine.log_extreme(log, scan, of, &found));
        Ok(found.map(|(key, _)| key))
    }
}

impl SharedView<'_> {
    /// Begins a scan of a table's blocks.
    fn scan_blocks<'v>(&'v self, scan: Scan<'v>) -> Result<Box<BlockScan<'v>>> {
        let table = self.engine.table(scan.table)?;
        table.schema().check_scan(&scan)?;
        self.logged(table.id, |log| self.engine.log_scan(log, &scan, scan.seen(&ScanEnd::Finished)));
        Ok(Box::new(BlockScan::new(table, self.view, scan)))
    }
}

impl ColumnReads for SharedView<'_> {
    fn scan_columns<'v>(&'v self, scan: Scan<'v>) -> Result<Box<dyn Batches + 'v>> {
        Ok(self.scan_blocks(scan)?)
    }

    fn sum_columns<'v>(&'v self, scan: Scan<'v>) -> Result<Box<dyn Summing + 'v>> {
        Ok(self.scan_blocks(scan)?)
    }
}

//! Scans in the order of keys: the index gives places, the blocks give rows, and one predicate is logged.

use crate::Hyper;
use crate::begin::Transaction;
use crate::predicates::{PredicateLog, looked_at};
use crate::read::View;
use crate::table::Table;
use crate::wait::Refusal;
use crate::writer::Place;
use model::{Columns, Direction, Item, Key, RowBuf, Scan, ScanEnd};
use parts::epoch;
use parts::index::ordered::Cursor;
use std::ops::{Bound, ControlFlow, Deref};

/// Index entries that a scan fetches first, and at most. Few first: a scan may stop at its first row.
const FIRST_FETCH: usize = 8;
pub(crate) const MOST_FETCHED: usize = 64;

/// Walk of the index: keys and places, a leaf or less at a time.
#[derive(Debug)]
pub(crate) struct Walk {
    cursor: Cursor,
    pub batch: Vec<(Key, Place)>,
    most: usize,
    /// Whether the index may have more.
    pub goes_on: bool,
}

impl Walk {
    pub fn new(scan: &Scan<'_>) -> Walk {
        let (lower, upper) = (scan.lower.as_ref().map(|key| &key[..]), scan.upper.as_ref().map(|key| &key[..]));
        let cursor = Cursor::new(lower, upper, scan.direction);
        Walk { cursor, batch: Vec::new(), most: FIRST_FETCH, goes_on: true }
    }

    /// Fetches the next entries.
    pub fn fetch(&mut self, table: &Table) {
        let guard = epoch::pin();
        let mut nodes = Vec::with_capacity(self.most);
        self.goes_on = table.index.scan_leaf(&mut self.cursor, self.most, &guard, &mut nodes);
        self.batch.clear();
        self.batch.extend(nodes.into_iter().map(|node| (node.key.clone(), node.place)));
        self.most = (4 * self.most).min(MOST_FETCHED);
    }
}

impl View<'_> {
    /// Copies the row at a place that a walk has found; false if there is none that it sees. A place that has another key by
    /// now had no row for anybody who is open.
    ///
    /// # Errors
    /// It stops at the row, or its statement must.
    pub fn read_at(
        &self,
        table: &Table,
        key: &Key,
        place: Place,
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool, Refusal> {
        loop {
            let rows = table.block(place.block).read();
            let slot = place.slot as usize;
            if rows.key(slot) != Some(key) {
                return Ok(false);
            }
            if let Some(found) = rows.copy_unversioned(slot, columns, row) {
                return Ok(found);
            }
            if self.stops {
                self.check_free(&rows, slot)?;
            }
            let undecided = match self.of(&rows, slot) {
                Ok(version) => {
                    if version.is_there() {
                        version.copy(columns, row);
                    }
                    return Ok(version.is_there());
                }
                Err(undecided) => undecided,
            };
            drop(rows);
            self.stop.await_decision(&undecided.0)?;
        }
    }

    /// Visits the rows of a range; see [`model::Access::scan`].
    ///
    /// # Errors
    /// It stops at a row, which has not been shown, or its statement must.
    pub fn scan(
        &self,
        table: &Table,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd, (Refusal, Key)> {
        let mut walk = Walk::new(scan);
        // A filter looks at columns that the visitor may not want.
        let read = if scan.filter.is_some() { Columns::All } else { scan.columns };
        let (mut row, mut shown, mut examined) = (RowBuf::new(), RowBuf::new(), 0);
        while walk.goes_on {
            walk.fetch(table);
            for (key, place) in &walk.batch {
                if !self.read_at(table, key, *place, read, &mut row).map_err(|refusal| (refusal, key.clone()))? {
                    continue;
                }
                examined += 1;
                let mut flow = ControlFlow::Continue(());
                if scan.filter.is_none_or(|filter| filter.matches(row.row())) {
                    let is_ready = scan.filter.is_none() || scan.columns == Columns::All;
                    flow = if is_ready {
                        visit(Item { key, row: row.row() })
                    } else {
                        shown.project(row.row(), scan.columns);
                        visit(Item { key, row: shown.row() })
                    };
                }
                if flow.is_break() || scan.examine.is_some_and(|most| examined >= most) {
                    return Ok(ScanEnd::Stopped(key.clone()));
                }
            }
        }
        Ok(ScanEnd::Finished)
    }
}

impl Hyper {
    /// Logs what a scan has seen: a range, its filter, its columns.
    pub(super) fn log_scan(&self, log: &mut PredicateLog, scan: &Scan<'_>, (lower, upper): (Bound<Key>, Bound<Key>)) {
        let columns = self.counted(looked_at(scan.columns, scan.filter));
        log.range(scan.table, (lower.as_ref(), upper.as_ref()), columns, scan.filter, self.options.predicates as usize);
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Visits the rows of a range, and logs it. Where it stops, what it has shown is logged before the start moves.
    pub(super) fn scan_range(
        &mut self,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> model::Result<ScanEnd> {
        self.begin_statement()?;
        let is_skipping = self.core.skips(scan.table).is_some();
        let (mut rest, mut stops) = (scan.clone(), self.core.reads_wait && !is_skipping);
        loop {
            let Transaction { engine, core } = self;
            let table = engine.table(scan.table)?;
            table.schema().check_scan(scan)?;
            let ended = View { stops, ..core.view(engine) }.scan(table, &rest, visit);
            let seen = match &ended {
                Ok(end) => rest.seen(end),
                Err((_, key)) => up_to(&rest, key),
            };
            if engine.logs(core) && !is_skipping {
                engine.log_scan(&mut core.worker().log, scan, seen);
            }
            let (refusal, key) = match ended {
                Ok(end) => return Ok(end),
                Err(stopped) => stopped,
            };
            stops = self.make_way(refusal, scan.table, &key)?;
            match rest.direction {
                Direction::Forward => rest.lower = Bound::Included(key),
                Direction::Backward => rest.upper = Bound::Included(key),
            }
        }
    }
}

/// The part of a scan before a key.
fn up_to(scan: &Scan<'_>, key: &Key) -> (Bound<Key>, Bound<Key>) {
    match scan.direction {
        Direction::Forward => (scan.lower.clone(), Bound::Excluded(key.clone())),
        Direction::Backward => (Bound::Excluded(key.clone()), scan.upper.clone()),
    }
}

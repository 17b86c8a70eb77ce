//! Least and greatest values of a column, of which the answer is logged and not the search.
//!
//! Section 4.4 names the aborts that a logged search costs: whoever reads `min(x)` of a range has read every row of it, and any insert
//! aborts. Here the log says that no row of the predicate has a value beyond the one found, and that the row found is as it was.
//! Everything else may change.
//!
//! A whole table is searched block by block, the values in place by one loop over a column.

use crate::Hyper;
use crate::begin::Transaction;
use crate::block::{Rows, Version};
use crate::column_scan::BlockScan;
use crate::predicates::{PredicateLog, looked_at};
use crate::read::View;
use crate::stop::PARTS_BETWEEN_LOOKS;
use crate::store::{Column, Data, of_each_width};
use crate::table::Table;
use crate::undo::{ColumnSet, Undecided};
use crate::wait::Refusal;
use model::columns::BATCH_ROWS;
use model::decimal::Decimal;
use model::{
    ColumnType, Columns, Error, Extreme, Item, Key, Predicate, Result, RowBuf, Scan, ScanEnd, Value, ValueRef,
};
use std::ops::{ControlFlow, Deref, Range};

/// Rows of a range between two such looks.
const ROWS_BETWEEN_LOOKS: usize = 4096;

/// A row with the value that was looked for.
pub(crate) type Found = Option<(Key, Value)>;

/// A search over blocks.
struct Search<'s, 'v> {
    of: Extreme,
    kind: ColumnType,
    table: &'v Table,
    view: View<'v>,
    scan: &'s Scan<'v>,
    blocks: &'s BlockScan<'v>,
    found: Found,
    row: &'s mut RowBuf,
}

/// Why a search has found nothing.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It stops at a row.
    Refused(Refusal, Key),
    /// Its statement must stop.
    Stopped(Error),
}

/// Why a search does not go on in a block.
enum Stopped {
    Undecided(Undecided),
    Refused(Refusal, Key),
}

impl From<Undecided> for Stopped {
    fn from(undecided: Undecided) -> Stopped {
        Stopped::Undecided(undecided)
    }
}

impl<'v> View<'v> {
    /// Finds a row of a scan with the least or greatest value of a column, and copies the columns of the scan.
    ///
    /// # Errors
    /// It stops at a row, or its statement must.
    pub fn extreme(
        &self,
        table: &'v Table,
        scan: &Scan<'v>,
        of: Extreme,
        row: &mut RowBuf,
    ) -> std::result::Result<Found, Ended> {
        let blocks = BlockScan::new(table, *self, scan.clone());
        if !blocks.is_by_block() {
            return of.find_by_scan(scan, row, |scan, visit| self.scan_piecewise(table, scan, visit));
        }
        row.clear();
        let kind = table.schema().columns()[usize::from(of.column)].kind;
        let mut search = Search { of, kind, table, view: *self, scan, blocks: &blocks, found: None, row };
        let mut steps = self.stop.every(PARTS_BETWEEN_LOOKS);
        for block in (0..table.blocks.count()).filter_map(|number| table.blocks.get(number)) {
            let mut first = 0;
            loop {
                let looked = search.look_at(&block.read(), first);
                let Some(looked) = looked else { break };
                steps.step().map_err(Ended::Stopped)?;
                match looked {
                    Ok(()) => first += BATCH_ROWS,
                    // What was found so far is the snapshot's all the same.
                    Err(Stopped::Undecided(undecided)) => {
                        self.stop.await_decision(&undecided.0).map_err(Ended::Stopped)?;
                    }
                    Err(Stopped::Refused(refusal, key)) => return Err(Ended::Refused(refusal, key)),
                }
            }
        }
        Ok(search.found)
    }

    /// Visits the rows of a range; between two pieces it looks whether the statement must stop. `visit` never stops.
    fn scan_piecewise(
        &self,
        table: &Table,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> std::result::Result<ScanEnd, Ended> {
        let mut rest = scan.clone().examine(ROWS_BETWEEN_LOOKS);
        let mut pieces = self.stop.every(1);
        loop {
            let ended = self.scan(table, &rest, visit).map_err(|(refusal, key)| Ended::Refused(refusal, key))?;
            let ScanEnd::Stopped(key) = ended else { return Ok(ended) };
            pieces.step().map_err(Ended::Stopped)?;
            rest = rest.resume(key);
        }
    }
}

impl Ended {
    /// The error of a statement whose search stops at no row.
    pub fn statement(self) -> Error {
        match self {
            Ended::Stopped(error) => error,
            Ended::Refused(refusal, _) => refusal.statement(),
        }
    }
}

impl Search<'_, '_> {
    /// Looks at [`BATCH_ROWS`] slots, from this one on; `None`: there are no more.
    fn look_at(&mut self, rows: &Rows, first: usize) -> Option<std::result::Result<(), Stopped>> {
        let range = first..rows.slots().min(first + BATCH_ROWS);
        if range.is_empty() {
            return None;
        }
        if !self.table.layout.has_synopses {
            return Some(self.look_at_each(rows, range));
        }
        self.look_in_place(rows, range.clone());
        Some(self.look_at_each(rows, rows.versioned(range)))
    }

    /// Looks at slots that may have versions, one by one.
    fn look_at_each(&mut self, rows: &Rows, slots: impl Iterator<Item = usize>) -> std::result::Result<(), Stopped> {
        for slot in slots {
            if self.view.stops {
                let named = |refusal| Stopped::Refused(refusal, rows.key(slot).cloned().unwrap_or_default());
                self.view.check_free(rows, slot).map_err(named)?;
            }
            let version = self.view.of(rows, slot)?;
            if version.is_there() && self.blocks.passes(&version) {
                self.offer(rows, slot, &version);
            }
        }
        Ok(())
    }

    /// Looks at the slots of a range that have no versions.
    fn look_in_place(&mut self, rows: &Rows, range: Range<usize>) {
        let column = rows.store().column(self.of.column).expect("columns were checked when the scan began");
        let chosen = self.blocks.choose(rows, range);
        if let Some(slot) = furthest(column, &chosen.slots(), self.of) {
            self.offer(rows, slot, &rows.newest(slot));
        }
    }

    fn offer(&mut self, rows: &Rows, slot: usize, version: &Version<'_>) {
        let best = self.found.as_ref().map(|(_, value)| value);
        let further = version.column(self.of.column).with_type(self.kind, |value| {
            let is_further = self.of.is_further(value, best);
            is_further.then(|| value.to_owned())
        });
        if let Some(value) = further {
            let key = rows.key(slot).expect("a row has a key").clone();
            version.copy(self.scan.columns, self.row);
            self.found = Some((key, value));
        }
    }
}

/// The slot with the value that is furthest out, of those that have one.
fn furthest(column: &Column, slots: &[u32], of: Extreme) -> Option<usize> {
    let known = slots.iter().map(|&slot| slot as usize).filter(|&slot| !column.is_null(slot));
    match column.data() {
        Data::Words(words) => of_each_width!(words, values => furthest_by(known, of, |slot| values[slot])),
        Data::Heap(heap) => furthest_by(known, of, |slot| heap.get(slot)),
        Data::Codes(codes) => furthest_by(known, of, |slot| codes.get(slot)),
        // Decimals are byte strings here.
        Data::Decimals(scale, digits) => {
            furthest_by(known, of, |slot| Decimal::new(digits.get(slot), *scale).stored().to_vec())
        }
        Data::Floats(values) => known.reduce(|best, slot| {
            let (best_value, value) = (ValueRef::Float(values[best]), ValueRef::Float(values[slot]));
            if value.compare(best_value) == Some(of.further()) { slot } else { best }
        }),
    }
}

fn furthest_by<V: Ord>(
    mut slots: impl Iterator<Item = usize>,
    of: Extreme,
    value: impl Fn(usize) -> V,
) -> Option<usize> {
    let first = slots.next()?;
    let mut best = (first, value(first));
    for slot in slots {
        let next = value(slot);
        let is_further = if of.is_greatest { next > best.1 } else { next < best.1 };
        if is_further {
            best = (slot, next);
        }
    }
    Some(best.0)
}

/// Checks that a search can be made.
pub(crate) fn check(table: &Table, scan: &Scan<'_>, of: Extreme) -> Result<()> {
    table.schema().check_scan(scan)?;
    Ok(table.schema().check_predicate(&Predicate::IsNull(of.column))?)
}

impl Hyper {
    /// Logs an answer: the row found, and that none is beyond.
    pub(super) fn log_extreme(&self, log: &mut PredicateLog, scan: &Scan<'_>, of: Extreme, found: &Found) {
        let most = self.options.predicates as usize;
        let (column, value) = (ColumnSet::of(of.column), found.as_ref().map(|(_, value)| value));
        let decides = self.counted(looked_at(Columns::None, scan.filter).with(column));
        let beyond = of.beyond(value, scan.filter);
        log.range(scan.table, (scan.lower.as_ref(), scan.upper.as_ref()), decides, Some(&beyond), most);
        if let Some((key, _)) = found {
            let seen = self.counted(looked_at(scan.columns, scan.filter).with(column));
            log.point(scan.table, key, seen, most);
        }
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Finds a row with the least or greatest value, and logs the answer. A search that stops has shown nothing, and begins again.
    pub(super) fn find_extreme(&mut self, scan: &Scan<'_>, of: Extreme, row: &mut RowBuf) -> Result<Option<Key>> {
        self.begin_statement()?;
        let is_skipping = self.core.skips(scan.table).is_some();
        let mut stops = self.core.reads_wait && !is_skipping;
        loop {
            let Transaction { engine, core } = self;
            let table = engine.table(scan.table)?;
            check(table, scan, of)?;
            let (refusal, key) = match (View { stops, ..core.view(engine) }).extreme(table, scan, of, row) {
                Ok(found) => {
                    if engine.logs(core) && !is_skipping {
                        engine.log_extreme(&mut core.worker().log, scan, of, &found);
                    }
                    return Ok(found.map(|(key, _)| key));
                }
                Err(Ended::Stopped(error)) => return Err(error),
                Err(Ended::Refused(refusal, key)) => (refusal, key),
            };
            stops = self.make_way(refusal, scan.table, &key)?;
        }
    }
}

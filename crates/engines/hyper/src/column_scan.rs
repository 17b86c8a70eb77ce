//! Scans by column: block after block, without a branch per row where no row has versions. Section 2.6.
//!
//! Threads that share a scan draw parts of blocks from a counter. A part is copied out under the block's latch, or added up there: first
//! the slots are chosen, of the unversioned ones by the filter on the values in place; then each column is copied. Rows
//! between the versioned positions follow one by one, undone back to the snapshot.

mod copy;
mod select;
mod sums;

use crate::block::{Block, Rows, Version};
use crate::read::View;
use crate::scan::Walk;
use crate::stop::{FETCHES_BETWEEN_LOOKS, PARTS_BETWEEN_LOOKS};
use crate::store::{Column, Store};
use crate::table::Table;
use crate::undo::Undecided;
use crate::wait::Refusal;
use model::columns::{BATCH_ROWS, Batch, Batches};
use model::{ColumnType, Columns, Result, RowBuf, Scan};
use parts::index::prefetch::prefetch;
use parts::sync::Mutex;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use select::Chosen;
use std::ops::{Bound, Range};
use std::sync::PoisonError;

/// Rows for which a sieve is asked before it is known whether it pays.
const TRIED: u64 = 16 << 10;
/// Versioned rows of a part up to which the rows between them are copied run by run.
const MOST_RUNS: usize = 16;
/// Columns whose values are asked for ahead, and bytes of each: the processor's own prefetching asks for the rest once it has begun.
const AHEAD_COLUMNS: usize = 8;
const AHEAD_BYTES: usize = 2048;

/// A scan of all blocks of a table, or of a range of its keys.
#[derive(Debug)]
pub(crate) struct BlockScan<'v> {
    table: &'v Table,
    view: View<'v>,
    scan: Scan<'v>,
    columns: Vec<u16>,
    types: Vec<ColumnType>,
    /// The next part of a block that nobody has taken.
    next: AtomicU64,
    parts: u64,
    /// For each sieve of the scan, how many rows it was asked for, and how many it kept. Relaxed: whether it is asked decides no answer.
    sifted: Vec<[AtomicU64; 2]>,
    /// The walk of the index, if the scan is of a range or the table is stored by row.
    walk: Option<Mutex<Walk>>,
}

/// A part of a block, under its latch.
struct Part<'r> {
    block: u32,
    rows: &'r Rows,
    range: Range<usize>,
}

impl<'v> BlockScan<'v> {
    /// Begins a scan: rows of blocks that are added later are not the snapshot's.
    pub fn new(table: &'v Table, view: View<'v>, scan: Scan<'v>) -> BlockScan<'v> {
        let all = table.schema().columns();
        let columns: Vec<u16> = match scan.columns {
            Columns::All => (0..all.len() as u16).collect(),
            Columns::Some(columns) => columns.to_vec(),
            Columns::None => Vec::new(),
        };
        let types = columns.iter().map(|&column| all[usize::from(column)].kind).collect();
        let is_whole = scan.lower == Bound::Unbounded && scan.upper == Bound::Unbounded;
        let walk = (!is_whole || table.layout.by_row).then(|| Mutex::new(Walk::new(&scan)));
        let parts = u64::from(table.blocks.count()) * parts_of_block(table);
        let sifted = scan.sieves.iter().map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        BlockScan { table, view, scan, columns, types, next: AtomicU64::new(0), parts, sifted, walk }
    }

    /// Returns whether it takes block after block, and not the keys of a range.
    pub fn is_by_block(&self) -> bool {
        self.walk.is_none()
    }

    /// The next part that nobody has taken, if there is one.
    fn take_part(&self) -> Option<u64> {
        Some(self.next.fetch_add(1, Relaxed)).filter(|part| *part < self.parts)
    }

    /// Leaves out the parts of its block that follow a part: the block has no more slots. Rows of slots that come later are not the
    /// snapshot's.
    fn leave_out_rest(&self, part: u64) {
        let per_block = parts_of_block(self.table);
        let following = (part / per_block + 1) * per_block;
        if part + 1 < following {
            self.next.fetch_max(following, Relaxed);
        }
    }

    /// The block of a part, and its first slot there.
    fn place(&self, part: u64) -> (u32, usize) {
        let per_block = parts_of_block(self.table);
        ((part / per_block) as u32, (part % per_block) as usize * BATCH_ROWS)
    }

    /// Shows the rows of a part of a block.
    ///
    /// # Errors
    /// The statement must stop.
    fn show(&self, part: u64, sink: &mut impl Sink) -> Result<()> {
        let (number, first) = self.place(part);
        let Some(block) = self.table.blocks.get(number) else { return Ok(()) };
        loop {
            let rows = block.read();
            let range = first..rows.slots().min(first + BATCH_ROWS);
            if first + BATCH_ROWS >= rows.slots() {
                self.leave_out_rest(part);
            }
            if range.is_empty() {
                return Ok(());
            }
            self.look_ahead(&Part { block: number, rows: &rows, range: range.clone() });
            match self.show_range(&rows, range, sink) {
                Ok(()) => return Ok(()),
                Err(undecided) => {
                    drop(rows);
                    sink.restart();
                    self.view.stop.await_decision(&undecided.0)?;
                }
            }
        }
    }

    fn show_range(&self, rows: &Rows, range: Range<usize>, sink: &mut impl Sink) -> std::result::Result<(), Undecided> {
        if !self.table.layout.has_synopses {
            return self.show_versions(rows, range, sink);
        }
        let versioned = rows.versioned(range.clone());
        let count = versioned.clone().count();
        if self.chooses() || count > MOST_RUNS {
            self.show_chosen(rows, range, sink);
        } else {
            let mut start = range.start;
            for slot in versioned.clone() {
                self.show_run(rows, start..slot, sink);
                start = slot + 1;
            }
            self.show_run(rows, start..range.end, sink);
        }
        self.show_versions(rows, versioned, sink)
    }

    /// Shows the rows of slots that may have versions, one by one.
    fn show_versions(
        &self,
        rows: &Rows,
        slots: impl Iterator<Item = usize>,
        sink: &mut impl Sink,
    ) -> std::result::Result<(), Undecided> {
        for slot in slots {
            let version = self.view.of(rows, slot)?;
            if version.is_there() && self.passes(&version) {
                sink.take_version(&version);
            }
        }
        Ok(())
    }

    /// Returns whether it may leave out rows.
    fn chooses(&self) -> bool {
        self.scan.filter.is_some() || !self.scan.sieves.is_empty()
    }

    /// Returns whether the filter is true of a version.
    pub fn passes(&self, version: &Version<'_>) -> bool {
        let all = self.table.schema().columns();
        let value = |column: u16| (all[usize::from(column)].kind, version.column(column));
        self.scan.filter.is_none_or(|filter| filter.evaluate_raw(&value) == Some(true))
    }

    /// Shows the rows of a range without versions, if none is left out.
    fn show_run(&self, rows: &Rows, range: Range<usize>, sink: &mut impl Sink) {
        if range.is_empty() {
            return;
        }
        if rows.is_filled() || all_there(rows, range.clone()) {
            return sink.take_range(rows.store(), range);
        }
        self.show_chosen(rows, range, sink);
    }

    /// Shows the rows of a range that have no versions.
    fn show_chosen(&self, rows: &Rows, range: Range<usize>, sink: &mut impl Sink) {
        let chosen = self.sifted(rows, self.choose(rows, range.clone()));
        match chosen.count() {
            all if all == range.len() => sink.take_range(rows.store(), range),
            count => sink.take_chosen(rows.store(), &chosen, count),
        }
    }

    /// The slots of [`BATCH_ROWS`] at most whose rows are there, have no versions, and pass.
    pub fn choose(&self, rows: &Rows, range: Range<usize>) -> Chosen {
        let mut chosen = Chosen::unversioned(rows, range);
        self.scan.filter.inspect(|filter| chosen.narrow(filter, rows.store()));
        chosen
    }

    /// Leaves out what the sieves do not keep, as long as they leave out something.
    fn sifted(&self, rows: &Rows, mut chosen: Chosen) -> Chosen {
        for ((column, sieve), [asked, kept]) in self.scan.sieves.iter().zip(&self.sifted) {
            let (of, stay) = (asked.load(Relaxed), kept.load(Relaxed));
            if of >= TRIED && stay * 4 > of * 3 {
                continue;
            }
            asked.fetch_add(chosen.count() as u64, Relaxed);
            rows.store().column(*column).inspect(|column| chosen.sift(column, sieve));
            kept.fetch_add(chosen.count() as u64, Relaxed);
        }
        chosen
    }

    /// Asks for what a part and the next ones need, a step of the way to it for each of them: for their versions, whose entries lie
    /// anywhere in memory; and for the columns of other blocks, which do, too: the processor's own prefetching begins anew with each.
    fn look_ahead(&self, here: &Part<'_>) {
        here.rows.prefetch_writers(here.range.clone());
        self.with_part_ahead(1, here, |rows, range, is_other| {
            rows.prefetch_chains(range.clone());
            let columns = self.first_columns(rows).filter(|_| is_other);
            columns.for_each(|column| column.prefetch_range(range.clone(), AHEAD_BYTES));
        });
        self.with_part_ahead(2, here, |rows, range, is_other| {
            rows.prefetch_slots(range);
            let columns = self.first_columns(rows).filter(|_| is_other);
            columns.for_each(|column| prefetch(column, size_of::<Column>()));
        });
        self.block_ahead(3, here).inspect(|block| block.prefetch());
    }

    fn first_columns<'r>(&'r self, rows: &'r Rows) -> impl Iterator<Item = &'r Column> {
        self.columns.iter().take(AHEAD_COLUMNS).filter_map(|&column| rows.store().column(column))
    }

    /// Shows a part that is so many ahead: the rows of its block, its slots, and whether that is another block.
    fn with_part_ahead(&self, parts: usize, here: &Part<'_>, visit: impl FnOnce(&Rows, Range<usize>, bool)) {
        let of_block = |rows: &Rows, first: usize| first..rows.slots().min(first + BATCH_ROWS);
        let first = here.range.start + parts * BATCH_ROWS;
        if first < here.rows.slots() {
            visit(here.rows, of_block(here.rows, first), false);
        } else if let Some(rows) = self.block_ahead(parts, here).and_then(Block::try_read) {
            visit(&rows, of_block(&rows, 0), true);
        }
    }

    /// The block of the part that is so many ahead, if it is another one, and those between have one part.
    fn block_ahead(&self, parts: usize, here: &Part<'_>) -> Option<&Block> {
        let following = (here.rows.slots() - here.range.end).div_ceil(BATCH_ROWS);
        let blocks = parts.checked_sub(following).filter(|blocks| *blocks > 0)?;
        self.table.blocks.get(here.block + blocks as u32)
    }

    /// Takes rows of a range from the index.
    ///
    /// # Errors
    /// The statement must stop.
    fn walk(&self, walk: &Mutex<Walk>, batch: &mut Batch) -> Result<()> {
        let (mut row, mut shown) = (RowBuf::new(), RowBuf::new());
        let mut walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut steps = self.view.stop.every(FETCHES_BETWEEN_LOOKS);
        while walk.goes_on && batch.len() + crate::scan::MOST_FETCHED <= BATCH_ROWS {
            steps.step()?;
            walk.fetch(self.table);
            for (key, place) in &walk.batch {
                let read = self.view.read_at(self.table, key, *place, Columns::All, &mut row);
                if read.map_err(Refusal::statement)? && self.scan.filter.is_none_or(|filter| filter.matches(row.row()))
                {
                    shown.project(row.row(), self.scan.columns);
                    batch.push(shown.row());
                }
            }
        }
        Ok(())
    }
}

fn parts_of_block(table: &Table) -> u64 {
    table.layout.block_rows.div_ceil(BATCH_ROWS) as u64
}

/// Returns whether every slot of a range has a row in place.
fn all_there(rows: &Rows, range: Range<usize>) -> bool {
    (range.start / 64..=(range.end - 1) / 64).all(|word| {
        let from = range.start.saturating_sub(word * 64).min(64);
        let until = (range.end - word * 64).min(64);
        let wanted = (u64::MAX << from) & if until == 64 { u64::MAX } else { (1 << until) - 1 };
        rows.there(word) & wanted == wanted
    })
}

/// What takes the rows of a part of a block.
trait Sink {
    /// Forgets the rows of the part that it has taken.
    fn restart(&mut self);

    /// Takes the values in place of all slots of a range.
    fn take_range(&mut self, store: &Store, range: Range<usize>);

    /// Takes the values in place of chosen slots, of which there are so many.
    fn take_chosen(&mut self, store: &Store, chosen: &Chosen, count: usize);

    /// Takes a version.
    fn take_version(&mut self, version: &Version<'_>);
}

impl Batches for BlockScan<'_> {
    fn next(&self, batch: &mut Batch) -> Result<bool> {
        batch.restart(&self.types);
        if let Some(walk) = &self.walk {
            // A part of the range may have no row that passes.
            while batch.is_empty() && walk.lock().unwrap_or_else(PoisonError::into_inner).goes_on {
                self.walk(walk, batch)?;
            }
            return Ok(!batch.is_empty());
        }
        // The caller looks between two batches; a filter may leave none.
        let mut steps = self.view.stop.every(PARTS_BETWEEN_LOOKS);
        while batch.is_empty() {
            steps.step()?;
            let Some(part) = self.take_part() else { return Ok(false) };
            self.copy(part, batch)?;
        }
        Ok(true)
    }
}

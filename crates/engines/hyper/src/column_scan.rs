//! Scans by column: block after block, without a branch per row where no row has versions. Section 2.6.
//!
//! Threads that share a scan draw parts of blocks from a counter. A part is copied out under the block's latch: first
//! the slots are chosen, of the unversioned ones by the filter on the values in place; then each column is copied. Rows
//! between the versioned positions follow one by one, undone back to the snapshot.

mod select;

use crate::block::{Block, Rows, Version};
use crate::read::View;
use crate::scan::Walk;
use crate::stop::{FETCHES_BETWEEN_LOOKS, PARTS_BETWEEN_LOOKS};
use crate::store::{Column, Data, Words};
use crate::table::Table;
use crate::undo::{ColumnSet, Undecided};
use crate::wait::Refusal;
use model::columns::{BATCH_ROWS, Batch, Batches, Strings, Values, Vector};
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

    /// Copies the rows of a part of a block.
    fn fill(&self, part: u64, batch: &mut Batch) -> Result<()> {
        let per_block = parts_of_block(self.table);
        let Some(block) = self.table.blocks.get((part / per_block) as u32) else { return Ok(()) };
        loop {
            let rows = block.read();
            let first = (part % per_block) as usize * BATCH_ROWS;
            let range = first..rows.slots().min(first + BATCH_ROWS);
            if range.is_empty() {
                return Ok(());
            }
            match self.copy(&rows, range, batch) {
                Ok(()) => return Ok(()),
                Err(undecided) => {
                    drop(rows);
                    batch.restart(&self.types);
                    self.view.stop.await_decision(&undecided.0)?;
                }
            }
        }
    }

    fn copy(&self, rows: &Rows, range: Range<usize>, batch: &mut Batch) -> std::result::Result<(), Undecided> {
        if !self.table.layout.has_synopses {
            return self.copy_versions(rows, range, batch);
        }
        let versioned = rows.versioned(range.clone());
        let count = versioned.clone().inspect(|&slot| rows.prefetch(slot, ColumnSet::NONE)).count();
        if count == 0 || count > MOST_RUNS || self.chooses() {
            self.copy_in_place(rows, range, batch);
        } else {
            let mut start = range.start;
            for slot in versioned.clone() {
                self.copy_in_place(rows, start..slot, batch);
                start = slot + 1;
            }
            self.copy_in_place(rows, start..range.end, batch);
        }
        versioned.clone().for_each(|slot| rows.prefetch_chain(slot));
        self.copy_versions(rows, versioned, batch)
    }

    /// Copies the rows of slots that may have versions, one by one.
    fn copy_versions(
        &self,
        rows: &Rows,
        slots: impl Iterator<Item = usize>,
        batch: &mut Batch,
    ) -> std::result::Result<(), Undecided> {
        for slot in slots {
            let version = self.view.of(rows, slot)?;
            if version.is_there() && self.passes(&version) {
                batch.extend(1, |vectors| {
                    let columns = vectors.iter_mut().zip(&self.columns);
                    columns.for_each(|(vector, &column)| vector.push_raw(version.column(column)));
                });
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

    /// Copies the rows of a range that have no versions.
    fn copy_in_place(&self, rows: &Rows, range: Range<usize>, batch: &mut Batch) {
        if range.is_empty() {
            return;
        }
        let is_whole = !self.chooses() && all_unversioned(rows, range.clone());
        let chosen = (!is_whole).then(|| self.sifted(rows, self.choose(rows, range.clone())));
        let count = chosen.as_ref().map_or(range.len(), Chosen::count);
        let slots = chosen.filter(|_| count < range.len() && !self.columns.is_empty()).map(|chosen| chosen.slots());
        let slots = slots.as_deref().map_or(Slots::Range(range), Slots::Chosen);
        batch.extend(count, |vectors| {
            for (vector, &column) in vectors.iter_mut().zip(&self.columns) {
                let column = rows.store().column(column).expect("columns were checked when the scan began");
                copy_column(column, &slots, vector);
            }
        });
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

    /// Asks for what the next parts need, a step of the way to the values for each of them. Blocks lie anywhere in memory, so that the
    /// processor's own prefetching begins anew with each.
    fn look_ahead(&self, part: u64) {
        let per_block = parts_of_block(self.table);
        let block = |part: u64| self.table.blocks.get((part / per_block) as u32).filter(|_| part < self.parts);
        block(part + 3).inspect(|block| block.prefetch());
        let columns = self.columns.iter().take(AHEAD_COLUMNS);
        if let Some(rows) = block(part + 2).and_then(Block::try_read) {
            let columns = columns.clone().filter_map(|&column| rows.store().column(column));
            columns.for_each(|column| prefetch(column, size_of::<Column>()));
        }
        if let Some(rows) = block(part + 1).and_then(Block::try_read) {
            let first = ((part + 1) % per_block) as usize * BATCH_ROWS;
            let range = first.min(rows.slots())..rows.slots().min(first + BATCH_ROWS);
            let columns = columns.filter_map(|&column| rows.store().column(column));
            columns.for_each(|column| column.prefetch_range(range.clone(), AHEAD_BYTES));
        }
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

/// Returns whether every slot of a range has a row in place, and no versions.
fn all_unversioned(rows: &Rows, range: Range<usize>) -> bool {
    if range.is_empty() || rows.is_whole() {
        return true;
    }
    (range.start / 64..=(range.end - 1) / 64).all(|word| {
        let from = range.start.saturating_sub(word * 64).min(64);
        let until = (range.end - word * 64).min(64);
        let wanted = (u64::MAX << from) & if until == 64 { u64::MAX } else { (1 << until) - 1 };
        rows.unversioned(word) & wanted == wanted
    })
}

/// Slots of a block whose rows are wanted.
enum Slots<'s> {
    Range(Range<usize>),
    Chosen(&'s [u32]),
}

impl Slots<'_> {
    /// Appends their integers: one loop over values of one width.
    fn extend<T>(&self, to: &mut Vec<T>, words: &Words, make: impl Fn(i64) -> T) {
        match self {
            Slots::Range(range) => words.extend_range(range.clone(), to, make),
            Slots::Chosen(slots) => words.extend_chosen(slots, to, make),
        }
    }

    /// Appends their integers as they are.
    fn extend_plain(&self, to: &mut Vec<i64>, words: &Words) {
        match self {
            Slots::Range(range) => words.extend_plain(range.clone(), to),
            Slots::Chosen(slots) => words.extend_chosen(slots, to, |word| word),
        }
    }

    fn extend_from<T>(&self, to: &mut Vec<T>, value: impl Fn(usize) -> T) {
        match self {
            Slots::Range(range) => to.extend(range.clone().map(value)),
            Slots::Chosen(slots) => to.extend(slots.iter().map(|&slot| value(slot as usize))),
        }
    }

    fn count(&self) -> usize {
        match self {
            Slots::Range(range) => range.len(),
            Slots::Chosen(slots) => slots.len(),
        }
    }

    fn each(&self, mut see: impl FnMut(usize)) {
        match self {
            Slots::Range(range) => range.clone().for_each(see),
            Slots::Chosen(slots) => slots.iter().for_each(|&slot| see(slot as usize)),
        }
    }
}

/// Appends values of a column, as the block holds them where the vector has that form.
fn copy_column(column: &Column, slots: &Slots<'_>, to: &mut Vector) {
    if !copy_values(column, slots, to) {
        return slots.each(|slot| to.push_raw(column.get(slot)));
    }
    let is_null = to.narrow_parts_mut(column.bits()).1;
    if column.has_nulls() {
        slots.extend_from(is_null, |slot| column.is_null(slot));
    } else {
        is_null.resize(is_null.len() + slots.count(), false);
    }
}

/// Appends values without their marks of NULL. False, and nothing: the vector has another form.
fn copy_values(column: &Column, slots: &Slots<'_>, to: &mut Vector) -> bool {
    match column.data() {
        Data::Words(words) => match to.narrow_parts_mut(words.bits()).0 {
            Values::Int(to) | Values::Timestamp(to) => slots.extend_plain(to, words),
            Values::Date(to) => slots.extend(to, words, |word| word as i32),
            Values::Bool(to) => slots.extend(to, words, |word| word != 0),
            _ => return false,
        },
        Data::Floats(values) => match to.parts_mut().0 {
            Values::Float(to) => slots.extend_from(to, |slot| values[slot]),
            _ => return false,
        },
        Data::Decimals(scale, digits) => match to.decimals_mut(*scale) {
            Some(to) => slots.extend_plain(to, digits),
            None => return false,
        },
        Data::Codes(codes) => match strings_of(to).and_then(|strings| strings.codes_mut(codes.dictionary())) {
            Some(to) => slots.extend(to, codes.numbers(), |number| number as u16),
            None => return false,
        },
        Data::Heap(heap) => match strings_of(to) {
            Some(strings) => slots.each(|slot| strings.push(heap.get(slot))),
            None => return false,
        },
    }
    true
}

fn strings_of(vector: &mut Vector) -> Option<&mut Strings> {
    match vector.parts_mut().0 {
        Values::Text(strings) | Values::Bytes(strings) => Some(strings),
        _ => None,
    }
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
            let part = self.next.fetch_add(1, Relaxed);
            if part >= self.parts {
                return Ok(false);
            }
            self.fill(part, batch)?;
            self.look_ahead(part);
        }
        Ok(true)
    }
}

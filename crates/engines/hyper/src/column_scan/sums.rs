//! Sums of columns, added up where the values lie: section 2.6's scans, whose code looks at the values in place.

use super::{BlockScan, Sink};
use crate::block::Version;
use crate::column_scan::select::Chosen;
use crate::stop::PARTS_BETWEEN_LOOKS;
use crate::store::{Column, Data, Store, Words};
use model::columns::{Batch, Batches, Sum, Summing, Sums};
use model::{ColumnType, RawValue, Result};
use smallvec::SmallVec;
use std::ops::Range;

/// Columns whose sums need no memory of their own.
const FEW: usize = 8;

/// The sums of a part of a block.
struct Adding<'s, 'v> {
    scan: &'s BlockScan<'v>,
    rows: u64,
    columns: SmallVec<[Sum; FEW]>,
    /// Whether all values had a form that can be added up.
    fits: bool,
}

impl Adding<'_, '_> {
    /// Adds to the sum of each column by `add`, which says whether its values can be added up.
    fn each(&mut self, mut add: impl FnMut(&mut Sum, u16, ColumnType) -> bool) {
        let of = self.scan.columns.iter().zip(&self.scan.types);
        for (sum, (&column, &kind)) in self.columns.iter_mut().zip(of) {
            self.fits &= add(sum, column, kind);
        }
    }

    /// Adds the sums of the part to others. False, and nothing: they cannot be added.
    fn put(&self, sums: &mut Sums) -> bool {
        let is_of_scale = |(sum, of_part): (&Sum, &Sum)| sum.clone().merge(*of_part);
        let fits = self.fits && sums.columns.iter().zip(&self.columns).all(is_of_scale);
        if fits {
            sums.rows += self.rows;
            sums.columns.iter_mut().zip(&self.columns).for_each(|(sum, of_part)| {
                sum.merge(*of_part);
            });
        }
        fits
    }
}

impl Sink for Adding<'_, '_> {
    fn restart(&mut self) {
        (self.rows, self.fits) = (0, true);
        self.columns.fill(Sum::default());
    }

    fn take_range(&mut self, store: &Store, range: Range<usize>) {
        self.rows += range.len() as u64;
        self.each(|sum, column, kind| {
            let column = store.column(column).expect("columns were checked when the scan began");
            if column.has_nulls() {
                return add_chosen(sum, column, kind, Chosen::all(range.clone()));
            }
            add(sum, range.len(), (column.data(), kind), |words| words.sum(range.clone()))
        });
    }

    fn take_chosen(&mut self, store: &Store, chosen: &Chosen, count: usize) {
        self.rows += count as u64;
        self.each(|sum, column, kind| {
            let column = store.column(column).expect("columns were checked when the scan began");
            add_chosen(sum, column, kind, chosen.clone())
        });
    }

    fn take_version(&mut self, version: &Version<'_>) {
        self.rows += 1;
        self.each(|sum, column, kind| match version.column(column) {
            RawValue::Null => true,
            RawValue::Word(word) if kind == ColumnType::Int => sum.add(1, (word as i64).into(), 0),
            RawValue::Decimal(decimal) => sum.add(1, decimal.digits.into(), decimal.scale),
            RawValue::Bytes(_) if kind == ColumnType::Bytes => false,
            _ => sum.add(1, 0, 0),
        });
    }
}

/// Adds the values of chosen slots that are not NULL.
fn add_chosen(sum: &mut Sum, column: &Column, kind: ColumnType, mut chosen: Chosen) -> bool {
    if column.has_nulls() {
        chosen.keep_known(column);
    }
    add(sum, chosen.count(), (column.data(), kind), |words| chosen.sum(words))
}

/// Adds so many values of a column, whose integers `add_up` adds up. False: they cannot be added up.
fn add(sum: &mut Sum, values: usize, (data, kind): (&Data, ColumnType), add_up: impl FnOnce(&Words) -> i128) -> bool {
    let values = values as u64;
    match data {
        Data::Words(words) if kind == ColumnType::Int => sum.add(values, add_up(words), 0),
        Data::Decimals(scale, digits) => sum.add(values, add_up(digits), *scale),
        // They may be decimals.
        Data::Heap(_) if kind == ColumnType::Bytes => false,
        // These are counted.
        _ => sum.add(values, 0, 0),
    }
}

impl Summing for BlockScan<'_> {
    fn next(&self, sums: &mut Sums, batch: &mut Batch) -> Result<bool> {
        if !self.is_by_block() {
            return Batches::next(self, batch);
        }
        batch.restart(&self.types);
        let Some(part) = self.take_part() else { return Ok(false) };
        if part.is_multiple_of(PARTS_BETWEEN_LOOKS) {
            self.view.stop.look()?;
        }
        let columns = SmallVec::from_elem(Sum::default(), self.columns.len());
        let mut adding = Adding { scan: self, rows: 0, columns, fits: true };
        self.show(part, &mut adding)?;
        if !adding.put(sums) {
            self.copy(part, batch)?;
        }
        Ok(true)
    }
}

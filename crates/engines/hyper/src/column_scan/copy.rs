//! Rows copied into batches, a column at a time.

use super::{BlockScan, Sink};
use crate::block::Version;
use crate::column_scan::select::Chosen;
use crate::store::{Column, Data, Store, Words};
use model::Result;
use model::columns::{Batch, Strings, Values, Vector};
use std::ops::Range;

impl BlockScan<'_> {
    /// Copies the rows of a part of a block into an empty batch.
    pub(super) fn copy(&self, part: u64, batch: &mut Batch) -> Result<()> {
        self.show(part, &mut Copying { scan: self, batch })
    }
}

/// A batch that takes the rows of a part.
struct Copying<'s, 'v> {
    scan: &'s BlockScan<'v>,
    batch: &'s mut Batch,
}

impl Copying<'_, '_> {
    fn take(&mut self, store: &Store, slots: &Slots<'_>) {
        self.batch.extend(slots.count(), |vectors| {
            for (vector, &column) in vectors.iter_mut().zip(&self.scan.columns) {
                let column = store.column(column).expect("columns were checked when the scan began");
                copy_column(column, slots, vector);
            }
        });
    }
}

impl Sink for Copying<'_, '_> {
    fn restart(&mut self) {
        self.batch.restart(&self.scan.types);
    }

    fn take_range(&mut self, store: &Store, range: Range<usize>) {
        self.take(store, &Slots::Range(range));
    }

    fn take_chosen(&mut self, store: &Store, chosen: &Chosen, count: usize) {
        if self.scan.columns.is_empty() {
            return self.batch.extend(count, |_| ());
        }
        self.take(store, &Slots::Chosen(&chosen.slots()));
    }

    fn take_version(&mut self, version: &Version<'_>) {
        self.batch.extend(1, |vectors| {
            let columns = vectors.iter_mut().zip(&self.scan.columns);
            columns.for_each(|(vector, &column)| vector.push_raw(version.column(column)));
        });
    }
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

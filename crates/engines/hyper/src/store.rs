//! The values in place: the columns of one block, or its rows as bytes.
//!
//! Everything is read and changed under the block's latch.

mod codes;
mod column;
mod heap;
mod words;

pub(crate) use codes::Codes;
pub(crate) use column::{Column, Data};
pub(crate) use heap::LONGEST_BYTES;
pub(crate) use words::{Words, of_each_width};

use crate::undo::ColumnSet;
use heap::Heap;
use model::{Columns, RawValue, RowBuf, RowKind, RowRef, Schema};

/// The values of one block.
#[derive(Debug)]
pub(crate) enum Store {
    /// By column.
    Columns(Vec<Column>),
    /// Whole rows: of a table of bytes, or of a typed one that is stored by row.
    Rows(Heap),
}

impl Store {
    /// A store of so many slots.
    pub fn new(schema: &Schema, by_row: bool, slots: usize) -> Store {
        if by_row || schema.rows() == RowKind::Bytes {
            return Store::Rows(Heap::new(slots));
        }
        Store::Columns(schema.columns().iter().map(|column| Column::new(column.kind, slots)).collect())
    }

    /// Returns whether it holds whole rows.
    #[inline]
    pub fn is_by_row(&self) -> bool {
        matches!(self, Store::Rows(_))
    }

    /// Number of its columns: one if it holds whole rows.
    pub fn width(&self) -> usize {
        match self {
            Store::Columns(columns) => columns.len(),
            Store::Rows(_) => 1,
        }
    }

    pub fn column(&self, column: u16) -> Option<&Column> {
        match self {
            Store::Columns(columns) => columns.get(usize::from(column)),
            Store::Rows(_) => None,
        }
    }

    /// The value of a column in a slot: of a whole row, its bytes.
    #[inline]
    pub fn get(&self, column: u16, slot: usize) -> RawValue<'_> {
        match self {
            Store::Columns(columns) => columns[usize::from(column)].get(slot),
            Store::Rows(rows) => RawValue::Bytes(rows.get(slot)),
        }
    }

    /// Replaces the value of a column in a slot. Returns whether the memory that the store takes may have changed.
    #[must_use]
    pub fn set(&mut self, column: u16, slot: usize, value: RawValue<'_>) -> bool {
        match (self, value) {
            (Store::Columns(columns), value) => columns[usize::from(column)].set(slot, value),
            (Store::Rows(rows), RawValue::Bytes(bytes)) => rows.set(slot, bytes),
            (Store::Rows(_), _) => unreachable!("a whole row is bytes"),
        }
    }

    /// The columns of the store that hold these columns of the rows: of whole rows there is one.
    pub fn stored(&self, columns: ColumnSet) -> ColumnSet {
        match self {
            Store::Columns(_) => columns,
            Store::Rows(_) if columns.is_empty() => columns,
            Store::Rows(_) => ColumnSet::of(0),
        }
    }

    /// Replaces columns of a slot by those of a row. Returns whether the memory that the store takes may have changed.
    #[must_use]
    pub fn replace(&mut self, slot: usize, columns: ColumnSet, row: RowRef<'_>) -> bool {
        match self {
            Store::Columns(all) if columns == ColumnSet::ALL => {
                let each = all.iter_mut().zip(row.raws());
                each.fold(false, |moved, (column, value)| column.set(slot, value) | moved)
            }
            Store::Columns(all) => {
                let (width, mut moved) = (all.len(), false);
                columns.each(width, |column| {
                    moved |= all[usize::from(column)].set(slot, row.raw(usize::from(column)));
                });
                moved
            }
            Store::Rows(rows) => rows.set(slot, row.bytes()),
        }
    }

    /// Forgets the values of a slot without a row. Returns whether the memory that the store takes may have changed.
    #[must_use]
    pub fn vacate(&mut self, slot: usize) -> bool {
        match self {
            Store::Columns(columns) => columns.iter_mut().fold(false, |moved, column| column.vacate(slot) | moved),
            Store::Rows(rows) => rows.vacate(slot),
        }
    }

    /// Makes room for more slots. Only what stands in slots that are taken counts.
    pub fn grow(&mut self, slots: usize, is_taken: impl Fn(usize) -> bool) {
        match self {
            Store::Columns(columns) => columns.iter_mut().for_each(|column| column.grow(slots, &is_taken)),
            Store::Rows(rows) => rows.grow(slots),
        }
    }

    /// Copies the wanted columns of the row in place.
    #[inline]
    pub fn copy(&self, slot: usize, columns: Columns<'_>, row: &mut RowBuf) {
        match (self, columns) {
            (Store::Rows(rows), columns) => row.project(RowRef::new(rows.get(slot)), columns),
            (Store::Columns(all), Columns::All) => copy_columns(all.iter(), slot, row),
            (Store::Columns(all), Columns::Some(some)) => {
                copy_columns(some.iter().map(|&at| &all[usize::from(at)]), slot, row);
            }
            (Store::Columns(_), Columns::None) => row.clear(),
        }
    }

    /// Bytes of the row in place, copied whole.
    pub fn row_bytes(&self, slot: usize) -> usize {
        match self {
            Store::Columns(all) => RowBuf::typed_bytes(all.len(), bytes_of(all.iter(), slot)),
            Store::Rows(rows) => rows.get(slot).len(),
        }
    }

    /// Copies the wanted columns of a row, whose values `get` knows.
    pub fn copy_with<'v>(&'v self, columns: Columns<'_>, row: &mut RowBuf, get: impl Fn(u16) -> RawValue<'v>) {
        let Store::Columns(all) = self else {
            let RawValue::Bytes(bytes) = get(0) else { unreachable!("a whole row is bytes") };
            return row.project(RowRef::new(bytes), columns);
        };
        match columns {
            Columns::All => {
                let mut row = row.rebuild_row(all.len());
                (0_u16..).zip(all).for_each(|(at, column)| row.push(column.kind, get(at)));
            }
            Columns::Some(some) => {
                let mut row = row.rebuild_row(some.len());
                some.iter().for_each(|&at| row.push(all[usize::from(at)].kind, get(at)));
            }
            Columns::None => row.clear(),
        }
    }

    /// Asks for the memory of columns of a slot; of texts and whole rows, for where they stand.
    pub fn prefetch(&self, slot: usize, columns: ColumnSet) {
        match self {
            Store::Columns(all) => {
                columns.each(all.len(), |column| all[usize::from(column)].prefetch(slot));
            }
            Store::Rows(rows) => rows.prefetch(slot),
        }
    }

    /// The columns in which a typed row differs from the one in place.
    pub fn differing(&self, slot: usize, new: RowRef<'_>) -> ColumnSet {
        match self {
            Store::Columns(all) => those(all.iter().zip(new.raws()).map(|(column, new)| column.get(slot) != new)),
            Store::Rows(rows) => {
                let old = RowRef::new(rows.get(slot));
                those(old.raws().zip(new.raws()).map(|(old, new)| old != new))
            }
        }
    }

    /// Returns the bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        match self {
            Store::Columns(columns) => columns.iter().map(Column::memory).sum(),
            Store::Rows(rows) => rows.memory(),
        }
    }
}

/// Copies the values of columns in one pass.
#[inline]
fn copy_columns<'c>(columns: impl ExactSizeIterator<Item = &'c Column> + Clone, slot: usize, row: &mut RowBuf) {
    let bytes = bytes_of(columns.clone(), slot);
    row.fill(columns.len(), bytes, columns.map(|column| (column.kind, column.get(slot))));
}

/// Bytes of the texts and byte strings among the values of columns.
#[inline]
fn bytes_of<'c>(columns: impl Iterator<Item = &'c Column>, slot: usize) -> usize {
    columns.map(|column| column.bytes_len(slot)).sum()
}

/// The columns, in their order, of which something holds.
#[inline]
fn those(columns: impl Iterator<Item = bool>) -> ColumnSet {
    let each = (0_u16..).zip(columns);
    each.fold(ColumnSet::NONE, |set, (at, holds)| if holds { set.with(ColumnSet::of(at)) } else { set })
}

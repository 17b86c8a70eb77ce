//! The values in place: the columns of one block, or its rows as bytes.
//!
//! Integers take one, two, four or eight bytes, as the widest of the block needs; texts and byte strings stand behind
//! each other. Everything is read and changed under the block's latch.

use crate::undo::ColumnSet;
use model::{ColumnType, Columns, RawValue, RowBuf, RowKind, RowRef, Schema};

/// The values of one block.
#[derive(Debug)]
pub(crate) enum Store {
    /// By column.
    Columns(Vec<Column>),
    /// Whole rows: of a table of bytes, or of a typed one that is stored by row.
    Rows(Heap),
}

/// A column of one block.
#[derive(Debug)]
pub(crate) struct Column {
    kind: ColumnType,
    data: Data,
    /// Which slots are NULL; empty while none is.
    nulls: Vec<u64>,
}

/// Values of one column.
#[derive(Debug)]
pub(crate) enum Data {
    /// Booleans, integers, dates and timestamps.
    Narrow1(Vec<i8>),
    /// Those that take two bytes.
    Narrow2(Vec<i16>),
    /// Those that take four.
    Narrow4(Vec<i32>),
    /// Those that take eight.
    Wide(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
    /// Texts and byte strings.
    Heap(Heap),
}

/// Byte strings of varying length.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Where each begins, and its length.
    spans: Vec<(u32, u32)>,
    bytes: Vec<u8>,
    /// Bytes that belong to nobody any more.
    garbage: usize,
}

/// Garbage below this many bytes is not worth a copy.
const LEAST_GARBAGE: usize = 4096;

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

    /// Replaces the value of a column in a slot.
    pub fn set(&mut self, column: u16, slot: usize, value: RawValue<'_>) {
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

    /// Replaces columns of a slot by those of a row.
    pub fn replace(&mut self, slot: usize, columns: ColumnSet, row: RowRef<'_>) {
        match self {
            Store::Columns(all) => {
                for column in columns.columns(all.len()) {
                    all[usize::from(column)].set(slot, row.raw(usize::from(column)));
                }
            }
            Store::Rows(rows) => rows.set(slot, row.bytes()),
        }
    }

    /// Makes room for more slots.
    pub fn grow(&mut self, slots: usize) {
        match self {
            Store::Columns(columns) => columns.iter_mut().for_each(|column| column.data.grow(slots)),
            Store::Rows(rows) => rows.spans.resize(slots, (0, 0)),
        }
    }

    /// Copies the wanted columns of the row in place.
    #[inline]
    pub fn copy(&self, slot: usize, columns: Columns<'_>, row: &mut RowBuf) {
        let Store::Columns(all) = self else {
            return self.copy_with(columns, row, |column| self.get(column, slot));
        };
        match columns {
            Columns::All => {
                let mut row = row.rebuild_row(all.len());
                all.iter().for_each(|column| row.push(column.kind, column.get(slot)));
            }
            Columns::Some(some) => {
                let mut row = row.rebuild_row(some.len());
                let some = some.iter().map(|&at| &all[usize::from(at)]);
                some.for_each(|column| row.push(column.kind, column.get(slot)));
            }
            Columns::None => row.clear(),
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

    /// The columns in which a typed row differs from the one in place.
    pub fn differing(&self, slot: usize, new: RowRef<'_>) -> ColumnSet {
        let differ = |columns: &mut dyn Iterator<Item = (u16, bool)>| {
            columns.filter(|(_, differs)| *differs).fold(ColumnSet::NONE, |set, (at, _)| set.with(ColumnSet::of(at)))
        };
        match self {
            Store::Columns(all) => {
                differ(&mut (0_u16..).zip(all.iter().zip(new.raws()).map(|(column, new)| column.get(slot) != new)))
            }
            Store::Rows(rows) => {
                let old = RowRef::new(rows.get(slot));
                differ(&mut (0_u16..).zip(old.raws().zip(new.raws()).map(|(old, new)| old != new)))
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

impl Column {
    fn new(kind: ColumnType, slots: usize) -> Column {
        let data = match kind {
            ColumnType::Bool | ColumnType::Int | ColumnType::Date | ColumnType::Timestamp => {
                Data::Narrow1(vec![0; slots])
            }
            ColumnType::Float => Data::Floats(vec![0.0; slots]),
            ColumnType::Text | ColumnType::Bytes => Data::Heap(Heap::new(slots)),
        };
        Column { kind, data, nulls: Vec::new() }
    }

    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    pub fn data(&self) -> &Data {
        &self.data
    }

    #[inline]
    pub fn is_null(&self, slot: usize) -> bool {
        self.nulls.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    #[inline]
    fn get(&self, slot: usize) -> RawValue<'_> {
        if self.is_null(slot) {
            return RawValue::Null;
        }
        match &self.data {
            Data::Narrow1(values) => RawValue::Word(i64::from(values[slot]) as u64),
            Data::Narrow2(values) => RawValue::Word(i64::from(values[slot]) as u64),
            Data::Narrow4(values) => RawValue::Word(i64::from(values[slot]) as u64),
            Data::Wide(values) => RawValue::Word(values[slot] as u64),
            Data::Floats(values) => RawValue::Word(values[slot].to_bits()),
            Data::Heap(heap) => RawValue::Bytes(heap.get(slot)),
        }
    }

    fn set(&mut self, slot: usize, value: RawValue<'_>) {
        match value {
            RawValue::Null => return self.set_null(slot),
            RawValue::Word(word) => self.set_word(slot, word),
            RawValue::Bytes(bytes) => match &mut self.data {
                Data::Heap(heap) => heap.set(slot, bytes),
                _ => unreachable!("rows are checked when they come in"),
            },
        }
        if let Some(word) = self.nulls.get_mut(slot / 64) {
            *word &= !(1 << (slot % 64));
        }
    }

    fn set_null(&mut self, slot: usize) {
        let words = slot / 64 + 1;
        if self.nulls.len() < words {
            self.nulls.resize(words, 0);
        }
        self.nulls[slot / 64] |= 1 << (slot % 64);
        if let Data::Heap(heap) = &mut self.data {
            heap.set(slot, &[]);
        }
    }

    fn set_word(&mut self, slot: usize, word: u64) {
        let value = word as i64;
        match &mut self.data {
            Data::Narrow1(values) if i8::try_from(value).is_ok() => values[slot] = value as i8,
            Data::Narrow2(values) if i16::try_from(value).is_ok() => values[slot] = value as i16,
            Data::Narrow4(values) if i32::try_from(value).is_ok() => values[slot] = value as i32,
            Data::Wide(values) => values[slot] = value,
            Data::Floats(values) => values[slot] = f64::from_bits(word),
            Data::Heap(_) => unreachable!("rows are checked when they come in"),
            _ => {
                self.widen(value);
                self.set_word(slot, word);
            }
        }
    }

    /// Gives every value of the column the bytes that this one needs.
    #[cold]
    fn widen(&mut self, value: i64) {
        let values: Vec<i64> = match &self.data {
            Data::Narrow1(values) => values.iter().map(|&it| it.into()).collect(),
            Data::Narrow2(values) => values.iter().map(|&it| it.into()).collect(),
            Data::Narrow4(values) => values.iter().map(|&it| it.into()).collect(),
            _ => unreachable!("the widest integers take any value"),
        };
        self.data = if i16::try_from(value).is_ok() {
            Data::Narrow2(values.iter().map(|&it| it as i16).collect())
        } else if i32::try_from(value).is_ok() {
            Data::Narrow4(values.iter().map(|&it| it as i32).collect())
        } else {
            Data::Wide(values)
        };
    }

    fn memory(&self) -> usize {
        let data = match &self.data {
            Data::Narrow1(values) => values.len(),
            Data::Narrow2(values) => 2 * values.len(),
            Data::Narrow4(values) => 4 * values.len(),
            Data::Wide(values) => 8 * values.len(),
            Data::Floats(values) => 8 * values.len(),
            Data::Heap(heap) => heap.memory(),
        };
        data + 8 * self.nulls.capacity()
    }
}

impl Data {
    fn grow(&mut self, slots: usize) {
        match self {
            Data::Narrow1(values) => values.resize(slots, 0),
            Data::Narrow2(values) => values.resize(slots, 0),
            Data::Narrow4(values) => values.resize(slots, 0),
            Data::Wide(values) => values.resize(slots, 0),
            Data::Floats(values) => values.resize(slots, 0.0),
            Data::Heap(heap) => heap.spans.resize(slots, (0, 0)),
        }
    }
}

impl Heap {
    fn new(slots: usize) -> Heap {
        Heap { spans: vec![(0, 0); slots], ..Heap::default() }
    }

    #[inline]
    pub fn get(&self, slot: usize) -> &[u8] {
        let (start, length) = self.spans[slot];
        &self.bytes[start as usize..][..length as usize]
    }

    fn set(&mut self, slot: usize, new: &[u8]) {
        let (start, length) = self.spans[slot];
        if new.len() <= length as usize {
            self.bytes[start as usize..][..new.len()].copy_from_slice(new);
            self.spans[slot].1 = new.len() as u32;
            self.garbage += length as usize - new.len();
            return;
        }
        self.garbage += length as usize;
        self.spans[slot].1 = 0;
        if self.garbage > LEAST_GARBAGE.max(self.bytes.len() / 2) {
            self.compact();
        }
        // A block of rows of the greatest length that options permit fits: see `Options::row_bytes`.
        let start = u32::try_from(self.bytes.len()).expect("limits keep a block below 4 GiB");
        self.bytes.extend_from_slice(new);
        self.spans[slot] = (start, new.len() as u32);
    }

    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.garbage);
        for (start, length) in &mut self.spans {
            let new = bytes.len() as u32;
            bytes.extend_from_slice(&self.bytes[*start as usize..][..*length as usize]);
            *start = new;
        }
        (self.bytes, self.garbage) = (bytes, 0);
    }

    fn memory(&self) -> usize {
        self.bytes.capacity() + 8 * self.spans.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_widen_and_keep_their_values() {
        let mut column = Column::new(ColumnType::Int, 8);
        let values = [1, -128, 300, -40_000, i64::MAX, 0, 127, i64::MIN];
        for (slot, &value) in values.iter().enumerate() {
            column.set(slot, RawValue::Word(value as u64));
            for (slot, &value) in values[..=slot].iter().enumerate() {
                assert_eq!(column.get(slot), RawValue::Word(value as u64));
            }
        }
        column.set(3, RawValue::Null);
        assert_eq!((column.get(3), column.get(2)), (RawValue::Null, RawValue::Word(300)));
        column.set(3, RawValue::Word(9));
        assert_eq!(column.get(3), RawValue::Word(9));
    }

    #[test]
    fn heaps_keep_what_is_set_over_compactions() {
        let mut heap = Heap::new(16);
        let mut expected = vec![Vec::new(); 16];
        for round in 0..10_000_usize {
            let slot = round * 7 % 16;
            expected[slot] = vec![round as u8; round * 31 % 97];
            heap.set(slot, &expected[slot]);
            assert_eq!(heap.get(slot), expected[slot]);
        }
        assert!((0..16).all(|slot| heap.get(slot) == expected[slot]));
        assert!(heap.memory() < 3 * LEAST_GARBAGE, "{}", heap.memory());
    }
}

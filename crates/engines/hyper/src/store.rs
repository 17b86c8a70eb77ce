//! The values in place: the columns of one block, or its rows as bytes.
//!
//! Integers take one, two, four or eight bytes, as the widest of the block needs; texts and byte strings stand behind
//! each other. Everything is read and changed under the block's latch.

use crate::undo::ColumnSet;
use model::{ColumnType, Columns, RawValue, RowBuf, RowKind, RowRef, Schema};
use parts::index::prefetch::prefetch;

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
    spans: Vec<Span>,
    bytes: Vec<u8>,
    /// Bytes that belong to nobody any more.
    garbage: usize,
}

/// Where a byte string begins, and its length in the lowest bits.
#[derive(Clone, Copy, Debug, Default)]
struct Span(u64);

const LENGTH_BITS: u32 = 24;
/// The longest byte string. As many as a block has slots are below the 2^40 bytes that spans reach.
pub(crate) const LONGEST_BYTES: u64 = (1 << LENGTH_BITS) - 1;
/// Garbage below this many bytes is not worth a copy.
const LEAST_GARBAGE: usize = 4096;
/// The least room that is added.
const LEAST_ROOM: usize = 64;

impl Span {
    fn new(start: usize, length: usize) -> Span {
        let (start, length) = (start as u64, length as u64);
        assert!(length <= LONGEST_BYTES && start >> (64 - LENGTH_BITS) == 0, "rows are checked when they come in");
        Span(start << LENGTH_BITS | length)
    }

    #[inline]
    fn range(self) -> std::ops::Range<usize> {
        let start = (self.0 >> LENGTH_BITS) as usize;
        start..start + self.length()
    }

    #[inline]
    fn length(self) -> usize {
        (self.0 & LONGEST_BYTES) as usize
    }
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
            Store::Columns(columns) => columns.iter_mut().fold(false, |moved, column| match &mut column.data {
                Data::Heap(heap) => heap.vacate(slot) | moved,
                _ => moved,
            }),
            Store::Rows(rows) => rows.vacate(slot),
        }
    }

    /// Makes room for more slots.
    pub fn grow(&mut self, slots: usize) {
        match self {
            Store::Columns(columns) => columns.iter_mut().for_each(|column| column.data.grow(slots)),
            Store::Rows(rows) => rows.spans.resize(slots, Span::default()),
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
                columns.each(all.len(), |column| all[usize::from(column)].data.prefetch(slot));
            }
            Store::Rows(rows) => prefetch(&rows.spans[slot], 1),
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
    columns.map(|column| if let Data::Heap(heap) = &column.data { heap.spans[slot].length() } else { 0 }).sum()
}

/// The columns, in their order, of which something holds.
#[inline]
fn those(columns: impl Iterator<Item = bool>) -> ColumnSet {
    let each = (0_u16..).zip(columns);
    each.fold(ColumnSet::NONE, |set, (at, holds)| if holds { set.with(ColumnSet::of(at)) } else { set })
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

    /// Which of 64 slots, from a multiple of 64 on, are NULL.
    pub fn nulls(&self, word: usize) -> u64 {
        self.nulls.get(word).copied().unwrap_or(0)
    }

    /// The value of a slot.
    #[inline]
    pub fn get(&self, slot: usize) -> RawValue<'_> {
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

    /// Replaces a value. Inlined into each loop over columns, which the compiler does not do by itself: a call for each of them takes
    /// twice the instructions.
    #[inline(always)]
    fn set(&mut self, slot: usize, value: RawValue<'_>) -> bool {
        let moved = match value {
            RawValue::Null => return self.set_null(slot),
            RawValue::Word(word) => self.set_word(slot, word),
            RawValue::Bytes(bytes) => match &mut self.data {
                Data::Heap(heap) => heap.set(slot, bytes),
                _ => unreachable!("rows are checked when they come in"),
            },
        };
        if let Some(word) = self.nulls.get_mut(slot / 64) {
            *word &= !(1 << (slot % 64));
        }
        moved
    }

    #[inline(never)]
    fn set_null(&mut self, slot: usize) -> bool {
        let words = slot / 64 + 1;
        let grows = self.nulls.len() < words;
        if grows {
            self.nulls.resize(words, 0);
        }
        self.nulls[slot / 64] |= 1 << (slot % 64);
        match &mut self.data {
            Data::Heap(heap) => heap.set(slot, &[]) | grows,
            _ => grows,
        }
    }

    #[inline(always)]
    fn set_word(&mut self, slot: usize, word: u64) -> bool {
        let value = word as i64;
        match &mut self.data {
            Data::Narrow1(values) if i64::from(value as i8) == value => values[slot] = value as i8,
            Data::Narrow2(values) if i64::from(value as i16) == value => values[slot] = value as i16,
            Data::Narrow4(values) if i64::from(value as i32) == value => values[slot] = value as i32,
            Data::Wide(values) => values[slot] = value,
            Data::Floats(values) => values[slot] = f64::from_bits(word),
            Data::Heap(_) => unreachable!("rows are checked when they come in"),
            _ => {
                self.widen(slot, value);
                return true;
            }
        }
        false
    }

    /// Sets a value for which every value of the column needs more bytes.
    #[cold]
    fn widen(&mut self, slot: usize, value: i64) {
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
        self.set_word(slot, value as u64);
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
    /// Bits of a value at most, if they are integers.
    pub fn bits(&self) -> u32 {
        match self {
            Data::Narrow1(_) => i8::BITS,
            Data::Narrow2(_) => i16::BITS,
            Data::Narrow4(_) => i32::BITS,
            Data::Wide(_) | Data::Floats(_) | Data::Heap(_) => i64::BITS,
        }
    }

    fn prefetch(&self, slot: usize) {
        match self {
            Data::Narrow1(values) => prefetch(&values[slot], 1),
            Data::Narrow2(values) => prefetch(&values[slot], 1),
            Data::Narrow4(values) => prefetch(&values[slot], 1),
            Data::Wide(values) => prefetch(&values[slot], 1),
            Data::Floats(values) => prefetch(&values[slot], 1),
            Data::Heap(heap) => prefetch(&heap.spans[slot], 1),
        }
    }

    fn grow(&mut self, slots: usize) {
        match self {
            Data::Narrow1(values) => values.resize(slots, 0),
            Data::Narrow2(values) => values.resize(slots, 0),
            Data::Narrow4(values) => values.resize(slots, 0),
            Data::Wide(values) => values.resize(slots, 0),
            Data::Floats(values) => values.resize(slots, 0.0),
            Data::Heap(heap) => heap.spans.resize(slots, Span::default()),
        }
    }
}

impl Heap {
    fn new(slots: usize) -> Heap {
        Heap { spans: vec![Span::default(); slots], ..Heap::default() }
    }

    #[inline]
    pub fn get(&self, slot: usize) -> &[u8] {
        &self.bytes[self.spans[slot].range()]
    }

    /// Replaces a byte string. Returns whether the memory that the heap takes may have changed.
    fn set(&mut self, slot: usize, new: &[u8]) -> bool {
        let old = self.spans[slot];
        if new.len() <= old.length() {
            let start = old.range().start;
            self.bytes[start..][..new.len()].copy_from_slice(new);
            self.spans[slot] = Span::new(start, new.len());
            self.garbage += old.length() - new.len();
            return false;
        }
        self.garbage += old.length();
        self.spans[slot] = Span::default();
        let moved = self.make_room(new.len());
        self.spans[slot] = Span::new(self.bytes.len(), new.len());
        self.bytes.extend_from_slice(new);
        moved
    }

    /// Makes room for so many bytes more; first by a copy without garbage, if there is much.
    fn make_room(&mut self, more: usize) -> bool {
        let has_room = |heap: &Heap| heap.bytes.capacity() - heap.bytes.len() >= more;
        if has_room(self) {
            return false;
        }
        // The bytes are copied anyway.
        if self.garbage > self.bytes.len() / 4 {
            self.compact();
        }
        if !has_room(self) {
            // A quarter more, and not twice as much: what nobody uses counts, too.
            self.bytes.reserve_exact(more.max(self.bytes.len() / 4).max(LEAST_ROOM));
        }
        true
    }

    /// Forgets a byte string.
    fn vacate(&mut self, slot: usize) -> bool {
        self.garbage += self.spans[slot].length();
        self.spans[slot] = Span::default();
        let is_all = self.garbage > 0 && self.garbage == self.bytes.len();
        let is_worth_it = is_all || self.garbage > LEAST_GARBAGE.max(self.bytes.len() / 4);
        if is_worth_it {
            self.compact();
        }
        is_worth_it
    }

    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.garbage);
        for span in &mut self.spans {
            let new = Span::new(bytes.len(), span.length());
            bytes.extend_from_slice(&self.bytes[span.range()]);
            *span = new;
        }
        (self.bytes, self.garbage) = (bytes, 0);
    }

    fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<Span>() * self.spans.capacity()
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
            let widened = column.set(slot, RawValue::Word(value as u64));
            assert!(!widened || ![1, -128].contains(&value), "one byte has room for {value}");
            for (slot, &value) in values[..=slot].iter().enumerate() {
                assert_eq!(column.get(slot), RawValue::Word(value as u64));
            }
        }
        assert!(column.set(3, RawValue::Null), "the first NULL");
        assert_eq!((column.get(3), column.get(2)), (RawValue::Null, RawValue::Word(300)));
        assert!(!column.set(3, RawValue::Word(9)));
        assert_eq!(column.get(3), RawValue::Word(9));
    }

    #[test]
    fn heaps_keep_what_is_set_over_compactions() {
        let mut heap = Heap::new(16);
        let mut expected = vec![Vec::new(); 16];
        for round in 0..10_000_usize {
            let slot = round * 7 % 16;
            expected[slot] = vec![round as u8; round * 31 % 97];
            let before = heap.memory();
            let moved = if round % 5 == 0 { heap.vacate(slot) } else { heap.set(slot, &expected[slot]) };
            assert!(moved || heap.memory() == before, "round {round}");
            if round % 5 == 0 {
                expected[slot].clear();
            }
            assert_eq!(heap.get(slot), expected[slot]);
        }
        assert!((0..16).all(|slot| heap.get(slot) == expected[slot]));
        assert!(heap.memory() < 3 * LEAST_GARBAGE, "{}", heap.memory());
    }
}

//! A column of a block: its values in the shortest form that keeps each of them, byte for byte (Y11).
//!
//! ```text
//! integers    1, 2, 4 or 8 bytes each
//! byte strings, texts         first as they are                                        heap.rs
//!   decimals of one scale     their digits as integers: a SQL numeric(15, 2) is one    words.rs
//!   texts, few different      their numbers in a dictionary                            codes.rs
//! ```
//!
//! Whether byte strings have a shorter form is looked at when the block grows, since everything is copied then. A value that does not fit
//! the form puts all of them back as they were, until the block grows again.

use super::codes::Codes;
use super::heap::Heap;
use super::words::Words;
use model::decimal::Decimal;
use model::{ColumnType, RawValue};
use parts::index::prefetch::{prefetch, prefetch_behind};
use std::ops::Range;

/// A column of one block.
#[derive(Debug)]
pub(crate) struct Column {
    pub(super) kind: ColumnType,
    data: Data,
    /// Which slots are NULL; empty while none is.
    nulls: Vec<u64>,
}

/// Values of one column.
#[derive(Debug)]
pub(crate) enum Data {
    /// Booleans, integers, dates and timestamps.
    Words(Words),
    /// Floats.
    Floats(Vec<f64>),
    /// Texts and byte strings.
    Heap(Heap),
    /// Byte strings that are decimals of one scale, by their digits.
    Decimals(u16, Words),
    /// Texts of which few are different.
    Codes(Codes),
}

impl Column {
    pub fn new(kind: ColumnType, slots: usize) -> Column {
        let data = match kind {
            ColumnType::Bool | ColumnType::Int | ColumnType::Date | ColumnType::Timestamp => {
                Data::Words(Words::new(slots))
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
            Data::Words(words) => RawValue::Word(words.get(slot) as u64),
            Data::Floats(values) => RawValue::Word(values[slot].to_bits()),
            Data::Heap(heap) => RawValue::Bytes(heap.get(slot)),
            Data::Decimals(scale, digits) => RawValue::Decimal(Decimal::new(digits.get(slot), *scale)),
            Data::Codes(codes) => RawValue::Bytes(codes.get(slot)),
        }
    }

    /// Bytes of a text or a byte string; none of another value.
    #[inline]
    pub fn bytes_len(&self, slot: usize) -> usize {
        match &self.data {
            Data::Words(_) | Data::Floats(_) => 0,
            Data::Heap(heap) => heap.length(slot),
            Data::Decimals(..) | Data::Codes(_) => self.get(slot).bytes_len(),
        }
    }

    /// Replaces a value. Inlined into each loop over columns, which the compiler does not do by itself: a call for each of them takes
    /// twice the instructions.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, value: RawValue<'_>) -> bool {
        let moved = match value {
            RawValue::Null => return self.set_null(slot),
            RawValue::Word(word) => match &mut self.data {
                Data::Words(words) => words.set(slot, word as i64),
                Data::Floats(values) => {
                    values[slot] = f64::from_bits(word);
                    false
                }
                _ => unreachable!("rows are checked when they come in"),
            },
            RawValue::Bytes(bytes) => self.set_bytes(slot, bytes),
            RawValue::Decimal(decimal) => self.set_decimal(slot, decimal),
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

    fn set_bytes(&mut self, slot: usize, bytes: &[u8]) -> bool {
        let done = match &mut self.data {
            Data::Heap(heap) => return heap.set(slot, bytes),
            Data::Decimals(scale, digits) => Decimal::of_stored(bytes)
                .filter(|decimal| decimal.scale == *scale)
                .map(|decimal| digits.set(slot, decimal.digits)),
            Data::Codes(codes) => codes.set(slot, bytes),
            Data::Words(_) | Data::Floats(_) => unreachable!("rows are checked when they come in"),
        };
        done.unwrap_or_else(|| {
            self.make_plain().set(slot, bytes);
            true
        })
    }

    fn set_decimal(&mut self, slot: usize, decimal: Decimal) -> bool {
        match &mut self.data {
            Data::Decimals(scale, digits) if *scale == decimal.scale => digits.set(slot, decimal.digits),
            _ => self.set_bytes(slot, &decimal.stored()),
        }
    }

    /// Puts byte strings back as they were.
    #[cold]
    fn make_plain(&mut self) -> &mut Heap {
        if let Data::Decimals(..) | Data::Codes(_) = &self.data {
            let mut heap = Heap::with_room(self.slots(), (0..self.slots()).map(|slot| self.bytes_len(slot)).sum());
            for slot in 0..self.slots() {
                self.get(slot).with_bytes(|bytes| heap.set(slot, bytes));
            }
            self.data = Data::Heap(heap);
        }
        match &mut self.data {
            Data::Heap(heap) => heap,
            _ => unreachable!("rows are checked when they come in"),
        }
    }

    /// Forgets a byte string. Returns whether the memory that all take may have changed.
    pub fn vacate(&mut self, slot: usize) -> bool {
        if let Data::Heap(heap) = &mut self.data { heap.vacate(slot) } else { false }
    }

    /// Makes room for more slots. Byte strings get a shorter form, if those of the slots that count have one.
    pub fn grow(&mut self, slots: usize, counts: &impl Fn(usize) -> bool) {
        if let Data::Heap(heap) = &self.data {
            let is_there = |slot: usize| counts(slot) && !self.is_null(slot);
            let shorter = match self.kind {
                ColumnType::Bytes => decimals(heap, is_there),
                _ => Codes::of(heap, is_there).map(Data::Codes),
            };
            if let Some(shorter) = shorter {
                self.data = shorter;
            }
        }
        match &mut self.data {
            Data::Words(words) | Data::Decimals(_, words) => words.grow(slots),
            Data::Floats(values) => values.resize(slots, 0.0),
            Data::Heap(heap) => heap.grow(slots),
            Data::Codes(codes) => codes.grow(slots),
        }
    }

    /// Bits of a value at most, if they are integers.
    pub fn bits(&self) -> u32 {
        if let Data::Words(words) = &self.data { words.bits() } else { i64::BITS }
    }

    /// Asks for the memory of a slot; of a text, for where it stands.
    pub fn prefetch(&self, slot: usize) {
        match &self.data {
            Data::Words(words) | Data::Decimals(_, words) => words.prefetch(slot),
            Data::Floats(values) => prefetch(&values[slot], 1),
            Data::Heap(heap) => heap.prefetch(slot),
            Data::Codes(codes) => codes.prefetch(slot),
        }
    }

    /// Asks for the first bytes of a range of slots; of byte strings, for nothing.
    pub fn prefetch_range(&self, range: Range<usize>, most: usize) {
        match &self.data {
            Data::Words(words) | Data::Decimals(_, words) => words.prefetch_range(range, most),
            Data::Floats(values) => prefetch_behind(values[range.clone()].as_ptr(), most.min(8 * range.len())),
            Data::Codes(codes) => codes.numbers().prefetch_range(range, most),
            Data::Heap(_) => {}
        }
    }

    fn slots(&self) -> usize {
        match &self.data {
            Data::Words(words) | Data::Decimals(_, words) => words.slots(),
            Data::Floats(values) => values.len(),
            Data::Heap(heap) => heap.slots(),
            Data::Codes(codes) => codes.numbers().slots(),
        }
    }

    pub fn memory(&self) -> usize {
        let data = match &self.data {
            Data::Words(words) | Data::Decimals(_, words) => words.memory(),
            Data::Floats(values) => 8 * values.len(),
            Data::Heap(heap) => heap.memory(),
            Data::Codes(codes) => codes.memory(),
        };
        data + 8 * self.nulls.capacity()
    }
}

/// The byte strings of the slots that count as decimals, if all are, of one scale.
fn decimals(heap: &Heap, counts: impl Fn(usize) -> bool) -> Option<Data> {
    let (mut scale, mut digits) = (None, Words::new(heap.slots()));
    for slot in (0..heap.slots()).filter(|&slot| counts(slot)) {
        let decimal = Decimal::of_stored(heap.get(slot))?;
        if *scale.get_or_insert(decimal.scale) != decimal.scale {
            return None;
        }
        digits.set(slot, decimal.digits);
    }
    Some(Data::Decimals(scale?, digits))
}

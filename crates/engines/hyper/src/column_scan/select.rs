//! Choice of slots by a filter on values in place.

use crate::block::Rows;
use crate::store::{Column, Data, Store};
use model::columns::BATCH_ROWS;
use model::{ColumnType, Comparison, Predicate, Value, ValueRef};
use std::cmp::Ordering;
use std::ops::Range;

/// Which slots of a part of a block are wanted: a byte each, 1 or 0, so that a comparison decides sixteen at a time.
pub(crate) struct Chosen {
    range: Range<usize>,
    marks: [u8; BATCH_ROWS],
}

impl Chosen {
    /// The slots of a range that have a row in place: of [`BATCH_ROWS`] at most.
    pub fn there(rows: &Rows, range: Range<usize>) -> Chosen {
        let mut chosen = Chosen { range, marks: [1; BATCH_ROWS] };
        chosen.keep_bits(|word| rows.there(word));
        chosen
    }

    fn marks(&mut self) -> &mut [u8] {
        &mut self.marks[..self.range.len()]
    }

    /// Number of slots.
    pub fn count(&self) -> usize {
        let marks = &self.marks[..self.range.len()];
        // So few fit into a byte.
        marks.chunks(128).map(|marks| usize::from(marks.iter().sum::<u8>())).sum()
    }

    /// The slots.
    pub fn slots(&self) -> Vec<u32> {
        let mut slots = vec![0; self.range.len()];
        let mut count = 0;
        for (slot, mark) in (self.range.start as u32..).zip(&self.marks[..self.range.len()]) {
            slots[count] = slot;
            count += usize::from(*mark);
        }
        slots.truncate(count);
        slots
    }

    /// Keeps the slots of which the filter is true.
    pub fn narrow(&mut self, filter: &Predicate, store: &Store) {
        match filter {
            Predicate::True => {}
            Predicate::And(all) => all.iter().for_each(|filter| self.narrow(filter, store)),
            Predicate::Compare(column, comparison, constant)
                if store.column(*column).is_some_and(|column| self.compare(column, *comparison, constant)) => {}
            filter => self.narrow_each(filter, store),
        }
    }

    /// Looks at the slots that are left one by one.
    fn narrow_each(&mut self, filter: &Predicate, store: &Store) {
        for (slot, mark) in self.range.clone().zip(&mut self.marks).filter(|(_, mark)| **mark != 0) {
            let value = |column: u16| -> ValueRef<'_> {
                let kind = store.column(column).expect("columns were checked when the scan began").kind();
                store.get(column, slot).typed(kind)
            };
            *mark = u8::from(filter.evaluate_with(&value) == Some(true));
        }
    }

    /// Compares a column of words with a constant of its type, in one loop without a branch. False: it has no such loop.
    fn compare(&mut self, column: &Column, comparison: Comparison, constant: &Value) -> bool {
        // A constant of another type is neither smaller nor greater than any value.
        let word = match (constant, column.kind()) {
            (Value::Int(value), ColumnType::Int) | (Value::Timestamp(value), ColumnType::Timestamp) => *value,
            (Value::Date(value), ColumnType::Date) => i64::from(*value),
            (Value::Bool(value), ColumnType::Bool) => i64::from(*value),
            (Value::Float(value), ColumnType::Float) if !value.is_nan() => {
                return self.floats(column, comparison, *value);
            }
            _ => return false,
        };
        let range = self.range.clone();
        match column.data() {
            Data::Narrow1(values) => keep(self.marks(), &values[range], comparison, word),
            Data::Narrow2(values) => keep(self.marks(), &values[range], comparison, word),
            Data::Narrow4(values) => keep(self.marks(), &values[range], comparison, word),
            Data::Wide(values) => keep(self.marks(), &values[range], comparison, word),
            Data::Floats(_) | Data::Heap(_) => return false,
        }
        self.keep_bits(|word| !column.nulls(word));
        true
    }

    /// Compares a column of floats with one that is a number: NaN is greater.
    fn floats(&mut self, column: &Column, comparison: Comparison, constant: f64) -> bool {
        let Data::Floats(values) = column.data() else { return false };
        let (range, marks) = (self.range.clone(), &mut self.marks);
        let values = &values[range];
        match comparison {
            Comparison::Equal => keep_if(marks, values, |value| value == constant),
            Comparison::NotEqual => keep_if(marks, values, |value| value != constant),
            Comparison::Less => keep_if(marks, values, |value| value < constant),
            Comparison::LessOrEqual => keep_if(marks, values, |value| value <= constant),
            Comparison::Greater => keep_if(marks, values, |value| (value > constant) | value.is_nan()),
            Comparison::GreaterOrEqual => keep_if(marks, values, |value| (value >= constant) | value.is_nan()),
        }
        self.keep_bits(|word| !column.nulls(word));
        true
    }

    /// Keeps the slots whose bits are set; `word` has those of 64, from a multiple of 64 on.
    fn keep_bits(&mut self, word: impl Fn(usize) -> u64) {
        let Range { start, end } = self.range.clone();
        let mut slot = start;
        while slot < end {
            let (bits, next) = (word(slot / 64) >> (slot % 64), (slot / 64 + 1) * 64);
            let marks = &mut self.marks[slot - start..next.min(end) - start];
            if bits != u64::MAX >> (slot % 64) {
                (0..64).zip(marks).for_each(|(at, mark)| *mark &= (bits >> at) as u8 & 1);
            }
            slot = next;
        }
    }
}

/// Keeps the marks of values that compare so with a constant.
fn keep<T: Copy + PartialOrd + TryFrom<i64>>(marks: &mut [u8], values: &[T], comparison: Comparison, constant: i64) {
    let Ok(constant) = T::try_from(constant) else {
        // It is on one side of all values of this width.
        let order_of_values = if constant > 0 { Ordering::Less } else { Ordering::Greater };
        if !comparison.accepts(order_of_values) {
            marks.fill(0);
        }
        return;
    };
    match comparison {
        Comparison::Equal => keep_if(marks, values, |value| value == constant),
        Comparison::NotEqual => keep_if(marks, values, |value| value != constant),
        Comparison::Less => keep_if(marks, values, |value| value < constant),
        Comparison::LessOrEqual => keep_if(marks, values, |value| value <= constant),
        Comparison::Greater => keep_if(marks, values, |value| value > constant),
        Comparison::GreaterOrEqual => keep_if(marks, values, |value| value >= constant),
    }
}

fn keep_if<T: Copy>(marks: &mut [u8], values: &[T], holds: impl Fn(T) -> bool) {
    marks.iter_mut().zip(values).for_each(|(mark, value)| *mark &= u8::from(holds(*value)));
}

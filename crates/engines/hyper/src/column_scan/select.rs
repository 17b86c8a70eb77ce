//! Choice of slots by a filter on values in place.

use crate::block::Rows;
use crate::store::{Codes, Column, Data, Store, Words, of_each_width};
use model::columns::{BATCH_ROWS, Narrowing, Sieve};
use model::decimal::Decimal;
use model::{ColumnType, Comparison, Predicate, RawValue, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// Where fewer than one slot in so many is left, a sieve looks at these alone.
const SPARSE: usize = 4;

/// Which slots of a part of a block are wanted: a byte each, 1 or 0, so that a comparison decides sixteen at a time.
#[derive(Clone)]
pub(crate) struct Chosen {
    range: Range<usize>,
    marks: [u8; BATCH_ROWS],
}

impl Chosen {
    /// All slots of a range: of [`BATCH_ROWS`] at most.
    pub fn all(range: Range<usize>) -> Chosen {
        Chosen { range, marks: [1; BATCH_ROWS] }
    }

    /// Those of a range that have a row in place and no versions.
    pub fn unversioned(rows: &Rows, range: Range<usize>) -> Chosen {
        let mut chosen = Chosen::all(range);
        chosen.keep_bits(|word| rows.unversioned(word));
        chosen
    }

    /// Keeps the slots in which a column is not NULL.
    pub fn keep_known(&mut self, column: &Column) {
        self.keep_bits(|word| !column.nulls(word));
    }

    /// The sum of their integers.
    pub fn sum(&self, words: &Words) -> i128 {
        words.sum_marked(self.range.clone(), &self.marks)
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
            filter if self.narrow_by_column(filter, store) => {}
            Predicate::Or(any) => self.narrow_to_any(any, store),
            filter => self.narrow_each(filter, store),
        }
    }

    /// Keeps the slots of which one of several filters is true, each of which looks at the slots that were there before.
    fn narrow_to_any(&mut self, any: &[Predicate], store: &Store) {
        let (before, mut either) = (self.marks, [0; BATCH_ROWS]);
        for filter in any {
            self.marks = before;
            self.narrow(filter, store);
            either.iter_mut().zip(&self.marks).for_each(|(either, mark)| *either |= mark);
        }
        self.marks = either;
    }

    /// Keeps the slots whose integers a sieve keeps. A column of other values is left alone.
    #[expect(clippy::useless_conversion, reason = "of the widest only")]
    pub fn sift(&mut self, column: &Column, sieve: &Sieve) {
        let Data::Words(words) = column.data() else { return };
        let sieve = match sieve {
            Sieve::Set(set) => set,
            Sieve::Range(narrowing) => return self.narrow_to(column, words, &**narrowing),
        };
        let (range, is_sparse) = (self.range.clone(), self.count() * SPARSE < self.range.len());
        let marks = self.marks();
        of_each_width!(words, values => match is_sparse {
            true => {
                let left = marks.iter_mut().zip(&values[range]).filter(|(mark, _)| **mark != 0);
                left.for_each(|(mark, value)| *mark = u8::from(sieve.keeps(i64::from(*value))));
            }
            false => keep_if(marks, &values[range], |value| sieve.keeps(i64::from(value))),
        });
        self.keep_known(column);
    }

    /// Keeps the slots whose words are in a range.
    fn narrow_to(&mut self, column: &Column, words: &Words, narrowing: &dyn Narrowing) {
        let (wanted, range) = (narrowing.range(), self.range.clone());
        let of_nulls = (narrowing.keeps_null() && column.has_nulls()).then_some(self.marks);
        let ends = [
            (Comparison::GreaterOrEqual, *wanted.start(), i64::MIN),
            (Comparison::LessOrEqual, *wanted.end(), i64::MAX),
        ];
        let ends = ends.into_iter().filter(|(_, end, open)| end != open);
        for (comparison, end, _) in ends.clone() {
            of_each_width!(words, values => keep(self.marks(), &values[range.clone()], comparison, end.into()));
        }
        match of_nulls {
            Some(before) => {
                let marks = self.range.clone().zip(self.marks.iter_mut().zip(before));
                marks.filter(|(slot, _)| column.is_null(*slot)).for_each(|(_, (mark, before))| *mark = before);
            }
            // NULL is looked for as long as everything is.
            None if ends.count() > 0 => self.keep_known(column),
            None => {}
        }
    }

    /// Tests one column in a loop over its values. False: it has no such loop for the test.
    fn narrow_by_column(&mut self, filter: &Predicate, store: &Store) -> bool {
        let Some(column) = filter.only_column().and_then(|column| store.column(column)) else { return false };
        match (column.data(), filter) {
            (Data::Codes(codes), filter) => self.codes(column, codes, filter),
            (_, Predicate::Compare(_, comparison, constant)) => return self.compare(column, *comparison, constant),
            (Data::Decimals(scale, digits), Predicate::CompareDecimal(_, comparison, constant)) => {
                self.decimals(column, (*scale, digits), *comparison, *constant);
            }
            _ => return false,
        }
        true
    }

    /// Looks at the slots that are left one by one.
    fn narrow_each(&mut self, filter: &Predicate, store: &Store) {
        for (slot, mark) in self.range.clone().zip(&mut self.marks).filter(|(_, mark)| **mark != 0) {
            let value = |column: u16| {
                let kind = store.column(column).expect("columns were checked when the scan began").kind();
                (kind, store.get(column, slot))
            };
            *mark = u8::from(filter.evaluate_raw(&value) == Some(true));
        }
    }

    /// Tests a column of texts by their numbers: the filter looks at each text of the dictionary once.
    fn codes(&mut self, column: &Column, codes: &Codes, filter: &Predicate) {
        let holds = |value: RawValue<'_>| filter.evaluate_raw(&|_| (column.kind(), value)) == Some(true);
        let dictionary = codes.dictionary();
        let truths: Vec<bool> =
            (0..dictionary.len()).map(|number| holds(RawValue::Bytes(dictionary.get(number)))).collect();
        let (range, before) = (self.range.clone(), column.has_nulls().then_some(self.marks));
        of_each_width!(codes.numbers(), numbers => {
            keep_if(self.marks(), &numbers[range], |number| truths[number as usize]);
        });
        if let Some(before) = before {
            let of_null = u8::from(holds(RawValue::Null));
            let marks = self.range.clone().zip(self.marks.iter_mut().zip(before));
            let nulls = marks.filter(|(slot, _)| column.is_null(*slot));
            nulls.for_each(|(_, (mark, before))| *mark = before & of_null);
        }
    }

    /// Compares a column of decimals with one, as integers of the column's scale.
    fn decimals(&mut self, column: &Column, (scale, digits): (u16, &Words), comparison: Comparison, constant: Decimal) {
        // Far out, it is on one side of all.
        let beyond = (i128::from(constant.digits.signum()) * i128::MAX, true);
        let (units, is_unit) = constant.units_at(scale).unwrap_or(beyond);
        // Between two units, it compares as the lower one does, except that it is not it.
        let comparison = match comparison {
            Comparison::Equal | Comparison::NotEqual if !is_unit => {
                if comparison == Comparison::Equal {
                    self.marks().fill(0);
                }
                return self.keep_known(column);
            }
            Comparison::Less if !is_unit => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual if !is_unit => Comparison::Greater,
            comparison => comparison,
        };
        let range = self.range.clone();
        of_each_width!(digits, digits => keep(self.marks(), &digits[range], comparison, units));
        self.keep_known(column);
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
        let Data::Words(words) = column.data() else { return false };
        of_each_width!(words, values => keep(self.marks(), &values[range], comparison, word.into()));
        self.keep_known(column);
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
        self.keep_known(column);
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
fn keep<T: Copy + PartialOrd + TryFrom<i128>>(marks: &mut [u8], values: &[T], comparison: Comparison, constant: i128) {
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

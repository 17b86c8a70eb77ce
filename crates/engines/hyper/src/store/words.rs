//! Integers of the slots of a block, as narrow as all of them allow.

use model::columns::BATCH_ROWS;
use parts::index::prefetch::{prefetch, prefetch_behind};
use std::ops::Range;

/// Bits of integers, with their sign, of which [`BATCH_ROWS`] add up in 64.
const BITS_IN_A_SUM: u32 = i64::BITS - BATCH_ROWS.ilog2() - 1;

/// Integers of one, two, four or eight bytes, as the widest needs.
#[derive(Debug)]
pub(crate) enum Words {
    /// Of one byte.
    Narrow1(Vec<i8>),
    /// Of two.
    Narrow2(Vec<i16>),
    /// Of four.
    Narrow4(Vec<i32>),
    /// Of eight.
    Wide(Vec<i64>),
}

/// One expression for the values of every width.
macro_rules! of_each_width {
    ($words:expr, $values:ident => $body:expr) => {
        match $words {
            $crate::store::Words::Narrow1($values) => $body,
            $crate::store::Words::Narrow2($values) => $body,
            $crate::store::Words::Narrow4($values) => $body,
            $crate::store::Words::Wide($values) => $body,
        }
    };
}
pub(crate) use of_each_width;

#[expect(clippy::useless_conversion, reason = "of the widest only")]
impl Words {
    /// So many zeros.
    pub fn new(slots: usize) -> Words {
        Words::Narrow1(vec![0; slots])
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        of_each_width!(self, values => values.len())
    }

    /// The integer of a slot.
    #[inline]
    pub fn get(&self, slot: usize) -> i64 {
        of_each_width!(self, values => values[slot].into())
    }

    /// Replaces an integer. Returns whether the memory that all take has changed.
    #[inline(always)]
    pub fn set(&mut self, slot: usize, value: i64) -> bool {
        match self {
            Words::Narrow1(values) if i64::from(value as i8) == value => values[slot] = value as i8,
            Words::Narrow2(values) if i64::from(value as i16) == value => values[slot] = value as i16,
            Words::Narrow4(values) if i64::from(value as i32) == value => values[slot] = value as i32,
            Words::Wide(values) => values[slot] = value,
            _ => {
                self.widen(slot, value);
                return true;
            }
        }
        false
    }

    /// Sets an integer for which all need more bytes.
    #[cold]
    fn widen(&mut self, slot: usize, value: i64) {
        let mut all = Vec::with_capacity(self.slots());
        self.extend_range(0..self.slots(), &mut all, |value| value);
        *self = if i16::try_from(value).is_ok() {
            Words::Narrow2(all.iter().map(|&it| it as i16).collect())
        } else if i32::try_from(value).is_ok() {
            Words::Narrow4(all.iter().map(|&it| it as i32).collect())
        } else {
            Words::Wide(all)
        };
        self.set(slot, value);
    }

    /// Appends a range: one loop over values of one width.
    pub fn extend_range<T>(&self, range: Range<usize>, to: &mut Vec<T>, make: impl Fn(i64) -> T) {
        of_each_width!(self, values => to.extend(values[range].iter().map(|&it| make(it.into()))));
    }

    /// Appends chosen slots.
    pub fn extend_chosen<T>(&self, slots: &[u32], to: &mut Vec<T>, make: impl Fn(i64) -> T) {
        of_each_width!(self, values => to.extend(slots.iter().map(|&slot| make(values[slot as usize].into()))));
    }

    /// Bits of an integer at most.
    pub fn bits(&self) -> u32 {
        match self {
            Words::Narrow1(_) => i8::BITS,
            Words::Narrow2(_) => i16::BITS,
            Words::Narrow4(_) => i32::BITS,
            Words::Wide(_) => i64::BITS,
        }
    }

    /// Asks for the memory of a slot.
    pub fn prefetch(&self, slot: usize) {
        of_each_width!(self, values => prefetch(&values[slot], 1));
    }

    /// Asks for the first bytes of a range of slots.
    pub fn prefetch_range(&self, range: Range<usize>, most: usize) {
        of_each_width!(self, values => prefetch_behind(values[range.clone()].as_ptr(), size_of_val(&values[range]).min(most)));
    }

    /// Appends a range of integers as they are.
    pub fn extend_plain(&self, range: Range<usize>, to: &mut Vec<i64>) {
        match self {
            Words::Wide(values) => to.extend_from_slice(&values[range]), // Copied by the widest instructions that there are.
            _ => self.extend_range(range, to, |value| value),
        }
    }

    /// The sum of a range, of [`BATCH_ROWS`] at most.
    pub fn sum(&self, range: Range<usize>) -> i128 {
        match self {
            Words::Wide(values) => sum_wide(values[range].iter().copied()),
            _ => of_each_width!(self, values => sum_narrow(values[range].iter().map(|&it| i64::from(it)))),
        }
    }

    /// The sum of the slots of a range whose marks are 1, and not 0.
    pub fn sum_marked(&self, range: Range<usize>, marks: &[u8]) -> i128 {
        // All bits, or none.
        let masked = |(value, mark): (i64, &u8)| value & -i64::from(*mark);
        match self {
            Words::Wide(values) => sum_wide(values[range].iter().copied().zip(marks).map(masked)),
            _ => of_each_width!(self, values => {
                sum_narrow(values[range].iter().map(|&it| i64::from(it)).zip(marks).map(masked))
            }),
        }
    }

    /// Makes room for more slots.
    pub fn grow(&mut self, slots: usize) {
        of_each_width!(self, values => values.resize(slots, 0));
    }

    /// Returns the bytes of memory that they take.
    pub fn memory(&self) -> usize {
        self.bits() as usize / 8 * self.slots()
    }
}

/// Adds up integers of four bytes at most, [`BATCH_ROWS`] of them at most.
fn sum_narrow(values: impl Iterator<Item = i64>) -> i128 {
    values.fold(0, i64::wrapping_add).into()
}

/// Adds up [`BATCH_ROWS`] integers at most. All but very long ones in a loop over words, which is as quick as memory: a second word has
/// the bits of all, by their distance from the least integer of so many bits.
fn sum_wide(values: impl Iterator<Item = i64> + Clone) -> i128 {
    let distance = |value: i64| value.wrapping_add(1 << (BITS_IN_A_SUM - 1)) as u64;
    let (sum, bits) =
        values.clone().fold((0, 0), |(sum, bits), value| (i64::wrapping_add(sum, value), bits | distance(value)));
    if bits >> BITS_IN_A_SUM == 0 { sum.into() } else { values.map(i128::from).sum() }
}

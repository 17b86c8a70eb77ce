//! Sieves: which integers of a column the caller of a scan looks for.

use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Bits for each integer, at most: they are no more than the four bytes of a row's number.
const BITS_OF_EACH: u64 = 32;
/// Bits, however few integers there are.
const LEAST_BITS: u64 = 1 << 16;
/// Multiplier of the hash: the golden ratio's.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A range of integers that narrows while a scan goes on: what its caller has found so far rules others out.
pub trait Narrowing: Debug + Send + Sync {
    /// The range now. A later one lies within it.
    fn range(&self) -> RangeInclusive<i64>;

    /// Returns whether NULL is looked for, too, once some integers are not.
    fn keeps_null(&self) -> bool;
}

/// What a scan's caller looks for in a column of integers, dates or timestamps.
#[derive(Clone, Debug)]
pub enum Sieve {
    /// Some integers.
    Set(Set),
    /// A range.
    Range(Arc<dyn Narrowing>),
}

impl Sieve {
    /// The sieve of these integers.
    pub fn of(integers: &[i64]) -> Sieve {
        Sieve::Set(Set::of(integers))
    }
}

/// A set of integers, about: it has those that it was made of, and maybe a few others.
#[derive(Clone, Debug)]
pub struct Set {
    /// The least integer; a bit stands for each from there on, if they lie close together.
    least: i64,
    /// Bits of a hash that are not looked at; 0: no hash is.
    shift: u32,
    bits: Vec<u64>,
}

impl Set {
    /// The set of these integers.
    pub fn of(integers: &[i64]) -> Set {
        let (least, greatest) = match (integers.iter().min(), integers.iter().max()) {
            (Some(least), Some(greatest)) => (*least, *greatest),
            _ => return Set { least: 0, shift: 0, bits: Vec::new() },
        };
        let (range, count) = (greatest.wrapping_sub(least) as u64, integers.len() as u64);
        let most = (count * BITS_OF_EACH).max(LEAST_BITS);
        let mut set = if range < most {
            Set { least, shift: 0, bits: vec![0; (range / 64 + 1) as usize] }
        } else {
            // One in sixteen others or fewer.
            let bits = (count * BITS_OF_EACH / 2).next_power_of_two().max(LEAST_BITS);
            Set { least, shift: 64 - bits.trailing_zeros(), bits: vec![0; (bits / 64) as usize] }
        };
        for integer in integers {
            let at = set.place(*integer);
            set.bits[(at / 64) as usize] |= 1 << (at % 64);
        }
        set
    }

    #[inline]
    fn place(&self, integer: i64) -> u64 {
        let distance = integer.wrapping_sub(self.least) as u64;
        if self.shift == 0 { distance } else { distance.wrapping_mul(SPREAD) >> self.shift }
    }

    /// Returns whether an integer may be one of those that it was made of.
    #[inline]
    pub fn keeps(&self, integer: i64) -> bool {
        let at = self.place(integer);
        self.bits.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_its_integers_and_few_others() {
        let close: Vec<i64> = (0..5_000).map(|at| at * 7 - 300).collect();
        let far: Vec<i64> = (0..5_000_i64).map(|at| at.wrapping_mul(0x1234_5678_9ABC_DEF1)).collect();
        let ends = vec![i64::MIN, -1, 0, i64::MAX];
        for (integers, most) in [(&close, 0), (&far, 700), (&ends, 700)] {
            let set = Set::of(integers);
            assert!(integers.iter().all(|integer| set.keeps(*integer)));
            let others = (0..10_000_i64).map(|at| at.wrapping_mul(0x0FED_CBA9_8765_4321) ^ 0x55);
            let kept = others.filter(|other| !integers.contains(other) && set.keeps(*other)).count();
            assert!(kept <= most, "{kept}");
        }
        let set = Set::of(&close);
        assert!((-400..40_000).all(|integer| set.keeps(integer) == close.contains(&integer)));
        assert!(!Set::of(&[]).keeps(0));
        assert!(Set::of(&[i64::MIN]).keeps(i64::MIN) && !Set::of(&[i64::MIN]).keeps(i64::MAX));
    }
}

//! Digits of numerics: integers of eight bytes while all fit, else of sixteen.

use pgtypes::Result;
use pgtypes::memory::{check_large, reserve};
use std::borrow::Cow;

/// The digits of numerics of one scale.
#[derive(Clone, Debug)]
pub enum Digits {
    /// Of eight bytes.
    Short(Vec<i64>),
    /// Of sixteen.
    Long(Vec<i128>),
}

impl Default for Digits {
    fn default() -> Digits {
        Digits::Short(Vec::new())
    }
}

impl FromIterator<i128> for Digits {
    fn from_iter<I: IntoIterator<Item = i128>>(all: I) -> Digits {
        let mut digits = Digits::default();
        all.into_iter().for_each(|value| digits.push(value));
        digits
    }
}

impl Digits {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Digits::Short(values) => values.len(),
            Digits::Long(values) => values.len(),
        }
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The digits of a row.
    #[inline]
    pub fn get(&self, row: usize) -> i128 {
        match self {
            Digits::Short(values) => values[row].into(),
            Digits::Long(values) => values[row],
        }
    }

    /// All of them, if they have eight bytes.
    pub fn short(&self) -> Option<&[i64]> {
        if let Digits::Short(values) = self { Some(values) } else { None }
    }

    /// All of them, with sixteen bytes.
    pub fn long(&self) -> Cow<'_, [i128]> {
        match self {
            Digits::Short(values) => values.iter().map(|&value| value.into()).collect(),
            Digits::Long(values) => values.into(),
        }
    }

    /// Appends those of a row.
    #[inline]
    pub fn push(&mut self, value: i128) {
        match (&mut *self, i64::try_from(value)) {
            (Digits::Short(values), Ok(value)) => values.push(value),
            (Digits::Short(_), Err(_)) => self.widen().push(value),
            (Digits::Long(values), _) => values.push(value),
        }
    }

    /// Makes room for those of other rows.
    ///
    /// # Errors
    /// 53200.
    pub fn reserve(&mut self, other: &Digits) -> Result<()> {
        match (&mut *self, other) {
            (Digits::Short(values), Digits::Short(others)) => reserve(values, others.len()),
            (Digits::Long(values), others) => reserve(values, others.len()),
            (Digits::Short(values), Digits::Long(others)) => {
                check_large((values.len() + others.len()) * size_of::<i128>())
            }
        }
    }

    /// Appends those of other rows.
    pub fn append(&mut self, other: &Digits) {
        match (&mut *self, other) {
            (Digits::Short(values), Digits::Short(others)) => values.extend_from_slice(others),
            (Digits::Long(values), others) => values.extend_from_slice(&others.long()),
            (Digits::Short(_), Digits::Long(others)) => self.widen().extend_from_slice(others),
        }
    }

    fn widen(&mut self) -> &mut Vec<i128> {
        if let Digits::Short(_) = self {
            *self = Digits::Long(self.long().into_owned());
        }
        match self {
            Digits::Long(values) => values,
            Digits::Short(_) => unreachable!("just widened"),
        }
    }

    /// Approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        match self {
            Digits::Short(values) => values.len() * 8,
            Digits::Long(values) => values.len() * 16,
        }
    }
}

/// Bits of the largest of some integers without its sign: all lie between minus and plus two to their number, the lower bound included.
pub fn bits_of(values: &[i64]) -> u32 {
    let all = values.iter().fold(0, |all, value| all | (value ^ (value >> 63)));
    i64::BITS - all.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_widen_and_keep_their_values() {
        let all = [1, -7, i128::from(i64::MAX), i128::from(i64::MIN), 1 << 100, -1];
        for count in 0..=all.len() {
            let digits: Digits = all[..count].iter().copied().collect();
            assert_eq!(digits.short().is_some(), count <= 4);
            assert!((0..count).all(|row| digits.get(row) == all[row]) && digits.len() == count);
            for more in 0..=all.len() {
                let mut both = digits.clone();
                both.append(&all[..more].iter().copied().collect());
                assert_eq!(*both.long(), [&all[..count], &all[..more]].concat());
            }
        }
    }

    #[test]
    fn bits_bound_all_values() {
        assert_eq!([bits_of(&[]), bits_of(&[0, -1]), bits_of(&[1]), bits_of(&[-2, 1])], [0, 0, 1, 1]);
        assert_eq!([bits_of(&[255]), bits_of(&[i64::MIN]), bits_of(&[i64::MAX])], [8, 63, 63]);
    }
}

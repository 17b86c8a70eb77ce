//! Decimal numbers in the form in which byte strings hold them: integers with a scale.
//!
//! ```text
//! 0                         not a number
//! 1, 2                      infinity, negative infinity
//! 3, scale (u16), digits    digits / 10^scale; the digits in the fewest bytes that keep their sign, little-endian
//! ```
//!
//! The layer above encodes its numbers so. An engine may take such a byte string apart and put it together again ([`Decimal`]): it is
//! the same, byte for byte. As byte strings, decimals are ordered by their bytes; by value, [`Decimal::compare_stored`] compares them.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

/// Not a number: greater than every other.
pub const NAN: u8 = 0;
/// Greater than every number.
pub const INFINITY: u8 = 1;
/// Less than every number.
pub const NEGATIVE_INFINITY: u8 = 2;
/// A number: its scale and digits follow.
pub const FINITE: u8 = 3;

/// Bytes in front of the digits.
const HEAD: usize = 3;

/// A number whose digits fit into eight bytes. Equal numbers of different scales are different decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The number, times ten to the scale.
    pub digits: i64,
    /// Digits behind the point.
    pub scale: u16,
}

/// A decimal as a byte string.
#[derive(Clone, Copy, Debug)]
pub struct StoredDecimal {
    bytes: [u8; HEAD + 8],
    length: usize,
}

impl Deref for StoredDecimal {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Decimal {
    /// A decimal of these digits.
    pub const fn new(digits: i64, scale: u16) -> Decimal {
        Decimal { digits, scale }
    }

    /// The decimal of a byte string; `None` unless [`Decimal::stored`] returns exactly these bytes.
    #[inline]
    pub fn of_stored(bytes: &[u8]) -> Option<Decimal> {
        let [FINITE, low, high, digits @ ..] = bytes else { return None };
        let decimal = Decimal::new(short_digits(digits)?, u16::from_le_bytes([*low, *high]));
        (decimal.stored_length() == bytes.len()).then_some(decimal)
    }

    /// Bytes of its byte string.
    #[inline]
    pub fn stored_length(self) -> usize {
        // One bit for the sign.
        let bits = 65 - (self.digits ^ (self.digits >> 63)).leading_zeros();
        HEAD + bits.div_ceil(8) as usize
    }

    /// Its byte string.
    #[inline]
    pub fn stored(self) -> StoredDecimal {
        let mut bytes = [FINITE; HEAD + 8];
        bytes[1..HEAD].copy_from_slice(&self.scale.to_le_bytes());
        bytes[HEAD..].copy_from_slice(&self.digits.to_le_bytes());
        StoredDecimal { bytes, length: self.stored_length() }
    }

    /// Compares the number of a byte string with this one; `None` if the byte string holds none.
    pub fn compare_stored(self, bytes: &[u8]) -> Option<Ordering> {
        let (low, high, digits) = match bytes {
            [NAN | INFINITY] => return Some(Ordering::Greater),
            [NEGATIVE_INFINITY] => return Some(Ordering::Less),
            [FINITE, low, high, digits @ ..] => (low, high, digits),
            _ => return None,
        };
        let scale = u16::from_le_bytes([*low, *high]);
        Some(match short_digits(digits) {
            Some(short) => compare((short.into(), scale), (self.digits.into(), self.scale)),
            None => self.compare_long(digits, scale),
        })
    }

    /// Same as [`Decimal::compare_stored`], of more than eight bytes of digits.
    #[cold]
    fn compare_long(self, digits: &[u8], scale: u16) -> Ordering {
        let is_negative = digits.last().is_some_and(|last| last >> 7 != 0);
        if is_negative != (self.digits < 0) {
            return if is_negative { Ordering::Less } else { Ordering::Greater };
        }
        let mut stored = magnitude(digits, is_negative);
        let mut own = magnitude(&self.digits.to_le_bytes(), self.digits < 0);
        scale_up(&mut stored, self.scale.saturating_sub(scale));
        scale_up(&mut own, scale.saturating_sub(self.scale));
        let order = stored.len().cmp(&own.len()).then_with(|| stored.iter().rev().cmp(own.iter().rev()));
        if is_negative { order.reverse() } else { order }
    }

    /// How many of its units a number of another scale is: the greatest integer that is not above, and whether it is the number. `None`
    /// beyond sixteen bytes.
    pub fn units_at(self, scale: u16) -> Option<(i128, bool)> {
        let digits = i128::from(self.digits);
        if scale >= self.scale {
            let factor = 10i128.checked_pow((scale - self.scale).into())?;
            return digits.checked_mul(factor).map(|units| (units, true));
        }
        // Beyond, it is between two units on either side of zero.
        let divisor = 10i128.checked_pow((self.scale - scale).into()).unwrap_or(i128::MAX);
        let units = digits.div_euclid(divisor);
        Some((units, units * divisor == digits))
    }
}

/// As PostgreSQL writes it.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, scale) = (if self.digits < 0 { "-" } else { "" }, usize::from(self.scale));
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        write!(f, "{sign}{whole}{}{fraction}", if scale == 0 { "" } else { "." })
    }
}

/// Digits of eight bytes at most.
#[inline]
fn short_digits(digits: &[u8]) -> Option<i64> {
    let last = *digits.last()?;
    let mut whole = if last & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
    whole.get_mut(..digits.len())?.copy_from_slice(digits);
    Some(i64::from_le_bytes(whole))
}

/// Compares two numbers by value.
fn compare(left: (i128, u16), right: (i128, u16)) -> Ordering {
    let factor = |own: u16, other: u16| 10i128.checked_pow(other.saturating_sub(own).into());
    let scaled = |(digits, own): (i128, u16), other: u16| {
        // Any digits but zero are beyond those that are not scaled.
        let beyond = digits.signum().saturating_mul(i128::MAX);
        factor(own, other).and_then(|factor| digits.checked_mul(factor)).unwrap_or(beyond)
    };
    scaled(left, right.1).cmp(&scaled(right, left.1))
}

/// Digits without their sign, in limbs of 32 bits, the lowest first and none of zero at the end.
fn magnitude(digits: &[u8], is_negative: bool) -> Vec<u32> {
    let fill = if is_negative { 0xff } else { 0 };
    let limb = |bytes: &[u8]| {
        let mut whole = [fill; 4];
        whole[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(whole)
    };
    let mut limbs: Vec<u32> = digits.chunks(4).map(limb).collect();
    if is_negative {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
        }
        limbs.extend(carry.then_some(1));
    }
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

/// Multiplies by ten so many times.
fn scale_up(limbs: &mut Vec<u32>, times: u16) {
    for _ in 0..times {
        let mut carry = 0;
        for limb in &mut *limbs {
            let product = u64::from(*limb) * 10 + carry;
            (*limb, carry) = (product as u32, product >> 32);
        }
        limbs.extend((carry != 0).then_some(carry as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERESTING: [i64; 15] =
        [0, 1, -1, 9, 10, -10, 127, 128, -128, -129, 255, 100_000, i64::MAX, i64::MIN, -999_999_999_999_999_999];

    #[test]
    fn decimals_are_stored_and_found_again() {
        for digits in INTERESTING {
            for scale in [0, 2, 18, u16::MAX] {
                let decimal = Decimal::new(digits, scale);
                let stored = decimal.stored();
                assert_eq!((stored.len(), Decimal::of_stored(&stored)), (decimal.stored_length(), Some(decimal)));
                let mut longer = stored.to_vec();
                longer.push(if digits < 0 { 0xff } else { 0 });
                assert_eq!(Decimal::of_stored(&longer), None, "more bytes than it needs");
            }
        }
        for bytes in [&[][..], &[FINITE], &[FINITE, 0, 0], &[NAN], &[INFINITY, 0, 0, 1], b"\x04\0\0\x01"] {
            assert_eq!(Decimal::of_stored(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for left in INTERESTING {
            for right in INTERESTING {
                for scale in 0..6 {
                    let (a, b) = (Decimal::new(left, scale), Decimal::new(right, 3));
                    let order = |scale: u16, other: u16| 10i128.pow(u32::from(other.saturating_sub(scale)));
                    let expected = (i128::from(left) * order(scale, 3)).cmp(&(i128::from(right) * order(3, scale)));
                    assert_eq!(b.compare_stored(&a.stored()), Some(expected), "{a:?} {b:?}");
                }
            }
        }
        let far = [Decimal::new(1, 60), Decimal::new(-1, 60), Decimal::new(0, 60)];
        let orders = far.map(|far| Decimal::new(0, 0).compare_stored(&far.stored()));
        assert_eq!(orders, [Ordering::Greater, Ordering::Less, Ordering::Equal].map(Some));
        for (byte, order) in
            [(NAN, Ordering::Greater), (INFINITY, Ordering::Greater), (NEGATIVE_INFINITY, Ordering::Less)]
        {
            assert_eq!(Decimal::new(i64::MAX, 0).compare_stored(&[byte]), Some(order));
        }
        assert_eq!(Decimal::new(0, 0).compare_stored(b"text"), None);
    }

    /// Ten to the 30th, 29th, ... as one with 30, 29, ... more digits behind the point, and neighbours.
    #[test]
    fn long_numbers_are_compared_by_value() {
        for zeros in 19..38_u16 {
            let power = 10i128.pow(zeros.into());
            for (digits, order) in
                [(power - 1, Ordering::Less), (power, Ordering::Equal), (power + 1, Ordering::Greater)]
            {
                for (sign, order) in [(1, order), (-1, order.reverse())] {
                    let mut stored = vec![FINITE];
                    stored.extend_from_slice(&zeros.to_le_bytes());
                    stored.extend_from_slice(&(sign * digits).to_le_bytes());
                    let one = Decimal::new(sign as i64, 0);
                    assert_eq!(one.compare_stored(&stored), Some(order), "{sign} {digits} {zeros}");
                    assert_eq!(Decimal::new(-one.digits, 0).compare_stored(&stored), Some(sign.cmp(&0)));
                }
            }
        }
    }

    #[test]
    fn decimals_are_printed_at_their_scale() {
        let printed =
            [(5, 0), (-5, 2), (12345, 2), (0, 3)].map(|(digits, scale)| Decimal::new(digits, scale).to_string());
        assert_eq!(printed, ["5", "-0.05", "123.45", "0.000"]);
    }

    #[test]
    fn units_are_the_greatest_below() {
        let units = |digits, scale, at| Decimal::new(digits, scale).units_at(at);
        assert_eq!(units(5, 2, 2), Some((5, true)));
        assert_eq!(units(24, 0, 2), Some((2400, true)));
        assert_eq!(units(55, 3, 2), Some((5, false)));
        assert_eq!(units(-55, 3, 2), Some((-6, false)));
        assert_eq!(units(50, 3, 2), Some((5, true)));
        assert_eq!(
            [units(-1, 60, 2), units(1, 60, 2), units(0, 60, 2)],
            [Some((-1, false)), Some((0, false)), Some((0, true))]
        );
        assert_eq!(units(1, 0, 60), None);
    }
}

//! Kernels: loops over the values of one or two columns.

use crate::column::{Column, Data};
use crate::digits::{Digits, bits_of};
use crate::expression::{Arithmetic, Comparison, Vector};
use crate::keys::without_blanks;
use pgtypes::{Type, compare_typed};
use std::borrow::Cow;
use std::cmp::Ordering;

impl Comparison {
    fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// PostgreSQL's order of floats: NaN equals itself and is greater than every other; both zeros are equal.
pub fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The order of two texts in the collation C.
pub fn compare_texts(data_type: Type, (left, right): (&[u8], &[u8])) -> Ordering {
    if data_type == Type::BPCHAR { without_blanks(left).cmp(without_blanks(right)) } else { left.cmp(right) }
}

/// Which rows have NULL on either side.
fn either_null(left: &Vector, right: &Vector, rows: usize) -> Option<Vec<bool>> {
    let of = |vector: &Vector| match (&vector.column.nulls, vector.is_constant) {
        (None, _) => None,
        (Some(nulls), true) => nulls[0].then(|| vec![true; rows]),
        (Some(nulls), false) => Some(nulls.clone()),
    };
    match (of(left), of(right)) {
        (Some(mut left), Some(right)) => {
            left.iter_mut().zip(right).for_each(|(left, right)| *left |= right);
            Some(left)
        }
        (left, right) => left.or(right),
    }
}

/// Applies a function to the values of two sides, each a column or one value.
fn zip<T: Copy, U>(
    (left, left_constant): (&[T], bool),
    (right, right_constant): (&[T], bool),
    rows: usize,
    mut function: impl FnMut(T, T) -> U,
) -> Vec<U> {
    match (left_constant, right_constant) {
        (false, false) => left.iter().zip(right).map(|(left, right)| function(*left, *right)).collect(),
        (false, true) => {
            let right = right[0];
            left.iter().map(|left| function(*left, right)).collect()
        }
        (true, false) => {
            let left = left[0];
            right.iter().map(|right| function(left, *right)).collect()
        }
        (true, true) => (0..rows).map(|_| function(left[0], right[0])).collect(),
    }
}

/// Compares two columns of a type.
pub fn compare(comparison: Comparison, left: &Vector, right: &Vector, data_type: Type, rows: usize) -> Column {
    let constants = (left.is_constant, right.is_constant);
    let nulls = either_null(left, right, rows);
    macro_rules! each {
        ($left:expr, $right:expr) => {{
            let (left, right) = ((&$left[..], constants.0), (&$right[..], constants.1));
            match comparison {
                Comparison::Equal => zip(left, right, rows, |a, b| a == b),
                Comparison::NotEqual => zip(left, right, rows, |a, b| a != b),
                Comparison::Less => zip(left, right, rows, |a, b| a < b),
                Comparison::LessOrEqual => zip(left, right, rows, |a, b| a <= b),
                Comparison::Greater => zip(left, right, rows, |a, b| a > b),
                Comparison::GreaterOrEqual => zip(left, right, rows, |a, b| a >= b),
            }
        }};
    }
    let truths = match (&left.column.data, &right.column.data) {
        (Data::Int(left), Data::Int(right)) => each!(left, right),
        (Data::Bool(left), Data::Bool(right)) => each!(left, right),
        (Data::Decimal(left, scale), Data::Decimal(right, other))
            if let (Some(left), Some(right)) =
                (short_units(left, *scale, *other), short_units(right, *other, *scale)) =>
        {
            each!(left, right)
        }
        (Data::Decimal(left, scale), Data::Decimal(right, other))
            if let (Some(left), Some(right)) = (units(left, *scale, *other), units(right, *other, *scale)) =>
        {
            each!(left, right)
        }
        (Data::Float(left), Data::Float(right)) => {
            let accepts = |a, b| comparison.accepts(compare_floats(a, b));
            zip((left, constants.0), (right, constants.1), rows, accepts)
        }
        (Data::Text(left), Data::Text(right)) => {
            let at = |row: usize, is_constant: bool| if is_constant { 0 } else { row };
            if constants == (false, true) {
                let accepts = |text: &[u8]| comparison.accepts(compare_texts(data_type, (text, right.get(0))));
                return Column::of_truths(left.test(accepts), nulls);
            }
            let texts = |row| (left.get(at(row, constants.0)), right.get(at(row, constants.1)));
            let compare = |row| compare_texts(data_type, texts(row));
            (0..rows).map(|row| comparison.accepts(compare(row))).collect()
        }
        _ => {
            let compare = |row| compare_typed(data_type, &left.get(row, data_type), &right.get(row, data_type));
            let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls[row]);
            (0..rows).map(|row| !is_null(row) && comparison.accepts(compare(row))).collect()
        }
    };
    Column::of_truths(truths, nulls)
}

/// Arithmetic of two columns; `None` if some row has to be computed otherwise, or fails.
pub fn arithmetic(
    operation: Arithmetic,
    left: &Vector,
    right: &Vector,
    data_type: Type,
    rows: usize,
) -> Option<Column> {
    let nulls = either_null(left, right, rows);
    let constants = (left.is_constant, right.is_constant);
    let data = match (&left.column.data, &right.column.data) {
        (Data::Int(left), Data::Int(right)) => {
            let (left, right) = ((left.as_slice(), constants.0), (right.as_slice(), constants.1));
            Data::Int(integers(operation, left, right, data_type, nulls.as_deref(), rows)?)
        }
        (Data::Decimal(Digits::Short(left), scale), Data::Decimal(Digits::Short(right), other))
            if let Some(data) = short_decimals(
                operation,
                ((left.as_slice(), constants.0), *scale),
                ((right.as_slice(), constants.1), *other),
                rows,
            ) =>
        {
            data
        }
        (Data::Decimal(left, scale), Data::Decimal(right, other)) => {
            let (left, right) = (left.long(), right.long());
            let (left, right) = ((&*left, constants.0), (&*right, constants.1));
            decimals(operation, (left, *scale), (right, *other), nulls.as_deref(), rows)?
        }
        (Data::Float(left), Data::Float(right)) if data_type == Type::FLOAT8 => {
            let (left, right) = ((left.as_slice(), constants.0), (right.as_slice(), constants.1));
            Data::Float(floats(operation, left, right, rows)?)
        }
        _ => return None,
    };
    Some(Column { data, nulls })
}

/// The digits at the larger of two scales; `None` if they do not fit.
fn units(values: &Digits, scale: u32, other: u32) -> Option<Cow<'_, [i128]>> {
    if scale >= other {
        return Some(values.long());
    }
    let factor = 10i128.checked_pow(other - scale)?;
    values.long().iter().map(|value| value.checked_mul(factor)).collect::<Option<Vec<_>>>().map(Cow::Owned)
}

/// Same as [`units`], of eight bytes.
fn short_units(values: &Digits, scale: u32, other: u32) -> Option<Cow<'_, [i64]>> {
    let values = values.short()?;
    if scale >= other {
        return Some(values.into());
    }
    let factor = 10i64.checked_pow(other - scale)?;
    values.iter().map(|value| value.checked_mul(factor)).collect::<Option<Vec<_>>>().map(Cow::Owned)
}

type Lanes<'v, T> = (&'v [T], bool);

/// The values, unless a row without NULL has none.
fn all_of<T: Copy + Default>(values: Vec<Option<T>>, nulls: Option<&[bool]>) -> Option<Vec<T>> {
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls[row]);
    let value = |(row, value): (usize, Option<T>)| value.or_else(|| is_null(row).then(T::default));
    values.into_iter().enumerate().map(value).collect()
}

fn integers(
    operation: Arithmetic,
    left: Lanes<'_, i64>,
    right: Lanes<'_, i64>,
    data_type: Type,
    nulls: Option<&[bool]>,
    rows: usize,
) -> Option<Vec<i64>> {
    let bits = match data_type {
        Type::INT2 => i16::BITS,
        Type::INT4 => i32::BITS,
        Type::INT8 => i64::BITS,
        _ => return None,
    };
    // Of narrow integers nothing wraps, so one look at the extremes is enough.
    if data_type != Type::INT8 {
        let values = match operation {
            Arithmetic::Add => zip(left, right, rows, i64::wrapping_add),
            Arithmetic::Subtract => zip(left, right, rows, i64::wrapping_sub),
            Arithmetic::Multiply => zip(left, right, rows, i64::wrapping_mul),
        };
        // Bits above those of the type, of the distance from its least value.
        let beyond = |value: i64| (value.wrapping_add(1 << (bits - 1)) as u64) >> bits;
        let all = match nulls {
            None => values.iter().fold(0, |all, value| all | beyond(*value)),
            Some(nulls) => {
                let known = values.iter().zip(nulls).map(|(value, null)| if *null { 0 } else { beyond(*value) });
                known.fold(0, |all, beyond| all | beyond)
            }
        };
        return (all == 0).then_some(values);
    }
    let mut has_wrapped = false;
    let mut noted = |(value, wraps): (i64, bool)| {
        has_wrapped |= wraps;
        value
    };
    let values = match operation {
        Arithmetic::Add => zip(left, right, rows, |a, b| noted(a.overflowing_add(b))),
        Arithmetic::Subtract => zip(left, right, rows, |a, b| noted(a.overflowing_sub(b))),
        Arithmetic::Multiply => zip(left, right, rows, |a, b| noted(a.overflowing_mul(b))),
    };
    if !has_wrapped {
        return Some(values);
    }
    // Perhaps where a row has NULL.
    let values = match operation {
        Arithmetic::Add => zip(left, right, rows, i64::checked_add),
        Arithmetic::Subtract => zip(left, right, rows, i64::checked_sub),
        Arithmetic::Multiply => zip(left, right, rows, i64::checked_mul),
    };
    all_of(values, nulls)
}

/// PostgreSQL rounds products beyond; what is near is left to the function.
const MOST_SCALE: u32 = 1000;

/// The largest value without its sign; `None` if it has no positive form.
fn largest(values: &[i128]) -> Option<i128> {
    let (least, most) = values.iter().fold((0, 0), |(least, most), value| (*value.min(&least), *value.max(&most)));
    Some(most.max(least.checked_neg()?))
}

/// Same as [`decimals`], of eight bytes; `None` if results may not fit into as many.
fn short_decimals(
    operation: Arithmetic,
    (left, left_scale): (Lanes<'_, i64>, u32),
    (right, right_scale): (Lanes<'_, i64>, u32),
    rows: usize,
) -> Option<Data> {
    // No value is larger than two to this, without its sign.
    let (left_bits, right_bits) = (bits_of(left.0), bits_of(right.0));
    if operation == Arithmetic::Multiply {
        let scale = Some(left_scale + right_scale).filter(|scale| *scale < MOST_SCALE)?;
        let fits = left_bits + right_bits < i64::BITS - 1;
        return fits.then(|| Data::Decimal(Digits::Short(zip(left, right, rows, i64::wrapping_mul)), scale));
    }
    let scale = left_scale.max(right_scale);
    let left_factor = 10i64.checked_pow(scale - left_scale)?;
    let right_factor = 10i64.checked_pow(scale - right_scale)?;
    let largest = (i128::from(left_factor) << left_bits) + (i128::from(right_factor) << right_bits);
    let fits = largest <= i128::from(i64::MAX);
    let sign = if operation == Arithmetic::Add { right_factor } else { -right_factor };
    let sum = |left: i64, right: i64| left.wrapping_mul(left_factor).wrapping_add(right.wrapping_mul(sign));
    let values = fits.then(|| match left_factor == 1 && right_factor == 1 {
        true if operation == Arithmetic::Add => zip(left, right, rows, i64::wrapping_add),
        true => zip(left, right, rows, i64::wrapping_sub),
        false => zip(left, right, rows, sum),
    });
    values.map(|values| Data::Decimal(Digits::Short(values), scale))
}

/// The scale of a sum is the larger, that of a product the sum of both.
fn decimals(
    operation: Arithmetic,
    (left, left_scale): (Lanes<'_, i128>, u32),
    (right, right_scale): (Lanes<'_, i128>, u32),
    nulls: Option<&[bool]>,
    rows: usize,
) -> Option<Data> {
    let both = largest(left.0).zip(largest(right.0));
    if operation == Arithmetic::Multiply {
        let scale = Some(left_scale + right_scale).filter(|scale| *scale < MOST_SCALE)?;
        let is_small = both.is_some_and(|(left, right)| left.checked_mul(right).is_some());
        let values = match is_small {
            true => zip(left, right, rows, i128::wrapping_mul),
            false => all_of(zip(left, right, rows, i128::checked_mul), nulls)?,
        };
        return Some(Data::Decimal(Digits::Long(values), scale));
    }
    let scale = left_scale.max(right_scale);
    let left_factor = 10i128.checked_pow(scale - left_scale)?;
    let right_factor = 10i128.checked_pow(scale - right_scale)?;
    let sum =
        |(left, right): (i128, i128)| left.checked_mul(left_factor)?.checked_add(right.checked_mul(right_factor)?);
    if both.is_some_and(|both| sum(both).is_some()) {
        let sign = if operation == Arithmetic::Add { right_factor } else { -right_factor };
        let values = zip(left, right, rows, |left, right| left.wrapping_mul(left_factor) + right.wrapping_mul(sign));
        return Some(Data::Decimal(Digits::Long(values), scale));
    }
    let values = zip(left, right, rows, |left, right| {
        let (left, right) = (left.checked_mul(left_factor)?, right.checked_mul(right_factor)?);
        if operation == Arithmetic::Add { left.checked_add(right) } else { left.checked_sub(right) }
    });
    Some(Data::Decimal(Digits::Long(all_of(values, nulls)?), scale))
}

/// A result that is infinite, or zero for a product, may be an error: the function decides.
fn floats(operation: Arithmetic, left: Lanes<'_, f64>, right: Lanes<'_, f64>, rows: usize) -> Option<Vec<f64>> {
    let values = match operation {
        Arithmetic::Add => zip(left, right, rows, |a, b| a + b),
        Arithmetic::Subtract => zip(left, right, rows, |a, b| a - b),
        Arithmetic::Multiply => zip(left, right, rows, |a, b| a * b),
    };
    let is_plain = |value: &f64| value.is_finite() && (operation != Arithmetic::Multiply || *value != 0.0);
    values.iter().all(is_plain).then_some(values)
}

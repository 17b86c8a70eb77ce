//! Which rows of a batch come before a row: those that a sort of the first few still has to look at.

use super::{SortKey, compare_key};
use crate::column::{Column, Data};
use crate::digits::Digits;
use std::cmp::Ordering;
use std::sync::Arc;

/// The rows whose keys come before those of a row of other columns.
pub fn before(keys: &[SortKey], batch: &[Arc<Column>], rows: usize, worst: &[Column], row: usize) -> Vec<u32> {
    let Some((first, column)) = keys.first().zip(batch.first()) else { return Vec::new() };
    // Where the first key is equal, the others decide; without others, the row that came first.
    let or_equal = keys.len() > 1;
    let candidates = match (&column.data, &worst[0].data) {
        (Data::Int(values), Data::Int(of)) if !worst[0].is_null(row) => typed(values, of[row], first, or_equal),
        (Data::Float(values), Data::Float(of)) if !worst[0].is_null(row) && !of[row].is_nan() => {
            floats(values, of[row], first, or_equal)
        }
        (Data::Decimal(values, scale), Data::Decimal(of, other)) if scale == other && !worst[0].is_null(row) => {
            match (values, i64::try_from(of.get(row))) {
                (Digits::Short(values), Ok(of)) => typed(values, of, first, or_equal),
                (values, _) => typed(&values.long(), of.get(row), first, or_equal),
            }
        }
        _ => (0..rows as u32).collect(),
    };
    // What stands where a value is NULL was compared, too.
    let candidates = match &column.nulls {
        Some(nulls) if candidates.len() < rows => {
            let is_candidate = |candidates: &[u32], at: u32| candidates.binary_search(&at).is_ok();
            (0..rows as u32).filter(|at| nulls[*at as usize] || is_candidate(&candidates, *at)).collect()
        }
        _ => candidates,
    };
    let is_before = |at: &u32| {
        let orders = keys.iter().zip(batch.iter().zip(worst));
        let mut orders = orders.map(|(key, (of, worst))| compare_key(key, (of, *at as usize), (worst, row)));
        orders.find(|order| order.is_ne()) == Some(Ordering::Less)
    };
    candidates.into_iter().filter(is_before).collect()
}

fn typed<T: Copy + Ord>(values: &[T], of: T, key: &SortKey, or_equal: bool) -> Vec<u32> {
    match (key.descending, or_equal) {
        (false, false) => chosen(values, |value| value < of),
        (false, true) => chosen(values, |value| value <= of),
        (true, false) => chosen(values, |value| value > of),
        (true, true) => chosen(values, |value| value >= of),
    }
}

/// NaN is greater than all.
fn floats(values: &[f64], of: f64, key: &SortKey, or_equal: bool) -> Vec<u32> {
    match (key.descending, or_equal) {
        (false, false) => chosen(values, |value| value < of),
        (false, true) => chosen(values, |value| value <= of),
        (true, false) => chosen(values, |value| value > of || value.is_nan()),
        (true, true) => chosen(values, |value| value >= of || value.is_nan()),
    }
}

/// The places of the values that hold. Most batches have none: that is found out without a branch a value.
fn chosen<T: Copy>(values: &[T], holds: impl Fn(T) -> bool) -> Vec<u32> {
    let mut chosen = Vec::new();
    for (part, of) in values.chunks(64).enumerate() {
        if of.iter().fold(false, |any, value| any | holds(*value)) {
            let at = of.iter().enumerate().filter(|(_, value)| holds(**value));
            chosen.extend(at.map(|(at, _)| (part * 64 + at) as u32));
        }
    }
    chosen
}

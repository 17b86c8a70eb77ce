//! The order of rows by their keys.
//!
//! Of the first key, eight bytes are compared as one integer; what they leave open is compared value by value. Threads sort parts of the
//! rows, which are merged then.

use super::{SortKey, compare_rows};
use crate::batch::BATCH_ROWS;
use crate::column::{Column, Data};
use crate::digits::Digits;
use crate::threads::Threads;
use pgtypes::memory::check_large;
use pgtypes::{Result, Type, interrupt};
use std::cmp::Ordering;
use std::thread;

/// Rows for which another thread is started.
const WORTH_A_THREAD: usize = 16 * BATCH_ROWS;

/// A row by the first bytes of its first key.
type Prefixed = (u64, u32);

/// What a row takes here, in several pieces: its prefix, alone and with its number, while half of them are merged, and its number.
const ROW_BYTES: usize = size_of::<u64>() + 3 * size_of::<Prefixed>() / 2 + size_of::<u32>();

/// The rows' numbers, sorted; equal rows stay in their order.
///
/// # Errors
/// 57014 and its kin; 53200.
pub fn order(keys: &[(&Column, &SortKey)], rows: usize, threads: &Threads) -> Result<Vec<u32>> {
    check_large(rows * ROW_BYTES)?;
    let Some((column, key)) = keys.first() else { return Ok((0..rows as u32).collect()) };
    let (prefixes, is_exact) = prefixes(column, key);
    let is_decided = is_exact && keys.len() == 1;
    let compare = |left: &Prefixed, right: &Prefixed| {
        let rest = || {
            let rest = if is_decided { Ordering::Equal } else { compare_rows(keys, left.1 as usize, right.1 as usize) };
            rest.then(left.1.cmp(&right.1))
        };
        left.0.cmp(&right.0).then_with(rest)
    };
    let by_row = |row: u32| (prefixes.as_ref().map_or(0, |prefixes| prefixes[row as usize]), row);
    let (nulls, mut others): (Vec<Prefixed>, Vec<Prefixed>) =
        (0..rows as u32).map(by_row).partition(|(_, row)| column.is_null(*row as usize));
    sort(&mut others, &compare, threads)?;
    // The first key of these is the same.
    let mut nulls: Vec<Prefixed> = nulls.into_iter().map(|(_, row)| (0, row)).collect();
    sort(&mut nulls, &compare, threads)?;
    let (first, second) = if key.nulls_first { (nulls, others) } else { (others, nulls) };
    Ok(first.into_iter().chain(second).map(|(_, row)| row).collect())
}

/// Sorts rows, none of which equals another.
fn sort<C>(rows: &mut [Prefixed], compare: &C, threads: &Threads) -> Result<()>
where
    C: Fn(&Prefixed, &Prefixed) -> Ordering + Sync,
{
    let parts = threads.count.min(rows.len() / WORTH_A_THREAD).max(1);
    let length = rows.len().div_ceil(parts).max(1);
    if parts > 1 {
        thread::scope(|scope| {
            let sort = |part| {
                let body = move || {
                    (threads.enter)();
                    runs(part, compare)
                };
                thread::Builder::new().name("vectors sort".to_owned()).spawn_scoped(scope, body)
            };
            let (own, others) = rows.split_at_mut(length);
            let started: Vec<_> = others.chunks_mut(length).map(sort).collect();
            let own = runs(own, compare);
            let join = |handle: thread::ScopedJoinHandle<'_, Result<()>>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            // A part for which the system starts no thread is sorted with the others, below.
            let others: Result<Vec<()>> = started.into_iter().flatten().map(join).collect();
            own.and(others)
        })?;
    } else {
        runs(rows, compare)?;
    }
    merge(rows, length, compare)
}

/// Sorts some rows on this thread: first runs, which are merged then.
fn runs(rows: &mut [Prefixed], compare: &impl Fn(&Prefixed, &Prefixed) -> Ordering) -> Result<()> {
    let length = 64 * BATCH_ROWS;
    for part in rows.chunks_mut(length) {
        interrupt::look()?;
        part.sort_unstable_by(compare);
    }
    merge(rows, length, compare)
}

/// Merges sorted runs of a length, two at a time, so that the statement can be cancelled between: the library's sort finds runs that are
/// there.
fn merge(rows: &mut [Prefixed], mut length: usize, compare: &impl Fn(&Prefixed, &Prefixed) -> Ordering) -> Result<()> {
    while length < rows.len() {
        length *= 2;
        for part in rows.chunks_mut(length) {
            interrupt::look()?;
            part.sort_by(compare);
        }
    }
    Ok(())
}

/// An integer for each value of a key, in the key's order, and whether equal integers are equal values; `None` where there is none. What
/// stands where a value is NULL does not count.
fn prefixes(column: &Column, key: &SortKey) -> (Option<Vec<u64>>, bool) {
    let directed = |prefix: u64| if key.descending { !prefix } else { prefix };
    let data_type = key.expression.data_type();
    let (prefixes, is_exact): (Vec<u64>, bool) = match &column.data {
        Data::Bool(values) => (values.iter().map(|value| directed(u64::from(*value))).collect(), true),
        Data::Int(values) => (values.iter().map(|value| directed(of_integer(*value))).collect(), true),
        Data::Float(values) => (values.iter().map(|value| directed(of_float(*value))).collect(), true),
        Data::Decimal(Digits::Short(values), _) => {
            (values.iter().map(|value| directed(of_integer(*value))).collect(), true)
        }
        Data::Decimal(Digits::Long(values), _) => {
            let is_short = values.iter().all(|value| i64::try_from(*value).is_ok());
            // The first digits of longer ones.
            let shift = if is_short { 0 } else { 64 };
            (values.iter().map(|value| directed(of_integer((*value >> shift) as i64))).collect(), is_short)
        }
        // Blanks at the end of such a text count for nothing, and would be compared with other characters.
        Data::Text(_) if data_type == Type::BPCHAR => return (None, false),
        Data::Text(texts) => ((0..column.len()).map(|row| directed(of_text(texts.get(row)))).collect(), false),
        Data::Datums(_) => return (None, false),
    };
    (Some(prefixes), is_exact)
}

fn of_integer(value: i64) -> u64 {
    value as u64 ^ (1 << 63)
}

/// NaN is above all, and both zeros are one.
fn of_float(value: f64) -> u64 {
    let bits = if value.is_nan() { f64::NAN.to_bits() & (u64::MAX >> 1) } else { (value + 0.0).to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn of_text(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = text.len().min(8);
    bytes[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(bytes)
}

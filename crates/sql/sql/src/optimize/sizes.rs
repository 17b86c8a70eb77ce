//! Sizes of tables and of parts of their indexes, as the engine estimates them when a statement is planned.
//!
//! Nothing is counted at writes and nothing is stored: a table's rows, the entries of a range, and the entries that agree in an
//! index's first columns are estimated from the shape of the engine's trees. None of it is a read of the transaction, so no
//! statement comes to depend on a size (docs/decisions/0073-sizes-are-asked-of-the-indexes.md).

use super::sampled::Hits;
use crate::catalog::{Index, KeyForm, Table};
use crate::plan::Scan;
use crate::storage::{Sample, Samples, eight_byte_key, push_key, read_key};
use crate::store::Store;
use crate::types::{Datum, Type};
use model::{Key, TableId, Tables};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Rows of a table of which nothing is known.
pub const UNKNOWN: f64 = 1000.0;
/// A smaller table counts as so many rows: it may be about to grow, and a plan that reads less of it conflicts less.
const FLOOR: f64 = 100.0;
/// Rows that agree in the first columns of an index, where that cannot be estimated.
const AGREEING: f64 = 10.0;
/// Rows below which a table has no sample: it counts as so many anyway.
const SAMPLED: u64 = 100;
/// Keys of an index that are looked at to estimate how many agree.
const SAMPLE: usize = 8;

/// The sizes that a statement's plan was made with. Each is asked for once.
#[derive(Default)]
pub struct Sizes<'s> {
    engine: Option<&'s dyn Tables>,
    rows: RefCell<BTreeMap<TableId, Option<u64>>>,
    agreeing: RefCell<BTreeMap<(TableId, usize), f64>>,
    kept: Option<&'s Samples>,
    samples: RefCell<BTreeMap<TableId, Option<Arc<Sample>>>>,
    /// The rows of samples for which conditions hold, as far as they have been counted.
    pub(super) hits: RefCell<Vec<Hits>>,
    /// Bytes that the statement may hold; `None`: unknown.
    memory: Option<usize>,
}

/// Tables that a plan depends on by their sizes, with their rows when it was made.
pub type Noted = [(TableId, u64)];

impl<'s> Sizes<'s> {
    /// Sizes of an engine's tables now, and samples of them.
    pub fn of(store: &'s dyn Store, samples: &'s Samples) -> Sizes<'s> {
        Sizes { engine: store.ddl(), kept: Some(samples), ..Sizes::default() }
    }

    /// The sizes for a statement that may hold so many bytes.
    pub fn within(self, bytes: usize) -> Sizes<'s> {
        Sizes { memory: Some(bytes), ..self }
    }

    /// Returns whether a statement may hold so many bytes, as far as is known.
    pub fn has_memory(&self, bytes: f64) -> bool {
        self.memory.is_none_or(|memory| bytes <= memory as f64)
    }

    /// Returns whether the engine stores columns.
    pub fn has_columns(&self) -> bool {
        self.engine.is_some_and(Tables::stores_columns)
    }

    /// A sample of a table that is large; `None` if there is none.
    pub fn sample(&self, table: &Table) -> Option<Arc<Sample>> {
        self.sample_of(table, SAMPLED)
    }

    /// The same, also of a table that is small.
    pub fn sample_of_any(&self, table: &Table) -> Option<Arc<Sample>> {
        self.sample_of(table, 1)
    }

    fn sample_of(&self, table: &Table, least: u64) -> Option<Arc<Sample>> {
        let (engine, kept, id) = (self.engine?, self.kept?, table.storage.id());
        let rows = self.counted(id).filter(|rows| *rows >= least)?;
        self.samples.borrow_mut().entry(id).or_insert_with(|| kept.of(engine, table, rows)).clone()
    }

    /// The tables whose sizes were asked for.
    pub fn noted(&self) -> Vec<(TableId, u64)> {
        self.rows.borrow().iter().filter_map(|(table, rows)| Some((*table, (*rows)?))).collect()
    }

    /// Returns whether the tables of a plan have about as many rows as when it was made: neither ten times as many nor a tenth.
    pub fn are_about(&self, noted: &Noted) -> bool {
        noted.iter().all(|(table, before)| {
            let Some(now) = self.counted(*table) else { return true };
            let (now, before) = ((now as f64).max(FLOOR), (*before as f64).max(FLOOR));
            now < before * 10.0 && before < now * 10.0
        })
    }

    /// About how many rows a table has.
    pub fn rows(&self, table: &Table) -> f64 {
        self.counted(table.storage.id()).map_or(UNKNOWN, |rows| (rows as f64).max(FLOOR))
    }

    /// The same, of a small one, too.
    pub fn counted_rows(&self, table: &Table) -> f64 {
        self.counted(table.storage.id()).map_or(UNKNOWN, |rows| (rows as f64).max(1.0))
    }

    fn counted(&self, table: TableId) -> Option<u64> {
        let engine = self.engine?;
        let count = || engine.estimate_keys(table, Bound::Unbounded, Bound::Unbounded);
        *self.rows.borrow_mut().entry(table).or_insert_with(count)
    }

    /// About how many rows agree in the first columns of an index with a value that occurs there.
    pub fn agreeing(&self, scan: &Scan, index: &Index, columns: usize) -> f64 {
        let table = &*scan.table;
        if columns == 0 {
            return self.rows(table);
        }
        if index.unique && columns >= index.columns.len() {
            return 1.0;
        }
        let (storage, _) = entries(table, index);
        let known = self.agreeing.borrow().get(&(storage, columns)).copied();
        known.unwrap_or_else(|| {
            let found = self.sampled(scan, index, columns).unwrap_or(AGREEING).min(self.rows(table));
            self.agreeing.borrow_mut().insert((storage, columns), found);
            found
        })
    }

    /// The harmonic mean over some entries of how many agree with each: entries divided by distinct values.
    fn sampled(&self, scan: &Scan, index: &Index, columns: usize) -> Option<f64> {
        let (engine, (storage, _)) = (self.engine?, entries(&scan.table, index));
        let types: Vec<Type> = scan.rules.types(&scan.table, index).collect();
        let mut shares = Vec::new();
        for key in engine.sample_keys(storage, SAMPLE) {
            let mut rest: &[u8] = &key;
            for data_type in types.get(..columns)? {
                read_key(&mut rest, *data_type).ok()?;
            }
            let prefix = Key::from_bytes(&key[..key.len() - rest.len()]);
            let end = prefix.successor_of_prefix();
            let upper = end.as_ref().map_or(Bound::Unbounded, |end| Bound::Excluded(&**end));
            let agree = engine.estimate_keys(storage, Bound::Included(&prefix), upper)?;
            shares.push(1.0 / (agree as f64).max(1.0));
        }
        (!shares.is_empty()).then(|| shares.len() as f64 / shares.iter().sum::<f64>())
    }

    /// About which part of a table's rows have these values in the first columns of an index and a value within the bounds in the
    /// next; `None` if the engine cannot tell.
    pub fn part(&self, scan: &Scan, index: &Index, equal: &[&Datum], bounds: Bounds<'_>) -> Option<f64> {
        let (engine, (storage, form)) = (self.engine?, entries(&scan.table, index));
        let all = (self.counted(scan.table.storage.id())? as f64).max(1.0);
        let types: Vec<Type> = scan.rules.types(&scan.table, index).collect();
        let key = |last: Option<&Datum>| encoded(&types, form, equal.iter().copied().chain(last));
        let prefix = key(None)?;
        let end = prefix.successor_of_prefix();
        let lower = match bounds.0 {
            Bound::Unbounded => Bound::Included(prefix),
            Bound::Included(value) => Bound::Included(key(Some(value))?),
            Bound::Excluded(value) => key(Some(value))?.successor_of_prefix().map_or(Bound::Unbounded, Bound::Included),
        };
        let upper = match bounds.1 {
            Bound::Unbounded => end.map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Excluded(value) => Bound::Excluded(key(Some(value))?),
            Bound::Included(value) => key(Some(value))?.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded),
        };
        let bytes = |bound: &'_ Bound<Key>| bound.as_ref().map(|key| key.to_vec());
        let (lower, upper) = (bytes(&lower), bytes(&upper));
        let found = engine.estimate_keys(storage, as_slice(&lower), as_slice(&upper))?;
        Some((found as f64 / all).clamp(0.0, 1.0))
    }
}

/// Bounds of a column's values.
pub type Bounds<'d> = (Bound<&'d Datum>, Bound<&'d Datum>);

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Where an index's entries are, and what their keys are.
fn entries(table: &Table, index: &Index) -> (TableId, KeyForm) {
    let storage = if index.is_row_key() { table.storage } else { index.storage.unwrap_or(table.storage) };
    (storage.id(), storage.key)
}

/// The key of leading values of columns of these types; `None` if no key equals them.
fn encoded<'d>(types: &[Type], form: KeyForm, values: impl Iterator<Item = &'d Datum>) -> Option<Key> {
    let mut key = Key::new();
    for (value, &data_type) in values.zip(types) {
        if form == KeyForm::Eight {
            return eight_byte_key(value).map(|key| Key::from_bytes(&key));
        }
        push_key(&mut key, &narrowed(value, data_type)?, data_type).ok()?;
    }
    Some(key)
}

/// An integer as a value of the column's type; `None` if it does not fit.
fn narrowed(value: &Datum, data_type: Type) -> Option<Datum> {
    let wide = match value {
        Datum::Int2(value) => i64::from(*value),
        Datum::Int4(value) => i64::from(*value),
        Datum::Int8(value) => *value,
        Datum::Null => return None,
        other => return Some(other.clone()),
    };
    match data_type {
        Type::INT2 => wide.try_into().ok().map(Datum::Int2),
        Type::INT4 => wide.try_into().ok().map(Datum::Int4),
        _ => Some(Datum::Int8(wide)),
    }
}

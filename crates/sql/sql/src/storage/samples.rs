//! Samples of tables: some rows of each, by which the optimizer estimates what no index knows.
//!
//! The rows are looked at without a transaction ([`Tables::sample_rows`]), so nothing comes to depend on them: a plan that was chosen by
//! an old sample is a slower plan, and as right as any other (docs/decisions/0153-selectivities-come-from-samples.md).

use super::rows::decode_row;
use crate::catalog::Table;
use crate::types::{Row, Type};
use model::{TableId, Tables};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use vectors::keys::{Keys, is_key_type};
use vectors::{Batch, Column};

/// Rows of a sample, at most.
const ROWS: usize = 256;
/// Fewer rows are no sample, unless they are all that there are: guesses are as good.
const FEWEST: usize = 32;
/// Bytes of the values of a sample, about, at most: a table of long values has a sample of fewer rows.
const BYTES: usize = 256 << 10;
/// Samples that are kept. Beyond them all are forgotten.
const TABLES: usize = 256;
/// Plans that are made by one sample. It is then taken anew, since values change without their number.
const USES: u32 = 256;
/// A sample is taken anew when its table has so many times as many rows, or so many times fewer.
const GROWTH: f64 = 2.0;

/// The samples of an instance's tables.
#[derive(Default)]
pub struct Samples {
    of: Mutex<HashMap<TableId, Arc<Sample>>>,
}

/// Some rows of a table.
pub struct Sample {
    /// The rows, with all columns of the table.
    pub batch: Batch,
    types: Vec<Type>,
    /// The definition's version, and the rows of the table, when it was taken.
    version: u64,
    rows: u64,
    /// Relaxed: a count of plans, by which nothing else is published.
    uses: AtomicU32,
    distinct: Vec<OnceLock<f64>>,
}

impl Samples {
    /// The sample of a table of about so many rows, for one plan; `None` if the engine shows too few.
    pub fn of(&self, engine: &dyn Tables, table: &Table, rows: u64) -> Option<Arc<Sample>> {
        let id = table.storage.id();
        if let Some(known) = self.lock().get(&id).filter(|known| known.serves(table, rows)) {
            return known.is_enough();
        }
        // Taken without the lock: two who need it at once both take it.
        let taken = Arc::new(Sample::take(engine, table, rows));
        let mut all = self.lock();
        if all.len() >= TABLES && !all.contains_key(&id) {
            all.clear();
        }
        all.insert(id, taken.clone());
        taken.is_enough()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TableId, Arc<Sample>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sample {
    fn take(engine: &dyn Tables, table: &Table, rows: u64) -> Sample {
        let types: Vec<Type> = table.columns.iter().map(|column| column.data_type).collect();
        let (mut found, mut bytes): (Vec<Row>, usize) = (Vec::new(), 0);
        engine.sample_rows(table.storage.id(), ROWS, &mut |stored| {
            let mut row = Row::new();
            bytes += stored.bytes().len();
            if bytes > BYTES {
                return ControlFlow::Break(());
            }
            if decode_row(stored, &table.columns, None, &mut row).is_ok() {
                found.push(row);
            }
            ControlFlow::Continue(())
        });
        let distinct = types.iter().map(|_| OnceLock::new()).collect();
        Sample {
            batch: Batch::from_rows(&found, &types),
            types,
            version: table.version,
            rows,
            uses: AtomicU32::new(0),
            distinct,
        }
    }

    /// Counts a use. Returns whether the sample is still one of the table.
    fn serves(&self, table: &Table, rows: u64) -> bool {
        let (now, before) = ((rows as f64).max(1.0), (self.rows as f64).max(1.0));
        self.version == table.version
            && now < before * GROWTH
            && before < now * GROWTH
            && self.uses.fetch_add(1, Relaxed) < USES
    }

    fn is_enough(self: &Arc<Sample>) -> Option<Arc<Sample>> {
        let is_whole = self.batch.rows as u64 >= self.rows.max(1);
        (self.batch.rows >= FEWEST || is_whole).then(|| self.clone())
    }

    /// About how many distinct values a column of the table has; `None` if its values cannot be compared here. NULL is none.
    ///
    /// Source: Haas and Stokes, Estimating the number of classes in a finite population (1998), the estimator Duj1: with `d` distinct
    /// values in a sample of `n` of `N` rows, `once` of them in one row, `n d / (n - once + once n / N)`.
    pub fn distinct(&self, column: usize) -> Option<f64> {
        let (data_type, values) = (*self.types.get(column)?, self.batch.columns.get(column)?);
        let estimate = || duj1(&counts(values, data_type), self.rows as f64);
        is_key_type(data_type).then(|| *self.distinct[column].get_or_init(estimate))
    }
}

/// How often each value but NULL occurs.
fn counts(column: &Arc<Column>, data_type: Type) -> Vec<usize> {
    let keys = Keys::of_columns(&[(column.clone(), data_type)], column.len());
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for row in (0..column.len()).filter(|row| !column.is_null(*row)) {
        *counts.entry(keys.hash(row)).or_default() += 1;
    }
    counts.into_values().collect()
}

fn duj1(counts: &[usize], rows: f64) -> f64 {
    let (sampled, distinct) = (counts.iter().sum::<usize>() as f64, counts.len() as f64);
    let once = counts.iter().filter(|count| **count == 1).count() as f64;
    let part = if rows > 0.0 { (sampled / rows).min(1.0) } else { 1.0 };
    let estimate = sampled * distinct / (sampled - once + once * part);
    if estimate.is_finite() { estimate.clamp(distinct, rows.max(distinct)) } else { distinct.max(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::random::Randomness;

    /// How often each of `values` values occurs in a sample of 256 of `rows` rows, which have them equally often.
    fn sampled(values: u64, rows: u64, seed: u64) -> Vec<usize> {
        let mut random = Randomness::from_seed(seed);
        let mut counts: HashMap<u64, usize> = HashMap::new();
        (0..256).for_each(|_| *counts.entry(random.in_range(0..rows) % values).or_default() += 1);
        counts.into_values().collect()
    }

    #[test]
    fn distinct_values_are_mostly_estimated_within_a_factor_of_three() {
        for (values, rows) in
            [(1, 1_000), (7, 300_000), (100, 300_000), (2_000, 300_000), (10_000, 300_000), (5_000, 5_000)]
        {
            // Of 10,000 values one sample in 27 has none twice, which says nothing of their number.
            let ratio = |seed| duj1(&sampled(values, rows, seed), rows as f64) / values as f64;
            let near = (0..20).filter(|&seed| (1.0 / 3.0..=3.0).contains(&ratio(seed))).count();
            assert!(near >= 17, "{values} of {rows}: {near} of 20");
        }
    }

    #[test]
    fn values_that_are_all_different_are_as_many_as_rows() {
        assert_eq!(duj1(&[1; 256], 300_000.0), 300_000.0);
        assert_eq!(duj1(&[256], 300_000.0), 1.0);
        assert_eq!(duj1(&[], 300_000.0), 1.0, "only NULL");
    }
}

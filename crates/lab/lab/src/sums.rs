//! Sums of a column beside updates: what versions cost a scan by column.
//!
//! Source: HyPer (SIGMOD '15), section 4.1. A table of pairs of integers; updates that add to some of the values, each in several
//! committed versions; a transaction that was open before them keeps the old ones. Then a reader, that one or one which began after the
//! updates, adds up the values of all rows, again and again. In turns with it runs the limit: a sum over as many integers in one array.
//!
//! Each sum is checked. Nothing is recorded: the judges know no scans by column.

use crate::driver::{Extent, RunError};
use crate::engines::{DoorName, Engine, OnEngine};
use crate::machine::{self, OtherPrograms};
use env::Randomness;
use env::time::{Duration, Instant};
use hdrhistogram::Histogram;
use model::columns::{Batch, Summing, Values, batches};
use model::{
    Access, Begin, ColumnType, Columns, Delta, Error, Finish, Interactive, Key, Mode, RowBuf, Scan, Schema, TableId,
    ValueRef,
};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

/// Its name in rows.
pub const NAME: &str = "sums";

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rows.
    pub records: u64,
    /// Rows that are updated, drawn evenly. At most all.
    pub dirty: u64,
    /// How often each of them is updated.
    pub versions: u32,
    /// Who adds up.
    pub reader: ReaderName,
}

/// Who adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReaderName {
    /// A transaction that started before the updates: it reads what they replaced.
    Oldest,
    /// One that started after them: it reads what is in place, past versions that it need not look into.
    Newest,
    /// The same where no other was open: there are no versions. An engine with one transaction at a time has no other.
    Alone,
}

/// Values take eight bytes: none fits into four.
const FIRST_VALUE: i64 = 1 << 40;
const VALUE: u16 = 0;
/// Rows that one transaction loads or updates.
const BATCH: usize = 1000;

/// The table.
pub fn schemas() -> Vec<Schema> {
    vec![Schema::table("pairs").u64_key().column("value", ColumnType::Int).build().expect("a sound schema")]
}

/// A run on an engine.
#[derive(Clone, Debug)]
pub struct Sums {
    /// What is added up.
    pub parameters: Parameters,
    /// How long, or how often.
    pub extent: Extent,
    /// Seed of the rows that are updated.
    pub seed: u64,
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Nanoseconds of each sum by the engine.
    pub sum_ns: Histogram<u64>,
    /// Time of all of them.
    pub elapsed: Duration,
    /// Time of as many sums over an array.
    pub limit: Duration,
    /// Memory of the process at the end. Bytes.
    pub resident_bytes: Option<u64>,
    /// Processors that other programs used meanwhile.
    pub other_cores: Option<f64>,
    /// Replaced versions that were still there at the end, if the engine counts them.
    pub kept_versions: Option<u64>,
}

impl OnEngine for Sums {
    type Output = Result<Outcome, RunError>;

    fn run<E: Engine>(self, engine: E, tables: Vec<TableId>) -> Self::Output {
        let door = engine.interactive().ok_or(RunError::NoDoor(DoorName::Interactive))?;
        let schema = schemas().remove(0);
        let pairs = Pairs { door, table: tables[0], schema: &schema };
        let values: Vec<i64> = (0..self.parameters.records).map(|key| FIRST_VALUE + key as i64).collect();
        pairs.load(&values)?;
        let Parameters { dirty, versions, reader, .. } = self.parameters;
        let mut oldest = (reader != ReaderName::Alone).then(|| pairs.reader()).transpose()?;
        pairs.update(&self.dirty_keys(), versions)?;
        let mut newest = pairs.reader()?;
        let added = match reader {
            ReaderName::Oldest => 0,
            ReaderName::Newest | ReaderName::Alone => (dirty * u64::from(versions)) as i64,
        };
        let reader = match &mut oldest {
            Some(oldest) if reader == ReaderName::Oldest => oldest,
            _ => &mut newest,
        };
        let mut outcome = self.repeat(&values, added, || pairs.sum(reader))?;
        outcome.kept_versions = engine.kept_versions();
        Ok(outcome)
    }
}

impl Sums {
    /// The keys that are updated: all different.
    fn dirty_keys(&self) -> Vec<u64> {
        let mut randomness = Randomness::from_seed(self.seed);
        let mut keys: Vec<u64> = (0..self.parameters.records).collect();
        let dirty = (self.parameters.dirty as usize).min(keys.len());
        for at in 0..dirty {
            let other = randomness.in_range(at as u64..keys.len() as u64) as usize;
            keys.swap(at, other);
        }
        keys.truncate(dirty);
        keys
    }

    /// Adds up, by the engine and in the array in turns, for as long as the extent says.
    fn repeat(
        &self,
        values: &[i64],
        added: i64,
        mut sum: impl FnMut() -> Result<i64, Error>,
    ) -> Result<Outcome, RunError> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let mut sum_ns = Histogram::new_with_bounds(1, HOUR_NS, 3).expect("valid bounds");
        let (mut elapsed, mut limit) = (Duration::ZERO, Duration::ZERO);
        let mut other_programs = OtherPrograms::observe();
        let (mut start, mut is_warm) = (Instant::now(), !matches!(self.extent, Extent::Time { .. }));
        loop {
            if let Extent::Time { warm_up, .. } = self.extent
                && !is_warm
                && start.elapsed() >= warm_up
            {
                sum_ns.reset();
                (start, is_warm, elapsed, limit) = (Instant::now(), true, Duration::ZERO, Duration::ZERO);
                other_programs = OtherPrograms::observe();
            }
            let began = Instant::now();
            let expected = black_box(add_up(black_box(values))).wrapping_add(added);
            let between = Instant::now();
            let found = sum()?;
            let took = between.elapsed();
            if found != expected {
                return Err(RunError::Wrong(format!("the sum is {found} instead of {expected}")));
            }
            sum_ns.saturating_record(took.as_nanos() as u64);
            (elapsed, limit) = (elapsed + took, limit + (between - began));
            let is_over = match self.extent {
                Extent::Time { measured, .. } => is_warm && start.elapsed() >= measured,
                Extent::Transactions(count) | Extent::Operations(count) => sum_ns.len() >= count,
            };
            if is_over {
                break;
            }
        }
        let other_cores = other_programs.and_then(OtherPrograms::cores);
        let resident_bytes = machine::resident_bytes();
        Ok(Outcome { sum_ns, elapsed, limit, resident_bytes, other_cores, kept_versions: None })
    }
}

fn add_up(values: &[i64]) -> i64 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

/// The sum of the one column of a scan, whose integers can all be added up where they lie.
fn sum_in_place(summing: &dyn Summing) -> Result<i64, Error> {
    let (mut sums, mut others) = (model::columns::Sums::new(1), Batch::default());
    while summing.next(&mut sums, &mut others)? {
        debug_assert!(others.is_empty(), "integers are added up");
    }
    Ok(sums.columns[0].digits as i64)
}

/// The table on an engine.
struct Pairs<'a, I> {
    door: &'a I,
    table: TableId,
    schema: &'a Schema,
}

impl<'a, I: Interactive> Pairs<'a, I> {
    fn load(&self, values: &[i64]) -> Result<(), Error> {
        let mut row = RowBuf::new();
        for (batch, values) in values.chunks(BATCH).enumerate() {
            let mut transaction = self.door.begin(Begin::default())?;
            for (at, value) in values.iter().enumerate() {
                let key = Key::from_u64((batch * BATCH + at) as u64);
                row.set_values([ValueRef::Int(*value)].into_iter());
                transaction.insert(self.table, &key, row.row())?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    /// Adds one to the value of each key, so often, each time in another transaction.
    fn update(&self, keys: &[u64], versions: u32) -> Result<(), Error> {
        let one_more = Delta::new().add(VALUE, 1);
        for _ in 0..versions {
            for keys in keys.chunks(BATCH) {
                let mut transaction = self.door.begin(Begin::default())?;
                for key in keys {
                    transaction.update(self.table, &key.to_be_bytes(), &one_more)?;
                }
                transaction.commit()?;
            }
        }
        Ok(())
    }

    /// A transaction that reads what has committed by now.
    fn reader(&self) -> Result<I::Transaction<'a>, Error> {
        let mut reader = self.door.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() })?;
        reader.start()?;
        Ok(reader)
    }

    fn sum(&self, reader: &mut I::Transaction<'a>) -> Result<i64, Error> {
        let Some(shared) = reader.shared_reads() else { return self.sum_of_rows(reader) };
        let view = shared.read_view()?;
        let scan = Scan::table(self.table).columns(Columns::Some(&[VALUE]));
        if let Some(columns) = view.columns() {
            return sum_in_place(&*columns.sum_columns(scan)?);
        }
        let batches = batches(&*view, self.schema, scan)?;
        let (mut batch, mut sum) = (Batch::default(), 0i64);
        while batches.next(&mut batch)? {
            let Values::Int(values) = batch.column(0).values() else { unreachable!("the column has integers") };
            sum = sum.wrapping_add(add_up(values));
        }
        Ok(sum)
    }

    /// The sum on an engine that shares no reads.
    fn sum_of_rows(&self, reader: &mut I::Transaction<'a>) -> Result<i64, Error> {
        let (scan, mut sum) = (Scan::table(self.table).columns(Columns::Some(&[VALUE])), 0i64);
        reader.scan(&scan, &mut |item| {
            sum = sum.wrapping_add(item.row.get(0).as_int().unwrap_or_default());
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::{EngineName, HyperVariant, Settings, on_engine};

    fn run(engine: EngineName, reader: ReaderName) -> Outcome {
        let parameters = Parameters { records: 3000, dirty: 50, versions: 3, reader };
        let sums = Sums { parameters, extent: Extent::Transactions(3), seed: 1 };
        let outcome = on_engine(engine, &Settings::default(), schemas(), sums).expect("an engine in memory");
        outcome.unwrap_or_else(|error| panic!("{engine}: {error}"))
    }

    #[test]
    fn readers_from_before_and_after_the_updates_find_their_sums() {
        for engine in [EngineName::Hyper, EngineName::Mvto] {
            for reader in [ReaderName::Oldest, ReaderName::Newest] {
                let outcome = run(engine, reader);
                assert_eq!(outcome.sum_ns.len(), 3, "{engine}");
                assert!(outcome.elapsed > Duration::ZERO && outcome.limit > Duration::ZERO, "{engine}");
                assert!(
                    outcome.kept_versions.is_some_and(|kept| kept >= 50),
                    "{engine}: the old reader keeps versions"
                );
            }
        }
    }

    #[test]
    fn a_reader_without_others_leaves_no_versions() {
        let hyper = HyperVariant { single_version: true, ..HyperVariant::WHOLE };
        for settings in [Settings::default(), Settings { hyper, ..Settings::default() }] {
            let parameters = Parameters { records: 3000, dirty: 50, versions: 3, reader: ReaderName::Alone };
            let sums = Sums { parameters, extent: Extent::Transactions(3), seed: 1 };
            let outcome = on_engine(EngineName::Hyper, &settings, schemas(), sums).expect("an engine in memory");
            assert_eq!(outcome.expect("the sums are right").kept_versions, Some(0));
        }
    }

    #[test]
    fn a_wrong_sum_ends_the_run() {
        let parameters = Parameters { records: 3, dirty: 0, versions: 0, reader: ReaderName::Newest };
        let sums = Sums { parameters, extent: Extent::Transactions(1), seed: 1 };
        let failed = sums.repeat(&[1, 2, 3], 0, || Ok(7));
        assert!(matches!(failed, Err(RunError::Wrong(_))), "{failed:?}");
    }

    #[test]
    fn dirty_rows_are_all_different() {
        let parameters = Parameters { records: 500, dirty: 400, versions: 1, reader: ReaderName::Newest };
        let sums = Sums { parameters, extent: Extent::Transactions(1), seed: 7 };
        let mut keys = sums.dirty_keys();
        keys.sort_unstable();
        keys.dedup();
        assert!(keys.len() == 400 && keys.iter().all(|key| *key < 500));
    }
}

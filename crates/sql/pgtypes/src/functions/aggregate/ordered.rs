//! Ordered-set aggregates (WITHIN GROUP). The direct argument comes first in each row.

use super::super::Accumulator;
use super::super::arguments::invalid;
use super::super::json::natural_type;
use super::*;
use crate::datetime;

/// The aggregates.
pub(super) static AGGREGATES: &[Aggregate] = &[
    aggregate("mode", &[ANYELEMENT], ANYELEMENT, || Box::new(Mode::default())),
    aggregate("percentile_disc", &[FLOAT8, ANYELEMENT], ANYELEMENT, || Percentile::start(discrete)).called_on_null(),
    aggregate("percentile_disc", &[Type::array_of(Scalar::Float8), ANYELEMENT], ANYARRAY, || {
        Percentile::start(discrete)
    })
    .called_on_null(),
    aggregate("percentile_cont", &[FLOAT8, FLOAT8], FLOAT8, || Percentile::start(continuous)).called_on_null(),
    aggregate("percentile_cont", &[FLOAT8, INTERVAL], INTERVAL, || Percentile::start(continuous)).called_on_null(),
    aggregate("percentile_cont", &[Type::array_of(Scalar::Float8), FLOAT8], Type::array_of(Scalar::Float8), || {
        Percentile::start(continuous)
    })
    .called_on_null(),
    aggregate("percentile_cont", &[Type::array_of(Scalar::Float8), INTERVAL], Type::array_of(Scalar::Interval), || {
        Percentile::start(continuous)
    })
    .called_on_null(),
];

/// The most frequent value; of several the first.
#[derive(Default)]
struct Mode {
    best: Datum,
    best_count: u64,
    last: Datum,
    last_count: u64,
}

impl Accumulator for Mode {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let Some(value) = arguments.first() else { return Ok(()) };
        if self.last.is_null() || self.last.compare(value).is_ne() {
            self.last = value.clone();
            self.last_count = 0;
        }
        self.last_count += 1;
        if self.last_count > self.best_count {
            self.best = self.last.clone();
            self.best_count = self.last_count;
        }
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(self.best.clone())
    }

    fn memory(&self) -> usize {
        bytes_of(&self.best) + bytes_of(&self.last)
    }
}

/// The value at a fraction of sorted ones.
type AtFraction = fn(&[Datum], f64) -> Result<Datum>;

struct Percentile {
    at: AtFraction,
    fraction: Datum,
    values: Vec<Datum>,
    bytes: usize,
}

impl Percentile {
    fn start(at: AtFraction) -> Box<dyn Accumulator> {
        Box::new(Percentile { at, fraction: Datum::Null, values: vec![], bytes: 0 })
    }

    fn one(&self, fraction: &Datum) -> Result<Datum> {
        match fraction.as_f64() {
            None => Ok(Datum::Null),
            Some(fraction) if !(0.0..=1.0).contains(&fraction) => {
                let message = format!("percentile value {fraction} is not between 0 and 1");
                Err(Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message))
            }
            Some(_) if self.values.is_empty() => Ok(Datum::Null),
            Some(fraction) => (self.at)(&self.values, fraction),
        }
    }
}

impl Accumulator for Percentile {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let [fraction, value] = arguments else { return Err(invalid("a percentile needs two arguments")) };
        self.fraction = fraction.clone();
        if !value.is_null() {
            self.bytes += bytes_of(value);
            self.values.push(value.clone());
        }
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        let Datum::Array(fractions) = &self.fraction else { return self.one(&self.fraction) };
        let Some(first) = self.values.first() else { return Ok(Datum::Null) };
        let found = fractions.elements.iter().map(|fraction| self.one(fraction)).collect::<Result<_>>()?;
        Ok(Array::new(natural_type(first).scalar, found).into())
    }

    fn memory(&self) -> usize {
        self.bytes
    }
}

/// The first value at or behind the fraction.
fn discrete(values: &[Datum], fraction: f64) -> Result<Datum> {
    let row = (fraction * values.len() as f64).ceil() as usize;
    Ok(values.get(row.saturating_sub(1)).cloned().unwrap_or_default())
}

/// Between the values on both sides of the fraction.
fn continuous(values: &[Datum], fraction: f64) -> Result<Datum> {
    let place = fraction * (values.len() - 1) as f64;
    let (low, high) = (&values[place.floor() as usize], &values[place.ceil() as usize]);
    let part = place - place.floor();
    match (low, high) {
        _ if part == 0.0 => Ok(low.clone()),
        (Datum::Float8(low), Datum::Float8(high)) => Ok(Datum::Float8(low + part * (high - low))),
        (Datum::Interval(low), Datum::Interval(high)) => {
            let step = datetime::interval_mul(&datetime::interval_sub(high, low)?, part)?;
            datetime::interval_add(low, &step).map(Into::into)
        }
        _ => Err(Error::new(state::INTERNAL_ERROR, "a percentile between values without arithmetic")),
    }
}

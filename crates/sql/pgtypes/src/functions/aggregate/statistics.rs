//! Variances, correlations and regressions.
//!
//! Source: Youngs and Cramer, "Some Results Relevant to Choice of Sum and Sum-of-Product Algorithms", as PostgreSQL 15's
//! `float8_accum` and `float8_regr_accum` compute them, so that the digits agree.

use super::super::Accumulator;
use super::super::arguments::Arguments;
use super::super::math::checked_float;
use super::*;

macro_rules! statistics {
    ($(($name:literal, $finish:expr, $exact:expr)),* ; $(($pair:literal, $finish_pair:expr)),* $(,)?) => {
        &[
            aggregate("avg", &[FLOAT4], FLOAT8, || Box::new(Floats::new(|s| (s.count > 0.0).then(|| s.sum_x / s.count)))),
            aggregate("avg", &[FLOAT8], FLOAT8, || Box::new(Floats::new(|s| (s.count > 0.0).then(|| s.sum_x / s.count)))),
            aggregate("regr_count", &[FLOAT8, FLOAT8], INT8, || Box::new(PairCount(0))),
            $(aggregate($name, &[FLOAT4], FLOAT8, || Box::new(Floats::new($finish))),
            aggregate($name, &[FLOAT8], FLOAT8, || Box::new(Floats::new($finish))),
            aggregate($name, &[INT2], NUMERIC, || Exact::start($exact)),
            aggregate($name, &[INT4], NUMERIC, || Exact::start($exact)),
            aggregate($name, &[INT8], NUMERIC, || Exact::start($exact)),
            aggregate($name, &[NUMERIC], NUMERIC, || Exact::start($exact)),)*
            $(aggregate($pair, &[FLOAT8, FLOAT8], FLOAT8, || Box::new(Floats::new($finish_pair))),)*
        ]
    };
}

/// The aggregates.
pub(super) static AGGREGATES: &[Aggregate] = statistics!(
    ("var_pop", population, Spread { sample: false, root: false }),
    ("var_samp", sample, Spread { sample: true, root: false }),
    ("variance", sample, Spread { sample: true, root: false }),
    ("stddev_pop", |s| population(s).map(f64::sqrt), Spread { sample: false, root: true }),
    ("stddev_samp", |s| sample(s).map(f64::sqrt), Spread { sample: true, root: true }),
    ("stddev", |s| sample(s).map(f64::sqrt), Spread { sample: true, root: true });
    ("covar_pop", |s| (s.count > 0.0).then(|| s.xy / s.count)),
    ("covar_samp", |s| (s.count > 1.0).then(|| s.xy / (s.count - 1.0))),
    ("corr", |s| (s.count > 0.0 && s.xx != 0.0 && s.yy != 0.0).then(|| s.xy / (s.xx * s.yy).sqrt())),
    ("regr_sxx", |s| (s.count > 0.0).then_some(s.xx)),
    ("regr_syy", |s| (s.count > 0.0).then_some(s.yy)),
    ("regr_sxy", |s| (s.count > 0.0).then_some(s.xy)),
    ("regr_avgx", |s| (s.count > 0.0).then(|| s.sum_x / s.count)),
    ("regr_avgy", |s| (s.count > 0.0).then(|| s.sum_y / s.count)),
    ("regr_slope", |s| (s.count > 0.0 && s.xx != 0.0).then(|| s.xy / s.xx)),
    ("regr_intercept", |s| {
        (s.count > 0.0 && s.xx != 0.0).then(|| (s.sum_y - s.sum_x * s.xy / s.xx) / s.count)
    }),
    ("regr_r2", |s| match s {
        s if s.count < 1.0 || s.xx == 0.0 => None,
        s if s.yy == 0.0 => Some(1.0),
        s => Some((s.xy * s.xy) / (s.xx * s.yy)),
    }),
);

fn population(sums: &Sums) -> Option<f64> {
    (sums.count > 0.0).then(|| sums.xx / sums.count)
}

fn sample(sums: &Sums) -> Option<f64> {
    (sums.count > 1.0).then(|| sums.xx / (sums.count - 1.0))
}

/// Count, sums, and sums of products of the deviations from the means.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    sum_x: f64,
    sum_y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

/// Floats, or pairs of them (the dependent variable first).
struct Floats {
    sums: Sums,
    finish: fn(&Sums) -> Option<f64>,
}

impl Floats {
    fn new(finish: fn(&Sums) -> Option<f64>) -> Floats {
        Floats { sums: Sums::default(), finish }
    }
}

impl Sums {
    /// Adds one number.
    fn add(&mut self, x: f64) -> Result<()> {
        let before = self.sum_x;
        self.count += 1.0;
        self.sum_x += x;
        if self.count > 1.0 {
            let deviation = x * self.count - self.sum_x;
            self.xx += deviation * deviation / (self.count * (self.count - 1.0));
        }
        self.settle(before, x, |sums| (sums.sum_x, &mut sums.xx))
    }

    /// Adds a pair. The quotient is taken once, as PostgreSQL does here and not above: the last digits depend on it.
    fn add_pair(&mut self, x: f64, y: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if self.count > 1.0 {
            let (dx, dy) = (x * self.count - self.sum_x, y * self.count - self.sum_y);
            let scale = 1.0 / (self.count * (self.count - 1.0));
            self.xx += dx * dx * scale;
            self.yy += dy * dy * scale;
            self.xy += dx * dy * scale;
        }
        self.settle(before.sum_x, x, |sums| (sums.sum_x, &mut sums.xx))?;
        self.settle(before.sum_y, y, |sums| (sums.sum_y, &mut sums.yy))
    }

    /// An overflow is an error, unless an infinity was added: then deviations are not numbers.
    fn settle(&mut self, before: f64, added: f64, of: fn(&mut Sums) -> (f64, &mut f64)) -> Result<()> {
        let (sum, deviations) = of(self);
        if sum.is_infinite() || deviations.is_infinite() || !added.is_finite() {
            checked_float(sum.abs().max(deviations.abs()), !before.is_finite() || !added.is_finite(), true)?;
            *deviations = f64::NAN;
            self.xy = f64::NAN;
        }
        Ok(())
    }
}

impl Accumulator for Floats {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let number = |at: usize| arguments.get(at).and_then(Datum::as_f64);
        match (number(0), number(1)) {
            (Some(y), Some(x)) => self.sums.add_pair(x, y),
            (Some(x), None) => self.sums.add(x),
            _ => Ok(()),
        }
    }

    fn value(&self) -> Result<Datum> {
        Ok((self.finish)(&self.sums).into())
    }
}

struct PairCount(i64);

impl Accumulator for PairCount {
    fn add(&mut self, _: &[Datum]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(Datum::Int8(self.0))
    }
}

/// Which variance, and whether its root.
#[derive(Clone, Copy)]
struct Spread {
    sample: bool,
    root: bool,
}

/// Integers and numerics: exact sums of the values and their squares.
struct Exact {
    spread: Spread,
    count: i64,
    sum: Numeric,
    squares: Numeric,
}

impl Exact {
    fn start(spread: Spread) -> Box<dyn Accumulator> {
        Box::new(Exact { spread, count: 0, sum: Numeric::zero(), squares: Numeric::zero() })
    }
}

impl Accumulator for Exact {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let integer = arguments.first().and_then(Datum::as_i64).map(Numeric::from);
        let value = match integer {
            Some(value) => value,
            None => arguments.numeric(0)?.clone(),
        };
        self.count += 1;
        self.sum = self.sum.add(&value)?;
        self.squares = self.squares.add(&value.mul(&value)?)?;
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        let fewest = if self.spread.sample { 2 } else { 1 };
        if self.count < fewest {
            return Ok(Datum::Null);
        }
        if !self.sum.is_finite() || !self.squares.is_finite() {
            return Ok(Datum::Numeric(Numeric::NaN));
        }
        let count = Numeric::from(self.count);
        let numerator = count.mul(&self.squares)?.sub(&self.sum.mul(&self.sum)?)?;
        if numerator.signum() <= 0 {
            return Ok(Datum::Numeric(Numeric::zero()));
        }
        let others = if self.spread.sample { Numeric::from(self.count - 1) } else { count.clone() };
        let variance = numerator.div(&count.mul(&others)?)?;
        if !self.spread.root {
            return Ok(variance.into());
        }
        let scale = variance.scale().and_then(|scale| i32::try_from(scale).ok()).unwrap_or(0);
        variance.sqrt()?.round(scale).map(Datum::Numeric)
    }

    fn memory(&self) -> usize {
        128
    }
}

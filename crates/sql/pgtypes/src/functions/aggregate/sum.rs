//! Sums and averages. They are exact for exact types.

use super::super::Accumulator;
use super::super::arguments::{Arguments, out_of_range};
use super::super::math::checked_float;
use super::*;
use crate::datetime;
use std::marker::PhantomData;

/// The aggregates.
pub(super) static AGGREGATES: &[Aggregate] = &[
    aggregate("sum", &[INT2], INT8, || Integers::<SmallSum>::start()),
    aggregate("sum", &[INT4], INT8, || Integers::<SmallSum>::start()),
    aggregate("sum", &[INT8], NUMERIC, || Integers::<BigSum>::start()),
    aggregate("sum", &[NUMERIC], NUMERIC, || Numerics::<false>::start()),
    aggregate("sum", &[FLOAT4], FLOAT4, || Box::new(SingleSum(None))),
    aggregate("sum", &[FLOAT8], FLOAT8, || Box::new(DoubleSum(None))),
    aggregate("sum", &[INTERVAL], INTERVAL, || Intervals::<false>::start()),
    aggregate("avg", &[INT2], NUMERIC, || Integers::<Average>::start()),
    aggregate("avg", &[INT4], NUMERIC, || Integers::<Average>::start()),
    aggregate("avg", &[INT8], NUMERIC, || Integers::<Average>::start()),
    aggregate("avg", &[NUMERIC], NUMERIC, || Numerics::<true>::start()),
    aggregate("avg", &[INTERVAL], INTERVAL, || Intervals::<true>::start()),
];

/// Integers of any width, summed beyond every width.
struct Integers<F> {
    sum: i128,
    count: i64,
    form: PhantomData<F>,
}

/// Result of a sum of integers.
trait Form: Send + 'static {
    fn finish(sum: i128, count: i64) -> Result<Datum>;
}

struct SmallSum;
struct BigSum;
struct Average;

impl Form for SmallSum {
    fn finish(sum: i128, _: i64) -> Result<Datum> {
        i64::try_from(sum).map(Datum::Int8).map_err(|_| out_of_range("bigint"))
    }
}

impl Form for BigSum {
    fn finish(sum: i128, _: i64) -> Result<Datum> {
        Ok(Numeric::from(sum).into())
    }
}

impl Form for Average {
    fn finish(sum: i128, count: i64) -> Result<Datum> {
        Numeric::from(sum).div(&Numeric::from(count)).map(Datum::Numeric)
    }
}

impl<F: Form> Integers<F> {
    fn start() -> Box<dyn Accumulator> {
        Box::new(Integers::<F> { sum: 0, count: 0, form: PhantomData })
    }
}

impl<F: Form> Accumulator for Integers<F> {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if let Some(value) = arguments.first().and_then(Datum::as_i64) {
            self.sum += i128::from(value);
            self.count += 1;
        }
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        if self.count == 0 { Ok(Datum::Null) } else { F::finish(self.sum, self.count) }
    }
}

/// Numerics; their average if so.
struct Numerics<const AVERAGE: bool> {
    sum: Option<Numeric>,
    count: i64,
}

impl<const AVERAGE: bool> Numerics<AVERAGE> {
    fn start() -> Box<dyn Accumulator> {
        Box::new(Numerics::<AVERAGE> { sum: None, count: 0 })
    }
}

impl<const AVERAGE: bool> Accumulator for Numerics<AVERAGE> {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let value = arguments.numeric(0)?;
        self.sum = Some(match &self.sum {
            None => value.clone(),
            Some(sum) => sum.add(value)?,
        });
        self.count += 1;
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        match &self.sum {
            Some(sum) if AVERAGE => sum.div(&Numeric::from(self.count)).map(Datum::Numeric),
            sum => Ok(sum.clone().into()),
        }
    }

    fn memory(&self) -> usize {
        64
    }
}

/// Floats, added in their own width one after another.
macro_rules! float_sum {
    ($name:ident, $float:ty, $get:ident) => {
        struct $name(Option<$float>);

        impl Accumulator for $name {
            fn add(&mut self, arguments: &[Datum]) -> Result<()> {
                let value = arguments.$get(0)?;
                self.0 = Some(match self.0 {
                    None => value,
                    Some(sum) => checked_float(sum + value, sum.is_infinite() || value.is_infinite(), true)?,
                });
                Ok(())
            }

            fn value(&self) -> Result<Datum> {
                Ok(self.0.into())
            }
        }
    };
}
float_sum!(SingleSum, f32, float4);
float_sum!(DoubleSum, f64, float8);

/// Intervals; their average if so.
struct Intervals<const AVERAGE: bool> {
    sum: Option<Interval>,
    count: i64,
}

impl<const AVERAGE: bool> Intervals<AVERAGE> {
    fn start() -> Box<dyn Accumulator> {
        Box::new(Intervals::<AVERAGE> { sum: None, count: 0 })
    }
}

impl<const AVERAGE: bool> Accumulator for Intervals<AVERAGE> {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let value = arguments.interval(0)?;
        self.sum = Some(match &self.sum {
            None => *value,
            Some(sum) => datetime::interval_add(sum, value)?,
        });
        self.count += 1;
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        match &self.sum {
            Some(sum) if AVERAGE => datetime::interval_div(sum, self.count as f64).map(Into::into),
            sum => Ok((*sum).into()),
        }
    }
}

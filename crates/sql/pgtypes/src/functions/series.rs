//! `generate_series`: values are made one by one, so that memory does not grow with the length of the series.

use super::arguments::{Arguments, invalid};
use super::table::*;
use crate::datetime as dt;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    series("generate_series", &[INT4, INT4], INT4, |_, a| {
        integers(a.int4(0)?.into(), a.int4(1)?.into(), 1, i32::MAX.into(), |value| Datum::Int4(value as i32))
    }),
    series("generate_series", &[INT4, INT4, INT4], INT4, |_, a| {
        let step = a.int4(2)?.into();
        integers(a.int4(0)?.into(), a.int4(1)?.into(), step, i32::MAX.into(), |v| Datum::Int4(v as i32))
    }),
    series("generate_series", &[INT8, INT8], INT8, |_, a| integers(a.int8(0)?, a.int8(1)?, 1, i64::MAX, Datum::Int8)),
    series("generate_series", &[INT8, INT8, INT8], INT8, |_, a| {
        integers(a.int8(0)?, a.int8(1)?, a.int8(2)?, i64::MAX, Datum::Int8)
    }),
    series("generate_series", &[NUMERIC, NUMERIC], NUMERIC, |_, a| {
        numerics(a.numeric(0)?, a.numeric(1)?, &Numeric::from(1))
    }),
    series("generate_series", &[NUMERIC, NUMERIC, NUMERIC], NUMERIC, |_, a| {
        numerics(a.numeric(0)?, a.numeric(1)?, a.numeric(2)?)
    }),
    series("generate_series", &[TIMESTAMP, TIMESTAMP, INTERVAL], TIMESTAMP, |_, a| {
        let step = *a.interval(2)?;
        let next = move |at| dt::timestamp_add(at, &step);
        timestamps(a.timestamp(0)?, a.timestamp(1)?, &step, next, Datum::Timestamp)
    }),
    series("generate_series", &[TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, |env, a| {
        let step = *a.interval(2)?;
        let zone = env.styles().zone;
        let next = move |at| dt::timestamptz_add(at, &step, &zone);
        timestamps(a.timestamp(0)?, a.timestamp(1)?, &step, next, Datum::Timestamptz)
    })
    .stable(),
];

fn zero_step() -> Error {
    invalid("step size cannot equal zero")
}

/// The series ends where the integer type does, as when a sum would overflow.
fn integers(start: i64, stop: i64, step: i64, greatest: i64, datum: fn(i64) -> Datum) -> Result<Series> {
    if step == 0 {
        return Err(zero_step());
    }
    let mut at = Some(start);
    Ok(Box::new(move || {
        let Some(value) = at.filter(|value| if step > 0 { *value <= stop } else { *value >= stop }) else {
            return Ok(None);
        };
        at = value.checked_add(step).filter(|next| (-greatest - 1..=greatest).contains(next));
        Ok(Some(datum(value)))
    }))
}

fn numerics(start: &Numeric, stop: &Numeric, step: &Numeric) -> Result<Series> {
    for (name, value) in [("start", start), ("stop", stop), ("step", step)] {
        if !value.is_finite() {
            let what = if value.is_nan() { "NaN" } else { "infinity" };
            let name = if name == "step" { "step size".to_owned() } else { format!("{name} value") };
            return Err(invalid(format!("{name} cannot be {what}")));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    let rising = step.signum() > 0;
    let (mut at, stop, step) = (start.clone(), stop.clone(), step.clone());
    Ok(Box::new(move || {
        let order = at.compare(&stop);
        if if rising { order.is_gt() } else { order.is_lt() } {
            return Ok(None);
        }
        let next = at.add(&step)?;
        Ok(Some(std::mem::replace(&mut at, next).into()))
    }))
}

fn timestamps(
    start: i64,
    stop: i64,
    step: &Interval,
    next: impl Fn(i64) -> Result<i64> + Send + 'static,
    datum: fn(i64) -> Datum,
) -> Result<Series> {
    let direction = Datum::from(*step).compare(&Datum::from(Interval::default()));
    if direction.is_eq() {
        return Err(zero_step());
    }
    let mut at = start;
    Ok(Box::new(move || {
        if if direction.is_gt() { at > stop } else { at < stop } {
            return Ok(None);
        }
        let value = at;
        at = next(value)?;
        // Of an infinity nothing comes next but itself.
        if at == value {
            let message = "timestamp out of range";
            return Err(Error::new(state::DATETIME_FIELD_OVERFLOW, message));
        }
        Ok(Some(datum(value)))
    }))
}

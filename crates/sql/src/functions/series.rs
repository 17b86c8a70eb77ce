//! `generate_series`

use super::arguments::{Arguments, invalid};
use super::table::*;
use crate::types::datetime as dt;

/// How many values are made between looks at the statement's limits.
const CHUNK: usize = 4096;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    set("generate_series", &[INT4, INT4], INT4, |context, a| {
        integers(context, a.int4(0)?.into(), a.int4(1)?.into(), 1, i32::MAX.into(), |value| Datum::Int4(value as i32))
    }),
    set("generate_series", &[INT4, INT4, INT4], INT4, |context, a| {
        let step = a.int4(2)?.into();
        integers(context, a.int4(0)?.into(), a.int4(1)?.into(), step, i32::MAX.into(), |v| Datum::Int4(v as i32))
    }),
    set("generate_series", &[INT8, INT8], INT8, |context, a| {
        integers(context, a.int8(0)?, a.int8(1)?, 1, i64::MAX, Datum::Int8)
    }),
    set("generate_series", &[INT8, INT8, INT8], INT8, |context, a| {
        integers(context, a.int8(0)?, a.int8(1)?, a.int8(2)?, i64::MAX, Datum::Int8)
    }),
    set("generate_series", &[NUMERIC, NUMERIC], NUMERIC, |context, a| {
        numerics(context, a.numeric(0)?, a.numeric(1)?, &Numeric::from(1))
    }),
    set("generate_series", &[NUMERIC, NUMERIC, NUMERIC], NUMERIC, |context, a| {
        numerics(context, a.numeric(0)?, a.numeric(1)?, a.numeric(2)?)
    }),
    set("generate_series", &[TIMESTAMP, TIMESTAMP, INTERVAL], TIMESTAMP, |context, a| {
        let step = *a.interval(2)?;
        let next = |at| dt::timestamp_add(at, &step);
        timestamps(context, a.timestamp(0)?, a.timestamp(1)?, &step, next, Datum::Timestamp)
    }),
    set("generate_series", &[TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ, |context, a| {
        let step = *a.interval(2)?;
        let zone = context.session.styles().zone;
        let next = |at| dt::timestamptz_add(at, &step, &zone);
        timestamps(context, a.timestamp(0)?, a.timestamp(1)?, &step, next, Datum::Timestamptz)
    })
    .stable(),
];

/// Collects values, looking at the limit on memory and at cancel requests from time to time.
fn collect(context: &mut Context<'_>, mut next: impl FnMut() -> Result<Option<Datum>>) -> Result<Vec<Datum>> {
    let mut values = Vec::new();
    let mut taken = 0;
    while let Some(value) = next()? {
        if values.len().is_multiple_of(CHUNK) {
            context.check_cancel()?;
            let bytes = CHUNK * size_of::<Datum>();
            context.memory.take(bytes)?;
            taken += bytes;
        }
        values.push(value);
    }
    // Whoever keeps the values counts them.
    context.memory.give_back(taken);
    Ok(values)
}

fn zero_step() -> SqlError {
    invalid("step size cannot equal zero")
}

/// The series ends where the integer type does, as when a sum would overflow.
fn integers(
    context: &mut Context<'_>,
    start: i64,
    stop: i64,
    step: i64,
    greatest: i64,
    datum: fn(i64) -> Datum,
) -> Result<Vec<Datum>> {
    if step == 0 {
        return Err(zero_step());
    }
    let mut at = Some(start);
    collect(context, || {
        let Some(value) = at.filter(|value| if step > 0 { *value <= stop } else { *value >= stop }) else {
            return Ok(None);
        };
        at = value.checked_add(step).filter(|next| (-greatest - 1..=greatest).contains(next));
        Ok(Some(datum(value)))
    })
}

fn numerics(context: &mut Context<'_>, start: &Numeric, stop: &Numeric, step: &Numeric) -> Result<Vec<Datum>> {
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
    let mut at = start.clone();
    collect(context, || {
        let order = at.compare(stop);
        if if rising { order.is_gt() } else { order.is_lt() } {
            return Ok(None);
        }
        let next = at.add(step)?;
        Ok(Some(std::mem::replace(&mut at, next).into()))
    })
}

fn timestamps(
    context: &mut Context<'_>,
    start: i64,
    stop: i64,
    step: &Interval,
    next: impl Fn(i64) -> Result<i64>,
    datum: fn(i64) -> Datum,
) -> Result<Vec<Datum>> {
    let direction = Datum::from(*step).compare(&Datum::from(Interval::default()));
    if direction.is_eq() {
        return Err(zero_step());
    }
    let mut at = start;
    collect(context, || {
        if if direction.is_gt() { at > stop } else { at < stop } {
            return Ok(None);
        }
        let value = at;
        at = next(value)?;
        // Of an infinity nothing comes next but itself.
        if at == value {
            let message = "timestamp out of range";
            return Err(SqlError::new(state::DATETIME_FIELD_OVERFLOW, message));
        }
        Ok(Some(datum(value)))
    })
}

//! Counts, extremes, booleans and bits.

use super::super::Accumulator;
use super::super::arguments::{Arguments, out_of_range};
use super::*;
use crate::compare_typed;
use std::cmp::Ordering;

macro_rules! extremes {
    ($($data_type:expr),* $(,)?) => {
        &[
            aggregate("count", &[], INT8, || Box::new(Count(0))).called_on_null(),
            aggregate("count", &[ANY], INT8, || Box::new(Count(0))),
            $(aggregate("min", &[$data_type], $data_type, || Box::new(Extreme::new($data_type, Ordering::Less))),
            aggregate("max", &[$data_type], $data_type, || Box::new(Extreme::new($data_type, Ordering::Greater))),)*
            aggregate("bool_and", &[BOOL], BOOL, || Box::new(Fold::new(all))),
            aggregate("every", &[BOOL], BOOL, || Box::new(Fold::new(all))),
            aggregate("bool_or", &[BOOL], BOOL, || Box::new(Fold::new(any))),
            bits!("bit_and", INT2, int2, &),
            bits!("bit_and", INT4, int4, &),
            bits!("bit_and", INT8, int8, &),
            bits!("bit_or", INT2, int2, |),
            bits!("bit_or", INT4, int4, |),
            bits!("bit_or", INT8, int8, |),
            bits!("bit_xor", INT2, int2, ^),
            bits!("bit_xor", INT4, int4, ^),
            bits!("bit_xor", INT8, int8, ^),
        ]
    };
}

macro_rules! bits {
    ($name:literal, $data_type:expr, $get:ident, $operator:tt) => {
        aggregate($name, &[$data_type], $data_type, || {
            Box::new(Fold::new(|a| Ok(Datum::from(a.$get(0)? $operator a.$get(1)?))))
        })
    };
}

/// The aggregates.
pub(super) static AGGREGATES: &[Aggregate] = extremes!(
    INT2,
    INT4,
    INT8,
    FLOAT4,
    FLOAT8,
    NUMERIC,
    TEXT,
    BPCHAR,
    DATE,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    INTERVAL,
    OID,
    ANYARRAY,
    ANYENUM,
);

fn all(a: &[Datum]) -> Result<Datum> {
    Ok((a.boolean(0)? && a.boolean(1)?).into())
}

fn any(a: &[Datum]) -> Result<Datum> {
    Ok((a.boolean(0)? || a.boolean(1)?).into())
}

struct Count(i64);

impl Accumulator for Count {
    fn add(&mut self, _: &[Datum]) -> Result<()> {
        self.0 = self.0.checked_add(1).ok_or_else(|| out_of_range("bigint"))?;
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(Datum::Int8(self.0))
    }
}

/// The value that comes first, or last, in the type's order.
struct Extreme {
    data_type: Type,
    wanted: Ordering,
    value: Datum,
}

impl Extreme {
    fn new(data_type: Type, wanted: Ordering) -> Extreme {
        Extreme { data_type, wanted, value: Datum::Null }
    }
}

impl Accumulator for Extreme {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let Some(value) = arguments.first() else { return Ok(()) };
        if self.value.is_null() || compare_typed(self.data_type, value, &self.value) == self.wanted {
            self.value = value.clone();
        }
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(self.value.clone())
    }

    fn memory(&self) -> usize {
        bytes_of(&self.value)
    }
}

/// The values, two by two through a function.
struct Fold {
    step: PureBody,
    value: Datum,
}

impl Fold {
    fn new(step: PureBody) -> Fold {
        Fold { step, value: Datum::Null }
    }
}

impl Accumulator for Fold {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let Some(value) = arguments.first() else { return Ok(()) };
        self.value = match std::mem::take(&mut self.value) {
            Datum::Null => value.clone(),
            so_far => (self.step)(&[so_far, value.clone()])?,
        };
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(self.value.clone())
    }
}

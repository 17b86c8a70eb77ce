//! Types written as functions, and tests of types and NULLs.

use super::arguments::count;
use super::table::*;
use crate::{Modifier, cast};

macro_rules! cast_functions {
    ($($name:literal => $target:expr),* $(,)?) => {
        /// Types written as functions: `date(now())`.
        pub(super) static CASTS: &[Function] = &[
            $(typed($name, &[ANY], $target, |env, types, a| {
                cast::cast(&a[0], types[0], $target, Modifier::NONE, true, &env.styles())
            }),)*
        ];
    };
}
cast_functions!(
    "bool" => BOOL, "int2" => INT2, "int4" => INT4, "int8" => INT8, "float4" => FLOAT4, "float8" => FLOAT8,
    "numeric" => NUMERIC, "text" => TEXT, "varchar" => VARCHAR, "bpchar" => BPCHAR, "name" => NAME, "date" => DATE,
    "time" => TIME, "timestamp" => TIMESTAMP, "timestamptz" => TIMESTAMPTZ, "interval" => INTERVAL, "oid" => OID,
);

/// Questions about arguments of any type.
pub(super) static TYPES: &[Function] = &[
    typed("pg_typeof", &[ANY], REGTYPE, |_, types, _| Ok(Datum::Oid(types[0].oid()))).called_on_null(),
    pure("num_nulls", &[], INT4, |a| count(a.iter().filter(|value| value.is_null()).count()))
        .variadic(ANY)
        .called_on_null(),
    pure("num_nonnulls", &[], INT4, |a| count(a.iter().filter(|value| !value.is_null()).count()))
        .variadic(ANY)
        .called_on_null(),
];

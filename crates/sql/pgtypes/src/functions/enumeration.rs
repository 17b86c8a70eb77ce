//! Functions of enums. They look at the type of their arguments alone where these are NULL.

use super::table::*;
use crate::defined;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    typed("enum_first", &[ANYENUM], ANYENUM, |_, types, _| Ok(labels(types[0]).into_iter().next().unwrap_or_default()))
        .called_on_null(),
    typed("enum_last", &[ANYENUM], ANYENUM, |_, types, _| Ok(labels(types[0]).pop().unwrap_or_default()))
        .called_on_null(),
    typed("enum_range", &[ANYENUM], ANYARRAY, |_, types, _| Ok(Array::new(types[0].scalar, labels(types[0])).into()))
        .called_on_null(),
    typed("enum_range", &[ANYENUM, ANYENUM], ANYARRAY, |_, types, a| {
        let is_within = |label: &Datum| {
            (a[0].is_null() || label.compare(&a[0]).is_ge()) && (a[1].is_null() || label.compare(&a[1]).is_le())
        };
        Ok(Array::new(types[0].scalar, labels(types[0]).into_iter().filter(is_within).collect()).into())
    })
    .called_on_null(),
];

/// The labels of an enum, in its order.
fn labels(data_type: Type) -> Vec<Datum> {
    let Scalar::Enum(oid) = data_type.scalar else { return Vec::new() };
    let found = defined::find(oid);
    found.into_iter().flat_map(|found| found.labels.iter().cloned().map(Datum::Enum).collect::<Vec<_>>()).collect()
}

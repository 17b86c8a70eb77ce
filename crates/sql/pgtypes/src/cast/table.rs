//! `pg_cast`.

use super::{CastContext, Method};
use crate::Scalar;

/// The cast between two scalars, if there is one of its own.
pub(super) fn find(from: Scalar, to: Scalar) -> Option<(CastContext, Method)> {
    use CastContext::{Assignment, Explicit, Implicit};
    use Method::{Function, Same};
    use Scalar::*;
    Some(match (from, to) {
        (Int2, Int4 | Int8 | Float4 | Float8 | Numeric)
        | (Int4, Int8 | Float4 | Float8 | Numeric)
        | (Int8, Float4 | Float8 | Numeric)
        | (Numeric, Float4 | Float8)
        | (Float4, Float8) => (Implicit, Function),
        (Int4, Int2)
        | (Int8, Int2 | Int4)
        | (Numeric, Int2 | Int4 | Int8)
        | (Float4, Int2 | Int4 | Int8 | Numeric)
        | (Float8, Int2 | Int4 | Int8 | Numeric | Float4) => (Assignment, Function),
        (Bool, Int4) | (Int4, Bool) | (Char, Int4) | (Int4, Char) => (Explicit, Function),
        (Int2 | Int4 | Int8, Oid) => (Implicit, Function),
        (Int2 | Int4 | Int8, to) if to.is_reg() => (Implicit, Function),
        (Oid, to) if to.is_reg() => (Implicit, Same),
        (from, Oid) if from.is_reg() => (Implicit, Same),
        (Regproc, Regprocedure) | (Regprocedure, Regproc) | (Regoper, Regoperator) | (Regoperator, Regoper) => {
            (Implicit, Same)
        }
        (Oid, Int4 | Int8) => (Assignment, Function),
        (from, Int4 | Int8) if from.is_reg() => (Assignment, Function),
        (Text | Varchar, Regclass) => (Implicit, Method::Text),
        (Text, Varchar) | (Varchar, Text) | (Text | Varchar, Bpchar) | (PgNodeTree, Text) => (Implicit, Same),
        (Bpchar, Text | Varchar) => (Implicit, Function),
        (Text | Varchar | Bpchar, Name) => (Implicit, Function),
        (Name, Text) => (Implicit, Same),
        (Name, Varchar | Bpchar) => (Assignment, Same),
        (Char, Text) => (Implicit, Same),
        (Char, Varchar | Bpchar) => (Assignment, Same),
        (Text | Varchar | Bpchar, Char) => (Assignment, Function),
        (Bool, Text | Varchar | Bpchar) => (Assignment, Function),
        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) | (Time, Interval) => (Implicit, Function),
        (Timestamp, Date | Time) | (Timestamptz, Date | Time | Timestamp) | (Interval, Time) => (Assignment, Function),
        (Json, Jsonb) => (Assignment, Method::Text),
        (Jsonb, Json) => (Assignment, Same),
        (Jsonb, Bool | Int2 | Int4 | Int8 | Float4 | Float8 | Numeric) => (Explicit, Function),
        _ => return None,
    })
}

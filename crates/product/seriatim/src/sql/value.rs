//! Conversions between values of Rust and of SQL.

use crate::{Date, DateTime};
use ::sql::types::{Datum, Styles, text};

/// A value that can be a parameter. Its text is read as the type that the statement expects there.
pub trait ToSql {
    /// The value's text; `None` for NULL.
    fn to_sql(&self) -> Option<String>;
}

macro_rules! to_sql_by_display {
    ($($kind:ty),*) => {$(
        impl ToSql for $kind {
            fn to_sql(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}
to_sql_by_display!(bool, i16, i32, i64, u8, u16, u32, f32, f64, str, &str, String, Date, DateTime);

impl ToSql for [u8; 16] {
    /// As a uuid: 32 hexadecimal digits.
    fn to_sql(&self) -> Option<String> {
        Some(self.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl ToSql for [u8] {
    fn to_sql(&self) -> Option<String> {
        let digits = self.iter().map(|byte| format!("{byte:02x}"));
        Some(std::iter::once("\\x".to_owned()).chain(digits).collect())
    }
}

impl ToSql for Vec<u8> {
    fn to_sql(&self) -> Option<String> {
        self.as_slice().to_sql()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql(&self) -> Option<String> {
        self.as_ref().and_then(ToSql::to_sql)
    }
}

/// A Rust type that a value of SQL can become without loss.
pub trait FromSql: Sized {
    /// Converts the value; `None` if it is of another type, too large, or NULL for a type without NULL.
    fn from_sql(value: &Datum) -> Option<Self>;
}

macro_rules! from_sql_integer {
    ($($kind:ty),*) => {$(
        impl FromSql for $kind {
            fn from_sql(value: &Datum) -> Option<Self> {
                match value {
                    Datum::Int2(value) => Self::try_from(*value).ok(),
                    Datum::Int4(value) => Self::try_from(*value).ok(),
                    Datum::Int8(value) => Self::try_from(*value).ok(),
                    Datum::Oid(value) => Self::try_from(*value).ok(),
                    _ => None,
                }
            }
        }
    )*};
}
from_sql_integer!(i16, i32, i64, u32, u64);

impl FromSql for bool {
    fn from_sql(value: &Datum) -> Option<bool> {
        if let Datum::Bool(value) = value { Some(*value) } else { None }
    }
}

impl FromSql for f64 {
    fn from_sql(value: &Datum) -> Option<f64> {
        match value {
            Datum::Float4(value) => Some(f64::from(*value)),
            Datum::Float8(value) => Some(*value),
            _ => None,
        }
    }
}

/// The infinities have no [`Date`].
impl FromSql for Date {
    fn from_sql(value: &Datum) -> Option<Date> {
        match value {
            Datum::Date(days) if !matches!(*days, i32::MIN | i32::MAX) => Some(Date { days: *days }),
            _ => None,
        }
    }
}

/// Of `timestamp` and `timestamptz`. The infinities have no [`DateTime`].
impl FromSql for DateTime {
    fn from_sql(value: &Datum) -> Option<DateTime> {
        match value {
            Datum::Timestamp(micros) | Datum::Timestamptz(micros) if !matches!(*micros, i64::MIN | i64::MAX) => {
                Some(DateTime { micros: *micros })
            }
            _ => None,
        }
    }
}

/// Of `uuid`.
impl FromSql for [u8; 16] {
    fn from_sql(value: &Datum) -> Option<[u8; 16]> {
        if let Datum::Uuid(bytes) = value { Some(**bytes) } else { None }
    }
}

/// Of texts, and of `numeric`, `uuid`, dates and times as PostgreSQL prints them.
impl FromSql for String {
    fn from_sql(value: &Datum) -> Option<String> {
        match value {
            Datum::Text(value) => Some(value.to_string()),
            Datum::Numeric(_)
            | Datum::Uuid(_)
            | Datum::Date(_)
            | Datum::Time(_)
            | Datum::Timestamp(_)
            | Datum::Timestamptz(_) => Some(text::to_string(value, value.natural_type(), &Styles::default())),
            _ => None,
        }
    }
}

impl FromSql for Vec<u8> {
    fn from_sql(value: &Datum) -> Option<Vec<u8>> {
        if let Datum::Bytea(value) = value { Some(value.to_vec()) } else { None }
    }
}

impl FromSql for Datum {
    fn from_sql(value: &Datum) -> Option<Datum> {
        Some(value.clone())
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn from_sql(value: &Datum) -> Option<Option<T>> {
        if value.is_null() { Some(None) } else { T::from_sql(value).map(Some) }
    }
}

//! Rust's values and SQL's.

use ::sql::types::Datum;

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
to_sql_by_display!(bool, i16, i32, i64, u8, u16, u32, f32, f64, str, &str, String);

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
    /// The value; `None` if it is another type's, too large, or NULL where that has no place.
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

impl FromSql for String {
    fn from_sql(value: &Datum) -> Option<String> {
        if let Datum::Text(value) = value { Some(value.to_string()) } else { None }
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

//! Values of columns.

use std::cmp::Ordering;
use std::fmt;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnType {
    /// true or false.
    Bool = 1,
    /// 64-bit signed integer.
    Int = 2,
    /// 64-bit IEEE 754 float.
    Float = 3,
    /// UTF-8, ordered by its bytes.
    Text = 4,
    /// Bytes.
    Bytes = 5,
    /// Days since 1970-01-01.
    Date = 6,
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp = 7,
}

impl ColumnType {
    /// The type with this stored tag.
    pub fn from_tag(tag: u8) -> Option<ColumnType> {
        Some(match tag {
            1 => ColumnType::Bool,
            2 => ColumnType::Int,
            3 => ColumnType::Float,
            4 => ColumnType::Text,
            5 => ColumnType::Bytes,
            6 => ColumnType::Date,
            7 => ColumnType::Timestamp,
            _ => return None,
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::Bool => "boolean",
            ColumnType::Int => "bigint",
            ColumnType::Float => "double precision",
            ColumnType::Text => "text",
            ColumnType::Bytes => "bytea",
            ColumnType::Date => "date",
            ColumnType::Timestamp => "timestamp",
        })
    }
}

/// An owned value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// See [`ColumnType::Bool`].
    Bool(bool),
    /// See [`ColumnType::Int`].
    Int(i64),
    /// See [`ColumnType::Float`].
    Float(f64),
    /// See [`ColumnType::Text`].
    Text(String),
    /// See [`ColumnType::Bytes`].
    Bytes(Vec<u8>),
    /// See [`ColumnType::Date`].
    Date(i32),
    /// See [`ColumnType::Timestamp`].
    Timestamp(i64),
}

/// A borrowed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// See [`ColumnType::Bool`].
    Bool(bool),
    /// See [`ColumnType::Int`].
    Int(i64),
    /// See [`ColumnType::Float`].
    Float(f64),
    /// See [`ColumnType::Text`].
    Text(&'a str),
    /// See [`ColumnType::Bytes`].
    Bytes(&'a [u8]),
    /// See [`ColumnType::Date`].
    Date(i32),
    /// See [`ColumnType::Timestamp`].
    Timestamp(i64),
}

impl Value {
    /// This value, borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Null => ValueRef::Null,
            Value::Bool(v) => ValueRef::Bool(*v),
            Value::Int(v) => ValueRef::Int(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Text(v) => ValueRef::Text(v),
            Value::Bytes(v) => ValueRef::Bytes(v),
            Value::Date(v) => ValueRef::Date(*v),
            Value::Timestamp(v) => ValueRef::Timestamp(*v),
        }
    }
}

impl ValueRef<'_> {
    /// This value, owned.
    pub fn to_owned(self) -> Value {
        match self {
            ValueRef::Null => Value::Null,
            ValueRef::Bool(v) => Value::Bool(v),
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Text(v) => Value::Text(v.to_owned()),
            ValueRef::Bytes(v) => Value::Bytes(v.to_owned()),
            ValueRef::Date(v) => Value::Date(v),
            ValueRef::Timestamp(v) => Value::Timestamp(v),
        }
    }

    /// The type; `None` for NULL.
    pub fn column_type(self) -> Option<ColumnType> {
        Some(match self {
            ValueRef::Null => return None,
            ValueRef::Bool(_) => ColumnType::Bool,
            ValueRef::Int(_) => ColumnType::Int,
            ValueRef::Float(_) => ColumnType::Float,
            ValueRef::Text(_) => ColumnType::Text,
            ValueRef::Bytes(_) => ColumnType::Bytes,
            ValueRef::Date(_) => ColumnType::Date,
            ValueRef::Timestamp(_) => ColumnType::Timestamp,
        })
    }

    /// Compares two values of one type; `None` for NULL or different types. NaN is greater than every other float and equal to
    /// itself, as in PostgreSQL and as keys order it.
    pub fn compare(self, other: ValueRef<'_>) -> Option<Ordering> {
        use ValueRef::*;
        Some(match (self, other) {
            (Bool(a), Bool(b)) => a.cmp(&b),
            (Int(a), Int(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(&b),
            (Date(a), Date(b)) => a.cmp(&b),
            (Float(a), Float(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            (Text(a), Text(b)) => a.cmp(b),
            (Bytes(a), Bytes(b)) => a.cmp(b),
            _ => return None,
        })
    }

    /// The integer inside, if it is one.
    pub fn as_int(self) -> Option<i64> {
        if let ValueRef::Int(v) = self { Some(v) } else { None }
    }

    /// The float inside, if it is one.
    pub fn as_float(self) -> Option<f64> {
        if let ValueRef::Float(v) = self { Some(v) } else { None }
    }
}

impl<'a> ValueRef<'a> {
    /// The text inside, if it is one.
    pub fn as_text(self) -> Option<&'a str> {
        if let ValueRef::Text(v) = self { Some(v) } else { None }
    }

    /// The bytes inside, if it is a byte string.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        if let ValueRef::Bytes(v) = self { Some(v) } else { None }
    }
}

impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRef::Null => f.write_str("NULL"),
            ValueRef::Bool(v) => v.fmt(f),
            ValueRef::Int(v) => v.fmt(f),
            ValueRef::Float(v) => v.fmt(f),
            ValueRef::Text(v) => write!(f, "'{v}'"),
            ValueRef::Bytes(v) => {
                f.write_str("\\x")?;
                v.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            ValueRef::Date(days) => {
                let (year, month, day) = civil_from_days(i64::from(*days));
                write!(f, "{year:04}-{month:02}-{day:02}")
            }
            ValueRef::Timestamp(micros) => {
                let (days, rest) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
                let (year, month, day) = civil_from_days(days);
                let seconds = rest / 1_000_000;
                write!(
                    f,
                    "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
                    seconds / 3600,
                    seconds / 60 % 60,
                    seconds % 60
                )?;
                if rest % 1_000_000 != 0 {
                    write!(f, ".{:06}", rest % 1_000_000)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// Days since 1970-01-01 to (year, month, day), proleptic Gregorian; Hinnant's `civil_from_days`.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl Value {
    /// Reads `YYYY-MM-DD`.
    pub fn parse_date(text: &str) -> Option<Value> {
        if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            return None;
        }
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || year.len() != 4 || month.len() != 2 || day.len() != 2 {
            return None;
        }
        let (year, month, day): (i64, i64, i64) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        let days = days_from_civil(year, month, day);
        (civil_from_days(days) == (year, month, day)).then_some(Value::Date(i32::try_from(days).ok()?))
    }
}

/// The inverse of [`civil_from_days`]; nonsense dates give a day that does not map back.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

macro_rules! value_from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Value {
                Value::$variant(value.into())
            }
        }
    )*};
}
value_from!(bool => Bool, i64 => Int, i32 => Int, u32 => Int, f64 => Float, String => Text, &str => Text, Vec<u8> => Bytes, &[u8] => Bytes);

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> ValueRef<'a> {
        value.as_ref()
    }
}

macro_rules! value_ref_from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl<'a> From<$source> for ValueRef<'a> {
            fn from(value: $source) -> ValueRef<'a> {
                ValueRef::$variant(value.into())
            }
        }
    )*};
}
value_ref_from!(bool => Bool, i64 => Int, i32 => Int, u32 => Int, f64 => Float, &'a str => Text, &'a [u8] => Bytes);

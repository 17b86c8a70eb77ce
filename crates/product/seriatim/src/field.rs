//! Rust types of columns, and the arguments that stand for a key.

use crate::SchemaBuilder;
use model::{ColumnType, Key, Value, ValueRef};
use std::fmt;

/// A Rust type that can be a column of a [`Record`](crate::Record).
///
/// Implemented for `bool`, `i64`, `i32`, `u32`, `f64`, `String`, `Vec<u8>`, [`Date`], [`DateTime`], and `Option` of each
/// for columns that may be NULL. A type of your own becomes one in a few lines, and a part of keys by [`AsKey`]:
///
/// ```
/// # use seriatim::{ColumnType, Field, ValueRef};
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// enum Colour { Red, Green }
///
/// impl Field for Colour {
///     const TYPE: ColumnType = ColumnType::Int;
///     const NULLABLE: bool = false;
///     const NARROW: bool = true; // not every integer is a colour
///     fn as_value(&self) -> ValueRef<'_> {
///         ValueRef::Int(*self as i64)
///     }
///     fn from_value(value: ValueRef<'_>) -> Option<Colour> {
///         [Colour::Red, Colour::Green].into_iter().find(|colour| colour.as_value() == value)
///     }
/// }
/// assert_eq!(Colour::from_value(Colour::Green.as_value()), Some(Colour::Green));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record",
    label = "no type of a column",
    note = "fields are bool, i64, i32, u32, f64, String, Vec<u8>, Date, DateTime, and Option of each; a type of your own can \
            implement seriatim::Field"
)]
pub trait Field: Sized {
    /// The column's type.
    const TYPE: ColumnType;
    /// Whether the column may be NULL.
    const NULLABLE: bool;

    /// Whether the column's type has values that this Rust type lacks, as `i32` in a column of 64-bit integers.
    const NARROW: bool = false;

    /// The value to store.
    fn as_value(&self) -> ValueRef<'_>;

    /// The value read back; `None` if the stored one is not of this type, or out of its range.
    fn from_value(value: ValueRef<'_>) -> Option<Self>;

    /// Adds the column to a schema.
    fn declare(schema: SchemaBuilder, name: &str) -> SchemaBuilder {
        if Self::NULLABLE { schema.nullable(name, Self::TYPE) } else { schema.column(name, Self::TYPE) }
    }

    /// Appends the value to a key.
    fn append_to_key(&self, key: &mut Key) {
        key.push_value(self.as_value(), Self::NULLABLE);
    }
}

/// A day: days since 1970-01-01.
///
/// ```
/// use seriatim::Date;
/// let date = Date::parse("1996-07-04").unwrap();
/// assert_eq!(date.days, 9681);
/// assert_eq!(date.to_string(), "1996-07-04");
/// assert!(Date::parse("1996-02-30").is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// Days since 1970-01-01; negative before.
    pub days: i32,
}

impl Date {
    /// The day of a year, a month (1 to 12) and a day of it (from 1); `None` if there is no such day.
    ///
    /// ```
    /// use seriatim::Date;
    /// assert_eq!(Date::from_ymd(1996, 7, 4).unwrap().to_string(), "1996-07-04");
    /// assert_eq!(Date::from_ymd(1900, 2, 29), None);
    /// ```
    pub fn from_ymd(year: i32, month: u8, day: u8) -> Option<Date> {
        Date::parse(&format!("{year:04}-{month:02}-{day:02}"))
    }

    /// Today, in UTC.
    pub fn today() -> Date {
        DateTime::now().date()
    }

    /// Reads `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Date> {
        Date::from_value(Value::parse_date(text)?.as_ref())
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ValueRef::Date(self.days).fmt(f)
    }
}

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// Microseconds since 1970-01-01T00:00:00Z; negative before.
    pub micros: i64,
}

/// Microseconds of a day.
const DAY_MICROS: i64 = 86_400_000_000;

impl DateTime {
    /// The present moment, by the system's clock.
    pub fn now() -> DateTime {
        DateTime { micros: env::clock::wall_clock() }
    }

    /// The day on which it lies, in UTC.
    pub fn date(self) -> Date {
        let days = self.micros.div_euclid(DAY_MICROS);
        Date { days: i32::try_from(days).unwrap_or(if days < 0 { i32::MIN } else { i32::MAX }) }
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ValueRef::Timestamp(self.micros).fmt(f)
    }
}

/// Types that can be given as a key of type `K`: the key itself, a reference to it, `&str` for `String`, a tuple of such types
/// for a composite key, and for byte keys ([`BytesTable`](crate::BytesTable)) anything made of bytes.
pub trait AsKey<K: ?Sized> {
    /// Appends the encoded key.
    fn append_to(&self, key: &mut Key);

    /// The encoded key.
    fn to_key(&self) -> Key {
        let mut key = Key::new();
        self.append_to(&mut key);
        key
    }
}

/// Types that can be given for the first components of a composite key of type `K`: `(a,)` for `(A, B)`, `(a,)` or `(a, b)` for
/// `(A, B, C)`, and so on.
pub trait AsPrefix<K: ?Sized> {
    /// Appends the encoded components.
    fn append_to(&self, key: &mut Key);
}

macro_rules! field {
    ($type:ty, $column:ident, narrow, $($rest:tt)+) => { field!(@ $type, $column, true, $($rest)+); };
    ($type:ty, $column:ident, $value:ident => $($rest:tt)+) => { field!(@ $type, $column, false, $value => $($rest)+); };
    (@ $type:ty, $column:ident, $narrow:literal, $value:ident => $as_value:expr, $from:pat => $from_value:expr,
        keys $($given:ty),+) => {
        impl Field for $type {
            const TYPE: ColumnType = ColumnType::$column;
            const NULLABLE: bool = false;
            const NARROW: bool = $narrow;
            fn as_value(&self) -> ValueRef<'_> {
                let $value = self;
                ValueRef::$column($as_value)
            }
            fn from_value(value: ValueRef<'_>) -> Option<Self> {
                match value {
                    ValueRef::$column($from) => $from_value,
                    _ => None,
                }
            }
        }
        $(
            impl AsKey<$type> for $given {
                fn append_to(&self, key: &mut Key) {
                    let $value = self;
                    key.push_value(ValueRef::$column($as_value), false);
                }
            }
            impl AsKey<Option<$type>> for Option<$given> {
                fn append_to(&self, key: &mut Key) {
                    let value = self.as_ref().map_or(ValueRef::Null, |$value| ValueRef::$column($as_value));
                    key.push_value(value, true);
                }
            }
        )+
    };
}

field!(bool, Bool, v => *v, v => Some(v), keys bool);
field!(i64, Int, v => *v, v => Some(v), keys i64);
field!(i32, Int, narrow, v => i64::from(*v), v => i32::try_from(v).ok(), keys i32);
field!(u32, Int, narrow, v => i64::from(*v), v => u32::try_from(v).ok(), keys u32);
field!(f64, Float, v => *v, v => Some(v), keys f64);
field!(String, Text, v => v, v => Some(v.to_owned()), keys String, &str);
field!(Vec<u8>, Bytes, v => v, v => Some(v.to_owned()), keys Vec<u8>, &[u8]);
field!(Date, Date, v => v.days, v => Some(Date { days: v }), keys Date);
field!(DateTime, Timestamp, v => v.micros, v => Some(DateTime { micros: v }), keys DateTime);

impl<F: Field> Field for Option<F> {
    const TYPE: ColumnType = F::TYPE;
    const NULLABLE: bool = true;
    const NARROW: bool = F::NARROW;

    fn as_value(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, F::as_value)
    }

    fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Null => Some(None),
            value => F::from_value(value).map(Some),
        }
    }
}

macro_rules! by_reference {
    ($($type:ty),+ $(,)?) => {$(
        impl AsKey<$type> for &$type {
            fn append_to(&self, key: &mut Key) {
                AsKey::<$type>::append_to(*self, key);
            }
        }
    )+};
}
by_reference!(bool, i64, i32, u32, u64, f64, String, Vec<u8>, Date, DateTime);

impl AsKey<u64> for u64 {
    fn append_to(&self, key: &mut Key) {
        key.push_u64(*self);
    }
}

macro_rules! raw_bytes {
    ($($type:ty),+ $(,)?) => {$(
        impl AsKey<[u8]> for $type {
            fn append_to(&self, key: &mut Key) {
                key.push_raw(self.as_ref());
            }
        }
    )+};
}
raw_bytes!(&[u8], &str, Vec<u8>, &Vec<u8>, String, &String);

impl<const N: usize> AsKey<[u8]> for [u8; N] {
    fn append_to(&self, key: &mut Key) {
        key.push_raw(self);
    }
}

impl<const N: usize> AsKey<[u8]> for &[u8; N] {
    fn append_to(&self, key: &mut Key) {
        key.push_raw(*self);
    }
}

macro_rules! composite_key {
    ($($key:ident $given:ident $at:tt),+) => {
        impl<$($key,)+ $($given: AsKey<$key>,)+> AsKey<($($key,)+)> for ($($given,)+) {
            fn append_to(&self, key: &mut Key) {
                $(self.$at.append_to(key);)+
            }
        }
        impl<$($key,)+ $($given: AsKey<$key>,)+> AsKey<($($key,)+)> for &($($given,)+) {
            fn append_to(&self, key: &mut Key) {
                $(self.$at.append_to(key);)+
            }
        }
    };
}
composite_key!(A P 0, B Q 1);
composite_key!(A P 0, B Q 1, C R 2);
composite_key!(A P 0, B Q 1, C R 2, D S 3);

macro_rules! key_prefix {
    ($($key:ident $given:ident $at:tt),+; $($rest:ident),+) => {
        impl<$($key,)+ $($rest,)+ $($given: AsKey<$key>,)+> AsPrefix<($($key,)+ $($rest,)+)> for ($($given,)+) {
            fn append_to(&self, key: &mut Key) {
                $(self.$at.append_to(key);)+
            }
        }
    };
}
key_prefix!(A P 0; B);
key_prefix!(A P 0; B, C);
key_prefix!(A P 0, B Q 1; C);
key_prefix!(A P 0; B, C, D);
key_prefix!(A P 0, B Q 1; C, D);
key_prefix!(A P 0, B Q 1, C R 2; D);

//! Arguments of procedures, as bytes of the input log.

use crate::{Date, DateTime, Record};
use model::{Decoder, Malformed, RowBuf, RowRef};

/// A type that can be the argument of a procedure: it is written to the input log, and read from it when a database is
/// recovered.
///
/// Implemented for integers, `bool`, `f64`, `String`, [`Date`], [`DateTime`], `()`, `Option` and `Vec` of such types, tuples of
/// up to six, every [`Record`], and structs declared by [`arguments!`](crate::arguments).
///
/// ```
/// use seriatim::batch::{Arguments, Decoder};
///
/// let mut bytes = Vec::new();
/// (7_i64, vec!["a".to_owned()], None::<bool>).encode(&mut bytes);
/// let read = <(i64, Vec<String>, Option<bool>)>::decode(&mut Decoder::new(&bytes)).unwrap();
/// assert_eq!(read, (7, vec!["a".to_owned()], None));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the argument of a procedure",
    note = "declare the struct by seriatim::arguments!, or implement seriatim::batch::Arguments"
)]
pub trait Arguments: Sized + Send + 'static {
    /// Appends the value.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads what [`Arguments::encode`] wrote, and nothing behind it.
    ///
    /// # Errors
    /// [`Malformed`] if it did not.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed>;
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Arguments for $type {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                Ok(<$type>::from_le_bytes(from.array()?))
            }
        }
    )+};
}
integers!(u8, u16, u32, u64, i8, i16, i32, i64, f64);

impl Arguments for () {
    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut Decoder<'_>) -> Result<(), Malformed> {
        Ok(())
    }
}

impl Arguments for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn decode(from: &mut Decoder<'_>) -> Result<bool, Malformed> {
        match from.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }
}

impl Arguments for String {
    fn encode(&self, out: &mut Vec<u8>) {
        codec::put_bytes32(out, self.as_bytes());
    }

    fn decode(from: &mut Decoder<'_>) -> Result<String, Malformed> {
        Ok(from.text32()?.to_owned())
    }
}

impl Arguments for Date {
    fn encode(&self, out: &mut Vec<u8>) {
        self.days.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Date, Malformed> {
        Ok(Date { days: i32::decode(from)? })
    }
}

impl Arguments for DateTime {
    fn encode(&self, out: &mut Vec<u8>) {
        self.micros.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<DateTime, Malformed> {
        Ok(DateTime { micros: i64::decode(from)? })
    }
}

impl<A: Arguments> Arguments for Option<A> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.encode(out);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Option<A>, Malformed> {
        Ok(if bool::decode(from)? { Some(A::decode(from)?) } else { None })
    }
}

impl<A: Arguments> Arguments for Vec<A> {
    fn encode(&self, out: &mut Vec<u8>) {
        codec::put_number(out, self.len() as u64);
        self.iter().for_each(|value| value.encode(out));
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Vec<A>, Malformed> {
        let count = from.number()?;
        // A value that takes memory takes a byte at least.
        let most = if size_of::<A>() == 0 { u64::from(u32::MAX) } else { from.left() as u64 };
        if count > most {
            return Err(Malformed);
        }
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(A::decode(from)?);
        }
        Ok(values)
    }
}

/// A record is its row.
impl<R: Record + Send> Arguments for R {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut row = RowBuf::new();
        Record::encode(self, &mut row);
        codec::put_bytes32(out, row.bytes());
    }

    fn decode(from: &mut Decoder<'_>) -> Result<R, Malformed> {
        let row = RowRef::new(from.bytes32()?);
        row.check()?;
        Record::decode(row).ok_or(Malformed)
    }
}

macro_rules! tuple {
    ($($part:ident $at:tt),+) => {
        impl<$($part: Arguments),+> Arguments for ($($part,)+) {
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$at.encode(out);)+
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                Ok(($($part::decode(from)?,)+))
            }
        }
    };
}
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Declares a struct that can be the argument of a procedure: its fields are [`Arguments`](crate::batch::Arguments).
///
/// ```
/// seriatim::arguments! {
///     /// Moves money.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Transfer {
///         pub from: i64,
///         pub to: i64,
///         pub amount: i64,
///     }
/// }
/// let transfer = Transfer { from: 1, to: 2, amount: 30 };
/// assert_eq!(transfer.amount, 30);
/// ```
#[macro_export]
macro_rules! arguments {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field : $type ),+
        }

        impl $crate::batch::Arguments for $name {
            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                $( $crate::batch::Arguments::encode(&self.$field, out); )+
            }

            fn decode(
                from: &mut $crate::batch::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::batch::Malformed> {
                ::core::result::Result::Ok($name {
                    $( $field: $crate::batch::Arguments::decode(from)? ),+
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::record! {
        #[derive(Clone, Debug, PartialEq)]
        struct City {
            name: String,
            people: i32,
        }
        table "cities";
        key (name);
    }

    fn bytes_of(value: &impl Arguments) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        bytes
    }

    #[track_caller]
    fn comes_back<A: Arguments + PartialEq + std::fmt::Debug>(value: A) {
        let bytes = bytes_of(&value);
        let mut from = Decoder::new(&bytes);
        assert_eq!(A::decode(&mut from), Ok(value));
        assert!(from.is_empty());
        for end in 0..bytes.len() {
            assert!(A::decode(&mut Decoder::new(&bytes[..end])).is_err(), "cut off at {end}");
        }
    }

    #[test]
    fn arguments_come_back() {
        comes_back(());
        comes_back((-1_i8, u64::MAX, 0.5, true, "ä".to_owned(), Some(3_i16)));
        comes_back((vec![Some(1_u16), None], Date { days: -3 }, DateTime { micros: 5 }));
        comes_back(City { name: "Graz".into(), people: 302_749 });
        comes_back(vec![City { name: String::new(), people: -1 }]);
    }

    #[test]
    fn foreign_bytes_are_refused() {
        assert!(bool::decode(&mut Decoder::new(&[2])).is_err());
        assert!(Vec::<i64>::decode(&mut Decoder::new(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1])).is_err());
        assert!(String::decode(&mut Decoder::new(&[1, 0, 0, 0, 0xff])).is_err());
        // A row of another shape, and bytes that are no row.
        let mut other = Vec::new();
        codec::put_bytes32(&mut other, RowBuf::from_values(&[model::ValueRef::Bool(true)]).bytes());
        assert!(<City as Arguments>::decode(&mut Decoder::new(&other)).is_err());
        let mut damaged = bytes_of(&City { name: "Graz".into(), people: 1 });
        damaged[4] ^= 0x55;
        assert!(<City as Arguments>::decode(&mut Decoder::new(&damaged)).is_err());
    }
}

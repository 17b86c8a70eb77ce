//! Components of keys: what stands in a key for a value.

use super::SIGN;
use crate::ValueRef;

/// A value as a key has it.
#[derive(Clone, Copy)]
pub(crate) enum Component<'a> {
    /// One byte.
    Byte(u8),
    /// Eight bytes, big-endian.
    Word(u64),
    /// Bytes with their zeros escaped, and a terminator.
    Bytes(&'a [u8]),
}

impl<'a> Component<'a> {
    /// `None` for NULL, which has none.
    #[inline]
    pub fn of(value: ValueRef<'a>) -> Option<Component<'a>> {
        Some(match value {
            ValueRef::Null => return None,
            ValueRef::Bool(v) => Component::bool(v),
            ValueRef::Int(v) | ValueRef::Timestamp(v) => Component::int(v),
            ValueRef::Date(v) => Component::int(i64::from(v)),
            ValueRef::Float(v) => Component::float(v),
            ValueRef::Text(v) => Component::Bytes(v.as_bytes()),
            ValueRef::Bytes(v) => Component::Bytes(v),
        })
    }

    #[inline]
    pub fn bool(value: bool) -> Component<'static> {
        Component::Byte(u8::from(value))
    }

    #[inline]
    pub fn int(value: i64) -> Component<'static> {
        Component::Word(value as u64 ^ SIGN)
    }

    /// IEEE 754 total order; negative zero is folded into zero, every NaN into one.
    #[inline]
    pub fn float(value: f64) -> Component<'static> {
        let bits = if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() };
        Component::Word(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }
}

//! Keys of programs and stored keys.
//!
//! A program's key is [`Key::push_value`] of each component, NULL's byte only where the program's column is nullable, integers
//! and dates in eight bytes. A stored key has NULL's byte before every component, and integers and dates in the bytes of their
//! column's type, so that a column's definition may change without its keys. A single integer or date column as primary key is
//! the exception ([`KeyForm::Eight`](crate::KeyForm)): there both forms are the same eight bytes.

use crate::types::{Scalar, Type};
use model::{ColumnType, Key, ValueRef};

const PRESENT: u8 = 0x01;
const ABSENT: u8 = 0x02;
const SIGN: u64 = 1 << 63;
const TERMINATOR: [u8; 2] = [0x00, 0x01];
/// Follows the greatest value of a component: above every stored key with that value.
const ABOVE: u8 = 0xff;

/// A component of a key: the program's column and the stored one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Component {
    /// The program's type.
    pub kind: ColumnType,
    /// Whether the program's column is nullable.
    pub nullable: bool,
    /// The stored type.
    pub stored: Type,
}

/// Appends a stored component; `None` if the column's type is not one of programs.
pub(crate) fn push_stored(key: &mut Key, value: ValueRef<'_>, stored: Type) -> Option<()> {
    if value == ValueRef::Null {
        key.push_raw(&[ABSENT]);
        return Some(());
    }
    stored.plain()?;
    key.push_raw(&[PRESENT]);
    match value {
        ValueRef::Int(whole) => push_whole(key, whole, stored.scalar),
        ValueRef::Date(days) => push_whole(key, i64::from(days), stored.scalar),
        value => {
            key.push_value(value, false);
        }
    }
    Some(())
}

/// An integer in as many bytes as its type has; beyond the type's range, a position below or above all its values.
fn push_whole(key: &mut Key, whole: i64, scalar: Scalar) {
    let width = scalar.integer_width().unwrap_or(8);
    let bits = 8 * width as u32;
    let (least, greatest) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
    if whole < least {
        return;
    }
    let flipped = (whole.min(greatest) as u64) ^ (1 << (bits - 1));
    key.push_raw(&flipped.to_be_bytes()[8 - width..]);
    if whole > greatest {
        key.push_raw(&[ABOVE]);
    }
}

/// The stored form of a program's key, or of the first components of one; `None` if it is not such a key.
pub(crate) fn to_stored(components: &[Component], mut from: &[u8]) -> Option<Key> {
    let mut key = Key::new();
    for component in components {
        if from.is_empty() {
            break;
        }
        if component.nullable && take(&mut from, 1)? == [ABSENT] {
            key.push_raw(&[ABSENT]);
            continue;
        }
        key.push_raw(&[PRESENT]);
        match component.kind {
            ColumnType::Int if component.stored.scalar == Scalar::Int8 => {
                key.push_raw(take(&mut from, 8)?);
            }
            ColumnType::Int | ColumnType::Date => {
                let before = key.len();
                push_whole(&mut key, whole(take(&mut from, 8)?)?, component.stored.scalar);
                if key.len() - before != component.stored.scalar.integer_width().unwrap_or(8) {
                    // Beyond the type's range: what follows does not matter.
                    return Some(key);
                }
            }
            kind => {
                key.push_raw(take_component(&mut from, kind)?);
            }
        }
    }
    from.is_empty().then_some(key)
}

/// The program's form of a stored key, or of the first components of one, and what stands behind them.
pub(crate) fn from_stored<'k>(components: &[Component], mut from: &'k [u8]) -> Option<(Key, &'k [u8])> {
    let mut key = Key::new();
    for component in components {
        if from.is_empty() {
            break;
        }
        if take(&mut from, 1)? == [ABSENT] {
            component.nullable.then(|| key.push_raw(&[ABSENT]))?;
            continue;
        }
        if component.nullable {
            key.push_raw(&[PRESENT]);
        }
        match component.stored.scalar.integer_width() {
            Some(width) => {
                let mut bytes = [0; 8];
                bytes[8 - width..].copy_from_slice(take(&mut from, width)?);
                let bits = 8 * width as u32;
                let flipped = u64::from_be_bytes(bytes) ^ (1 << (bits - 1));
                key.push_i64(((flipped << (64 - bits)) as i64) >> (64 - bits));
            }
            None => {
                key.push_raw(take_component(&mut from, component.kind)?);
            }
        }
    }
    Some((key, from))
}

fn take<'k>(from: &mut &'k [u8], count: usize) -> Option<&'k [u8]> {
    let (head, tail) = from.split_at_checked(count)?;
    *from = tail;
    Some(head)
}

fn whole(eight: &[u8]) -> Option<i64> {
    Some((Key::to_u64(eight)? ^ SIGN) as i64)
}

/// The bytes of a component that both forms write alike.
fn take_component<'k>(from: &mut &'k [u8], kind: ColumnType) -> Option<&'k [u8]> {
    match kind {
        ColumnType::Bool => take(from, 1),
        ColumnType::Text | ColumnType::Bytes => {
            let end = from.windows(2).position(|pair| pair == TERMINATOR)?;
            take(from, end + 2)
        }
        _ => take(from, 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(kind: ColumnType, nullable: bool, scalar: Scalar) -> Component {
        Component { kind, nullable, stored: Type::of(scalar) }
    }

    fn program(values: &[(ValueRef<'_>, bool)]) -> Key {
        let mut key = Key::new();
        for (value, nullable) in values {
            key.push_value(*value, *nullable);
        }
        key
    }

    #[test]
    fn both_forms_name_the_same_values() {
        let components = [
            component(ColumnType::Int, false, Scalar::Int4),
            component(ColumnType::Text, true, Scalar::Text),
            component(ColumnType::Date, false, Scalar::Date),
            component(ColumnType::Float, true, Scalar::Float8),
        ];
        for text in [ValueRef::Null, ValueRef::Text(""), ValueRef::Text("a\0b\u{1}")] {
            for whole in [i64::from(i32::MIN), -1, 0, i64::from(i32::MAX)] {
                let values = [ValueRef::Int(whole), text, ValueRef::Date(-3), ValueRef::Float(-0.5)];
                let key = program(&[(values[0], false), (values[1], true), (values[2], false), (values[3], true)]);
                let stored = to_stored(&components, &key).unwrap();
                let mut pushed = Key::new();
                for (value, component) in values.iter().zip(&components) {
                    push_stored(&mut pushed, *value, component.stored).unwrap();
                }
                assert_eq!(stored, pushed);
                assert_eq!(from_stored(&components, &stored), Some((key, &[][..])));
            }
        }
    }

    #[test]
    fn values_beyond_a_column_lie_outside_all_its_keys() {
        let components =
            [component(ColumnType::Int, false, Scalar::Int2), component(ColumnType::Int, false, Scalar::Int8)];
        let stored = |value: i64| {
            to_stored(&components, &program(&[(ValueRef::Int(value), false), (ValueRef::Int(7), false)])).unwrap()
        };
        assert!(stored(i64::MIN) < stored(i64::from(i16::MIN)));
        assert!(stored(i64::from(i16::MAX)) < stored(i64::from(i16::MAX) + 1));
        assert!(stored(i64::MAX) > stored(i64::from(i16::MAX)));
    }

    #[test]
    fn a_prefix_stays_one() {
        let components =
            [component(ColumnType::Text, false, Scalar::Text), component(ColumnType::Int, false, Scalar::Int8)];
        let whole = program(&[(ValueRef::Text("ab"), false), (ValueRef::Int(1), false)]);
        let first = program(&[(ValueRef::Text("ab"), false)]);
        let (whole, first) = (to_stored(&components, &whole).unwrap(), to_stored(&components, &first).unwrap());
        assert!(whole.starts_with(&first));
        assert_eq!(to_stored(&components, b"a"), None);
    }
}

//! Converts the events of an engine ([`model::history`]) into a history.
//!
//! A history has one space of keys for all tables. The keys of one table may be integers; those of the others are texts,
//! `table/key` with the key in hexadecimal, whose order is that of the keys.
//!
//! A history's ranges include both bounds. So an excluded bound is converted to an included one that no key equals: a text just
//! above or below the key's.

use crate::{Operation, Record, Scalar, Status};
use model::{Key, RowRef, TableId, history};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Bound;

/// Form of a table's keys in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Eight-byte keys as big-endian integers. For at most one table of a history.
    Integers,
    /// This name, a slash, and the key's bytes in hexadecimal.
    Text(Cow<'static, str>),
}

impl Record {
    /// Converts the events of one transaction: `form` says how the keys of each table are shown, `value` how rows are, as in
    /// [`KeyForm::translate`].
    pub fn observed(
        id: u64,
        transaction: history::Transaction,
        form: impl Fn(TableId) -> KeyForm,
        value: impl Fn(RowRef<'_>) -> Scalar,
    ) -> Record {
        let (status, serial_point) = match transaction.outcome {
            history::Outcome::Committed(point) => (Status::Committed, point.map(|point| point.0)),
            history::Outcome::Aborted => (Status::Aborted, None),
            history::Outcome::Unknown => (Status::Unknown, None),
        };
        let translate = |operation: history::Operation| form(operation.table()).translate(operation, &value);
        Record {
            id,
            process: transaction.client.into(),
            start_ns: transaction.start_ns,
            end_ns: transaction.end_ns,
            status,
            serial_point,
            operations: transaction.operations.into_iter().filter_map(translate).collect(),
        }
    }
}

impl KeyForm {
    /// Converts an operation for the judges; `None` for a range that cannot contain a key. `value` converts rows, and must give
    /// two rows the same value exactly if the same write made them.
    pub fn translate(&self, operation: history::Operation, value: impl Fn(RowRef<'_>) -> Scalar) -> Option<Operation> {
        let value = |row: &[u8]| value(RowRef::new(row));
        Some(match operation {
            history::Operation::Read(_, key, row) => {
                Operation::Read { key: self.show(&key), value: row.map(|row| value(&row)), version: None }
            }
            history::Operation::Write(_, key, row) => {
                Operation::Write { key: self.show(&key), value: value(&row), version: None }
            }
            history::Operation::Delete(_, key) => Operation::Delete { key: self.show(&key), version: None },
            history::Operation::Scan(_, lower, upper, rows) => {
                let (low, high) = self.show_range(&lower, &upper)?;
                let entries = rows.iter().map(|(key, row)| (self.show(key), value(row))).collect();
                Operation::Scan { low: Some(low), high: Some(high), entries }
            }
        })
    }
}

/// Sorts after every hexadecimal digit, so behind a key and all keys that it is a prefix of.
const AFTER_DIGITS: char = '~';
/// Sorts before every hexadecimal digit, so between a key and the keys that it is a prefix of.
const BEFORE_DIGITS: char = '!';

impl KeyForm {
    fn show(&self, key: &[u8]) -> Scalar {
        match self {
            KeyForm::Integers => Scalar::from(Key::to_u64(key).expect("a table with integer keys has no others")),
            KeyForm::Text(_) => Scalar::from(self.text(key)),
        }
    }

    fn text(&self, key: &[u8]) -> String {
        let KeyForm::Text(name) = self else { unreachable!("only texts are shown as texts") };
        let mut text = String::with_capacity(name.len() + 1 + 2 * key.len());
        text.push_str(name);
        text.push('/');
        for byte in key {
            write!(text, "{byte:02x}").expect("a string takes every text");
        }
        text
    }

    /// The range with both bounds included; `None` if it is empty.
    fn show_range(&self, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<(Scalar, Scalar)> {
        let (low, high) = match self {
            KeyForm::Integers => integer_range(lower, upper)?,
            KeyForm::Text(_) => self.text_range(lower, upper)?,
        };
        (low <= high).then_some((low, high))
    }

    fn text_range(&self, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<(Scalar, Scalar)> {
        let mut low = self.text(bound_key(lower).unwrap_or(&[]));
        if matches!(lower, Bound::Excluded(_)) {
            low.push(BEFORE_DIGITS);
        }
        let mut high = self.text(bound_key(upper).unwrap_or(&[]));
        match upper {
            Bound::Included(_) => {}
            Bound::Unbounded => high.push(AFTER_DIGITS),
            Bound::Excluded(key) if key.is_empty() => return None,
            Bound::Excluded(_) => step_below(&mut high),
        }
        Some((low.into(), high.into()))
    }
}

/// Changes the text of a key to one that lies below it and above the texts of all lesser keys.
fn step_below(text: &mut String) {
    let digit = text.pop().and_then(|last| last.to_digit(16)).expect("the text of a key ends in a digit");
    if let Some(digit) = digit.checked_sub(1) {
        text.push(char::from_digit(digit, 16).expect("one below a digit is a digit"));
        text.push(AFTER_DIGITS);
    }
}

fn bound_key(bound: &Bound<Key>) -> Option<&[u8]> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
    }
}

/// Converts a range of eight-byte keys. A bound may be shorter or longer than eight bytes; the nearest integer inside the range
/// replaces it.
fn integer_range(lower: &Bound<Key>, upper: &Bound<Key>) -> Option<(Scalar, Scalar)> {
    let low = match lower {
        Bound::Unbounded => 0,
        Bound::Included(key) => least_integer_from(key)?,
        Bound::Excluded(key) if key.len() < 8 => least_integer_from(key)?,
        Bound::Excluded(key) => leading_integer(key).checked_add(1)?,
    };
    let high = match upper {
        Bound::Unbounded => u64::MAX,
        Bound::Included(key) if key.len() >= 8 => leading_integer(key),
        Bound::Excluded(key) if key.len() > 8 => leading_integer(key),
        Bound::Included(key) | Bound::Excluded(key) => leading_integer(key).checked_sub(1)?,
    };
    Some((low.into(), high.into()))
}

/// The first eight bytes, or as many as there are and zeros.
fn leading_integer(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// The least integer whose key is not below `key`.
fn least_integer_from(key: &[u8]) -> Option<u64> {
    if key.len() > 8 { leading_integer(key).checked_add(1) } else { Some(leading_integer(key)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every range over a few keys holds, in its shown form, exactly the shown keys that it holds.
    fn shown_ranges_are_exact(form: &KeyForm, keys: &[Key], bounds: &[Key]) {
        use Bound::{Excluded, Included, Unbounded};
        let all = |wrap: fn(Key) -> Bound<Key>| bounds.iter().cloned().map(wrap);
        let bounds: Vec<Bound<Key>> = all(Included).chain(all(Excluded)).chain([Unbounded]).collect();
        for lower in &bounds {
            for upper in &bounds {
                let shown = form.show_range(lower, upper);
                for key in keys {
                    let above = match lower {
                        Included(bound) => key >= bound,
                        Excluded(bound) => key > bound,
                        Unbounded => true,
                    };
                    let below = match upper {
                        Included(bound) => key <= bound,
                        Excluded(bound) => key < bound,
                        Unbounded => true,
                    };
                    let name = form.show(key);
                    let inside = shown.as_ref().is_some_and(|(low, high)| (low..=high).contains(&&name));
                    assert_eq!(inside, above && below, "{key:?} in {lower:?} to {upper:?}, shown {shown:?}");
                }
            }
        }
    }

    #[test]
    fn ranges_of_texts_are_exact() {
        let keys: Vec<Key> = [&[][..], &[0], &[0, 0], &[0, 255], &[9], &[0x0f], &[0x10], &[0xa0], &[255], &[255, 255]]
            .into_iter()
            .map(Key::from_bytes)
            .collect();
        shown_ranges_are_exact(&KeyForm::Text("t".into()), &keys, &keys);
    }

    #[test]
    fn ranges_of_integers_are_exact_whatever_the_bounds_length() {
        let integers = [0, 1, 2, 255, 256, 257, u64::MAX - 1, u64::MAX];
        let keys: Vec<Key> = integers.into_iter().map(Key::from_u64).collect();
        let odd: [&[u8]; 7] =
            [&[], &[0], &[255], &[0; 7], &[0, 0, 0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 1, 0], &[255; 9]];
        let bounds: Vec<Key> = keys.iter().cloned().chain(odd.into_iter().map(Key::from_bytes)).collect();
        shown_ranges_are_exact(&KeyForm::Integers, &keys, &bounds);
    }
}

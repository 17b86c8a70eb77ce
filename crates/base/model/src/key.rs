//! Keys: byte strings whose order is the order of the values that they encode.

mod bytes;
mod component;

use crate::Malformed;
use crate::row::is_text;
use crate::{ColumnType, Value, ValueRef};
use bytes::KeyBytes;
pub(crate) use component::Component;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// An owned key. Up to 39 bytes are stored inline, which is what fits beside the length in 40.
///
/// Components are appended with the `push_*` methods; comparing two keys of the same component types as bytes compares
/// their components from left to right. Integers are big-endian with the sign bit flipped, floats in IEEE total order,
/// texts and bytes escaped and terminated, so that no component is a prefix of another.
#[derive(Clone)]
pub struct Key(KeyBytes);

const ESCAPE: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xff;
const TERMINATOR: u8 = 0x01;
/// Marks a present value of a nullable component; NULL sorts after every value, as in PostgreSQL.
const PRESENT: u8 = 0x01;
const ABSENT: u8 = 0x02;
const SIGN: u64 = 1 << 63;

impl Key {
    /// The empty key: the start of a composite one.
    #[inline]
    pub fn new() -> Key {
        Key(KeyBytes::EMPTY)
    }

    /// A key of exactly eight bytes, for tables with integer keys.
    #[inline]
    pub fn from_u64(key: u64) -> Key {
        Key(KeyBytes::from_slice(&key.to_be_bytes()))
    }

    /// A key of raw bytes, for tables with byte-string keys.
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Key {
        Key(KeyBytes::from_slice(bytes))
    }

    /// Returns the bytes of memory that it takes beside itself: none if it is short.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// The integer of an eight-byte key; `None` if the length differs.
    pub fn to_u64(bytes: &[u8]) -> Option<u64> {
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// Appends an unsigned integer (8 bytes).
    #[inline]
    pub fn push_u64(&mut self, value: u64) -> &mut Key {
        self.0.extend(&value.to_be_bytes());
        self
    }

    /// Appends a signed integer (8 bytes).
    #[inline]
    pub fn push_i64(&mut self, value: i64) -> &mut Key {
        self.push_component(Component::int(value))
    }

    /// Appends a float (8 bytes) in IEEE 754 total order; negative zero is folded into zero, every NaN into one.
    #[inline]
    pub fn push_f64(&mut self, value: f64) -> &mut Key {
        self.push_component(Component::float(value))
    }

    /// Appends a byte string: zeros escaped, then a terminator.
    pub fn push_bytes(&mut self, value: &[u8]) -> &mut Key {
        for piece in value.split_inclusive(|&byte| byte == ESCAPE) {
            self.0.extend(piece);
            if piece.ends_with(&[ESCAPE]) {
                self.0.extend(&[ESCAPED_ZERO]);
            }
        }
        self.0.extend(&[ESCAPE, TERMINATOR]);
        self
    }

    /// Appends a text, ordered by its UTF-8 bytes.
    pub fn push_text(&mut self, value: &str) -> &mut Key {
        self.push_bytes(value.as_bytes())
    }

    /// Appends a value of a column; `nullable` columns spend one byte more, NULL last.
    ///
    /// # Panics
    /// On NULL in a column that is not nullable: callers have checked the row against its schema.
    #[inline]
    pub fn push_value(&mut self, value: ValueRef<'_>, nullable: bool) -> &mut Key {
        let component = Component::of(value);
        if nullable {
            self.0.extend(&[if component.is_none() { ABSENT } else { PRESENT }]);
        }
        match component {
            Some(component) => self.push_component(component),
            None => {
                assert!(nullable, "NULL in a key component that is not nullable");
                self
            }
        }
    }

    #[inline]
    pub(crate) fn push_component(&mut self, component: Component<'_>) -> &mut Key {
        match component {
            Component::Byte(byte) => self.push_raw(&[byte]),
            Component::Word(word) => self.push_u64(word),
            Component::Bytes(bytes) => self.push_bytes(bytes),
        }
    }

    /// Appends bytes that are a key already (the primary key at the end of an index entry).
    #[inline]
    pub fn push_raw(&mut self, encoded: &[u8]) -> &mut Key {
        self.0.extend(encoded);
        self
    }

    /// The least key above every key that starts with this one; `None` if there is none (empty or all `0xff`).
    pub fn successor_of_prefix(&self) -> Option<Key> {
        let last = self.iter().rposition(|&byte| byte != u8::MAX)?;
        let mut next = Key::from_bytes(&self[..=last]);
        next.0.change_last(|byte| byte + 1);
        Some(next)
    }

    /// Empties the key, keeping its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Default for Key {
    #[inline]
    fn default() -> Key {
        Key::new()
    }
}

impl Deref for Key {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Equality, order and hash are those of the bytes, as `Borrow` demands.
impl Borrow<[u8]> for Key {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl AsRef<[u8]> for Key {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Key) -> bool {
        **self == **other
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Key) -> Ordering {
        (**self).cmp(other)
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl From<u64> for Key {
    fn from(key: u64) -> Key {
        Key::from_u64(key)
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Key {
        Key::from_bytes(bytes)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::from_bytes(text.as_bytes())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_raw_key(f, self)
    }
}

/// Prints a key without a schema: text where it is text, the integer where it has eight bytes, hexadecimal otherwise.
pub fn write_raw_key(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.chars().all(|c| !c.is_control()) => write!(f, "'{text}'"),
        _ => match Key::to_u64(bytes) {
            Some(integer) => write!(f, "{integer}"),
            None => {
                f.write_str("\\x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        },
    }
}

/// Reads the components of a key back, left to right.
pub struct KeyReader<'a>(&'a [u8]);

impl<'a> KeyReader<'a> {
    /// Starts at the first component.
    pub fn new(key: &'a [u8]) -> KeyReader<'a> {
        KeyReader(key)
    }

    /// Returns the bytes not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = tail;
        Ok(head)
    }

    /// Reads a component written by [`Key::push_u64`].
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Key::to_u64(self.take(8)?).ok_or(Malformed)
    }

    /// Shows the bytes of a component written by [`Key::push_bytes`], piece by piece: each up to a zero, which it includes, and
    /// what follows the last.
    fn pieces(&mut self, mut show: impl FnMut(&'a [u8]) -> Result<(), Malformed>) -> Result<(), Malformed> {
        loop {
            let zero = self.0.iter().position(|&byte| byte == ESCAPE).ok_or(Malformed)?;
            let piece = self.take(zero + 1)?;
            match self.take(1)?[0] {
                TERMINATOR => return show(&piece[..zero]),
                ESCAPED_ZERO => show(piece)?,
                _ => return Err(Malformed),
            }
        }
    }

    fn bytes(&mut self) -> Result<Vec<u8>, Malformed> {
        let mut value = Vec::new();
        self.pieces(|piece| {
            value.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(value)
    }

    /// Passes over a component, which is checked as [`KeyReader::value`] checks it.
    ///
    /// # Errors
    /// Same as [`KeyReader::value`].
    pub fn skip(&mut self, column: ColumnType, nullable: bool) -> Result<(), Malformed> {
        if !self.is_present(nullable)? {
            return Ok(());
        }
        match column {
            ColumnType::Bool => self.take(1).map(drop),
            ColumnType::Int | ColumnType::Timestamp | ColumnType::Float => self.take(8).map(drop),
            ColumnType::Date => self.date().map(drop),
            // No character spans pieces: a zero is one by itself.
            ColumnType::Text => self.pieces(|piece| if is_text(piece) { Ok(()) } else { Err(Malformed) }),
            ColumnType::Bytes => self.pieces(|_| Ok(())),
        }
    }

    /// Passes over a component if it is this one.
    #[inline]
    pub(crate) fn skip_if(&mut self, component: Component<'_>) -> bool {
        match component {
            Component::Byte(byte) => self.skip_bytes(&[byte]),
            Component::Word(word) => self.skip_bytes(&word.to_be_bytes()),
            Component::Bytes(bytes) => self.skip_escaped(bytes),
        }
    }

    #[inline]
    fn skip_bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(rest) = self.0.strip_prefix(bytes) else { return false };
        self.0 = rest;
        true
    }

    fn skip_escaped(&mut self, bytes: &[u8]) -> bool {
        let mut pieces = bytes.split_inclusive(|&byte| byte == ESCAPE);
        pieces.all(|piece| self.skip_bytes(piece) && (!piece.ends_with(&[ESCAPE]) || self.skip_bytes(&[ESCAPED_ZERO])))
            && self.skip_bytes(&[ESCAPE, TERMINATOR])
    }

    fn date(&mut self) -> Result<i32, Malformed> {
        i32::try_from((self.u64()? ^ SIGN) as i64).map_err(|_| Malformed)
    }

    /// Reads the byte in front of a component of a nullable column.
    fn is_present(&mut self, nullable: bool) -> Result<bool, Malformed> {
        if !nullable {
            return Ok(true);
        }
        match self.take(1)?[0] {
            PRESENT => Ok(true),
            ABSENT => Ok(false),
            _ => Err(Malformed),
        }
    }

    /// Reads a component written by [`Key::push_value`].
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not such a component.
    pub fn value(&mut self, column: ColumnType, nullable: bool) -> Result<Value, Malformed> {
        if !self.is_present(nullable)? {
            return Ok(Value::Null);
        }
        Ok(match column {
            ColumnType::Bool => Value::Bool(self.take(1)?[0] != 0),
            ColumnType::Int => Value::Int((self.u64()? ^ SIGN) as i64),
            ColumnType::Timestamp => Value::Timestamp((self.u64()? ^ SIGN) as i64),
            ColumnType::Date => Value::Date(self.date()?),
            ColumnType::Float => {
                let bits = self.u64()?;
                Value::Float(f64::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN }))
            }
            ColumnType::Text => Value::Text(String::from_utf8(self.bytes()?).map_err(|_| Malformed)?),
            ColumnType::Bytes => Value::Bytes(self.bytes()?),
        })
    }
}

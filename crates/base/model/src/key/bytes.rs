//! The bytes of a key, beside their number where they are few.

use std::num::NonZeroU8;

/// Bytes that need no allocation: the most that fits in 40. Four integers are 32.
const INLINE: usize = 39;

/// A growing byte string. Zero, which no `length_plus_one` is, tells the variants apart, so that their difference takes no room.
#[derive(Clone)]
pub(super) enum KeyBytes {
    Inline { length_plus_one: NonZeroU8, bytes: [u8; INLINE] },
    Heap(Vec<u8>),
}

const _: () = assert!(size_of::<KeyBytes>() == 40, "write sets and indexes are full of keys");

const fn plus_one(length: usize) -> NonZeroU8 {
    NonZeroU8::new(length as u8 + 1).expect("at most 40")
}

impl KeyBytes {
    pub const EMPTY: KeyBytes = KeyBytes::Inline { length_plus_one: plus_one(0), bytes: [0; INLINE] };

    #[inline]
    pub fn from_slice(slice: &[u8]) -> KeyBytes {
        let mut bytes = [0; INLINE];
        match bytes.get_mut(..slice.len()) {
            Some(place) => {
                place.copy_from_slice(slice);
                KeyBytes::Inline { length_plus_one: plus_one(slice.len()), bytes }
            }
            None => KeyBytes::Heap(slice.to_vec()),
        }
    }

    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            KeyBytes::Inline { length_plus_one, bytes } => &bytes[..usize::from(length_plus_one.get() - 1)],
            KeyBytes::Heap(bytes) => bytes,
        }
    }

    /// Returns the bytes of memory that they take beside this value.
    pub fn memory(&self) -> usize {
        match self {
            KeyBytes::Inline { .. } => 0,
            KeyBytes::Heap(bytes) => bytes.capacity(),
        }
    }

    /// Appends bytes. Inlined, so that a number of known width is one store.
    #[inline]
    pub fn extend(&mut self, more: &[u8]) {
        if let KeyBytes::Inline { length_plus_one, bytes } = self {
            let length = usize::from(length_plus_one.get() - 1);
            if let Some(place) = bytes.get_mut(length..length + more.len()) {
                place.copy_from_slice(more);
                *length_plus_one = plus_one(length + more.len());
                return;
            }
        }
        self.extend_heap(more);
    }

    #[cold]
    fn extend_heap(&mut self, more: &[u8]) {
        match self {
            KeyBytes::Heap(bytes) => bytes.extend_from_slice(more),
            KeyBytes::Inline { .. } => *self = KeyBytes::Heap([self.as_slice(), more].concat()),
        }
    }

    /// Changes the last byte, if there is one.
    pub fn change_last(&mut self, change: impl FnOnce(u8) -> u8) {
        let last = match self {
            KeyBytes::Inline { length_plus_one, bytes } => bytes[..usize::from(length_plus_one.get() - 1)].last_mut(),
            KeyBytes::Heap(bytes) => bytes.last_mut(),
        };
        if let Some(last) = last {
            *last = change(*last);
        }
    }

    /// Removes all bytes, and keeps the memory.
    pub fn clear(&mut self) {
        match self {
            KeyBytes::Inline { length_plus_one, .. } => *length_plus_one = plus_one(0),
            KeyBytes::Heap(bytes) => bytes.clear(),
        }
    }
}

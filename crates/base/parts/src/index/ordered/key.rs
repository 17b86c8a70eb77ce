//! Comparison of keys: eight bytes in the slot first, the whole key only on a tie.

use crate::index::KeyWidth;
use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cmp::Ordering,
    hint::select_unpredictable,
    ptr::{self, NonNull},
};

/// The first eight bytes of a key as a number, padded with zeros: `a <= b` implies `prefix(a) <= prefix(b)`.
#[inline]
pub fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(chunk) => u64::from_be_bytes(*chunk),
        None => {
            let mut padded = [0; 8];
            padded[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(padded)
        }
    }
}

/// A key (or the bound of a scan) on its way through the tree.
#[derive(Clone, Copy)]
pub struct SearchKey<'k> {
    pub bytes: &'k [u8],
    pub prefix: u64,
    /// Compares a stored key of the same prefix to this one; `None` when only the stored key itself can say.
    tie: Option<Ordering>,
}

impl<'k> SearchKey<'k> {
    #[inline]
    pub fn new(bytes: &'k [u8], width: KeyWidth) -> Self {
        let tie = match width {
            // A stored key of eight bytes and the same prefix is this key's first eight bytes, padded.
            KeyWidth::Eight => Some(8.cmp(&bytes.len())),
            KeyWidth::Any => None,
        };
        Self { bytes, prefix: prefix(bytes), tie }
    }

    /// Returns whether a stored key of the same prefix, whose bytes `stored` fetches, is the key itself.
    #[inline]
    pub fn is<'s>(&self, stored: impl FnOnce() -> Option<&'s [u8]>) -> bool {
        match self.tie {
            Some(tie) => tie.is_eq(),
            None => stored() == Some(self.bytes),
        }
    }

    /// Returns how many of the first `count` sorted slots lie before this key (and at it, if `inclusive`).
    ///
    /// `stored` fetches the key in a slot; `None` says that the slot is in the middle of a change, and the result
    /// is then as meaningless as the version's validation will find it.
    #[inline]
    pub fn partition_point<'s>(
        &self,
        count: usize,
        inclusive: bool,
        prefix: impl Fn(usize) -> u64,
        stored: impl Fn(usize) -> Option<&'s [u8]>,
    ) -> usize {
        let Some(tie) = self.tie else { return self.partition_point_of_any(count, inclusive, prefix, stored) };
        let above = u64::from(tie.is_lt() || (inclusive && tie.is_eq()));
        match self.prefix.checked_add(above) {
            Some(first) => first_not(0, count, |slot| prefix(slot) < first),
            None => count, // No prefix is above the greatest.
        }
    }

    /// The same among keys of any length. Apart, so that the search among keys of eight bytes is small enough to be inlined.
    #[inline(never)]
    fn partition_point_of_any<'s>(
        &self,
        count: usize,
        inclusive: bool,
        prefix: impl Fn(usize) -> u64,
        stored: impl Fn(usize) -> Option<&'s [u8]>,
    ) -> usize {
        let ties = first_not(0, count, |slot| prefix(slot) < self.prefix);
        if ties == count || prefix(ties) != self.prefix {
            return ties;
        }
        let before = |order: Ordering| order.is_lt() || (inclusive && order.is_eq());
        first_not(ties, count, |slot| {
            prefix(slot) == self.prefix && stored(slot).is_some_and(|key| before(key.cmp(self.bytes)))
        })
    }
}

/// The first of the slots `from..to` for which `before` is false, and `to` if there is none; binary search, without branches on
/// the outcome. Asks for slots of that range only, whatever `before` says.
#[inline]
fn first_not(from: usize, to: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut length) = (from, to.saturating_sub(from));
    // The first one is among `from..=from + length`.
    while length > 1 {
        let half = length / 2;
        from = select_unpredictable(before(from + half - 1), from + half, from);
        length -= half;
    }
    from + usize::from(length == 1 && before(from))
}

/// The shortest byte string above `left` and not above `right`.
///
/// # Panics
/// Unless `left < right`.
pub fn shortest_between<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
    assert!(left < right, "the keys of a leaf ascend");
    let common = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    &right[..=common]
}

/// The bytes of a separator, behind a thin pointer: immutable from its allocation until it is freed.
#[repr(C)]
pub struct Separator {
    length: usize,
    // The bytes follow.
}

impl Separator {
    fn layout(length: usize) -> Layout {
        let (layout, offset) = Layout::array::<u8>(length)
            .and_then(|bytes| Layout::new::<Self>().extend(bytes))
            .expect("a key is far shorter than the address space");
        debug_assert_eq!(offset, size_of::<Self>());
        layout
    }

    /// A copy of `bytes`, to be freed with [`Self::free`].
    pub fn allocate(bytes: &[u8]) -> NonNull<Self> {
        let layout = Self::layout(bytes.len());
        // SAFETY: the layout has at least the size of a usize; the header and the `bytes.len()` bytes behind it lie
        // inside the allocation and are written before anyone else knows of it.
        unsafe {
            let Some(separator) = NonNull::new(alloc(layout).cast::<Self>()) else {
                handle_alloc_error(layout);
            };
            separator.write(Self { length: bytes.len() });
            ptr::copy_nonoverlapping(bytes.as_ptr(), separator.add(1).cast().as_ptr(), bytes.len());
            separator
        }
    }

    /// The separator's bytes.
    ///
    /// # Safety
    /// `separator` is from [`Self::allocate`] and is not freed during `'a`.
    #[inline]
    pub unsafe fn bytes<'a>(separator: NonNull<Self>) -> &'a [u8] {
        // SAFETY: alive and immutable by the caller's promise; `length` bytes follow the header.
        unsafe {
            let length = separator.as_ref().length;
            std::slice::from_raw_parts(separator.add(1).cast().as_ptr(), length)
        }
    }

    /// The bytes that it takes.
    ///
    /// # Safety
    /// `separator` is from [`Self::allocate`] and has not been freed.
    pub unsafe fn size(separator: NonNull<Self>) -> usize {
        // SAFETY: alive by the caller's promise.
        Self::layout(unsafe { separator.as_ref() }.length).size()
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// `separator` is from [`Self::allocate`], and nobody uses it from here on.
    pub unsafe fn free(separator: NonNull<Self>) {
        // SAFETY: allocated with this very layout; the last use by the caller's promise.
        unsafe {
            let layout = Self::layout(separator.as_ref().length);
            dealloc(separator.cast().as_ptr(), layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_keep_the_order_of_keys() {
        let keys: [&[u8]; 8] = [b"", b"\0", b"\0\0\0\0\0\0\0\0\0", b"a", b"a\0", b"ab", b"abcdefgh", b"abcdefghi"];
        for pair in keys.windows(2) {
            assert!(pair[0] < pair[1] && prefix(pair[0]) <= prefix(pair[1]));
        }
    }

    #[test]
    fn a_search_finds_the_first_slot_and_asks_for_no_other() {
        for (from, to) in (0..12).flat_map(|from| (from..80).map(move |to| (from, to))) {
            for first in from..=to {
                let found = first_not(from, to, |slot| {
                    assert!((from..to).contains(&slot), "{slot} is not in {from}..{to}");
                    slot < first
                });
                assert_eq!(found, first, "in {from}..{to}");
            }
            // A node that changes meanwhile may say anything.
            let torn = first_not(from, to, |slot| {
                assert!((from..to).contains(&slot));
                slot * 7 % 3 == 0
            });
            assert!((from..=to).contains(&torn));
        }
    }

    #[test]
    fn a_separator_is_as_short_as_it_can_be() {
        assert_eq!(shortest_between(b"", b"\0\0"), b"\0");
        assert_eq!(shortest_between(b"abc", b"abd1"), b"abd");
        assert_eq!(shortest_between(b"ab", b"abc"), b"abc");
        assert_eq!(shortest_between(b"a\xff", b"b\0"), b"b");
    }

    #[test]
    fn separators_keep_their_bytes() {
        for bytes in [&b""[..], b"x", &[0xff; 1000]] {
            let separator = Separator::allocate(bytes);
            // SAFETY: just allocated, freed once, not used after.
            unsafe {
                assert_eq!(Separator::bytes(separator), bytes);
                Separator::free(separator);
            }
        }
    }

    #[test]
    fn bounds_of_another_length_fall_between_keys_of_eight_bytes() {
        let stored: Vec<[u8; 8]> = [0_u64, 0x61 << 56, (0x61 << 56) + 1, u64::MAX].map(u64::to_be_bytes).to_vec();
        for bound in [&b""[..], b"a", b"a\0\0\0\0\0\0\0", b"a\0\0\0\0\0\0\0\0", b"b", &[0xff; 8], &[0xff; 9]] {
            let sought = SearchKey::new(bound, KeyWidth::Eight);
            for inclusive in [false, true] {
                let found = sought.partition_point(stored.len(), inclusive, |slot| prefix(&stored[slot]), |_| None);
                let expected = stored.iter().filter(|key| &key[..] < bound || (inclusive && &key[..] == bound)).count();
                assert_eq!(found, expected, "{bound:?} inclusive {inclusive}");
            }
        }
    }
}

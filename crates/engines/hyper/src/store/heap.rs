//! Byte strings of the slots of a block, each for itself.

use parts::index::prefetch::prefetch;

/// Byte strings of varying length.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    spans: Vec<Span>,
    bytes: Vec<u8>,
    /// Bytes that belong to nobody any more.
    garbage: usize,
}

/// Where a byte string begins, and its length in the lowest bits.
#[derive(Clone, Copy, Debug, Default)]
struct Span(u64);

const LENGTH_BITS: u32 = 24;
/// The longest byte string. As many as a block has slots are below the 2^40 bytes that spans reach.
pub(crate) const LONGEST_BYTES: u64 = (1 << LENGTH_BITS) - 1;
/// Garbage below this many bytes is not worth a copy.
const LEAST_GARBAGE: usize = 4096;
/// The least room that is added.
const LEAST_ROOM: usize = 64;

impl Span {
    fn new(start: usize, length: usize) -> Span {
        let (start, length) = (start as u64, length as u64);
        assert!(length <= LONGEST_BYTES && start >> (64 - LENGTH_BITS) == 0, "rows are checked when they come in");
        Span(start << LENGTH_BITS | length)
    }

    #[inline]
    fn range(self) -> std::ops::Range<usize> {
        let start = (self.0 >> LENGTH_BITS) as usize;
        start..start + self.length()
    }

    #[inline]
    fn length(self) -> usize {
        (self.0 & LONGEST_BYTES) as usize
    }
}

impl Heap {
    pub fn new(slots: usize) -> Heap {
        Heap { spans: vec![Span::default(); slots], ..Heap::default() }
    }

    /// A heap without byte strings, with room for so many bytes.
    pub fn with_room(slots: usize, bytes: usize) -> Heap {
        Heap { bytes: Vec::with_capacity(bytes), ..Heap::new(slots) }
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.spans.len()
    }

    /// Makes room for more slots.
    pub fn grow(&mut self, slots: usize) {
        self.spans.resize(slots, Span::default());
    }

    /// Bytes of a slot.
    #[inline]
    pub fn length(&self, slot: usize) -> usize {
        self.spans[slot].length()
    }

    /// Asks for the memory where it is written where a byte string stands.
    pub fn prefetch(&self, slot: usize) {
        prefetch(&self.spans[slot], 1);
    }

    #[inline]
    pub fn get(&self, slot: usize) -> &[u8] {
        &self.bytes[self.spans[slot].range()]
    }

    /// Replaces a byte string. Returns whether the memory that the heap takes may have changed.
    pub fn set(&mut self, slot: usize, new: &[u8]) -> bool {
        let old = self.spans[slot];
        if new.len() <= old.length() {
            let start = old.range().start;
            self.bytes[start..][..new.len()].copy_from_slice(new);
            self.spans[slot] = Span::new(start, new.len());
            self.garbage += old.length() - new.len();
            return false;
        }
        self.garbage += old.length();
        self.spans[slot] = Span::default();
        let moved = self.make_room(new.len());
        self.spans[slot] = Span::new(self.bytes.len(), new.len());
        self.bytes.extend_from_slice(new);
        moved
    }

    /// Makes room for so many bytes more; first by a copy without garbage, if there is much.
    fn make_room(&mut self, more: usize) -> bool {
        let has_room = |heap: &Heap| heap.bytes.capacity() - heap.bytes.len() >= more;
        if has_room(self) {
            return false;
        }
        // The bytes are copied anyway.
        if self.garbage > self.bytes.len() / 4 {
            self.compact();
        }
        if !has_room(self) {
            // A quarter more, and not twice as much: what nobody uses counts, too.
            self.bytes.reserve_exact(more.max(self.bytes.len() / 4).max(LEAST_ROOM));
        }
        true
    }

    /// Forgets a byte string.
    pub fn vacate(&mut self, slot: usize) -> bool {
        self.garbage += self.spans[slot].length();
        self.spans[slot] = Span::default();
        let is_all = self.garbage > 0 && self.garbage == self.bytes.len();
        let is_worth_it = is_all || self.garbage > LEAST_GARBAGE.max(self.bytes.len() / 4);
        if is_worth_it {
            self.compact();
        }
        is_worth_it
    }

    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.garbage);
        for span in &mut self.spans {
            let new = Span::new(bytes.len(), span.length());
            bytes.extend_from_slice(&self.bytes[span.range()]);
            *span = new;
        }
        (self.bytes, self.garbage) = (bytes, 0);
    }

    pub fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<Span>() * self.spans.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_keep_what_is_set_over_compactions() {
        let mut heap = Heap::new(16);
        let mut expected = vec![Vec::new(); 16];
        for round in 0..10_000_usize {
            let slot = round * 7 % 16;
            expected[slot] = vec![round as u8; round * 31 % 97];
            let before = heap.memory();
            let moved = if round % 5 == 0 { heap.vacate(slot) } else { heap.set(slot, &expected[slot]) };
            assert!(moved || heap.memory() == before, "round {round}");
            if round % 5 == 0 {
                expected[slot].clear();
            }
            assert_eq!(heap.get(slot), expected[slot]);
        }
        assert!((0..16).all(|slot| heap.get(slot) == expected[slot]));
        assert!(heap.memory() < 3 * LEAST_GARBAGE, "{}", heap.memory());
    }
}

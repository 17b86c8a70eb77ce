//! Marks of the keys of a small write set: short hashes side by side, so that a search looks at few entries.

use model::TableId;

/// Marks that are compared at once.
const SIDE_BY_SIDE: usize = 8;

/// Bits that tell which marks are not there.
const FILTER_BITS: u32 = 256;

/// The mark of each entry.
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<u32>,
    /// The bit of each mark. Most keys that are sought are not there, and most of them meet a bit that is not set.
    filter: [u64; (FILTER_BITS / u64::BITS) as usize],
}

/// The word of the filter that has a mark's bit, and the bit.
#[inline]
fn bit_of(mark: u32) -> (usize, u64) {
    let bit = mark % FILTER_BITS;
    ((bit / u64::BITS) as usize, 1 << (bit % u64::BITS))
}

impl Marks {
    /// Returns whether there is none: no entry was made.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Adds the mark of the next entry.
    pub fn push(&mut self, mark: u32) {
        let (word, bit) = bit_of(mark);
        self.filter[word] |= bit;
        self.marks.push(mark);
    }

    /// The first entry with this mark that is the sought one.
    #[inline]
    pub fn find(&self, mark: u32, is_sought: impl Fn(usize) -> bool) -> Option<usize> {
        let (word, bit) = bit_of(mark);
        if self.filter[word] & bit == 0 { None } else { self.search(mark, is_sought) }
    }

    fn search(&self, mark: u32, is_sought: impl Fn(usize) -> bool) -> Option<usize> {
        let chunks = self.marks.chunks(SIDE_BY_SIDE).enumerate();
        // Without an early exit, a chunk's comparisons are a few instructions.
        let among = chunks.filter(|(_, marks)| marks.iter().fold(false, |any, other| any | (*other == mark)));
        among
            .flat_map(|(chunk, marks)| (chunk * SIDE_BY_SIDE..).zip(marks))
            .find_map(|(at, other)| (*other == mark && is_sought(at)).then_some(at))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.marks.clear();
        self.filter = Default::default();
    }
}

/// The mark of a key. Whoever chooses keys of one mark makes searches slower, as slow as comparing all keys.
#[inline]
pub fn mark(table: TableId, key: &[u8]) -> u32 {
    /// An odd number without a pattern: the fraction of the golden ratio.
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    let mixed = words.fold(u64::from(table.0), |mixed, word| (mixed.rotate_left(23) ^ word).wrapping_mul(MIX));
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_sought_is_found_wherever_it_is() {
        for length in 0..40 {
            let mut marks = Marks::default();
            (0..length).for_each(|at| marks.push(at % 5));
            for sought in 0..length as usize {
                assert_eq!(marks.find(sought as u32 % 5, |at| at >= sought), Some(sought));
            }
            assert_eq!(marks.find(1, |_| false), None);
            assert_eq!(marks.find(5, |_| true), None);
        }
    }

    #[test]
    fn keys_that_are_neighbours_have_marks_of_their_own() {
        let mut marks: Vec<u32> = (0..2)
            .flat_map(|table| (0..1000).map(move |key: u64| (table, key)))
            .flat_map(|(table, key)| {
                [&key.to_be_bytes()[..], &key.to_string().into_bytes()].map(|key| mark(TableId(table), key))
            })
            .collect();
        let all = marks.len();
        marks.sort_unstable();
        marks.dedup();
        assert!(marks.len() > all - 10, "{} of {all}", marks.len());
    }
}

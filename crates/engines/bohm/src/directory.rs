//! Where the slots of a call with many keys stand, by their keys: so that its body finds each at once.

use model::TableId;
use std::hash::{BuildHasher, RandomState};

const FREE: u32 = u32::MAX;

/// A table with open addressing, half empty at least. Whoever chooses the keys does not choose their places.
#[derive(Debug)]
pub(crate) struct Directory {
    places: Box<[u32]>,
    hasher: RandomState,
}

impl Directory {
    /// The directory of different keys, which are numbered in their order.
    pub fn of<'k>(keys: impl ExactSizeIterator<Item = (TableId, &'k [u8])>) -> Directory {
        let places = vec![FREE; (2 * keys.len()).next_power_of_two()];
        let mut directory = Directory { places: places.into_boxed_slice(), hasher: RandomState::new() };
        for (number, (table, key)) in (0..).zip(keys) {
            let mut at = directory.first(table, key);
            while directory.places[at] != FREE {
                at = directory.after(at);
            }
            directory.places[at] = number;
        }
        directory
    }

    /// The number of a key, if it is there. `is_it` looks whether a number is the key's.
    #[inline]
    pub fn find(&self, table: TableId, key: &[u8], is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = self.first(table, key);
        loop {
            match self.places[at] {
                FREE => return None,
                number if is_it(number as usize) => return Some(number as usize),
                _ => at = self.after(at),
            }
        }
    }

    fn first(&self, table: TableId, key: &[u8]) -> usize {
        self.hasher.hash_one((table.0, key)) as usize & (self.places.len() - 1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let keys: Vec<[u8; 4]> = (0..1000_u32).map(u32::to_be_bytes).collect();
        let directory = Directory::of(keys.iter().map(|key| (TableId(3), &key[..])));
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(directory.find(TableId(3), key, |at| keys[at] == *key), Some(number));
        }
        let other = 1000_u32.to_be_bytes();
        assert_eq!(directory.find(TableId(3), &other, |at| keys[at] == other), None);
    }
}

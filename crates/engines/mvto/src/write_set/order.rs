//! The order of a write set's keys in one space: numbers of entries, sorted by the entries' keys.
//!
//! A list of short sorted lists. It takes four to eight bytes an entry, beside the key that the entry has anyway, and a key
//! beyond all others, as a load brings them, is found and added in constant time.

use super::Write;
use model::Key;
use std::cmp::Ordering;
use std::ops::Bound;

/// Entries of one list.
#[cfg(not(test))]
const FULL: usize = 256;
#[cfg(test)]
const FULL: usize = 4;

/// Numbers of entries in the order of their keys. None of the lists is empty.
#[derive(Debug, Default)]
pub(super) struct Order {
    lists: Vec<Vec<u32>>,
}

/// A position: which list, and where in it. At the end: behind the last one.
type At = (usize, usize);

impl Order {
    /// The entry with this key.
    pub fn find(&self, entries: &[Write], key: &[u8]) -> Option<usize> {
        let (list, at) = self.seek(entries, |other| other.cmp(key));
        let found = *self.lists.get(list)?.get(at)? as usize;
        (entries[found].key[..] == *key).then_some(found)
    }

    /// Adds an entry whose key is not there.
    pub fn insert(&mut self, entries: &[Write], number: u32) {
        let key = &entries[number as usize].key[..];
        let (list, at) = self.seek(entries, |other| other.cmp(key));
        if list == self.lists.len() {
            // Behind all others: full lists stay full.
            match self.lists.last_mut() {
                Some(last) if last.len() < FULL => last.push(number),
                _ => self.lists.push(vec![number]),
            }
            return;
        }
        self.lists[list].insert(at, number);
        if self.lists[list].len() > FULL {
            let upper = self.lists[list].split_off(FULL / 2);
            self.lists.insert(list + 1, upper);
        }
    }

    /// Entries with keys within the bounds, ascending.
    pub fn range<'a>(&'a self, entries: &[Write], lower: Bound<&Key>, upper: Bound<&Key>) -> Range<'a> {
        let from = match lower {
            Bound::Unbounded => (0, 0),
            Bound::Included(key) => self.seek(entries, |other| other.cmp(key)),
            Bound::Excluded(key) => self.seek(entries, |other| other.cmp(key).then(Ordering::Less)),
        };
        let to = match upper {
            Bound::Unbounded => (self.lists.len(), 0),
            Bound::Included(key) => self.seek(entries, |other| other.cmp(key).then(Ordering::Less)),
            Bound::Excluded(key) => self.seek(entries, |other| other.cmp(key)),
        };
        Range { lists: &self.lists, from, to: to.max(from) }
    }

    /// The first position whose key is not less.
    fn seek(&self, entries: &[Write], compare: impl Fn(&[u8]) -> Ordering) -> At {
        let is_less = |number: &u32| compare(&entries[*number as usize].key).is_lt();
        // A load comes in ascending order.
        if self.lists.last().and_then(|last| last.last()).is_none_or(is_less) {
            return (self.lists.len(), 0);
        }
        let list = self.lists.partition_point(|list| list.last().is_some_and(is_less));
        (list, self.lists[list].partition_point(is_less))
    }
}

/// Numbers of entries in the order of their keys, from either end.
#[derive(Debug)]
pub(super) struct Range<'a> {
    lists: &'a [Vec<u32>],
    from: At,
    to: At,
}

impl Iterator for Range<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.from == self.to {
            return None;
        }
        let (list, at) = self.from;
        self.from = if at + 1 < self.lists[list].len() { (list, at + 1) } else { (list + 1, 0) };
        Some(self.lists[list][at] as usize)
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<usize> {
        if self.from == self.to {
            return None;
        }
        let (list, at) = self.to;
        self.to = if at > 0 { (list, at - 1) } else { (list - 1, self.lists[list - 1].len() - 1) };
        Some(self.lists[self.to.0][self.to.1] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Buffered;
    use super::*;
    use env::Randomness;
    use model::TableId;
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;

    fn write(key: u64) -> Write {
        let (owned, is_undated, expected_row, buffered) = (false, false, None, Buffered::Absent);
        Write { table: TableId(1), key: Key::from_u64(key), tuple: None, owned, is_undated, expected_row, buffered }
    }

    /// Against a map, by random, ascending and descending keys.
    #[test]
    fn finds_and_lists_what_a_map_does() {
        let mut random = Randomness::from_seed(24);
        for shape in 0..3 {
            let (mut order, mut entries, mut map) = (Order::default(), Vec::new(), BTreeMap::new());
            for n in 0..300 {
                let key = [random.in_range(0..500), n, 1000 - n][shape];
                if let Entry::Vacant(place) = map.entry(key) {
                    place.insert(entries.len());
                    entries.push(write(key));
                    order.insert(&entries, entries.len() as u32 - 1);
                }
                let probe = random.in_range(0..1000);
                assert_eq!(order.find(&entries, &Key::from_u64(probe)), map.get(&probe).copied());
            }
            for _ in 0..300 {
                let keys = [random.in_range(0..1001), random.in_range(0..1001)].map(|key| (key, Key::from_u64(key)));
                let bound = |number: u64, of: usize| match number {
                    0 => (Bound::Unbounded, Bound::Unbounded),
                    1 => (Bound::Included(&keys[of].1), Bound::Included(keys[of].0)),
                    _ => (Bound::Excluded(&keys[of].1), Bound::Excluded(keys[of].0)),
                };
                let (lower, upper) = (bound(random.in_range(0..3), 0), bound(random.in_range(0..3), 1));
                let within = |key: &u64| std::ops::RangeBounds::contains(&(lower.1, upper.1), key);
                let expected: Vec<usize> = map.iter().filter(|(key, _)| within(key)).map(|(_, at)| *at).collect();
                assert_eq!(order.range(&entries, lower.0, upper.0).collect::<Vec<_>>(), expected);
                let mut back: Vec<usize> = order.range(&entries, lower.0, upper.0).rev().collect();
                back.reverse();
                assert_eq!(back, expected);
            }
        }
    }
}

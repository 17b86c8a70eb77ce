//! Ranges of keys.

use model::{Key, Target};
use std::cmp::Ordering;
use std::ops::Bound;

type Edge = Bound<Box<[u8]>>;

/// All keys between two bounds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyRange {
    lower: Edge,
    upper: Edge,
}

impl KeyRange {
    pub fn new(lower: Bound<&Key>, upper: Bound<&Key>) -> KeyRange {
        let own = |bound: Bound<&Key>| bound.map(|key| Box::from(&key[..]));
        KeyRange { lower: own(lower), upper: own(upper) }
    }

    /// The range of one key.
    pub fn of_key(key: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Included(key.into()), upper: Bound::Included(key.into()) }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        let is_above = match &self.lower {
            Bound::Included(low) => **low <= *key,
            Bound::Excluded(low) => **low < *key,
            Bound::Unbounded => true,
        };
        let is_below = match &self.upper {
            Bound::Included(high) => *key <= **high,
            Bound::Excluded(high) => *key < **high,
            Bound::Unbounded => true,
        };
        is_above && is_below
    }

    /// Compares where ranges begin.
    pub fn compare_lower(&self, other: &KeyRange) -> Ordering {
        compare(&self.lower, &other.lower, Ordering::Less)
    }

    /// Widens the range until it contains another one.
    pub fn include(&mut self, other: KeyRange) {
        if compare(&other.lower, &self.lower, Ordering::Less).is_lt() {
            self.lower = other.lower;
        }
        if compare(&other.upper, &self.upper, Ordering::Greater).is_gt() {
            self.upper = other.upper;
        }
    }

    /// The range as others are shown it.
    pub fn as_target(&self) -> Target {
        let shown = |edge: &Edge| edge.as_ref().map(|key| Key::from_bytes(key));
        match (&self.lower, &self.upper) {
            (Bound::Included(lower), Bound::Included(upper)) if lower == upper => Target::Key(Key::from_bytes(lower)),
            (lower, upper) => Target::Range(shown(lower), shown(upper)),
        }
    }

    pub fn bytes(&self) -> usize {
        [&self.lower, &self.upper].into_iter().filter_map(key_of).map(<[u8]>::len).sum()
    }
}

fn key_of(edge: &Edge) -> Option<&[u8]> {
    match edge {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Compares two lower edges (`outer` is `Less`) or two upper ones (`Greater`): an edge that takes in more is further in the
/// direction of `outer`.
fn compare(a: &Edge, b: &Edge, outer: Ordering) -> Ordering {
    let takes_in = |edge: &Edge| matches!(edge, Bound::Included(_));
    match (key_of(a), key_of(b)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => outer,
        (Some(_), None) => outer.reverse(),
        (Some(x), Some(y)) => x.cmp(y).then_with(|| match (takes_in(a), takes_in(b)) {
            (true, false) => outer,
            (false, true) => outer.reverse(),
            _ => Ordering::Equal,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lower: Bound<u64>, upper: Bound<u64>) -> KeyRange {
        let (lower, upper) = (lower.map(Key::from_u64), upper.map(Key::from_u64));
        KeyRange::new(lower.as_ref(), upper.as_ref())
    }

    fn bounds() -> Vec<Bound<u64>> {
        let keyed = (0..5).flat_map(|key| [Bound::Included(key), Bound::Excluded(key)]);
        keyed.chain([Bound::Unbounded]).collect()
    }

    /// What includes two ranges contains every key of both; and no key outside of both but between them.
    #[test]
    fn a_range_that_includes_others_contains_what_they_contain() {
        let all: Vec<KeyRange> =
            bounds().into_iter().flat_map(|low| bounds().into_iter().map(move |high| range(low, high))).collect();
        for a in &all {
            for b in &all {
                let mut both = a.clone();
                both.include(b.clone());
                for key in (0..6).map(Key::from_u64) {
                    assert!(both.contains(&key) || !(a.contains(&key) || b.contains(&key)), "{a:?} {b:?} {key:?}");
                }
            }
        }
    }
}

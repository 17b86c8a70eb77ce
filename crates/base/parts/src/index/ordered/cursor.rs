//! Position of a scan between one leaf and the next.

use super::{key::SearchKey, node::Target};
use crate::index::KeyWidth;
use model::Direction;
use std::ops::Bound;

/// Rest of a scan: the range of keys that no leaf has been asked for yet.
///
/// It holds keys and no pointers, so it may be kept across guards, for as long as anybody likes.
#[derive(Clone, Debug)]
pub struct Cursor {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    direction: Direction,
    finished: bool,
}

impl Cursor {
    /// A scan from `lower` to `upper`, whichever end comes first.
    pub fn new(lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) -> Self {
        let mut cursor = Self { lower: Bound::Unbounded, upper: Bound::Unbounded, direction, finished: false };
        cursor.restart(lower, upper, direction);
        cursor
    }

    /// Same as [`Self::new`], reusing this cursor's memory.
    pub fn restart(&mut self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) {
        put(&mut self.lower, lower);
        put(&mut self.upper, upper);
        self.direction = direction;
        self.finished = is_empty(lower, upper);
    }

    /// Returns whether no leaf of the range is left.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Which end of the range comes first.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The bounds of the keys that no leaf was asked for yet; without meaning once finished.
    pub fn remaining(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower(), self.upper())
    }

    pub(super) fn lower(&self) -> Bound<&[u8]> {
        self.lower.as_ref().map(Vec::as_slice)
    }

    pub(super) fn upper(&self) -> Bound<&[u8]> {
        self.upper.as_ref().map(Vec::as_slice)
    }

    /// The leaf that comes next.
    pub(super) fn target(&self, width: KeyWidth) -> Target<'_> {
        match (self.direction, &self.lower, &self.upper) {
            (Direction::Forward, Bound::Unbounded, _) => Target::First,
            (Direction::Forward, Bound::Included(key) | Bound::Excluded(key), _) => {
                Target::Covering(SearchKey::new(key, width))
            }
            (Direction::Backward, _, Bound::Unbounded) => Target::Last,
            (Direction::Backward, _, Bound::Included(key)) => Target::Covering(SearchKey::new(key, width)),
            (Direction::Backward, _, Bound::Excluded(key)) => Target::Below(SearchKey::new(key, width)),
        }
    }

    /// Goes on behind an entry of the range.
    pub(super) fn leave(&mut self, key: &[u8]) {
        match self.direction {
            Direction::Forward => put(&mut self.lower, Bound::Excluded(key)),
            Direction::Backward => put(&mut self.upper, Bound::Excluded(key)),
        }
    }

    /// Goes on behind a leaf that covered the keys from `low` (included) to `high` (excluded), `None` for no limit.
    pub(super) fn pass(&mut self, low: Option<&[u8]>, high: Option<&[u8]>) {
        match self.direction {
            Direction::Forward => self.finished |= !high.is_some_and(|high| begins_before(high, self.upper())),
            Direction::Backward => self.finished |= !low.is_some_and(|low| ends_behind(low, self.lower())),
        }
        match (self.finished, self.direction) {
            (true, _) => {}
            (_, Direction::Forward) => put(&mut self.lower, high.map_or(Bound::Unbounded, Bound::Included)),
            (_, Direction::Backward) => put(&mut self.upper, low.map_or(Bound::Unbounded, Bound::Excluded)),
        }
    }
}

/// Returns whether keys from `start` (included) on may lie below `upper`.
fn begins_before(start: &[u8], upper: Bound<&[u8]>) -> bool {
    match upper {
        Bound::Unbounded => true,
        Bound::Included(upper) => start <= upper,
        Bound::Excluded(upper) => start < upper,
    }
}

/// Returns whether keys below `end` may lie above `lower`.
fn ends_behind(end: &[u8], lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Unbounded => true,
        Bound::Included(lower) | Bound::Excluded(lower) => lower < end,
    }
}

/// Returns whether no key can lie between the bounds.
fn is_empty(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), upper) => !begins_before(lower, upper),
        (lower, Bound::Excluded(upper)) => !ends_behind(upper, lower),
        (Bound::Excluded(lower), Bound::Included(upper)) => lower >= upper,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

/// Replaces a bound, keeping its memory.
fn put(bound: &mut Bound<Vec<u8>>, value: Bound<&[u8]>) {
    let old = std::mem::replace(bound, Bound::Unbounded);
    *bound = value.map(|key| {
        let (Bound::Included(mut bytes) | Bound::Excluded(mut bytes)) = old else { return key.to_vec() };
        bytes.clear();
        bytes.extend_from_slice(key);
        bytes
    });
}

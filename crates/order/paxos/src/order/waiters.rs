//! Callers that wait for room, or for the place of a barrier.

use std::collections::BTreeMap;
use total::Position;

/// Places of barriers that callers wait for, by number.
#[derive(Debug, Default)]
pub(super) struct Barriers(BTreeMap<u64, Option<Position>>);

impl Barriers {
    /// Somebody waits for the place of this number.
    pub(super) fn expect(&mut self, submission: u64) {
        self.0.insert(submission, None);
    }

    /// This number has a place.
    pub(super) fn placed(&mut self, submission: u64, at: Position) {
        if let Some(place) = self.0.get_mut(&submission) {
            *place = Some(at);
        }
    }

    /// All before this number have a place, which is this one at most.
    pub(super) fn passed(&mut self, next: u64, at: Position) {
        self.0.range_mut(..next).for_each(|(_, place)| *place = place.or(Some(at)));
    }

    /// Takes the place of this number, if it has one.
    pub(super) fn take(&mut self, submission: u64) -> Option<Position> {
        let place = (*self.0.get(&submission)?)?;
        self.0.remove(&submission);
        Some(place)
    }

    /// Nobody waits for this number any more.
    pub(super) fn forget(&mut self, submission: u64) {
        self.0.remove(&submission);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_once_to_who_waits() {
        let [one, other] = [1, 2].map(|instance| Position { instance, index: 0 });
        let mut barriers = Barriers::default();
        barriers.placed(3, one);
        assert_eq!(barriers.take(3), None, "nobody waited");
        (4..7).for_each(|submission| barriers.expect(submission));
        barriers.placed(4, one);
        barriers.passed(6, other);
        assert_eq!([4, 4, 5, 6].map(|submission| barriers.take(submission)), [Some(one), None, Some(other), None]);
        barriers.forget(6);
        assert!(barriers.0.is_empty());
    }
}

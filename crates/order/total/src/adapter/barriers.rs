//! Barriers that were asked for, placed and not yet reached, without I/O.

use crate::Position;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Barriers by their number.
#[derive(Debug, Default)]
pub struct Barriers {
    next: u64,
    asked: BTreeSet<u64>,
    /// Their callers have not looked yet.
    placed: BTreeMap<u64, Position>,
    /// The consumer was not told of these yet.
    ahead: VecDeque<Position>,
}

impl Barriers {
    /// Somebody asks for a barrier.
    pub fn ask(&mut self) -> u64 {
        self.asked.insert(self.next);
        self.next += 1;
        self.next - 1
    }

    /// A look at where the log ends begins, which serves all barriers below the number that is returned.
    #[must_use]
    pub fn begin_read(&self) -> u64 {
        self.next
    }

    /// A look has found this instance as the last one of the log; the consumer's queue has what is up to `reached`.
    pub fn place(&mut self, below: u64, last: u64, reached: u64) {
        let later = self.asked.split_off(&below);
        let served = std::mem::replace(&mut self.asked, later);
        if served.is_empty() {
            return;
        }
        let at = Position { instance: last.max(reached), index: u32::MAX };
        let at = self.ahead.back().map_or(at, |ahead| at.max(*ahead));
        self.ahead.push_back(at);
        self.placed.extend(served.into_iter().map(|number| (number, at)));
    }

    /// Returns the next barrier that the consumer's queue has reached.
    #[must_use]
    pub fn pop_reached(&mut self, reached: u64) -> Option<Position> {
        self.ahead.pop_front_if(|at| at.instance <= reached)
    }

    /// Takes the place of a barrier, if it has one.
    #[must_use]
    pub fn take(&mut self, number: u64) -> Option<Position> {
        self.placed.remove(&number)
    }

    /// Nobody waits for it any more.
    pub fn forget(&mut self, number: u64) {
        self.asked.remove(&number);
        self.placed.remove(&number);
    }

    /// Returns whether somebody waits for a place.
    #[must_use]
    pub fn are_asked(&self) -> bool {
        !self.asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(instance: u64) -> Option<Position> {
        Some(Position { instance, index: u32::MAX })
    }

    #[test]
    fn a_read_serves_those_who_asked_before_it() {
        let mut barriers = Barriers::default();
        let (one, two) = (barriers.ask(), barriers.ask());
        let below = barriers.begin_read();
        let three = barriers.ask();
        barriers.place(below, 7, 5);
        assert_eq!([one, two, three].map(|number| barriers.take(number)), [behind(7), behind(7), None]);
        assert!(barriers.are_asked());
        assert_eq!(
            (barriers.pop_reached(6), barriers.pop_reached(7), barriers.pop_reached(9)),
            (None, behind(7), None)
        );
        barriers.place(barriers.begin_read(), 7, 9);
        assert_eq!(
            (barriers.take(three), barriers.pop_reached(9)),
            (behind(9), behind(9)),
            "where the queue is further"
        );
        let four = barriers.ask();
        barriers.forget(four);
        barriers.place(barriers.begin_read(), 20, 9);
        assert_eq!((barriers.take(four), barriers.pop_reached(20)), (None, None));
    }
}

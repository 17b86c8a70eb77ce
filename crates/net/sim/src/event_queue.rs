//! Virtual time: future events and their times.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things that are going to happen, by their time in nanoseconds. Of two at one time, the one that was entered first comes
/// first, so that a simulation takes the same steps again.
#[derive(Clone, Debug)]
pub struct EventQueue<T> {
    items: BinaryHeap<Item<T>>,
    entered: u64,
}

#[derive(Clone, Debug)]
struct Item<T> {
    at: u64,
    number: u64,
    what: T,
}

impl<T> EventQueue<T> {
    /// Nothing is going to happen.
    #[must_use]
    pub fn new() -> Self {
        Self { items: BinaryHeap::new(), entered: 0 }
    }

    /// Enters what will happen at `at`.
    pub fn enter(&mut self, at: u64, what: T) {
        self.items.push(Item { at, number: self.entered, what });
        self.entered += 1;
    }

    /// When the next thing happens.
    #[must_use]
    pub fn next_at(&self) -> Option<u64> {
        self.items.peek().map(|item| item.at)
    }

    /// Takes the next thing out, with its time, if it happens at `now` or before.
    pub fn take_due(&mut self, now: u64) -> Option<(u64, T)> {
        if self.next_at()? > now {
            return None;
        }
        self.items.pop().map(|item| (item.at, item.what))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The heap yields its greatest item: the earliest is the greatest.
impl<T> Ord for Item<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Item<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Item<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Item<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_by_time_and_then_in_the_order_in_which_they_were_entered() {
        let mut queue = EventQueue::new();
        for (at, what) in [(30, 'c'), (10, 'a'), (30, 'd'), (20, 'b'), (10, 'A')] {
            queue.enter(at, what);
        }
        assert_eq!(queue.next_at(), Some(10));
        let taken: Vec<(u64, char)> = std::iter::from_fn(|| queue.take_due(100)).collect();
        assert_eq!(taken, [(10, 'a'), (10, 'A'), (20, 'b'), (30, 'c'), (30, 'd')]);
        assert!(queue.is_empty());
    }

    #[test]
    fn nothing_happens_before_its_time() {
        let mut queue = EventQueue::new();
        queue.enter(10, ());
        assert_eq!(queue.take_due(9), None);
        assert_eq!((queue.len(), queue.take_due(10)), (1, Some((10, ()))));
        assert_eq!(queue.next_at(), None);
    }
}

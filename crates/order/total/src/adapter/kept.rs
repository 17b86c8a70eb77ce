//! How much of a log is kept, without I/O.
//!
//! Each node says by a mark what it still needs; beyond `kept_bytes` the oldest is forgotten all the same, so that the store does
//! not fill up.

use std::collections::VecDeque;

/// Entries are counted in so many groups.
const GROUPS: usize = 128;
/// Marks are written, and the log is shortened, so many times on the way to the limit.
const STEPS: usize = 8;

#[derive(Debug)]
struct Group<N> {
    last: u64,
    bytes: usize,
    note: N,
}

/// Entries that are not forgotten, as far as this node has read them. `N` is what is to be remembered of each place where the log
/// may be cut.
#[derive(Debug)]
pub struct Kept<N> {
    limit: usize,
    /// The oldest first.
    groups: VecDeque<Group<N>>,
    bytes: usize,
    /// Bytes since it was last looked at.
    since: usize,
}

impl<N> Kept<N> {
    /// Nothing was read yet; `limit` is in bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), groups: VecDeque::new(), bytes: 0, since: 0 }
    }

    /// An entry was read. `before` is asked for what is to be remembered of the place before it, if the log may be cut there.
    pub fn add(&mut self, instance: u64, bytes: usize, before: impl FnOnce() -> N) {
        self.bytes += bytes;
        self.since += bytes;
        match self.groups.back_mut().filter(|group| group.bytes < self.limit / GROUPS) {
            Some(group) => {
                group.last = instance;
                group.bytes += bytes;
            }
            None => self.groups.push_back(Group { last: instance, bytes, note: before() }),
        }
    }

    /// Returns whether marks should be written, and the log shortened.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.since >= self.limit / STEPS
    }

    /// Returns whether so much is kept that nothing should be added before the log is shortened.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes > 2 * self.limit
    }

    /// Marks are written, and the log is shortened: not due until more was read.
    pub fn looked(&mut self) {
        self.since = 0;
    }

    /// Returns the instance up to which the log is to be forgotten, where all nodes still need what follows `needed`.
    #[must_use]
    pub fn cut(&self, needed: u64) -> u64 {
        let mut bytes = self.bytes;
        let too_much = self.groups.iter().take_while(|group| {
            let is_too_much = bytes > self.limit;
            bytes -= group.bytes;
            is_too_much
        });
        too_much.last().map_or(0, |group| group.last).max(needed)
    }

    /// The same for a log that is cut only at the remembered places: the last one up to [`Kept::cut`], and what is remembered of it.
    #[must_use]
    pub fn cut_at_note(&self, needed: u64) -> Option<(u64, &N)> {
        let cut = self.cut(needed);
        let places = self.groups.iter().zip(self.groups.iter().skip(1));
        places.take_while(|(group, _)| group.last <= cut).last().map(|(group, next)| (group.last, &next.note))
    }

    /// The log is forgotten up to this instance.
    pub fn forgotten(&mut self, instance: u64) {
        while let Some(group) = self.groups.pop_front_if(|group| group.last <= instance) {
            self.bytes -= group.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;
    const ENTRY: usize = 1 << 14;

    fn filled(entries: u64) -> Kept<u64> {
        let mut kept = Kept::new(LIMIT);
        (1..=entries).for_each(|instance| kept.add(instance, ENTRY, || instance - 1));
        kept
    }

    #[test]
    fn what_nobody_needs_goes_and_what_is_too_much() {
        assert_eq!(filled(64).cut(0), 0);
        assert_eq!(filled(64).cut(10), 10);
        assert_eq!(filled(70).cut(0), 6);
        assert_eq!(filled(70).cut(3), 6, "beyond the limit, though somebody needs it");
        let mut kept = filled(70);
        kept.forgotten(6);
        assert_eq!((kept.bytes, kept.cut(0)), (LIMIT, 0));
    }

    #[test]
    fn it_is_looked_at_now_and_then() {
        assert!(!filled(7).is_due());
        let mut kept = filled(8);
        assert!(kept.is_due());
        kept.looked();
        assert!(!kept.is_due());
        assert!(!filled(128).is_over() && filled(129).is_over());
    }

    #[test]
    fn a_place_to_cut_is_where_something_is_remembered() {
        assert_eq!(filled(64).cut_at_note(10), Some((10, &10)));
        assert_eq!(filled(64).cut_at_note(0), None);
        assert_eq!(filled(64).cut_at_note(100), Some((63, &63)), "the last group is not complete");
        let mut small = Kept::new(LIMIT);
        (1..=300).for_each(|instance| small.add(instance, LIMIT / GROUPS / 4, || instance - 1));
        assert_eq!(small.cut_at_note(11), Some((8, &8)), "groups of four");
    }

    #[test]
    fn many_small_entries_are_counted_in_few_groups() {
        let mut kept = Kept::new(LIMIT);
        (1..=100_000).for_each(|instance| {
            kept.add(instance, 129, || ());
            if kept.is_due() {
                kept.looked();
                let up_to = kept.cut(0);
                kept.forgotten(up_to);
            }
        });
        assert!(kept.groups.len() <= GROUPS + GROUPS / STEPS + 2, "{}", kept.groups.len());
        assert!(kept.bytes <= LIMIT + LIMIT / STEPS + LIMIT / GROUPS);
    }
}

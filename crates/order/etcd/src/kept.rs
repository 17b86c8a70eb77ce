//! How much of the log is kept, without I/O.
//!
//! The log is etcd's history: what is compacted is forgotten. Each node says by a mark what it still needs; beyond
//! `kept_bytes` the oldest is forgotten all the same, so that the store does not fill up.

use std::collections::VecDeque;

/// What an entry takes in etcd in addition to its value.
const ENTRY_BYTES: usize = 128;
/// Entries are counted in so many groups.
const GROUPS: usize = 128;
/// Marks are written, and the log is compacted, so many times on the way to the limit.
const STEPS: usize = 8;

/// Entries that are not compacted, as far as this node has read them.
#[derive(Debug)]
pub struct Kept {
    limit: usize,
    /// Last revision of a group of entries, and their bytes; the oldest first.
    groups: VecDeque<(u64, usize)>,
    bytes: usize,
    /// Bytes since it was last looked at.
    since: usize,
}

impl Kept {
    pub fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), groups: VecDeque::new(), bytes: 0, since: 0 }
    }

    /// An entry was read.
    pub fn add(&mut self, revision: u64, value_bytes: usize) {
        let bytes = value_bytes + ENTRY_BYTES;
        self.bytes += bytes;
        self.since += bytes;
        match self.groups.back_mut().filter(|(_, group)| *group < self.limit / GROUPS) {
            Some((last, group)) => {
                *last = revision;
                *group += bytes;
            }
            None => self.groups.push_back((revision, bytes)),
        }
    }

    /// Returns whether marks should be written, and the log compacted.
    pub fn is_due(&self) -> bool {
        self.since >= self.limit / STEPS
    }

    /// Returns whether so much is kept that nothing should be added before the log is compacted.
    pub fn is_over(&self) -> bool {
        self.bytes > 2 * self.limit
    }

    /// Marks are written, and the log is compacted: not due until more was read.
    pub fn looked(&mut self) {
        self.since = 0;
    }

    /// Returns the revision up to which the log is to be compacted, where all nodes still need what follows `needed`.
    pub fn compactable(&self, needed: u64) -> u64 {
        let mut bytes = self.bytes;
        let too_much = self.groups.iter().take_while(|(_, group)| {
            let is_too_much = bytes > self.limit;
            bytes -= group;
            is_too_much
        });
        too_much.last().map_or(0, |(revision, _)| *revision).max(needed)
    }

    /// The log is compacted up to this revision.
    pub fn compacted(&mut self, revision: u64) {
        while let Some((_, bytes)) = self.groups.pop_front_if(|(last, _)| *last <= revision) {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;
    const VALUE: usize = (1 << 14) - ENTRY_BYTES;

    fn filled(entries: u64) -> Kept {
        let mut kept = Kept::new(LIMIT);
        (1..=entries).for_each(|revision| kept.add(revision, VALUE));
        kept
    }

    #[test]
    fn what_nobody_needs_goes_and_what_is_too_much() {
        assert_eq!(filled(64).compactable(0), 0);
        assert_eq!(filled(64).compactable(10), 10);
        assert_eq!(filled(70).compactable(0), 6);
        assert_eq!(filled(70).compactable(3), 6, "beyond the limit, though somebody needs it");
        let mut kept = filled(70);
        kept.compacted(6);
        assert_eq!((kept.bytes, kept.compactable(0)), (LIMIT, 0));
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
    fn many_small_entries_are_counted_in_few_groups() {
        let mut kept = Kept::new(LIMIT);
        (1..=100_000).for_each(|revision| {
            kept.add(revision, 1);
            if kept.is_due() {
                kept.looked();
                let up_to = kept.compactable(0);
                kept.compacted(up_to);
            }
        });
        assert!(kept.groups.len() <= GROUPS + GROUPS / STEPS + 2, "{}", kept.groups.len());
        assert!(kept.bytes <= LIMIT + LIMIT / STEPS + LIMIT / GROUPS);
    }
}

//! Where an order stood: the states that a later life of this node may begin from.
//!
//! A replica's snapshot replaces the instances before it, and a life that starts again is delivered what follows it. So the snapshot must
//! not be ahead of what the consumer has made durable, or the consumer would miss what lies between. Places at which the order stood are
//! noted every now and then, and the newest that is not ahead of the consumer is handed out; but none that is so old that the replica
//! would run out of instances or bytes.

use super::lives::Lives;
use crate::core::Instance;
use std::collections::VecDeque;
use total::Position;

/// Places that are noted within the limits, about.
const PLACES: u64 = 64;

/// Where an order stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// The first instance that is not included.
    pub(super) next: Instance,
    /// The last payload or barrier.
    pub(super) last: Option<Position>,
    /// The last payload.
    pub(super) payload: Option<Position>,
    pub(super) lives: Lives,
}

impl Standing {
    /// Gives the place of the next payload of this instance.
    pub(super) fn next_position(&mut self, instance: Instance) -> Position {
        let index = match self.last {
            Some(last) if last.instance == instance => last.index + 1,
            _ => 0,
        };
        let position = Position { instance, index };
        self.last = Some(position);
        position
    }
}

/// A place, and the bytes that were delivered before it.
#[derive(Debug)]
struct Noted {
    standing: Standing,
    bytes: u64,
}

/// The places that are noted, the oldest first.
#[derive(Debug)]
pub(super) struct Kept {
    places: VecDeque<Noted>,
    /// Up to where the consumer's state is durable, if it says so.
    durable: Option<Position>,
    /// Bytes delivered.
    bytes: u64,
    most_bytes: u64,
    most_instances: u64,
}

impl Kept {
    /// Keeps at most so many bytes and instances.
    pub(super) fn new(most_bytes: u64, most_instances: u64) -> Self {
        let places = VecDeque::from([Noted { standing: Standing::default(), bytes: 0 }]);
        Self { places, durable: None, bytes: 0, most_bytes, most_instances }
    }

    /// A snapshot was installed.
    pub(super) fn begin(&mut self, now: &Standing) {
        self.places = VecDeque::from([Noted { standing: now.clone(), bytes: self.bytes }]);
    }

    /// The consumer's state is durable up to here.
    pub(super) fn keep_from(&mut self, at: Position) {
        self.durable = self.durable.max(Some(at));
    }

    /// A batch of so many bytes was delivered.
    pub(super) fn add(&mut self, now: &Standing, bytes: usize) {
        self.bytes += bytes as u64;
        let (instances, bytes) = (now.next, self.bytes);
        let is_due = self.places.back().is_none_or(|last| {
            bytes - last.bytes >= self.most_bytes / PLACES
                || instances - last.standing.next >= (self.most_instances / PLACES).max(1)
        });
        if is_due {
            self.places.push_back(Noted { standing: now.clone(), bytes });
        }
        self.forget(now);
    }

    /// Forgets places before the one that is needed, and those that are too old.
    fn forget(&mut self, now: &Standing) {
        while let Some(second) = self.places.get(1) {
            let first = &self.places[0];
            let is_needed = self.durable.is_some() && second.standing.payload > self.durable;
            let fits =
                self.bytes - first.bytes <= self.most_bytes && now.next - first.standing.next <= self.most_instances;
            if is_needed && fits {
                return;
            }
            self.places.pop_front();
        }
    }

    /// Returns the newest place that a life of this node may begin from.
    pub(super) fn standing<'a>(&'a mut self, now: &'a Standing) -> &'a Standing {
        if self.durable.is_none() || self.durable >= now.payload {
            return now;
        }
        self.forget(now);
        self.places.front().map_or(now, |first| &first.standing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many instances of one payload each.
    fn after(instances: u64) -> Standing {
        let mut standing = Standing { next: instances, ..Standing::default() };
        if instances > 0 {
            standing.payload = Some(standing.next_position(instances - 1));
        }
        standing
    }

    fn at(instance: u64) -> Position {
        Position { instance, index: 0 }
    }

    /// The place that a snapshot has after so many instances of ten bytes each.
    fn snapshot_after(kept: &mut Kept, from: u64, instances: u64) -> Instance {
        (from + 1..=instances).for_each(|next| kept.add(&after(next), 10));
        kept.standing(&after(instances)).next
    }

    #[test]
    fn without_a_word_of_the_consumer_the_newest_place_is_handed_out() {
        let mut kept = Kept::new(1_000_000, 1_000_000);
        assert_eq!(snapshot_after(&mut kept, 0, 100), 100);
        assert_eq!(kept.places.len(), 1, "none is needed");
    }

    #[test]
    fn a_snapshot_stays_behind_the_consumer() {
        let mut kept = Kept::new(1_000_000, 640);
        kept.keep_from(at(49));
        let first = snapshot_after(&mut kept, 0, 100);
        assert!((40..=50).contains(&first), "{first}: includes nothing behind 49");
        kept.keep_from(at(20));
        assert_eq!(kept.standing(&after(100)).next, first, "what was durable stays so");
        kept.keep_from(at(99));
        assert_eq!(kept.standing(&after(100)).next, 100);
        assert!(snapshot_after(&mut kept, 100, 120) <= 100);
    }

    #[test]
    fn neither_too_many_instances_nor_bytes_are_kept() {
        let mut kept = Kept::new(1_000_000, 640);
        kept.keep_from(at(0));
        let first = snapshot_after(&mut kept, 0, 10_000);
        assert!((9_360..9_380).contains(&first), "{first}");
        let mut kept = Kept::new(6_400, 1_000_000);
        kept.keep_from(at(0));
        let first = snapshot_after(&mut kept, 0, 10_000);
        assert!((9_360..9_380).contains(&first), "{first}");
        assert!(kept.places.len() <= 66);
    }

    /// A consumer that has every payload needs no barriers: they do not hold up the log.
    #[test]
    fn barriers_are_needed_by_nobody() {
        let mut kept = Kept::new(1_000_000, 640);
        kept.keep_from(at(9));
        snapshot_after(&mut kept, 0, 10);
        let mut standing = after(10);
        for instance in 10..2_000 {
            standing.next = instance + 1;
            standing.next_position(instance);
            kept.add(&standing, 10);
        }
        assert_eq!(kept.standing(&standing), &standing);
    }

    #[test]
    fn a_snapshot_that_is_installed_is_a_place() {
        let mut kept = Kept::new(1_000_000, 640);
        kept.keep_from(at(10));
        kept.begin(&after(500));
        assert_eq!(snapshot_after(&mut kept, 500, 501), 500);
    }
}

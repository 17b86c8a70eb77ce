//! Where an order stood: the states that a later life of this node may begin from.
//!
//! A replica's snapshot replaces the instances before it, and a life that starts again is delivered what follows it. So the snapshot must
//! not be ahead of what the consumer has made durable, or the consumer would miss what lies between. Places at which the order stood are
//! noted every now and then, and the newest that is not ahead of the consumer is handed out. Before that is so old that the replica would
//! run out of instances or bytes, the replica delivers no more until the consumer has made more durable: if it forgot what no consumer has
//! yet, a loss of power on all nodes would lose what was acknowledged.
//!
//! Where all consumers have disks, nor is it ahead of what a majority of the voters' consumers has made durable
//! ([`total::OrderLimits::forgets_by_majority`]): so a majority of the voters has each payload at any time, in its journal or in its
//! consumer's state, and the loss of a minority loses nothing (decision 0176). Each replica says what its consumer has, also behind
//! barriers, which nobody needs: nodes that only read must not keep each other from forgetting.

use super::lives::Lives;
use crate::core::Instance;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
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

/// What a replica waits for that delivers no more, since it would have to forget what is on no disk, or on too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// That more than half of the voters' consumers have more on their disks ([`total::OrderLimits::forgets_by_majority`]).
    MajoritysDisks,
    /// That its own consumer has.
    OwnDisk,
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
    /// The consumer lacks payloads up to here, which this replica had forgotten before its life began, and will go on from another one's
    /// state. What follows may be in no other log: the rows of this node may have been lost while it was ahead of all.
    awaited: Option<Position>,
    /// The consumer lacks payloads up to here that the others have forgotten: they have what follows, and this node needs none of these
    /// places.
    behind: Option<Position>,
    /// The consumer has gone on from a state with everything up to here.
    resumed: Option<Position>,
    /// A majority of the voters' consumers has everything below this instance on its disk; `None`: it does not matter.
    majority: Option<Instance>,
    /// The others may count on what this replica has in its journal.
    votes: bool,
    /// The instance below which this consumer has everything, as the others were told.
    told: Option<Instance>,
    /// The next instance, and the last payload before it.
    delivered: (Instance, Option<Position>),
    /// Bytes delivered.
    bytes: u64,
    most_bytes: u64,
    most_instances: u64,
}

impl Kept {
    /// Keeps at most so many bytes and instances.
    pub(super) fn new(most_bytes: u64, most_instances: u64) -> Self {
        let places = VecDeque::from([Noted { standing: Standing::default(), bytes: 0 }]);
        Self {
            places,
            durable: None,
            awaited: None,
            behind: None,
            resumed: None,
            majority: None,
            votes: true,
            told: None,
            delivered: (0, None),
            bytes: 0,
            most_bytes,
            most_instances,
        }
    }

    /// Keeps what is not known to be on the disks of a majority, too.
    pub(super) fn for_majority(mut self) -> Self {
        self.majority = Some(0);
        self
    }

    /// Nobody counts on this replica.
    pub(super) fn for_learner(mut self) -> Self {
        self.votes = false;
        self
    }

    /// A snapshot was installed, this replica's own or another one's, of which the payloads up to `missed` were not delivered.
    pub(super) fn begin(&mut self, now: &Standing, missed: Option<Position>, is_own: bool) {
        if let Some(at) = missed.filter(|at| Some(*at) > self.resumed) {
            *(if is_own { &mut self.awaited } else { &mut self.behind }) = Some(at);
        }
        self.places = VecDeque::from([Noted { standing: now.clone(), bytes: self.bytes }]);
        self.delivered = (now.next, now.payload);
    }

    /// The consumer's state is durable up to here.
    pub(super) fn keep_from(&mut self, at: Position) {
        self.durable = self.durable.max(Some(at));
    }

    /// The consumer goes on from a state with everything up to here.
    fn resume(&mut self, after: Position) {
        self.resumed = self.resumed.max(Some(after));
        self.awaited = self.awaited.filter(|at| *at > after);
        self.behind = self.behind.filter(|at| *at > after);
    }

    /// The consumer takes what comes while it fetches a state with everything up to here. The snapshot with which a life begins may have
    /// been another one's: it does not say. So nothing waits for this consumer from now on, unless what follows may be in this journal
    /// alone. A majority keeps what a majority has on no disk, and a learner's journal counts for nothing.
    fn follow(&mut self, after: Position) {
        let is_held_by_others = self.majority.is_some() || !self.votes;
        let awaited = self.awaited.take_if(|at| is_held_by_others && *at <= after);
        self.behind = self.behind.max(awaited);
    }

    /// A majority of the voters' consumers has everything below this instance.
    fn may_forget(&mut self, below: Instance) {
        self.majority = self.majority.map(|majority| majority.max(below));
    }

    /// A batch of so many bytes was delivered.
    pub(super) fn add(&mut self, now: &Standing, bytes: usize) {
        self.bytes += bytes as u64;
        self.delivered = (now.next, now.payload);
        let (instances, bytes) = (now.next, self.bytes);
        let is_due = self.places.back().is_none_or(|last| {
            bytes - last.bytes >= self.most_bytes / PLACES || instances - last.standing.next >= self.step()
        });
        if is_due {
            self.places.push_back(Noted { standing: now.clone(), bytes });
        }
        self.forget();
    }

    /// Instances between two places, at most.
    fn step(&self) -> u64 {
        (self.most_instances / PLACES).max(1)
    }

    /// The instance below which this consumer has everything on its disk. What it does not need is not what it has.
    fn durable_below(&self) -> Option<Instance> {
        let (at, (next, payload)) = (self.durable?, self.delivered);
        Some(if Some(at) >= payload { at.instance.max(next) } else { at.instance })
    }

    /// What the others are to be told of this consumer now: nothing if they know about as much, but the first word of a life in any case,
    /// since it may be less than the last one of the life before.
    fn report(&mut self) -> Option<Instance> {
        let below = self.durable_below().filter(|below| self.majority.is_some() && Some(*below) > self.told)?;
        let passed = self.places.partition_point(|place| place.standing.next <= below);
        let has_passed_a_place = |told| passed > self.places.partition_point(|place| place.standing.next <= told);
        if self.told.is_some_and(|told| below - told < self.step() && !has_passed_a_place(told)) {
            return None;
        }
        self.told = Some(below);
        self.told
    }

    /// The place behind which a life of this node needs all payloads.
    fn needed_after(&self) -> Option<Position> {
        self.durable.max(self.awaited).filter(|_| self.behind.is_none())
    }

    /// What has to be on a disk before the oldest place can be forgotten: till then a majority of the voters, or a life of this node, may
    /// have to begin from it.
    fn needed_by(&self) -> Option<WaitsFor> {
        let Noted { standing: second, .. } = self.places.get(1)?;
        let after = self.needed_after();
        if self.majority.is_some_and(|majority| second.next > majority) {
            return Some(WaitsFor::MajoritysDisks);
        }
        (after.is_some() && second.payload > after).then_some(WaitsFor::OwnDisk)
    }

    /// Forgets places before the one that is needed.
    fn forget(&mut self) {
        while self.places.len() > 1 && self.needed_by().is_none() {
            self.places.pop_front();
        }
    }

    /// Returns whether another instance may be delivered: the oldest place that is needed is within the limits.
    pub(super) fn has_room(&mut self, now: &Standing) -> bool {
        self.stopped_at(now.next).is_none()
    }

    /// What has to be on a disk before another instance is delivered, if something has.
    pub(super) fn waits_for(&mut self) -> Option<WaitsFor> {
        self.stopped_at(self.delivered.0)
    }

    /// The same with this instance as the next one.
    fn stopped_at(&mut self, next: Instance) -> Option<WaitsFor> {
        self.forget();
        let (needed_by, first) = (self.needed_by()?, self.places.front()?);
        let has_room = self.bytes - first.bytes <= self.most_bytes && next - first.standing.next < self.most_instances;
        (!has_room).then_some(needed_by)
    }

    /// Returns the newest place that a life of this node may begin from, and that a majority has reached.
    pub(super) fn standing<'a>(&'a mut self, now: &'a Standing) -> &'a Standing {
        let after = self.needed_after();
        let is_needed_here = after.is_some() && after < now.payload;
        if !is_needed_here && self.majority.is_none_or(|majority| now.next <= majority) {
            return now;
        }
        self.forget();
        self.places.front().map_or(now, |first| &first.standing)
    }
}

/// Tells the replica the instance below which the consumer has everything on its disk. It must not wait.
pub(super) type Tell = Box<dyn Fn(Instance) + Send + Sync>;

/// The places that a replica's application notes, and its consumer and the others set free.
pub(super) struct Keeping {
    kept: Mutex<Kept>,
    changed: Condvar,
    /// Whether the application may wait; else it asks first.
    waits: bool,
    tell: Tell,
}

impl Keeping {
    pub(super) fn new(kept: Kept, waits: bool, tell: Tell) -> Self {
        Self { kept: Mutex::new(kept), changed: Condvar::new(), waits, tell }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Kept> {
        // No code of others runs under the latch.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The consumer's state is durable up to here.
    pub(super) fn keep_from(&self, at: Position) {
        self.change(|kept| kept.keep_from(at));
        self.changed.notify_all();
    }

    /// A batch of so many bytes was delivered.
    pub(super) fn add(&self, now: &Standing, bytes: usize) {
        // A consumer that has every payload has a barrier, too.
        self.change(|kept| kept.add(now, bytes));
    }

    /// Does what may be a reason to tell the replica more, and tells it, with no latch held. Two callers may tell in the other order: the
    /// replica knows that in one life it only grows.
    fn change(&self, change: impl FnOnce(&mut Kept)) {
        let mut kept = self.lock();
        change(&mut kept);
        let report = kept.report();
        drop(kept);
        report.into_iter().for_each(&self.tell);
    }

    /// A majority of the voters' consumers has everything below this instance.
    pub(super) fn may_forget(&self, below: Instance) {
        self.lock().may_forget(below);
        self.changed.notify_all();
    }

    /// The consumer goes on from a state with everything up to here.
    pub(super) fn resume(&self, after: Position) {
        self.lock().resume(after);
        self.changed.notify_all();
    }

    /// The consumer takes what comes while it fetches a state with everything up to here.
    pub(super) fn follow(&self, after: Position) {
        self.lock().follow(after);
        self.changed.notify_all();
    }

    /// Waits until another instance may be delivered, or all has ended.
    pub(super) fn wait_for_room(&self, now: &Standing, has_ended: impl Fn() -> bool) {
        let mut kept = self.lock();
        while self.waits && !kept.has_room(now) && !has_ended() {
            kept = self.changed.wait(kept).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// All has ended.
    pub(super) fn end(&self) {
        // Under the latch, so that nobody looks before the end and sleeps behind it.
        let _kept = self.lock();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{self, Receiver};

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

    /// With what its replica is told.
    fn telling(kept: Kept) -> (Keeping, Receiver<Instance>) {
        let (sender, told) = mpsc::channel();
        // Not every test listens.
        let tell = Box::new(move |below| _ = sender.send(below));
        (Keeping::new(kept, true, tell), told)
    }

    /// Delivers these instances.
    fn deliver(keeping: &Keeping, instances: std::ops::Range<u64>) {
        instances.for_each(|instance| keeping.add(&after(instance + 1), 10));
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
    fn what_is_not_durable_is_kept_and_holds_up_what_follows() {
        for (most_bytes, most_instances) in [(1_000_000, 640), (6_400, 1_000_000)] {
            let mut kept = Kept::new(most_bytes, most_instances);
            kept.keep_from(at(0));
            let deliver = |kept: &mut Kept, from: u64| {
                let full = (from..10_000).find(|next| {
                    let has_room = kept.has_room(&after(*next));
                    if has_room {
                        kept.add(&after(next + 1), 10);
                    }
                    !has_room
                });
                full.expect("it does not keep all")
            };
            let full = deliver(&mut kept, 0);
            assert!((630..=650).contains(&full), "{full}");
            assert!(kept.standing(&after(full)).next <= 1, "all of it is needed");
            assert_eq!(kept.waits_for(), Some(WaitsFor::OwnDisk));
            assert!(kept.places.len() <= 66);
            kept.keep_from(at(299));
            assert!((930..=950).contains(&deliver(&mut kept, full)), "room for as much as is durable now");
            assert!((290..=300).contains(&kept.standing(&after(940)).next));
        }
    }

    /// A node that has lost its rows may be the only one with what follows its snapshot, whether its consumer says something or not.
    #[test]
    fn what_follows_the_own_snapshot_is_kept_for_those_who_are_awaited() {
        let mut kept = Kept::new(1_000_000, 64);
        kept.begin(&after(1_000), Some(at(999)), true);
        assert_eq!(snapshot_after(&mut kept, 1_000, 1_064), 1_000);
        assert!(!kept.has_room(&after(1_064)));
        let (keeping, _) = telling(kept);
        keeping.resume(at(998));
        assert!(!keeping.lock().has_room(&after(1_064)), "it is not enough");
        keeping.resume(at(999));
        assert!(keeping.lock().has_room(&after(1_064)), "this consumer has said nothing");
    }

    /// Who lacks payloads that the others have forgotten needs another one's state: nothing waits for it, until it has one.
    #[test]
    fn a_consumer_that_is_behind_holds_up_nothing() {
        let mut kept = Kept::new(1_000_000, 64);
        kept.keep_from(at(0));
        kept.begin(&after(1_000), Some(at(999)), false);
        snapshot_after(&mut kept, 1_000, 2_000);
        assert!(kept.has_room(&after(2_000)));
        let (keeping, _) = telling(kept);
        keeping.resume(at(1_500));
        keeping.keep_from(at(1_500));
        snapshot_after(&mut keeping.lock(), 2_000, 2_064);
        assert!(!keeping.lock().has_room(&after(2_064)));
        keeping.wait_for_room(&after(2_064), || true);
        keeping.keep_from(at(2_063));
        keeping.wait_for_room(&after(2_064), || false);
    }

    /// Begins a life with an own snapshot, of which its consumer lacks payloads, and delivers half of a span behind it.
    fn begun_behind_the_own_snapshot(kept: Kept) -> Keeping {
        let (keeping, _) = telling(kept);
        keeping.keep_from(at(9));
        keeping.lock().begin(&after(1_000), Some(at(999)), true);
        deliver(&keeping, 1_000..1_064);
        keeping.may_forget(1_064);
        assert!(!keeping.lock().has_room(&after(1_064)));
        assert_eq!(keeping.lock().waits_for(), Some(WaitsFor::OwnDisk));
        keeping
    }

    /// A snapshot that was installed before a restart looks like an own one afterwards. A fetch may outlast all that is kept here, too.
    #[test]
    fn who_follows_after_a_restart_holds_up_nothing() {
        for kept in [Kept::new(1_000_000, 64).for_majority(), Kept::new(1_000_000, 64).for_learner()] {
            let keeping = begun_behind_the_own_snapshot(kept);
            keeping.follow(at(998));
            assert!(!keeping.lock().has_room(&after(1_064)), "such a state is not enough");
            keeping.follow(at(1_000));
            assert!(keeping.lock().has_room(&after(1_064)));
            assert_eq!(keeping.lock().waits_for(), None);
            // Once it has resumed, what it has on no disk is kept for it again.
            keeping.keep_from(at(1_000));
            keeping.resume(at(1_000));
            deliver(&keeping, 1_064..1_128);
            keeping.may_forget(1_128);
            assert!(!keeping.lock().has_room(&after(1_128)));
        }
    }

    /// Where a majority need not have anything on its disks, what follows may be in the journal of this voter alone.
    #[test]
    fn a_voter_alone_keeps_what_follows_its_snapshot_until_its_consumer_has_resumed() {
        let keeping = begun_behind_the_own_snapshot(Kept::new(1_000_000, 64));
        keeping.follow(at(1_500));
        assert!(!keeping.lock().has_room(&after(1_064)));
        keeping.resume(at(1_500));
        keeping.keep_from(at(1_500));
        assert!(keeping.lock().has_room(&after(1_064)));
    }

    /// What follows is kept by the majority's rule still: its own snapshot does not go beyond it.
    #[test]
    fn who_follows_after_a_restart_forgets_nothing_that_a_majority_lacks() {
        let keeping = begun_behind_the_own_snapshot(Kept::new(1_000_000, 64).for_majority());
        keeping.follow(at(1_000));
        deliver(&keeping, 1_064..1_128);
        assert_eq!(keeping.lock().standing(&after(1_128)).next, 1_064);
        assert!(!keeping.lock().has_room(&after(1_128)));
        assert_eq!(keeping.lock().waits_for(), Some(WaitsFor::MajoritysDisks));
    }

    /// A consumer that has gone on from a later state than a snapshot has lacks nothing: what follows is kept for it.
    #[test]
    fn who_has_resumed_behind_a_snapshot_is_not_behind() {
        let mut kept = Kept::new(1_000_000, 64);
        kept.resume(at(1_500));
        kept.keep_from(at(1_500));
        kept.begin(&after(1_400), Some(at(1_399)), false);
        assert!(snapshot_after(&mut kept, 1_400, 1_600) <= 1_501);
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

    /// Its own disk is not enough: the others may lack what it has.
    #[test]
    fn what_a_minority_has_is_not_forgotten() {
        let (keeping, told) = telling(Kept::new(1_000_000, 64).for_majority());
        keeping.keep_from(at(0));
        deliver(&keeping, 0..64);
        keeping.keep_from(at(63));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0, 1, 64]);
        assert_eq!(keeping.lock().standing(&after(64)).next, 0);
        assert!(!keeping.lock().has_room(&after(64)), "half of the span");
        assert_eq!(keeping.lock().waits_for(), Some(WaitsFor::MajoritysDisks));
        keeping.may_forget(40);
        assert_eq!(keeping.lock().waits_for(), None);
        assert_eq!(keeping.lock().standing(&after(64)).next, 40);
        keeping.wait_for_room(&after(64), || false);
        keeping.may_forget(30);
        assert_eq!(keeping.lock().standing(&after(64)).next, 40, "what was there once is there");
        keeping.may_forget(64);
        assert_eq!(keeping.lock().standing(&after(64)).next, 64);
    }

    /// Who lacks payloads that the others have forgotten needs none of these places, and is not counted as if it had what it does not
    /// need. What it votes for may be what the others rely on.
    #[test]
    fn who_is_behind_reports_what_it_has() {
        let (keeping, told) = telling(Kept::new(1_000_000, 64).for_majority());
        keeping.keep_from(at(9));
        keeping.lock().begin(&after(1_000), Some(at(999)), false);
        deliver(&keeping, 1_000..1_064);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [9]);
        assert!(!keeping.lock().has_room(&after(1_064)));
        keeping.may_forget(1_010);
        assert_eq!(keeping.lock().standing(&after(1_064)).next, 1_010);
        assert!(keeping.lock().has_room(&after(1_064)));
        keeping.resume(at(1_500));
        keeping.keep_from(at(1_500));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [1_500], "its replica is not as far yet");
    }

    /// Nodes that only read tell each other, too, and not at each barrier.
    #[test]
    fn barriers_alone_hold_up_nothing() {
        let (keeping, told) = telling(Kept::new(1_000_000, 640).for_majority());
        keeping.keep_from(at(9));
        deliver(&keeping, 0..10);
        let (mut standing, mut words) = (after(10), 0);
        for instance in 10..5_000 {
            assert!(keeping.lock().has_room(&standing), "{instance}");
            standing.next = instance + 1;
            standing.next_position(instance);
            keeping.add(&standing, 10);
            // All have the same.
            told.try_iter().for_each(|below| {
                keeping.may_forget(below);
                words += 1;
            });
        }
        let snapshot = keeping.lock().standing(&standing).next;
        assert!((4_980..=5_000).contains(&snapshot), "{snapshot}");
        assert!((490..=510).contains(&words), "{words}");
    }

    /// It may be less than the life before had: its rows were lost.
    #[test]
    fn the_first_word_of_a_life_is_told_however_little_it_is() {
        let (keeping, told) = telling(Kept::new(1_000_000, 640).for_majority());
        keeping.keep_from(Position::default());
        keeping.keep_from(Position::default());
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0]);
        let (silent, told) = telling(Kept::new(1_000_000, 640));
        silent.keep_from(at(9));
        deliver(&silent, 0..640);
        assert_eq!(told.try_iter().count(), 0, "nobody counts on it");
    }

    #[test]
    fn a_snapshot_that_is_installed_is_a_place() {
        let mut kept = Kept::new(1_000_000, 640);
        kept.keep_from(at(10));
        kept.begin(&after(500), None, true);
        assert_eq!(snapshot_after(&mut kept, 500, 501), 500);
    }
}

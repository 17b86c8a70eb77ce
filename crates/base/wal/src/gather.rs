//! How whoever is about to write waits for the others of the last group.
//!
//! Without this wait the first to come would be synced alone and the others would wait for the group after. The last to come
//! writes, if it may, in the place of the one who has waited for it: that one need not run before the disk works. It sleeps on,
//! on the event that the round raises.

use crate::shared::{Shared, State};
use crate::sync::MutexGuard;
use env::time::{Duration, Instant};

/// A wait that nobody shortens takes this long at least, by the operating system's timers: a sync as short is cheaper.
const SHORTEST_GATHER: Duration = Duration::from_micros(20);

/// Waits in vain one after the other make the log write at once for up to 2 to this many rounds.
const MOST_DOUBLINGS: u32 = 6;

/// Who waits for the others of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gatherer {
    /// Nobody.
    #[default]
    Nobody,
    /// The log's thread.
    Thread,
    /// A waiter.
    Waiter,
}

/// State of the wait for the others of a group. Under the log's latch.
#[derive(Debug, Default)]
pub struct Gathering {
    /// Number of waiters that the last round has served.
    pub last_group: usize,
    /// Number of waiters for which the gatherer waits.
    expected: usize,
    gatherer: Gatherer,
    /// Groups that were taken from who gathered them.
    taken: u64,
    /// Waits in a row that have ended before all had come.
    failures: u32,
    /// Rounds that do not gather, since such waits were in vain.
    pause: u32,
}

/// What the gatherer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatherEnd {
    /// It writes and syncs for all.
    Write,
    /// It follows: the last to come writes.
    Taken,
}

impl Gathering {
    /// Returns whether somebody gathers, and all of the expected are among the `arrived`.
    pub fn is_over(&self, arrived: usize) -> bool {
        self.gatherer != Gatherer::Nobody && arrived >= self.expected
    }

    /// Begins a wait, if one is worth while.
    fn begin(&mut self, gatherer: Gatherer, arrived: usize) -> bool {
        if self.last_group < 2 || arrived >= self.last_group {
            return false;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        (self.expected, self.gatherer) = (self.last_group, gatherer);
        true
    }

    /// Ends it. One failure may be a client that has gone, and does not count; several are clients that have other things to
    /// do between commits than to wait.
    fn end(&mut self, is_success: bool) {
        self.gatherer = Gatherer::Nobody;
        self.failures = if is_success { 0 } else { (self.failures + 1).min(MOST_DOUBLINGS) };
        self.pause = (1u32 << self.failures).saturating_sub(2);
    }
}

impl State {
    /// Takes the group from whoever gathers it. The gatherer sleeps on, so the log's thread counts as asleep.
    pub fn take_group_gathered(&mut self) {
        self.sleeping |= self.gathering.gatherer == Gatherer::Thread;
        self.led = true;
        self.gathering.taken += 1;
        self.gathering.end(true);
    }

    /// Ends a wait by the one who waits. An appender that needs room says nothing about those who are expected.
    fn end_gathering(&mut self) {
        let is_success = self.gathering.is_over(self.arrived) || self.drain_wanted;
        self.gathering.end(is_success);
    }
}

impl Shared {
    /// Lets those who waited for the last group come with their next records, for as long as the sync will take at most.
    /// Sleeps until the last of them has come. By the log's thread.
    pub fn gather(&self) -> GatherEnd {
        let mut state = self.lock();
        let Some(limit) = self.begin_gathering(&mut state, Gatherer::Thread) else { return GatherEnd::Write };
        let (start, taken) = (Instant::now(), state.gathering.taken);
        while let Some(left) = self.still_gathers(&state, limit, start) {
            state = self.work.wait_timeout(state, left).expect("no holder of this latch panics").0;
            if state.gathering.taken != taken {
                state.sleeping = false;
                return GatherEnd::Taken;
            }
        }
        state.end_gathering();
        GatherEnd::Write
    }

    /// Same as above, by a waiter.
    pub fn gather_as_waiter<'a>(&'a self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, GatherEnd) {
        let Some(limit) = self.begin_gathering(&mut state, Gatherer::Waiter) else { return (state, GatherEnd::Write) };
        let (start, taken) = (Instant::now(), state.gathering.taken);
        let done = &self.done[((state.round + 1) % 2) as usize];
        while let Some(left) = self.still_gathers(&state, limit, start) {
            // Under the latch: whoever ends the wait takes it, and raises the event afterwards.
            let ticket = done.ticket();
            drop(state);
            done.wait_for(ticket, left);
            state = self.lock();
            if state.gathering.taken != taken {
                return (state, GatherEnd::Taken);
            }
        }
        state.end_gathering();
        (state, GatherEnd::Write)
    }

    /// Wakes whoever gathers.
    pub fn end_gathering(&self, state: &State) {
        match state.gathering.gatherer {
            Gatherer::Nobody => {}
            Gatherer::Thread => self.work.notify_one(),
            Gatherer::Waiter => self.done[((state.round + 1) % 2) as usize].raise(),
        }
    }

    /// Begins to gather, if that is worth while; returns how long.
    fn begin_gathering(&self, state: &mut State, gatherer: Gatherer) -> Option<Duration> {
        let limit = self.options.group_gather.min(state.sync_time);
        (limit >= SHORTEST_GATHER && state.gathering.begin(gatherer, state.arrived)).then_some(limit)
    }

    /// Time for which it is still right to wait.
    fn still_gathers(&self, state: &State, limit: Duration, start: Instant) -> Option<Duration> {
        let is_over = state.gathering.is_over(state.arrived) || state.drain_wanted || state.check_open().is_err();
        let left = limit.saturating_sub(start.elapsed());
        (!is_over && !left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::Gatherer;
    use crate::{Driver, Durability, Log, LogOptions};
    use env::time::Duration;
    use env::{DiskError, Operation, SimDisk, SimDiskOptions, WatchedDisk};
    use std::sync::{Arc, Mutex};
    use std::thread::{self, ThreadId};

    const HOUR: Duration = Duration::from_secs(3600);

    /// A log whose last group had two waiters, and whose disk takes an hour; and the threads that have synced it.
    fn log_of_two(driver: Driver) -> (Log, Arc<Mutex<Vec<ThreadId>>>) {
        let writers = Arc::<Mutex<Vec<ThreadId>>>::default();
        let disk = WatchedDisk::new(SimDisk::new(1, SimDiskOptions::default()), {
            let writers = Arc::clone(&writers);
            move |operation, path| {
                if operation == Operation::Sync && path.ends_with(".log") {
                    writers.lock().unwrap().push(thread::current().id());
                }
            }
        });
        let options = LogOptions { driver, segment_bytes: 1 << 16, group_gather: HOUR, ..LogOptions::default() };
        let (log, _) = Log::open_unchecked(Arc::new(disk), options).unwrap();
        let mut state = log.shared().lock();
        (state.sync_time, state.gathering.last_group) = (HOUR, 2);
        drop(state);
        await_state(&log, |state| driver == Driver::Caller || state.sleeping);
        (log, writers)
    }

    fn await_state(log: &Log, is_so: impl Fn(&crate::shared::State) -> bool) {
        while !is_so(&log.shared().lock()) {
            thread::yield_now();
        }
    }

    fn await_gatherer(log: &Log) {
        await_state(log, |state| state.gathering.gatherer != Gatherer::Nobody);
    }

    fn is_gathering(log: &Log) -> bool {
        log.shared().lock().gathering.gatherer != Gatherer::Nobody
    }

    fn append(log: &Log) -> model::LogPosition {
        log.append(1, b"x", Durability::Fsync).unwrap()
    }

    #[test]
    fn who_gathers_sleeps_until_the_last_one_has_come() {
        let (log, _) = log_of_two(Driver::Caller);
        let position = append(&log).to_raw();
        thread::scope(|scope| {
            let gatherer = scope.spawn(|| log.shared().gather());
            await_gatherer(&log);
            log.shared().ask(position);
            assert!(!gatherer.is_finished() && is_gathering(&log), "one is still to come");
            log.shared().ask(position);
        });
        assert!(!is_gathering(&log));
    }

    #[test]
    fn the_last_to_come_writes_in_the_place_of_who_gathers() {
        let (log, writers) = log_of_two(Driver::Threads);
        thread::scope(|scope| {
            let first = scope.spawn(|| log.wait_durable(append(&log)).unwrap());
            await_gatherer(&log);
            log.wait_durable(append(&log)).unwrap();
            first.join().unwrap();
        });
        assert_eq!(writers.lock().unwrap().last(), Some(&thread::current().id()));
        assert_eq!(log.stats().largest_group, 2, "one sync for both");
    }

    /// The log's thread sleeps on where the group is taken from it, and is woken for the next work all the same.
    #[test]
    fn the_last_to_come_takes_the_group_from_the_thread() {
        let (log, writers) = log_of_two(Driver::Threads);
        let (sender, receiver) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| assert!(log.wait_durable_unless(append(&log), &|| false).unwrap()));
            await_gatherer(&log);
            log.wait_durable(append(&log)).unwrap();
        });
        assert_eq!(writers.lock().unwrap().last(), Some(&thread::current().id()));
        log.shared().lock().gathering.last_group = 0;
        log.on_durable(append(&log), Box::new(move |result| sender.send(result).unwrap()));
        receiver.recv().unwrap().unwrap();
        assert_ne!(writers.lock().unwrap().last(), Some(&thread::current().id()));
    }

    #[test]
    fn who_can_be_ended_takes_no_group() {
        let (log, writers) = log_of_two(Driver::Threads);
        let gatherer = thread::scope(|scope| {
            let first = scope.spawn(|| {
                log.wait_durable(append(&log)).unwrap();
                thread::current().id()
            });
            await_gatherer(&log);
            assert!(log.wait_durable_unless(append(&log), &|| false).unwrap());
            first.join().unwrap()
        });
        assert_eq!(writers.lock().unwrap().last(), Some(&gatherer));
    }

    #[test]
    fn nobody_gathers_while_an_appender_needs_room_or_after_a_stop() {
        let stop = |log: &Log| {
            let cause = std::io::Error::other("a fault");
            log.shared().stop(DiskError::new(Operation::Sync, "it", cause));
        };
        let need_room = |log: &Log| {
            let mut state = log.shared().lock();
            state.drain_wanted = true;
            log.shared().end_gathering(&state);
        };
        for is_stopped in [false, true] {
            let end = |log: &Log| if is_stopped { stop(log) } else { need_room(log) };
            let (log, _) = log_of_two(Driver::Caller);
            thread::scope(|scope| {
                scope.spawn(|| log.shared().gather());
                await_gatherer(&log);
                end(&log);
            });
            let (log, _) = log_of_two(Driver::Threads);
            thread::scope(|scope| {
                let waiter = scope.spawn(|| log.wait_durable(append(&log)));
                await_gatherer(&log);
                end(&log);
                assert_eq!(waiter.join().unwrap().is_err(), is_stopped);
            });
        }
    }

    /// Whoever is first, the gatherer or the close, makes its record durable.
    #[test]
    fn who_gathers_while_the_log_closes_is_served() {
        for _ in 0..50 {
            let (log, _) = log_of_two(Driver::Threads);
            thread::scope(|scope| {
                let waiter = scope.spawn(|| log.wait_durable(append(&log)));
                await_gatherer(&log);
                log.close().unwrap();
                waiter.join().unwrap().unwrap();
            });
        }
    }

    #[test]
    fn waits_in_vain_become_rare_and_one_that_is_not_makes_them_frequent() {
        let mut gathering = super::Gathering { last_group: 2, ..Default::default() };
        let rounds_until_begun = |gathering: &mut super::Gathering| {
            let rounds = (0..).take_while(|_| !gathering.begin(Gatherer::Thread, 1)).count();
            assert!(!gathering.is_over(1) && gathering.is_over(2));
            rounds
        };
        for expected in [0, 0, 2, 6, 14, 30, 62, 62] {
            assert_eq!(rounds_until_begun(&mut gathering), expected);
            gathering.end(false);
        }
        assert_eq!(rounds_until_begun(&mut gathering), 62);
        gathering.end(true);
        assert_eq!(rounds_until_begun(&mut gathering), 0);
    }
}

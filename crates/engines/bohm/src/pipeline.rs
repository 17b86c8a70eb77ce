//! Batches on their way: sealed, planned by all planners, executed, durable, collected.
//!
//! A batch is *complete* when it is executed, as are all before it, and durable, if answers wait for that: what snapshots
//! see is never lost.
//!
//! One latch, taken a few times for each batch and never for a procedure. A batch is freed when it is at or below the
//! low-water mark: it is complete, as are all before it, and no thread executes that entered before it was complete. So
//! a thread that finds a version empty may look at its producer: that one's batch was not complete when the thread
//! entered.

use crate::Options;
use crate::call::Call;
use crate::memory::Charge;
use crate::position::Position;
use crate::readers::Readers;
use model::{Error, LogPosition, Result};
use parts::CachePadded;
use parts::memory::Meter;
use parts::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use parts::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// Calls that an executing thread takes at a time.
const TAKEN_AT_ONCE: usize = 16;
/// Batches that may wait for the log: as many as come while a slow disk syncs.
const MOST_IN_LOG: usize = 64;
const IDLE: u64 = u64::MAX;

/// A sealed batch.
pub(crate) struct Batch {
    pub number: u64,
    pub calls: Vec<Call>,
    /// With several planners, for each call which of them have keys in it ([`crate::call::Routes`]): so a planner looks at a word of a call
    /// that is none of its own.
    routes: Vec<u64>,
    /// What counts for its calls: the placeholders until all planners have planned it, the rest until it is freed.
    charge: Charge,
    meter: Arc<Meter>,
    /// Planners that have not planned it yet.
    unplanned: AtomicUsize,
    /// The first call that no executing thread has taken.
    next: CachePadded<AtomicUsize>,
}

/// What an executing thread does next.
pub(crate) enum Next {
    /// Executes a batch.
    Execute(Arc<Batch>),
    /// Releases results: more is durable, or the log has failed.
    Release,
    /// Nothing is left.
    End,
}

/// The batches, and where the threads are.
pub(crate) struct Pipeline {
    stages: Mutex<Stages>,
    /// For planners: another batch is sealed.
    sealed: Condvar,
    /// For executing threads: another batch is planned. For threads that move: there may be something to do.
    planned: Condvar,
    /// For the sequencer, and for those that wait for a batch to be complete.
    complete: Condvar,
    /// Calls of batch `n`, modulo the length, that are not complete.
    unfinished: Box<[CachePadded<AtomicU64>]>,
    /// The last batch that is durable with all before it, of those that somebody waits for. Stored with `Release` under the
    /// latch; executing threads acquire it.
    durable: CachePadded<AtomicU64>,
    pub readers: Readers,
    planners: usize,
    moving: bool,
    run_ahead: u64,
    meter: Arc<Meter>,
}

/// Who plans a partition.
#[derive(Clone, Copy, Debug)]
struct Claim {
    is_taken: bool,
    /// The last batch that was planned.
    planned: u64,
}

/// Counts of threads that sleep.
#[derive(Clone, Copy, Debug, Default)]
struct Asleep {
    planned: usize,
    complete: usize,
}

struct Stages {
    /// All batches above the low-water mark, oldest first, up to `sealed`.
    batches: VecDeque<Arc<Batch>>,
    sealed: u64,
    planned: u64,
    executed: u64,
    complete: u64,
    /// Batches that somebody waits for until they are durable, with the ends of their records.
    in_log: VecDeque<(u64, LogPosition)>,
    /// Whether the log will call back.
    is_watched: bool,
    /// Whether snapshots wait for the log.
    shows_durable_only: bool,
    /// Why the log has failed: what was not durable then is lost, perhaps, and is never complete.
    failure: Option<Error>,
    /// For each executing thread the first batch that was not executed when it entered the one that it executes.
    entered: Box<[u64]>,
    /// Counts what may give a thread that moves something to plan.
    pokes: u64,
    /// Which partitions are being planned by a thread that moves, and the last batch that was planned of each.
    claims: Box<[Claim]>,
    /// Threads that wait for executing threads to leave a batch.
    awaiting_leave: usize,
    /// Threads that sleep until something is planned or complete. To notify a condition is a call of the system even if nobody sleeps.
    asleep: Asleep,
    is_closing: bool,
}

impl Pipeline {
    /// Batches begin above `start`.
    pub fn new(options: &Options, meter: Arc<Meter>, start: u64) -> Pipeline {
        let (planners, run_ahead) = (options.planners, options.run_ahead as u64);
        let stages = Stages {
            batches: VecDeque::new(),
            sealed: start,
            planned: start,
            executed: start,
            complete: start,
            in_log: VecDeque::new(),
            is_watched: false,
            shows_durable_only: false,
            failure: None,
            entered: vec![IDLE; options.executing_threads()].into_boxed_slice(),
            pokes: 0,
            claims: vec![Claim { is_taken: false, planned: start }; planners].into_boxed_slice(),
            awaiting_leave: 0,
            asleep: Asleep::default(),
            is_closing: false,
        };
        let readers = Readers::new(options.readers);
        readers.set_complete(start);
        Pipeline {
            stages: Mutex::new(stages),
            sealed: Condvar::new(),
            planned: Condvar::new(),
            complete: Condvar::new(),
            unfinished: (0..run_ahead + 1).map(|_| CachePadded::default()).collect(),
            durable: CachePadded::new(AtomicU64::new(start)),
            readers,
            planners,
            moving: options.moves_threads,
            run_ahead,
            meter,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until something is planned, or to be planned, perhaps.
    fn sleep_until_planned<'s>(&'s self, mut stages: MutexGuard<'s, Stages>) -> MutexGuard<'s, Stages> {
        stages.asleep.planned += 1;
        let mut stages = self.planned.wait(stages).unwrap_or_else(PoisonError::into_inner);
        stages.asleep.planned -= 1;
        stages
    }

    /// Sleeps until something is complete, perhaps.
    fn sleep_until_complete<'s>(&'s self, mut stages: MutexGuard<'s, Stages>) -> MutexGuard<'s, Stages> {
        stages.asleep.complete += 1;
        let mut stages = self.complete.wait(stages).unwrap_or_else(PoisonError::into_inner);
        stages.asleep.complete -= 1;
        stages
    }

    fn wake_complete(&self, stages: &Stages) {
        if stages.asleep.complete > 0 {
            self.complete.notify_all();
        }
    }

    fn unfinished(&self, batch: u64) -> &AtomicU64 {
        &self.unfinished[(batch % self.unfinished.len() as u64) as usize]
    }

    /// Has later batches be shown only when they are durable: the engine is recovered, and has a log whose answers wait.
    pub fn show_durable_only(&self) {
        self.lock().shows_durable_only = true;
    }

    fn has_room_in(&self, stages: &Stages) -> bool {
        stages.sealed - stages.executed < self.run_ahead && stages.in_log.len() < MOST_IN_LOG
    }

    /// Waits until fewer batches than the limits are on their way. Returns the number of the next. The sequencer.
    pub fn wait_for_room(&self) -> u64 {
        let mut stages = self.lock();
        while !self.has_room_in(&stages) {
            stages = self.sleep_until_complete(stages);
        }
        stages.sealed + 1
    }

    /// Seals a batch whose record ends at a position: its calls get their positions (B1). The sequencer, which has waited for
    /// room.
    pub fn seal(&self, mut calls: Vec<Call>, logged: LogPosition) -> Arc<Batch> {
        let mut stages = self.lock();
        let number = stages.sealed + 1;
        let is_awaited = stages.shows_durable_only || calls.iter().any(|call| call.awaits_log);
        if is_awaited && stages.failure.is_none() {
            stages.in_log.push_back((number, logged));
        }
        let mut charge = Charge::default();
        let mut routes = Vec::with_capacity(if self.planners > 1 { calls.len() } else { 0 });
        for (index, call) in calls.iter_mut().enumerate() {
            call.position = Position::new(number, index);
            charge.add(call.charge);
            if self.planners > 1 {
                routes.push(call.routes.planners);
            }
        }
        self.unfinished(number).store(calls.len() as u64, Relaxed);
        let unplanned = AtomicUsize::new(self.planners);
        let batch = Arc::new(Batch {
            number,
            calls,
            routes,
            charge,
            meter: self.meter.clone(),
            unplanned,
            next: CachePadded::default(),
        });
        stages.batches.push_back(batch.clone());
        stages.sealed = number;
        self.poke_in(&mut stages);
        drop(stages);
        if self.planners > 1 {
            self.sealed.notify_all();
        }
        batch
    }

    /// Waits for a batch to be sealed. `None`: there will be none.
    pub fn wait_sealed(&self, number: u64) -> Option<Arc<Batch>> {
        let mut stages = self.lock();
        loop {
            if let Some(batch) = stages.sealed(number) {
                return Some(batch);
            }
            if stages.is_closing {
                return None;
            }
            stages = self.sealed.wait(stages).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A batch, if it is sealed.
    pub fn sealed(&self, number: u64) -> Option<Arc<Batch>> {
        self.lock().sealed(number)
    }

    /// Passes the barrier of a batch: what the last planner passes, executing threads see (B3).
    pub fn pass_barrier(&self, batch: &Batch) {
        if batch.unplanned.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        self.meter.credit(batch.charge.placeholders);
        let mut stages = self.lock();
        assert!(stages.planned + 1 == batch.number, "B3: batches are planned in their order");
        stages.planned = batch.number;
        self.advance(&mut stages);
        let is_awaited = stages.asleep.planned > 0;
        drop(stages);
        match (is_awaited, batch.calls.len() > TAKEN_AT_ONCE) {
            (true, true) => self.planned.notify_all(),
            (true, false) => self.planned.notify_one(),
            (false, _) => {}
        }
    }

    /// Leaves the batch that an executing thread was in, and waits for what it does next. `held`: the oldest batch of which it
    /// holds results.
    pub fn enter_next(&self, executor: usize, last: u64, held: Option<u64>) -> Next {
        let mut stages = self.leave(executor);
        loop {
            if let Some(next) = self.next(&mut stages, executor, last, held) {
                return next;
            }
            stages = self.sleep_until_planned(stages);
        }
    }

    /// Claims a partition for a thread that moves, if its next batch may be planned now: then nobody else plans it (B2). The first one's
    /// next batch is one that can be sealed.
    pub fn claim(&self, partition: usize) -> bool {
        let mut stages = self.lock();
        let Claim { is_taken, planned } = stages.claims[partition];
        let has_work = if partition == 0 { self.has_room_in(&stages) } else { planned < stages.sealed };
        let is_mine = has_work && !is_taken;
        stages.claims[partition].is_taken |= is_mine;
        is_mine
    }

    /// Gives a partition back that is planned up to a batch.
    pub fn give_back(&self, partition: usize, planned: u64) {
        let mut stages = self.lock();
        stages.claims[partition] = Claim { is_taken: false, planned };
        if planned < stages.sealed {
            self.poke_in(&mut stages); // Who has found it taken.
        }
    }

    /// Same as [`Pipeline::enter_next`], for a thread that moves: `None` if there may be something to plan since it has looked,
    /// [`Pipeline::pokes`] being `seen` before.
    pub fn enter_or_plan(&self, executor: usize, last: u64, held: Option<u64>, seen: u64) -> Option<Next> {
        let mut stages = self.leave(executor);
        loop {
            if let Some(next) = self.next(&mut stages, executor, last, held) {
                return Some(next);
            }
            if stages.pokes != seen {
                return None;
            }
            stages = self.sleep_until_planned(stages);
        }
    }

    /// Leaves the batch that an executing thread was in, since it plans next.
    pub fn leave_batch(&self, executor: usize) {
        drop(self.leave(executor));
    }

    fn leave(&self, executor: usize) -> MutexGuard<'_, Stages> {
        let mut stages = self.lock();
        stages.entered[executor] = IDLE;
        if stages.awaiting_leave > 0 {
            self.wake_complete(&stages);
        }
        stages
    }

    /// What an executing thread that is in no batch does next, if there is anything.
    fn next(&self, stages: &mut Stages, executor: usize, last: u64, held: Option<u64>) -> Option<Next> {
        if held.is_some_and(|held| held <= self.durable() || stages.failure.is_some()) {
            return Some(Next::Release);
        }
        let number = last.max(stages.executed) + 1;
        if number <= stages.planned {
            stages.entered[executor] = stages.executed + 1;
            return Some(Next::Execute(stages.batch(number)));
        }
        (stages.is_closing && held.is_none()).then_some(Next::End)
    }

    /// A number that changes whenever there may be something to plan.
    pub fn pokes(&self) -> u64 {
        self.lock().pokes
    }

    /// Has threads that move look for something to plan.
    pub fn poke(&self) {
        self.poke_in(&mut self.lock());
    }

    fn poke_in(&self, stages: &mut Stages) {
        if self.moving {
            stages.pokes += 1;
            if stages.asleep.planned > 0 {
                self.planned.notify_all();
            }
        }
    }

    /// Counts calls of a batch as complete.
    pub fn finish(&self, batch: u64, calls: u64) {
        if calls > 0 && self.unfinished(batch).fetch_sub(calls, AcqRel) == calls {
            self.advance(&mut self.lock());
        }
    }

    /// Moves the last executed batch on, and the last complete one.
    fn advance(&self, stages: &mut Stages) {
        let before = (stages.executed, stages.complete);
        while stages.executed < stages.planned && self.unfinished(stages.executed + 1).load(Acquire) == 0 {
            stages.executed += 1;
        }
        let in_log = stages.in_log.front().filter(|_| stages.shows_durable_only);
        if stages.failure.is_none() {
            let complete = in_log.map_or(stages.executed, |(batch, _)| stages.executed.min(batch - 1));
            assert!(complete >= stages.complete, "B11: what is complete stays so");
            stages.complete = complete;
        }
        if stages.complete > before.1 {
            self.readers.set_complete(stages.complete);
        }
        if (stages.executed, stages.complete) != before {
            self.poke_in(stages);
            self.wake_complete(stages);
        }
    }

    /// Position of the log to be called back for, unless that is under way: where the oldest record ends that somebody
    /// waits for.
    pub fn next_to_await(&self) -> Option<LogPosition> {
        let mut stages = self.lock();
        if stages.is_watched || stages.failure.is_some() {
            return None;
        }
        let (_, position) = *stages.in_log.front()?;
        stages.is_watched = true;
        Some(position)
    }

    /// Notes how far the log is durable, or that it has failed (B11).
    pub fn set_durable(&self, durable: Result<LogPosition>) {
        let mut stages = self.lock();
        stages.is_watched = false;
        match durable {
            Ok(durable) => {
                while let Some((batch, _)) = stages.in_log.pop_front_if(|(_, logged)| *logged <= durable) {
                    self.durable.store(batch, Release);
                }
            }
            Err(error) => {
                stages.failure.get_or_insert(error);
                stages.in_log.clear();
            }
        }
        self.advance(&mut stages);
        self.poke_in(&mut stages); // There may be room.
        self.wake_complete(&stages);
        drop(stages);
        self.planned.notify_all();
    }

    /// The last batch that is durable, of those that somebody waits for.
    #[inline]
    pub fn durable(&self) -> u64 {
        self.durable.load(Acquire)
    }

    /// Why the log has failed.
    pub fn failure(&self) -> Option<Error> {
        self.lock().failure.clone()
    }

    /// The low-water mark: no thread reads below the end of this batch any more (B8).
    pub fn low_water(&self) -> u64 {
        let mut freed = Vec::new();
        let mut stages = self.lock();
        let entered = stages.entered.iter().map(|first| first - 1).fold(stages.complete, u64::min);
        let low = self.readers.oldest(entered);
        while stages.batches.front().is_some_and(|batch| batch.number <= low) {
            freed.extend(stages.batches.pop_front());
        }
        drop(stages);
        drop(freed); // Outside of the latch.
        low
    }

    /// Waits until a batch is complete, as all before it; after a failure of the log, until it is executed.
    pub fn wait_complete(&self, batch: u64) {
        let mut stages = self.lock();
        while !stages.is_complete(batch) {
            stages = self.sleep_until_complete(stages);
        }
    }

    /// Returns whether everything that is sealed is complete; after a failure of the log, executed.
    pub fn is_all_complete(&self) -> bool {
        let stages = self.lock();
        stages.is_complete(stages.sealed)
    }

    /// Waits until no executing thread is in a complete batch, or in an earlier one, that keeps the low-water mark below it.
    pub fn wait_left(&self, batch: u64) {
        let mut stages = self.lock();
        stages.awaiting_leave += 1;
        while stages.entered.iter().any(|first| *first <= batch) {
            stages = self.sleep_until_complete(stages);
        }
        stages.awaiting_leave -= 1;
    }

    /// The last sealed batch.
    pub fn last_sealed(&self) -> u64 {
        self.lock().sealed
    }

    /// Lets the threads end. Everything sealed is complete.
    pub fn close(&self) {
        let mut stages = self.lock();
        assert!(stages.executed == stages.sealed, "the sequencer waits for what it has sealed");
        stages.is_closing = true;
        drop(stages);
        self.sealed.notify_all();
        self.planned.notify_all();
    }
}

impl Stages {
    fn sealed(&self, number: u64) -> Option<Arc<Batch>> {
        (number <= self.sealed).then(|| self.batch(number))
    }

    fn is_complete(&self, batch: u64) -> bool {
        self.complete >= batch || self.failure.is_some() && self.executed >= batch
    }

    fn batch(&self, number: u64) -> Arc<Batch> {
        let newer = (self.sealed - number) as usize;
        let batch = &self.batches[self.batches.len() - 1 - newer];
        assert!(batch.number == number, "B8: a batch is kept until it is complete and nobody is in it");
        batch.clone()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.meter.credit(self.charge.call);
    }
}

impl Batch {
    /// Calls that have keys of a planner.
    #[inline]
    pub fn calls_of(&self, planner: u8) -> impl Iterator<Item = &Call> {
        let is_own = move |at: usize| self.routes.get(at).is_none_or(|planners| planners & 1 << planner != 0);
        self.calls.iter().enumerate().filter_map(move |(at, call)| is_own(at).then_some(call))
    }

    /// Takes the next calls that no executing thread has.
    pub fn take(&self) -> &[Call] {
        // Relaxed: the calls were published by the barrier; this only deals them out.
        if self.next.load(Relaxed) >= self.calls.len() {
            return &[];
        }
        let first = self.next.fetch_add(TAKEN_AT_ONCE, Relaxed).min(self.calls.len());
        &self.calls[first..(first + TAKEN_AT_ONCE).min(self.calls.len())]
    }
}

//! State that appenders, waiters and the log's threads share, and how appenders wait for room.

use crate::buffer::Buffer;
use crate::control::Control;
use crate::error::LogError;
use crate::event::Event;
use crate::format::{Payload, RecordKind, overhead};
use crate::gather::Gathering;
use crate::group::Writer;
use crate::large::Need;
use crate::options::{Driver, LogOptions};
use crate::segment::{Segment, discard};
use crate::start::Start;
use crate::stats::LogStats;
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, lock};
use env::time::{Duration, Instant};
use env::{Disk, DiskError, DiskLock};
use model::Durability;
use model::LogPosition;
use std::collections::{BTreeMap, VecDeque};

/// How long a caller will still wait for the disk: zero ends its wait; `None` leaves it to the log's own limit. Called under
/// the log's latch before each sleep, and again after each [`Log::recheck_waits`](crate::Log::recheck_waits).
pub type CallersWaitLimit<'a> = &'a dyn Fn() -> Option<Duration>;

/// Called once with the fate of a position.
pub type Callback = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// Phase of the log's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Open for appends.
    Open,
    /// No appends; the rest is being made durable.
    Closing,
    /// Over.
    Closed,
}

/// Everything under the one latch of the log.
pub struct State {
    /// Records without a write yet.
    pub buffer: Buffer,
    /// The segments that follow, prepared: more than one only for large records.
    pub next: VecDeque<Arc<Segment>>,
    /// Number of them that large records will still need.
    pub promised: usize,
    /// Somebody wants the next segment prepared.
    pub next_wanted: bool,
    /// Attempts to prepare it that have ended, since the start.
    pub attempts: u64,
    /// Why the last of them failed.
    pub attempt_error: Option<LogError>,
    /// The greatest position that somebody waits for.
    pub wanted: u64,
    /// Sync rounds begun.
    pub round: u64,
    /// Positions up to here are covered by the round that is running, or by those before it.
    pub in_flight: u64,
    /// Number of waiters that the next round will serve.
    pub arrived: usize,
    /// Whether somebody waits for more of them, and how that has gone before.
    pub gathering: Gathering,
    /// Duration of an fdatasync: a moving mean.
    pub sync_time: Duration,
    /// Since when asynchronous records have been waiting for a sync.
    pub oldest_async: Option<Instant>,
    /// The writing thread waits for work.
    pub sleeping: bool,
    /// A waiter writes in its place.
    pub led: bool,
    /// The log's life.
    pub phase: Phase,
    /// The failure after which nothing goes on.
    pub stopped: Option<DiskError>,
    /// Why appends are refused since the log was opened: it could be read, and not go on.
    pub refused: Option<LogError>,
    /// An appender waits for the buffer to be emptied.
    pub drain_wanted: bool,
    /// Callbacks, by position.
    pub callbacks: BTreeMap<(u64, u64), Callback>,
    /// Callbacks ever registered: tells equal positions apart.
    pub callback_number: u64,
    /// Counts; the positions in it are filled in when asked for.
    pub stats: LogStats,
}

impl State {
    /// An open log around `buffer`.
    pub fn new(buffer: Buffer, next: VecDeque<Arc<Segment>>, refused: Option<LogError>, stats: LogStats) -> Self {
        Self {
            in_flight: buffer.tail(),
            buffer,
            next,
            promised: 0,
            refused,
            next_wanted: false,
            attempts: 0,
            attempt_error: None,
            wanted: 0,
            round: 0,
            arrived: 0,
            gathering: Gathering::default(),
            sync_time: Duration::ZERO,
            oldest_async: None,
            drain_wanted: false,
            sleeping: false,
            led: false,
            phase: Phase::Open,
            stopped: None,
            callbacks: BTreeMap::new(),
            callback_number: 0,
            stats,
        }
    }

    /// The last segment that there is.
    pub fn last_segment(&self) -> &Arc<Segment> {
        self.next.back().unwrap_or(self.buffer.segment())
    }

    /// The error of appending to a log that is over.
    pub fn check_open(&self) -> Result<(), LogError> {
        match (&self.stopped, self.phase) {
            (Some(error), _) => Err(LogError::Stopped(error.clone())),
            (None, Phase::Open) => Ok(()),
            (None, Phase::Closing | Phase::Closed) => Err(LogError::Closed),
        }
    }

    /// An attempt to prepare the next segment has ended.
    fn note_attempt(&mut self, error: Option<LogError>) {
        self.attempts += 1;
        self.attempt_error = error;
        self.next_wanted = false;
    }

    /// Whoever waits for `position` waits for this of the two rounds.
    pub fn round_for(&self, position: u64) -> usize {
        let round = if position <= self.in_flight { self.round } else { self.round + 1 };
        (round % 2) as usize
    }
}

/// The log's inside.
pub struct Shared {
    /// Disk of all files.
    pub disk: Arc<dyn Disk>,
    /// Options as given.
    pub options: LogOptions,
    /// Identity of all its files.
    pub identity: u64,
    /// The latch. Order: `preparing` before `writer`; these and `control` before `state`.
    pub state: Mutex<State>,
    /// Wakes the writing thread, also while it gathers a group.
    pub work: Condvar,
    /// Wakes the thread that works ahead.
    pub ahead: Condvar,
    /// Wakes appenders: the buffer was emptied, a segment was prepared (or not).
    pub space: Condvar,
    /// Wakes waiters, by the parity of their round: those that it has served, and who waits for the same round where one that only
    /// makes room has ended a segment.
    pub done: [Event; 2],
    /// Everything before this position is durable. Stored (Release) by the writer after the fdatasync; whoever loads it
    /// (Acquire) may acknowledge.
    pub durable: AtomicU64,
    /// The state has an error in `stopped`: a hint (set before it, under the latch) that spares who asks the latch.
    pub has_stopped: AtomicBool,
    /// The right to write groups.
    pub writer: Mutex<Writer>,
    /// The right to prepare segments; and what is left to be done before the log can go on at all.
    pub preparing: Mutex<Option<Start>>,
    /// The control file.
    pub control: Mutex<Control>,
    /// Its ceiling: durable.
    pub ceiling: AtomicU64,
    /// The ceiling that the thread which works ahead is to make durable, if it is greater.
    pub ceiling_wanted: AtomicU64,
    /// A checkpoint is being written.
    pub checkpointing: AtomicBool,
    /// The directory's lock; given up on close.
    pub directory: Mutex<Option<Arc<DiskLock>>>,
}

impl Shared {
    /// Takes the latch.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The durable position.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Returns whether the log has no threads.
    pub fn is_driven_by_callers(&self) -> bool {
        self.options.driver == Driver::Caller
    }

    /// Gives the record a position and a place in the next group.
    pub fn append(
        &self,
        stamp: u64,
        payload: &[u8],
        durability: Durability,
        caller: CallersWaitLimit<'_>,
    ) -> Result<LogPosition, LogError> {
        self.check_size(payload.len())?;
        let payload_bytes = payload.len() as u64;
        let payload = Payload::new(payload);
        let mut state = self.make_room(payload.record_bytes(), self.options.buffer_bytes, &mut 0, caller)?;
        assert!(state.stopped.is_none(), "L7: nothing is appended after a failure");
        let place = state.buffer.push_redo(RecordKind::Redo, stamp, payload);
        state.stats.records += 1;
        state.stats.payload_bytes += payload_bytes;
        self.wake_for(&mut state, durability);
        Ok(LogPosition::from_raw(place.end))
    }

    /// Waits until a record of so many bytes has room.
    pub fn await_room(&self, bytes: usize, caller: CallersWaitLimit<'_>) -> Result<(), LogError> {
        self.check_size(bytes)?;
        let bytes = bytes as u64 + overhead::PART;
        self.make_room(bytes, self.options.buffer_bytes, &mut 0, caller).map(drop)
    }

    /// Checks that a segment takes a record of so many bytes.
    pub fn check_size(&self, bytes: usize) -> Result<(), LogError> {
        let limit = self.options.max_payload();
        if bytes > limit { Err(LogError::TooLarge { bytes, limit }) } else { Ok(()) }
    }

    /// Wakes the threads that the append has given work. An `Fsync` record wakes nobody: its waiter will.
    pub fn wake_for(&self, state: &mut State, durability: Durability) {
        if self.is_driven_by_callers() {
            return;
        }
        let first_async = durability == Durability::Async && state.oldest_async.is_none();
        if first_async {
            state.oldest_async = Some(Instant::now());
        }
        let half = state.buffer.pending() >= self.options.buffer_bytes / 2;
        if first_async || half {
            self.wake_writer(state);
        }
        let wanted = state.promised + usize::from(state.buffer.is_half_full());
        if state.next.len() < wanted && !state.next_wanted && state.attempt_error.is_none() {
            state.next_wanted = true;
            self.ahead.notify_one();
        }
    }

    /// Waits until a record of `bytes` bytes has room in memory, where `limit` bytes may wait, and reserved space on disk. A
    /// segment that it begins is one less of those which were `promised` to the caller.
    pub fn make_room(
        &self,
        bytes: u64,
        limit: usize,
        promised: &mut usize,
        caller: CallersWaitLimit<'_>,
    ) -> Result<MutexGuard<'_, State>, LogError> {
        let mut state = self.lock();
        let mut budget = WaitBudget::new(self, caller);
        loop {
            state.check_open()?;
            let pending = state.buffer.pending();
            if let Some(LogError::ReadOnly) = state.refused {
                return Err(LogError::ReadOnly);
            } else if state.refused.is_some() {
                state = self.await_segment(state, &mut budget)?;
            } else if pending > 0 && pending + bytes as usize > limit {
                state = self.drain(state, &mut budget)?;
            } else if state.buffer.fits(bytes) {
                return Ok(state);
            } else if let Some(next) = state.next.pop_front() {
                state.attempt_error = None;
                state.promised -= usize::from(*promised > 0);
                *promised = promised.saturating_sub(1);
                state.buffer.switch(next);
            } else {
                state = self.await_segment(state, &mut budget)?;
            }
        }
    }

    /// Waits until the writer has taken what is in the buffer.
    fn drain<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<MutexGuard<'a, State>, LogError> {
        if self.is_driven_by_callers() {
            drop(state);
            self.run_round(false)?;
            return Ok(self.lock());
        }
        state.drain_wanted = true;
        self.wake_writer(&state);
        self.end_gathering(&state);
        state.stats.append_waits += u64::from(budget.is_fresh());
        budget.wait(&self.space, state)
    }

    /// Waits for the end of an attempt to prepare the next segment; the attempt's error is the caller's.
    fn await_segment<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        budget: &mut WaitBudget<'_>,
    ) -> Result<MutexGuard<'a, State>, LogError> {
        // A log that was refused and has gone on has room, even if it could not prepare the segment after.
        let was_refused = state.refused.is_some();
        let has_gone_on = |state: &State| was_refused && state.refused.is_none();
        if self.is_driven_by_callers() {
            drop(state);
            let prepared = self.prepare_segments_up_to(1);
            let state = self.lock();
            return if has_gone_on(&state) { Ok(state) } else { prepared.map(|()| state) };
        }
        state.stats.append_waits += u64::from(budget.is_fresh());
        state.next_wanted = true;
        self.ahead.notify_one();
        let attempts = state.attempts;
        while state.next.is_empty() && state.attempts == attempts {
            state.check_open()?;
            state = budget.wait(&self.space, state)?;
        }
        match (state.next.is_empty(), &state.attempt_error) {
            (true, Some(error)) if !has_gone_on(&state) => Err(error.clone()),
            _ => Ok(state),
        }
    }

    /// Prepares segments until there are `count`.
    pub fn prepare_segments_up_to(&self, count: usize) -> Result<(), LogError> {
        if self.options.read_only {
            return Err(LogError::ReadOnly);
        }
        let mut right = lock(&self.preparing);
        if right.is_some() {
            self.go_on(&mut right)?;
        }
        loop {
            let place = {
                let state = self.lock();
                if state.next.len() >= count {
                    return Ok(());
                }
                state.last_segment().place
            };
            self.prepare_segment(place.number + 1, place.end())?;
        }
    }

    /// Prepares a segment. The caller has the right to.
    fn prepare_segment(&self, number: u64, start: u64) -> Result<(), LogError> {
        let created = Segment::create(&*self.disk, self.identity, number, start, self.options.segment_capacity());
        let mut state = self.lock();
        let result = match created {
            Ok(segment) => {
                state.next.push_back(Arc::new(segment));
                Ok(())
            }
            // A directory whose sync has failed cannot be trusted any more: nobody knows which names are durable.
            Err(error) if error.operation() == env::Operation::SyncDirectory => {
                drop(state);
                self.stop(error.clone());
                return Err(LogError::Stopped(error));
            }
            Err(error) => Err(LogError::clean(error)),
        };
        state.note_attempt(result.as_ref().err().cloned());
        self.space.notify_all();
        result
    }

    /// Goes on where the disk was full when the log was opened, if it has space now.
    fn go_on(&self, waiting: &mut Option<Start>) -> Result<(), LogError> {
        let mut start = waiting.take().expect("something is left to be done");
        let reserved = start.reserve(&*self.disk, &self.options);
        if let Err(error) = &reserved
            && error.is_full()
        {
            *waiting = Some(start);
            let full = LogError::Full(error.clone());
            let mut state = self.lock();
            state.refused = Some(full.clone());
            state.note_attempt(Some(full.clone()));
            self.space.notify_all();
            return Err(full);
        }
        // Nothing was appended yet, so no round has anything to write; the writer's right keeps one from storing the old end.
        let right = lock(&self.writer);
        match reserved.and_then(|()| start.finish()) {
            Ok((buffer, next)) => {
                let mut state = self.lock();
                state.in_flight = buffer.tail();
                self.durable.fetch_max(buffer.tail(), Ordering::Release);
                (state.buffer, state.next, state.refused) = (buffer, next, None);
                state.note_attempt(None);
                self.space.notify_all();
                Ok(())
            }
            // The recovered bytes may not be durable: as after every failed write, a restart has to read them.
            Err(error) => {
                drop(right);
                self.stop(error.clone());
                Err(LogError::Stopped(error))
            }
        }
    }

    /// Waits until the ceiling lies above `stamp`; has the thread that works ahead raise it to `ceiling`, since a disk that does
    /// not return can be left waiting only by another thread.
    pub fn await_ceiling(&self, stamp: u64, ceiling: u64, caller: CallersWaitLimit<'_>) -> Result<(), LogError> {
        if self.is_driven_by_callers() {
            return self.cover(stamp, ceiling);
        }
        let mut budget = WaitBudget::new(self, caller);
        // Acquire, partner of the Release in `cover`: timestamps below may be used.
        let is_covered = || stamp < self.ceiling.load(Ordering::Acquire);
        while !is_covered() {
            self.raise_ahead(stamp, ceiling);
            let mut state = self.lock();
            let wanted = self.ceiling_wanted.load(Ordering::Relaxed);
            state.check_open()?;
            while !is_covered() && self.ceiling.load(Ordering::Relaxed) < wanted {
                state = budget.wait(&self.space, state)?;
                state.check_open()?;
            }
        }
        Ok(())
    }

    /// Wakes everybody, so that they look at the phase.
    pub fn wake_all(&self) {
        [&self.work, &self.ahead, &self.space].into_iter().for_each(Condvar::notify_all);
        self.done.iter().for_each(Event::raise);
    }
}

impl Shared {
    /// Prepares the segments that a large record needs beside those that are promised already, and returns their number.
    pub fn promise(&self, need: Need, caller: CallersWaitLimit<'_>) -> Result<usize, LogError> {
        let wanted = {
            let mut state = self.lock();
            state.check_open()?;
            if state.buffer.fits(need.bytes) {
                return Ok(0);
            }
            state.promised += need.segments;
            state.promised
        };
        self.await_segments(wanted, caller).inspect_err(|_| self.give_back(need.segments))?;
        Ok(need.segments)
    }

    /// Waits until `count` segments are prepared, or an attempt at it has failed.
    fn await_segments(&self, count: usize, caller: CallersWaitLimit<'_>) -> Result<(), LogError> {
        if self.is_driven_by_callers() || self.options.read_only {
            return self.prepare_segments_up_to(count);
        }
        let mut budget = WaitBudget::new(self, caller);
        let mut state = self.lock();
        while state.next.len() < count {
            state.check_open()?;
            state.next_wanted = true;
            self.ahead.notify_one();
            let attempts = state.attempts;
            while state.attempts == attempts {
                state = budget.wait(&self.space, state)?;
                state.check_open()?;
            }
            if let (true, Some(error)) = (state.next.len() < count, &state.attempt_error) {
                return Err(error.clone());
            }
        }
        Ok(())
    }

    /// Forgets a promise of `count` segments. If a thread is preparing some, that thread removes what is too much.
    pub fn give_back(&self, count: usize) {
        self.lock().promised -= count;
        if let Ok(_right) = self.preparing.try_lock() {
            self.discard_surplus();
        }
    }

    /// Returns whether there are more segments than anybody needs and one.
    pub fn has_surplus(&self) -> bool {
        let state = self.lock();
        state.next.len() > state.promised + 1 && state.check_open().is_ok()
    }

    /// Removes the segments that nobody needs but one, the last first: numbers stay without gaps. The caller has the right to
    /// prepare segments.
    pub fn discard_surplus(&self) {
        loop {
            let mut state = self.lock();
            if state.next.len() <= state.promised + 1 || state.check_open().is_err() {
                return;
            }
            let segment = state.next.pop_back().expect("there are several");
            drop(state);
            // If that fails, a blank segment stays behind, and the next attempt to make it replaces it.
            discard(&*self.disk, &Segment::name(segment.place.number));
        }
    }
}

/// Time that a caller will still wait for the disk.
struct WaitBudget<'c> {
    limit: Duration,
    since: Option<Instant>,
    caller: CallersWaitLimit<'c>,
}

impl<'c> WaitBudget<'c> {
    fn new(shared: &Shared, caller: CallersWaitLimit<'c>) -> Self {
        Self { limit: shared.options.append_timeout, since: None, caller }
    }

    fn is_fresh(&self) -> bool {
        self.since.is_none()
    }

    fn wait<'a>(
        &mut self,
        condition: &Condvar,
        state: MutexGuard<'a, State>,
    ) -> Result<MutexGuard<'a, State>, LogError> {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        let Some(left) = self.limit.checked_sub(waited).filter(|left| !left.is_zero()) else {
            return Err(LogError::Stalled { waited });
        };
        let left = match (self.caller)() {
            Some(limit) if limit.is_zero() => return Err(LogError::Interrupted),
            Some(limit) => limit.min(left),
            None => left,
        };
        let (state, _) = condition.wait_timeout(state, left).expect("no holder of this latch panics");
        Ok(state)
    }
}

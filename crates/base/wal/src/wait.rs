//! Waiting until the log is durable: asleep on one word, called back, or by writing oneself where nobody else writes.
//!
//! A waiter that nobody can end writes and syncs on its own thread if the log's thread is asleep and no other waiter
//! writes: a lone client is spared two changes of threads. If others are expected, the last of them writes (`gather.rs`).
//! What else came meanwhile is left to the log's thread, and so are callbacks. A waiter that can be ended leaves the disk to
//! the log's thread, since nothing ends a system call.

use crate::error::LogError;
use crate::event::Event;
use crate::gather::GatherEnd;
use crate::group::StopUnlessDone;
use crate::shared::{Callback, Phase, Shared, State};
use crate::sync::{MutexGuard, Ordering};
use env::DiskError;
use model::LogPosition;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Whether a wait is over before its position is durable.
type IsOver<'a> = Option<&'a dyn Fn() -> bool>;

/// Part of a waiter in the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Writes and syncs for all, once the others of the last group have come.
    Lead,
    /// Writes and syncs for all, since it is the last of them to come, in the place of the one who has waited for it.
    Write,
    /// Sleeps.
    Follow,
}

impl Shared {
    /// Waits until everything up to `position` is durable.
    pub fn wait_durable(&self, position: u64) -> Result<(), LogError> {
        self.await_durable(position, None).map(drop)
    }

    /// Waits until everything up to `position` is durable; returns `false` if `is_over` ended the wait before.
    pub fn wait_durable_unless(&self, position: u64, is_over: &dyn Fn() -> bool) -> Result<bool, LogError> {
        self.await_durable(position, Some(is_over))
    }

    fn await_durable(&self, position: u64, is_over: IsOver<'_>) -> Result<bool, LogError> {
        if self.is_driven_by_callers() {
            while self.durable() < position {
                self.check_appended(&self.lock(), position)?;
                self.run_round(true)?;
            }
            return Ok(true);
        }
        if self.durable() >= position {
            return Ok(true);
        }
        let mut state = self.lock();
        match self.ask_for(&mut state, position, is_over.is_none())? {
            Part::Lead => self.lead(state, position).map(|()| true),
            Part::Write => {
                drop(state);
                self.write_for_all(position).map(|()| true)
            }
            Part::Follow => self.follow(state, position, is_over),
        }
    }

    /// Sleeps until a round has served `position`. After waking, a served waiter takes no latch.
    fn follow<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        position: u64,
        is_over: IsOver<'_>,
    ) -> Result<bool, LogError> {
        loop {
            let done = &self.done[state.round_for(position)];
            // Before the looks: whoever changes what they find raises the event afterwards.
            let ticket = done.ticket();
            if self.durable() >= position {
                return Ok(true);
            }
            self.check_waitable(&state)?;
            if is_over.is_some_and(|is_over| is_over()) {
                return Ok(false);
            }
            drop(state);
            done.wait(ticket);
            if self.durable() >= position {
                return Ok(true);
            }
            state = self.lock();
        }
    }

    /// Waits for the others of the last group, and writes and syncs for all, or follows the last of them, who does.
    fn lead<'a>(&'a self, state: MutexGuard<'a, State>, position: u64) -> Result<(), LogError> {
        let (state, end) = self.gather_as_waiter(state);
        match end {
            GatherEnd::Write => {
                drop(state);
                self.write_for_all(position)
            }
            GatherEnd::Taken => self.follow(state, position, None).map(drop),
        }
    }

    /// Writes and syncs for all who wait, of whom one waits for `position`. Afterwards the log's thread has what is left.
    fn write_for_all(&self, position: u64) -> Result<(), LogError> {
        let guard = StopUnlessDone::new(self);
        let result = self.run_round_as_waiter();
        guard.done();
        // A log that was closed meanwhile has served it.
        if self.durable() >= position { Ok(()) } else { result }
    }

    /// Calls `callback` when everything up to `position` is durable or never will be.
    pub fn on_durable(&self, position: u64, callback: Callback) {
        if self.is_driven_by_callers() {
            return callback(self.wait_durable(position));
        }
        if self.durable() >= position {
            return callback(Ok(()));
        }
        let mut state = self.lock();
        let asked = self.ask_for(&mut state, position, false).and_then(|_| self.check_waitable(&state));
        if asked.is_ok() && self.durable() < position {
            state.callback_number += 1;
            let key = (position, state.callback_number);
            state.callbacks.insert(key, callback);
            return;
        }
        drop(state);
        callback(asked);
    }

    /// Asks for a sync up to `position`, and for the log's thread if the caller is not to do it.
    fn ask_for(&self, state: &mut State, position: u64, may_lead: bool) -> Result<Part, LogError> {
        self.check_appended(state, position)?;
        let is_next = position > state.in_flight;
        state.arrived += usize::from(is_next);
        state.wanted = state.wanted.max(position);
        if state.gathering.is_over(state.arrived) {
            if may_lead {
                state.take_group_gathered();
                return Ok(Part::Write);
            }
            self.end_gathering(state);
        }
        if may_lead && is_next && state.sleeping && !state.led && self.check_waitable(state).is_ok() {
            state.led = true;
            return Ok(Part::Lead);
        }
        self.wake_writer(state);
        Ok(Part::Follow)
    }

    /// Asks without waiting, for tests.
    #[cfg(test)]
    pub fn ask(&self, position: u64) {
        self.ask_for(&mut self.lock(), position, false).expect("it was appended");
    }

    /// Wakes the writing thread if it sleeps; while a waiter writes in its place, that waiter wakes it.
    pub fn wake_writer(&self, state: &State) {
        if state.sleeping && !state.led {
            self.work.notify_one();
        }
    }

    /// A position that nobody has appended would be waited for without end.
    fn check_appended(&self, state: &State, position: u64) -> Result<(), LogError> {
        if position > state.buffer.tail() {
            Err(LogError::NotAppended(LogPosition::from_raw(position)))
        } else {
            Ok(())
        }
    }

    /// Returns whether more will still become durable.
    pub fn check_waitable(&self, state: &State) -> Result<(), LogError> {
        match (&state.stopped, state.phase) {
            (Some(error), _) => Err(LogError::Stopped(error.clone())),
            (None, Phase::Closed) => Err(LogError::Closed),
            (None, Phase::Open | Phase::Closing) => Ok(()),
        }
    }

    /// Wakes all who wait for durability, space or a ceiling, so that they ask whether their wait is over. The latch is
    /// taken in between: a waiter has either asked after the caller made it so, or sleeps already.
    pub fn recheck_waits(&self) {
        drop(self.lock());
        self.done.iter().for_each(Event::raise);
        self.space.notify_all();
    }

    /// Stops the log for good after a failure, and tells everybody.
    pub fn stop(&self, error: DiskError) {
        self.set_stopped(error).notify_all();
    }

    /// Stops the log for good after a failure. Whoever holds the right to write calls this before it gives it up, and tells
    /// those who want to be called afterwards.
    pub fn set_stopped(&self, error: DiskError) -> Stopped {
        let mut state = self.lock();
        self.has_stopped.store(true, Ordering::Release);
        let error = state.stopped.get_or_insert(error).clone();
        let callbacks = std::mem::take(&mut state.callbacks);
        self.wake_all();
        Stopped { callbacks, durable: self.durable(), error }
    }

    /// Takes the callbacks whose positions are durable.
    pub fn take_served(&self, state: &mut State) -> Vec<Callback> {
        let later = state.callbacks.split_off(&(self.durable() + 1, 0));
        std::mem::replace(&mut state.callbacks, later).into_values().collect()
    }
}

/// A log that has stopped, and those who have not been called yet.
#[must_use = "whoever wants to be called must be"]
pub struct Stopped {
    callbacks: BTreeMap<(u64, u64), Callback>,
    durable: u64,
    error: DiskError,
}

impl Stopped {
    /// Calls them, without a latch.
    pub fn notify_all(self) {
        call_at_end(self.callbacks, self.durable, &LogError::Stopped(self.error));
    }
}

/// Calls the callbacks of a log that is over: what was durable before is so.
pub fn call_at_end(callbacks: BTreeMap<(u64, u64), Callback>, durable: u64, error: &LogError) {
    let fate = |position| if position <= durable { Ok(()) } else { Err(error.clone()) };
    call_all(callbacks.into_iter().map(|((position, _), callback)| (callback, fate(position))));
}

/// Calls every callback, without a latch. If some panic, the first panic goes on when all have been called.
pub fn call_all(callbacks: impl IntoIterator<Item = (Callback, Result<(), LogError>)>) {
    let call = |(callback, fate): (Callback, _)| catch_unwind(AssertUnwindSafe(|| callback(fate))).err();
    let panics: Vec<_> = callbacks.into_iter().filter_map(call).collect();
    if let Some(panic) = panics.into_iter().next() {
        resume_unwind(panic);
    }
}

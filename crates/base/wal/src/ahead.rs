//! Work ahead of need, on a thread of its own: preparing segments, raising the timestamp ceiling.

use crate::error::LogError;
use crate::group::StopOnPanic;
use crate::shared::{Shared, State};
use crate::sync::{MutexGuard, Ordering, lock};

/// Work to be done.
enum Task {
    /// This many segments are to be there, prepared.
    Segments(usize),
    /// The ceiling is to be raised so far.
    Ceiling(u64),
}

impl Shared {
    /// The thread that works ahead.
    pub fn work_ahead(&self) {
        let _guard = StopOnPanic(self);
        while let Some(task) = self.next_task() {
            // Whoever waits for a segment finds the error in the state; whoever needs the ceiling, a log that has stopped.
            let _ = match task {
                Task::Segments(wanted) => self.prepare_wanted(wanted),
                Task::Ceiling(wanted) => {
                    let raised = self.cover(wanted - 1, wanted);
                    self.recheck_waits();
                    raised
                }
            };
        }
    }

    /// Prepares segments, and removes those whose takers have left meanwhile.
    fn prepare_wanted(&self, count: usize) -> Result<(), LogError> {
        let prepared = self.prepare_segments_up_to(count);
        // Whoever gives a promise back while this thread has the right leaves the segments to it: it looks again afterwards.
        while self.has_surplus() {
            let _right = lock(&self.preparing);
            self.discard_surplus();
        }
        prepared
    }

    /// Waits for something to do; `None` when there will be nothing. The ceiling comes first: it takes two small syncs, and
    /// once in a long while.
    fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            state.check_open().ok()?;
            let ceiling = self.ceiling_wanted.load(Ordering::Relaxed);
            if ceiling > self.ceiling.load(Ordering::Relaxed) {
                return Some(Task::Ceiling(ceiling));
            }
            if state.next_wanted && state.next.len() <= state.promised {
                return Some(Task::Segments(state.promised + 1));
            }
            state = self.sleep_ahead(state);
        }
    }

    fn sleep_ahead<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.ahead.wait(state).expect("no holder of this latch panics")
    }

    /// Makes sure that the durable ceiling lies above `stamp`; where it does not, raises it to `ceiling`. Whoever comes while
    /// another one raises it waits for that, and finds it raised.
    pub fn cover(&self, stamp: u64, ceiling: u64) -> Result<(), LogError> {
        let mut control = lock(&self.control);
        self.lock().check_open()?;
        if self.options.read_only || stamp < control.ceiling() {
            return Ok(());
        }
        let raised = control.raise(ceiling);
        // Release: whoever loads it may use timestamps below.
        self.ceiling.store(control.ceiling(), Ordering::Release);
        drop(control);
        raised.map_err(|error| {
            self.stop(error.clone());
            LogError::Stopped(error)
        })
    }

    /// Requests that the ceiling be raised to `ceiling` unless it lies above `stamp`, and does not wait. With
    /// [`Driver::Caller`](crate::Driver::Caller) this call raises it, unless another call is doing so.
    pub fn raise_ahead(&self, stamp: u64, ceiling: u64) {
        if self.is_driven_by_callers() {
            if self.control.try_lock().is_ok() {
                // A failure stops the log, which everybody finds out.
                let _ = self.cover(stamp, ceiling);
            }
            return;
        }
        let (durable, wanted) = (self.ceiling.load(Ordering::Relaxed), self.ceiling_wanted.load(Ordering::Relaxed));
        let is_under_way = wanted > durable;
        // The stamp against the same load: a raise that has ended since the caller looked is not followed by another.
        if is_under_way || stamp < durable {
            return;
        }
        let ordering = Ordering::Relaxed; // The latch, taken next, carries it to the thread.
        if self.ceiling_wanted.compare_exchange(wanted, ceiling, ordering, ordering).is_ok() {
            let _state = self.lock();
            self.ahead.notify_one();
        }
    }
}

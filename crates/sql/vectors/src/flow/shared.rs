//! A flow driven to its end by threads that take rows from the source themselves.

use super::threads::{ALONE, Work};
use super::{Flow, Host, Ledger, Next, Stop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

impl Flow {
    /// Runs the flow over a source that threads may share, into a state for each; `None` if they may not share it.
    pub(super) fn drive_shared<H: Host, S: Send>(
        source: usize,
        host: &mut H,
        work: &Work<'_, S>,
    ) -> Option<Result<Vec<S>, Stop<H::Error>>> {
        let (ledger, enter, workers) = (host.ledger(), host.enter(), host.workers().max(1));
        let bytes: Vec<AtomicUsize> = (0..workers).map(|_| AtomicUsize::new(0)).collect();
        let has_failed = AtomicBool::new(false);
        let mut states = Vec::new();
        let read = host.share(source, &mut |next| {
            let crew = Crew { work, next, ledger: &*ledger, bytes: &bytes, has_failed: &has_failed };
            let mut state = (work.start)();
            let has_ended = crew.take(0, ALONE, &mut state)?;
            let crew = &crew;
            let others = thread::scope(|scope| {
                let spawn = |number: usize| {
                    let enter = enter.clone();
                    let body = move || {
                        enter();
                        let mut state = (crew.work.start)();
                        crew.take(number, usize::MAX, &mut state).map(|_| state)
                    };
                    // Where the system starts no thread, those there are do all.
                    thread::Builder::new().name(format!("vectors {number}")).spawn_scoped(scope, body).ok()
                };
                let last = if has_ended { 1 } else { workers };
                let others: Vec<ScopedJoinHandle<'_, _>> = (1..last).filter_map(spawn).collect();
                let own = crew.take(0, usize::MAX, &mut state);
                let join = |handle: ScopedJoinHandle<'_, Result<S, Stop<H::Error>>>| {
                    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                let others = others.into_iter().map(join).collect::<Vec<_>>();
                own.and_then(|_| others.into_iter().collect::<Result<Vec<S>, _>>())
            })?;
            states.push(state);
            states.extend(others);
            Ok(())
        })?;
        Some(read.map(|()| states))
    }
}

/// Threads that take rows from one source.
struct Crew<'a, S, E> {
    work: &'a Work<'a, S>,
    next: &'a Next<'a, E>,
    ledger: &'a dyn Ledger<E>,
    /// Bytes that the state of each holds. Relaxed: they order nothing.
    bytes: &'a [AtomicUsize],
    /// Whether one has failed. Relaxed: its result comes by its handle.
    has_failed: &'a AtomicBool,
}

impl<S, E> Crew<'_, S, E> {
    /// Works on so many pieces at most. Returns whether there are no more.
    fn take(&self, number: usize, most: usize, state: &mut S) -> Result<bool, Stop<E>> {
        let mut guard = Guard { has_failed: self.has_failed, is_done: false };
        let mut has_ended = false;
        for _ in 0..most {
            has_ended = self.has_failed.load(Ordering::Relaxed) || !self.take_one(number, state)?;
            if has_ended {
                break;
            }
        }
        guard.is_done = true;
        Ok(has_ended)
    }

    /// Works on the next piece; `false` if there is none.
    fn take_one(&self, number: usize, state: &mut S) -> Result<bool, Stop<E>> {
        self.ledger.check().map_err(Stop::Statement)?;
        let Some(piece) = (self.next)()? else { return Ok(false) };
        if let Some(bytes) = self.work.on(piece, state)? {
            self.bytes[number].store(bytes, Ordering::Relaxed);
        }
        let held: usize = self.bytes.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        self.ledger.hold(self.work.course.held + held).map_err(Stop::Memory)?;
        Ok(true)
    }
}

/// Ends the work of all when one fails, also by a panic.
struct Guard<'g> {
    has_failed: &'g AtomicBool,
    is_done: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }
}

//! A flow driven to its end by threads that take rows from the source themselves.

use super::threads::{ALONE, Work};
use super::{Flow, Host, Ledger, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

impl Flow {
    /// Runs the flow over a source that threads may share, into a state for each; `None` if they may not share it.
    pub(super) fn drive_shared<H: Host, S: Send>(
        source: usize,
        host: &mut H,
        work: &Work<'_, S>,
    ) -> Option<Result<Vec<S>, Stop<H::Error>>> {
        let crew = Crew::new(host, work.course.held, work.start);
        let mut states = Vec::new();
        let read = host.share(source, &mut |next| {
            states = crew.work(&|state| match next()? {
                Some(piece) => Ok(Step::Done(work.on(piece, state)?)),
                None => Ok(Step::Ended),
            })?;
            Ok(())
        })?;
        Some(read.map(|()| states))
    }
}

/// What a thread has done.
pub(super) enum Step {
    /// It took some rows. The bytes that its state holds afterwards, unless nothing was added.
    Done(Option<usize>),
    /// There are no more.
    Ended,
}

/// Takes some rows from a source that threads share, into a state.
pub(super) type Take<'a, S, E> = dyn Fn(&mut S) -> Result<Step, Stop<E>> + Sync + 'a;

/// Threads that take rows from one source.
pub(super) struct Crew<'a, S, E> {
    start: &'a (dyn Fn() -> S + Sync),
    ledger: Arc<dyn Ledger<E>>,
    enter: Arc<dyn Fn() + Send + Sync>,
    /// Bytes that are held besides the states.
    held: usize,
    /// Bytes that the state of each holds. Relaxed: they order nothing.
    bytes: Vec<AtomicUsize>,
    /// Whether one has failed. Relaxed: its result comes by its handle.
    has_failed: AtomicBool,
}

impl<'a, S: Send, E: Send + 'static> Crew<'a, S, E> {
    /// As many threads as may work for a host.
    pub fn new<H: Host<Error = E>>(host: &H, held: usize, start: &'a (dyn Fn() -> S + Sync)) -> Crew<'a, S, E> {
        let bytes = (0..host.workers().max(1)).map(|_| AtomicUsize::new(0)).collect();
        let (ledger, enter, has_failed) = (host.ledger(), host.enter(), AtomicBool::new(false));
        Crew { start, ledger, enter, held, bytes, has_failed }
    }

    /// Takes rows until there are no more, on several threads where there is enough to do. Returns the state of each.
    pub fn work(&self, take: &Take<'_, S, E>) -> Result<Vec<S>, Stop<E>> {
        let mut state = (self.start)();
        let has_ended = self.take(0, ALONE, &mut state, take)?;
        let others = thread::scope(|scope| {
            let spawn = |number: usize| {
                let body = move || {
                    (self.enter)();
                    let mut state = (self.start)();
                    self.take(number, usize::MAX, &mut state, take).map(|_| state)
                };
                // Where the system starts no thread, those there are do all.
                thread::Builder::new().name(format!("vectors {number}")).spawn_scoped(scope, body).ok()
            };
            let last = if has_ended { 1 } else { self.bytes.len() };
            let others: Vec<ScopedJoinHandle<'_, _>> = (1..last).filter_map(spawn).collect();
            let own = self.take(0, usize::MAX, &mut state, take);
            let join = |handle: ScopedJoinHandle<'_, Result<S, Stop<E>>>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            let others = others.into_iter().map(join).collect::<Vec<_>>();
            own.and_then(|_| others.into_iter().collect::<Result<Vec<S>, _>>())
        })?;
        Ok(std::iter::once(state).chain(others).collect())
    }

    /// Takes rows so many times at most. Returns whether there are no more.
    fn take(&self, number: usize, most: usize, state: &mut S, take: &Take<'_, S, E>) -> Result<bool, Stop<E>> {
        let mut guard = Guard { has_failed: &self.has_failed, is_done: false };
        let mut has_ended = false;
        for _ in 0..most {
            has_ended = self.has_failed.load(Ordering::Relaxed) || !self.take_once(number, state, take)?;
            if has_ended {
                break;
            }
        }
        guard.is_done = true;
        Ok(has_ended)
    }

    /// Takes the next rows; `false` if there are none.
    fn take_once(&self, number: usize, state: &mut S, take: &Take<'_, S, E>) -> Result<bool, Stop<E>> {
        self.ledger.check().map_err(Stop::Statement)?;
        let Step::Done(bytes) = take(state)? else { return Ok(false) };
        if let Some(bytes) = bytes {
            self.bytes[number].store(bytes, Ordering::Relaxed);
        }
        let held: usize = self.bytes.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        self.ledger.hold(self.held + held).map_err(Stop::Memory)?;
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

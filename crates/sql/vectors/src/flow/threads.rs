//! A flow driven to its end, on several threads where there is enough to do.

use super::{Course, Flow, Host, Ledger, Order, Origin, Piece, Stop, push};
use crate::batch::Batch;
use pgtypes::{Error, state};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

/// Pieces that the thread of the statement works on before it starts others: a thread costs as much as some of them.
pub(super) const ALONE: usize = 16;
/// Pieces that wait for a worker, for each of them.
const WAITING: usize = 4;

/// Adds a batch to a state, and returns the bytes that it holds then.
pub(super) type Add<'a, S> = &'a (dyn Fn(&mut S, &Batch) -> Result<usize, Error> + Sync);

impl Flow {
    /// Runs the flow to its end into states that `start` makes: one, or one for each worker where the order is free.
    pub(super) fn drive<H: Host, S: Send>(
        self,
        host: &mut H,
        order: Order,
        start: &(dyn Fn() -> S + Sync),
        add: Add<'_, S>,
    ) -> Result<Vec<S>, Stop<H::Error>> {
        if let (Order::Free | Order::OfSource, Origin::Source(source)) = (order, &self.origin)
            && let Some(states) = Flow::drive_shared(*source, host, &Work { course: &self.course, add, start })
        {
            return states;
        }
        self.drive_read(host, order, start, add)
    }

    /// The same, where the rows are read on this thread.
    fn drive_read<H: Host, S: Send>(
        self,
        host: &mut H,
        order: Order,
        start: &(dyn Fn() -> S + Sync),
        add: Add<'_, S>,
    ) -> Result<Vec<S>, Stop<H::Error>> {
        // The source stays on this thread; the stages are shared.
        let Flow { origin, course, .. } = self;
        let workers = if order == Order::Free { host.workers() } else { host.workers().min(1) };
        let (ledger, enter, shared) = (host.ledger(), host.enter(), Shared::new(workers));
        let work = Work { course: &course, add, start };
        thread::scope(|scope| {
            let mut team = Team {
                scope,
                work: &work,
                shared: &shared,
                ledger,
                enter,
                state: Some(start()),
                sent: None,
                running: Vec::new(),
                pieces: 0,
            };
            let read = Flow::read(origin, host, &mut |piece| team.take(piece));
            let states = team.finish();
            match (read, states) {
                // The reader has only seen that a worker failed.
                (Err(Stop::Row(_)), Err(error)) | (Err(error), _) => Err(error),
                (Ok(()), states) => states,
            }
        })
    }
}

/// What is done with each piece.
pub(super) struct Work<'a, S> {
    pub course: &'a Course,
    pub add: Add<'a, S>,
    pub start: &'a (dyn Fn() -> S + Sync),
}

impl<S> Work<'_, S> {
    /// Works on one piece. Returns the bytes that the state holds afterwards, unless nothing was added.
    pub fn on(&self, piece: Box<dyn Piece>, state: &mut S) -> Result<Option<usize>, Error> {
        let mut bytes = None;
        push(&self.course.stages, self.course.decoded(piece)?, &mut |batch| {
            bytes = Some((self.add)(state, &batch)?);
            Ok::<(), Error>(())
        })?;
        Ok(bytes)
    }
}

/// The thread that reads, and those that it has started.
struct Team<'scope, 'env, 'a, S, E> {
    scope: &'scope Scope<'scope, 'env>,
    work: &'scope Work<'a, S>,
    shared: &'scope Shared,
    ledger: Arc<dyn Ledger<E>>,
    enter: Arc<dyn Fn() + Send + Sync>,
    /// The state as long as this thread works alone.
    state: Option<S>,
    sent: Option<SyncSender<Box<dyn Piece>>>,
    running: Vec<ScopedJoinHandle<'scope, Result<S, Error>>>,
    pieces: usize,
}

impl<'scope, S: Send, E> Team<'scope, '_, '_, S, E> {
    /// Works on a piece, or sends it to a thread that does.
    fn take(&mut self, piece: Box<dyn Piece>) -> Result<(), Stop<E>> {
        self.ledger.check().map_err(Stop::Statement)?;
        self.pieces += 1;
        if self.pieces > ALONE && self.sent.is_none() && !self.shared.bytes.is_empty() {
            self.start_workers()?;
        }
        match (&self.sent, &mut self.state) {
            (Some(sender), _) => {
                // A worker that fails says so before it ends; who it was is found out at the end.
                if self.shared.has_failed.load(Ordering::Relaxed) || sender.send(piece).is_err() {
                    return Err(Stop::Row(Error::new(state::INTERNAL_ERROR, "a worker has failed")));
                }
            }
            (None, Some(state)) => {
                if let Some(bytes) = self.work.on(piece, state)? {
                    self.shared.alone.store(bytes, Ordering::Relaxed);
                }
            }
            (None, None) => return Err(Stop::Row(Error::new(state::INTERNAL_ERROR, "a flow has no state"))),
        }
        self.ledger.hold(self.work.course.held + self.shared.bytes()).map_err(Stop::Memory)
    }

    fn start_workers(&mut self) -> Result<(), Stop<E>> {
        let workers = self.shared.bytes.len();
        let (sender, receiver) = sync_channel(workers * WAITING);
        *self.shared.receiver.lock().unwrap_or_else(PoisonError::into_inner) = Some(receiver);
        self.sent = Some(sender);
        for number in 0..workers {
            let (work, shared, enter) = (self.work, self.shared, self.enter.clone());
            let mut state = self.state.take().unwrap_or_else(work.start);
            let body = move || {
                let mut guard = Guard { shared, is_done: false };
                enter();
                shared.work(work, number, &mut state)?;
                guard.is_done = true;
                Ok(state)
            };
            match thread::Builder::new().name(format!("vectors {number}")).spawn_scoped(self.scope, body) {
                Ok(handle) => self.running.push(handle),
                // The first has the rows so far.
                Err(_) if number > 0 => break,
                Err(error) => {
                    let message = format!("out of memory: the system starts no thread: {error}");
                    return Err(Stop::Row(Error::new(state::OUT_OF_MEMORY, message)));
                }
            }
        }
        Ok(())
    }

    /// The states, when all have ended.
    fn finish(mut self) -> Result<Vec<S>, Stop<E>> {
        drop(self.sent.take());
        let mut states: Vec<S> = self.state.take().into_iter().collect();
        let mut failed = None;
        for handle in self.running {
            match handle.join() {
                Ok(Ok(state)) => states.push(state),
                Ok(Err(error)) => failed = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        failed.map_or(Ok(states), |error| Err(Stop::Row(error)))
    }
}

/// What the threads of a flow share.
struct Shared {
    /// Pieces to work on.
    receiver: Mutex<Option<Receiver<Box<dyn Piece>>>>,
    /// Bytes that the state of each worker holds. Relaxed: they order nothing.
    bytes: Vec<AtomicUsize>,
    /// Bytes of the state as long as there were no workers. Relaxed: of one thread.
    alone: AtomicUsize,
    /// Whether a worker has failed. Relaxed: its result comes by its handle.
    has_failed: AtomicBool,
}

impl Shared {
    fn new(workers: usize) -> Shared {
        let bytes = (0..workers).map(|_| AtomicUsize::new(0)).collect();
        Shared { receiver: Mutex::default(), bytes, alone: AtomicUsize::new(0), has_failed: AtomicBool::new(false) }
    }

    /// Bytes that the states hold.
    fn bytes(&self) -> usize {
        let workers: usize = self.bytes.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        workers.max(self.alone.load(Ordering::Relaxed))
    }

    fn receive(&self) -> Option<Box<dyn Piece>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.recv().ok()
    }

    fn work<S>(&self, work: &Work<'_, S>, number: usize, state: &mut S) -> Result<(), Error> {
        while let Some(piece) = self.receive() {
            if let Some(bytes) = work.on(piece, state)? {
                self.bytes[number].store(bytes, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Ends the work of all when a worker fails, also by a panic: what is sent from then on is refused. The reader sees the mark at its next
/// piece and drops its end, which wakes whoever waits for a piece with the latch in hand.
struct Guard<'s> {
    shared: &'s Shared,
    is_done: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.has_failed.store(true, Ordering::Relaxed);
            *self.shared.receiver.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

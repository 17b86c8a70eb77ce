//! The order of a node whose replica somebody else drives, one step at a time and without threads: for simulations. What a
//! [`NodeOrder`](super::NodeOrder) does between its waits is done here by the same parts.

use super::application::{Deliveries, OrderApplication, Own};
use super::kept::Keeping;
use super::outgoing::Outgoing;
use super::proposer::{Proposer, Waiting};
use super::taken::Taken;
use crate::application::{Application, BadSnapshot};
use crate::config::Options;
use crate::core::{Image, Instance, Value};
use crate::image::ImageWriter;
use crate::request::Chunk;
use bytes::Bytes;
use env::Moment;
use env::time::Instant;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use total::{Event, OrderError, OrderLimits, Origin, Position, Room};

/// One node's end of an order, between its replica and its consumer.
pub struct SteppedOrder {
    origin: Origin,
    outgoing: Outgoing,
    application: OrderApplication,
    deliveries: Arc<Deliveries>,
    keeping: Arc<Keeping>,
    heard: Arc<Mutex<Vec<Own>>>,
    /// What the replica is to be told of the consumer's disk.
    report: Arc<Mutex<Option<Instance>>>,
    taken: Taken,
    /// Weight of deliveries from which on the consumer has to take some.
    limit: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SteppedOrder {
    /// The order of the replica with these options, in a life that no other of its node has.
    #[must_use]
    pub fn new(options: &Options, life: u64, limits: &OrderLimits, resume_after: Option<Position>) -> Self {
        let origin = Origin { node: options.id, life };
        let waiting = Waiting { proposals: limits.proposals, bytes: limits.proposed_bytes };
        let report: Arc<Mutex<Option<Instance>>> = Arc::default();
        let told = Arc::clone(&report);
        let tell = Box::new(move |below| *lock(&told) = Some(below));
        let keeping = Arc::new(Keeping::new(super::kept_by(options, limits, resume_after), false, tell));
        let deliveries = Arc::new(Deliveries::without_waits(limits.deliveries, limits.delivered_bytes));
        let heard: Arc<Mutex<Vec<Own>>> = Arc::default();
        let hearing = Arc::clone(&heard);
        let on_own = Box::new(move |own| lock(&hearing).push(own));
        let holders = (0..options.replicas).filter(|voter| *voter != origin.node).collect();
        let own = (origin.node, origin.life);
        let application =
            OrderApplication::new(Arc::clone(&deliveries), own, resume_after, on_own, holders, Arc::clone(&keeping));
        let outgoing = Outgoing::new(Proposer::new(origin.node, origin.life, waiting, limits.retry));
        Self {
            origin,
            outgoing,
            application,
            deliveries,
            keeping,
            heard,
            report,
            taken: Taken::default(),
            limit: limits.delivered_bytes.max(1),
        }
    }

    /// The node and its life.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Takes a payload, and returns its number. [`SteppedOrder::poll`] submits it.
    ///
    /// # Errors
    /// Same as [`total::TotalOrder::propose`].
    pub fn propose(&mut self, payload: Bytes) -> Result<u64, OrderError> {
        self.outgoing.propose(payload)
    }

    /// Takes a barrier, and returns its number. [`SteppedOrder::poll`] submits it.
    ///
    /// # Errors
    /// Same as [`total::TotalOrder::propose`].
    pub fn begin_barrier(&mut self) -> Result<u64, OrderError> {
        self.outgoing.begin_barrier()
    }

    /// The place of a barrier, if it has one; it is told once.
    pub fn take_barrier(&mut self, submission: u64) -> Option<Position> {
        self.outgoing.barriers.take(submission)
    }

    /// Nobody waits for a barrier any more.
    pub fn forget_barrier(&mut self, submission: u64) {
        self.outgoing.barriers.forget(submission);
    }

    /// Returns how much is taken.
    #[must_use]
    pub fn room(&self) -> Room {
        self.outgoing.proposer.room()
    }

    /// Same as [`total::TotalOrder::keep_from`].
    pub fn keep_from(&mut self, at: Position) {
        self.keeping.keep_from(at);
    }

    /// What the replica is to be told of the consumer's disk ([`Input::ConsumerHas`](crate::replica::Input::ConsumerHas)), once.
    pub fn take_report(&mut self) -> Option<Instance> {
        lock(&self.report).take()
    }

    /// The replica says that a majority has everything below this instance.
    pub fn may_forget(&mut self, below: Instance) {
        self.keeping.may_forget(below);
    }

    /// Same as [`total::TotalOrder::resume`].
    ///
    /// # Errors
    /// Same as there.
    pub fn resume(&mut self, after: Position) -> Result<(), OrderError> {
        self.taken.resume(after)?;
        self.keeping.resume(after);
        Ok(())
    }

    /// Same as [`total::TotalOrder::follow`].
    ///
    /// # Errors
    /// Same as there.
    pub fn follow(&mut self, after: Position) -> Result<(), OrderError> {
        self.taken.resume(after)?;
        self.keeping.follow(after);
        Ok(())
    }

    /// Adds at most so many events to be delivered, none if there are none.
    ///
    /// # Errors
    /// [`OrderError::Missed`].
    pub fn hand_over(&mut self, into: &mut Vec<Event>, most: usize) -> Result<(), OrderError> {
        self.taken.check()?;
        if self.taken.events.is_empty() {
            let mut together = Vec::new();
            // Nothing closes the queue, and a deadline that is over does not wait.
            let _ = self.deliveries.mailbox.take(&mut together, Some(Instant::now()));
            self.taken.events.extend(together);
        }
        self.taken.hand_over(into, most);
        Ok(())
    }

    /// Returns the requests that the replica is to be given now, by its room.
    pub fn poll(&mut self, now: Moment, has_room: bool) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        self.outgoing.proposer.poll(now, || has_room, |chunk| chunks.push(chunk));
        chunks
    }

    /// When to [`SteppedOrder::poll`] if nothing happens until then.
    #[must_use]
    pub fn deadline(&self) -> Moment {
        self.outgoing.proposer.deadline()
    }

    /// Who leads has changed: what was submitted may be lost.
    pub fn lost(&mut self, now: Moment) {
        self.outgoing.proposer.lost(now);
    }

    /// Returns whether the consumer has to take deliveries, or to make some durable, before the replica delivers more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting() >= self.limit || !self.application.has_room()
    }

    /// Bytes, and shares, that wait to be taken.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.deliveries.mailbox.weight()
    }

    /// The replica delivers.
    pub fn deliver(&mut self, now: Moment, at: Instance, batch: &Value) {
        self.application.deliver(at, batch);
        self.hear(now);
    }

    /// The replica begins with the state of the order that its journal has.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn recover(&mut self, now: Moment, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        let recovered = self.application.recover(at, image);
        self.hear(now);
        recovered
    }

    /// The replica installs a state of the order.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn install(&mut self, now: Moment, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        let installed = self.application.install(at, image);
        self.hear(now);
        installed
    }

    /// The replica asks for a state of the order.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn snapshot(&mut self, out: ImageWriter) -> io::Result<(Instance, Image)> {
        self.application.snapshot(out)
    }

    /// The first instance that was not delivered.
    #[must_use]
    pub fn next(&self) -> Instance {
        self.application.next()
    }

    fn hear(&mut self, now: Moment) {
        let heard = std::mem::take(&mut *lock(&self.heard));
        heard.into_iter().for_each(|own| self.outgoing.on_own(now, own));
    }
}

impl fmt::Debug for SteppedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SteppedOrder({:?}, next {})", self.origin, self.next())
    }
}

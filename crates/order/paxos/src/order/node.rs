//! The total order of a cluster whose replica runs in this process.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use bytes::Bytes;
use env::time::{Duration, Instant};
use env::{Moment, Randomness};
use net::mailbox::Closed;

use total::{Capabilities, Event, OrderError, OrderLimits, Origin, Position, Room, TotalOrder};

use super::MAX_PAYLOAD_BYTES;
use super::application::{Deliveries, OrderApplication, Own};
use super::kept::{Keeping, WaitsFor};
use super::outgoing::Outgoing;
use super::proposer::{Proposer, Waiting};
use super::taken::Taken;
use crate::application::{NodeHandle, NodeParts, Submitter};
use crate::node::{Node, NodeError, NodeOptions};

/// One replica of a cluster, as a total order: [`TotalOrder`]. Dropped, it stops.
///
/// All replicas of the cluster must be started so: they have no sessions, and refuse replicas (and directories) of
/// those that have. A proposal goes straight to the replica, and a delivery straight to its consumer. A replica whose
/// consumer is slow delivers no more than it takes, and falls behind; if it is so far behind that the others have
/// forgotten what it lacks, it is told so ([`Event::Behind`]).
pub struct NodeOrder {
    shared: Arc<Shared>,
    node: Node,
    taken: Mutex<Taken>,
}

impl fmt::Debug for NodeOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeOrder({:?})", self.node)
    }
}

/// State shared by the callers, the core's thread and the application's thread.
struct Shared {
    start: Instant,
    origin: Origin,
    proposer: Mutex<Outgoing>,
    /// A proposal was delivered, or all has ended.
    changed: Condvar,
    keeping: Arc<Keeping>,
    deliveries: Arc<Deliveries>,
    submitter: Submitter,
}

impl NodeOrder {
    /// Starts a replica. A caller that kept the effects of payloads delivered in an earlier life passes the position up to
    /// which it has them; the next delivery is the one after that.
    ///
    /// # Errors
    /// See [`Node::start`].
    pub fn start(
        mut options: NodeOptions,
        limits: OrderLimits,
        resume_after: Option<Position>,
    ) -> Result<Self, NodeError> {
        // What tells this cluster from one with sessions.
        options.replica.sessions = 0;
        let mut shared = None;
        let node = Node::start(options, |handle| {
            let voters = handle.options.replicas;
            let own = Arc::new(Shared::new(handle, &limits, resume_after));
            shared = Some(Arc::clone(&own));
            own.parts(resume_after, voters)
        })?;
        let shared = shared.expect("a node that has started was built");
        Ok(Self { shared, node, taken: Mutex::default() })
    }

    /// The replica.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// What has to be on a disk before the replica delivers another instance, if something has.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        self.shared.keeping.lock().waits_for()
    }

    /// The error, with the reason why the replica has stopped by itself, if it has.
    fn named(&self, error: OrderError) -> OrderError {
        match (error, self.node.failure()) {
            (OrderError::Stopped(_), Some(failure)) => OrderError::Stopped(failure.to_string()),
            (error, _) => error,
        }
    }

    /// Stops the replica. Deliveries that were not taken are taken still; proposals that were not delivered may be so elsewhere.
    ///
    /// # Errors
    /// Why it had stopped by itself before.
    pub fn stop(&self) -> Result<(), NodeError> {
        // First, so that the application's thread does not wait for room.
        self.shared.end("it was stopped");
        self.node.stop()
    }

    /// Takes the waiting deliveries. Proposals that are due are submitted again meanwhile.
    fn refill(&self, taken: &mut Taken, give_up: Option<Instant>) -> Result<(), OrderError> {
        let mut together = Vec::new();
        loop {
            let due = self.shared.resend();
            let deadline = give_up.into_iter().chain(due).min();
            if let Err(Closed) = self.shared.deliveries.mailbox.take(&mut together, deadline) {
                let stopped = || OrderError::Stopped("its replica has stopped".into());
                return Err(self.named(self.shared.deliveries.ended().unwrap_or_else(stopped)));
            }
            if !together.is_empty() {
                taken.events.extend(together);
                return Ok(());
            }
            if give_up.is_some_and(|give_up| give_up <= Instant::now()) {
                return Err(OrderError::TimedOut);
            }
        }
    }

    /// Waits until `ready` returns something. Proposals that are due are submitted again meanwhile.
    fn wait<T>(&self, patience: Duration, mut ready: impl FnMut(&mut Outgoing) -> Option<T>) -> Result<T, OrderError> {
        let give_up = Instant::now().checked_add(patience);
        loop {
            let due = self.shared.resend();
            let mut outgoing = self.shared.lock();
            if let Some(value) = ready(&mut outgoing) {
                return Ok(value);
            }
            if let Some(end) = self.shared.deliveries.ended() {
                return Err(self.named(end));
            }
            let now = Instant::now();
            if give_up.is_some_and(|give_up| give_up <= now) {
                return Err(OrderError::TimedOut);
            }
            match give_up.into_iter().chain(due).min() {
                Some(until) => drop(self.shared.changed.wait_timeout(outgoing, until.saturating_duration_since(now))),
                None => drop(self.shared.changed.wait(outgoing)),
            }
        }
    }

    fn lock_taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("no holder of this latch panics")
    }

    fn submit(&self, propose: impl FnOnce(&mut Outgoing) -> Result<u64, OrderError>) -> Result<u64, OrderError> {
        if let Some(end) = self.shared.deliveries.ended() {
            return Err(self.named(end));
        }
        let mut outgoing = self.shared.lock();
        let submission = propose(&mut outgoing)?;
        self.shared.poll(&mut outgoing.proposer);
        Ok(submission)
    }
}

impl Drop for NodeOrder {
    fn drop(&mut self) {
        // Whoever wants to know asks before.
        let _ = self.stop();
    }
}

impl TotalOrder for NodeOrder {
    fn origin(&self) -> Origin {
        self.shared.origin
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: MAX_PAYLOAD_BYTES, has_cheap_barrier: false }
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        self.submit(|outgoing| outgoing.propose(payload))
    }

    fn room(&self, patience: Duration) -> Result<Room, OrderError> {
        self.wait(patience, |outgoing| Some(outgoing.proposer.room()).filter(|room| room.is_left()))
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError> {
        assert!(most > 0, "no event is asked for");
        let give_up = Instant::now().checked_add(patience);
        let mut taken = self.lock_taken();
        let before = into.len();
        while into.len() == before {
            taken.check()?;
            if taken.events.is_empty() {
                self.refill(&mut taken, give_up)?;
            }
            taken.hand_over(into, most);
        }
        Ok(())
    }

    fn keep_from(&self, at: Position) {
        self.shared.keeping.keep_from(at);
    }

    fn resume(&self, after: Position) -> Result<(), OrderError> {
        self.lock_taken().resume(after)?;
        self.shared.keeping.resume(after);
        Ok(())
    }

    /// For the replica the consumer is behind until it resumes: else it would deliver no more than half of its span of what the consumer
    /// has on no disk yet, and fall behind again.
    fn follow(&self, after: Position) -> Result<(), OrderError> {
        self.lock_taken().resume(after)?;
        self.shared.keeping.follow(after);
        Ok(())
    }

    /// It waits until an own payload is ordered: `patience` should be some round trips.
    fn barrier(&self, patience: Duration) -> Result<Position, OrderError> {
        let submission = self.submit(Outgoing::begin_barrier)?;
        let placed = self.wait(patience, |outgoing| outgoing.barriers.take(submission));
        if placed.is_err() {
            self.shared.lock().barriers.forget(submission);
        }
        placed
    }
}

impl Shared {
    fn new(handle: NodeHandle, limits: &OrderLimits, resume_after: Option<Position>) -> Self {
        let waiting = Waiting { proposals: limits.proposals, bytes: limits.proposed_bytes };
        let origin = Origin { node: handle.submitter.id(), life: Randomness::from_entropy().next_u64() };
        let retry = limits.retry.max(Duration::from_millis(1));
        let (kept, replica) = (super::kept_by(&handle.options, limits, resume_after), handle.submitter.clone());
        let keeping = Keeping::new(kept, true, Box::new(move |below| replica.consumer_has(below)));
        Self {
            start: Instant::now(),
            origin,
            proposer: Mutex::new(Outgoing::new(Proposer::new(origin.node, origin.life, waiting, retry))),
            changed: Condvar::new(),
            keeping: Arc::new(keeping),
            deliveries: Arc::new(Deliveries::new(limits.deliveries, limits.delivered_bytes)),
            submitter: handle.submitter,
        }
    }

    fn parts(self: Arc<Self>, resume_after: Option<Position>, voters: u64) -> NodeParts<OrderApplication> {
        let own = (self.origin.node, self.origin.life);
        let (leads, closes) = (Arc::clone(&self), Arc::clone(&self));
        let (deliveries, keeping) = (Arc::clone(&self.deliveries), Arc::clone(&self.keeping));
        let forgets = Arc::clone(&self.keeping);
        let holders = (0..voters).filter(|voter| *voter != own.0).collect();
        let on_own = Box::new(move |own| self.on_own_proposal(own));
        NodeParts {
            application: OrderApplication::new(deliveries, own, resume_after, on_own, holders, keeping),
            on_leader: Box::new(move |leader| {
                if leader.is_some() {
                    leads.change(|outgoing, now| outgoing.proposer.lost(now));
                }
            }),
            on_may_forget: Box::new(move |below| forgets.may_forget(below)),
            client_side: None,
            close: Box::new(move || closes.end("its replica has stopped")),
        }
    }

    /// Nothing more is taken or delivered.
    fn end(&self, why: &str) {
        self.deliveries.end(OrderError::Stopped(why.into()));
        self.keeping.end();
        // Under the latch, so that nobody looks before the end and sleeps behind it.
        let _outgoing = self.lock();
        self.changed.notify_all();
    }

    /// Handles the delivery or loss of an own proposal, which may make room for others.
    fn on_own_proposal(&self, own: Own) {
        self.change(|outgoing, now| outgoing.on_own(now, own));
        self.changed.notify_all();
    }

    fn change(&self, change: impl FnOnce(&mut Outgoing, Moment)) {
        let mut outgoing = self.lock();
        change(&mut outgoing, self.now());
        self.poll(&mut outgoing.proposer);
    }

    /// Submits the proposals that are due, and returns the time of the next step.
    fn resend(&self) -> Option<Instant> {
        let mut outgoing = self.lock();
        self.poll(&mut outgoing.proposer);
        let deadline = outgoing.proposer.deadline();
        (deadline != Moment::NEVER).then(|| self.start.checked_add(Duration::from_nanos(deadline.0))).flatten()
    }

    fn poll(&self, proposer: &mut Proposer) {
        let has_room = || self.submitter.has_room();
        proposer.poll(self.now(), has_room, |chunk| {
            // Closed: the node stops, and says so to whoever takes deliveries.
            let _ = self.submitter.submit(chunk);
        });
    }

    fn now(&self) -> Moment {
        Moment::default() + self.start.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Outgoing> {
        self.proposer.lock().expect("a proposer panicked: its proposals are not in order any more")
    }
}

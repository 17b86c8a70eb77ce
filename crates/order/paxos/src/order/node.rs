//! The total order of a cluster whose replica runs in this process.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use env::time::{Duration, Instant};
use env::{Moment, Randomness};
use net::mailbox::Closed;

use super::application::{Deliveries, OrderApplication, Own};
use super::proposer::{Proposer, Waiting};
use super::{Delivered, OrderError, OrderPosition, TotalOrder};
use crate::application::{NodeHandle, NodeParts, Submitter};
use crate::node::{Node, NodeError, NodeOptions};

/// Limits of a node of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLimits {
    /// Own proposals that were not delivered yet; one more is [`OrderError::Busy`]. Default 65,536.
    pub proposals: usize,
    /// Bytes of them after which no more are taken. Default 8 MiB.
    pub proposed_bytes: usize,
    /// Payloads that were ordered and wait to be taken; while there are so many, the replica delivers no more, and falls behind. Default
    /// 65,536.
    pub deliveries: usize,
    /// Bytes of them after which it delivers no more. Default 64 MiB. A payload counts its bytes and its share of this, so that both limits
    /// are kept.
    pub delivered_bytes: usize,
    /// Time after which an undelivered payload is submitted again. Default 1 s; at least 1 ms.
    pub retry: Duration,
}

impl Default for OrderLimits {
    fn default() -> Self {
        Self {
            proposals: 1 << 16,
            proposed_bytes: 8 << 20,
            deliveries: 1 << 16,
            delivered_bytes: 64 << 20,
            retry: Duration::from_secs(1),
        }
    }
}

/// One replica of a cluster, as a total order: [`TotalOrder`]. Dropped, it stops.
///
/// All replicas of the cluster must be started so: they have no sessions, and refuse replicas (and directories) of
/// those that have. A proposal goes straight to the replica, and a delivery straight to its consumer. A replica whose
/// consumer is slow delivers no more than it takes, and falls behind; if it is so far behind that the others have
/// forgotten what it lacks, its order ends with [`OrderError::Missed`]. The same happens to a new life that wants to
/// go on from before the replica's own snapshot: snapshots say where the order stands, not what its consumers made of
/// it.
pub struct NodeOrder {
    shared: Arc<Shared>,
    node: Node,
    /// Deliveries that were taken from the queue together.
    taken: Mutex<VecDeque<Delivered>>,
}

impl fmt::Debug for NodeOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeOrder({:?})", self.node)
    }
}

/// State shared by the callers, the core's thread and the application's thread.
struct Shared {
    start: Instant,
    proposer: Mutex<Proposer>,
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
        resume_after: Option<OrderPosition>,
    ) -> Result<Self, NodeError> {
        // What tells this cluster from one with sessions.
        options.replica.sessions = 0;
        let mut shared = None;
        let node = Node::start(options, |handle| {
            let own = Arc::new(Shared::new(handle, &limits));
            shared = Some(Arc::clone(&own));
            own.parts(resume_after)
        })?;
        let shared = shared.expect("a node that has started was built");
        Ok(Self { shared, node, taken: Mutex::default() })
    }

    /// The replica.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
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
    pub fn stop(&mut self) -> Result<(), NodeError> {
        // First, so that the application's thread does not wait for room.
        self.shared.deliveries.end(OrderError::Stopped("it was stopped".into()));
        self.node.stop()
    }

    /// Takes the waiting deliveries. Proposals that are due are submitted again meanwhile.
    fn refill(&self, taken: &mut VecDeque<Delivered>, give_up: Option<Instant>) -> Result<(), OrderError> {
        let mut together = Vec::new();
        loop {
            let due = self.shared.resend();
            let deadline = give_up.into_iter().chain(due).min();
            if let Err(Closed) = self.shared.deliveries.mailbox.take(&mut together, deadline) {
                let stopped = || OrderError::Stopped("its replica has stopped".into());
                return Err(self.named(self.shared.deliveries.ended().unwrap_or_else(stopped)));
            }
            if !together.is_empty() {
                taken.extend(together);
                return Ok(());
            }
            if give_up.is_some_and(|give_up| give_up <= Instant::now()) {
                return Err(OrderError::TimedOut);
            }
        }
    }
}

impl Drop for NodeOrder {
    fn drop(&mut self) {
        // Whoever wants to know asks before.
        let _ = self.stop();
    }
}

impl TotalOrder for NodeOrder {
    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        if let Some(end) = self.shared.deliveries.ended() {
            return Err(self.named(end));
        }
        let mut proposer = self.shared.lock();
        let submission = proposer.propose(payload)?;
        self.shared.poll(&mut proposer);
        Ok(submission)
    }

    /// One thread at a time takes; others wait for it.
    fn deliver(&self, time_limit: Duration) -> Result<Delivered, OrderError> {
        let give_up = Instant::now().checked_add(time_limit);
        let mut taken = self.taken.lock().expect("no holder of this latch panics");
        if taken.is_empty() {
            self.refill(&mut taken, give_up)?;
        }
        Ok(taken.pop_front().expect("it was refilled"))
    }
}

impl Shared {
    fn new(handle: NodeHandle, limits: &OrderLimits) -> Self {
        let waiting = Waiting { proposals: limits.proposals, bytes: limits.proposed_bytes };
        let life = Randomness::from_entropy().next_u64();
        let retry = limits.retry.max(Duration::from_millis(1));
        Self {
            start: Instant::now(),
            proposer: Mutex::new(Proposer::new(handle.submitter.id(), life, waiting, retry)),
            deliveries: Arc::new(Deliveries::new(limits.deliveries, limits.delivered_bytes)),
            submitter: handle.submitter,
        }
    }

    fn parts(self: Arc<Self>, resume_after: Option<OrderPosition>) -> NodeParts<OrderApplication> {
        let own = (self.submitter.id(), self.lock().life());
        let (leads, closes) = (Arc::clone(&self), Arc::clone(&self.deliveries));
        let deliveries = Arc::clone(&self.deliveries);
        let on_own = Box::new(move |own| self.on_own_proposal(own));
        NodeParts {
            application: OrderApplication::new(deliveries, own, resume_after, on_own),
            on_leader: Box::new(move |leader| {
                if leader.is_some() {
                    leads.change(|proposer, now| proposer.lost(now));
                }
            }),
            client_side: None,
            close: Box::new(move || closes.end(OrderError::Stopped("its replica has stopped".into()))),
        }
    }

    /// Handles the delivery or loss of an own proposal, which may make room for others.
    fn on_own_proposal(&self, own: Own) {
        self.change(|proposer, now| match own {
            Own::Delivered(submission) => proposer.delivered(now, submission),
            Own::Early => proposer.early(now),
        });
    }

    fn change(&self, change: impl FnOnce(&mut Proposer, Moment)) {
        let mut proposer = self.lock();
        change(&mut proposer, self.now());
        self.poll(&mut proposer);
    }

    /// Submits the proposals that are due, and returns the time of the next step.
    fn resend(&self) -> Option<Instant> {
        let mut proposer = self.lock();
        self.poll(&mut proposer);
        let deadline = proposer.deadline();
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

    fn lock(&self) -> MutexGuard<'_, Proposer> {
        self.proposer.lock().expect("a proposer panicked: its proposals are not in order any more")
    }
}

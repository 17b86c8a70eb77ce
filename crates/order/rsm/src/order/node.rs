//! The total order of a cluster whose replica runs in this process.

use super::deliveries::{Deliveries, DeliveryService};
use super::proposer::{Proposer, Waiting};
use super::{Delivered, OrderError, OrderPosition, TotalOrder};
use crate::message::ReplicaMessage;
use crate::node::{LocalClient, LocalError, Node, NodeError, NodeOptions};
use bytes::Bytes;
use env::Moment;
use env::Randomness;
use env::thread::{JoinHandle, spawn_named};
use env::time::{Duration, Instant};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a node of the order bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLimits {
    /// Own proposals that were not delivered yet; one more is [`OrderError::Busy`]. Default 65,536.
    pub proposals: usize,
    /// Bytes of them after which no more are taken. Default 8 MiB.
    pub proposed_bytes: usize,
    /// Payloads that were ordered and wait to be taken; while there are so many, the replica delivers no more, and falls behind. Default
    /// 65,536.
    pub deliveries: usize,
    /// Bytes of them after which it delivers no more. Default 64 MiB.
    pub delivered_bytes: usize,
    /// What was not delivered for so long is sent again. Default 1 s; at least 1 ms.
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
/// All replicas of the cluster must be started so. A replica whose consumer is slow delivers no more than it takes, and falls behind; if it
/// is so far behind that the others have forgotten what it lacks, its order ends with [`OrderError::Missed`]. The same
/// happens to a new life that wants to go on from before the replica's own snapshot: snapshots say where the order
/// stands, not what its consumers made of it.
#[derive(Debug)]
pub struct NodeOrder {
    shared: Arc<Shared>,
    node: Node,
    thread: Option<JoinHandle<()>>,
}

/// What the callers of the order, its thread and the service's thread share.
#[derive(Debug)]
struct Shared {
    start: Instant,
    proposer: Arc<Mutex<Proposer>>,
    deliveries: Arc<Deliveries>,
    client: LocalClient,
    retry: Duration,
}

impl NodeOrder {
    /// Starts a replica. Whoever was delivered payloads in an earlier life of it, and remembers what came of them, says up to where; the
    /// next delivery is the one after that.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start(
        options: NodeOptions,
        limits: OrderLimits,
        resume_after: Option<OrderPosition>,
    ) -> Result<Self, NodeError> {
        let start = Instant::now();
        let retry = limits.retry.max(Duration::from_millis(1));
        let waiting = Waiting { proposals: limits.proposals, bytes: limits.proposed_bytes };
        let life = Randomness::from_entropy().next_u64();
        let deliveries = Arc::new(Deliveries::new(limits.deliveries, limits.delivered_bytes));
        let proposer = Arc::new(Mutex::new(Proposer::new(life, waiting, retry)));
        let own = Arc::clone(&proposer);
        let on_own = Box::new(move |submission| lock(&own).delivered(moment(start), submission));
        let service = DeliveryService::new(Arc::clone(&deliveries), life, resume_after, on_own);
        let node = Node::start(options, service)?;
        lock(&proposer).begin(node.id());
        let shared = Arc::new(Shared { start, proposer, deliveries, client: node.client(), retry });
        let mut order = Self { shared: Arc::clone(&shared), node, thread: None };
        order.thread = Some(spawn_named("paxos-order", move || shared.run())?);
        Ok(order)
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
        // First, so that the service's thread does not wait for room.
        self.shared.deliveries.end(OrderError::Stopped("it was stopped".into()));
        let stopped = self.node.stop();
        if let Some(thread) = self.thread.take() {
            // Its panic was reported where it happened.
            let _ = thread.join();
        }
        stopped
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
        let mut proposer = lock(&self.shared.proposer);
        let submission = proposer.propose(&payload)?;
        self.shared.poll(&mut proposer);
        Ok(submission)
    }

    fn deliver(&self, patience: Duration) -> Result<Delivered, OrderError> {
        self.shared.deliveries.take(patience).map_err(|error| self.named(error))
    }
}

impl Shared {
    /// The order's thread: hears what the node says, and sends again what is due.
    fn run(&self) {
        let mut messages = Vec::new();
        loop {
            // A proposal may set an earlier deadline meanwhile, but none earlier than that.
            let wait = lock(&self.proposer).deadline().since(moment(self.start)).min(self.retry);
            match self.client.receive(&mut messages, Some(Instant::now() + wait)) {
                Ok(()) => self.hear(&mut messages),
                Err(LocalError::Stopped | LocalError::Busy) => break,
            }
        }
        self.deliveries.end(OrderError::Stopped("its replica does not run any more".into()));
    }

    fn hear(&self, messages: &mut Vec<ReplicaMessage>) {
        let mut proposer = lock(&self.proposer);
        let now = moment(self.start);
        messages.drain(..).for_each(|message| proposer.hear(now, &message));
        self.poll(&mut proposer);
    }

    /// Says what is to be said. What the node does not take now is said again when the deadline comes.
    fn poll(&self, proposer: &mut Proposer) {
        proposer.poll(moment(self.start), |messages| self.client.send(messages).is_ok());
    }
}

fn moment(start: Instant) -> Moment {
    Moment::default() + start.elapsed()
}

fn lock(proposer: &Mutex<Proposer>) -> MutexGuard<'_, Proposer> {
    proposer.lock().expect("a proposer panicked: its proposals are not in order any more")
}

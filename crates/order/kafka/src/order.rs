//! A node of an order on Kafka, as its owner has it.

use crate::client::begin::{Begun, Clients};
use crate::client::{Reports, reading, sending};
use crate::error::KafkaError;
use crate::options::KafkaOptions;
use crate::outgoing::MAX_PAYLOAD_BYTES;
use crate::shared::Shared;
use bytes::Bytes;
use env::thread::{JoinHandle, spawn_named};
use env::time::Duration;
use std::sync::Arc;
use total::{Capabilities, Event, OrderError, OrderLimits, Origin, Position, Room, TotalOrder};

/// A node of an order on Kafka: [`TotalOrder`]. Dropped, it stops; what it has handed in and was not delivered may be ordered still.
#[derive(Debug)]
pub struct KafkaOrder {
    shared: Arc<Shared>,
    reports: Reports,
    threads: Vec<JoinHandle<()>>,
}

/// Ends the order with a thread, whatever ends that: nobody waits for it in vain.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end("its thread has ended".into());
    }
}

impl KafkaOrder {
    /// Begins a life of a node. What follows `resume_after` is delivered to it, from the order's first payload where there is none. An
    /// earlier life of the node that still runs is stopped.
    ///
    /// [`OrderLimits::retry`] is the time after which a broker that does not answer is given up.
    /// [`OrderLimits::kept_bytes`] should be the same on all nodes: the smallest counts. A node that starts reads all that is kept.
    ///
    /// # Errors
    /// [`KafkaError`].
    pub fn start(
        options: KafkaOptions,
        limits: OrderLimits,
        resume_after: Option<Position>,
    ) -> Result<Self, KafkaError> {
        let mut clients = Clients::new(&options, limits.retry)?;
        let Begun { order, life } = clients.begin(&options, resume_after)?;
        let origin = Origin { node: options.node, life };
        let shared = Arc::new(Shared::new(origin, order, options.batch_bytes, &limits, resume_after));
        let Clients { topic, mut producer, mut reader, reports } = clients;
        let mut node = Self { shared: Arc::clone(&shared), reports, threads: Vec::new() };
        node.spawn("kafka-reader", move |shared| reading::read(shared, &mut reader))?;
        node.spawn("kafka-sender", move |shared| sending::send(shared, &mut producer, &topic))?;
        Ok(node)
    }

    fn spawn(&mut self, name: &str, body: impl FnOnce(&Shared) + Send + 'static) -> Result<(), KafkaError> {
        let shared = Arc::clone(&self.shared);
        let thread = spawn_named(name, move || {
            let end = End(shared);
            body(&end.0);
        });
        self.threads.push(thread.map_err(|error| KafkaError::System(error.to_string()))?);
        Ok(())
    }

    /// Returns the last problem with Kafka, if this node is not without one at the moment.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let problem = self.shared.lock().problem.clone()?;
        Some(self.reports.last().map_or_else(|| problem.clone(), |report| format!("{problem}: {report}")))
    }

    /// Stops the node, as its drop does.
    pub fn stop(&mut self) {
        self.shared.end("it was stopped".into());
        for thread in self.threads.drain(..) {
            // A panic there has been printed; the order has ended either way.
            let _ = thread.join();
        }
    }
}

impl Drop for KafkaOrder {
    fn drop(&mut self) {
        self.stop();
    }
}

impl TotalOrder for KafkaOrder {
    fn origin(&self) -> Origin {
        self.shared.origin
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: MAX_PAYLOAD_BYTES, has_cheap_barrier: false }
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        let submission = {
            let mut state = self.shared.lock();
            state.running()?;
            state.outgoing.propose(payload)?
        };
        self.shared.wake();
        Ok(submission)
    }

    fn room(&self, patience: Duration) -> Result<Room, OrderError> {
        self.shared.wait(patience, |state| {
            state.running()?;
            Ok(Some(state.outgoing.room()).filter(|room| room.is_left()))
        })
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError> {
        assert!(most > 0, "no event is asked for");
        let makes_room = self.shared.wait(patience, |state| {
            let was_full = state.inbox.is_full();
            let handed_over = state.inbox.hand_over(into, most)?;
            Ok(handed_over.map(|()| was_full && !state.inbox.is_full()))
        })?;
        if makes_room {
            self.shared.wake();
        }
        Ok(())
    }

    fn keep_from(&self, at: Position) {
        self.shared.lock().inbox.keep_from(at.instance);
    }

    fn resume(&self, after: Position) -> Result<(), OrderError> {
        self.shared.change(|state| state.resume(after))
    }

    /// It costs a record, or none where payloads wait; the barriers that are asked for meanwhile share it.
    fn barrier(&self, patience: Duration) -> Result<Position, OrderError> {
        let number = {
            let mut state = self.shared.lock();
            state.running()?;
            state.barriers.ask()
        };
        self.shared.wake();
        let placed = self.shared.wait(patience, |state| Ok(state.barriers.take(number)));
        if placed.is_err() {
            self.shared.lock().barriers.forget(number);
        }
        placed
    }
}

//! A node of an order on etcd, as its owner has it.

use crate::error::EtcdError;
use crate::member::Members;
use crate::options::EtcdOptions;
use crate::outgoing::MAX_PAYLOAD_BYTES;
use crate::session;
use crate::shared::Shared;
use bytes::Bytes;
use env::thread::{JoinHandle, spawn_named};
use env::time::Duration;
use std::sync::{Arc, mpsc};
use total::{Capabilities, Event, OrderError, OrderLimits, Origin, Position, Room, TotalOrder};

/// A node of an order on etcd: [`TotalOrder`]. Dropped, it stops; what it has handed in and was not delivered may be ordered still.
#[derive(Debug)]
pub struct EtcdOrder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl EtcdOrder {
    /// Begins a life of a node. What follows `resume_after` is delivered to it, from the order's first payload where there is none. An
    /// earlier life of the node that still runs is stopped.
    ///
    /// [`OrderLimits::retry`] is the time after which a member that does not answer is given up for another one.
    /// [`OrderLimits::kept_bytes`] should be the same on all nodes: the smallest counts.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub fn start(options: EtcdOptions, limits: OrderLimits, resume_after: Option<Position>) -> Result<Self, EtcdError> {
        let members = Members::new(&options, limits.retry.max(Duration::from_millis(1)))?;
        let system = |error: std::io::Error| EtcdError::System(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let (sender, begun) = mpsc::sync_channel(1);
        let thread = spawn_named("etcd", move || {
            runtime.block_on(session::live(options, limits, resume_after, members, |begun| {
                // Whoever starts the node waits for it.
                let _ = sender.send(begun);
            }));
        })
        .map_err(system)?;
        match begun.recv() {
            Ok(Ok(shared)) => Ok(Self { shared, thread: Some(thread) }),
            Ok(Err(error)) => Err(error),
            Err(mpsc::RecvError) => Err(EtcdError::System("the connection's thread has ended".into())),
        }
    }

    /// Returns the last problem with a member of etcd, if this node is without one at the moment.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.shared.lock().problem.clone()
    }

    /// Stops the node, as its drop does.
    pub fn stop(&mut self) {
        self.shared.end("it was stopped".into());
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; the order has ended either way.
            let _ = thread.join();
        }
    }
}

impl Drop for EtcdOrder {
    fn drop(&mut self) {
        self.stop();
    }
}

impl TotalOrder for EtcdOrder {
    fn origin(&self) -> Origin {
        self.shared.origin
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: MAX_PAYLOAD_BYTES, has_cheap_barrier: true }
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        let submission = {
            let mut state = self.shared.lock();
            state.addable()?;
            state.outgoing.propose(payload)?
        };
        self.shared.to_send.notify_one();
        Ok(submission)
    }

    fn room(&self, patience: Duration) -> Result<Room, OrderError> {
        self.shared.wait(patience, |state| {
            state.addable()?;
            Ok(Some(state.outgoing.room()).filter(|room| room.is_left()))
        })
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError> {
        assert!(most > 0, "no event is asked for");
        let makes_room = self.shared.wait(patience, |state| {
            let handed_over = state.inbox.hand_over(into, most)?;
            Ok(handed_over.map(|()| !state.inbox.is_full() && std::mem::take(&mut state.watch_waits)))
        })?;
        if makes_room {
            self.shared.to_watch.notify_one();
        }
        Ok(())
    }

    fn keep_from(&self, at: Position) {
        self.shared.lock().inbox.keep_from(at.instance);
    }

    fn resume(&self, after: Position) -> Result<(), OrderError> {
        self.shared.change(|state| state.resume(after))?;
        self.shared.to_watch.notify_one();
        Ok(())
    }

    /// It costs a read of a majority, which the barriers that are asked for meanwhile share.
    fn barrier(&self, patience: Duration) -> Result<Position, OrderError> {
        let number = {
            let mut state = self.shared.lock();
            state.running()?;
            state.barriers.ask()
        };
        self.shared.to_read.notify_one();
        let placed = self.shared.wait(patience, |state| Ok(state.barriers.take(number)));
        if placed.is_err() {
            self.shared.lock().barriers.forget(number);
        }
        placed
    }
}

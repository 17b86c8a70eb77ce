//! A total order within one process: one list, which all nodes append to and read.
//!
//! It has the faults of an order between machines: a node can be cut off from the others and come back, stop with what
//! it has handed in, start again as another life, and find that what it missed is gone.
//!
//! A payload is ordered when its node is connected. It is kept until all nodes that run were delivered it, and those
//! that said what to keep ([`TotalOrder::keep_from`]) have a durable state with it, but never more bytes than
//! [`OrderLimits::kept_bytes`].

mod list;

use crate::adapter::wait;
use crate::{Capabilities, Event, OrderError, OrderLimits, Origin, Position, Room, TotalOrder};
use bytes::Bytes;
use env::time::Duration;
use list::List;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The longest payload: 8 MiB, as in the other orders.
pub const MAX_PAYLOAD_BYTES: usize = 8 << 20;

/// The order that nodes of this process share. A clone is the same order.
#[derive(Clone, Debug)]
pub struct Sequencer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    list: Mutex<List>,
    /// Something was ordered, taken or stopped.
    changed: Condvar,
    limits: OrderLimits,
}

/// A node's end of a [`Sequencer`]. Dropped, the node stops; what it has handed in while it was cut off is lost.
#[derive(Debug)]
pub struct SequencerOrder {
    shared: Arc<Shared>,
    origin: Origin,
}

impl Sequencer {
    /// An empty order.
    #[must_use]
    pub fn new(limits: OrderLimits) -> Sequencer {
        Sequencer(Arc::new(Shared { list: Mutex::default(), changed: Condvar::new(), limits }))
    }

    /// Begins a life of a node. What follows `resume_after` is delivered to it, from the beginning where there is none.
    /// An earlier life of the node that still runs is stopped.
    #[must_use]
    pub fn join(&self, node: u64, resume_after: Option<Position>) -> SequencerOrder {
        let origin = self.0.lock().join(node, resume_after);
        self.0.changed.notify_all();
        SequencerOrder { shared: Arc::clone(&self.0), origin }
    }

    /// Cuts a node off: it is delivered nothing, and what it hands in waits.
    pub fn cut_off(&self, node: u64) {
        self.0.lock().cut_off(node);
    }

    /// Connects a node again.
    pub fn connect(&self, node: u64) {
        self.0.lock().connect(node, &self.0.limits);
        self.0.changed.notify_all();
    }

    /// Stops a node, as the drop of its end does.
    pub fn stop(&self, node: u64) {
        self.0.lock().stop(node);
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, List> {
        // No code of others runs under the latch, and `List` asserts before it changes anything.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<T>(
        &self,
        patience: Duration,
        ready: impl FnMut(&mut List) -> Result<Option<T>, OrderError>,
    ) -> Result<T, OrderError> {
        wait(&self.list, &self.changed, patience, ready)
    }
}

impl TotalOrder for SequencerOrder {
    fn origin(&self) -> Origin {
        self.origin
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: MAX_PAYLOAD_BYTES, has_cheap_barrier: true }
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        let bytes = payload.len();
        if bytes == 0 {
            return Err(OrderError::Empty);
        }
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(OrderError::TooLarge { bytes, limit: MAX_PAYLOAD_BYTES });
        }
        let submission = self.shared.lock().propose(self.origin, payload, &self.shared.limits)?;
        self.shared.changed.notify_all();
        Ok(submission)
    }

    fn room(&self, patience: Duration) -> Result<Room, OrderError> {
        self.shared.wait(patience, |list| {
            let room = list.room(self.origin, &self.shared.limits)?;
            Ok(room.is_left().then_some(room))
        })
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError> {
        self.shared.wait(patience, |list| {
            let before = into.len();
            list.take(self.origin, into, most, &self.shared.limits)?;
            Ok((into.len() > before).then_some(()))
        })?;
        // There may be room for proposals now.
        self.shared.changed.notify_all();
        Ok(())
    }

    fn keep_from(&self, at: Position) {
        self.shared.lock().keep_from(self.origin, at, &self.shared.limits);
    }

    fn resume(&self, after: Position) -> Result<(), OrderError> {
        self.shared.lock().resume(self.origin, after)
    }

    fn barrier(&self, patience: Duration) -> Result<Position, OrderError> {
        let at = self.shared.wait(patience, |list| list.barrier(self.origin))?;
        self.shared.changed.notify_all();
        Ok(at)
    }
}

impl Drop for SequencerOrder {
    fn drop(&mut self) {
        self.shared.lock().leave(self.origin);
        self.shared.changed.notify_all();
    }
}

//! Ordering of batches: a leader proposes them, a follower forwards them to the leader, and a replica that can do neither keeps them.

use super::{Effect, Replica};
use crate::config::Options;
use crate::core::{Core, Event, ReplicaId, Role, Value};
use crate::request::Chunk;
use env::Moment;

/// Maximum bytes that a follower has forwarded and that are not delivered yet: twice the leader's window.
pub(super) fn forward_limit(options: &Options) -> usize {
    let window = usize::try_from(options.window).unwrap_or(usize::MAX);
    options.batch_bytes.saturating_mul(window).saturating_mul(2)
}

/// Bytes of others' requests that a leader keeps, at most: what followers forward within their limits fits by far.
const MAX_FOREIGN_BYTES: usize = 256 << 20;

impl<C: Core> Replica<C> {
    /// Lets batches go that are full, or have waited long enough.
    pub(super) fn send_batches(&mut self, effects: &mut Vec<Effect>) {
        while self.batch_departure() <= self.now {
            let Some(batch) = self.batcher.take() else { return };
            if self.view.role == Role::Leading {
                self.counters.requests_proposed += batch.chunk().requests() as u64;
            } else {
                self.forwards.sent(batch.chunk(), self.now);
            }
            self.drive(Event::Request(batch.into_chunk().into_value()), effects);
        }
    }

    /// When the next batch goes; `NEVER` if it cannot.
    pub(super) fn batch_departure(&self) -> Moment {
        if self.detector.leads() {
            let (open, time) = (self.view.next > self.view.executed, self.retransmission.instance_time());
            if self.window_is_open() { self.batcher.departure(open, time) } else { Moment::NEVER }
        } else {
            let (busy, time) = (self.forwards.busy(), self.forwards.time());
            if self.can_forward() { self.batcher.departure(busy, time) } else { Moment::NEVER }
        }
    }

    /// Returns whether the core takes another batch (its own rule), and there is room for its bytes.
    fn window_is_open(&self) -> bool {
        let view = &self.view;
        view.next < view.executed + self.config.window
            && view.next < view.low + self.config.span
            && self.truncation.has_room(self.retransmission.open_bytes())
    }

    fn can_forward(&self) -> bool {
        let leader = self.detector.leader().filter(|leader| self.peers.is_connected(*leader));
        leader.is_some() && self.view.role == Role::Follower && self.forwards.has_room()
    }

    /// A follower's batch: its requests join the own ones, so that batches get full. Whoever does not lead drops it: the follower hears of
    /// the new leader, and its clients send again.
    pub(super) fn take_forward(&mut self, from: ReplicaId, value: Value) {
        let room = MAX_FOREIGN_BYTES.saturating_sub(self.batcher.foreign_bytes());
        if self.view.role != Role::Leading || value.len() > room {
            return;
        }
        let Ok(chunk) = Chunk::decode(Vec::from(value)) else { return };
        if chunk.iter().all(|request| request.origin == from) {
            self.batcher.push(&chunk, false, self.now);
        }
    }

    /// The core could not take a batch after all.
    pub(super) fn take_back(&mut self, value: Value) {
        if let Ok(chunk) = Chunk::decode(Vec::from(value)) {
            self.batcher.put_back(chunk, self.now);
        }
    }
}

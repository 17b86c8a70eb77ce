//! Gathering requests into batches.
//!
//! Requests go into the batch that is open, in the order in which they come; a request that does not fit closes it. A batch leaves
//! - at once, if it is full, or if nothing of this replica is under way: waiting would only cost time;
//! - else when its oldest request has waited for half the time that one under way takes, as measured, and never longer than
//!   `batch_delay`. So a lone client never waits, waiting adds at most half to a request's time, and under load, when instances take
//!   longer, batches get fuller by themselves.
//!
//! A leader's batches are proposed while its window is open, a follower's are forwarded; when neither can be, requests wait, and
//! beyond `pending_bytes` of them [`Replica::room`](super::Replica::room) is 0.

use crate::config::Options;
use crate::core::ReplicaId;
use crate::request::{Chunk, Entry};
use env::Moment;
use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

/// Requests that travel together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    chunk: Chunk,
    /// Bytes of requests of own clients.
    own_bytes: usize,
    /// When the first request came.
    since: Moment,
}

impl Batch {
    pub(super) fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    pub(super) fn into_chunk(self) -> Chunk {
        self.chunk
    }

    fn foreign_bytes(&self) -> usize {
        self.chunk.bytes().len() - self.own_bytes
    }
}

#[derive(Debug)]
pub(super) struct Batcher {
    id: ReplicaId,
    /// Bytes of bodies in a batch, at most.
    body_bytes: usize,
    /// Bytes of a batch in its encoding, at most.
    value_bytes: usize,
    delay: Duration,
    /// Batches that nothing more fits in.
    full: VecDeque<Batch>,
    /// The one that is gathered.
    open: Batch,
    /// Bytes of the last batch that left: the next one's first guess.
    usual_bytes: usize,
    /// Bytes that wait here.
    own_bytes: usize,
    foreign_bytes: usize,
}

impl Batcher {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            id: options.id,
            body_bytes: options.batch_bytes,
            value_bytes: options.max_value_bytes(),
            delay: options.batch_delay,
            full: VecDeque::new(),
            open: Batch::default(),
            usual_bytes: 0,
            own_bytes: 0,
            foreign_bytes: 0,
        }
    }

    /// Bytes of own clients' requests that wait.
    pub(super) fn own_bytes(&self) -> usize {
        self.own_bytes
    }

    /// Bytes of others' requests that wait.
    pub(super) fn foreign_bytes(&self) -> usize {
        self.foreign_bytes
    }

    /// Requests of own clients, or forwarded ones, behind all others.
    pub(super) fn push(&mut self, chunk: &Chunk, own: bool, now: Moment) {
        if self.fits(chunk.bytes().len(), chunk.body_bytes()) {
            self.begin(now);
            self.open.chunk.append(chunk);
            self.count(chunk.bytes().len(), own);
            return;
        }
        for entry in chunk.entries() {
            self.push_entry(&entry, own, now);
        }
    }

    fn push_entry(&mut self, entry: &Entry<'_>, own: bool, now: Moment) {
        if !self.fits(entry.bytes.len(), entry.request.body.len()) && !self.open.chunk.is_empty() {
            self.full.push_back(mem::take(&mut self.open));
        }
        self.begin(now);
        self.open.chunk.push_entry(entry);
        self.count(entry.bytes.len(), own);
    }

    fn fits(&self, bytes: usize, body_bytes: usize) -> bool {
        let open = &self.open.chunk;
        open.bytes().len() + bytes <= self.value_bytes && open.body_bytes() + body_bytes <= self.body_bytes
    }

    fn begin(&mut self, now: Moment) {
        if self.open.chunk.is_empty() {
            self.open.chunk = Chunk::with_capacity(self.usual_bytes);
            self.open.since = now;
        }
    }

    fn count(&mut self, bytes: usize, own: bool) {
        if own {
            self.open.own_bytes += bytes;
            self.own_bytes += bytes;
        } else {
            self.foreign_bytes += bytes;
        }
    }

    /// When the next batch leaves if it can; `busy`: batches of this replica are under way, and take `time` each. `NEVER` if nothing
    /// waits.
    pub(super) fn departure(&self, busy: bool, time: Duration) -> Moment {
        let open = &self.open;
        if let Some(full) = self.full.front() {
            full.since
        } else if open.chunk.is_empty() {
            Moment::NEVER
        } else if open.chunk.body_bytes() >= self.body_bytes || !busy {
            open.since
        } else {
            open.since + self.delay.min(time / 2)
        }
    }

    /// The next batch, full or not.
    pub(super) fn take(&mut self) -> Option<Batch> {
        let batch = self.full.pop_front().unwrap_or_else(|| mem::take(&mut self.open));
        self.own_bytes -= batch.own_bytes;
        self.foreign_bytes -= batch.foreign_bytes();
        self.usual_bytes = batch.chunk.bytes().len();
        (!batch.chunk.is_empty()).then_some(batch)
    }

    /// Requests that were taken and could not go after all: before all others.
    pub(super) fn put_back(&mut self, chunk: Chunk, now: Moment) {
        let own = chunk.entries().filter(|entry| entry.request.origin == self.id);
        let own_bytes = own.map(|entry| entry.bytes.len()).sum();
        let batch = Batch { chunk, own_bytes, since: now };
        self.own_bytes += batch.own_bytes;
        self.foreign_bytes += batch.foreign_bytes();
        self.full.push_front(batch);
    }

    /// This replica does not lead any more: requests forwarded to it will be sent again to the new leader.
    pub(super) fn drop_foreign(&mut self) {
        if self.foreign_bytes == 0 {
            return;
        }
        let id = self.id;
        let batches = mem::take(&mut self.full).into_iter().chain([mem::take(&mut self.open)]);
        (self.own_bytes, self.foreign_bytes) = (0, 0);
        for Batch { chunk, since, .. } in batches {
            for entry in chunk.entries().filter(|entry| entry.request.origin == id) {
                self.push_entry(&entry, true, since);
            }
        }
    }
}

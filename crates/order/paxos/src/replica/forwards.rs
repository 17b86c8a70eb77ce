//! A follower's batches that are on their way through the leader.
//!
//! The leader keeps the order of what one follower forwards, so a forwarded batch has arrived when its first request is delivered, and
//! one that is overtaken by a later one was lost. Nothing is forwarded twice from here: clients are told, and send again whatever has
//! no reply, in their order.

use crate::core::{ReplicaId, Sequence, Session};
use crate::replica::round_trip::RoundTrip;
use crate::request::{Chunk, requests};
use env::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of batches in which a delivered request is looked up.
const LOOK: usize = 4;

/// Maximum number of doublings of the time limit.
const MAX_DOUBLINGS: u32 = 6;

#[derive(Debug)]
struct Forward {
    /// Its first request.
    first: (Session, Sequence),
    bytes: usize,
    at: Moment,
}

#[derive(Debug)]
pub(super) struct Forwards {
    /// Maximum bytes in flight: twice a leader's window.
    limit: usize,
    /// The first wait for the oldest one, before clients are told.
    time_limit: Duration,
    under_way: VecDeque<Forward>,
    bytes: usize,
    time: RoundTrip,
    /// When the oldest one was sent or came to be the oldest.
    since: Moment,
    /// Times in a row that the time limit passed without an answer.
    lapses: u32,
    lost: bool,
}

impl Forwards {
    pub(super) fn new(limit: usize, suspicion: Duration) -> Self {
        Self {
            limit,
            time_limit: suspicion * 2,
            under_way: VecDeque::new(),
            bytes: 0,
            time: RoundTrip::default(),
            since: Moment::default(),
            lapses: 0,
            lost: false,
        }
    }

    /// Returns whether another batch may be forwarded.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < self.limit
    }

    pub(super) fn busy(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Returns the measured time from forwarding to delivery.
    pub(super) fn time(&self) -> Duration {
        self.time.smoothed()
    }

    /// This batch goes to the leader.
    pub(super) fn sent(&mut self, chunk: &Chunk, now: Moment) {
        let Some(first) = chunk.iter().next().map(|request| (request.session, request.sequence)) else { return };
        let bytes = chunk.bytes().len();
        if self.under_way.is_empty() {
            self.since = now;
        }
        self.under_way.push_back(Forward { first, bytes, at: now });
        self.bytes += bytes;
    }

    /// A batch was delivered.
    pub(super) fn delivered(&mut self, batch: &[u8], id: ReplicaId, now: Moment) {
        if !self.busy() {
            return;
        }
        for request in requests(batch).map_while(Result::ok).filter(|request| request.origin == id) {
            let request = (request.session, request.sequence);
            if let Some(place) = self.under_way.iter().take(LOOK).position(|forward| forward.first == request) {
                self.lost |= place > 0;
                self.arrived(place, now);
            }
        }
    }

    /// The one at this place has arrived, and those before it never will.
    fn arrived(&mut self, place: usize, now: Moment) {
        if let Some(forward) = self.under_way.get(place) {
            self.time.sample(now.since(forward.at));
        }
        self.bytes -= self.under_way.drain(..=place).map(|forward| forward.bytes).sum::<usize>();
        (self.since, self.lapses) = (now, 0);
    }

    /// Returns whether forwarded batches were lost, or have exceeded the deadline.
    pub(super) fn are_lost(&mut self, now: Moment) -> bool {
        if self.deadline() <= now {
            self.lapses = (self.lapses + 1).min(MAX_DOUBLINGS);
            self.lost = true;
        }
        self.lost
    }

    /// Returns the time at which the oldest batch is given up. The limit doubles with each time in a row, because
    /// repetitions from clients would slow down a cluster that is merely slow.
    pub(super) fn deadline(&self) -> Moment {
        if self.busy() { self.since + self.time_limit * (1 << self.lapses) } else { Moment::NEVER }
    }

    /// Marks the batches as lost: it is unknown which of them will still be delivered.
    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    /// Forgets the batches under way; they may be lost, and the clients are informed.
    pub(super) fn forget(&mut self) {
        self.under_way.clear();
        (self.bytes, self.lost) = (0, false);
    }
}

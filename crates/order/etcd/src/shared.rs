//! What callers and the connection's thread share.

use crate::error::NO_SPACE;
use crate::incoming::{Damage, Entry, Incoming};
use crate::keys::Keys;
use crate::outgoing::{Append, Limits, MAX_PAYLOAD_BYTES, Outgoing};
use env::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use total::adapter::{Barriers, Inbox, Kept, wait};
use total::{OrderError, OrderLimits, Origin, Position};

use crate::options::EtcdOptions;

/// What an entry takes in etcd in addition to its value.
const ENTRY_BYTES: usize = 128;

/// How a life began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The life's number.
    pub life: u64,
    /// Version of the node's key.
    pub version: u64,
    /// Revision at which the order was made.
    pub created: u64,
}

/// State of a node, and what wakes its parts.
#[derive(Debug)]
pub struct Shared {
    pub origin: Origin,
    pub keys: Keys,
    /// Revision at which the order was made.
    pub created: u64,
    /// Time after which a member that does not answer is given up.
    pub retry: Duration,
    state: Mutex<State>,
    /// For callers: something was delivered or placed, there is room, or all has ended.
    changed: Condvar,
    /// There may be something to send.
    pub to_send: Notify,
    /// The consumer has made room, or goes on from another state.
    pub to_watch: Notify,
    /// A barrier is asked for.
    pub to_read: Notify,
    /// The log may be compacted.
    pub to_keep: Notify,
    /// All has ended.
    pub stop: Notify,
}

/// State of a node.
#[derive(Debug)]
pub struct State {
    pub outgoing: Outgoing,
    /// Where the watch stands; none before its first place was found.
    pub incoming: Option<Incoming>,
    /// Where the next watch begins, if `incoming` is none.
    pub begin: Option<Position>,
    pub barriers: Barriers,
    pub kept: Kept<()>,
    pub inbox: Inbox,
    /// The watch waits until the consumer has made room.
    pub watch_waits: bool,
    /// etcd's quota is used up.
    pub has_no_space: bool,
    /// Last problem with a member.
    pub problem: Option<String>,
    end: Option<OrderError>,
}

impl Shared {
    pub fn new(options: &EtcdOptions, limits: &OrderLimits, resume_after: Option<Position>, begun: Begun) -> Self {
        let outgoing = Limits {
            proposals: limits.proposals,
            bytes: limits.proposed_bytes,
            batch_bytes: options.batch_bytes.min(MAX_PAYLOAD_BYTES),
            in_flight: options.in_flight,
        };
        let state = State {
            outgoing: Outgoing::new(begun.life, begun.version, outgoing),
            incoming: None,
            begin: resume_after,
            barriers: Barriers::default(),
            kept: Kept::new(limits.kept_bytes),
            inbox: Inbox::new(limits, begun.created, resume_after),
            watch_waits: false,
            has_no_space: false,
            problem: None,
            end: None,
        };
        Self {
            origin: Origin { node: options.node, life: begun.life },
            keys: Keys::new(&options.prefix),
            created: begun.created,
            retry: limits.retry.max(Duration::from_millis(1)),
            state: Mutex::new(state),
            changed: Condvar::new(),
            to_send: Notify::new(),
            to_watch: Notify::new(),
            to_read: Notify::new(),
            to_keep: Notify::new(),
            stop: Notify::new(),
        }
    }

    /// No code of others runs under the latch. A panic of ours under it ends the node at the next call.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the callers.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    /// Waits until `ready` returns something, or all has ended.
    pub fn wait<T>(
        &self,
        patience: Duration,
        mut ready: impl FnMut(&mut State) -> Result<Option<T>, OrderError>,
    ) -> Result<T, OrderError> {
        wait(&self.state, &self.changed, patience, |state| {
            let found = ready(state)?;
            if found.is_none() { state.running().map(|()| None) } else { Ok(found) }
        })
    }

    /// Nothing more is taken or delivered; the first reason counts.
    pub fn end(&self, why: String) {
        self.change(|state| state.end.get_or_insert(OrderError::Stopped(why)).clone());
        self.stop.notify_one();
    }

    /// The next batch to send; none while the log has to be compacted first.
    pub fn next_append(&self) -> Option<Append> {
        let mut state = self.lock();
        if state.kept.is_over() { None } else { state.outgoing.next_append() }
    }

    /// Takes an entry of the log.
    pub fn take(&self, entry: &Entry) -> Result<(), Damage> {
        let is_due = self.change(|state| state.take(entry, self.origin))?;
        if is_due {
            self.to_keep.notify_one();
        }
        if entry.node == self.origin.node {
            self.to_send.notify_one();
        }
        Ok(())
    }
}

impl State {
    /// Fails if all has ended.
    pub fn running(&self) -> Result<(), OrderError> {
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Fails while nothing can be added.
    pub fn addable(&self) -> Result<(), OrderError> {
        self.running()?;
        if self.has_no_space { Err(OrderError::NoSpace(NO_SPACE.into())) } else { Ok(()) }
    }

    /// Returns whether the log should be looked at.
    fn take(&mut self, entry: &Entry, own: Origin) -> Result<bool, Damage> {
        let Some(incoming) = &mut self.incoming else { return Ok(false) };
        let delivered = incoming.take(entry)?;
        let reached = incoming.reached();
        for each in delivered {
            self.inbox.push(each);
        }
        if entry.node == own.node {
            self.outgoing.delivered(entry.version);
        }
        self.push_barriers(reached);
        self.kept.add(entry.revision, entry.value.len() + ENTRY_BYTES, || ());
        Ok(self.kept.is_due())
    }

    fn push_barriers(&mut self, reached: u64) {
        while let Some(at) = self.barriers.pop_reached(reached) {
            self.inbox.push_barrier(at);
        }
    }

    /// A read that began when `below` was the number of the next barrier has found that the log ends at `last`.
    pub fn place_barriers(&mut self, below: u64, last: u64) {
        let reached = self.incoming.as_ref().map_or(0, Incoming::reached);
        self.barriers.place(below, last, reached);
        self.push_barriers(reached);
    }

    /// The watch begins here; own batches up to this version of the key are in the consumer's state.
    pub fn begin_at(&mut self, incoming: Incoming, own: u64) {
        if let Some(version) = incoming.version(own) {
            self.outgoing.delivered(version);
        }
        let reached = incoming.reached();
        self.incoming = Some(incoming);
        self.push_barriers(reached);
    }

    /// The log is compacted beyond what was taken.
    pub fn fall_behind(&mut self, earliest: Position, holders: Vec<u64>) {
        self.incoming = None;
        self.inbox.fall_behind(earliest, holders);
    }

    /// Goes on from a state that the consumer has.
    pub fn resume(&mut self, after: Position) -> Result<(), OrderError> {
        self.running()?;
        self.inbox.resume(after)?;
        let has_more = self.incoming.as_ref().is_some_and(|incoming| incoming.reached() >= after.instance);
        if !has_more {
            (self.incoming, self.begin) = (None, Some(after));
        }
        Ok(())
    }
}

//! What callers and the connection's thread share.

use crate::barriers::Barriers;
use crate::error::NO_SPACE;
use crate::incoming::{Damage, Entry, Incoming};
use crate::kept::Kept;
use crate::keys::Keys;
use crate::outgoing::{Append, Limits, MAX_PAYLOAD_BYTES, Outgoing};
use env::time::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use total::{Event, OrderError, OrderLimits, Origin, Position};

use crate::options::EtcdOptions;

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
    pub kept: Kept,
    /// Events that the consumer has not taken.
    inbox: VecDeque<Event>,
    inbox_bytes: usize,
    /// Weight of an event in addition to its payload, so that the limit bounds their number too.
    share: usize,
    inbox_limit: usize,
    /// This node is behind, and the consumer has not resumed.
    behind: Option<Position>,
    /// The consumer was told so.
    is_told: bool,
    /// The last instance of which the consumer took something.
    taken: u64,
    /// Up to where the consumer's state is durable.
    durable: Option<u64>,
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
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            share: (limits.delivered_bytes / limits.deliveries.max(1)).max(1),
            inbox_limit: limits.delivered_bytes.max(1),
            behind: None,
            is_told: false,
            taken: resume_after.map_or(begun.created, |at| at.instance),
            durable: resume_after.map(|at| at.instance),
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
        let give_up = Instant::now().checked_add(patience);
        let mut state = self.lock();
        loop {
            if let Some(value) = ready(&mut state)? {
                return Ok(value);
            }
            state.running()?;
            let left = give_up.map(|at| at.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) if left.is_zero() => return Err(OrderError::TimedOut),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
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
            self.inbox_bytes += each.payload.len() + self.share;
            self.inbox.push_back(Event::Ordered(each));
        }
        if entry.node == own.node {
            self.outgoing.delivered(entry.version);
        }
        self.push_barriers(reached);
        self.kept.add(entry.revision, entry.value.len());
        Ok(self.kept.is_due())
    }

    fn push_barriers(&mut self, reached: u64) {
        while let Some(at) = self.barriers.pop_reached(reached) {
            self.inbox.push_back(Event::Barrier(at));
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
        self.behind = Some(earliest);
        self.is_told = false;
        self.inbox.push_back(Event::Behind { earliest, holders });
    }

    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Goes on from a state that the consumer has.
    pub fn resume(&mut self, after: Position) -> Result<(), OrderError> {
        self.running()?;
        if self.behind > Some(after) {
            return Err(OrderError::Missed);
        }
        let is_skipped = |event: &Event| match event {
            Event::Ordered(delivered) => delivered.position <= after,
            Event::Behind { .. } => true,
            _ => false,
        };
        self.inbox.retain(|event| !is_skipped(event));
        let bytes = |event: &Event| if let Event::Ordered(it) = event { it.payload.len() + self.share } else { 0 };
        self.inbox_bytes = self.inbox.iter().map(bytes).sum();
        let has_more = self.incoming.as_ref().is_some_and(|incoming| incoming.reached() >= after.instance);
        if !has_more {
            (self.incoming, self.begin) = (None, Some(after));
        }
        (self.behind, self.is_told) = (None, false);
        self.taken = self.taken.max(after.instance);
        Ok(())
    }

    /// Returns whether no more entries are to be taken.
    pub fn is_inbox_full(&self) -> bool {
        self.inbox_bytes >= self.inbox_limit
    }

    /// Hands over at most so many events; `None` if there is none.
    pub fn hand_over(&mut self, into: &mut Vec<Event>, most: usize) -> Result<Option<()>, OrderError> {
        if self.is_told {
            return Err(OrderError::Missed);
        }
        let before = into.len();
        while into.len() < before + most && !self.is_told {
            let Some(event) = self.inbox.pop_front() else { break };
            match &event {
                Event::Ordered(delivered) => {
                    self.inbox_bytes -= delivered.payload.len() + self.share;
                    self.taken = delivered.position.instance;
                }
                Event::Behind { .. } => self.is_told = true,
                _ => (),
            }
            into.push(event);
        }
        Ok((into.len() > before).then_some(()))
    }

    /// The consumer's state is durable up to this instance.
    pub fn keep_from(&mut self, instance: u64) {
        self.durable = self.durable.max(Some(instance));
    }

    /// Returns the revision from which on this node needs the log.
    pub fn needed(&self) -> u64 {
        self.durable.unwrap_or(self.taken)
    }
}

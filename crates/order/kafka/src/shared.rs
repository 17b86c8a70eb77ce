//! What callers and the node's two threads share.

use crate::incoming::Incoming;
use crate::ledger::{Damage, Ledger};
use crate::outgoing::{Limits, MAX_PAYLOAD_BYTES, Outgoing};
use crate::record::{Kind, Record};
use bytes::Bytes;
use env::time::Duration;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use total::adapter::{Barriers, Inbox, Kept, wait};
use total::{OrderError, OrderLimits, Origin, Position};

/// What a record takes in Kafka in addition to its value.
const ENTRY_BYTES: usize = 80;

/// State of a node, and what wakes its parts.
#[derive(Debug)]
pub struct Shared {
    pub origin: Origin,
    state: Mutex<State>,
    /// For callers: something was delivered or placed, there is room, or all has ended.
    changed: Condvar,
    /// For the node's own threads: there may be something to send, or to read on.
    work: Condvar,
}

/// What the sending thread has to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Work {
    /// Append a record.
    Append(Vec<u8>, Purpose),
    /// Delete the records up to this offset.
    Delete(u64),
}

/// What an appended record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Payloads, and a place for the barriers below this number.
    Batch { below: u64 },
    /// A mark or a base.
    Keeping,
}

/// What is to be done so that the log stays short, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Mark,
    Base,
    Delete(u64),
}

/// State of a node.
#[derive(Debug)]
pub struct State {
    origin: Origin,
    order: u64,
    pub outgoing: Outgoing,
    /// Where the reader stands; none before it has found its place.
    incoming: Option<Incoming>,
    /// The consumer's state and its queue have everything up to here.
    after: Option<Position>,
    /// The offset behind the last record that was ever read.
    read_to: u64,
    pub barriers: Barriers,
    /// The note is the ledger before the group.
    kept: Kept<Ledger>,
    kept_bytes: usize,
    keeping: Option<Keeping>,
    pub inbox: Inbox,
    /// The last problem with Kafka.
    pub problem: Option<String>,
    end: Option<OrderError>,
}

impl Shared {
    pub fn new(
        origin: Origin,
        order: u64,
        batch_bytes: usize,
        limits: &OrderLimits,
        resume_after: Option<Position>,
    ) -> Self {
        let outgoing = Limits {
            proposals: limits.proposals,
            bytes: limits.proposed_bytes,
            batch_bytes: batch_bytes.min(MAX_PAYLOAD_BYTES),
        };
        let state = State {
            origin,
            order,
            outgoing: Outgoing::new(outgoing),
            incoming: None,
            after: resume_after,
            read_to: resume_after.map_or(0, |at| at.instance.saturating_add(1)),
            barriers: Barriers::default(),
            kept: Kept::new(limits.kept_bytes),
            kept_bytes: limits.kept_bytes,
            keeping: None,
            inbox: Inbox::new(limits, 0, resume_after),
            problem: None,
            end: None,
        };
        Self { origin, state: Mutex::new(state), changed: Condvar::new(), work: Condvar::new() }
    }

    /// No code of others runs under the latch. A panic of ours under it ends the node's thread, and with it the node.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the callers and the node's threads.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        self.work.notify_all();
        changed
    }

    /// There is something to do for the node's threads.
    pub fn wake(&self) {
        self.work.notify_all();
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

    /// Waits as a thread of the node; `None` when all has ended.
    pub fn wait_for_work<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        wait(&self.state, &self.work, Duration::MAX, |state| {
            state.running()?;
            Ok(ready(state))
        })
        .ok()
    }

    pub fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    /// Nothing more is taken or delivered; the first reason counts.
    pub fn end(&self, why: String) {
        self.change(|state| state.end.get_or_insert(OrderError::Stopped(why)).clone());
    }
}

/// Where the reader is to look for its place, and from where on it has read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub after: Option<Position>,
    pub read_to: u64,
}

impl State {
    /// Fails if all has ended.
    pub fn running(&self) -> Result<(), OrderError> {
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Returns where the reader is to begin, unless the consumer has to resume first.
    pub fn place(&self) -> Option<Place> {
        (!self.inbox.is_behind()).then_some(Place { after: self.after, read_to: self.read_to })
    }

    /// The reader begins with what the records before `next` have come to. If payloads that the consumer lacks are not among those that
    /// follow, the consumer is behind; returns whether it is not. It lacks no records without payloads, such as those of barriers: where
    /// nothing else was appended for long, no node has a state that is further.
    pub fn begin(&mut self, next: u64, nodes: Ledger) -> bool {
        if let Some(earliest) = nodes.last().filter(|last| self.after < Some(*last)) {
            let holders = nodes.iter().map(|(node, _)| node).filter(|node| *node != self.origin.node).collect();
            self.inbox.fall_behind(earliest, holders);
            return false;
        }
        self.kept = Kept::new(self.kept_bytes);
        self.keeping = None;
        self.count_own(&nodes);
        self.incoming = Some(Incoming::at_begin(next, nodes, self.after));
        true
    }

    /// The reader has lost its place: it has to look for another one.
    pub fn lose_place(&mut self) {
        self.incoming = None;
    }

    /// Returns the offset to be read next, if the reader has its place and there is room.
    pub fn next_to_read(&self) -> Option<u64> {
        self.incoming.as_ref().filter(|_| !self.inbox.is_full()).map(Incoming::next)
    }

    pub fn has_place(&self) -> bool {
        self.incoming.is_some()
    }

    /// Takes a record. A reader without a place takes none.
    ///
    /// # Errors
    /// Why the order has to end.
    pub fn take(&mut self, offset: u64, value: &Bytes) -> Result<(), String> {
        let Some(incoming) = &mut self.incoming else { return Ok(()) };
        if offset >= incoming.next() {
            self.kept.add(offset, value.len() + ENTRY_BYTES, || incoming.ledger().clone());
        }
        let delivered = incoming.take(offset, value).map_err(|damage: Damage| damage.to_string())?;
        let (next, life) = (incoming.next(), incoming.ledger().life(self.origin.node));
        if life > self.origin.life {
            return Err("another life of this node has begun: two processes have the same number".into());
        }
        for each in delivered {
            self.after = Some(each.position);
            self.inbox.push(each);
        }
        self.problem = None;
        self.read_to = self.read_to.max(next);
        if let Some(incoming) = self.incoming.take() {
            self.count_own(incoming.ledger());
            self.incoming = Some(incoming);
        }
        self.push_barriers();
        Ok(())
    }

    /// Own payloads that the ledger has are in the consumer's queue, or in its state.
    fn count_own(&mut self, nodes: &Ledger) {
        if let Some(own) = nodes.node(self.origin.node).filter(|own| own.life == self.origin.life) {
            self.outgoing.delivered(own.next);
        }
    }

    fn push_barriers(&mut self) {
        let reached = self.reached();
        while let Some(at) = self.barriers.pop_reached(reached) {
            self.inbox.push_barrier(at);
        }
    }

    /// The last offset that the reader has read.
    fn reached(&self) -> u64 {
        self.incoming.as_ref().map_or(0, |incoming| incoming.next().saturating_sub(1))
    }

    /// A record of this node has its place: so have the barriers that were asked for before it was sent (K5).
    pub fn appended(&mut self, purpose: Purpose, offset: u64) {
        self.problem = None;
        if let Purpose::Batch { below } = purpose {
            let reached = self.reached();
            self.barriers.place(below, offset, reached);
            self.push_barriers();
        }
    }

    /// The records up to this offset are deleted.
    pub fn deleted(&mut self, up_to: u64) {
        self.problem = None;
        self.kept.forgotten(up_to);
    }

    /// Goes on from a state that the consumer has.
    pub fn resume(&mut self, after: Position) -> Result<(), OrderError> {
        self.running()?;
        self.inbox.resume(after)?;
        let has_more = self.incoming.as_ref().is_some_and(|incoming| incoming.next() > after.instance);
        if !has_more {
            self.incoming = None;
        }
        self.after = self.after.max(Some(after));
        self.read_to = self.read_to.max(after.instance.saturating_add(1));
        Ok(())
    }

    /// Returns what the sending thread does next.
    pub fn next_work(&mut self) -> Option<Work> {
        if let Some(work) = self.next_keeping() {
            return Some(work);
        }
        let is_wanted = self.outgoing.is_waiting() || self.barriers.are_asked();
        if !is_wanted || self.kept.is_over() {
            return None;
        }
        let below = self.barriers.begin_read();
        let (first, payloads) = self.outgoing.next_batch();
        let Origin { node, life } = self.origin;
        let record = self.encode(Kind::Batch { node, life, first, payloads });
        Some(Work::Append(record, Purpose::Batch { below }))
    }

    fn encode(&self, kind: Kind) -> Vec<u8> {
        Record { order: self.order, kind }.encode()
    }

    /// Now and then a mark; then, where enough may go, a base and the deletion of what is before it (K4).
    fn next_keeping(&mut self) -> Option<Work> {
        let nodes = self.incoming.as_ref()?.ledger();
        if self.keeping.is_none() && (self.kept.is_due() || self.kept.is_over()) {
            self.kept.looked();
            self.keeping = Some(Keeping::Mark);
        }
        let Origin { node, life } = self.origin;
        if self.keeping? == Keeping::Mark {
            self.keeping = Some(Keeping::Base);
            // The record itself may have payloads that are not in the state yet.
            let needed = self.inbox.needed().saturating_sub(1);
            if nodes.node(node).is_none_or(|own| own.needed != needed) {
                let record = self.encode(Kind::Mark { node, life, needed });
                return Some(Work::Append(record, Purpose::Keeping));
            }
        }
        if self.keeping? == Keeping::Base {
            let based = self.incoming.as_ref().and_then(Incoming::based);
            let Some((up_to, before)) = self.kept.cut_at_note(nodes.needed()) else {
                self.keeping = None;
                return None;
            };
            if based < Some(up_to) {
                let record = self.encode(Kind::Base { up_to, nodes: before.clone() });
                self.keeping = Some(Keeping::Delete(up_to));
                return Some(Work::Append(record, Purpose::Keeping));
            }
            self.keeping = Some(Keeping::Delete(up_to));
        }
        match self.keeping.take() {
            Some(Keeping::Delete(up_to)) => Some(Work::Delete(up_to)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use total::Event;

    const ORIGIN: Origin = Origin { node: 1, life: 1 };
    const ORDER: u64 = 9;

    /// The topic, which one node alone writes and reads.
    struct Topic {
        state: State,
        log: Vec<Bytes>,
        begin: usize,
    }

    impl Topic {
        fn new(limits: OrderLimits) -> Topic {
            let shared = Shared::new(ORIGIN, ORDER, 1 << 20, &limits, None);
            let mut state = shared.state.into_inner().unwrap();
            let begin = Record { order: ORDER, kind: Kind::Begin { node: 1, before: 0, nonce: 4, needed: 0 } };
            assert!(state.begin(0, Ledger::default()));
            let mut topic = Topic { state, log: vec![begin.encode().into()], begin: 0 };
            topic.read();
            topic
        }

        fn read(&mut self) {
            while let Some(next) = self.state.next_to_read()
                && let Some(value) = self.log.get(next as usize)
            {
                self.state.take(next, &value.clone()).unwrap();
            }
        }

        /// Does what there is to do, and reads.
        fn run(&mut self) {
            while let Some(work) = self.state.next_work() {
                match work {
                    Work::Append(record, purpose) => {
                        self.log.push(record.into());
                        self.state.appended(purpose, self.log.len() as u64 - 1);
                    }
                    Work::Delete(up_to) => {
                        self.begin = self.begin.max(up_to as usize + 1);
                        self.state.deleted(up_to);
                    }
                }
                self.read();
            }
        }

        fn propose(&mut self, bytes: usize) {
            self.state.outgoing.propose(vec![7; bytes].into()).unwrap();
            self.run();
        }

        fn bytes_kept(&self) -> usize {
            self.log[self.begin..].iter().map(Bytes::len).sum()
        }

        fn take(&mut self) -> Vec<Event> {
            let mut events = Vec::new();
            while self.state.inbox.hand_over(&mut events, 100).unwrap().is_some() {}
            events
        }
    }

    const LIMITS: usize = 100_000;

    fn topic() -> Topic {
        Topic::new(OrderLimits { kept_bytes: LIMITS, ..OrderLimits::default() })
    }

    #[test]
    fn what_is_delivered_goes_and_what_is_kept_stays() {
        let mut topic = topic();
        (0..30).for_each(|_| topic.propose(1_000));
        assert_eq!(topic.begin, 0, "the consumer has taken nothing");
        topic.take();
        (0..30).for_each(|_| topic.propose(1_000));
        assert!(topic.begin > 10, "what it has taken goes: {}", topic.begin);
        let kept = topic.begin as u64 + 3;
        topic.state.inbox.keep_from(kept);
        for _ in 0..40 {
            topic.propose(1_000);
            topic.take();
        }
        assert!(topic.begin as u64 <= kept, "K4: what follows the mark stays");
        (0..200).for_each(|_| topic.propose(1_000));
        assert!(topic.bytes_kept() < 2 * LIMITS, "the limit counts: {}", topic.bytes_kept());
    }

    #[test]
    fn who_begins_later_reads_what_is_left() {
        let mut topic = topic();
        for _ in 0..200 {
            topic.propose(1_000);
            topic.take();
        }
        assert!(topic.begin > 0);
        let search = crate::incoming::Search::from(topic.begin as u64);
        let (up_to, nodes) =
            (0..).zip(&topic.log).skip(topic.begin).find_map(|(at, value)| search.look(at, value)).unwrap();
        let shared = Shared::new(Origin { node: 2, life: 1 }, ORDER, 1, &OrderLimits::default(), None);
        let mut late = shared.state.into_inner().unwrap();
        assert!(!late.begin(up_to + 1, nodes.clone()));
        let mut events = Vec::new();
        late.inbox.hand_over(&mut events, 9).unwrap();
        let earliest = nodes.last().unwrap();
        assert_eq!(events, [Event::Behind { earliest, holders: vec![1] }]);
        let older = Position { instance: earliest.instance - 1, index: u32::MAX };
        assert_eq!(late.resume(older), Err(OrderError::Missed));
        let state = Position { instance: up_to + 1, index: 0 };
        late.resume(state).unwrap();
        assert_eq!(late.place(), Some(Place { after: Some(state), read_to: up_to + 2 }));
        assert!(late.begin(up_to + 1, nodes));
        for (offset, value) in (0..).zip(&topic.log).skip(up_to as usize + 1) {
            late.take(offset, value).unwrap();
        }
        let mut rest = Vec::new();
        while late.inbox.hand_over(&mut rest, 100).unwrap().is_some() {}
        let behind = topic.log[up_to as usize + 2..].iter();
        let payloads = behind.filter(|value| matches!(Record::decode(value).unwrap().kind, Kind::Batch { .. })).count();
        assert_eq!(rest.len(), payloads);
    }

    /// Reads append records, and in the end delete all payloads. A node that has those lacks nothing, and nobody's state is further.
    #[test]
    fn who_has_all_payloads_begins_behind_barriers_alone() {
        let mut topic = topic();
        topic.propose(1_000);
        let Some(Event::Ordered(last)) = topic.take().pop() else { panic!("a payload") };
        topic.state.inbox.keep_from(last.position.instance);
        while topic.begin as u64 <= last.position.instance {
            topic.state.barriers.ask();
            topic.run();
            topic.take();
        }
        let search = crate::incoming::Search::from(topic.begin as u64);
        let kept = (0..).zip(&topic.log).skip(topic.begin);
        let (up_to, nodes) = kept.clone().find_map(|(at, value)| search.look(at, value)).unwrap();
        let start = |after: Option<Position>| {
            let shared = Shared::new(Origin { node: 1, life: 2 }, ORDER, 1, &OrderLimits::default(), after);
            shared.state.into_inner().unwrap()
        };
        assert!(!start(None).begin(up_to + 1, nodes.clone()), "who lacks the payload is behind");
        let mut again = start(Some(last.position));
        assert!(again.begin(up_to + 1, nodes));
        for (offset, value) in kept.filter(|(offset, _)| *offset > up_to) {
            again.take(offset, value).unwrap();
        }
        assert_eq!(again.inbox.hand_over(&mut Vec::new(), 9), Ok(None), "there is nothing to deliver");
    }

    #[test]
    fn a_barrier_is_placed_by_a_record_that_was_sent_after_it() {
        let mut topic = topic();
        topic.state.outgoing.propose(vec![1].into()).unwrap();
        let Some(Work::Append(record, purpose)) = topic.state.next_work() else { panic!("there is a payload") };
        let number = topic.state.barriers.ask();
        topic.log.push(record.into());
        topic.state.appended(purpose, 1);
        topic.read();
        assert_eq!(topic.state.barriers.take(number), None, "K5: it was asked for after the record was sent");
        topic.run();
        let at = Position { instance: 2, index: u32::MAX };
        assert_eq!(topic.state.barriers.take(number), Some(at));
        assert_eq!(topic.take().last(), Some(&Event::Barrier(at)));
    }

    #[test]
    fn an_earlier_life_ends_when_it_reads_of_a_later_one() {
        let mut topic = topic();
        let begin = Record { order: ORDER, kind: Kind::Begin { node: 1, before: 1, nonce: 8, needed: 0 } };
        let error = topic.state.take(1, &begin.encode().into()).unwrap_err();
        assert!(error.contains("another life of this node has begun"), "{error}");
    }

    #[test]
    fn own_payloads_make_room_when_they_are_read() {
        let limits = OrderLimits { proposals: 2, ..OrderLimits::default() };
        let mut topic = Topic::new(limits);
        topic.state.outgoing.propose(vec![1].into()).unwrap();
        topic.state.outgoing.propose(vec![1].into()).unwrap();
        assert_eq!(topic.state.outgoing.propose(vec![1].into()), Err(OrderError::Busy));
        topic.run();
        assert_eq!(topic.state.outgoing.room().proposals, 2);
        assert_eq!(topic.take().len(), 2);
    }
}

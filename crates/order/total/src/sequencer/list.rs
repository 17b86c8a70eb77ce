//! The list of a sequencer and where its nodes stand in it, without threads.

use crate::{Delivered, Event, OrderError, OrderLimits, Origin, Position, Room};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// The order. Instances count from 1, so that zero is before all of them.
#[derive(Debug, Default)]
pub(super) struct List {
    /// Kept payloads, the oldest first.
    kept: VecDeque<Delivered>,
    /// Their bytes.
    kept_bytes: usize,
    /// Instance of the last payload that is not kept.
    forgotten: u64,
    nodes: BTreeMap<u64, Node>,
}

/// A node, and its last life.
#[derive(Debug, Default)]
struct Node {
    life: u64,
    is_running: bool,
    is_connected: bool,
    /// The last instance that was delivered to it, or that its state has.
    reached: u64,
    /// Whether it was told that it is behind, and has not resumed.
    is_behind: bool,
    /// Up to where its state is durable.
    durable: Option<u64>,
    submissions: u64,
    /// Proposals of a node that is cut off, with their numbers.
    waiting: VecDeque<(u64, Bytes)>,
    /// Own proposals that were not delivered to it.
    open: usize,
    open_bytes: usize,
    /// Places of its barriers that it has not been told of.
    barriers: VecDeque<u64>,
}

fn position(instance: u64) -> Position {
    Position { instance, index: 0 }
}

fn stopped() -> OrderError {
    OrderError::Stopped("this node was stopped".into())
}

impl List {
    pub(super) fn join(&mut self, number: u64, resume_after: Option<Position>) -> Origin {
        let node = self.nodes.entry(number).or_default();
        *node = Node {
            life: node.life + 1,
            is_running: true,
            is_connected: true,
            reached: resume_after.map_or(0, |at| at.instance),
            durable: node.durable,
            ..Node::default()
        };
        Origin { node: number, life: node.life }
    }

    pub(super) fn cut_off(&mut self, number: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.is_connected = false;
        }
    }

    pub(super) fn connect(&mut self, number: u64, limits: &OrderLimits) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.is_connected = true;
        let origin = Origin { node: number, life: node.life };
        for (submission, payload) in std::mem::take(&mut node.waiting) {
            self.append(origin, submission, payload);
        }
        self.forget(limits);
    }

    pub(super) fn stop(&mut self, number: u64) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.is_running = false;
            node.waiting.clear();
        }
    }

    /// Ends this life, unless another one has begun.
    pub(super) fn leave(&mut self, origin: Origin) {
        if self.running(origin).is_ok() {
            self.stop(origin.node);
        }
    }

    fn running(&mut self, origin: Origin) -> Result<&mut Node, OrderError> {
        let node = self.nodes.get_mut(&origin.node).filter(|node| node.life == origin.life && node.is_running);
        node.ok_or_else(stopped)
    }

    pub(super) fn room(&mut self, origin: Origin, limits: &OrderLimits) -> Result<Room, OrderError> {
        let node = self.running(origin)?;
        Ok(Room {
            proposals: limits.proposals.saturating_sub(node.open),
            bytes: limits.proposed_bytes.saturating_sub(node.open_bytes),
        })
    }

    pub(super) fn propose(&mut self, origin: Origin, payload: Bytes, limits: &OrderLimits) -> Result<u64, OrderError> {
        if !self.room(origin, limits)?.is_left() {
            return Err(OrderError::Busy);
        }
        let node = self.running(origin)?;
        let submission = node.submissions;
        node.submissions += 1;
        node.open += 1;
        node.open_bytes += payload.len();
        if node.is_connected {
            self.append(origin, submission, payload);
            self.forget(limits);
        } else {
            node.waiting.push_back((submission, payload));
        }
        Ok(submission)
    }

    fn last(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    fn append(&mut self, origin: Origin, submission: u64, payload: Bytes) {
        self.kept_bytes += payload.len();
        let position = position(self.last() + 1);
        self.kept.push_back(Delivered { position, origin, submission, payload });
    }

    /// Drops what nobody needs, and what is too much.
    fn forget(&mut self, limits: &OrderLimits) {
        let needed = |node: &Node| match (node.is_running, node.durable) {
            (true, Some(durable)) => Some(node.reached.min(durable)),
            (true, None) => Some(node.reached),
            (false, durable) => durable,
        };
        let all_have = self.nodes.values().filter_map(needed).min().unwrap_or(self.forgotten);
        while self.forgotten < all_have || self.kept_bytes > limits.kept_bytes {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_bytes -= oldest.payload.len();
            self.forgotten += 1;
        }
    }

    pub(super) fn take(
        &mut self,
        origin: Origin,
        into: &mut Vec<Event>,
        most: usize,
        limits: &OrderLimits,
    ) -> Result<(), OrderError> {
        assert!(most > 0, "no event is asked for");
        let forgotten = self.forgotten;
        let holders = self.holders(origin);
        let node = self.running(origin)?;
        if node.is_behind {
            return Err(OrderError::Missed);
        }
        if !node.is_connected {
            return Ok(());
        }
        if node.reached < forgotten {
            node.is_behind = true;
            into.push(Event::Behind { earliest: position(forgotten), holders });
            return Ok(());
        }
        let full = into.len() + most;
        while into.len() < full && self.take_next(origin, into) {}
        self.forget(limits);
        Ok(())
    }

    /// Hands out the next event, if there is one.
    fn take_next(&mut self, origin: Origin, into: &mut Vec<Event>) -> bool {
        let node = self.nodes.get_mut(&origin.node).expect("it runs");
        if let Some(at) = node.barriers.pop_front_if(|at| *at <= node.reached) {
            into.push(Event::Barrier(position(at)));
            return true;
        }
        let Some(next) = self.kept.get((node.reached - self.forgotten) as usize) else { return false };
        assert_eq!(next.position.instance, node.reached + 1, "O1");
        node.reached += 1;
        if next.origin == origin {
            node.open -= 1;
            node.open_bytes -= next.payload.len();
        }
        into.push(Event::Ordered(next.clone()));
        true
    }

    /// Nodes but this one that have reached all that is not kept.
    fn holders(&self, origin: Origin) -> Vec<u64> {
        let others = self.nodes.iter().filter(|(number, _)| **number != origin.node);
        others.filter(|(_, node)| node.reached >= self.forgotten).map(|(number, _)| *number).collect()
    }

    pub(super) fn keep_from(&mut self, origin: Origin, at: Position, limits: &OrderLimits) {
        if let Ok(node) = self.running(origin) {
            node.durable = node.durable.max(Some(at.instance));
            self.forget(limits);
        }
    }

    pub(super) fn resume(&mut self, origin: Origin, after: Position) -> Result<(), OrderError> {
        if after.instance < self.forgotten {
            return Err(OrderError::Missed);
        }
        let node = self.running(origin)?;
        node.is_behind = false;
        node.reached = node.reached.max(after.instance);
        let reached = node.reached;
        let own = self.kept.iter().filter(|it| it.origin == origin && it.position.instance > reached);
        let (open, open_bytes) = own.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.payload.len()));
        let node = self.running(origin)?;
        node.open = open + node.waiting.len();
        node.open_bytes = open_bytes + node.waiting.iter().map(|(_, payload)| payload.len()).sum::<usize>();
        Ok(())
    }

    /// Places a barrier, if the node is connected.
    pub(super) fn barrier(&mut self, origin: Origin) -> Result<Option<Position>, OrderError> {
        let last = self.last();
        let node = self.running(origin)?;
        if !node.is_connected {
            return Ok(None);
        }
        node.barriers.push_back(last);
        Ok(Some(position(last)))
    }
}

//! Retransmission of proposals that were not answered in time.
//!
//! The leader keeps what it has proposed until it is chosen. A proposal goes again to those who have not voted for it after a time that
//! is measured (and doubles each time), and at once to a peer whose connection was made again. The leader itself counts as one of
//! them: it cannot vote for what lies beyond its span, and votes when it has caught up. Phase 1 is not sent again: a new ballot is as
//! cheap.
//!
//! Deviation from Karn's rule: answers to what was sent twice are measured too, from the first copy. Connections lose nothing while
//! they last, so it was most likely the first copy that was answered, late; ignoring that would send everything twice for as long as
//! replicas stay slow. Where copies do get lost, one sample can double the timeout and no more.

use super::peers::PeerSet;
use super::round_trip::RoundTrip;
use super::{Effect, Replica};
use crate::core::{Ballot, Core, Instance, Message, ReplicaId, Value};
use crate::message::PeerMessage;
use env::Moment;
use std::collections::VecDeque;
use std::time::Duration;

/// Shortest time before a resend.
const FLOOR: Duration = Duration::from_millis(10);

/// The time before anything was measured.
const INITIAL_TIMEOUT: Duration = Duration::from_millis(100);

/// A proposal that is not chosen yet.
#[derive(Debug)]
struct Open {
    value: Value,
    sent: Moment,
    again_at: Moment,
    /// Times that it was sent again.
    attempts: u32,
    /// This replica has voted for it itself: before that the core counts no votes.
    voted: bool,
    /// Replicas whose votes the core has counted.
    accepted: PeerSet,
}

#[derive(Debug)]
pub(super) struct Retransmission {
    id: ReplicaId,
    /// Longest time before a resend.
    cap: Duration,
    ballot: Ballot,
    /// The instance of the first one in `open`.
    first: Instance,
    /// `None`: chosen.
    open: VecDeque<Option<Open>>,
    /// Bytes of their values.
    open_bytes: u64,
    /// From a proposal to a vote.
    votes: RoundTrip,
    /// From a proposal to its choice.
    choices: RoundTrip,
    /// No proposal is due before then.
    check_at: Moment,
}

impl Retransmission {
    pub(super) fn new(id: ReplicaId, suspicion: Duration) -> Self {
        Self {
            id,
            cap: suspicion,
            ballot: 0,
            first: 0,
            open: VecDeque::new(),
            open_bytes: 0,
            votes: RoundTrip::default(),
            choices: RoundTrip::default(),
            check_at: Moment::NEVER,
        }
    }

    /// Returns the measured time that an instance takes.
    pub(super) fn instance_time(&self) -> Duration {
        self.choices.smoothed()
    }

    /// Bytes of proposals that are not chosen.
    pub(super) fn open_bytes(&self) -> u64 {
        self.open_bytes
    }

    pub(super) fn deadline(&self) -> Moment {
        self.check_at
    }

    /// This replica leads no more.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        (self.open_bytes, self.check_at) = (0, Moment::NEVER);
    }

    /// A proposal of this replica goes out. Instances come in order.
    pub(super) fn proposed(&mut self, ballot: Ballot, instance: Instance, value: &Value, now: Moment) {
        if ballot != self.ballot || instance != self.first + self.open.len() as u64 {
            self.clear();
            (self.ballot, self.first) = (ballot, instance);
        }
        let again_at = now + self.timeout(0);
        self.open_bytes += value.len() as u64;
        let (value, accepted) = (value.clone(), PeerSet::default());
        self.open.push_back(Some(Open { value, sent: now, again_at, attempts: 0, voted: false, accepted }));
        self.check_at = self.check_at.min(again_at);
    }

    fn timeout(&self, attempts: u32) -> Duration {
        self.votes.timeout(attempts, INITIAL_TIMEOUT.min(self.cap), FLOOR, self.cap)
    }

    fn get(&mut self, ballot: Ballot, instance: Instance) -> Option<&mut Open> {
        let place = usize::try_from(instance.checked_sub(self.first)?).ok()?;
        self.open.get_mut(place).filter(|_| ballot == self.ballot)?.as_mut()
    }

    /// This replica has voted for its own proposal.
    pub(super) fn voted(&mut self, ballot: Ballot, instance: Instance) {
        if let Some(open) = self.get(ballot, instance) {
            open.voted = true;
        }
    }

    /// Records a vote for a proposal.
    pub(super) fn accepted(&mut self, from: ReplicaId, ballot: Ballot, instance: Instance, now: Moment) {
        let (own, slowest) = (from == self.id, self.timeout(1));
        let Some(open) = self.get(ballot, instance).filter(|open| open.voted) else { return };
        open.accepted.insert(from);
        let time = now.since(open.sent).min(slowest);
        if !own {
            self.votes.sample(time);
        }
    }

    /// A proposal is chosen.
    pub(super) fn chosen(&mut self, ballot: Ballot, instance: Instance, now: Moment) {
        let Some(open) = self.get(ballot, instance) else { return };
        let time = now.since(open.sent);
        self.choices.sample(time);
        self.close(instance);
    }

    /// Everything below is executed, however it was learned.
    pub(super) fn executed(&mut self, below: Instance) {
        while self.first < below {
            let Some(open) = self.open.pop_front() else { break };
            self.first += 1;
            self.open_bytes -= open.map_or(0, |open| open.value.len() as u64);
        }
        self.rest_if_empty();
    }

    fn close(&mut self, instance: Instance) {
        let place = instance.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let open = place.and_then(|place| self.open.get_mut(place)).and_then(Option::take);
        self.open_bytes -= open.map_or(0, |open| open.value.len() as u64);
        while self.open.pop_front_if(|open| open.is_none()).is_some() {
            self.first += 1;
        }
        self.rest_if_empty();
    }

    fn rest_if_empty(&mut self) {
        if self.open.is_empty() {
            self.check_at = Moment::NEVER;
        }
    }

    /// Proposals that are due to be resent, with the replicas that have voted for them.
    fn due(&mut self, now: Moment) -> Vec<(Instance, Value, PeerSet)> {
        let mut due = Vec::new();
        let timeouts = (self.votes, self.cap);
        self.check_at = Moment::NEVER;
        for (instance, open) in (self.first..).zip(&mut self.open) {
            let Some(open) = open else { continue };
            if open.again_at <= now {
                open.attempts += 1;
                let (votes, cap) = timeouts;
                open.again_at = now + votes.timeout(open.attempts, INITIAL_TIMEOUT.min(cap), FLOOR, cap);
                due.push((instance, open.value.clone(), open.accepted));
            }
            self.check_at = self.check_at.min(open.again_at);
        }
        due
    }

    /// Proposals for which a peer has not voted.
    fn missing_at(&self, peer: ReplicaId) -> Vec<(Instance, Value)> {
        let open = (self.first..).zip(&self.open).filter_map(|(instance, open)| Some((instance, open.as_ref()?)));
        let missing = open.filter(|(_, open)| !open.accepted.contains(peer));
        missing.map(|(instance, open)| (instance, open.value.clone())).collect()
    }
}

impl<C: Core> Replica<C> {
    /// Proposals that were not answered in time.
    pub(super) fn send_again(&mut self, effects: &mut Vec<Effect>) {
        if self.retransmission.deadline() > self.now || !self.detector.leads() {
            return;
        }
        for (instance, value, accepted) in self.retransmission.due(self.now) {
            for peer in self.peers.voters().filter(|peer| !accepted.contains(*peer)) {
                self.send_proposal(peer, instance, &value, effects);
            }
            if !accepted.contains(self.options.id) {
                self.own.push_back(Message::Propose(self.retransmission.ballot, instance, value));
            }
        }
        self.settle(effects);
    }

    pub(super) fn resend_open_to(&mut self, peer: ReplicaId, effects: &mut Vec<Effect>) {
        if peer < self.options.replicas {
            for (instance, value) in self.retransmission.missing_at(peer) {
                self.send_proposal(peer, instance, &value, effects);
            }
        }
    }

    fn send_proposal(&mut self, peer: ReplicaId, instance: Instance, value: &Value, effects: &mut Vec<Effect>) {
        self.counters.retransmissions += 1;
        self.peers.shown(peer, self.now);
        let message = Message::Propose(self.retransmission.ballot, instance, value.clone());
        effects.push(Effect::Send(peer, PeerMessage::Core(message)));
    }
}

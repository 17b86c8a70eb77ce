//! Catch-up: fetches missed instances from peers.
//!
//! The progress of the others is known from their status messages and from commits. A replica asks when the next instance has
//! been missing for a while, or when a peer has truncated an instance that it needs. (The distance does not matter: while the
//! replica makes progress, the missing instances are on their way, and a query would only add to the load that made it slow.)
//! It continues until nothing is missing. A learner receives no values unasked, so it asks whenever there is something new.
//! Queries go to one peer at a time: first to replicas that do not lead, and to the next one when no answer comes in time or
//! the answer holds nothing new. When no peer has anything new, it is idle until a peer reports a newer instance. Answers are
//! charged: after one the replica waits until its bytes fit the rate.

use super::peers::{PeerSet, Peers};
use super::round_trip::RoundTrip;
use super::{Effect, Replica};
use crate::config::Options;
use crate::core::{Core, Event, Instance, Message, ReplicaId};
use env::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// The shortest time to wait for an answer, and the time while nothing is measured. The longest is twice the suspicion timeout: a
/// snapshot may be longer on its way, but its pieces show that it is.
const FLOOR: Duration = Duration::from_millis(50);
const INITIAL_TIMEOUT: Duration = Duration::from_millis(200);

/// An instance is given so much time to come by itself: a share of the suspicion timeout, between these bounds.
const HOLE_SHARE: u32 = 10;
const HOLE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

#[derive(Debug)]
struct Query {
    peer: ReplicaId,
    sent: Moment,
    /// When the answer is no longer waited for.
    until: Moment,
}

#[derive(Debug)]
pub(super) struct CatchUp {
    replicas: u64,
    id: ReplicaId,
    bytes_per_s: u64,
    /// Time to wait for a missing instance before asking for it.
    hole: Duration,
    rest: Duration,
    /// The longest time to wait for an answer, or for its next piece.
    cap: Duration,
    query: Option<Query>,
    /// Peers that were asked and have not answered. Answers of others are dropped, since they could fill the journal.
    asked: PeerSet,
    /// Peers that had nothing new or did not answer, and the time until which others are asked instead.
    passed_over: BTreeMap<ReplicaId, Moment>,
    /// Peer to ask next, if possible.
    turn: ReplicaId,
    /// Queries in a row that were not answered.
    silences: u32,
    answers: RoundTrip,
    /// The next instance to execute, and since when it is missing.
    missing: Option<(Instance, Moment)>,
    /// Starts fetching: the missing instances will not be sent unasked.
    fetching: bool,
    /// No query before then.
    not_before: Moment,
}

impl CatchUp {
    pub(super) fn new(options: &Options, now: Moment) -> Self {
        Self {
            replicas: options.replicas,
            id: options.id,
            bytes_per_s: options.catch_up_bytes_per_s,
            hole: (options.suspicion / HOLE_SHARE).clamp(HOLE.0, HOLE.1),
            rest: options.suspicion / 4,
            cap: options.suspicion * 2,
            query: None,
            asked: PeerSet::default(),
            passed_over: BTreeMap::new(),
            turn: options.id,
            silences: 0,
            answers: RoundTrip::default(),
            missing: None,
            fetching: false,
            not_before: now,
        }
    }

    /// Called when a peer has truncated instances that this replica needs, which will not be sent unasked.
    pub(super) fn hurry(&mut self) {
        self.fetching = true;
    }

    /// Clears the mark of a peer that had nothing new; it may have something now.
    pub(super) fn try_again(&mut self, peer: ReplicaId) {
        self.passed_over.remove(&peer);
    }

    /// Returns whether this peer was asked for an answer.
    pub(super) fn expects(&self, from: ReplicaId) -> bool {
        self.asked.contains(from)
    }

    /// A part of the answer has come; the rest is on its way.
    pub(super) fn progress(&mut self, from: ReplicaId, now: Moment) {
        let time_limit = self.time_limit();
        if let Some(query) = self.query.as_mut().filter(|query| query.peer == from) {
            query.until = now + time_limit;
        }
    }

    /// Records an answer of this number of bytes. `useful`: it holds the next instance.
    pub(super) fn answered(&mut self, from: ReplicaId, bytes: u64, useful: bool, now: Moment) {
        self.asked.remove(from);
        if let Some(query) = self.query.take_if(|query| query.peer == from) {
            self.answers.sample(now.since(query.sent));
            self.silences = 0;
        }
        if useful {
            self.passed_over.remove(&from);
            self.turn = from;
        } else {
            self.passed_over.insert(from, now + self.rest);
        }
        let cost = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_s.max(1));
        self.not_before = self.not_before.max(now) + Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX));
    }

    /// Nothing is missing. Answers that are on their way are taken in, but not waited for.
    fn done(&mut self) {
        (self.query, self.missing, self.fetching) = (None, None, false);
    }

    /// Returns whether to ask now for instances from `executed` on, which others have executed.
    fn wants(&mut self, executed: Instance, now: Moment) -> bool {
        if self.missing.is_none_or(|(instance, _)| instance != executed) {
            self.missing = Some((executed, now));
        }
        if let Some(query) = self.query.take_if(|query| query.until <= now) {
            self.passed_over.insert(query.peer, now + self.cap);
            self.silences += 1;
        }
        let learns = self.id >= self.replicas;
        self.fetching |= learns || self.hole_ends() <= now;
        self.fetching && self.query.is_none() && self.not_before <= now
    }

    fn hole_ends(&self) -> Moment {
        self.missing.map_or(Moment::NEVER, |(_, since)| since + self.hole)
    }

    /// Returns the peer to ask: a connected voter other than this replica, starting with the one whose turn it is; the leader
    /// last.
    fn choose(&self, peers: &Peers, leader: Option<ReplicaId>, now: Moment) -> Option<ReplicaId> {
        let waits = |peer: &ReplicaId| self.passed_over.get(peer).is_some_and(|until| now < *until);
        let able = |peer: &ReplicaId| peers.is_connected(*peer) && *peer != self.id && !waits(peer);
        let turns = (0..self.replicas).map(|i| (self.turn + i) % self.replicas).filter(able);
        turns.clone().find(|peer| Some(*peer) != leader).or_else(|| turns.clone().next())
    }

    fn ask(&mut self, peer: ReplicaId, now: Moment) {
        self.query = Some(Query { peer, sent: now, until: now + self.time_limit() });
        self.asked.insert(peer);
        self.turn = peer;
    }

    fn time_limit(&self) -> Duration {
        self.answers.timeout(self.silences, INITIAL_TIMEOUT, FLOOR, self.cap)
    }

    /// Pauses when no peer has newer instances: all may be asked again, later.
    fn rest(&mut self, now: Moment) {
        self.done();
        self.passed_over.clear();
        self.not_before = self.not_before.max(now + self.rest);
    }

    pub(super) fn deadline(&self) -> Moment {
        match (&self.query, self.fetching) {
            (Some(query), _) => query.until,
            (None, true) => self.not_before,
            (None, false) => self.hole_ends(),
        }
    }
}

impl<C: Core> Replica<C> {
    /// Others are known to have executed much more.
    pub(super) fn is_behind(&self) -> bool {
        self.peers.goal() > self.view.executed.saturating_add(self.options.window)
    }

    /// Asks for what is missing.
    pub(super) fn fetch_missed(&mut self, effects: &mut Vec<Effect>) {
        let (executed, goal) = (self.view.executed, self.peers.goal());
        if goal <= executed || self.ready {
            self.catch_up.done();
        } else if self.catch_up.wants(executed, self.now) {
            let leader = self.detector.leader();
            if let Some(peer) = self.catch_up.choose(&self.peers, leader, self.now) {
                self.counters.queries += 1;
                self.catch_up.ask(peer, self.now);
                self.drive(Event::CatchUp(peer, goal), effects);
            } else {
                self.catch_up.rest(self.now);
                self.peers.doubt_claims(executed);
            }
        }
    }

    /// Records an answer to a query and returns whether it is to be passed to the core.
    pub(super) fn answer_heard(&mut self, from: ReplicaId, message: &Message) -> bool {
        let executed = self.view.executed;
        let (bytes, useful) = match message {
            Message::Learned(decisions) => (
                decisions.iter().map(|decision| decision.value.len() as u64).sum(),
                decisions.iter().any(|decision| decision.instance == executed),
            ),
            Message::Snapshot(at, image) => (image.len(), *at > executed),
            _ => return true,
        };
        let expected = self.catch_up.expects(from);
        if expected {
            self.catch_up.answered(from, bytes, useful, self.now);
        }
        expected && useful
    }
}

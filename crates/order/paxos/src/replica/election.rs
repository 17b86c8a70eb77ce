//! The named steps around leadership: suspicions, candidacies, heartbeats, and reporting the leader to clients.

use super::peers::PeerSet;
use super::{Effect, Replica};
use crate::core::{Ballot, Core, Event, Message, ReplicaId, Role};
use crate::message::PeerMessage;
use env::Moment;
use std::time::Duration;

/// When this replica shows others that it lives.
#[derive(Debug)]
pub(super) struct Heartbeats {
    /// A leader shows itself to everybody at least so often, a follower to its leader.
    interval: Duration,
    /// Maximum time between two reports of this replica's progress to all others.
    news_interval: Duration,
    next: Moment,
    next_news: Moment,
}

/// Heartbeats in one suspicion timeout: several may be lost before the leader is suspected.
const HEARTBEATS: u32 = 5;

impl Heartbeats {
    pub(super) fn new(suspicion: Duration, now: Moment) -> Self {
        Self { interval: suspicion / HEARTBEATS, news_interval: suspicion, next: now, next_news: now }
    }

    pub(super) fn deadline(&self) -> Moment {
        self.next
    }
}

impl<C: Core> Replica<C> {
    /// Suspects the leader, announces that, and becomes a candidate.
    pub(super) fn fail_over(&mut self, effects: &mut Vec<Effect>) {
        self.detector.look(self.now, &self.peers);
        if self.detector.announce_at() <= self.now {
            let ballot = self.detector.announce(self.now);
            let voters = self.peers.voters();
            effects.extend(voters.map(|peer| Effect::Send(peer, PeerMessage::Suspicion(ballot))));
        }
        if self.candidacy_at() <= self.now {
            self.counters.candidacies += 1;
            self.drive(Event::Suspect, effects);
        }
    }

    /// When to become a candidate, as things are.
    pub(super) fn candidacy_at(&self) -> Moment {
        match self.admission.is_over() {
            true => self.detector.candidacy_at(self.now, &self.peers, self.is_behind()),
            false => Moment::NEVER,
        }
    }

    /// The ballot or the role has changed.
    pub(super) fn leadership_changed(&mut self) {
        if self.view.role == Role::Leading {
            self.counters.elections += 1;
            self.announce = true;
        } else {
            self.retransmission.clear();
            self.batcher.drop_foreign();
        }
    }

    /// Handles a peer's report that it has no leader. A replica that knows one reports it.
    pub(super) fn suspicion_heard(&mut self, from: ReplicaId, ballot: Ballot, effects: &mut Vec<Effect>) {
        self.peers.suspected(from, self.now);
        if self.detector.leads() && ballot > self.view.promised {
            // Its candidacy was lost on the way, and it cannot come back to this ballot. A new one gives all a common ballot: it joins, or
            // its core rejects and says how high it is.
            self.counters.candidacies += 1;
            self.drive(Event::Suspect, effects);
            return;
        }
        if self.detector.leads() || ballot < self.view.promised {
            self.show_life(PeerSet::from_iter([from]), effects);
        }
    }

    /// Heartbeats, where nothing else has shown lately that this replica lives.
    pub(super) fn beat(&mut self, effects: &mut Vec<Effect>) {
        if self.announce {
            self.announce = false;
            self.show_life(self.peers.voters().chain(self.peers.learners()).collect(), effects);
        }
        if self.heartbeats.next > self.now {
            return;
        }
        let news = self.heartbeats.next_news <= self.now;
        if news {
            self.heartbeats.next_news = self.now + self.heartbeats.news_interval;
            self.tell_durable(self.peers.voters(), effects);
        }
        let due = |peer: &ReplicaId| self.peers.show_at(*peer, self.now, self.heartbeats.interval) <= self.now;
        let listeners: PeerSet = match self.detector.leads() {
            true => self.peers.voters().chain(self.peers.learners()).filter(due).collect(),
            false if news => self.peers.voters().chain(self.peers.learners()).collect(),
            false => [self.detector.owner()].into_iter().filter(due).collect(),
        };
        self.show_life(listeners, effects);
        self.heartbeats.next = self.next_beat();
    }

    fn next_beat(&self) -> Moment {
        let soonest = self.now + self.heartbeats.interval;
        if !self.detector.leads() {
            return soonest;
        }
        let show_at = |peer| self.peers.show_at(peer, self.now, self.heartbeats.interval);
        let due = self.peers.voters().chain(self.peers.learners()).map(show_at);
        due.filter(|at| *at > self.now).min().unwrap_or(soonest)
    }

    /// Tells some peers the highest ballot and how far this replica is. Nobody must take a replica for a leader that is none: the owner
    /// of the ballot keeps silent unless it leads. Learners have nothing that others need.
    pub(super) fn show_life(&mut self, listeners: PeerSet, effects: &mut Vec<Effect>) {
        let owns = self.detector.owner() == self.options.id;
        if listeners.is_empty() || !self.options.votes() || (owns && !self.detector.leads()) {
            return;
        }
        // The core says it to all; those who need it now are fewer, and to the others it is lost.
        self.listeners = Some(listeners);
        self.drive(Event::Heartbeat, effects);
        self.listeners = None;
    }

    /// Reports the leader to the own clients, when it has changed, or when forwarded requests may be lost.
    pub(super) fn tell_leader(&mut self, effects: &mut Vec<Effect>) {
        let leader = self.detector.leader();
        let ballot = leader.map_or(0, |_| self.view.promised);
        let changed = self.reported != (leader, ballot);
        if !changed && !self.forwards.are_lost(self.now) {
            return;
        }
        self.reported = (leader, ballot);
        self.forwards.forget();
        effects.push(Effect::Leader(leader, self.view.promised));
    }

    /// Handles a new connection to a peer: messages sent before may be lost.
    pub(super) fn connected(&mut self, peer: ReplicaId, effects: &mut Vec<Effect>) {
        self.peers.connect(peer);
        self.met_by(peer, effects);
        self.catch_up.try_again(peer);
        self.show_life(PeerSet::from_iter([peer]), effects);
        self.tell_durable(self.peers.voters().filter(|voter| *voter == peer), effects);
        if self.detector.suspects() && self.options.votes() && peer < self.options.replicas {
            effects.push(Effect::Send(peer, PeerMessage::Suspicion(self.view.promised)));
        }
        if self.detector.leads() {
            self.resend_open_to(peer, effects);
        }
        if self.detector.leader() == Some(peer) {
            self.forwards.lose();
        }
    }
}

/// Returns the ballot in which the sender leads, if the message shows that it does.
pub(super) fn leads_in(message: &Message) -> Option<Ballot> {
    match message {
        Message::Alive(ballot, _) | Message::Propose(ballot, ..) | Message::Commit(ballot, _) => Some(*ballot),
        _ => None,
    }
}

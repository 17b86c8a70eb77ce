//! Failure detector: the current leader, suspicion, and the order of candidates.
//!
//! A leader that is silent for the suspicion timeout is suspected, and a replica that suspects it tells all voters, repeatedly.
//! A replica becomes a candidate only when a majority (this replica included) has reported suspicion lately. So an isolated
//! replica does not depose a leader that the others receive, and does not raise ballots while it is alone. Candidates come
//! forward in ring order after the suspected leader, a few per cent of the timeout apart, so that normally there is one
//! candidate.
//!
//! | state of the highest ballot | suspected |
//! | --- | --- |
//! | its owner has led in it | when the timeout has passed since the last such message |
//! | it is new: its owner is a candidate, or a message named the ballot | after half the timeout |
//! | this replica has just started | at once: an existing leader answers |
//! | this replica is its candidate | until it is elected; it tries again after a random time, first a quarter to half the timeout |
//! | this replica leads in it | when it has received nothing for the timeout from a majority that receives it: who reports suspicion does not |
//!
//! A leader without contact to a majority steps aside silently: it proposes nothing, sends no heartbeats, names no leader to
//! its clients and supports the suspicion of others. It keeps its ballot, since there may be no higher one: if a majority
//! answers again first, it continues.

use super::peers::Peers;
use crate::config::Options;
use crate::core::{Ballot, ReplicaId, Role, View};
use env::Moment;
use env::Randomness;
use std::time::Duration;

/// Maximum number of doublings of the time between a candidate's attempts.
const MAX_DOUBLINGS: u32 = 2;

#[derive(Debug)]
pub(super) struct Detector {
    id: ReplicaId,
    replicas: u64,
    suspicion: Duration,
    ballot: Ballot,
    role: Role,
    /// Whether a message of the ballot's owner as its leader was received, or this replica leads in it.
    led: bool,
    /// Time at which silence becomes suspicion.
    silence_ends: Moment,
    /// Since when the leader is suspected.
    suspecting: Option<Moment>,
    /// Time of the last announcement.
    said: Option<Moment>,
    /// When a candidate tries again.
    retry_at: Moment,
    /// Candidacies since the last message of a leader.
    candidacies: u32,
    /// As the leader: time of the next check for contact to a majority.
    contact_ends: Moment,
}

impl Detector {
    pub(super) fn new(options: &Options, view: &View, now: Moment) -> Self {
        Self {
            id: options.id,
            replicas: options.replicas,
            suspicion: options.suspicion,
            ballot: view.promised,
            role: view.role,
            led: false,
            silence_ends: now,
            suspecting: None,
            said: None,
            retry_at: now,
            candidacies: 0,
            contact_ends: now,
        }
    }

    /// Returns the current leader, if it is known.
    pub(super) fn leader(&self) -> Option<ReplicaId> {
        (self.led && self.suspecting.is_none()).then(|| self.owner())
    }

    /// Returns whether this replica leads and has contact to a majority, as far as it has observed.
    pub(super) fn leads(&self) -> bool {
        self.role == Role::Leading && self.suspecting.is_none()
    }

    /// Returns the owner of the highest ballot.
    pub(super) fn owner(&self) -> ReplicaId {
        self.ballot % self.replicas
    }

    pub(super) fn suspects(&self) -> bool {
        self.suspecting.is_some()
    }

    fn votes(&self) -> bool {
        self.id < self.replicas
    }

    /// The core has taken an event. True if the ballot or the role has changed.
    pub(super) fn observe(&mut self, view: &View, now: Moment, randomness: &mut Randomness) -> bool {
        if (view.promised, view.role) == (self.ballot, self.role) {
            return false;
        }
        (self.ballot, self.role) = (view.promised, view.role);
        self.led = self.role == Role::Leading;
        match self.role {
            Role::Leading => {
                (self.suspecting, self.candidacies) = (None, 0);
                self.contact_ends = now + self.suspicion;
            }
            Role::Preparing => {
                self.suspecting = self.suspecting.or(Some(now));
                self.retry_at = now + self.retry_delay(randomness);
                self.candidacies += 1;
            }
            Role::Follower => {
                (self.suspecting, self.said) = (None, None);
                self.silence_ends = now + self.suspicion / 2;
            }
        }
        true
    }

    /// A candidate that fails again and again leaves the others time to suspect it and to come forward themselves: some may reach a
    /// majority that it does not reach.
    fn retry_delay(&self, randomness: &mut Randomness) -> Duration {
        let shortest = (self.suspicion / 4) * (1 << self.candidacies.min(MAX_DOUBLINGS));
        let shortest = u64::try_from(shortest.as_nanos()).unwrap_or(u64::MAX / 2);
        Duration::from_nanos(randomness.in_range(shortest..shortest * 2))
    }

    /// The owner of this ballot has shown that it leads in it.
    pub(super) fn leader_heard(&mut self, from: ReplicaId, ballot: Ballot, now: Moment) {
        if self.role == Role::Follower && ballot == self.ballot && from == self.owner() {
            self.led = true;
            (self.suspecting, self.candidacies) = (None, 0);
            self.silence_ends = now + self.suspicion;
        }
    }

    /// Updates the state by the time: suspects the leader, or finds that a majority can be reached again.
    pub(super) fn look(&mut self, now: Moment, peers: &Peers) {
        match self.role {
            Role::Follower if now >= self.silence_ends => self.suspect(now),
            Role::Leading if self.suspects() || now >= self.contact_ends => match peers.contact(now, self.suspicion) {
                Some(until) if until > now => (self.suspecting, self.contact_ends) = (None, until),
                _ => self.suspect(now),
            },
            _ => {}
        }
    }

    fn suspect(&mut self, now: Moment) {
        if self.suspecting.is_none() {
            (self.suspecting, self.said) = (Some(now), None);
        }
    }

    /// When to say to all that the leader is suspected.
    pub(super) fn announce_at(&self) -> Moment {
        match (self.suspecting, self.said) {
            (Some(_), Some(said)) if self.votes() => said + self.suspicion / 4,
            (Some(since), None) if self.votes() => since,
            _ => Moment::NEVER,
        }
    }

    /// Records an announcement of the suspicion. Returns the ballot to name.
    pub(super) fn announce(&mut self, now: Moment) -> Ballot {
        self.said = Some(now);
        self.ballot
    }

    /// When to become a candidate, as things are. `behind`: others are known to have executed much more than this replica.
    pub(super) fn candidacy_at(&self, now: Moment, peers: &Peers, behind: bool) -> Moment {
        let Some(since) = self.suspecting.filter(|_| self.votes()) else { return Moment::NEVER };
        if !peers.is_majority(1 + peers.suspecting(now, self.suspicion)) {
            return Moment::NEVER;
        }
        match self.role {
            Role::Leading => Moment::NEVER,
            Role::Preparing => self.retry_at,
            Role::Follower => since + self.stagger(behind),
        }
    }

    /// Returns the delay before this replica comes forward. It is zero for the next one in the ring after a leader that was
    /// heard, or, without one, for the ballot's owner. A replica that is behind lets all others go first.
    fn stagger(&self, behind: bool) -> Duration {
        let n = self.replicas;
        let distance = (self.id + n - self.owner() - u64::from(self.led)) % n;
        let turns = distance + if behind { n } else { 0 };
        let turn = self.suspicion / u32::try_from(2 * n).unwrap_or(u32::MAX);
        turn * u32::try_from(turns).unwrap_or(u32::MAX)
    }

    /// Next time at which [`look`](Self::look) changes the state, or at which an announcement is due, if no message arrives until then.
    pub(super) fn deadline(&self) -> Moment {
        let look = match self.role {
            _ if self.suspects() => Moment::NEVER,
            Role::Follower => self.silence_ends,
            Role::Leading => self.contact_ends,
            Role::Preparing => Moment::NEVER,
        };
        look.min(self.announce_at())
    }
}

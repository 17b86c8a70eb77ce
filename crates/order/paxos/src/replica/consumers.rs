//! What the voters' consumers have on their disks, as each says of its own.
//!
//! Whoever forgets no more than a majority of them has leaves every payload with a majority of the voters, in a journal or in a state
//! that is durable (decision 0176). The last report of a voter counts, also while it is away: its disk is there, or it is one of the few
//! that may be lost. It counts even if it is lower than the one before: rows were lost. Reports are lost with the connection, or where too
//! much waits to be sent: they are repeated to who connects, and with the periodic news.

use super::{Effect, Replica};
use crate::core::{Core, Instance, ReplicaId};
use crate::message::PeerMessage;

#[derive(Debug)]
pub(super) struct Consumers {
    id: ReplicaId,
    /// By voter: the instance below which its consumer has everything. Who has said nothing has nothing.
    durable: Vec<Option<Instance>>,
    /// Everything below may be forgotten, as was told.
    told: Instance,
}

impl Consumers {
    pub(super) fn new(replicas: u64, id: ReplicaId) -> Self {
        Self { id, durable: (0..replicas).map(|_| None).collect(), told: 0 }
    }

    fn of(&mut self, replica: ReplicaId) -> Option<&mut Option<Instance>> {
        usize::try_from(replica).ok().and_then(|replica| self.durable.get_mut(replica))
    }

    /// What the own consumer has, if it counts and has said something.
    fn own(&self) -> Option<Instance> {
        usize::try_from(self.id).ok().and_then(|own| self.durable.get(own).copied().flatten())
    }

    /// What the consumers that have said something have, by voter.
    fn reported(&self) -> impl Iterator<Item = (ReplicaId, Instance)> {
        (0..).zip(&self.durable).filter_map(|(voter, below)| Some((voter, (*below)?)))
    }

    /// The instance below which a majority has everything, if that is more than the last time.
    fn more(&mut self) -> Option<Instance> {
        let mut all = self.durable.clone();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let majority = all.get(all.len() / 2).copied().flatten().filter(|below| *below > self.told)?;
        self.told = majority;
        Some(majority)
    }
}

impl<C: Core> Replica<C> {
    /// By voter: the instance below which its consumer has everything on its disk, as it has said last.
    pub fn durable(&self) -> impl Iterator<Item = (ReplicaId, Instance)> {
        self.consumers.reported()
    }

    /// The own consumer has everything below on its disk. In one life that only grows.
    pub(super) fn consumer_has(&mut self, below: Instance, effects: &mut Vec<Effect>) {
        let Some(own) = self.consumers.of(self.options.id).filter(|own| **own < Some(below)) else { return };
        *own = Some(below);
        self.tell_durable(self.peers.voters(), effects);
        self.may_forget(effects);
    }

    /// A peer says what its consumer has. Only voters count.
    pub(super) fn peer_has(&mut self, from: ReplicaId, below: Instance, effects: &mut Vec<Effect>) {
        if let Some(reported) = self.consumers.of(from) {
            *reported = Some(below);
            self.may_forget(effects);
        }
    }

    fn may_forget(&mut self, effects: &mut Vec<Effect>) {
        effects.extend(self.consumers.more().map(Effect::MayForget));
    }

    /// Says what the own consumer has, if that counts.
    pub(super) fn tell_durable(&self, to: impl Iterator<Item = ReplicaId>, effects: &mut Vec<Effect>) {
        let Some(own) = self.consumers.own() else { return };
        effects.extend(to.map(|peer| Effect::Send(peer, PeerMessage::Durable(own))));
    }
}

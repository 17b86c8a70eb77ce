//! What happens between nodes: connections are made and break, packets arrive.

use super::{Cluster, Happening, brief};
use crate::sim::host::encode;
use env::Survival;
use paxos::acquaintances::Rejection;
use paxos::core::{ReplicaId, generated};
use paxos::message::PeerMessage;
use paxos::replica::Input;
use sim::MILLISECOND;
use sim::Packet;
use sim::{Violation, demand};

impl Cluster {
    pub(super) fn link(&mut self, one: usize, other: usize) -> &mut bool {
        let (low, high) = (one.min(other), one.max(other));
        &mut self.connected[low * self.hosts.len() + high]
    }

    /// Two nodes try to connect, and try again later if they cannot.
    pub(super) fn connect(&mut self, one: usize, other: usize) -> Result<(), Violation> {
        let cut = self.network.is_cut(one, other) || self.network.is_cut(other, one);
        if cut || self.hosts[one].life.is_none() || self.hosts[other].life.is_none() {
            let at = self.now + self.randomness.in_range(20 * MILLISECOND..100 * MILLISECOND);
            self.agenda.enter(at, Happening::Connect(one, other));
            return Ok(());
        }
        if !self.greet(one, other)? {
            let at = self.now + self.randomness.in_range(20 * MILLISECOND..100 * MILLISECOND);
            self.agenda.enter(at, Happening::Connect(one, other));
            return Ok(());
        }
        *self.link(one, other) = true;
        self.feed(one, Input::Connected(other as ReplicaId))?;
        self.feed(other, Input::Connected(one as ReplicaId))
    }

    /// Both ends judge each other, as in a greeting. Who is refused has forgotten something, and stops, as the product does.
    fn greet(&mut self, one: usize, other: usize) -> Result<bool, Violation> {
        for (judge, met) in [(one, other), (other, one)] {
            let Some(membership) = self.hosts[met].membership() else { return Ok(false) };
            match self.hosts[judge].life.as_mut().map(|life| life.acquaintances.meet(&membership)) {
                None | Some(Ok(())) => {}
                Some(Err(Rejection::NotNoted(error))) => {
                    self.stop(judge, &error)?;
                    return Ok(false);
                }
                Some(Err(Rejection::Refused(refusal))) => {
                    demand!(
                        self.hosts[met].is_forgetful,
                        "R{judge} refuses R{met}, who has forgotten nothing: {refusal}"
                    );
                    self.tell(|| format!("R{judge} refuses R{met}: {refusal}"));
                    self.chronicle.count("refusals of the forgetful");
                    self.hosts[met].is_dismissed = true;
                    self.crash(met, Survival::Everything);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// A node tells whoever is connected how long its journal is.
    pub(super) fn tell_records(&mut self, node: usize) -> Result<(), Violation> {
        let Some(membership) = self.hosts[node].membership() else { return Ok(()) };
        for other in (0..self.hosts.len()).filter(|other| *other != node) {
            let is_heard = *self.link(node, other) && !self.network.is_cut(node, other);
            let Some(life) = self.hosts[other].life.as_mut().filter(|_| is_heard) else { continue };
            let heard = life.acquaintances.hear(node as ReplicaId, membership.records);
            demand!(
                heard.is_ok(),
                "R{other} has heard that the journal of R{node} was longer than {}",
                membership.records
            );
        }
        Ok(())
    }

    /// Those whose connection has broken learn of it, and try to make it again.
    pub(super) fn notice_broken(&mut self) -> Result<(), Violation> {
        for (one, other) in self.network.take_broken() {
            if !std::mem::take(self.link(one, other)) {
                continue;
            }
            for (node, peer) in [(one, other), (other, one)] {
                if let Some(life) = self.hosts[node].life.as_mut() {
                    life.forget_pieces(peer as ReplicaId);
                    if let Err(error) = life.acquaintances.note() {
                        self.stop(node, &error)?;
                    }
                }
                self.feed(node, Input::Disconnected(peer as ReplicaId))?;
            }
            let at = self.now + self.randomness.in_range(MILLISECOND..50 * MILLISECOND);
            self.agenda.enter(at, Happening::Connect(one, other));
        }
        let nodes = self.hosts.len();
        for (one, other) in self.access.take_broken() {
            let (node, client) = (one.min(other), one.max(other));
            if client >= nodes && node < nodes {
                self.hang_up(client - nodes, node);
            }
        }
        Ok(())
    }

    pub(super) fn post(&mut self, node: usize, to: ReplicaId, message: &PeerMessage) -> Result<(), Violation> {
        if let PeerMessage::Core(message) = message {
            let votes = self.hosts[node].options.votes();
            demand!(votes || !generated::waits(message), "R{node} only learns, and says {}", brief(message));
            let is_forgetful = self.hosts[node].is_forgetful;
            demand!(!is_forgetful || !generated::waits(message), "R{node} has forgotten, and says {}", brief(message));
            self.hosts[node].word.give(message);
        }
        let to = to as usize;
        demand!(to != node, "R{node} sends to itself: {}", brief(message));
        if to < self.hosts.len() && *self.link(node, to) {
            for bytes in encode(message, self.setting.piece_bytes)? {
                self.network.send(self.now, node, to, bytes);
            }
        }
        Ok(())
    }

    pub(super) fn carry(&mut self) -> Result<(), Violation> {
        let Some(Packet { from, to, bytes, .. }) = self.network.deliver(self.now) else { return Ok(()) };
        self.chronicle.digest(self.now ^ (bytes.len() as u64) << 40 ^ (from << 8 | to) as u64);
        self.chronicle.count("packets");
        let Some(life) = self.hosts[to].life.as_mut() else { return Ok(()) };
        let from = from as ReplicaId;
        for message in life.decode(&bytes)? {
            let life = self.hosts[to].life.as_mut();
            let whole = life.map_or(Ok(None), |life| life.piece(from, &message))?;
            self.feed(to, Input::Peer { from, message: whole.unwrap_or(message) })?;
        }
        Ok(())
    }
}

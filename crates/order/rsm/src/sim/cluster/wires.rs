//! Events between nodes: connections are made and break, packets arrive.

use super::{Cluster, brief};
use crate::sim::host::encode;
use env::Survival;
use paxos::core::{Message, ReplicaId, generated};
use paxos::known_voters::Rejection;
use paxos::message::PeerMessage;
use paxos::replica::Input;
use sim::Packet;
use sim::{Violation, demand};

impl Cluster {
    /// Both ends judge each other, as in a greeting. Who is refused has forgotten something, and stops, as the product does.
    pub(super) fn judge_each_other(&mut self, one: usize, other: usize) -> Result<bool, Violation> {
        for (judge, met) in [(one, other), (other, one)] {
            let Some(membership) = self.hosts[met].membership() else { return Ok(false) };
            match self.hosts[judge].life.as_mut().map(|life| life.known_voters.meet(&membership)) {
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
                    self.world.step(|| format!("R{judge} refuses R{met}: {refusal}"));
                    self.world.trace.count("refusals of the forgetful");
                    self.hosts[met].is_dismissed = true;
                    self.crash(met, Survival::Everything);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Sends the length of a node's journal to the nodes connected to it.
    pub(super) fn tell_records(&mut self, node: usize) -> Result<(), Violation> {
        let Some(membership) = self.hosts[node].membership() else { return Ok(()) };
        for other in (0..self.hosts.len()).filter(|other| *other != node) {
            let is_heard = self.world.is_connected(node, other) && !self.world.network.is_cut(node, other);
            let Some(life) = self.hosts[other].life.as_mut().filter(|_| is_heard) else { continue };
            let heard = life.known_voters.update_records(node as ReplicaId, membership.records);
            demand!(
                heard.is_ok(),
                "R{other} has heard that the journal of R{node} was longer than {}",
                membership.records
            );
        }
        Ok(())
    }

    /// A node loses its connection with a peer, and what it was in the middle of.
    pub(super) fn lose_peer(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        if let Some(life) = self.hosts[node].life.as_mut() {
            life.forget_pieces(peer as ReplicaId);
            if let Err(error) = life.known_voters.note() {
                self.stop(node, &error)?;
            }
        }
        self.feed(node, Input::Disconnected(peer as ReplicaId))
    }

    pub(super) fn post(&mut self, node: usize, to: ReplicaId, message: &PeerMessage) -> Result<(), Violation> {
        if let PeerMessage::Core(message) = message {
            let votes = self.hosts[node].options.votes();
            demand!(votes || !generated::waits(message), "R{node} only learns, and says {}", brief(message));
            let is_forgetful = self.hosts[node].is_forgetful;
            demand!(!is_forgetful || !generated::waits(message), "R{node} has forgotten, and says {}", brief(message));
            self.hosts[node].word.give(message);
        }
        if let (PeerMessage::Core(Message::Query(from, _)), Some(life)) = (message, &mut self.hosts[node].life) {
            life.asked.ask(to, *from);
        }
        let to = to as usize;
        demand!(to != node, "R{node} sends to itself: {}", brief(message));
        if to < self.hosts.len() && self.world.is_connected(node, to) {
            let packets = match encode(message, self.setting.piece_bytes) {
                Ok(packets) => packets?,
                Err(error) => return self.stop(node, &error),
            };
            for bytes in packets {
                self.world.network.send(self.world.now, node, to, bytes);
            }
        }
        Ok(())
    }

    pub(super) fn carry(&mut self, packet: &Packet) -> Result<(), Violation> {
        let Packet { from, to, bytes, .. } = packet;
        let (from, to) = (*from, *to);
        self.world.trace.digest(self.world.now ^ (bytes.len() as u64) << 40 ^ (from << 8 | to) as u64);
        self.world.trace.count("packets");
        let Some(life) = self.hosts[to].life.as_mut() else { return Ok(()) };
        let from = from as ReplicaId;
        for message in life.decode(bytes)? {
            let Some(life) = self.hosts[to].life.as_mut() else { return Ok(()) };
            match life.put_together(from, message) {
                Ok(Some(message)) => self.feed(to, Input::Peer { from, message })?,
                Ok(None) => self.world.trace.count("snapshots that nobody asked for"),
                Err(error) => return self.stop(to, &error),
            }
        }
        Ok(())
    }
}

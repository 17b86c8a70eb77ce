//! Events between nodes and clients: connections, requests, answers and disconnections.

use super::{Cluster, ScheduledEvent, brief};
use crate::executor::Reply;
use crate::message::{ClientMessage, ReplicaMessage};
use crate::sim::client::Connection;
use crate::sim::host::{decode, encode_one};
use crate::sim::judge::Knowledge;
use paxos::core::ReplicaId;
use paxos::replica::Input;
use paxos::request::{Chunk, OPEN, Request};
use sim::MILLISECOND;
use sim::Packet;
use sim::Violation;

impl Cluster {
    pub(super) fn act(&mut self, client: usize) -> Result<(), Violation> {
        let now = self.world.now;
        match self.clients[client].connection {
            Connection::Pausing(until) if until <= now => self.dial(client),
            _ => {}
        }
        let mut messages = Vec::new();
        let gives_up = self.clients[client].act(now, &mut messages);
        if let Connection::Open(node, _) = self.clients[client].connection {
            for message in &messages {
                self.world.step(|| format!("C{client} to R{node}: {}", brief(message)));
                let bytes = encode_one(message)?;
                self.world.access.send(now, self.hosts.len() + client, node as usize, bytes);
            }
            if gives_up {
                self.world.trace.count("impatient clients");
                self.hang_up(client, node as usize);
            }
        }
        Ok(())
    }

    pub(super) fn dial(&mut self, client: usize) {
        let state = &mut self.clients[client];
        let Some(node) = state.destination() else { return };
        state.connection = Connection::Dialing(node);
        state.attempt += 1;
        let attempt = state.attempt;
        let at = self.world.now + self.world.randomness.in_range(MILLISECOND / 10..5 * MILLISECOND);
        self.world.enter(at, ScheduledEvent::Dialed { client, attempt });
    }

    pub(super) fn dialed(&mut self, client: usize, attempt: u64) -> Result<(), Violation> {
        let now = self.world.now;
        let state = &mut self.clients[client];
        let Connection::Dialing(node) = state.connection else { return Ok(()) };
        if state.attempt != attempt {
            return Ok(());
        }
        let Some(life) = self.hosts.get_mut(node as usize).and_then(|host| host.life.as_mut()) else {
            state.on_disconnected(now);
            return Ok(());
        };
        state.connection = Connection::Open(node, now);
        life.clients.insert(client, now);
        let leader = life.replica.leader();
        self.world.step(|| format!("C{client} talks to R{node}"));
        self.tell_leader(node as usize, client, leader)
    }

    /// A client's connection ends: it gave up, or the connection broke.
    pub(super) fn hang_up(&mut self, client: usize, node: usize) {
        if let Some(life) = self.hosts[node].life.as_mut() {
            life.clients.remove(&client);
        }
        if matches!(self.clients[client].connection, Connection::Open(connected, _) if connected as usize == node) {
            self.clients[client].on_disconnected(self.world.now);
        }
    }

    pub(super) fn tell_leader(
        &mut self,
        node: usize,
        client: usize,
        leader: Option<ReplicaId>,
    ) -> Result<(), Violation> {
        let address = leader.map(|leader| leader.to_string());
        self.answer(node, client, &ReplicaMessage::Leader { leader, address })
    }

    pub(super) fn reply(&mut self, node: usize, reply: Reply) -> Result<(), Violation> {
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        let (client, message) = match reply {
            Reply::Opened { nonce, session } => {
                let client = life.nonces.remove(&nonce);
                life.sessions.extend(client.map(|client| (session, client)));
                (client, ReplicaMessage::Opened { nonce, session })
            }
            Reply::Done { session, sequence, outcome, .. } => {
                (life.sessions.get(&session).copied(), ReplicaMessage::Reply { session, sequence, outcome })
            }
        };
        match client {
            Some(client) => self.answer(node, client, &message),
            None => Ok(()),
        }
    }

    pub(super) fn answer(&mut self, node: usize, client: usize, message: &ReplicaMessage) -> Result<(), Violation> {
        let connected = self.hosts[node].life.as_ref().is_some_and(|life| life.clients.contains_key(&client));
        if connected {
            let bytes = encode_one(message)?;
            self.world.access.send(self.world.now, node, self.hosts.len() + client, bytes);
        }
        Ok(())
    }

    pub(super) fn carry_to_access(&mut self, packet: &Packet) -> Result<(), Violation> {
        self.world.trace.digest(self.world.now ^ (packet.bytes.len() as u64) << 40);
        match packet.to.checked_sub(self.hosts.len()) {
            Some(client) => self.carry_to_client(client, packet),
            None => self.carry_to_node(packet),
        }
    }

    pub(super) fn carry_to_client(&mut self, client: usize, packet: &Packet) -> Result<(), Violation> {
        let messages: Vec<ReplicaMessage> = decode(&mut self.client_decoder, &packet.bytes)?;
        for message in messages {
            // What was said on an earlier connection is not heard.
            let Connection::Open(node, since) = self.clients[client].connection else { return Ok(()) };
            if node as usize != packet.from || packet.sent_at < since {
                return Ok(());
            }
            self.world.step(|| format!("R{node} to C{client}: {}", brief(&message)));
            let mut completions = Vec::new();
            let leaves = self.clients[client].on_message(self.world.now, &message, &mut completions);
            for completion in completions {
                self.world.trace.count(if completion.outcome == Knowledge::Unknown {
                    "unknown outcomes"
                } else {
                    "answers"
                });
                self.judge.on_completion(completion)?;
            }
            if leaves {
                self.hang_up(client, packet.from);
            }
        }
        Ok(())
    }

    pub(super) fn carry_to_node(&mut self, packet: &Packet) -> Result<(), Violation> {
        let (node, client) = (packet.to, packet.from - self.hosts.len());
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        if life.clients.get(&client).is_none_or(|since| packet.sent_at < *since) {
            return Ok(());
        }
        for message in life.decode(&packet.bytes)? {
            let (session, sequence, nonce, body) = match message {
                ClientMessage::Open(nonce) => {
                    life.nonces.insert(nonce, client);
                    (OPEN, nonce, nonce, bytes::Bytes::new())
                }
                ClientMessage::Request { session, sequence, nonce, body } => {
                    life.sessions.insert(session, client);
                    (session, sequence, nonce, body)
                }
                ClientMessage::Status => continue,
            };
            let mut chunk = Chunk::new();
            let pushed =
                chunk.push(Request { origin: node as ReplicaId, session, sequence, nonce: Some(nonce), body: &body });
            pushed.map_err(|error| Violation(format!("R{node} takes no request: {error}")))?;
            life.inbox.push_back(chunk);
        }
        self.feed(node, Input::Tick)
    }
}

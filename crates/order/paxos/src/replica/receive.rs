//! Bookkeeping for an input, before and after the core processes it.

use super::election::leads_in;
use super::peers::MAX_REPLICAS;
use super::{Effect, Input, Replica};
use crate::core::{Core, Event, Instance, Message, ReplicaId};
use crate::message::PeerMessage;

impl<C: Core> Replica<C> {
    /// Applies an input, before any timer fires.
    pub(super) fn receive(&mut self, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Peer { from, message } if self.peers.is_peer(from) => self.peer_said(from, message, effects),
            Input::Connected(peer) if self.peers.is_peer(peer) => self.connected(peer, effects),
            Input::Peer { .. } | Input::Connected(_) => {}
            Input::Disconnected(peer) => self.peers.disconnect(peer),
            Input::Submit(chunk) => self.batcher.push(&chunk, true, self.now),
            Input::Durable(number) => self.release_durable(number, effects),
            Input::Executed(below) => {
                self.untaken.taken(below);
                self.settle(effects);
            }
            Input::Taken(at, image) => self.snapshot_taken(at, image, effects),
            Input::ConsumerHas(below) => self.consumer_has(below, effects),
            Input::Tick => {}
        }
    }

    fn peer_said(&mut self, from: ReplicaId, message: PeerMessage, effects: &mut Vec<Effect>) {
        self.peers.heard(from, self.now);
        match message {
            PeerMessage::Suspicion(ballot) => self.suspicion_heard(from, ballot, effects),
            PeerMessage::Piece { .. } => self.catch_up.progress(from, self.now),
            // The transport's affair.
            PeerMessage::Records(_) => {}
            PeerMessage::Durable(below) => self.peer_has(from, below, effects),
            PeerMessage::Core(Message::Forward(value)) => self.take_forward(from, value),
            PeerMessage::Core(message) => self.core_message(from, message, effects),
        }
    }

    fn core_message(&mut self, from: ReplicaId, message: Message, effects: &mut Vec<Effect>) {
        if !self.is_acceptable(&message) {
            return;
        }
        match &message {
            Message::Alive(_, executed) => self.peers.claim(from, *executed),
            Message::Commit(_, instance) => self.peers.claim(from, instance.saturating_add(1)),
            Message::Accept(ballot, instance) => self.retransmission.accepted(from, *ballot, *instance, self.now),
            Message::Truncated(below) => self.peer_has_forgotten(from, *below),
            _ => {}
        }
        if !self.answer_heard(from, &message) {
            return;
        }
        let leads_in = leads_in(&message);
        self.drive(Event::Receive(from, message), effects);
        if let Some(ballot) = leads_in {
            self.detector.leader_heard(from, ballot, self.now);
        }
    }

    fn peer_has_forgotten(&mut self, from: ReplicaId, below: Instance) {
        self.peers.claim(from, below);
        if below > self.view.executed {
            self.catch_up.hurry();
        }
    }
}

const _: () = assert!(MAX_REPLICAS == 64, "origins of requests are numbered alike");

//! Steps the core, and passes on its outputs.

use super::release::Recipient;
use super::{Effect, Replica};
use crate::core::{Core, Event, Message, Output, Record, ReplicaId, Role};
use crate::message::PeerMessage;

impl<C: Core> Replica<C> {
    /// One event, and all that follows from it here: own messages, deliveries, changes of ballot and role.
    pub(super) fn drive(&mut self, event: Event, effects: &mut Vec<Effect>) {
        self.step(event, effects);
        self.settle(effects);
    }

    /// Passes messages to itself back to the core at once, and delivers decided instances.
    pub(super) fn settle(&mut self, effects: &mut Vec<Effect>) {
        while let Some(message) = self.own.pop_front() {
            if let Message::Accept(ballot, instance) = &message {
                self.retransmission.accepted(self.options.id, *ballot, *instance, self.now);
            }
            self.step(Event::Receive(self.options.id, message), effects);
        }
        self.deliver(effects);
        if self.detector.observe(&self.view, self.now, &mut self.randomness) {
            self.leadership_changed();
        }
    }

    /// Delivers decided instances, as long as the service keeps up.
    fn deliver(&mut self, effects: &mut Vec<Effect>) {
        while self.ready && self.untaken.has_room() {
            let before = self.view.executed;
            self.step(Event::Execute, effects);
            self.ready = self.view.executed > before;
        }
        self.retransmission.executed(self.view.executed);
    }

    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let mut outputs = std::mem::take(&mut self.outputs);
        self.core.step(event, &mut outputs);
        self.view = self.core.view();
        self.counters.events += 1;
        outputs.drain(..).for_each(|output| self.put_out(output, effects));
        self.outputs = outputs;
    }

    fn put_out(&mut self, output: Output, effects: &mut Vec<Effect>) {
        match output {
            Output::Journal(record) => self.journal(record, effects),
            Output::Send(to, message) => self.post(Recipient::One(to), message, effects),
            Output::Broadcast(message) => self.post(Recipient::All, message, effects),
            Output::Deliver(instance, value) => {
                self.counters.batches += 1;
                self.truncation.delivered(instance, value.len());
                self.untaken.delivered(value.len());
                self.forwards.delivered(&value, self.options.id, self.now);
                effects.push(Effect::Deliver(instance, value));
            }
            Output::Install(instance, image) => {
                self.counters.snapshots_installed += 1;
                self.untaken.replaced(instance);
                self.ready = true;
                // Some of them may be in there.
                self.forwards.lose();
                effects.push(Effect::Install(instance, image));
            }
            Output::Return(value) => self.take_back(value),
        }
    }

    fn journal(&mut self, record: Record, effects: &mut Vec<Effect>) {
        self.ready |= matches!(record, Record::Decided(..) | Record::Learned(_));
        if self.release.journals() {
            self.release.journalled();
            self.compaction.journalled(&record);
            effects.push(Effect::Journal(record));
        }
    }

    /// A message of the core's: noted, and sent unless it must wait.
    fn post(&mut self, recipient: Recipient, message: Message, effects: &mut Vec<Effect>) {
        match (&message, recipient) {
            (Message::Propose(ballot, instance, value), Recipient::All) => {
                self.retransmission.proposed(*ballot, *instance, value, self.now);
            }
            (Message::Accept(ballot, instance), Recipient::One(to)) if to == self.options.id => {
                self.retransmission.voted(*ballot, *instance);
            }
            (Message::Commit(ballot, instance), _) => self.retransmission.chosen(*ballot, *instance, self.now),
            _ => {}
        }
        if !self.admission.allows(&message) {
            return;
        }
        if let Some(message) = self.release.pass(recipient, message) {
            self.send(recipient, message, effects);
        }
    }

    /// Releases the effects that waited for durability and are now durable.
    pub(super) fn release_durable(&mut self, effects: &mut Vec<Effect>) {
        while let Some((recipient, message)) = self.release.next() {
            self.send(recipient, message, effects);
        }
        self.settle(effects);
    }

    fn send(&mut self, recipient: Recipient, message: Message, effects: &mut Vec<Effect>) {
        match recipient {
            Recipient::One(to) if to == self.options.id => self.own.push_back(message),
            Recipient::One(to) => self.send_to(to, message, effects),
            Recipient::All => self.broadcast(message, effects),
        }
    }

    fn broadcast(&mut self, message: Message, effects: &mut Vec<Effect>) {
        let alive = matches!(message, Message::Alive(..));
        // Learners get values as answers to their queries; they only need to know which instances are decided.
        let news = alive || matches!(message, Message::Commit(..));
        let learners = self.peers.learners().filter(|_| news);
        for peer in self.peers.voters().chain(learners) {
            if !alive || self.listeners.is_none_or(|listeners| listeners.contains(peer)) {
                self.send_to(peer, message.clone(), effects);
            }
        }
        if !alive {
            self.own.push_back(message);
        }
    }

    fn send_to(&mut self, peer: ReplicaId, message: Message, effects: &mut Vec<Effect>) {
        let shows = match message {
            Message::Propose(..) | Message::Commit(..) | Message::Alive(..) => true,
            Message::Accept(..) => self.view.role == Role::Follower,
            _ => false,
        };
        if shows {
            self.peers.shown(peer, self.now);
        }
        effects.push(Effect::Send(peer, PeerMessage::Core(message)));
    }
}

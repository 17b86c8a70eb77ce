//! Steps the core, and passes on its outputs.

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

    /// An output of the core's: noted, and performed unless it must wait, or need not be.
    fn put_out(&mut self, output: Output, effects: &mut Vec<Effect>) {
        self.note(&output);
        let goes = match &output {
            Output::Journal(_) => self.release.journals(),
            Output::Send(_, message) | Output::Broadcast(message) => self.admission.allows(message),
            _ => true,
        };
        if goes && let Some(output) = self.release.pass(output) {
            self.perform(output, effects);
        }
    }

    /// Releases the effects that waited for the records up to this one, which are durable.
    pub(super) fn release_durable(&mut self, number: u64, effects: &mut Vec<Effect>) {
        for output in self.release.durable(number) {
            self.perform(output, effects);
        }
        self.settle(effects);
    }

    fn note(&mut self, output: &Output) {
        match output {
            Output::Journal(record) => self.ready |= matches!(record, Record::Decided(..) | Record::Learned(_)),
            Output::Broadcast(Message::Propose(ballot, instance, value)) => {
                self.retransmission.proposed(*ballot, *instance, value, self.now);
            }
            Output::Send(to, Message::Accept(ballot, instance)) if *to == self.options.id => {
                self.retransmission.voted(*ballot, *instance);
            }
            Output::Send(_, Message::Commit(ballot, instance))
            | Output::Broadcast(Message::Commit(ballot, instance)) => {
                self.retransmission.chosen(*ballot, *instance, self.now);
            }
            _ => {}
        }
    }

    fn perform(&mut self, output: Output, effects: &mut Vec<Effect>) {
        match output {
            Output::Journal(record) => {
                self.compaction.journalled(&record);
                effects.push(Effect::Journal(record));
            }
            Output::Send(to, message) if to == self.options.id => self.own.push_back(message),
            Output::Send(to, message) => self.send_to(to, message, effects),
            Output::Broadcast(message) => self.broadcast(message, effects),
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

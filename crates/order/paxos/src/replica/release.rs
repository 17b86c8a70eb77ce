//! Holds back messages that must not be sent before the journal is durable.
//!
//! A promise, a vote and a prepare say "I shall remember" (`waits` in the model): they wait until every record that was journalled
//! before them is durable, that of their own step too: it comes first (`record_first` of `StatementsReplay.v`). All else rests on what
//! others remember and goes at once, past what waits. What waits keeps its order.

use crate::config::Durability;
use crate::core::generated::waits;
use crate::core::{Message, ReplicaId};
use std::collections::VecDeque;

/// For whom a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipient {
    One(ReplicaId),
    /// Every voting replica, this one too, and the learners.
    All,
}

/// Messages that wait at a time, at most. Beyond that they are lost, as on a network that drops them: the disk is stuck, and others
/// send their proposals again and again.
const MAX_HELD: usize = 16_384;

#[derive(Debug)]
pub(super) struct Release {
    durability: Durability,
    /// Records emitted so far.
    emitted: u64,
    /// Records that are durable.
    durable: u64,
    /// With the number of the record that must be durable first.
    held: VecDeque<(u64, Recipient, Message)>,
}

impl Release {
    pub(super) fn new(durability: Durability) -> Self {
        Self { durability, emitted: 0, durable: 0, held: VecDeque::new() }
    }

    /// Returns whether there is a journal.
    pub(super) fn journals(&self) -> bool {
        self.durability == Durability::Fsync
    }

    /// A record was emitted.
    pub(super) fn journalled(&mut self) {
        self.emitted += 1;
    }

    /// Records emitted so far.
    pub(super) fn emitted(&self) -> u64 {
        self.emitted
    }

    /// The message, if it may go now; else it waits.
    pub(super) fn pass(&mut self, recipient: Recipient, message: Message) -> Option<Message> {
        if self.durable >= self.emitted || !waits(&message) {
            return Some(message);
        }
        if self.held.len() < MAX_HELD {
            self.held.push_back((self.emitted, recipient, message));
        }
        None
    }

    /// Records up to this one are durable.
    pub(super) fn durable(&mut self, number: u64) {
        self.durable = self.durable.max(number.min(self.emitted));
    }

    /// The next message that has waited long enough.
    pub(super) fn next(&mut self) -> Option<(Recipient, Message)> {
        self.held
            .pop_front_if(|(number, ..)| *number <= self.durable)
            .map(|(_, recipient, message)| (recipient, message))
    }
}

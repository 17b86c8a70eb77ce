//! Refusal of ballots that jump far ahead, so that a peer cannot exhaust the numbers.
//!
//! Ballots are numbers below 2^62, and a replica that has promised the greatest takes no other ever again. An election raises them by
//! 62 at most ([`generated`](crate::core::generated): the next round, of 31 replicas), so nobody who was away is far behind; a peer that
//! names a ballot far above all that was known is out of its mind. What it says is passed over, like a packet that is lost, so that no
//! theorem notices. (decision 0026)
//!
//! | above the own promise | taken |
//! | --- | --- |
//! | up to [`STEP`] | always |
//! | up to [`JUMP`] for each second since the last jump | as a jump: whoever was away for thousands of elections is back with the first |
//! | more | not yet |
//!
//! So the numbers last 34 years whatever peers say: 2^30 jumps at one a second, or 2^52 steps. And whoever was away while others were led
//! astray for so long is back after as long.

use super::Replica;
use crate::core::{Ballot, Core, Message};
use env::Moment;

/// Maximum that successive elections may add to the ballot before a replica receives news of them.
const STEP: u64 = 1 << 10;

/// The greatest difference that is taken a second after the last one.
const JUMP: u64 = 1 << 32;

/// When ballots jumped.
#[derive(Debug)]
pub(super) struct Ballots {
    last_jump: Moment,
    /// Seconds for which a jump is taken besides those since the last one: the first need not wait.
    in_hand: u64,
}

impl Ballots {
    pub(super) fn new(now: Moment) -> Self {
        Self { last_jump: now, in_hand: 1 }
    }

    fn takes(&mut self, ballot: Ballot, promised: Ballot, now: Moment) -> bool {
        let above = ballot.saturating_sub(promised);
        if above <= STEP {
            return true;
        }
        let seconds = now.since(self.last_jump).as_secs() + self.in_hand;
        let takes = above <= JUMP.saturating_mul(seconds);
        if takes {
            (self.last_jump, self.in_hand) = (now, 0);
        }
        takes
    }
}

/// The ballot that a message names.
fn ballot_of(message: &Message) -> Option<Ballot> {
    match message {
        Message::Prepare(ballot, _)
        | Message::Promise(ballot, ..)
        | Message::Propose(ballot, ..)
        | Message::Accept(ballot, _)
        | Message::Commit(ballot, _)
        | Message::Reject(ballot)
        | Message::Alive(ballot, _) => Some(*ballot),
        Message::Query(..)
        | Message::Learned(_)
        | Message::Snapshot(..)
        | Message::Truncated(_)
        | Message::Forward(_) => None,
    }
}

impl<C: Core> Replica<C> {
    /// Returns whether a peer's message may reach the core.
    pub(super) fn is_acceptable(&mut self, message: &Message) -> bool {
        let Some(ballot) = ballot_of(message) else { return true };
        let is_acceptable = self.ballots.takes(ballot, self.view.promised, self.now);
        self.counters.jumps_refused += u64::from(!is_acceptable);
        is_acceptable
    }
}

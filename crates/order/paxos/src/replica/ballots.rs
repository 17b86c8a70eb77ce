//! Refusal of ballots that jump far ahead, so that a peer cannot exhaust the numbers.
//!
//! Ballots are numbers below 2^62, and a replica that has promised the greatest can promise no other. An election raises the ballot by
//! 62 at most ([`generated`](crate::core::generated): the next round, of 31 replicas), so even a replica that missed many elections is not
//! far behind. A message with a ballot far above the replica's own promise is therefore dropped as faulty. To the theorems this is a
//! lost packet. (decision 0026)
//!
//! | ballot above the own promise by | accepted |
//! | --- | --- |
//! | at most [`STEP`] | always |
//! | at most [`JUMP`] times the seconds since the last jump | as a jump: a replica that missed thousands of elections catches up by its first |
//! | more | no |
//!
//! So the numbers last for 34 years whatever peers send: 2^30 jumps at one a second, or 2^52 steps. If faulty peers do raise the ballots
//! of the others for some time, a replica that was away during it needs as long again until it accepts them.

use super::Replica;
use crate::core::{Ballot, Core, Message};
use env::Moment;

/// Greatest difference that is always accepted: what successive elections may add before a replica receives a message of one.
const STEP: u64 = 1 << 10;

/// Greatest difference that is accepted as a jump, for each second since the last jump.
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

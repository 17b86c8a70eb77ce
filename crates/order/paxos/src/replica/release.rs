//! Holds back messages that must not be sent before the journal is durable.
//!
//! The proved functions of `proofs/paxos/Release.v` decide which ones, and when they go: promises, votes and prepares say "I shall
//! remember" and wait for every record that was put out before them; all else goes at once, past what waits. This module only holds
//! their state. The replica owes them two things: it hands in the core's outputs in their order, and performs what comes back; and it
//! passes on what the journal says of its durability, and nothing else.

use crate::config::Durability;
use crate::core::Output;
use crate::core::generated::{self, pass, report, waits};

/// Messages that wait at a time, at most. Beyond that they are lost, as on a network that drops them: the disk is stuck, and others
/// send their proposals again and again.
const MAX_HELD: usize = 16_384;

#[derive(Debug)]
pub(super) struct Release {
    durability: Durability,
    /// Always there: taken out only while a proved function replaces it.
    state: Option<generated::Release>,
}

impl Release {
    pub(super) fn new(durability: Durability) -> Self {
        Self { durability, state: Some(generated::no_release()) }
    }

    /// Returns whether there is a journal. Without one no record is handed in, and nothing waits.
    pub(super) fn journals(&self) -> bool {
        self.durability == Durability::Fsync
    }

    /// Records handed in so far.
    pub(super) fn emitted(&self) -> u64 {
        self.state().numbered
    }

    /// The output, if it may be performed now; else it waits.
    pub(super) fn pass(&mut self, output: Output) -> Option<Output> {
        if self.state().waiting.len() >= MAX_HELD && must_wait(&output) {
            return None;
        }
        self.step(|state| pass(output, state))
    }

    /// Records up to this one are durable. Returns what has waited long enough.
    pub(super) fn durable(&mut self, number: u64) -> Vec<Output> {
        self.step(|state| report(number, state))
    }

    fn state(&self) -> &generated::Release {
        self.state.as_ref().expect("a step panicked: the replica must not go on")
    }

    fn step<R>(&mut self, step: impl FnOnce(generated::Release) -> (generated::Release, R)) -> R {
        let state = self.state.take().expect("a step panicked: the replica must not go on");
        let (state, result) = step(state);
        self.state = Some(state);
        result
    }
}

fn must_wait(output: &Output) -> bool {
    match output {
        Output::Send(_, message) | Output::Broadcast(message) => waits(message),
        _ => false,
    }
}

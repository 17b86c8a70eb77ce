//! Own proposals that were not delivered, and who waits for what becomes of them, without threads.

use super::application::Own;
use super::proposer::Proposer;
use super::waiters::Barriers;
use bytes::Bytes;
use env::Moment;
use total::OrderError;

/// Proposals that were not delivered, and who waits for what becomes of them.
pub(super) struct Outgoing {
    pub(super) proposer: Proposer,
    pub(super) barriers: Barriers,
}

impl Outgoing {
    pub(super) fn new(proposer: Proposer) -> Self {
        Self { proposer, barriers: Barriers::default() }
    }

    /// Takes a payload, and returns its number.
    pub(super) fn propose(&mut self, payload: Bytes) -> Result<u64, OrderError> {
        if payload.is_empty() {
            return Err(OrderError::Empty);
        }
        self.proposer.propose(payload)
    }

    /// Takes a barrier, whose place its caller waits for, and returns its number.
    pub(super) fn begin_barrier(&mut self) -> Result<u64, OrderError> {
        let submission = self.proposer.propose(Bytes::new())?;
        self.barriers.expect(submission);
        Ok(submission)
    }

    /// Handles the delivery or loss of an own proposal, which may make room for others.
    pub(super) fn on_own(&mut self, now: Moment, own: Own) {
        match own {
            Own::Delivered(submission, at) => {
                self.proposer.delivered(now, submission);
                self.barriers.placed(submission, at);
            }
            Own::Early => self.proposer.early(now),
            Own::Passed(next, at) => {
                self.proposer.passed(now, next);
                self.barriers.passed(next, at);
            }
        }
    }
}

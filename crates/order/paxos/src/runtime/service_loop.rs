//! The service's thread: batches in, replies out.

use std::sync::Arc;

use super::board::ServiceFigures;
use super::core_loop::CoreInput;
use super::mailbox::Closed;
use super::{NodeError, Shared};
use crate::config::Options;
use crate::core::{Image, Instance, Value};
use crate::executor::{Executor, Reply};
use crate::message::Outcome;
use crate::replica::Input;
use crate::service::Service;
use crate::transport::Post;

/// Replies that gather before they are passed on, at most: clients should not wait for a whole backlog.
const REPLIES_AT_ONCE: usize = 1_024;

/// What the service is to do.
#[derive(Debug)]
pub(crate) enum Job {
    /// Execute this batch.
    Deliver(Instance, Value),
    /// Take this state.
    Install(Instance, Image),
    /// Tell the state.
    Snapshot,
}

/// The thread's state.
pub(super) struct ServiceLoop<S> {
    executor: Executor<S>,
    shared: Arc<Shared>,
    replies: Vec<Reply>,
    bad_batches: u64,
    /// The core has been told that instances below are executed.
    told: Instance,
    /// It has been woken to hear so of instances below.
    woken: Instance,
    /// It is woken after so many instances; else it hears of them when it is awake.
    wake_after: u64,
}

impl<S: Service> ServiceLoop<S> {
    pub(super) fn new(executor: Executor<S>, options: &Options, shared: &Arc<Shared>) -> Self {
        let shared = Arc::clone(shared);
        // The core waits for the service only when so many batches are undone: there is no hurry before.
        let wake_after = (options.undone_batches / 4).max(1);
        Self { executor, shared, replies: Vec::new(), bad_batches: 0, told: 0, woken: 0, wake_after }
    }

    /// Runs until there is nobody to work for, or a state cannot be read.
    pub(super) fn run(mut self) -> Result<(), NodeError> {
        let mut jobs = Vec::new();
        while self.shared.jobs.take(&mut jobs, None).is_ok() {
            for job in jobs.drain(..) {
                if self.perform(job)? == Err(Closed) {
                    return Ok(());
                }
            }
            if self.report() == Err(Closed) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn perform(&mut self, job: Job) -> Result<Result<(), Closed>, NodeError> {
        match job {
            Job::Deliver(at, value) => {
                if self.executor.deliver(at, &value, &mut self.replies).is_err() {
                    // All replicas skip the same part of it.
                    self.bad_batches += 1;
                }
                if self.replies.len() >= REPLIES_AT_ONCE {
                    return Ok(self.report());
                }
            }
            Job::Install(at, image) => self.executor.install(at, &image)?,
            Job::Snapshot => {
                let (at, image) = self.executor.snapshot();
                return Ok(self.shared.inbox.force(CoreInput::Replica(Input::Taken(at, image)), 1));
            }
        }
        Ok(Ok(()))
    }

    /// Passes on what has gathered. Waits for the I/O thread if that lags behind, and so makes the core wait in the end.
    fn report(&mut self) -> Result<(), Closed> {
        let executed = self.executor.executed();
        self.tell_core(executed.next)?;
        self.shared.board.write_service(ServiceFigures { executed, bad_batches: self.bad_batches });
        if self.replies.is_empty() {
            return Ok(());
        }
        let replies = std::mem::take(&mut self.replies);
        let weight = replies.iter().map(weight_of).sum();
        self.shared.post.send(Post::Replies(replies), weight)
    }
}

impl<S> ServiceLoop<S> {
    fn tell_core(&mut self, next: Instance) -> Result<(), Closed> {
        if next <= self.told {
            return Ok(());
        }
        self.told = next;
        let input = CoreInput::Replica(Input::Executed(next));
        if next - self.woken < self.wake_after {
            return self.shared.inbox.leave(input, 1);
        }
        self.woken = next;
        self.shared.inbox.force(input, 1)
    }
}

fn weight_of(reply: &Reply) -> usize {
    match reply {
        Reply::Done { outcome: Outcome::Executed(_, answer), .. } => size_of::<Reply>() + answer.len(),
        _ => size_of::<Reply>(),
    }
}

//! The application's thread: takes delivered batches, and reports to the core which it has taken.

use std::sync::Arc;

use net::mailbox::Closed;

use super::Shared;
use crate::application::Application;
use crate::config::Options;
use crate::core::{Image, Instance, Value};
use crate::error::NodeError;
use crate::image::ImageStore;
use crate::inbox::CoreInput;
use crate::replica::Input;

/// Job for the application.
#[derive(Debug)]
pub(crate) enum Job {
    /// Take this batch.
    Deliver(Instance, Value),
    /// Take this state, which is the replica's own.
    Recover(Instance, Image),
    /// Take this state, which is another one's.
    Install(Instance, Image),
    /// Hand out the state.
    Snapshot,
}

/// The thread's state.
pub(super) struct ServiceLoop<A> {
    application: A,
    images: ImageStore,
    shared: Arc<Shared>,
    /// Instances below this were reported to the core as executed.
    reported: Instance,
    /// Instances below this were reported with a wake-up.
    woken: Instance,
    /// Number of instances after which the core is woken; fewer are reported when it is awake.
    wake_after: u64,
}

impl<A: Application> ServiceLoop<A> {
    pub(super) fn new(application: A, images: ImageStore, options: &Options, shared: &Arc<Shared>) -> Self {
        let shared = Arc::clone(shared);
        // The core waits for the application only when so many batches wait for it: there is no hurry before.
        let wake_after = (options.undone_batches / 4).max(1);
        Self { application, images, shared, reported: 0, woken: 0, wake_after }
    }

    /// Runs until the consumer has gone, or a snapshot cannot be read or written.
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
            Job::Deliver(at, batch) => {
                self.application.deliver(at, &batch);
                if self.application.is_full() {
                    return Ok(self.report());
                }
            }
            Job::Recover(at, image) => self.application.recover(at, &image)?,
            Job::Install(at, image) => self.application.install(at, &image)?,
            Job::Snapshot => {
                let snapshot = self.application.snapshot(self.images.writer());
                let (at, image) = snapshot.map_err(|error| NodeError::SnapshotFile(error.into()))?;
                return Ok(self.shared.inbox.force(CoreInput::Replica(Input::Taken(at, image)), 1));
            }
        }
        Ok(Ok(()))
    }

    /// Tells the core what was taken, and passes on what has gathered: that may wait, and so makes the core wait in the end.
    fn report(&mut self) -> Result<(), Closed> {
        self.tell_core(self.application.next())?;
        self.application.flush()
    }

    fn tell_core(&mut self, next: Instance) -> Result<(), Closed> {
        if next <= self.reported {
            return Ok(());
        }
        self.reported = next;
        let input = CoreInput::Replica(Input::Executed(next));
        if next - self.woken < self.wake_after {
            return self.shared.inbox.leave(input, 1);
        }
        self.woken = next;
        self.shared.inbox.force(input, 1)
    }
}

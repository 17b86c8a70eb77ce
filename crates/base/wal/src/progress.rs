//! How far recovery has come.

use crate::sync::Arc;
use std::fmt;

/// A pass of recovery over the checkpoint and the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecoveryStep {
    /// Everything is read and judged before anything is changed.
    Verify,
    /// What was found is applied.
    Replay,
}

/// How far a step of recovery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// Step.
    pub step: RecoveryStep,
    /// Bytes that it is done with.
    pub done: u64,
    /// Bytes of all that it has to do.
    pub total: u64,
}

/// Called with the progress of recovery, by the thread that opens the database: every few megabytes, and at the end of a step.
#[derive(Clone)]
pub struct OnProgress(pub Arc<dyn Fn(RecoveryProgress) + Send + Sync>);

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProgress")
    }
}

/// Bytes between two reports.
const REPORT_EVERY: u64 = 4 << 20;

/// Counts the bytes of a step, and reports them.
#[derive(Debug)]
pub struct ProgressMeter {
    report: Option<OnProgress>,
    now: RecoveryProgress,
    /// Bytes at which the next report is due.
    next: u64,
}

impl ProgressMeter {
    /// At the beginning of a step.
    pub fn new(report: Option<OnProgress>, step: RecoveryStep, total: u64) -> Self {
        Self { report, now: RecoveryProgress { step, done: 0, total }, next: REPORT_EVERY }
    }

    /// Counts bytes.
    pub fn add(&mut self, bytes: u64) {
        self.now.done += bytes;
        if self.now.done >= self.next {
            self.next = self.now.done + REPORT_EVERY;
            self.call();
        }
    }

    /// Says that the step is done.
    pub fn finish(mut self) {
        self.now.done = self.now.total;
        self.call();
    }

    fn call(&self) {
        if let Some(OnProgress(report)) = &self.report {
            report(RecoveryProgress { done: self.now.done.min(self.now.total), ..self.now });
        }
    }
}

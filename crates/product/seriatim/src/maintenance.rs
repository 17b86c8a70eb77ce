//! Background maintenance: takes checkpoints when the log has grown, and frees what no transaction uses any more, even while
//! no transaction runs.

use crate::engine::{Maintained, Maintenance};
use crate::{Error, Result};
use env::Disk;
use env::thread::{JoinHandle, spawn_named};
use env::time::Duration;
use model::Fault;
use mvto::Pace;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How often the thread collects, and checks the log's length. A second's worth of log beyond the threshold hardly delays a
/// start, and commits need not signal the thread.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A thread that collects, and takes a checkpoint each time the log has grown by enough.
pub(crate) struct MaintenanceThread {
    engine: Arc<dyn Maintained>,
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for MaintenanceThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaintenanceThread").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    status: Mutex<Status>,
    changed: Condvar,
}

#[derive(Default)]
struct Status {
    stop: bool,
    last_failure: Option<Error>,
}

impl MaintenanceThread {
    /// Starts the thread, unless the engine needs no maintenance. It takes a checkpoint each time the log has grown by `after_bytes`
    /// and by half of the last checkpoint; none if `after_bytes` is `None`.
    pub fn start(engine: Arc<dyn Maintained>, after_bytes: Option<u64>, backlog: u64) -> Result<MaintenanceThread> {
        let state = Arc::<State>::default();
        if engine.maintenance().is_none() {
            return Ok(MaintenanceThread { engine, state, thread: Mutex::default() });
        }
        let body = {
            let (state, engine) = (state.clone(), engine.clone());
            move || {
                if let Some(maintenance) = engine.maintenance() {
                    state.work(maintenance, after_bytes, backlog);
                }
            }
        };
        let thread = spawn_named("maintenance", body)
            .map_err(|error| Fault::Disk { detail: format!("cannot start the maintenance thread: {error}") })?;
        Ok(MaintenanceThread { engine, state, thread: Mutex::new(Some(thread)) })
    }

    /// Why the last checkpoint failed, if it did.
    pub fn last_failure(&self) -> Option<Error> {
        self.state.lock().last_failure.clone()
    }

    /// Ends the thread and waits for the checkpoint that it may be taking. May be called again.
    pub fn stop(&self) {
        self.state.lock().stop = true;
        if let Some(maintenance) = self.engine.maintenance() {
            maintenance.hurry_checkpoint();
        }
        self.state.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was printed when it happened; there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Status> {
        // A flag and a message are right whatever a panicking thread was doing.
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, engine: &dyn Maintenance, after_bytes: Option<u64>, backlog: u64) {
        let mut log = Growth { backlog, base: 0 };
        let mut status = self.lock();
        loop {
            let wait = self.changed.wait_timeout_while(status, LOOK_EVERY, |status| !status.stop);
            status = wait.unwrap_or_else(PoisonError::into_inner).0;
            if status.stop {
                return;
            }
            drop(status);
            engine.collect();
            let (written, last_checkpoint) = engine.written();
            if !after_bytes.is_some_and(|bytes| log.is_enough(written, bytes, last_checkpoint)) {
                status = self.lock();
                continue;
            }
            let outcome = engine.checkpoint(Pace::Half);
            tell(&outcome);
            status = self.lock();
            // After a failure the next one waits until the log has grown again: a full disk is not hammered.
            log = Growth { backlog: 0, base: written };
            status.last_failure = outcome.err().map(Error::from);
        }
    }
}

/// An event for the program's log, if it has one.
fn tell(outcome: &model::Result<crate::CheckpointReport>) {
    match outcome {
        Ok(report) => tracing::info!(
            target: "seriatim",
            duration_ms = report.elapsed.as_secs_f64() * 1e3,
            tables = report.tables as u64,
            rows = report.rows,
            bytes = report.bytes,
            "checkpoint complete"
        ),
        Err(error) => {
            tracing::error!(target: "seriatim", "checkpoint failed, and is tried again when the log has grown: {error}")
        }
    }
}

/// Amount of log that no checkpoint covers.
struct Growth {
    /// Bytes when the database was opened.
    backlog: u64,
    /// Bytes written when the last checkpoint began.
    base: u64,
}

impl Growth {
    fn since_checkpoint(&self, written: u64) -> u64 {
        self.backlog + written.saturating_sub(self.base)
    }

    /// Returns whether a checkpoint pays off. It writes the whole database, so enough log must have been written for the total to
    /// be at most three times as much.
    fn is_enough(&self, written: u64, after_bytes: u64, last_checkpoint: u64) -> bool {
        self.since_checkpoint(written) >= after_bytes.max(last_checkpoint / 2)
    }
}

/// Bytes of log in the directory. After a crash it counts reserved space too, and the checkpoint that comes early then
/// does no harm.
pub(crate) fn log_bytes(disk: &dyn Disk) -> u64 {
    // A directory that is not there yet has no log, and one that cannot be read will be complained about by opening it.
    let names = disk.list("").unwrap_or_default();
    let logs = names.iter().filter(|name| name.starts_with("wal-"));
    logs.filter_map(|name| disk.open(name).and_then(|file| file.len()).ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::RealDisk;

    #[test]
    fn growth_counts_the_backlog_until_a_checkpoint() {
        let log = Growth { backlog: 100, base: 0 };
        assert_eq!(log.since_checkpoint(20), 120);
        let log = Growth { backlog: 0, base: 20 };
        assert_eq!(log.since_checkpoint(25), 5);
        assert_eq!(log.since_checkpoint(0), 0, "counters of another opening do not wrap");
    }

    #[test]
    fn a_checkpoint_waits_for_half_of_the_last_one() {
        let log = Growth { backlog: 0, base: 0 };
        assert!(log.is_enough(100, 100, 0) && !log.is_enough(99, 100, 0));
        assert!(!log.is_enough(499, 100, 1_000) && log.is_enough(500, 100, 1_000));
    }

    #[test]
    fn a_directory_without_a_log_has_no_backlog() {
        assert_eq!(log_bytes(&RealDisk::new("/nowhere/at/all")), 0);
    }
}

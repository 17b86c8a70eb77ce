//! Checkpoints by themselves, when the log has grown.

use crate::{Error, Result};
use env::thread::{JoinHandle, spawn_named};
use env::time::Duration;
use model::Fault;
use mvto::Mvto;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How often the thread looks at the log. A second's worth of log beyond the threshold costs a start nothing that matters,
/// and commits need not signal anybody.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A thread that takes a checkpoint each time the log has grown by so many bytes.
pub(crate) struct Checkpointer {
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Default)]
struct Told {
    stop: bool,
    last_failure: Option<Error>,
}

impl Checkpointer {
    pub fn start(engine: Arc<Mvto>, after_bytes: u64) -> Result<Checkpointer> {
        let state = Arc::<State>::default();
        let body = {
            let state = state.clone();
            move || state.work(&engine, after_bytes)
        };
        let thread = spawn_named("checkpointer", body)
            .map_err(|error| Fault::Disk { detail: format!("cannot start the checkpoint thread: {error}") })?;
        Ok(Checkpointer { state, thread: Mutex::new(Some(thread)) })
    }

    /// Why the last checkpoint failed, if it did.
    pub fn last_failure(&self) -> Option<Error> {
        self.state.lock().last_failure.clone()
    }

    /// Ends the thread and waits for the checkpoint that it may be taking. May be called again.
    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.state.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was printed when it happened; there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Told> {
        // A flag and a message are right whatever a panicking thread was doing.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, engine: &Mvto, after_bytes: u64) {
        let mut told = self.lock();
        loop {
            told = self.changed.wait_timeout(told, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
            if told.stop {
                return;
            }
            if log_bytes(engine) < after_bytes {
                continue;
            }
            drop(told);
            let outcome = engine.checkpoint();
            told = self.lock();
            told.last_failure = outcome.err().map(Error::from);
        }
    }
}

/// How much log a restart would replay now.
fn log_bytes(engine: &Mvto) -> u64 {
    engine.stats().log.map_or(0, |log| log.appended.get().saturating_sub(log.checkpoint.get()))
}

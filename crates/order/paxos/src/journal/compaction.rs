//! Writing the records that replace a long journal, beside the appends.

use super::error::JournalError;
use super::pieces::Pieces;
use crate::core::Record;
use env::thread::{self, JoinHandle};
use env::{DiskError, Operation};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use wal::{Driver, Log};

/// Bytes of one row of a checkpoint, at most.
const ROW_BYTES: usize = 64 << 20;

/// Results of the compactions of a journal since it was opened.
#[derive(Clone, Debug, Default)]
pub struct Compactions {
    /// Written.
    pub done: u64,
    /// Not begun, because a newer one came before their turn.
    pub superseded: u64,
    /// Failed; the journal stayed as it was.
    pub failed: u64,
    /// Why the last of them failed, if it did.
    pub error: Option<JournalError>,
}

/// All records with stamps below the bound are to be replaced by these.
#[derive(Debug)]
struct Job {
    bound: u64,
    records: Vec<Record>,
}

#[derive(Debug, Default)]
struct State {
    /// The newest one that nobody works at.
    next: Option<Job>,
    counts: Compactions,
    stopping: bool,
}

/// State shared by the journal and its compacting thread.
#[derive(Debug)]
struct Shared {
    log: Arc<Log>,
    state: Mutex<State>,
    /// Wakes the thread.
    work: Condvar,
}

/// Compacts on its own thread, or at once where the caller drives the log.
#[derive(Debug)]
pub(super) struct Compactor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Compactor {
    pub(super) fn start(log: Arc<Log>, driver: Driver) -> Result<Self, JournalError> {
        let shared = Arc::new(Shared { log, state: Mutex::default(), work: Condvar::new() });
        let thread = match driver {
            Driver::Caller => None,
            Driver::Threads => {
                let (name, shared) = ("seriatim-compact", Arc::clone(&shared));
                let spawned = thread::spawn_named(name, move || shared.run());
                Some(spawned.map_err(|error| DiskError::new(Operation::Open, name, error))?)
            }
        };
        Ok(Self { shared, thread })
    }

    pub(super) fn compact(&self, bound: u64, records: Vec<Record>) -> Result<(), JournalError> {
        let job = Job { bound, records };
        if self.thread.is_none() {
            return self.shared.finish(&job);
        }
        let mut state = self.shared.lock();
        let superseded = state.next.replace(job).is_some();
        state.counts.superseded += u64::from(superseded);
        self.shared.work.notify_one();
        Ok(())
    }

    pub(super) fn counts(&self) -> Compactions {
        self.shared.lock().counts.clone()
    }

    /// Ends the thread after what it is working at.
    pub(super) fn stop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it has panicked, the panic was reported where it happened, and the log holds all records still.
            let _ = thread.join();
        }
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this latch panics")
    }

    fn run(&self) {
        while let Some(job) = self.await_job() {
            // The counts tell of an error; if the log has stopped, the next append does.
            let _ = self.finish(&job);
        }
    }

    fn await_job(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.stopping {
                return None;
            }
            if let Some(job) = state.next.take() {
                return Some(job);
            }
            state = self.work.wait(state).expect("no holder of this latch panics");
        }
    }

    /// Writes the checkpoint and counts what came of it.
    fn finish(&self, job: &Job) -> Result<(), JournalError> {
        let result = self.write(job);
        let counts = &mut self.lock().counts;
        match &result {
            Ok(()) => counts.done += 1,
            Err(error) => {
                counts.failed += 1;
                counts.error = Some(error.clone());
            }
        }
        result
    }

    fn write(&self, job: &Job) -> Result<(), JournalError> {
        let mut writer = self.log.begin_checkpoint()?;
        let mut pieces = Pieces::new(ROW_BYTES);
        for record in &job.records {
            pieces.cut(record, |piece| Ok(writer.write(piece)?))?;
        }
        Ok(writer.finish(job.bound, wal::LogPosition::ZERO)?)
    }
}

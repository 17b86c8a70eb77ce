//! What a database on a disk needs while it is open: checkpoints, and an end in bounded time.

use crate::closing::Closing;
use crate::engine::{Maintained, Maintenance};
use crate::maintenance::MaintenanceThread;
use crate::{CheckpointReport, RecoveryReport, Result};
use bohm::{Bohm, Pace};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The parts that a database in memory lacks.
#[derive(Debug)]
pub(crate) struct OnDisk {
    pub maintenance: Arc<MaintenanceThread>,
    pub closing: Closing,
}

impl OnDisk {
    /// Stops maintenance, and closes the log behind everything that was submitted.
    pub fn close(&self, engine: &Arc<Bohm>) -> Result<()> {
        let (engine, maintenance) = (engine.clone(), self.maintenance.clone());
        let closed = self.closing.wait_for(move || close(&engine, &maintenance));
        if let Err(error) = &closed {
            self.closing.tell(error);
        }
        closed
    }
}

/// Stops maintenance, and closes the log behind everything that was submitted.
pub(crate) fn close(engine: &Bohm, maintenance: &MaintenanceThread) -> Result<()> {
    maintenance.stop();
    Ok(engine.close()?)
}

/// The engine, as maintenance sees it.
pub(crate) struct Kept {
    engine: Arc<Bohm>,
    /// Batches when it was looked at last.
    batches: AtomicU64,
}

impl Kept {
    pub fn new(engine: Arc<Bohm>) -> Kept {
        Kept { engine, batches: AtomicU64::new(0) }
    }
}

impl Maintained for Kept {
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(self)
    }
}

impl Maintenance for Kept {
    /// Planning collects all the time: only an engine that idles needs help.
    fn collect(&self) {
        let stats = self.engine.stats();
        // Relaxed: one thread looks.
        if self.batches.swap(stats.batches, Relaxed) == stats.batches && stats.garbage > 0 {
            self.engine.collect();
            self.batches.store(self.engine.stats().batches, Relaxed);
        }
    }

    fn checkpoint(&self, pace: Pace) -> model::Result<CheckpointReport> {
        let bohm::CheckpointReport { start, tables, rows, bytes, elapsed, .. } = self.engine.write_checkpoint(pace)?;
        Ok(CheckpointReport { start, tables, rows, bytes, elapsed })
    }

    fn hurry_checkpoint(&self) {
        self.engine.hurry_checkpoint();
    }

    fn written(&self) -> (u64, u64) {
        self.engine.log_stats().map_or((0, 0), |log| (log.payload_bytes, log.checkpoint_bytes))
    }

    /// The engine says so at each call.
    fn refuses_writes(&self) -> Option<model::Error> {
        None
    }

    fn recovery(&self) -> Option<RecoveryReport> {
        None
    }

    fn close(&self) -> model::Result<()> {
        self.engine.close()
    }
}

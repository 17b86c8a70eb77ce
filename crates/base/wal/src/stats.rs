//! Statistics of the log.

use env::DurableWrites;
use env::time::Duration;
use model::{LogPosition, LogUsage};

/// Counts since the log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// The position of the last appended record.
    pub appended: LogPosition,
    /// Everything up to here is durable.
    pub durable: LogPosition,
    /// Records appended.
    pub records: u64,
    /// Payload bytes appended.
    pub payload_bytes: u64,
    /// Groups written.
    pub groups: u64,
    /// fdatasyncs of log segments, durable writes in one call among them.
    pub syncs: u64,
    /// Time spent in them.
    pub sync_time: Duration,
    /// The longest of them.
    pub longest_sync: Duration,
    /// Waiters of a sync, summed over all syncs: divided by `syncs`, the mean group.
    pub waiters: u64,
    /// Most waiters that one sync has served.
    pub largest_group: u64,
    /// How the log writes durably. The system may refuse the better way at the first attempt.
    pub durable_writes: DurableWrites,
    /// Bytes that wait in memory to be written.
    pub pending_bytes: u64,
    /// Appends that had to wait for the disk.
    pub append_waits: u64,
    /// Segment files in use, the present one included.
    pub segments: u64,
    /// Segment files removed after checkpoints.
    pub segments_removed: u64,
    /// Checkpoints finished.
    pub checkpoints: u64,
    /// Bytes that checkpoints of this run have written, finished or not: divided by `payload_bytes`, how often each byte is written
    /// again.
    pub checkpoint_bytes_written: u64,
    /// Bytes of the last checkpoint, of this run or found by recovery.
    pub checkpoint_bytes: u64,
    /// Start position of the last checkpoint, of this run or found by recovery.
    pub checkpoint: LogPosition,
}

impl LogStats {
    /// The volume of the log and its checkpoints.
    #[must_use]
    pub fn usage(&self) -> LogUsage {
        LogUsage {
            log_bytes: self.payload_bytes,
            checkpoints: self.checkpoints,
            checkpoint_bytes: self.checkpoint_bytes_written,
            last_checkpoint_bytes: self.checkpoint_bytes,
            sync_method: self.durable_writes.name(),
        }
    }

    /// Bytes of the log behind the start of the last checkpoint: at most so many are replayed by a restart. Openings add to it, since
    /// each may skip the rest of a segment.
    #[must_use]
    pub fn bytes_since_checkpoint(&self) -> u64 {
        self.appended.to_raw().saturating_sub(self.checkpoint.to_raw())
    }
}

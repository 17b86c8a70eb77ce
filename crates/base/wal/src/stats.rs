//! Statistics of the log.

use env::time::Duration;
use model::LogPosition;

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
    /// fdatasyncs of log segments.
    pub syncs: u64,
    /// Time spent in them.
    pub sync_time: Duration,
    /// The longest of them.
    pub longest_sync: Duration,
    /// Waiters of a sync, summed over all syncs: divided by `syncs`, the mean group.
    pub waiters: u64,
    /// Most waiters that one sync has served.
    pub largest_group: u64,
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
    /// Start position of the last checkpoint, of this run or found by recovery. `appended` less this bounds what a restart
    /// would have to replay; it is more than that after openings, each of which may skip the rest of a segment.
    pub checkpoint: LogPosition,
}

//! Every knob of a replica, with its meaning, unit, default and limit.

use crate::core::Config;
use crate::core::generated::Replica as ReplicaId;
use std::fmt;
use std::time::Duration;

/// Failures that the promises of a replica survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing is written. A replica that stops has left for good (crash-stop): started again, it comes back as a learner, which
    /// delivers and serves clients but has no vote, since it does not remember what it has promised.
    #[default]
    Memory,
    /// Every promise and vote is on the disk before it is sent: a replica may restart at any time.
    Fsync,
}

/// Options of a replica. Voting replicas of one cluster must agree on `replicas`, `span`, `batch_bytes`,
/// `sessions` and `suspicion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of replicas that vote: 1 to 31. They are numbered from 0; a replica with a greater number is a learner.
    pub replicas: u64,
    /// This replica's number, below 64.
    pub id: ReplicaId,
    /// Bytes of requests in one batch, at most (one longer request travels alone). Default 12,000; 1 to 8 MiB. Larger batches cost
    /// less CPU a request and more latency.
    pub batch_bytes: usize,
    /// Maximum time that a request waits for others to share its batch. Default 1 ms; zero to 1 s. The batcher waits only
    /// while other instances are open, and less where instances are quick.
    pub batch_delay: Duration,
    /// Instances that a leader has open at a time. Default 16; 1 to 1,024.
    pub window: u64,
    /// Instances that a replica keeps. Default 4,096, fewer with large batches, so that all that it keeps fits a frame: see
    /// [`Options::core`].
    pub span: u64,
    /// Silence of the leader after which it is suspected. Default 500 ms; 10 ms to 1 minute.
    pub suspicion: Duration,
    /// Bytes of delivered batches after which the service is asked for a snapshot. Default 16 MiB.
    pub snapshot_bytes: u64,
    /// Bytes of the journal, roughly, below which it is not written anew. Default 32 MiB. It is when it is also four times as long as what
    /// must be kept.
    pub journal_bytes: u64,
    /// Bytes a second that a replica that is behind asks for, at most. Default 64 MiB.
    pub catch_up_bytes_per_s: u64,
    /// Bytes of requests that wait here to be ordered; clients are not read from beyond that. Default 8 MiB.
    pub pending_bytes: usize,
    /// Batches that were delivered and that the application has not taken yet, at most. Default 256.
    pub undone_batches: u64,
    /// Bytes of such batches after which no more are delivered. Default 64 MiB. One long batch more is in memory at most.
    pub undone_bytes: usize,
    /// Client sessions that are open at a time. Default 65,536; 0 to 1,048,576, and 0 where what stands on the nodes has none. When there
    /// are so many, the next one to open makes
    /// the longest idle quarter be forgotten.
    pub sessions: u64,
    /// Durability of votes and promises.
    pub durability: Durability,
}

/// A frame holds at most this: also the votes of all instances that a replica keeps, in one promise.
pub use net::frame::MAX_FRAME_BYTES;

const _: () =
    assert!(net::frame::NUMBER_LIMIT == crate::core::prim::NUMBER_LIMIT, "P12: the decoder refuses greater ones");

/// The bytes of all values that a replica keeps, at most.
pub(crate) const MAX_KEPT_BYTES: u64 = 48 << 20;

/// An option that is out of its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadOption {
    /// Its name.
    pub option: &'static str,
    /// Permitted values.
    pub limit: &'static str,
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option {} must be {}", self.option, self.limit)
    }
}

impl std::error::Error for BadOption {}

impl Options {
    /// The defaults for replica `id` of `replicas`.
    #[must_use]
    pub fn new(replicas: u64, id: ReplicaId) -> Self {
        Self {
            replicas,
            id,
            batch_bytes: 12_000,
            batch_delay: Duration::from_millis(1),
            window: 16,
            span: 4_096,
            suspicion: Duration::from_millis(500),
            snapshot_bytes: 16 << 20,
            journal_bytes: 32 << 20,
            catch_up_bytes_per_s: 64 << 20,
            pending_bytes: 8 << 20,
            undone_batches: 256,
            undone_bytes: 64 << 20,
            sessions: 1 << 16,
            durability: Durability::Memory,
        }
    }

    /// Returns whether this replica has a vote.
    #[must_use]
    pub fn votes(&self) -> bool {
        self.id < self.replicas
    }

    /// Bytes of one batch in its encoding, at most: requests and what the encoding adds to each.
    #[must_use]
    pub fn max_value_bytes(&self) -> usize {
        // A request of one byte costs a few more; see `request`.
        self.batch_bytes.saturating_mul(2) + 64
    }

    /// The core's configuration.
    #[must_use]
    pub fn core(&self) -> Config {
        let value = self.max_value_bytes() as u64;
        let span = self.span.min(MAX_KEPT_BYTES / value).max(self.window + 2);
        Config { replicas: self.replicas, span, window: self.window, chunk: (MAX_KEPT_BYTES / 48 / value).max(1) }
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// The first option that is.
    pub fn check(&self) -> Result<(), BadOption> {
        let refuse = |option, limit| Err(BadOption { option, limit });
        if !(1..=31).contains(&self.replicas) {
            return refuse("replicas", "1 to 31");
        }
        if self.id > 63 {
            return refuse("id", "below 64");
        }
        if !(1..=8 << 20).contains(&self.batch_bytes) {
            return refuse("batch_bytes", "1 byte to 8 MiB");
        }
        if self.batch_delay > Duration::from_secs(1) {
            return refuse("batch_delay", "at most 1 s");
        }
        if !(1..=1_024).contains(&self.window) {
            return refuse("window", "1 to 1,024");
        }
        if !(16..=1 << 20).contains(&self.span) {
            return refuse("span", "16 to 1,048,576");
        }
        if self.core().span * self.max_value_bytes() as u64 > MAX_FRAME_BYTES as u64 {
            return refuse("window", "smaller: all open batches must fit into one frame of 64 MiB");
        }
        if !(Duration::from_millis(10)..=Duration::from_secs(60)).contains(&self.suspicion) {
            return refuse("suspicion", "10 ms to 1 minute");
        }
        if self.snapshot_bytes == 0 {
            return refuse("snapshot_bytes", "at least 1 byte");
        }
        if self.journal_bytes == 0 {
            return refuse("journal_bytes", "at least 1 byte");
        }
        if self.catch_up_bytes_per_s < 1 << 10 {
            return refuse("catch_up_bytes_per_s", "at least 1 KiB a second");
        }
        if self.pending_bytes < self.batch_bytes {
            return refuse("pending_bytes", "at least batch_bytes");
        }
        if self.undone_batches == 0 {
            return refuse("undone_batches", "at least 1");
        }
        if self.undone_bytes == 0 {
            return refuse("undone_bytes", "at least 1 byte");
        }
        if self.sessions > 1 << 20 {
            return refuse("sessions", "at most 1,048,576");
        }
        Ok(())
    }
}

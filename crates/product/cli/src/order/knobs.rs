//! Tuning options of a replica. All have good defaults.

use crate::units::{bytes, duration};
use clap::Args;
use paxos::config::Options;
use std::time::Duration;

/// Options of a replica; those that vote must agree on all but delays and rates.
#[derive(Args)]
#[command(next_help_heading = "Knobs")]
pub struct Knobs {
    /// Maximum bytes of requests in a batch: larger batches cost less CPU per request and more latency [default: 12000]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    batch_bytes: Option<usize>,
    /// Maximum time that a request waits for others to share its batch [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    batch_delay: Option<Duration>,
    /// Batches in flight from the leader [default: 16]
    #[arg(long, value_name = "N")]
    window: Option<u64>,
    /// Batches that a replica keeps for replicas that are behind [default: 4096]
    #[arg(long, value_name = "N")]
    span: Option<u64>,
    /// Silence of the leader after which another replica takes over [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    suspicion: Option<Duration>,
    /// Bytes of executed batches between two snapshots of the service [default: 16MB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    snapshot_bytes: Option<usize>,
    /// Maximum bytes per second that a replica which is behind requests [default: 64MB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    catch_up_rate: Option<usize>,
    /// Maximum bytes of requests waiting to be ordered; beyond it the replica stops reading from clients [default: 8MB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pending_bytes: Option<usize>,
    /// Maximum number of client sessions; beyond it the longest idle ones are dropped [default: 65536]
    #[arg(long, value_name = "N")]
    sessions: Option<u64>,
}

impl Knobs {
    /// Sets what was given.
    pub fn apply(&self, options: &mut Options) {
        set(&mut options.batch_bytes, self.batch_bytes);
        set(&mut options.batch_delay, self.batch_delay);
        set(&mut options.window, self.window);
        set(&mut options.span, self.span);
        set(&mut options.suspicion, self.suspicion);
        set(&mut options.snapshot_bytes, self.snapshot_bytes.map(|bytes| bytes as u64));
        set(&mut options.catch_up_bytes_per_s, self.catch_up_rate.map(|bytes| bytes as u64));
        set(&mut options.pending_bytes, self.pending_bytes);
        set(&mut options.sessions, self.sessions);
    }
}

fn set<T>(option: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *option = given;
    }
}

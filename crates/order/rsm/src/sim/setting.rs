//! Setting of a run, drawn from its seed.

use crate::executor::Limits;
use env::{Randomness, SimDiskOptions};
use paxos::config::{Durability, Options};
use sim::{Delay, MILLISECOND, NetworkOptions, SECOND, one_of};
use std::time::Duration;

/// Which faults there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultLevel {
    /// None.
    Calm,
    /// Packets are lost, late, doubled; connections break.
    Lossy,
    /// Links are cut, one way or both, and mended.
    Partitions,
    /// Replicas crash and come back.
    Crashes,
    /// The power goes everywhere at once, again and again.
    PowerFailures,
    /// All of it.
    Chaos,
}

const WEATHERS: [FaultLevel; 6] = [
    FaultLevel::Calm,
    FaultLevel::Lossy,
    FaultLevel::Partitions,
    FaultLevel::Crashes,
    FaultLevel::PowerFailures,
    FaultLevel::Chaos,
];

/// Parts of a setting that are given, not drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedSettings {
    /// The faults.
    pub faults: Option<FaultLevel>,
    /// Replicas that vote.
    pub replicas: Option<u64>,
    /// Durability of all replicas.
    pub durability: Option<Durability>,
}

/// Everything about a run that does not change while it runs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The faults.
    pub faults: FaultLevel,
    /// Options of every replica, except its number.
    pub options: Options,
    /// Limits of every executor.
    pub limits: Limits,
    /// Replicas that only learn, from the first moment on.
    pub learners: u64,
    /// Clients.
    pub clients: u16,
    /// Commands that a client has open at a time, at most.
    pub depth: usize,
    /// Average time that a client waits between two commands.
    pub think_ns: u64,
    /// Bytes behind a command that mean nothing, at most.
    pub padding: u64,
    /// Bytes in the service's snapshot that mean nothing.
    pub ballast: usize,
    /// Between replicas, in good times.
    pub network: NetworkOptions,
    /// Duration of a sync of the disk, minimum and maximum.
    pub sync_ns: (u64, u64),
    /// Duration of a batch in the service, minimum and maximum.
    pub service_ns: (u64, u64),
    /// Options of each disk.
    pub disk: SimDiskOptions,
    /// Bytes of a segment of the journal.
    pub segment_bytes: u64,
    /// Bytes of a piece of a snapshot on the network.
    pub piece_bytes: usize,
    /// Bytes of a snapshot beyond which it is in a file.
    pub short_bytes: u64,
    /// By how many parts in a million clocks run fast or slow, at most.
    pub drift_ppm: u64,
    /// Duration of the faults.
    pub faults_ns: u64,
    /// From one fault to the next, on average.
    pub fault_every_ns: u64,
}

impl Setting {
    /// The setting that follows from the randomness, but for what is given.
    #[must_use]
    pub fn draw(randomness: &mut Randomness, given: &FixedSettings) -> Self {
        let faults = given.faults.unwrap_or(*one_of(randomness, &WEATHERS));
        let voters = *one_of(randomness, &[3, 3, 3, 3, 3, 3, 5, 5, 1, 2, 4, 7]);
        let durability = *one_of(randomness, &[Durability::Fsync, Durability::Fsync, Durability::Memory]);
        // Without a journal nobody survives that everybody stops.
        let durability = if faults == FaultLevel::PowerFailures { Durability::Fsync } else { durability };
        let mut options = draw_options(randomness, given.replicas.unwrap_or(voters));
        options.durability = given.durability.unwrap_or(durability);
        let quick = randomness.chance(2, 3);
        let network = draw_network(randomness);
        // Only a stream keeps pieces in order.
        let piece_bytes = if network.in_order { *one_of(randomness, &[16, 100, 1 << 20]) } else { 1 << 20 };
        Self {
            faults,
            limits: draw_limits(randomness),
            learners: u64::from(randomness.chance(1, 4)),
            clients: randomness.in_range(1..6) as u16,
            depth: *one_of(randomness, &[1, 1, 2, 4, 8]),
            think_ns: *one_of(randomness, &[5, 20, 50, 200]) * MILLISECOND,
            padding: *one_of(randomness, &[1, 1, 40, 400]),
            ballast: *one_of(randomness, &[0, 0, 0, 5_000, 20_000]),
            network,
            sync_ns: if quick { (MILLISECOND / 10, 2 * MILLISECOND) } else { (MILLISECOND, 30 * MILLISECOND) },
            service_ns: if randomness.chance(3, 4) { (0, MILLISECOND / 5) } else { (0, 10 * MILLISECOND) },
            disk: SimDiskOptions { short_reads: randomness.chance(1, 8), ..SimDiskOptions::default() },
            segment_bytes: *one_of(randomness, &[4 << 10, 16 << 10, 64 << 10]),
            piece_bytes,
            short_bytes: match piece_bytes {
                100 => 0,
                16 => 500,
                _ => 1 << 20,
            },
            drift_ppm: *one_of(randomness, &[0, 100, 50_000]),
            faults_ns: *one_of(randomness, &[3, 10, 20]) * SECOND,
            fault_every_ns: *one_of(randomness, &[100, 400, 1_500]) * MILLISECOND,
            options,
        }
    }
}

/// Limits are shrunken, so that what is rare elsewhere is common here.
fn draw_options(randomness: &mut Randomness, replicas: u64) -> Options {
    let mut options = Options::new(replicas, 0);
    options.batch_bytes = *one_of(randomness, &[1, 60, 400, 12_000, 600_000]);
    options.batch_delay = Duration::from_micros(*one_of(randomness, &[0, 200, 1_000, 5_000]));
    options.window = *one_of(randomness, &[1, 2, 5, 16]);
    options.span = *one_of(randomness, &[16, 24, 64, 4_096]);
    options.suspicion = Duration::from_millis(*one_of(randomness, &[50, 100, 500]));
    options.snapshot_bytes = *one_of(randomness, &[100, 1_000, 10_000, 16 << 20]);
    options.journal_bytes = *one_of(randomness, &[500, 5_000, 100_000, 32 << 20]);
    options.catch_up_bytes_per_s = *one_of(randomness, &[64 << 10, 1 << 20, 64 << 20]);
    options.pending_bytes = options.batch_bytes.max(*one_of(randomness, &[200, 4_000, 1 << 20]));
    options.undone_batches = *one_of(randomness, &[1, 4, 256]);
    options
}

fn draw_limits(randomness: &mut Randomness) -> Limits {
    // Clients open sessions anew only when theirs are forgotten: with few sessions that is what happens all the time.
    let sessions = *one_of(randomness, &[3, 8, 1 << 16, 1 << 16, 1 << 16]);
    Limits { sessions, ..Limits::default() }
}

fn draw_network(randomness: &mut Randomness) -> NetworkOptions {
    let usual_ns = *one_of(randomness, &[200_000, 1_000_000, 5_000_000]);
    let delay = Delay { least_ns: usual_ns / 4, usual_ns, long_ppm: 1_000, longest_ns: usual_ns * 20 };
    NetworkOptions { delay, in_order: randomness.chance(3, 4), ..NetworkOptions::default() }
}

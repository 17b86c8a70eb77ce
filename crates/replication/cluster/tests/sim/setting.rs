//! Setting of a run, drawn from its seed.

use env::time::Duration;
use env::{Randomness, SimDiskOptions};
use paxos::config::Durability;
use seriatim_cluster::{Limits, Options};
use sim::{Delay, MILLISECOND, NetworkOptions, SECOND, one_of};
use total::OrderLimits;

/// Which faults there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    None,
    /// Packets are lost, late, doubled; connections break; nodes stand still.
    Lossy,
    /// Links are cut, one way or both, and mended.
    Partitions,
    /// Nodes crash and come back, with their disks or without.
    Crashes,
    /// The power goes everywhere at once.
    PowerFailures,
    /// All of it.
    Chaos,
}

const FAULTS: [Faults; 8] = [
    Faults::None,
    Faults::Lossy,
    Faults::Partitions,
    Faults::Crashes,
    Faults::Crashes,
    Faults::PowerFailures,
    Faults::Chaos,
    Faults::Chaos,
];

/// Everything about a run that does not change while it runs.
#[derive(Clone, Debug)]
pub struct Setting {
    pub faults: Faults,
    pub voters: u64,
    /// Nodes without a vote.
    pub learners: u64,
    /// Options of every replica of the order, except its number.
    pub replica: paxos::config::Options,
    pub limits: OrderLimits,
    /// Options of every node.
    pub options: Options,
    pub clients: u32,
    /// Average time between two statements, and between two transactions.
    pub think_ns: u64,
    /// Average time from one fault to the next.
    pub fault_every_ns: u64,
    pub faults_ns: u64,
    pub network: NetworkOptions,
    /// Duration of a sync of a disk, minimum and maximum.
    pub sync_ns: (u64, u64),
    /// Duration of a step of the order's work, minimum and maximum.
    pub service_ns: (u64, u64),
    /// Longest duration of a local commit.
    pub apply_ns: u64,
    /// Longest time until the local log is durable.
    pub durable_ns: u64,
    /// Time from one checkpoint of a local store to the next.
    pub checkpoint_ns: u64,
    pub disk: SimDiskOptions,
    pub segment_bytes: u64,
    pub piece_bytes: usize,
    pub short_bytes: u64,
    /// How long a holder of a state takes for each line that it sends behind the head; drawn by no run.
    pub line_ns: u64,
    /// By how many parts in a million clocks run fast or slow, at most. Each life of a node has another clock.
    pub drift_ppm: u64,
    /// Keys of the registers.
    pub keys: u64,
    /// Whether a node may be lost for good, with all that it has.
    pub loses_a_node: bool,
}

impl Setting {
    pub fn draw(randomness: &mut Randomness) -> Setting {
        let quick = randomness.chance(2, 3);
        let voters = *one_of(randomness, &[3, 3, 3, 3, 5]);
        let in_order = randomness.chance(3, 4);
        let usual_ns = *one_of(randomness, &[200_000, 1_000_000, 5_000_000]);
        let delay = Delay { least_ns: usual_ns / 4, usual_ns, long_ppm: 1_000, longest_ns: usual_ns * 20 };
        Setting {
            faults: *one_of(randomness, &FAULTS),
            voters,
            learners: u64::from(randomness.chance(1, 4)),
            replica: draw_replica(randomness, voters),
            limits: draw_limits(randomness),
            options: draw_options(randomness),
            clients: randomness.in_range(2..7) as u32,
            think_ns: *one_of(randomness, &[1, 5, 20]) * MILLISECOND,
            fault_every_ns: *one_of(randomness, &[200, 500, 1_500]) * MILLISECOND,
            faults_ns: *one_of(randomness, &[2, 4, 6]) * SECOND,
            network: NetworkOptions { delay, in_order, ..NetworkOptions::default() },
            sync_ns: if quick { (MILLISECOND / 10, 2 * MILLISECOND) } else { (MILLISECOND, 20 * MILLISECOND) },
            service_ns: if randomness.chance(3, 4) { (0, MILLISECOND / 5) } else { (0, 5 * MILLISECOND) },
            apply_ns: *one_of(randomness, &[MILLISECOND / 10, MILLISECOND, 5 * MILLISECOND]),
            durable_ns: *one_of(randomness, &[MILLISECOND, 20 * MILLISECOND, 500 * MILLISECOND]),
            checkpoint_ns: *one_of(randomness, &[300, 1_000, 10_000]) * MILLISECOND,
            disk: SimDiskOptions { short_reads: randomness.chance(1, 8), ..SimDiskOptions::default() },
            segment_bytes: *one_of(randomness, &[16 << 10, 64 << 10]),
            // Only a stream keeps pieces in order.
            piece_bytes: if in_order { *one_of(randomness, &[16, 100, 1 << 20]) } else { 1 << 20 },
            short_bytes: *one_of(randomness, &[100, 1 << 20]),
            line_ns: 0,
            drift_ppm: *one_of(randomness, &[0, 100, 50_000, 400_000]),
            keys: *one_of(randomness, &[4, 12, 60]),
            loses_a_node: randomness.chance(1, 3),
        }
    }

    /// How many voters may be without what they had. They are the first ones: what a majority has lost is nowhere.
    pub fn minority(&self) -> usize {
        (self.voters as usize - 1) / 2
    }

    /// Nodes, with votes and without.
    pub fn nodes(&self) -> usize {
        (self.voters + self.learners) as usize
    }
}

/// Limits are shrunken, so that what is rare elsewhere is common here.
fn draw_replica(randomness: &mut Randomness, voters: u64) -> paxos::config::Options {
    let mut options = paxos::config::Options::new(voters, 0);
    options.sessions = 0;
    options.durability = Durability::Fsync;
    options.batch_bytes = *one_of(randomness, &[1, 400, 12_000, 600_000]);
    options.batch_delay = Duration::from_micros(*one_of(randomness, &[0, 200, 1_000]));
    options.window = *one_of(randomness, &[1, 2, 5, 16]);
    options.span = *one_of(randomness, &[24, 64, 4_096]);
    options.suspicion = Duration::from_millis(*one_of(randomness, &[50, 100, 500]));
    options.snapshot_bytes = *one_of(randomness, &[1_000, 10_000, 16 << 20]);
    options.journal_bytes = *one_of(randomness, &[5_000, 100_000, 32 << 20]);
    options.catch_up_bytes_per_s = *one_of(randomness, &[1 << 20, 64 << 20]);
    options.pending_bytes = options.batch_bytes.max(*one_of(randomness, &[4_000, 1 << 20]));
    options.undone_batches = *one_of(randomness, &[1, 4, 256]);
    options
}

fn draw_limits(randomness: &mut Randomness) -> OrderLimits {
    OrderLimits {
        proposals: *one_of(randomness, &[2, 16, 1 << 16]),
        deliveries: *one_of(randomness, &[2, 16, 1 << 16]),
        kept_bytes: *one_of(randomness, &[4 << 10, 64 << 10, 16 << 20]),
        forgets_by_majority: true,
        retry: Duration::from_millis(*one_of(randomness, &[100, 1_000])),
        ..OrderLimits::default()
    }
}

fn draw_options(randomness: &mut Randomness) -> Options {
    let limits = Limits {
        window_transactions: *one_of(randomness, &[20, 100, 1 << 16]),
        window_bytes: *one_of(randomness, &[2 << 10, 16 << 20]),
        ..Limits::default()
    };
    Options {
        limits,
        part_bytes: *one_of(randomness, &[64, 256, 1 << 20, 1 << 20]),
        catch_up: Duration::from_secs(*one_of(randomness, &[1, 10])),
        answer: Duration::from_secs(*one_of(randomness, &[1, 5, 60])),
        wait_limit: Duration::from_millis(*one_of(randomness, &[100, 1_000, 60_000])),
        undurable_bytes: *one_of(randomness, &[500, 4 << 20]),
        is_durable: true,
        ..Options::default()
    }
}

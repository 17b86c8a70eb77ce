//! The command line of `lab experiment paxos-order`.

use super::row::NAME;
use crate::cli::Scale;
use crate::options::{Format, seconds, seconds_or_none};
use clap::{Args, Command, FromArgMatches, ValueEnum};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// `lab experiment paxos-order`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PaxosOrderArguments {
    /// What is measured
    #[arg(long, value_enum, default_value = "throughput")]
    pub part: Part,

    /// What orders the requests [default: proved and plain, and etcd if it is here]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ENGINE,...")]
    pub engines: Vec<Engine>,

    /// Numbers of replicas, each measured by itself [default: 3 to 15 in steps of 2; parts other than throughput and core: 3]
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u64).range(1..=31))]
    pub replicas: Vec<u64>,

    /// What a vote waits for; etcd always waits for its disk, and gets one in memory for `memory` [default: memory; part
    /// catch-up: fsync]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DURABILITY,...")]
    pub durability: Vec<Durability>,

    /// Logical clients, balanced among the replicas, each with one request open
    #[arg(long, default_value = "1200", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub clients: u64,

    /// Bytes of a request
    #[arg(long, default_value = "40", value_name = "N", value_parser = clap::value_parser!(u64).range(0..=8 << 20))]
    pub request_bytes: u64,

    /// Bytes of requests in a batch, at most
    #[arg(long, default_value = "12000", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=8 << 20))]
    pub batch_bytes: u64,

    /// Puts that etcd has in flight, and batches in part batches: each is tried, and the best counts
    #[arg(long, value_delimiter = ',', default_value = "4,16,64", value_name = "N,...",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub in_flight: Vec<u64>,

    /// Requests in parts memory and catch-up [default: memory 10,000,000; catch-up 1,000,000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    pub requests: Option<u64>,

    /// Requests in a second that three replicas are to order: part latency is measured at half of it, and part catch-up
    /// at it
    #[arg(long, default_value = "130000", value_name = "N", value_parser = clap::value_parser!(u64).range(2..=100_000_000))]
    pub bar_rate: u64,

    /// Milliseconds of silence after which a leader is suspected
    #[arg(long, default_value = "500", value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub suspicion_ms: u64,

    /// Seconds that are counted, per run
    #[arg(long, default_value = "5", value_name = "S", value_parser = seconds)]
    pub seconds: f64,

    /// Seconds before counting begins
    #[arg(long, default_value = "2", value_name = "S", value_parser = seconds_or_none)]
    pub warm_up: f64,

    /// How often each run is repeated, the engines taking turns; figures are medians
    #[arg(long, default_value = "5", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Where replicas that write to a disk have it [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The program etcd
    #[arg(long, default_value = "etcd", value_name = "FILE")]
    pub etcd: PathBuf,

    /// The program that loads it [default: etcd-puts beside this program, or where `cargo build` puts it]
    #[arg(long, value_name = "FILE")]
    pub etcd_puts: Option<PathBuf>,

    /// Draw requests per second by replicas there, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// How the figures are shown
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// A cluster's run at smoke scale: whether it runs.
const SMOKE_SECONDS: f64 = 0.1;
const SMOKE_CLIENTS: u64 = 30;
const SMOKE_REPLICAS: u64 = 3;

impl PaxosOrderArguments {
    /// Those of figure 7.2 at that scale, in memory and on the disk. Without `seconds`, the scale's.
    pub fn of_figure(scale: Scale, repeat: u32, seconds: Option<f64>) -> PaxosOrderArguments {
        let command = PaxosOrderArguments::augment_args(Command::new(NAME));
        let defaults = PaxosOrderArguments::from_arg_matches(&command.get_matches_from([NAME]));
        let defaults = defaults.expect("no argument is required");
        let durability = vec![Durability::Memory, Durability::Fsync];
        let of_seconds = |seconds: f64| {
            let warm_up = seconds * defaults.warm_up / defaults.seconds;
            PaxosOrderArguments { durability, repeat, seconds, warm_up, ..defaults.clone() }
        };
        match scale {
            Scale::Smoke => PaxosOrderArguments {
                engines: vec![Engine::Proved, Engine::Plain],
                replicas: vec![SMOKE_REPLICAS],
                clients: SMOKE_CLIENTS,
                ..of_seconds(seconds.unwrap_or(SMOKE_SECONDS))
            },
            Scale::Full => of_seconds(seconds.unwrap_or(defaults.seconds)),
        }
    }
}

const EXAMPLES: &str = "\
Before, once: cargo build --release --manifest-path rivals/etcd/Cargo.toml (and Debian's etcd-server), or leave etcd out.

Examples:
  Figure 7.2, in memory and with each vote on the disk:
    lab experiment paxos-order --durability memory,fsync --repeat 10
  The same batches for all three, handed over ready-made:
    lab experiment paxos-order --part batches
  Without clients or network, the cores alone:
    lab experiment paxos-order --part core
  Latency at half the load; a leader killed; ten million requests; a replica a million requests behind:
    lab experiment paxos-order --part latency --engines proved
    lab experiment paxos-order --part failover --engines proved --suspicion-ms 500
    lab experiment paxos-order --part memory --engines proved
    lab experiment paxos-order --part catch-up --engines proved --data /mnt/disk";

/// The quantity to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Requests in a second by replicas: figure 7.2
    Throughput,
    /// Ready-made batches in a second: what etcd is given, for all
    Batches,
    /// The cores alone, without clients, network or disk: nanoseconds per batch
    Core,
    /// Latency at half of the rate that is asked for and at half the greatest load, with requests that come at a fixed rate
    Latency,
    /// Time without service when the leader is killed
    Failover,
    /// Memory of each replica over many requests
    Memory,
    /// A replica that was away for many requests comes back
    CatchUp,
}

/// The system that orders the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The proved core in our runtime
    Proved,
    /// A plain core, written by hand, in the same runtime
    Plain,
    /// etcd, which is given ready-made batches
    Etcd,
    /// etcd, which is given each request as a put of its own
    EtcdSingle,
}

impl Engine {
    /// Returns whether etcd is needed.
    pub fn is_etcd(self) -> bool {
        matches!(self, Engine::Etcd | Engine::EtcdSingle)
    }
}

/// Durability of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Nothing. Etcd writes its log to a file system in memory
    Memory,
    /// The disk
    Fsync,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Proved => "proved",
            Engine::Plain => "plain",
            Engine::Etcd => "etcd",
            Engine::EtcdSingle => "etcd-single",
        })
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Durability::Memory => "memory",
            Durability::Fsync => "fsync",
        })
    }
}

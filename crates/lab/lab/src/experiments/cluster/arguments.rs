//! The command lines.

use crate::options::{Format, seconds};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// The cluster under test.
#[derive(Clone, Debug, Args)]
pub struct ClusterArguments {
    /// The program `seriatim` [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    pub server: Option<PathBuf>,

    /// Directory for all data, which must not exist [default: one among the system's temporary files, removed afterwards]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Nodes
    #[arg(long, default_value = "3", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=31))]
    pub nodes: u32,

    /// Further options of each `seriatim serve`
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    pub serve_options: String,

    /// How the figures are shown
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// `lab experiment cluster-failover`.
#[derive(Clone, Debug, Args)]
#[command(after_help = FAILOVER_EXAMPLES)]
pub struct FailoverArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub cluster: ClusterArguments,

    /// Clients of each node
    #[arg(long, default_value = "2", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub clients: u32,

    /// How often each node is killed
    #[arg(long, default_value = "3", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Seconds of load that are looked at before and after each kill, and after the node is back
    #[arg(long, default_value = "3", value_name = "S", value_parser = seconds)]
    pub seconds: f64,
}

/// `lab experiment cluster-pgbench`.
#[derive(Clone, Debug, Args)]
#[command(after_help = PGBENCH_EXAMPLES)]
pub struct PgbenchArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub cluster: ClusterArguments,

    /// Clients, all together
    #[arg(long, default_value = "8", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub clients: u32,

    /// Branches: each has 100,000 accounts
    #[arg(long, default_value = "10", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub scale: u32,

    /// Seconds that are counted, per run
    #[arg(long, default_value = "10", value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,

    /// How often each run is repeated, the systems taking turns; figures are medians
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,

    /// Isolation levels that the clients ask for
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "serializable,read-committed",
        value_name = "LEVEL,..."
    )]
    pub isolation: Vec<Isolation>,

    /// Directory of PostgreSQL's programs, version 15
    #[arg(long, default_value = "/usr/lib/postgresql/15/bin", value_name = "DIR")]
    pub postgresql: PathBuf,
}

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// SERIALIZABLE
    Serializable,
    /// READ COMMITTED, which Seriatim runs as serializable
    ReadCommitted,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isolation::Serializable => "serializable",
            Isolation::ReadCommitted => "read committed",
        })
    }
}

const FAILOVER_EXAMPLES: &str = "\
Exit codes: 0 it was measured, whether or not the bar is met; 1 the run failed; 2 bad arguments.

Examples:
  lab experiment cluster-failover
  lab experiment cluster-failover --repeat 10 --nodes 5 --format json
  lab experiment cluster-failover --data /mnt/disk/failover";

const PGBENCH_EXAMPLES: &str = "\
Needs pgbench and the programs of a PostgreSQL 15. All processes are on this machine, and their files below one directory.
Exit codes: 0 it was measured, whether or not the bar is met; 1 the run failed; 2 bad arguments.

Examples:
  lab experiment cluster-pgbench --seconds 30 --repeat 3
  lab experiment cluster-pgbench --data /dev/shm/pgbench --isolation serializable";

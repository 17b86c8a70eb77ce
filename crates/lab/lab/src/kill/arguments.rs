//! Arguments of `lab kill`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Exit codes: 0 all acknowledged calls are there once and the states are equal; 1 not so; 2 bad arguments.

Examples:
  lab kill --engine bohm --rounds 100
  lab kill --engine bohm --rounds 10 --answers 20000 --data /mnt/disk/kill";

/// `lab kill`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KillArguments {
    /// The engine: one whose log has calls
    #[arg(long, value_enum, default_value = "bohm")]
    pub engine: Logging,

    /// How often the process is killed
    #[arg(long, default_value = "20", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Answers before a kill, at most: the number is drawn for each round
    #[arg(long, default_value = "2000", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub answers: u64,

    /// A directory for the data, which must not exist yet and stays afterwards [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Seed of all random choices
    #[arg(long, default_value = "1", value_name = "SEED")]
    pub seed: u64,
}

/// Engines whose log has calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Logging {
    /// Order in advance
    Bohm,
}

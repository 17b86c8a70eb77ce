//! Arguments of `lab soak`.

use crate::options::{Format, seconds};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
It needs pgbench (Debian: postgresql-contrib), and the `seriatim` program beside `lab` or named by --server.

Exit codes: 0 the books balance, nothing failed, memory and disk stay flat; 1 not so; 2 bad arguments.

Examples:
  lab soak --minutes 30
  lab soak --minutes 1 --kill-every 20 --data /mnt/disk/soak --format json";

/// `lab soak`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SoakArguments {
    /// How long; the round under way is finished
    #[arg(long = "minutes", default_value = "30", value_name = "M", value_parser = minutes)]
    pub duration: Duration,

    /// Seconds between one kill -9 of the server and the next
    #[arg(long, default_value = "300", value_name = "S", value_parser = seconds)]
    pub kill_every: f64,

    /// The program to test [default: `seriatim` beside this one]
    #[arg(long, value_name = "FILE")]
    pub server: Option<PathBuf>,

    /// A directory for the data, which must not exist yet and stays afterwards [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Further options of `seriatim serve`, for example `--memory 1GB`
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    pub serve_options: String,

    /// Clients of pgbench
    #[arg(long, default_value = "4", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub clients: u32,

    /// Rows of each COPY
    #[arg(long, default_value = "100000", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub copy_rows: u32,

    /// How the figures are shown
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

fn minutes(text: &str) -> Result<Duration, String> {
    seconds(text).map(|minutes| Duration::from_secs_f64(minutes * 60.0))
}

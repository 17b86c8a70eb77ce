//! Options of the command line.

use crate::failure::{Failure, Outcome};
use crate::ids::MAX_THREADS;
use crate::load::Source;
use clap::{Parser, ValueEnum};
use seriatim::{Builder, Database, Durability, Engine};
use std::path::PathBuf;

/// Let threads place orders in Northwind's tables while an auditor checks them.
///
/// The first run loads the tables. Every run, after a kill too, first looks for all orders that were ever acknowledged.
/// The last line is `audit ok: ...`, or `audit FAILED: ...` with exit code 1.
#[derive(Parser)]
#[command(
    name = "northwind",
    version,
    after_help = "Examples:\n  \
        northwind --data ./data\n  \
        northwind --data ./data --threads 4 --seconds 30\n  \
        northwind --data ./data --orders 10000 --durability async\n  \
        northwind --data ./data --engine hyper\n  \
        northwind --data ./data --orders 0        (only audit)"
)]
pub struct Options {
    /// Directory of the database; created if it is missing.
    #[arg(long, value_name = "DIR", default_value = "./data")]
    pub data: PathBuf,
    /// Directory with Northwind's tables as CSV files, for the first run. Default: a generated sample of the same shape.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Threads that place orders.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS as i64))]
    pub threads: u16,
    /// How long orders are placed.
    #[arg(long, default_value_t = 10, conflicts_with = "orders")]
    pub seconds: u64,
    /// How many orders are placed, instead of how long.
    #[arg(long)]
    pub orders: Option<u32>,
    /// What an acknowledgement waits for.
    #[arg(long, value_enum, default_value_t = Promise::Fsync)]
    pub durability: Promise,
    /// How transactions are kept apart. Any of these opens what another one has left.
    #[arg(long, value_enum, default_value_t = Protocol::Mvto)]
    pub engine: Protocol,
    /// Memory for rows, indexes and transactions, in MiB. Default: half of what the process may have.
    #[arg(long, value_name = "MIB")]
    pub memory: Option<usize>,
    /// Seconds between lines of progress if the output is not a terminal.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub every: f64,
}

impl Options {
    /// Returns where Northwind's tables come from. A wrong path is found before a directory is made for the database.
    pub fn source(&self) -> Outcome<Source> {
        match &self.csv {
            Some(csv) if csv.is_dir() => Ok(Source::Directory(csv.clone())),
            Some(csv) => Err(Failure::Trouble(format!("--csv {}: there is no such directory", csv.display()))),
            None => Ok(Source::Sample),
        }
    }

    /// Returns the database's knobs.
    pub fn builder(&self) -> Builder {
        let builder = Database::builder().durability(self.durability.durability()).engine(self.engine.engine());
        match self.memory {
            Some(mebibytes) => builder.memory(mebibytes << 20),
            None => builder,
        }
    }
}

/// What an acknowledgement waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Promise {
    /// It is on disk.
    Fsync,
    /// It is visible, and on disk within moments.
    Async,
    /// It is visible.
    None,
}

/// How transactions are kept apart: the engines that keep data on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// Multi-version timestamp ordering.
    Mvto,
    /// Rows changed in place, and validation at commit.
    Hyper,
}

impl Protocol {
    /// Returns the same as the library says it.
    fn engine(self) -> Engine {
        match self {
            Protocol::Mvto => Engine::Mvto,
            Protocol::Hyper => Engine::Hyper,
        }
    }
}

impl Promise {
    /// Returns the same as the library says it.
    pub fn durability(self) -> Durability {
        match self {
            Promise::Fsync => Durability::Fsync,
            Promise::Async => Durability::Async,
            Promise::None => Durability::None,
        }
    }

    /// Returns its name in the table of runs.
    pub fn name(self) -> &'static str {
        match self {
            Promise::Fsync => "fsync",
            Promise::Async => "async",
            Promise::None => "none",
        }
    }
}

//! `--memory`: the memory limit of a database and its statements together.

use crate::units::bytes;
use clap::Args;
use seriatim::{Builder, EngineOptions, Limit};

/// The limit on memory.
#[derive(Args)]
pub struct Memory {
    /// Memory limit: three quarters for rows, indexes and transactions, one quarter for running statements. Beyond it a write or
    /// statement fails with 53200; reads and deletes still work. Default: two thirds of the memory available to the process.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<usize>,
}

impl Memory {
    /// Sets the limit.
    pub fn limit(&self, builder: Builder) -> Builder {
        match self.memory {
            Some(_) => builder.memory(self.rows()),
            None => builder,
        }
    }

    /// Bytes for rows, indexes and transactions.
    pub fn rows(&self) -> usize {
        self.memory.map_or_else(|| EngineOptions::default().memory_limit(), |all| all / 4 * 3)
    }

    /// Bytes for running statements.
    pub fn statements(&self) -> usize {
        self.rows() / 3
    }
}

/// Why a database that does not fit could not be opened, in terms of the option.
pub fn too_small(limit: &Limit) -> String {
    // A sixteenth more, so that there is room to work.
    let needed = megabytes((limit.actual + limit.actual / 16) / 3 * 4);
    let has = megabytes(limit.limit / 3 * 4);
    format!("the database needs more memory than it may have, which is {has}MB: start with --memory {needed}MB")
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

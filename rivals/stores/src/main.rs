//! The lab's workloads on other embedded stores, beside our engines: the same driver, the same rows, the same audits, so that a
//! wrong answer has no figures here either.
//!
//! `make rivals` installs what it needs (Debian's RocksDB and SQLite), builds it and prints a table. Each store is used as its own
//! documentation says ([`stores`]): what it must do for serializable transactions, and what `none` and `fsync` are in its terms,
//! stands beside the code that does it. Keys and rows are the engines' own bytes, for all.

use clap::Parser;
use std::process::ExitCode;
use stores::command::{Arguments, run};

/// For all stores the same: it takes the place of `malloc`, too, which those in C and C++ call.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Arguments::parse(), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stores: {message}");
            ExitCode::FAILURE
        }
    }
}

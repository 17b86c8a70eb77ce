//! The `seriatim` command: serves, loads, inspects, checks and maintains databases.
//!
//! Exit codes of every subcommand: 0 success; 1 it ran and found a problem; 2 it could not run (usage, bad input,
//! the disk).
#![deny(unsafe_code)]

mod address;
#[allow(unsafe_code)]
mod allocator;
mod cluster;
mod csv_table;
mod dump;
mod failure;
mod history;
mod inspect;
mod judge;
mod load;
mod log;
mod memory;
mod opening;
mod order;
mod output;
mod processes;
mod serve;
mod shell;
mod signals;
mod units;
mod values;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::WithReserve = allocator::WithReserve::new();

/// An embedded, durable, strictly serializable database.
#[derive(Parser)]
#[command(
    name = "seriatim",
    version,
    after_help = "Examples:\n  \
        seriatim load --data ./data cities cities.csv --key id\n  \
        seriatim tables --data ./data\n  \
        seriatim dump --data ./data cities --format json\n  \
        seriatim serve --data ./data --pg 127.0.0.1:5432\n  \
        seriatim sql --data ./data -c \"SELECT 1\"\n  \
        seriatim cluster 3 --data ./cluster\n  \
        seriatim order cluster 3\n\n\
        Exit codes: 0 success; 1 the command ran and found a problem; 2 it could not run."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Sql(shell::Sql),
    Cluster(cluster::local::LocalCluster),
    Order(order::Order),
    Load(load::Load),
    Dump(dump::Dump),
    Tables(inspect::Tables),
    Stats(inspect::StatsOf),
    Verify(inspect::Verify),
    Check(judge::Check),
    Checkpoint(inspect::Checkpoint),
    Backup(inspect::Backup),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve(serve) => serve.run(),
        Command::Sql(sql) => sql.run(),
        Command::Cluster(cluster) => cluster.run(),
        Command::Order(order) => order.run(),
        Command::Load(load) => load.run(),
        Command::Dump(dump) => dump.run(),
        Command::Tables(tables) => tables.run(),
        Command::Stats(stats) => stats.run(),
        Command::Verify(verify) => verify.run(),
        Command::Check(check) => check.run(),
        Command::Checkpoint(checkpoint) => checkpoint.run(),
        Command::Backup(backup) => backup.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

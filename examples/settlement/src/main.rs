//! The example of `seriatim::batch`: a clearing house.
//!
//! Threads submit payments in batches. The engine orders them, settles those that are covered and refuses the others
//! ([`house`]). Meanwhile a thread reports the positions of the banks by SQL, as of the last complete batch, and checks
//! that the money adds up ([`report`]); so may psql (`--listen`). At the end stand throughput and the last report, as a table or as JSON.
//!
//! Exit codes: 0 fine; 1 a report did not add up; 2 it could not run.
#![forbid(unsafe_code)]

mod house;
mod report;

use clap::{Parser, ValueEnum};
use env::Randomness;
use env::time::{Duration, Instant};
use house::{House, Order};
use report::Report;
use serde_json::json;
use seriatim::{Database, Durability, Error, batch};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Settles payments between accounts of a clearing house, and reports by SQL meanwhile.
#[derive(Parser)]
#[command(name = "settlement", version)]
struct Options {
    /// Directory of the database; in memory without it
    #[arg(long)]
    data: Option<PathBuf>,
    /// Payments that all threads submit together
    #[arg(long, default_value_t = 200_000)]
    payments: u64,
    /// Accounts; few are hot ones
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(i64).range(2..))]
    accounts: i64,
    /// Threads that submit
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Payments that a thread submits together, before it waits for them
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    together: u64,
    /// Threads that plan
    #[arg(long, default_value_t = 1)]
    planners: usize,
    /// Threads that execute
    #[arg(long, default_value_t = 1)]
    executors: usize,
    /// What an acknowledgement waits for, with --data
    #[arg(long, value_enum, default_value_t = Level::Fsync)]
    durability: Level,
    /// Port of 127.0.0.1, or address of this machine, at which psql reads the tables meanwhile, and after the payments until standard
    /// input ends; port 0 is any free one
    #[arg(long, value_name = "PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// How the outcome is printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Fsync,
    Async,
    None,
}

/// What the threads have done.
#[derive(Default)]
struct Done {
    settled: AtomicU64,
    refused: AtomicU64,
    reports: AtomicU64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("settlement: {error}");
            ExitCode::from(2)
        }
    }
}

/// An address, or a port of 127.0.0.1.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| format!("{text:?} is neither a port nor an address with a port, as 127.0.0.1:5433"))
}

/// Returns whether all reports added up.
fn run(options: &Options) -> Result<bool, Error> {
    let durability = match options.durability {
        Level::Fsync => Durability::Fsync,
        Level::Async => Durability::Async,
        Level::None => Durability::None,
    };
    let engine = batch::Bohm::default().planners(options.planners).executors(options.executors);
    let builder = Database::builder().durability(durability).engine(engine);
    let house = House::open(builder, options.data.as_deref())?;
    let first = house.prepare(options.accounts)?;
    let listening = options.listen.map(|address| listen(&house.db, address)).transpose()?;
    let before = house.db.stats();
    let (done, begun) = (Done::default(), Instant::now());
    let adds_up = settle(&house, options, first, &done)?;
    let elapsed = begun.elapsed();
    house.db.settle()?;
    let last = report::read(&house.db)?;
    let after = house.db.stats();
    let batches = after.batches - before.batches;
    print(options, &done, elapsed, batches, &last);
    if listening.is_some() {
        // Whatever stands there.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
    }
    drop(listening);
    house.db.close()?;
    Ok(adds_up && last.adds_up)
}

/// Has psql read the tables.
fn listen(db: &batch::Database, address: SocketAddr) -> Result<batch::Listening, Error> {
    // What was prepared is complete: the first statement sees it.
    db.settle()?;
    let listening = db.listen(address)?;
    let address = listening.address();
    eprintln!("psql -h {} -p {} -U postgres", address.ip(), address.port());
    Ok(listening)
}

/// Has the threads submit all payments, and reports meanwhile. Returns whether the reports added up.
fn settle(house: &House, options: &Options, first: i64, done: &Done) -> Result<bool, Error> {
    let (next, is_over) = (AtomicI64::new(first), AtomicBool::new(false));
    let end = first + i64::try_from(options.payments).unwrap_or(i64::MAX - first);
    thread::scope(|scope| {
        let reporter = scope.spawn(|| -> Result<bool, Error> {
            while !is_over.load(Ordering::Relaxed) {
                if !report::read(&house.db)?.adds_up {
                    return Ok(false);
                }
                done.reports.fetch_add(1, Ordering::Relaxed);
            }
            Ok(true)
        });
        let pay = || scope.spawn(|| pay(house, options, (&next, end), done));
        let payers: Vec<_> = (0..options.threads).map(|_| pay()).collect();
        let paid: Vec<_> = payers.into_iter().map(|payer| payer.join().expect("a payer returns its error")).collect();
        is_over.store(true, Ordering::Relaxed);
        let adds_up = reporter.join().expect("the reporter returns its error");
        paid.into_iter().collect::<Result<(), Error>>()?;
        adds_up
    })
}

/// One thread: submits payments together, and waits for them.
fn pay(house: &House, options: &Options, (next, end): (&AtomicI64, i64), done: &Done) -> Result<(), Error> {
    let mut randomness = Randomness::from_entropy();
    let together = options.together as i64;
    loop {
        let from = next.fetch_add(together, Ordering::Relaxed);
        if from >= end {
            return Ok(());
        }
        let orders = (from..end.min(from + together)).map(|id| draw(id, options.accounts, &mut randomness));
        for ticket in house.db.submit_all(&house.pay, orders) {
            let count = match ticket.wait() {
                Ok(_) => &done.settled,
                Err(Error::Body(_)) => &done.refused,
                Err(error) => return Err(error),
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn draw(id: i64, accounts: i64, randomness: &mut Randomness) -> Order {
    let debtor = randomness.in_range(0..accounts as u64) as i64;
    let creditor = (debtor + 1 + randomness.in_range(0..accounts as u64 - 1) as i64) % accounts;
    Order { id, debtor, creditor, amount: 1 + randomness.in_range(0..200) as i64 }
}

fn print(options: &Options, done: &Done, elapsed: Duration, batches: u64, report: &Report) {
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    let (settled, refused, reports) = (count(&done.settled), count(&done.refused), count(&done.reports));
    let seconds = elapsed.as_secs_f64();
    let per_second = (settled + refused) as f64 / seconds.max(f64::MIN_POSITIVE);
    let mean_batch = (settled + refused) as f64 / batches.max(1) as f64;
    match options.format {
        Format::Json => {
            let bank = |(bank, accounts, balance, payments): &(String, i64, i64, i64)| json!({ "bank": bank, "accounts": accounts, "balance": balance, "payments": payments });
            let outcome = json!({
                "settled": settled, "refused": refused, "seconds": seconds, "per_second": per_second, "batches": batches,
                "mean_batch": mean_batch, "reports": reports, "payments_in_all": report.settled, "adds_up": report.adds_up,
                "banks": report.banks.iter().map(bank).collect::<Vec<_>>(),
            });
            println!("{outcome}");
        }
        Format::Table => {
            println!(
                "{:>10} {:>10} {:>12} {:>9} {:>11} {:>8}",
                "settled", "refused", "payments/s", "batches", "mean batch", "reports"
            );
            println!("{settled:>10} {refused:>10} {per_second:>12.0} {batches:>9} {mean_batch:>11.1} {reports:>8}");
            println!();
            println!("{:<10} {:>9} {:>12} {:>10}", "bank", "accounts", "balance", "payments");
            for (bank, accounts, balance, payments) in &report.banks {
                println!("{bank:<10} {accounts:>9} {balance:>12} {payments:>10}");
            }
            println!("{}", if report.adds_up { "the money adds up" } else { "THE MONEY DOES NOT ADD UP" });
        }
    }
}

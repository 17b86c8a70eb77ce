//! The embedded example: Northwind's tables, threads that place orders, and an auditor.
//!
//! The tables are loaded once. Threads place orders, each in one transaction: check the stock, take it, insert the order
//! and its details; where the stock is short the order is refused and the thread restocks ([`place`]). An auditor reads
//! all tables in one read transaction, again and again, and checks what must be true ([`audit`]). Every acknowledged order
//! is also written down outside of the database ([`journal`]), so that a run after a kill can ask for each of them.
//!
//! Exit codes: 0 fine; 1 the audit found a violation; 2 it could not run.
#![forbid(unsafe_code)]

mod audit;
mod csv_rows;
mod failure;
mod ids;
mod journal;
mod load;
mod options;
mod place;
mod progress;
mod sample;
mod shop;
mod tables;
mod work;

use clap::Parser;
use failure::{Failure, Outcome};
use options::Options;
use progress::Progress;
use shop::Shop;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(options: &Options) -> Outcome {
    let shop = Shop::open(options, stop_on_signals()?)?;
    let audit = shop.audit()?;
    shop.report_recovery(&audit)?;
    let mut progress = Progress::start();
    let outcome = shop.work(options, &mut progress);
    progress.finish();
    outcome?;
    let seconds = progress.elapsed();
    let audit = shop.audit()?;
    shop.check_this_run()?;
    println!("{}", shop.summary(&audit, seconds));
    shop.close()
}

/// The first SIGINT or SIGTERM asks the program to stop, the second ends it.
fn stop_on_signals() -> Outcome<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())
            .map_err(Failure::trouble)?;
        signal_hook::flag::register(signal, stop.clone()).map_err(Failure::trouble)?;
    }
    Ok(stop)
}

/// Formats a count with its thousands apart: `1,234,567`.
fn grouped(count: impl Into<i128>) -> String {
    let digits = count.into().to_string();
    let places = digits.trim_start_matches('-').len();
    let mut text = String::from(if digits.starts_with('-') { "-" } else { "" });
    for (place, digit) in digits.trim_start_matches('-').chars().enumerate() {
        if place > 0 && (places - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, -1_234_567].map(grouped), ["0", "999", "1,000", "-1,234,567"]);
    }
}

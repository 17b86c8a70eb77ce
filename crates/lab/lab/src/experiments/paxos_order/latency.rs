//! Part latency: requests come at half of a sustainable rate, whether or not earlier ones have been answered.

use super::arguments::{Durability, Engine};
use super::bench::Bench;
use super::measurement::Measurement;
use super::ours::{self, Pace};
use super::row::Row;
use crate::processes::Failure;
use crate::report::grouped;
use std::io::{self, Write};

/// Bar: maximum 99th percentile of latency, in microseconds, at half of the requested rate.
const BAR_US: f64 = 10_000.0;

/// Measures the greatest load, then the latency at half of the bar's and at half of that.
///
/// # Errors
/// The first run that failed.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, Failure> {
    let subjects = bench.subjects(&[Engine::Proved], &[3], &[Durability::Memory])?;
    let mut rows = Vec::new();
    for subject in subjects {
        let greatest = ours::measure(bench, subject, &bench.load())?.requests_per_s();
        eprintln!("{}: {} requests/s at most", subject.engine, grouped(greatest));
        for rate in [bench.arguments().bar_rate as f64 / 2.0, greatest / 2.0] {
            let load = ours::Load { pace: Pace::Rate(rate), ..bench.load() };
            let repeats: Result<Vec<Measurement>, Failure> =
                (0..bench.arguments().repeat).map(|_| ours::measure(bench, subject, &load)).collect();
            rows.push(Row::new("latency", subject, bench.row_load(), &repeats?, None));
        }
    }
    Ok(rows)
}

/// Writes whether the bar is met.
///
/// # Errors
/// Errors of the output.
pub fn write_verdict(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    // The first row of each subject is the one at the bar's rate.
    let worst = rows.iter().step_by(2).map(|row| row.p99_us).fold(0.0, f64::max);
    let verdict = if worst < BAR_US { "met" } else { "not met" };
    let rate = rows.first().map_or(0.0, |row| row.requests_per_s);
    writeln!(
        out,
        "\n{verdict}: p99 {} us at {} requests/s; the bar is {} us",
        grouped(worst),
        grouped(rate),
        grouped(BAR_US)
    )
}

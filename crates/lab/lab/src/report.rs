//! Reports: one row per engine, workload and number of threads, as a table for people or a list for programs.

use crate::machine;
use crate::trial::{DurabilityName, Figures, Measurement, Plan};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A row of figures: medians of all repeats, with the spread of what matters most.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The engine.
    pub engine: String,
    /// The workload.
    pub workload: String,
    /// Clients, one thread each.
    pub threads: u32,
    /// Committed transactions in a second: median of the repeats.
    pub txn_per_s: f64,
    /// The slowest repeat's.
    pub txn_per_s_min: f64,
    /// The fastest repeat's.
    pub txn_per_s_max: f64,
    /// Attempts that did not commit, of all attempts, in all repeats.
    pub abort_ratio: f64,
    /// Attempts that did not commit, by reason, in all repeats.
    pub aborts: BTreeMap<String, u64>,
    /// Median latency, from the first attempt of a transaction to its acknowledgement, in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Memory in use at the end, in MiB: the largest of the repeats.
    pub rss_mb: f64,
    /// Processors that other programs used meanwhile, on average: the most of the repeats. Figures of a row where this is much
    /// are worth little.
    pub other_cores: Option<f64>,
    /// Replaced versions that were still there at the end, if the engine counts them: the most of the repeats.
    pub kept_versions: Option<u64>,
    /// The allocator of the program.
    pub allocator: &'static str,
    /// Isolation level of the transactions.
    pub isolation: &'static str,
    /// Durability of acknowledgements.
    pub durability: DurabilityName,
    /// Whether the database was in memory or on a disk.
    pub storage: &'static str,
    /// Measured time of a repeat, in seconds: the median of the repeats.
    pub seconds: f64,
    /// Committed transactions of all repeats.
    pub committed: u64,
    /// Number of repeats.
    pub repeats: usize,
    /// Sampling interval of the latencies: one in so many transactions was timed.
    pub timed_every: u64,
    /// Figures of the long readers, if there were any.
    pub long_readers: Option<ReaderRow>,
    /// Seed of all random choices in the first repeat.
    pub seed: u64,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
    /// Cores of the machine that the process may use.
    pub cores: usize,
    /// The workload's parameters.
    pub parameters: serde_json::Value,
}

/// The long readers' part of a row.
#[derive(Clone, Debug, Serialize)]
pub struct ReaderRow {
    /// Readers, one thread each.
    pub threads: u32,
    /// Committed transactions in a second: median of the repeats.
    pub txn_per_s: f64,
    /// As in [`Row::abort_ratio`].
    pub abort_ratio: f64,
    /// As in [`Row::aborts`].
    pub aborts: BTreeMap<String, u64>,
    /// 99th percentile of their latency, in microseconds.
    pub p99_us: f64,
}

impl Row {
    /// Sums up all repeats of a plan.
    ///
    /// # Panics
    /// Without any.
    pub fn new(plan: &Plan, repeats: &[Measurement], commit: Option<&str>) -> Row {
        let clients: Vec<&Figures> = repeats.iter().map(|repeat| &repeat.clients).collect();
        let readers: Vec<&Figures> = repeats.iter().filter_map(|repeat| repeat.long_readers.as_ref()).collect();
        let rates = || clients.iter().map(|figures| figures.txn_per_s);
        let aborts = sum_of_aborts(&clients);
        Row {
            engine: plan.engine.to_string(),
            workload: plan.workload.name().to_owned(),
            threads: plan.threads,
            txn_per_s: median(rates()),
            txn_per_s_min: rates().fold(f64::INFINITY, f64::min),
            txn_per_s_max: rates().fold(0.0, f64::max),
            abort_ratio: abort_ratio(&clients, &aborts),
            aborts,
            p50_us: median(clients.iter().map(|figures| figures.p50_us)),
            p99_us: median(clients.iter().map(|figures| figures.p99_us)),
            p999_us: median(clients.iter().map(|figures| figures.p999_us)),
            rss_mb: repeats.iter().map(|repeat| repeat.rss_mb).fold(0.0, f64::max),
            other_cores: repeats.iter().filter_map(|repeat| repeat.other_cores).reduce(f64::max),
            kept_versions: repeats.iter().filter_map(|repeat| repeat.kept_versions).max(),
            allocator: machine::ALLOCATOR,
            isolation: plan.engine.isolation(),
            durability: plan.durability,
            storage: if plan.settings.data.is_some() { "disk" } else { "memory" },
            seconds: median(clients.iter().map(|figures| figures.seconds)),
            committed: clients.iter().map(|figures| figures.commits).sum(),
            repeats: repeats.len(),
            timed_every: clients.iter().map(|figures| figures.timed_every).max().unwrap_or(1),
            long_readers: (!readers.is_empty()).then(|| ReaderRow::new(plan.long_readers, &readers)),
            seed: plan.seed,
            commit: commit.map(str::to_owned),
            cores: machine::cores(),
            parameters: plan.workload.parameters(),
        }
    }
}

impl ReaderRow {
    fn new(threads: u32, readers: &[&Figures]) -> ReaderRow {
        let aborts = sum_of_aborts(readers);
        ReaderRow {
            threads,
            txn_per_s: median(readers.iter().map(|figures| figures.txn_per_s)),
            abort_ratio: abort_ratio(readers, &aborts),
            aborts,
            p99_us: median(readers.iter().map(|figures| figures.p99_us)),
        }
    }
}

fn sum_of_aborts(all: &[&Figures]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (reason, count) in all.iter().flat_map(|figures| &figures.aborts) {
        *sum.entry(reason.clone()).or_insert(0) += count;
    }
    sum
}

fn abort_ratio(all: &[&Figures], aborts: &BTreeMap<String, u64>) -> f64 {
    let aborted: u64 = aborts.values().sum();
    let attempts = aborted + all.iter().map(|figures| figures.commits).sum::<u64>();
    if attempts == 0 { 0.0 } else { aborted as f64 / attempts as f64 }
}

/// The middle one, or the mean of the two in the middle.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

/// Writes the rows as one JSON list.
///
/// # Errors
/// Errors of the output.
pub fn write_json(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, rows)?;
    writeln!(out)
}

/// Writes the rows as an aligned table, and below it what the aborts were.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    writeln!(
        out,
        "{} {}\n{} core(s), {}, durability {} ({}), {} x {:.1} s, commit {}\n",
        first.workload,
        first.parameters,
        first.cores,
        first.isolation,
        first.durability.name(),
        first.storage,
        first.repeats,
        first.seconds,
        first.commit.as_deref().unwrap_or("unknown")
    )?;
    write_cells(&cells(rows), out)?;
    write_reasons(rows, out)
}

const TITLES: [&str; 11] =
    ["engine", "threads", "txn/s", "min", "max", "aborts %", "p50 us", "p99 us", "p99.9 us", "RSS MiB", "others'"];

fn cells(rows: &[Row]) -> Vec<[String; TITLES.len()]> {
    let cells = rows.iter().map(|row| {
        [
            row.engine.clone(),
            row.threads.to_string(),
            grouped(row.txn_per_s),
            grouped(row.txn_per_s_min),
            grouped(row.txn_per_s_max),
            format!("{:.2}", row.abort_ratio * 100.0),
            format!("{:.2}", row.p50_us),
            format!("{:.2}", row.p99_us),
            format!("{:.2}", row.p999_us),
            format!("{:.0}", row.rss_mb),
            row.other_cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}")),
        ]
    });
    std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect()
}

/// Names to the left, numbers to the right, each column as wide as its widest cell.
pub(crate) fn write_cells<const N: usize>(lines: &[[String; N]], out: &mut dyn Write) -> io::Result<()> {
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for line in lines {
        write!(out, "{:<1$}", line[0], widths[0])?;
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_reasons(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let listed = |aborts: &BTreeMap<String, u64>| {
        let reasons = aborts.iter().map(|(reason, count)| format!("{reason} {}", grouped(*count as f64)));
        reasons.collect::<Vec<_>>().join(", ")
    };
    for row in rows {
        let name = format!("{}, {} thread(s)", row.engine, row.threads);
        if !row.aborts.is_empty() {
            writeln!(out, "aborts of {name}: {}", listed(&row.aborts))?;
        }
        if let Some(readers) = &row.long_readers {
            let (aborted, rate) = (readers.abort_ratio * 100.0, readers.txn_per_s);
            writeln!(
                out,
                "long readers of {name}: {rate:.1} txn/s, {aborted:.2} % aborted {}",
                listed(&readers.aborts)
            )?;
        }
    }
    Ok(())
}

/// Digits in groups of three.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
        assert_eq!(median(std::iter::empty()), 0.0);
    }

    #[test]
    fn digits_come_in_groups() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0.4, 999.0, 1000.0, 1_234_567.0].map(grouped).as_slice());
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [["engine", "txn/s"], ["a", "1,000,000"]].map(|line| line.map(str::to_owned));
        let mut out = Vec::new();
        write_cells(&lines, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "engine      txn/s\na       1,000,000\n");
    }
}

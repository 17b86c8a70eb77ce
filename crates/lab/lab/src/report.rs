//! Reports: one row per engine, workload and number of threads, as a table for people or a list for programs.

use crate::engines::DoorName;
use crate::machine;
use crate::trial::{DurabilityName, Figures, Measurement, Plan, Subject};
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
    /// Door by which the transactions entered.
    pub door: DoorName,
    /// Transactions submitted together, by the door for batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Transactions that came in a second, in an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Clients, one thread each.
    pub threads: u32,
    /// Committed transactions in a second: median of the repeats.
    pub txn_per_s: f64,
    /// The slowest repeat's.
    pub txn_per_s_min: f64,
    /// The fastest repeat's.
    pub txn_per_s_max: f64,
    /// The same by kind of transaction, over all repeats; empty where the workload has one kind.
    pub txn_per_s_by_kind: BTreeMap<String, f64>,
    /// Nanoseconds that a client takes for a transaction without any engine: median of the repeats. None in a recorded run.
    pub bare_ns: Option<f64>,
    /// Nanoseconds from one commit of a client to its next, less those of the bare loop in the same run: median of the repeats.
    pub over_bare_ns: Option<f64>,
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
    /// Bytes of a transaction's log of predicates, on average of those that have one: the median of the repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<f64>,
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
    /// The door, and the size of its batches.
    fn door_in_words(&self) -> String {
        let batch = self.batch.map(|size| format!(" of {size}")).unwrap_or_default();
        let rate = self.rate.map(|rate| format!(" at {} txn/s", grouped(rate))).unwrap_or_default();
        format!("{}{batch}{rate}", self.door)
    }

    /// Sums up all repeats of a plan.
    ///
    /// # Panics
    /// Without any.
    pub fn new<S: Subject>(plan: &Plan<S>, repeats: &[Measurement], commit: Option<&str>) -> Row {
        let clients: Vec<&Figures> = repeats.iter().map(|repeat| &repeat.clients).collect();
        let readers: Vec<&Figures> = repeats.iter().filter_map(|repeat| repeat.long_readers.as_ref()).collect();
        let rates = || clients.iter().map(|figures| figures.txn_per_s);
        let aborts = sum_of_aborts(&clients);
        Row {
            engine: plan.engine.to_string(),
            workload: plan.workload.name().to_owned(),
            door: plan.door,
            batch: matches!(plan.door, DoorName::Batch | DoorName::Prepared).then_some(plan.batch),
            rate: plan.rate,
            threads: plan.threads,
            txn_per_s: median(rates()),
            txn_per_s_min: rates().fold(f64::INFINITY, f64::min),
            txn_per_s_max: rates().fold(0.0, f64::max),
            txn_per_s_by_kind: rates_by_kind(&clients),
            bare_ns: median_of_some(repeats.iter().map(|repeat| repeat.bare_ns)),
            over_bare_ns: median_of_some(
                repeats.iter().map(|repeat| Some(repeat.ns_per_txn(plan.threads) - repeat.bare_ns?)),
            ),
            abort_ratio: abort_ratio(&clients, &aborts),
            aborts,
            p50_us: median(clients.iter().map(|figures| figures.p50_us)),
            p99_us: median(clients.iter().map(|figures| figures.p99_us)),
            p999_us: median(clients.iter().map(|figures| figures.p999_us)),
            rss_mb: repeats.iter().map(|repeat| repeat.rss_mb).fold(0.0, f64::max),
            other_cores: repeats.iter().filter_map(|repeat| repeat.other_cores).reduce(f64::max),
            kept_versions: repeats.iter().filter_map(|repeat| repeat.kept_versions).max(),
            log_bytes: median_of_some(repeats.iter().map(|repeat| repeat.log_bytes)),
            allocator: machine::ALLOCATOR,
            isolation: plan.settings.isolation(plan.engine.isolation()),
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

fn rates_by_kind(all: &[&Figures]) -> BTreeMap<String, f64> {
    let seconds: f64 = all.iter().map(|figures| figures.seconds).sum();
    let mut rates = BTreeMap::new();
    for (kind, count) in all.iter().flat_map(|figures| &figures.commits_by_kind) {
        *rates.entry(kind.clone()).or_insert(0.0) += *count as f64 / seconds.max(f64::MIN_POSITIVE);
    }
    rates
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

/// The median, if there is a value for every repeat.
pub(crate) fn median_of_some(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    values.filter(|values| !values.is_empty()).map(|values| median(values.into_iter()))
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
        "{} {}\n{} core(s), {}, {}, durability {} ({}), door {}, {} x {:.1} s, allocator {}, commit {}\n",
        first.workload,
        first.parameters,
        first.cores,
        machine::BUILD,
        first.isolation,
        first.durability.name(),
        first.storage,
        first.door_in_words(),
        first.repeats,
        first.seconds,
        first.allocator,
        first.commit.as_deref().unwrap_or("unknown")
    )?;
    write_cells(&cells(rows), out)?;
    write_reasons(rows, out)
}

const TITLES: [&str; 13] = [
    "engine",
    "threads",
    "txn/s",
    "min",
    "max",
    "over bare ns",
    "aborts %",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "RSS MiB",
    "versions",
    "others'",
];

fn cells(rows: &[Row]) -> Vec<[String; TITLES.len()]> {
    let cells = rows.iter().map(|row| {
        [
            row.engine.clone(),
            row.threads.to_string(),
            grouped(row.txn_per_s),
            grouped(row.txn_per_s_min),
            grouped(row.txn_per_s_max),
            or_dash(row.over_bare_ns.map(grouped)),
            format!("{:.2}", row.abort_ratio * 100.0),
            format!("{:.2}", row.p50_us),
            format!("{:.2}", row.p99_us),
            format!("{:.2}", row.p999_us),
            format!("{:.0}", row.rss_mb),
            or_dash(row.kept_versions.map(|count| grouped(count as f64))),
            or_dash(row.other_cores.map(|cores| format!("{cores:.2}"))),
        ]
    });
    std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect()
}

/// Microseconds, or that nothing was timed.
pub(crate) fn latency(us: f64) -> String {
    or_dash((us > 0.0).then(|| format!("{us:.1}")))
}

/// A figure, or that there is none.
pub(crate) fn or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "-".to_owned())
}

/// Names to the left, numbers to the right, each column as wide as its widest cell.
///
/// # Errors
/// Errors of the output.
pub fn write_cells<const N: usize>(lines: &[[String; N]], out: &mut dyn Write) -> io::Result<()> {
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

/// Counts by name, in one line.
pub(crate) fn counts(counts: &BTreeMap<String, u64>) -> String {
    let named = counts.iter().map(|(name, count)| format!("{name} {}", grouped(*count as f64)));
    named.collect::<Vec<_>>().join(", ")
}

/// Rates by name, in one line.
pub(crate) fn rates(rates: &BTreeMap<String, f64>) -> String {
    let named = rates.iter().map(|(name, rate)| format!("{name} {}", grouped(*rate)));
    named.collect::<Vec<_>>().join(", ")
}

fn write_reasons(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    for row in rows {
        let name = format!("{}, {} thread(s)", row.engine, row.threads);
        if !row.txn_per_s_by_kind.is_empty() {
            writeln!(out, "txn/s of {name}: {}", rates(&row.txn_per_s_by_kind))?;
        }
        if !row.aborts.is_empty() {
            writeln!(out, "aborts of {name}: {}", counts(&row.aborts))?;
        }
        if let Some(readers) = &row.long_readers {
            let (aborted, rate) = (readers.abort_ratio * 100.0, readers.txn_per_s);
            writeln!(
                out,
                "long readers of {name}: {rate:.1} txn/s, {aborted:.2} % aborted {}",
                counts(&readers.aborts)
            )?;
        }
    }
    Ok(())
}

/// Digits in groups of three.
pub fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut grouped = String::from(if number <= -0.5 { "-" } else { "" });
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
        let groups = [0.4, 999.0, 1000.0, 1_234_567.0, -0.2, -999.0, -1000.0].map(grouped);
        assert_eq!(groups, ["0", "999", "1,000", "1,234,567", "0", "-999", "-1,000"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [["engine", "txn/s"], ["a", "1,000,000"]].map(|line| line.map(str::to_owned));
        let mut out = Vec::new();
        write_cells(&lines, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "engine      txn/s\na       1,000,000\n");
    }
}

//! Figures of an experiment that was run.

use super::{Chart, Measure, Point};
use crate::cli::Scale;
use crate::plot;
use crate::report::Row;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What came out of an experiment: what `lab run --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The experiment.
    pub experiment: String,
    /// Its size.
    pub scale: Scale,
    /// Cores of the machine.
    pub cores: usize,
    /// Whether the compiler has optimized the program.
    pub build: String,
    /// The allocator of the program.
    pub allocator: String,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
    /// What this machine forced down, and what is missing.
    pub notes: Vec<String>,
    /// Trials that have no measurement: which, and why.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Comparison with the paper.
    pub outcome: String,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A point that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// See [`Point::panel`].
    pub panel: String,
    /// See [`Point::series`].
    pub series: String,
    /// See [`Point::x`].
    pub x: f64,
    /// See [`Point::label`].
    pub label: String,
    /// The engine.
    pub engine: String,
    /// Clients.
    pub threads: u32,
    /// Long readers beside them.
    pub long_readers: u32,
    /// Committed transactions of the clients in a second: median of the repeats.
    pub txn_per_s: f64,
    /// Least of them.
    pub txn_per_s_min: f64,
    /// Greatest of them.
    pub txn_per_s_max: f64,
    /// The same by kind of transaction, where the workload has several.
    pub txn_per_s_by_kind: BTreeMap<String, f64>,
    /// Nanoseconds that a client takes for a transaction without any engine.
    pub bare_ns: Option<f64>,
    /// Nanoseconds from one commit of a client to its next, less those.
    pub over_bare_ns: Option<f64>,
    /// The long readers' transactions in a second.
    pub long_reader_txn_per_s: Option<f64>,
    /// The long readers' attempts that did not commit, by rule.
    pub long_reader_aborts: BTreeMap<String, u64>,
    /// Attempts that did not commit, of all attempts.
    pub abort_ratio: f64,
    /// The same by rule.
    pub aborts: BTreeMap<String, u64>,
    /// Median latency with retries, in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Memory of the process, in MiB, if it is the engine's.
    pub rss_mb: Option<f64>,
    /// Replaced versions that were still there at the end, if the engine counts them.
    pub kept_versions: Option<u64>,
    /// Bytes of a transaction's log of predicates, on average, if the engine logs predicates.
    #[serde(default)]
    pub log_bytes: Option<f64>,
    /// Processors that other programs used.
    pub other_cores: Option<f64>,
    /// Isolation level.
    pub isolation: String,
    /// Whether rows were in memory or on a disk, and what an acknowledgement waited for.
    pub durability: String,
    /// Number of repeats, and counted seconds of one.
    pub repeats: usize,
    /// See [`Figure::repeats`].
    pub seconds: f64,
    /// The workload's parameters.
    pub parameters: serde_json::Value,
}

impl Figure {
    /// The figures of a point.
    pub fn new(point: &Point, row: Row) -> Figure {
        Figure {
            panel: point.panel.to_owned(),
            series: point.series.clone(),
            x: point.x,
            label: point.label.clone(),
            engine: row.engine,
            threads: row.threads,
            long_readers: point.plan.long_readers,
            txn_per_s: row.txn_per_s,
            txn_per_s_min: row.txn_per_s_min,
            txn_per_s_max: row.txn_per_s_max,
            txn_per_s_by_kind: row.txn_per_s_by_kind,
            bare_ns: row.bare_ns,
            over_bare_ns: row.over_bare_ns,
            long_reader_txn_per_s: row.long_readers.as_ref().map(|readers| readers.txn_per_s),
            long_reader_aborts: row.long_readers.map(|readers| readers.aborts).unwrap_or_default(),
            abort_ratio: row.abort_ratio,
            aborts: row.aborts,
            p50_us: row.p50_us,
            p99_us: row.p99_us,
            p999_us: row.p999_us,
            rss_mb: Some(row.rss_mb),
            kept_versions: row.kept_versions,
            log_bytes: row.log_bytes,
            other_cores: row.other_cores,
            isolation: row.isolation.to_owned(),
            durability: format!("{}, {}", row.storage, row.durability.name()),
            repeats: row.repeats,
            seconds: row.seconds,
            parameters: row.parameters,
        }
    }

    /// A number among the workload's parameters.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        self.parameters.get(name)?.as_f64()
    }

    /// Nanoseconds of one client for each of what a transaction has as many of as a parameter says.
    pub fn nanoseconds_of(&self, parameter: &str) -> Option<f64> {
        let per_s = self.txn_per_s * self.parameter(parameter)?;
        (per_s > 0.0).then(|| f64::from(self.threads) * 1e9 / per_s)
    }

    /// Throughput over that of the bare loop.
    pub fn of_bare(&self) -> Option<f64> {
        Some(self.txn_per_s * self.bare_ns? / (f64::from(self.threads) * 1e9))
    }
}

/// What figures say of themselves, each once.
pub fn distinct(figures: &[Figure], text: fn(&Figure) -> &str) -> String {
    let mut texts: Vec<&str> = figures.iter().map(text).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.join(" / ")
}

/// The figures of a run, to be asked.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    /// All of them.
    pub all: &'a [Figure],
    /// Cores of the machine.
    pub cores: usize,
}

impl<'a> Figures<'a> {
    /// The figure of a series at a place.
    pub fn at(&self, panel: &str, series: &str, x: f64) -> Option<&'a Figure> {
        self.all.iter().find(|it| it.panel == panel && it.series == series && it.x == x)
    }

    /// Throughput of one series over another's at a place.
    pub fn ratio(&self, panel: &str, over: &str, under: &str, x: f64) -> Option<f64> {
        let under = self.at(panel, under, x)?.txn_per_s;
        (under > 0.0).then(|| self.at(panel, over, x).map(|over| over.txn_per_s / under)).flatten()
    }

    /// The series of a chart.
    pub fn series(&self, chart: &Chart) -> Vec<plot::Series> {
        let panel: Vec<&Figure> = self.all.iter().filter(|it| it.panel == chart.panel).collect();
        let mut series: Vec<plot::Series> = Vec::new();
        match chart.measure {
            Measure::Ratio(ratios) => {
                for (name, over, under) in ratios {
                    let points = panel.iter().filter(|it| it.series == *over);
                    let points = points
                        .filter_map(|it| Some(plot::Point::single(it.x, self.ratio(chart.panel, over, under, it.x)?)));
                    series.push(plot::Series::new(*name, points.collect()));
                }
            }
            _ => {
                for figure in panel {
                    let Some(point) = self.point(chart, figure) else { continue };
                    match series.iter_mut().find(|it| it.name == figure.series) {
                        Some(known) => known.points.push(point),
                        None => series.push(plot::Series::new(&figure.series, vec![point])),
                    }
                }
            }
        }
        series.retain(|it| !it.points.is_empty());
        series
    }

    fn point(&self, chart: &Chart, it: &Figure) -> Option<plot::Point> {
        Some(match chart.measure {
            Measure::TxnPerS | Measure::RequestsPerS => {
                plot::Point { x: it.x, y: it.txn_per_s, least: it.txn_per_s_min, greatest: it.txn_per_s_max }
            }
            Measure::MillionsPerS(parameter, _) => {
                let millions = it.parameter(parameter)? / 1e6;
                let [y, least, greatest] =
                    [it.txn_per_s, it.txn_per_s_min, it.txn_per_s_max].map(|rate| rate * millions);
                plot::Point { x: it.x, y, least, greatest }
            }
            Measure::NanosecondsOf(parameter, _) => plot::Point::single(it.x, it.nanoseconds_of(parameter)?),
            Measure::LogBytes => plot::Point::single(it.x, it.log_bytes?),
            Measure::OfBare => plot::Point::single(it.x, it.of_bare()?),
            Measure::P999Ms => plot::Point::single(it.x, it.p999_us / 1000.0),
            Measure::AbortPercent => plot::Point::single(it.x, it.abort_ratio * 100.0),
            Measure::Speedup => {
                let first = self.all.iter().find(|other| other.panel == it.panel && other.series == it.series)?;
                plot::Point::single(it.x, it.txn_per_s / first.txn_per_s)
            }
            Measure::Ratio(_) => return None,
        })
    }

    /// Names of the places of a chart, in the order of the points.
    pub fn labels(&self, chart: &Chart) -> Vec<(f64, String)> {
        let mut labels: Vec<(f64, String)> = Vec::new();
        for it in self.all.iter().filter(|it| it.panel == chart.panel) {
            if !labels.iter().any(|(x, _)| *x == it.x) {
                labels.push((it.x, it.label.clone()));
            }
        }
        labels
    }
}

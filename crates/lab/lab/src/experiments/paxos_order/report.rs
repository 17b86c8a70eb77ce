//! The figure on the page of `lab report`.

use super::arguments::Engine;
use super::row::{NAME, Row};
use super::shape;
use crate::cli::Scale;
use crate::experiments::figures::{Figure, Outcome};
use crate::experiments::{Chart, Measure, Style};
use crate::machine;
use std::collections::BTreeMap;

const PANEL: &str = "figure 7.2";

/// How it is drawn. The thesis gives no table of throughputs: what can be compared are the shares.
pub const CHARTS: &[Chart] = &[
    Chart {
        title: "Requests ordered, all replicas on this machine",
        panel: PANEL,
        measure: Measure::RequestsPerS,
        style: Style::Lines,
        x: "replicas",
        paper: &[],
    },
    Chart {
        title: "Proved over plain",
        panel: PANEL,
        measure: Measure::Ratio(&[
            ("memory", "proved, memory", "plain, memory"),
            ("fsync", "proved, fsync", "plain, fsync"),
        ]),
        style: Style::Lines,
        x: "replicas",
        paper: &[("verified over unverified", &shape::PAPER)],
    },
];

/// Part of the command that measures the figure.
const PART: &str = "throughput";

/// The rows of the figure as an outcome; `None` if there are none.
pub fn outcome(rows: &[Row]) -> Option<Outcome> {
    let rows: Vec<Row> = rows.iter().filter(|row| row.part == PART).cloned().collect();
    rows.first()?;
    let is_complete = shape::PAPER.iter().all(|(replicas, _)| {
        rows.iter().any(|row| row.subject.engine == Engine::Proved && row.subject.replicas as f64 == *replicas)
    });
    Some(at_scale(if is_complete { Scale::Full } else { Scale::Smoke }, &rows))
}

/// The rows of the figure as an outcome at that scale.
pub fn at_scale(scale: Scale, rows: &[Row]) -> Outcome {
    let cores = rows.first().map_or_else(machine::cores, |row| row.cores);
    Outcome {
        experiment: NAME.to_owned(),
        scale,
        cores,
        build: machine::BUILD.to_owned(),
        allocator: machine::ALLOCATOR.to_owned(),
        commit: rows.first().and_then(|row| row.commit.clone()),
        notes: vec![shape::note_on_cores(cores)],
        failed: Vec::new(),
        outcome: shape::outcome(rows),
        figures: rows.iter().map(figure).collect(),
    }
}

fn figure(row: &Row) -> Figure {
    let subject = &row.subject;
    Figure {
        panel: PANEL.to_owned(),
        series: format!("{}, {}", subject.engine, subject.durability),
        x: subject.replicas as f64,
        label: subject.replicas.to_string(),
        engine: subject.engine.to_string(),
        threads: u32::try_from(row.load.clients).unwrap_or(u32::MAX),
        long_readers: 0,
        txn_per_s: row.requests_per_s,
        txn_per_s_min: row.requests_per_s_min,
        txn_per_s_max: row.requests_per_s_max,
        txn_per_s_by_kind: BTreeMap::new(),
        bare_ns: None,
        over_bare_ns: None,
        long_reader_txn_per_s: None,
        long_reader_aborts: BTreeMap::new(),
        abort_ratio: 0.0,
        aborts: BTreeMap::new(),
        p50_us: row.p50_us,
        p99_us: row.p99_us,
        p999_us: row.p999_us,
        rss_mb: None,
        kept_versions: None,
        log_bytes: None,
        other_cores: Some(row.other_cores),
        isolation: "total order".to_owned(),
        durability: subject.durability.to_string(),
        repeats: row.repeats,
        seconds: row.seconds,
        parameters: serde_json::json!({ "load": row.load, "of_plain": row.of_plain, "cpu_us_per_request": row.cpu_us_per_request }),
    }
}

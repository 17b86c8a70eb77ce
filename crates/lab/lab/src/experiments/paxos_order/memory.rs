//! Part memory: many requests, and the memory of each replica on the way.

use super::arguments::{Durability, Engine};
use super::bench::Bench;
use super::ours::Cluster;
use super::row::Subject;
use crate::machine;
use crate::processes::Failure;
use crate::report::{grouped, write_cells};
use env::time::Instant;
use serde::Serialize;
use std::io::{self, Write};

/// A row of figures: one replica.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryRow {
    /// Always `paxos-order`.
    pub experiment: &'static str,
    /// Always `memory`.
    pub part: &'static str,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields are documented one by one")]
    pub subject: Subject,
    /// The replica's number.
    pub replica: usize,
    /// Requests that were ordered.
    pub requests: u64,
    /// MiB in use after a tenth of the requests.
    pub start_mb: f64,
    /// After half of them.
    pub middle_mb: f64,
    /// After all of them.
    pub end_mb: f64,
    /// Growth from start to end for each request between them, in bytes.
    pub growth_bytes_per_request: f64,
    /// Requests in a second.
    pub requests_per_s: f64,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

const REQUESTS: u64 = 10_000_000;

/// Growth for each request up to which memory counts as flat, in bytes: less than anything that is kept would take, more than an
/// allocator's own ups and downs over ten million.
const BAR: f64 = 2.0;

/// Orders the requests and looks at the replicas three times.
///
/// # Errors
/// A cluster fails.
pub fn rows(bench: &Bench) -> Result<Vec<MemoryRow>, Failure> {
    let requests = bench.arguments().requests.unwrap_or(REQUESTS);
    let mut rows = Vec::new();
    for subject in bench.subjects(&[Engine::Proved], &[3], &[Durability::Memory])? {
        let cluster = Cluster::start(bench, subject)?;
        let clients = cluster.clients(&bench.load())?;
        let start = Instant::now();
        let mut seen = Vec::new();
        for goal in [requests / 10, requests / 2, requests] {
            clients.wait_until(goal)?;
            seen.push(cluster.resident_mb()?);
            eprintln!(
                "{}: {} requests, replicas use {:.1?} MiB",
                subject.engine,
                grouped(goal as f64),
                seen[seen.len() - 1]
            );
        }
        let requests_per_s = clients.acknowledged() as f64 / start.elapsed().as_secs_f64();
        rows.extend((0..seen[0].len()).map(|replica| MemoryRow {
            experiment: "paxos-order",
            part: "memory",
            subject,
            replica,
            requests,
            start_mb: seen[0][replica],
            middle_mb: seen[1][replica],
            end_mb: seen[2][replica],
            growth_bytes_per_request: (seen[2][replica] - seen[0][replica]) * f64::from(1 << 20)
                / (requests - requests / 10) as f64,
            requests_per_s,
            commit: machine::commit(),
        }));
    }
    Ok(rows)
}

const TITLES: [&str; 9] = [
    "engine",
    "replicas",
    "durability",
    "replica",
    "MiB after 10 %",
    "after 50 %",
    "after all",
    "bytes/request",
    "requests/s",
];

/// Writes the rows as an aligned table, and whether the bar is met.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[MemoryRow], out: &mut dyn Write) -> io::Result<()> {
    let cells = rows.iter().map(|row| {
        [
            row.subject.engine.to_string(),
            row.subject.replicas.to_string(),
            row.subject.durability.to_string(),
            row.replica.to_string(),
            format!("{:.1}", row.start_mb),
            format!("{:.1}", row.middle_mb),
            format!("{:.1}", row.end_mb),
            format!("{:.2}", row.growth_bytes_per_request),
            grouped(row.requests_per_s),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    let requests = rows.first().map_or(0, |row| row.requests);
    writeln!(out, "paxos-order, memory over {} requests\n", grouped(requests as f64))?;
    write_cells(&lines, out)?;
    let worst = rows.iter().map(|row| row.growth_bytes_per_request).fold(f64::NEG_INFINITY, f64::max);
    let verdict = if worst <= BAR { "flat" } else { "not flat" };
    writeln!(out, "\n{verdict}: {worst:.2} bytes more for each request at most; up to {BAR:.1} counts as flat")
}

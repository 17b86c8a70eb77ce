//! Part catch-up: a replica is killed, a million requests are ordered without it, and it comes back.

use super::arguments::{Durability, Engine};
use super::bench::Bench;
use super::ours::{Clients, Cluster, Load, Pace};
use super::row::Subject;
use crate::machine;
use crate::processes::Failure;
use crate::report::{grouped, median, write_cells};
use env::time::{Duration, Instant};
use serde::Serialize;
use std::io::{self, Write};
use std::thread;

/// A row of figures.
#[derive(Clone, Debug, Serialize)]
pub struct CatchUpRow {
    /// Always `paxos-order`.
    pub experiment: &'static str,
    /// Always `catch-up`.
    pub part: &'static str,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields are documented one by one")]
    pub subject: Subject,
    /// Requests that came in a second; none: each client sends its next when the last is answered, as many as are served. Then
    /// the replica that comes back takes processors from the leader where they share them.
    pub rate: Option<f64>,
    /// Requests that were ordered without the replica.
    pub requests_behind: u64,
    /// Seconds from its start until it has executed all that the leader had at some moment. Median of the repeats.
    pub catch_up_s: f64,
    /// The longest of the repeats.
    pub catch_up_s_max: f64,
    /// Requests in a second while the replica was away.
    pub requests_per_s_away: f64,
    /// Requests in a second while it caught up.
    pub requests_per_s_meanwhile: f64,
    /// Requests in a second afterwards, with all replicas.
    pub requests_per_s_after: f64,
    /// Meanwhile as a share of away: median of the repeats.
    pub of_away: f64,
    /// Meanwhile as a share of afterwards, when the replica takes part as it did before: median of the repeats.
    pub of_after: f64,
    /// Snapshots that the replica installed on the way: what it had missed was not all kept as batches. Median of the repeats.
    pub snapshots: f64,
    /// Number of repeats.
    pub repeats: usize,
    /// Processors of the machine.
    pub cores: usize,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

const REQUESTS: u64 = 1_000_000;

/// Bar: maximum duration of the catch-up, and minimum share of its throughput that the leader must keep.
const BAR_SECONDS: f64 = 10.0;
const BAR_SHARE: f64 = 0.9;

/// Whoever has not caught up after this does not.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// One return.
#[derive(Clone, Copy, Debug)]
struct Return {
    behind: u64,
    seconds: f64,
    away: f64,
    meanwhile: f64,
    after: f64,
    snapshots: u64,
}

/// Kills replicas and lets them come back.
///
/// # Errors
/// A cluster fails, or the replica does not catch up.
pub fn rows(bench: &Bench) -> Result<Vec<CatchUpRow>, Failure> {
    let mut rows = Vec::new();
    for subject in bench.subjects(&[Engine::Proved], &[3], &[Durability::Fsync])? {
        for pace in [Pace::Rate(bench.arguments().bar_rate as f64), Pace::Closed] {
            let repeats: Result<Vec<Return>, Failure> =
                (0..bench.arguments().repeat).map(|_| leave_and_return(bench, subject, pace)).collect();
            rows.push(row(subject, pace, &repeats?));
        }
    }
    Ok(rows)
}

fn leave_and_return(bench: &Bench, subject: Subject, pace: Pace) -> Result<Return, Failure> {
    let mut cluster = Cluster::start(bench, subject)?;
    // Clients of the others, so that no client loses its replica.
    let leader = cluster.leader()?;
    let absent = (0..cluster.len()).rev().find(|position| *position != leader).ok_or("one replica cannot be away")?;
    let load = Load { pace, ..bench.load() };
    let clients = cluster.clients_of(&load, |position| position != absent)?;
    clients.wait_for(bench.warm_up())?;
    cluster.kill(absent)?;
    let left_at = clients.acknowledged();
    let away = rate(&clients, |clients| clients.wait_until(left_at + bench.arguments().requests.unwrap_or(REQUESTS)))?;
    let behind = clients.acknowledged() - left_at;
    let start = Instant::now();
    let meanwhile = rate(&clients, |_| {
        cluster.restart(absent)?;
        wait_until_caught_up(&mut cluster, leader, absent, start)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let after = rate(&clients, |clients| clients.wait_for(bench.measured()))?;
    eprintln!("{}: {} requests behind, back after {seconds:.2} s", subject.engine, grouped(behind as f64));
    let snapshots = cluster.status(absent)?.installed;
    Ok(Return { behind, seconds, away, meanwhile, after, snapshots })
}

/// Requests acknowledged in a second while something happens.
fn rate(clients: &Clients, happens: impl FnOnce(&Clients) -> Result<(), Failure>) -> Result<f64, Failure> {
    let (before, start) = (clients.acknowledged(), Instant::now());
    happens(clients)?;
    Ok((clients.acknowledged() - before) as f64 / start.elapsed().as_secs_f64())
}

/// The leader goes on meanwhile: a replica has caught up once it has executed what the leader had executed a moment before.
fn wait_until_caught_up(cluster: &mut Cluster, leader: usize, absent: usize, start: Instant) -> Result<(), Failure> {
    while start.elapsed() < TIME_LIMIT {
        let goal = cluster.status(leader)?.executed;
        if cluster.status(absent)?.executed + OPEN_INSTANCES >= goal {
            return Ok(());
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    Err(format!("replica {absent} has not caught up after {TIME_LIMIT:?}"))
}

/// A replica that never was away is behind the leader by what is on its way: twice the window.
const OPEN_INSTANCES: u64 = 32;

fn row(subject: Subject, pace: Pace, repeats: &[Return]) -> CatchUpRow {
    let of = |figure: fn(&Return) -> f64| median(repeats.iter().map(figure));
    CatchUpRow {
        experiment: "paxos-order",
        part: "catch-up",
        subject,
        rate: match pace {
            Pace::Rate(rate) => Some(rate),
            Pace::Closed => None,
        },
        requests_behind: repeats.iter().map(|repeat| repeat.behind).min().unwrap_or(0),
        catch_up_s: of(|repeat| repeat.seconds),
        catch_up_s_max: repeats.iter().map(|repeat| repeat.seconds).fold(0.0, f64::max),
        requests_per_s_away: of(|repeat| repeat.away),
        requests_per_s_meanwhile: of(|repeat| repeat.meanwhile),
        requests_per_s_after: of(|repeat| repeat.after),
        of_away: of(|repeat| repeat.meanwhile / repeat.away),
        of_after: of(|repeat| repeat.meanwhile / repeat.after),
        snapshots: of(|repeat| repeat.snapshots as f64),
        repeats: repeats.len(),
        cores: machine::cores(),
        commit: machine::commit(),
    }
}

const TITLES: [&str; 13] = [
    "engine",
    "replicas",
    "durability",
    "load",
    "behind",
    "back after s",
    "longest",
    "requests/s away",
    "meanwhile",
    "after",
    "of away",
    "of after",
    "snapshots",
];

/// Writes the rows as an aligned table, and whether the bars are met.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[CatchUpRow], out: &mut dyn Write) -> io::Result<()> {
    let cells = rows.iter().map(|row| {
        [
            row.subject.engine.to_string(),
            row.subject.replicas.to_string(),
            row.subject.durability.to_string(),
            row.rate.map_or_else(|| "closed loop".to_owned(), |rate| format!("{}/s", grouped(rate))),
            grouped(row.requests_behind as f64),
            format!("{:.2}", row.catch_up_s),
            format!("{:.2}", row.catch_up_s_max),
            grouped(row.requests_per_s_away),
            grouped(row.requests_per_s_meanwhile),
            grouped(row.requests_per_s_after),
            format!("{:.2}", row.of_away),
            format!("{:.2}", row.of_after),
            format!("{:.0}", row.snapshots),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    writeln!(out, "paxos-order, catch-up: a replica was killed and comes back under load\n")?;
    write_cells(&lines, out)?;
    let longest = rows.iter().map(|row| row.catch_up_s_max).fold(0.0, f64::max);
    // In a closed loop, a share that is lost to the other replica's processor time is not the leader's to keep.
    let at_a_rate = rows.iter().filter(|row| row.rate.is_some());
    let share = at_a_rate.map(|row| row.of_away).fold(f64::INFINITY, f64::min);
    let verdict = if longest < BAR_SECONDS && share >= BAR_SHARE { "met" } else { "not met" };
    writeln!(
        out,
        "\n{verdict}: back after {longest:.2} s at most (the bar is {BAR_SECONDS:.0}), and the leader kept {share:.2} of its \
         throughput where requests come at a rate (the bar is {BAR_SHARE:.2})"
    )
}

//! Part failover: the leader is killed; measures the outage.

use super::arguments::{Durability, Engine};
use super::bench::Bench;
use super::ours::Cluster;
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
pub struct FailoverRow {
    /// Always `paxos-order`.
    pub experiment: &'static str,
    /// Always `failover`.
    pub part: &'static str,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "its fields are documented one by one")]
    pub subject: Subject,
    /// Milliseconds of silence after which a leader is suspected.
    pub suspicion_ms: u64,
    /// Milliseconds from the kill until the first request is acknowledged that the dead leader cannot have acknowledged: the end of
    /// the longest silence after the kill. Median of the repeats.
    pub outage_ms: f64,
    /// The longest of the repeats.
    pub outage_ms_max: f64,
    /// The longest outage in units of the suspicion timeout.
    pub outage_in_suspicions: f64,
    /// Milliseconds from the kill until a tenth of a second brings half of what it brought before. Median of the repeats.
    pub half_load_ms: f64,
    /// Requests in a second before the kill.
    pub requests_per_s_before: f64,
    /// Number of repeats.
    pub repeats: usize,
    /// Processors of the machine.
    pub cores: usize,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

/// Bar: maximum outage, in suspicion timeouts.
const BAR: f64 = 2.0;

/// One leader killed.
#[derive(Clone, Copy, Debug)]
struct Outage {
    silence: Duration,
    until_half: Duration,
    rate_before: f64,
}

/// Kills leaders.
///
/// # Errors
/// A cluster fails, or service does not come back.
pub fn rows(bench: &Bench) -> Result<Vec<FailoverRow>, Failure> {
    bench
        .subjects(&[Engine::Proved], &[3], &[Durability::Memory])?
        .into_iter()
        .map(|subject| {
            let repeats: Result<Vec<Outage>, Failure> =
                (0..bench.arguments().repeat).map(|_| kill(bench, subject)).collect();
            Ok(row(bench, subject, &repeats?))
        })
        .collect()
}

/// Counting interval.
const SLICE: Duration = Duration::from_millis(1);
/// Slices over which a rate is taken.
const RATE_SLICES: usize = 100;
/// No suspicion timeout is shorter, so no outage is.
const LEAST_SILENCE: Duration = Duration::from_millis(10);
/// Time for a failover on a busy machine, at least.
const PATIENCE: Duration = Duration::from_secs(60);

fn kill(bench: &Bench, subject: Subject) -> Result<Outage, Failure> {
    let mut cluster = Cluster::start(bench, subject)?;
    let clients = cluster.clients(&bench.load())?;
    clients.wait_for(bench.warm_up())?;
    let before = clients.acknowledged();
    let start = Instant::now();
    clients.wait_for(bench.measured())?;
    let rate_before = (clients.acknowledged() - before) as f64 / start.elapsed().as_secs_f64();
    let leader = cluster.leader()?;
    let killed = Instant::now();
    cluster.kill(leader)?;
    let mut recovery = Recovery::new(killed, clients.acknowledged());
    // Far more suspicion timeouts than an acceptable failover takes.
    let patience = PATIENCE.max(Duration::from_millis(bench.arguments().suspicion_ms) * 20);
    while killed.elapsed() < patience {
        thread::sleep(SLICE);
        recovery.observe(Instant::now(), clients.acknowledged());
        if let Some(until_half) = recovery.until_rate(rate_before / 2.0) {
            return Ok(Outage { silence: recovery.longest_silence(), until_half, rate_before });
        }
    }
    Err(format!("the leader was killed, and after {patience:?} there is not half of the load again"))
}

/// Acknowledgements after a kill, slice by slice.
#[derive(Debug)]
struct Recovery {
    killed: Instant,
    observed: Vec<(Instant, u64)>,
    last_progress: Instant,
    /// Begin and end of the longest time without an acknowledgement.
    silence: (Instant, Instant),
}

impl Recovery {
    fn new(killed: Instant, acknowledged: u64) -> Recovery {
        Recovery { killed, observed: vec![(killed, acknowledged)], last_progress: killed, silence: (killed, killed) }
    }

    fn observe(&mut self, now: Instant, acknowledged: u64) {
        if self.observed.last().is_some_and(|(_, before)| acknowledged > *before) {
            if now - self.last_progress > self.silence.1 - self.silence.0 {
                self.silence = (self.last_progress, now);
            }
            self.last_progress = now;
        }
        self.observed.push((now, acknowledged));
    }

    /// From the kill to the end of the longest silence.
    fn longest_silence(&self) -> Duration {
        self.silence.1 - self.killed
    }

    /// From the kill until the last slices bring this many acknowledgements in a second, if they do.
    fn until_rate(&self, rate: f64) -> Option<Duration> {
        let (now, acknowledged) = *self.observed.last()?;
        let (then, before) = *self.observed.get(self.observed.len().checked_sub(RATE_SLICES)?)?;
        // Only what lies after the silence: the dead leader's last words are no recovery.
        let is_after = then >= self.silence.1 && self.silence.1 - self.silence.0 >= LEAST_SILENCE;
        let is_enough = (acknowledged - before) as f64 / (now - then).as_secs_f64() >= rate;
        (is_after && is_enough).then(|| now - self.killed)
    }
}

fn row(bench: &Bench, subject: Subject, repeats: &[Outage]) -> FailoverRow {
    let suspicion_ms = bench.arguments().suspicion_ms;
    let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
    let silences = || repeats.iter().map(|repeat| ms(repeat.silence));
    let longest = silences().fold(0.0, f64::max);
    FailoverRow {
        experiment: "paxos-order",
        part: "failover",
        subject,
        suspicion_ms,
        outage_ms: median(silences()),
        outage_ms_max: longest,
        outage_in_suspicions: longest / suspicion_ms as f64,
        half_load_ms: median(repeats.iter().map(|repeat| ms(repeat.until_half))),
        requests_per_s_before: median(repeats.iter().map(|repeat| repeat.rate_before)),
        repeats: repeats.len(),
        cores: machine::cores(),
        commit: machine::commit(),
    }
}

const TITLES: [&str; 9] = [
    "engine",
    "replicas",
    "durability",
    "suspicion ms",
    "outage ms",
    "longest",
    "in suspicions",
    "half load after ms",
    "requests/s before",
];

/// Writes the rows as an aligned table, and whether the bar is met.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[FailoverRow], out: &mut dyn Write) -> io::Result<()> {
    let cells = rows.iter().map(|row| {
        [
            row.subject.engine.to_string(),
            row.subject.replicas.to_string(),
            row.subject.durability.to_string(),
            row.suspicion_ms.to_string(),
            format!("{:.0}", row.outage_ms),
            format!("{:.0}", row.outage_ms_max),
            format!("{:.2}", row.outage_in_suspicions),
            format!("{:.0}", row.half_load_ms),
            grouped(row.requests_per_s_before),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    writeln!(out, "paxos-order, failover: the leader is killed under load\n")?;
    write_cells(&lines, out)?;
    let worst = rows.iter().map(|row| row.outage_in_suspicions).fold(0.0, f64::max);
    let verdict = if worst <= BAR { "met" } else { "not met" };
    writeln!(out, "\n{verdict}: back after {worst:.2} suspicion timeouts at most; the bar is {BAR:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_when_service_is_back_and_load_when_half_of_it_is() {
        let killed = Instant::now();
        let mut recovery = Recovery::new(killed, 1000);
        let mut observe = |ms: u64, acknowledged| {
            recovery.observe(killed + Duration::from_millis(ms), acknowledged);
            (recovery.longest_silence().as_millis(), recovery.until_rate(50_000.0).map(|time| time.as_millis()))
        };
        // The last words of the dead leader: fast, but no recovery.
        (1..=5).for_each(|ms| assert_eq!(observe(ms, 1000 + ms * 2_000).1, None));
        (6..700).for_each(|ms| assert_eq!(observe(ms, 11_000).1, None));
        assert_eq!(observe(700, 11_001), (700, None));
        // At full speed again: the last 100 ms bring half of the load when they lie after the silence.
        let back = (701..).find_map(|ms| observe(ms, 11_001 + (ms - 700) * 100).1);
        assert_eq!(back, Some(799));
    }
}

//! `seriatim order load`: measures throughput and latency of a cluster.

use super::connection::{Addresses, KeyFile};
use crate::failure::{Failure, Outcome};
use crate::output::{Format, grouped};
use crate::signals::stop_on_signals;
use crate::units::{bytes, duration};
use clap::Args;
use env::Randomness;
use env::thread::sleep;
use indicatif::{ProgressBar, ProgressStyle};
use load::{Latencies, LoadPlan, Pace};
use paxos::request::MAX_BODY_BYTES;
use serde_json::json;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval between updates of the progress line and checks for a stop.
const LOOK: Duration = Duration::from_millis(100);
/// Time after which an unanswered request is sent again.
const RETRY: Duration = Duration::from_secs(1);

/// Generate load, and report throughput and latencies.
///
/// Logical clients, each with one open request, share a few connections and one thread. Requests are zero bytes, which the key-value
/// service rejects as invalid; start nodes with `--service empty` to measure the order alone.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order load --seconds 10s\n  \
    seriatim order load --clients 1200 --size 40 --rate 50000 --format json\n\n\
    Without --rate each client sends its next request when the previous one is answered (closed loop). With it, requests are \
    due at that rate, and latency counts from when they were due. Ctrl-C stops early and prints the report.\n\n\
    Exit codes: 0 success; 2 the command could not run, or no request was executed.")]
pub struct Load {
    #[command(flatten)]
    addresses: Addresses,
    #[command(flatten)]
    key: KeyFile,
    /// Number of logical clients.
    #[arg(long, default_value_t = 1_200, value_parser = clap::value_parser!(u32).range(1..))]
    clients: u32,
    /// Number of connections, spread over the replicas [default: one per replica]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    connections: Option<u32>,
    /// Size of a request, in bytes.
    #[arg(long, value_name = "SIZE", default_value = "40", value_parser = bytes)]
    size: usize,
    /// Duration of the measurement.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    seconds: Duration,
    /// Duration of the warm-up, which is not counted.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    warm_up: Duration,
    /// Requests per second (open loop), whether or not earlier ones were answered.
    #[arg(long, value_name = "N", value_parser = rate)]
    rate: Option<f64>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Result of the run.
struct Report {
    seconds: f64,
    latencies: Latencies,
    shed: u64,
    connections: usize,
}

impl Load {
    pub fn run(&self) -> Outcome {
        let stop = stop_on_signals()?;
        let plan = self.plan()?;
        let connections = plan.addresses.len();
        let load = load::Load::start(plan).map_err(Failure::trouble)?;
        let progress = Progress::new(self.warm_up + self.seconds);
        progress.watch(&load, self.warm_up, &stop);
        load.open_window();
        let counted = Instant::now();
        progress.watch(&load, self.warm_up + self.seconds, &stop);
        let (seconds, latencies, shed) = (counted.elapsed().as_secs_f64(), load.window(), load.shed());
        progress.finish();
        if latencies.requests == 0 {
            let why = load.last_problem().unwrap_or_else(|| "no replica answers".into());
            return Err(Failure::Trouble(format!("no request was executed: {why}")));
        }
        self.print(&Report { seconds, latencies, shed, connections })
    }

    fn plan(&self) -> Outcome<LoadPlan> {
        if self.size > MAX_BODY_BYTES {
            return Err(Failure::Trouble(format!(
                "--size {}: a request has at most {MAX_BODY_BYTES} bytes",
                self.size
            )));
        }
        let replicas = self.addresses.list();
        let connections = self.connections.map_or(replicas.len(), |connections| connections as usize);
        Ok(LoadPlan {
            addresses: replicas.into_iter().cycle().take(connections).collect(),
            key: self.key.read()?,
            clients: self.clients as usize,
            body: vec![0; self.size].into(),
            pace: self.rate.map_or(Pace::Closed, Pace::Rate),
            retry: RETRY,
            nonce: Randomness::from_entropy().next_u64(),
        })
    }

    fn print(&self, report: &Report) -> Outcome {
        let Report { seconds, latencies: Latencies { requests, p50_us, p99_us, p999_us }, shed, connections } = *report;
        let per_second = requests as f64 / seconds;
        let mut out = stdout().lock();
        if self.format == Format::Json {
            let row = json!({
                "requests": requests, "seconds": seconds, "requests_per_s": per_second,
                "p50_us": p50_us, "p99_us": p99_us, "p999_us": p999_us, "shed": shed,
                "clients": self.clients, "connections": connections, "request_bytes": self.size, "rate": self.rate,
            });
            writeln!(out, "{row}")?;
            return Ok(out.flush()?);
        }
        writeln!(out, "requests      {} in {seconds:.1} s", grouped(requests))?;
        writeln!(out, "requests/s    {}", grouped(per_second as u64))?;
        for (name, us) in [("p50", p50_us), ("p99", p99_us), ("p99.9", p999_us)] {
            writeln!(out, "{name:12}  {:.3} ms", us / 1e3)?;
        }
        if shed > 0 {
            writeln!(out, "given up      {}: they arrived faster than they were served", grouped(shed))?;
        }
        Ok(out.flush()?)
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "not a number of requests a second: write 50000".into())
}

/// A bar on a terminal, nothing elsewhere.
struct Progress {
    start: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new(time: Duration) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = stderr().is_terminal().then(|| ProgressBar::new(time.as_millis() as u64).with_style(style));
        Self { start: Instant::now(), bar }
    }

    /// Shows how the load goes until so long after the start, or until it is to stop.
    fn watch(&self, load: &load::Load, until: Duration, stop: &AtomicBool) {
        let mut before = (Instant::now(), load.acknowledged());
        while let Some(left) = until.checked_sub(self.start.elapsed())
            && !stop.load(Ordering::Relaxed)
        {
            sleep(left.min(LOOK));
            let now = (Instant::now(), load.acknowledged());
            let rate = (now.1 - before.1) as f64 / now.0.duration_since(before.0).as_secs_f64().max(1e-9);
            before = now;
            if let Some(bar) = &self.bar {
                bar.set_position(self.start.elapsed().as_millis() as u64);
                bar.set_message(format!("{} requests, {} a second", grouped(now.1), grouped(rate as u64)));
            }
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

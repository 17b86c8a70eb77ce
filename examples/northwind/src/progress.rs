//! Progress reports.

use crate::grouped;
use indicatif::{ProgressBar, ProgressStyle};
use seriatim::Database;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Counters that all threads add to. They are read for show, so no order is needed.
#[derive(Debug, Default)]
pub struct Counters {
    pub orders: AtomicU64,
    pub units: AtomicU64,
    pub refused: AtomicU64,
    pub restocks: AtomicU64,
    pub audits: AtomicU64,
}

impl Counters {
    /// Adds.
    pub fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// Reads.
    pub fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

/// One line that changes on a terminal, a line for each interval elsewhere.
pub struct Progress {
    bar: Option<ProgressBar>,
    began: Instant,
    /// When the last line was written, and how many orders there were.
    last: (Instant, u64),
}

impl Progress {
    pub fn start() -> Progress {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}");
            ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        let now = Instant::now();
        Progress { bar, began: now, last: (now, 0) }
    }

    /// Seconds since the start.
    pub fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Shows how things stand.
    pub fn show(&mut self, counters: &Counters, db: &Database) {
        let (now, orders) = (Instant::now(), Counters::get(&counters.orders));
        let (before, old) = std::mem::replace(&mut self.last, (now, orders));
        let rate = (orders - old) as f64 / now.duration_since(before).as_secs_f64().max(1e-9);
        let line = format!(
            "{:.1} s  {} orders/s  {} orders  {} units moved  {} refused  {} restocks  {}  {} audits ok",
            self.elapsed(),
            grouped(rate as u64),
            grouped(orders),
            grouped(Counters::get(&counters.units)),
            grouped(Counters::get(&counters.refused)),
            grouped(Counters::get(&counters.restocks)),
            retries(db),
            grouped(Counters::get(&counters.audits)),
        );
        match &self.bar {
            Some(bar) => {
                bar.set_message(line);
                bar.tick();
            }
            None => {
                // Whoever reads may be gone; the orders go on.
                let mut out = stdout().lock();
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            }
        }
    }

    /// Leaves the terminal to others.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Retries by the rule of the conflict: `12 retries (later-reader 10, later-writer 2)`.
fn retries(db: &Database) -> String {
    let by_rule = db.stats().retries;
    let total: u64 = by_rule.iter().map(|(_, count)| count).sum();
    let rules: Vec<String> = by_rule.iter().map(|(rule, count)| format!("{rule} {}", grouped(*count))).collect();
    if rules.is_empty() { "0 retries".into() } else { format!("{} retries ({})", grouped(total), rules.join(", ")) }
}

//! Status of a local cluster on one line of the terminal.

use super::connection::status;
use super::node::key;
use super::status::number;
use crate::failure::{Failure, Outcome};
use crate::output::grouped;
use indicatif::{ProgressBar, ProgressStyle};
use rsm::client::{BlockingClient, ClientOptions};
use serde_json::Value as Json;
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval between status requests.
const EVERY: Duration = Duration::from_secs(1);
/// Time limit for a replica's answer.
const TIME_LIMIT: Duration = Duration::from_millis(200);

/// Asks replicas how they do, and shows it where somebody looks.
pub struct Monitor {
    client: BlockingClient,
    addresses: Vec<String>,
    bar: ProgressBar,
    /// When they were asked last, and how many requests were executed.
    last: (Instant, u64),
}

impl Monitor {
    /// A line on the terminal; `None` if standard error is none.
    pub fn start(addresses: &[String], key_file: Option<&Path>) -> Outcome<Option<Self>> {
        if !stderr().is_terminal() {
            return Ok(None);
        }
        let options = ClientOptions {
            key: key_file.map(key).transpose()?,
            time_limit: TIME_LIMIT,
            ..ClientOptions::new(addresses.to_vec())
        };
        let client = BlockingClient::new(options).map_err(Failure::trouble)?;
        let style =
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        Ok(Some(Self { client, addresses: addresses.to_vec(), bar, last: (Instant::now(), 0) }))
    }

    /// Asks again if it is time.
    pub fn look(&mut self) {
        self.bar.tick();
        let now = Instant::now();
        let elapsed = now.duration_since(self.last.0);
        if elapsed < EVERY {
            return;
        }
        let answers: Vec<Json> =
            self.addresses.iter().filter_map(|address| status(&self.client, address).ok()).collect();
        let executed = answers.iter().map(|status| number(status, "/executor/requests")).max().unwrap_or(0);
        let rate = executed.saturating_sub(self.last.1) as f64 / elapsed.as_secs_f64();
        self.last = (now, executed);
        let leader = answers.iter().find_map(|status| status["leader"].as_u64());
        self.bar.set_message(format!(
            "{} of {} replicas  {}  {} requests  {} a second",
            answers.len(),
            self.addresses.len(),
            leader.map_or("no leader".into(), |leader| format!("leader {leader}")),
            grouped(executed),
            grouped(rate as u64),
        ));
    }

    /// Says something above the line.
    pub fn say(&self, what: &str) {
        self.bar.println(what);
    }

    /// Leaves the terminal to others.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

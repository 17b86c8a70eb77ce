//! `seriatim order status`.

use super::connection::{Access, DEFAULT_ADDRESSES};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Format, grouped};
use clap::Args;
use serde_json::{Value as Json, json};
use std::io::{Write, stdout};

/// Show the replicas: leader, progress and counters of each.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order status\n  \
    seriatim order status a:7400 b:7400 c:7400 --key clients.key --format json\n\n\
    LAG is how many batches a replica is behind the one that is furthest of those asked.\n\n\
    Exit codes: 0 all replicas answered; 1 some did not; 2 none did.")]
pub struct Status {
    /// Replica addresses.
    #[arg(value_name = "ADDR:PORT", default_values = DEFAULT_ADDRESSES)]
    replicas: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    access: Access,
}

/// Outcome of a status request to a replica.
struct Asked<'a> {
    address: &'a str,
    answer: Result<Json, String>,
}

impl Status {
    pub fn run(&self) -> Outcome {
        let answers = self.access.statuses(&self.replicas)?;
        let asked = self.replicas.iter().zip(answers).map(|(address, answer)| Asked { address, answer });
        let asked: Vec<Asked<'_>> = asked.collect();
        let answered = asked.iter().filter(|asked| asked.answer.is_ok()).count();
        match self.format {
            Format::Json => output::json(&asked.iter().map(Asked::json).collect())?,
            Format::Table => print(&asked)?,
        }
        match answered {
            0 => Err(Failure::trouble("no replica has answered")),
            count if count < asked.len() => Err(Failure::Finding),
            _ => Ok(()),
        }
    }
}

impl Asked<'_> {
    fn json(&self) -> Json {
        match &self.answer {
            Ok(status) => json!({ "address": self.address, "status": status }),
            Err(error) => json!({ "address": self.address, "error": error }),
        }
    }

    fn executed(&self) -> u64 {
        self.answer.as_ref().map_or(0, |status| number(status, "/log/executed"))
    }

    /// The columns of the table.
    fn row(&self, furthest: u64) -> Vec<String> {
        let status = match &self.answer {
            Ok(status) => status,
            Err(error) => return vec!["-".into(), self.address.into(), error.clone()],
        };
        let text = |pointer| match status.pointer(pointer) {
            None | Some(Json::Null) => "-".to_owned(),
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let count = |pointer| grouped(number(status, pointer));
        vec![
            text("/id"),
            self.address.into(),
            text("/role"),
            text("/leader"),
            text("/ballot"),
            count("/log/executed"),
            grouped(furthest - self.executed()),
            count("/executor/requests"),
            count("/executor/sessions"),
            count("/clients/connected"),
            text("/durability"),
        ]
    }
}

/// The number at this place of a status.
pub fn number(status: &Json, pointer: &str) -> u64 {
    status.pointer(pointer).and_then(Json::as_u64).unwrap_or(0)
}

fn print(asked: &[Asked<'_>]) -> Outcome {
    let head = [
        "REPLICA",
        "ADDRESS",
        "ROLE",
        "LEADER",
        "BALLOT",
        "BATCHES",
        "LAG",
        "REQUESTS",
        "SESSIONS",
        "CLIENTS",
        "DURABILITY",
    ];
    let furthest = asked.iter().map(Asked::executed).max().unwrap_or(0);
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(asked.iter().map(|asked| asked.row(furthest)));
    let full = rows.iter().filter(|row| row.len() == head.len());
    let widths =
        full.fold([0; 11], |widths, row| std::array::from_fn(|column| widths[column].max(row[column].chars().count())));
    let mut out = stdout().lock();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(out.flush()?)
}

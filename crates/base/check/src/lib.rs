//! Two judges of transaction histories.
//!
//! The input is a history; the result, a verdict with an explained counter-example. The judges do not see the engine.
//!
//! - [`replay`] checks the claimed order: it runs the transactions one after another, by their serial points, on a plain map,
//!   and every read must return what the map holds.
//! - [`cycles`] ignores the claim: from what the transactions read and wrote it derives which must precede which, and searches for a
//!   cycle. A history with a cycle has no serial order at all.
//!
//! The judges share nothing but the parsed [`History`]; when they disagree the report says so, as a finding of its own.
//!
//! ```
//! use seriatim_check::{History, Model, judge};
//!
//! let lost_update = br#"
//! {"id":1,"p":0,"s":0.1,"e":0.4,"st":"ok","ops":[["r","stock",null],["w","stock",5]]}
//! {"id":2,"p":1,"s":0.2,"e":0.3,"st":"ok","ops":[["r","stock",null],["w","stock",7]]}
//! "#;
//! let report = judge(&History::read(&lost_update[..])?, Model::Serializable);
//! assert!(!report.valid && report.cycles.names("G-single"));
//! # Ok::<(), seriatim_check::HistoryError>(())
//! ```
//!
//! # Invariants
//! - I1. Soundness: neither judge fails a history that has a legal order (for replay: whose claimed order is legal). Where the history
//!   says too little, the judges assume in its favour.
//! - I2. No input makes a judge panic or take more than about linear time; searches that could take longer have a budget, and running
//!   out of it costs the shortest counter-example or its finest name, never the verdict.
//! - I3. The two judges share no code beyond the history and the report.
//!
//! Deliberately absent: weaker models (the anomalies' names tell which levels a history breaks), and a complete search where
//! versions are unknown: that is NP-hard, and replay decides it when the engine states its order.

#![forbid(unsafe_code)]

mod command;
pub mod cycles;
pub mod generate;
pub mod history;
mod observed;
pub mod replay;
pub mod report;

pub use command::{Format, command};
pub use history::{History, HistoryError, HistoryErrorKind, Operation, Record, Scalar, Status, Writer};
pub use observed::KeyForm;
pub use report::{Report, Verdict};

use report::Judgement;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::time::Instant;

/// Consistency model that a history is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Some serial order explains every read.
    Serializable,
    /// Some serial order explains every read, and a transaction that ended before another began precedes it.
    #[default]
    Strict,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Model::Serializable => "serializable",
            Model::Strict => "strict serializable",
        })
    }
}

/// A word that names no model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownModel(pub String);

impl fmt::Display for UnknownModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown model `{}`: serializable or strict", self.0)
    }
}

impl std::error::Error for UnknownModel {}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "serializable" => Ok(Model::Serializable),
            "strict" => Ok(Model::Strict),
            _ => Err(UnknownModel(word.to_owned())),
        }
    }
}

/// Asks both judges.
pub fn judge(history: &History, model: Model) -> Report {
    let replay = timed(|| replay::judge(history, model));
    let cycles = timed(|| cycles::judge(history, model));
    Report::new(history, model, replay, cycles)
}

fn timed(judge: impl FnOnce() -> Judgement) -> Judgement {
    let start = Instant::now();
    let mut judgement = judge();
    judgement.elapsed_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    judgement
}

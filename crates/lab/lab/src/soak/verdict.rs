//! The verdict on all rounds together.

use super::round::Round;
use crate::machine;
use crate::report::{grouped, write_cells};
use serde::Serialize;
use std::io::{self, Write};

/// Growth that counts as flat: what an allocator and the length of the log go up and down by themselves.
const FACTOR: f64 = 1.25;
/// The same for small values, in MiB.
const MARGIN_MB: f64 = 96.0;

/// The verdict and where it was taken.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Everything that has gone wrong. Empty: a good verdict.
    pub failures: Vec<String>,
    /// Whether there were enough rounds to judge growth.
    pub growth_was_judged: bool,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
}

impl Verdict {
    /// Returns whether there were no failures.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Judges the rounds.
pub fn of(rounds: &[Round]) -> Verdict {
    let failed = |round: &Round| -> Vec<String> {
        round.failures.iter().map(|failure| format!("round {}: {failure}", round.round)).collect()
    };
    let mut failures: Vec<String> = rounds.iter().flat_map(failed).collect();
    let memory = growth("memory", rounds, |round| round.resident_mb);
    let disk = growth("disk", rounds, |round| round.disk_mb);
    failures.extend(memory.into_iter().chain(disk));
    Verdict { failures, growth_was_judged: rounds.len() >= JUDGED, commit: machine::commit(), cores: machine::cores() }
}

/// The first round warms up; of the others, the second half is compared with the first.
const JUDGED: usize = 3;

fn growth(what: &str, rounds: &[Round], of: impl Fn(&Round) -> [f64; 3]) -> Option<String> {
    if rounds.len() < JUDGED {
        return None;
    }
    let greatest = |rounds: &[Round]| rounds.iter().flat_map(&of).fold(0.0, f64::max);
    let (before, after) = rounds[1..].split_at((rounds.len() - 1) / 2);
    let (before, after) = (greatest(before), greatest(after));
    let grows = after > before * FACTOR + MARGIN_MB;
    grows.then(|| format!("{what} grows: at most {before:.0} MiB in the first rounds, {after:.0} MiB in the last"))
}

const TITLES: [&str; 12] = [
    "round",
    "seconds",
    "transfers",
    "txn/s",
    "copies",
    "checkpoints",
    "roll-ups",
    "audits",
    "conflicts",
    "MiB by thirds",
    "disk by thirds",
    "restart s",
];

/// Writes an aligned table and the verdict.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rounds: &[Round], verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let thirds = |values: [f64; 3]| values.map(|value| format!("{value:.0}")).join(" ");
    let cells = rounds.iter().map(|round| {
        [
            round.round.to_string(),
            format!("{:.0}", round.seconds),
            grouped(round.transfers as f64),
            grouped(round.transfers_per_s),
            round.copies.to_string(),
            round.checkpoints.to_string(),
            round.roll_ups.to_string(),
            round.audits.to_string(),
            round.conflicts.to_string(),
            thirds(round.resident_mb),
            thirds(round.disk_mb),
            format!("{:.1}", round.restart_s),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    write_cells(&lines, out)?;
    let commit = verdict.commit.as_deref().unwrap_or("unknown");
    writeln!(out, "\ncommit {commit}, {} cores", verdict.cores)?;
    verdict.failures.iter().try_for_each(|failure| writeln!(out, "FAILED: {failure}"))?;
    match (verdict.is_good(), verdict.growth_was_judged) {
        (false, _) => Ok(()),
        (true, true) => writeln!(out, "good: the books balance after every kill, memory and disk stay flat"),
        (true, false) => writeln!(out, "good: the books balance after every kill; too few rounds to judge growth"),
    }
}

/// Writes one JSON value.
///
/// # Errors
/// Errors of the output.
pub fn write_json(rounds: &[Round], verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &serde_json::json!({ "rounds": rounds, "verdict": verdict }))?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(resident: &[f64]) -> Vec<Round> {
        resident.iter().map(|&mb| Round { resident_mb: [mb; 3], ..Round::default() }).collect()
    }

    #[test]
    fn growth_is_noticed_and_ups_and_downs_are_not() {
        assert!(of(&rounds(&[100.0, 300.0, 320.0, 310.0, 330.0])).is_good());
        assert!(!of(&rounds(&[100.0, 300.0, 500.0, 700.0, 900.0])).is_good());
        assert!(of(&rounds(&[100.0, 900.0])).is_good(), "two rounds say nothing of growth");
    }

    #[test]
    fn a_failure_of_any_round_is_a_bad_verdict() {
        let mut bad = rounds(&[1.0, 1.0]);
        bad[0].failures.push("the books do not balance".to_owned());
        assert!(!of(&bad).is_good());
    }
}

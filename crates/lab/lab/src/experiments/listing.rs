//! `lab list`: the experiments, for people and for docs/experiments.md.

use super::{EXPERIMENTS, Experiment, How, Paper};
use crate::cli::ListFormat;
use crate::report::write_cells;
use std::io::{self, Write};

/// Writes the list.
///
/// # Errors
/// Errors of the output.
pub fn write(format: ListFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ListFormat::Table => {
            let line = |it: &Experiment| [it.name, it.figure, it.shows, it.outcome].map(str::to_owned);
            let titles = ["name", "figure", "what it shows", "outcome"].map(str::to_owned);
            let lines: Vec<_> = std::iter::once(titles).chain(EXPERIMENTS.iter().map(line)).collect();
            write_cells(&lines, out)
        }
        ListFormat::Markdown => write!(out, "{}", markdown()),
    }
}

/// The tables of docs/experiments.md.
pub fn markdown() -> String {
    let mut text = String::new();
    for paper in Paper::ALL {
        text += &format!("### {}\n", paper.title());
        text += "| name | figure | what it shows | outcome | command |\n| --- | --- | --- | --- | --- |\n";
        for it in EXPERIMENTS.iter().filter(|experiment| experiment.paper == paper) {
            let command = match it.how {
                How::Sweep(_) | How::Simulation(_) | How::Clusters(_) => format!("`lab run {}`", it.name),
                How::NotYet => String::new(),
            };
            text += &format!("| `{}` | {} | {} | {} | {command} |\n", it.name, it.figure, it.shows, it.outcome);
        }
        text.push('\n');
    }
    text
}

//! The paper's figure beside ours.
//!
//! Source: Pandey 2016, section 7.4 and figure 7.2. The thesis gives no table; the text says how the three systems compare, and that
//! is what can be compared with.

use super::arguments::{Durability, Engine};
use super::row::Row;
use crate::plot::{self, Labels, Point, Series};
use crate::report::write_cells;
use std::io::{self, Write};

/// The verified automaton's requests in a second as a share of its unverified twin's (JPaxos), by replicas, as the text says it.
const PAPER: [(u64, f64); 7] = [(3, 1.16), (5, 1.035), (7, 0.925), (9, 0.8), (11, 0.8), (13, 0.8), (15, 0.8)];

/// How far behind the plain core the proved one may be.
const BAR: f64 = 0.9;

/// What the figures say about the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// One line.
    pub line: String,
}

impl Outcome {
    /// Judges the rows of the throughput part.
    pub fn of(rows: &[Row]) -> Outcome {
        let shares = |durability| {
            let proved = rows.iter().filter(move |row| is_proved(row, durability));
            proved.filter_map(|row| Some((row.subject.replicas, row.of_plain?)))
        };
        let all = || shares(Durability::Memory).chain(shares(Durability::Fsync));
        let Some((worst_at, worst)) = all().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Outcome { line: "not compared: run both proved and plain".to_owned() };
        };
        let sizes_missing = PAPER.iter().any(|(replicas, _)| all().all(|(size, _)| size != *replicas));
        let verdict = if worst < BAR {
            "not reproduced"
        } else if sizes_missing {
            "partly"
        } else {
            "reproduced"
        };
        let sizes = if sizes_missing { " (not all sizes were run)" } else { "" };
        Outcome {
            line: format!(
                "{verdict}: the proved core has at least {worst:.2} of the plain core's requests per second, least at \
                 {worst_at} replicas{sizes}; the thesis has 0.80 at 9 and more. {}",
                curve(rows)
            ),
        }
    }
}

fn is_proved(row: &Row, durability: Durability) -> bool {
    row.subject.engine == Engine::Proved && row.subject.durability == durability
}

/// Whether more replicas bring more at first, as in the thesis, where each has a machine.
fn curve(rows: &[Row]) -> String {
    let best = rows
        .iter()
        .filter(|row| row.subject.engine == Engine::Proved)
        .max_by(|a, b| a.requests_per_s.total_cmp(&b.requests_per_s));
    best.map_or_else(String::new, |best| {
        format!(
            "The most is at {} replicas, in the thesis at 5, where each replica has a machine and its own clients",
            best.subject.replicas
        )
    })
}

/// What the number of processors means for the figures.
pub fn note_on_cores(cores: usize) -> String {
    format!(
        "All replicas and all clients share {cores} processor(s), so each further replica takes from the others what in the thesis it \
         brought with it: the curves fall where the thesis' rise up to 5 replicas, and what scales is only the processor time per request."
    )
}

/// Figure 7.2 with our figures: requests in a second by replicas.
///
/// # Errors
/// The drawing library's, as a sentence.
pub fn plot(rows: &[Row]) -> Result<String, String> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let name = format!("{}, {}", row.subject.engine, row.subject.durability);
        let point = Point {
            x: row.subject.replicas as f64,
            y: row.requests_per_s,
            least: row.requests_per_s_min,
            greatest: row.requests_per_s_max,
        };
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point] }),
        }
    }
    let cores = rows.first().map_or(0, |row| row.cores);
    let title = format!("Requests ordered per second (Pandey 2016, figure 7.2), all on {cores} processor(s)");
    plot::lines(Labels { title: &title, x: "replicas", y: "requests/s" }, &series)
}

/// Writes the paper's shares beside ours, then the outcome.
///
/// # Errors
/// Those of the output.
pub fn write(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let share = |replicas, durability| {
        let row = rows.iter().find(|row| is_proved(row, durability) && row.subject.replicas == replicas);
        row.and_then(|row| row.of_plain).map_or_else(|| "-".to_owned(), |share| format!("{share:.2}"))
    };
    let titles = ["proved / plain", "thesis", "memory", "fsync"].map(str::to_owned);
    let lines = PAPER.iter().map(|&(replicas, paper)| {
        [
            format!("{replicas} replicas"),
            format!("{paper:.2}"),
            share(replicas, Durability::Memory),
            share(replicas, Durability::Fsync),
        ]
    });
    let lines: Vec<_> = std::iter::once(titles).chain(lines).collect();
    writeln!(out)?;
    write_cells(&lines, out)?;
    if let Some(first) = rows.first() {
        writeln!(out, "\n{}", note_on_cores(first.cores))?;
    }
    writeln!(out, "{}", Outcome::of(rows).line)
}

//! The paper's figure beside ours.
//!
//! Source: Pandey 2016, section 7.4 and figure 7.2. The thesis gives no table; the text says how the three systems compare, and that
//! is what can be compared with.

use super::arguments::{Durability, Engine};
use super::row::Row;
use crate::machine::DISTURBED;
use crate::plot::{self, Labels, Point, Series};
use crate::report::write_cells;
use std::io::{self, Write};

/// The verified automaton's requests per second as a share of its unverified twin's (JPaxos), by replicas, from the thesis's
/// text.
pub(super) const PAPER: [(f64, f64); 7] =
    [(3.0, 1.16), (5.0, 1.035), (7.0, 0.925), (9.0, 0.8), (11.0, 0.8), (13.0, 0.8), (15.0, 0.8)];

/// Bar: minimum throughput of the proved core, as a share of the plain core's.
const BAR: f64 = 0.9;

/// Compares the figures with the paper's, in one line.
pub fn outcome(rows: &[Row]) -> String {
    let proved: Vec<&Row> = rows.iter().filter(|row| row.subject.engine == Engine::Proved).collect();
    let shares = || proved.iter().filter_map(|row| Some((row.of_plain?, *row)));
    let Some((worst, worst_row)) = shares().min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return "not compared: run both proved and plain".to_owned();
    };
    let dearest = proved.iter().filter_map(|row| row.cpu_of_plain).fold(0.0, f64::max);
    let others = proved.iter().map(|row| row.other_cores).fold(0.0, f64::max);
    let is_complete =
        PAPER.iter().all(|(replicas, _)| shares().any(|(_, row)| row.subject.replicas as f64 == *replicas));
    let verdict = match (worst >= BAR, is_complete) {
        (true, true) => "reproduced",
        (true, false) => "partly: not all sizes were run",
        (false, _) if others > DISTURBED => "undecided: other programs ran meanwhile",
        (false, _) => "not reproduced",
    };
    format!(
        "{verdict}; the proved core has at least {worst:.2} of the plain core's requests per second (at {} replicas, {}; the thesis: \
         0.80 at 9 and more), and needs at most {dearest:.2} of its processor time for a request; other programs used up to \
         {others:.2} processors. {}",
        worst_row.subject.replicas,
        worst_row.subject.durability,
        curve(&proved)
    )
}

fn is_proved(row: &Row, durability: Durability) -> bool {
    row.subject.engine == Engine::Proved && row.subject.durability == durability
}

/// Compares throughput by number of replicas with the thesis, where each replica has its own machine.
fn curve(proved: &[&Row]) -> String {
    let best = proved.iter().max_by(|a, b| a.requests_per_s.total_cmp(&b.requests_per_s));
    best.map_or_else(String::new, |best| {
        format!("The most is at {} replicas; in the thesis at 5.", best.subject.replicas)
    })
}

/// Explains the effect of the number of processors on the figures.
pub fn note_on_cores(cores: usize) -> String {
    format!(
        "All replicas and all clients share {cores} processor(s), so each further replica takes from the others what in the thesis it \
         brought with it: these curves fall from the start, the thesis' rise up to 5 replicas. Processor time per request is what \
         carries over to other machines."
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
            None => series.push(Series::new(name, vec![point])),
        }
    }
    let cores = rows.first().map_or(0, |row| row.cores);
    let title = format!("Requests ordered per second (Pandey 2016, figure 7.2), all on {cores} processor(s)");
    plot::lines(Labels { title: &title, x: "replicas", y: "requests/s" }, &series)
}

/// Writes the paper's shares beside ours, then the outcome.
///
/// # Errors
/// Errors of the output.
pub fn write(rows: &[Row], out: &mut dyn Write) -> io::Result<()> {
    let share = |replicas: f64, durability| {
        let row = rows.iter().find(|row| is_proved(row, durability) && row.subject.replicas as f64 == replicas);
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
    writeln!(out, "{}", outcome(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::paxos_order::measurement::{Measurement, UseOfCores};
    use crate::experiments::paxos_order::row::{Load, Subject};

    /// A row of the proved core at this share of a plain one that orders 1,000 requests a second.
    fn row(replicas: u64, share: f64, others: f64) -> Row {
        let run = |requests: f64| Measurement {
            requests: requests as u64,
            batches: 10,
            seconds: 1.0,
            p50_us: 1.0,
            p99_us: 2.0,
            p999_us: 3.0,
            elections: 0,
            in_flight: None,
            cores_used: UseOfCores { replicas: 1.0, load: 0.1, others },
        };
        let subject = Subject { engine: Engine::Proved, replicas, durability: Durability::Memory };
        let load = Load { clients: 1200, request_bytes: 40, batch_bytes: 12_000 };
        Row::new("throughput", subject, load, &[run(1_000.0 * share)], Some(&[run(1_000.0)]))
    }

    fn all_sizes(share: f64, others: f64) -> Vec<Row> {
        PAPER.iter().map(|(replicas, _)| row(*replicas as u64, share, others)).collect()
    }

    #[test]
    fn the_outcome_says_what_the_figures_show() {
        assert!(outcome(&all_sizes(0.95, 0.0)).starts_with("reproduced; the proved core has at least 0.95"));
        assert!(outcome(&all_sizes(0.8, 0.0)).starts_with("not reproduced"));
        assert!(outcome(&all_sizes(0.8, 0.5)).starts_with("undecided"));
        assert!(outcome(&[row(3, 0.95, 0.0)]).starts_with("partly"));
        assert!(outcome(&[]).starts_with("not compared"));
    }

    #[test]
    fn our_shares_stand_beside_the_papers() {
        let mut out = Vec::new();
        write(&[row(5, 0.97, 0.0)], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = text.lines().find(|line| line.starts_with("5 replicas")).expect("a line for 5 replicas");
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["5", "replicas", "1.03", "0.97", "-"]);
    }
}

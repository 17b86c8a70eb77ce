//! `lab run`: runs experiments and prints what came out.

use super::figures::{Figure, Figures, Outcome};
use super::{EXPERIMENTS, Experiment, How, Measure, Sweep};
use crate::cli::{RunArguments, Scale};
use crate::driver::Extent;
use crate::failure::Failure;
use crate::machine;
use crate::options::Format;
use crate::report::{Row, grouped, write_cells};
use crate::trial::{DurabilityName, Plan};
use crate::turns::{self, Space};
use env::time::Duration;
use std::io::{self, Write};

/// Runs what the arguments name.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let outcomes: Vec<(&Sweep, Outcome)> = chosen(&arguments.names)?
        .into_iter()
        .map(|(experiment, sweep)| Ok((sweep, perform(experiment, sweep, arguments)?)))
        .collect::<Result<_, Failure>>()?;
    let written = match arguments.format {
        Format::Json => {
            let outcomes: Vec<&Outcome> = outcomes.iter().map(|(_, outcome)| outcome).collect();
            serde_json::to_writer_pretty(&mut *out, &outcomes).map_err(io::Error::from).and_then(|()| writeln!(out))
        }
        Format::Table => outcomes.iter().try_for_each(|(sweep, outcome)| write_table(sweep, outcome, out)),
    };
    written.map_err(|error| Failure::Run(error.to_string()))
}

/// Transactions of a point at smoke scale: a number, so that a busy machine is slow and nothing else.
const SMOKE_TRANSACTIONS: u64 = 400;

type Chosen = Vec<(&'static Experiment, &'static Sweep)>;

fn chosen(names: &[String]) -> Result<Chosen, Failure> {
    let sweep = |experiment: &'static Experiment| match experiment.how {
        How::Sweep(sweep) => Ok((experiment, sweep)),
        How::Command(command) => Err(format!("experiment {} has a command of its own: {command}", experiment.name)),
        How::NotYet => Err(format!("experiment {} cannot be run yet", experiment.name)),
    };
    if names.iter().any(|name| name == "all") {
        return Ok(EXPERIMENTS.iter().filter_map(|experiment| sweep(experiment).ok()).collect());
    }
    let find = |name: &String| {
        let known = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
        known.ok_or_else(|| format!("there is no experiment {name}: `lab list` names them")).and_then(sweep)
    };
    names.iter().map(find).collect::<Result<_, _>>().map_err(Failure::Arguments)
}

fn perform(experiment: &Experiment, sweep: &Sweep, arguments: &RunArguments) -> Result<Outcome, Failure> {
    let scale = arguments.scale;
    let timed = |seconds: f64| Extent::Time {
        warm_up: Duration::from_secs_f64(seconds / 5.0),
        measured: Duration::from_secs_f64(seconds),
    };
    let (repeats, extent) = match scale {
        Scale::Smoke => (1, Extent::Transactions(SMOKE_TRANSACTIONS)),
        Scale::Full => (5, timed(3.0)),
    };
    let (repeats, extent) = (arguments.repeat.unwrap_or(repeats), arguments.seconds.map_or(extent, timed));
    let cores = machine::cores();
    let points = (sweep.points)(scale, cores);
    let plans: Vec<Plan> = points.points.iter().map(|point| Plan { extent, ..point.plan.clone() }).collect();
    eprintln!("{}: {} points, {repeats} repeat(s)", experiment.name, plans.len());
    let measured = turns::take(&plans, repeats, &Space::prepare(None, DurabilityName::None)?)?;
    let commit = machine::commit();
    let rows = plans.iter().zip(&measured).map(|(plan, repeats)| Row::new(plan, repeats, commit.as_deref()));
    let figures: Vec<Figure> = points.points.iter().zip(rows).map(|(point, row)| Figure::new(point, row)).collect();
    let outcome = (sweep.outcome)(&Figures { all: &figures, cores });
    let outcome = match scale {
        Scale::Smoke => format!("smoke scale decides nothing; its figures alone would say: {outcome}"),
        Scale::Full => outcome,
    };
    Ok(Outcome { experiment: experiment.name.to_owned(), scale, cores, commit, notes: points.notes, outcome, figures })
}

fn write_table(sweep: &Sweep, outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let first = outcome.figures.first();
    writeln!(
        out,
        "{} at {} scale: {} core(s), {}, {}, {} x {:.1} s, commit {}",
        outcome.experiment,
        match outcome.scale {
            Scale::Smoke => "smoke",
            Scale::Full => "full",
        },
        outcome.cores,
        first.map_or("", |figure| &figure.isolation),
        first.map_or("", |figure| &figure.durability),
        first.map_or(0, |figure| figure.repeats),
        first.map_or(0.0, |figure| figure.seconds),
        outcome.commit.as_deref().unwrap_or("unknown")
    )?;
    outcome.notes.iter().try_for_each(|note| writeln!(out, "- {note}"))?;
    writeln!(out)?;
    write_cells(&cells(&outcome.figures), out)?;
    write_ratios(sweep, outcome, out)?;
    writeln!(out, "\n{}: {}\n", outcome.experiment, outcome.outcome)
}

const TITLES: [&str; 11] =
    ["panel", "at", "system", "threads", "txn/s", "min", "max", "aborts %", "p99 us", "p99.9 us", "others'"];

fn cells(figures: &[Figure]) -> Vec<[String; TITLES.len()]> {
    let cells = figures.iter().map(|it| {
        [
            it.panel.clone(),
            it.label.clone(),
            it.series.clone(),
            it.threads.to_string(),
            grouped(it.txn_per_s),
            grouped(it.txn_per_s_min),
            grouped(it.txn_per_s_max),
            format!("{:.2}", it.abort_ratio * 100.0),
            format!("{:.1}", it.p99_us),
            format!("{:.1}", it.p999_us),
            it.other_cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}")),
        ]
    });
    std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect()
}

/// Our ratios with the paper's beside them.
fn write_ratios(sweep: &Sweep, outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let figures = Figures { all: &outcome.figures, cores: outcome.cores };
    for chart in sweep.charts {
        let Measure::Ratio(_) = chart.measure else { continue };
        let labels = figures.labels(chart);
        for series in figures.series(chart) {
            let paper = chart.paper.iter().find(|(name, _)| *name == series.name).map_or(&[][..], |(_, points)| points);
            for point in &series.points {
                let label = labels.iter().find(|(x, _)| *x == point.x).map_or("", |(_, label)| label);
                let paper = paper.iter().find(|(x, _)| *x == point.x);
                let paper = paper.map_or_else(String::new, |(_, y)| format!(", the paper's {y:.2}"));
                writeln!(out, "{} at {label}: {:.2}{paper}", series.name, point.y)?;
            }
        }
    }
    Ok(())
}

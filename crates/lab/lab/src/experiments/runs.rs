//! `lab run`: runs experiments and prints what came out.

use super::dur::Simulation;
use super::dur::run::{Measurements, perform};
use super::figures::{Figure, Figures, Outcome, distinct};
use super::{Chart, EXPERIMENTS, Experiment, How, Measure, PaperSeries, Point, Points, Sweep, paxos_order};
use crate::cli::{RunArguments, Scale};
use crate::driver::Extent;
use crate::engines::DoorName;
use crate::failure::Failure;
use crate::machine::{self, DISTURBED};
use crate::options::Format;
use crate::report::{Row, counts, grouped, latency, or_dash, rates, write_cells};
use crate::trial::{DurabilityName, Plan, WorkloadPlan};
use crate::turns::{self, Failed, Kept, Progress, Space, rounded};
use env::time::Duration;
use std::io::{self, Write};

/// Runs what the arguments name.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &RunArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.history.is_some() && arguments.scale != Scale::Smoke {
        let problem = "a history of a run at full scale fits no memory: request --history with --scale smoke";
        return Err(Failure::Arguments(problem.to_owned()));
    }
    let size = Size::new(arguments);
    let chosen = chosen(&arguments.names)?;
    let tasks: Vec<Task> = chosen.into_iter().map(|it| Task::new(it, &size, arguments)).collect();
    if let Some(problem) = tasks.iter().filter(|_| arguments.history.is_some()).find_map(Task::lacks_history) {
        return Err(Failure::Arguments(problem));
    }
    let mut kept = arguments.resume.as_deref().map_or_else(|| Ok(Kept::in_memory()), Kept::in_file)?;
    let plans: Vec<&Plan> = tasks.iter().flat_map(Task::plans).collect();
    let mut progress = Progress::new(plans.len() * size.repeats as usize);
    let trials = turns::distinct(&plans) * size.repeats as usize;
    eprintln!("{trials} trials{}", size.cost(trials));
    let (mut outcomes, mut measurements) = (Vec::new(), Measurements::default());
    for task in tasks {
        outcomes.push(match task {
            Task::Sweep(run) => (run.sweep.charts, run.perform(&size, &mut kept, &mut progress)?),
            Task::Simulation(name, simulation) => {
                let outcome = perform((name, simulation), size.scale, &mut measurements).map_err(Failure::Run)?;
                (simulation.charts, outcome)
            }
            Task::Clusters(_, charts) => {
                let figure = paxos_order::figure(size.scale, size.repeats, arguments.seconds).map_err(Failure::Run)?;
                let outcome = verdict(size.scale, &figure.figures, figure.failed.len(), figure.outcome);
                (charts, Outcome { outcome, ..figure })
            }
        });
    }
    write(arguments, &outcomes, out).map_err(|error| Failure::Run(error.to_string()))?;
    match outcomes.iter().map(|(_, outcome)| outcome.failed.len()).sum() {
        0 => Ok(()),
        failed => Err(Failure::Run(format!(
            "{failed} trial(s) failed, which the results name: with --resume the same command tries each once more"
        ))),
    }
}

/// Charts of an experiment, and what came out.
type Drawn = (&'static [Chart], Outcome);

fn write(arguments: &RunArguments, outcomes: &[Drawn], out: &mut dyn Write) -> io::Result<()> {
    match arguments.format {
        Format::Json => {
            let outcomes: Vec<&Outcome> = outcomes.iter().map(|(_, outcome)| outcome).collect();
            serde_json::to_writer_pretty(&mut *out, &outcomes)?;
            writeln!(out)?;
        }
        Format::Table => outcomes.iter().try_for_each(|(charts, outcome)| write_table(charts, outcome, out))?,
    }
    if arguments.scale == Scale::Full {
        eprintln!(
            "For the field `outcome` in crates/lab/lab/src/experiments/registry.rs (then `lab list --format markdown`):"
        );
        outcomes.iter().for_each(|(_, outcome)| eprintln!("  {}: {:?}", outcome.experiment, outcome.outcome));
    }
    Ok(())
}

/// Length of the trials, and how many of each.
struct Size {
    scale: Scale,
    repeats: u32,
    extent: Extent,
}

/// A full run of all experiments takes about two hours on two cores: medians of three trials of two seconds.
const FULL_REPEATS: u32 = 3;
const FULL_SECONDS: f64 = 2.0;

impl Size {
    fn new(arguments: &RunArguments) -> Size {
        let timed = |seconds: f64| Extent::Time {
            warm_up: Duration::from_secs_f64(seconds / 5.0),
            measured: Duration::from_secs_f64(seconds),
        };
        let (repeats, extent) = match arguments.scale {
            Scale::Smoke => (1, Extent::Transactions(SMOKE_TRANSACTIONS)),
            Scale::Full => (FULL_REPEATS, timed(FULL_SECONDS)),
        };
        let repeats = arguments.repeat.unwrap_or(repeats);
        Size { scale: arguments.scale, repeats, extent: arguments.seconds.map_or(extent, timed) }
    }

    /// Length of a plan's trial. A query takes as long as thousands of other transactions.
    fn extent_of(&self, plan: &Plan) -> Extent {
        match (self.extent, &plan.workload) {
            (Extent::Transactions(_), WorkloadPlan::Tpch(_)) => Extent::Transactions(SMOKE_QUERIES),
            (extent, _) => extent,
        }
    }

    /// About how long so many trials take, where that is known before.
    fn cost(&self, trials: usize) -> String {
        /// Start, load and audit of a million rows, on a machine with nothing else to do.
        const AROUND: Duration = Duration::from_millis(1_000);
        match self.extent {
            Extent::Time { warm_up, measured } => {
                format!(", about {}", rounded((warm_up + measured + AROUND) * trials as u32))
            }
            Extent::Transactions(_) | Extent::Operations(_) => String::new(),
        }
    }
}

/// Transactions of a point at smoke scale: a number, so that a busy machine is slow and nothing else.
const SMOKE_TRANSACTIONS: u64 = 400;

/// The same of queries, each logged and not.
const SMOKE_QUERIES: u64 = 2;

/// What `lab run` can run.
#[derive(Clone, Copy)]
enum Kind {
    Sweep(&'static Sweep),
    Simulation(&'static Simulation),
    Clusters(&'static [Chart]),
}

type Chosen = (&'static Experiment, Kind);

fn chosen(names: &[String]) -> Result<Vec<Chosen>, Failure> {
    let kind = |experiment: &'static Experiment| match experiment.how {
        How::Sweep(sweep) => Ok((experiment, Kind::Sweep(sweep))),
        How::Simulation(simulation) => Ok((experiment, Kind::Simulation(simulation))),
        How::Clusters(charts) => Ok((experiment, Kind::Clusters(charts))),
        How::NotYet => Err(format!("experiment {} cannot be run yet", experiment.name)),
    };
    if names.iter().any(|name| name == "all") {
        return Ok(EXPERIMENTS.iter().filter_map(|experiment| kind(experiment).ok()).collect());
    }
    let find = |name: &String| {
        let known = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
        known.ok_or_else(|| format!("there is no experiment {name}: `lab list` names them")).and_then(kind)
    };
    names.iter().map(find).collect::<Result<_, _>>().map_err(Failure::Arguments)
}

/// An experiment that is to be run, in trials, in virtual time, or on clusters.
enum Task {
    Sweep(Run),
    Simulation(&'static str, &'static Simulation),
    Clusters(&'static str, &'static [Chart]),
}

impl Task {
    fn new((experiment, kind): Chosen, size: &Size, arguments: &RunArguments) -> Task {
        match kind {
            Kind::Sweep(sweep) => Task::Sweep(Run::new((experiment, sweep), size, arguments)),
            Kind::Simulation(simulation) => Task::Simulation(experiment.name, simulation),
            Kind::Clusters(charts) => Task::Clusters(experiment.name, charts),
        }
    }

    fn plans(&self) -> &[Plan] {
        match self {
            Task::Sweep(run) => &run.plans,
            Task::Simulation(..) | Task::Clusters(..) => &[],
        }
    }

    /// Why it records no history.
    fn lacks_history(&self) -> Option<String> {
        match self {
            Task::Sweep(run) if run.has_stamps() => None,
            Task::Sweep(run) => Some(format!(
                "experiment {} has rows of less than 16 bytes, which name no writes: run it without --history",
                run.experiment.name
            )),
            Task::Simulation(name, _) => Some(format!(
                "experiment {name} runs in virtual time, and records no history: run it without --history"
            )),
            Task::Clusters(name, _) => Some(format!(
                "experiment {name} orders requests, which are no transactions, and records no history: run it without --history"
            )),
        }
    }
}

/// An experiment that is to be run in trials.
struct Run {
    experiment: &'static Experiment,
    sweep: &'static Sweep,
    points: Points,
    plans: Vec<Plan>,
}

impl Run {
    fn new((experiment, sweep): (&'static Experiment, &'static Sweep), size: &Size, arguments: &RunArguments) -> Run {
        let points = (sweep.points)(size.scale, machine::cores());
        let history = |at: usize| {
            arguments.history.as_ref().map(|directory| directory.join(format!("{}-{}.jsonl", experiment.name, at + 1)))
        };
        let plan = |(at, point): (usize, &Point)| {
            // Prepared transactions are not recorded: those of a history are submitted one by one.
            let is_prepared = point.plan.door == DoorName::Prepared;
            let door = if arguments.history.is_some() && is_prepared { DoorName::Batch } else { point.plan.door };
            Plan { extent: size.extent_of(&point.plan), history: history(at), door, ..point.plan.clone() }
        };
        let plans = points.points.iter().enumerate().map(plan).collect();
        Run { experiment, sweep, points, plans }
    }

    /// Whether the writes of histories can be told apart.
    fn has_stamps(&self) -> bool {
        let has_stamps = |plan: &Plan| match &plan.workload {
            WorkloadPlan::Ycsb(parameters) => parameters.has_stamps(),
            _ => true,
        };
        self.plans.iter().all(has_stamps)
    }

    fn perform(self, size: &Size, kept: &mut Kept, progress: &mut Progress) -> Result<Outcome, Failure> {
        let Run { experiment, sweep, points, plans } = self;
        eprintln!("{}: {} points, {} repeat(s)", experiment.name, plans.len(), size.repeats);
        let space = Space::prepare(None, DurabilityName::None)?;
        // Smoke scale decides nothing. On a machine that is never quiet a run takes half as long again, and no longer.
        let again = if size.scale == Scale::Full { plans.len() as u32 * size.repeats / 2 } else { 0 };
        let taken = turns::take_what_is_missing(&plans, size.repeats, &space, kept, progress, again)?;
        let (commit, cores) = (machine::commit(), machine::cores());
        let measured = points.points.iter().zip(&plans).zip(&taken.measured).filter(|(_, repeats)| !repeats.is_empty());
        let figures: Vec<Figure> = measured
            .map(|((point, plan), repeats)| Figure::new(point, Row::new(plan, repeats, commit.as_deref())))
            .collect();
        let failed = taken.failed.iter().map(|failed| in_words(&points.points[failed.plan], failed)).collect();
        let shape = (sweep.outcome)(&Figures { all: &figures, cores });
        let outcome = verdict(size.scale, &figures, taken.failed.len(), shape);
        Ok(Outcome {
            experiment: experiment.name.to_owned(),
            scale: size.scale,
            cores,
            build: machine::BUILD.to_owned(),
            allocator: machine::ALLOCATOR.to_owned(),
            commit,
            notes: points.notes,
            failed,
            outcome,
            figures,
        })
    }
}

/// Which trial failed, and why.
fn in_words(point: &Point, failed: &Failed) -> String {
    let Failed { repeat, reason, .. } = failed;
    format!("{} at {}, {}, repeat {}: {reason}", point.panel, point.label, point.series, repeat + 1)
}

/// What the shape test says, if anything is decided.
fn verdict(scale: Scale, figures: &[Figure], failed: usize, shape: String) -> String {
    let others = figures.iter().filter_map(|figure| figure.other_cores).fold(0.0, f64::max);
    match scale {
        Scale::Smoke => format!("smoke scale decides nothing; its figures alone would say: {shape}"),
        Scale::Full if cfg!(debug_assertions) => format!("undecided: a debug build; its figures would say: {shape}"),
        Scale::Full if failed > 0 => format!("undecided: {failed} trial(s) failed; the figures would say: {shape}"),
        Scale::Full if others > DISTURBED => {
            format!("undecided: other programs used up to {others:.2} processors; the figures would say: {shape}")
        }
        Scale::Full => shape,
    }
}

fn write_table(charts: &[Chart], outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let first = outcome.figures.first();
    writeln!(
        out,
        "{} at {} scale: {} core(s), {}, {}, {}, {} x {:.1} s, allocator {}, commit {}",
        outcome.experiment,
        match outcome.scale {
            Scale::Smoke => "smoke",
            Scale::Full => "full",
        },
        outcome.cores,
        outcome.build,
        distinct(&outcome.figures, |it| &it.isolation),
        distinct(&outcome.figures, |it| &it.durability),
        first.map_or(0, |figure| figure.repeats),
        first.map_or(0.0, |figure| figure.seconds),
        outcome.allocator,
        outcome.commit.as_deref().unwrap_or("unknown")
    )?;
    outcome.notes.iter().try_for_each(|note| writeln!(out, "- {note}"))?;
    outcome.failed.iter().try_for_each(|failed| writeln!(out, "- a trial failed: {failed}"))?;
    writeln!(out)?;
    write_cells(&cells(&outcome.figures), out)?;
    write_details(&outcome.figures, out)?;
    write_ratios(charts, outcome, out)?;
    writeln!(out, "\n{}: {}\n", outcome.experiment, outcome.outcome)
}

const TITLES: [&str; 13] = [
    "panel",
    "at",
    "system",
    "threads",
    "txn/s",
    "min",
    "max",
    "over bare ns",
    "aborts %",
    "p99 us",
    "p99.9 us",
    "versions",
    "others'",
];

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
            or_dash(it.over_bare_ns.map(grouped)),
            format!("{:.2}", it.abort_ratio * 100.0),
            latency(it.p99_us),
            latency(it.p999_us),
            or_dash(it.kept_versions.map(|count| grouped(count as f64))),
            or_dash(it.other_cores.map(|cores| format!("{cores:.2}"))),
        ]
    });
    std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect()
}

/// Throughput by kind of transaction, and aborts by rule, of each figure that has them.
fn write_details(figures: &[Figure], out: &mut dyn Write) -> io::Result<()> {
    for it in figures {
        let name = format!("{} at {}, {}", it.panel, it.label, it.series);
        if !it.txn_per_s_by_kind.is_empty() {
            writeln!(out, "txn/s of {name}: {}", rates(&it.txn_per_s_by_kind))?;
        }
        if !it.aborts.is_empty() {
            writeln!(out, "aborts of {name}: {}", counts(&it.aborts))?;
        }
        if let Some(bytes) = it.log_bytes {
            writeln!(out, "predicate log of {name}: {bytes:.0} bytes")?;
        }
        if let Some(rate) = it.long_reader_txn_per_s {
            writeln!(out, "long readers of {name}: {rate:.1} txn/s; aborts: {}", counts(&it.long_reader_aborts))?;
        }
    }
    Ok(())
}

/// Our ratios with the paper's beside them.
fn write_ratios(charts: &[Chart], outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let figures = Figures { all: &outcome.figures, cores: outcome.cores };
    for chart in charts {
        let Measure::Ratio(_) = chart.measure else { continue };
        let labels = figures.labels(chart);
        for series in figures.series(chart) {
            let paper = papers_points(chart, &series.name);
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

/// The paper's points of a series of ours. What the paper does not tell apart (it has a single line, of another name) stands beside each.
fn papers_points(chart: &Chart, series: &str) -> &'static [(f64, f64)] {
    let Measure::Ratio(ours) = chart.measure else { return &[] };
    let named = chart.paper.iter().find(|(name, _)| *name == series);
    let is_ours = |(paper, _): &PaperSeries| ours.iter().any(|(name, ..)| name == paper);
    let of_all = chart.paper.first().filter(|only| chart.paper.len() == 1 && !is_ours(only));
    named.or(of_all).map_or(&[], |(_, points)| points)
}

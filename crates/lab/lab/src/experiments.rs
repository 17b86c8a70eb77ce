//! The papers' experiments, as values: what is run, on which systems, what the paper's figure shows, and whether ours has its shape.
//!
//! What must agree is the shape (who wins, by what factor, where lines cross): the papers' machines had 20 to 144 cores. A parameter
//! that this machine forces down is printed with both values.

mod bohm;
mod builder;
pub mod cluster;
mod dur;
pub mod figures;
mod hyper;
pub mod listing;
pub mod page;
pub mod paxos_order;
mod registry;
pub mod runs;
mod vmvcc;

pub use crate::plot::Style;
pub use registry::EXPERIMENTS;

use crate::cli::Scale;
use crate::engines::{EngineName, HyperVariant, Ladder, Stages};
use crate::trial::Plan;
use clap::ValueEnum;
use figures::Figures;

/// An experiment of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The paper.
    pub paper: Paper,
    /// The figure, or the section.
    pub figure: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// What can be run of it.
    pub how: How,
    /// What came out when it was last run at full scale, with the machine; or why it was not.
    pub outcome: &'static str,
}

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// vMVCC.
    Vmvcc,
    /// HyPer.
    Hyper,
    /// BOHM.
    Bohm,
    /// Pandey's thesis.
    Pandey,
    /// Morty.
    Morty,
}

impl Paper {
    /// All of them, in the order of the documentation.
    pub const ALL: [Paper; 5] = [Paper::Vmvcc, Paper::Hyper, Paper::Bohm, Paper::Pandey, Paper::Morty];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Paper::Vmvcc => "vMVCC (OSDI '23)",
            Paper::Hyper => "HyPer MVCC (SIGMOD '15)",
            Paper::Bohm => "BOHM (VLDB '15)",
            Paper::Pandey => "Pandey's thesis (2016)",
            Paper::Morty => "Morty (EuroSys '23)",
        }
    }
}

/// What can be run of an experiment.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// `lab run`.
    Sweep(&'static Sweep),
    /// `lab run`, in virtual time.
    Simulation(&'static dur::Simulation),
    /// `lab run`, on clusters of processes, and how its figures are drawn. `lab experiment` measures what belongs to it.
    Clusters(&'static [Chart]),
    /// Nothing.
    NotYet,
}

/// Workloads over systems.
#[derive(Debug)]
pub struct Sweep {
    /// What is measured, on a machine with so many cores.
    pub points: fn(Scale, usize) -> Points,
    /// How it is drawn.
    pub charts: &'static [Chart],
    /// What came out: `reproduced`, `partly: why`, or `not here: why`.
    pub outcome: fn(&Figures<'_>) -> String,
}

/// What is measured.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// Point by point. Systems of one point stand side by side, and are run one after another.
    pub points: Vec<Point>,
    /// Where this machine forces a parameter of the paper down: both values. And what is missing.
    pub notes: Vec<String>,
}

/// A point of a figure.
#[derive(Clone, Debug)]
pub struct Point {
    /// Part of the figure.
    pub panel: &'static str,
    /// The line, or the kind of bar.
    pub series: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// How that place is called.
    pub label: String,
    /// What is run; its extent is the scale's.
    pub plan: Plan,
}

/// A system of an experiment. An engine that the lab does not have yet is left out, with a note.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// Its name in figures.
    pub name: &'static str,
    /// The engine's name.
    pub engine: &'static str,
    /// What is taken away from `mvto`.
    pub ladder: Ladder,
    /// What is changed of `hyper`.
    pub hyper: HyperVariant,
    /// Whether `hekaton` and `si` keep replaced versions.
    pub keeps_versions: bool,
    /// Threads of `bohm`.
    pub stages: Stages,
    /// Whether transactions are drawn before the clock runs, see [`crate::engines::DoorName::Prepared`].
    pub is_prepared: bool,
}

impl System {
    /// An engine as it is.
    pub const fn whole(engine: &'static str) -> System {
        let (ladder, hyper, stages) = (Ladder::Whole, HyperVariant::WHOLE, Stages::ONE_EACH);
        System { name: engine, engine, ladder, hyper, keeps_versions: false, stages, is_prepared: false }
    }

    /// The same, with transactions that are drawn before the clock runs.
    pub const fn prepared(engine: &'static str) -> System {
        System { is_prepared: true, ..System::whole(engine) }
    }

    /// The engine, if the lab has it.
    pub fn engine(self) -> Option<EngineName> {
        EngineName::from_str(self.engine, true).ok()
    }
}

/// A chart of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Above it.
    pub title: &'static str,
    /// The panel that it shows.
    pub panel: &'static str,
    /// What it shows of each point.
    pub measure: Measure,
    /// Lines or bars.
    pub style: Style,
    /// Name of the horizontal axis.
    pub x: &'static str,
    /// The paper's points, dashed.
    pub paper: &'static [PaperSeries],
}

/// A line of the paper: its name, and points.
pub type PaperSeries = (&'static str, &'static [(f64, f64)]);

/// What a chart shows of a point.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Committed transactions in a second.
    TxnPerS,
    /// Answered requests in a second.
    RequestsPerS,
    /// Millions in a second of what a transaction has as many of as this parameter of the workload says; the name of the axis.
    MillionsPerS(&'static str, &'static str),
    /// Nanoseconds of one of those.
    NanosecondsOf(&'static str, &'static str),
    /// Throughput over that of the bare loop.
    OfBare,
    /// Bytes of a transaction's log of predicates.
    LogBytes,
    /// 99.9th percentile of the latency, in milliseconds; logarithmic.
    P999Ms,
    /// Aborted attempts of a hundred.
    AbortPercent,
    /// Throughput of one series over another's, at the same place; logarithmic. Name, numerator, denominator.
    Ratio(&'static [(&'static str, &'static str, &'static str)]),
    /// Throughput over that of the same series at the first place.
    Speedup,
}

impl Measure {
    /// Name of the vertical axis.
    pub fn name(self) -> &'static str {
        match self {
            Measure::TxnPerS => "transactions/s",
            Measure::RequestsPerS => "requests/s",
            Measure::MillionsPerS(_, name) | Measure::NanosecondsOf(_, name) => name,
            Measure::OfBare => "of the limit",
            Measure::LogBytes => "bytes",
            Measure::P999Ms => "p99.9, ms",
            Measure::AbortPercent => "aborts, %",
            Measure::Ratio(_) => "ratio of throughputs",
            Measure::Speedup => "times one thread",
        }
    }

    /// Where bars begin: ratios at one.
    pub fn baseline(self) -> Option<f64> {
        matches!(self, Measure::Ratio(_)).then_some(1.0)
    }

    /// Returns whether its axis is logarithmic.
    pub fn is_logarithmic(self) -> bool {
        matches!(self, Measure::P999Ms | Measure::Ratio(_))
    }
}

//! The command line, and the table.

use crate::subject::Name;
use clap::{Args, Parser, Subcommand, ValueEnum};
use lab::cli::{BankChanges, YcsbChanges};
use lab::driver::Extent;
use lab::engines::Settings;
use lab::report::{Row, grouped, write_cells, write_json};
use lab::trial::{self, DurabilityName, Plan, WorkloadPlan};
use lab::turns::{self, Progress, Space};
use lab::workloads::parameters::{DEFAULT, Presets};
use lab::workloads::{bank, ycsb};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  stores --threads 1,2 --seconds 3 --repeat 3
  stores --workloads ycsb --systems mvto,rocksdb,lmdb --keys-per-txn 4 --theta 0.85 --threads 2
  stores --durability fsync --data /mnt/disk --threads 1,8";

/// Runs the lab's workloads on our engines and on other embedded stores, in turns
#[derive(Debug, Parser)]
#[command(name = "stores", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// How the runs are kept apart.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What is run.
    #[command(flatten)]
    pub comparison: Comparison,
}

/// How the runs are kept apart.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one trial, given as JSON, in this process
    #[command(hide = true)]
    Measure {
        /// The plan
        plan: String,
    },
}

/// What is run.
#[derive(Debug, Args)]
pub struct Comparison {
    /// Engines and stores [default: all that can be as durable]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,...")]
    pub systems: Vec<Name>,

    /// Workloads
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ycsb,bank", value_name = "NAME,...")]
    pub workloads: Vec<WorkloadName>,

    /// Numbers of client threads, each measured by itself
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_name = "N,...",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Vec<u32>,

    /// Seconds that are counted, per run; a fifth of them before it are not
    #[arg(long, default_value = "3", value_name = "S", value_parser = seconds)]
    pub seconds: f64,

    /// Run this many transactions instead of some seconds, without warm-up
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    pub transactions: Option<u64>,

    /// How often each run is repeated, the systems taking turns; figures are medians
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// What acknowledgements wait for
    #[arg(long, value_enum, default_value = "none")]
    pub durability: Waits,

    /// Where databases are put, each in a directory of its own that is removed afterwards [default: the system's directory for
    /// temporary files]. With --durability none our engines are in memory
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Where all random choices come from
    #[arg(long, default_value = "1", value_name = "N")]
    pub seed: u64,

    /// Print one list of rows for programs instead of the table
    #[arg(long)]
    pub json: bool,

    /// Changes of YCSB.
    #[command(flatten)]
    pub ycsb: YcsbChanges,

    /// Changes of Bank.
    #[command(flatten)]
    pub bank: BankChanges,
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkloadName {
    /// Reads and blind writes of records by popularity, and scans
    Ycsb,
    /// Transfers between accounts, and audits of their sum
    Bank,
}

/// What acknowledgements wait for, in each store's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Waits {
    /// Nothing
    None,
    /// The transaction is on the disk
    Fsync,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if seconds > 0.0 && seconds <= 86_400.0 { Ok(seconds) } else { Err("not above 0 and at most a day".to_owned()) }
}

/// Does what the arguments say: the table to `out`, progress to standard error.
///
/// # Errors
/// A sentence for the user: bad arguments, or the first trial that failed, a wrong answer among the reasons.
pub fn run(arguments: Arguments, out: &mut dyn Write) -> Result<(), String> {
    if let Some(Command::Measure { plan }) = arguments.command {
        let plan: Plan<Name> = serde_json::from_str(&plan).map_err(|error| format!("not a plan: {error}"))?;
        lab::processes::end_with_starter();
        let measurement = trial::perform(&plan)?;
        return serde_json::to_writer(out, &measurement).map_err(|error| error.to_string());
    }
    let comparison = arguments.comparison;
    let rows = compare(&comparison)?;
    let written = if comparison.json { write_json(&rows, out) } else { write_table(&rows, out) };
    written.map_err(|error| error.to_string())
}

fn compare(comparison: &Comparison) -> Result<Vec<Row>, String> {
    let systems = systems(comparison)?;
    let space = Space::prepare(comparison.data.as_deref(), DurabilityName::Fsync).map_err(sentence)?;
    let mut plans = Vec::new();
    for &workload in &comparison.workloads {
        let workload = workload_plan(workload, comparison)?;
        for &threads in &comparison.threads {
            plans.extend(systems.iter().map(|&system| plan(comparison, &workload, threads, system, &space)));
        }
    }
    let mut progress = Progress::new(plans.len() * comparison.repeat as usize);
    let measured = turns::take(&plans, comparison.repeat, &space, &mut progress).map_err(sentence)?;
    let commit = lab::machine::commit();
    Ok(plans.iter().zip(&measured).map(|(plan, repeats)| Row::new(plan, repeats, commit.as_deref())).collect())
}

fn sentence(failure: lab::failure::Failure) -> String {
    match failure {
        lab::failure::Failure::Arguments(message) | lab::failure::Failure::Run(message) => message,
        lab::failure::Failure::Verdict => "the judges found a violation".to_owned(),
    }
}

fn systems(comparison: &Comparison) -> Result<Vec<Name>, String> {
    let needs_disk = comparison.durability == Waits::Fsync;
    let is_able = |name: &Name| !needs_disk || name.is_durable();
    if comparison.systems.is_empty() {
        return Ok(Name::value_variants().iter().copied().filter(is_able).collect());
    }
    match comparison.systems.iter().find(|name| !is_able(name)) {
        Some(name) => Err(format!("{name} keeps nothing on a disk: run it with --durability none")),
        None => Ok(comparison.systems.clone()),
    }
}

fn workload_plan(workload: WorkloadName, comparison: &Comparison) -> Result<WorkloadPlan, String> {
    match workload {
        WorkloadName::Ycsb => {
            let parameters: ycsb::Parameters =
                Presets::read(ycsb::NAME, ycsb::PRESETS)?.parameters(DEFAULT, &comparison.ycsb)?;
            parameters.check()?;
            Ok(WorkloadPlan::Ycsb(parameters))
        }
        WorkloadName::Bank => {
            let presets = Presets::read(bank::NAME, bank::PRESETS)?;
            Ok(WorkloadPlan::Bank(presets.parameters(DEFAULT, &comparison.bank)?))
        }
    }
}

fn plan(comparison: &Comparison, workload: &WorkloadPlan, threads: u32, system: Name, space: &Space) -> Plan<Name> {
    let durability = match comparison.durability {
        Waits::None => DurabilityName::None,
        Waits::Fsync => DurabilityName::Fsync,
    };
    let is_in_memory = system.engine().is_some() && comparison.durability == Waits::None;
    let data = space.root().filter(|_| !is_in_memory).map(|root| root.to_owned());
    let measured = Duration::from_secs_f64(comparison.seconds);
    let extent = match comparison.transactions {
        Some(transactions) => Extent::Transactions(transactions),
        None => Extent::Time { warm_up: measured / 5, measured },
    };
    Plan {
        settings: Settings { data, ..Settings::default() },
        threads,
        durability,
        seed: comparison.seed,
        ..Plan::new(system, workload.clone(), extent)
    }
}

const TITLES: [&str; 12] = [
    "system",
    "workload",
    "threads",
    "txn/s",
    "min",
    "max",
    "aborts %",
    "p50 us",
    "p99 us",
    "RSS MiB",
    "others'",
    "isolation",
];

fn write_table(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let (durability, commit) = (first.durability.name(), first.commit.as_deref().unwrap_or("unknown"));
    writeln!(
        out,
        "durability {durability}, {} core(s), {} x {:.1} s, commit {commit}",
        first.cores, first.repeats, first.seconds
    )?;
    let mut named: Vec<&str> = Vec::new();
    for row in rows {
        if !named.contains(&row.workload.as_str()) {
            named.push(&row.workload);
            writeln!(out, "{} {}", row.workload, row.parameters)?;
        }
    }
    writeln!(out)?;
    let cells = rows.iter().map(|row| {
        [
            row.engine.clone(),
            row.workload.clone(),
            row.threads.to_string(),
            grouped(row.txn_per_s),
            grouped(row.txn_per_s_min),
            grouped(row.txn_per_s_max),
            format!("{:.2}", row.abort_ratio * 100.0),
            format!("{:.2}", row.p50_us),
            format!("{:.2}", row.p99_us),
            format!("{:.0}", row.rss_mb),
            row.other_cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}")),
            row.isolation.to_owned(),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    write_cells(&lines, out)
}

//! The `lab` command.

use crate::cli::{Arguments, Command, CommonArguments, ExperimentCommand, HistoryArguments, WorkloadCommand};
use crate::driver::Extent;
use crate::engines::{EngineName, Settings};
use crate::experiments::paxos_order;
use crate::failure::Failure;
use crate::options::Format;
use crate::report::{self, Row, grouped};
use crate::trial::{self, DurabilityName, Measurement, Plan, WorkloadPlan};
use crate::workloads::parameters::Presets;
use crate::workloads::{bank, smallbank, tatp, tpcc, ycsb};
use crate::{histories, machine, soak};
use clap::CommandFactory;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn run_failure(error: impl ToString) -> Failure {
    Failure::Run(error.to_string())
}

/// Does what the arguments say: results to `out`, progress to standard error.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    match arguments.command {
        None => write!(out, "{}", Arguments::command().render_long_help()).map_err(run_failure),
        Some(Command::OrderNode { plan }) => {
            paxos_order::node::run(&plan, io::stdin().lock(), out).map_err(Failure::Run)
        }
        Some(Command::Measure { plan }) => measure(&plan, out),
        Some(Command::Soak(arguments)) => soak::run(&arguments, out),
        Some(Command::History(arguments)) => judge_history(&arguments, out),
        Some(Command::Experiment(ExperimentCommand::PaxosOrder(arguments))) => paxos_order::run(arguments, out),
        Some(Command::Workload(workload)) => {
            let (common, plan) = workload_plan(&workload).map_err(Failure::Arguments)?;
            run_workload(common, plan, out)
        }
    }
}

fn measure(plan: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| Failure::Arguments(format!("not a plan: {error}")))?;
    let measurement = trial::perform(&plan).map_err(Failure::Run)?;
    serde_json::to_writer(out, &measurement).map_err(run_failure)
}

fn judge_history(arguments: &HistoryArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let records = histories::record(arguments).map_err(Failure::Run)?;
    if let Some(path) = &arguments.out {
        let cannot = |error: io::Error| Failure::Run(format!("cannot write {}: {error}", path.display()));
        trial::write_history(path, &records).map_err(cannot)?;
    }
    let report = histories::judge(records).map_err(Failure::Run)?;
    write!(out, "{report}").map_err(run_failure)?;
    if report.valid { Ok(()) } else { Err(Failure::Verdict) }
}

/// The workload that the arguments request: a preset with changes.
fn workload_plan(command: &WorkloadCommand) -> Result<(&CommonArguments, WorkloadPlan), String> {
    let plan = match command {
        WorkloadCommand::Ycsb(arguments) => {
            let common = &arguments.common;
            let parameters: ycsb::Parameters = preset(ycsb::NAME, ycsb::PRESETS, common, &arguments.changes)?;
            parameters.check()?;
            if common.history.is_some() && !parameters.has_stamps() {
                return Err("rows of less than 16 bytes name no writes: request more for a history".to_owned());
            }
            (common, WorkloadPlan::Ycsb(parameters))
        }
        WorkloadCommand::Bank(arguments) => {
            let parameters = preset(bank::NAME, bank::PRESETS, &arguments.common, &arguments.changes)?;
            (&arguments.common, WorkloadPlan::Bank(parameters))
        }
        WorkloadCommand::Smallbank(arguments) => {
            let parameters = preset(smallbank::NAME, smallbank::PRESETS, &arguments.common, &arguments.changes)?;
            (&arguments.common, WorkloadPlan::Smallbank(parameters))
        }
        WorkloadCommand::Tatp(arguments) => {
            let parameters = preset(tatp::NAME, tatp::PRESETS, &arguments.common, &arguments.changes)?;
            (&arguments.common, WorkloadPlan::Tatp(parameters))
        }
        WorkloadCommand::Tpcc(arguments) => {
            let parameters: tpcc::Parameters =
                preset(tpcc::NAME, tpcc::PRESETS, &arguments.common, &arguments.changes)?;
            parameters.check()?;
            (&arguments.common, WorkloadPlan::Tpcc(parameters))
        }
    };
    Ok(plan)
}

/// Changes that every workload knows.
#[derive(Serialize)]
struct Changes<'a, C> {
    #[serde(flatten)]
    own: &'a C,
    own_at_statement: Option<bool>,
}

fn preset<P: DeserializeOwned>(
    workload: &'static str,
    file: &str,
    common: &CommonArguments,
    changes: &impl Serialize,
) -> Result<P, String> {
    let changes = Changes { own: changes, own_at_statement: common.own_at_statement.then_some(true) };
    Presets::read(workload, file)?.parameters(&common.preset, &changes)
}

fn run_workload(common: &CommonArguments, workload: WorkloadPlan, out: &mut dyn Write) -> Result<(), Failure> {
    let engines = engines(common)?;
    let space = Space::prepare(common)?;
    let plans = plans(common, &engines, &workload, &space);
    let mut repeats: Vec<Vec<Measurement>> = vec![Vec::new(); plans.len()];
    let runs = plans.len() * common.repeat as usize;
    for repeat in 0..common.repeat {
        for (at, (plan, measured)) in plans.iter().zip(&mut repeats).enumerate() {
            let number = repeat as usize * plans.len() + at + 1;
            let settings = Settings { data: space.directory(number), has_small_limits: false };
            let seed = plan.seed.wrapping_add(repeat.into());
            let history = plan.history.as_ref().map(|path| history_path(path, plan, repeat, runs));
            let trial = Plan { settings, seed, history, ..plan.clone() };
            let measurement = trial::perform_apart(&trial);
            space.clear(number)?;
            let measurement = measurement.map_err(Failure::Run)?;
            show_progress(number, runs, plan, &measurement);
            measured.push(measurement);
        }
    }
    let commit = machine::commit();
    let rows: Vec<Row> =
        plans.iter().zip(&repeats).map(|(plan, repeats)| Row::new(plan, repeats, commit.as_deref())).collect();
    match common.format {
        Format::Table => report::write_table(&rows, out),
        Format::Json => report::write_json(&rows, out),
    }
    .map_err(run_failure)
}

/// One plan per row: for each number of threads, each engine in turn. Its trials differ in seed, directory and history.
fn plans(common: &CommonArguments, engines: &[EngineName], workload: &WorkloadPlan, space: &Space) -> Vec<Plan> {
    let extent = match common.transactions {
        Some(transactions) => Extent::Transactions(transactions),
        None => Extent::Time {
            warm_up: Duration::from_secs_f64(common.warm_up.unwrap_or((common.seconds / 5.0).min(2.0))),
            measured: Duration::from_secs_f64(common.seconds),
        },
    };
    let plan = |threads: u32, engine: EngineName| Plan {
        engine,
        settings: Settings { data: space.root().map(Path::to_owned), has_small_limits: false },
        workload: workload.clone(),
        threads,
        long_readers: common.long_readers,
        long_reader_interval: Duration::from_millis(common.long_reader_interval),
        extent,
        durability: common.durability,
        history: common.history.clone(),
        seed: common.seed,
    };
    common.threads.iter().flat_map(|&threads| engines.iter().map(move |&engine| plan(threads, engine))).collect()
}

/// The engine and those to compare it with.
fn engines(common: &CommonArguments) -> Result<Vec<EngineName>, Failure> {
    let mut engines = vec![common.engine];
    for &engine in &common.compare {
        if engines.contains(&engine) {
            return Err(Failure::Arguments(format!("engine {engine} stands twice in --engine and --compare")));
        }
        engines.push(engine);
    }
    let needs_disk = common.durability != DurabilityName::None || common.data.is_some();
    match engines.iter().find(|engine| needs_disk && !engine.is_durable()) {
        Some(engine) => Err(Failure::Arguments(format!(
            "engine {engine} keeps nothing on a disk: run it with --durability none and without --data"
        ))),
        None => Ok(engines),
    }
}

/// `FILE` for a single run; otherwise its name says which: `bank.jsonl` becomes `bank-mvto-2-1.jsonl` for the first repeat
/// on two threads.
fn history_path(path: &Path, plan: &Plan, repeat: u32, runs: usize) -> PathBuf {
    if runs == 1 {
        return path.to_owned();
    }
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let stem = part(path.file_stem()).unwrap_or_else(|| "history".to_owned());
    let extension = part(path.extension()).map_or(String::new(), |extension| format!(".{extension}"));
    path.with_file_name(format!("{stem}-{}-{}-{}{extension}", plan.engine, plan.threads, repeat + 1))
}

fn show_progress(number: usize, runs: usize, plan: &Plan, measurement: &Measurement) {
    let clients = &measurement.clients;
    eprintln!(
        "[{number}/{runs}] {} on {}, {} thread(s): {} txn/s, p99 {:.1} us",
        plan.workload.name(),
        plan.engine,
        plan.threads,
        grouped(clients.txn_per_s),
        clients.p99_us
    );
}

/// Location of durable databases while they are measured.
#[derive(Debug)]
enum Space {
    /// Nowhere: they are in memory.
    Memory,
    /// In directories of their own below this one, which goes if it is `temporary`.
    Disk { root: PathBuf, temporary: bool },
}

impl Space {
    fn prepare(common: &CommonArguments) -> Result<Space, Failure> {
        let (root, temporary) = match (&common.data, common.durability) {
            (None, DurabilityName::None) => return Ok(Space::Memory),
            (None, _) => (std::env::temp_dir().join(format!("seriatim-lab-{}", std::process::id())), true),
            (Some(directory), _) => (directory.clone(), false),
        };
        let cannot = |error| Failure::Run(format!("cannot create {}: {error}", root.display()));
        fs::create_dir_all(&root).map_err(cannot)?;
        Ok(Space::Disk { root, temporary })
    }

    fn root(&self) -> Option<&Path> {
        match self {
            Space::Memory => None,
            Space::Disk { root, .. } => Some(root),
        }
    }

    /// Returns the data directory of trial `number`.
    fn directory(&self, number: usize) -> Option<PathBuf> {
        self.root().map(|root| root.join(format!("trial-{}-{number}", std::process::id())))
    }

    fn clear(&self, number: usize) -> Result<(), Failure> {
        let Some(directory) = self.directory(number) else { return Ok(()) };
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::Run(format!("cannot remove {}: {error}", directory.display())))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if let Space::Disk { root, temporary: true } = self {
            // Leftovers in a directory for temporary files are the system's to remove.
            let _ = fs::remove_dir_all(root);
        }
    }
}

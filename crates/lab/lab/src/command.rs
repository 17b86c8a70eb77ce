//! The `lab` command.

use crate::cli::{Arguments, Command, CommonArguments, ExperimentCommand, HistoryArguments, WorkloadCommand};
use crate::driver::Extent;
use crate::engines::{self, DurSettings, EngineName, Settings, Stages};
use crate::experiments::{cluster, listing, page, paxos_order, runs};
use crate::failure::Failure;
use crate::options::Format;
use crate::report::{self, Row};
use crate::trial::{self, DurabilityName, Plan, WorkloadPlan};
use crate::turns::{self, Progress, Space};
use crate::workloads::parameters::Presets;
use crate::workloads::{bank, dml, smallbank, tatp, tpcc, vacation, ycsb};
use crate::{histories, kill, machine, processes, soak};
use clap::CommandFactory;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::path::Path;
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
        Some(Command::ReceiveLog { directory }) => engines::receive(&directory, out).map_err(Failure::Run),
        Some(Command::KillChild { directory, seed }) => kill::child::run(&directory, seed, out).map_err(Failure::Run),
        Some(Command::Kill(arguments)) => kill::run(&arguments, out),
        Some(Command::Soak(arguments)) => soak::run(&arguments, out),
        Some(Command::History(arguments)) => judge_histories(&arguments, out),
        Some(Command::Experiment(experiment)) => match experiment {
            ExperimentCommand::PaxosOrder(arguments) => paxos_order::run(arguments, out),
            ExperimentCommand::ClusterFailover(arguments) => cluster::failover::run(&arguments, out),
            ExperimentCommand::ClusterPgbench(arguments) => cluster::pgbench::run(&arguments, out),
        },
        Some(Command::List(arguments)) => listing::write(arguments.format, out).map_err(run_failure),
        Some(Command::Run(arguments)) => runs::run(&arguments, out),
        Some(Command::Report(arguments)) => page::run(&arguments),
        Some(Command::Workload(workload)) => {
            let (common, plan) = workload_plan(&workload).map_err(Failure::Arguments)?;
            run_workload(common, plan, out)
        }
    }
}

fn measure(plan: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| Failure::Arguments(format!("not a plan: {error}")))?;
    processes::end_with_starter();
    let measurement = trial::perform(&plan).map_err(Failure::Run)?;
    serde_json::to_writer(out, &measurement).map_err(run_failure)
}

/// Judges a history of each engine in turn, also after one that was wrong.
fn judge_histories(arguments: &HistoryArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let engines = arguments.engines();
    let mut is_wrong = false;
    for &engine in &engines {
        let records = histories::record(arguments, engine).map_err(Failure::Run)?;
        if let Some(path) = &arguments.out {
            let path = if engines.len() == 1 { path.clone() } else { turns::beside(path, &engine.to_string()) };
            let cannot = |error: io::Error| Failure::Run(format!("cannot write {}: {error}", path.display()));
            trial::write_history(&path, &records).map_err(cannot)?;
        }
        let report = histories::judge(records).map_err(Failure::Run)?;
        let name = if engines.len() == 1 { String::new() } else { format!("{engine}: ") };
        write!(out, "{name}{report}").and_then(|()| out.flush()).map_err(run_failure)?;
        is_wrong |= !report.valid;
    }
    if is_wrong { Err(Failure::Verdict) } else { Ok(()) }
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
        WorkloadCommand::Dml(arguments) => {
            let parameters: dml::Parameters = preset(dml::NAME, dml::PRESETS, &arguments.common, &arguments.changes)?;
            parameters.check()?;
            (&arguments.common, WorkloadPlan::Dml(parameters))
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
        WorkloadCommand::Vacation(arguments) => {
            let parameters: vacation::Parameters =
                preset(vacation::NAME, vacation::PRESETS, &arguments.common, &arguments.changes)?;
            parameters.check()?;
            (&arguments.common, WorkloadPlan::Vacation(parameters))
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
    let space = Space::prepare(common.data.as_deref(), common.durability)?;
    let plans = plans(common, &engines, &workload, &space);
    let mut progress = Progress::new(plans.len() * common.repeat as usize);
    let repeats = turns::take(&plans, common.repeat, &space, &mut progress)?;
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
        settings: Settings {
            data: space.root().map(Path::to_owned),
            stages: Stages { planners: common.planners, executors: common.executors },
            moves_threads: common.moves_threads,
            reads_behind: common.reads_behind,
            dur: DurSettings {
                nodes: common.nodes,
                order: common.order,
                policy: common.policy,
                speculative: common.speculative,
            },
            local_store: common.local_store,
            ..Settings::default()
        },
        workload: workload.clone(),
        threads,
        streams: 1,
        long_readers: common.long_readers,
        long_reader_interval: Duration::from_millis(common.long_reader_interval),
        extent,
        door: common.door,
        batch: common.batch,
        rate: common.rate,
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

//! A cluster in virtual time: the engine as it is, each node on a machine of its own, or all on one.

use super::clients::Time;
use super::cluster::{Measured, Nodes, Setting};
use super::gauge::{Costs, Gauge};
use super::link::{Link, LinkCosts};
use crate::workloads::{Client, Partitioned};
use dur::{Meter, Options, Threads};
use env::time::Duration;
use sim::{MILLISECOND, Schedule};
use std::sync::{Arc, PoisonError};

/// What is modelled.
#[derive(Clone, Debug)]
pub struct Model {
    pub costs: Costs,
    pub link: LinkCosts,
    /// Cores of each machine.
    pub cores: usize,
    /// Whether all nodes are on one machine.
    pub is_one_machine: bool,
    pub warm_up_ns: u64,
    pub measured_ns: u64,
}

/// So many times the measured time passes at most, until there is a commit.
const MOST_WINDOWS: usize = 100;

/// A machine of a schedule, for the threads of a node.
#[derive(Debug)]
struct OnMachine {
    schedule: Schedule,
    machine: usize,
}

impl Threads for OnMachine {
    fn spawn(&self, body: Box<dyn FnOnce() + Send>) {
        self.schedule.spawn(self.machine, body);
    }

    fn bell(&self) -> u64 {
        self.schedule.bell()
    }

    fn wait(&self, bell: u64, longest: Duration) {
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.schedule.wait_until(bell, self.schedule.now().saturating_add(longest));
    }

    fn ring(&self, bell: u64, all: bool) {
        self.schedule.ring(bell, all);
    }
}

/// Runs a workload in virtual time.
///
/// # Errors
/// The workload's audit failed, or nothing went on: a sentence.
pub fn simulate<W: Partitioned + Send>(workload: &Arc<W>, setting: Setting, model: &Model) -> Result<Measured, String>
where
    W::Client: Client<Call: 'static> + 'static,
{
    let machines = if model.is_one_machine { 1 } else { setting.nodes as usize };
    let schedule = Schedule::new(&vec![model.cores; machines]);
    let gauge = Gauge::charging(schedule.clone(), model.costs.clone());
    let link = Link::new(&schedule, (setting.nodes, machines), model.link);
    let change = |number: usize, options| {
        let threads: Arc<dyn Threads> = Arc::new(OnMachine { schedule: schedule.clone(), machine: number % machines });
        let meter: Arc<dyn Meter> = gauge.clone();
        Options { threads: Some(threads), meter: Some(meter), ..options }
    };
    let ends = (0..setting.nodes).map(|node| link.end(node));
    let time = (Time::Virtual(schedule.clone()), Some(gauge.clone()));
    let mut nodes = Nodes::open(workload, setting, ends, change, time);
    let advance = || _ = schedule.run(schedule.now() + MILLISECOND);
    let measured = nodes.load(advance).and_then(|()| {
        for number in 0..setting.nodes as usize {
            let front = nodes.front(number);
            schedule.spawn(number % machines, move || front.serve());
        }
        gauge.set(true);
        nodes.start(1);
        schedule.run(schedule.now() + model.warm_up_ns);
        let measured = nodes.measure(|| {
            // Where steps were measured on a busy machine, a transaction may take longer than the measured time.
            for _ in 0..MOST_WINDOWS {
                schedule.run(schedule.now() + model.measured_ns);
                if nodes.books.lock().unwrap_or_else(PoisonError::into_inner).commits > 0 {
                    break;
                }
            }
        });
        nodes.finish(advance).map(|()| measured)
    });
    gauge.set(false);
    drop(nodes);
    link.stop();
    let left = schedule.run(schedule.now() + 100 * MILLISECOND);
    if measured.is_ok() && left > 0 {
        return Err(format!("{left} threads of the simulation have not ended"));
    }
    measured
}

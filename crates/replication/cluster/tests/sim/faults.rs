//! What goes wrong, and how it ends.

use crate::nodes;
use crate::run::Sim;
use crate::setting::Faults;
use env::Survival;
use sim::SECOND;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The network gets worse, or better.
    Network,
    Break,
    CutOneWay,
    Partition,
    Isolate,
    /// Every cut is mended.
    Mend,
    /// A node stops, and starts again some time later.
    Crash,
    /// A node does, and its rows are gone, but not its journal.
    LoseRows,
    /// A node will stop for good: its rows and its journal are gone at the moment at which another one wants its state, or in the end.
    LoseNode,
    PowerFailure,
    /// A node stands still for a while, though it lives.
    Pause,
}

fn kinds(faults: Faults) -> &'static [Fault] {
    use Fault::{Break, Crash, CutOneWay, Isolate, LoseNode, LoseRows, Mend, Network, Partition, Pause, PowerFailure};
    match faults {
        Faults::None => &[Mend],
        Faults::Lossy => &[Network, Network, Break, Pause],
        Faults::Partitions => &[CutOneWay, CutOneWay, Partition, Isolate, Mend, Mend],
        Faults::Crashes => &[Crash, Crash, LoseRows, LoseNode, Pause],
        Faults::PowerFailures => &[PowerFailure, Crash],
        Faults::Chaos => &[
            Network,
            Break,
            CutOneWay,
            Partition,
            Isolate,
            Mend,
            Mend,
            Crash,
            Crash,
            LoseRows,
            LoseNode,
            PowerFailure,
            Pause,
            Pause,
        ],
    }
}

/// Makes faults until a time.
pub fn make(sim: &Arc<Sim>, faults: Faults, until: u64) {
    loop {
        let next = sim.schedule.now() + sim.draw(2 * sim.setting.fault_every_ns);
        if next >= until || sim.has_failed() {
            break;
        }
        sim.schedule.sleep_until(next);
        let kinds = kinds(faults);
        let fault = kinds[sim.draw(kinds.len() as u64) as usize];
        sim.step(|| format!("fault: {fault:?}"));
        cause(sim, fault);
    }
    sim.schedule.sleep_until(until);
    nodes::lose_doomed(sim);
}

/// Everything is mended, and everybody comes back.
pub fn heal(sim: &Arc<Sim>) {
    sim.with_orders(|orders| {
        orders.world.step(|| "calm".to_owned());
        orders.world.network.heal();
        let usual = orders.setting.network;
        orders.world.network.set_options(usual);
    });
    nodes::start_all(sim);
}

fn survival(sim: &Sim) -> Survival {
    [Survival::Random, Survival::Random, Survival::SyncedOnly, Survival::Everything][sim.draw(4) as usize]
}

fn cause(sim: &Arc<Sim>, fault: Fault) {
    let node = sim.draw(sim.nodes.len() as u64) as usize;
    match fault {
        Fault::Network => sim.with_orders(|orders| {
            let usual = orders.setting.network;
            orders.world.change_network(usual);
        }),
        Fault::Break => sim.with_orders(|orders| orders.world.break_one()),
        Fault::CutOneWay => sim.with_orders(|orders| orders.world.cut_one_way()),
        Fault::Partition => sim.with_orders(|orders| orders.world.partition()),
        Fault::Isolate => sim.with_orders(|orders| orders.world.isolate(node)),
        Fault::Mend => sim.with_orders(|orders| orders.world.network.heal()),
        Fault::Crash => nodes::stop(sim, node, survival(sim)),
        Fault::LoseRows => {
            let node = if node < sim.setting.voters as usize { node % sim.setting.minority() } else { node };
            if sim.nodes[node].is_up() {
                sim.count("lost rows");
                nodes::stop(sim, node, survival(sim));
                nodes::lose_rows(sim, node);
            }
        }
        Fault::LoseNode => {
            if sim.setting.loses_a_node {
                nodes::doom(sim, 0);
            }
        }
        Fault::PowerFailure => {
            let survival = survival(sim);
            (0..sim.nodes.len()).for_each(|node| nodes::stop(sim, node, survival));
        }
        Fault::Pause => {
            sim.count("pauses");
            let until = sim.schedule.now() + sim.draw(2 * SECOND);
            nodes::pause(sim, node, until);
        }
    }
}

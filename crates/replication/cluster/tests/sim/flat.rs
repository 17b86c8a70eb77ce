//! A long run under a steady load while things go wrong: what nodes keep does not grow.

use crate::clients;
use crate::faults;
use crate::nodes;
use crate::run::{Sim, finish, lock};
use crate::setting::{Faults, Setting};
use env::Randomness;
use env::time::Duration;
use model::{TableId, Tables};
use seriatim_cluster::Limits;
use sim::{MILLISECOND, Outcome, SECOND};
use std::sync::Arc;
use total::OrderLimits;

/// What a node keeps, as of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Transactions of the window, and their bytes.
    pub window: u64,
    pub window_bytes: u64,
    /// Older versions of rows of the clients' tables.
    pub versions: u64,
    /// Bytes of memory that the local store takes.
    pub memory_bytes: u64,
    /// Bytes of the local store's files.
    pub store_bytes: u64,
    /// Bytes of the order's files.
    pub order_bytes: u64,
    /// Bytes, and shares, of payloads that were delivered and not taken.
    pub delivered: u64,
    /// Instances that the replica keeps.
    pub instances: u64,
    /// Own proposals that were not answered, and open transactions.
    pub proposed: u64,
    pub open: u64,
}

impl Kept {
    fn max(self, other: Kept) -> Kept {
        Kept {
            window: self.window.max(other.window),
            window_bytes: self.window_bytes.max(other.window_bytes),
            versions: self.versions.max(other.versions),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            store_bytes: self.store_bytes.max(other.store_bytes),
            order_bytes: self.order_bytes.max(other.order_bytes),
            delivered: self.delivered.max(other.delivered),
            instances: self.instances.max(other.instances),
            proposed: self.proposed.max(other.proposed),
            open: self.open.max(other.open),
        }
    }

    fn of(sim: &Arc<Sim>, node: usize, tables: clients::Tables) -> Option<Kept> {
        let cluster = sim.nodes[node].cluster()?;
        let status = cluster.status();
        let versions = |table: TableId| cluster.versions(table).unwrap_or(0);
        let (delivered, instances, order_bytes) = sim.with_orders(|orders| {
            let host = &orders.hosts[node];
            let life = host.life.as_ref()?;
            let view = life.replica.view();
            Some((life.order.waiting() as u64, view.executed - view.low, nodes::bytes_of(&host.disk)))
        })?;
        Some(Kept {
            window: status.window,
            window_bytes: status.window_bytes,
            versions: versions(tables.registers) + versions(tables.items),
            memory_bytes: cluster.usage().map_or(0, |usage| usage.memory_bytes),
            store_bytes: sim.nodes[node].disk_bytes(),
            order_bytes,
            delivered,
            instances,
            proposed: status.proposed,
            open: status.open,
        })
    }
}

/// Shorter runs have not filled everything up to its limit in their first half.
const MINUTES_TO_COMPARE: usize = 20;

const WINDOW: Limits = Limits { window_transactions: 500, window_bytes: 64 << 10, tables: 16 };

/// Nodes with limits that a run of a minute reaches.
fn setting(randomness: &mut Randomness, minutes: u64) -> Setting {
    let drawn = Setting::draw(randomness);
    let mut replica = paxos::config::Options::new(3, 0);
    (replica.sessions, replica.durability) = (0, paxos::config::Durability::Fsync);
    (replica.span, replica.snapshot_bytes, replica.journal_bytes) = (256, 20_000, 100_000);
    Setting {
        faults: Faults::Chaos,
        voters: 3,
        learners: 0,
        replica,
        limits: OrderLimits { kept_bytes: 64 << 10, forgets_by_majority: true, ..OrderLimits::default() },
        options: seriatim_cluster::Options {
            limits: WINDOW,
            is_durable: true,
            answer: Duration::from_secs(20),
            ..seriatim_cluster::Options::default()
        },
        clients: 3,
        think_ns: 50 * MILLISECOND,
        fault_every_ns: 2 * SECOND,
        faults_ns: minutes * 60 * SECOND,
        checkpoint_ns: 5 * SECOND,
        segment_bytes: 64 << 10,
        durable_ns: 20 * MILLISECOND,
        drift_ppm: 50_000,
        loses_a_node: false,
        ..drawn
    }
}

/// Runs so many minutes of simulated time. Returns the outcome, and what was kept at most in each minute.
pub fn run(seed: u64, minutes: u64) -> (Outcome, Vec<Kept>) {
    let mut randomness = Randomness::from_seed(seed);
    let setting = setting(&mut randomness, minutes);
    let (outcome, sim) = crate::run::run(setting, randomness, 0, direct);
    let kept = std::mem::take(&mut *lock(&sim.kept));
    (outcome, kept)
}

fn direct(sim: &Arc<Sim>) {
    let tables = nodes::create_tables(sim);
    clients::start(sim, tables);
    let until = sim.schedule.now() + sim.setting.faults_ns;
    while sim.schedule.now() < until && !sim.has_failed() {
        let mut most = Kept::default();
        for _ in 0..6 {
            // Half of the time: a cluster that is never whole does little.
            faults::make(sim, sim.setting.faults, sim.schedule.now() + 5 * SECOND);
            faults::heal(sim);
            sim.schedule.sleep_until(sim.schedule.now() + 5 * SECOND);
            let all = (0..sim.nodes.len()).filter_map(|node| Kept::of(sim, node, tables));
            most = all.fold(most, Kept::max);
            // Both judges look at shorter runs.
            lock(&sim.seen).clear();
        }
        lock(&sim.kept).push(most);
    }
    faults::heal(sim);
    finish(sim, tables);
    lock(&sim.seen).clear();
}

/// Asserts that what was kept stays below its limits, and that late minutes keep no more than early ones.
pub fn assert_flat(kept: &[Kept]) {
    for (minute, most) in kept.iter().enumerate() {
        assert!(most.window <= WINDOW.window_transactions, "minute {minute}: {most:?}");
        assert!(most.window_bytes <= WINDOW.window_bytes, "minute {minute}: {most:?}");
        assert!(most.instances <= 256 && most.open <= 3 && most.proposed <= 3, "minute {minute}: {most:?}");
        assert!(most.order_bytes <= 1 << 20, "minute {minute}: {most:?}");
        assert!(most.store_bytes <= 2 << 20, "minute {minute}: {most:?}");
        assert!(most.versions <= 2_000, "minute {minute}: {most:?}");
        assert!(most.memory_bytes <= 2 << 20, "minute {minute}: {most:?}");
        assert!(most.delivered <= 1 << 20, "minute {minute}: {most:?}");
    }
    if kept.len() < MINUTES_TO_COMPARE {
        return;
    }
    let (early, late) = kept.split_at(kept.len().div_ceil(2));
    let most = |minutes: &[Kept]| minutes.iter().copied().fold(Kept::default(), Kept::max);
    let (early, late) = (most(early), most(late));
    assert!(late.memory_bytes <= early.memory_bytes * 3 / 2, "memory grows: {early:?}, then {late:?}");
    assert!(late.store_bytes <= early.store_bytes * 2, "the local logs grow: {early:?}, then {late:?}");
    assert!(late.order_bytes <= early.order_bytes * 2, "the order's files grow: {early:?}, then {late:?}");
}

//! Histories of clients on three nodes: what all of them saw is strictly serializable by the places that were returned, and the nodes
//! end with the same rows, also where one of them validates what the others skip.

mod common;

use check::KeyForm;
use common::cluster::Cluster;
use conformance::judges::{assert_serial, records};
use conformance::registers::{all, delete, get, put, registers};
use conformance::seeds;
use env::{Clock, MonotonicClock, Randomness};
use model::history::{Operation, Outcome, Recorder, Transaction};
use model::{Access, Begin, Committed, Error, Key, Mode, Program, Reexecutable, Result, Storage, TableId};
use seriatim_dur::{Options, Partition, Policy, Window};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

const NODES: u64 = 3;
/// Keys of each node.
const KEYS: u64 = 8;
/// Transactions of each client.
const TURNS: u64 = 600;

/// Each node has eight keys, and eight are at home everywhere.
#[derive(Debug)]
struct ByEight;

impl Partition for ByEight {
    fn home(&self, _: TableId, key: &[u8]) -> Option<u64> {
        let home = Key::to_u64(key).expect("an integer") / KEYS;
        (home < NODES).then_some(home)
    }

    fn home_of_range(&self, table: TableId, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<u64> {
        let (Bound::Included(lower), Bound::Included(upper)) = (lower, upper) else { return None };
        let home = self.home(table, lower);
        home.filter(|_| home == self.home(table, upper))
    }
}

/// Random reads, writes, deletions and scans of some keys.
struct Random<'r> {
    table: TableId,
    random: &'r mut Randomness,
    /// Keys of its node.
    first: u64,
    /// Of a hundred accesses, how many may go to any node.
    crossing: u64,
    only_reads: bool,
    /// Makes values differ.
    stamp: u64,
    operations: Vec<Operation>,
}

impl Random<'_> {
    fn key(&mut self) -> u64 {
        let within = self.random.in_range(0..KEYS);
        if self.random.chance(self.crossing, 100) {
            self.random.in_range(0..(NODES + 1) * KEYS)
        } else {
            self.first + within
        }
    }

    fn step(&mut self, mut access: &mut impl Access, number: u64) -> Result<()> {
        let (table, key) = (self.table, self.key());
        let most = if self.only_reads { 2 } else { 6 };
        match self.random.in_range(0..most) {
            0 => get(&mut access, table, key).map(drop),
            1 => {
                let end = (key + self.random.in_range(0..3)).min(key / KEYS * KEYS + KEYS - 1);
                let range = (Bound::Included(key), Bound::Included(end));
                conformance::registers::range(&mut access, table, range.0, range.1).map(drop)
            }
            2 => delete(&mut access, table, key).map(drop),
            3 => put(&mut access, table, key, self.stamp << 8 | number),
            _ => {
                get(&mut access, table, key)?;
                put(&mut access, table, key, self.stamp << 8 | number)
            }
        }
    }
}

impl Program for Random<'_> {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let mut recorder = Recorder::new(access);
        let count = 1 + self.random.in_range(0..5);
        (0..count).try_for_each(|number| self.step(&mut recorder, number))?;
        self.operations = recorder.into_parts().1;
        Ok(())
    }
}

/// Clients of each node that have not ended.
type Live = [u64; NODES as usize];

/// Three nodes with these options, two clients on each; returns what they saw, and the cluster. `disturb` is called after each
/// transaction with their number, by one client at a time.
fn run(
    options: Vec<Options>,
    crossing: u64,
    disturb: impl Fn(&Cluster, u64, Live) + Sync,
) -> (Vec<Transaction>, Cluster, TableId) {
    let cluster = Cluster::open_with(options);
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let (clock, seed, done) = (MonotonicClock::new(), seeds::fixed(), AtomicU64::new(0));
    let live = Mutex::new([2; NODES as usize]);
    let client = |number: u64| {
        let (node, node_number) = (&cluster.nodes[(number % NODES) as usize], number % NODES);
        let mut random = Randomness::from_seed(seed ^ number << 32);
        let mut history = Vec::new();
        for turn in 0..TURNS {
            let mode = [Mode::ReadWrite, Mode::Snapshot, Mode::ReadOnly, Mode::ReadWrite][(turn % 4) as usize];
            let (stamp, first) = (turn << 8 | number, node_number * KEYS);
            let only_reads = mode != Mode::ReadWrite;
            let mut program =
                Random { table, random: &mut random, first, crossing, only_reads, stamp, operations: Vec::new() };
            // A snapshot is serializable, not strictly: it may have begun with the run.
            let start_ns = if mode == Mode::Snapshot { 0 } else { clock.now() };
            let how = Begin { mode, ..Begin::default() };
            let ended = node.execute(&mut program, how, &mut |_: u32, _: &Error| true);
            let operations = program.operations;
            let ((), committed): ((), Committed) = ended.expect("it is retried");
            let outcome = Outcome::Committed(committed.serial_point);
            let end_ns = if mode == Mode::Snapshot { u64::MAX } else { clock.now() };
            history.push(Transaction { client: number as u32, start_ns, end_ns, outcome, operations });
            let live = live.lock().expect("no client panics");
            disturb(&cluster, done.fetch_add(1, Relaxed), *live);
        }
        // Who is cut off waits for the others, so the last of them connects it.
        let mut live = live.lock().expect("no client panics");
        live[node_number as usize] -= 1;
        (0..NODES).for_each(|node| cluster.sequencer.connect(node));
        history
    };
    let history = thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> = (0..2 * NODES).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    (history, cluster, table)
}

/// The rows of each node.
fn assert_same_rows(cluster: &Cluster, table: TableId) {
    struct All(TableId);
    impl Program for All {
        type Output = Vec<(u64, u64)>;
        type Error = Error;
        fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<Self::Output> {
            all(&mut access, self.0)
        }
    }
    cluster.assert_idle(None);
    let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
    let rows = |node: &seriatim_dur::Dur<_>| {
        node.execute(&mut All(table), how, &mut |_: u32, _: &Error| true).expect("a read").0
    };
    let first = rows(&cluster.nodes[0]);
    for node in &cluster.nodes {
        assert_eq!(rows(node), first, "the nodes differ");
        let (stats, others) = (node.stats(), cluster.nodes[0].stats());
        assert_eq!((stats.committed, stats.refused), (others.committed, others.refused), "the nodes decide alike");
        assert_eq!(stats.objects, first.len() as u64, "keys without a row leave nothing");
    }
}

fn judge(history: Vec<Transaction>) {
    let count = history.len();
    let report = assert_serial(records(history, |_| KeyForm::Integers), &seeds::replay(seeds::fixed()));
    assert_eq!(report.counts.committed as usize, count);
}

fn small() -> Options {
    common::small()
}

#[test]
fn clients_of_three_nodes_are_strictly_serializable() {
    let (history, cluster, table) = run(vec![small(); 3], 100, |_, _, _| {});
    assert_same_rows(&cluster, table);
    assert!(cluster.nodes[0].stats().refused > 0, "nodes met");
    judge(history);
}

#[test]
fn clients_of_nodes_that_hold_what_they_write_are_strictly_serializable() {
    let options = Options { policy: Policy::ConflictAware, ..small() };
    let (history, cluster, table) = run(vec![options; 3], 30, |_, _, _| {});
    assert_same_rows(&cluster, table);
    let stats = cluster.nodes[0].stats();
    assert!(stats.refused > 0 && stats.overtaken > 0 && stats.cascaded == 0, "{stats:?}");
    judge(history);
}

/// Nodes are cut off and come back, each for a while that others' transactions measure.
#[test]
fn clients_of_nodes_that_lose_each_other_are_strictly_serializable() {
    let sliding = Options { window: Window::Sliding, speculative: 6, ..small() };
    let holds = Options { policy: Policy::ConflictAware, ..small() };
    let (history, cluster, table) = run(vec![holds, sliding, common::xdur()], 60, |cluster, done, live| {
        let node = done / 40 % NODES;
        let others_go_on = (0..NODES).any(|other| other != node && live[other as usize] > 0);
        let connect = || (0..NODES).for_each(|node| cluster.sequencer.connect(node));
        match done % 40 {
            // One node at a time, and others undo it.
            0 if others_go_on => {
                connect();
                cluster.sequencer.cut_off(node);
            }
            15.. => connect(),
            _ => {}
        }
    });
    assert_same_rows(&cluster, table);
    judge(history);
}

/// The commit optimization: two nodes skip validation, and stop if it would have failed; the third validates everything. They decide
/// alike, with no, few and many transactions that cross.
#[test]
fn what_is_skipped_would_have_passed() {
    for crossing in [0, 1, 10, 50] {
        let skips = Options { partition: Some(Arc::new(ByEight)), checks_skips: true, ..small() };
        let validates = Options { skips_validation: false, ..skips.clone() };
        let holds = Options { policy: Policy::ConflictAware, ..skips.clone() };
        let (history, cluster, table) = run(vec![skips, holds, validates], crossing, |_, _, _| {});
        assert_same_rows(&cluster, table);
        let skipped: Vec<u64> = cluster.nodes.iter().map(|node| node.stats().skipped).collect();
        let committed = cluster.nodes[0].stats().committed;
        assert!(skipped[0] == skipped[1] && skipped[2] == 0, "{skipped:?}");
        if crossing == 0 {
            // All but the first of each node, which sees its life for the first time.
            assert!(skipped[0] + 20 * NODES > committed, "{skipped:?} of {committed}");
            assert_eq!(cluster.nodes[0].stats().refused, 0, "fully partitioned: nobody aborts");
        } else if crossing < 50 {
            assert!(skipped[0] > 0, "contentions are passed");
        }
        judge(history);
    }
}

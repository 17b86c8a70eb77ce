//! Clients on three nodes, whose nodes stop, start again with and without their state, and fall behind: both judges find what was seen
//! strictly serializable, in the order of the places that the nodes gave.

mod common;

use common::mixed::{Place, outcome_of, state, statement, with_points};
use common::{Kind, Nodes, Replicas, items, options, rows};
use conformance::judges;
use conformance::registers::{put, registers};
use env::Randomness;
use model::history::{Recorder, Transaction};
use model::{Begin, Finish, Interactive, Mode, Storage, Store, TableId, Tables};
use seriatim_cluster::{Cluster, Limits, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;
use total::OrderLimits;

const KEYS: u64 = 12;
const CLIENTS: u32 = 4;

struct Run {
    nodes: Mutex<Nodes>,
    table: TableId,
    items: TableId,
    other: TableId,
    begun: Instant,
    commits: AtomicU64,
    is_over: AtomicBool,
    seen: Mutex<Vec<(Transaction, Place)>>,
}

impl Run {
    fn new(kind: Kind, options: Options, limits: OrderLimits) -> Run {
        Run::over(Nodes::open_with(3, kind, options, limits))
    }

    fn over(nodes: Nodes) -> Run {
        let table = nodes.node(0).create_table_unlisted(registers("registers", Storage::Ordered)).expect("a new table");
        let items = nodes.node(0).create_table_unlisted(items::schema()).expect("a new table");
        let other = nodes.node(1).create_table_unlisted(registers("other", Storage::Hash)).expect("a new table");
        nodes.wait();
        Run {
            nodes: Mutex::new(nodes),
            table,
            items,
            other,
            begun: Instant::now(),
            commits: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// One of the nodes that run.
    fn any_node(&self, random: &mut Randomness) -> Arc<Cluster> {
        let nodes = self.nodes.lock().expect("no panic");
        let at = random.in_range(0..nodes.nodes.len() as u64) as usize;
        nodes.nodes.values().nth(at).expect("one runs").clone()
    }

    /// Runs transactions until the run is over.
    fn client(&self, client: u32, seed: u64) {
        let mut random = Randomness::from_seed(seed ^ u64::from(client) << 32);
        let mut written = u64::from(client) << 32;
        while !self.is_over.load(SeqCst) {
            let node = self.any_node(&mut random);
            let mode = [Mode::ReadWrite, Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadOnly];
            let mode = mode[random.in_range(0..4) as usize];
            let start_ns = self.now();
            let Ok(open) = node.begin_owned(Begin { mode, ..Begin::default() }) else { continue };
            let mut recorder = Recorder::new(open);
            let statements = 1 + random.in_range(0..4);
            let (reads_only, mut notes) = (mode == Mode::ReadOnly, Vec::new());
            let ran = (0..statements).try_for_each(|_| {
                written += 1;
                if random.chance(1, 2) {
                    let open = recorder.inner();
                    return items::statement(open, self.items, &mut random, written, reads_only, &mut notes);
                }
                statement(&mut recorder, (self.table, KEYS), &mut random, written, reads_only)
            });
            let (open, mut operations) = recorder.into_parts();
            operations.append(&mut notes);
            let wrote = operations
                .iter()
                .any(|it| !matches!(it, model::history::Operation::Read(..) | model::history::Operation::Scan(..)));
            let ended = ran.and_then(|()| open.commit());
            let (outcome, place) = outcome_of(&ended, wrote);
            if place.is_some() {
                self.commits.fetch_add(1, SeqCst);
            }
            let transaction = Transaction { client, start_ns, end_ns: self.now(), outcome, operations };
            self.seen.lock().expect("no panic").push((transaction, place));
        }
    }

    /// Waits until so many more have committed.
    fn let_commit(&self, count: u64) {
        let until = self.commits.load(SeqCst) + count;
        while self.commits.load(SeqCst) < until {
            thread::yield_now();
        }
    }

    /// Writes to a table that no history has.
    fn write_elsewhere(&self, node: u64, count: u64) {
        let node = self.nodes.lock().expect("no panic").node(node).clone();
        for key in 0..count {
            let mut open = node.begin_owned(Begin::default()).expect("room");
            put(&mut open, self.other, key, key).expect("nobody in the way");
            open.commit().expect("it has read nothing");
        }
    }

    /// Runs clients while `faults` are made, and judges what they saw.
    fn judge(self, seed: u64, faults: impl FnOnce(&Run)) {
        let run = &self;
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || run.client(client, seed));
            }
            faults(run);
            run.let_commit(100);
            run.is_over.store(true, SeqCst);
        });
        let nodes = self.nodes.into_inner().expect("no panic");
        nodes.wait();
        let states: Vec<_> = nodes.nodes.values().map(|node| rows(node, self.table)).collect();
        assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "all nodes have the same rows");
        let states: Vec<_> = nodes.nodes.values().map(state).collect();
        assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "all nodes remember the same");
        let history = with_points(self.seen.into_inner().expect("no panic"));
        let records = judges::records(history, |table| items::form(table).unwrap_or(check::KeyForm::Integers));
        judges::assert_serial(records, &format!("seed {seed}"));
    }
}

/// Stops a node, and waits until its threads and its clients are gone. Returns its local store.
fn stop(run: &Run, node: u64) -> Arc<dyn Store> {
    let (cluster, local) = {
        let mut nodes = run.nodes.lock().expect("no panic");
        (nodes.stop(node), nodes.locals[&node].clone())
    };
    let mut cluster = Some(cluster);
    while let Some(held) = cluster.take() {
        match Arc::try_unwrap(held) {
            Ok(last) => drop(last),
            Err(held) => {
                cluster = Some(held);
                thread::yield_now();
            }
        }
    }
    local
}

fn start(run: &Run, node: u64, local: Arc<dyn Store>) {
    let cluster = run.nodes.lock().expect("no panic").start(node, local);
    cluster.wait_until_current(common::PATIENCE).expect("it comes");
}

/// Limits so small that a node that was away has missed something, and old snapshots are refused.
fn small() -> (Options, OrderLimits) {
    let limits = Limits { window_transactions: 40, ..Limits::default() };
    (Options { limits, part_bytes: 128, ..options() }, OrderLimits { kept_bytes: 4 << 10, ..OrderLimits::default() })
}

#[test]
fn clients_of_three_nodes_are_serializable() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        Run::new(kind, options(), OrderLimits::default()).judge(1, |run| run.let_commit(2_000));
    }
}

#[test]
fn nodes_that_are_cut_off_lag_and_catch_up() {
    Run::new(Kind::Hyper, options(), OrderLimits::default()).judge(2, |run| {
        for round in 0..6 {
            let sequencer = run.nodes.lock().expect("no panic").sequencer.clone();
            sequencer.cut_off(round % 3);
            // Not the clients' commits: those of the node that is cut off wait.
            run.write_elsewhere((round + 1) % 3, 20);
            sequencer.connect(round % 3);
            run.let_commit(100);
        }
    });
}

#[test]
fn nodes_that_start_again_with_nothing_fetch_a_state() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (options, limits) = small();
        Run::new(kind, options, limits).judge(3, |run| {
            for round in 0..5 {
                let node = round % 3;
                stop(run, node);
                run.let_commit(200);
                start(run, node, kind.in_memory());
                let fetched = run.nodes.lock().expect("no panic").node(node).status().fetched;
                assert!(fetched > 0, "what it missed is not kept");
                run.let_commit(100);
            }
        });
    }
}

#[test]
fn nodes_that_start_again_with_their_state_go_on_with_it() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let limits = Limits { window_transactions: 40, ..Limits::default() };
        let kept = OrderLimits { kept_bytes: 16 << 20, ..OrderLimits::default() };
        Run::new(kind, Options { limits, is_durable: true, ..options() }, kept).judge(4, |run| {
            for round in 0..5 {
                let node = round % 3;
                let local = stop(run, node);
                run.let_commit(50);
                start(run, node, local);
                assert_eq!(run.nodes.lock().expect("no panic").node(node).status().fetched, 0, "the order has kept it");
                run.let_commit(100);
            }
        });
    }
}

/// The same over replicas of the proved order on loopback, whose directories survive them.
#[test]
fn nodes_over_the_proved_order_stop_and_start_again() {
    let options = Options { is_durable: true, ..options() };
    let nodes = Nodes::open_over(Some(Replicas::new(3)), 3, Kind::Mvto, options, OrderLimits::default());
    Run::over(nodes).judge(5, |run| {
        run.let_commit(200);
        for node in 0..3 {
            let local = stop(run, node);
            run.let_commit(50);
            start(run, node, local);
            run.let_commit(50);
        }
    });
}

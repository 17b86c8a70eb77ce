//! Nodes that stop and start again with the state of their local stores: nothing that was acknowledged is lost, and every node decides
//! alike, whatever it has in memory.

mod common;

use common::{Kind, Nodes, PATIENCE, options, rows};
use conformance::registers::{get, insert, put, registers, rule};
use env::SimDisk;
use model::{Begin, Error, Fault, Finish, Interactive, Invalid, Mode, Result, Storage, TableId, Tables};
use seriatim_cluster::{Cluster, Doing, Limits, NoStates, Options};
use std::sync::Arc;
use total::sequencer::Sequencer;
use total::{OrderLimits, TotalOrder};

fn begin(node: &Arc<Cluster>, mode: Mode) -> seriatim_cluster::Transaction {
    node.begin_owned(Begin { mode, ..Begin::default() }).expect("room")
}

fn write(node: &Arc<Cluster>, table: TableId, key: u64, value: u64) -> Result<()> {
    let mut open = begin(node, Mode::ReadWrite);
    put(&mut open, table, key, value)?;
    open.commit().map(drop)
}

fn table_on(node: &Arc<Cluster>) -> TableId {
    node.create_table_unlisted(registers("registers", Storage::Ordered)).expect("a new table")
}

/// A node on a disk.
fn durable(options: Options) -> Options {
    Options { is_durable: true, ..options }
}

#[test]
fn what_was_acknowledged_is_there_after_a_crash_of_every_node() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let disk = SimDisk::new(7, env::SimDiskOptions::default());
        let mut nodes = Nodes::none(None, kind, durable(options()), OrderLimits::default());
        let node = nodes.start(0, kind.on(&disk));
        node.wait_until_current(PATIENCE).expect("it comes");
        let table = table_on(&node);
        for key in 0..50 {
            write(&node, table, key, key).expect("nobody in the way");
        }
        // The order outlives the node; the disk loses what was not synced.
        nodes.sequencer.stop(0);
        let crashed = disk.power_cut();
        nodes.locals.clear();
        drop((node, nodes.stop(0)));
        let node = nodes.start(0, kind.on(&crashed));
        node.wait_until_current(PATIENCE).expect("it comes");
        assert_eq!(rows(&node, table).len(), 50, "{kind:?}: the order delivers again what the disk has lost");
        write(&node, table, 99, 1).expect("it goes on");
        assert_eq!(node.status().origin.life, 2);
    }
}

/// A node without a memory of its own decides as the others: the window is a part of the state.
#[test]
fn the_window_is_the_same_after_a_restart() {
    let mut nodes = Nodes::open(2, Kind::Hyper, options());
    let table = table_on(nodes.node(0));
    nodes.wait();
    // Two that have read the same old state, one on each node.
    let mut old = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut old, table, 1).expect("nobody in the way"), None);
    write(nodes.node(0), table, 1, 1).expect("nobody in the way");
    nodes.wait();
    let local = nodes.locals[&0].clone();
    nodes.stop(0);
    let node = nodes.start(0, local);
    node.wait_until_current(PATIENCE).expect("it comes");
    put(&mut old, table, 2, 2).expect("nobody in the way");
    assert_eq!(rule(old.commit()), "key-changed");
    nodes.wait();
    assert_eq!(rows(nodes.node(0), table), rows(nodes.node(1), table));
    assert_eq!(nodes.node(0).status().window, nodes.node(1).status().window);
}

/// A batch is one row of the state, of which the window may forget a part: what is left of it is there after a start, and no more.
#[test]
fn a_batch_that_is_half_forgotten_is_the_same_after_a_restart() {
    let limits = Limits { window_transactions: 4, ..Limits::default() };
    let mut nodes = Nodes::open(2, Kind::Hyper, Options { limits, ..options() });
    let table = table_on(nodes.node(0));
    nodes.wait();
    nodes.sequencer.cut_off(0);
    for key in 0..3 {
        write(nodes.node(1), table, key, key).expect("nobody in the way");
    }
    let mut old = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut old, table, 3).expect("nobody in the way"), None);
    write(nodes.node(1), table, 3, 3).expect("nobody in the way");
    // Those of the other node come together.
    nodes.sequencer.connect(0);
    nodes.wait();
    for key in 4..6 {
        write(nodes.node(0), table, key, key).expect("nobody in the way");
    }
    let local = nodes.locals[&0].clone();
    nodes.stop(0);
    let node = nodes.start(0, local);
    node.wait_until_current(PATIENCE).expect("it comes");
    assert_eq!((node.status().window, nodes.node(1).status().window), (4, 4));
    put(&mut old, table, 9, 9).expect("nobody in the way");
    assert_eq!(rule(old.commit()), "key-changed");
    node.wait_until_current(PATIENCE).expect("it comes");
    assert_eq!(rows(&node, table), rows(nodes.node(1), table));
    assert_eq!(node.status().window_floor, nodes.node(1).status().window_floor);
}

#[test]
fn a_snapshot_older_than_the_window_is_refused() {
    let limits = Limits { window_transactions: 4, ..Limits::default() };
    let nodes = Nodes::open(2, Kind::Hyper, Options { limits, ..options() });
    let table = table_on(nodes.node(0));
    nodes.wait();
    let mut old = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut old, table, 1).expect("nobody in the way"), None);
    for key in 10..20 {
        write(nodes.node(0), table, key, key).expect("nobody in the way");
    }
    put(&mut old, table, 2, 2).expect("nobody in the way");
    assert_eq!(rule(old.commit()), "snapshot-too-old");
    let mut blind = begin(nodes.node(1), Mode::ReadWrite);
    put(&mut blind, table, 2, 2).expect("nobody in the way");
    blind.commit().expect("who has read nothing is never too old");
}

#[test]
fn a_node_with_other_limits_refuses_itself_and_disturbs_nobody() {
    let mut nodes = Nodes::open(2, Kind::Hyper, options());
    let table = table_on(nodes.node(0));
    nodes.options.limits.window_transactions += 1;
    let odd = nodes.start(2, Kind::Hyper.in_memory());
    let refused = odd.wait_until_current(PATIENCE).expect_err("its limits differ");
    assert!(matches!(refused, Error::Invalid(Invalid::Option { .. })), "{refused}");
    assert_eq!(odd.status().doing, Doing::Stopped);
    write(nodes.node(0), table, 1, 1).expect("the others go on");
    assert_eq!(nodes.node(1).status().members.len(), 2);
}

#[test]
fn a_store_with_tables_of_its_own_is_refused() {
    let local = Kind::Hyper.in_memory();
    local.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let order: Arc<dyn TotalOrder> = Arc::new(Sequencer::new(OrderLimits::default()).join(0, None));
    let refused = Cluster::open(local, order, Arc::new(NoStates), options()).expect_err("it was not replicated");
    assert!(matches!(refused, Error::Invalid(Invalid::Shape { .. })), "{refused}");
}

#[test]
fn a_commit_on_a_node_that_stops_has_an_unknown_outcome() {
    let nodes = Nodes::open(1, Kind::Hyper, options());
    let table = table_on(nodes.node(0));
    nodes.sequencer.cut_off(0);
    let mut open = begin(nodes.node(0), Mode::ReadWrite);
    insert(&mut open, table, 1, 1).expect("nobody in the way");
    let pending = open.begin_commit();
    nodes.sequencer.stop(0);
    let unknown = pending.wait().expect_err("nobody orders it");
    assert!(matches!(unknown, Error::Fault(Fault::OutcomeUnknown { .. })), "{unknown}");
    assert_eq!(nodes.node(0).rows_held(), 0);
    assert!(nodes.node(0).begin_owned(Begin::default()).is_err(), "it has stopped");
}

//! What a transaction sees of others, on nodes that lag: each test holds a node back, and looks at what it answers.

mod common;

use common::{Kind, Nodes, PATIENCE, options};
use conformance::registers::{get, insert, put, registers, rule};
use model::{Begin, Error, Fault, Finish, Interactive, Mode, Storage, TableId, Tables};
use seriatim_cluster::{Cluster, Options, Transaction};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than what is waited for in vain here; shorter than a test.
const IMPATIENCE: Duration = Duration::from_millis(50);

fn begin(node: &Arc<Cluster>, mode: Mode) -> Transaction {
    node.begin_owned(Begin { mode, ..Begin::default() }).expect("room")
}

fn write(node: &Arc<Cluster>, table: TableId, key: u64, value: u64) {
    let mut open = begin(node, Mode::ReadWrite);
    put(&mut open, table, key, value).expect("nobody in the way");
    open.commit().expect("it has read nothing");
}

/// Two nodes, the second with these options, and a table with a row.
fn two(second: Options) -> (Nodes, TableId) {
    let mut nodes = Nodes::open(1, Kind::Hyper, options());
    let table = nodes.node(0).create_table_unlisted(registers("registers", Storage::Ordered)).expect("a new table");
    write(nodes.node(0), table, 1, 1);
    nodes.options = second;
    nodes.start(1, Kind::Hyper.in_memory());
    await_current(&nodes);
    (nodes, table)
}

/// Waits until the second node has everything, however little patience it has.
fn await_current(nodes: &Nodes) {
    while nodes.node(1).wait_until_current(PATIENCE).is_err() {}
}

#[test]
fn a_session_reads_its_own_writes_at_once() {
    let (nodes, table) = two(options());
    for value in 2..200 {
        write(nodes.node(1), table, 1, value);
        // Without a barrier: what was acknowledged here is applied here.
        let mut open = begin(nodes.node(1), Mode::ReadWrite);
        assert_eq!(get(&mut open, table, 1).expect("nobody in the way"), Some(value));
    }
}

#[test]
fn a_reader_on_another_node_sees_what_was_acknowledged() {
    let (nodes, table) = two(options());
    for value in 2..100 {
        write(nodes.node(0), table, 1, value);
        let mut reader = begin(nodes.node(1), Mode::ReadOnly);
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(value));
        reader.commit().expect("a reader commits");
    }
}

/// A node that lags refuses strict reads and commits by name; what it shows before a COMMIT may be old.
#[test]
fn a_node_that_is_cut_off_sheds_load_and_comes_back() {
    let (nodes, table) = two(Options { catch_up: IMPATIENCE, answer: IMPATIENCE, ..options() });
    nodes.sequencer.cut_off(1);
    write(nodes.node(0), table, 1, 2);
    let mut reader = begin(nodes.node(1), Mode::ReadOnly);
    let refused = get(&mut reader, table, 1).expect_err("its barrier does not come");
    assert!(matches!(refused, Error::Fault(Fault::Behind { .. })) && refused.sqlstate() == "57P03", "{refused}");
    let mut old = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut old, table, 1).expect("its own snapshot"), Some(1));
    let refused = old.commit().expect_err("what it has read is not confirmed");
    assert!(matches!(refused, Error::Fault(Fault::Behind { .. })), "{refused}");
    let mut writer = begin(nodes.node(1), Mode::ReadWrite);
    put(&mut writer, table, 2, 2).expect("nobody in the way");
    let unknown = writer.commit().expect_err("its place does not come in time");
    assert!(matches!(unknown, Error::Fault(Fault::OutcomeUnknown { .. })), "{unknown}");
    // What a client can do, on a cluster: nobody has a database to reopen.
    let said = unknown.to_string();
    assert!(said.contains("connect to this node or another one") && !said.contains("reopen"), "{said}");
    nodes.sequencer.connect(1);
    await_current(&nodes);
    let mut present = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut present, table, 1).expect("its own snapshot"), Some(2));
}

#[test]
fn who_has_read_an_old_state_and_writes_nothing_is_refused() {
    let (nodes, table) = two(options());
    let mut old = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut old, table, 1).expect("nobody in the way"), Some(1));
    write(nodes.node(0), table, 1, 2);
    assert_eq!(rule(old.commit()), "key-changed");
    let mut other = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut other, table, 7).expect("nobody in the way"), None);
    write(nodes.node(0), table, 1, 3);
    other.commit().expect("what it has read, an absence, still holds");
    let mut phantom = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(conformance::registers::all(&mut phantom, table).expect("nobody in the way").len(), 1);
    write(nodes.node(0), table, 8, 1);
    assert_eq!(rule(phantom.commit()), "range-changed");
}

/// A duplicate that an old state shows is none: the other node has removed it.
#[test]
fn a_duplicate_is_reported_of_the_present_state_only() {
    let (nodes, table) = two(options());
    nodes.sequencer.cut_off(1);
    let mut remove = begin(nodes.node(0), Mode::ReadWrite);
    assert!(conformance::registers::delete(&mut remove, table, 1).expect("nobody in the way"));
    remove.commit().expect("nobody in the way");
    let mut open = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut open, table, 1).expect("its own snapshot"), Some(1));
    thread::scope(|scope| {
        let inserting = scope.spawn(|| insert(&mut open, table, 1, 9));
        nodes.sequencer.connect(1);
        assert_eq!(rule(inserting.join().expect("no panic")), "key-changed");
    });
    let mut again = begin(nodes.node(1), Mode::ReadWrite);
    insert(&mut again, table, 1, 9).expect("it is gone");
    again.commit().expect("nobody in the way");
    let mut third = begin(nodes.node(1), Mode::ReadWrite);
    assert!(matches!(insert(&mut third, table, 1, 9), Err(Error::Duplicate(_))));
}

/// Bounded staleness, where it is asked for: a snapshot without a barrier of its own.
#[test]
fn a_snapshot_may_be_as_old_as_the_options_say() {
    let (nodes, table) = two(Options { staleness: PATIENCE, catch_up: IMPATIENCE, ..options() });
    await_current(&nodes);
    nodes.sequencer.cut_off(1);
    write(nodes.node(0), table, 1, 2);
    let mut old = begin(nodes.node(1), Mode::Snapshot);
    assert_eq!(get(&mut old, table, 1).expect("without a barrier"), Some(1));
    old.commit().expect("a reader commits");
    let mut strict = begin(nodes.node(1), Mode::ReadOnly);
    assert!(get(&mut strict, table, 1).is_err(), "other modes are strict");
}

/// A transaction that can only read may say how old its state may be, whatever its mode and the node's default; others cannot.
#[test]
fn a_reader_may_say_how_old_its_state_may_be() {
    let (nodes, table) = two(Options { catch_up: IMPATIENCE, ..options() });
    await_current(&nodes);
    nodes.sequencer.cut_off(1);
    write(nodes.node(0), table, 1, 2);
    let read = |mode, staleness| {
        let mut reader =
            nodes.node(1).begin_owned(Begin { mode, staleness, ..Begin::default() }).expect("a node begins");
        let found = get(&mut reader, table, 1);
        found.and_then(|found| reader.commit().map(|_| found))
    };
    for mode in [Mode::ReadOnly, Mode::Snapshot] {
        assert_eq!(read(mode, Some(PATIENCE)).expect("without a barrier"), Some(1));
        for strict in [None, Some(Duration::ZERO), Some(Duration::from_nanos(1))] {
            let refused = read(mode, strict).expect_err("its barrier does not come");
            assert!(matches!(refused, Error::Fault(Fault::Behind { .. })), "{refused}");
        }
    }
    let refused = read(Mode::ReadWrite, Some(PATIENCE)).expect_err("who may write is certified");
    assert!(matches!(refused, Error::Fault(Fault::Behind { .. })), "{refused}");
    nodes.sequencer.connect(1);
    await_current(&nodes);
    let begun = Instant::now();
    let found = loop {
        match read(Mode::ReadOnly, None) {
            // Each read waits for a barrier of its own, with little patience.
            Err(Error::Fault(Fault::Behind { .. })) if begun.elapsed() < PATIENCE => {}
            found => break found,
        }
    };
    assert_eq!(found.expect("it is connected"), Some(2));
}

/// An abort names the rule, the key, and the other transaction with its origin and its place.
#[test]
fn an_abort_names_the_other_transaction() {
    let (nodes, table) = two(options());
    let mut old = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(get(&mut old, table, 1).expect("nobody in the way"), Some(1));
    write(nodes.node(0), table, 1, 2);
    put(&mut old, table, 2, 2).expect("nobody in the way");
    let refused = old.commit().expect_err("it was changed");
    let abort = refused.abort().expect("an abort");
    assert_eq!(abort.table.as_ref().map(|table| table.name()), Some("registers"));
    assert_eq!(abort.target, model::Target::Key(model::Key::from_u64(1)));
    let placed = nodes.node(1).placed(abort.other.expect("it is known")).expect("it is remembered");
    assert_eq!(placed.origin, nodes.node(0).status().origin);
    assert_eq!(nodes.node(1).status().aborts.get("key-changed"), Some(&1));
}

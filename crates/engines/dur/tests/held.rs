//! Conflict-aware load balancing: one test for each claim of the thesis' chapter 4 about it.

#[path = "common/body.rs"]
mod body;
mod common;

use body::{Do, Gate, follow, held, output, overwrite, read, submit};
use common::cluster::Cluster;
use conformance::registers::{all, get, put, registers};
use model::{Storage, TableId, Ticket};
use seriatim_dur::{Dur, Stats};
use total::sequencer::SequencerOrder;

/// Nodes with one executing thread: a body that runs says that those before it have run.
fn open(nodes: u64) -> (Cluster, TableId) {
    let cluster = Cluster::open(nodes, common::conflict_aware());
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    (cluster, table)
}

/// Waits until what was submitted before has run.
fn settle(node: &Dur<SequencerOrder>, table: TableId) -> Ticket<Do> {
    let (gate, at) = Gate::new();
    let last = submit(node, held(read(table, 99), at));
    gate.wait();
    gate.open();
    last
}

/// "Transactions only observe fully committed data"; "a transaction is aborted locally if it finds an accessed object to be locked".
#[test]
fn a_reader_meets_what_is_held_and_runs_when_it_is_delivered() {
    let (cluster, table) = open(1);
    let node = &cluster.nodes[0];
    cluster.sequencer.cut_off(0);
    let writer = submit(node, overwrite(table, 0, 5));
    let reader = submit(node, read(table, 0));
    let scanner = submit(node, Do::new(table, move |mut access| Ok(all(&mut access, table)?.len() as u64)));
    let other = submit(node, overwrite(table, 1, 6));
    let last = settle(node, table);
    assert_eq!(node.stats().overtaken, 2, "the reader and the scanner have met it");
    assert!(node.stats().open <= 3, "they are not on their way");
    cluster.sequencer.connect(0);
    let found = [writer, reader, other, last].map(|ticket| output(ticket.wait()));
    assert_eq!(found, [5, 5, 6, 0]);
    assert!((1..=2).contains(&output(scanner.wait())), "it has seen what is committed");
    assert_eq!(node.stats().refused, 0);
    cluster.assert_idle(Some(2));
}

/// Writers of one row are certified one after the other.
#[test]
fn a_writer_meets_what_is_held() {
    let (cluster, table) = open(1);
    let node = &cluster.nodes[0];
    cluster.sequencer.cut_off(0);
    let blind = [1, 2, 3].map(|value| submit(node, overwrite(table, 0, value)));
    let counters = [0, 0].map(|key| submit(node, follow(table, key, key)));
    let last = settle(node, table);
    assert_eq!(node.stats().overtaken, 4, "the first one holds the row");
    cluster.sequencer.connect(0);
    blind.into_iter().chain(counters).chain([last]).for_each(|ticket| _ = output(ticket.wait()));
    assert_eq!(node.stats().refused, 0, "nobody of this node is refused");
    cluster.assert_idle(Some(1));
}

/// "Many transactions which are rendered invalid due to remote contention are caught during the local read-set validation without
/// burdening the ordering layer."
#[test]
fn what_another_node_has_changed_is_noticed_before_the_order() {
    let (cluster, table) = open(2);
    let [node, other] = &cluster.nodes[..] else { unreachable!("two nodes") };
    let (gate, at) = Gate::new();
    let body = Do::new(table, move |mut access| {
        let value = get(&mut access, table, 0)?.unwrap_or_default();
        at.pass();
        put(&mut access, table, 1, value + 1)?;
        Ok(value)
    });
    let reader = submit(node, body);
    gate.wait();
    output(submit(other, overwrite(table, 0, 7)).wait());
    cluster.catch_up();
    gate.open();
    assert_eq!(output(reader.wait()), 7);
    let Stats { overtaken, refused, .. } = node.stats();
    assert_eq!((overtaken, refused), (1, 0), "it ran again, and the order knows nothing of it");
}

/// A row that appears in a range that was read is noticed as well.
#[test]
fn a_range_that_has_grown_is_noticed_before_the_order() {
    let (cluster, table) = open(2);
    let [node, other] = &cluster.nodes[..] else { unreachable!("two nodes") };
    let (gate, at) = Gate::new();
    let body = Do::new(table, move |mut access| {
        let rows = all(&mut access, table)?.len() as u64;
        at.pass();
        put(&mut access, table, 50, rows)?;
        Ok(rows)
    });
    let scanner = submit(node, body);
    gate.wait();
    output(submit(other, overwrite(table, 3, 1)).wait());
    cluster.catch_up();
    gate.open();
    assert_eq!(output(scanner.wait()), 1);
    assert_eq!((node.stats().overtaken, node.stats().refused), (1, 0));
}

/// "An abort due to remote contention does not propagate to other transactions", since they have not read what it wrote.
#[test]
fn a_refused_transaction_takes_no_others_with_it() {
    let (cluster, table) = open(2);
    let [node, other] = &cluster.nodes[..] else { unreachable!("two nodes") };
    cluster.sequencer.cut_off(0);
    let refused = submit(node, follow(table, 0, 1));
    let behind = submit(node, follow(table, 1, 2));
    let last = settle(node, table);
    output(submit(other, overwrite(table, 0, 10)).wait());
    cluster.sequencer.connect(0);
    assert_eq!([refused, last].map(|ticket| output(ticket.wait())), [11, 0]);
    // The second may run before the first has run again.
    assert!([1, 12].contains(&output(behind.wait())));
    cluster.catch_up();
    let Stats { refused, cascaded, .. } = node.stats();
    assert_eq!((refused, cascaded), (1, 0));
    cluster.assert_idle(Some(3));
}

/// Programs wait in the threads of their callers.
#[test]
fn programs_of_many_threads_count_to_their_number() {
    use model::{Begin, Error, Reexecutable};
    let (cluster, table) = open(3);
    std::thread::scope(|scope| {
        for number in 0..6 {
            let node = &cluster.nodes[number % 3];
            scope.spawn(move || {
                for _ in 0..50 {
                    let mut program = follow(table, 0, 0);
                    node.execute(&mut program, Begin::default(), &mut |_: u32, _: &Error| true).expect("it is retried");
                }
            });
        }
    });
    cluster.catch_up();
    assert_eq!(output(submit(&cluster.nodes[0], read(table, 0)).wait()), 300);
    cluster.assert_idle(Some(1));
}

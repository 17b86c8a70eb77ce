//! One test for each claim of the thesis' chapter 3.

#[path = "common/body.rs"]
mod body;
mod common;

use body::{Do, Gate, Held, follow, held, output, overwrite, read, submit, submit_once};
use common::cluster::Cluster;
use conformance::registers::{all, delete, get, put, registers};
use model::{AbortClass, Error, Invalid, Key, Storage, TableId, Ticket};
use seriatim_dur::{Dur, Meter, Options, Partition, Stats, Step, Window};
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use total::sequencer::SequencerOrder;

/// One node in sets of four, one payload on its way.
fn pxdur() -> Options {
    Options { payloads: 1, ..Options::default() }
}

fn open(nodes: u64, options: Options) -> (Cluster, TableId) {
    let cluster = Cluster::open(nodes, options);
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    (cluster, table)
}

fn value(node: &Dur<SequencerOrder>, table: TableId, key: u64) -> u64 {
    output(submit(node, read(table, key)).wait())
}

/// One transaction at a time, and one payload on its way: when a body runs, those before it have committed speculatively.
fn serial() -> Options {
    Options { payloads: 1, batch: 1, ..common::xdur() }
}

/// Waits until what was submitted before has committed speculatively, on a node that executes one transaction at a time.
fn settle(node: &Dur<SequencerOrder>, table: TableId) {
    begin(node, read(table, 99)).0.open();
}

/// Submits a procedure, and waits until its first run stands at its gate: its turn is taken.
fn begin(node: &Dur<SequencerOrder>, procedure: Do) -> (Gate, Ticket<Do>) {
    let (gate, at) = Gate::new();
    let ticket = submit(node, held(procedure, at));
    gate.wait();
    (gate, ticket)
}

/// Section 3.1.1: "T1 and T3 write to the same object Oa, and T2 and T4 read from Oa. According to the optimistic order, T2's read
/// should return OT1a and T4's read should return OT3a." However the four overlap.
#[test]
fn four_transactions_read_what_the_speculative_order_says() {
    for last_first in [false, true] {
        for window in [Window::Sets, Window::Sliding] {
            let (cluster, table) = open(1, Options { window, ..pxdur() });
            let node = &cluster.nodes[0];
            let procedures = [overwrite(table, 0, 1), read(table, 0), overwrite(table, 0, 3), read(table, 0)];
            let mut begun: Vec<_> = procedures.map(|procedure| begin(node, procedure)).into();
            if last_first {
                begun.reverse();
            }
            let (gates, mut tickets): (Vec<_>, Vec<_>) = begun.into_iter().unzip();
            gates.into_iter().for_each(Gate::open);
            if last_first {
                tickets.reverse();
            }
            let found: Vec<u64> = tickets.into_iter().map(|ticket| output(ticket.wait())).collect();
            assert_eq!(found, [1, 1, 3, 3], "{window:?}, the last first: {last_first}");
            cluster.assert_idle(Some(1));
        }
    }
}

/// Algorithm 1: a reader waits for an earlier owner, and returns what that one wrote.
#[test]
fn a_reader_waits_for_an_earlier_owner() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (gate, at) = Gate::new();
    let owner = Do::new(table, move |mut access| {
        put(&mut access, table, 0, 1)?;
        at.pass();
        put(&mut access, table, 0, 2).map(|()| 2)
    });
    let owner = submit(node, owner);
    gate.wait();
    let reader = submit(node, read(table, 0));
    let (passing, third) = begin(node, overwrite(table, 1, 9));
    passing.open();
    gate.open();
    assert_eq!([owner, reader, third].map(|ticket| output(ticket.wait())), [2, 2, 9]);
    assert_eq!(node.stats().overtaken, 0, "a wait is no abort");
}

/// Algorithm 1: a later owner is not waited for.
#[test]
fn a_reader_does_not_wait_for_a_later_owner() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (reading, reader) = begin(node, read(table, 0));
    let (gate, at) = Gate::new();
    let later = submit(
        node,
        Do::new(table, move |mut access| {
            put(&mut access, table, 0, 7)?;
            at.pass();
            Ok(7)
        }),
    );
    gate.wait();
    reading.open();
    assert_eq!(output(reader.wait()), 0, "the later one still executes");
    gate.open();
    assert_eq!(output(later.wait()), 7);
}

/// Algorithm 2: a writer aborts later readers of what it writes; they run again in their turns and read it.
#[test]
fn a_writer_aborts_later_readers() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (writing, writer) = begin(node, overwrite(table, 0, 5));
    let (gate, at) = Gate::new();
    let reader = Do::new(table, move |mut access| {
        let value = get(&mut access, table, 0)?.unwrap_or_default();
        at.pass();
        Ok(value)
    });
    let reader = submit(node, reader);
    gate.wait();
    writing.open();
    assert_eq!(output(writer.wait()), 5);
    gate.open();
    assert_eq!(output(reader.wait()), 5);
    assert_eq!((node.stats().overtaken, node.stats().refused), (1, 0), "the order knows nothing of it");
}

/// Algorithm 2: earlier readers have read what they should, and go on.
#[test]
fn a_writer_does_not_abort_earlier_readers() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (gate, at) = Gate::new();
    let reader = Do::new(table, move |mut access| {
        let value = get(&mut access, table, 0)?.unwrap_or_default();
        at.pass();
        Ok(value)
    });
    let reader = submit(node, reader);
    gate.wait();
    let (written, at) = Gate::new();
    let writer = Do::new(table, move |mut access| {
        put(&mut access, table, 0, 5)?;
        at.pass();
        Ok(5)
    });
    let writer = submit(node, writer);
    written.wait();
    written.open();
    gate.open();
    assert_eq!([reader, writer].map(|ticket| output(ticket.wait())), [0, 5]);
    assert_eq!(node.stats().overtaken, 0, "nobody runs again");
}

/// The text of Algorithm 2: the write procedure aborts active transactions that are serialized after "and wrote the same object". The
/// pseudo-code only overwrites `Obj.owner`: then a reader behind the later owner would not wait for it any more, and miss what it writes.
#[test]
fn a_writer_that_meets_a_later_owner_aborts_it() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (writing, first) = begin(node, overwrite(table, 0, 1));
    let (gate, at) = Gate::new();
    let later = Do::new(table, move |mut access| {
        put(&mut access, table, 0, 2)?;
        at.pass();
        Ok(2)
    });
    let later = submit(node, later);
    gate.wait();
    writing.open();
    assert_eq!(output(first.wait()), 1);
    gate.open();
    assert_eq!(output(later.wait()), 2);
    assert_eq!((node.stats().overtaken, value(node, table, 0)), (1, 2));
}

/// Algorithm 2: `InvalidateReaders` must begin behind the slot of the writer. The pseudo-code begins at it, although the writer has just
/// marked itself as a reader: no transaction that reads what it writes would ever commit.
#[test]
fn a_writer_does_not_abort_itself() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let steps = Do::new(table, move |mut access| {
        for _ in 0..3 {
            let value = get(&mut access, table, 0)?.unwrap_or_default();
            put(&mut access, table, 0, value + 1)?;
        }
        Ok(get(&mut access, table, 0)?.unwrap_or_default())
    });
    assert_eq!(output(submit(node, steps).wait()), 3);
    assert_eq!(node.stats().overtaken, 0);
}

/// Algorithm 1 and 2: who waits for an owner goes on when the owner is cleared. The pseudo-code's waits (`while Obj.owner < Tx.Id`)
/// never end then, since no owner is zero, which is below every turn.
#[test]
fn a_wait_ends_when_the_owner_is_gone() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (gate, at) = Gate::new();
    let owner = Do::new(table, move |mut access| {
        put(&mut access, table, 0, 1)?;
        at.pass();
        Err(Error::from(Invalid::Unsupported { what: "a body that fails" }))
    });
    let owner = submit(node, owner);
    gate.wait();
    let waiting =
        [submit(node, read(table, 0)), submit(node, follow(table, 0, 1)), submit(node, overwrite(table, 0, 4))];
    gate.open();
    assert!(owner.wait().is_err(), "it has no effect");
    let [found, followed, _] = waiting.map(|ticket| output(ticket.wait()));
    assert!([0, 4].contains(&found) && [1, 5].contains(&followed), "{found} {followed}: nothing of the first");
}

/// Algorithm 3: "ParSpec allows an active transaction to x-commit only when the speculative transaction optimistically ordered just
/// before it is already x-committed."
#[test]
fn transactions_commit_speculatively_in_their_turns() {
    let (cluster, table) = open(1, pxdur());
    let node = &cluster.nodes[0];
    let (first, one) = begin(node, overwrite(table, 1, 1));
    let (second, two) = begin(node, overwrite(table, 2, 2));
    second.open();
    let (third, three) = begin(node, read(table, 2));
    third.open();
    first.open();
    let points = [one, two, three].map(|ticket| ticket.wait().expect("it commits").1.claimed());
    assert!(points.is_sorted(), "places follow turns: {points:?}");
}

/// Chapter 3: "it speculatively forwards to the new incoming transactions copies of shared objects updated by those transactions that
/// have committed locally but are awaiting for their global order to be established."
#[test]
fn speculative_versions_are_read_before_they_are_ordered() {
    for options in [pxdur(), common::xdur()] {
        let (cluster, table) = open(3, options);
        cluster.sequencer.cut_off(0);
        let node = &cluster.nodes[0];
        let tickets: Vec<_> = (0..5)
            .map(|n| (n, n + 1))
            .map(|(from, to)| {
                let (gate, ticket) = begin(node, follow(table, from, to));
                gate.open();
                ticket
            })
            .collect();
        assert_eq!(node.stats().committed, 0, "nothing was ordered");
        cluster.sequencer.connect(0);
        let found: Vec<u64> = tickets.into_iter().map(|ticket| output(ticket.wait())).collect();
        assert_eq!(found, [1, 2, 3, 4, 5]);
        cluster.catch_up();
        let Stats { committed, refused, .. } = cluster.nodes[2].stats();
        assert_eq!((committed, refused), (5, 0), "without remote conflicts, no local transaction aborts");
    }
}

/// Section 3.1.2: after a remote abort the speculative versions are taken back, and x-committed transactions that have read them are
/// aborted before they burden the order.
#[test]
fn a_remote_conflict_cascades_before_the_order() {
    let (cluster, table) = open(3, serial());
    let [node, other, _] = &cluster.nodes[..] else { panic!("three nodes") };
    submit(node, overwrite(table, 0, 10)).wait().expect("it commits");
    cluster.catch_up();
    cluster.sequencer.cut_off(0);
    // The first is on its way; those behind it wait, since one payload is on its way at a time.
    let first = submit(node, follow(table, 0, 1));
    settle(node, table);
    let chain = [follow(table, 1, 2), follow(table, 2, 3), overwrite(table, 50, 1)];
    let [second, third, independent] = chain.map(|procedure| submit(node, procedure));
    settle(node, table);
    let before = node.stats();
    submit(other, overwrite(table, 0, 20)).wait().expect("it commits");
    cluster.sequencer.connect(0);
    let found = [first, second, third, independent].map(|ticket| output(ticket.wait()));
    assert_eq!(found, [21, 22, 23, 1], "they ran again, on the value of the other node");
    cluster.catch_up();
    let after = node.stats();
    assert_eq!((after.refused - before.refused, after.cascaded), (1, 2), "two were never proposed");
    cluster.assert_idle(None);
}

/// Section 3.1.2: "all new transactions are forced to read the committed versions of the objects in question." What an earlier
/// transaction has written speculatively and still may commit is read again.
#[test]
fn new_transactions_do_not_read_what_was_taken_back() {
    let (cluster, table) = open(2, serial());
    let [node, other] = &cluster.nodes[..] else { panic!("two nodes") };
    submit(node, overwrite(table, 0, 10)).wait().expect("it commits");
    cluster.catch_up();
    cluster.sequencer.cut_off(0);
    let doomed = submit_once(node, follow(table, 0, 1));
    settle(node, table);
    submit(other, overwrite(table, 0, 20)).wait().expect("it commits");
    cluster.sequencer.connect(0);
    let refused = doomed.wait().expect_err("what it read was changed");
    assert_eq!(refused.abort().map(|abort| (abort.class, abort.rule)), Some((AbortClass::ReadWrite, "certification")));
    assert_eq!((value(node, table, 0), value(node, table, 1)), (20, 0));
}

/// Everything is at home on node 0.
#[derive(Debug)]
struct AtHome;

impl Partition for AtHome {
    fn home(&self, _: TableId, _: &[u8]) -> Option<u64> {
        Some(0)
    }

    fn home_of_range(&self, _: TableId, _: &Bound<Key>, _: &Bound<Key>) -> Option<u64> {
        Some(0)
    }
}

/// Holds the thread that delivers at the end of a transaction of its node.
#[derive(Default)]
struct AtDelivery(Mutex<Option<Held>>);

impl AtDelivery {
    /// Holds it at the next end.
    fn arm(&self) -> Gate {
        let (gate, at) = Gate::new();
        *self.0.lock().expect("no panic") = Some(at);
        gate
    }
}

impl std::fmt::Debug for AtDelivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtDelivery")
    }
}

impl Meter for AtDelivery {
    fn begin(&self, step: Step, _: u64) -> u64 {
        let armed = self.0.lock().expect("no panic").take_if(|_| step == Step::Deliver);
        armed.iter().for_each(Held::pass);
        0
    }

    fn end(&self, _: Step, _: u64, _: u64) {}
}

/// Section 3.1.3: "whenever a transaction aborts", those that are local to its node are validated again. One that begins after the refusal
/// and before the speculative versions are taken back has met them all the same, and must not be taken for one that began later.
#[test]
fn what_begins_before_the_cascade_is_validated() {
    let delivery = Arc::new(AtDelivery::default());
    let skips = Options { partition: Some(Arc::new(AtHome)), meter: Some(delivery.clone()), ..serial() };
    let validates = Options { skips_validation: false, meter: None, ..skips.clone() };
    let cluster = Cluster::open_with(vec![skips, validates]);
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let [node, other] = &cluster.nodes[..] else { panic!("two nodes") };
    submit(node, overwrite(table, 1, 10)).wait().expect("it commits");
    cluster.catch_up();
    cluster.sequencer.cut_off(0);
    let deletion = Do::new(table, move |mut access| {
        let value = get(&mut access, table, 0)?.unwrap_or_default();
        delete(&mut access, table, 1).map(|_| value)
    });
    let refused = submit_once(node, deletion);
    settle(node, table);
    submit(other, overwrite(table, 0, 20)).wait().expect("it commits");
    let delivering = delivery.arm();
    cluster.sequencer.connect(0);
    delivering.wait();
    let reader = submit(node, follow(table, 1, 2));
    settle(node, table);
    delivering.open();
    refused.wait().expect_err("what it read was changed");
    assert_eq!(output(reader.wait()), 11, "the row was never deleted");
    cluster.catch_up();
    let decisions = |node: &Dur<_>| (node.stats().committed, node.stats().refused);
    assert_eq!(decisions(node), decisions(other), "who skips decides as who validates");
    assert!(node.stats().skipped > 0, "others are skipped");
}

/// Beyond the thesis, which has objects and no ranges: a range is read as objects are.
#[test]
fn a_range_has_no_phantoms() {
    let (cluster, table) = open(2, pxdur());
    let [node, _] = &cluster.nodes[..] else { panic!("two nodes") };
    let sum =
        move |access: &mut &mut dyn model::Access| all(access, table).map(|rows| rows.iter().map(|row| row.1).sum());
    let (writing, writer) = begin(node, overwrite(table, 5, 5));
    let (gate, at) = Gate::new();
    let scan = Do::new(table, move |mut access| {
        let total = sum(&mut access)?;
        at.pass();
        Ok(total)
    });
    let reader = submit(node, scan);
    gate.wait();
    writing.open();
    writer.wait().expect("it commits");
    gate.open();
    assert_eq!(output(reader.wait()), 5, "an earlier turn inserted a row into the range");
    assert_eq!((node.stats().overtaken, node.stats().refused), (1, 0), "the order knows nothing of it");

    let (cluster, table) = open(2, serial());
    let [node, other] = &cluster.nodes[..] else { panic!("two nodes") };
    submit(node, overwrite(table, 5, 5)).wait().expect("it commits");
    cluster.catch_up();
    cluster.sequencer.cut_off(0);
    let reader =
        submit_once(node, Do::new(table, move |mut access| all(&mut access, table).map(|rows| rows.len() as u64)));
    settle(node, table);
    submit(other, overwrite(table, 6, 7)).wait().expect("it commits");
    cluster.sequencer.connect(0);
    reader.wait().expect_err("another node changed the range");
}

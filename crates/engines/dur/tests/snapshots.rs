//! Snapshots: the state that a node has applied, at one place, beside everything else.

#[path = "common/body.rs"]
mod body;
mod common;

use body::{Do, overwrite, submit};
use common::cluster::Cluster;
use conformance::registers::{all, delete, registers};
use model::{Access, Begin, Error, Mode, Program, Reexecutable, Result, SerialPoint, Storage};
use seriatim_dur::Options;
use std::collections::BTreeSet;

/// A body, run once by its caller.
struct Body<F>(F);

impl<T, F: FnMut(&mut dyn Access) -> Result<T>> Program for Body<F> {
    type Output = T;
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<T> {
        (self.0)(&mut access)
    }
}

fn snapshot<T>(door: &impl Reexecutable, body: impl FnMut(&mut dyn Access) -> Result<T>) -> (T, SerialPoint) {
    let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
    let done = door.execute(&mut Body(body), how, &mut |_: u32, _: &Error| panic!("nothing to retry"));
    done.map(|(output, committed)| (output, committed.claimed())).expect("a snapshot reads")
}

#[test]
fn a_snapshot_reads_one_state_while_others_commit() {
    let cluster = Cluster::open(2, Options::default());
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let [node, other] = &cluster.nodes[..] else { panic!("two nodes") };
    let write = |key, value| submit(other, overwrite(table, key, value)).wait().map(drop).expect("it commits");
    (0..4).for_each(|key| write(key, 1));
    cluster.catch_up();
    let (rows, point) = snapshot(node, |mut access| {
        let before = all(&mut access, table)?;
        write(1, 2);
        submit(other, Do::new(table, move |mut access| delete(&mut access, table, 2).map(u64::from)))
            .wait()
            .expect("it commits");
        write(9, 9);
        cluster.catch_up();
        // One that begins now sees all of it, and ends before.
        let (now, later) = snapshot(node, |mut access| all(&mut access, table));
        assert_eq!(now, [(0, 1), (1, 2), (3, 1), (9, 9)]);
        assert_eq!(all(&mut access, table)?, before);
        Ok((before, later))
    });
    assert_eq!(rows.0, [(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert!(point < rows.1, "the later one stands behind");
    cluster.assert_idle(Some(4));
}

#[test]
fn each_snapshot_has_a_point_of_its_own() {
    let cluster = Cluster::open(2, Options::default());
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let mut points = BTreeSet::new();
    for turn in 0..20_000 {
        let node = &cluster.nodes[turn % 2];
        let (_, point) = snapshot(node, |_| Ok(()));
        assert!(points.insert(point), "another snapshot stands at {point}");
    }
    let last = submit(&cluster.nodes[0], overwrite(table, 1, 1)).wait().expect("it commits").1.claimed();
    assert!(points.last() < Some(&last));
}

//! Limits end in named errors, and so do mistakes, and a node that stops.

#[path = "common/body.rs"]
mod body;
mod common;

use body::{Do, output, overwrite, submit};
use common::cluster::Cluster;
use conformance::registers::{get, insert, put, registers};
use model::{
    AbortClass, Access, Begin, Declared, Error, Fault, Invalid, Key, Limit, LimitKind, Mode, Reexecutable, RowBuf,
    Scan, Schema, Storage, TableId,
};
use seriatim_dur::Options;
use std::ops::ControlFlow;

fn open(options: Options) -> (Cluster, TableId) {
    let cluster = Cluster::open(1, options);
    let table = cluster.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    (cluster, table)
}

/// The error of a body.
#[track_caller]
fn error(
    cluster: &Cluster,
    table: TableId,
    body: impl Fn(&mut dyn Access) -> model::Result<u64> + Send + Sync + 'static,
) -> Error {
    let ended = cluster.execute(&mut Do::new(table, body), Begin::default(), &mut |_: u32, _: &Error| true);
    ended.expect_err("it is refused")
}

#[track_caller]
fn assert_limit(found: &Error, kind: LimitKind, limit: u64) {
    assert!(matches!(found, Error::Limit(Limit { kind: of, limit: at, .. }) if (*of, *at) == (kind, limit)), "{found}");
}

#[test]
fn what_is_too_much_is_refused() {
    let options = Options {
        row_bytes: 8,
        write_set_rows: 2,
        write_set_bytes: 40,
        read_set: 4,
        tables: 1,
        payload_bytes: 400,
        ..Options::default()
    };
    let (cluster, table) = open(options);
    let long_row = move |access: &mut dyn Access| {
        access.put(table, &Key::from_u64(1), RowBuf::from_bytes(&[0; 9]).row()).map(|()| 0)
    };
    assert_limit(&error(&cluster, table, long_row), LimitKind::RowBytes, 8);
    let rows =
        move |mut access: &mut dyn Access| (0..3).try_for_each(|key| put(&mut access, table, key, 1)).map(|()| 0);
    assert_limit(&error(&cluster, table, rows), LimitKind::WriteSetRows, 2);
    let reads = move |mut access: &mut dyn Access| {
        (0..5).try_for_each(|key| get(&mut access, table, key).map(drop)).map(|()| 0)
    };
    assert_limit(&error(&cluster, table, reads), LimitKind::ReadSet, 4);
    let second = cluster.create_table(registers("second", Storage::Ordered)).expect_err("one table is allowed");
    assert_limit(&second, LimitKind::Tables, 1);
    cluster.assert_idle(Some(0));
}

#[test]
fn a_transaction_that_fits_into_no_payload_is_refused() {
    let (cluster, table) = open(Options { payload_bytes: 400, ..Options::default() });
    let many =
        move |mut access: &mut dyn Access| (0..30).try_for_each(|key| put(&mut access, table, key, 1)).map(|()| 0);
    let found = error(&cluster, table, many);
    assert!(matches!(found, Error::Limit(Limit { kind: LimitKind::WriteSetBytes, .. })), "{found}");
    assert_eq!(output(submit(&cluster.nodes[0], overwrite(table, 1, 1)).wait()), 1, "the node goes on");
    cluster.assert_idle(Some(1));
}

#[test]
fn mistakes_are_named() {
    let (cluster, table) = open(Options::default());
    let hash = cluster.create_table(registers("hash", Storage::Hash)).expect("a new table");
    let twice = cluster.create_table(Schema::bytes("hash").u64_key().build().expect("a schema"));
    assert!(matches!(twice, Err(Error::Invalid(Invalid::TableExists { .. }))));
    let short_key = move |access: &mut dyn Access| access.delete(table, b"short").map(u64::from);
    assert!(matches!(error(&cluster, table, short_key), Error::Invalid(Invalid::Key { .. })));
    let scan =
        move |access: &mut dyn Access| access.scan(&Scan::table(hash), &mut |_| ControlFlow::Continue(())).map(|_| 0);
    assert!(matches!(error(&cluster, hash, scan), Error::Invalid(Invalid::NotOrdered { .. })));
    let twice = move |mut access: &mut dyn Access| {
        insert(&mut access, table, 1, 1)?;
        insert(&mut access, table, 1, 2).map(|()| 0)
    };
    assert!(matches!(error(&cluster, table, twice), Error::Duplicate(_)));
    for mode in [Mode::ReadOnly, Mode::Snapshot] {
        let how = Begin { mode, ..Begin::default() };
        let refused = cluster.nodes[0].submit(overwrite(table, 1, 1), how, Box::new(|_: u32, _: &Error| true)).wait();
        assert!(matches!(refused, Err(Error::Invalid(Invalid::ReadOnly))), "{mode:?}");
    }
    cluster.assert_idle(Some(0));
}

/// A body that panics has no effect, and its turn passes.
#[test]
fn a_panic_lets_its_turn_pass() {
    let (cluster, table) = open(Options::default());
    let panics = move |mut access: &mut dyn Access| {
        put(&mut access, table, 1, 1)?;
        panic!("a body of the test")
    };
    let found = submit(&cluster.nodes[0], Do::new(table, panics)).wait().expect_err("it is refused");
    assert!(
        found.abort().is_some_and(|abort| (abort.class, abort.rule) == (AbortClass::Requested, "panicked")),
        "{found}"
    );
    assert_eq!(output(submit(&cluster.nodes[0], overwrite(table, 2, 2)).wait()), 2);
    cluster.assert_idle(Some(1));
}

/// A node that is dropped tells who waits: what it has proposed may commit on others.
#[test]
fn who_waits_is_told_when_the_node_stops() {
    let (mut cluster, table) = open(Options::default());
    cluster.sequencer.cut_off(0);
    let waiting = submit(&cluster.nodes[0], overwrite(table, 1, 1));
    while cluster.nodes[0].stats().open == 0 {
        std::thread::yield_now();
    }
    drop(cluster.nodes.pop());
    let told = waiting.wait().expect_err("it was not delivered");
    assert!(matches!(told, Error::Fault(Fault::OutcomeUnknown { .. } | Fault::Closed)), "{told}");
}

/// An order that stops stops the node, by name.
#[test]
fn an_order_that_stops_is_a_fault() {
    let (cluster, table) = open(Options::default());
    cluster.sequencer.stop(0);
    let told = submit(&cluster.nodes[0], overwrite(table, 1, 1)).wait().expect_err("nothing is ordered");
    assert!(matches!(told, Error::Fault(Fault::LogFailed { .. } | Fault::OutcomeUnknown { .. })), "{told}");
    let created = cluster.nodes[0].create_table(registers("late", Storage::Ordered));
    assert!(matches!(created, Err(Error::Fault(Fault::LogFailed { .. }))), "{created:?}");
}

//! Limits on what sessions do, which never end a node: memory and ages.

mod common;

use common::{Kind, Nodes, PATIENCE, options, rows};
use conformance::registers::{get, put, registers};
use model::{
    Abort, AbortClass, Access, Begin, Columns, Error, Finish, Interactive, Key, LimitKind, Mode, Result, RowBuf,
    Schema, Storage, TableId, Tables,
};
use seriatim_cluster::{Cluster, Options, Transaction};
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use total::Position;

const LIMIT: u64 = 8 << 20;
const ROW: usize = 10_000;

/// Two nodes with the limit, and a table of bytes.
fn full(kind: Kind) -> (Nodes, TableId) {
    let nodes = Nodes::open(2, kind, Options { memory_bytes: Some(LIMIT), ..options() });
    let schema = Schema::bytes("bytes").u64_key().build().expect("a good schema");
    let table = nodes.node(0).create_table_unlisted(schema).expect("a new table");
    nodes.wait();
    (nodes, table)
}

/// Changes one row in a transaction of its own.
fn change(node: &Arc<Cluster>, table: TableId, key: u64, row: Option<usize>) -> Result<()> {
    let mut open = node.begin_owned(Begin::default())?;
    let key = Key::from_u64(key);
    match row {
        Some(bytes) => open.put(table, &key, RowBuf::from_bytes(&vec![7; bytes]).row())?,
        None => assert!(open.delete(table, &key)?, "it is there"),
    }
    open.commit().map(drop)
}

/// Adds rows from `first` on, on both nodes in turn, until one is refused; returns its number.
fn fill(nodes: &Nodes, table: TableId, first: u64) -> u64 {
    for key in first.. {
        match change(nodes.node(key % 2), table, key, Some(ROW)) {
            Ok(()) => {}
            Err(Error::Limit(limit)) => {
                assert_eq!((limit.kind, limit.limit), (LimitKind::Memory, LIMIT));
                assert_eq!(Error::Limit(limit).sqlstate(), "53200");
                return key;
            }
            Err(other) => panic!("{other}"),
        }
    }
    unreachable!("the limit is somewhere")
}

#[test]
fn clients_of_a_full_node_are_refused_and_no_node_stops() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (nodes, table) = full(kind);
        let refused = fill(&nodes, table, 0);
        assert!(refused > LIMIT / ROW as u64 / 2, "{refused} rows");
        change(nodes.node(0), table, 0, Some(ROW)).expect("a row that gets no longer");
        nodes.wait();
        assert_eq!(nodes.node(1).usage().expect("it counts").memory_limit_bytes, LIMIT, "as sessions know it");
        (0..refused / 2).for_each(|key| change(nodes.node(1), table, key, None).expect("a row that goes"));
        nodes.wait();
        let begun = Instant::now();
        while fill(&nodes, table, refused) == refused {
            assert!(begun.elapsed() < PATIENCE, "deleted rows have made no room");
            // A store collects where transactions begin and end.
            change(nodes.node(0), table, refused - 1, Some(1)).expect("a row that gets no longer");
        }
        nodes.wait();
        assert_eq!(rows(nodes.node(0), table), rows(nodes.node(1), table));
    }
}

/// A long reader on a node keeps the versions that are replaced: what was ordered is applied there all the same.
#[test]
fn a_node_whose_reader_keeps_versions_applies_what_was_ordered() {
    // Node 1 alone has a limit, and a reader.
    let mut nodes = Nodes::open(1, Kind::Hyper, options());
    nodes.options.memory_bytes = Some(LIMIT);
    nodes.start(1, Kind::Hyper.in_memory());
    let schema = Schema::bytes("bytes").u64_key().build().expect("a good schema");
    let table = nodes.node(0).create_table_unlisted(schema).expect("a new table");
    change(nodes.node(0), table, 0, Some(ROW)).expect("room");
    nodes.wait();
    let mut reader = begin(nodes.node(1), Mode::ReadOnly);
    for _ in 0..2 * LIMIT / ROW as u64 {
        change(nodes.node(0), table, 0, Some(ROW)).expect("no limit here");
    }
    nodes.wait();
    let used = nodes.node(1).usage().expect("it counts").memory_bytes;
    assert!(used > LIMIT, "{used} bytes: the reader keeps all versions");
    let refused = change(nodes.node(1), table, 1, Some(ROW));
    assert!(matches!(refused, Err(Error::Limit(_))), "a client of that node: {refused:?}");
    let mut row = RowBuf::new();
    assert!(reader.read(table, &Key::from_u64(0), Columns::All, &mut row).expect("it can be read"));
    reader.commit().expect("a reader commits");
    while change(nodes.node(1), table, 1, Some(ROW)).is_err() {
        // The store collects where transactions end, as those do that are applied.
        change(nodes.node(0), table, 0, Some(ROW)).expect("no limit here");
    }
    nodes.wait();
}

/// A transaction that has its snapshot.
fn begin(node: &Arc<Cluster>, mode: Mode) -> Transaction {
    let mut open = node.begin_owned(Begin { mode, ..Begin::default() }).expect("room");
    open.start().expect("the order answers");
    open
}

fn aged(error: &Error) -> bool {
    error.abort().is_some_and(|Abort { class, rule, .. }| (*class, *rule) == (AbortClass::Age, "age"))
}

/// Two nodes with a limit on ages, and a table.
fn aging(kind: Kind) -> (Nodes, TableId) {
    let age = Duration::from_millis(20);
    let nodes = Nodes::open(2, kind, Options { transaction_age: Some(age), ..options() });
    let table = nodes.node(0).create_table_unlisted(registers("registers", Storage::Ordered)).expect("a new table");
    nodes.wait();
    (nodes, table)
}

/// Reads until the transaction is too old.
fn read_until_aged(open: &mut Transaction, table: TableId) {
    while !get(open, table, 1).is_err_and(|error| aged(&error)) {
        thread::yield_now();
    }
}

#[test]
fn transactions_of_sessions_have_a_greatest_age() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (nodes, table) = aging(kind);
        let [mut writes, mut reads] = [Mode::ReadWrite, Mode::ReadOnly].map(|mode| begin(nodes.node(0), mode));
        put(&mut writes, table, 1, 1).expect("nobody in the way");
        read_until_aged(&mut reads, table);
        let error = writes.commit().expect_err("it is older");
        assert!(aged(&error), "{error}");
        assert_eq!(nodes.node(0).status().aborts.get("age"), Some(&2));
    }
}

/// They keep nothing beyond it, even if nobody calls them.
#[test]
fn an_abandoned_transaction_ends_in_the_local_store() {
    let (nodes, _) = aging(Kind::Hyper);
    let open = || nodes.locals[&0].ddl().and_then(|local| local.transactions()).expect("hyper shows them").len();
    let abandoned = begin(nodes.node(0), Mode::ReadOnly);
    while open() > 0 {
        thread::yield_now();
    }
    assert!(aged(&abandoned.commit().expect_err("it is too old")));
}

/// Takes a state when another transaction, which begins as late, has become too old.
struct Slow<'n> {
    node: &'n Arc<Cluster>,
    table: TableId,
    has_waited: bool,
    bytes: usize,
}

impl Write for Slow<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.has_waited, true) {
            read_until_aged(&mut begin(self.node, Mode::ReadOnly), self.table);
        }
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_state_may_be_handed_over_for_longer_than_that() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (nodes, table) = aging(kind);
        let mut slow = Slow { node: nodes.node(0), table, has_waited: false, bytes: 0 };
        nodes.node(0).write_state(Position::default(), PATIENCE, &mut slow).expect("it takes as long as it takes");
        assert!(slow.has_waited && slow.bytes > 0);
    }
}

//! Predicates in place of ranges: a transaction is refused if another one changed what its scan shows, and for no other write into
//! the range; on every node alike, wherever its batches end, whatever it has in memory.

mod common;

use common::mixed::state;
use common::{Kind, Nodes, PATIENCE, options, rows};
use conformance::registers::rule;
use env::Randomness;
use model::columns::Sieve;
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Error, Extreme, Fault, Finish, Interactive, Key, Mode,
    Predicate, Result, RowBuf, Scan, Schema, TableId, Tables, Value, ValueRef,
};
use seriatim_cluster::{Cluster, Limits, NoStates, Options, Transaction};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use total::sequencer::Sequencer;
use total::{OrderLimits, TotalOrder};

const CLASS: u16 = 1;
const SIZE: u16 = 2;
const KINDS: [Kind; 2] = [Kind::Hyper, Kind::Mvto];

/// What is there of an item: class and size.
type Item = (i64, i64);

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_value(ValueRef::Int(id), false);
    key
}

fn row(id: i64, (class, size): Item) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Int(class), ValueRef::Int(size)])
}

fn is_of(class: i64) -> Predicate {
    Predicate::Compare(CLASS, Comparison::Equal, Value::Int(class))
}

fn begin(node: &Arc<Cluster>, mode: Mode) -> Transaction {
    node.begin_owned(Begin { mode, ..Begin::default() }).expect("room")
}

fn create(node: &Arc<Cluster>) -> TableId {
    let items = Schema::table("items").column("id", ColumnType::Int).column("class", ColumnType::Int);
    let items = items.column("size", ColumnType::Int).key(["id"]).build().expect("a good schema");
    node.create_table_unlisted(items).expect("a new table")
}

fn put(access: &mut impl Access, table: TableId, id: i64, item: Option<Item>) -> Result<()> {
    match item {
        Some(item) => access.put(table, &key(id), row(id, item).row()),
        None => access.delete(table, &key(id)).map(drop),
    }
}

/// Writes or deletes items in a transaction of their own.
fn write(node: &Arc<Cluster>, table: TableId, items: &[(i64, Option<Item>)]) {
    let mut open = begin(node, Mode::ReadWrite);
    items.iter().for_each(|(id, item)| put(&mut open, table, *id, *item).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
}

/// The items that a scan shows.
fn select(access: &mut impl Access, scan: &Scan<'_>) -> Result<Vec<(Key, RowBuf)>> {
    let mut seen = Vec::new();
    access.scan(scan, &mut |item| {
        seen.push((Key::from_bytes(item.key), RowBuf::from_bytes(item.row.bytes())));
        ControlFlow::Continue(())
    })?;
    Ok(seen)
}

/// Three nodes, items 1 of class 1 and 2 of class 2, and a table for what readers write.
fn three(kind: Kind, options: Options) -> (Nodes, TableId, TableId) {
    let nodes = Nodes::open(3, kind, options);
    let table = create(nodes.node(0));
    let schema = Schema::bytes("results").build().expect("a good schema");
    let results = nodes.node(0).create_table_unlisted(schema).expect("a new table");
    write(nodes.node(0), table, &[(1, Some((1, 10))), (2, Some((2, 20)))]);
    nodes.wait();
    (nodes, table, results)
}

fn assert_alike(nodes: &Nodes, context: &str) {
    nodes.wait();
    let states: Vec<_> = nodes.nodes.values().map(state).collect();
    assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "{context}: the nodes have decided differently");
}

/// What another node has written while a transaction had selected class 1, and how the transaction ends then.
type Case = (&'static str, &'static [(i64, Option<Item>)], Option<&'static str>);

const CASES: &[Case] = &[
    ("a row of another class changes", &[(2, Some((2, 21)))], None),
    ("a row of another class becomes one of a third", &[(2, Some((3, 20)))], None),
    ("a row of another class is inserted", &[(3, Some((2, 30)))], None),
    ("a row of another class is deleted", &[(2, None)], None),
    ("a row is written as it was", &[(1, Some((1, 10)))], None),
    ("a row that is not there is deleted", &[(9, None)], None),
    ("a row comes into the class", &[(2, Some((1, 20)))], Some("predicate-met")),
    ("a row of the class is inserted", &[(3, Some((1, 30)))], Some("predicate-met")),
    ("a row leaves the class", &[(1, Some((2, 10)))], Some("predicate-met")),
    ("a row of the class is deleted", &[(1, None)], Some("predicate-met")),
    ("a column that was read changes", &[(1, Some((1, 11)))], Some("predicate-met")),
];

#[test]
fn a_write_that_no_answer_shows_aborts_nobody_and_every_other_does() {
    for kind in KINDS {
        for &(context, writes, expected) in CASES {
            let (nodes, table, results) = three(kind, options());
            let filter = is_of(1);
            let scan = Scan::table(table).filter(&filter);
            // One that writes is certified by all nodes; one that does not, by its own at COMMIT.
            let mut open: Vec<Transaction> = (0..2).map(|_| begin(nodes.node(1), Mode::ReadWrite)).collect();
            for open in &mut open {
                assert_eq!(select(open, &scan).expect("nobody in the way").len(), 1);
            }
            write(nodes.node(0), table, writes);
            open[0].put(results, b"seen", RowBuf::from_bytes(b"1").row()).expect("nobody in the way");
            for open in open {
                match (open.commit(), expected) {
                    (Ok(_), None) => {}
                    (ended, Some(expected)) => assert_eq!(rule(ended), expected, "{kind:?}: {context}"),
                    (Err(error), None) => panic!("{kind:?}: {context}: {error}"),
                }
            }
            assert_alike(&nodes, context);
            let results = rows(nodes.node(2), results).len();
            assert_eq!(results, usize::from(expected.is_none()), "{kind:?}: {context}");
        }
    }
}

/// A row comes and goes between two looks of this node: each of the two changes counts.
#[test]
fn a_row_that_was_there_in_between_counts() {
    let (nodes, table, results) = three(Kind::Hyper, options());
    let filter = is_of(7);
    let mut open = begin(nodes.node(1), Mode::ReadWrite);
    assert!(select(&mut open, &Scan::table(table).filter(&filter)).expect("nobody in the way").is_empty());
    write(nodes.node(0), table, &[(1, Some((7, 10)))]);
    write(nodes.node(0), table, &[(1, Some((1, 10)))]);
    open.put(results, b"seen", RowBuf::from_bytes(b"0").row()).expect("nobody in the way");
    assert_eq!(rule(open.commit()), "predicate-met");
    assert_alike(&nodes, "in between");
}

/// A node that is delivered in one batch what others were delivered one by one finds the same rows before each write.
#[test]
fn a_node_with_other_batches_decides_alike() {
    for kind in KINDS {
        for class in [7, 8] {
            let (nodes, table, results) = three(kind, options());
            let filter = is_of(class);
            let mut open = begin(nodes.node(1), Mode::ReadWrite);
            assert!(select(&mut open, &Scan::table(table).filter(&filter)).expect("nobody in the way").is_empty());
            nodes.sequencer.cut_off(2);
            write(nodes.node(0), table, &[(1, Some((7, 10)))]);
            write(nodes.node(0), table, &[(1, Some((3, 10)))]);
            write(nodes.node(0), table, &[(1, None)]);
            write(nodes.node(0), table, &[(1, Some((4, 10)))]);
            open.put(results, b"seen", RowBuf::from_bytes(b"0").row()).expect("nobody in the way");
            let ended = open.commit();
            assert_eq!(ended.is_err(), class == 7, "{kind:?}: {ended:?}");
            nodes.sequencer.connect(2);
            assert_alike(&nodes, "batches");
        }
    }
}

/// Who reads some columns of a row is not refused for others.
#[test]
fn a_read_of_some_columns_is_one_of_those() {
    for kind in KINDS {
        let (nodes, table, _) = three(kind, options());
        let mut row = RowBuf::new();
        let mut ends = |columns: Columns<'_>, item: Option<Item>| {
            let mut open = begin(nodes.node(1), Mode::ReadWrite);
            assert!(open.read(table, &key(1), columns, &mut row).expect("nobody in the way"));
            write(nodes.node(0), table, &[(1, item)]);
            open.commit().err().map(|error| error.abort().expect("an abort").rule)
        };
        assert_eq!(ends(Columns::Some(&[CLASS]), Some((1, 11))), None);
        assert_eq!(ends(Columns::Some(&[CLASS]), Some((2, 11))), Some("key-changed"));
        assert_eq!(ends(Columns::None, Some((3, 33))), None, "it is there as before");
        assert_eq!(ends(Columns::All, Some((3, 34))), Some("key-changed"));
        assert_eq!(ends(Columns::None, None), Some("key-changed"));
    }
}

/// What a sieve leaves out depends on its column, which the scan need not return.
#[test]
fn a_sieve_has_read_its_column() {
    let (nodes, table, _) = three(Kind::Hyper, options());
    let sieves = [(SIZE, Sieve::of(&[10, 20]))];
    let scan = Scan { sieves: &sieves, ..Scan::table(table).columns(Columns::Some(&[CLASS])) };
    let mut open = begin(nodes.node(1), Mode::ReadWrite);
    assert_eq!(select(&mut open, &scan).expect("nobody in the way").len(), 2);
    write(nodes.node(0), table, &[(1, Some((1, 11)))]);
    assert_eq!(rule(open.commit()), "range-changed");
}

/// `count(*)` looks at no column: rows may change, and not come or go.
#[test]
fn a_count_is_changed_by_rows_that_come_and_go() {
    let (nodes, table, _) = three(Kind::Hyper, options());
    let ends = |writes: &[(i64, Option<Item>)]| {
        let mut open = begin(nodes.node(1), Mode::ReadWrite);
        select(&mut open, &Scan::table(table).columns(Columns::None)).expect("nobody in the way");
        write(nodes.node(0), table, writes);
        open.commit().err().map(|error| error.abort().expect("an abort").rule)
    };
    assert_eq!(ends(&[(1, Some((9, 9))), (2, Some((9, 9)))]), None);
    assert_eq!(ends(&[(3, Some((9, 9)))]), Some("range-changed"));
    assert_eq!(ends(&[(1, None)]), Some("range-changed"));
}

/// The greatest value is protected, and nothing below it.
#[test]
fn an_extreme_is_changed_by_what_lies_beyond_it() {
    for kind in KINDS {
        for (own, cases) in [
            (None, [(1, Some((1, 19)), None), (3, Some((1, 15)), None), (1, Some((1, 21)), Some("predicate-met"))]),
            (None, [(1, None, None), (3, Some((1, 20)), None), (2, Some((2, 5)), Some("predicate-met"))]),
            // The own row is the greatest: what is below it may go.
            (
                Some((1, 30)),
                [(2, Some((2, 5)), None), (3, Some((1, 30)), None), (3, Some((1, 31)), Some("predicate-met"))],
            ),
        ] {
            let (nodes, table, _) = three(kind, options());
            let mut row = RowBuf::new();
            for (id, item, expected) in cases {
                let mut open = begin(nodes.node(1), Mode::ReadWrite);
                own.inspect(|own| put(&mut open, table, 7, Some(*own)).expect("nobody in the way"));
                let scan = Scan::table(table).columns(Columns::Some(&[SIZE]));
                let found = open.extreme(&scan, Extreme::greatest(SIZE), &mut row).expect("nobody in the way");
                assert!(found.is_some() && row.row().width() == 1);
                write(nodes.node(0), table, &[(id, item)]);
                let ended = open.commit().err().map(|error| error.abort().expect("an abort").rule);
                // The row that was found is read as a row: its own change is found there first.
                let is_found = found == Some(key(id)) && ended == Some("key-changed");
                assert!(ended == expected || expected.is_some() && is_found, "{kind:?}, {id}, {item:?}: {ended:?}");
                nodes.wait();
                own.inspect(|_| write(nodes.node(0), table, &[(7, None)]));
            }
        }
    }
}

#[test]
fn a_filtered_scan_in_pages_and_backward_is_one_predicate() {
    let (nodes, table, _) = three(Kind::Mvto, options());
    write(nodes.node(0), table, &(3..40).map(|id| (id, Some((id % 4, id)))).collect::<Vec<_>>());
    nodes.wait();
    let filter = is_of(1);
    for scan in [Scan::table(table).filter(&filter), Scan::table(table).filter(&filter).backward()] {
        for (item, expected) in [((2, 50), None), ((1, 50), Some("predicate-met"))] {
            let mut open = begin(nodes.node(1), Mode::ReadWrite);
            let (mut left, mut pages) = (scan.clone().examine(5), 0);
            while let model::ScanEnd::Stopped(key) =
                open.scan(&left, &mut |_| ControlFlow::Continue(())).expect("nobody in the way")
            {
                left = left.resume(key);
                pages += 1;
            }
            assert!(pages > 3);
            write(nodes.node(0), table, &[(5, Some((2, 7)))]);
            assert_eq!(rule(open.commit()), "predicate-met", "it was of the class");
            write(nodes.node(0), table, &[(5, Some((3, 7)))]);
            let mut open = begin(nodes.node(1), Mode::ReadWrite);
            nodes.wait();
            select(&mut open, &scan).expect("nobody in the way");
            write(nodes.node(0), table, &[(50, Some(item))]);
            let ended = open.commit().err().map(|error| error.abort().expect("an abort").rule);
            assert_eq!(ended, expected);
            write(nodes.node(0), table, &[(5, Some((1, 7))), (50, None)]);
            nodes.wait();
        }
    }
}

/// Predicates that were read before a restart, or before a node fetched the state of another one, are certified with the rows that were
/// overwritten meanwhile, on every node alike.
#[test]
fn a_later_life_and_a_fetched_state_certify_predicates_alike() {
    for kind in KINDS {
        for class in [7, 8] {
            let kept = OrderLimits { kept_bytes: 1 << 10, ..OrderLimits::default() };
            let mut nodes = Nodes::open_with(3, kind, Options { is_durable: true, ..options() }, kept);
            let table = create(nodes.node(0));
            write(nodes.node(0), table, &[(1, Some((1, 10))), (2, Some((2, 20)))]);
            nodes.wait();
            let filter = is_of(class);
            let mut open = begin(nodes.node(1), Mode::ReadWrite);
            assert!(select(&mut open, &Scan::table(table).filter(&filter)).expect("nobody in the way").is_empty());
            // Gone for so long that it fetches a state.
            drop(nodes.stop(2));
            write(nodes.node(0), table, &[(1, Some((7, 10)))]);
            write(nodes.node(0), table, &[(1, Some((3, 10)))]);
            write(nodes.node(0), table, &[(1, None)]);
            for at in 0..50 {
                write(nodes.node(0), table, &[(1, Some((4, at)))]);
            }
            nodes.wait();
            let local = nodes.locals[&0].clone();
            drop(nodes.stop(0));
            nodes.start(0, local).wait_until_current(PATIENCE).expect("it comes");
            let fetching = nodes.start(2, kind.in_memory());
            fetching.wait_until_current(PATIENCE).expect("it comes");
            assert_eq!((fetching.status().fetched, nodes.node(0).status().fetched), (1, 0));
            put(&mut open, table, 9, Some((9, 9))).expect("nobody in the way");
            let ended = open.commit().err().map(|error| error.abort().expect("an abort").rule);
            assert_eq!(ended, (class == 7).then_some("predicate-met"), "{kind:?}");
            assert_alike(&nodes, "a later life and a fetched state");
        }
    }
}

/// Nodes over stores of two kinds, which put their rows together in their own ways, remember the same.
#[test]
fn nodes_over_different_stores_decide_alike() {
    let mut nodes = Nodes::open(2, Kind::Hyper, options());
    nodes.start(2, Kind::Mvto.in_memory()).wait_until_current(PATIENCE).expect("it comes");
    let schema = Schema::table("texts").column("id", ColumnType::Int).nullable("name", ColumnType::Text);
    let schema = schema.nullable("note", ColumnType::Text).key(["id"]).build().expect("a good schema");
    let table = nodes.node(0).create_table_unlisted(schema).expect("a new table");
    nodes.wait();
    let mut random = Randomness::from_seed(5);
    for at in 0..200 {
        let mut open = begin(nodes.node(at % 3), Mode::ReadWrite);
        let id = random.in_range(0..6) as i64;
        let text = "x".repeat(random.in_range(0..9) as usize);
        let text = if text.is_empty() { ValueRef::Null } else { ValueRef::Text(&text) };
        match random.in_range(0..4) {
            0 => _ = open.delete(table, &key(id)).expect("nobody in the way"),
            1 => {
                let delta = Delta::new().set(1, text.to_owned());
                _ = open.update(table, &key(id), &delta).expect("nobody in the way");
            }
            _ => {
                let row = RowBuf::from_values(&[ValueRef::Int(id), text, ValueRef::Text("note")]);
                open.put(table, &key(id), row.row()).expect("nobody in the way");
            }
        }
        open.commit().expect("one after the other");
        nodes.wait();
    }
    let windows: Vec<_> =
        nodes.nodes.values().map(|node| (node.status().window_bytes, node.status().window_floor)).collect();
    assert!(windows.windows(2).all(|pair| pair[0] == pair[1]), "{windows:?}");
    assert_alike(&nodes, "stores");
}

/// Whatever is selected and written meanwhile: who commits has seen what is there at its place, and who is refused has not, or another
/// transaction had changed it in between.
#[test]
fn who_commits_has_seen_what_is_there_at_its_place() {
    let (mut committed, mut refused) = (0, 0);
    for kind in KINDS {
        let limits = Limits { window_transactions: 64, ..Limits::default() };
        let (nodes, table, results) = three(kind, Options { limits, ..options() });
        let mut random = Randomness::from_seed(11);
        let mut now: BTreeMap<i64, Item> = BTreeMap::from([(1, (1, 10)), (2, (2, 20))]);
        for round in 0..150 {
            let (lower, class, size) =
                (random.in_range(0..8) as i64, random.in_range(0..3) as i64, random.in_range(0..4) as i64);
            let filter = match random.in_range(0..3) {
                0 => is_of(class),
                1 => Predicate::And(vec![is_of(class), Predicate::Compare(SIZE, Comparison::Less, Value::Int(size))]),
                _ => Predicate::Not(Box::new(is_of(class))),
            };
            let columns: &[u16] = [&[CLASS][..], &[SIZE], &[], &[0, CLASS, SIZE]][random.in_range(0..4) as usize];
            let scan = Scan::table(table).between(Bound::Included(key(lower)), Bound::Unbounded);
            let scan = scan.filter(&filter).columns(Columns::Some(columns));
            let answer = |items: &BTreeMap<i64, Item>| -> Vec<(Key, RowBuf)> {
                let shown = |(id, item): (&i64, &Item)| {
                    let (whole, mut shown) = (row(*id, *item), RowBuf::new());
                    shown.project(whole.row(), Columns::Some(columns));
                    filter.matches(whole.row()).then(|| (key(*id), shown))
                };
                items.range(lower..).filter_map(shown).collect()
            };
            let mut open = begin(nodes.node(1), Mode::ReadWrite);
            let seen = select(&mut open, &scan).expect("nobody in the way");
            assert_eq!(seen, answer(&now), "{kind:?}, round {round}: a snapshot");
            let mut has_changed = false;
            for _ in 0..random.in_range(0..4) {
                let id = random.in_range(0..8) as i64;
                let item = random.chance(3, 4).then(|| (random.in_range(0..3) as i64, random.in_range(0..4) as i64));
                write(nodes.node(random.in_range(0..3)), table, &[(id, item)]);
                match item {
                    Some(item) => _ = now.insert(id, item),
                    None => _ = now.remove(&id),
                }
                has_changed |= answer(&now) != seen;
            }
            if random.chance(1, 2) {
                open.put(results, b"seen", RowBuf::from_bytes(b"1").row()).expect("nobody in the way");
            }
            let ended = open.commit();
            assert_eq!(ended.is_err(), has_changed, "{kind:?}, round {round}: {filter} {columns:?}: {ended:?}");
            *(if has_changed { &mut refused } else { &mut committed }) += 1;
            nodes.wait();
        }
        assert_alike(&nodes, "oracle");
    }
    assert!(committed > 50 && refused > 50, "{committed} committed, {refused} refused");
}

/// The first payload of a life of version 1, with the default limits.
const OLD_HELLO: &[u8] = &[1, 1, 0x80, 0x80, 4, 0x80, 0x80, 0x80, 8, 0x80, 0x80, 2, 1];
/// A transaction of version 1 that has read nothing and written nothing.
const OLD_TRANSACTION: &[u8] = &[2, 0, 0, 0, 0, 0];
/// The root of version 1: generation 0, place (5, 0), 3 transactions, next table 1, no floor, the limits that were agreed on.
const OLD_ROOT: &[u8] = &[0, 1, 5, 0, 3, 1, 0, 0, 1, 1, 0x80, 0x80, 4, 0x80, 0x80, 0x80, 8, 0x80, 0x80, 2];

#[test]
fn version_1_is_refused_by_name() {
    // Its state in a local store.
    let local = Kind::Hyper.in_memory();
    for name in ["cluster root", "cluster 0 state"] {
        local.create_table(Schema::bytes(name).build().expect("a good schema")).expect("a new table");
    }
    let root = local.tables()[0].0;
    let mut open = local.begin(Begin::default()).expect("room");
    open.put(root, b"root", RowBuf::from_bytes(OLD_ROOT).row()).expect("nobody in the way");
    open.commit().expect("nobody in the way");
    let order: Arc<dyn TotalOrder> = Arc::new(Sequencer::new(OrderLimits::default()).join(0, None));
    let refused = Cluster::open(local, order, Arc::new(NoStates), options()).expect_err("an old state");
    assert!(
        matches!(&refused, Error::Fault(Fault::NewerFormat { detail }) if detail.contains("version 1")),
        "{refused}"
    );
    // A node of it that joins: the others do not count it, and go on.
    let (nodes, table, _) = three(Kind::Hyper, options());
    let old = nodes.sequencer.join(7, None);
    old.propose(OLD_HELLO.into()).expect("room");
    write(nodes.node(0), table, &[(1, Some((1, 11)))]);
    nodes.wait();
    assert_eq!(nodes.node(0).status().members.len(), 3);
    // Nodes of it that were there first.
    for with_transaction in [false, true] {
        let sequencer = Sequencer::new(OrderLimits::default());
        let old = sequencer.join(7, None);
        old.propose(OLD_HELLO.into()).expect("room");
        if with_transaction {
            old.propose(OLD_TRANSACTION.into()).expect("room");
        }
        let order: Arc<dyn TotalOrder> = Arc::new(sequencer.join(0, None));
        let node = Cluster::open(Kind::Hyper.in_memory(), order, Arc::new(NoStates), options()).expect("it opens");
        let refused = node.wait_until_current(PATIENCE).expect_err("another version").to_string();
        assert!(refused.contains("another version"), "{refused}");
        assert_eq!(refused.contains("node 7"), with_transaction, "{refused}");
    }
}

//! Scans and searches that find nothing end when their supervisor says so, and the transaction goes on.

use model::columns::{Batch, batches};
use model::{
    Abort, AbortClass, Access, Begin, ColumnType, Columns, Comparison, Error, Extreme, Finish, Interactive, Key, Mode,
    Predicate, Result, RowBuf, Scan, Schema, Supervisor, TableId, Timestamp, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

/// Rows: 5,000 blocks of four.
const ROWS: i64 = 20_000;

/// Lets so many looks pass, and counts them.
#[derive(Debug, Default)]
struct After {
    passing: AtomicU64,
    looks: AtomicU64,
}

impl After {
    /// The looks since the last call; from now on so many pass.
    fn pass(&self, looks: u64) -> u64 {
        self.passing.store(looks, Relaxed);
        self.looks.swap(0, Relaxed)
    }
}

impl Supervisor for After {
    fn transaction_begins(&self, _: Timestamp) {}

    fn wait_limit(&self) -> Option<Duration> {
        let look = self.looks.fetch_add(1, Relaxed);
        (look >= self.passing.load(Relaxed)).then_some(Duration::ZERO)
    }

    fn wait_begins(&self, _: &Abort, _: Waker) {}

    fn wait_ends(&self) {}
}

/// A loop that passes over all rows.
#[derive(Clone, Copy, Debug)]
enum Way {
    Batches,
    Extreme,
    ExtremeOfView,
}

fn filled() -> (Hyper, TableId) {
    let engine = Hyper::new(Options { block_rows: 4, ..Options::default() });
    let schema = Schema::table("t").column("id", ColumnType::Int).column("v", ColumnType::Int).key(["id"]);
    let table = engine.create_table(schema.build().expect("a good schema")).expect("a new table");
    let mut load = engine.begin(Begin::default()).expect("room for one more");
    for id in 0..ROWS {
        let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Int(id % 10)]);
        load.insert(table, &key(id), row.row()).expect("a new key");
    }
    load.commit().expect("nobody in the way");
    (engine, table)
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

/// Rows with the value, of the whole table or of a range that has all of it.
fn look_for(
    open: &mut Transaction<&Hyper>,
    table: TableId,
    engine: &Hyper,
    (way, is_range, value): (Way, bool, i64),
) -> Result<usize> {
    let filter = Predicate::Compare(1, Comparison::Equal, Value::Int(value));
    let mut scan = Scan::table(table).filter(&filter).columns(Columns::Some(&[1]));
    if is_range {
        scan = scan.between(Bound::Included(key(0)), Bound::Unbounded);
    }
    let (of, mut row) = (Extreme::least(0), RowBuf::new());
    match way {
        Way::Extreme => Ok(usize::from(open.extreme(&scan, of, &mut row)?.is_some())),
        Way::ExtremeOfView => {
            let view = open.shared_reads().expect("it shares reads").read_view()?;
            let extremes = view.extremes().expect("it protects them");
            Ok(usize::from(extremes.extreme(&scan, of, &mut row)?.is_some()))
        }
        Way::Batches => {
            let schema = engine.tables()[0].1.clone();
            let view = open.shared_reads().expect("it shares reads").read_view()?;
            let scan = batches(&*view, &schema, scan)?;
            let (mut batch, mut rows) = (Batch::default(), 0);
            while scan.next(&mut batch)? {
                rows += batch.len();
            }
            Ok(rows)
        }
    }
}

#[test]
fn scans_that_find_nothing_look_whether_they_must_stop() {
    let (engine, table) = filled();
    for mode in [Mode::ReadOnly, Mode::ReadWrite, Mode::OwnAtStatement] {
        for way in [Way::Batches, Way::Extreme, Way::ExtremeOfView] {
            for is_range in [false, true] {
                let what = format!("{way:?}, range {is_range}, {mode:?}");
                let after = Arc::new(After::default());
                let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
                open.supervised().expect("its waits can be watched").set_supervisor(after.clone());
                after.pass(u64::MAX);
                let nothing = (way, is_range, -1);
                assert_eq!(look_for(&mut open, table, &engine, nothing).expect("it may go on"), 0, "{what}");
                let all = after.pass(0);
                assert!(all >= 4, "{what}: it looks all along, and not {all} times");
                // What was raised before it began ends it at its first look, what is raised later at the next one.
                for passing in [0, 2] {
                    after.pass(passing);
                    match look_for(&mut open, table, &engine, nothing) {
                        Err(Error::Unavailable(abort)) => assert_eq!(abort.class, AbortClass::Interrupted, "{what}"),
                        other => panic!("{what}: {other:?}"),
                    }
                    assert_eq!(after.pass(u64::MAX), passing + 1, "{what}: it reads nothing behind the look");
                }
                assert!(open.poison().is_none(), "{what}: only the statement has failed");
                let found = look_for(&mut open, table, &engine, (way, is_range, 3)).expect("it may go on");
                assert_eq!(found, if matches!(way, Way::Batches) { ROWS as usize / 10 } else { 1 }, "{what}");
                open.commit().expect("nobody in the way");
            }
        }
    }
}

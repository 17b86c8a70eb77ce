//! Scans and searches that find nothing, and what waits behind a commit, end when their supervisor says so, and the transaction goes on.

use env::{Operation, SimDisk, SimDiskOptions, WatchedDisk};
use model::columns::{Batch, batches};
use model::{
    Abort, AbortClass, Access, Begin, ColumnType, Columns, Comparison, Durability, Error, Extreme, Finish, Interactive,
    Key, Mode, Predicate, Result, RowBuf, Scan, Schema, Supervisor, TableId, Timestamp, Value, ValueRef,
};
use seriatim_hyper::{Hyper, LogOptions, Options, Transaction};
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::thread;
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

/// What meets a row of a commit that is not decided.
#[derive(Clone, Copy, Debug)]
enum Meets {
    Point,
    Range,
    Batches,
    Extreme,
    PointOfView,
    RangeOfView,
    BatchesOfRange,
    ExtremeOfView,
    Write,
}

const ALL_MEET: [Meets; 9] = {
    use Meets::*;
    [Point, Range, Batches, Extreme, PointOfView, RangeOfView, BatchesOfRange, ExtremeOfView, Write]
};

/// Rows of a commit whose record is longer than the log's buffer, in parts that are shorter.
const LONG_ROWS: i64 = 400;

/// Says that it has stopped, and waits until it may go on.
type Gate = (mpsc::Sender<()>, mpsc::Receiver<()>);

/// An engine whose log, once it is told to, stops at its next write, says so, and goes on when it may.
struct Stopping {
    engine: Hyper,
    table: TableId,
    stop: Arc<Mutex<Option<Gate>>>,
}

impl Stopping {
    fn new() -> Stopping {
        let stop = Arc::new(Mutex::new(None::<Gate>));
        let disk = WatchedDisk::new(SimDisk::new(1, SimDiskOptions::default()), {
            let stop = Arc::clone(&stop);
            move |operation, path| {
                if matches!(operation, Operation::Write | Operation::WriteDurable) && path.ends_with(".log") {
                    let stop = stop.lock().expect("no test has failed").take();
                    if let Some((stopped, go_on)) = stop {
                        stopped.send(()).expect("it is awaited");
                        go_on.recv().expect("it is told to go on");
                    }
                }
            }
        });
        // The committer waits for room in the log while a test does what it does, however slowly.
        let append_timeout = Duration::from_secs(3600);
        let log = LogOptions { part_bytes: 1 << 12, buffer_bytes: 1 << 16, append_timeout, ..LogOptions::default() };
        let options = Options { log, durability: Durability::None, ..Options::default() };
        let engine = Hyper::open(Arc::new(disk), options).expect("a new database");
        let schema = Schema::table("t").column("id", ColumnType::Int).column("v", ColumnType::Text).key(["id"]);
        let table = engine.create_table(schema.build().expect("a good schema")).expect("a new table");
        Stopping { engine, table, stop }
    }

    fn begin(&self, mode: Mode, after: &Arc<After>) -> Transaction<&Hyper> {
        let mut open = self.engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
        after.pass(u64::MAX);
        open.supervised().expect("its waits can be watched").set_supervisor(after.clone());
        open
    }

    /// Commits long rows, and has the log stop in the midst of that, when their timestamp is drawn. Calls `beside`, then lets it go on.
    fn beside_a_long_commit(&self, beside: impl FnOnce()) {
        let ((stopped, is_stopped), (go_on, gate)) = (mpsc::channel(), mpsc::channel());
        let mut long = self.engine.begin(Begin::default()).expect("room for one more");
        let text = "long ".repeat(200);
        for id in 0..LONG_ROWS {
            let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text(&text)]);
            long.put(self.table, &key(id), row.row()).expect("nobody in the way");
        }
        *self.stop.lock().expect("no test has failed") = Some((stopped, gate));
        thread::scope(|scope| {
            let committer = scope.spawn(|| long.commit().expect("it conflicts with nobody"));
            is_stopped.recv().expect("it writes");
            beside();
            go_on.send(()).expect("it waits");
            committer.join().expect("it commits");
        });
    }

    /// Returns how many of the rows it has met.
    fn meet(&self, open: &mut Transaction<&Hyper>, meets: Meets) -> Result<usize> {
        let (scan, of) = (Scan::table(self.table).columns(Columns::Some(&[0])), Extreme::least(0));
        let (mut row, mut rows) = (RowBuf::new(), 0);
        let mut count = |_: model::Item<'_>| {
            rows += 1;
            ControlFlow::Continue(())
        };
        match meets {
            Meets::Point => Ok(usize::from(open.read(self.table, &key(7), Columns::All, &mut row)?)),
            Meets::Range => open.scan(&scan, &mut count).map(|_| rows),
            Meets::Extreme => Ok(usize::from(open.extreme(&scan, of, &mut row)?.is_some())),
            Meets::Write => {
                let row = RowBuf::from_values(&[ValueRef::Int(7), ValueRef::Text("short")]);
                open.put(self.table, &key(7), row.row()).map(|()| 1)
            }
            Meets::PointOfView => {
                let view = open.shared_reads().expect("it shares reads").read_view()?;
                Ok(usize::from(view.read(self.table, &key(7), Columns::All, &mut row)?))
            }
            Meets::RangeOfView => {
                let view = open.shared_reads().expect("it shares reads").read_view()?;
                view.scan(&scan, &mut count).map(|_| rows)
            }
            Meets::ExtremeOfView => {
                let view = open.shared_reads().expect("it shares reads").read_view()?;
                let extremes = view.extremes().expect("it protects them");
                Ok(usize::from(extremes.extreme(&scan, of, &mut row)?.is_some()))
            }
            Meets::Batches | Meets::BatchesOfRange => {
                let range = scan.clone().between(Bound::Included(key(0)), Bound::Unbounded);
                let scan = if matches!(meets, Meets::Batches) { scan } else { range };
                let schema = self.engine.tables()[0].1.clone();
                let view = open.shared_reads().expect("it shares reads").read_view()?;
                let (scan, mut batch) = (batches(&*view, &schema, scan)?, Batch::default());
                while scan.next(&mut batch)? {
                    rows += batch.len();
                }
                Ok(rows)
            }
        }
    }
}

fn assert_interrupted<T: std::fmt::Debug>(ended: Result<T>, what: &str) {
    match ended {
        Err(Error::Unavailable(abort) | Error::Aborted(abort)) => {
            assert_eq!(abort.class, AbortClass::Interrupted, "{what}");
        }
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn whatever_waits_behind_a_commit_looks_whether_it_must_stop() {
    for mode in [Mode::ReadOnly, Mode::ReadWrite, Mode::OwnAtStatement] {
        for meets in ALL_MEET.into_iter().filter(|meets| mode != Mode::ReadOnly || !matches!(meets, Meets::Write)) {
            let (stopping, what, after) = (Stopping::new(), format!("{meets:?}, {mode:?}"), Arc::new(After::default()));
            let mut open = stopping.begin(mode, &after);
            stopping.beside_a_long_commit(|| {
                after.pass(3);
                assert_interrupted(stopping.meet(&mut open, meets), &what);
                assert!(after.pass(u64::MAX) > 3, "{what}: it has looked");
                assert!(open.poison().is_none(), "{what}: only the statement has failed");
            });
            let is_of_all = matches!(meets, Meets::Range | Meets::RangeOfView | Meets::Batches | Meets::BatchesOfRange);
            let all = if is_of_all { LONG_ROWS } else { 1 };
            assert_eq!(stopping.meet(&mut open, meets).expect("it may go on"), all as usize, "{what}");
            open.commit().expect("nobody in the way");
        }
    }
}

#[test]
fn a_validation_behind_a_commit_looks_whether_it_must_stop() {
    let (stopping, after) = (Stopping::new(), Arc::new(After::default()));
    let mut open = stopping.begin(Mode::ReadWrite, &after);
    assert_eq!(stopping.meet(&mut open, Meets::Range).expect("nobody in the way"), 0);
    let row = RowBuf::from_values(&[ValueRef::Int(-1), ValueRef::Text("short")]);
    open.put(stopping.table, &key(-1), row.row()).expect("nobody in the way");
    stopping.beside_a_long_commit(|| {
        after.pass(3);
        assert_interrupted(open.commit(), "a commit");
    });
    let mut later = stopping.begin(Mode::ReadOnly, &after);
    let rows = stopping.meet(&mut later, Meets::Range).expect("nobody in the way");
    assert_eq!(rows, LONG_ROWS as usize, "what was interrupted has committed nothing");
}

/// Readers sleep, and are woken by the decision.
#[test]
fn readers_behind_a_commit_sleep_until_it_is_decided() {
    let stopping = Stopping::new();
    thread::scope(|scope| {
        let reader = || {
            let mut open = stopping.engine.begin(Begin::default()).expect("room for one more");
            stopping.meet(&mut open, Meets::Range).expect("it waits")
        };
        let mut readers = Vec::new();
        stopping.beside_a_long_commit(|| {
            readers.extend((0..3).map(|_| scope.spawn(reader)));
            while stopping.engine.stats().asleep < 3 {
                thread::yield_now();
            }
        });
        readers.into_iter().for_each(|reader| assert_eq!(reader.join().expect("it reads"), LONG_ROWS as usize));
    });
}

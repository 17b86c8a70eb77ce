//! Waits that are ended from outside, and the state of the statement and its transaction afterwards.

mod support;

use model::{
    Abort, Access, Begin, Columns, Error, Finish, Interactive, Key, Mode, RowBuf, Supervised, Supervisor, Timestamp,
};
use seriatim_mvto::Options;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::thread;
use std::time::Duration;
use support::{Open, all, begin, begin_as, get, put, rule, with_registers};

/// Ends waits when it is asked to, and reports them.
#[derive(Debug)]
struct TestSupervisor {
    begun: AtomicU64,
    raised: AtomicBool,
    waker: Mutex<Option<Waker>>,
    waits: Mutex<mpsc::Sender<Abort>>,
}

impl TestSupervisor {
    fn new() -> (Arc<TestSupervisor>, mpsc::Receiver<Abort>) {
        let (waits, reported) = mpsc::channel();
        let (begun, raised) = (AtomicU64::new(0), AtomicBool::new(false));
        (Arc::new(TestSupervisor { begun, raised, waker: Mutex::default(), waits: Mutex::new(waits) }), reported)
    }

    fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
        let waker = self.waker.lock().expect("no panic").clone();
        waker.expect("somebody waits").wake();
    }
}

impl Supervisor for TestSupervisor {
    fn transaction_begins(&self, transaction: Timestamp) {
        self.begun.store(transaction.0, Ordering::Relaxed);
    }

    fn wait_limit(&self) -> Option<Duration> {
        self.raised.load(Ordering::Relaxed).then_some(Duration::ZERO)
    }

    fn wait_begins(&self, wait: &Abort, waker: Waker) {
        *self.waker.lock().expect("no panic") = Some(waker);
        let _ = self.waits.lock().expect("no panic").send(wait.clone()); // Not every test listens.
    }

    fn wait_ends(&self) {
        *self.waker.lock().expect("no panic") = None;
    }
}

#[track_caller]
fn unavailable<T: std::fmt::Debug>(result: Result<T, Error>) -> Abort {
    match result {
        Err(Error::Unavailable(abort)) => *abort,
        other => panic!("the end of a wait, not {other:?}"),
    }
}

fn supervised(
    engine: &support::Engine,
    mode: Mode,
    limit: Option<Duration>,
) -> (Open, Arc<TestSupervisor>, mpsc::Receiver<Abort>) {
    let mut transaction = engine.begin_owned(Begin { mode, wait_limit: limit, ..Begin::default() }).expect("begin");
    let (supervisor, reported) = TestSupervisor::new();
    transaction.set_supervisor(supervisor.clone());
    (transaction, supervisor, reported)
}

const FOR_EVER: Option<Duration> = Some(Duration::from_secs(3600));

/// The statement is given up, and nothing else: the transaction keeps what it holds, goes on, and commits.
#[test]
fn a_wait_that_is_ended_from_outside_fails_its_statement_only() {
    let (engine, _, table) = with_registers(Options { sites: 1, ..Options::default() }, &[(1, 1), (2, 2)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 10).expect("nobody in the way");
    let (mut waiter, supervisor, reported) = supervised(&engine, Mode::OwnAtStatement, FOR_EVER);
    put(&mut waiter, table, 2, 20).expect("nobody in the way");
    let met = thread::scope(|scope| {
        let waiting = scope.spawn(|| unavailable(put(&mut waiter, table, 1, 11)));
        let wait = reported.recv().expect("it waits");
        assert_eq!(wait.other, owner.timestamp(), "it says for whom");
        assert_eq!(wait.transaction.0, supervisor.begun.load(Ordering::Relaxed), "and was given its own name before");
        supervisor.raise();
        waiting.join().expect("no panic")
    });
    assert_eq!((met.rule, met.other), ("interrupted", owner.timestamp()));
    assert_eq!(engine.stats().asleep, 0);
    supervisor.raised.store(false, Ordering::Relaxed);
    waiter.commit().expect("it lives on");
    owner.commit().expect("it was not disturbed");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 10), (2, 20)]);
}

/// A snapshot that waits for older writers to end can be ended, too, and may begin again.
#[test]
fn the_wait_of_a_snapshot_is_ended_from_outside() {
    let (engine, _, table) = with_registers(Options { sites: 1, ..Options::default() }, &[(1, 1)]);
    let mut writer = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut writer, table, 1, 2).expect("nobody in the way");
    let (mut snapshot, supervisor, reported) = supervised(&engine, Mode::Snapshot, FOR_EVER);
    let met = thread::scope(|scope| {
        let waiting = scope.spawn(|| unavailable(get(&mut snapshot, table, 1)));
        assert_eq!(reported.recv().expect("it waits").other, writer.timestamp());
        supervisor.raise();
        waiting.join().expect("no panic")
    });
    assert_eq!(met.rule, "interrupted");
    supervisor.raised.store(false, Ordering::Relaxed);
    writer.commit().expect("nobody in the way");
    assert_eq!(get(&mut snapshot, table, 1).expect("nothing is older"), Some(2));
}

/// The limit on waiting, as a supervised transaction meets it.
#[test]
fn a_supervised_transaction_outlives_the_limit_on_waiting() {
    let (engine, _, table) = with_registers(Options { sites: 1, ..Options::default() }, &[(1, 1), (2, 2)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 10).expect("nobody in the way");
    let (mut waiter, ..) = supervised(&engine, Mode::OwnAtStatement, Some(Duration::from_millis(1)));
    let before = waiter.savepoint().expect("it begins");
    put(&mut waiter, table, 2, 20).expect("nobody in the way");
    assert_eq!(unavailable(put(&mut waiter, table, 1, 11)).rule, "wait-limit");
    waiter.rollback_to(&before).expect("it lives");
    waiter.commit().expect("nothing is left to wait for");
    drop(owner);
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1), (2, 2)]);
}

/// NOWAIT: what an older transaction holds is unavailable at once, and what a younger one holds, too.
#[test]
fn without_waiting_whatever_is_held_is_unavailable() {
    let (engine, _, table) = with_registers(Options { sites: 1, ..Options::default() }, &[(1, 1), (2, 2)]);
    let mut older = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut older, table, 1, 10).expect("nobody in the way");
    let (mut hasty, ..) = supervised(&engine, Mode::OwnAtStatement, None);
    put(&mut hasty, table, 3, 30).expect("nobody in the way");
    let mut younger = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut younger, table, 2, 20).expect("nobody in the way");
    hasty.set_wait_limit(Some(Duration::ZERO));
    let mut row = model::RowBuf::new();
    let met = unavailable(hasty.read_for_update(table, &Key::from_u64(1), Columns::All, &mut row));
    assert_eq!((met.rule, met.other), ("wait-limit", older.timestamp()));
    let met = unavailable(hasty.read_for_update(table, &Key::from_u64(2), Columns::All, &mut row));
    assert_eq!((met.rule, met.other), ("wait-limit", younger.timestamp()));
    hasty.set_wait_limit(None);
    assert_eq!(rule(put(&mut hasty, table, 2, 21)), "younger-owner", "with limit it is a conflict: it owns something");
}

/// One that owns at commit meets several owners that execute: it waits for each, with nothing in its hands, and then commits.
#[test]
fn a_commit_waits_for_all_owners_that_execute() {
    let rows: Vec<(u64, u64)> = (0..=3).map(|key| (key, key)).collect();
    let (engine, _, table) = with_registers(Options { sites: 1, ..Options::default() }, &rows);
    let mut owners: Vec<Open> = (1..=3).map(|_| begin_as(&engine, Mode::OwnAtStatement)).collect();
    for (key, owner) in (1..).zip(&mut owners) {
        put(owner, table, key, 10 * key).expect("nobody in the way");
    }
    let (mut committer, _, reported) = supervised(&engine, Mode::ReadWrite, FOR_EVER);
    (0..=3).for_each(|key| put(&mut committer, table, key, 100 + key).expect("it buffers"));
    thread::scope(|scope| {
        let committing = scope.spawn(|| committer.commit().expect("each owner ends"));
        for owner in owners {
            assert_eq!(reported.recv().expect("it waits").other, owner.timestamp(), "for one after the other");
            let mut beside = begin_as(&engine, Mode::OwnAtStatement);
            put(&mut beside, table, 0, 7).expect("whoever waits owns nothing");
            drop(beside);
            owner.commit().expect("nobody has read what it writes");
        }
        committing.join().expect("no panic");
    });
    let rows = all(&mut begin(&engine), table).expect("nobody in the way");
    assert_eq!(rows, [(0, 100), (1, 101), (2, 102), (3, 103)]);
}

/// Whoever passes over what others have does not take it for its own, also where it is older and has no supervisor.
#[test]
fn what_a_younger_transaction_owns_is_passed_over() {
    let (engine, _, table) = with_registers(Options::default(), &[(2, 1), (9, 1)]);
    let (mut old, mut young) = (begin_as(&engine, Mode::OwnAtStatement), begin_as(&engine, Mode::OwnAtStatement));
    put(&mut old, table, 9, 5).expect("nobody in the way");
    put(&mut young, table, 2, 7).expect("nobody in the way");
    let skips = old.skips_locked().expect("it can");
    let since = skips.begin_skipping().expect("nobody in the way");
    skips.skip(since, Arc::from([table]));
    let mut row = RowBuf::new();
    let taken = old.read_for_update(table, &Key::from_u64(2), Columns::All, &mut row);
    assert_eq!(rule(taken), "wait-limit");
    young.commit().expect("it is its own still");
    assert_eq!(get(&mut begin(&engine), table, 2).expect("nobody in the way"), Some(7));
}

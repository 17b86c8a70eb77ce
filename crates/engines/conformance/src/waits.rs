//! Waits between transactions: a waiter continues when the other transaction has ended, waits have a limit, they can be ended
//! from outside, and there is no deadlock. Threads synchronize on the engine's own count of sleepers.

use crate::fixture::{Knobs, Open, Waits, begin, with_registers};
use crate::registers::{get, get_for_update, insert, put, rule, state};
use model::{Abort, AbortClass, Begin, Error, Finish, Interactive, Mode, Result, Supervisor, TableId, Timestamp};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Waker;
use std::thread;
use std::time::Duration;

const X: u64 = 1;
const Y: u64 = 2;

/// Runs `blocked`, which has to wait, on a thread of its own, and `meanwhile` once it sleeps.
fn while_waiting<F: Waits, R: Send, M>(
    engine: &Arc<F::Engine>,
    blocked: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce() -> M,
) -> (R, M) {
    let asleep = F::asleep(engine);
    thread::scope(|scope| {
        let blocked = scope.spawn(blocked);
        while F::asleep(engine) == asleep {
            assert!(!blocked.is_finished(), "it did not have to wait");
            thread::yield_now();
        }
        let meanwhile = meanwhile();
        (blocked.join().expect("no panic"), meanwhile)
    })
}

/// An older transaction that holds X, and a younger one.
fn older_and_younger<F: Waits>() -> (Arc<F::Engine>, TableId, Open<F>, Open<F>) {
    let (engine, table) = with_registers::<F>(&Knobs::patient(), &[(X, 0), (Y, 0)]);
    let mut older = begin::<F>(&engine, Mode::OwnAtStatement);
    let younger = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut older, table, X, 7).expect("nobody in the way");
    (engine, table, older, younger)
}

/// A younger writer waits for an older one, and then sees what that one committed.
pub fn the_younger_waits_and_sees_what_was_committed<F: Waits>() {
    let (engine, table, older, mut younger) = older_and_younger::<F>();
    let blocked = || get_for_update(&mut younger, table, X);
    let (read, committed) = while_waiting::<F, _, _>(&engine, blocked, || older.commit());
    committed.expect("it does not wait");
    assert_eq!(read.expect("the older one has ended"), Some(7));
    put(&mut younger, table, X, 8).expect("it owns the row");
    younger.commit().expect("nobody in the way");
    assert_eq!(state::<F>(&engine, table), [(X, 8), (Y, 0)]);
}

/// A younger writer waits for an older one, and then sees what stood before its abort.
pub fn the_younger_waits_and_sees_what_stood_before_an_abort<F: Waits>() {
    let (engine, table, older, mut younger) = older_and_younger::<F>();
    let blocked = || get_for_update(&mut younger, table, X);
    let (read, ()) = while_waiting::<F, _, _>(&engine, blocked, || older.abort());
    assert_eq!(read.expect("the older one has ended"), Some(0));
    younger.commit().expect("nobody in the way");
    assert_eq!(state::<F>(&engine, table), [(X, 0), (Y, 0)]);
}

/// An insert waits for an insert of the same key, and is then a duplicate, or a conflict.
pub fn an_insert_waits_for_an_insert<F: Waits>() {
    let (engine, table, mut older, mut younger) = older_and_younger::<F>();
    insert(&mut older, table, 5, 1).expect("nobody in the way");
    let blocked = || insert(&mut younger, table, 5, 2);
    let (inserted, committed) = while_waiting::<F, _, _>(&engine, blocked, || older.commit());
    committed.expect("it does not wait");
    let refused = inserted.expect_err("the key is taken");
    assert!(matches!(refused, Error::Duplicate(_)) || refused.is_retryable(), "{refused}");
    drop(younger);
    assert_eq!(state::<F>(&engine, table), [(X, 7), (Y, 0), (5, 1)]);
}

/// Two that want each other's rows: one gives way and says why, the other one commits.
pub fn two_that_want_each_others_rows_do_not_deadlock<F: Waits>() {
    let (engine, table, older, mut younger) = older_and_younger::<F>();
    put(&mut younger, table, Y, 8).expect("nobody in the way");
    let finish = |mut open: Open<F>, key: u64, value: u64| -> Result<()> {
        put(&mut open, table, key, value)?;
        open.commit().map(drop)
    };
    let (first, second) = thread::scope(|scope| {
        let first = scope.spawn(move || finish(older, Y, 7));
        let second = scope.spawn(move || finish(younger, X, 8));
        (first.join().expect("no panic"), second.join().expect("no panic"))
    });
    assert!(first.is_ok() || second.is_ok(), "both gave way: {first:?} {second:?}");
    for refused in [&first, &second].into_iter().filter_map(|ended| ended.as_ref().err()) {
        assert!(refused.is_retryable() && refused.is_conflict(), "{refused}");
    }
    let rows = state::<F>(&engine, table);
    assert!([vec![(X, 7), (Y, 7)], vec![(X, 8), (Y, 8)]].contains(&rows), "one of them, whole: {rows:?}");
    assert_eq!(F::asleep(&engine), 0);
}

/// A limit ends a wait, of zero at once. The waiter is aborted and may be retried; the owner is not disturbed.
pub fn a_wait_has_a_limit<F: Waits>() {
    let (engine, table, older, _) = older_and_younger::<F>();
    for limit in [Duration::ZERO, Duration::from_millis(1)] {
        let how = Begin { mode: Mode::OwnAtStatement, wait_limit: Some(limit), ..Begin::default() };
        let mut waiter = engine.begin_owned(how).expect("room for one more");
        let refused = put(&mut waiter, table, X, 9);
        assert!(refused.as_ref().is_err_and(Error::is_retryable), "{refused:?}");
        let abort = refused.expect_err("a wait").abort().expect("an abort").clone();
        assert_eq!((abort.class, abort.other), (AbortClass::WaitLimit, older.timestamp()));
        assert_eq!(rule(put(&mut waiter, table, Y, 9)), abort.rule, "an aborted transaction returns nothing else");
        assert_eq!(rule(waiter.commit()), abort.rule);
    }
    older.commit().expect("it was not disturbed");
    assert_eq!(state::<F>(&engine, table), [(X, 7), (Y, 0)]);
}

/// Ends waits when told to, and passes on what waits.
#[derive(Debug)]
struct TestSupervisor {
    raised: AtomicBool,
    waker: Mutex<Option<Waker>>,
    waits: Mutex<mpsc::Sender<Abort>>,
}

impl TestSupervisor {
    fn raise(&self) {
        self.raised.store(true, SeqCst);
        let waker = self.waker.lock().expect("no panic").clone();
        waker.expect("somebody waits").wake();
    }
}

impl Supervisor for TestSupervisor {
    fn transaction_begins(&self, _: Timestamp) {}

    fn wait_limit(&self) -> Option<Duration> {
        self.raised.load(SeqCst).then_some(Duration::ZERO)
    }

    fn wait_begins(&self, wait: &Abort, waker: Waker) {
        *self.waker.lock().expect("no panic") = Some(waker);
        let _ = self.waits.lock().expect("no panic").send(wait.clone()); // The test may have ended.
    }

    fn wait_ends(&self) {
        *self.waker.lock().expect("no panic") = None;
    }
}

/// A supervisor sees a wait and ends it: of the statement, or of the whole transaction. The owner is not disturbed.
pub fn a_wait_can_be_ended_from_outside<F: Waits>() {
    let (engine, table, older, mut younger) = older_and_younger::<F>();
    let (send, waits) = mpsc::channel();
    let supervisor =
        Arc::new(TestSupervisor { raised: false.into(), waker: Mutex::default(), waits: Mutex::new(send) });
    younger.supervised().expect("waits can be ended").set_supervisor(supervisor.clone());
    let ended = thread::scope(|scope| {
        let waiting = scope.spawn(|| put(&mut younger, table, X, 9));
        let wait = waits.recv().expect("it waits");
        assert_eq!(wait.other, older.timestamp(), "it says for whom");
        supervisor.raise();
        waiting.join().expect("no panic")
    });
    let ended = ended.expect_err("the wait was ended");
    let met = ended.conflict().expect("the end of a wait");
    assert_eq!((met.class, met.other), (AbortClass::Interrupted, older.timestamp()));
    assert_eq!(younger.poison().is_some(), ended.abort().is_some(), "a statement alone, or the transaction");
    assert_eq!(F::asleep(&engine), 0);
    drop(younger);
    older.commit().expect("it was not disturbed");
    assert_eq!(state::<F>(&engine, table), [(X, 7), (Y, 0)]);
}

/// Four threads add to the same two rows, in opposite orders, until each has added a hundred times.
pub fn nobody_starves_and_nothing_is_lost<F: Waits>() {
    let (engine, table) = with_registers::<F>(&Knobs::patient(), &[(X, 0), (Y, 0)]);
    let add_both = |keys: [u64; 2]| -> Result<()> {
        let mut open = begin::<F>(&engine, Mode::OwnAtStatement);
        for key in keys {
            let value = get_for_update(&mut open, table, key)?.expect("the row is there");
            put(&mut open, table, key, value + 1)?;
        }
        open.commit().map(drop)
    };
    thread::scope(|scope| {
        for keys in [[X, Y], [Y, X], [X, Y], [Y, X]] {
            let add_both = &add_both;
            scope.spawn(move || {
                for _ in 0..100 {
                    while let Err(error) = add_both(keys) {
                        assert!(error.is_retryable(), "{error}");
                        let class = error.abort().expect("an abort").class;
                        assert_ne!(class, AbortClass::WaitLimit, "a waiter was not woken: {error}");
                    }
                }
            });
        }
    });
    assert_eq!(state::<F>(&engine, table), [(X, 400), (Y, 400)]);
    F::collect(&engine);
    F::assert_idle(&engine, 2);
}

/// A reader waits for nobody it need not wait for: a row that nobody writes is read at once beside owners of others.
pub fn rows_that_nobody_writes_are_read_at_once<F: Waits>() {
    let (engine, table, older, mut younger) = older_and_younger::<F>();
    assert_eq!(get(&mut younger, table, Y).expect("nobody writes it"), Some(0));
    put(&mut younger, table, Y, 1).expect("nobody writes it");
    younger.commit().expect("nobody in the way");
    older.commit().expect("nobody in the way");
    assert_eq!(state::<F>(&engine, table), [(X, 7), (Y, 1)]);
}

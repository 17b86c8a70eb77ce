//! Wound-wait: which transaction waits, gives way, or goes first. Threads meet at the engine's own count of waits.

mod common;

use common::{Open, begin, get, put, range, rule, with_registers};
use model::{Begin, Finish, Interactive, TableId};
use seriatim_twopl::{Options, TwoPhaseLocking};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

const X: u64 = 1;
const Y: u64 = 2;

/// An engine in which an endless wait fails the test instead of hanging it.
fn engine() -> (TwoPhaseLocking, TableId) {
    with_registers(Options { wait_limit: Duration::from_secs(60), ..Options::default() }, &[(X, 0), (Y, 0)])
}

/// Yields until this many requests have had to wait, the last of them in `thread`.
fn until_waiting<R>(engine: &TwoPhaseLocking, requests: u64, thread: &ScopedJoinHandle<'_, R>) {
    while engine.stats().waits < requests {
        assert!(!thread.is_finished() || engine.stats().waits >= requests, "it did not have to wait");
        thread::yield_now();
    }
}

/// Runs `blocked`, which will have to wait, in a thread of its own, and `meanwhile` once it does.
fn while_waiting<R: Send, M>(
    engine: &TwoPhaseLocking,
    blocked: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce() -> M,
) -> (R, M) {
    let waits = engine.stats().waits;
    thread::scope(|scope| {
        let blocked = scope.spawn(blocked);
        until_waiting(engine, waits + 1, &blocked);
        let meanwhile = meanwhile();
        (blocked.join().expect("no panic"), meanwhile)
    })
}

#[test]
fn the_younger_waits_and_reads_what_was_committed() {
    let (engine, t) = engine();
    let (mut older, mut younger) = (begin(&engine), begin(&engine));
    put(&mut older, t, X, 7).unwrap();
    let (read, committed) = while_waiting(&engine, move || get(&mut younger, t, X), || older.commit());
    committed.unwrap();
    assert_eq!(read.unwrap(), Some(7));
}

#[test]
fn the_younger_waits_and_reads_what_was_there_before_an_abort() {
    let (engine, t) = engine();
    let (mut older, mut younger) = (begin(&engine), begin(&engine));
    put(&mut older, t, X, 7).unwrap();
    let (read, ()) = while_waiting(&engine, move || get(&mut younger, t, X), || older.abort());
    assert_eq!(read.unwrap(), Some(0));
}

/// The wounded may commit as long as it need not wait.
#[test]
fn the_wounded_commits_if_it_need_not_wait() {
    let (engine, t) = engine();
    let (mut older, mut younger) = (begin(&engine), begin(&engine));
    put(&mut younger, t, X, 7).unwrap();
    let finish = || {
        put(&mut younger, t, Y, 8).unwrap();
        younger.commit().unwrap();
    };
    let (read, ()) = while_waiting(&engine, move || get(&mut older, t, X), finish);
    assert_eq!(read.unwrap(), Some(7));
}

/// A cycle of two: the younger gives way, and its error names the other.
#[test]
fn of_two_that_want_each_others_the_younger_dies() {
    let (engine, t) = engine();
    let (mut older, mut younger) = (begin(&engine), begin(&engine));
    put(&mut older, t, X, 1).unwrap();
    put(&mut younger, t, Y, 2).unwrap();
    let finish = |mut older: Open<'_>| {
        put(&mut older, t, Y, 1)?;
        older.commit()
    };
    let (committed, error) = while_waiting(&engine, move || finish(older), || put(&mut younger, t, X, 2));
    committed.unwrap();
    let error = error.unwrap_err();
    let abort = error.abort().expect("an abort");
    assert_eq!((abort.rule, abort.transaction.0, abort.other.map(|it| it.0)), ("wounded", 3, Some(2)));
    assert!(error.is_retryable());
}

/// Both have read x and want to write it: the younger gives way.
#[test]
fn of_two_upgrades_the_older_wins() {
    let (engine, t) = engine();
    let (mut older, mut younger) = (begin(&engine), begin(&engine));
    get(&mut older, t, X).unwrap();
    get(&mut younger, t, X).unwrap();
    let (written, refused) = while_waiting(&engine, || put(&mut older, t, X, 1), || put(&mut younger, t, X, 2));
    written.unwrap();
    assert_eq!(rule(refused), "wounded");
    older.commit().unwrap();
    assert_eq!(get(&mut begin(&engine), t, X).unwrap(), Some(1));
}

/// A scanner that meets an insert, and an insert that meets the scan's range: again the younger gives way.
#[test]
fn a_range_and_an_insert_form_no_deadlock() {
    for scanner_is_older in [true, false] {
        let (engine, t) = engine();
        let (mut older, mut younger) = (begin(&engine), begin(&engine));
        if scanner_is_older {
            put(&mut younger, t, 15, 1).unwrap();
            range(&mut older, t, 20, 29).unwrap();
            let scan = || range(&mut older, t, 10, 19);
            let (seen, refused) = while_waiting(&engine, scan, || put(&mut younger, t, 25, 1));
            assert_eq!((seen.unwrap(), rule(refused)), (vec![], "wounded"));
        } else {
            range(&mut younger, t, 10, 19).unwrap();
            put(&mut older, t, 25, 1).unwrap();
            let insert = || put(&mut older, t, 15, 1);
            let (inserted, refused) = while_waiting(&engine, insert, || range(&mut younger, t, 20, 29));
            inserted.unwrap();
            assert_eq!(rule(refused), "wounded");
        }
    }
}

/// An insert goes on once the scan that it waited for has ended.
#[test]
fn an_insert_waits_out_a_range() {
    let (engine, t) = engine();
    let (mut scanner, mut writer) = (begin(&engine), begin(&engine));
    range(&mut scanner, t, 10, 19).unwrap();
    let insert = || put(&mut writer, t, 15, 1);
    let (inserted, committed) = while_waiting(&engine, insert, || scanner.commit());
    committed.unwrap();
    inserted.unwrap();
    writer.commit().unwrap();
    assert_eq!(range(&mut begin(&engine), t, 10, 19).unwrap(), [(15, 1)]);
}

/// The queue goes by age, not by arrival: the older waiter is served first.
#[test]
fn the_older_waiter_goes_first() {
    let (engine, t) = engine();
    let (mut holder, mut older, mut younger) = (begin(&engine), begin(&engine), begin(&engine));
    put(&mut holder, t, X, 1).unwrap();
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            put(&mut younger, t, X, 3).unwrap();
            younger.commit().unwrap().claimed()
        });
        until_waiting(&engine, 1, &second);
        let first = scope.spawn(|| {
            put(&mut older, t, X, 2).unwrap();
            older.commit().unwrap().claimed()
        });
        until_waiting(&engine, 2, &first);
        holder.commit().unwrap();
        assert!(first.join().unwrap() < second.join().unwrap());
    });
    assert_eq!(get(&mut begin(&engine), t, X).unwrap(), Some(3));
}

/// A limit on waiting ends the wait; zero is no wait at all.
#[test]
fn a_wait_reaches_its_limit() {
    let (engine, t) = engine();
    let mut holder = begin(&engine);
    put(&mut holder, t, X, 1).unwrap();
    for limit in [Duration::ZERO, Duration::from_millis(1)] {
        let mut waiter = engine.begin(Begin { wait_limit: Some(limit), ..Begin::default() }).unwrap();
        assert_eq!(rule(get(&mut waiter, t, X)), "wait-limit");
        let mut waiter = engine.begin(Begin { wait_limit: Some(limit), ..Begin::default() }).unwrap();
        assert_eq!(rule(range(&mut waiter, t, 0, 9)), "wait-limit");
    }
    holder.commit().unwrap();
    let mut scanner = begin(&engine);
    range(&mut scanner, t, 0, 9).unwrap();
    let short = Begin { wait_limit: Some(Duration::from_millis(1)), ..Begin::default() };
    assert_eq!(rule(put(&mut engine.begin(short).unwrap(), t, 5, 1)), "wait-limit");
    scanner.commit().unwrap();
    put(&mut begin(&engine), t, 5, 1).unwrap();
}

/// Four threads add to the same two counters, in opposite orders, until each has added a hundred times.
#[test]
fn nobody_starves_and_nothing_is_lost() {
    use model::{Access, Committed, Program, Reexecutable, RowBuf};

    struct AddBoth(TableId, [u64; 2]);
    impl Program for AddBoth {
        type Output = ();
        type Error = model::Error;
        fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<(), model::Error> {
            for key in self.1 {
                let value = get(&mut access, self.0, key)?.unwrap_or_default();
                access.put(self.0, &key.to_be_bytes(), RowBuf::from_bytes(&(value + 1).to_be_bytes()).row())?;
            }
            Ok(())
        }
    }
    fn was_wounded(_: u32, error: &model::Error) -> bool {
        error.abort().is_some_and(|abort| abort.rule == "wounded")
    }
    let (engine, t) = engine();
    thread::scope(|scope| {
        for order in [[X, Y], [Y, X], [X, Y], [Y, X]] {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..100 {
                    let done: Result<((), Committed), _> =
                        engine.execute(&mut AddBoth(t, order), Begin::default(), &mut was_wounded);
                    done.unwrap();
                }
            });
        }
    });
    assert_eq!(range(&mut begin(&engine), t, 0, 9).unwrap(), [(X, 400), (Y, 400)]);
    assert_eq!(engine.stats().committed, 1 + 400, "the load and the additions");
}

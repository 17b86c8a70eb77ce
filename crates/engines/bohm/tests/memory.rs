//! The limit on memory: what is refused by name before it has a place, what goes on, that the count comes back, and that what was
//! accepted under a limit is opened under it.
#![cfg(not(feature = "shuttle"))]

#[path = "common/body.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod body;
#[path = "common/moves.rs"]
mod moves;

use body::{Do, Gate, call, open, output, read, submit};
use env::Survival;
use model::{Access, Begin, Declared, Error, Footprint, Key, Limit, LimitKind, RowBuf, RowRef, TableId, Touch};
use moves::{Kind, Step, is_acknowledged};
use seriatim_bohm::{Bohm, Options, Pace};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const LIMIT: u64 = 1 << 20;

fn limited() -> Options {
    Options { memory_bytes: Some(LIMIT as usize), batch: 8, ..Options::default() }
}

/// Stores a row of a length, by an action that the footprint declares.
fn store(table: TableId, key: u64, length: usize, touch: Touch) -> Do {
    Do::new(Footprint::default().touches(table, key, touch), move |access| {
        access.put(table, &Key::from_u64(key), RowRef::new(&vec![7; length])).map(|()| 0)
    })
}

fn insert(table: TableId, key: u64, length: usize) -> Do {
    store(table, key, length, Touch::Any)
}

/// Stores a row of a length, by a footprint that is found when the call is sealed.
fn store_found(table: TableId, key: u64, length: usize) -> Do {
    let footprint = Footprint::default().touches(table, key, Touch::Any);
    let body = move |access: &mut dyn Access| {
        access.put(table, &Key::from_u64(key), RowRef::new(&vec![7; length])).map(|()| 0)
    };
    Do::guessing(move |_| Ok(footprint.clone()), body).late()
}

/// Deletes a row whose key it finds.
fn delete_found(table: TableId, key: u64) -> Do {
    let footprint = Footprint::default().touches(table, key, Touch::Delete);
    let body = move |access: &mut dyn Access| access.delete(table, &Key::from_u64(key)).map(u64::from);
    Do::guessing(move |_| Ok(footprint.clone()), body).late()
}

/// Deletes a row, and reads it before as an update does.
fn delete(table: TableId, key: u64) -> Do {
    let footprint = Footprint::default().touches(table, key, Touch::Delete).touches(table, key, Touch::Update);
    Do::new(footprint, move |access| {
        let key = Key::from_u64(key);
        access.read_for_update(table, &key, model::Columns::All, &mut RowBuf::new())?;
        access.delete(table, &key).map(u64::from)
    })
}

fn limit(engine: &Bohm, procedure: Do) -> Option<Limit> {
    match submit(engine, procedure).wait() {
        Ok(_) => None,
        Err(Error::Limit(limit)) => Some(limit),
        Err(other) => panic!("{other}"),
    }
}

/// Stores rows one by one until one is refused. Returns how many there are.
fn fill(engine: &Bohm, table: TableId, length: usize) -> u64 {
    let refused_at = (0..100_000).find(|&key| match limit(engine, insert(table, key, length)) {
        None => false,
        Some(Limit { kind, limit, actual }) => {
            assert_eq!((kind, limit), (LimitKind::Memory, LIMIT));
            assert!(actual > limit && actual < limit + limit / 8, "{actual} is just above {limit}");
            true
        }
    });
    refused_at.expect("the limit is somewhere")
}

fn used(engine: &Bohm) -> u64 {
    engine.collect();
    engine.stats().memory_bytes
}

/// What may add rows is refused by name, and nothing of it happens; reads, writes of rows that are there and deletes go on, and deletes
/// make room.
#[test]
fn at_the_limit_only_what_may_add_is_refused() {
    for length in [100, 1000, 3000] {
        let (engine, table) = open(limited());
        let rows = fill(&engine, table, length);
        assert!(rows > LIMIT / (length as u64 + 300), "{rows} rows of {length} bytes");
        let error = submit(&engine, insert(table, rows, length)).wait().expect_err("it does not fit");
        assert_eq!(error.sqlstate(), "53200");
        assert!(error.to_string().contains("out of memory") && error.to_string().contains("1048576"), "{error}");
        assert_eq!(call(&engine, read(table, rows)), 0, "it has no effect");

        for round in 0..3 {
            for key in 0..rows {
                assert_eq!(limit(&engine, store(table, key, length, Touch::Update)), None, "{key} in round {round}");
            }
        }
        assert!(used(&engine) <= LIMIT + LIMIT / 8);
        for key in 0..rows / 2 {
            assert_eq!(call(&engine, delete(table, key)), 1);
        }
        for key in 0..rows / 3 {
            assert_eq!(limit(&engine, insert(table, key, length)), None, "there is room again for {key} of {rows}");
        }
    }
}

/// A submission of many is refused from where it does not fit, and what was accepted before is executed.
#[test]
fn a_batch_is_refused_from_where_it_does_not_fit() {
    let (engine, table) = open(limited());
    let entry = |key| model::BatchEntry {
        procedure: insert(table, key, 1000),
        how: Begin::default(),
        retry: Box::new(|_: u32, error: &Error| -> bool { panic!("nothing to retry: {error}") }),
    };
    // So that placeholders have room for such rows.
    call(&engine, insert(table, u64::MAX, 1000));
    let tickets = engine.submit_batch((0..2000).map(entry).collect());
    let accepted: Vec<bool> = tickets.into_iter().map(|ticket| ticket.wait().is_ok()).collect();
    let first_refused = accepted.iter().position(|is| !is).expect("they do not all fit");
    assert!(first_refused > 100 && accepted[first_refused..].iter().all(|is| !is), "{first_refused}");
    assert_eq!(engine.stats().records, first_refused as u64 + 1);
    assert!(used(&engine) <= LIMIT);
}

/// Everything that was counted is counted back: calls, rows of all lengths, records, and what never got a place.
#[test]
fn the_count_comes_back() {
    let (engine, table) = open(Options { planners: 2, executors: 2, ..limited() });
    let empty = used(&engine);
    for length in [0, 8, 1024, 1025, 20_000, 3] {
        let rows: Vec<_> = (0..20).map(|key| submit(&engine, insert(table, key, length))).collect();
        rows.into_iter().for_each(|ticket| _ = output(ticket.wait()));
        assert!(used(&engine) >= empty + 20 * length as u64);
        let fails = Do::new(Footprint::default().writes(table, 1u64), move |access| {
            access.put(table, &Key::from_u64(1), RowRef::new(&vec![1; 5000]))?;
            Err(model::Invalid::ReadOnly.into())
        });
        assert!(submit(&engine, fails).wait().is_err());
        assert!(submit(&engine, insert(TableId(9), 1, length)).wait().is_err(), "no such table");
    }
    (0..20).for_each(|key| assert_eq!(call(&engine, delete(table, key)), 1));
    let left = used(&engine);
    // Nodes of the index stay.
    assert!((empty..empty + 5000).contains(&left), "{left} of {empty}");
    assert_eq!(engine.stats().records, 0);
}

/// Accepted calls count before they are planned, so a long queue does not go beyond the limit.
#[test]
fn what_waits_counts() {
    let (engine, table) = open(limited());
    call(&engine, insert(table, 0, 1000));
    engine.hold();
    let mut tickets = Vec::new();
    let refused = (1..5000).find(|&key| {
        let mut ticket = submit(&engine, insert(table, key, 1000));
        match Pin::new(&mut ticket).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(refused) => refused.is_err(),
            Poll::Pending => {
                tickets.push(ticket);
                false
            }
        }
    });
    let refused = refused.expect("the queue has a limit in bytes");
    assert!(refused < LIMIT / 1000, "{refused}");
    engine.release();
    tickets.into_iter().for_each(|ticket| _ = output(ticket.wait()));
    assert!(used(&engine) <= LIMIT);
}

/// What such a call needs is known when it is sealed: then it is refused, without a place, if it does not fit. What was found to delete
/// goes on.
#[test]
fn calls_whose_footprints_are_found_at_sealing_are_refused_there() {
    let (engine, table) = open(limited());
    call(&engine, insert(table, u64::MAX, 1000));
    engine.hold();
    let tickets: Vec<_> = (0..800).map(|key| submit(&engine, store_found(table, key, 1000))).collect();
    engine.release();
    let mut stored = 0;
    for ticket in tickets {
        match ticket.wait() {
            Ok(_) => stored += 1,
            Err(Error::Limit(Limit { kind, limit, actual })) => {
                assert_eq!((kind, limit), (LimitKind::Memory, LIMIT));
                assert!(actual > limit, "{actual}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!((200..1000).contains(&stored), "{stored}");
    assert_eq!(engine.stats().records, stored + 1, "what was refused has no effect");
    assert!(used(&engine) <= LIMIT);
    let full = (0..).map(|n| 10_000 + n).find(|&key| limit(&engine, store_found(table, key, 1000)).is_some());
    assert_eq!(call(&engine, read(table, full.expect("the limit is near"))), 0);
    assert_eq!((0..800).map(|key| call(&engine, delete_found(table, key))).sum::<u64>(), stored);
    (0..stored / 2)
        .for_each(|key| assert_eq!(limit(&engine, store_found(table, key, 1000)), None, "there is room again"));
}

/// What is remembered for later trial runs counts, and no longer than it is remembered.
#[test]
fn the_count_of_what_is_foreseen_comes_back() {
    for moves_threads in [false, true] {
        let (engine, table) = open(Options { planners: 2, executors: 1, moves_threads, ..limited() });
        (0..10).for_each(|key| _ = call(&engine, insert(table, key, 1000)));
        let replace_all = || {
            for round in 0..10 {
                let told = move |access: &mut dyn Access| {
                    let row = RowBuf::from_bytes(&[1; 1000]);
                    access.foresee(table, &Key::from_u64(round), Some(row.row()));
                    Ok(Footprint::default().touches(table, round, Touch::Update))
                };
                let body = move |access: &mut dyn Access| {
                    access.put(table, &Key::from_u64(round), RowRef::new(&[1; 1000])).map(|()| 0)
                };
                call(&engine, Do::guessing(told, body).late());
            }
        };
        // The first versions have no room for such rows.
        replace_all();
        let before = used(&engine);
        replace_all();
        assert_eq!(used(&engine), before);
    }
}

/// A thread of the engine that submits is refused at once: it would wait for itself.
#[test]
fn a_body_that_submits_at_the_limit_does_not_wait_for_itself() {
    let (engine, table) = open(limited());
    let rows = fill(&engine, table, 1000);
    // The last handle must not be a body's.
    let outer = Arc::downgrade(&engine);
    let nested = Do::new(Footprint::default(), move |_| {
        let outer = outer.upgrade().expect("the test waits");
        assert!(matches!(submit(&outer, insert(table, rows, 1000)).wait(), Err(Error::Limit(_))));
        Ok(5)
    });
    assert_eq!(call(&engine, nested), 5);
}

/// A snapshot that stays open keeps replaced versions: they count, and go with it.
#[test]
fn versions_that_a_snapshot_keeps_count_and_go_with_it() {
    let (engine, table) = open(limited());
    (0..100).for_each(|key| _ = call(&engine, insert(table, key, 1000)));
    let before = used(&engine);
    let (gate, pass) = Gate::new();
    std::thread::scope(|scope| {
        let engine = &engine;
        let reading = scope.spawn(move || {
            let holds = Do::new(Footprint::default().reads(table, 1u64), move |access| {
                access.read(table, &Key::from_u64(1), model::Columns::All, &mut RowBuf::new())?;
                pass();
                Ok(0)
            });
            output(body::snapshot(engine, holds))
        });
        gate.wait();
        let refused = (0..100_000).find_map(|n| limit(engine, store(table, n % 100, 1000, Touch::Update)));
        assert_eq!(refused.expect("kept versions count").kind, LimitKind::Memory);
        assert!(engine.stats().memory_bytes > before + LIMIT / 2);
        gate.open();
        reading.join().expect("no panic");
    });
    let after = used(engine.as_ref());
    assert!(after < before + 10_000, "{before} before, {after} after");
}

/// Filled to the limit, a database is opened under the same limit again, after a clean stop, after a crash, and from a checkpoint; and
/// goes on as one that was never closed.
#[test]
fn what_was_accepted_is_opened_under_the_same_limit() {
    let options = || Options { memory_bytes: Some(400_000), ..moves::small() };
    let disk = moves::disk(11);
    let engine = moves::reopen(&disk, options()).expect("a healthy disk");
    let table = moves::create(&engine).expect("a new table");
    let step = |kind, to| Step { table, kind, from: to, to, by: 9 };
    let is_accepted = |engine: &Bohm, step| match moves::submit(engine, [step]).pop().expect("one").wait() {
        Err(Error::Limit(limit)) => {
            assert_eq!(limit.kind, LimitKind::Memory);
            false
        }
        completed => is_acknowledged(completed),
    };
    let rows = (0..100_000).find(|&n| !is_accepted(&engine, step(Kind::Combine, n))).expect("there is a limit");
    assert!(rows > 400, "{rows}");
    let expected = moves::contents(&engine, table);
    assert_eq!(expected.len() as u64, rows);
    engine.write_checkpoint(Pace::Full).expect("a healthy disk");
    let from_checkpoint = disk.power_cut_with(Survival::SyncedOnly);
    for n in 0..rows / 2 {
        assert!(is_accepted(&engine, step(Kind::Delete, n)));
    }
    for n in 0..rows / 3 {
        assert!(is_accepted(&engine, step(Kind::Combine, rows + n)), "there is room again");
    }
    let changed = moves::contents(&engine, table);
    for (disk, expected) in [(from_checkpoint, expected), (disk.power_cut_with(Survival::SyncedOnly), changed)] {
        let again = moves::reopen(&disk, options()).expect("what was accepted is opened");
        assert_eq!(moves::contents(&again, table), expected);
        let filled = (0..100_000).find(|&n| !is_accepted(&again, step(Kind::Combine, 1_000_000 + n)));
        assert!(filled.is_some_and(|more| more < rows), "{filled:?}: the limit is there still");
        again.write_checkpoint(Pace::Full).expect("a checkpoint needs no more");
        let refused = moves::reopen(
            &disk.power_cut_with(Survival::SyncedOnly),
            Options { memory_bytes: Some(60_000), ..options() },
        );
        let Err(Error::Limit(Limit { kind, limit, .. })) = refused else { panic!("{refused:?}") };
        assert_eq!((kind, limit), (LimitKind::MemoryToOpen, 60_000));
    }
}

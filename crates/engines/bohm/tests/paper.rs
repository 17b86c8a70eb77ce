//! What the paper says of the protocol, and what this engine adds, claim by claim.
#![cfg(not(feature = "shuttle"))]

#[path = "common/body.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod body;

use body::{Do, Gate, call, open, output, overwrite, read, remove, snapshot, step, submit};
use conformance::registers::{all, delete, get, put, range, registers};
use model::{
    AbortClass, Access, BatchEntry, Begin, Columns, Declared, Error, Footprint, Invalid, Key, LimitKind, Mode, RowBuf,
    RowRef, Storage, TableId, Ticket, Touch,
};
use seriatim_bohm::{Bohm, Options};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

fn together(engine: &Bohm, procedures: Vec<Do>) -> Vec<Ticket<Do>> {
    let entry = |procedure| {
        let retry = Box::new(|_: u32, error: &Error| -> bool { panic!("nothing to retry: {error}") });
        BatchEntry { procedure, how: Begin::default(), retry }
    };
    engine.submit_batch(procedures.into_iter().map(entry).collect())
}

/// What is held is sealed together once it is released, in the order of submission.
#[test]
fn what_is_held_stands_in_one_batch() {
    let (engine, table) = open(Options { latency: Duration::ZERO, ..Options::default() });
    engine.settle();
    let before = engine.stats().batches;
    engine.hold();
    let tickets: Vec<_> = (0..100).map(|n| submit(&engine, step(table, 1, n))).collect();
    assert_eq!(engine.stats().batches, before, "nothing is sealed");
    engine.release();
    let last = tickets.into_iter().map(|ticket| output(ticket.wait())).last().expect("some");
    assert_eq!(last, (0..100).fold(0_u64, |before, n| before.wrapping_mul(3).wrapping_add(n)));
    assert_eq!(engine.stats().batches, before + 1);
    engine.hold();
    let left = submit(&engine, step(table, 2, 7));
    drop(engine);
    assert_eq!(output(left.wait()), 7, "what is held when the engine is dropped is executed");
}

/// Submits a blind write of register 1 that holds its thread.
fn held_overwrite(engine: &Bohm, table: TableId) -> (Gate, Ticket<Do>) {
    let (gate, pass) = Gate::new();
    let slow = Do::new(Footprint::default().touches(table, 1u64, Touch::Overwrite), move |mut access| {
        pass();
        put(&mut access, table, 1, 10).map(|()| 10)
    });
    let slow = submit(engine, slow);
    gate.wait();
    (gate, slow)
}

/// A procedure that holds its thread, and touches nothing.
fn holding(pass: impl Fn() + Send + Sync + 'static) -> Do {
    Do::new(Footprint::default(), move |_| {
        pass();
        Ok(0)
    })
}

fn two_executors() -> Options {
    Options { executors: 2, ..Options::default() }
}

/// 3.2.2: the version of a write is there before the write is executed.
#[test]
fn placeholders_are_placed_before_execution() {
    let (engine, table) = open(Options::default());
    let (gate, pass) = Gate::new();
    let held = submit(&engine, holding(pass));
    gate.wait();
    let later = submit(&engine, overwrite(table, 1, 5));
    while engine.stats().records == 0 {
        thread::yield_now(); // Planning goes on while the only executing thread is held.
    }
    assert_eq!(engine.stats().executed, 0, "the write is not executed");
    gate.open();
    assert_eq!((output(held.wait()), output(later.wait())), (0, 5));
}

/// 3.2.3: a read finds the version below its position, whatever is written behind it.
#[test]
fn a_read_finds_the_version_below_its_position() {
    for options in [Options::default(), Options { planners: 3, executors: 3, batch: 2, ..Options::default() }] {
        let (engine, table) = open(options);
        let procedures = (0..100).flat_map(|n| [overwrite(table, 1, n), read(table, 1), read(table, 2)]).collect();
        let read: Vec<u64> = together(&engine, procedures).into_iter().map(|ticket| output(ticket.wait())).collect();
        let expected: Vec<u64> = (0..100).flat_map(|n| [n, n, 0]).collect();
        assert_eq!(read, expected);
    }
}

/// 3.3.1, write dependencies: a write that reads nothing does not wait for the writes before it.
#[test]
fn a_blind_write_runs_before_the_write_below_it() {
    let (engine, table) = open(two_executors());
    let (gate, slow) = held_overwrite(&engine, table);
    assert_eq!(call(&engine, overwrite(table, 1, 20)), 20, "it completes while the one below is held");
    assert_eq!(call(&engine, read(table, 1)), 20);
    gate.open();
    assert_eq!(output(slow.wait()), 10);
    assert_eq!(call(&engine, read(table, 1)), 20);
}

/// 3.3.1, read dependencies: what another thread executes is handed back, and other procedures go on meanwhile.
#[test]
fn a_reader_of_what_another_thread_executes_is_handed_back() {
    let (engine, table) = open(two_executors());
    let (gate, slow) = held_overwrite(&engine, table);
    let mut tickets = together(&engine, vec![step(table, 1, 4), overwrite(table, 2, 7), read(table, 2)]);
    assert_eq!(output(tickets.pop().expect("three").wait()), 7, "it does not wait for the one before it");
    assert_eq!(output(tickets.pop().expect("three").wait()), 7);
    gate.open();
    assert_eq!(output(slow.wait()), 10);
    assert_eq!(output(tickets.pop().expect("three").wait()), 34);
}

/// 3.3.1: a chain is evaluated from its end by recursion, and goes on from a list where that would be too deep.
#[test]
fn a_long_chain_is_evaluated_from_its_end() {
    for depth in [0, 2, 32] {
        // All in few batches, however slow the machine is: the first is not complete before the gate opens.
        let (engine, table) = open(Options { executors: 2, depth, latency: Duration::ZERO, ..Options::default() });
        let (gate, pass) = Gate::new();
        // The thread that is held has taken the first links of the chain too.
        let mut procedures = vec![holding(pass)];
        procedures.extend((0..300).map(|n| step(table, 1, n)));
        let mut tickets = together(&engine, procedures);
        gate.wait();
        let expected = (0..300).fold(0_u64, |before, n| before.wrapping_mul(3).wrapping_add(n));
        assert_eq!(output(tickets.pop().expect("the last link").wait()), expected, "depth {depth}");
        gate.open();
        assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
    }
}

/// A body that fails leaves the row below in each of its placeholders, also where that one is executed later.
#[test]
fn a_body_that_fails_repeats_the_row_below() {
    let (engine, table) = open(Options::default());
    let fails = || {
        let footprint = Footprint::default().touches(table, 1u64, Touch::Overwrite).writes(table, 2u64);
        Do::new(footprint, move |mut access| {
            put(&mut access, table, 1, 99)?;
            put(&mut access, table, 2, 99)?;
            Err(Invalid::ReadOnly.into())
        })
    };
    let tickets = together(
        &engine,
        vec![
            overwrite(table, 1, 5),
            fails(),
            read(table, 1),
            step(table, 1, 1),
            fails(),
            read(table, 1),
            read(table, 2),
        ],
    );
    let seen: Vec<Option<u64>> = tickets.into_iter().map(|ticket| ticket.wait().ok().map(|done| done.0)).collect();
    assert_eq!(seen, [Some(5), None, Some(5), Some(16), None, Some(16), Some(0)]);
    engine.collect();
    assert_eq!(engine.stats().records, 1, "the key that was never written is gone");
}

/// What is declared to be written, and is not, stays as it was.
#[test]
fn a_declared_write_that_is_not_made_changes_nothing() {
    let (engine, table) = open(Options::default());
    let nothing = Do::new(Footprint::default().writes(table, 1u64).writes(table, 2u64), |_| Ok(0));
    let tickets = together(&engine, vec![overwrite(table, 1, 5), nothing, read(table, 1), read(table, 2)]);
    let seen: Vec<u64> = tickets.into_iter().map(|ticket| output(ticket.wait())).collect();
    assert_eq!(seen, [5, 0, 5, 0]);
}

/// A panic of a body is its abort; the thread goes on.
#[test]
fn a_body_that_panics_has_no_effect() {
    let (engine, table) = open(Options::default());
    let panics = Do::new(Footprint::default().writes(table, 1u64), move |mut access| {
        put(&mut access, table, 1, 99)?;
        panic!("a mistake of the body")
    });
    let tickets = together(&engine, vec![overwrite(table, 1, 5), panics, read(table, 1)]);
    let ended: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().map(|done| done.0)).collect();
    assert!(matches!(ended[..], [Ok(5), Err(_), Ok(5)]), "{ended:?}");
    let error = ended[1].as_ref().expect_err("it has panicked");
    assert!(error.abort().is_some_and(|abort| abort.rule == "panicked"), "{error}");
}

/// 3.3.2: what nobody reads any more is collected while batches go on.
#[test]
fn a_row_that_is_written_again_and_again_keeps_no_versions() {
    let (engine, table) = open(Options { batch: 8, ..Options::default() });
    for round in 0..50 {
        together(&engine, (0..40).map(|n| step(table, n % 4, round)).collect()).into_iter().for_each(|it| {
            output(it.wait());
        });
        // Four batches are on their way at most, of eight placeholders, and one more is collected a batch later.
        assert!(engine.stats().garbage <= 8 * 8, "{:?}", engine.stats());
    }
    assert_eq!((engine.collect(), engine.stats().records), (0, 4));
    (0..4).for_each(|key| assert_eq!(call(&engine, remove(table, key)), 1));
    assert_eq!((engine.collect(), engine.stats().records), (0, 0));
    assert_eq!(call(&engine, step(table, 1, 7)), 7, "the key is free again");
}

/// Rows of any length come back, also where a later version of the key is longer or shorter.
#[test]
fn rows_of_every_length_come_back() {
    let (engine, table) = open(Options::default());
    let store = |length: usize| {
        let footprint = Footprint::default().touches(table, 1u64, Touch::Update);
        Do::new(footprint, move |access| {
            let mut before = RowBuf::new();
            access.read(table, &Key::from_u64(1), Columns::All, &mut before)?;
            let row = vec![length as u8; length];
            access.put(table, &Key::from_u64(1), RowRef::new(&[7; 2000]))?;
            access.put(table, &Key::from_u64(1), RowRef::new(&row))?;
            let mut own = RowBuf::new();
            assert!(access.read(table, &Key::from_u64(1), Columns::All, &mut own)? && own.bytes() == row);
            Ok(before.bytes().len() as u64)
        })
    };
    let lengths = [0, 8, 32, 33, 1024, 1025, 100_000, 3, 5000, 0];
    let tickets = together(&engine, lengths.map(store).into());
    let seen: Vec<u64> = tickets.into_iter().map(|ticket| output(ticket.wait())).collect();
    assert_eq!(seen[1..], lengths[..9].iter().map(|&length| length as u64).collect::<Vec<_>>());
    assert_eq!(engine.collect(), 0);
}

/// A snapshot reads the end of the last complete batch at once, and goes on reading it while its rows are replaced.
#[test]
fn a_snapshot_waits_for_nobody_and_keeps_what_it_reads() {
    let (engine, table) = open(Options::default());
    call(&engine, overwrite(table, 1, 5));
    call(&engine, overwrite(table, 2, 6));
    engine.settle();
    let (gate, pass) = Gate::new();
    let held = submit(&engine, holding(pass));
    gate.wait();
    let waiting = submit(&engine, overwrite(table, 1, 50));
    assert_eq!(output(snapshot(&engine, read(table, 1))), 5, "while everything else waits");
    gate.open();
    output(held.wait());
    output(waiting.wait());
    engine.settle();
    let (gate, pass) = Gate::new();
    let twice =
        Do::new(Footprint::default().reads_range(table, Bound::Unbounded, Bound::Unbounded), move |mut access| {
            let first = get(&mut access, table, 1)?;
            pass();
            assert_eq!(all(&mut access, table)?, [(1, 50), (2, 6)]);
            assert_eq!(get(&mut access, table, 1)?, first);
            Ok(first.unwrap_or_default())
        });
    thread::scope(|scope| {
        let reader = scope.spawn(|| output(snapshot(&engine, twice)));
        gate.wait();
        for n in 0..100 {
            call(&engine, overwrite(table, 1, n));
        }
        call(&engine, remove(table, 2));
        engine.collect();
        assert!(engine.stats().garbage > 0 && engine.stats().readers == 1);
        gate.open();
        assert_eq!(reader.join().expect("no panic"), 50);
    });
    assert_eq!((engine.collect(), engine.stats().records), (0, 1));
}

/// A procedure that only reads is not asked for its footprint, so no guess of it misses.
fn reading(body: impl Fn(&mut dyn Access) -> model::Result<u64> + Send + Sync + 'static) -> Do {
    Do::guessing(|_| panic!("what only reads needs no footprint"), body)
}

fn submit_reading(engine: &Bohm, procedure: Do) -> Ticket<Do> {
    let how = Begin { mode: Mode::ReadOnly, ..Begin::default() };
    engine.submit(procedure, how, Box::new(|_: u32, error: &Error| -> bool { panic!("nothing to retry: {error}") }))
}

/// 4.1, threads that are given to the stages by load: with one body that takes long, the other threads plan and execute all the rest, the
/// partition included that the held thread had planned before; and all threads execute where there is nothing to plan.
#[test]
fn threads_take_what_there_is_to_do() {
    let moving = |planners| Options { planners, executors: 1, moves_threads: true, ..Options::default() };
    for planners in [1, 2, 3] {
        let (engine, table) = open(Options { run_ahead: 100, ..moving(planners) });
        let gates: Vec<_> = (0..planners).map(|_| Gate::new()).collect();
        // All threads but one are held, each by a body of a batch of its own.
        let (gates, held): (Vec<_>, Vec<_>) = gates
            .into_iter()
            .map(|(gate, pass)| {
                let held = submit(&engine, holding(pass));
                gate.wait();
                (gate, held)
            })
            .unzip();
        for n in 0..40 {
            let procedures = (0..8).map(|key| overwrite(table, key, n)).collect();
            together(&engine, procedures).into_iter().for_each(|ticket| assert_eq!(output(ticket.wait()), n));
        }
        gates.into_iter().for_each(Gate::open);
        held.into_iter().for_each(|ticket| assert_eq!(output(ticket.wait()), 0));
        assert_eq!((engine.collect(), engine.stats().records), (0, 8));
    }
}

/// 3.2.3, without advance knowledge of reads: a call that only reads finds its versions by its position, in the order of its caller.
#[test]
fn what_only_reads_finds_the_version_below_its_position() {
    let many = Options { planners: 3, executors: 3, batch: 5, latency: Duration::ZERO, ..Options::default() };
    for options in [Options { latency: Duration::ZERO, ..Options::default() }, many] {
        let (engine, table) = open(options);
        engine.hold();
        let two = move |mut access: &mut dyn Access| {
            let sum = get(&mut access, table, 1)?.unwrap_or_default() + get(&mut access, table, 2)?.unwrap_or_default();
            let there: u64 = all(&mut access, table)?.iter().map(|(_, value)| value).sum();
            assert_eq!(sum, there, "a range shows the same");
            Ok(sum)
        };
        let tickets: Vec<_> = (1..50_u64)
            .flat_map(|n| {
                let written = [submit(&engine, overwrite(table, 1, n)), submit(&engine, step(table, 2, 1))];
                written.into_iter().chain([submit_reading(&engine, reading(two))])
            })
            .collect();
        engine.release();
        let mut second = 0_u64;
        let mut seen = tickets.into_iter().map(|ticket| output(ticket.wait()));
        for n in 1..50_u64 {
            second = second.wrapping_mul(3).wrapping_add(1);
            assert_eq!((seen.next(), seen.next(), seen.next()), (Some(n), Some(second), Some(n.wrapping_add(second))));
        }
        assert_eq!(engine.collect(), 0);
    }
}

/// 3.3.1: a call that only reads is handed back like any other while another thread executes what it reads, and runs again.
#[test]
fn what_only_reads_is_handed_back_too() {
    let (engine, table) = open(two_executors());
    let (gate, slow) = held_overwrite(&engine, table);
    let runs = Arc::new(AtomicU64::new(0));
    let counted = runs.clone();
    engine.hold();
    let waits = submit_reading(
        &engine,
        reading(move |mut access| {
            counted.fetch_add(1, Relaxed);
            Ok(get(&mut access, table, 1)?.unwrap_or_default())
        }),
    );
    let other = submit(&engine, overwrite(table, 2, 7));
    engine.release();
    assert_eq!(output(other.wait()), 7, "others of its batch go on");
    gate.open();
    assert_eq!((output(slow.wait()), output(waits.wait())), (10, 10));
    assert!(runs.load(Relaxed) >= 1);
}

/// Many rows at once: in a place and in a snapshot, whole and by columns, absent ones among them, in the order of the keys.
#[test]
fn many_rows_are_read_at_once() {
    let (engine, table) = open(Options::default());
    together(&engine, (0..100).filter(|n| n % 3 > 0).map(|n| overwrite(table, n, n + 1000)).collect())
        .into_iter()
        .for_each(|ticket| _ = output(ticket.wait()));
    engine.settle();
    let body = move |access: &mut dyn Access| {
        let keys: Vec<Key> = (0..100_u64).map(Key::from_u64).collect();
        for columns in [Columns::All, Columns::None] {
            let mut seen = Vec::new();
            access.read_many(table, &keys, columns, &mut |at, row| {
                seen.push((at, row.map(|row| row.bytes().to_vec())));
            })?;
            let mut expected = RowBuf::new();
            for (at, (position, row)) in seen.iter().enumerate() {
                let found = access.read(table, &keys[at], columns, &mut expected)?;
                assert_eq!((*position, row.as_deref()), (at, found.then(|| expected.bytes())));
                assert_eq!(found, at % 3 > 0);
            }
            assert_eq!(seen.len(), 100);
        }
        let short = [Key::from_bytes(b"short")];
        access.prefetch(table, &short);
        assert!(access.read_many(table, &short, Columns::All, &mut |_, _| {}).is_err());
        Ok(5)
    };
    assert_eq!(output(submit_reading(&engine, reading(body)).wait()), 5);
    assert_eq!(output(snapshot(&engine, reading(body))), 5);
}

/// What reads before a drop in the same batch has the table, what reads behind it has not.
#[test]
fn what_only_reads_sees_a_drop_in_its_place() {
    let (engine, table) = open(Options { latency: Duration::ZERO, ..Options::default() });
    call(&engine, overwrite(table, 1, 5));
    engine.hold();
    let read = move || reading(move |mut access| Ok(get(&mut access, table, 1)?.unwrap_or_default()));
    let before = submit_reading(&engine, read());
    thread::scope(|scope| {
        let dropping = scope.spawn(|| engine.drop_table("registers"));
        // It has no ticket to look at: it is in the queue when the next submission finds it there.
        while engine.queued() < 2 {
            thread::yield_now();
        }
        let behind = submit_reading(&engine, read());
        engine.release();
        assert_eq!(output(before.wait()), 5);
        assert!(matches!(behind.wait(), Err(Error::Invalid(Invalid::UnknownTable { .. }))));
        dropping.join().expect("no panic").expect("it is there");
    });
    assert_eq!((engine.collect(), engine.stats().records), (0, 0));
}

/// A declared range shows the keys below its position, with the own writes, and no others.
#[test]
fn a_range_shows_what_stands_below_its_position() {
    for has_small_nodes in [false, true] {
        let (engine, table) = open(Options { planners: 2, executors: 2, has_small_nodes, ..Options::default() });
        let scan = |own: u64| {
            let bounds = (Bound::Included(Key::from_u64(0)), Bound::Excluded(Key::from_u64(1000)));
            let footprint = Footprint::default().reads_range(table, bounds.0, bounds.1);
            Do::new(footprint.writes(table, own).writes(table, 0u64), move |mut access| {
                put(&mut access, table, own, 1)?;
                delete(&mut access, table, 0)?;
                let seen = range(&mut access, table, Bound::Included(0), Bound::Excluded(1000))?;
                assert!(seen.contains(&(own, 1)) && seen.iter().all(|(key, _)| *key != 0), "{seen:?}");
                delete(&mut access, table, own)?;
                Ok(range(&mut access, table, Bound::Included(0), Bound::Excluded(1000))?.len() as u64)
            })
        };
        let procedures = (1..50).flat_map(|n| [overwrite(table, 10 * n, n), overwrite(table, 0, n), scan(10 * n + 1)]);
        let seen = together(&engine, procedures.collect()).into_iter().skip(2).step_by(3);
        let seen: Vec<u64> = seen.map(|ticket| output(ticket.wait())).collect();
        assert_eq!(seen, (1..50).collect::<Vec<u64>>());
        assert_eq!((engine.collect(), engine.stats().records), (0, 49));
    }
}

/// Adds one to the register at which register 0 points.
fn follow(table: TableId) -> Do {
    let at = move |mut access: &mut dyn Access| get(&mut access, table, 0).map(Option::unwrap_or_default);
    let footprint =
        move |access: &mut dyn Access| Ok(Footprint::default().reads(table, 0u64).writes(table, at(access)?));
    Do::guessing(footprint, move |mut access| {
        let at = at(access)?;
        let value = get(&mut access, table, at)?.unwrap_or_default();
        put(&mut access, table, at, value + 1).map(|()| at)
    })
}

/// A footprint that a trial run guessed wrong is found again, and counted.
#[test]
fn a_wrong_guess_runs_again() {
    let (engine, table) = open(Options::default());
    call(&engine, overwrite(table, 0, 1));
    engine.settle();
    let (gate, pass) = Gate::new();
    let held = submit(&engine, holding(pass));
    gate.wait();
    let moved = submit(&engine, overwrite(table, 0, 2));
    let patient = |_: u32, error: &Error| {
        assert!(error.abort().is_some_and(|abort| abort.class == AbortClass::Footprint), "{error}");
        true
    };
    let guess = engine.submit(follow(table), Begin::default(), Box::new(patient));
    let impatient = engine.submit(follow(table), Begin::default(), Box::new(|_: u32, _: &Error| false));
    gate.open();
    output(held.wait());
    output(moved.wait());
    assert_eq!(output(guess.wait()), 2);
    let gave_up = impatient.wait().expect_err("it may not run again");
    assert!(gave_up.abort().is_some_and(|abort| abort.rule == "footprint-missed"), "{gave_up}");
    assert_eq!((call(&engine, read(table, 1)), call(&engine, read(table, 2))), (0, 1));
    assert_eq!(engine.stats().missed, 2);
}

/// A retry or a trial run that panics ends its own procedure, and no other.
#[test]
fn a_retry_that_panics_ends_its_procedure() {
    let (engine, table) = open(Options::default());
    call(&engine, overwrite(table, 0, 1));
    engine.settle();
    let (gate, pass) = Gate::new();
    let held = submit(&engine, holding(pass));
    gate.wait();
    let moved = submit(&engine, overwrite(table, 0, 2));
    let mistake = |_: u32, _: &Error| -> bool { panic!("a mistake of the retry") };
    let first = engine.submit(follow(table), Begin::default(), Box::new(mistake));
    let looks = AtomicU64::new(0);
    let panics_later = Do::guessing(
        move |mut access| {
            assert_eq!(looks.fetch_add(1, Relaxed), 0, "a mistake of the second trial run");
            Ok(Footprint::default().reads(table, get(&mut access, table, 0)?.unwrap_or_default()))
        },
        move |mut access| Ok(get(&mut access, table, 0)?.unwrap_or_default()),
    );
    let second = engine.submit(panics_later, Begin::default(), Box::new(|_: u32, _: &Error| true));
    gate.open();
    for ticket in [held, moved] {
        output(ticket.wait());
    }
    for ticket in [first, second] {
        let error = ticket.wait().expect_err("it has panicked");
        assert!(error.abort().is_some_and(|abort| abort.rule == "panicked"), "{error}");
    }
    assert_eq!(call(&engine, read(table, 0)), 2);
}

/// What was submitted is executed before the engine ends.
#[test]
fn the_engine_ends_after_what_was_submitted() {
    let (engine, table) = open(Options { planners: 2, executors: 2, batch: 4, ..Options::default() });
    let mut tickets = together(&engine, (0..100).map(|n| step(table, n % 3, n)).collect());
    tickets.push(engine.submit(follow(table), Begin::default(), Box::new(|_: u32, _: &Error| true)));
    drop(Arc::into_inner(engine).expect("nobody else has it"));
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
}

fn error(engine: &Bohm, procedure: Do) -> Error {
    submit(engine, procedure).wait().expect_err("it is refused")
}

/// Every limit is a named error of its procedure.
#[test]
fn limits_are_named() {
    let options =
        Options { tables: 2, write_set_rows: 2, key_bytes: 10, row_bytes: 8, readers: 1, ..Options::default() };
    let (engine, table) = open(options);
    let is = |error: Error, kind: LimitKind| assert!(matches!(&error, Error::Limit(it) if it.kind == kind), "{error}");
    let three = (0..3).fold(Footprint::default(), |footprint, key: u64| footprint.writes(table, key));
    is(error(&engine, Do::new(three, |_| Ok(0))), LimitKind::WriteSetRows);
    let long = Do::new(Footprint::default().writes(table, 1u64), move |access| {
        access.put(table, &Key::from_u64(1), RowRef::new(b"nine byte")).map(|()| 0)
    });
    is(error(&engine, long), LimitKind::RowBytes);
    let bytes = model::Schema::bytes("bytes").build().expect("a good schema");
    let bytes = engine.create_table(bytes).expect("room for a second one");
    let long = Footprint::default().reads(bytes, Key::from_bytes(b"eleven byte"));
    is(error(&engine, Do::new(long, |_| Ok(0))), LimitKind::KeyBytes);
    is(engine.create_table(registers("third", Storage::Hash)).expect_err("two are enough"), LimitKind::Tables);
    let outer = engine.clone();
    let nested = Do::new(Footprint::default(), move |_| snapshot(&outer, read(table, 1)).map(|done| done.0));
    is(snapshot(&engine, nested).expect_err("one reader is open"), LimitKind::Transactions);
    assert_eq!(engine.stats().readers, 0);
}

/// Mistakes of the caller are errors of the procedure, before or while it runs.
#[test]
fn mistakes_are_named() {
    let (engine, table) = open(Options::default());
    let hash = engine.create_table(registers("hash", Storage::Hash)).expect("a new table");
    let is =
        |error: Error, expected: Invalid| assert!(matches!(&error, Error::Invalid(it) if *it == expected), "{error}");
    is(error(&engine, read(TableId(9), 1)), Invalid::UnknownTable { table: "number 9".into() });
    let short = Footprint::default().reads(table, Key::from_bytes(b"short"));
    is(error(&engine, Do::new(short, |_| Ok(0))), Invalid::Key { table: "registers".into() });
    let unordered = Footprint::default().reads_range(hash, Bound::Unbounded, Bound::Unbounded);
    is(error(&engine, Do::new(unordered, |_| Ok(0))), Invalid::NotOrdered { table: "hash".into() });
    let writes = overwrite(table, 1, 1);
    let how = Begin { mode: Mode::ReadOnly, ..Begin::default() };
    let refused = engine.submit(writes.clone(), how, Box::new(|_: u32, _: &Error| false)).wait();
    is(refused.expect_err("it may not write"), Invalid::ReadOnly);
    is(snapshot(&engine, writes).expect_err("a snapshot does not write"), Invalid::ReadOnly);
    let duplicate = Do::new(Footprint::default().touches(table, 1u64, Touch::Insert), move |access| {
        access.insert(table, &Key::from_u64(1), RowBuf::from_bytes(&[0; 8]).row()).map(|()| 0)
    });
    call(&engine, duplicate.clone());
    assert!(matches!(error(&engine, duplicate), Error::Duplicate(_)));
    let exists = engine.create_table(registers("hash", Storage::Hash)).expect_err("the name is taken");
    is(exists, Invalid::TableExists { table: "hash".into() });
}

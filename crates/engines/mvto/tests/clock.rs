//! A clock that stalls, steps back or jumps: a fault with a name, no hang, nothing lost, and work goes on afterwards.

mod support;

use env::SimClock;
use model::{Access, Begin, Error, Fault, Finish, Interactive, Key, Mode, RowBuf, Storage};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use support::{all, at, begin, begin_as, engine_and_clock, get, impatient, now, put, registers, set, with_registers};

/// What the clock is said to have done.
#[track_caller]
fn clock_fault<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(error @ Error::Fault(Fault::Clock { .. })) => {
            assert!(!error.is_retryable() && error.sqlstate() == "58000");
            error.to_string()
        }
        other => panic!("a clock fault, not {other:?}"),
    }
}

/// A clock that stands still: begin gives up after a bounded number of readings; open transactions go on; nothing is lost.
#[test]
fn a_stalled_clock_is_named_and_stops_only_what_begins() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 1)]);
    let mut open = begin(&engine);
    clock.stall();
    let readings = clock.reads();
    let mut late = engine.begin_owned(Begin::default()).expect("begin only notes down");
    assert!(clock_fault(get(&mut late, table, 1)).contains("stands still"));
    assert!(clock.reads() - readings <= 1 << 26, "it gave up after {} readings", clock.reads() - readings);
    assert!(late.poison().is_none(), "it may try again");
    assert_eq!(engine.stats().active, 1, "who did not begin is not registered");
    assert_eq!(get(&mut open, table, 1).expect("it has its timestamp"), Some(1));
    put(&mut open, table, 1, 2).expect("it has its timestamp");
    open.commit().expect("it has its timestamp");
    clock.resume();
    assert_eq!(get(&mut late, table, 1).expect("the clock goes on"), Some(2));
    late.commit().expect("nobody in the way");
}

/// A clock of coarse ticks stands still for a while between two of them.
#[test]
fn a_short_stall_is_waited_out() {
    let (engine, clock, table) = with_registers(Options::default(), &[(1, 1)]);
    clock.stall_for(10_000);
    let before = set(&engine, table, 1, 2);
    clock.stall_for(10_000);
    assert!(set(&engine, table, 1, 3) > before);
    assert_eq!(now(&engine, table, 1), Some(3));
}

/// A small step back, to behind the last timestamp: refused until the clock has caught up.
#[test]
fn a_small_step_back_is_named_and_waited_out_by_whoever_tries_again() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 1)]);
    let before = set(&engine, table, 1, 2);
    clock.step_back(50);
    let mut late = engine.begin_owned(Begin::default()).expect("begin only notes down");
    assert!(clock_fault(get(&mut late, table, 1)).contains("stepped back"));
    let mut attempts = 0;
    while let Err(error) = get(&mut late, table, 1) {
        clock_fault::<()>(Err(error));
        attempts += 1;
        assert!(attempts < 100, "each reading is a tick later");
    }
    assert!(at(&late) > before, "the order of real time is kept");
    assert_eq!(get(&mut late, table, 1).expect("begun"), Some(2));
}

/// A step back by an hour: what is open ends well, what is there stays, and nothing begins until the clock has caught up.
#[test]
fn a_large_step_back_stops_what_begins_and_loses_nothing() {
    let hour = 3_600_000_000_000;
    let (engine, clock) = engine_and_clock(impatient());
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    clock.advance(2 * hour);
    set(&engine, table, 1, 1);
    let (mut reader, mut writer) = (begin_as(&engine, Mode::ReadOnly), begin(&engine));
    clock.step_back(hour);
    for _ in 0..3 {
        clock_fault(get(&mut engine.begin_owned(Begin::default()).expect("begin only notes down"), table, 1));
    }
    clock_fault(engine.begin_owned(Begin::default()).expect("begin only notes down").commit().map(drop));
    clock_fault(engine.create_table(registers("others", Storage::Ordered)));
    assert!(engine.table("others").is_none(), "what was refused is not there");
    engine.collect();
    assert_eq!(get(&mut reader, table, 1).expect("open"), Some(1));
    put(&mut writer, table, 1, 2).expect("open");
    let last = writer.commit().expect("open").serial_point.0;
    engine.collect();
    assert_eq!(get(&mut reader, table, 1).expect("open"), Some(1), "collection keeps what it needs");
    reader.commit().expect("read-only transactions always commit");
    assert_eq!(engine.stats().active, 0);
    clock.advance(hour + 100);
    assert!(set(&engine, table, 2, 3) > last);
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 2), (2, 3)]);
    engine.create_table(registers("others", Storage::Ordered)).expect("the clock is healthy");
}

/// The step is seen by threads on sites that have not drawn since: at the bound of what may have been collected.
#[test]
fn a_step_back_behind_other_sites_is_seen_at_the_bound() {
    let (engine, clock, table) = with_registers(Options { sites: 64, ..impatient() }, &[(1, 1)]);
    clock.advance(1_000_000);
    set(&engine, table, 1, 2);
    assert_eq!(engine.collect(), 1, "the version that a late beginner would need is gone");
    clock.step_back(500_000);
    let faults: BTreeSet<String> = (0..4)
        .map(|_| {
            let engine = engine.clone();
            let late = move || get(&mut engine.begin_owned(Begin::default()).expect("begin"), table, 1);
            clock_fault(thread::spawn(late).join().expect("no panic"))
        })
        .collect();
    assert!(faults.iter().all(|fault| fault.contains("stepped back")), "{faults:?}");
    assert_eq!(engine.stats().active, 0);
    clock.advance(600_000);
    assert_eq!(now(&engine, table, 1), Some(2));
}

/// "A clock that steps back is a named fault" on every site: never a transaction that begins after another has ended and
/// yet stands before it.
#[test]
fn a_step_back_never_breaks_the_order_of_real_time() {
    let (engine, clock, table) = with_registers(Options { sites: 64, ..impatient() }, &[(1, 1)]);
    clock.advance(1_000_000);
    let before = set(&engine, table, 1, 2);
    clock.step_back(500_000);
    for _ in 0..4 {
        let engine = engine.clone();
        let late = move || {
            let mut open = engine.begin_owned(Begin::default()).expect("begin only notes down");
            get(&mut open, table, 1).map(|seen| (seen, at(&open)))
        };
        match thread::spawn(late).join().expect("no panic") {
            Ok((seen, at)) => assert!(at > before && seen == Some(2), "T{at} after T{before} has ended reads {seen:?}"),
            fault => drop(clock_fault(fault)),
        }
    }
}

/// A jump forward is only time that has passed.
#[test]
fn a_jump_forward_is_time_that_has_passed() {
    let options = Options { transaction_age: Some(Duration::from_secs(60)), ..impatient() };
    let (engine, clock, table) = with_registers(options, &[(1, 1)]);
    let mut old = begin(&engine);
    clock.advance(86_400_000_000_000 * 365);
    assert!(set(&engine, table, 1, 2) > at(&old));
    engine.collect();
    assert_eq!(support::rule(get(&mut old, table, 1)), "age");
    assert_eq!(now(&engine, table, 1), Some(2));
}

/// A clock that jumps beyond the last timestamp there can be is a fault too, not a panic.
#[test]
fn a_jump_beyond_the_last_timestamp_is_named() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 1)]);
    let mut open = begin(&engine);
    clock.advance(1 << 62);
    clock_fault(get(&mut engine.begin_owned(Begin::default()).expect("begin only notes down"), table, 1));
    clock.advance(u64::MAX);
    clock_fault(get(&mut engine.begin_owned(Begin::default()).expect("begin only notes down"), table, 1));
    assert_eq!(get(&mut open, table, 1).expect("open"), Some(1));
    open.commit().expect("open");
}

/// `run` does not retry a broken clock: it says so.
#[test]
fn run_reports_a_broken_clock_at_once() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 1)]);
    clock.step_back(1_000);
    let mut bodies = 0;
    let outcome = engine.run(Begin::default(), RetryPolicy::default(), |open| {
        bodies += 1;
        get(open, table, 1)
    });
    clock_fault(outcome.map(drop));
    assert_eq!(bodies, 1);
}

/// Threads that count while the clock steps back again and again: nobody hangs, and no increment is lost or counted twice.
#[test]
fn increments_survive_a_clock_that_steps_back_again_and_again() {
    const THREADS: u64 = 4;
    const INCREMENTS: u64 = 300;
    let (engine, clock, table) =
        with_registers(Options { sites: 4, wait_limit: Duration::from_secs(60), ..Options::default() }, &[(1, 0)]);
    clock.advance(1_000_000);
    let points = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for number in 0..INCREMENTS {
                    let point = increment(&engine, &clock, table);
                    assert!(points.lock().expect("no panic").insert(point), "serial points are unique");
                    if number % 16 == 0 {
                        clock.step_back(200);
                    }
                    if number % 50 == 0 {
                        engine.collect();
                    }
                }
            });
        }
    });
    clock.advance(1_000_000);
    assert_eq!(now(&engine, table, 1), Some(THREADS * INCREMENTS));
    assert_eq!(engine.stats().active, 0);
}

/// Adds one, however often the clock or a conflict is in the way; the serial point.
fn increment(engine: &support::Engine, clock: &SimClock, table: model::TableId) -> u64 {
    loop {
        let policy = RetryPolicy { attempts: 10_000, ..RetryPolicy::default() };
        let added = engine.run(Begin::default(), policy, |open| {
            let mut row = RowBuf::new();
            open.read_for_update(table, &Key::from_u64(1), &mut row)?;
            put(open, table, 1, support::integer(row.bytes()) + 1)
        });
        match added {
            Ok(((), committed)) => return committed.serial_point.0,
            Err(Error::Fault(Fault::Clock { .. })) => clock.advance(100),
            Err(error) => panic!("neither a conflict nor the clock: {error}"),
        }
    }
}

/// An engine on a clock that started at a million.
fn started_late() -> (Mvto<SimClock>, SimClock) {
    let clock = SimClock::new(1_000_000, 1);
    (Mvto::in_memory_with(impatient(), clock.clone()).expect("in memory"), clock)
}

/// Behind the reading that the engine began with there is no time at all.
#[test]
fn a_step_back_behind_the_start_is_named() {
    let (engine, clock) = started_late();
    engine.create_table(registers("one", Storage::Ordered)).expect("the clock is healthy");
    clock.step_back(500_000);
    clock_fault(engine.create_table(registers("two", Storage::Ordered)));
}

/// What a broken clock shows is no bound for what a healthy one will.
#[test]
fn a_step_back_behind_the_start_leaves_the_bound_alone() {
    let (engine, clock) = started_late();
    engine.create_table(registers("one", Storage::Ordered)).expect("the clock is healthy");
    clock.step_back(500_000);
    engine.collect();
    clock.advance(1_000_000);
    engine.create_table(registers("two", Storage::Ordered)).expect("the clock is healthy again");
}

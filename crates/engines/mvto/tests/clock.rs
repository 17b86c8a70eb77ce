//! A clock that stalls or shows too much: a fault with a name, no hang, nothing lost, and work goes on afterwards. One that steps
//! back: time goes on above all that was drawn, at once.

mod support;

use env::{Clock, SimClock, SimDisk, SimDiskOptions};
use model::{Access, Begin, Columns, Error, Fault, Finish, Interactive, Key, Mode, RowBuf, Storage, TableId};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use support::{
    Engine, all, at, begin, begin_as, engine_and_clock, get, impatient, now, put, registers, set, with_registers,
};

/// Returns the message of the clock fault.
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
    assert!(clock_fault(get(&mut late, table, 1)).contains("does not advance"));
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

/// A small step back, to behind the last timestamp: time goes on above that.
#[test]
fn a_small_step_back_is_continued_above() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 1)]);
    let before = set(&engine, table, 1, 2);
    clock.step_back(50);
    let mut late = engine.begin_owned(Begin::default()).expect("begin only notes down");
    assert_eq!(get(&mut late, table, 1).expect("time goes on"), Some(2));
    assert!(at(&late) > before, "the order of real time is kept");
    assert_eq!(engine.stats().clock_steps, 1);
    let last = at(&late);
    late.commit().expect("nobody in the way");
    clock.advance(1_000);
    assert!(set(&engine, table, 1, 3) > last);
    assert_eq!(engine.stats().clock_steps, 1, "it has stepped back once");
}

/// A step back by an hour (a computer that slept): what is open ends well, what is there stays, and what begins goes on above.
#[test]
fn a_large_step_back_stops_nothing_and_loses_nothing() {
    let hour = 3_600_000_000_000;
    let (engine, clock) = engine_and_clock(impatient());
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    clock.advance(2 * hour);
    set(&engine, table, 1, 1);
    let (mut reader, mut writer) = (begin_as(&engine, Mode::ReadOnly), begin(&engine));
    let mut last = at(&writer);
    clock.step_back(hour);
    for _ in 0..3 {
        let mut late = engine.begin_owned(Begin::default()).expect("begin only notes down");
        assert_eq!(get(&mut late, table, 2).expect("time goes on"), None);
        assert!(at(&late) > last, "the order of real time is kept");
        last = at(&late);
        late.commit().expect("nobody in the way");
    }
    engine.create_table(registers("others", Storage::Ordered)).expect("time goes on");
    assert!(engine.table("others").is_some());
    engine.collect();
    assert_eq!(get(&mut reader, table, 1).expect("open"), Some(1));
    put(&mut writer, table, 1, 2).expect("open");
    assert!(writer.commit().expect("open").claimed().0 < last, "its place is where it began");
    engine.collect();
    assert_eq!(get(&mut reader, table, 1).expect("open"), Some(1), "collection keeps what it needs");
    reader.commit().expect("read-only transactions always commit");
    assert_eq!(engine.stats().active, 0);
    assert!(set(&engine, table, 2, 3) > last);
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 2), (2, 3)]);
    clock.advance(hour + 100);
    assert!(set(&engine, table, 2, 4) > last);
    assert_eq!(engine.stats().clock_steps, 1);
}

/// The step is seen by threads on sites that have not drawn since: what was collected lies below them all the same.
#[test]
fn a_step_back_behind_other_sites_is_seen_by_them() {
    let (engine, clock, table) = with_registers(Options { sites: 64, ..impatient() }, &[(1, 1)]);
    clock.advance(1_000_000);
    let before = set(&engine, table, 1, 2);
    assert_eq!(engine.collect(), 1, "the version that a late beginner would need is gone");
    let bound = engine.stats().bound.0;
    clock.step_back(500_000);
    let seen: Vec<(Option<u64>, u64)> = (0..4).map(|_| read_on_another_thread(&engine, table)).collect();
    assert!(seen.iter().all(|&(value, at)| value == Some(2) && at > before && at > bound), "{seen:?}");
    assert_eq!(engine.stats().active, 0);
    clock.advance(600_000);
    assert_eq!(now(&engine, table, 1), Some(2));
}

/// Returns register 1 as read by a new transaction of another thread, and that transaction's timestamp.
fn read_on_another_thread(engine: &Engine, table: TableId) -> (Option<u64>, u64) {
    let engine = engine.clone();
    let late = move || {
        let mut open = engine.begin_owned(Begin::default()).expect("begin only notes down");
        (get(&mut open, table, 1).expect("time goes on"), at(&open))
    };
    thread::spawn(late).join().expect("no panic")
}

/// On every site: never a transaction that begins after another has ended and yet stands before it.
#[test]
fn a_step_back_never_breaks_the_order_of_real_time() {
    let (engine, clock, table) = with_registers(Options { sites: 64, ..impatient() }, &[(1, 1)]);
    clock.advance(5_000_000);
    let mut before = set(&engine, table, 1, 2);
    for _ in 0..4 {
        clock.step_back(500_000);
        let (seen, at) = read_on_another_thread(&engine, table);
        assert!(at > before && seen == Some(2), "T{at} after T{before} has ended reads {seen:?}");
        before = at;
    }
}

/// A survey notes what it has read of the clock: whoever draws while it is under way, on a clock that has stepped back, draws
/// above it.
#[test]
fn a_step_back_between_two_surveys_leaves_the_bound_below_everybody() {
    let (engine, clock, table) = with_registers(Options { sites: 4, ..impatient() }, &[(1, 1)]);
    let mut reader = begin_as(&engine, Mode::ReadOnly); // Holds the bound back: the floor alone has gone ahead.
    clock.advance(1_000_000);
    engine.collect();
    clock.step_back(900_000);
    let (seen, at) = read_on_another_thread(&engine, table);
    assert_eq!(seen, Some(1));
    assert!(at > 1_000_000, "T{at} is below the floor of a survey");
    assert_eq!(get(&mut reader, table, 1).expect("open"), Some(1));
}

/// The next engine draws no timestamp twice, or lower than before, although its clock begins anew.
#[test]
fn timestamps_rise_across_steps_back_and_restarts() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let mut last = 0;
    for round in 0..4 {
        let log = wal::LogOptions { driver: wal::Driver::Caller, ..Default::default() };
        let clock = SimClock::new(1_000_000 * (4 - round), 1);
        let options = Options { log, ceiling_lease: Duration::from_micros(50), ..impatient() };
        let engine = Arc::new(Mvto::open_with(Arc::new(disk.clone()), options, clock.clone()).expect("it opens"));
        let table = match engine.table("registers") {
            Some((table, _)) => table,
            None => engine.create_table(registers("registers", Storage::Ordered)).expect("a new table"),
        };
        for value in 0..20 {
            if value % 5 == 4 {
                clock.step_back(200_000);
            }
            let at = set(&engine, table, value, round);
            assert!(at > last, "T{at} after T{last} in round {round}");
            last = at;
        }
        assert!(engine.stats().clock_steps >= 4);
        assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way").len(), 20);
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

/// A clock that runs backwards when it is told to.
#[derive(Clone)]
struct Backwards {
    now: Arc<AtomicU64>,
    is_broken: Arc<AtomicBool>,
}

impl Clock for Backwards {
    fn now(&self) -> u64 {
        match self.is_broken.load(Ordering::SeqCst) {
            true => self.now.fetch_sub(1, Ordering::SeqCst),
            false => self.now.fetch_add(1, Ordering::SeqCst),
        }
    }
    fn ticks_per_second(&self) -> u64 {
        1_000_000_000
    }
}

/// A clock that steps back with every reading is a fault, which `run` does not retry: it says so.
#[test]
fn run_reports_a_broken_clock_at_once() {
    let clock = Backwards { now: Arc::new(AtomicU64::new(1_000_000)), is_broken: Arc::default() };
    let engine = Mvto::in_memory_with(impatient(), clock.clone()).expect("in memory");
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    clock.is_broken.store(true, Ordering::SeqCst);
    let mut bodies = 0;
    let outcome = engine.run(Begin::default(), RetryPolicy::default(), |open| {
        bodies += 1;
        get(open, table, 1)
    });
    assert!(clock_fault(outcome.map(drop)).contains("stepped back"));
    assert_eq!(bodies, 1);
    assert_eq!(engine.stats().active, 0);
    clock.is_broken.store(false, Ordering::SeqCst);
    let outcome = engine.run(Begin::default(), RetryPolicy::default(), |open| get(open, table, 1));
    assert_eq!(outcome.expect("the clock is healthy again").0, None);
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
fn increment(engine: &Engine, clock: &SimClock, table: TableId) -> u64 {
    loop {
        let policy = RetryPolicy::unlimited();
        let added = engine.run(Begin::default(), policy, |open| {
            let mut row = RowBuf::new();
            open.read_for_update(table, &Key::from_u64(1), Columns::All, &mut row)?;
            put(open, table, 1, support::integer(row.bytes()) + 1)
        });
        match added {
            Ok(((), committed)) => return committed.claimed().0,
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

/// Behind the reading that the engine began with time goes on, too.
#[test]
fn a_step_back_behind_the_start_is_continued_above() {
    let (engine, clock) = started_late();
    engine.create_table(registers("one", Storage::Ordered)).expect("the clock is healthy");
    clock.step_back(500_000);
    engine.create_table(registers("two", Storage::Ordered)).expect("time goes on");
    assert_eq!(engine.stats().clock_steps, 1);
}

/// The reading of a broken clock does not bound later readings of a healthy one.
#[test]
fn a_step_back_behind_the_start_leaves_the_bound_alone() {
    let (engine, clock) = started_late();
    engine.create_table(registers("one", Storage::Ordered)).expect("the clock is healthy");
    clock.step_back(500_000);
    engine.collect();
    clock.advance(1_000_000);
    engine.create_table(registers("two", Storage::Ordered)).expect("the clock is healthy again");
}

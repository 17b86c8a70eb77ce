//! Checkpoints of a batch's end while later batches go on; dropped tables; and states that are the same after calls were executed again.
#![cfg(not(feature = "shuttle"))]

#[path = "common/moves.rs"]
mod moves;

use conformance::registers::{put, registers};
use env::{SimDisk, Survival};
use model::{Access, Begin, Error, Fault, Invalid, Program, Reexecutable, Storage, TableId};
use moves::{GATE, Kind, Step, contents, create, disk, is_acknowledged, reopen, small, submit, table};
use seriatim_bohm::{Bohm, Driver, LogOptions, Options, Pace};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The gate is the whole process's, so tests that close it run one after another.
static ALONE: Mutex<()> = Mutex::new(());

/// Many threads in small batches; the log has threads of its own.
fn many() -> Options {
    let log =
        LogOptions { segment_bytes: 16 << 10, part_bytes: 1 << 10, driver: Driver::Threads, ..LogOptions::default() };
    Options { planners: 3, executors: 3, batch: 7, run_ahead: 2, queue: 64, depth: 2, log, ..small() }
}

/// What a crash leaves now, opened.
fn after_crash(disk: &SimDisk) -> std::sync::Arc<Bohm> {
    reopen(&disk.power_cut_with(Survival::SyncedOnly), many()).expect("a healthy disk")
}

fn log_files(disk: &SimDisk) -> usize {
    disk.paths().iter().filter(|path| path.ends_with(".log")).count()
}

/// Submitters race, guesses miss, checkpoints are written meanwhile; and the calls once more leave the same state.
#[test]
fn racing_calls_leave_the_same_state_when_they_are_executed_again() {
    let mut missed = 0;
    for seed in 0..4 {
        let disk = disk(seed);
        let engine = reopen(&disk, many()).expect("a healthy disk");
        let table = create(&engine).expect("a new table");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let submitters: Vec<_> = (0..3)
                .map(|thread| {
                    let engine = &engine;
                    scope.spawn(move || {
                        for n in 0..60 {
                            let steps = (0..5).map(|k| Step::nth(table, seed + thread * 1000 + n * 5 + k));
                            let tickets = submit(engine, steps);
                            assert!(tickets.into_iter().all(|ticket| is_acknowledged(ticket.wait())));
                        }
                    })
                })
                .collect();
            let checkpoints = scope.spawn(|| {
                let mut reports = Vec::new();
                while !is_over.load(SeqCst) || reports.is_empty() {
                    reports.push(engine.write_checkpoint(Pace::Full).expect("a healthy disk"));
                }
                reports
            });
            submitters.into_iter().for_each(|submitter| submitter.join().expect("no panic"));
            is_over.store(true, SeqCst);
            let reports = checkpoints.join().expect("no panic");
            assert!(reports.windows(2).all(|pair| pair[0].batch <= pair[1].batch), "{reports:?}");
        });
        missed += engine.stats().missed;
        let before = contents(&engine, table);
        let again = after_crash(&disk);
        assert_eq!(contents(&again, table), before, "seed {seed}: {:?}", again.recovery());
        assert_eq!(engine.collect(), 0, "a checkpoint keeps nothing");
    }
    assert!(missed > 0, "no guess was wrong: nothing was tested of them");
}

/// A checkpoint holds the rows of its boundary, also those that are overwritten and deleted while it is written, and nothing of later
/// batches; the log before it goes.
#[test]
fn a_checkpoint_is_of_one_boundary_whatever_goes_on() {
    const ROWS: u64 = 3000;
    let disk = disk(3);
    let engine = reopen(&disk, many()).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    let fill = |by: u64| {
        let step = move |to| Step { table, kind: Kind::Combine, from: 1 << 40, to, by };
        let tickets = submit(&engine, (0..ROWS).map(step));
        assert!(tickets.into_iter().all(|ticket| is_acknowledged(ticket.wait())));
    };
    fill(1);
    let before = log_files(&disk);
    let is_over = AtomicBool::new(false);
    let handed_over = thread::scope(|scope| {
        let changing = scope.spawn({
            let (engine, is_over) = (&engine, &is_over);
            move || {
                let mut n = 0;
                while !is_over.load(SeqCst) {
                    let to = n * 37 % ROWS;
                    let kind = if n % 3 == 0 { Kind::Delete } else { Kind::Combine };
                    let step = Step { table, kind, from: to, to, by: 5 };
                    submit(engine, [step]).into_iter().for_each(|ticket| _ = ticket.wait().expect("it commits"));
                    n += 1;
                }
            }
        });
        let mut handed_over = 0;
        for _ in 0..200 {
            handed_over += engine.write_checkpoint(Pace::Full).expect("a healthy disk").handed_over;
            if handed_over > 20 {
                break;
            }
        }
        is_over.store(true, SeqCst);
        changing.join().expect("no panic");
        handed_over
    });
    assert!(handed_over > 0, "nothing was overwritten while a checkpoint was written");
    engine.settle();
    engine.write_checkpoint(Pace::Full).expect("a healthy disk");
    assert!(log_files(&disk) < before, "{} segments of {before}", log_files(&disk));
    assert_eq!(contents(&after_crash(&disk), table), contents(&engine, table));
    // From the checkpoint alone, and nothing of it twice.
    engine.close().expect("a healthy disk");
    let rows = contents(&engine, table);
    drop(engine);
    let again = reopen(&disk, many()).expect("a healthy disk");
    let report = again.recovery().expect("it was opened");
    assert_eq!((report.clean, report.calls, report.checkpoint_rows), (true, 0, rows.len() as u64), "{report:?}");
    assert_eq!(contents(&again, table), rows);
}

/// Rows by a program: its reads are compared again where it stood.
struct Add(TableId, u64);

impl Program for Add {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> model::Result<()> {
        let all = conformance::registers::all(&mut access, self.0)?;
        let sum: u64 = all.iter().map(|(_, value)| value).sum();
        put(&mut access, self.0, self.1, sum + 1)
    }
}

#[test]
fn programs_are_in_the_log_too() {
    let disk = disk(4);
    let engine = reopen(&disk, small()).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    for n in 0..6 {
        let keep_trying = &mut |_: u32, _: &Error| true;
        engine.execute(&mut Add(table, n), Begin::default(), keep_trying).expect("nobody in the way");
    }
    let expected: Vec<(u64, u64)> = (0..6).map(|n| (n, 1 << n)).collect();
    assert_eq!(contents(&engine, table), expected);
    assert_eq!(contents(&after_crash(&disk), table), expected);
}

/// Calls before a drop use the table, those behind it do not; its memory comes back; the name is free, the number is not.
#[test]
fn a_dropped_table_is_gone_behind_its_place() {
    for options in [small(), Options { planners: 1, executors: 1, ..small() }] {
        let disk = disk(5);
        let engine = reopen(&disk, options.clone()).expect("a healthy disk");
        let dropped = create(&engine).expect("a new table");
        let kept = engine.create_table(registers("kept", Storage::Hash)).expect("a new table");
        let on = |table, n: u64| Step { table, kind: Kind::Combine, from: n, to: n, by: n + 1 };
        let before = submit(&engine, (0..500).flat_map(|n| [on(dropped, n), on(kept, n)]));
        engine.drop_table("registers").expect("it is there");
        assert!(before.into_iter().all(|ticket| ticket.wait().is_ok()), "what stands before the drop has used it");
        let unknown = |step| submit(&engine, [step]).pop().expect("one").wait().map(drop).unwrap_err();
        let refused = unknown(on(dropped, 1));
        assert!(matches!(refused, Error::Invalid(Invalid::UnknownTable { .. })), "{refused:?}");
        assert!(matches!(engine.drop_table("registers"), Err(Error::Invalid(Invalid::UnknownTable { .. }))));
        assert_eq!(engine.collect(), 0);
        assert_eq!(engine.stats().records, 500, "the rows of the other table");

        let again = create(&engine).expect("the name is free");
        assert!(again > kept, "{again:?}: a number is given once");
        assert!(submit(&engine, [on(again, 7)]).into_iter().all(|ticket| ticket.wait().is_ok()));
        for checkpointed in [false, true] {
            if checkpointed {
                engine.write_checkpoint(Pace::Full).expect("a healthy disk");
            }
            let found = after_crash(&disk);
            assert_eq!((table(&found, "registers"), table(&found, "kept")), (Some(again), Some(kept)));
            assert_eq!(contents(&found, again), [(7, 8)]);
            assert!(submit(&found, [on(dropped, 1)]).pop().expect("one").wait().is_err());
            let next = found.create_table(registers("next", Storage::Hash)).expect("a new table");
            assert!(next > again, "{next:?}: a number is given once, also after a restart");
        }
    }
}

/// Drops race with calls on the table: each call was before one or behind it, and a restart decides alike.
#[test]
fn drops_that_race_are_decided_alike_by_a_restart() {
    let disk = disk(6);
    let engine = reopen(&disk, many()).expect("a healthy disk");
    let other = engine.create_table(registers("other", Storage::Ordered)).expect("a new table");
    let both = |table, n: u64| {
        [
            Step { table, kind: Kind::Combine, from: n % 3, to: n % 3, by: n },
            Step { table: other, kind: Kind::Combine, from: n % 3, to: n % 3, by: n },
        ]
    };
    for _ in 0..12 {
        let table = create(&engine).expect("the name is free");
        thread::scope(|scope| {
            let engine = &engine;
            scope.spawn(move || {
                for n in 0..30 {
                    for ticket in submit(engine, both(table, n)) {
                        let completed = ticket.wait();
                        assert!(!matches!(completed, Err(Error::Fault(Fault::LogFailed { .. }))), "{completed:?}");
                    }
                }
            });
            thread::yield_now();
            engine.drop_table("registers").expect("it is there");
        });
    }
    let found = after_crash(&disk);
    assert_eq!(contents(&found, other), contents(&engine, other));
    assert_eq!(table(&found, "registers"), None);
}

/// A name is free once its drop is sealed. A checkpoint of a batch before that has the table, and a new one of the same name.
#[test]
fn a_checkpoint_may_have_two_tables_of_one_name() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let disk = disk(8);
    let engine = reopen(&disk, Options { executors: 1, run_ahead: 4, ..many() }).expect("a healthy disk");
    let old = create(&engine).expect("a new table");
    let other = engine.create_table(registers("other", Storage::Ordered)).expect("a new table");
    let step = |table, kind, to| Step { table, kind, from: to, to, by: 9 };
    assert!(submit(&engine, [step(old, Kind::Combine, 1)]).into_iter().all(|ticket| ticket.wait().is_ok()));
    engine.settle();
    GATE.set(true);
    let held = submit(&engine, [step(other, Kind::Hold, 2)]);
    GATE.wait();
    thread::scope(|scope| {
        let drop = scope.spawn(|| engine.drop_table("registers"));
        while table(&engine, "registers").is_some() {
            thread::yield_now();
        }
        let new = create(&engine).expect("the name is free");
        engine.write_checkpoint(Pace::Full).expect("a healthy disk");
        GATE.set(false);
        drop.join().expect("no panic").expect("it was there");
        assert!(held.into_iter().all(|ticket| ticket.wait().is_ok()));
        let found = after_crash(&disk);
        assert_eq!(table(&found, "registers"), Some(new));
        assert_eq!(contents(&found, other), [(2, 9)]);
    });
}

/// A call that is logged and durable and not executed yet when a checkpoint begins is behind its boundary: its record is neither removed
/// nor passed over.
#[test]
fn what_is_being_executed_is_behind_the_boundary() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let disk = disk(7);
    let engine = reopen(&disk, Options { executors: 1, ..many() }).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    let step = |kind, to| Step { table, kind, from: to, to, by: 9 };
    assert!(submit(&engine, [step(Kind::Combine, 1)]).into_iter().all(|ticket| ticket.wait().is_ok()));
    engine.settle();
    GATE.set(true);
    let held = submit(&engine, [step(Kind::Hold, 2)]);
    GATE.wait();
    // The walk waits for nobody; its end waits for the planners, whom a batch in execution does not hold up.
    engine.write_checkpoint(Pace::Full).expect("a healthy disk");
    GATE.set(false);
    assert!(held.into_iter().all(|ticket| ticket.wait().is_ok()));
    assert_eq!(contents(&after_crash(&disk), table), [(1, 9), (2, 9)]);
}

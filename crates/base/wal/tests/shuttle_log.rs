//! The whole log under random schedules: whoever waits is answered, by the sync that covers its position and not before, and
//! every wait that can be ended ends.
//!
//! `cargo test -p seriatim-wal --features shuttle --profile models --test shuttle_log`
//!
//! Time does not pass here: a lost wake-up is a deadlock, which shuttle reports with the schedule. Groups are not gathered,
//! since a wait for others would last until they come.
#![cfg(feature = "shuttle")]

mod common;

use common::{new_disk, payload, small};
use env::disk::Fault;
use env::{Operation, SimDisk, Survival, WatchedDisk};
use seriatim_wal::{Driver, Durability, Log, LogError, LogOptions, LogPosition};
use shuttle::sync::{Condvar, Mutex, mpsc};
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn options() -> LogOptions {
    LogOptions { driver: Driver::Threads, group_gather: Duration::ZERO, ..small() }
}

/// Runs `model` under `runs` random schedules, and as many that change threads at few, random moments.
fn check(runs: usize, model: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(model.clone(), runs);
    shuttle::check_pct(model, runs, 3);
}

/// A log on a disk that lets others run in front of each write and each sync, and counts the syncs that have begun.
fn watched() -> (Arc<Log>, SimDisk, Arc<AtomicU64>) {
    let (disk, syncs) = (new_disk(1), Arc::<AtomicU64>::default());
    let watched = WatchedDisk::new(disk.clone(), {
        let syncs = Arc::clone(&syncs);
        move |operation, path| {
            if matches!(operation, Operation::Write | Operation::Sync) {
                thread::yield_now();
            }
            syncs.fetch_add(u64::from(operation == Operation::Sync && path.ends_with(".log")), Ordering::Relaxed);
        }
    });
    let (log, _) = Log::open(Arc::new(watched), options()).unwrap();
    (Arc::new(log), disk, syncs)
}

/// Waits in one of three ways.
fn wait(log: &Log, position: LogPosition, way: u64) -> Result<(), LogError> {
    match way % 3 {
        0 => log.wait_durable(position),
        1 => log.wait_durable_unless(position, &|| false).map(|is_durable| assert!(is_durable)),
        _ => {
            let (sender, receiver) = mpsc::channel();
            log.on_durable(position, Box::new(move |result| sender.send(result).unwrap()));
            receiver.recv().unwrap()
        }
    }
}

#[test]
fn everybody_who_waits_is_answered_by_a_sync() {
    check(10_000, || {
        let (log, disk, _) = watched();
        let committers: Vec<_> = (0..3u64)
            .map(|number| {
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    for round in 0..2 {
                        let position = log.append(1, &payload(number, 40), Durability::Fsync).unwrap();
                        wait(&log, position, number + round).unwrap();
                        assert!(log.durable() >= position);
                    }
                })
            })
            .collect();
        committers.into_iter().for_each(|committer| committer.join().unwrap());
        let synced = disk.power_cut_with(Survival::SyncedOnly);
        drop(log);
        let (_log, content) = common::open_with(&synced, LogOptions { driver: Driver::Caller, ..options() }).unwrap();
        assert_eq!(content.records.len(), 6, "what was acknowledged was synced");
    });
}

/// Somebody appends more than a segment holds, and waits for nothing. The rounds that make room for that end segments, and serve who
/// waits for what is in them.
#[test]
fn a_round_that_makes_room_wakes_whom_it_has_served() {
    check(1_500, || {
        let (log, ..) = watched();
        let loader = {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                for number in 0..14 {
                    log.append(1, &payload(number, 80), Durability::None).unwrap();
                }
            })
        };
        let position = log.append(1, &payload(0, 40), Durability::Fsync).unwrap();
        wait(&log, position, 1).unwrap();
        loader.join().unwrap();
    });
}

/// A disk that does not return from a sync keeps whoever syncs, and nobody else who can be ended.
#[test]
fn waits_end_from_outside_while_the_disk_stands() {
    check(1_500, || {
        let gate = Arc::new((Mutex::new(true), Condvar::new()));
        let watched = WatchedDisk::new(new_disk(1), {
            let gate = Arc::clone(&gate);
            move |operation, path| {
                if operation == Operation::Sync && path.ends_with(".log") {
                    let mut is_open = gate.0.lock().unwrap();
                    while !*is_open {
                        is_open = gate.1.wait(is_open).unwrap();
                    }
                }
            }
        });
        let log = Arc::new(Log::open(Arc::new(watched), options()).unwrap().0);
        *gate.0.lock().unwrap() = false;
        let spawn = |body: Box<dyn FnOnce(Arc<Log>) + Send>| {
            let log = Arc::clone(&log);
            thread::spawn(move || body(log))
        };
        let stuck = spawn(Box::new(|log| {
            let position = log.append(1, b"of one who leads", Durability::Fsync).unwrap();
            log.wait_durable(position).unwrap();
        }));
        let is_over = Arc::new(AtomicBool::new(false));
        let ended = spawn(Box::new({
            let is_over = Arc::clone(&is_over);
            move |log| {
                let position = log.append(1, b"of one who is ended", Durability::Fsync).unwrap();
                let is_over = || is_over.load(Ordering::Relaxed);
                assert!(!log.wait_durable_unless(position, &is_over).unwrap(), "no sync has returned");
            }
        }));
        is_over.store(true, Ordering::Relaxed);
        log.recheck_waits();
        ended.join().unwrap();
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        stuck.join().unwrap();
    });
}

/// A sync fails while others wait: each of them is told, and nobody syncs again.
#[test]
fn a_failed_sync_is_everybodys() {
    check(1_500, || {
        let (log, disk, syncs) = watched();
        disk.inject(Fault { operation: Operation::Sync, after: 0, kind: std::io::ErrorKind::Other });
        let before = syncs.load(Ordering::Relaxed);
        let committers: Vec<_> = (0..3u64)
            .map(|number| {
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    let appended = log.append(1, &payload(number, 40), Durability::Fsync);
                    let error = appended.and_then(|position| wait(&log, position, number)).unwrap_err();
                    assert!(error.outcome_unknown(), "{error}");
                })
            })
            .collect();
        committers.into_iter().for_each(|committer| committer.join().unwrap());
        assert_eq!(syncs.load(Ordering::Relaxed) - before, 1, "a failed sync is never tried again");
        assert!(log.close().unwrap_err().outcome_unknown());
    });
}

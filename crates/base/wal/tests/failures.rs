//! Disks that fail or fill up while the log is in use.

mod common;

use common::{Acknowledged, WAYS, commit, new_disk, new_disk_that, open, open_with, payload, small};
use env::disk::Fault;
use env::{DurableWrites, Operation, SimDisk, SimDiskOptions, Survival};
use seriatim_wal::{Driver, Durability, Log, LogError, LogOptions};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::mpsc;

/// Commits until something fails.
fn live(log: &Log, acknowledged: &mut Acknowledged) -> Result<(), LogError> {
    for round in 1..=20 {
        acknowledged.append(log, Durability::Fsync)?;
        acknowledged.flush(log)?;
        acknowledged.append(log, Durability::None)?;
        acknowledged.append_large(log, Durability::None)?;
        acknowledged.flush(log)?;
        acknowledged.raise(log, round * 10)?;
    }
    Ok(())
}

/// Every write and every fdatasync of a life fails once. The log must stop: nothing more is appended, acknowledged or synced,
/// and a restart, of the process or of the machine, finds all that was acknowledged.
#[test]
fn a_failed_write_or_sync_stops_the_log_for_good() {
    for driver in [Driver::Caller, Driver::Threads] {
        for (operation, way) in [
            (Operation::Write, DurableWrites::Sync),
            (Operation::Sync, DurableWrites::Sync),
            (Operation::WriteDurable, DurableWrites::OneCall),
            (Operation::WriteDurable, DurableWrites::Direct),
        ] {
            let mut struck = 0;
            for after in 0.. {
                let disk = new_disk_that(after, way);
                let (log, _) = open_with(&disk, LogOptions { driver, ..small() }).unwrap();
                let calls = || disk.counts().get(&operation).copied().unwrap_or(0);
                let before = calls();
                disk.inject(Fault { operation, after, kind: ErrorKind::Other });
                let mut acknowledged = Acknowledged::default();
                let Err(error) = live(&log, &mut acknowledged) else {
                    if calls() - before > after {
                        // A segment was being prepared, and nobody had to hear of it.
                        assert_eq!((driver, log.failed().is_none()), (Driver::Threads, true));
                        continue;
                    }
                    break;
                };
                if matches!(error, LogError::Disk(_)) {
                    // The next segment could not be prepared: that is clean, the log goes on.
                    assert!(log.failed().is_none());
                    live(&log, &mut acknowledged).unwrap();
                    continue;
                }
                struck += 1;
                assert!(error.outcome_unknown(), "{operation} {after}: {error}");
                stays_stopped(&disk, &log, driver);
                drop(log);
                after_a_stop(&disk, &mut acknowledged);
            }
            assert!(struck > 10, "{operation} struck {struck} times with {driver:?}");
        }
    }
}

fn stays_stopped(disk: &SimDisk, log: &Log, driver: Driver) {
    if driver == Driver::Threads {
        // A segment may be half prepared; closing waits for that.
        assert!(log.close().unwrap_err().outcome_unknown());
    }
    let changes = disk.changes();
    assert!(log.failed().unwrap().outcome_unknown());
    assert!(log.append(1, b"x", Durability::None).unwrap_err().outcome_unknown());
    assert!(log.raise_ceiling(u64::MAX).unwrap_err().outcome_unknown());
    assert!(matches!(log.begin_checkpoint(), Err(LogError::Stopped(_))));
    if log.appended() > log.durable() {
        assert!(log.flush().unwrap_err().outcome_unknown());
        let (sender, receiver) = mpsc::channel();
        log.on_durable(log.appended(), Box::new(move |result| sender.send(result).unwrap()));
        assert!(receiver.recv().unwrap().unwrap_err().outcome_unknown());
    }
    assert_eq!(log.close().is_err(), driver == Driver::Caller, "only the first close has something to say");
    assert_eq!(disk.changes(), changes, "a stopped log leaves the disk alone");
}

/// The process restarts on a disk whose cache still shows bytes that a failed sync has lost for good; what it finds and shows
/// to people must survive the power cut that follows.
fn after_a_stop(disk: &SimDisk, acknowledged: &mut Acknowledged) {
    let (log, content) = open(disk).unwrap();
    acknowledged.appended = acknowledged.check(&content);
    acknowledged.durable = acknowledged.appended;
    let cut = disk.power_cut_with(Survival::SyncedOnly);
    assert_eq!(acknowledged.check(&open(&cut).unwrap().1), acknowledged.appended, "what was shown is durable");
    drop(log);
}

#[test]
fn waiters_and_callbacks_hear_of_the_failure() {
    let disk = new_disk(1);
    let (log, _) = open_with(&disk, LogOptions { driver: Driver::Threads, ..small() }).unwrap();
    let (sender, receiver) = mpsc::channel();
    let position = log.append(1, b"x", Durability::None).unwrap();
    disk.inject(Fault { operation: Operation::Sync, after: 0, kind: ErrorKind::Other });
    log.on_durable(position, Box::new(move |result| sender.send(result).unwrap()));
    assert!(receiver.recv().unwrap().unwrap_err().outcome_unknown());
    assert!(log.wait_durable(position).unwrap_err().outcome_unknown());
    let message = log.failed().unwrap().to_string();
    assert!(message.contains("wal-0000000001.log") && message.contains("unknown"), "{message}");
}

/// The disk is full at any size: appends fail cleanly, what was appended can be made durable, and the log goes on when there is
/// space again.
#[test]
fn a_full_disk_refuses_appends_and_nothing_else() {
    let drivers = [Driver::Caller, Driver::Threads, Driver::Caller];
    for (driver, durable_writes) in drivers.into_iter().zip(WAYS) {
        let options = LogOptions { driver, ..small() };
        let mut refused = 0;
        for capacity in (8 * 1024..20 * 1024).step_by(256) {
            let disk = SimDisk::new(capacity, SimDiskOptions { capacity, durable_writes, ..Default::default() });
            let log = match open_with(&disk, options.clone()) {
                Ok((log, _)) => log,
                Err(error) => {
                    assert!(error.is_full(), "{error}");
                    disk.set_capacity(u64::MAX);
                    assert!(open(&disk).unwrap().1.report.created, "a creation that failed leaves nothing behind");
                    continue;
                }
            };
            let mut acknowledged = Acknowledged::default();
            for _ in 0..80 {
                match acknowledged.append(&log, Durability::None) {
                    Ok(()) => {}
                    Err(error) => {
                        assert!(error.is_full(), "{error}");
                        refused += 1;
                    }
                }
                acknowledged.flush(&log).unwrap();
            }
            disk.set_capacity(u64::MAX);
            let mut appended = acknowledged.append(&log, Durability::Fsync);
            if driver == Driver::Threads && appended.as_ref().is_err_and(LogError::is_full) {
                // The thread had begun this attempt before there was space; the next one begins afterwards.
                appended = acknowledged.append(&log, Durability::Fsync);
            }
            appended.unwrap();
            acknowledged.flush(&log).unwrap();
            assert!(log.failed().is_none());
            if capacity % 512 == 0 {
                log.close().unwrap();
            }
            drop(log);
            let cut = disk.power_cut_with(Survival::SyncedOnly);
            assert_eq!(acknowledged.check(&open(&cut).unwrap().1), acknowledged.appended);
        }
        assert!(refused > 100, "{refused}");
    }
}

#[test]
fn closing_needs_no_space() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let mut acknowledged = Acknowledged::default();
    while disk.used() < 12 * 1024 {
        acknowledged.append(&log, Durability::None).unwrap();
    }
    disk.set_capacity(disk.used());
    while acknowledged.append(&log, Durability::None).is_ok() {}
    log.close().unwrap();
    disk.set_capacity(u64::MAX);
    let (_log, content) = open(&disk).unwrap();
    assert!(content.report.clean);
    assert_eq!(acknowledged.check(&content), acknowledged.appended);
}

/// A disk on which nothing is left, with a log that ended by a close, or by a power cut that has left anything behind its end.
fn full_disk(seed: u64, is_clean: bool, acknowledged: &mut Acknowledged) -> SimDisk {
    let disk = new_disk(seed);
    let (log, _) = open(&disk).unwrap();
    for _ in 0..(20 + seed % 20) {
        acknowledged.append(&log, Durability::None).unwrap();
    }
    acknowledged.flush(&log).unwrap();
    (0..seed % 4).for_each(|_| acknowledged.append(&log, Durability::None).unwrap());
    let disk = if is_clean {
        log.close().unwrap();
        acknowledged.durable = acknowledged.appended;
        disk
    } else {
        disk.power_cut_with(Survival::Random)
    };
    disk.set_capacity(disk.used());
    disk
}

/// A restart on a full disk reads all that is there and refuses appends; when there is space again the log goes on by itself, and
/// nothing of what a crash has left behind its end is ever read.
#[test]
fn a_restart_on_a_full_disk_reads_and_goes_on_when_there_is_space() {
    let mut refused = 0;
    for seed in 0..60 {
        for (driver, is_clean) in [(Driver::Caller, true), (Driver::Caller, false), (Driver::Threads, seed % 2 == 0)] {
            let mut acknowledged = Acknowledged::default();
            let disk = full_disk(seed, is_clean, &mut acknowledged);
            let options = LogOptions { driver, ..small() };
            for attempt in 0..2 {
                let (log, content) = open_with(&disk, options.clone()).unwrap();
                let found = acknowledged.check(&content);
                if log.refused().is_none() {
                    continue; // The crash has left a prepared segment.
                }
                refused += 1;
                assert!(log.refused().unwrap().is_full() && log.failed().is_none());
                (acknowledged.appended, acknowledged.durable) = (found, found);
                assert!(acknowledged.append(&log, Durability::Fsync).unwrap_err().is_full());
                assert!(log.begin_large(found, 5_000, 500).unwrap_err().is_full());
                acknowledged.flush(&log).unwrap();
                acknowledged.raise(&log, 7 + seed).unwrap();
                if attempt == 0 {
                    log.close().unwrap();
                }
            }
            let cut = disk.power_cut_with(Survival::SyncedOnly);
            assert!(acknowledged.check(&open(&cut).unwrap().1) >= acknowledged.durable, "what was shown is durable");

            let (log, content) = open_with(&disk, options.clone()).unwrap();
            acknowledged.appended = acknowledged.check(&content);
            disk.set_capacity(u64::MAX);
            for _ in 0..10 {
                acknowledged.append(&log, Durability::Fsync).unwrap();
                acknowledged.flush(&log).unwrap();
            }
            assert!(log.refused().is_none());
            drop(log);
            let cut = disk.power_cut_with(Survival::Random);
            assert_eq!(acknowledged.check(&open(&cut).unwrap().1), acknowledged.appended);
        }
    }
    assert!(refused > 100, "{refused}");
}

/// The write that ends what a crash has left open fails when space has come: the log stops, and a restart recovers.
#[test]
fn a_log_that_fails_to_go_on_stops() {
    let mut acknowledged = Acknowledged::default();
    let disk = full_disk(3, false, &mut acknowledged);
    let (log, content) = open(&disk).unwrap();
    assert!(log.refused().is_some());
    acknowledged.appended = acknowledged.check(&content);
    disk.set_capacity(u64::MAX);
    // One sync is the new segment's, the other that of what was found.
    disk.inject(Fault { operation: Operation::Sync, after: 1, kind: ErrorKind::Other });
    assert!(acknowledged.append(&log, Durability::Fsync).unwrap_err().outcome_unknown());
    stays_stopped(&disk, &log, Driver::Caller);
    drop(log);
    acknowledged.check(&open(&disk).unwrap().1);
}

#[test]
fn a_log_that_is_read_only_leaves_the_directory_as_it_is() {
    for is_clean in [true, false] {
        let mut acknowledged = Acknowledged::default();
        let disk = full_disk(7, is_clean, &mut acknowledged);
        let changes = disk.changes();
        let options = LogOptions { read_only: true, ..small() };
        let (log, content) = open_with(&disk, options.clone()).unwrap();
        acknowledged.check(&content);
        assert!(matches!(log.refused(), Some(LogError::ReadOnly)));
        assert!(matches!(acknowledged.append(&log, Durability::Fsync), Err(LogError::ReadOnly)));
        assert!(matches!(log.begin_large(1, 5_000, 500), Err(LogError::ReadOnly)));
        assert!(matches!(log.begin_checkpoint(), Err(LogError::ReadOnly)));
        log.raise_ceiling(1_000).unwrap();
        log.flush().unwrap();
        log.close().unwrap();
        assert_eq!(disk.changes(), changes);
        let missing = open_with(&new_disk(1), options).map(drop).unwrap_err();
        assert!(matches!(missing, LogError::NotALog { .. }), "{missing}");
    }
}

#[test]
fn a_segment_that_could_not_be_prepared_is_tried_again() {
    for driver in [Driver::Caller, Driver::Threads] {
        let faults = [
            (Operation::Create, ErrorKind::PermissionDenied),
            (Operation::Allocate, ErrorKind::StorageFull),
            (Operation::Allocate, ErrorKind::QuotaExceeded),
            (Operation::Rename, ErrorKind::Other),
        ];
        for (operation, kind) in faults {
            let disk = new_disk(1);
            let (log, _) = open_with(&disk, LogOptions { driver, ..small() }).unwrap();
            disk.inject(Fault { operation, after: 0, kind });
            let mut acknowledged = Acknowledged::default();
            let mut refused = 0;
            for _ in 0..40 {
                match acknowledged.append(&log, Durability::None) {
                    Ok(()) => {}
                    Err(LogError::Full(_)) if operation == Operation::Allocate => refused += 1,
                    Err(LogError::Disk(error)) => {
                        assert_eq!(error.operation(), operation);
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            // A thread may have noticed and tried again before anybody needed the segment.
            assert!(
                refused == 1 || (driver == Driver::Threads && refused == 0),
                "{operation} refused {refused} appends"
            );
            acknowledged.flush(&log).unwrap();
            drop(log);
            assert_eq!(acknowledged.check(&open(&disk).unwrap().1), acknowledged.appended);
        }
    }
}

#[test]
fn a_failed_directory_sync_stops_the_log() {
    for driver in [Driver::Caller, Driver::Threads] {
        let disk = new_disk(1);
        let (log, _) = open_with(&disk, LogOptions { driver, ..small() }).unwrap();
        disk.inject(Fault { operation: Operation::SyncDirectory, after: 0, kind: ErrorKind::Other });
        let mut acknowledged = Acknowledged::default();
        let error = (0..40).find_map(|_| acknowledged.append(&log, Durability::None).err()).unwrap();
        assert!(error.outcome_unknown(), "{error}");
        drop(log);
        acknowledged.check(&open(&disk).unwrap().1);
    }
}

#[test]
fn opening_a_disk_that_fails_is_an_error() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    for number in 0..10 {
        commit(&log, number, &payload(number, 300)).unwrap();
    }
    drop(log);
    for operation in [Operation::Open, Operation::Read, Operation::List, Operation::Lock, Operation::Length] {
        for after in 0.. {
            let failing = disk.copy();
            failing.inject(Fault { operation, after, kind: ErrorKind::PermissionDenied });
            match open(&failing) {
                Ok((_, content)) => {
                    assert_eq!(content.records.len(), 10);
                    assert!(after > 0, "{operation} is never called");
                    break;
                }
                Err(LogError::Disk(error)) => assert_eq!(error.operation(), operation),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn errors_say_what_to_do() {
    let disk = SimDisk::new(1, SimDiskOptions { capacity: 100, ..Default::default() });
    let error = open(&disk).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no space is left for the log: cannot reserve space for \"wal-0000000001.log.tmp\": no storage space"
    );
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.downcast_ref::<env::DiskError>().unwrap().is_full());
    fn is_an_error<T: std::error::Error + Send + Sync + Clone + 'static>(_: &T) {}
    is_an_error(&error);
    let _: Arc<dyn std::error::Error + Send + Sync> = Arc::new(error);
}

/// Callers who write for themselves stand in line for the right to: whoever comes after a failed sync must not sync the same
/// file again and take that for success.
#[test]
fn after_a_failed_sync_no_other_caller_is_acknowledged() {
    for seed in 0..200 {
        let way = WAYS[seed as usize % WAYS.len()];
        let operation = if way == DurableWrites::Sync { Operation::Sync } else { Operation::WriteDurable };
        let disk = new_disk_that(seed, way);
        let (log, _) = open_with(&disk, small()).unwrap();
        let callers = 4;
        for _ in 0..callers {
            log.append(1, b"of somebody", Durability::Fsync).unwrap();
        }
        let position = log.appended();
        let syncs = || disk.counts().get(&operation).copied().unwrap_or(0);
        let before = syncs();
        disk.inject(Fault { operation, after: 0, kind: ErrorKind::Other });
        let barrier = std::sync::Barrier::new(callers);
        let wait = || {
            barrier.wait();
            log.wait_durable(position)
        };
        let outcomes = std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..callers).map(|_| scope.spawn(wait)).collect();
            waiting.into_iter().map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(
            outcomes.iter().all(|outcome| outcome.as_ref().is_err_and(LogError::outcome_unknown)),
            "seed {seed}: {outcomes:?}"
        );
        assert_eq!(syncs(), before + 1, "seed {seed}: a failed sync is never tried again");
    }
}

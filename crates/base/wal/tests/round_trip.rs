//! Appended records are read back: after a close, after a crash, across many segments, for all sizes.

mod common;

use common::{commit, new_disk, open, open_with, payload, shared, small};
use proptest::prelude::*;
use seriatim_wal::{Driver, Durability, Log, LogError, LogOptions, LogPosition, verify};

#[test]
fn a_new_log_is_empty() {
    let disk = new_disk(1);
    let (log, content) = open(&disk).unwrap();
    assert!(content.report.created && content.records.is_empty() && content.checkpoint.is_none());
    assert_eq!(log.durable(), LogPosition::ZERO);
    log.wait_durable(LogPosition::ZERO).unwrap();
}

#[test]
fn records_come_back_in_order_after_a_close() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let expected: Vec<_> = (0..100).map(|number| (number * 3, payload(number, 8 + number as usize))).collect();
    let mut last = LogPosition::ZERO;
    for (stamp, payload) in &expected {
        let position = log.append(*stamp, payload, Durability::None).unwrap();
        assert!(position > last, "positions grow");
        last = position;
    }
    log.close().unwrap();
    assert!(verify(&disk).unwrap().clean);
    let (log, content) = open(&disk).unwrap();
    assert_eq!(content.records, expected);
    assert!(content.report.clean && content.report.cut.is_none() && !content.report.created);
    assert!(log.stats().segments > 5, "the log has many segments");
    assert!(log.append(0, b"", Durability::None).unwrap() > last, "positions grow across restarts");
}

#[test]
fn a_closed_log_takes_nothing_and_closes_twice() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    log.close().unwrap();
    log.close().unwrap();
    assert!(matches!(log.append(1, b"x", Durability::Fsync), Err(LogError::Closed)));
    assert!(matches!(log.raise_ceiling(5), Err(LogError::Closed)));
    assert!(matches!(log.begin_checkpoint(), Err(LogError::Closed)));
    let (second, _) = open(&disk).unwrap();
    drop(second);
}

#[test]
fn a_clean_close_gives_reserved_space_back() {
    let disk = new_disk(1);
    let options = LogOptions { segment_bytes: 1 << 20, ..small() };
    let (log, _) = open_with(&disk, options.clone()).unwrap();
    commit(&log, 1, b"x").unwrap();
    assert!(disk.used() > 1 << 20);
    log.close().unwrap();
    assert!(disk.used() < 16 << 10, "{} bytes are left", disk.used());
    // And takes it again when it needs it.
    let (log, content) = open_with(&disk, options).unwrap();
    assert_eq!(content.records.len(), 1);
    assert!(disk.used() > 1 << 20);
    drop(log);
}

#[test]
fn opening_and_closing_changes_nothing() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    commit(&log, 1, b"x").unwrap();
    log.close().unwrap();
    let contents = || disk.paths().into_iter().map(|path| (disk.contents(&path), path)).collect::<Vec<_>>();
    let before = contents();
    for _ in 0..20 {
        open(&disk).unwrap().0.close().unwrap();
    }
    assert_eq!(contents(), before);
}

#[test]
fn the_largest_payload_fits_and_the_next_is_refused() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    let limit = log.max_payload();
    let largest = payload(7, limit);
    commit(&log, 1, &largest).unwrap();
    commit(&log, 2, &largest).unwrap();
    match log.append(3, &payload(8, limit + 1), Durability::Fsync) {
        Err(LogError::TooLarge { bytes, limit: named }) => assert_eq!((bytes, named), (limit + 1, limit)),
        other => panic!("{other:?}"),
    }
    log.close().unwrap();
    let (_log, content) = open(&disk).unwrap();
    assert_eq!(content.records, [(1, largest.clone()), (2, largest)]);
}

#[test]
fn segment_sizes_may_change_between_runs() {
    let disk = new_disk(1);
    let mut expected = Vec::new();
    for (run, segment_bytes) in [1024u64, 4096, 1024, 2048].into_iter().enumerate() {
        let options = LogOptions { segment_bytes, ..small() };
        let (log, content) = open_with(&disk, options).unwrap();
        assert_eq!(content.records, expected);
        for number in 0..20 {
            let payload = payload(number, log.max_payload() - number as usize);
            commit(&log, run as u64, &payload).unwrap();
            expected.push((run as u64, payload));
        }
        if run % 2 == 0 {
            log.close().unwrap();
        }
    }
    assert_eq!(open(&disk).unwrap().1.records, expected);
}

#[test]
fn the_lock_keeps_a_second_one_out() {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    match Log::open(shared(&disk), small()) {
        Err(LogError::Locked { path, .. }) => assert_eq!(path, "LOCK"),
        other => panic!("{:?}", other.err()),
    }
    assert!(matches!(verify(&disk), Err(LogError::Locked { .. })));
    drop(log);
    open(&disk).unwrap();
}

#[test]
fn bad_options_are_named() {
    let cases = [
        (LogOptions { segment_bytes: 1023, ..small() }, "segment_bytes"),
        (LogOptions { segment_bytes: (1 << 30) + 1, ..small() }, "segment_bytes"),
        (LogOptions { buffer_bytes: 10, ..small() }, "buffer_bytes"),
        (LogOptions { flush_interval: std::time::Duration::ZERO, ..small() }, "flush_interval"),
        (LogOptions { group_gather: std::time::Duration::from_secs(1), ..small() }, "group_gather"),
        (LogOptions { append_timeout: std::time::Duration::ZERO, ..small() }, "append_timeout"),
    ];
    for (options, name) in cases {
        match Log::open(shared(&new_disk(1)), options) {
            Err(LogError::BadOption { option, .. }) => assert_eq!(option, name),
            other => panic!("{name}: {:?}", other.err()),
        }
    }
}

#[test]
fn a_position_that_was_never_given_out_is_not_waited_for() {
    for driver in [Driver::Caller, Driver::Threads] {
        let (log, _) = open_with(&new_disk(1), LogOptions { driver, ..small() }).unwrap();
        assert!(matches!(log.wait_durable(LogPosition::from_raw(1 << 40)), Err(LogError::NotAppended(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any payloads, in any mixture of durabilities, waits and restarts with and without a close.
    #[test]
    fn whatever_is_flushed_comes_back(
        runs in prop::collection::vec(
            (prop::collection::vec((any::<u64>(), prop::collection::vec(any::<u8>(), 0..700), 0u8..4), 0..12), any::<bool>()),
            1..5,
        ),
        short_reads: bool,
    ) {
        let disk = env::SimDisk::new(1, env::SimDiskOptions { short_reads, ..Default::default() });
        let mut expected = Vec::new();
        for (appends, close) in runs {
            let (log, content) = open(&disk).unwrap();
            prop_assert_eq!(&content.records, &expected);
            for (stamp, payload, choice) in appends {
                let durability = [Durability::Fsync, Durability::Async, Durability::None][choice as usize % 3];
                let position = log.append(stamp, &payload, durability).unwrap();
                expected.push((stamp, payload));
                if choice == 3 {
                    log.wait_durable(position).unwrap();
                    prop_assert!(log.durable() >= position);
                }
            }
            if close { log.close().unwrap() } else { log.flush().unwrap() }
        }
        let report = { let report = verify(&disk).unwrap(); prop_assert!(report.is_sound()); report };
        prop_assert_eq!(report.records(), expected.len() as u64);
        prop_assert_eq!(open(&disk).unwrap().1.records, expected);
    }
}

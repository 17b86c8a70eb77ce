//! Snapshots: each reads the end of one epoch, whatever commits meanwhile, and commits; and what is kept for it goes.

mod common;

use common::{options, with_registers};
use conformance::registers::{all, delete, get, put};
use model::{Begin, Finish, Interactive, Mode, TableId};
use seriatim_silo::{Options, Silo, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn begin(engine: &Silo, mode: Mode) -> Transaction<&Silo> {
    engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
}

fn load(engine: &Silo, table: TableId, rows: &[(u64, u64)]) {
    let mut open = begin(engine, Mode::ReadWrite);
    rows.iter().for_each(|&(key, value)| put(&mut open, table, key, value).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
}

fn rows(open: &mut Transaction<&Silo>, table: TableId) -> Vec<(u64, u64)> {
    all(open, table).expect("a snapshot is never in the way")
}

#[test]
fn a_snapshot_reads_the_end_of_an_epoch() {
    let (engine, table) = with_registers(options());
    load(&engine, table, &[(1, 1), (2, 1)]);
    assert_eq!(rows(&mut begin(&engine, Mode::Snapshot), table), [], "the epoch has not ended");
    engine.settle();
    let mut reader = begin(&engine, Mode::Snapshot);
    for value in 2..30 {
        load(&engine, table, &[(1, value), (value, value)]);
        assert_eq!(get(&mut reader, table, 1).expect("never in the way"), Some(1));
        if value % 3 == 0 {
            engine.collect();
        }
        assert_eq!(rows(&mut reader, table), [(1, 1), (2, 1)]);
    }
    reader.commit().expect("a snapshot commits");
    engine.settle();
    assert_eq!(rows(&mut begin(&engine, Mode::Snapshot), table).len(), 29);
}

#[test]
fn snapshots_of_all_ages_see_their_own_moment() {
    let (engine, table) = with_registers(Options { has_small_nodes: true, ..options() });
    let mut readers = Vec::new();
    for round in 0..12 {
        // Rows change, go and come back, and grow longer than their first one.
        load(&engine, table, &[(1, round), (100 + round, round)]);
        let mut open = begin(&engine, Mode::ReadWrite);
        if round % 2 == 0 {
            put(&mut open, table, 7, round).expect("nobody in the way");
        } else {
            assert!(delete(&mut open, table, 7).expect("nobody in the way"));
        }
        open.commit().expect("nobody in the way");
        engine.settle();
        readers.push(begin(&engine, Mode::Snapshot));
    }
    engine.collect();
    for (round, mut reader) in (0..).zip(readers) {
        let mut expected = vec![(1, round)];
        expected.extend((round % 2 == 0).then_some((7, round)));
        expected.extend((0..=round).map(|it| (100 + it, it)));
        assert_eq!(rows(&mut reader, table), expected, "round {round}");
        assert_eq!(get(&mut reader, table, 7).expect("never in the way").is_some(), round % 2 == 0);
        reader.commit().expect("a snapshot commits");
        engine.collect();
    }
    let stats = engine.stats();
    assert_eq!((stats.garbage, stats.records, stats.snapshots), (0, 13, 12), "what was kept for them is gone");
}

/// An open transaction keeps the memory of records that it may have read, and nothing more.
#[test]
fn a_record_is_freed_behind_the_last_that_may_have_it() {
    let (engine, table) = with_registers(options());
    load(&engine, table, &[(1, 1), (2, 2)]);
    let mut idle = begin(&engine, Mode::ReadOnly);
    assert_eq!(get(&mut idle, table, 1).expect("nobody in the way"), Some(1));
    let mut open = begin(&engine, Mode::ReadWrite);
    assert!(delete(&mut open, table, 1).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.records, stats.garbage), (1, 1), "out of the index, and not freed");
    assert!(idle.commit().is_err(), "its read has changed");
    engine.collect();
    assert_eq!(engine.stats().garbage, 0);
}

/// A row that no snapshot sees is gone with the epoch of its deletion, whatever snapshots are open: queues of rows that
/// come and go stay short.
#[test]
fn a_row_between_two_snapshots_leaves_with_its_epoch() {
    let (engine, table) = with_registers(Options { snapshot_every: 25, ..options() });
    load(&engine, table, &[(1, 1)]);
    engine.settle();
    let mut reader = begin(&engine, Mode::Snapshot);
    load(&engine, table, &[(2, 2)]);
    let mut open = begin(&engine, Mode::ReadWrite);
    assert!(delete(&mut open, table, 2).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
    load(&engine, table, &[(1, 2)]);
    assert_eq!(engine.stats().records, 2, "its epoch has not ended");
    engine.advance_epoch();
    load(&engine, table, &[(1, 3)]);
    assert_eq!(engine.stats().records, 1);
    assert_eq!(rows(&mut reader, table), [(1, 1)]);
    load(&engine, table, &[(2, 4)]);
    reader.commit().expect("a snapshot commits");
}

/// A table that is dropped lives as long as those that may use it.
#[test]
fn a_dropped_table_goes_with_its_last_reader() {
    let (engine, table) = with_registers(options());
    load(&engine, table, &[(1, 1)]);
    engine.settle();
    let mut reader = begin(&engine, Mode::Snapshot);
    assert_eq!(rows(&mut reader, table), [(1, 1)]);
    load(&engine, table, &[(1, 2)]);
    engine.drop_table("registers").expect("it is there");
    engine.collect();
    assert!(get(&mut reader, table, 1).is_err(), "unknown from now on");
    reader.commit().expect("a snapshot commits");
    engine.collect();
    assert_eq!(engine.stats().garbage, 0);
}

/// Time advances epochs by itself: whoever begins a snapshot, or ends many transactions, sees to it.
#[test]
fn epochs_advance_with_time() {
    let options = Options { epoch_period: Some(Duration::from_nanos(1)), snapshot_every: 2, ..options() };
    let (engine, table) = with_registers(options);
    load(&engine, table, &[(1, 1)]);
    drop(begin(&engine, Mode::Snapshot));
    assert_eq!(rows(&mut begin(&engine, Mode::Snapshot), table), [(1, 1)]);
    let before = engine.stats().epoch;
    (0..200).for_each(|value| load(&engine, table, &[(1, value)]));
    assert!(engine.stats().epoch > before);
}

/// Writers move amounts between accounts; every snapshot and every validated reader that commits sees the same sum.
#[test]
fn the_sum_is_the_same_in_every_snapshot() {
    const ACCOUNTS: u64 = 8;
    let (engine, table) = with_registers(Options { has_small_nodes: true, ..options() });
    load(&engine, table, &(0..ACCOUNTS).map(|key| (key, 100)).collect::<Vec<_>>());
    engine.settle();
    let is_over = AtomicBool::new(false);
    let transfer = |engine: &Arc<Silo>, round: u64| {
        let mut open = begin(engine, Mode::ReadWrite);
        let (from, to) = (round * 7 % ACCOUNTS, (round * 3 + 1) % ACCOUNTS);
        let move_one = |open: &mut Transaction<&Silo>| -> model::Result<()> {
            let taken = get(open, table, from)?.unwrap_or(0);
            if taken == 0 || from == to {
                return Ok(());
            }
            let given = get(open, table, to)?.unwrap_or(0);
            put(open, table, from, taken - 1)?;
            put(open, table, to, given + 1)
        };
        if move_one(&mut open).is_ok() {
            let _ = open.commit(); // Conflicts are no concern here.
        }
    };
    thread::scope(|scope| {
        for seed in 0..2 {
            let (engine, is_over, transfer) = (&engine, &is_over, &transfer);
            scope.spawn(move || {
                for round in 0..20_000 {
                    transfer(engine, round * 2 + seed);
                    if round % 16 == 0 {
                        engine.advance_epoch();
                    }
                }
                is_over.store(true, SeqCst);
            });
        }
        let mut last = 0;
        while !is_over.load(SeqCst) {
            for mode in [Mode::Snapshot, Mode::ReadOnly] {
                let mut reader = begin(&engine, mode);
                let sum: u64 = all(&mut reader, table).expect("reads do not fail").iter().map(|(_, it)| it).sum();
                let committed = reader.commit();
                assert!(committed.is_err() && mode == Mode::ReadOnly || sum == ACCOUNTS * 100, "{mode:?} saw {sum}");
            }
            let snapshot = engine.stats().snapshot;
            assert!(snapshot >= last, "snapshots do not go back");
            last = snapshot;
        }
    });
    engine.collect();
    assert_eq!((engine.stats().garbage, engine.stats().records), (0, ACCOUNTS));
}

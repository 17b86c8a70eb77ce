//! Acknowledged transactions survive a crash at every single change of the disk, whatever else of the disk survives.

use crate::fixture::{Durable, begin, claim};
use crate::registers::{all, delete, get, put, registers, state};
use crate::ways::ways;
use env::{SimDisk, SimDiskOptions, Survival};
use model::twin::Twin;
use model::{Access, Begin, Durability, Finish, Interactive, LogPosition, Mode, Result, Storage, TableId};
use std::sync::Arc;

/// Steps of the history that crashes.
const STEPS: u64 = 24;

fn disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions::default())
}

fn schema() -> model::Schema {
    registers("registers", Storage::Ordered)
}

/// Step `n` of a history that inserts, overwrites and deletes.
fn step(access: &mut impl Access, table: TableId, n: u64) -> Result<()> {
    put(access, table, n % 5, n)?;
    match n % 4 {
        0 => put(access, table, 100 + n, n),
        1 => delete(access, table, (n + 2) % 5).map(drop),
        2 => delete(access, table, 100 + n - 2).map(drop),
        _ => {
            put(access, table, (n + 1) % 5, n)?;
            delete(access, table, n % 5).map(drop)
        }
    }
}

/// The rows after 0, 1, 2, ... steps, by the naive twin.
fn expected_states() -> Vec<Vec<(u64, u64)>> {
    let mut twin = Twin::new();
    let table = twin.create_table(schema());
    let mut states = vec![Vec::new()];
    for n in 0..STEPS {
        step(&mut twin, table, n).expect("a twin takes everything");
        twin.commit();
        states.push(all(&mut twin, table).expect("an ordered table"));
    }
    states
}

/// Runs the history until the disk fails. Returns the number of acknowledged steps; `None`: not even the table was.
fn run_history<F: Durable>(disk: &SimDisk) -> Option<u64> {
    let engine = F::reopen(disk).ok()?;
    let table = F::create_table(&engine, schema()).ok()?;
    for n in 0..STEPS {
        let run = || -> Result<()> {
            let mut open = engine.begin_owned(Begin::default())?;
            step(&mut open, table, n)?;
            engine.wait_durable(open.commit()?.log_position)
        };
        if run().is_err() {
            return Some(n);
        }
    }
    Some(STEPS)
}

/// Power goes at every change of the disk; of what was not synced nothing survives, some of it, or all. The rows are those after
/// some number of steps, at least the acknowledged ones, and the engine goes on, twice.
pub fn every_acknowledged_transaction_survives_a_crash_at_every_change<F: Durable>() {
    let whole = disk(7);
    assert_eq!(run_history::<F>(&whole), Some(STEPS));
    assert!(whole.changes() > STEPS, "the history changes the disk: {}", whole.changes());
    let states = expected_states();
    for change in 0..whole.changes() {
        let disk = disk(7);
        disk.cut_power_at(change);
        let acknowledged = run_history::<F>(&disk);
        for survival in [Survival::SyncedOnly, Survival::Random, Survival::Everything] {
            let context = format!("power cut at change {change}, {survival:?}, {acknowledged:?} acknowledged");
            let after = disk.power_cut_with(survival);
            let engine = F::reopen(&after).unwrap_or_else(|error| panic!("{context}: {error}"));
            let Some(table) = F::table(&engine, "registers") else {
                assert_eq!(acknowledged, None, "{context}: the table is gone");
                continue;
            };
            let found = state::<F>(&engine, table);
            let acknowledged = acknowledged.unwrap_or(0) as usize;
            assert!(states[acknowledged..].contains(&found), "{context}: no prefix of the history: {found:?}");
            goes_on::<F>(engine, table, &after, &context);
        }
    }
}

/// A transaction after the crash is acknowledged, and there after another one.
fn goes_on<F: Durable>(engine: Arc<F::Engine>, table: TableId, disk: &SimDisk, context: &str) {
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    put(&mut open, table, 999, 999).expect("nobody in the way");
    let committed = open.commit().expect("nobody in the way");
    engine.wait_durable(committed.log_position).unwrap_or_else(|error| panic!("{context}: {error}"));
    drop(engine);
    let engine = F::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    let table = F::table(&engine, "registers").expect("it was there before");
    assert_eq!(state::<F>(&engine, table).last(), Some(&(999, 999)), "{context}: lost in the second crash");
}

/// Serial points rise over crashes, where they are claimed.
pub fn serial_points_rise_over_crashes<F: Durable>() {
    let disk = disk(3);
    let mut last = None;
    for _ in 0..4 {
        let engine = F::reopen(&disk).expect("a healthy disk");
        let table = F::table(&engine, "registers");
        let table = table.unwrap_or_else(|| F::create_table(&engine, schema()).expect("a new table"));
        for mode in [Mode::ReadOnly, Mode::ReadWrite] {
            let mut open = begin::<F>(&engine, mode);
            get(&mut open, table, 1).expect("nobody in the way");
            let committed = open.commit().expect("nobody in the way");
            let point = claim::<F>(&committed);
            assert!(last < point || !F::CLAIMS_SERIAL_POINTS, "{point:?} after {last:?}");
            last = point;
        }
        // A crash: nothing is closed.
    }
}

/// A row that is visible and not durable: its writer did not wait.
fn with_undurable_row<F: Durable>() -> (SimDisk, Arc<F::Engine>, TableId) {
    let disk = disk(1);
    let engine = F::reopen(&disk).expect("a healthy disk");
    let table = F::create_table(&engine, schema()).expect("a new table");
    let how = Begin { durability: Some(Durability::Async), ..Begin::default() };
    let mut first = engine.begin_owned(how).expect("room for one");
    put(&mut first, table, 1, 1).expect("nobody in the way");
    assert_eq!(first.commit().expect("nobody in the way").log_position, LogPosition::ZERO, "nobody waits for it");
    assert!(!survives::<F>(&disk), "it is not durable yet");
    (disk, engine, table)
}

/// Returns whether row 1 is there after a crash that leaves only synced bytes.
fn survives<F: Durable>(disk: &SimDisk) -> bool {
    let engine = F::reopen(&disk.power_cut_with(Survival::SyncedOnly)).expect("a healthy disk");
    let table = F::table(&engine, "registers").expect("its creation was acknowledged");
    !state::<F>(&engine, table).is_empty()
}

/// The acknowledgement of a reader waits until what it has read is durable.
pub fn a_reader_is_acknowledged_when_what_it_read_is_durable<F: Durable>() {
    for mode in [Mode::ReadOnly, Mode::ReadWrite, Mode::OwnAtStatement] {
        let (disk, engine, table) = with_undurable_row::<F>();
        let mut reader = begin::<F>(&engine, mode);
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(1), "committed, so visible");
        assert!(reader.rests_on() > LogPosition::ZERO, "it has read what may be lost");
        let committed = reader.commit().expect("nobody in the way");
        engine.wait_durable(committed.log_position).expect("a healthy disk");
        assert!(survives::<F>(&disk), "{mode:?}: what was read and acknowledged is lost");
    }
}

/// An answer that is no commit waits too: errors tell of what was read.
pub fn an_abort_is_answered_when_what_it_read_is_durable<F: Durable>() {
    let (disk, engine, table) = with_undurable_row::<F>();
    let mut reader = begin::<F>(&engine, Mode::ReadWrite);
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(1));
    engine.abort_durably(reader).expect("a healthy disk");
    assert!(survives::<F>(&disk), "what was read and told is lost");
}

/// Durability is awaited alike by a caller that blocks, one that is called back, and one that polls.
pub fn a_position_is_awaited_in_three_ways<F: Durable>() {
    for (way, take) in ways() {
        let (disk, engine, table) = with_undurable_row::<F>();
        let mut reader = begin::<F>(&engine, Mode::ReadOnly);
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(1));
        let committed = reader.commit().expect("nobody in the way");
        take(engine.durable(committed.log_position)).expect("a healthy disk");
        assert!(survives::<F>(&disk), "{way}: what was read and acknowledged is lost");
    }
}

//! One thread, transactions by hand: the shortest program that notices each broken promise. `mutants/*.patch` break them, and
//! `cargo xtask mutants` sees to it that these tests are awake. What needs a second thread is in `tests/shuttle_engine.rs`
//! and `tests/loom_*.rs`.

mod support;

use model::{Finish, Mode, Storage};
use seriatim_mvto::Options;
use support::{
    all, at, begin, begin_as, delete, engine_and_clock, get, impatient, insert, now, put, reading, registers, rule,
    set, with_registers,
};

/// M1: above the clock's reading at the call, below its reading at the return.
#[test]
fn timestamps_lie_inside_their_call() {
    let (engine, clock) = engine_and_clock(Options { sites: 8, ..impatient() });
    for _ in 0..32 {
        let called = reading(&clock);
        let timestamp = at(&begin(&engine));
        assert!(called < timestamp, "{timestamp} was over at the call, at {called}");
        let returned = reading(&clock);
        assert!(timestamp < returned, "{timestamp} was still to come at the return, at {returned}");
    }
}

/// M3: a reader does not pass over an older transaction that is about to write.
#[test]
fn a_reader_waits_for_an_older_owner() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut writer = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut writer, table, 1, 11).expect("nobody in the way");
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    assert_eq!(rule(get(&mut reader, table, 1)), "wait-limit", "it may not read past the owner");
    writer.commit().expect("nobody has read it");
    assert_eq!(now(&engine, table, 1), Some(11));
}

/// M3: what a later transaction has read stays as it was.
#[test]
fn a_read_forbids_older_writes() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let (mut writer, mut reader) = (begin(&engine), begin(&engine));
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(10));
    put(&mut writer, table, 1, 11).expect("buffered");
    assert_eq!(rule(writer.commit()), "later-reader");
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(10));
}

/// M4: a chain is in order.
#[test]
fn a_later_write_forbids_older_ones() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut older = begin(&engine);
    set(&engine, table, 1, 12);
    put(&mut older, table, 1, 11).expect("buffered");
    assert_eq!(rule(older.commit()), "later-writer");
    assert_eq!(now(&engine, table, 1), Some(12));
}

/// M5: the newest version below the oldest transaction stays, however many follow and whoever collects.
#[test]
fn an_old_reader_keeps_its_version() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    for value in 11..15 {
        set(&engine, table, 1, value);
        engine.collect();
    }
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(10));
}

/// M5: of two snapshots, each keeps the version that it reads, when those around it go.
#[test]
fn a_snapshot_between_two_writes_keeps_its_version() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut oldest = begin_as(&engine, Mode::ReadOnly);
    for value in 11..15 {
        set(&engine, table, 1, value);
    }
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    for value in 15..20 {
        set(&engine, table, 1, value);
    }
    engine.collect();
    let stats = engine.stats();
    assert_eq!(stats.replaced_versions - stats.collected_versions, 2, "one for each of them");
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(14));
    assert_eq!(get(&mut oldest, table, 1).expect("nobody in the way"), Some(10));
}

/// M5: who begins after the horizon was published lies above its floor, and what is above the floor stays.
#[test]
fn a_snapshot_younger_than_the_horizon_keeps_its_version() {
    let (engine, _, table) = with_registers(Options { versions: 2, ..impatient() }, &[(1, 10), (2, 0)]);
    let _oldest = begin_as(&engine, Mode::ReadOnly);
    set(&engine, table, 1, 11);
    // The writers of the other row find many versions, and publish a horizon.
    for value in 1..5 {
        set(&engine, table, 2, value);
    }
    // It takes over the first row, to look at when it ends.
    let collector = begin(&engine);
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    set(&engine, table, 1, 12);
    drop(collector);
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(11));
}

/// M5: nobody will begin below the bound of an engine in which nobody is active.
#[test]
fn an_idle_engine_has_a_bound_in_the_past() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 10)]);
    engine.collect();
    assert!(engine.stats().bound.0 < reading(&clock));
    set(&engine, table, 1, 11);
    assert_eq!(now(&engine, table, 1), Some(11));
}

/// M6: who found a deleted key absent still forbids older inserts once nothing is left of the key but its gap.
#[test]
fn a_collected_key_leaves_its_stamp_in_the_gap() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let (engine, _) = engine_and_clock(impatient());
        let table = engine.create_table(registers("registers", storage)).expect("a new table");
        set(&engine, table, 1, 10);
        let mut deleter = begin(&engine);
        assert!(delete(&mut deleter, table, 1).expect("nobody in the way"));
        deleter.commit().expect("nobody in the way");
        let (mut writer, mut reader) = (begin(&engine), begin(&engine));
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), None);
        engine.collect();
        assert_eq!(engine.stats().waiting_versions, 0, "nothing is left of the key");
        put(&mut writer, table, 1, 11).expect("buffered");
        assert_eq!(rule(writer.commit()), "later-gap-reader");
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), None);
    }
}

/// M6: who scanned a leaf forbids older inserts into whatever becomes of the leaf.
#[test]
fn a_split_leaf_keeps_its_stamp() {
    let (engine, _, table) = with_registers(impatient(), &[(0, 0)]);
    let (mut writer, mut reader) = (begin(&engine), begin(&engine));
    assert_eq!(all(&mut reader, table).expect("nobody in the way"), [(0, 0)]);
    let mut younger = begin(&engine);
    (0..1000).for_each(|key| insert(&mut younger, table, 2 * key + 2, key).expect("nobody in the way"));
    younger.commit().expect("nobody in the way");
    put(&mut writer, table, 1999, 1).expect("buffered");
    assert_eq!(rule(writer.commit()), "later-gap-reader");
    assert_eq!(all(&mut reader, table).expect("nobody in the way"), [(0, 0)]);
}

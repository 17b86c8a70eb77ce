//! One thread, transactions by hand: the shortest program that notices each broken promise. `mutants/*.patch` break them, and
//! `cargo xtask mutants` sees to it that these tests are awake. What needs a second thread is in `tests/shuttle_engine.rs`
//! and `tests/loom_*.rs`.

mod support;

use model::{Begin, Columns, Finish, Interactive, Key, Mode, RowBuf, Storage};
use seriatim_mvto::{Options, RetryPolicy};
use support::{
    all, at, begin, begin_as, begin_beside_the_lane, delete, engine_and_clock, get, impatient, insert, now, put,
    read_during_a_commit, reading, registers, rule, set, single_read, with_hooked_clock, with_registers,
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
    let read = read_during_a_commit(impatient(), |engine, table| {
        get(&mut engine.begin(Begin::default()).expect("it only notes down"), table, 1)
    });
    assert_eq!(rule(read), "wait-limit", "it may not read past the owner");
}

/// M10: who is pushed looks again at what it has read, and finds that it has changed.
#[test]
fn a_pushed_transaction_refreshes_what_it_has_read() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 1)]);
    let (mut one, mut two) = (begin_as(&engine, Mode::OwnAtStatement), begin_as(&engine, Mode::OwnAtStatement));
    assert_eq!(get(&mut one, table, 1).expect("nobody in the way"), Some(1));
    assert_eq!(get(&mut two, table, 2).expect("nobody in the way"), Some(1));
    put(&mut one, table, 2, 0).expect("nobody in the way");
    put(&mut two, table, 1, 0).expect("nobody in the way");
    two.commit().expect("nobody later has read what it writes");
    assert_eq!(rule(one.commit()), "refresh-failed", "each must come before the other");
    assert_eq!(now(&engine, table, 2), Some(1));
}

/// M10: between its draw and its look others may write what it has read, above its place; what lies below counts all the same.
#[test]
fn a_refresh_wants_the_newest_version_to_be_the_one_that_was_read() {
    let (engine, clock, table) = with_hooked_clock(impatient(), &[(1, 1), (2, 1)]);
    let begin = |mode| engine.begin_owned(Begin { mode, ..Begin::default() }).expect("it only notes down");
    let mut owner = begin(Mode::OwnAtStatement);
    assert_eq!(get(&mut owner, table, 2).expect("nobody in the way"), Some(1));
    put(&mut owner, table, 1, 2).expect("nobody in the way");
    assert_eq!(get(&mut begin(Mode::ReadOnly), table, 1).expect("no wait"), Some(1));
    let writer = {
        let engine = engine.clone();
        move || {
            let written = engine.run(Begin::default(), RetryPolicy::default(), |open| put(open, table, 2, 2));
            written.map_err(|error: model::Error| error.to_string()).expect("nobody in the way");
        }
    };
    clock.in_the_next_draw(move || std::thread::spawn(writer).join().expect("no panic"));
    assert_eq!(rule(owner.commit()), "refresh-failed");
}

/// M10: a word turns before its stamp is looked at: a reader that comes in between waits.
#[test]
fn who_owns_and_executes_is_pushed_and_commits_above() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    assert_eq!(get(&mut reader, table, 1).expect("no wait"), Some(10));
    let point = owner.commit().expect("it moves").claimed().0;
    assert!(point > at(&reader), "it commits at {point}, below its reader");
    assert_eq!(get(&mut reader, table, 1).expect("no wait"), Some(10));
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

/// M3 for a single read, which is in no transaction: T10 would precede T20 by row 2, T20 the read by real time, and the read T10 by row 1.
#[test]
fn a_single_read_forbids_older_writes() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10), (2, 20)]);
    let mut writer = begin_beside_the_lane(&engine);
    assert_eq!(get(&mut writer, table, 2).expect("nobody in the way"), Some(20));
    set(&engine, table, 2, 21);
    assert_eq!(single_read(&engine, table, 1), Some(10));
    put(&mut writer, table, 1, 11).expect("buffered");
    assert_eq!(rule(writer.commit()), "later-reader");
}

/// The same of a key that is not there.
#[test]
fn a_single_read_of_nothing_forbids_older_inserts() {
    let (engine, _, table) = with_registers(impatient(), &[(2, 20)]);
    let mut writer = begin_beside_the_lane(&engine);
    assert_eq!(single_read(&engine, table, 1), None);
    put(&mut writer, table, 1, 11).expect("buffered");
    assert_eq!(rule(writer.commit()), "later-gap-reader");
}

/// A single read does not pass over a transaction that commits: its other rows may be seen already.
#[test]
fn a_single_read_waits_for_who_commits() {
    let read = read_during_a_commit(impatient(), |engine, table| {
        engine.get(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new())
    });
    assert_eq!(rule(read), "wait-limit", "it may not read past the owner");
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

/// M12: the end of a transaction whose row somebody else has taken, because it was too old, leaves that row alone.
#[test]
fn the_end_of_a_doomed_transaction_leaves_taken_rows_alone() {
    let age = Some(std::time::Duration::from_secs(1));
    let (engine, clock, table) = with_registers(Options { transaction_age: age, ..impatient() }, &[(1, 10)]);
    let mut doomed = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut doomed, table, 1, 11).expect("nobody in the way");
    clock.advance(2_000_000_000);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 12).expect("its owner is too old");
    drop(doomed);
    let mut late = begin_as(&engine, Mode::OwnAtStatement);
    assert_eq!(rule(put(&mut late, table, 1, 13)), "wait-limit", "somebody owns it");
    owner.commit().expect("nobody in the way");
}

//! The paper's claims, one thread, transactions by hand: the shortest program that notices each broken promise.
//! `mutants/*.patch` break them. What needs a second thread is in `tests/shuttle_engine.rs` and in the battery's histories.

mod common;

use common::with_registers;
use conformance::registers::{abort, all, delete, get, insert, put, registers, rule};
use model::{Begin, Finish, Interactive, Key, Mode, Result, Storage, TableId, Target, Timestamp};
use seriatim_hekaton::{Hekaton, Options, Transaction};
use std::sync::Arc;

fn begin(engine: &Hekaton) -> Transaction<&Hekaton> {
    begin_in(engine, Mode::ReadWrite)
}

fn begin_in(engine: &Hekaton, mode: Mode) -> Transaction<&Hekaton> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

fn load(engine: &Hekaton, table: TableId, rows: &[(u64, u64)]) {
    let mut open = begin(engine);
    rows.iter().for_each(|&(key, value)| put(&mut open, table, key, value).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
}

fn loaded(rows: &[(u64, u64)]) -> (Arc<Hekaton>, TableId) {
    let (engine, table) = with_registers(Options::default());
    load(&engine, table, rows);
    (engine, table)
}

/// Section 2.5: a transaction reads what had committed when it began, and its own writes above that.
#[test]
fn a_transaction_reads_as_of_its_begin() {
    let (engine, table) = loaded(&[(1, 1), (2, 2)]);
    let mut open = begin(&engine);
    load(&engine, table, &[(1, 7), (3, 7)]);
    assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 1), (2, 2)]);
    put(&mut open, table, 2, 9).expect("nobody in the way");
    assert!(delete(&mut open, table, 2).expect("nobody in the way"));
    assert_eq!(get(&mut open, table, 2).expect("nobody in the way"), None);
    put(&mut open, table, 2, 10).expect("nobody in the way");
    assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 1), (2, 10)]);
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 7), (2, 2), (3, 7)]);
}

/// Section 2.6: the first updater wins, whether it is open still or has committed since the second one began.
#[test]
fn the_first_updater_wins() {
    let (engine, table) = loaded(&[(1, 1)]);
    let (mut first, mut second, mut third) = (begin(&engine), begin(&engine), begin(&engine));
    put(&mut first, table, 1, 2).expect("it is the first");
    let name = first.timestamp();
    let refused = abort(put(&mut second, table, 1, 3));
    assert_eq!(
        (refused.rule, refused.other, refused.target),
        ("first-updater-wins", name, Target::Key(Key::from_u64(1)))
    );
    let point = first.commit().expect("nobody in the way").claimed();
    assert_eq!(abort(put(&mut third, table, 1, 4)).other, Some(Timestamp(point.0)));
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 2)]);
}

/// The same for keys that were absent: two inserts, and an insert beside a deletion.
#[test]
fn the_first_inserter_wins() {
    let (engine, table) = loaded(&[(1, 1)]);
    let (mut first, mut second) = (begin(&engine), begin(&engine));
    insert(&mut first, table, 5, 1).expect("it is the first");
    assert_eq!(rule(insert(&mut second, table, 5, 2)), "first-updater-wins");
    first.abort();
    let (mut deleter, mut third) = (begin(&engine), begin(&engine));
    assert!(delete(&mut deleter, table, 1).expect("nobody in the way"));
    deleter.commit().expect("nobody in the way");
    assert_eq!(rule(put(&mut third, table, 1, 2)), "first-updater-wins");
    insert(&mut begin(&engine), table, 5, 3).expect("what aborted is gone");
}

/// Section 3.2: a writer whose read was replaced before its end timestamp aborts, and says by whom; who writes nothing does not.
#[test]
fn a_read_that_was_replaced_aborts() {
    let (engine, table) = loaded(&[(1, 1), (2, 2)]);
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let mut open = begin_in(&engine, mode);
        assert!(get(&mut open, table, 1).expect("nobody in the way").is_some());
        let mut writer = begin(&engine);
        put(&mut writer, table, 1, 7).expect("nobody in the way");
        let writer = writer.commit().expect("nobody in the way").claimed();
        if mode == Mode::ReadOnly {
            assert!(open.commit().expect("it only reads").claimed() < writer, "its place is its begin");
            continue;
        }
        put(&mut open, table, 2, 9).expect("nobody in the way");
        let abort = abort(open.commit());
        assert_eq!((abort.rule, abort.other), ("read-changed", Some(Timestamp(writer.0))));
        assert_eq!(abort.table.expect("named").name(), "registers");
        assert_eq!(abort.target, Target::Key(Key::from_u64(1)));
    }
    assert_eq!(engine.stats().aborted, [0, 1, 0, 0, 0]);
}

/// A read that an open transaction is about to replace holds: that one has a later end timestamp.
#[test]
fn a_read_that_will_be_replaced_holds() {
    let (engine, table) = loaded(&[(1, 1), (2, 2)]);
    let (mut reader, mut writer) = (begin(&engine), begin(&engine));
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(1));
    put(&mut writer, table, 1, 7).expect("nobody in the way");
    put(&mut reader, table, 2, 9).expect("nobody in the way");
    let first = reader.commit().expect("its read holds").claimed();
    assert!(first < writer.commit().expect("nobody in the way").claimed());
}

/// Section 3.2: ranges are scanned again, and keys that were absent looked up again, in ordered and in hash tables.
#[test]
fn a_phantom_aborts() {
    let (engine, ordered) = loaded(&[(1, 1), (3, 3), (9, 9)]);
    let hash = engine.create_table(registers("hash", Storage::Hash)).expect("a new table");
    type Look<'l> = &'l dyn Fn(&mut Transaction<&Hekaton>) -> Result<()>;
    let looks: [Look<'_>; 3] =
        [&|open| all(open, ordered).map(drop), &|open| get(open, ordered, 5).map(drop), &|open| {
            get(open, hash, 5).map(drop)
        }];
    for (look, table) in looks.into_iter().zip([ordered, ordered, hash]) {
        let mut open = begin(&engine);
        look(&mut open).expect("nobody in the way");
        put(&mut open, ordered, 1, 2).expect("nobody in the way");
        load(&engine, table, &[(5, 5)]);
        assert_eq!(rule(open.commit()), "phantom");
        let mut clean = begin(&engine);
        assert!(delete(&mut clean, table, 5).expect("nobody in the way"));
        clean.commit().expect("nobody in the way");
    }
    for change in [Some(4), None] {
        let mut open = begin(&engine);
        all(&mut open, ordered).expect("nobody in the way");
        put(&mut open, ordered, 1, 2).expect("nobody in the way");
        let mut other = begin(&engine);
        match change {
            Some(value) => put(&mut other, ordered, 3, value).expect("nobody in the way"),
            None => assert!(delete(&mut other, ordered, 3).expect("nobody in the way")),
        }
        other.commit().expect("nobody in the way");
        assert_eq!(rule(open.commit()), "phantom", "a row of the range has changed to {change:?}");
    }
}

/// A scan that stopped protects what it has passed, and nothing behind it.
#[test]
fn a_scan_that_stopped_protects_what_it_passed() {
    for (written, expected) in [(3, true), (9, false)] {
        let (engine, table) = loaded(&[(1, 1), (3, 3), (5, 5), (9, 9)]);
        let mut open = begin(&engine);
        let scan = model::Scan::table(table);
        let stopped =
            model::Access::scan(&mut open, &scan, &mut |item| match Key::from_bytes(item.key) == Key::from_u64(5) {
                true => std::ops::ControlFlow::Break(()),
                false => std::ops::ControlFlow::Continue(()),
            });
        stopped.expect("nobody in the way");
        put(&mut open, table, 1, 2).expect("nobody in the way");
        load(&engine, table, &[(written, 7)]);
        assert_eq!(open.commit().is_err(), expected, "key {written}");
    }
}

/// A statement that was rolled back has read all the same.
#[test]
fn what_was_rolled_back_stays_read() {
    let (engine, table) = loaded(&[(1, 1), (2, 2)]);
    for key in [1, 7] {
        let mut open = begin(&engine);
        let savepoint = open.savepoints().expect("it has them").savepoint().expect("it is open");
        let found = delete(&mut open, table, key).expect("nobody in the way");
        assert_eq!(found, key == 1);
        open.savepoints().expect("it has them").rollback_to(&savepoint).expect("it is open");
        put(&mut open, table, 2, 9).expect("nobody in the way");
        load(&engine, table, &[(key, 5)]);
        assert!(open.commit().is_err(), "key {key}");
    }
}

/// K7: a version stays as long as somebody who began before its end is open, and goes then.
#[test]
fn a_version_stays_while_somebody_may_read_it() {
    let (engine, table) = loaded(&[(1, 0)]);
    let mut old = begin_in(&engine, Mode::ReadOnly);
    for value in 1..=100 {
        load(&engine, table, &[(1, value)]);
        engine.collect();
    }
    assert_eq!(engine.stats().versions, 100, "one is the newest");
    assert_eq!(get(&mut old, table, 1).expect("nobody in the way"), Some(0));
    old.commit().expect("it only reads");
    engine.collect();
    assert_eq!((engine.stats().versions, engine.stats().garbage), (0, 0));
}

/// A steady load frees what it leaves, without a call for it; with collection off it keeps all.
#[test]
fn a_steady_load_collects_if_it_may() {
    for (collects, most) in [(true, 100), (false, 2_000)] {
        let (engine, table) = with_registers(Options { collects, ..Options::default() });
        (0..2_000).for_each(|value| load(&engine, table, &[(1, value)]));
        let kept = engine.stats().versions;
        assert!(kept <= most && (collects || kept == 1_999), "{kept} versions, collects: {collects}");
        assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1_999)]);
    }
}

/// A deleted key leaves its index when nobody can see it, and comes back as a new one.
#[test]
fn a_deleted_key_goes_and_comes_back() {
    let (engine, table) = loaded(&[(1, 1), (5, 5)]);
    let mut old = begin_in(&engine, Mode::ReadOnly);
    let mut cleaner = begin(&engine);
    assert!(delete(&mut cleaner, table, 5).expect("nobody in the way"));
    cleaner.commit().expect("nobody in the way");
    engine.collect();
    assert_eq!(engine.stats().records, 2, "somebody sees it");
    assert_eq!(get(&mut old, table, 5).expect("nobody in the way"), Some(5));
    drop(old);
    let mut open = begin(&engine);
    assert_eq!(get(&mut open, table, 5).expect("nobody in the way"), None);
    put(&mut open, table, 1, 2).expect("nobody in the way");
    engine.collect();
    assert_eq!(engine.stats().records, 1);
    load(&engine, table, &[(5, 6)]);
    assert_eq!(rule(open.commit()), "phantom", "it came back in another record");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1), (5, 6)]);
}

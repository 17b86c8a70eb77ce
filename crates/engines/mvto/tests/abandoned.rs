//! M12: a transaction that owns rows, is older than the limit on age and makes no further calls blocks no other transaction.
#![cfg(not(any(loom, feature = "shuttle")))]

mod support;

use model::{Access, Begin, Finish, Interactive, Item, Key, Mode, RowBuf, Scan, SharedReads, Supervised, Supervisor};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use support::{
    Engine, Open, all, begin, begin_as, delete, get, impatient, insert, now, put, registers, rule, set, with_registers,
};

const SECOND: u64 = 1_000_000_000;

fn limited() -> Options {
    Options { transaction_age: Some(Duration::from_secs(1)), ..impatient() }
}

/// An owner of row 1, a deleted row 2 and an inserted row 3, beyond its age.
fn forgotten(options: Options) -> (Engine, model::TableId, Open) {
    let (engine, clock, table) = with_registers(options, &[(1, 10), (2, 20), (4, 40)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    delete(&mut owner, table, 2).expect("nobody in the way");
    insert(&mut owner, table, 3, 31).expect("nobody in the way");
    clock.advance(2 * SECOND);
    (engine, table, owner)
}

/// Writers of every mode go on, and so does a snapshot; the owner is told its age when it comes back, and changes nothing.
#[test]
fn writers_and_snapshots_go_on_beside_a_forgotten_owner() {
    let (engine, table, mut owner) = forgotten(limited());
    let mut snapshot = begin_as(&engine, Mode::Snapshot);
    assert_eq!(all(&mut snapshot, table).expect("nobody older writes"), [(1, 10), (2, 20), (4, 40)]);
    set(&engine, table, 1, 12);
    let mut second = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut second, table, 2, 22).expect("its owner is too old");
    insert(&mut second, table, 3, 32).expect("its owner is too old");
    second.commit().expect("nobody in the way");
    let expected = [(1, 12), (2, 22), (3, 32), (4, 40)];
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), expected);
    assert_eq!(rule(get(&mut owner, table, 4)), "age");
    assert_eq!(rule(owner.commit()), "age");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), expected);
    drop(snapshot);
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.active, stats.waiting_versions), (0, 0));
}

/// Rows that nobody has taken are given back by the owner's end; those that somebody has stay with him.
#[test]
fn the_end_of_a_forgotten_owner_takes_no_row_from_its_new_owner() {
    let (engine, table, owner) = forgotten(limited());
    let mut second = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut second, table, 1, 12).expect("its owner is too old");
    drop(owner);
    let mut third = begin_as(&engine, Mode::OwnAtStatement);
    assert_eq!(rule(put(&mut third, table, 1, 13)), "wait-limit", "the second has it");
    set(&engine, table, 2, 23);
    set(&engine, table, 3, 33);
    second.commit().expect("nobody in the way");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 12), (2, 23), (3, 33), (4, 40)]);
}

/// A key whose insert was forgotten is free, and its tuple is collected when the owner has gone.
#[test]
fn a_forgotten_insert_leaves_its_key_free() {
    let (engine, table, owner) = forgotten(limited());
    let mut second = begin_as(&engine, Mode::OwnAtStatement);
    insert(&mut second, table, 3, 32).expect("its owner is too old");
    drop(second);
    assert_eq!(now(&engine, table, 3), None);
    drop(owner);
    engine.collect();
    assert_eq!(engine.stats().waiting_versions, 0);
    set(&engine, table, 3, 33);
    assert_eq!(now(&engine, table, 3), Some(33));
}

/// A request that never waits gets the row, too.
#[test]
fn a_request_that_never_waits_takes_an_abandoned_row() {
    #[derive(Debug)]
    struct Unmoved;
    impl Supervisor for Unmoved {
        fn transaction_begins(&self, _: model::Timestamp) {}
        fn wait_limit(&self) -> Option<Duration> {
            None
        }
        fn wait_begins(&self, _: &model::Abort, _: std::task::Waker) {}
        fn wait_ends(&self) {}
    }
    let (engine, table, _owner) = forgotten(limited());
    let mut hasty = begin_as(&engine, Mode::OwnAtStatement);
    hasty.set_supervisor(Arc::new(Unmoved));
    assert!(hasty.read_for_update(table, &Key::from_u64(1), &mut RowBuf::new()).expect("its owner is too old"));
    hasty.commit().expect("nobody in the way");
}

/// One that is in a statement works, however old it is: its rows stay its own until the statement has ended.
#[test]
fn an_owner_in_a_statement_keeps_its_rows() {
    let (engine, clock, table) = with_registers(limited(), &[(1, 10), (2, 20)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    let refused = |when: &str| {
        let mut second = begin_as(&engine, Mode::OwnAtStatement);
        assert_eq!(rule(put(&mut second, table, 1, 12)), "wait-limit", "{when}");
    };
    refused("it is young");
    let view = owner.read_view().expect("it is young");
    clock.advance(2 * SECOND);
    refused("its view may read");
    drop(view);
    set(&engine, table, 1, 13);
    assert_eq!(rule(owner.commit()), "age");
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 14).expect("nobody in the way");
    let visited = owner.scan(&Scan::table(table), &mut |_: Item<'_>| {
        clock.advance(2 * SECOND);
        refused("it scans");
        ControlFlow::Break(())
    });
    visited.expect("the statement began in time");
    assert_eq!(rule(owner.commit()), "age");
    assert_eq!(now(&engine, table, 1), Some(13));
}

/// One that moves to a later timestamp while it owns rows is known by its name.
#[test]
fn an_owner_that_has_moved_is_found_by_its_name() {
    let (engine, clock, table) = with_registers(limited(), &[(1, 10), (2, 20)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    set(&engine, table, 2, 21);
    put(&mut owner, table, 2, 22).expect("it moves above the later writer");
    clock.advance(2 * SECOND);
    set(&engine, table, 1, 13);
    set(&engine, table, 2, 23);
    assert_eq!(rule(owner.commit()), "age");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 13), (2, 23)]);
}

/// Whoever sleeps behind an owner, or before a snapshot, notices by himself when it becomes too old.
#[test]
fn sleepers_notice_that_an_owner_has_become_too_old() {
    let age = Some(Duration::from_millis(50));
    let options = Options { transaction_age: age, wait_limit: Duration::from_secs(60), ..Options::default() };
    let engine = Mvto::in_memory(options).expect("nothing can fail in memory");
    let table = engine.create_table(registers("registers", model::Storage::Ordered)).expect("a new table");
    let own = Begin { mode: Mode::OwnAtStatement, ..Begin::default() };
    let owners: Vec<_> = (0..3)
        .map(|key| {
            // Each may be too old for a second statement already, if the machine is slow: it has one.
            let mut owner = engine.begin(own).expect("begin only notes down");
            put(&mut owner, table, key, 1).expect("nobody in the way");
            owner
        })
        .collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut snapshot =
                engine.begin(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("begin only notes down");
            // It may begin after one of the writers below has committed: it sees that row, and none of the owners'.
            let seen = all(&mut snapshot, table).expect("who writes has become too old");
            assert!(seen.iter().all(|&(key, value)| key < 2 && value == 2), "{seen:?}");
        });
        for (key, mode) in [(0, Mode::OwnAtStatement), (1, Mode::ReadWrite)] {
            let engine = &engine;
            scope.spawn(move || {
                let write = || {
                    let how = Begin { mode, ..Begin::default() };
                    engine.run(how, RetryPolicy::default(), |open| put(open, table, key, 2))
                };
                // One that has waited for long may be too old itself; the next finds nobody in the way.
                while let Err(error) = write() {
                    assert_eq!(error.abort().expect("an abort").rule, "age");
                }
            });
        }
    });
    drop(owners);
}

//! The limit on ages: a transaction that is older and makes no further calls keeps nothing and blocks nobody. Not a group of the
//! battery, since the engine is on a clock of the tests: an engine with such a limit calls each part.

use crate::fixture::{Sessions, begin};
use crate::registers::{all, delete, get, insert, put, registers, rule};
use env::SimClock;
use model::{Access, Columns, Finish, Item, Key, Mode, RowBuf, Scan, Storage, Supervisor, TableId};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
const LIMIT: Duration = Duration::from_secs(1);

/// An engine with a limit on ages, whose transactions never wait.
pub trait Ages: Sessions {
    /// Opens an empty engine on a clock that shows what the tests say.
    fn open_aged(limit: Duration) -> (Arc<Self::Engine>, SimClock);

    /// Returns how many replaced versions are kept.
    fn kept(engine: &Self::Engine) -> u64;
}

type Open<F> = crate::fixture::Open<F>;

fn opened<F: Ages>(rows: &[(u64, u64)]) -> (Arc<F::Engine>, SimClock, TableId) {
    let (engine, clock) = F::open_aged(LIMIT);
    let table = F::create_table(&engine, registers("registers", Storage::Ordered)).expect("a new table");
    rows.iter().for_each(|&(key, value)| set::<F>(&engine, table, key, value));
    (engine, clock, table)
}

fn set<F: Sessions>(engine: &Arc<F::Engine>, table: TableId, key: u64, value: u64) {
    let mut open = begin::<F>(engine, Mode::ReadWrite);
    put(&mut open, table, key, value).expect("nobody in the way");
    open.commit().expect("nobody in the way");
}

fn rows<F: Sessions>(engine: &Arc<F::Engine>, table: TableId) -> Vec<(u64, u64)> {
    all(&mut begin::<F>(engine, Mode::ReadOnly), table).expect("nobody in the way")
}

/// An owner of row 1, a deleted row 2 and an inserted row 3, beyond its age.
fn forgotten<F: Ages>() -> (Arc<F::Engine>, TableId, Open<F>) {
    let (engine, clock, table) = opened::<F>(&[(1, 10), (2, 20), (4, 40)]);
    let mut owner = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    assert!(delete(&mut owner, table, 2).expect("nobody in the way"));
    insert(&mut owner, table, 3, 31).expect("nobody in the way");
    clock.advance(2 * SECOND);
    (engine, table, owner)
}

/// Writers of every mode go on, and so does a snapshot; the owner is told its age when it comes back, and changes nothing.
pub fn writers_and_snapshots_go_on_beside_a_forgotten_owner<F: Ages>() {
    let (engine, table, mut owner) = forgotten::<F>();
    let mut snapshot = begin::<F>(&engine, Mode::Snapshot);
    assert_eq!(all(&mut snapshot, table).expect("nobody older writes"), [(1, 10), (2, 20), (4, 40)]);
    set::<F>(&engine, table, 1, 12);
    let mut second = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut second, table, 2, 22).expect("its owner is too old");
    insert(&mut second, table, 3, 32).expect("its owner is too old");
    second.commit().expect("nobody in the way");
    let expected = [(1, 12), (2, 22), (3, 32), (4, 40)];
    assert_eq!(rows::<F>(&engine, table), expected);
    assert_eq!(rule(get(&mut owner, table, 4)), "age");
    assert_eq!(rule(owner.commit()), "age");
    assert_eq!(rows::<F>(&engine, table), expected);
    drop(snapshot);
    F::collect(&engine);
    F::assert_idle(&engine, 4);
}

/// Rows that nobody has taken are given back by the owner's end; those that somebody has stay with him.
pub fn the_end_of_a_forgotten_owner_takes_no_row_from_its_new_owner<F: Ages>() {
    let (engine, table, owner) = forgotten::<F>();
    let mut second = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut second, table, 1, 12).expect("its owner is too old");
    drop(owner);
    let mut third = begin::<F>(&engine, Mode::OwnAtStatement);
    assert_eq!(rule(put(&mut third, table, 1, 13)), "wait-limit", "the second has it");
    set::<F>(&engine, table, 2, 23);
    set::<F>(&engine, table, 3, 33);
    second.commit().expect("nobody in the way");
    assert_eq!(rows::<F>(&engine, table), [(1, 12), (2, 23), (3, 33), (4, 40)]);
}

/// A key whose insert was forgotten is free, and nothing is left of it when both who wanted it have gone.
pub fn a_forgotten_insert_leaves_its_key_free<F: Ages>() {
    let (engine, table, owner) = forgotten::<F>();
    let mut second = begin::<F>(&engine, Mode::OwnAtStatement);
    insert(&mut second, table, 3, 32).expect("its owner is too old");
    drop(second);
    assert_eq!(rows::<F>(&engine, table), [(1, 10), (2, 20), (4, 40)]);
    drop(owner);
    F::collect(&engine);
    F::assert_idle(&engine, 3);
    set::<F>(&engine, table, 3, 33);
    assert_eq!(rows::<F>(&engine, table), [(1, 10), (2, 20), (3, 33), (4, 40)]);
}

/// A request that never waits gets the row, too.
pub fn a_request_that_never_waits_takes_an_abandoned_row<F: Ages>() {
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
    let (engine, table, _owner) = forgotten::<F>();
    let mut hasty = begin::<F>(&engine, Mode::OwnAtStatement);
    hasty.supervised().expect("its waits can be watched").set_supervisor(Arc::new(Unmoved));
    assert!(
        hasty
            .read_for_update(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new())
            .expect("its owner is too old")
    );
    hasty.commit().expect("nobody in the way");
}

/// One that is in a statement works, however old it is: its rows stay its own until the statement has ended.
pub fn an_owner_in_a_statement_keeps_its_rows<F: Ages>() {
    let (engine, clock, table) = opened::<F>(&[(1, 10), (2, 20)]);
    let mut owner = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    let refused = |when: &str| {
        let mut second = begin::<F>(&engine, Mode::OwnAtStatement);
        assert_eq!(rule(put(&mut second, table, 1, 12)), "wait-limit", "{when}");
    };
    refused("it is young");
    let view = owner.shared_reads().expect("it shares its reads").read_view().expect("it is young");
    clock.advance(2 * SECOND);
    refused("its view may read");
    drop(view);
    set::<F>(&engine, table, 1, 13);
    assert_eq!(rule(owner.commit()), "age");
    let mut owner = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 14).expect("nobody in the way");
    let visited = owner.scan(&Scan::table(table), &mut |_: Item<'_>| {
        clock.advance(2 * SECOND);
        refused("it scans");
        ControlFlow::Break(())
    });
    visited.expect("the statement began in time");
    assert_eq!(rule(owner.commit()), "age");
    assert_eq!(rows::<F>(&engine, table)[0], (1, 13));
}

/// One that moves to a later place while it owns rows is known by its name.
pub fn an_owner_that_has_moved_is_found_by_its_name<F: Ages>() {
    let (engine, clock, table) = opened::<F>(&[(1, 10), (2, 20)]);
    let mut owner = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 11).expect("nobody in the way");
    set::<F>(&engine, table, 2, 21);
    put(&mut owner, table, 2, 22).expect("it moves above the later writer");
    clock.advance(2 * SECOND);
    set::<F>(&engine, table, 1, 13);
    set::<F>(&engine, table, 2, 23);
    assert_eq!(rule(owner.commit()), "age");
    assert_eq!(rows::<F>(&engine, table), [(1, 13), (2, 23)]);
}

/// The limit needs nobody else to be at work: the transaction itself looks at the clock. It is not retried.
pub fn a_transaction_is_told_its_age_though_nothing_else_happens<F: Ages>() {
    let (engine, clock, table) = opened::<F>(&[(1, 1)]);
    let mut old = begin::<F>(&engine, Mode::ReadWrite);
    clock.advance(SECOND / 2);
    assert_eq!(get(&mut old, table, 1).expect("it is young enough"), Some(1));
    clock.advance(2 * SECOND);
    let aborted = get(&mut old, table, 1).expect_err("too old");
    assert!(!aborted.is_retryable());
    assert_eq!(aborted.sqlstate(), "25P04");
    assert_eq!(rule(old.commit()), "age", "it keeps its reason");
    F::assert_idle(&engine, 1);
}

/// Nobody calls it any more, and what it reads is collected all the same.
pub fn an_abandoned_transaction_keeps_no_versions_beyond_its_age<F: Ages>() {
    let (engine, clock, table) = opened::<F>(&[(1, 0)]);
    let mut abandoned = begin::<F>(&engine, Mode::ReadOnly);
    assert_eq!(get(&mut abandoned, table, 1).expect("it is young"), Some(0));
    (1..3).for_each(|value| set::<F>(&engine, table, 1, value));
    F::collect(&engine);
    assert!(F::kept(&engine) > 0, "it keeps what it reads");
    clock.advance(2 * SECOND);
    F::collect(&engine);
    assert_eq!(F::kept(&engine), 0, "it keeps nothing any more");
    assert_eq!(rule(get(&mut abandoned, table, 1)), "age");
}

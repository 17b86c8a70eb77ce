//! Transactions that own at the statement, beside readers and writers that do not wait for them, or only as long as they must.
//! The moves by hand are in `tests/scripts/push_*.txt`; here are those that need threads, counts and limits.

mod support;

use model::{Access, Begin, Columns, Error, Finish, Interactive, Key, Mode, RowBuf};
use seriatim_mvto::Options;
use std::thread;
use std::time::Duration;
use support::{
    Engine, all, at, begin, begin_as, get, impatient, insert, now, put, read_during_a_commit, rule, with_registers,
};

fn patient() -> Options {
    Options { wait_limit: Duration::from_secs(600), ..Options::default() }
}

fn wait_until_asleep(engine: &Engine, count: usize) {
    while engine.stats().asleep < count {
        thread::yield_now();
    }
}

/// A writer that has queued behind one that was pushed commits behind it, though that moved above the writer's timestamp.
#[test]
fn a_queued_writer_moves_behind_the_one_that_it_waited_for() {
    let (engine, _, table) = with_registers(patient(), &[(1, 1)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 2).expect("nobody in the way");
    let mut queued = begin_as(&engine, Mode::OwnAtStatement);
    let began = at(&queued);
    let mut reader = begin_as(&engine, Mode::ReadOnly);
    assert_eq!(get(&mut reader, table, 1).expect("an owner that executes is no obstacle"), Some(1));
    let queued = thread::spawn(move || {
        let mut row = RowBuf::new();
        assert!(queued.read_for_update(table, &Key::from_u64(1), Columns::All, &mut row).expect("the row is there"));
        put(&mut queued, table, 1, 10 * support::integer(row.bytes())).expect("it owns it");
        queued.commit().expect("it has read nothing else").claimed().0
    });
    wait_until_asleep(&engine, 1);
    let point = owner.commit().expect("it moves").claimed().0;
    assert!(point > at(&reader) && at(&reader) > began);
    assert!(queued.join().expect("no panic") > point);
    assert_eq!(now(&engine, table, 1), Some(20));
    assert_eq!(engine.stats().moved, 2);
}

/// Nobody waits for a client who thinks, not even through somebody else's commit: who owns at commit holds nothing meanwhile.
#[test]
fn a_commit_that_waits_for_an_executing_owner_holds_nothing() {
    let (engine, _, table) = with_registers(patient(), &[(1, 1), (2, 1)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 2, 2).expect("nobody in the way");
    let mut writer = begin(&engine);
    put(&mut writer, table, 1, 3).expect("buffered");
    put(&mut writer, table, 2, 3).expect("buffered");
    let writer = thread::spawn(move || writer.commit().map(drop));
    wait_until_asleep(&engine, 1);
    let how = Begin { mode: Mode::OwnAtStatement, wait_limit: Some(Duration::ZERO), ..Begin::default() };
    let mut other = engine.begin_owned(how).expect("begin only notes down");
    other.set_reads_wait(false);
    assert_eq!(get(&mut other, table, 1).expect("nobody commits it"), Some(1));
    put(&mut other, table, 1, 4).expect("nobody holds it");
    other.commit().expect("nobody in the way");
    owner.commit().expect("nobody in the way");
    let rule = rule(writer.join().expect("no panic"));
    assert!(["later-reader", "later-writer"].contains(&rule), "{rule}");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 4), (2, 2)]);
}

/// A statement that is going to write what it reads may ask to wait; then it reads what the older one commits.
#[test]
fn reads_wait_where_they_are_asked_to() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 2).expect("nobody in the way");
    let mut younger = begin_as(&engine, Mode::OwnAtStatement);
    assert_eq!(rule(get(&mut younger, table, 1)), "wait-limit", "it owns at the statement, so it is going to write");
    let mut third = begin_as(&engine, Mode::ReadOnly);
    third.set_reads_wait(true);
    assert_eq!(rule(get(&mut third, table, 1)), "wait-limit");
    let point = owner.commit().expect("nobody has read it").claimed().0;
    assert_eq!(engine.stats().moved, 0, "it was not pushed, and stands at {point}");
}

/// A wait for a commit lasts until that commit's end and no longer.
#[test]
fn a_scan_waits_for_a_commit() {
    let options = Options { wait_limit: Duration::from_secs(60), ..Options::default() };
    let seen = read_during_a_commit(options, |engine, table| {
        all(&mut engine.begin(Begin::default()).expect("begin only notes down"), table)
    });
    assert_eq!(seen.expect("it waits long enough"), [(1, 2)]);
}

/// Reads that do not fit the read set cannot be refreshed. Repeated reads and reads of owned keys take no room.
#[test]
fn who_has_read_too_much_cannot_move() {
    let rows: Vec<(u64, u64)> = (0..1_000).map(|key| (key, 1)).collect();
    for (distinct, moves) in [(90, true), (1_000, false)] {
        let (engine, _, table) = with_registers(Options { read_set: 100, ..impatient() }, &rows);
        let mut owner = begin_as(&engine, Mode::OwnAtStatement);
        for key in 0..3_000 {
            assert_eq!(get(&mut owner, table, key % distinct).expect("nobody in the way"), Some(1));
        }
        for key in 0..1_000 {
            let found = owner.read_for_update(table, &Key::from_u64(key), Columns::All, &mut RowBuf::new());
            assert!(found.expect("nobody in the way"));
            put(&mut owner, table, key, 2).expect("nobody in the way");
        }
        assert_eq!(now(&engine, table, 7), Some(1));
        match moves {
            true => drop(owner.commit().expect("it moves")),
            false => assert_eq!(rule(owner.commit()), "too-many-reads"),
        }
        assert_eq!(now(&engine, table, 7), Some(if moves { 2 } else { 1 }));
    }
}

/// A long writer and readers that count all rows again and again: neither waits nor fails, and each count is whole.
#[test]
fn a_bulk_load_and_counts_do_not_starve_each_other() {
    let rows: Vec<(u64, u64)> = (0..500).map(|key| (2 * key, 1)).collect();
    let (engine, _, table) = with_registers(impatient(), &rows);
    let (mut readers, mut expected) = (vec![], 500);
    for round in 1..=3 {
        let mut load = begin_as(&engine, Mode::OwnAtStatement);
        for key in 0..500 {
            insert(&mut load, table, (2 * key + 1) + 1_000 * (round - 1), round)
                .expect("gaps that were read are no obstacle");
            if key % 50 == 0 {
                let mut reader = begin_as(&engine, Mode::ReadOnly);
                assert_eq!(all(&mut reader, table).expect("a load is no obstacle").len(), expected);
                readers.push((reader, expected));
            }
        }
        load.commit().expect("a count is no obstacle");
        expected += 500;
    }
    for (mut reader, expected) in readers {
        assert_eq!(all(&mut reader, table).expect("it reads as of its begin").len(), expected);
        reader.commit().expect("a read-only transaction always commits");
    }
    assert_eq!(engine.stats().moved, 3);
    engine.collect();
    assert_eq!((engine.stats().active, engine.stats().waiting_versions), (0, 0));
}

/// Its own number stays what it was, whatever happens to its place.
#[test]
fn a_transaction_that_moves_keeps_its_number() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut early = begin_as(&engine, Mode::OwnAtStatement);
    let number = Finish::timestamp(&early);
    support::set(&engine, table, 1, 5);
    let mut row = RowBuf::new();
    assert!(early.read_for_update(table, &Key::from_u64(1), Columns::All, &mut row).expect("it moves"));
    assert_eq!(support::integer(row.bytes()), 5);
    assert!(early.read(table, &Key::from_u64(1), Columns::All, &mut row).expect("it owns it"));
    assert_eq!(Finish::timestamp(&early), number);
    early.abort();
    assert_eq!(engine.stats().moved, 0, "only commits count");
}

/// Workspaces are lent to one transaction after another.
#[test]
fn a_row_that_is_owned_and_not_written_leaves_nothing_for_the_next_transaction() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 2)]);
    for _ in 0..3 {
        for key in [1, 2] {
            let how = Begin { mode: Mode::OwnAtStatement, ..Begin::default() };
            let mut open = engine.begin(how).expect("room for one more");
            assert!(matches!(insert(&mut open, table, key, 9), Err(Error::Duplicate(_))), "it is there");
            open.commit().expect("nobody in the way");
        }
    }
    assert_eq!((now(&engine, table, 1), now(&engine, table, 2)), (Some(1), Some(2)));
}

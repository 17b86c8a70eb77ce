//! The whole engine under random schedules: moves, inserts and deletes of the same keys, savepoints, snapshots by row and by
//! column, decisions that meet, and a collector beside them.
//!
//! `cargo test -p seriatim-hyper --features shuttle --test shuttle_engine`
#![cfg(feature = "shuttle")]

use model::columns::{Batch, batches};
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Finish, Interactive, Key, Mode, Predicate, Result, RowBuf,
    Savepoints, Scan, Schema, SharedReads, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction};
use shuttle::thread;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The sum of all amounts, whatever moves.
const SUM: i64 = 3;
/// Rows from here on have no amount.
const MARKS: i64 = 50;

fn schema() -> Schema {
    Schema::table("accounts")
        .column("id", ColumnType::Int)
        .column("amount", ColumnType::Int)
        .column("note", ColumnType::Text)
        .key(["id"])
        .build()
        .expect("a good schema")
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn row(id: i64, amount: i64) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Int(amount), ValueRef::Text("a note")])
}

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
}

/// An engine with accounts 0, 1, 2 of one each, in blocks of four.
fn loaded(options: Options) -> (Arc<Hyper>, TableId) {
    let engine = Arc::new(Hyper::new(Options { block_rows: 4, has_small_nodes: true, ..options }));
    let table = engine.create_table(schema()).expect("a new table");
    let mut load = begin(&engine, Mode::ReadWrite);
    (0..SUM).for_each(|id| load.insert(table, &key(id), row(id, 1).row()).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    (engine, table)
}

fn amount(open: &mut Transaction<&Hyper>, table: TableId, id: i64) -> Result<Option<i64>> {
    let mut row = RowBuf::new();
    let found = open.read(table, &key(id), Columns::Some(&[1]), &mut row)?;
    Ok(found.then(|| row.get(0).as_int().expect("an integer")))
}

/// Moves all of an account to another one, which is made if need be, and deletes it; on the way it does something else, and
/// goes back. Whether it committed.
fn move_all(engine: &Hyper, table: TableId, (from, to): (i64, i64), mode: Mode) -> bool {
    let mut open = begin(engine, mode);
    let moved = |open: &mut Transaction<&Hyper>| -> Result<()> {
        let Some(moved) = amount(open, table, from)? else { return Ok(()) };
        if !open.update(table, &key(to), &Delta::new().add(1, moved))? {
            open.insert(table, &key(to), row(to, moved).row())?;
        }
        let savepoint = open.savepoint()?;
        open.update(table, &key(to), &Delta::new().set(1, 99_i64).set(2, "gone"))?;
        open.delete(table, &key(from))?;
        open.put(table, &key(from), row(from, 77).row())?;
        open.rollback_to(&savepoint)?;
        open.release(savepoint);
        open.delete(table, &key(from)).map(drop)
    };
    moved(&mut open).is_ok() && open.commit().is_ok()
}

/// The sum of all amounts by row, and by column.
fn sums(open: &mut Transaction<&Hyper>, table: TableId) -> [i64; 2] {
    let (mut by_row, mut by_column) = (0, 0);
    let end = open.scan(&Scan::table(table).columns(Columns::Some(&[1])), &mut |item| {
        by_row += item.row.get(0).as_int().expect("an integer");
        ControlFlow::Continue(())
    });
    end.expect("reads do not fail");
    let view = open.read_view().expect("it is open");
    let filter = Predicate::Compare(1, Comparison::NotEqual, Value::Int(0));
    let scan = Scan::table(table).columns(Columns::Some(&[1])).filter(&filter);
    let (scan, mut batch) = (batches(&*view, &schema(), scan).expect("typed"), Batch::default());
    while scan.next(&mut batch).expect("reads do not fail") {
        by_column +=
            (0..batch.len()).map(|at| batch.column(0).get(at).as_ref().as_int().expect("an integer")).sum::<i64>();
    }
    [by_row, by_column]
}

/// Sets a mark where it has seen none. Whether it committed one.
fn mark_first(engine: &Hyper, table: TableId, id: i64) -> bool {
    let mut open = begin(engine, Mode::ReadWrite);
    let filter = Predicate::Compare(1, Comparison::Less, Value::Int(1));
    let mut marks = 0;
    let end = open.scan(&Scan::table(table).filter(&filter).columns(Columns::None), &mut |_| {
        marks += 1;
        ControlFlow::Continue(())
    });
    end.expect("reads do not fail");
    marks == 0 && open.insert(table, &key(MARKS + id), row(MARKS + id, 0).row()).is_ok() && open.commit().is_ok()
}

/// Nothing is left of those who have ended, and the engine can go.
fn assert_idle(engine: Arc<Hyper>, rows: u64) {
    while engine.collect() > 0 {}
    let stats = engine.stats();
    assert_eq!((stats.open, stats.asleep, stats.garbage, stats.versioned), (0, 0, 0, 0));
    assert_eq!((stats.rows, stats.recent), (rows, 0));
    drop(Arc::into_inner(engine).expect("nobody else has it"));
}

fn run(options: Options) {
    let (engine, table) = loaded(options);
    let spawn = |body: fn(&Hyper, TableId)| {
        let engine = engine.clone();
        thread::spawn(move || body(&engine, table))
    };
    let threads = [
        spawn(|engine, table| {
            for round in 0..2 {
                move_all(engine, table, (round, 4 - round), Mode::ReadWrite);
            }
        }),
        spawn(|engine, table| {
            for round in 0..2 {
                move_all(engine, table, (4 - round, 1 - round), Mode::OwnAtStatement);
            }
        }),
        spawn(|engine, table| {
            for mode in [Mode::Snapshot, Mode::ReadOnly] {
                let mut reader = begin(engine, mode);
                assert_eq!(sums(&mut reader, table), [SUM; 2], "{mode:?}");
                assert_eq!(sums(&mut reader, table), [SUM; 2], "{mode:?}");
                reader.commit().expect("a reader commits");
            }
        }),
        spawn(|engine, table| {
            let mut auditor = begin(engine, Mode::ReadWrite);
            let sums = sums(&mut auditor, table);
            assert_eq!(sums, [SUM; 2], "whether or not it commits");
            if auditor.put(table, &key(9), row(9, 0).row()).is_ok() && auditor.commit().is_ok() {
                engine.collect();
            }
        }),
    ];
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let mut last = begin(&engine, Mode::ReadOnly);
    assert_eq!(sums(&mut last, table), [SUM; 2]);
    let mut rows = 0;
    let end = last.scan(&Scan::table(table), &mut |_| {
        rows += 1;
        ControlFlow::Continue(())
    });
    end.expect("reads do not fail");
    last.commit().expect("a reader commits");
    assert_idle(engine, rows);
}

#[test]
fn sums_are_kept_and_nothing_is_left() {
    shuttle::check_random(|| run(Options::default()), 1_000);
}

#[test]
fn sums_are_kept_where_places_are_not_claimed() {
    shuttle::check_random(|| run(Options { claims: false, ..Options::default() }), 500);
}

#[test]
fn sums_are_kept_of_rows_stored_whole() {
    let options = Options { by_row: true, moves_starts: false, whole_versions: true, ..Options::default() };
    shuttle::check_random(move || run(options.clone()), 300);
}

/// Of those who have all seen no mark one alone commits: whoever decides first counts, before it is published too. Few and long
/// preemptions: of those at random hardly one keeps a decision open for as long as another one is made.
#[test]
fn one_of_those_who_have_seen_nothing_commits() {
    shuttle::check_pct(
        || {
            let (engine, table) = loaded(Options::default());
            let threads = [0, 1, 2].map(|id| {
                let engine = engine.clone();
                thread::spawn(move || mark_first(&engine, table, id))
            });
            let marks = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            assert_eq!(marks.filter(|marked| *marked).count(), 1);
            assert_idle(engine, SUM as u64 + 1);
        },
        2_000,
        3,
    );
}

/// A reader of two accounts sees both sides of a transfer or neither, at whichever moment of the commit it begins.
#[test]
fn a_commit_is_seen_whole() {
    shuttle::check_random(
        || {
            let (engine, table) = loaded(Options { claims: false, ..Options::default() });
            let writers = [(0, 1), (1, 2)].map(|(from, to)| {
                let engine = engine.clone();
                thread::spawn(move || {
                    let mut open = begin(&engine, Mode::OwnAtStatement);
                    let paid = [(from, -1), (to, 1)]
                        .map(|(id, paid)| open.update(table, &key(id), &Delta::new().add(1, paid)).is_ok());
                    let _ = paid == [true; 2] && open.commit().is_ok();
                })
            });
            let mut reader = begin(&engine, Mode::ReadOnly);
            let seen = [0, 1, 2].map(|id| amount(&mut reader, table, id).expect("reads do not fail").expect("there"));
            assert_eq!(seen.iter().sum::<i64>(), SUM, "{seen:?}");
            reader.commit().expect("a reader commits");
            writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        },
        2_000,
    );
}

/// Many who insert and delete one key: each finds it as the one before has left it, and its slot is used again.
#[test]
fn one_key_comes_and_goes() {
    shuttle::check_random(
        || {
            let (engine, table) = loaded(Options::default());
            let threads = [0, 1, 2].map(|number| {
                let engine = engine.clone();
                thread::spawn(move || {
                    let mut added = 0;
                    for _ in 0..2 {
                        let mut open = begin(&engine, Mode::OwnAtStatement);
                        let found = match open.delete(table, &key(7)) {
                            Ok(found) => found,
                            Err(_) => continue,
                        };
                        if !found && open.insert(table, &key(7), row(7, number).row()).is_err() {
                            continue;
                        }
                        let ends_well = number != 1;
                        if ends_well && open.commit().is_ok() {
                            added += if found { -1 } else { 1 };
                        }
                    }
                    added
                })
            });
            let added: i64 = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
            let there = amount(&mut begin(&engine, Mode::ReadOnly), table, 7).expect("reads do not fail").is_some();
            assert_eq!(added, i64::from(there));
            assert_idle(engine, (SUM + added) as u64);
        },
        1_000,
    );
}

/// Rows that their owner gives back while it stays open go to those who sleep for them, whoever sleeps on for other ones.
#[test]
fn rows_that_are_given_back_are_taken() {
    shuttle::check_random(
        || {
            let (engine, table) = loaded(Options::default());
            let add = move |open: &mut Transaction<&Hyper>, id| {
                assert!(open.update(table, &key(id), &Delta::new().add(1, 1)).expect("it is free, or will be"));
            };
            let mut owner = begin(&engine, Mode::OwnAtStatement);
            add(&mut owner, 0);
            let savepoint = owner.savepoint().expect("it is open");
            add(&mut owner, 1);
            let waiters = [0, 1].map(|id| {
                let engine = engine.clone();
                thread::spawn(move || {
                    let mut open = begin(&engine, Mode::OwnAtStatement);
                    add(&mut open, id);
                    open.commit().expect("nobody else has read it");
                })
            });
            owner.rollback_to(&savepoint).expect("it is its own");
            let [kept, given_back] = waiters;
            given_back.join().expect("no panic");
            owner.abort();
            kept.join().expect("no panic");
            let mut last = begin(&engine, Mode::ReadOnly);
            let amounts = [0, 1].map(|id| amount(&mut last, table, id).expect("reads do not fail"));
            assert_eq!(amounts, [Some(2); 2]);
            last.commit().expect("a reader commits");
            assert_idle(engine, SUM as u64);
        },
        2_000,
    );
}

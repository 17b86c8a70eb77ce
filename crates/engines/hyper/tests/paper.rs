//! Sentences of the paper, as tests. The sections are those of Neumann, Mühlbauer, Kemper, SIGMOD 2015.

mod common;

use common::{options_for, with_registers};
use conformance::Knobs;
use conformance::registers::{all, delete, get, insert, put, rule};
use model::columns::{Batch, batches};
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Finish, Interactive, Key, Mode, Predicate, RowBuf, Scan,
    Schema, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Reason, Transaction, Validation};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

fn write(engine: &Hyper) -> Transaction<&Hyper> {
    begin(engine, Mode::ReadWrite)
}

/// Customers: `id` (key), `district`, `credit`, `balance`.
fn customers(options: Options) -> (Arc<Hyper>, TableId) {
    let engine = Arc::new(Hyper::new(options));
    let schema = Schema::table("customers")
        .column("id", ColumnType::Int)
        .column("district", ColumnType::Int)
        .column("credit", ColumnType::Text)
        .column("balance", ColumnType::Int)
        .key(["id"])
        .build()
        .expect("a good schema");
    let table = engine.create_table(schema).expect("a new table");
    let mut load = write(&engine);
    for id in 0..3000 {
        let credit = if id % 10 == 0 { "BC" } else { "GC" };
        let row = [ValueRef::Int(id), ValueRef::Int(id / 300), ValueRef::Text(credit), ValueRef::Int(id * 7 % 1000)];
        load.insert(table, &key(id), RowBuf::from_values(&row).row()).expect("a new key");
    }
    load.commit().expect("nobody in the way");
    (engine, table)
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn good_credit() -> Predicate {
    Predicate::And(vec![
        Predicate::Compare(1, Comparison::Equal, Value::Int(3)),
        Predicate::Compare(2, Comparison::Equal, Value::Text("GC".into())),
    ])
}

/// The greatest balance of a district's customers of good credit.
fn top_customer(open: &mut Transaction<&Hyper>, table: TableId) -> i64 {
    let filter = good_credit();
    let scan = Scan::table(table)
        .between(Bound::Included(key(900)), Bound::Excluded(key(1200)))
        .filter(&filter)
        .columns(Columns::Some(&[3]));
    let mut top = i64::MIN;
    let end = open.scan(&scan, &mut |item| {
        top = top.max(item.row.get(0).as_int().expect("an integer"));
        ControlFlow::Continue(())
    });
    end.expect("reads do not fail");
    top
}

/// Section 2.1, figure 1: a reader sums 150 whatever transfers commit beside it, at any of its starts.
#[test]
fn figure_1_every_sum_is_150() {
    let (engine, table) = with_registers(Options::default());
    let mut load = write(&engine);
    (0..15).for_each(|account| put(&mut load, table, account, 10).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    let mut readers = Vec::new();
    for round in 0..40 {
        readers.push(begin(&engine, Mode::ReadOnly));
        let (from, to) = (round % 15, (round * 7 + 1) % 15);
        let mut open = write(&engine);
        let moved = get(&mut open, table, from).expect("nobody in the way").expect("an account");
        put(&mut open, table, from, moved - 1).expect("nobody in the way");
        let there = get(&mut open, table, to).expect("nobody in the way").expect("an account");
        put(&mut open, table, to, there + 1).expect("nobody in the way");
        if round % 3 == 0 {
            open.abort();
        } else {
            open.commit().expect("nobody in the way");
        }
    }
    for mut reader in readers {
        let sum: u64 = all(&mut reader, table).expect("reads do not fail").iter().map(|(_, balance)| balance).sum();
        assert_eq!(sum, 150);
        reader.commit().expect("a reader commits");
    }
}

/// Section 2.3: "If another transaction tries to update an uncommitted data object, it is aborted and restarted."
#[test]
fn sec_2_3_a_write_of_an_uncommitted_object_aborts() {
    let (engine, table) = with_registers(options_for(&Knobs::impatient()));
    let (mut one, mut two) = (write(&engine), write(&engine));
    put(&mut one, table, 1, 1).expect("nobody in the way");
    assert_eq!(rule(put(&mut two, table, 1, 2)), Reason::RowOwned.rule());
    one.commit().expect("it was first");
}

/// Section 2.3, without the start that moves: a version that committed after the start refuses a writer too.
#[test]
fn sec_2_3_a_write_of_a_newer_object_aborts_unless_starts_move() {
    for moves_starts in [false, true] {
        let (engine, table) = with_registers(Options { moves_starts, ..Options::default() });
        let mut late = write(&engine);
        let mut early = write(&engine);
        put(&mut early, table, 1, 1).expect("nobody in the way");
        early.commit().expect("nobody in the way");
        let written = put(&mut late, table, 1, 2);
        if moves_starts {
            written.expect("it has read nothing");
            late.commit().expect("nobody in the way");
        } else {
            assert_eq!(rule(written), Reason::RowChanged.rule());
        }
    }
}

/// Section 2.3, figure 2: modification, deletion, creation, and creation with deletion, each of which meets a reader that
/// writes elsewhere; the last one has no effect that anybody could see.
#[test]
fn figure_2_the_four_transitions() {
    type Change = fn(&Hyper, TableId);
    let modify: Change = |engine, table| {
        let mut open = write(engine);
        put(&mut open, table, 2, 9).expect("nobody in the way");
        open.commit().expect("nobody in the way");
    };
    let remove: Change = |engine, table| {
        let mut open = write(engine);
        assert!(delete(&mut open, table, 2).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
    };
    let create: Change = |engine, table| {
        let mut open = write(engine);
        insert(&mut open, table, 3, 9).expect("nobody in the way");
        open.commit().expect("nobody in the way");
    };
    let create_and_remove: Change = |engine, table| {
        create_of(engine, table);
        let mut open = write(engine);
        assert!(delete(&mut open, table, 3).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
    };
    fn create_of(engine: &Hyper, table: TableId) {
        let mut open = write(engine);
        insert(&mut open, table, 3, 9).expect("nobody in the way");
        open.commit().expect("nobody in the way");
    }
    for change in [modify, remove, create, create_and_remove] {
        let (engine, table) = with_registers(Options::default());
        let mut load = write(&engine);
        [1, 2].into_iter().for_each(|key| put(&mut load, table, key, key).expect("nobody in the way"));
        load.commit().expect("nobody in the way");
        let mut open = write(&engine);
        assert_eq!(all(&mut open, table).expect("reads do not fail").len(), 2);
        put(&mut open, table, 1, 5).expect("nobody in the way");
        change(&engine, table);
        assert_eq!(rule(open.commit()), Reason::PredicateMet.rule());
    }
}

/// Section 2.3: "For a modification we have to check both, the before image as well as the after image."
#[test]
fn sec_2_3_either_image_of_a_modification_counts() {
    for (balance_of, expected) in [
        // Leaves the district, comes into it, stays outside.
        ((910, 4), true),
        ((2000, 3), true),
        ((2000, 5), false),
    ] {
        let (engine, table) = customers(Options::default());
        let mut open = write(&engine);
        let filter = good_credit();
        let scan = Scan::table(table).filter(&filter).columns(Columns::Some(&[3]));
        open.scan(&scan, &mut |_| ControlFlow::Continue(())).expect("reads do not fail");
        assert!(open.update(table, &key(1), &Delta::new().set(3, 1_i64)).expect("nobody in the way"));
        let mut other = write(&engine);
        let (id, district) = balance_of;
        assert!(
            other
                .update(table, &key(if id % 10 == 0 { id + 1 } else { id }), &Delta::new().set(1, i64::from(district)))
                .expect("free")
        );
        other.commit().expect("nobody in the way");
        assert_eq!(open.commit().is_err(), expected, "{balance_of:?}");
    }
}

/// Section 2.3.2: attributes that were not looked at do not count under SR-AL, and do under SR-RL.
#[test]
fn sec_2_3_2_attributes_that_were_not_read_do_not_count() {
    for (validation, expected) in
        [(Validation::Columns, false), (Validation::Rows, true), (Validation::Snapshots, false)]
    {
        let (engine, table) = customers(Options { validation, ..Options::default() });
        let mut open = write(&engine);
        let mut row = RowBuf::new();
        assert!(open.read(table, &key(5), Columns::Some(&[1]), &mut row).expect("reads do not fail"));
        assert!(open.update(table, &key(1), &Delta::new().add(3, 1)).expect("nobody in the way"));
        let mut other = write(&engine);
        assert!(other.update(table, &key(5), &Delta::new().add(3, 1)).expect("nobody in the way"));
        other.commit().expect("nobody in the way");
        assert_eq!(open.commit().is_err(), expected, "{validation:?}");
    }
}

/// Section 4.4: the log of the top-customer transaction takes less than 100 bytes, whatever it has read.
#[test]
fn sec_4_4_the_log_of_a_top_customer_is_small() {
    let (engine, table) = customers(Options::default());
    let mut open = write(&engine);
    assert!(top_customer(&mut open, table) > 0);
    let bytes = open.predicate_bytes();
    assert!((1..100).contains(&bytes), "{bytes} bytes");
    // And the transaction is as exact as its filter: customers of bad credit do not matter.
    assert!(open.update(table, &key(1), &Delta::new().add(3, 1)).expect("nobody in the way"));
    let mut other = write(&engine);
    assert!(other.update(table, &key(910), &Delta::new().add(3, 1_000_000)).expect("nobody in the way"));
    other.commit().expect("nobody in the way");
    open.commit().expect("customer 910 has bad credit");
    let stats = engine.stats();
    assert_eq!((stats.logged, stats.logged_bytes), (1, bytes as u64), "others have read nothing");
}

/// Section 2.4: versions go when nobody reads them any more, and no sooner.
#[test]
fn sec_2_4_versions_live_as_long_as_a_reader_of_them() {
    let (engine, table) = with_registers(Options::default());
    let mut load = write(&engine);
    put(&mut load, table, 1, 0).expect("nobody in the way");
    load.commit().expect("nobody in the way");
    let mut reader = begin(&engine, Mode::ReadOnly);
    for value in 1..100 {
        let mut open = write(&engine);
        put(&mut open, table, 1, value).expect("nobody in the way");
        open.commit().expect("nobody in the way");
    }
    engine.collect();
    assert_eq!(get(&mut reader, table, 1).expect("reads do not fail"), Some(0));
    assert_eq!((engine.stats().versioned, engine.stats().garbage), (1, 99));
    reader.commit().expect("a reader commits");
    while engine.collect() > 0 {}
    assert_eq!((engine.stats().versioned, engine.stats().garbage), (0, 0));
}

/// Section 2.6: a scan by column sees what the snapshot sees, between versioned rows and on them, with synopses and without.
#[test]
fn sec_2_6_scans_reconstruct_versioned_rows() {
    for has_synopses in [true, false] {
        let (engine, table) = customers(Options { has_synopses, ..Options::default() });
        let sum = |open: &mut Transaction<&Hyper>| -> (i64, usize) {
            let reads = open.shared_reads().expect("it shares reads");
            let view = reads.read_view().expect("nobody in the way");
            let schema = engine.tables()[0].1.clone();
            let scan = batches(&*view, &schema, Scan::table(table).columns(Columns::Some(&[3]))).expect("typed");
            let (mut batch, mut sum, mut rows) = (Batch::default(), 0, 0);
            while scan.next(&mut batch).expect("reads do not fail") {
                rows += batch.len();
                sum += (0..batch.len())
                    .map(|at| batch.column(0).get(at).as_ref().as_int().expect("an integer"))
                    .sum::<i64>();
            }
            (sum, rows)
        };
        let mut before = begin(&engine, Mode::ReadOnly);
        let all = sum(&mut before);
        assert_eq!(all.1, 3000);
        for id in (0..3000).step_by(97) {
            let mut open = write(&engine);
            if id % 2 == 0 {
                assert!(open.update(table, &key(id), &Delta::new().add(3, 1)).expect("nobody in the way"));
            } else {
                assert!(open.delete(table, &key(id)).expect("nobody in the way"));
            }
            open.commit().expect("nobody in the way");
        }
        let mut open = write(&engine);
        let row = [ValueRef::Int(5000), ValueRef::Int(0), ValueRef::Text("GC"), ValueRef::Int(-4)];
        open.insert(table, &key(5000), RowBuf::from_values(&row).row()).expect("a new key");
        assert_eq!(sum(&mut before), all, "the reader's snapshot stays");
        let own = sum(&mut open);
        let changed = (0..3000).step_by(97).filter(|id| id % 2 == 0).count() as i64;
        let deleted: Vec<i64> = (0..3000).step_by(97).filter(|id| id % 2 != 0).map(|id| id * 7 % 1000).collect();
        let expected = all.0 + changed - deleted.iter().sum::<i64>() - 4;
        assert_eq!(own, (expected, 3000 - deleted.len() + 1), "its own insert, and what has committed");
    }
}

/// Section 3.1, figure 6(a): a cycle of anti-dependencies does not commit.
#[test]
fn figure_6a_a_cycle_of_antidependencies() {
    let (engine, table) = with_registers(Options::default());
    let mut load = write(&engine);
    [1, 2].into_iter().for_each(|key| put(&mut load, table, key, 0).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    let (mut one, mut two) = (write(&engine), write(&engine));
    assert_eq!(get(&mut one, table, 1).expect("reads do not fail"), Some(0));
    assert_eq!(get(&mut two, table, 2).expect("reads do not fail"), Some(0));
    put(&mut one, table, 2, 1).expect("nobody in the way");
    put(&mut two, table, 1, 1).expect("nobody in the way");
    one.commit().expect("nobody has committed since it started");
    assert_eq!(rule(two.commit()), Reason::PredicateMet.rule());
}

/// Figure 6(a): T2 writes x and reads its own write; whoever writes x meanwhile is aborted at once. A reader of y0 and x2 then meets T7,
/// which wrote x before that read and y after the other one: "we opted to validate all reads at commit time".
#[test]
fn figure_6a_a_write_write_and_a_read_write_conflict() {
    for reader_commits_first in [false, true] {
        let (engine, table) = with_registers(options_for(&Knobs::impatient()));
        let [x, y, z] = [1, 2, 3];
        let mut load = write(&engine);
        [x, y, z].into_iter().for_each(|key| put(&mut load, table, key, 0).expect("nobody in the way"));
        load.commit().expect("nobody in the way");
        let mut second = write(&engine);
        put(&mut second, table, x, 2).expect("nobody in the way");
        assert_eq!(get(&mut second, table, x).expect("reads do not fail"), Some(2), "it reads its own write");
        let mut refused = write(&engine);
        assert_eq!(get(&mut refused, table, x).expect("reads do not fail"), Some(0), "x2 is not committed");
        assert_eq!(rule(put(&mut refused, table, x, 9)), Reason::RowOwned.rule(), "at once, and not at the commit");
        let second = second.commit().expect("the other one was aborted").claimed();
        let mut reader = write(&engine);
        assert_eq!(get(&mut reader, table, y).expect("reads do not fail"), Some(0));
        let mut seventh = write(&engine);
        put(&mut seventh, table, x, 7).expect("nobody in the way");
        assert_eq!(get(&mut reader, table, x).expect("reads do not fail"), Some(2), "x2, though x is written by now");
        put(&mut seventh, table, y, 7).expect("a read is in nobody's way");
        put(&mut reader, table, z, 1).expect("nobody in the way");
        let (reader, seventh) = if reader_commits_first {
            let reader = reader.commit();
            (reader, seventh.commit())
        } else {
            let seventh = seventh.commit();
            (reader.commit(), seventh)
        };
        let seventh = seventh.expect("it has read nothing").claimed();
        if reader_commits_first {
            // "The rw-antidependencies could have been resolved [...] by a commit of the reading transaction before T7."
            let reader = reader.expect("nobody has committed since it started").claimed();
            assert!(second < reader && reader < seventh);
        } else {
            assert_eq!(rule(reader), Reason::PredicateMet.rule());
        }
        let mut last = begin(&engine, Mode::ReadOnly);
        let expected = [(x, 7), (y, 7), (z, u64::from(reader_commits_first))];
        assert_eq!(all(&mut last, table).expect("reads do not fail"), expected);
    }
}

/// Figure 6(b): T6 slips in front of T7, though it reads x after T7 has written it; and the long reader T1 still reads x0 when x3 and x7
/// are there. "Versions are only garbage collected after they are definitely no longer needed by other active transactions."
#[test]
fn figure_6b_a_transaction_slips_in_front() {
    let (engine, table) = with_registers(Options::default());
    let [x, y] = [1, 2];
    let mut load = write(&engine);
    [x, y].into_iter().for_each(|key| put(&mut load, table, key, 0).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    let mut long = begin(&engine, Mode::ReadOnly);
    assert_eq!(get(&mut long, table, y).expect("reads do not fail"), Some(0));
    let mut third = write(&engine);
    put(&mut third, table, x, 3).expect("nobody in the way");
    let third = third.commit().expect("nobody in the way").claimed();
    let mut slow = write(&engine);
    put(&mut slow, table, x, 7).expect("nobody in the way");
    let mut quick = write(&engine);
    assert_eq!(get(&mut quick, table, x).expect("reads do not fail"), Some(3), "x3, though x is written by now");
    put(&mut quick, table, y, 6).expect("nobody in the way");
    let sixth = quick.commit().expect("nobody has committed since it started").claimed();
    let seventh = slow.commit().expect("it has read nothing").claimed();
    assert!(third < sixth && sixth < seventh);
    engine.collect();
    assert_eq!(get(&mut long, table, x).expect("reads do not fail"), Some(0), "x0, behind x3 and x7");
    assert_eq!(get(&mut long, table, y).expect("reads do not fail"), Some(0));
    assert_eq!(engine.stats().versioned, 2, "both rows keep what it reads");
    let first = long.commit().expect("a reader commits").claimed();
    assert!(first < third, "where it started");
    while engine.collect() > 0 {}
    assert_eq!((engine.stats().versioned, engine.stats().garbage), (0, 0), "and no longer");
    let mut last = begin(&engine, Mode::ReadOnly);
    assert_eq!(all(&mut last, table).expect("reads do not fail"), [(x, 7), (y, 6)]);
}

/// Figure 6(c), in one schedule: T4 changes x, inserts o and deletes u. Transactions that have read meanwhile, with a predicate that is
/// true of x0, of x4, of o, or of u, do not commit after it; one whose predicate is true of none of them does.
#[test]
fn figure_6c_a_read_write_a_read_delete_and_a_phantom_conflict() {
    let engine = Hyper::new(Options::default());
    let schema = Schema::table("objects").column("id", ColumnType::Int).column("value", ColumnType::Int).key(["id"]);
    let table = engine.create_table(schema.build().expect("a good schema")).expect("a new table");
    let [x, u, other, o, unseen] = [1, 2, 3, 4, 5];
    let row = |id: i64, value: i64| RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Int(value)]);
    let mut load = write(&engine);
    for (id, value) in [(x, 10), (u, 20), (other, 30)] {
        load.insert(table, &key(id), row(id, value).row()).expect("a new key");
    }
    load.commit().expect("nobody in the way");
    // T4 starts at S1, before the readers, and ends between their reads and their commits.
    let mut fourth = write(&engine);
    let read = |value: i64| {
        let mut open = write(&engine);
        let predicate = Predicate::Compare(1, Comparison::Equal, Value::Int(value));
        let mut found = Vec::new();
        let scan = Scan::table(table).filter(&predicate);
        open.scan(&scan, &mut |item| {
            found.push(item.row.get(0).as_int().expect("an integer"));
            ControlFlow::Continue(())
        })
        .expect("reads do not fail");
        (open, found)
    };
    let readers =
        [(10, vec![x], true), (11, vec![], true), (20, vec![u], true), (40, vec![], true), (30, vec![other], false)];
    let open: Vec<_> = readers
        .into_iter()
        .map(|(value, expected, is_met)| {
            let (open, found) = read(value);
            assert_eq!(found, expected, "value {value}");
            (open, value, is_met)
        })
        .collect();
    assert!(fourth.update(table, &key(x), &Delta::new().set(1, 11_i64)).expect("reads are in nobody's way"));
    fourth.insert(table, &key(o), row(o, 40).row()).expect("a new key");
    assert!(fourth.delete(table, &key(u)).expect("reads are in nobody's way"));
    // What it takes back again is in nobody's way.
    fourth.insert(table, &key(unseen), row(unseen, 30).row()).expect("a new key");
    assert!(fourth.delete(table, &key(unseen)).expect("its own row"));
    let fourth = fourth.commit().expect("it has read nothing").claimed();
    for (at, (mut open, value, is_met)) in open.into_iter().enumerate() {
        let id = 100 + at as i64;
        open.insert(table, &key(id), row(id, 1000 + id).row()).expect("a new key");
        match open.commit() {
            Err(error) => {
                assert!(is_met, "value {value}: {error:?}");
                assert_eq!(rule::<()>(Err(error)), Reason::PredicateMet.rule(), "value {value}");
            }
            Ok(committed) => {
                assert!(!is_met, "value {value}");
                assert!(fourth < committed.claimed());
            }
        }
    }
}

/// Many points of a table become ranges that cover them: a log does not grow without end, and stays right.
#[test]
fn sec_2_3_1_many_points_become_ranges() {
    let (engine, table) = with_registers(Options { predicates: 16, ..Options::default() });
    let mut load = write(&engine);
    (0..1000).for_each(|key| put(&mut load, table, key, 0).expect("nobody in the way"));
    load.commit().expect("nobody in the way");
    for (changed, expected) in [(500, true), (2000, false)] {
        let mut open = write(&engine);
        for key in (0..1000).rev() {
            get(&mut open, table, key).expect("reads do not fail");
        }
        assert!(open.predicate_bytes() < 40_000, "{} bytes", open.predicate_bytes());
        put(&mut open, table, 3000, 1).expect("nobody in the way");
        let mut other = write(&engine);
        put(&mut other, table, changed, 1).expect("nobody in the way");
        other.commit().expect("nobody in the way");
        assert_eq!(open.commit().is_err(), expected, "{changed}");
    }
}

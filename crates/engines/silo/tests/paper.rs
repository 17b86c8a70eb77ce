//! The paper's claims, one thread, transactions by hand: the shortest program that notices each broken promise.
//! `mutants/*.patch` break them. What needs a second thread is in `tests/loom_tid.rs` and in the battery's histories.

mod common;

use common::{options, with_registers};
use conformance::registers::{abort, all, delete, get, insert, put, registers, rule};
use model::{
    Access, Begin, Error, Finish, Interactive, Key, Mode, Program, Reexecutable, Result, RowBuf, Storage, TableId,
    Target, Timestamp,
};
use seriatim_silo::{Options, Silo, Transaction};
use std::sync::Arc;

fn begin(engine: &Silo) -> Transaction<&Silo> {
    engine.begin(Begin::default()).expect("room for one more")
}

fn load(engine: &Silo, table: TableId, rows: &[(u64, u64)]) {
    let mut open = begin(engine);
    rows.iter().for_each(|&(key, value)| put(&mut open, table, key, value).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
}

fn loaded(rows: &[(u64, u64)]) -> (Arc<Silo>, TableId) {
    let (engine, table) = with_registers(options());
    load(&engine, table, rows);
    (engine, table)
}

/// Section 4.4: a transaction whose read has been overwritten aborts, and says by whom.
#[test]
fn a_read_that_has_changed_aborts() {
    let (engine, table) = with_registers(Options { claims: true, ..options() });
    load(&engine, table, &[(1, 1), (2, 2)]);
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room");
        get(&mut open, table, 1).expect("nobody in the way");
        if mode == Mode::ReadWrite {
            put(&mut open, table, 2, 9).expect("nobody in the way");
        }
        let mut writer = begin(&engine);
        put(&mut writer, table, 1, 7).expect("nobody in the way");
        let writer = writer.commit().expect("nobody in the way").claimed();
        let abort = abort(open.commit());
        assert_eq!((abort.rule, abort.other), ("read-changed", Some(Timestamp(writer.0))));
        assert_eq!(abort.table.expect("named").name(), "registers");
        assert_eq!(abort.target, Target::Key(Key::from_u64(1)));
    }
    assert_eq!(engine.stats().aborted, [2, 0, 0, 0]);
}

/// Section 4.4: what a transaction reads and writes itself is locked by itself when it validates.
#[test]
fn a_transaction_is_not_in_its_own_way() {
    let (engine, table) = loaded(&[(1, 1), (2, 2), (3, 3)]);
    let mut open = begin(&engine);
    for key in [3, 1, 2] {
        let value = get(&mut open, table, key).expect("nobody in the way").expect("it is there");
        put(&mut open, table, key, value + 10).expect("nobody in the way");
    }
    open.commit().expect("nobody in the way");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 11), (2, 12), (3, 13)]);
}

/// Section 4.4, S2: locks are taken in one order, whatever the order of the writes.
#[test]
fn records_are_locked_in_one_order() {
    let keys: Vec<u64> = (0..12).collect();
    let (engine, table) = loaded(&keys.iter().map(|&key| (key, 0)).collect::<Vec<_>>());
    for value in 1..3 {
        let mut open = begin(&engine);
        let order: Vec<u64> = if value == 1 { keys.clone() } else { keys.iter().rev().copied().collect() };
        order.iter().for_each(|&key| put(&mut open, table, key, value).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
    }
    let expected: Vec<_> = keys.iter().map(|&key| (key, 2)).collect();
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), expected);
}

/// Section 4.2, S4: a TID is above those of all records that its transaction has read, whoever wrote them.
#[test]
fn a_tid_is_above_all_that_was_read() {
    let (engine, table) = loaded(&[(1, 1), (2, 2)]);
    let mut reader = begin(&engine); // Has a worker of its own.
    for value in 0..5 {
        load(&engine, table, &[(1, value)]);
    }
    get(&mut reader, table, 1).expect("nobody in the way");
    put(&mut reader, table, 2, 5).expect("nobody in the way");
    reader.commit().expect("nobody in the way");
}

/// Section 4.6: a key that comes into a range that was scanned, or where one was found absent, aborts.
#[test]
fn a_phantom_aborts() {
    let (engine, ordered) = loaded(&[(1, 1), (9, 9)]);
    let hash = engine.create_table(registers("hash", Storage::Hash)).expect("a new table");
    type Look<'l> = &'l dyn Fn(&mut Transaction<&Silo>) -> Result<()>;
    let looks: [Look<'_>; 3] =
        [&|open| all(open, ordered).map(drop), &|open| get(open, ordered, 5).map(drop), &|open| {
            get(open, hash, 5).map(drop)
        }];
    for (look, table) in looks.into_iter().zip([ordered, ordered, hash]) {
        let mut open = begin(&engine);
        look(&mut open).expect("nobody in the way");
        put(&mut open, ordered, 1, 2).expect("nobody in the way");
        let mut other = begin(&engine);
        insert(&mut other, table, 5, 5).expect("nobody in the way");
        other.commit().expect("nobody in the way");
        assert_eq!(rule(open.commit()), "leaf-changed");
        let mut clean = begin(&engine);
        assert!(delete(&mut clean, table, 5).expect("nobody in the way"));
        clean.commit().expect("nobody in the way");
        engine.collect();
    }
}

/// Section 4.5: an absent record that comes back to life is a phantom too, though no leaf changes.
#[test]
fn a_deleted_key_that_comes_back_aborts() {
    let (engine, table) = loaded(&[(1, 1), (5, 5)]);
    let mut open = begin(&engine);
    assert!(delete(&mut open, table, 5).expect("nobody in the way"));
    open.commit().expect("nobody in the way");
    for look in [true, false] {
        let mut open = begin(&engine);
        match look {
            true => assert_eq!(get(&mut open, table, 5).expect("nobody in the way"), None),
            false => assert_eq!(all(&mut open, table).expect("nobody in the way").len(), 1),
        }
        load(&engine, table, &[(5, 6)]);
        assert_eq!(rule(open.commit()), "read-changed");
        let mut clean = begin(&engine);
        assert!(delete(&mut clean, table, 5).expect("nobody in the way"));
        clean.commit().expect("nobody in the way");
    }
}

/// Section 4.6: a transaction follows what its own inserts change in leaves, over splits of every level.
#[test]
fn own_inserts_are_followed_over_splits() {
    let (engine, table) = with_registers(Options { has_small_nodes: true, ..options() });
    let hash = engine.create_table(registers("hash", Storage::Hash)).expect("a new table");
    load(&engine, table, &[(100, 1), (300, 3)]);
    let mut open = begin(&engine);
    assert_eq!(all(&mut open, table).expect("nobody in the way").len(), 2);
    for key in 0..400 {
        assert_eq!(get(&mut open, hash, key).expect("nobody in the way"), None);
        assert_eq!(get(&mut open, table, 1000 + key).expect("nobody in the way"), None);
    }
    for key in (0..400).rev() {
        put(&mut open, table, key, key).expect("nobody in the way");
        insert(&mut open, hash, key, key).expect("nobody in the way");
    }
    open.commit().expect("nobody in the way");
    let mut reader = begin(&engine);
    assert_eq!(all(&mut reader, table).expect("nobody in the way").len(), 400);
    assert_eq!(get(&mut reader, hash, 399).expect("nobody in the way"), Some(399));
}

/// The same where another transaction has put a key into one of the leaves: then the phantom is noticed.
#[test]
fn a_phantom_beside_own_inserts_aborts() {
    for phantom in [0, 3, 55, 1000] {
        let (engine, table) = with_registers(Options { has_small_nodes: true, ..options() });
        load(&engine, table, &[(10, 1), (20, 1), (30, 1), (40, 1), (50, 1), (60, 1)]);
        let mut open = begin(&engine);
        assert_eq!(all(&mut open, table).expect("nobody in the way").len(), 6);
        (11..20).chain(51..55).for_each(|key| put(&mut open, table, key, 1).expect("nobody in the way"));
        load(&engine, table, &[(phantom, 7)]);
        assert_eq!(rule(open.commit()), "leaf-changed", "a key {phantom}");
        engine.collect();
        assert_eq!(engine.stats().records, 7, "what was made for the aborted transaction is taken out");
    }
}

/// Reclamation is nobody's conflict: absent records leave the index under those that have found them absent.
#[test]
fn reclamation_aborts_nobody() {
    let (engine, table) = loaded(&[(1, 1), (5, 5), (6, 6)]);
    let mut cleaner = begin(&engine);
    for key in [5, 6] {
        assert!(delete(&mut cleaner, table, key).expect("nobody in the way"));
    }
    cleaner.commit().expect("nobody in the way");
    let mut open = begin(&engine); // Works with what the other has left.
    assert_eq!(get(&mut open, table, 5).expect("nobody in the way"), None);
    assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 1)]);
    put(&mut open, table, 5, 7).expect("nobody in the way");
    engine.collect();
    assert_eq!(engine.stats().records, 1, "they are out");
    assert_eq!(get(&mut open, table, 6).expect("nobody in the way"), None);
    open.commit().expect("nobody in the way");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1), (5, 7)]);
}

/// And a key that comes back in another record, after the absent one has left the index, is noticed.
#[test]
fn a_key_that_comes_back_in_another_record_aborts() {
    let (engine, table) = loaded(&[(1, 1), (5, 5)]);
    let mut cleaner = begin(&engine);
    assert!(delete(&mut cleaner, table, 5).expect("nobody in the way"));
    cleaner.commit().expect("nobody in the way");
    let mut open = begin(&engine);
    assert_eq!(get(&mut open, table, 5).expect("nobody in the way"), None);
    engine.collect();
    load(&engine, table, &[(5, 6)]);
    assert_eq!(rule(open.commit()), "leaf-changed");
}

/// Two blind writes of one absent key: the second finds the record of the first, and wins.
#[test]
fn blind_writes_do_not_conflict() {
    let (engine, table) = loaded(&[]);
    let (mut one, mut two) = (begin(&engine), begin(&engine));
    put(&mut one, table, 1, 1).expect("nobody in the way");
    put(&mut two, table, 1, 2).expect("nobody in the way");
    one.commit().expect("nobody in the way");
    two.commit().expect("it has read nothing");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 2)]);
}

/// Fails if two registers differ, which no serial execution shows; another writer changes both between its two reads,
/// once.
struct Compare<'e>(&'e Silo, TableId, u32);

impl Program for Compare<'_> {
    type Output = ();
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<()> {
        self.2 += 1;
        let one = get(&mut access, self.1, 1)?;
        if self.2 == 1 {
            load(self.0, self.1, &[(1, 7), (2, 7)]);
        }
        let two = get(&mut access, self.1, 2)?;
        if one == two { Ok(()) } else { access.insert(self.1, b"no key", RowBuf::new().row()) }
    }
}

/// The error of a body that ran on two states is not its caller's: it runs again.
#[test]
fn a_doomed_body_runs_again() {
    let (engine, table) = loaded(&[(1, 1), (2, 1)]);
    let mut program = Compare(&engine, table, 0);
    engine.execute(&mut program, Begin::default(), &mut |_, _: &Error| true).expect("the registers are equal");
    assert_eq!(program.2, 2);
}

/// So is a duplicate key that was found on two states.
#[test]
fn a_duplicate_is_true_of_one_moment() {
    let (engine, table) = loaded(&[(1, 1), (2, 1)]);
    let mut open = begin(&engine);
    get(&mut open, table, 1).expect("nobody in the way");
    load(&engine, table, &[(1, 2)]);
    assert_eq!(rule(insert(&mut open, table, 2, 2)), "read-changed");
}

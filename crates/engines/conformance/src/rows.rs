//! Single transactions: they read their own writes, keys and rows of every length are read back unchanged, nothing outlives an
//! abort, and a transaction may end on another thread.

use crate::fixture::{Knobs, Open, Sessions, begin, with_registers};
use crate::registers::{all, delete, get, get_for_update, insert, put, range, state};
use crate::ways::ways;
use model::{Access, Columns, Finish, Item, Mode, RowBuf, Scan, Schema, Storage, TableId};
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

const WRITERS: [Mode; 2] = [Mode::ReadWrite, Mode::OwnAtStatement];

/// A transaction reads what it has written, by key, for update and in ranges, and nobody else does before it commits.
pub fn a_transaction_reads_its_own_writes<F: Sessions>() {
    for mode in WRITERS {
        let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 10), (2, 20), (3, 30)]);
        let mut open = begin::<F>(&engine, mode);
        put(&mut open, table, 1, 11).expect("nobody in the way");
        assert!(delete(&mut open, table, 2).expect("nobody in the way"));
        insert(&mut open, table, 4, 40).expect("nobody in the way");
        assert_eq!(get(&mut open, table, 1).expect("nobody in the way"), Some(11));
        assert_eq!(get(&mut open, table, 2).expect("nobody in the way"), None);
        assert_eq!(get_for_update(&mut open, table, 4).expect("nobody in the way"), Some(40));
        assert!(!delete(&mut open, table, 2).expect("nobody in the way"), "it is deleted already");
        assert_eq!(all(&mut open, table).expect("nobody in the way"), [(1, 11), (3, 30), (4, 40)]);
        let upper = range(&mut open, table, Bound::Excluded(1), Bound::Included(4)).expect("nobody in the way");
        assert_eq!(upper, [(3, 30), (4, 40)]);
        insert(&mut open, table, 2, 22).expect("its key is free again");
        put(&mut open, table, 4, 44).expect("nobody in the way");
        open.commit().expect("nobody in the way");
        assert_eq!(state::<F>(&engine, table), [(1, 11), (2, 22), (3, 30), (4, 44)]);
    }
}

/// Writes of an aborted or dropped transaction are gone.
pub fn nothing_outlives_an_abort<F: Sessions>() {
    for mode in WRITERS {
        let endings: [fn(Open<F>); 2] = [|open| open.abort(), drop];
        for ending in endings {
            let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1), (2, 2)]);
            let mut open = begin::<F>(&engine, mode);
            put(&mut open, table, 1, 3).expect("nobody in the way");
            insert(&mut open, table, 9, 9).expect("nobody in the way");
            assert!(delete(&mut open, table, 2).expect("nobody in the way"));
            ending(open);
            assert_eq!(state::<F>(&engine, table), [(1, 1), (2, 2)]);
            F::collect(&engine);
            F::assert_idle(&engine, 2);
        }
    }
}

/// The empty key, the empty row, keys that are prefixes of others and rows of a megabyte come back as they were.
pub fn keys_and_rows_of_every_length_come_back<F: Sessions>() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let engine = F::open(&Knobs::impatient());
        let schema = Schema::bytes("bytes").storage(storage).build().expect("a good schema");
        let table = F::create_table(&engine, schema).expect("a new table");
        let long = vec![7; 1 << 20];
        let rows: [(&[u8], &[u8]); 7] = [
            (b"", b"the empty key"),
            (b"\0", b""),
            (b"\0\0", b"zeros"),
            (b"a", b"short"),
            (b"a\0", b"a prefix and a zero"),
            (b"a\0\xff", &long),
            (&[0xff; 500], b"a long key"),
        ];
        let mut open = begin::<F>(&engine, Mode::ReadWrite);
        for (key, row) in rows {
            open.insert(table, key, RowBuf::from_bytes(row).row()).expect("nobody in the way");
        }
        check_rows(&mut open, table, storage, &rows);
        open.commit().expect("nobody in the way");
        let mut reader = begin::<F>(&engine, Mode::ReadOnly);
        check_rows(&mut reader, table, storage, &rows);
        reader.commit().expect("nobody in the way");
        let mut last = begin::<F>(&engine, Mode::ReadWrite);
        for (key, _) in rows {
            assert!(last.delete(table, key).expect("nobody in the way"));
        }
        last.commit().expect("nobody in the way");
        F::collect(&engine);
        F::assert_idle(&engine, 0);
    }
}

fn check_rows(access: &mut impl Access, table: TableId, storage: Storage, rows: &[(&[u8], &[u8])]) {
    for (key, row) in rows {
        let mut found = RowBuf::new();
        assert!(access.read(table, key, Columns::All, &mut found).expect("nobody in the way"), "{key:?}");
        assert!(found.bytes() == *row, "the row of {key:?}");
    }
    if storage == Storage::Ordered {
        let mut seen = Vec::new();
        let mut note = |item: Item<'_>| {
            seen.push(item.key.to_vec());
            ControlFlow::Continue(())
        };
        access.scan(&Scan::table(table), &mut note).expect("nobody in the way");
        assert!(seen.iter().map(Vec::as_slice).eq(rows.iter().map(|(key, _)| *key)), "{} rows in order", seen.len());
    }
}

/// An owned transaction outlives the call that began it, and ends on another thread.
pub fn a_transaction_may_end_on_another_thread<F: Sessions>() {
    for mode in WRITERS {
        let (engine, table) = with_registers::<F>(&Knobs::patient(), &[(1, 1)]);
        let mut open = begin::<F>(&engine, mode);
        put(&mut open, table, 1, 2).expect("nobody in the way");
        let other = thread::spawn(move || {
            put(&mut open, table, 2, 2).expect("nobody in the way");
            open.commit().map(drop)
        });
        other.join().expect("no panic").expect("nobody in the way");
        assert_eq!(state::<F>(&engine, table), [(1, 2), (2, 2)]);
    }
}

/// A visitor that panics ends its statement, not the engine; a thread that panics aborts its transaction.
pub fn a_panic_of_the_caller_aborts_the_transaction<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[(1, 1), (2, 2)]);
    let mut open = begin::<F>(&engine, Mode::OwnAtStatement);
    put(&mut open, table, 1, 3).expect("nobody in the way");
    let visit = AssertUnwindSafe(|| open.scan(&Scan::table(table), &mut |_| panic!("the visitor's own")));
    assert!(catch_unwind(visit).is_err());
    assert_eq!(get(&mut open, table, 1).expect("the statement has only read"), Some(3));
    let body = AssertUnwindSafe(move || -> () {
        let _open = open;
        panic!("the caller's own")
    });
    assert!(catch_unwind(body).is_err());
    assert_eq!(state::<F>(&engine, table), [(1, 1), (2, 2)]);
    F::collect(&engine);
    F::assert_idle(&engine, 2);
}

/// A commit's decision is awaited alike by a caller that blocks, one that is called back, and one that polls.
pub fn a_commit_is_awaited_in_three_ways<F: Sessions>() {
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &[]);
    for (number, (way, take)) in (0..).zip(ways()) {
        let mut open = begin::<F>(&engine, Mode::ReadWrite);
        put(&mut open, table, number, 7).expect("nobody in the way");
        take(open.begin_commit()).unwrap_or_else(|error| panic!("{way}: {error}"));
        assert_eq!(state::<F>(&engine, table).last(), Some(&(number, 7)), "{way}");
    }
}

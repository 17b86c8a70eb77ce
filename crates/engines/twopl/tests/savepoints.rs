//! Savepoints over in-place changes: the undo log takes back exactly what came after them.

use model::{Access, Begin, Columns, Finish, Interactive, RowBuf, RowRef, Savepoints, Schema, TableId};
use seriatim_twopl::{Options, TwoPhaseLocking};
use std::sync::Arc;

fn read(access: &mut impl Access, table: TableId, key: &[u8]) -> Option<Vec<u8>> {
    let mut row = RowBuf::new();
    access.read(table, key, Columns::All, &mut row).unwrap().then(|| row.bytes().to_vec())
}

fn engine() -> (Arc<TwoPhaseLocking>, TableId) {
    let engine = Arc::new(TwoPhaseLocking::new(Options::default()));
    let table = engine.create_table(Schema::bytes("t").build().unwrap()).unwrap();
    (engine, table)
}

#[test]
fn rolling_back_restores_what_stood_at_the_savepoint() {
    let (engine, table) = engine();
    let mut transaction = engine.begin_owned(Begin::default()).unwrap();
    transaction.put(table, b"a", RowRef::new(b"1")).unwrap();
    let first = transaction.savepoint().unwrap();
    transaction.put(table, b"a", RowRef::new(b"2")).unwrap();
    transaction.put(table, b"b", RowRef::new(b"2")).unwrap();
    let second = transaction.savepoint().unwrap();
    transaction.delete(table, b"a").unwrap();
    transaction.rollback_to(&second).unwrap();
    assert_eq!(read(&mut transaction, table, b"a").unwrap(), b"2");
    transaction.rollback_to(&first).unwrap();
    assert_eq!(
        (read(&mut transaction, table, b"a").unwrap(), read(&mut transaction, table, b"b")),
        (b"1".into(), None)
    );
    transaction.rollback_to(&first).unwrap();
    assert!(transaction.rollback_to(&second).is_err(), "a later one is gone");
    transaction.put(table, b"b", RowRef::new(b"3")).unwrap();
    transaction.release(first);
    transaction.commit().unwrap();
    let mut after = engine.begin(Begin::default()).unwrap();
    assert_eq!(
        (read(&mut after, table, b"a").unwrap(), read(&mut after, table, b"b").unwrap()),
        (b"1".into(), b"3".into())
    );
}

#[test]
fn an_abort_after_savepoints_restores_the_beginning() {
    let (engine, table) = engine();
    let mut setup = engine.begin(Begin::default()).unwrap();
    setup.put(table, b"a", RowRef::new(b"0")).unwrap();
    setup.commit().unwrap();
    let mut transaction = engine.begin_owned(Begin::default()).unwrap();
    transaction.put(table, b"a", RowRef::new(b"1")).unwrap();
    let savepoint = transaction.savepoint().unwrap();
    for value in [b"2", b"3"] {
        transaction.put(table, b"a", RowRef::new(value)).unwrap();
    }
    transaction.rollback_to(&savepoint).unwrap();
    transaction.put(table, b"a", RowRef::new(b"4")).unwrap();
    transaction.abort();
    assert_eq!(read(&mut engine.begin(Begin::default()).unwrap(), table, b"a").unwrap(), b"0");
}

//! Tables that are created while transactions run.

use model::{Access, Begin, Columns, Finish, Interactive, Mode, RowBuf, RowRef, Schema, Tables};
use seriatim_mvto::{Mvto, Options};
use std::sync::Arc;

fn engine() -> Arc<Mvto> {
    Arc::new(Mvto::in_memory(Options::default()).unwrap())
}

fn read(access: &mut impl Access, table: model::TableId, key: &[u8]) -> Option<Vec<u8>> {
    let mut row = RowBuf::new();
    access.read(table, key, Columns::All, &mut row).unwrap().then(|| row.bytes().to_vec())
}

#[test]
fn an_older_transaction_uses_an_unlisted_table_and_is_refused_a_listed_one() {
    let engine = engine();
    let before = engine.create_table(Schema::bytes("before").build().unwrap()).unwrap();
    let mut old = engine.begin_owned(Begin { mode: Mode::OwnAtStatement, ..Begin::default() }).unwrap();
    assert_eq!(read(&mut old, before, b"k"), None, "it has begun");
    let listed = engine.create_table(Schema::bytes("listed").build().unwrap()).unwrap();
    let unlisted = engine.create_table_unlisted(Schema::bytes("unlisted").build().unwrap()).unwrap();
    old.put(unlisted, b"k", RowRef::new(b"1")).unwrap();
    assert_eq!(read(&mut old, unlisted, b"k").unwrap(), b"1");
    old.put(before, b"k", RowRef::new(b"1")).unwrap();
    let mut row = RowBuf::new();
    let refused = old.read(listed, b"k", Columns::All, &mut row).unwrap_err();
    assert_eq!(refused.abort().unwrap().rule, "older-than-schema");

    let mut old = engine.begin_owned(Begin::default()).unwrap();
    old.put(before, b"k", RowRef::new(b"2")).unwrap();
    let another = engine.create_table_unlisted(Schema::bytes("another").build().unwrap()).unwrap();
    old.insert(another, b"k", RowRef::new(b"2")).unwrap();
    old.commit().unwrap();
    let mut new = engine.begin(Begin::default()).unwrap();
    assert_eq!((read(&mut new, before, b"k"), read(&mut new, another, b"k")), (Some(b"2".into()), Some(b"2".into())));
}

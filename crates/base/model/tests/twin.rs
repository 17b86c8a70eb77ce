//! The twin is the reference for engines, so it is compared with plain maps here; and the recorder with the twin.

use seriatim_model::history::{Operation, Recorder};
use seriatim_model::twin::Twin;
use seriatim_model::{
    Access, ColumnType, Columns, Delta, Error, Item, Key, Predicate, RowBuf, Scan, ScanEnd, Schema, Storage, TableId,
    ValueRef,
};
use std::ops::{Bound, ControlFlow};

const T: TableId = TableId(0);

fn people() -> Twin {
    let schema =
        Schema::table("people").column("id", ColumnType::Int).nullable("name", ColumnType::Text).key(["id"]).build();
    let mut twin = Twin::new();
    assert_eq!(twin.create_table(schema.expect("a good schema")), T);
    twin
}

fn key(id: i64) -> Key {
    Key::new().push_i64(id).clone()
}

fn person(id: i64, name: Option<&str>) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(id), name.map_or(ValueRef::Null, ValueRef::Text)])
}

fn insert(twin: &mut impl Access, id: i64, name: Option<&str>) -> Result<(), Error> {
    twin.insert(T, &key(id), person(id, name).row())
}

fn ids(twin: &mut impl Access, scan: &Scan<'_>, most: usize) -> (Vec<i64>, ScanEnd) {
    let mut seen = Vec::new();
    let end = twin.scan(scan, &mut |item: Item<'_>| {
        seen.push(item.row.get(0).as_int().expect("an id"));
        if seen.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    (seen, end.expect("a good scan"))
}

#[test]
fn it_keeps_what_is_committed_and_forgets_the_rest() {
    let mut twin = people();
    insert(&mut twin, 1, Some("ann")).unwrap();
    twin.commit();
    insert(&mut twin, 2, None).unwrap();
    assert!(twin.update(T, &key(1), &Delta::new().set(1, "bob")).unwrap());
    assert!(twin.delete(T, &key(1)).unwrap());
    twin.abort();
    assert_eq!(twin.rows(T).map(|(key, _)| key.clone()).collect::<Vec<_>>(), [key(1)]);
    let mut row = RowBuf::new();
    assert!(twin.read(T, &key(1), Columns::Some(&[1]), &mut row).unwrap());
    assert_eq!(row.get(0), ValueRef::Text("ann"));
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut twin = people();
    let mut row = person(9, None);
    assert!(!twin.read(T, &key(1), Columns::All, &mut row).unwrap());
    assert!(row.bytes().is_empty(), "nothing of what was in the buffer");
    assert!(!twin.update(T, &key(1), &Delta::new().set(1, "x")).unwrap());
    assert!(!twin.delete(T, &key(1)).unwrap());
    assert!(matches!(twin.read(TableId(5), b"", Columns::All, &mut row), Err(Error::Invalid(_))));
}

#[test]
fn a_key_is_inserted_once() {
    let mut twin = people();
    insert(&mut twin, 1, Some("ann")).unwrap();
    let Err(Error::Duplicate(duplicate)) = insert(&mut twin, 1, Some("cy")) else { panic!("the key is taken") };
    assert_eq!((duplicate.table.name(), &duplicate.key), ("people", &key(1)));
    twin.put(T, &key(1), person(1, Some("cy")).row()).expect("put asks for nothing");
    assert_eq!(twin.rows(T).count(), 1);
}

#[test]
fn scans_keep_to_their_bounds_order_and_filter() {
    let mut twin = people();
    for (id, name) in [(1, "d"), (2, "c"), (3, "b"), (4, "a")] {
        insert(&mut twin, id, Some(name)).unwrap();
    }
    let all = usize::MAX;
    assert_eq!(ids(&mut twin, &Scan::table(T), all), (vec![1, 2, 3, 4], ScanEnd::Finished));
    assert_eq!(ids(&mut twin, &Scan::table(T).backward(), all).0, [4, 3, 2, 1]);
    let middle = Scan::table(T).between(Bound::Excluded(key(1)), Bound::Included(key(3)));
    assert_eq!(ids(&mut twin, &middle, all).0, [2, 3]);
    assert_eq!(ids(&mut twin, &Scan::table(T).between(Bound::Included(key(3)), Bound::Included(key(1))), all).0, []);
    let (seen, end) = ids(&mut twin, &middle.clone().backward(), 1);
    assert_eq!((seen, &end), (vec![3], &ScanEnd::Stopped(key(3))));
    assert_eq!(ids(&mut twin, &middle.backward().resume(key(3)), all).0, [2]);
    let filter = Predicate::StartsWith(1, "b".into());
    assert_eq!(ids(&mut twin, &Scan::table(T).filter(&filter), all).0, [3]);
}

#[test]
fn scans_that_make_no_sense_are_refused() {
    let mut twin = people();
    let hash = twin.create_table(Schema::bytes("hash").storage(Storage::Hash).build().unwrap());
    let mut refused = |scan: &Scan<'_>| twin.scan(scan, &mut |_| ControlFlow::Continue(())).unwrap_err().sqlstate();
    assert_eq!(refused(&Scan::table(hash)), "0A000");
    assert_eq!(refused(&Scan::table(T).columns(Columns::Some(&[2]))), "22000");
    assert_eq!(refused(&Scan::table(T).filter(&Predicate::IsNull(2))), "22000");
    assert_eq!(refused(&Scan::table(TableId(7))), "42P01");
}

/// The recorder passes everything on, and writes down what happened as the judges need it.
#[test]
fn the_recorder_writes_down_what_happened() {
    let bytes = |row: &RowBuf| row.bytes().to_vec();
    let mut it = Recorder::new(people());
    insert(&mut it, 1, Some("ann")).unwrap();
    assert!(insert(&mut it, 1, None).is_err());
    it.put(T, &key(2), person(2, None).row()).unwrap();
    let mut row = RowBuf::new();
    assert!(it.read(T, &key(1), Columns::Some(&[0]), &mut row).unwrap());
    assert_eq!(row.row().width(), 1, "the caller sees its columns");
    assert!(it.update(T, &key(2), &Delta::new().set(1, "bob")).unwrap());
    assert!(!it.update(T, &key(3), &Delta::new()).unwrap());
    assert_eq!(ids(&mut it, &Scan::table(T), 1).0, [1]);
    assert_eq!(ids(&mut it, &Scan::table(T).backward().columns(Columns::Some(&[0])), usize::MAX).0, [2, 1]);
    assert!(it.delete(T, &key(1)).unwrap());
    assert!(!it.delete(T, &key(1)).unwrap());
    let (ann, nobody, bob) = (bytes(&person(1, Some("ann"))), bytes(&person(2, None)), bytes(&person(2, Some("bob"))));
    let (twin, operations) = it.into_parts();
    assert_eq!(twin.rows(T).count(), 1);
    let (read, open) = (|id, row| Operation::Read(T, key(id), row), Bound::Unbounded);
    assert_eq!(
        operations,
        [
            read(1, None),
            Operation::Write(T, key(1), ann.clone()),
            Operation::Write(T, key(2), nobody),
            read(1, Some(ann.clone())),
            Operation::Write(T, key(2), bob.clone()),
            read(3, None),
            Operation::Scan(T, open.clone(), Bound::Included(key(1)), vec![(key(1), ann.clone())]),
            Operation::Scan(T, open.clone(), open, vec![(key(1), ann.clone()), (key(2), bob)]),
            read(1, Some(ann)),
            Operation::Delete(T, key(1)),
            read(1, None),
        ]
    );
}

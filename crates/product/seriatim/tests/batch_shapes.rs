//! What a program may change about its tables between two runs: further fields, dropped tables, storage. What it may not is refused by
//! name, and nothing happens.

mod batch_common;

use seriatim::{Database, Error, Invalid, LimitKind, Record, Storage, batch};
use testing::Directory;

mod narrow {
    seriatim::record! {
        #[derive(Clone, Debug, PartialEq)]
        pub struct Item { pub id: i64, pub name: String, }
        table "items";
        key (id);
        unique by_name (name);
    }
}

mod wide {
    seriatim::record! {
        #[derive(Clone, Debug, PartialEq)]
        pub struct Item { pub id: i64, pub name: String, pub stock: i64 = 7, pub note: Option<String>, }
        table "items";
        key (id);
        unique by_name (name);
    }
}

mod widest {
    seriatim::record! {
        #[derive(Clone, Debug, PartialEq)]
        pub struct Item { pub id: i64, pub name: String, pub stock: i64 = 7, pub note: Option<String>, pub more: Option<i64>, }
        table "items";
        key (id);
        unique by_name (name);
    }
}

const ROWS: i64 = 3_000;

/// A program with one table, and a procedure that stores a record.
struct Program<R: Record> {
    db: batch::Database,
    table: batch::Table<R>,
    put: batch::Procedure<R, ()>,
}

fn open<R: Record + batch::Arguments>(dir: &Directory) -> Result<Program<R>, Error> {
    let mut builder = Database::builder().engine(batch::Bohm::default().executors(2));
    let table = builder.table::<R>()?;
    let put = builder.procedure("put", 1).body(move |txn, item: &R| table.put(txn, item))?;
    Ok(Program { db: builder.open(dir.path())?, table, put })
}

fn filled(dir: &Directory) -> Program<narrow::Item> {
    let program = open::<narrow::Item>(dir).unwrap();
    let items = (0..ROWS).map(|id| narrow::Item { id, name: format!("item {id}") });
    program.db.submit_all(&program.put, items).into_iter().for_each(|ticket| ticket.wait().unwrap());
    program
}

fn shape(refused: Result<impl Sized, Error>) -> String {
    match refused.err() {
        Some(Error::Invalid(Invalid::Shape { what, .. })) => what,
        other => panic!("{other:?}"),
    }
}

/// Rows that were there get the defaults, entries of indexes lead to them, and a second start finds the table as it is.
#[test]
fn fields_may_be_added() {
    let dir = Directory::new("batch-wider");
    let program = filled(&dir);
    program.db.checkpoint().unwrap();
    program.db.close().unwrap();
    let old = |id: i64| wide::Item { id, name: format!("item {id}"), stock: 7, note: None };
    let program = open::<wide::Item>(&dir).unwrap();
    let stored: Result<Vec<wide::Item>, Error> = program.db.read(|at| program.table.iter(at).collect());
    assert_eq!(stored.unwrap(), (0..ROWS).map(old).collect::<Vec<_>>());
    let changed = wide::Item { note: Some("new".into()), stock: 1, ..old(5) };
    program.db.call(&program.put, changed.clone()).unwrap();
    let twice = wide::Item { id: ROWS, ..old(6) };
    let refused = program.db.call(&program.put, twice).unwrap_err();
    assert!(matches!(refused, Error::Duplicate(_)), "the index is the same: {refused}");
    let sql = program.db.read_sql("SELECT count(*)::bigint, sum(stock)::bigint FROM items").unwrap();
    assert_eq!(sql.rows[0].get::<i64>(0).unwrap(), ROWS);
    program.db.close().unwrap();

    let program = open::<wide::Item>(&dir).unwrap();
    let found = program.db.read(|at| program.table.by(wide::Item::by_name()).get(at, "item 5")).unwrap();
    assert_eq!(found, Some(changed.clone()));
    program.db.checkpoint().unwrap();
    program.db.close().unwrap();
    let program = open::<widest::Item>(&dir).unwrap();
    let found = program.db.read(|at| program.table.get(at, 5)).unwrap().unwrap();
    assert_eq!((found.stock, found.note, found.more), (1, changed.note, None));
    assert!(shape(reopened::<wide::Item>(program, &dir)).contains("more bigint or NULL"));
}

fn reopened<R: Record + batch::Arguments>(before: Program<impl Record>, dir: &Directory) -> Result<Program<R>, Error> {
    before.db.close().unwrap();
    open(dir)
}

/// Calls that were made without the fields would be executed with them: the program as it was has to write a checkpoint.
#[test]
fn fields_are_not_added_before_logged_calls_are_covered() {
    type Named<R> = fn(i64, &str) -> R;
    fn open<R: Record + Send>(dir: &Directory, item: Named<R>) -> Result<(batch::Database, i64), Error> {
        let mut builder = Database::builder().engine(batch::Bohm::default());
        let table = builder.table::<R>()?;
        let put = builder
            .procedure("put by name", 1)
            .body(move |txn, (id, name): &(i64, String)| table.put(txn, &item(*id, name)))?;
        let db = builder.open(dir.path())?;
        if db.stats().records == 0 {
            db.call(&put, (1, "one".into()))?;
        }
        let count = db.read_strict(|at| Ok(table.iter(at).count()))? as i64;
        Ok((db, count))
    }
    let narrow: Named<narrow::Item> = |id, name| narrow::Item { id, name: name.into() };
    let wide: Named<wide::Item> = |id, name| wide::Item { id, name: name.into(), stock: 7, note: None };
    let dir = Directory::new("batch-wider-log");
    open(&dir, narrow).unwrap().0.close().unwrap();
    let refused = shape(open(&dir, wide));
    assert!(refused.contains("behind the last checkpoint"), "{refused}");
    let (db, count) = open(&dir, narrow).unwrap();
    assert_eq!(count, 1, "nothing has happened");
    db.checkpoint().unwrap();
    db.close().unwrap();
    assert_eq!(open(&dir, wide).unwrap().1, 1);
}

/// Where there is no memory for both, the table stays, and is widened when there is.
#[test]
fn an_interrupted_widening_goes_on() {
    let dir = Directory::new("batch-wider-again");
    let program = filled(&dir);
    program.db.checkpoint().unwrap();
    let memory = program.db.stats().memory_bytes as usize;
    program.db.close().unwrap();
    let open_with = |memory: usize| {
        let mut builder = Database::builder().memory(memory).engine(batch::Bohm::default());
        let table = builder.table::<wide::Item>()?;
        builder.open(dir.path()).map(|db| (db, table))
    };
    let refused = open_with(memory * 5 / 4).map(|_| ()).unwrap_err();
    assert!(matches!(&refused, Error::Limit(limit) if limit.kind == LimitKind::Memory), "{refused}");
    let (db, table) = open_with(memory * 10).unwrap();
    assert_eq!(db.read(|at| Ok(table.iter(at).count())).unwrap() as i64, ROWS);
    db.close().unwrap();
    assert!(open::<wide::Item>(&dir).is_ok());
}

/// A dropped table is gone with its indexes; another one may take its name, in the next run.
#[test]
fn tables_are_dropped_when_the_program_says_so() {
    let dir = Directory::new("batch-drop");
    filled(&dir).db.close().unwrap();
    let dropping = || {
        let mut builder = Database::builder().engine(batch::Bohm::default());
        builder.drop_table("items")?;
        builder.drop_table("none").map(|()| builder)
    };
    let refused = dropping().unwrap().open(dir.path()).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Invalid(Invalid::LoggedCall { .. })), "its calls are logged: {refused}");
    let program = open::<narrow::Item>(&dir).unwrap();
    program.db.checkpoint().unwrap();
    program.db.close().unwrap();
    let mut both = dropping().unwrap();
    assert!(matches!(both.table::<wide::Item>(), Err(Error::Invalid(Invalid::TableExists { .. }))));
    for _ in 0..2 {
        let db = dropping().unwrap().open(dir.path()).unwrap();
        // Planners take a dropped table's records away when they plan: each call to settle gives them a batch.
        for _ in 0..100 {
            if db.stats().records > 0 {
                db.settle().unwrap();
            }
        }
        assert_eq!(db.stats().records, 0, "with the entries");
        db.close().unwrap();
    }
    let program = open::<widest::Item>(&dir).unwrap();
    assert_eq!(program.db.read(|at| Ok(program.table.iter(at).count())).unwrap(), 0);
    let new = widest::Item { id: 1, name: "new".into(), stock: 0, note: None, more: Some(1) };
    program.db.call(&program.put, new.clone()).unwrap();
    program.db.close().unwrap();
    let program = open::<widest::Item>(&dir).unwrap();
    assert_eq!(program.db.read(|at| program.table.get(at, 1)).unwrap(), Some(new));
}

/// Tables by hash, and tables of bytes, are as others, but for ranges; and what a table was made as it stays.
#[test]
fn storage_and_keys_are_part_of_the_shape() {
    let dir = Directory::new("batch-hash");
    type Open = Result<(batch::Database, batch::Table<narrow::Item>, batch::BytesTable<u64>), Error>;
    let open = |rows, bytes| -> Open {
        let mut builder = Database::builder().engine(batch::Bohm::default().planners(2));
        let items = builder.table_in::<narrow::Item>(rows)?;
        let blobs = builder.bytes_table_in::<u64>("blobs", bytes)?;
        let put = builder
            .procedure("put", 1)
            .footprint(move |footprint, item: &narrow::Item| {
                footprint.inserts(items, item);
                footprint.updates(blobs, item.id as u64);
            })
            .body(move |txn, item: &narrow::Item| {
                items.insert(txn, item)?;
                blobs.put(txn, item.id as u64, &item.name)
            })?;
        let take = builder
            .procedure("take", 1)
            .footprint(move |footprint, id: &u64| footprint.deletes_key(blobs, *id))
            .body(move |txn, id: &u64| blobs.delete(txn, *id))?;
        let all = builder
            .procedure("all", 1)
            .body(move |txn, (): &()| items.iter(txn).map(|item| Ok(item?.id)).collect::<Result<Vec<i64>, Error>>())?;
        let db = builder.open(dir.path())?;
        if db.stats().records == 0 {
            let items = (0..100).map(|id| narrow::Item { id, name: format!("item {id}") });
            db.submit_all(&put, items).into_iter().try_for_each(|ticket| ticket.wait())?;
            assert!(db.call(&take, 50)? && !db.call(&take, 50)?);
        }
        let refused = db.call(&all, ()).unwrap_err();
        assert!(matches!(&refused, Error::Invalid(Invalid::NotOrdered { .. })), "{refused}");
        Ok((db, items, blobs))
    };
    for round in 0..2 {
        let (db, items, blobs) = open(Storage::Hash, Storage::Ordered).unwrap();
        db.read_strict(|at| {
            assert_eq!(items.get(at, 42)?.map(|item| item.name).as_deref(), Some("item 42"), "round {round}");
            let found = items.by(narrow::Item::by_name()).get(at, "item 7")?;
            assert_eq!(found.map(|item| item.id), Some(7), "by the index");
            assert_eq!(blobs.get(at, 7)?.as_deref(), Some(&b"item 7"[..]));
            let keys = blobs.range(at, 48..53).map(|entry| Ok(entry?.0)).collect::<Result<Vec<u64>, Error>>()?;
            assert_eq!(keys, [48, 49, 51, 52]);
            assert!(blobs.contains(at, 51)? && !blobs.contains(at, 50)?);
            Ok(())
        })
        .unwrap();
        let by_key = db.read_sql("SELECT name FROM items WHERE id = 42").unwrap();
        assert_eq!(by_key.rows[0].text(0).as_deref(), Some("item 42"));
        assert_eq!(db.read_sql("SELECT count(*) FROM items").unwrap_err().sqlstate(), "0A000");
        assert_eq!(db.read_sql("SELECT * FROM blobs").unwrap_err().sqlstate(), "42P01", "SQL does not see bytes");
        if round == 0 {
            db.checkpoint().unwrap();
        }
        db.close().unwrap();
    }
    assert!(shape(open(Storage::Ordered, Storage::Ordered)).contains("by hash"));
    assert!(shape(open(Storage::Hash, Storage::Hash)).contains("by hash"));
}

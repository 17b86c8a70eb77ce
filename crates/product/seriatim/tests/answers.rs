//! What a transaction has read is durable when it has ended, however it ended.

use seriatim::{BytesTable, Database, Durability, Error, Result, TransactionOptions};
use testing::Directory;

/// A database in which row 1 is visible and not durable.
fn with_undurable_row(name: &str) -> Result<(Directory, Database, BytesTable<u64>)> {
    let directory = Directory::new(name);
    let db = Database::open(directory.path())?;
    let table: BytesTable<u64> = db.bytes_table("stock")?;
    write_undurably(&db, table)?;
    Ok((directory, db, table))
}

fn write_undurably(db: &Database, table: BytesTable<u64>) -> Result<()> {
    db.run_with(&TransactionOptions::new().durability(Durability::None), |txn| table.put(txn, 1, "one"))?;
    assert!(!all_is_durable(db), "nobody has waited for it");
    Ok(())
}

fn all_is_durable(db: &Database) -> bool {
    let log = db.stats().engine.log.expect("it is on a disk");
    log.durable >= log.appended
}

/// An error of a body's own, or the database's.
type Refused = Box<dyn std::error::Error>;

fn sold_out(found: Option<impl Sized>) -> std::result::Result<(), Refused> {
    if found.is_some() { Err("sold out".into()) } else { Ok(()) }
}

#[test]
fn a_body_s_own_error() -> Result<()> {
    let (_directory, db, table) = with_undurable_row("answers-body")?;
    let refused = db.try_run(|txn| sold_out(table.get(txn, 1)?));
    assert_eq!(refused.unwrap_err().to_string(), "sold out");
    assert!(all_is_durable(&db));
    write_undurably(&db, table)?;
    let refused = db.try_read(|snapshot| sold_out(table.get(snapshot, 1)?));
    assert_eq!(refused.unwrap_err().to_string(), "sold out");
    assert!(all_is_durable(&db));
    Ok(())
}

#[test]
fn a_duplicate() -> Result<()> {
    let (_directory, db, table) = with_undurable_row("answers-duplicate")?;
    let refused = db.run(|txn| table.insert(txn, 1, "again"));
    assert!(matches!(refused, Err(Error::Duplicate(_))), "{refused:?}");
    assert!(all_is_durable(&db));
    Ok(())
}

/// Also one that leaves a function by `?`: the transaction is dropped before anybody hears of the error.
#[test]
fn a_transaction_that_is_dropped_or_rolled_back() -> Result<()> {
    let (_directory, db, table) = with_undurable_row("answers-dropped")?;
    let insert = || -> Result<()> {
        let mut txn = db.begin()?;
        table.insert(&mut txn, 1, "again")?;
        txn.commit()?;
        Ok(())
    };
    assert!(matches!(insert(), Err(Error::Duplicate(_))));
    assert!(all_is_durable(&db));
    write_undurably(&db, table)?;
    let txn = db.begin()?;
    assert!(table.contains(&txn, 1)?);
    assert!(!all_is_durable(&db), "what an open transaction shows is provisional");
    txn.rollback()?;
    assert!(all_is_durable(&db));
    write_undurably(&db, table)?;
    let snapshot = db.snapshot()?;
    assert!(table.contains(&snapshot, 1)?);
    drop(snapshot);
    assert!(all_is_durable(&db));
    Ok(())
}

#[test]
fn a_transaction_that_asked_not_to_wait() -> Result<()> {
    let (_directory, db, table) = with_undurable_row("answers-async")?;
    let options = TransactionOptions::new().durability(Durability::None);
    let refused = db.run_with(&options, |txn| table.insert(txn, 1, "again"));
    assert!(matches!(refused, Err(Error::Duplicate(_))), "{refused:?}");
    assert!(!all_is_durable(&db));
    Ok(())
}

#[test]
fn errors_of_sql() -> Result<()> {
    let directory = Directory::new("answers-sql");
    let db = Database::open(directory.path())?;
    db.sql("CREATE TABLE stock (id int PRIMARY KEY)")?;
    let (mut first, mut second) = (db.sql_session()?, db.sql_session()?);
    first.run("SET synchronous_commit = off")?;
    let mut number = 0;
    let mut undurable = || -> Result<i32> {
        number += 1;
        first.run(&format!("INSERT INTO stock VALUES ({number})"))?;
        Ok(number)
    };
    // The log's own thread may sync what is asynchronous at any time: a test of what is answered, not of when.
    let id = undurable()?;
    assert_eq!(second.run(&format!("INSERT INTO stock VALUES ({id})")).unwrap_err().sqlstate(), "23505");
    assert!(all_is_durable(&db));
    let id = undurable()?;
    assert_eq!(second.query("INSERT INTO stock VALUES ($1)", &[&id]).unwrap_err().sqlstate(), "23505");
    assert!(all_is_durable(&db));
    let id = undurable()?;
    let copied = second.copy_in("COPY stock FROM STDIN", format!("{id}\n").as_bytes());
    assert_eq!(copied.unwrap_err().sqlstate(), "23505");
    assert!(all_is_durable(&db));
    Ok(())
}

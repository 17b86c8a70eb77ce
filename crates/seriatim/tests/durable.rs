//! What is there after a close, a copy, a checkpoint or damage.

mod common;

use common::Directory;
use seriatim::{BytesTable, Database, Durability, Error, Fault, Invalid, record};
use std::sync::atomic::{AtomicBool, Ordering};

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Account {
        id: i64,
        owner: String,
        balance: i64,
    }
    table "accounts";
    key (id);
    index by_owner (owner);
}

fn account(id: i64) -> Account {
    Account { id, owner: format!("owner {}", id % 10), balance: 100 }
}

#[test]
fn everything_is_there_after_a_clean_close() -> Result<(), Error> {
    let directory = Directory::new("reopen");
    for (round, durability) in [Durability::None, Durability::Async, Durability::Fsync].into_iter().enumerate() {
        let db = Database::builder().durability(durability).open(directory.path())?;
        assert_eq!(db.path(), Some(directory.path()));
        assert_eq!(db.recovery().unwrap().created, round == 0);
        assert!(round == 0 || db.recovery().unwrap().clean);
        let (accounts, log) = (db.table::<Account>()?, db.bytes_table::<u64>("log")?);
        assert_eq!(db.read(|at| accounts.len(at))?, round as u64 * 10);
        db.run(|txn| (0..10).try_for_each(|id| accounts.insert(txn, &account(round as i64 * 10 + id))))?;
        db.run(|txn| log.put(txn, round as u64, "done"))?;
        db.read(|at| {
            assert_eq!(accounts.by(Account::by_owner()).equal(at, "owner 3").count(), round + 1);
            assert_eq!(log.last(at)?.unwrap().0, round as u64);
            Ok(())
        })?;
    }
    Ok(())
}

#[test]
fn the_second_opening_is_refused_and_harms_nothing() -> Result<(), Error> {
    let directory = Directory::new("locked");
    let db = Database::open(directory.path())?;
    let accounts = db.table::<Account>()?;
    let error = Database::open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::Fault(Fault::Locked { .. })), "{error}");
    assert_eq!(error.sqlstate(), "55006");
    db.run(|txn| accounts.insert(txn, &account(1)))?;
    // A transaction keeps the database open.
    let txn = db.begin()?;
    drop(db);
    assert!(matches!(Database::open(directory.path()), Err(Error::Fault(Fault::Locked { .. }))));
    drop(txn);
    let db = Database::open(directory.path())?;
    assert_eq!(db.read(|at| db.table::<Account>()?.len(at))?, 1);
    Ok(())
}

#[test]
fn after_a_close_nothing_more_is_done() -> Result<(), Error> {
    let directory = Directory::new("closed");
    let db = Database::open(directory.path())?;
    let accounts = db.table::<Account>()?;
    let other = db.clone();
    db.close()?;
    let error = other.run(|txn| accounts.insert(txn, &account(1))).unwrap_err();
    assert!(matches!(error, Error::Fault(_)), "{error}");
    drop(other);
    assert_eq!(Database::open(directory.path())?.tables().len(), 1);
    Ok(())
}

#[test]
fn a_dropped_table_stays_dropped() -> Result<(), Error> {
    let directory = Directory::new("dropped");
    let db = Database::open(directory.path())?;
    let accounts = db.table::<Account>()?;
    db.run(|txn| accounts.insert(txn, &account(1)))?;
    db.drop_table("accounts")?;
    db.bytes_table::<[u8]>("kept")?;
    drop(db);
    let db = Database::open(directory.path())?;
    assert_eq!(db.tables().iter().map(|schema| schema.name()).collect::<Vec<_>>(), ["kept"]);
    Ok(())
}

#[test]
fn a_checkpoint_shortens_the_log_and_loses_nothing() -> Result<(), Error> {
    let directory = Directory::new("checkpoint");
    let db = Database::open(directory.path())?;
    let accounts = db.table::<Account>()?;
    db.run(|txn| (0..500).try_for_each(|id| accounts.insert(txn, &account(id))))?;
    let report = db.checkpoint()?;
    assert_eq!((report.tables, report.rows), (1, 500));
    db.run(|txn| accounts.insert(txn, &account(500)))?;
    drop(db);
    let db = Database::open(directory.path())?;
    let recovery = db.recovery().unwrap();
    assert_eq!((recovery.checkpoint_rows, recovery.rows), (500, 501));
    assert_eq!(db.verify()?.rows, 501);
    Ok(())
}

#[test]
fn checkpoints_come_by_themselves() -> Result<(), Error> {
    let directory = Directory::new("automatic");
    let db = Database::builder().checkpoint_after(64 * 1024).durability(Durability::Async).open(directory.path())?;
    let table: BytesTable<u64> = db.bytes_table("t")?;
    // As long as it takes: the thread looks now and then, and there is always more log than the threshold.
    let mut written = 0;
    while db.stats().engine.log.as_ref().is_none_or(|log| log.checkpoints == 0) {
        db.run(|txn| table.put(txn, written % 100, vec![0; 4096]))?;
        written += 1;
    }
    assert!(written >= 16, "not before there are 64 KiB");
    assert!(db.stats().checkpoint_failure.is_none());
    drop(db);
    let db = Database::open(directory.path())?;
    let table: BytesTable<u64> = db.bytes_table("t")?;
    assert_eq!(db.read(|at| table.len(at))?, written.min(100));
    Ok(())
}

#[test]
fn memory_has_nothing_to_checkpoint() -> Result<(), Error> {
    let db = Database::in_memory()?;
    assert!(matches!(db.checkpoint(), Err(Error::Invalid(Invalid::Unsupported { .. }))));
    assert!(db.path().is_none() && db.recovery().is_none());
    Ok(())
}

/// Money moves while the copy is made; in the copy, as in every snapshot, the sum is what it is.
#[test]
fn a_backup_is_one_moment_and_opens_as_a_database() -> Result<(), Error> {
    let (directory, copy) = (Directory::new("original"), Directory::new("copy"));
    let db = Database::builder().durability(Durability::Async).open(directory.path())?;
    let accounts = db.table::<Account>()?;
    let log: BytesTable = db.bytes_table("log")?;
    db.run(|txn| (0..3_000).try_for_each(|id| accounts.insert(txn, &account(id))))?;
    db.run(|txn| log.put(txn, "a", [0, 255]))?;
    let done = AtomicBool::new(false);
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let (from, to) = (round * 7 % 3_000, (round * 13 + 1) % 3_000);
                db.run(|txn| {
                    accounts.update(txn, from, |account| account.balance -= 1)?;
                    accounts.update(txn, to, |account| account.balance += 1)
                })
                .unwrap();
            }
        });
        let report = db.backup_to(copy.path());
        done.store(true, Ordering::Relaxed);
        report
    })?;
    assert_eq!((report.tables, report.rows), (2, 3_001));

    let copied = Database::open(copy.path())?;
    let (accounts, log) = (copied.table::<Account>()?, copied.bytes_table::<[u8]>("log")?);
    copied.read(|at| {
        assert_eq!(accounts.iter(at).map(|a| Ok(a?.balance)).sum::<Result<i64, Error>>()?, 300_000);
        assert_eq!(accounts.by(Account::by_owner()).equal(at, "owner 3").count(), 300);
        assert_eq!(log.get(at, "a")?.unwrap(), [0, 255]);
        Ok(())
    })?;
    let report = copied.verify()?;
    assert_eq!((report.tables, report.rows, report.index_entries), (2, 3_001, 3_000));
    Ok(())
}

#[test]
fn a_backup_overwrites_nothing() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let target = Directory::new("taken");
    let file = target.file("precious", "data");
    let error = db.backup_to(target.path()).unwrap_err();
    assert!(error.to_string().contains("it is not empty"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "data");
    std::fs::remove_file(file).unwrap();
    db.backup_to(target.path())?;
    assert!(db.backup_to(target.path()).is_err(), "a backup is not overwritten by the next");

    let target = Directory::new("interrupted");
    let mut partial = target.path().as_os_str().to_owned();
    partial.push(".partial");
    std::fs::create_dir_all(&partial).unwrap();
    let error = db.backup_to(target.path()).unwrap_err();
    std::fs::remove_dir_all(&partial).unwrap();
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert!(!target.path().exists());
    Ok(())
}

/// Turns over one byte of a record in the middle of the log, far below what is known to be durable.
pub fn damage(directory: &Directory) -> (String, u64) {
    let segment = directory.files("wal-").remove(0);
    let mut bytes = std::fs::read(&segment).unwrap();
    let offset = bytes.len() / 2;
    bytes[offset] ^= 0x10;
    std::fs::write(&segment, bytes).unwrap();
    (segment.file_name().unwrap().to_str().unwrap().to_owned(), offset as u64)
}

#[test]
fn damage_below_what_was_durable_is_refused_with_its_place() -> Result<(), Error> {
    let directory = Directory::new("damaged");
    let db = Database::open(directory.path())?;
    let table: BytesTable<u64> = db.bytes_table("t")?;
    for number in 0..50 {
        db.run(|txn| table.put(txn, number, [7; 100]))?;
    }
    drop(db);
    let (segment, _) = damage(&directory);
    let before = std::fs::read(directory.path().join(&segment)).unwrap();
    let error = Database::open(directory.path()).unwrap_err();
    let Error::Fault(Fault::Corruption { detail }) = &error else { panic!("{error}") };
    assert!(detail.contains(&segment) && detail.contains("offset"), "{detail}");
    assert_eq!(error.sqlstate(), "XX001");
    assert_eq!(std::fs::read(directory.path().join(&segment)).unwrap(), before, "evidence is not touched");
    Ok(())
}

#[test]
fn a_directory_that_cannot_be_is_a_disk_fault() {
    let directory = Directory::new("file");
    let file = directory.file("not-a-directory", "");
    let error = Database::open(file.join("below")).unwrap_err();
    assert!(matches!(error, Error::Fault(Fault::Disk { .. })), "{error}");
    assert_eq!(error.sqlstate(), "58030");
}

//! What is there after a close, a copy, a checkpoint or damage.

use seriatim::{BytesTable, Database, Durability, Error, Fault, Invalid, record};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use testing::Directory;

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

/// A runtime of one task.
fn block_on<T>(task: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = pin!(task);
    loop {
        match task.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Many commits share one wait of a task, and are there after the next opening; in memory none waits.
#[test]
fn commits_are_awaited_by_a_task() -> Result<(), Error> {
    let directory = Directory::new("awaited");
    for db in [Database::open(directory.path())?, Database::in_memory()?] {
        let log = db.bytes_table::<u64>("log")?;
        let commits = (0..20).map(|number| {
            let mut txn = db.begin()?;
            log.put(&mut txn, number, "entry")?;
            txn.commit_unsynced()
        });
        let commits = commits.collect::<Result<Vec<_>, Error>>()?;
        let receipts = block_on(async {
            let mut receipts = Vec::new();
            for commit in commits {
                receipts.push(commit.await?);
            }
            Ok::<_, Error>(receipts)
        })?;
        assert!(receipts.is_sorted_by(|a, b| a.serial_point < b.serial_point) && receipts.len() == 20);
    }
    let db = Database::open(directory.path())?;
    assert_eq!(db.read(|at| db.bytes_table::<u64>("log")?.len(at))?, 20);
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
    assert!(error.to_string().contains("this process has the database open already"), "{error}");
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
    assert!(matches!(error, Error::Fault(Fault::Closed)), "{error}");
    assert!(matches!(other.checkpoint(), Err(Error::Fault(Fault::Closed))));
    drop(other);
    assert_eq!(Database::open(directory.path())?.tables().len(), 1);
    Ok(())
}

#[test]
fn a_database_that_is_read_only_is_shared_and_left_as_it_is() -> Result<(), Error> {
    let directory = Directory::new("read-only");
    let read_only = || Database::builder().read_only().open(directory.path());
    assert!(!Database::exists(directory.path())?);
    let missing = read_only().unwrap_err();
    assert!(matches!(missing, Error::Invalid(Invalid::Directory { .. })), "{missing}");
    assert!(missing.to_string().ends_with("there is no database in this directory"), "{missing}");
    let db = Database::open(directory.path())?;
    let accounts = db.table::<Account>()?;
    db.run(|txn| accounts.insert(txn, &account(1)))?;
    assert!(Database::exists(directory.path())? && db.read_only().is_none());
    assert!(matches!(read_only(), Err(Error::Fault(Fault::Locked { .. }))));
    drop(db);

    let content =
        || directory.files("").into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect::<Vec<_>>();
    let before = content();
    let (db, other) = (read_only()?, read_only()?);
    assert!(matches!(Database::open(directory.path()), Err(Error::Fault(Fault::Locked { .. }))));
    for db in [&db, &other] {
        let accounts = db.table::<Account>()?;
        assert_eq!(db.read(|at| accounts.get(at, 1))?, Some(account(1)));
        assert!(matches!(db.read_only(), Some(Error::Fault(Fault::ReadOnly))));
        let error = db.run(|txn| accounts.insert(txn, &account(2))).unwrap_err();
        assert!(matches!(error, Error::Fault(Fault::ReadOnly)) && error.sqlstate() == "25006", "{error}");
        assert!(matches!(db.drop_table("accounts"), Err(Error::Fault(Fault::ReadOnly))));
        assert!(matches!(db.checkpoint(), Err(Error::Fault(Fault::ReadOnly))));
        assert_eq!(db.read(|at| accounts.len(at))?, 1, "nothing was changed in memory either");
    }
    db.close()?;
    drop(other);
    assert_eq!(content(), before);
    Ok(())
}

#[test]
fn backups_into_wrong_places_are_refused_before_anything_is_written() -> Result<(), Error> {
    let directory = Directory::made("backup-places");
    let data = directory.join("data");
    let db = Database::open(&data)?;
    std::os::unix::fs::symlink(&data, directory.join("alias")).unwrap();
    directory.file("full", "a file");
    let inside = |to: &str| format!("{to}: a backup cannot be written into the directory of its own database");
    for (to, said) in [
        ("data", inside("data")),
        ("data/copy", inside("data/copy")),
        ("data/deep/copy", inside("data/deep/copy")),
        ("alias/copy", inside("alias/copy")),
        ("full", "full: a backup cannot be written there".into()),
        (".", "it is not empty: a backup needs a directory that is empty or does not exist".into()),
    ] {
        let before = (directory.files("").len(), std::fs::read_dir(&data).unwrap().count());
        let error = db.backup_to(directory.join(to)).unwrap_err();
        assert!(matches!(error, Error::Invalid(Invalid::Directory { .. })), "{error}");
        assert!(error.to_string().contains(&said), "{error}");
        assert_eq!((directory.files("").len(), std::fs::read_dir(&data).unwrap().count()), before, "{to}");
    }
    db.backup_to(directory.join("data-copy"))?;
    Ok(())
}

#[test]
fn a_directory_of_other_files_becomes_no_database() -> Result<(), Error> {
    let directory = Directory::new("foreign");
    directory.file("letter.txt", "Dear reader");
    let error = Database::open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::Directory { .. })), "{error}");
    assert!(error.to_string().contains("(letter.txt): use one that is empty or does not exist"), "{error}");
    assert_eq!(directory.files("").len(), 1);
    std::fs::remove_file(directory.join("letter.txt")).unwrap();
    // What lies about on every file system is nobody's file.
    std::fs::create_dir(directory.join("lost+found")).unwrap();
    directory.file(".hidden", "");
    drop(Database::open(directory.path())?);
    directory.file("letter.txt", "A note beside the database does no harm");
    drop(Database::open(directory.path())?);
    directory.file("REPLICA", "");
    let error = Database::open(directory.path()).unwrap_err();
    assert!(error.to_string().contains("this directory belongs to a replica of `seriatim order`"), "{error}");
    Ok(())
}

fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82F6_3B78 * (crc & 1));
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn a_newer_format_is_refused_as_that() -> Result<(), Error> {
    let directory = Directory::new("newer");
    drop(Database::open(directory.path())?);
    let control = directory.join("CONTROL");
    let mut bytes = std::fs::read(&control).unwrap();
    for slot in [0, 4096] {
        let block = &mut bytes[slot..slot + 64];
        block[8..12].copy_from_slice(&(wal::FORMAT_VERSION + 1).to_le_bytes());
        let checksum = crc32c(&block[..60]);
        block[60..].copy_from_slice(&checksum.to_le_bytes());
    }
    std::fs::write(&control, bytes).unwrap();
    let error = Database::open(directory.path()).unwrap_err();
    assert!(matches!(error, Error::Fault(Fault::NewerFormat { .. })), "{error}");
    assert!(!error.to_string().contains("damaged"), "{error}");
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
    // 500 rows, as many entries of an index, and 15 rows of the catalogs and their counters.
    assert_eq!((report.tables, report.rows), (5, 500 + 500 + 15));
    db.run(|txn| accounts.insert(txn, &account(500)))?;
    drop(db);
    let db = Database::open(directory.path())?;
    let recovery = db.recovery().unwrap();
    assert_eq!((recovery.checkpoint_rows, recovery.rows, recovery.entries), (1015, 515 + 1, 500 + 1));
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

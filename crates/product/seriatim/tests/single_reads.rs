//! Reads of one row in a transaction of its own: same answers as a transaction's, by the engine's short way where it has one.

use seriatim::{BytesTable, Database, Engine, Error, Invalid, Result, record};
use std::sync::atomic::{AtomicI64, Ordering};
use testing::Directory;

const ENGINES: [Engine; 3] = [Engine::Mvto, Engine::Hyper, Engine::Twopl];

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Account {
        id: i64,
        balance: i64,
    }
    table "accounts";
    key (id);
}

fn account(id: i64, balance: i64) -> Account {
    Account { id, balance }
}

/// How often the engine went its short way.
fn single_reads(db: &Database) -> u64 {
    db.stats().engine.mvto.map_or(0, |stats| stats.single_reads)
}

#[test]
fn every_kind_of_table_answers_as_in_a_transaction() -> Result<()> {
    for engine in ENGINES {
        let db = Database::builder().engine(engine).in_memory()?;
        let accounts = db.table::<Account>()?;
        let bytes: BytesTable<u64> = db.bytes_table("bytes")?;
        let rows = db.open_table("accounts")?;
        db.run(|txn| {
            accounts.put(txn, &account(1, 100))?;
            bytes.put(txn, 1, "one")
        })?;
        let check = || -> Result<()> {
            assert_eq!(accounts.get_now(&db, 1)?, Some(account(1, 100)), "{engine}");
            assert_eq!(accounts.get_now(&db, 2)?, None, "{engine}");
            assert_eq!(bytes.get_now(&db, 1)?.as_deref(), Some(&b"one"[..]), "{engine}");
            assert_eq!(bytes.get_now(&db, 2)?, None, "{engine}");
            assert_eq!(rows.get_now(&db, 1)?.unwrap().get("balance"), Some(100.into()), "{engine}");
            assert!(rows.get_now(&db, 2)?.is_none(), "{engine}");
            Ok(())
        };
        check()?; // Some handle may be used for the first time.
        let before = single_reads(&db);
        check()?;
        let expected = if engine == Engine::Mvto { 2 * 4 + 2 } else { 0 };
        assert_eq!(single_reads(&db) - before, expected, "row and definition, of bytes the row alone");
        let wrong = rows.get_now(&db, "a text");
        assert!(matches!(wrong, Err(Error::Invalid(Invalid::Key { .. }))), "{wrong:?}");
        let elsewhere = Database::in_memory()?;
        assert!(matches!(accounts.get_now(&elsewhere, 1), Err(Error::OtherDatabase)));
    }
    Ok(())
}

/// One that changes within a read: `seriatim-tables`, `single_reads`.
#[test]
fn a_changed_definition_is_found_by_the_next_read() -> Result<()> {
    let db = Database::in_memory()?;
    let accounts = db.table::<Account>()?;
    db.run(|txn| accounts.put(txn, &account(1, 100)))?;
    assert_eq!(accounts.get_now(&db, 1)?, Some(account(1, 100)));
    db.sql("ALTER TABLE accounts ADD COLUMN note text DEFAULT 'x'")?;
    let refused = accounts.get_now(&db, 1);
    assert!(matches!(refused, Err(Error::Invalid(Invalid::Shape { .. }))), "{refused:?}");
    db.sql("ALTER TABLE accounts DROP COLUMN note")?;
    assert_eq!(accounts.get_now(&db, 1)?, Some(account(1, 100)));
    let before = single_reads(&db);
    assert_eq!(accounts.get_now(&db, 1)?, Some(account(1, 100)));
    assert_eq!(single_reads(&db) - before, 2, "the new definition is known by now");
    db.sql("DROP TABLE accounts")?;
    assert!(matches!(accounts.get_now(&db, 1), Err(Error::Invalid(Invalid::UnknownTable { .. }))));
    Ok(())
}

/// A read that begins after a commit has returned sees it.
#[test]
fn a_read_sees_what_had_been_committed_before_it() -> Result<()> {
    for engine in ENGINES {
        let db = Database::builder().engine(engine).in_memory()?;
        let accounts = db.table::<Account>()?;
        db.run(|txn| accounts.put(txn, &account(1, 0)))?;
        let committed = AtomicI64::new(0);
        std::thread::scope(|scope| -> Result<()> {
            scope.spawn(|| {
                for balance in 1..=2_000 {
                    db.run(|txn| accounts.put(txn, &account(1, balance))).expect("nobody else writes");
                    committed.store(balance, Ordering::Release);
                }
            });
            let mut last = 0;
            while last < 2_000 {
                let least = committed.load(Ordering::Acquire).max(last);
                match accounts.get_now(&db, 1) {
                    Ok(read) => last = read.expect("it is there").balance,
                    Err(error) if error.is_retryable() => continue,
                    Err(error) => return Err(error),
                }
                assert!(last >= least, "{engine}: {last} after {least}");
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// What a read returns is durable, its definition and the row.
#[test]
fn an_answer_waits_until_it_is_durable() -> Result<()> {
    use seriatim::{Durability, TransactionOptions};
    let directory = Directory::new("single-reads");
    let db = Database::open(directory.path())?;
    let accounts = db.table::<Account>()?;
    let all_is_durable = || db.stats().engine.log.is_some_and(|log| log.durable >= log.appended);
    for balance in 0..3 {
        let options = TransactionOptions::new().durability(Durability::None);
        db.run_with(&options, |txn| accounts.put(txn, &account(1, balance)))?;
        assert!(!all_is_durable(), "nobody has waited for it");
        assert_eq!(accounts.get_now(&db, 1)?, Some(account(1, balance)));
        assert!(all_is_durable());
    }
    assert!(single_reads(&db) >= 4);
    Ok(())
}

//! The same program on every engine, and what an engine cannot do.

use seriatim::{Database, Engine, Error, Invalid, LimitKind, Transaction, record};
use std::time::Duration;
use testing::Directory;

const ENGINES: [Engine; 3] = [Engine::Mvto, Engine::Hyper, Engine::Twopl];

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
    Account { id, owner: format!("owner {}", id % 3), balance: 100 }
}

fn in_memory(engine: Engine) -> Database {
    Database::builder().engine(engine).in_memory().unwrap()
}

#[test]
fn typed_tables_indexes_and_savepoints() -> Result<(), Error> {
    for engine in ENGINES {
        let db = in_memory(engine);
        assert_eq!(db.engine(), engine);
        let accounts = db.table::<Account>()?;
        db.run(|txn| (1..=9).try_for_each(|id| accounts.insert(txn, &account(id))))?;
        let duplicate = db.run(|txn| accounts.insert(txn, &account(1)));
        assert!(matches!(duplicate, Err(Error::Duplicate(_))), "{engine}: {duplicate:?}");
        db.run(|txn| {
            accounts.update(txn, 2, |account| account.balance -= 30)?;
            let before = txn.savepoint()?;
            accounts.delete(txn, 3)?;
            txn.rollback_to(&before)
        })?;
        db.run(|txn| accounts.delete(txn, 9))?;
        let (total, owned) = db.read(|at| {
            let total: i64 = accounts.iter(at).map(|account| Ok(account?.balance)).sum::<Result<_, Error>>()?;
            let owned = accounts.by(Account::by_owner()).range(at, "owner 0".to_owned()..="owner 0".to_owned());
            Ok((total, owned.map(|account| Ok(account?.id)).collect::<Result<Vec<_>, Error>>()?))
        })?;
        assert_eq!((total, owned), (770, vec![3, 6]), "{engine}");
        let stats = db.stats().engine;
        assert!(stats.commits >= 4 && stats.tables == 5, "{engine}: {stats:?}");
        db.close()?;
    }
    Ok(())
}

fn transfer(accounts: &seriatim::Table<Account>, txn: &mut Transaction, from: i64, to: i64) -> Result<(), Error> {
    accounts.update(txn, from, |account| account.balance -= 1)?;
    accounts.update(txn, to, |account| account.balance += 1)?;
    Ok(())
}

#[test]
fn conflicting_transactions_are_retried_until_they_commit() -> Result<(), Error> {
    for engine in ENGINES {
        let db = in_memory(engine);
        let accounts = db.table::<Account>()?;
        db.run(|txn| (1..=2).try_for_each(|id| accounts.insert(txn, &account(id))))?;
        std::thread::scope(|scope| {
            // Opposite directions: with locks they wait for each other in a circle.
            for (from, to) in [(1, 2), (2, 1), (1, 2)] {
                let (db, accounts) = (&db, &accounts);
                scope.spawn(move || {
                    (0..200).for_each(|_| db.run(|txn| transfer(accounts, txn, from, to)).unwrap());
                });
            }
        });
        let left = db.run(|txn| Ok([1, 2].map(|id| accounts.get(txn, id).unwrap().unwrap().balance)))?;
        assert_eq!(left, [-100, 300], "{engine}");
    }
    Ok(())
}

#[test]
fn sql_runs_on_every_engine() -> Result<(), Error> {
    for engine in ENGINES {
        let db = in_memory(engine);
        db.sql("CREATE TABLE city (name text PRIMARY KEY, people bigint CHECK (people > 0))")?;
        db.sql("INSERT INTO city VALUES ('Graz', 302749), ('Linz', 212538)")?;
        assert_eq!(db.sql("INSERT INTO city VALUES ('Graz', 1)").unwrap_err().sqlstate(), "23505", "{engine}");
        let mut session = db.sql_session()?;
        session.run("BEGIN; SAVEPOINT s; DELETE FROM city; ROLLBACK TO s; COMMIT")?;
        let answer = db.sql("SELECT sum(people)::bigint FROM city")?;
        assert_eq!(answer.rows[0].get::<i64>(0)?, 515_287, "{engine}");
    }
    Ok(())
}

#[track_caller]
fn refused<T>(outcome: Result<T, Error>, complaint: &str) {
    match outcome.map(drop) {
        Err(error @ Error::Invalid(Invalid::Unsupported { .. })) => {
            assert!(error.to_string().contains(complaint), "{error}");
            assert_eq!(error.sqlstate(), "0A000");
        }
        other => panic!("{complaint}: {other:?}"),
    }
}

#[test]
fn what_an_engine_cannot_do_is_refused_and_leaves_nothing_behind() {
    let directory = Directory::new("twopl");
    let twopl = || Database::builder().engine(Engine::Twopl);
    refused(twopl().open(directory.path()), "twopl keeps everything in memory");
    assert!(!directory.path().exists());
    refused(twopl().memory(1 << 30).in_memory(), "a memory limit with the engine twopl");
    refused(twopl().max_transaction_age(Duration::from_secs(1)).in_memory(), "an age limit of transactions");
    for engine in ENGINES {
        refused(in_memory(engine).checkpoint(), "a checkpoint of a database in memory");
    }
    let db = in_memory(Engine::Twopl);
    assert!(db.read_only().is_none() && db.recovery().is_none() && db.path().is_none());
}

/// Both engines with versions: memory is limited, an abandoned transaction is ended, and deleted rows go without a transaction.
#[test]
fn limits_hold_on_engines_with_versions() -> Result<(), Error> {
    for engine in [Engine::Mvto, Engine::Hyper] {
        let builder = || Database::builder().engine(engine);
        let db = builder().memory(4 << 20).in_memory()?;
        let accounts = db.table::<Account>()?;
        let refused = (0..100_000).find_map(|id| db.run(|txn| accounts.insert(txn, &account(id))).err());
        let refused = refused.expect("the limit is somewhere");
        assert_eq!((refused.limit(), refused.sqlstate()), (Some(LimitKind::Memory), "53200"), "{engine}");
        let rows = db.read(|at| Ok::<_, Error>(accounts.iter(at).count()))?;
        for from in (0..rows as i64 / 2).step_by(100) {
            db.run(|txn| (from..from + 100).try_for_each(|id| accounts.delete(txn, id).map(drop)))?;
        }
        // Ends when the maintenance thread has run, however long that takes.
        while db.stats().engine.waiting_versions > 0 {
            std::thread::yield_now();
        }
        assert!(db.stats().engine.memory_bytes < 3 << 20, "{engine}: {}", db.stats().engine.memory_bytes);
        db.run(|txn| accounts.insert(txn, &account(-1)))?;

        let db = builder().max_transaction_age(Duration::from_millis(20)).in_memory()?;
        let accounts = db.table::<Account>()?;
        db.run(|txn| accounts.insert(txn, &account(1)))?;
        let abandoned = db.begin()?;
        accounts.get(&abandoned, 1)?;
        let told = loop {
            if let Err(error) = accounts.get(&abandoned, 1) {
                break error;
            }
        };
        assert_eq!(told.sqlstate(), "25P04", "{engine}: {told}");
    }
    Ok(())
}

#[test]
fn either_durable_engine_opens_what_the_other_one_has_left() -> Result<(), Error> {
    let directory = Directory::new("either");
    let open = |engine: Engine| Database::builder().engine(engine).open(directory.path());
    let mut expected = Vec::new();
    for (round, engine) in [Engine::Mvto, Engine::Hyper, Engine::Mvto, Engine::Hyper].into_iter().enumerate() {
        let db = open(engine)?;
        if round == 0 {
            db.sql("CREATE TABLE note (id bigint PRIMARY KEY, text text UNIQUE)")?;
        }
        let found = db.sql("SELECT id, text FROM note ORDER BY id")?;
        let found: Vec<(i64, String)> =
            found.rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect::<Result<_, Error>>()?;
        assert_eq!(found, expected, "{engine}");
        db.sql(&format!("INSERT INTO note VALUES ({round}, 'by {engine} in {round}')"))?;
        db.sql(&format!("UPDATE note SET text = text || '.' WHERE id = {round}"))?;
        // In the checkpoint, and behind it in the log.
        db.checkpoint()?;
        db.sql("DELETE FROM note WHERE id = 0")?;
        expected.push((round as i64, format!("by {engine} in {round}.")));
        expected.retain(|(id, _)| *id != 0);
        if round % 2 == 0 {
            db.close()?;
        }
    }
    Ok(())
}

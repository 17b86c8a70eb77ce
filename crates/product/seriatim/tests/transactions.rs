//! Transactions: what they see, how they end, what conflicts say, what retries do.

use seriatim::{
    AbortClass, BytesTable, Database, Durability, Error, Invalid, LimitKind, RetryPolicy, SerialPoint, Snapshot,
    Transaction, TransactionOptions, record,
};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Account {
        id: i64,
        balance: i64,
    }
    table "accounts";
    key (id);
}

fn accounts(count: i64) -> Result<(Database, seriatim::Table<Account>), Error> {
    let db = Database::in_memory()?;
    let table = db.table::<Account>()?;
    db.run(|txn| (1..=count).try_for_each(|id| table.insert(txn, &Account { id, balance: 100 })))?;
    Ok((db, table))
}

#[test]
fn handles_and_errors_may_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    fn movable<T: Send + 'static>() {}
    anywhere::<Database>();
    anywhere::<Error>();
    anywhere::<seriatim::Table<Account>>();
    anywhere::<BytesTable>();
    anywhere::<seriatim::RowTable>();
    movable::<Transaction>();
    movable::<Snapshot>();
    movable::<seriatim::PendingCommit>();
    fn is_error<T: std::error::Error>() {}
    is_error::<Error>();
    is_error::<seriatim::Conflict>();
}

#[test]
fn a_dropped_transaction_takes_everything_back() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut txn = db.begin()?;
    table.put(&mut txn, &Account { id: 1, balance: 0 })?;
    table.insert(&mut txn, &Account { id: 2, balance: 0 })?;
    assert_eq!(table.len(&txn)?, 2, "it sees its own writes");
    drop(txn);
    let mut txn = db.begin()?;
    table.delete(&mut txn, 1)?;
    txn.rollback().unwrap();
    let outcome: Result<(), Error> = db.run(|txn| {
        table.delete(txn, 1)?;
        Err(Error::body("no"))
    });
    assert!(matches!(outcome, Err(Error::Body(_))));
    assert_eq!(db.read(|at| table.get(at, 1))?, Some(Account { id: 1, balance: 100 }));
    assert_eq!(db.read(|at| table.len(at))?, 1);
    Ok(())
}

#[test]
fn a_snapshot_is_of_the_moment_it_was_asked_for() -> Result<(), Error> {
    let (db, table) = accounts(2)?;
    let before = db.snapshot()?;
    db.run(|txn| table.update(txn, 1, |account| account.balance = 0))?;
    db.run(|txn| table.delete(txn, 2))?;
    assert_eq!(table.get(&before, 1)?.unwrap().balance, 100);
    assert_eq!(table.iter(&before).count(), 2);
    assert!(before.is_read_only());
    before.finish()?;
    assert_eq!(db.read(|at| table.len(at))?, 1);
    Ok(())
}

#[test]
fn a_read_only_transaction_refuses_writes_and_lives_on() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    for options in [TransactionOptions::new().read_only(), TransactionOptions::new().settled()] {
        let mut txn = db.begin_with(&options)?;
        let error = table.put(&mut txn, &Account { id: 2, balance: 0 }).unwrap_err();
        assert!(matches!(error, Error::Invalid(Invalid::ReadOnly)), "{error}");
        assert_eq!(error.sqlstate(), "25006");
        assert_eq!(table.len(&txn)?, 1);
        txn.commit()?;
    }
    Ok(())
}

/// The younger reads what the older then wants to write: the older loses, and its error says all there is to know.
#[test]
fn a_conflict_names_rule_table_key_and_the_other() -> Result<(), Error> {
    let (db, table) = accounts(2)?;
    let mut older = db.begin()?;
    assert_eq!(table.get(&older, 2)?.unwrap().balance, 100); // fixes its place in the order
    let younger = db.begin()?;
    assert_eq!(table.get(&younger, 1)?.unwrap().balance, 100);
    younger.commit()?;
    let lost = table.put(&mut older, &Account { id: 1, balance: 0 }).map_or_else(Err, |()| older.commit().map(|_| ()));
    let error = lost.unwrap_err();
    assert!(error.is_conflict() && error.is_retryable() && !error.is_outcome_unknown());
    assert_eq!(error.sqlstate(), "40001");
    let conflict = error.conflict().unwrap();
    assert_eq!(conflict.rule(), "later-reader");
    assert_eq!(conflict.class(), AbortClass::ReadWrite);
    assert_eq!(conflict.table(), Some("accounts"));
    assert_eq!(conflict.key().as_deref(), Some("(id=1)"));
    assert!(conflict.key_bytes().is_some());
    assert!(!conflict.explanation().is_empty());
    let text = error.to_string();
    for part in ["later-reader", "table accounts", "(id=1)", "might succeed if retried"] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    Ok(())
}

#[test]
fn a_write_conflict_names_the_other_transaction() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut older = db.begin()?;
    table.contains(&older, 5)?;
    let winner = {
        let mut younger = db.begin()?;
        table.put(&mut younger, &Account { id: 1, balance: 1 })?;
        younger.commit()?.serial_point.expect("mvto claims one")
    };
    let lost = table.put(&mut older, &Account { id: 1, balance: 2 }).map_or_else(Err, |()| older.commit().map(|_| ()));
    let error = lost.unwrap_err();
    let conflict = error.conflict().unwrap();
    assert_eq!(conflict.other().map(|other| other.0), Some(winner.0), "{error}");
    assert_ne!(conflict.transaction().0, winner.0);
    Ok(())
}

/// The older holds the row and goes on holding it; the younger waits as long as it said, and no longer.
#[test]
fn waiting_has_a_limit_that_is_named() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut older = db.begin_with(&TransactionOptions::new().own_at_statement())?;
    table.update(&mut older, 1, |account| account.balance += 1)?;
    let impatient = TransactionOptions::new().own_at_statement().wait_limit(Duration::from_millis(1));
    let younger = db.begin_with(&impatient)?;
    let error = table.get(&younger, 1).unwrap_err();
    assert_eq!(
        error.conflict().map(|conflict| (conflict.rule(), conflict.class())),
        Some(("wait-limit", AbortClass::WaitLimit))
    );
    assert_eq!(error.sqlstate(), "55P03");
    assert!(error.is_conflict() && error.is_retryable());
    // Who does not own at the statement reads beside it.
    assert_eq!(db.read(|at| table.get(at, 1))?.unwrap().balance, 100);
    older.commit()?;
    assert_eq!(db.read(|at| table.get(at, 1))?.unwrap().balance, 101);
    Ok(())
}

#[test]
fn an_aborted_transaction_answers_only_its_abort() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let options = TransactionOptions::new().own_at_statement();
    let mut older = db.begin_with(&options)?;
    table.contains(&older, 1)?;
    db.run(|txn| table.update(txn, 1, |account| account.balance += 1))?;
    let first = table.put(&mut older, &Account { id: 1, balance: 2 }).unwrap_err();
    let again = table.get(&older, 1).unwrap_err();
    assert_eq!(first.to_string(), again.to_string());
    assert!(older.savepoint().unwrap_err().is_conflict());
    assert!(older.commit().unwrap_err().is_conflict());
    Ok(())
}

#[test]
fn a_closure_runs_again_after_a_conflict_and_not_after_its_own_error() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut runs = 0;
    let (balance, receipt) = db.run_with(&TransactionOptions::new(), |txn| {
        runs += 1;
        let balance = table.get(txn, 1)?.unwrap().balance;
        if runs < 3 {
            // Somebody younger writes what this transaction has read and is going to write.
            db.run(|other| table.update(other, 1, |account| account.balance += 10))?;
        }
        table.put(txn, &Account { id: 1, balance: balance + 1 })?;
        Ok::<_, Error>(balance + 1)
    })?;
    assert_eq!((runs, receipt.attempts, balance), (3, 3, 121));
    assert_eq!(db.read(|at| table.get(at, 1))?.unwrap().balance, 121);
    let retries: u64 = db.stats().retries.iter().map(|(_, count)| count).sum();
    assert_eq!(retries, 2);

    let mut runs = 0;
    let outcome: Result<(), Error> = db.run(|_| {
        runs += 1;
        Err(Error::body("mine"))
    });
    assert_eq!((runs, outcome.unwrap_err().to_string().as_str()), (1, "mine"));
    Ok(())
}

/// A body that swallows the abort of a statement is run again all the same.
#[test]
fn a_swallowed_abort_is_still_an_abort() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut runs = 0;
    let options = TransactionOptions::new().own_at_statement();
    db.run_with(&options, |txn| {
        runs += 1;
        table.contains(txn, 1)?;
        if runs == 1 {
            db.run(|other| table.update(other, 1, |account| account.balance += 10))?;
        }
        let _ = table.update(txn, 1, |account| account.balance += 1);
        Ok::<_, Error>(())
    })?;
    assert_eq!(runs, 2);
    assert_eq!(db.read(|at| table.get(at, 1))?.unwrap().balance, 111);
    Ok(())
}

#[test]
fn giving_up_says_after_how_much_and_against_what() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let quick = RetryPolicy::attempts(3);
    let options = TransactionOptions::new().retry(quick);
    let mut runs = 0;
    let outcome = db.run_with(&options, |txn| {
        runs += 1;
        let balance = table.get(txn, 1)?.unwrap().balance;
        db.run(|other| table.update(other, 1, |account| account.balance += 10))?;
        table.put(txn, &Account { id: 1, balance })?;
        Ok::<_, Error>(())
    });
    let error = outcome.unwrap_err();
    let Error::GaveUp(gave_up) = &error else { panic!("{error}") };
    assert_eq!((runs, gave_up.attempts), (3, 3));
    assert_eq!(error.conflict().unwrap().table(), Some("accounts"));
    assert!(error.is_conflict() && error.is_retryable());
    assert_eq!(error.sqlstate(), "40001");
    assert!(error.to_string().starts_with("gave up after 3 attempts"), "{error}");

    let at_once = TransactionOptions::new().retry(RetryPolicy::elapsed(Duration::ZERO));
    let outcome = db.run_with(&at_once, |txn| {
        let balance = table.get(txn, 1)?.unwrap().balance;
        db.run(|other| table.update(other, 1, |account| account.balance += 10))?;
        table.put(txn, &Account { id: 1, balance })?;
        Ok::<_, Error>(())
    });
    assert!(matches!(outcome, Err(Error::GaveUp(gave_up)) if gave_up.attempts == 1));
    Ok(())
}

#[derive(Debug)]
enum Refused {
    Poor(i64),
    Database(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Database(error)
    }
}

#[test]
fn bodies_may_have_errors_of_their_own() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let withdraw = |amount: i64| {
        db.try_run(|txn| {
            let left = table.update(txn, 1, |account| account.balance -= amount)?.unwrap().balance;
            if left < 0 { Err(Refused::Poor(left)) } else { Ok(left) }
        })
    };
    assert_eq!(withdraw(60).unwrap(), 40);
    assert!(matches!(withdraw(60), Err(Refused::Poor(-20))));
    assert_eq!(withdraw(40).unwrap(), 0, "the refused one took nothing");
    let outcome: Result<(), Refused> = db.try_read(|_| Err(Refused::Poor(0)));
    assert!(matches!(outcome, Err(Refused::Poor(0))));
    let outcome: Result<(), Refused> = db.try_run(|txn| Ok(table.insert(txn, &Account { id: 1, balance: 0 })?));
    assert!(matches!(outcome, Err(Refused::Database(Error::Duplicate(_)))));
    Ok(())
}

#[test]
fn savepoints_take_back_what_came_after_them() -> Result<(), Error> {
    let (db, table) = accounts(3)?;
    let mut txn = db.begin()?;
    table.put(&mut txn, &Account { id: 1, balance: 1 })?;
    let first = txn.savepoint()?;
    table.put(&mut txn, &Account { id: 1, balance: 2 })?;
    table.delete(&mut txn, 2)?;
    let second = txn.savepoint()?;
    table.insert(&mut txn, &Account { id: 9, balance: 9 })?;
    txn.rollback_to(&second)?;
    assert_eq!((table.contains(&txn, 9)?, table.contains(&txn, 2)?), (false, false));
    txn.rollback_to(&first)?;
    assert_eq!(table.get(&txn, 1)?.unwrap().balance, 1);
    assert!(table.contains(&txn, 2)?);
    assert!(matches!(txn.rollback_to(&second), Err(Error::Invalid(Invalid::UnknownSavepoint))));
    table.delete(&mut txn, 3)?;
    txn.rollback_to(&first)?;
    txn.commit()?;
    db.read(|at| {
        assert_eq!(table.get(at, 1)?.unwrap().balance, 1);
        assert_eq!(table.len(at)?, 3);
        Ok(())
    })?;
    let (mut one, mut two) = (db.begin()?, db.begin()?);
    let foreign = one.savepoint()?;
    assert!(matches!(two.rollback_to(&foreign), Err(Error::Invalid(Invalid::UnknownSavepoint))));
    Ok(())
}

#[test]
fn several_statements_happen_as_a_whole_or_not() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    db.run(|txn| {
        let outcome: Result<(), Error> = txn.atomically(|txn| {
            table.insert(txn, &Account { id: 2, balance: 0 })?;
            table.insert(txn, &Account { id: 1, balance: 0 })
        });
        assert!(matches!(outcome, Err(Error::Duplicate(_))));
        assert!(!table.contains(txn, 2)?);
        txn.atomically(|txn| table.insert(txn, &Account { id: 3, balance: 0 }))
    })?;
    assert_eq!(db.read(|at| table.len(at))?, 2);
    Ok(())
}

#[test]
fn transactions_move_between_threads_and_outlive_the_handle() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut txn = db.begin()?;
    table.update(&mut txn, 1, |account| account.balance += 1)?;
    let keeper = db.clone();
    drop(db);
    let txn = std::thread::spawn(move || table.update(&mut txn, 1, |account| account.balance += 1).map(|_| txn))
        .join()
        .unwrap()?;
    let pending = txn.commit_unsynced()?;
    assert!(pending.serial_point() > Some(SerialPoint(0)));
    let receipt = std::thread::spawn(move || pending.wait()).join().unwrap()?;
    assert_eq!(receipt.attempts, 1);
    assert_eq!(keeper.read(|at| table.get(at, 1))?.unwrap().balance, 102);
    let mut txn = keeper.begin()?;
    drop(keeper);
    table.update(&mut txn, 1, |account| account.balance += 1)?;
    txn.commit()?;
    Ok(())
}

#[test]
fn serial_points_increase_with_real_time() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    let mut last = None;
    for _ in 0..50 {
        let (_, receipt) = db.run_with(&TransactionOptions::new(), |txn| {
            table.update(txn, 1, |account| account.balance += 1)?;
            Ok::<_, Error>(())
        })?;
        assert!(receipt.serial_point > last);
        last = receipt.serial_point;
    }
    Ok(())
}

/// Writers in a storm on one row, and a reader that must never be turned away.
#[test]
fn reads_never_abort_and_no_update_is_lost() -> Result<(), Error> {
    let (db, table) = accounts(2)?;
    const WRITERS: i64 = 4;
    const EACH: i64 = 200;
    let start = Barrier::new(WRITERS as usize + 1);
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                start.wait();
                for _ in 0..EACH {
                    db.run(|txn| {
                        table.update(txn, 1, |account| account.balance -= 1)?;
                        table.update(txn, 2, |account| account.balance += 1)
                    })
                    .unwrap();
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        start.wait();
        while done.load(Ordering::Relaxed) < WRITERS as u32 {
            let sum: i64 =
                db.read(|at| table.iter(at).map(|account| Ok(account?.balance)).sum()).expect("reads never abort");
            assert_eq!(sum, 200);
        }
    });
    assert_eq!(db.read(|at| table.get(at, 1))?.unwrap().balance, 100 - WRITERS * EACH);
    Ok(())
}

/// Write skew: each checks that the other is still on call and leaves. One of them must not get away with it.
#[test]
fn both_doctors_cannot_leave() -> Result<(), Error> {
    let (db, on_call) = accounts(2)?;
    let leave = |who: i64| {
        db.run(|txn| {
            if on_call.len(txn)? < 2 {
                return Err(Error::body("somebody must stay"));
            }
            on_call.delete(txn, who).map(|_| ())
        })
    };
    for round in 0..20 {
        db.run(|txn| (1..=2).try_for_each(|id| on_call.put(txn, &Account { id, balance: round })))?;
        std::thread::scope(|scope| {
            let one = scope.spawn(|| leave(1));
            let two = leave(2);
            assert!(one.join().unwrap().is_ok() != two.is_ok(), "round {round}");
        });
        assert_eq!(db.read(|at| on_call.len(at))?, 1);
    }
    Ok(())
}

#[test]
fn a_limit_on_open_transactions_is_named() -> Result<(), Error> {
    let db = Database::builder().max_transactions(64).in_memory()?;
    let table: BytesTable = db.bytes_table("t")?;
    let mut open = Vec::new();
    let error = loop {
        let outcome = db.snapshot().and_then(|snapshot| table.get(&snapshot, "a").map(|_| snapshot));
        match outcome {
            Ok(snapshot) => open.push(snapshot),
            Err(error) => break error,
        }
        assert!(open.len() <= 10_000, "the limit is 64");
    };
    assert_eq!(error.limit(), Some(LimitKind::Transactions), "{error}");
    open.clear();
    db.read(|at| table.get(at, "a"))?;
    Ok(())
}

#[test]
fn durability_is_chosen_by_transaction() -> Result<(), Error> {
    let (db, table) = accounts(1)?;
    for durability in [Durability::None, Durability::Async, Durability::Fsync] {
        db.run(|txn| {
            txn.set_durability(durability);
            table.update(txn, 1, |account| account.balance += 1)
        })?;
        let options = TransactionOptions::new().durability(durability).wait_limit(Duration::from_secs(1));
        let mut txn = db.begin_with(&options)?;
        table.update(&mut txn, 1, |account| account.balance += 1)?;
        txn.commit()?;
    }
    assert_eq!(db.read(|at| table.get(at, 1))?.unwrap().balance, 106);
    Ok(())
}

/// Nobody begins anything any more: what was deleted is given back all the same.
#[test]
fn an_idle_database_gives_deleted_rows_back() -> Result<(), Error> {
    let (db, table) = accounts(5_000)?;
    let full = db.stats().engine.memory_bytes;
    db.run(|txn| (1..=5_000).try_for_each(|id| table.delete(txn, id).map(drop)))?;
    // Ends when the maintenance thread has run, however long that takes.
    while db.stats().engine.waiting_versions > 0 {
        std::thread::yield_now();
    }
    let left = db.stats().engine.memory_bytes;
    assert!(left < full / 2, "{left} of {full} bytes are left");
    Ok(())
}

#[test]
fn a_transaction_inside_the_body_of_another_on_the_same_row_is_told_so() -> Result<(), Error> {
    let (db, accounts) = accounts(2)?;
    let inner = AtomicU32::new(0);
    let deposit = |id: i64| {
        db.run(|txn| accounts.update(txn, id, |account| account.balance += 1).map(drop))?;
        inner.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    // The inner one overtakes the outer one, until that one takes hold of the row; or it does so at once.
    for options in [TransactionOptions::new(), TransactionOptions::new().own_at_statement()] {
        let outcome = db.run_with(&options, |txn| {
            accounts.update(txn, 1, |account| account.balance += 10)?;
            deposit(1)
        });
        let Err(error) = outcome else { panic!("they are in each other's way") };
        assert!(matches!(error, Error::Nested(_)) && error.sqlstate() == "25001" && !error.is_retryable(), "{error}");
        assert!(error.to_string().contains("inside the body of another one of the same thread"), "{error}");
    }
    let overtaken = i64::from(inner.load(Ordering::Relaxed));
    // Other rows, and other databases, are in nobody's way.
    let (other, others) = self::accounts(1)?;
    db.run(|txn| {
        accounts.update(txn, 1, |account| account.balance += 10)?;
        other.run(|txn| others.update(txn, 1, |account| account.balance += 1).map(drop))?;
        deposit(2)
    })?;
    let balances =
        db.read(|at| accounts.iter(at).map(|account| Ok(account?.balance)).collect::<Result<Vec<_>, Error>>())?;
    assert_eq!(balances, [110 + overtaken, 101], "inner ones that have committed stay");
    Ok(())
}

#[test]
fn reads_take_options_too() -> Result<(), Error> {
    let (db, accounts) = accounts(3)?;
    for options in [TransactionOptions::new(), TransactionOptions::new().settled()] {
        assert_eq!(db.read_with(&options, |at| accounts.len(at))?, 3);
        let snapshot = db.snapshot_with(&options)?;
        assert!(snapshot.is_read_only());
        assert_eq!(accounts.len(&snapshot)?, 3);
    }
    Ok(())
}

/// A settled view inside the body of a transaction that writes would wait for that one, which cannot end meanwhile.
#[test]
fn a_settled_view_inside_a_writing_body_is_refused_by_name() -> Result<(), Error> {
    let (db, accounts) = accounts(3)?;
    let settled = TransactionOptions::new().settled();
    let refused = db.run(|txn| {
        accounts.update(txn, 1, |account| account.balance += 1)?;
        db.read_with(&settled, |at| accounts.len(at))
    });
    match refused {
        Err(Error::Nested(conflict)) => assert_eq!(conflict.rule(), "own-writer"),
        other => panic!("a transaction in the body of another, not {other:?}"),
    }
    assert_eq!(db.read_with(&settled, |at| accounts.len(at))?, 3, "beside the body nobody is waited for");
    db.run(|_| db.read_with(&settled, |at| accounts.len(at)))?;
    Ok(())
}

#[test]
fn every_rule_is_explained_in_the_documentation() {
    let page = include_str!("../../../../docs/conflicts.md");
    for reason in mvto::Reason::ALL {
        assert!(page.contains(&format!("\n| `{}` |", reason.rule())), "docs/conflicts.md lacks {}", reason.rule());
    }
}

//! Advisory locks: levels, waits and their ends, deadlocks, what others see of them.

mod common;

use common::{Client, database, databases, store};
use seriatim_sql::database::{Database, Options};
use std::sync::Arc;
use std::thread;

/// Returns once a session is seen to wait for a lock of this kind.
fn until_waits(watcher: &mut Client, process: i32, event: &str) {
    let seen = format!("SELECT wait_event_type || wait_event FROM pg_stat_activity WHERE pid = {process}");
    while watcher.show(&seen) != format!("Lock{event}") {
        thread::yield_now();
    }
}

/// What is shown of advisory locks: the session, the lock, the mode, whether it is granted.
fn locks(client: &mut Client) -> String {
    client.show(
        "SELECT pid, classid, objid, objsubid, mode, granted, database, waitstart IS NULL FROM pg_locks \
         WHERE locktype = 'advisory' ORDER BY 1, 2, 3, 4, 5",
    )
}

#[test]
fn locks_of_the_session_are_counted() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    a.run("BEGIN; SELECT pg_advisory_lock(1), pg_advisory_lock(1); ROLLBACK");
    assert_eq!(b.show("SELECT pg_try_advisory_lock(1), pg_try_advisory_lock_shared(1)"), "f|f");
    assert_eq!(b.show("SELECT pg_try_advisory_lock(0, 1)"), "t", "two numbers are another lock");
    assert_eq!(a.show("SELECT pg_advisory_unlock(1)"), "t");
    assert_eq!(b.show("SELECT pg_try_advisory_lock(1)"), "f", "it was taken twice");
    assert_eq!(a.show("SELECT pg_advisory_unlock(1)"), "t");
    assert_eq!(b.show("SELECT pg_try_advisory_lock(1)"), "t");
    let answer = a.run("SELECT pg_advisory_unlock(1)");
    assert_eq!(answer.notices, ["WARNING: you don't own a lock of type ExclusiveLock"]);
    assert_eq!(answer.rows, [["f"]]);
    b.run("SELECT pg_advisory_unlock_all()");
    assert_eq!(locks(&mut a), "");
    assert_eq!(a.show("SELECT pg_try_advisory_lock(NULL)"), "");
}

#[test]
fn several_sessions_share_a_lock() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    let shared = "SELECT pg_try_advisory_lock_shared(-2)";
    assert_eq!((a.show(shared), b.show(shared)), ("t".into(), "t".into()));
    assert_eq!(a.show("SELECT pg_try_advisory_lock(-2)"), "f");
    let (a_process, b_process) = (a.session.key().0, b.session.key().0);
    let row = |process| format!("{process}|4294967295|4294967294|1|ShareLock|t|5|t");
    assert_eq!(locks(&mut a), format!("{}\n{}", row(a_process), row(b_process)));
    drop(b);
    assert_eq!(a.show("SELECT pg_try_advisory_lock(-2)"), "t", "the other session has ended");
    a.run("DISCARD ALL");
    assert_eq!(locks(&mut a), "");
}

#[test]
fn locks_of_the_transaction_end_with_it() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    let mut is_free = |key: i32| b.show(&format!("SELECT pg_try_advisory_xact_lock({key}, 0)")) == "t";
    a.run("SELECT pg_advisory_xact_lock(1, 0)");
    assert!(is_free(1), "the statement was a transaction");
    a.run("BEGIN; SELECT pg_advisory_xact_lock(1, 0), pg_try_advisory_xact_lock_shared(2, 0)");
    assert!(!is_free(1) && !is_free(2));
    assert_eq!(a.show("SELECT pg_advisory_unlock(1, 0)"), "f", "it is the transaction's");
    a.run("SAVEPOINT s; SELECT pg_advisory_xact_lock(1, 0), pg_advisory_xact_lock(3, 0)");
    assert!(!is_free(3));
    a.run("ROLLBACK TO s");
    assert!(is_free(3) && !is_free(1));
    a.run("COMMIT");
    assert!(is_free(1) && is_free(2));
    a.run("BEGIN; SELECT pg_advisory_xact_lock(1, 0)");
    assert_eq!(a.fails("SELECT 1 / 0").code(), "22012");
    assert!(is_free(1), "a block that has failed holds nothing");
    a.run("ROLLBACK");
}

/// By its session's cancel request, by its times, by the end of its session.
#[test]
fn waits_are_ended_from_outside() {
    let database = database();
    let (mut owner, mut watcher) = (Client::new(&database), Client::new(&database));
    owner.run("SELECT pg_advisory_lock(1)");
    let owner_process = owner.session.key().0;
    for (end, code) in [("pg_cancel_backend", "57014"), ("pg_terminate_backend", "57P01")] {
        let mut waiter = Client::new(&database);
        let process = waiter.session.key().0;
        let waiting = thread::spawn(move || waiter.fails("SELECT pg_advisory_lock(1)"));
        until_waits(&mut watcher, process, "advisory");
        assert_eq!(watcher.show(&format!("SELECT pg_blocking_pids({process})")), format!("{{{owner_process}}}"));
        let held = format!("{owner_process}|0|1|1|ExclusiveLock|t|5|t");
        assert_eq!(locks(&mut watcher), format!("{held}\n{process}|0|1|1|ExclusiveLock|f|5|f"));
        watcher.run(&format!("SELECT {end}({process})"));
        assert_eq!(waiting.join().unwrap().code(), code);
        assert_eq!(locks(&mut watcher), held);
    }
    let mut waiter = Client::new(&database);
    let error = waiter.fails("SET statement_timeout = '5ms'; SELECT pg_advisory_lock(1)");
    assert_eq!((error.code(), error.message()), ("57014", "canceling statement due to statement timeout"));
    waiter.run("SET statement_timeout = 0; SET lock_timeout = '5ms'");
    let error = waiter.fails("SELECT pg_advisory_xact_lock_shared(1)");
    assert_eq!((error.code(), error.message()), ("55P03", "canceling statement due to lock timeout"));
}

#[test]
fn a_wait_ends_when_the_lock_is_given_back() {
    let database = database();
    let (mut owner, mut waiter) = (Client::new(&database), Client::new(&database));
    owner.run("BEGIN; SELECT pg_advisory_xact_lock(1)");
    let process = waiter.session.key().0;
    let waiting = thread::spawn(move || waiter.show("SELECT pg_advisory_lock(1); SELECT pg_advisory_unlock(1)"));
    until_waits(&mut owner, process, "advisory");
    owner.run("COMMIT");
    assert_eq!(waiting.join().unwrap(), "t");
}

/// Whoever takes the lock first in its block sees what the holder before has committed: no block fails.
#[test]
fn blocks_that_begin_with_a_lock_meet_no_conflict() {
    const BLOCKS: usize = 20;
    for database in databases() {
        Client::new(&database).run("CREATE TABLE counter (x int); INSERT INTO counter VALUES (0)");
        let threads = (0..3).map(|_| {
            let database = database.clone();
            thread::spawn(move || {
                let mut client = Client::new(&database);
                for _ in 0..BLOCKS {
                    client.run("BEGIN");
                    client.run("SELECT pg_advisory_xact_lock(7)");
                    let x: i32 = client.show("SELECT x FROM counter").parse().unwrap();
                    client.run(&format!("UPDATE counter SET x = {}", x + 1));
                    client.run("COMMIT");
                }
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(Client::new(&database).show("SELECT x FROM counter"), (3 * BLOCKS).to_string());
    }
}

#[test]
fn deadlocks_are_found_by_who_closes_them() {
    let database = database();
    let (mut a, mut b, mut watcher) = (Client::new(&database), Client::new(&database), Client::new(&database));
    a.run("SELECT pg_advisory_lock(1)");
    b.run("BEGIN; SELECT pg_advisory_xact_lock(2)");
    let (a_process, b_process) = (a.session.key().0, b.session.key().0);
    let waiting = thread::spawn(move || a.run("SELECT pg_advisory_lock_shared(2)"));
    until_waits(&mut watcher, a_process, "advisory");
    let error = b.fails("SELECT pg_advisory_lock(1)");
    assert_eq!((error.code(), error.message()), ("40P01", "deadlock detected"));
    let detail = format!(
        "Process {b_process} waits for ExclusiveLock on advisory lock [5,0,1,1]; blocked by process {a_process}.\n\
         Process {a_process} waits for ShareLock on advisory lock [5,0,2,1]; blocked by process {b_process}."
    );
    assert_eq!(error.fields().detail.as_deref(), Some(&*detail));
    // Its block has failed and holds nothing.
    waiting.join().unwrap();
}

/// One has a row and waits for a lock, the other has the lock and waits for the row; whichever waits last.
#[test]
fn deadlocks_of_rows_and_locks_are_found() {
    for row_last in [true, false] {
        let database = database();
        let (mut a, mut b, mut watcher) = (Client::new(&database), Client::new(&database), Client::new(&database));
        watcher.run("CREATE TABLE t (id int PRIMARY KEY, x int); INSERT INTO t VALUES (1, 1)");
        a.run("BEGIN; UPDATE t SET x = 2 WHERE id = 1");
        b.run("SET lock_timeout = '1h'; BEGIN; SELECT pg_advisory_lock(1)");
        let (a_process, b_process) = (a.session.key().0, b.session.key().0);
        let update = "UPDATE t SET x = 3 WHERE id = 1";
        let lock = "SELECT pg_advisory_lock(1)";
        let (error, other) = if row_last {
            let waiting = thread::spawn(move || a.fails(lock));
            until_waits(&mut watcher, a_process, "advisory");
            b.run(update);
            (waiting.join().unwrap(), b_process)
        } else {
            let waiting = thread::spawn(move || b.run(update));
            until_waits(&mut watcher, b_process, "transactionid");
            let error = a.fails(lock);
            waiting.join().unwrap();
            (error, b_process)
        };
        assert_eq!(error.code(), "40P01");
        let detail = error.fields().detail.clone().unwrap();
        assert!(detail.contains(&format!("Process {other} waits for ShareLock on transaction")), "{detail}");
    }
}

#[test]
fn there_is_a_limit_on_locks() {
    let options = Options { advisory_locks: 10, ..Options::default() };
    let database: Arc<Database> = Database::open(store(), options).unwrap();
    let mut client = Client::new(&database);
    let error = client.fails("SELECT pg_advisory_lock(n) FROM generate_series(1, 11) n");
    assert_eq!((error.code(), error.message()), ("53200", "out of shared memory"));
    assert_eq!(client.show("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "10");
    client.run("SELECT pg_advisory_lock(1), pg_advisory_unlock_all(), pg_advisory_lock(11)");
}

/// The insert is younger than the row that it meets once it has the lock: it runs again. Both attempts have taken a lock.
#[test]
fn a_statement_that_is_repeated_takes_a_lock_once() {
    let database = database();
    let (mut owner, mut waiter) = (Client::new(&database), Client::new(&database));
    owner.run("CREATE TABLE t (id int PRIMARY KEY); SELECT pg_advisory_lock(6)");
    let process = waiter.session.key().0;
    let insert = "INSERT INTO t SELECT 1 WHERE pg_try_advisory_lock(5) AND pg_advisory_lock(6)::text = ''";
    let waiting = thread::spawn(move || {
        let error = waiter.fails(insert);
        (waiter, error)
    });
    until_waits(&mut owner, process, "advisory");
    owner.run("INSERT INTO t VALUES (1); SELECT pg_advisory_unlock(6)");
    let (mut waiter, error) = waiting.join().unwrap();
    assert_eq!(error.code(), "23505", "{error:?}");
    let unlock = "SELECT pg_advisory_unlock(5), pg_advisory_unlock(6)";
    assert_eq!((waiter.show(unlock), waiter.show(unlock)), ("t|t".into(), "f|f".into()));
}

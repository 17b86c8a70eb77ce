//! Statements that wait for other sessions: how they are ended, what is left of them, and what others see meanwhile.

mod common;

use common::{Client, database, database_twopl, database_with_versions, databases};
use seriatim_sql::SqlError;
use seriatim_sql::database::Database;
use std::sync::Arc;
use std::thread;

/// Two rows.
fn with_rows(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, x int); INSERT INTO t VALUES (1, 1), (2, 2)");
    client
}

/// Runs a statement that waits behind another session, and, once it is seen to wait, `meanwhile`; gives its error.
fn fails_behind(
    waiter: &mut Client,
    sql: &str,
    watcher: &mut Client,
    meanwhile: impl FnOnce(&mut Client, i32),
) -> SqlError {
    let process = waiter.session.key().0;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.fails(sql));
        until_waits(watcher, process);
        meanwhile(watcher, process);
        waiting.join().expect("no panic")
    })
}

/// Returns once a session is seen to wait for another one.
fn until_waits(watcher: &mut Client, process: i32) {
    let seen = format!("SELECT wait_event_type FROM pg_stat_activity WHERE pid = {process}");
    while watcher.show(&seen) != "Lock" {
        thread::yield_now();
    }
}

/// Cancelled, a statement in a block leaves a failed block, which a savepoint brings back.
#[test]
fn a_statement_that_waits_for_a_row_is_cancelled() {
    for database in databases() {
        let mut owner = with_rows(&database);
        owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
        let mut waiter = Client::new(&database);
        let cancel = |watcher: &mut Client, process: i32| {
            assert_eq!(watcher.show(&format!("SELECT pg_cancel_backend({process})")), "t");
        };
        let mut watcher = Client::new(&database);
        let error = fails_behind(&mut waiter, "UPDATE t SET x = 11 WHERE id = 1", &mut watcher, cancel);
        assert_eq!((error.code(), error.message()), ("57014", "canceling statement due to user request"));
        assert_eq!(waiter.show("SELECT 1"), "1", "the session lives on");
        owner.run("COMMIT");
        assert_eq!(waiter.show("SELECT x FROM t ORDER BY id"), "10\n2");
    }
}

/// Two-phase locking gives up the block: `a_block_ends_with_a_wait_for_a_lock`.
#[test]
fn a_cancelled_statement_leaves_its_savepoint() {
    let database = database_with_versions();
    let mut owner = with_rows(&database);
    owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
    let mut waiter = Client::new(&database);
    waiter.run("BEGIN; UPDATE t SET x = 20 WHERE id = 2; SAVEPOINT s");
    let cancel = |watcher: &mut Client, process: i32| {
        watcher.run(&format!("SELECT pg_cancel_backend({process})"));
    };
    let mut watcher = Client::new(&database);
    let error = fails_behind(&mut waiter, "UPDATE t SET x = 11 WHERE id = 1", &mut watcher, cancel);
    assert_eq!(error.code(), "57014");
    assert_eq!(waiter.fails("SELECT 1").code(), "25P02");
    waiter.run("ROLLBACK TO s; COMMIT");
    owner.run("COMMIT");
    assert_eq!(watcher.show("SELECT x FROM t ORDER BY id"), "10\n20");
}

/// Two-phase locking aborts the transaction whose wait ends without its lock. No savepoint brings it back; it holds nothing, and keeps
/// nothing.
#[test]
fn a_block_ends_with_a_wait_for_a_lock() {
    for (statement, code) in [
        ("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT", "55P03"),
        ("SET LOCAL lock_timeout = '1ms'; UPDATE t SET x = 11 WHERE id = 1", "55P03"),
        ("SET LOCAL statement_timeout = '1ms'; UPDATE t SET x = 11 WHERE id = 1", "57014"),
    ] {
        let database = database_twopl();
        let mut owner = with_rows(&database);
        owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
        let mut waiter = Client::new(&database);
        waiter.run("BEGIN; UPDATE t SET x = 20 WHERE id = 2; SAVEPOINT s");
        assert_eq!(waiter.fails(statement).code(), code, "{statement}");
        owner.run("UPDATE t SET x = 30 WHERE id = 2; COMMIT");
        assert_eq!(waiter.fails("ROLLBACK TO s").code(), code, "{statement}");
        assert_eq!(waiter.run("COMMIT").tags, ["ROLLBACK"], "{statement}");
        assert_eq!(waiter.show("SELECT x FROM t ORDER BY id"), "10\n30", "{statement}");
    }
}

/// A statement's time runs while it waits, too, and each statement of a text has its own.
#[test]
fn a_statement_that_waits_for_a_row_meets_its_timeout() {
    let database = database();
    let mut owner = with_rows(&database);
    owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
    let mut waiter = Client::new(&database);
    let error = waiter.fails("SET statement_timeout = '1ms'; UPDATE t SET x = 11 WHERE id = 1");
    assert_eq!((error.code(), error.message()), ("57014", "canceling statement due to statement timeout"));
    waiter.run("SET statement_timeout = 0; BEGIN; SELECT 1; SET lock_timeout = '1ms'");
    let error = waiter.fails("UPDATE t SET x = 11 WHERE id = 1");
    assert_eq!((error.code(), error.message()), ("55P03", "canceling statement due to lock timeout"));
    waiter.run("ROLLBACK");
    owner.run("COMMIT");
}

/// A session that is ended while its statement waits.
#[test]
fn a_statement_that_waits_for_a_row_is_terminated() {
    let database = database();
    let mut owner = with_rows(&database);
    owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
    let mut waiter = Client::new(&database);
    let terminate = |watcher: &mut Client, process: i32| {
        watcher.run(&format!("SELECT pg_terminate_backend({process})"));
    };
    let mut watcher = Client::new(&database);
    let error = fails_behind(&mut waiter, "UPDATE t SET x = 11 WHERE id = 1", &mut watcher, terminate);
    assert_eq!(error.code(), "57P01");
    owner.run("COMMIT");
}

/// As in PostgreSQL, a block that has failed holds nothing: others need not wait for its ROLLBACK.
#[test]
fn a_failed_block_gives_its_rows_up() {
    let database = database();
    let mut failed = with_rows(&database);
    failed.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
    assert_eq!(failed.fails("SELECT 1 / 0").code(), "22012");
    let mut other = Client::new(&database);
    other.run("SET lock_timeout = '1ms'; UPDATE t SET x = 11 WHERE id = 1");
    assert_eq!(failed.fails("SELECT 1").code(), "25P02");
    assert_eq!(failed.run("COMMIT").tags, ["ROLLBACK"]);
    assert_eq!(other.show("SELECT x FROM t ORDER BY id"), "11\n2");
}

/// NOWAIT: 55P03 at once, and the savepoint brings the block back.
#[test]
fn nowait_does_not_wait() {
    for database in databases() {
        let mut owner = with_rows(&database);
        owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
        let mut hasty = Client::new(&database);
        hasty.run("SET lock_timeout = '1h'; BEGIN");
        let error = hasty.fails("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT");
        assert_eq!((error.code(), error.message()), ("55P03", "could not obtain lock on row in relation \"t\""));
        assert_eq!(error.fields().table.as_deref(), Some("t"));
        hasty.run("ROLLBACK; BEGIN");
        assert_eq!(hasty.show("SELECT x FROM t WHERE id = 2 FOR UPDATE NOWAIT"), "2", "nobody has it");
        hasty.run("COMMIT");
        owner.run("COMMIT");
        assert_eq!(hasty.show("SELECT x FROM t WHERE id = 1 FOR UPDATE NOWAIT"), "10");
    }
}

/// A younger transaction has the row: no conflict for a block that does not wait, and its savepoint brings it back. Two-phase locking
/// gives up the block: `a_block_ends_with_a_wait_for_a_lock`.
#[test]
fn nowait_leaves_its_savepoint() {
    let database = database_with_versions();
    let mut hasty = with_rows(&database);
    hasty.run("BEGIN; SELECT 1 FROM t WHERE id = 2; SAVEPOINT s");
    let mut owner = Client::new(&database);
    owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
    assert_eq!(hasty.fails("SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT").code(), "55P03");
    hasty.run("ROLLBACK TO s; UPDATE t SET x = 20 WHERE id = 2; COMMIT");
    owner.run("ROLLBACK");
    assert_eq!(owner.show("SELECT x FROM t ORDER BY id"), "1\n20");
}

/// Rows that ORDER BY reads and LIMIT leaves out are not locked. OFFSET passes locked rows over, as in PostgreSQL. Two-phase locking
/// locks what it reads.
#[test]
fn limit_bounds_the_rows_that_are_locked() {
    for (query, locked, free) in [
        ("SELECT id FROM t ORDER BY x DESC LIMIT 1 FOR UPDATE", &[4][..], &[1, 2, 3][..]),
        ("SELECT id FROM t ORDER BY id LIMIT 2 FOR UPDATE", &[1, 2], &[3, 4]),
        ("SELECT id FROM t ORDER BY x + 0 LIMIT 1 OFFSET 1 FOR UPDATE", &[1, 2], &[3, 4]),
    ] {
        let database = database_with_versions();
        let mut owner = with_rows(&database);
        owner.run("INSERT INTO t VALUES (3, 3), (4, 4)");
        owner.run("BEGIN");
        owner.run(query);
        let mut hasty = Client::new(&database);
        for id in free {
            assert_eq!(hasty.show(&format!("SELECT id FROM t WHERE id = {id} FOR UPDATE NOWAIT")), id.to_string());
        }
        for id in locked {
            assert_eq!(hasty.fails(&format!("SELECT id FROM t WHERE id = {id} FOR UPDATE NOWAIT")).code(), "55P03");
        }
    }
}

#[test]
fn lock_table_nowait_does_not_wait() {
    let database = database();
    let mut owner = with_rows(&database);
    owner.run("BEGIN; LOCK TABLE t");
    let mut hasty = Client::new(&database);
    hasty.run("SET lock_timeout = '1h'; BEGIN");
    let error = hasty.fails("LOCK TABLE t NOWAIT");
    assert_eq!((error.code(), error.message()), ("55P03", "could not obtain lock on relation \"t\""));
    owner.run("ROLLBACK");
    hasty.run("ROLLBACK; BEGIN; LOCK TABLE t NOWAIT; COMMIT");
}

/// A, B behind A, C behind A or B: who waits for whom, as PostgreSQL shows it, and the query that everybody uses to find it.
#[test]
fn whoever_waits_can_be_seen() {
    let database = database();
    let mut owner = with_rows(&database);
    owner.run("BEGIN; UPDATE t SET x = 10 WHERE id = 1");
    let (mut second, mut third, mut watcher) = (Client::new(&database), Client::new(&database), Client::new(&database));
    let [first, behind, last] = [&owner, &second, &third].map(|client| client.session.key().0);
    second.run("BEGIN; UPDATE t SET x = 20 WHERE id = 2");
    third.run("SET lock_timeout = '1h'");
    thread::scope(|scope| {
        let waits = scope.spawn(|| second.run("UPDATE t SET x = 11 WHERE id = 1; COMMIT"));
        until_waits(&mut watcher, behind);
        let waits_too = scope.spawn(|| third.run("UPDATE t SET x = x + 1 WHERE id = 2"));
        until_waits(&mut watcher, last);
        assert_eq!(watcher.show(&format!("SELECT pg_blocking_pids({first})")), "{}");
        assert_eq!(watcher.show(&format!("SELECT pg_blocking_pids({behind})")), format!("{{{first}}}"));
        assert_eq!(watcher.show(&format!("SELECT pg_blocking_pids({last})")), format!("{{{behind}}}"));
        let seen = "SELECT state, wait_event_type, wait_event, xact_start IS NOT NULL, query \
            FROM pg_stat_activity WHERE pid = ";
        assert_eq!(
            watcher.show(&format!("{seen}{first}")),
            "idle in transaction|Client|ClientRead|t|BEGIN; UPDATE t SET x = 10 WHERE id = 1"
        );
        assert_eq!(
            watcher.show(&format!("{seen}{last}")),
            "active|Lock|transactionid|t|UPDATE t SET x = x + 1 WHERE id = 2"
        );
        let held = "SELECT locktype, relation::regclass, mode, granted FROM pg_locks \
            WHERE pid = {} AND locktype <> 'virtualxid' ORDER BY granted, locktype";
        let held = |process: i32| held.replace("{}", &process.to_string());
        assert_eq!(watcher.show(&held(first)), "relation|t|RowExclusiveLock|t\ntransactionid||ExclusiveLock|t");
        assert_eq!(
            watcher.show(&held(behind)),
            "transactionid||ShareLock|f\nrelation|t|RowExclusiveLock|t\ntransactionid||ExclusiveLock|t\ntuple|t|ExclusiveLock|t"
        );
        let blocked = "SELECT blocked.pid, blocking.pid FROM pg_locks blocked JOIN pg_locks blocking \
            ON blocking.locktype = blocked.locktype AND blocking.transactionid = blocked.transactionid \
            AND blocking.pid <> blocked.pid WHERE NOT blocked.granted AND blocking.granted ORDER BY 1";
        assert_eq!(watcher.show(blocked), format!("{behind}|{first}\n{last}|{behind}"));
        owner.run("COMMIT");
        waits.join().expect("no panic");
        waits_too.join().expect("no panic");
    });
    assert_eq!(watcher.show("SELECT x FROM t ORDER BY id"), "11\n21");
    let rest = "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid()";
    assert_eq!(watcher.show(rest), "0", "what has ended holds nothing");
}

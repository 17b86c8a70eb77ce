//! Deferrable keys with several sessions. Answers and messages are compared with PostgreSQL's in the script `deferrable.sql`.

mod common;

use common::{Client, databases};
use std::thread;

const SESSIONS: i64 = 4;
const ROUNDS: i64 = 40;

/// Sessions swap and insert values of a few: whatever commits, no two rows agree.
#[test]
fn no_duplicate_commits() {
    for database in databases() {
        let mut first = Client::new(&database);
        first.run("CREATE TABLE t (id int PRIMARY KEY DEFERRABLE, u int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
        first.run("INSERT INTO t SELECT g, g FROM generate_series(1, 6) g");
        let sessions = (0..SESSIONS).map(|session| {
            let mut client = Client::new(&database);
            thread::spawn(move || (0..ROUNDS).filter(|round| change(&mut client, session * ROUNDS + round)).count())
        });
        let sessions: Vec<_> = sessions.collect();
        let committed: usize = sessions.into_iter().map(|session| session.join().unwrap()).sum();
        assert!(committed > 0);
        let agreeing = "SELECT count(*) - count(DISTINCT id), count(u) - count(DISTINCT u) FROM t";
        assert_eq!(first.show(agreeing), "0|0");
    }
}

/// One block: whether it committed.
fn change(client: &mut Client, number: i64) -> bool {
    let (one, two) = (number % 6 + 1, number * 7 % 5 + 1);
    let block = match number % 4 {
        0 => format!("INSERT INTO t VALUES ({}, {one}); DELETE FROM t WHERE u = {one} AND id < 7", number + 7),
        1 => format!("INSERT INTO t VALUES ({}, {two})", number + 7),
        2 => "UPDATE t SET id = id + 1 WHERE id < 7".to_owned(),
        _ => format!("UPDATE t SET u = CASE u WHEN {one} THEN {two} ELSE {one} END WHERE u IN ({one}, {two})"),
    };
    match client.try_run(&format!("BEGIN; {block}; COMMIT")) {
        Ok(_) => true,
        Err(error) => {
            assert!(matches!(error.code(), "40001" | "23505"), "{block}: {error:?}");
            let _ = client.try_run("ROLLBACK");
            false
        }
    }
}

/// What was taken back with a savepoint is not checked, and what waits for COMMIT has a limit of memory.
#[test]
fn only_rows_that_agree_wait_for_their_check() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("CREATE TABLE t (u int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
        // Nothing waits: no two rows agree.
        client.run("BEGIN; INSERT INTO t SELECT g FROM generate_series(1, 1000) g");
        client.run("SAVEPOINT s; INSERT INTO t VALUES (7); ROLLBACK TO s; COMMIT");
        let error = client.fails("BEGIN; INSERT INTO t VALUES (7); SELECT 1; COMMIT");
        assert_eq!(error.code(), "23505");
        assert_eq!(client.show("SELECT count(*) FROM t"), "1000");
    }
}

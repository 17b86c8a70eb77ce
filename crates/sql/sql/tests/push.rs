//! Readers beside transactions that stay open, as the clients of both see it: nobody fails, nobody waits for somebody who thinks.
//! Every session gives up waiting after a millisecond, so what answers here has not waited.

mod common;

use common::{Answer, Client, Subject, open, subject};
use seriatim_sql::database::Database;
use seriatim_sql::session::Outcome;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use testing::Engine;

/// A session that does not wait.
fn impatient(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.run("SET lock_timeout = '1ms'");
    client
}

/// The engines with versions. Two-phase locking has none: its readers wait for writers.
fn engines() -> [Subject; 2] {
    [Engine::Mvto, Engine::Hyper].map(subject)
}

fn accounts(subject: Subject, rows: u32) -> Arc<Database> {
    let database = open(subject.store);
    let mut client = Client::new(&database);
    client.run("CREATE TABLE accounts (id int PRIMARY KEY, owner text UNIQUE, balance int)");
    client.run(&format!("INSERT INTO accounts SELECT g, 'owner ' || g, 100 FROM generate_series(1, {rows}) g"));
    database
}

/// All the ways to read, beside a block that has changed a row and whose client thinks.
#[test]
fn reads_answer_beside_a_block_that_has_written() {
    for subject in engines() {
        let database = accounts(subject, 3);
        let (mut idle, mut reader) = (Client::new(&database), impatient(&database));
        idle.run("BEGIN; UPDATE accounts SET balance = 0 WHERE id = 1; DELETE FROM accounts WHERE id = 2");
        idle.run("INSERT INTO accounts VALUES (9, 'owner 9', 100)");
        let unchanged = |reader: &mut Client| {
            assert_eq!(reader.show("SELECT balance FROM accounts WHERE id = 1"), "100");
            assert_eq!(reader.show("SELECT id FROM accounts WHERE owner = 'owner 2'"), "2");
            assert_eq!(reader.show("SELECT count(*), sum(balance) FROM accounts"), "3|300");
            assert_eq!(reader.show("SELECT id FROM accounts WHERE id = 9"), "");
            assert_eq!(reader.run("COPY accounts TO STDOUT").rows.len(), 3);
        };
        unchanged(&mut reader);
        for begin in ["BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN READ ONLY"] {
            reader.run(begin);
            unchanged(&mut reader);
            reader.run("DECLARE c CURSOR FOR SELECT id FROM accounts");
            assert_eq!(reader.run("FETCH ALL FROM c").rows.len(), 3);
            reader.run("COMMIT");
        }
        // What is read for another table, too.
        reader.run("CREATE TABLE copies AS SELECT * FROM accounts");
        reader.run("INSERT INTO copies SELECT id + 10, owner, balance FROM accounts");
        assert_eq!(reader.show("SELECT count(*), sum(balance) FROM copies"), "6|600");
        idle.run("COMMIT");
        assert_eq!(reader.show("SELECT count(*), sum(balance) FROM accounts"), "3|200");
    }
}

/// Who wants to write what the idle block has written still waits, and is told for whom.
#[test]
fn writes_wait_beside_a_block_that_has_written() {
    for subject in engines() {
        let database = accounts(subject, 3);
        let (mut idle, mut writer) = (Client::new(&database), impatient(&database));
        idle.run("BEGIN; UPDATE accounts SET balance = 0 WHERE id = 1");
        for statement in
            ["UPDATE accounts SET balance = 1 WHERE id = 1", "SELECT * FROM accounts WHERE id = 1 FOR UPDATE"]
        {
            assert_eq!(writer.fails(statement).code(), "55P03", "{statement}");
        }
        writer.run("UPDATE accounts SET balance = 2 WHERE id = 2");
        idle.run("COMMIT");
        writer.run("UPDATE accounts SET balance = balance + 1 WHERE id = 1");
        assert_eq!(writer.show("SELECT balance FROM accounts ORDER BY id"), "1\n2\n100");
    }
}

/// Two blocks that read what the other writes: one commits, and the other is told what it has read that has changed.
#[test]
fn blocks_that_read_what_the_other_writes_do_not_both_commit() {
    for subject in engines() {
        let rule = if subject.name == "hyper" { "predicate-met" } else { "refresh-failed" };
        let database = accounts(subject, 2);
        let (mut one, mut two) = (impatient(&database), impatient(&database));
        for client in [&mut one, &mut two] {
            client.run("BEGIN");
            assert_eq!(client.show("SELECT sum(balance) FROM accounts"), "200");
        }
        one.run("UPDATE accounts SET balance = balance - 150 WHERE id = 1");
        two.run("UPDATE accounts SET balance = balance - 150 WHERE id = 2");
        one.run("COMMIT");
        let error = two.fails("COMMIT");
        assert_eq!(error.code(), "40001");
        let detail = error.fields().detail.clone().unwrap_or_default();
        assert!(detail.contains(rule) && detail.contains("key (id)=(1)"), "{detail}");
        assert_eq!(two.show("SELECT sum(balance) FROM accounts"), "50");
    }
}

/// A load in one transaction, in pieces, and somebody who counts in between: both go on, and the load commits.
#[test]
fn a_load_and_counts_do_not_starve_each_other() {
    for subject in engines() {
        let database = accounts(subject, 10);
        let (mut load, mut reader) = (impatient(&database), impatient(&database));
        load.run("BEGIN");
        for round in 0..10 {
            let from = 1_000 * (round + 1);
            load.run(&format!(
                "INSERT INTO accounts SELECT g, 'owner ' || g, 1 FROM generate_series({from}, {from} + 99) g"
            ));
            assert_eq!(reader.show("SELECT count(*) FROM accounts"), "10");
        }
        load.run("COMMIT");
        assert_eq!(reader.show("SELECT count(*) FROM accounts"), "1010");
        // COPY: counted between any two pieces of its data.
        let mut answer = Answer::default();
        let copy = load.session.simple("COPY accounts FROM STDIN", &mut answer).expect("it may begin");
        assert!(matches!(copy, Outcome::CopyIn { .. }));
        for row in 0..200 {
            let line = format!("{}\tcopied {row}\t1\n", 500 + row % 2 * 100_000 + row);
            load.session.copy_data(line.as_bytes()).expect("a count is no obstacle");
            if row % 20 == 0 {
                assert_eq!(reader.show("SELECT count(*), max(id) < 100000 FROM accounts"), "1010|t");
            }
        }
        load.session.copy_done(&mut answer).expect("a count is no obstacle");
        assert_eq!(reader.show("SELECT count(*) FROM accounts"), "1210");
    }
}

/// The same at full speed: statements that load many rows at once, and counts that never stop.
#[test]
fn loads_and_counts_that_never_stop_both_go_on() {
    const LOADS: u64 = 20;
    const ROWS: u64 = 500;
    for subject in engines() {
        let database = accounts(subject, 0);
        let loading = Arc::new(AtomicBool::new(true));
        let counter = thread::spawn({
            let (database, loading) = (database.clone(), loading.clone());
            move || {
                let mut client = Client::new(&database);
                let (mut last, mut counts) = (0, 0);
                while loading.load(Ordering::Relaxed) || counts < 10 {
                    let count: u64 = client.show("SELECT count(*) FROM accounts").parse().expect("a number");
                    assert!(count >= last && count.is_multiple_of(ROWS), "{count} after {last}");
                    (last, counts) = (count, counts + 1);
                }
            }
        });
        let mut client = Client::new(&database);
        for load in 0..LOADS {
            let (from, to) = (load * ROWS, (load + 1) * ROWS - 1);
            client
                .run(&format!("INSERT INTO accounts SELECT g, 'owner ' || g, 1 FROM generate_series({from}, {to}) g"));
        }
        loading.store(false, Ordering::Relaxed);
        counter.join().expect("no count fails");
        assert_eq!(client.show("SELECT count(*) FROM accounts"), (LOADS * ROWS).to_string());
    }
}

/// A migration in a block, on a table that is read all the time: its timestamp is older than the readers', who have read the
/// table's definition by the time it changes it.
#[test]
fn a_definition_changes_in_a_block_under_readers() {
    for subject in engines() {
        let database = accounts(subject, 3);
        let (mut migration, mut reader) = (impatient(&database), impatient(&database));
        migration.run("CREATE TABLE migrations (id int); INSERT INTO migrations VALUES (1)");
        for (statement, columns) in [
            ("ALTER TABLE accounts ADD COLUMN c int", 4),
            ("ALTER TABLE accounts ADD COLUMN d int NOT NULL DEFAULT 7", 5),
            ("CREATE INDEX by_balance ON accounts (balance)", 5),
            ("ALTER TABLE accounts DROP COLUMN c", 4),
            ("ALTER TABLE accounts RENAME COLUMN d TO e", 4),
        ] {
            migration.run("BEGIN");
            assert_eq!(migration.show("SELECT 1 FROM migrations"), "1");
            reader.run("SELECT * FROM accounts");
            migration.run(statement);
            reader.run("SELECT * FROM accounts");
            reader.run("BEGIN; SELECT * FROM accounts; SELECT balance FROM accounts WHERE id = 2; COMMIT");
            migration.run("UPDATE migrations SET id = 1");
            reader.run("SELECT * FROM accounts");
            migration.run("COMMIT");
            assert_eq!(reader.run("SELECT * FROM accounts").columns.len(), columns, "{statement}");
        }
    }
}

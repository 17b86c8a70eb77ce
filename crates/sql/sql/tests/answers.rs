//! Every answer of a session rests on what is durable, whatever kind of answer it is. One session commits without waiting for the
//! disk; another one is told something that it could not know without that row; the power goes, and only what was synced is left.

mod common;

use common::{Answer, Client, store_of_one_thread};
use env::disk::Fault;
use env::{Operation, SimDisk, SimDiskOptions, Survival};
use seriatim_sql::database::Database;
use seriatim_sql::session::{Format, Sink};
use seriatim_sql::types::{Datum, Encoding};
use seriatim_sql::{Result, SqlError};
use std::sync::Arc;

fn reopen(disk: &SimDisk) -> Arc<Database> {
    Database::open(store_of_one_thread(disk).expect("a healthy disk"), Default::default()).expect("a database")
}

/// A database, and a session of it, in which `stock` has a row 7 that is visible and not durable.
fn with_undurable_row() -> (SimDisk, Arc<Database>, Client) {
    let disk = SimDisk::new(3, SimDiskOptions::default());
    let database = reopen(&disk);
    let mut client = Client::new(&database);
    client.run("CREATE TABLE stock (id int PRIMARY KEY, amount int NOT NULL)");
    let mut first = Client::new(&database);
    first.run("SET synchronous_commit = off");
    first.run("INSERT INTO stock VALUES (7, 0)");
    assert!(!survives(&disk), "nobody has waited for it");
    (disk, database, client)
}

/// Returns whether the row is there after a power cut that leaves only what was synced.
fn survives(disk: &SimDisk) -> bool {
    let database = reopen(&disk.power_cut_with(Survival::SyncedOnly));
    Client::new(&database).show("SELECT count(*) FROM stock WHERE id = 7") == "1"
}

/// Runs `before`, whose answers are nobody's business, and then `sql`, which is answered with this code.
#[track_caller]
fn is_withheld(before: &[&str], sql: &str, code: &str) {
    let (disk, database, mut client) = with_undurable_row();
    for statement in before {
        // Not through `Client::run`: that would wait for what its answer rests on.
        let outcome = client.session.simple(statement, &mut Answer::default());
        assert!(outcome.is_ok(), "{statement}: {outcome:?}");
    }
    assert!(!survives(&disk), "{sql}: it is durable too early");
    let reported = client.try_run(sql).map_or_else(|error| error.code().to_owned(), |_| "00000".to_owned());
    assert_eq!(reported, code, "{sql}");
    assert!(survives(&disk), "{sql}: the answer rests on a row that a power cut takes away");
    drop((client, database));
}

#[test]
fn errors_of_single_statements() {
    is_withheld(&[], "INSERT INTO stock VALUES (7, 1)", "23505");
    is_withheld(&[], "SELECT 1 / amount FROM stock WHERE id = 7", "22012");
    is_withheld(&[], "UPDATE stock SET amount = NULL WHERE id = 7", "23502");
    is_withheld(&[], "SELECT 1; SELECT 1 / (SELECT amount FROM stock)", "22012");
}

#[test]
fn errors_in_a_block() {
    is_withheld(&["BEGIN"], "INSERT INTO stock VALUES (7, 1)", "23505");
    is_withheld(&["BEGIN", "SAVEPOINT a"], "SELECT 1 / amount FROM stock", "22012");
    is_withheld(&["BEGIN", "SELECT amount FROM stock"], "SELECT 1 / 0", "22012");
}

#[test]
fn the_end_of_a_block() {
    is_withheld(&["BEGIN", "SELECT amount FROM stock"], "ROLLBACK", "00000");
    is_withheld(&["BEGIN", "SELECT amount FROM stock"], "COMMIT", "00000");
    is_withheld(&["BEGIN", "SAVEPOINT a", "SELECT amount FROM stock"], "ROLLBACK TO a", "00000");
    is_withheld(&["BEGIN READ ONLY", "SELECT amount FROM stock"], "ROLLBACK", "00000");
}

#[test]
fn rows_and_counts_of_an_open_block() {
    for sql in [
        "SELECT amount FROM stock",
        "SELECT count(*) FROM stock WHERE id = 7",
        "UPDATE stock SET amount = 1 WHERE id = 7",
        "UPDATE stock SET amount = 1 WHERE id = 7 RETURNING id",
        "DELETE FROM stock WHERE id = 7",
        "INSERT INTO stock VALUES (7, 1) ON CONFLICT DO NOTHING",
        "EXPLAIN ANALYZE SELECT * FROM stock",
        "COPY stock TO STDOUT",
        "CREATE TABLE copied AS SELECT * FROM stock",
    ] {
        is_withheld(&["BEGIN"], sql, "00000");
    }
    is_withheld(&["BEGIN", "DECLARE c CURSOR FOR SELECT * FROM stock"], "FETCH c", "00000");
    is_withheld(&["BEGIN", "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM stock", "COMMIT"], "FETCH c", "00000");
}

/// A row that is not there is an answer, too.
#[test]
fn a_row_that_was_deleted() {
    let (disk, database, mut client) = with_undurable_row();
    client.run("SELECT * FROM stock");
    assert!(survives(&disk));
    let mut first = Client::new(&database);
    first.run("SET synchronous_commit = off");
    first.run("DELETE FROM stock");
    assert!(survives(&disk), "nobody has waited for the delete");
    client.run("BEGIN");
    assert_eq!(client.show("SELECT count(*) FROM stock"), "0");
    assert!(!survives(&disk), "the answer rests on the delete");
}

/// Parse, Bind and Execute outside a block, and then Sync after the error.
#[test]
fn errors_of_the_extended_protocol() {
    let (disk, _database, mut client) = with_undurable_row();
    let session = &mut client.session;
    session.parse("", "SELECT 1 / amount FROM stock WHERE id = $1", &[]).unwrap();
    session.bind("", "", &[(Format::Text, Some(b"7"))], Encoding::Utf8).unwrap();
    let refused = session.execute("", 0, true, &mut Answer::default()).unwrap_err();
    assert_eq!(refused.code(), "22012");
    session.sync(true).unwrap();
    assert!(!survives(&disk));
    assert_eq!(session.once_durable(Err::<(), _>(refused)).unwrap_err().code(), "22012");
    assert!(survives(&disk));
}

/// A client who asked not to wait does not.
#[test]
fn sessions_without_synchronous_commit_do_not_wait() {
    let (disk, _database, mut client) = with_undurable_row();
    client.run("SET synchronous_commit = off");
    assert_eq!(client.fails("INSERT INTO stock VALUES (7, 1)").code(), "23505");
    assert_eq!(client.show("SELECT amount FROM stock"), "0");
    assert!(!survives(&disk));
}

/// A sink that is full after each row, and looks what is durable when it lets it go.
struct Narrow<'a>(&'a SimDisk, usize);

impl Sink for Narrow<'_> {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        Ok(())
    }
    fn is_full(&self) -> bool {
        true
    }
    fn leave(&mut self) -> Result<()> {
        assert!(survives(self.0), "a row leaves before what it rests on is durable");
        self.1 += 1;
        Ok(())
    }
    fn restart(&mut self) -> bool {
        false
    }
}

/// Rows of a long answer leave before their statement is done.
#[test]
fn rows_that_leave_early() {
    for sql in [
        "SELECT * FROM stock",
        "SELECT amount FROM stock; SELECT 1",
        "UPDATE stock SET amount = 1 RETURNING amount",
        "SELECT 'stock'::regclass, amount FROM stock",
        "COPY stock TO STDOUT",
    ] {
        let (disk, _database, mut client) = with_undurable_row();
        let mut sink = Narrow(&disk, 0);
        client.session.simple(sql, &mut sink).unwrap();
        assert!(sink.1 > 0, "{sql}: nothing has left");
    }
}

/// Answers of statements before it leave together with the rows of a long one.
#[test]
fn answers_that_leave_with_the_rows_of_the_next_statement() {
    let (disk, _database, mut client) = with_undurable_row();
    // Its answer is not waited for yet, as in a pipeline.
    client.session.simple("UPDATE stock SET amount = 1 WHERE id = 7", &mut Answer::default()).unwrap();
    assert!(!survives(&disk));
    let mut sink = Narrow(&disk, 0);
    client.session.simple("VALUES (1)", &mut sink).unwrap();
    assert_eq!(sink.1, 1);
}

/// When the wait fails, nothing has left.
#[test]
fn rows_that_may_be_lost_do_not_leave() {
    let (disk, _database, mut client) = with_undurable_row();
    disk.inject(Fault { operation: Operation::Sync, after: 0, kind: std::io::ErrorKind::Other });
    client.session.simple("BEGIN", &mut Answer::default()).unwrap();
    let mut sink = Narrow(&disk, 0);
    let refused = client.session.simple("SELECT * FROM stock", &mut sink).unwrap_err();
    assert_eq!((refused.code(), sink.1), ("08007", 0));
    assert_eq!(client.fails("ROLLBACK").code(), "08007", "it may be lost still");
}

/// A sink that is full with so many messages, and keeps the most that it has held.
#[derive(Default)]
struct Counting {
    held: usize,
    most: usize,
}

impl Counting {
    const FULL: usize = 500;

    fn take(&mut self) {
        self.held += 1;
        self.most = self.most.max(self.held);
    }
}

impl Sink for Counting {
    fn row(&mut self, _: &[Datum]) -> Result<()> {
        self.take();
        Ok(())
    }
    fn complete(&mut self, _: &str) {
        self.take();
    }
    fn notice(&mut self, _: &'static str, _: &SqlError) {
        self.take();
    }
    fn is_full(&self) -> bool {
        self.held >= Counting::FULL
    }
    fn leave(&mut self) -> Result<()> {
        self.held = 0;
        Ok(())
    }
    fn restart(&mut self) -> bool {
        false
    }
}

/// A short text may be answered with many times its length.
#[test]
fn answers_of_many_statements_do_not_gather() {
    let mut client = Client::new(&common::database());
    client.run("BEGIN");
    for sql in ["SHOW ALL;", "EXPLAIN SELECT 1;", "BEGIN;", "SELECT 1;"] {
        let mut sink = Counting::default();
        client.session.simple(&sql.repeat(1200), &mut sink).unwrap();
        assert!(sink.most <= Counting::FULL + 2, "{sql}: {} at once", sink.most);
    }
    let mut sink = Counting::default();
    client.session.parse("s", "SHOW ALL", &[]).unwrap();
    for _ in 0..50 {
        client.session.bind("", "s", &[], Encoding::Utf8).unwrap();
        client.session.execute("", 0, false, &mut sink).unwrap();
    }
    assert!(sink.most <= Counting::FULL + 2, "{} at once", sink.most);
}

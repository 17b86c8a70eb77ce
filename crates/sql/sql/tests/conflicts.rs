//! What is said of conflicts: what a transaction has read, how another one has changed it, and who keeps versions of what.

mod common;

use common::{Client, database_hyper, databases};
use seriatim_sql::database::Database;
use std::sync::Arc;

fn clients(database: &Arc<Database>) -> (Client, Client) {
    let (mut a, b) = (Client::new(database), Client::new(database));
    a.run("CREATE TABLE t (id int PRIMARY KEY, name text, x int); CREATE TABLE u (id serial PRIMARY KEY)");
    a.run("INSERT INTO t SELECT i, 'n' || i, i FROM generate_series(1, 9) i");
    (a, b)
}

/// The detail of a block that reads, while another one writes.
fn detail_of(a: &mut Client, b: &mut Client, read: &str, write: &str) -> String {
    a.run("BEGIN");
    a.run(read);
    a.run("INSERT INTO u DEFAULT VALUES");
    b.run(write);
    let error = a.fails("COMMIT");
    assert_eq!(error.code(), "40001", "{error:?}");
    error.fields().detail.clone().expect("a conflict has a detail")
}

#[test]
fn a_conflict_shows_what_was_read_and_how_it_was_changed() {
    let (mut a, mut b) = clients(&database_hyper());
    for (read, write, expected) in [
        (
            "SELECT sum(id) FROM t WHERE x > 7",
            "UPDATE t SET x = 70 WHERE id = 2",
            ["table \"t\", key (id)=(2): updated, x from 2 to 70; read as ", " where x > 7; other transaction "],
        ),
        (
            "SELECT x FROM t WHERE id = 5",
            "UPDATE t SET x = -1 WHERE id = 5",
            ["key (id)=(5): updated, x from 5 to -1; ", "read as key (id)=(5); other"],
        ),
        (
            "SELECT count(*) FROM t WHERE name = 'n3' OR name IS NULL",
            "DELETE FROM t WHERE id = 3",
            [
                "key (id)=(3): deleted, name = 'n3', id = 3, x = 3; read as ",
                " where (name = 'n3' OR name IS NULL); other",
            ],
        ),
        (
            "SELECT x FROM t WHERE id BETWEEN 20 AND 30",
            "INSERT INTO t VALUES (25, NULL, 1)",
            [
                "key (id)=(25): inserted, id = 25, name = NULL, x = 1; ",
                "read as the range from key (id)=(20) to key (id)=(31) (excluded)",
            ],
        ),
    ] {
        let detail = detail_of(&mut a, &mut b, read, write);
        assert!(detail.starts_with("Rule predicate-met: "), "{detail}");
        for part in expected {
            assert!(detail.contains(part), "{read}: {write}: {detail}\nhas no {part}");
        }
    }
    let sides = "SELECT pid > 0, other <> transaction, schemaname, relname, written, change, read, repeated, query \
                 FROM seriatim_aborts WHERE rule = 'predicate-met' ORDER BY at DESC, length(transaction) DESC, transaction DESC LIMIT 1";
    assert_eq!(
        b.show(sides),
        "t|t|public|t|key (id)=(25)|inserted, id = 25, name = NULL, x = 1|the range from key (id)=(20) to key (id)=(31) (excluded)|f|COMMIT"
    );
    assert_eq!(b.show("SELECT count(*) FROM seriatim_aborts WHERE rule = 'predicate-met'"), "4");
}

/// Conflicts between writes name the row, and other databases' conflicts are not shown.
#[test]
fn conflicts_of_every_engine_are_listed() {
    for database in databases() {
        let (mut a, mut b) = clients(&database);
        a.run("BEGIN; SELECT x FROM t WHERE id = 1");
        b.run("BEGIN; SELECT x FROM t WHERE id = 2; SET lock_timeout = 100");
        a.run("UPDATE t SET x = 0 WHERE id = 1");
        let held = b.fails("UPDATE t SET x = 0 WHERE id = 1");
        assert!(["55P03", "40001"].contains(&held.code()), "{held:?}");
        b.run("ROLLBACK");
        a.run("COMMIT");
        let listed = "SELECT relname, other IS NOT NULL, query FROM seriatim_aborts";
        assert_eq!(a.show(listed), "t|t|UPDATE t SET x = 0 WHERE id = 1");
    }
}

#[test]
fn whoever_keeps_versions_is_shown() {
    let database = database_hyper();
    let (mut a, mut b) = clients(&database);
    let mut reader = Client::new(&database);
    reader.run("BEGIN READ ONLY; SELECT count(*) FROM t");
    a.run("UPDATE t SET x = x + 1 WHERE id <= 5");
    let pid = reader.show("SELECT pg_backend_pid()");
    let shown = format!(
        "SELECT read_only, versions, age >= '0' AND age < '1 day', transaction <> '' FROM seriatim_transactions WHERE pid = {pid}"
    );
    assert_eq!(b.show(&shown), "t|5|t|t");
    assert_eq!(b.show("SELECT schemaname, versions FROM seriatim_versions WHERE relname = 't'"), "public|5");
    reader.run("COMMIT");
    assert_eq!(b.show(&shown), "");
}

/// Engines that show no transactions of their own have those of sessions.
#[test]
fn every_engine_shows_open_transactions() {
    for database in databases() {
        let (mut a, mut b) = clients(&database);
        a.run("BEGIN; SELECT x FROM t WHERE id = 1");
        let pid = a.show("SELECT pg_backend_pid()");
        let shown = format!("SELECT count(*) FROM seriatim_transactions WHERE pid = {pid}");
        assert_eq!(b.show(&shown), "1");
        a.run("COMMIT");
        assert_eq!(b.show(&shown), "0");
    }
}

//! MERGE: how sessions that merge at the same time meet, and what its search rests on. Answers and messages are compared with
//! PostgreSQL's in the script `merge.sql`.

mod common;

use common::{Client, database, databases};
use std::thread;

const UPSERT: &str = "MERGE INTO t USING (VALUES (1)) v(id) ON t.id = v.id WHEN MATCHED THEN UPDATE SET n = t.n + 1 \
                      WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, 1)";

/// A row that was not found counts as read: of two transactions that found none, one inserts it.
#[test]
fn what_was_not_found_was_read() {
    for database in databases() {
        let (mut a, mut b) = (Client::new(&database), Client::new(&database));
        a.run("CREATE TABLE t (id int, n int); CREATE TABLE noted (found int)");
        a.run("CREATE INDEX ON t (id)");
        b.run("BEGIN; SELECT 1");
        a.run("BEGIN; INSERT INTO noted SELECT count(*) FROM t WHERE id = 1");
        let other = thread::spawn(move || {
            let merged = b
                .try_run(UPSERT)
                .and_then(|_| b.try_run("INSERT INTO noted SELECT count(*) FROM t WHERE id = 1; COMMIT"));
            merged.map(|_| ()).map_err(|error| error.code().to_owned())
        });
        let merged = a.try_run(UPSERT).and_then(|_| a.try_run("COMMIT")).map(|_| ());
        let other = other.join().unwrap();
        let committed = usize::from(merged.is_ok()) + usize::from(other.is_ok());
        let mut after = Client::new(&database);
        assert!(committed >= 1, "{merged:?} {other:?}");
        assert_eq!(after.show("SELECT count(*), sum(n) FROM t"), format!("1|{committed}"), "{merged:?} {other:?}");
    }
}

/// Each MERGE that succeeded has added one, by its first row or by an update.
#[test]
fn sessions_that_merge_one_row_count_each_time() {
    let database = database();
    Client::new(&database).run("CREATE TABLE t (id int PRIMARY KEY, n int)");
    let threads = (0..4).map(|_| {
        let mut client = Client::new(&database);
        thread::spawn(move || {
            let merge = |client: &mut Client| match client.try_run(UPSERT) {
                Ok(answer) => {
                    assert_eq!(answer.tags, ["MERGE 1"]);
                    1
                }
                Err(error) => {
                    assert!(matches!(error.code(), "40001" | "23505"), "{error:?}");
                    0
                }
            };
            (0..50).map(|_| merge(&mut client)).sum::<i64>()
        })
    });
    let succeeded: i64 = threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(succeeded > 0);
    assert_eq!(Client::new(&database).show("SELECT n FROM t"), succeeded.to_string());
}

/// A MERGE that finds its rows by the key reads those alone, and one without NOT MATCHED joins nothing else.
#[test]
fn rows_are_found_by_an_index() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g");
    let plan = client.show(&format!("EXPLAIN (COSTS OFF) {UPSERT}"));
    assert!(plan.contains("Merge on t") && plan.contains("using t_pkey"), "{plan}");
    client.run("BEGIN");
    client.run(UPSERT);
    let mut other = Client::new(&database);
    other.run("UPDATE t SET n = 0 WHERE id = 2");
    client.run("COMMIT");
    assert_eq!(other.show("SELECT n FROM t WHERE id < 3 ORDER BY id"), "2\n0");
}

/// A part of WITH that writes comes before it, and a row changes once.
#[test]
fn parts_of_with_write_too() {
    let mut client = Client::new(&database());
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, n int); CREATE TABLE moved (id int, n int); INSERT INTO t VALUES (1, 1)",
    );
    client.run("INSERT INTO moved VALUES (1, 10), (2, 20)");
    let merge = "WITH gone AS (DELETE FROM moved RETURNING *) MERGE INTO t USING gone ON t.id = gone.id \
                 WHEN MATCHED THEN UPDATE SET n = gone.n WHEN NOT MATCHED THEN INSERT VALUES (gone.id, gone.n)";
    assert_eq!(client.run(merge).tags, ["MERGE 2"]);
    assert_eq!(client.show("SELECT * FROM t ORDER BY id"), "1|10\n2|20");
    assert_eq!(client.show("SELECT count(*) FROM moved"), "0");
    let error = client.fails("WITH m AS (MERGE INTO t USING moved ON true WHEN MATCHED THEN DELETE) SELECT 1");
    assert_eq!(error.code(), "0A000", "{error:?}");
}

//! Statements about many more rows than the memory of a statement holds, and what they must not do for it: see their own
//! writes, or forget the order that was asked for.

mod common;

use common::{Client, database, database_twopl};

/// A table of `rows` rows and an index, and a session with next to no memory.
fn client(rows: u32) -> Vec<Client> {
    let clients = [database(), database_twopl()].map(|database| {
        let mut client = Client::new(&database);
        client.run("CREATE TABLE t (id int PRIMARY KEY, x int, note text); CREATE INDEX t_x ON t (x)");
        client.run(&format!("INSERT INTO t SELECT i, i % 1000, 'row ' || i FROM generate_series(1, {rows}) i"));
        client.run("SET work_mem = '64kB'");
        client
    });
    clients.into()
}

#[test]
fn a_series_takes_no_memory() {
    let mut client = Client::new(&database());
    client.run("SET work_mem = '64kB'");
    for (query, expected) in [
        ("SELECT count(*), sum(i) FROM generate_series(1, 200000) i", "200000|20000100000"),
        ("SELECT count(*) FROM generate_series(1::numeric, 20000)", "20000"),
        ("SELECT count(*) FROM generate_series('2000-01-01'::timestamp, '2010-01-01', '1 hour')", "87673"),
        ("SELECT count(*) FROM (SELECT generate_series(1, 200000)) s", "200000"),
        ("SELECT max(o), max(i) FROM generate_series(11, 100010) WITH ORDINALITY s(i, o)", "100000|100010"),
        (
            "SELECT count(*), count(a), count(b) FROM ROWS FROM (generate_series(1, 20000), generate_series(1, 10000)) s(a, b)",
            "20000|20000|10000",
        ),
        ("SELECT generate_series(1, 3), generate_series(1, 2), 7", "1|1|7\n2|2|7\n3||7"),
        ("SELECT i FROM generate_series(1, 1000000000) i LIMIT 2 OFFSET 3", "4\n5"),
        ("SELECT x, generate_series(1, x) FROM (VALUES (0), (2), (NULL), (1)) v(x)", "2|1\n2|2\n1|1"),
    ] {
        assert_eq!(client.show(query), expected, "{query}");
    }
}

#[test]
fn large_updates_and_deletes_hold_no_rows() {
    for mut client in client(4_000) {
        for (statement, expected) in [
            ("UPDATE t SET x = x + 1", "UPDATE 4000"),
            ("UPDATE t SET note = note || '!' WHERE id % 2 = 0", "UPDATE 2000"),
            ("UPDATE t SET note = 'some' WHERE x BETWEEN 100 AND 900", "UPDATE 3204"),
            ("DELETE FROM t WHERE x > 500", "DELETE 2000"),
            ("INSERT INTO t SELECT i + 10000, 0, 'more' FROM generate_series(1, 3000) i", "INSERT 0 3000"),
            ("ALTER TABLE t ADD COLUMN more text DEFAULT 'some words'", "ALTER TABLE"),
            ("DELETE FROM t", "DELETE 5000"),
        ] {
            let answer = client.try_run(statement);
            let tags = answer.unwrap_or_else(|error| panic!("{statement}: {error:?}")).tags;
            assert_eq!(tags, [expected], "{statement}");
        }
        assert_eq!(client.show("SELECT count(*) FROM t"), "0");
    }
}

/// The scan goes through what the statement changes, or an expression reads it: each row must be changed once, by the state
/// before the statement.
#[test]
fn no_statement_sees_what_it_has_written() {
    for (statement, query, expected) in [
        ("UPDATE t SET x = x + 1 WHERE x >= 0", "SELECT sum(x) FROM t", "5050"),
        (
            "UPDATE t SET x = x + 10 WHERE x IN (0, 10, 20)",
            "SELECT count(*), sum(x) FROM t WHERE x IN (10, 20, 30)",
            "4|90",
        ),
        ("UPDATE t SET id = id + 1000", "SELECT min(id), max(id), count(*) FROM t", "1001|1100|100"),
        ("UPDATE t SET x = (SELECT max(x) FROM t) + 1", "SELECT min(x), max(x) FROM t", "100|100"),
        (
            "UPDATE t SET x = -1 WHERE x = (SELECT min(o.x) FROM t o WHERE o.x > t.x - 1)",
            "SELECT count(*) FROM t WHERE x = -1",
            "100",
        ),
        ("DELETE FROM t WHERE x < (SELECT avg(x) FROM t)", "SELECT count(*), min(x) FROM t", "50|50"),
        (
            "DELETE FROM t WHERE EXISTS (SELECT 1 FROM t o WHERE o.x = t.x + 1)",
            "SELECT count(*), min(x) FROM t",
            "1|99",
        ),
        ("INSERT INTO t SELECT id + 1000, x, note FROM t", "SELECT count(*), max(id) FROM t", "200|1100"),
        (
            "INSERT INTO t SELECT (SELECT max(id) FROM t) + i, 0, '' FROM generate_series(1, 3) i",
            "SELECT max(id) FROM t",
            "103",
        ),
        ("UPDATE t SET x = x + o.n FROM (SELECT count(*)::int AS n FROM t) o", "SELECT sum(x) FROM t", "14950"),
    ] {
        for mut client in client(100) {
            client.run("SET work_mem = '4MB'");
            client.run("UPDATE t SET x = id - 1");
            client.run(statement);
            assert_eq!(client.show(query), expected, "{statement}");
        }
    }
}

#[test]
fn returning_sees_the_state_before_the_statement() {
    for mut client in client(3) {
        let sums = "RETURNING id, (SELECT sum(x) FROM t)";
        assert_eq!(client.show(&format!("UPDATE t SET x = 0 {sums}")), "1|6\n2|6\n3|6");
        assert_eq!(client.show(&format!("DELETE FROM t WHERE id > 1 {sums}")), "2|0\n3|0");
        assert_eq!(client.show(&format!("INSERT INTO t VALUES (4, 4), (5, 5) {sums}")), "4|0\n5|0");
    }
}

#[test]
fn a_transaction_reads_what_earlier_statements_of_it_have_written() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, x int); CREATE INDEX t_x ON t (x); BEGIN");
    client.run("INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 3000) i");
    client.run("SAVEPOINT a; UPDATE t SET x = x + 10 WHERE id % 2 = 0");
    assert_eq!(client.show("SELECT count(*), sum(x) FROM t"), "3000|28500");
    assert_eq!(client.show("SELECT count(*) FROM t WHERE x BETWEEN 10 AND 12"), "600");
    assert_eq!(client.show("SELECT id FROM t ORDER BY id DESC LIMIT 2"), "3000\n2999");
    client.run("DELETE FROM t WHERE id > 1000; INSERT INTO t VALUES (5000, 1)");
    assert_eq!(client.show("SELECT count(*), max(id) FROM t"), "1001|5000");
    client.run("ROLLBACK TO a");
    assert_eq!(client.show("SELECT count(*), sum(x), max(id) FROM t"), "3000|13500|3000");
    client.run("UPDATE t SET x = 1; COMMIT");
    assert_eq!(client.show("SELECT count(*), sum(x) FROM t"), "3000|3000");
    assert_eq!(client.show("SELECT count(*) FROM t WHERE x = 1"), "3000");
}

/// What does not fit, and cannot be written away, says where, how much, and what to set; the session lives on. An aggregate's
/// DISTINCT holds each value once.
#[test]
fn what_does_not_fit_names_the_operation_and_the_setting() {
    let mut client = Client::new(&database());
    client.run("SET work_mem = '64kB'; SET enable_vectors = off");
    for (query, operator) in [
        ("SELECT i FROM generate_series(1, 5000) i ORDER BY i DESC", "a sort"),
        ("SELECT DISTINCT i FROM generate_series(1, 5000) i", "DISTINCT"),
        ("SELECT i, count(*) FROM generate_series(1, 5000) i GROUP BY i", "groups and aggregates"),
        ("SELECT * FROM generate_series(1, 5000) a(i) JOIN generate_series(1, 5000) b(i) USING (i)", "a join"),
        ("SELECT i FROM generate_series(1, 5000) i UNION SELECT 1", "UNION, INTERSECT or EXCEPT"),
    ] {
        let error = client.fails(query);
        let fields = error.fields();
        assert_eq!(fields.code, "53200", "{query}");
        assert!(fields.message.contains("65536 bytes"), "{}", fields.message);
        let detail = fields.detail.clone().unwrap_or_default();
        assert!(detail.starts_with(&format!("The memory ended in {operator}, with ")), "{detail}");
        assert!(fields.hint.as_ref().is_some_and(|hint| hint.contains("work_mem")), "{:?}", fields.hint);
    }
    assert_eq!(client.show("SELECT count(DISTINCT i % 100) FROM generate_series(1, 20000) i"), "100");
    assert_eq!(client.show("SELECT i FROM generate_series(1, 20000) i ORDER BY i DESC LIMIT 1 OFFSET 100"), "19900");
    client.run("CREATE TABLE w (x int); BEGIN; DECLARE c CURSOR FOR SELECT i FROM generate_series(1, 100000) i; FETCH 1 FROM c; SAVEPOINT a");
    let error = client.fails("INSERT INTO w VALUES (1)");
    let fields = error.fields();
    assert!(fields.message.ends_with("for the rest of cursor \"c\""), "{}", fields.message);
    assert!(fields.hint.as_ref().is_some_and(|hint| hint.contains("Close the cursor")), "{:?}", fields.hint);
    client.run("ROLLBACK TO a; CLOSE c; INSERT INTO w VALUES (1); COMMIT");
}

/// Whichever side is written first, and whatever is known of it: the small one is held.
#[test]
fn a_hash_join_holds_the_smaller_side() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE dim (id int PRIMARY KEY, n text); CREATE TABLE fact (d int, x int)");
    client.run("INSERT INTO dim SELECT i, 'n' || i FROM generate_series(0, 9) i");
    client.run("INSERT INTO fact SELECT i % 10, i FROM generate_series(1, 4000) i; SET work_mem = '64kB'");
    for (query, expected) in [
        ("SELECT sum(x) FROM fact JOIN dim ON d = id WHERE id = 5", "800000"),
        ("SELECT count(*) FROM dim JOIN fact ON d = id", "4000"),
        ("SELECT count(*), count(x) FROM dim LEFT JOIN fact ON d + 5 = id", "2005|2000"),
        ("SELECT count(*), count(n) FROM dim RIGHT JOIN fact ON d + 5 = id", "4000|2000"),
        ("SELECT count(*), count(n), count(x) FROM dim FULL JOIN fact ON d + 5 = id", "4005|2005|4000"),
        ("SELECT count(*) FROM dim WHERE EXISTS (SELECT 1 FROM fact WHERE d + 5 = id)", "5"),
        ("SELECT count(*) FROM dim WHERE NOT EXISTS (SELECT 1 FROM fact WHERE d + 5 = id)", "5"),
        ("SELECT n, count(*) FROM dim JOIN fact ON d = id WHERE id < 2 GROUP BY n ORDER BY n", "n0|400\nn1|400"),
    ] {
        assert_eq!(client.show(query), expected, "{query}");
    }
}

//! `min` and `max` of a whole table: what each engine answers, and what an engine that logs predicates protects.

mod common;

use common::Client;

const TABLE: &str = "CREATE TABLE t (id int PRIMARY KEY, a int, x text, f float8, n numeric(9,2));
     INSERT INTO t SELECT g, nullif(g * 7919 % 1000, 500), 'text ' || g * 104729 % 1000, g / 8.0, g / 4.0 FROM generate_series(1, 600) AS g";

/// Every engine, row by row and by batches: the value that is first in order.
#[test]
fn ends_are_those_of_the_sorted_values() {
    for subject in common::engines() {
        let database = common::open(subject.store);
        let mut client = Client::new(&database);
        client.run(TABLE);
        for vectors in ["off", "force"] {
            client.run(&format!("SET enable_vectors = {vectors}"));
            for of in ["a", "x", "f", "n", "a + 1", "id"] {
                for filter in ["true", "a > 300 AND a < 900", "length(x) = 7", "x >= 'text 5'", "a < 0"] {
                    for (aggregate, order) in [("min", "ASC"), ("max", "DESC")] {
                        let sorted = format!(
                            "SELECT (SELECT {of} FROM t WHERE {filter} AND {of} IS NOT NULL ORDER BY {of} {order} LIMIT 1)::text"
                        );
                        let asked = format!("SELECT {aggregate}({of})::text FROM t WHERE {filter}");
                        assert_eq!(client.show(&asked), client.show(&sorted), "{}: {asked}", subject.name);
                    }
                }
            }
        }
    }
}

/// Several ends at once are those that are found one by one: with NULLs, without rows, of one column twice, of more columns than are
/// searched for apart; in a transaction that is logged, and in one that is not.
#[test]
fn several_ends_are_those_of_each() {
    let lists: [&[&str]; 5] = [
        &["min(a)", "max(a)"],
        &["max(x)", "min(f)", "min(n)"],
        &["min(a)", "min(a)", "max(id)"],
        &["min(a)", "max(x)", "min(f)", "max(n)", "max(a)"],
        &["min(a)", "count(*)", "max(x)", "sum(id)"],
    ];
    for subject in common::engines() {
        let database = common::open(subject.store);
        let mut client = Client::new(&database);
        client.run(TABLE);
        client.run("ALTER TABLE t ADD COLUMN late int DEFAULT 5");
        for vectors in ["off", "force"] {
            client.run(&format!("SET enable_vectors = {vectors}"));
            for list in lists {
                for filter in ["true", "a > 300 AND a < 900", "length(x) = 7", "a IS NULL", "a < 0"] {
                    let each = list.iter().map(|end| client.show(&format!("SELECT {end} FROM t WHERE {filter}")));
                    let each = each.collect::<Vec<String>>().join("|");
                    let together = format!("SELECT {} FROM t WHERE {filter}", list.join(", "));
                    for mode in ["READ WRITE", "READ ONLY"] {
                        client.run(&format!("BEGIN {mode}"));
                        assert_eq!(client.show(&together), each, "{}, {mode}: {together}", subject.name);
                        client.run("COMMIT");
                    }
                }
            }
            assert_eq!(client.show("SELECT min(a), min(late), max(late) FROM t"), "2|5|5", "{}", subject.name);
        }
    }
}

/// What somebody asks, and for whom a write is inside or beyond.
struct Case {
    query: &'static str,
    inside: &'static [&'static str],
    beyond: &'static [&'static str],
}

const CASES: [Case; 3] = [
    Case {
        query: "SELECT min(a) FROM t",
        inside: &["INSERT INTO t VALUES (601, 2)", "INSERT INTO t VALUES (602)", "UPDATE t SET a = 700 WHERE id = 2"],
        beyond: &["INSERT INTO t VALUES (603, -1)", "UPDATE t SET a = -2 WHERE id = 2", "DELETE FROM t WHERE id = 2"],
    },
    // Each by itself: the row with the least of one may change in the other, while that does not become its greatest.
    Case {
        query: "SELECT min(a), max(f) FROM t WHERE n < 140",
        inside: &[
            "INSERT INTO t VALUES (601, 2, 'x', 60, 1)",
            "UPDATE t SET f = 1 WHERE id = 358",
            "UPDATE t SET x = 'other' WHERE n < 140",
            "UPDATE t SET a = -7, f = 90 WHERE n > 140",
        ],
        beyond: &[
            "INSERT INTO t VALUES (603, 5, 'x', 75.5, 1)",
            "INSERT INTO t VALUES (604, -1, 'x', 0, 1)",
            "UPDATE t SET a = -2 WHERE id = 5",
            "UPDATE t SET n = 1, f = 80 WHERE id = 570",
            "DELETE FROM t WHERE id = 570",
        ],
    },
    // A count needs all rows of its filter, and the scan that counts has looked at every `a`.
    Case {
        query: "SELECT min(a), count(*) FROM t WHERE n < 140",
        inside: &["UPDATE t SET x = 'other' WHERE n < 140", "UPDATE t SET a = 2000 WHERE n > 140"],
        beyond: &["INSERT INTO t VALUES (604, 700, 'x', 0, 1)", "UPDATE t SET a = 701 WHERE id = 7"],
    },
];

/// By batches and by rows: a write inside leaves who asked alone, a write beyond aborts it.
#[test]
fn only_writes_that_change_the_answer_abort() {
    for Case { query, inside, beyond } in CASES {
        for vectors in ["off", "force"] {
            let database = common::database_hyper();
            let (mut client, mut other) = (Client::new(&database), Client::new(&database));
            client.run(TABLE);
            client.run("CREATE TABLE own (n int)");
            client.run(&format!("SET enable_vectors = {vectors}"));
            for write in inside {
                client.run(&format!("BEGIN; {query}; INSERT INTO own VALUES (1)"));
                other.run(&format!("BEGIN; {write}; COMMIT"));
                client.run("COMMIT");
            }
            client.run("DELETE FROM t WHERE id > 600");
            for write in beyond {
                client.run(&format!("BEGIN; {query}; INSERT INTO own VALUES (1)"));
                other.run(write);
                assert_eq!(client.fails("COMMIT").code(), "40001", "{query}, {write}, vectors {vectors}");
                client.run("ROLLBACK");
            }
        }
    }
}

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

/// By batches and by rows: a write inside leaves who asked alone, a write beyond aborts it.
#[test]
fn only_writes_that_change_the_answer_abort() {
    let inside = ["INSERT INTO t VALUES (601, 2)", "INSERT INTO t VALUES (602)", "UPDATE t SET a = 700 WHERE id = 2"];
    let beyond = ["INSERT INTO t VALUES (603, -1)", "UPDATE t SET a = -2 WHERE id = 2", "DELETE FROM t WHERE id = 2"];
    let database = common::database_hyper();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run(TABLE);
    client.run("CREATE TABLE own (n int)");
    for vectors in ["off", "force"] {
        client.run(&format!("SET enable_vectors = {vectors}"));
        for write in inside {
            client.run("BEGIN; SELECT min(a) FROM t; INSERT INTO own VALUES (1)");
            other.run(write);
            client.run("COMMIT");
        }
        for write in beyond {
            client.run("BEGIN; SELECT min(a) FROM t; INSERT INTO own VALUES (1)");
            other.run(write);
            assert_eq!(client.fails("COMMIT").code(), "40001", "{write}, vectors {vectors}");
            client.run("ROLLBACK");
        }
        other.run("DELETE FROM t WHERE id > 600; INSERT INTO t VALUES (2, 838)");
    }
}

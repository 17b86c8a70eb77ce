//! Shapes of plans: which tables are read first, by which path, and that answers do not depend on it. Times decide nothing here;
//! EXPLAIN says what a statement would read.

mod common;

use common::{Client, database, database_hyper, database_mvto, database_with_versions};
use seriatim_sql::database::Database;
use std::sync::Arc;

/// The lines of EXPLAIN without costs.
fn shape(client: &mut Client, query: &str) -> String {
    client.show(&format!("EXPLAIN (COSTS OFF) {query}"))
}

/// Asserts that a plan has these lines, in this order.
#[track_caller]
fn has(client: &mut Client, query: &str, lines: &[&str]) {
    let found = shape(client, query);
    let mut rest = found.lines();
    for line in lines {
        assert!(rest.any(|found| found.contains(line)), "{query}\nhas no {line:?} in its place:\n{found}");
    }
}

#[track_caller]
fn has_no(client: &mut Client, query: &str, part: &str) {
    let found = shape(client, query);
    assert!(!found.contains(part), "{query}\nhas {part:?}:\n{found}");
}

/// Two small tables, and a large one that refers to both and has an index on one reference.
fn client() -> Client {
    client_of(&database())
}

fn client_of(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.run("CREATE TABLE a (id int PRIMARY KEY, x int); CREATE TABLE b (id int PRIMARY KEY, x int)");
    client.run("CREATE TABLE c (id int PRIMARY KEY, a_id int, b_id int, x int); CREATE INDEX c_b ON c (b_id)");
    client.run("INSERT INTO a SELECT i, i FROM generate_series(1, 300) i; INSERT INTO b SELECT * FROM a");
    client.run("INSERT INTO c SELECT i, i % 300, i % 250, i FROM generate_series(1, 5000) i");
    client
}

/// Engines that estimate alike are planned for alike.
#[test]
fn plans_are_the_same_on_rows_in_place() {
    let mut clients = [database_mvto(), database_hyper()].map(|database| client_of(&database));
    for query in [
        "SELECT * FROM a, b, c WHERE a.id = 5 AND a.id = c.a_id AND b.id = 5 AND b.id = c.b_id",
        "SELECT * FROM a JOIN c ON a.id = c.a_id",
        "SELECT * FROM c JOIN a ON a.id = c.a_id",
        "SELECT * FROM a JOIN c ON a.id = c.b_id WHERE a.x = 7",
        "SELECT * FROM a JOIN c ON a.id = c.b_id WHERE c.x > 0",
        "SELECT * FROM c WHERE b_id BETWEEN 10 AND 12",
        "SELECT * FROM c WHERE b_id > 3 ORDER BY id LIMIT 3",
    ] {
        // Only one of them reads columns where they are stored.
        let [mvto, hyper] = clients.each_mut().map(|client| {
            client.run("SET enable_vectors = off");
            // Only one of them logs predicates, and says which.
            let plan = client.show(&format!("EXPLAIN {query}"));
            plan.lines().filter(|line| !line.trim().starts_with("Logged: ")).map(str::to_owned).collect::<Vec<_>>()
        });
        assert_eq!(mvto, hyper, "{query}");
    }
}

/// Whatever the order of the text, the constants reach the large table, and its index finds its rows.
#[test]
fn constants_reach_all_that_equals_them() {
    let mut client = client();
    for from in ["a, b, c", "b, a, c", "c, a, b", "a JOIN b ON true JOIN c ON true"] {
        let query = format!("SELECT * FROM {from} WHERE a.id = 5 AND a.id = c.a_id AND b.id = 5 AND b.id = c.b_id");
        has(&mut client, &query, &["Index Scan using c_b on c", "Index Cond: (c.b_id = 5)", "Filter: (c.a_id = 5)"]);
        has_no(&mut client, &query, "Seq Scan");
        let columns = query.replace('*', "a.id, b.id, c.id");
        assert_eq!(client.show(&format!("{columns} ORDER BY c.id")), "5|5|5\n5|5|1505\n5|5|3005\n5|5|4505", "{query}");
    }
}

/// Members of a class that equal different constants have no rows for each other, wherever the constants come from.
#[test]
fn different_constants_of_one_class_exclude_each_other() {
    let mut client = client();
    client.run("CREATE TABLE m (n numeric); CREATE TABLE n (n numeric); INSERT INTO m VALUES (1.0); INSERT INTO n VALUES (1.00)");
    for (query, expected) in [
        ("SELECT a.id, b.id FROM a JOIN b ON a.id = b.id WHERE a.id = 1 AND b.id = 2", ""),
        ("SELECT a.id, b.id FROM a LEFT JOIN b ON a.id = b.id WHERE a.id = 1 AND b.id = 2", ""),
        ("SELECT a.id, b.id FROM a JOIN b ON a.x = b.x WHERE a.x = 1 AND b.x = 2", ""),
        ("SELECT a.id, b.id FROM a JOIN b ON a.id = b.id WHERE a.id = 2 AND b.id = 2", "2|2"),
        ("SELECT c.id FROM a, b, c WHERE a.id = b.id AND b.id = c.id AND a.id = 1 AND c.id = 2", ""),
        ("SELECT c.id FROM a, b, c WHERE a.id = b.id AND b.id = c.id AND b.id = 2 AND c.id = 1", ""),
        (
            "SELECT c.id FROM a, b, c WHERE a.id = c.a_id AND b.id = c.b_id AND a.id = b.id AND c.a_id = 5 AND c.b_id = 55",
            "",
        ),
        ("SELECT c.id FROM a, b, c WHERE a.id = b.id AND b.id = c.id AND a.id = 2 AND b.id = 2 AND c.id = 2", "2"),
        ("SELECT m.n, n.n FROM m JOIN n ON m.n = n.n WHERE m.n = 1 AND n.n = 1.0", "1.0|1.00"),
        ("SELECT m.n, n.n FROM m JOIN n ON m.n = n.n WHERE m.n = 1 AND n.n = 1.1", ""),
        // The constants are columns of an outer row.
        (
            "SELECT c.id, (SELECT count(*) FROM a, b WHERE a.id = b.id AND a.id = c.a_id AND b.id = c.b_id) FROM c
             WHERE c.id IN (7, 260) ORDER BY 1",
            "7|1\n260|0",
        ),
        ("UPDATE a SET x = 0 FROM b WHERE a.id = b.id AND a.id = 1 AND b.id = 2 RETURNING a.id", ""),
        ("DELETE FROM a USING b WHERE a.id = b.id AND a.id = 1 AND b.id = 2 RETURNING a.id", ""),
    ] {
        assert_eq!(client.show(query), expected, "{query}");
    }
    client.run("PREPARE p (int, int) AS SELECT count(*) FROM a, b WHERE a.id = b.id AND a.id = $1 AND b.id = $2");
    assert_eq!(client.show("EXECUTE p (1, 2)"), "0");
    assert_eq!(client.show("EXECUTE p (2, 2)"), "1");
    // Each is still found by its own constant, and what equals the same one is not compared again.
    for (a, b) in [(1, 2), (2, 2)] {
        let query = format!("SELECT * FROM a JOIN b ON a.id = b.id WHERE a.id = {a} AND b.id = {b}");
        for (table, id) in [("a", a), ("b", b)] {
            has(
                &mut client,
                &query,
                &[&format!("using {table}_pkey on {table}"), &format!("Index Cond: ({table}.id = {id})")],
            );
        }
        has_no(&mut client, &query, "Seq Scan");
        assert_eq!(shape(&mut client, &query).contains("Filter"), a != b);
    }
}

#[test]
fn the_smaller_table_is_hashed() {
    let mut client = client_of(&database_with_versions());
    for from in ["a JOIN c ON a.id = c.a_id", "c JOIN a ON a.id = c.a_id"] {
        has(&mut client, &format!("SELECT * FROM {from}"), &["Seq Scan on c", "Hash", "Seq Scan on a"]);
    }
}

#[test]
fn few_rows_search_an_index() {
    let mut client = client();
    for from in ["a JOIN c ON a.id = c.b_id", "c JOIN a ON a.id = c.b_id"] {
        let query = format!("SELECT * FROM {from} WHERE a.x = 7");
        has(&mut client, &query, &["Nested Loop", "Seq Scan on a", "Index Scan using c_b on c", "(c.b_id = a.id)"]);
    }
    // Many rows do not.
    has(&mut client, "SELECT * FROM a JOIN c ON a.id = c.b_id WHERE c.x > 0", &["Hash Join", "Seq Scan on c"]);
}

/// A view over some columns of a table is searched as the table is.
#[test]
fn views_are_searched() {
    let mut client = client();
    client.run("CREATE VIEW v AS SELECT x AS y, b_id AS b, id FROM c WHERE x > 0");
    for query in [
        "SELECT a.id, v.id FROM a JOIN v ON v.b = a.id WHERE a.x = 7 ORDER BY 2",
        "SELECT a.id, v.id FROM a LEFT JOIN v ON a.id = v.b WHERE a.id = 7 ORDER BY 2",
        "SELECT a.id, s.id FROM a, (SELECT id, b_id FROM c) s WHERE s.b_id = a.id AND a.x = 7 ORDER BY 2",
    ] {
        has(&mut client, query, &["Nested Loop", "Index Scan using c_b on c"]);
        has_no(&mut client, query, "Seq Scan on c");
        let by_table = client.show("SELECT 7, id FROM c WHERE b_id + 0 = 7 ORDER BY 2");
        assert_eq!(client.show(query), by_table, "{query}");
    }
}

/// A table that restricts the result is joined before the right side of an outer join that does not.
#[test]
fn inner_joins_pass_outer_joins() {
    let mut client = client();
    let from = "c LEFT JOIN a ON a.id = c.a_id JOIN b ON b.id = c.b_id";
    let query = format!("SELECT * FROM {from} WHERE b.x = 7");
    let lines = ["Nested Loop Left Join", "Nested Loop", "Seq Scan on b", "Index Scan using c_b on c", "a_pkey on a"];
    has(&mut client, &query, &lines);
    // A condition on the outer side waits for it.
    let query = format!("SELECT c.id FROM {from} WHERE b.id = 7 AND a.id IS NULL ORDER BY 1");
    has(&mut client, &query, &["Left Join", "Filter: (a.id IS NULL)"]);
    client.run("UPDATE c SET a_id = 1000 WHERE id = 257");
    assert_eq!(client.show(&query), "257");
}

/// Without left rows nothing of the right side is read: a transaction that found none does not depend on it.
#[test]
fn no_rows_on_the_left_read_nothing_on_the_right() {
    let database = database();
    let (mut one, mut two) = (Client::new(&database), Client::new(&database));
    one.run(
        "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE c (id int PRIMARY KEY, a_id int); CREATE TABLE d (x int)",
    );
    one.run("BEGIN");
    assert_eq!(one.show("SELECT * FROM a JOIN c ON a.id = c.a_id"), "");
    two.run("INSERT INTO c VALUES (1, 1)");
    one.run("INSERT INTO d VALUES (1); COMMIT");
    let analyzed = one.show("EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM a JOIN c ON a.id = c.a_id");
    assert!(analyzed.contains("rows=0"), "{analyzed}");
}

#[test]
fn what_is_common_to_alternatives_joins() {
    let mut client = client();
    let query =
        "SELECT a.id FROM a, b WHERE (a.id = b.id AND a.x = 1) OR (a.id = b.id AND a.x = 2 AND b.x > 1) ORDER BY 1";
    has_no(&mut client, query, "Seq Scan on b");
    has(&mut client, query, &["Nested Loop", "on a", "Filter: ((a.x = 1) OR (a.x = 2))", "b_pkey on b"]);
    assert_eq!(client.show(query), "1\n2");
    // An alternative that demands nothing else leaves what is common only.
    let query = "SELECT count(*) FROM a, b WHERE a.id = b.id OR (a.id = b.id AND a.x = 2)";
    has_no(&mut client, query, "Join Filter");
    assert_eq!(client.show(query), "300");
    // Each side is restricted by what the alternatives demand of it.
    let query = "SELECT c.id FROM a, c WHERE a.id = c.a_id AND ((a.x = 1 AND c.b_id = 2) OR (a.x = 2 AND c.b_id = 3)) ORDER BY 1";
    has(&mut client, query, &["Index Scan using c_b on c", "(c.b_id = ANY (ARRAY[2, 3]))"]);
    assert_eq!(client.show(query), client.show(&query.replace("a.id = c.a_id", "a.id + 0 = c.a_id + 0")));
}

#[test]
fn lists_search_indexes() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE t (k int, x int, y int, z text); CREATE INDEX t_kxy ON t (k, x, y)");
    client.run("INSERT INTO t SELECT i % 10, i % 7, i, 'row' FROM generate_series(1, 2000) i; ");
    client.run("INSERT INTO t VALUES (NULL, 1, 1), (1, NULL, 1), (1, 1, NULL)");
    let cases = [
        ("k = 1 AND x IN (2, 3)", "Index Cond: ((k = 1) AND (x = ANY (ARRAY[2, 3])))"),
        (
            "k IN (1, 2) AND x IN (3, 4) AND y = 11",
            "((k = ANY (ARRAY[1, 2])) AND (x = ANY (ARRAY[3, 4])) AND (y = 11))",
        ),
        ("k IN (1, 2) AND x = 4", "((k = ANY (ARRAY[1, 2])) AND (x = 4))"),
        ("k IN (1, 1, NULL) AND x = 4", "((k = ANY (ARRAY[1, NULL::integer])) AND (x = 4))"),
        ("k > 5 AND x IN (1, 2)", "Index Cond: (k > 5)"),
        ("k = 3 AND x > 2 AND y IN (3, 13, 33)", "Index Cond: ((k = 3) AND (x > 2))"),
        ("k > 5 AND x IS NULL", "Index Cond: (k > 5)"),
        ("k = ANY (ARRAY[1, 3]) AND x <> ALL (ARRAY[1, 2])", "Index Cond: (k = ANY (ARRAY[1, 3]))"),
    ];
    for (condition, expected) in cases {
        has(&mut client, &format!("SELECT * FROM t WHERE {condition}"), &["Index Scan using t_kxy on t", expected]);
        let (by_index, by_scan) = (
            client.show(&format!("SELECT k, x, y FROM t WHERE {condition} ORDER BY 1, 2, 3")),
            client.show(&format!("SELECT k, x, y FROM t WHERE ({condition}) IS TRUE ORDER BY 1, 2, 3")),
        );
        assert_eq!(by_index, by_scan, "{condition}");
    }
}

/// Rows whose index entries do not satisfy the condition are not read: whoever changes them does not conflict.
#[test]
fn entries_decide_before_rows_are_read() {
    let database = database();
    let (mut one, mut two) = (Client::new(&database), Client::new(&database));
    one.run("CREATE TABLE t (id int PRIMARY KEY, k int, x int, n int); CREATE INDEX t_kx ON t (k, x); CREATE TABLE d (n int)");
    one.run("INSERT INTO t SELECT i, i, i % 2, 0 FROM generate_series(1, 20) i");
    two.run("BEGIN; UPDATE t SET n = 1 WHERE id = 4");
    one.run("SET lock_timeout = '1ms'");
    // Row 4 has x = 0: it is locked, and the statement passes over it.
    has(&mut one, "UPDATE t SET n = 2 WHERE k > 2 AND x IN (1, 3)", &["Index Scan using t_kx"]);
    assert_eq!(one.run("UPDATE t SET n = 2 WHERE k > 2 AND x IN (1, 3)").tags, ["UPDATE 9"]);
    two.run("COMMIT");
    assert_eq!(one.show("SELECT n, count(*) FROM t GROUP BY n ORDER BY n"), "0|10\n1|1\n2|9");
}

/// A plan that was made for an empty table is made anew once the table has grown.
#[test]
fn a_plan_follows_the_sizes_of_its_tables() {
    let mut client = Client::new(&database_with_versions());
    client.run("CREATE TABLE small (id int PRIMARY KEY, x int); CREATE TABLE grows (id int PRIMARY KEY, s int)");
    client.run("INSERT INTO small SELECT i, i FROM generate_series(1, 900) i");
    client.run("PREPARE p AS SELECT count(*) FROM grows JOIN small ON small.id = grows.s");
    let plan = |client: &mut Client| client.show("EXPLAIN (COSTS OFF) EXECUTE p");
    let first = plan(&mut client);
    assert!(first.contains("Nested Loop") && !first.contains("Seq Scan on small"), "few rows search:\n{first}");
    client.run("INSERT INTO grows SELECT i, i % 900 FROM generate_series(1, 3000) i");
    for _ in 0..2 {
        client.run("EXECUTE p");
    }
    let later = plan(&mut client);
    assert!(later.contains("Hash Join") && later.contains("Seq Scan on small"), "many rows do not:\n{later}");
    assert_eq!(client.show("EXECUTE p"), client.show("SELECT count(*) FROM grows WHERE s > 0"));
}

/// A subquery that would run for many rows is a join with its groups; one that finds its few rows by an index stays.
#[test]
fn subqueries_are_joins_where_that_reads_less() {
    let mut client = client();
    client.run("CREATE TABLE f (a_id int, r real, n numeric, p numeric(10, 2))");
    client.run("INSERT INTO f SELECT i % 300, i, i, i FROM generate_series(1, 5000) i");
    for (aggregate, condition) in [
        ("max(c.x)", "c.a_id = a.id"),
        ("count(*) + a.x", "c.a_id = a.id AND c.x > 7"),
        ("CASE WHEN sum(c.x) > 3 THEN 1 / count(*) END", "a.id = c.a_id"),
    ] {
        let query = format!("SELECT a.id, (SELECT {aggregate} FROM c WHERE {condition}) FROM a");
        has(&mut client, &query, &["Left Join", "HashAggregate", "Seq Scan on c"]);
        has_no(&mut client, &query, "SubPlan");
        // One row is asked for.
        has(&mut client, &format!("{query} LIMIT 1"), &["SubPlan"]);
    }
    // A condition that no NULL passes needs the groups that are there.
    let query = "SELECT * FROM a WHERE a.x < (SELECT max(c.x) FROM c WHERE c.a_id = a.id)";
    has(&mut client, query, &["Join", "HashAggregate"]);
    has_no(&mut client, query, "Left Join");
    for stays in [
        "SELECT (SELECT max(c.x) FROM c WHERE c.b_id = a.id) FROM a WHERE a.id = 5",
        "SELECT (SELECT max(c.x) FROM c WHERE c.a_id < a.id) FROM a",
        "SELECT (SELECT c.x FROM c WHERE c.a_id = a.id) FROM a",
        // Their arguments may fail for rows that no row of a asks for.
        "SELECT (SELECT sum(1 / f.a_id) FROM f WHERE f.a_id = a.id) FROM a",
        "SELECT (SELECT sum(f.r) FROM f WHERE f.a_id = a.id) FROM a",
        "SELECT (SELECT sum(f.n * f.n) FROM f WHERE f.a_id = a.id) FROM a",
    ] {
        has(&mut client, stays, &["SubPlan"]);
    }
    has_no(&mut client, "SELECT (SELECT sum(f.p * f.p) FROM f WHERE f.a_id = a.id) FROM a", "SubPlan");
}

#[test]
fn lists_are_joins_where_null_allows_it() {
    let mut client = client();
    has(&mut client, "SELECT * FROM a WHERE x IN (SELECT a_id FROM c WHERE c.x > 10)", &["Semi Join", "Seq Scan on c"]);
    // It is put where its column comes from.
    has(&mut client, "SELECT * FROM a, c WHERE a.x = c.x AND c.a_id IN (SELECT x FROM b)", &["Join", "Semi Join"]);
    has(&mut client, "SELECT * FROM a WHERE id NOT IN (SELECT id FROM b)", &["Anti Join"]);
    has(&mut client, "SELECT * FROM a WHERE x NOT IN (SELECT c.x FROM c WHERE c.a_id = a.id)", &["Anti Join"]);
    for null_aware in
        ["SELECT * FROM a WHERE x NOT IN (SELECT id FROM b)", "SELECT * FROM a WHERE id NOT IN (SELECT x FROM b)"]
    {
        has(&mut client, null_aware, &["Hash Anti Join", "Null Aware: true"]);
    }
    // What is never NULL leads to the rows for which the rest is unknown.
    let listed = "SELECT * FROM a WHERE (id, x) NOT IN (SELECT id, x FROM b)";
    has(&mut client, listed, &["Hash Anti Join", "Hash Cond: (a.id = b.id)", "Join Filter"]);
    has_no(&mut client, listed, "Null Aware");
    for stays in [
        "SELECT * FROM a WHERE x NOT IN (SELECT c.x FROM c WHERE c.a_id < a.id)",
        "SELECT * FROM a WHERE (x, id) NOT IN (SELECT x, x FROM b)",
        "SELECT (x, id) IN (SELECT x, x FROM b) FROM a",
        "SELECT coalesce(x IN (SELECT x FROM b), true) FROM a",
        "SELECT 10 / x IN (SELECT x FROM b) FROM a",
        "SELECT EXISTS (SELECT FROM b) FROM a",
        "SELECT EXISTS (SELECT FROM c WHERE c.x < a.x) FROM a",
        "SELECT EXISTS (SELECT FROM c WHERE c.a_id = a.id AND c.x = 10 / a.x) FROM a",
        "SELECT CASE WHEN x > 1 THEN 1 WHEN x IN (SELECT x FROM b) THEN 2 END FROM a",
        "SELECT x IN (SELECT x FROM b) FROM a WHERE id = 3",
        "SELECT EXISTS (SELECT FROM c WHERE c.b_id = a.id) FROM a WHERE id = 3",
    ] {
        has_no(&mut client, stays, "Join");
    }
}

/// Below OR, and in a select list, the answer of EXISTS or IN is a column that a join makes.
#[test]
fn answers_of_subqueries_are_marks() {
    let mut client = client();
    let marks = ["Hash Mark Join", "Null Aware: true"];
    has(
        &mut client,
        "SELECT * FROM a WHERE x IN (SELECT b.x FROM b) OR x = 3",
        &[marks[0], "Filter: (mark1 OR (a.x = 3))"],
    );
    has(&mut client, "SELECT x IN (SELECT b.x FROM b) FROM a", &marks);
    has(&mut client, "SELECT * FROM a WHERE x NOT IN (SELECT b.x FROM b) OR x = 3", &marks);
    for query in [
        "SELECT * FROM a WHERE x IN (SELECT b.x FROM b) OR x = 3",
        "SELECT * FROM a WHERE id NOT IN (SELECT b.id FROM b) OR x = 3",
        "SELECT EXISTS (SELECT FROM c WHERE c.a_id = a.id AND c.x > a.x) FROM a",
        "SELECT CASE WHEN x IN (SELECT x FROM b) THEN 2 END FROM a",
        "SELECT x IN (SELECT c.x FROM c WHERE c.a_id = a.id) FROM a",
        "SELECT (id, x) IN (SELECT id, id FROM b) FROM a WHERE x = 3 OR (id, x) IN (SELECT id, x FROM b)",
    ] {
        has(&mut client, query, &[marks[0]]);
        has_no(&mut client, query, "SubPlan");
        has_no(&mut client, query, marks[1]);
    }
    // A row of its own order keeps it.
    let ordered = "SELECT id, EXISTS (SELECT FROM c WHERE c.a_id = a.id) FROM a ORDER BY id";
    has(&mut client, ordered, &[marks[0], "Index Scan using a_pkey"]);
    has_no(&mut client, ordered, "Sort");
    client.run("UPDATE a SET x = -1 WHERE x = 3 OR id IN (SELECT id FROM b WHERE b.x < 3)");
    client.run("DELETE FROM a WHERE x = 5 OR EXISTS (SELECT FROM b WHERE b.id = a.id AND b.x BETWEEN 7 AND 9)");
    assert_eq!(client.show("SELECT count(*), sum(x) FROM a"), format!("296|{}", 300 * 301 / 2 - 3 - 5 - 24 - 6));
}

/// What a subquery computes behind its conditions is not computed for rows that they exclude.
#[test]
fn what_may_fail_is_computed_behind_the_conditions() {
    let mut client = client();
    client.run("CREATE TABLE q (kind int, x int); CREATE TABLE attr (kind int, val text)");
    client.run("INSERT INTO q SELECT 1, i FROM generate_series(5, 500) i");
    client.run("INSERT INTO attr SELECT 1, (i * 100 + 5)::text FROM generate_series(0, 3) i; INSERT INTO attr SELECT 2, 'abc' FROM generate_series(1, 500)");
    for (query, expected) in [
        (
            "SELECT x FROM q WHERE x IN (SELECT val::int FROM attr WHERE attr.kind = q.kind) ORDER BY 1",
            "5\n105\n205\n305",
        ),
        ("SELECT count(*) FROM q WHERE x NOT IN (SELECT val::int FROM attr WHERE attr.kind = q.kind)", "492"),
        (
            "SELECT count(*) FROM q WHERE (SELECT count(*) FROM attr WHERE attr.kind = q.kind AND attr.val::int = q.x) > 0",
            "4",
        ),
    ] {
        has(&mut client, query, &["SubPlan"]);
        assert_eq!(client.show(query), expected, "{query}");
    }
    // What cannot fail is a join still.
    for (query, expected) in [
        ("SELECT count(*) FROM q WHERE x::text IN (SELECT val FROM attr WHERE attr.kind = q.kind)", "4"),
        ("SELECT count(*) FROM a WHERE x IN (SELECT c.x::bigint FROM c WHERE c.a_id = a.id)", "299"),
        ("SELECT count(*) FROM a WHERE x IN (SELECT coalesce(c.x, 0) FROM c WHERE c.a_id = a.id)", "299"),
    ] {
        has(&mut client, query, &["Semi Join"]);
        assert_eq!(client.show(query), expected, "{query}");
    }
}

/// What stands in a derived table below the conditions of a subquery is not computed for rows that they exclude, either.
#[test]
fn columns_of_derived_tables_are_computed_behind_the_conditions() {
    let mut client = client();
    client.run("CREATE TABLE u (z int, k int); INSERT INTO u SELECT 1 + i, i % 10 FROM generate_series(1, 2000) i");
    client.run("INSERT INTO u VALUES (0, 99)");
    let divided = "(SELECT k + 10 / z AS q, k FROM u) s WHERE s.k = a.x % 10";
    let least = "(SELECT k, min(k + 10 / z) AS q FROM u GROUP BY k) s WHERE s.k = a.x % 10";
    for (query, expected) in [
        (
            format!("SELECT count(*) FILTER (WHERE m) FROM (SELECT a.x IN (SELECT s.q FROM {divided}) AS m FROM a) o"),
            "9",
        ),
        (format!("SELECT count(*) FROM a WHERE x IN (SELECT s.q FROM {divided})"), "9"),
        (format!("SELECT count(*) FROM a WHERE x NOT IN (SELECT s.q FROM {divided})"), "291"),
        (format!("SELECT count(*) FROM a WHERE id < 0 OR EXISTS (SELECT FROM {divided} AND s.q = a.x)"), "9"),
        (format!("SELECT count(*) FROM a WHERE x IN (SELECT s.q FROM {least})"), "9"),
        (format!("SELECT count(*) FROM a WHERE x < (SELECT max(s.q) FROM {divided})"), "9"),
    ] {
        for setting in ["off", "force"] {
            client.run(&format!("SET enable_vectors = {setting}"));
            assert_eq!(client.show(&query), expected, "{setting}: {query}");
        }
        has(&mut client, &query, &["SubPlan"]);
    }
    // What nobody asks for may fail, and what cannot fail is a join still.
    for (query, join) in [
        ("SELECT * FROM a WHERE id IN (SELECT s.k FROM (SELECT 10 / z AS q, k FROM u) s WHERE s.k = a.x)", "Semi Join"),
        ("SELECT * FROM a WHERE EXISTS (SELECT FROM (SELECT 10 / z AS q, k FROM u) s WHERE s.k = a.x)", "Semi Join"),
        ("SELECT x IN (SELECT s.z FROM (SELECT z, k FROM u ORDER BY 1) s WHERE s.k = a.x) FROM a", "Mark Join"),
        ("SELECT x IN (SELECT q FROM (SELECT k, max(z) AS q FROM u GROUP BY k) s WHERE s.k = a.x) FROM a", "Mark Join"),
    ] {
        has(&mut client, query, &[join]);
        client.run(query);
    }
}

/// A subquery that only some parts of AND and OR ask is read by a join if it cannot fail.
#[test]
fn subqueries_that_nobody_asks_do_not_fail() {
    let mut client = client();
    client.run("CREATE TABLE u (z int, k int, t text); INSERT INTO u VALUES (0, 7, 'none')");
    client.run("CREATE TABLE w (z int); INSERT INTO w VALUES (3), (4)");
    for (condition, expected) in [
        ("id > 0 OR x IN (SELECT 1 / z FROM u)", "300"),
        ("id > 0 OR x IN (SELECT t::int FROM u)", "300"),
        ("id > 0 OR EXISTS (SELECT FROM u WHERE u.k = a.x AND 1 / z > 0)", "300"),
        ("id > 0 OR x IN (SELECT sum(1 / z) FROM u)", "300"),
        ("id > 0 OR x IN (SELECT max(1 / z) FROM u)", "300"),
        ("id > 0 OR x IN (SELECT z FROM u WHERE EXISTS (SELECT FROM u v WHERE v.z = u.z AND 1 / v.z > 0))", "300"),
        ("id > 0 OR x IN (SELECT q FROM (SELECT 1 / z AS q, z FROM u) s JOIN u USING (z))", "300"),
        ("(id < 0 OR x IN (SELECT z FROM w)) AND (id > 0 OR x IN (SELECT 1 / z FROM u))", "2"),
        ("NOT (id < 0 AND x IN (SELECT 1 / z FROM u))", "300"),
    ] {
        for setting in ["off", "force"] {
            client.run(&format!("SET enable_vectors = {setting}"));
            let query = format!("SELECT count(*) FROM a WHERE {condition}");
            assert_eq!(client.show(&query), expected, "{setting}: {query}");
        }
        let query = format!("SELECT count(*) FILTER (WHERE m) FROM (SELECT {condition} AS m FROM a) o");
        assert_eq!(client.show(&query), expected, "{query}");
    }
    let kept = "WITH v AS MATERIALIZED (SELECT 1 / z AS q FROM u) SELECT count(*) FROM a WHERE id > 0 OR x IN (SELECT q FROM v)";
    assert_eq!(client.show(kept), "300");
    // What is asked for whenever there is a row, and what cannot fail.
    for condition in [
        "x IN (SELECT 12 / z FROM w) OR x = 3",
        "x = 3 OR x IN (SELECT z FROM w WHERE z IS NOT NULL AND z > 3)",
        "x = 3 OR x NOT IN (SELECT max(z) FROM w GROUP BY z UNION SELECT z FROM w)",
        "x = 3 OR x IN (SELECT z FROM w WHERE EXISTS (SELECT FROM b WHERE b.id = w.z AND b.x < 9))",
        "x = 3 OR EXISTS (SELECT FROM w JOIN b ON b.id = w.z WHERE w.z = a.x)",
    ] {
        let query = format!("SELECT id FROM a WHERE {condition}");
        has(&mut client, &query, &["Mark Join"]);
        has_no(&mut client, &query, "SubPlan");
    }
    let kept =
        "WITH v AS MATERIALIZED (SELECT z AS q FROM w) SELECT count(*) FROM a WHERE id > 0 OR x IN (SELECT q FROM v)";
    has(&mut client, kept, &["Mark Join"]);
}

/// Over batches, many rows read the other table once. The row executor searches its index for them, and so do few rows.
#[test]
fn batches_hash_what_rows_search() {
    let mut client = Client::new(&database_with_versions());
    client.run("CREATE TABLE large (id int PRIMARY KEY, x int); CREATE TABLE many (id int PRIMARY KEY, l int)");
    for from in (0..20_000).step_by(5_000) {
        client.run(&format!("INSERT INTO large SELECT i, i % 7000 FROM generate_series({from}, {}) i", from + 4_999));
    }
    client.run("INSERT INTO many SELECT i, i * 3 FROM generate_series(1, 4000) i");
    let joined = "SELECT count(*) FROM many JOIN large ON large.id = many.l";
    let semi = "SELECT count(*), sum(l) FROM many WHERE EXISTS (SELECT FROM large WHERE x = l AND large.id > many.id)";
    let anti = semi.replace("EXISTS", "NOT EXISTS");
    has(&mut client, joined, &["Vectors", "Hash Join", "Seq Scan"]);
    has(&mut client, &format!("{joined} WHERE many.id < 20"), &["Nested Loop", "large_pkey on large"]);
    // Their left side is built, which has fewer rows.
    has(&mut client, semi, &["Vectors", "Hash Semi Join", "Seq Scan on many", "Seq Scan on large"]);
    let queries = [joined, semi, &anti];
    let by_batch = queries.map(|query| client.show(query));
    client.run("SET enable_vectors = off");
    has(&mut client, joined, &["Nested Loop", "large_pkey on large"]);
    assert_eq!(by_batch, queries.map(|query| client.show(query)));
}

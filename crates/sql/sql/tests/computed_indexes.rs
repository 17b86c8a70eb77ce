//! Partial indexes and indexes on expressions: which queries are answered by them, what concurrent writers meet, and what survives.
//! Answers, definitions and messages are compared with PostgreSQL's in the script `partial.sql`; the judges' test is in `histories.rs`.

mod common;

use common::{Client, database, database_twopl, databases, open, store};

const TABLE: &str = "CREATE TABLE s (id int PRIMARY KEY, status text, n int, x varchar(10), flag boolean);
    CREATE INDEX open_n ON s (n) WHERE status = 'open';
    CREATE INDEX lower_x ON s (lower(x), n);
    CREATE INDEX known_n ON s (n, id) WHERE n IS NOT NULL;
    CREATE INDEX large_n ON s ((n + 0)) WHERE n > 10;
    CREATE UNIQUE INDEX not_flag ON s (lower(status)) WHERE NOT flag";

#[track_caller]
fn assert_path(client: &mut Client, query: &str, wanted: &str) {
    let plan = client.show(&format!("EXPLAIN (COSTS OFF) {query}"));
    assert!(plan.contains(wanted), "{query}\n{plan}\nwanted: {wanted}");
}

/// An index serves where the query's condition implies its predicate, and nowhere else.
#[test]
fn queries_use_an_index_that_has_all_their_rows() {
    let mut client = Client::new(&database());
    client.run(TABLE);
    for (query, wanted) in [
        ("SELECT * FROM s WHERE status = 'open' AND n = 2", "using open_n"),
        ("SELECT * FROM s WHERE n = 2 AND 'open' = status", "using open_n"),
        ("SELECT * FROM s WHERE status = 'open' ORDER BY n LIMIT 3", "using open_n"),
        ("SELECT * FROM s WHERE status = 'done' AND n = 2", "using known_n"),
        ("SELECT * FROM s WHERE status IN ('open', 'done') AND n = 2", "using known_n"),
        ("SELECT * FROM s WHERE n < 5", "using known_n"),
        ("SELECT * FROM s WHERE status = 'done' ORDER BY n LIMIT 3", "Seq Scan"),
        ("SELECT * FROM s WHERE n IS NULL", "Seq Scan"),
        ("SELECT * FROM s WHERE n + 0 = 15 AND n > 20", "using large_n"),
        ("SELECT * FROM s WHERE n + 0 = 15 AND n IN (11, 12)", "using large_n"),
        ("SELECT * FROM s WHERE n + 0 = 15 AND (n = 11 OR n > 90)", "using large_n"),
        ("SELECT * FROM s WHERE n + 0 = 15 AND n >= 10 AND flag", "using known_n"),
        ("SELECT * FROM s WHERE n + 0 = 15", "Seq Scan"),
        ("SELECT * FROM s WHERE lower(x) = 'v'", "Index Cond: (lower("),
        ("SELECT * FROM s WHERE lower(x::text) = 'v' AND n > 4", "using lower_x"),
        ("SELECT * FROM s WHERE upper(x) = 'V'", "Seq Scan"),
        ("SELECT lower(x) FROM s ORDER BY lower(x), n LIMIT 2", "using lower_x"),
        ("SELECT * FROM s WHERE lower(status) = 'x' AND NOT flag", "using not_flag"),
        ("SELECT * FROM s WHERE lower(status) = 'x' AND flag = false", "using not_flag"),
        ("SELECT * FROM s WHERE lower(status) = 'x' AND flag IS FALSE", "using not_flag"),
        ("SELECT * FROM s WHERE lower(status) = 'x' AND flag IS NOT TRUE", "Seq Scan"),
        ("SELECT * FROM s WHERE lower(status) = 'x' AND flag", "Seq Scan"),
    ] {
        assert_path(&mut client, query, wanted);
    }
}

/// A parameter is not known when the plan is made: it implies nothing.
#[test]
fn a_parameter_implies_no_predicate() {
    let mut client = Client::new(&database());
    client.run(TABLE);
    client.run("INSERT INTO s VALUES (1, 'open', 2, 'a', true), (2, 'done', 2, 'b', true)");
    client.run("PREPARE p (text) AS SELECT id FROM s WHERE status = $1 AND n = 2");
    assert_eq!(client.show("EXECUTE p ('done')"), "2");
    assert_eq!(client.show("EXECUTE p ('open')"), "1");
}

/// Two transactions that each make the predicate true of one key: one of them fails, whichever index form it is.
#[test]
fn two_writers_cannot_both_enter_one_key() {
    for database in databases() {
        let (mut a, mut b) = (Client::new(&database), Client::new(&database));
        a.run("CREATE TABLE t (id int PRIMARY KEY, owner text, active boolean)");
        a.run("CREATE UNIQUE INDEX ON t (lower(owner)) WHERE active");
        a.run("INSERT INTO t VALUES (1, 'Ann', false), (2, 'ANN', false)");
        a.run("BEGIN; UPDATE t SET active = true WHERE id = 1");
        b.run("BEGIN; SELECT 1");
        a.run("COMMIT");
        let error = b.fails("UPDATE t SET active = true WHERE id = 2");
        assert!(matches!(error.code(), "23505" | "40001"), "{error:?}");
        b.run("ROLLBACK");
        assert_eq!(b.fails("UPDATE t SET active = true WHERE id = 2").code(), "23505");
        assert_eq!(b.show("SELECT count(*) FROM t WHERE active"), "1");
    }
}

/// An update that leaves the predicate's columns alone rewrites no entry; one that does not, moves the row in or out.
#[test]
fn entries_follow_their_rows_through_everything() {
    for database in [database(), database_twopl()] {
        let mut client = Client::new(&database);
        client.run(TABLE);
        client.run("CREATE UNIQUE INDEX parity ON s ((n % 2), id) WHERE n > 0");
        client.run("INSERT INTO s SELECT g, 's' || g, g, 'X' || g, g % 2 = 0 FROM generate_series(1, 40) g");
        client.run("UPDATE s SET n = -n WHERE id % 3 = 0");
        client.run("UPDATE s SET id = id + 100 WHERE id < 10");
        client.run("UPDATE s SET status = 'open' WHERE n + 0 > 30 AND flag");
        client.run("BEGIN; SAVEPOINT a; UPDATE s SET n = 1, x = 'y'; ROLLBACK TO a; COMMIT");
        client.run("DELETE FROM s WHERE lower(x) = 'x40'");
        client.run("ALTER TABLE s ADD COLUMN more int DEFAULT 1");
        client.run("ALTER TABLE s ALTER COLUMN n TYPE bigint");
        client.run("INSERT INTO s (id, n) VALUES (104, 7) ON CONFLICT (id) DO UPDATE SET n = excluded.n");
        for (condition, forced) in [
            ("status = 'open' AND n = 38", "status || '' = 'open' AND n - 0 = 38"),
            ("n + 0 > 20 AND n > 10", "n - 0 > 20"),
            ("lower(x) >= 'x2'", "lower(x) || '' >= 'x2'"),
            ("n % 2 = 1 AND n > 0", "n % 2 - 0 = 1 AND n - 0 > 0"),
            ("n = 7", "n - 0 = 7"),
        ] {
            let by = |client: &mut Client, condition: &str| {
                client.show(&format!("SELECT count(*), sum(id) FROM s WHERE {condition}"))
            };
            assert_path(&mut client, &format!("SELECT * FROM s WHERE {condition}"), "Index Scan");
            assert_path(&mut client, &format!("SELECT * FROM s WHERE {forced}"), "Seq Scan");
            assert_eq!(by(&mut client, condition), by(&mut client, forced), "{condition}");
        }
    }
}

/// A value that is equal to the one before may still make another entry, or a predicate true.
#[test]
fn entries_follow_values_that_only_look_different() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("CREATE TABLE e (id int PRIMARY KEY, n numeric, j jsonb, k numeric UNIQUE, x int)");
        client.run("CREATE INDEX e_n ON e ((n::text)); CREATE INDEX e_j ON e ((j::text))");
        client.run("CREATE INDEX e_x ON e (x) WHERE k::text = '1.00'");
        client.run("INSERT INTO e VALUES (1, 1.0, '[1.0]', 1.0, 7), (2, 2.0, '[2.0]', 2.0, 7)");
        client.run("UPDATE e SET n = 1.00, j = '[1.00]', k = 1.00 WHERE id = 1");
        for (condition, index, expected) in [
            ("n::text = '1.00'", "e_n", "1|1.00"),
            ("n::text = '1.0'", "e_n", ""),
            ("j::text = '[1.00]'", "e_j", "1|1.00"),
            ("j::text = '[1.0]'", "e_j", ""),
            ("x = 7 AND k::text = '1.00'", "e_x", "1|1.00"),
            ("k = 1", "e_k_key", "1|1.00"),
        ] {
            let query = format!("SELECT id, n FROM e WHERE {condition}");
            assert_path(&mut client, &query, &format!("using {index} on"));
            assert_eq!(client.show(&query), expected, "{query}");
        }
        client.run("UPDATE e SET n = 1.0, j = '[1.0]', k = 1.0 WHERE id = 1");
        for gone in ["n::text = '1.00'", "j::text = '[1.00]'", "x = 7 AND k::text = '1.00'"] {
            assert_eq!(client.show(&format!("SELECT * FROM e WHERE {gone}")), "", "{gone}");
        }
        assert_eq!(client.show("SELECT id FROM e WHERE n::text = '1.0'"), "1");
        assert_eq!(client.fails("INSERT INTO e VALUES (3, 0, '0', 1.000)").code(), "23505");
    }
}

/// What cascades through foreign keys keeps entries too.
#[test]
fn actions_of_foreign_keys_keep_entries() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE p (id int PRIMARY KEY)");
    client.run(
        "CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON UPDATE CASCADE ON DELETE SET NULL,
         q int REFERENCES p ON DELETE CASCADE)",
    );
    client.run("CREATE UNIQUE INDEX c_p ON c ((p + 0)) WHERE p IS NOT NULL");
    client.run("INSERT INTO p VALUES (1), (2), (3); INSERT INTO c VALUES (1, 1, 3), (2, 2, 2)");
    client.run("UPDATE p SET id = 9 WHERE id = 1");
    assert_path(&mut client, "SELECT id FROM c WHERE p + 0 = 9 AND p > 0", "using c_p");
    assert_eq!(client.show("SELECT id FROM c WHERE p + 0 = 9 AND p > 0"), "1");
    assert_eq!(client.show("SELECT id FROM c WHERE p + 0 = 1 AND p > 0"), "");
    client.run("DELETE FROM p WHERE id = 9");
    assert_eq!(client.show("SELECT id FROM c WHERE p + 0 = 9 AND p > 0"), "");
    client.run("INSERT INTO p VALUES (9); INSERT INTO c VALUES (3, 9, 3)");
    client.run("DELETE FROM p WHERE id = 3");
    client.run("INSERT INTO c VALUES (4, 9, NULL)");
    assert_eq!(client.show("SELECT id FROM c WHERE p + 0 = 9 AND p > 0"), "4");
}

/// An UPDATE through an index that it changes does not meet its own rows again.
#[test]
fn an_update_does_not_meet_its_own_entries() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int); CREATE INDEX t_n ON t ((n * 2)) WHERE n > 0");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 50) g");
    assert_path(&mut client, "UPDATE t SET n = n + 1 WHERE n * 2 > 10 AND n > 0", "using t_n");
    client.run("UPDATE t SET n = n + 1 WHERE n * 2 > 10 AND n > 0");
    assert_eq!(client.show("SELECT sum(n) FROM t"), (50 * 51 / 2 + 45).to_string());
}

/// Definitions are found again, and entries kept, by another database on the same store.
#[test]
fn a_database_opened_again_keeps_its_indexes() {
    let store = store();
    let mut client = Client::new(&open(store.clone()));
    client.run(TABLE);
    client.run("INSERT INTO s VALUES (1, 'Open', 2, 'a', false)");
    let mut again = Client::new(&open(store));
    assert_eq!(again.fails("INSERT INTO s VALUES (2, 'oPEN', 2, 'a', false)").code(), "23505");
    assert_eq!(again.show("SELECT id FROM s WHERE lower(status) = 'open' AND NOT flag"), "1");
}

/// Subqueries, aggregates and functions that change have no place in a definition; the messages are PostgreSQL's.
#[test]
fn definitions_are_refused_as_by_postgresql() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE t (a int, b text, d date)");
    for (definition, code, message) in [
        ("(((SELECT 1)))", "0A000", "cannot use subquery in index expression"),
        ("(a) WHERE EXISTS (SELECT 1)", "0A000", "cannot use subquery in index predicate"),
        ("(sum(a))", "42803", "aggregate functions are not allowed in index expressions"),
        ("(a) WHERE sum(a) > 1", "42803", "aggregate functions are not allowed in index predicates"),
        ("((row_number() OVER ()))", "42P20", "window functions are not allowed in index expressions"),
        ("(a) WHERE d < now()", "42P17", "functions in index predicate must be marked IMMUTABLE"),
        ("((d::text))", "42P17", "functions in index expression must be marked IMMUTABLE"),
        ("(a) WHERE a", "42804", "argument of WHERE must be type boolean, not type integer"),
        ("((a + nix))", "42703", "column \"nix\" does not exist"),
        ("(b COLLATE \"C\")", "0A000", "COLLATE in an index is not supported"),
    ] {
        let error = client.fails(&format!("CREATE INDEX ON t {definition}"));
        assert_eq!((error.code(), error.message()), (code, message), "{definition}");
    }
}

/// Condition and predicate pairs over integers and booleans: wherever the planner relies on an implication, no row is lost.
#[test]
fn no_index_loses_a_row_of_any_condition() {
    let conditions = [
        "a = 2",
        "a <> 2",
        "a < 2",
        "a <= 2",
        "a > 2",
        "a >= 2",
        "a IS NULL",
        "a IS NOT NULL",
        "a IN (1, 2)",
        "a IN (2)",
        "a NOT IN (1, 2)",
        "a BETWEEN 1 AND 2",
        "f",
        "NOT f",
        "f = true",
        "f = false",
        "f <> true",
        "f IS TRUE",
        "f IS NOT TRUE",
        "f IS FALSE",
        "f IS NOT FALSE",
        "f IS NULL",
        "a = 1 OR a = 2",
        "a > 1 OR f",
        "a > 1 AND f",
        "NOT (a > 1 AND f)",
        "NOT (a > 2)",
        "a + 1 > 2",
        "coalesce(a, 9) > 2",
        "a IS DISTINCT FROM 2",
        "true",
        "NULL",
    ];
    let mut client = Client::new(&database());
    let sum = |client: &mut Client, condition: &str| {
        client.show(&format!("SELECT count(*), sum(k) FROM t WHERE ({condition}) AND k > 0"))
    };
    client.run("CREATE TABLE t (id int PRIMARY KEY, k int NOT NULL, a int, f boolean)");
    client.run(
        "INSERT INTO t SELECT row_number() OVER (), row_number() OVER (), a, f FROM
         (VALUES (NULL), (0), (1), (2), (3)) x(a), (VALUES (NULL), (true), (false)) y(f)",
    );
    let wanted: Vec<String> = conditions.iter().map(|condition| sum(&mut client, condition)).collect();
    for predicate in conditions {
        client.run(&format!("CREATE INDEX i ON t (k) WHERE {predicate}"));
        for (condition, wanted) in conditions.iter().zip(&wanted) {
            assert_eq!(&sum(&mut client, condition), wanted, "{condition} by an index WHERE {predicate}");
        }
        client.run("DROP INDEX i");
    }
}

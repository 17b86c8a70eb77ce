//! System columns, on each engine: what tools use them for.

mod common;

use common::{Client, databases};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, x text);
    CREATE TABLE big (id bigint PRIMARY KEY, x int);
    CREATE TABLE pair (a text, b int, x int, PRIMARY KEY (a, b));
    CREATE TABLE bare (x int);
    INSERT INTO t VALUES (1, 'a'), (2, 'b'), (-3, 'c');
    INSERT INTO big VALUES (1, 10), (9000000000000000000, 20);
    INSERT INTO pair VALUES ('a', 1, 10), ('a', 2, 20);
    INSERT INTO bare VALUES (1), (2), (2);
";

/// Runs a test on each engine, over the same tables.
fn on_each(test: impl Fn(&mut Client)) {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run(SCHEMA);
        test(&mut client);
    }
}

#[test]
fn a_ctid_finds_its_row_in_every_kind_of_table() {
    on_each(|client| {
        for (table, expected) in [("t", "3"), ("big", "2"), ("pair", "2"), ("bare", "3")] {
            let places: Vec<String> =
                client.run(&format!("SELECT ctid FROM {table}")).rows.into_iter().flatten().collect();
            for place in &places {
                let found =
                    client.show(&format!("SELECT count(*), min(ctid::text) FROM {table} WHERE ctid = '{place}'"));
                assert_eq!(found, format!("1|{place}"), "{table}");
                let updated = client.run(&format!("UPDATE {table} SET x = x WHERE ctid = '{place}'"));
                assert_eq!(updated.tags, ["UPDATE 1"], "{table} {place}");
            }
            assert_eq!(client.show(&format!("SELECT count(DISTINCT ctid) FROM {table}")), expected);
            let deleted = client.run(&format!("DELETE FROM {table} WHERE '{}' = ctid RETURNING ctid", places[0]));
            assert_eq!(deleted.rows, [[places[0].clone()]]);
            assert_eq!(client.show(&format!("SELECT count(*) FROM {table} WHERE ctid = '{}'", places[0])), "0");
        }
    });
}

#[test]
fn a_search_by_ctid_of_an_integer_key_uses_the_index() {
    on_each(|client| {
        let plan = client.show("EXPLAIN (COSTS OFF) SELECT * FROM t WHERE ctid = '(0,1)'");
        assert!(plan.contains("t_pkey"), "{plan}");
        assert_eq!(client.show("SELECT ctid, id FROM t ORDER BY ctid"), "(0,1)|1\n(0,2)|2\n(65535,65533)|-3");
        assert_eq!(client.show("SELECT id FROM t WHERE ctid = '(65535,65533)'"), "-3");
        assert_eq!(client.show("SELECT ctid < '(10,0)', x FROM bare ORDER BY 2"), "t|1\nt|2\nt|2");
        let plan = client.show("EXPLAIN (COSTS OFF) SELECT * FROM big WHERE ctid = '(0,1)'");
        assert!(plan.contains("big_pkey"), "{plan}");
        // A prepared statement does not know the place.
        client.run("PREPARE p AS UPDATE big SET x = x + 1 WHERE ctid = $1");
        client.run("EXECUTE p('(0,1)')");
        let place = client.show("SELECT ctid FROM big WHERE id > 5");
        client.run(&format!("EXECUTE p('{place}')"));
        assert_eq!(client.show("SELECT x FROM big ORDER BY id"), "11\n21");
    });
}

#[test]
fn xmin_is_a_token_for_optimistic_locking() {
    on_each(|client| {
        let first = client.show("SELECT xmin FROM t WHERE id = 1");
        let next = client.show(&format!("UPDATE t SET x = 'new' WHERE id = 1 AND xmin = '{first}' RETURNING xmin"));
        assert_ne!(next, "");
        assert_ne!(next, first);
        assert_eq!(
            client.run(&format!("UPDATE t SET x = 'lost' WHERE id = 1 AND xmin = '{first}'")).tags,
            ["UPDATE 0"]
        );
        assert_eq!(client.show("SELECT xmin FROM t WHERE id = 1"), next);
        let inserted = client.show("INSERT INTO t VALUES (7, 'y') RETURNING xmin");
        assert_eq!(client.show("SELECT xmin FROM t WHERE id = 7"), inserted);
    });
}

#[test]
fn xmax_tells_inserted_rows_from_updated_ones() {
    on_each(|client| {
        let upsert = "INSERT INTO t VALUES (1, 'x'), (8, 'y') ON CONFLICT (id) DO UPDATE SET x = excluded.x";
        assert_eq!(client.show(&format!("{upsert} RETURNING id, (xmax = 0) AS inserted")), "1|f\n8|t");
        assert_eq!(client.show(&format!("{upsert} RETURNING id, (SELECT t.xmax::text = '0')")), "1|f\n8|f");
        assert_eq!(client.show("INSERT INTO t VALUES (9, 'z') RETURNING xmax"), "0");
        assert_eq!(client.show("SELECT DISTINCT xmax FROM t"), "0");
        assert_eq!(client.show("UPDATE t SET x = 'q' WHERE id = 9 RETURNING xmax"), "0");
    });
}

#[test]
fn the_row_that_an_outer_join_does_not_find_has_none() {
    on_each(|client| {
        let sql = "SELECT t.id, u.ctid, u.xmin IS NULL, u.xmax, u.tableoid::regclass
                   FROM t LEFT JOIN t u ON t.id = u.id AND u.id = 1 WHERE t.id > 0 ORDER BY t.id";
        assert_eq!(client.show(sql), "1|(0,1)|f|0|t\n2||t||");
        assert_eq!(client.show("SELECT tableoid::regclass, count(*) FROM t GROUP BY tableoid"), "t|3");
        assert_eq!(client.show("SELECT (SELECT t.ctid) FROM t ORDER BY ctid LIMIT 1"), "(0,1)");
    });
}

#[test]
fn errors_are_postgresqls() {
    on_each(|client| {
        for (sql, expected) in [
            ("UPDATE t SET ctid = '(0,1)'", "0A000 cannot assign to system column \"ctid\""),
            ("SELECT ctid FROM t, t u", "42702 column reference \"ctid\" is ambiguous"),
            ("SELECT s.xmin FROM (SELECT * FROM t) s", "42703 column s.xmin does not exist"),
            ("SELECT xmin < 5 FROM t", "42883 operator does not exist: xid < integer"),
            ("SELECT 5 = xmin FROM t", "42883 operator does not exist: integer = xid"),
            ("SELECT '(1,70000)'::tid", "22P02 invalid input syntax for type tid: \"(1,70000)\""),
            ("SELECT cmin FROM t", "0A000 the system column cmin of \"t\" is not supported"),
            ("CREATE TABLE c (xmin int)", "42701 column name \"xmin\" conflicts with a system column name"),
            (
                "INSERT INTO bare VALUES (1) RETURNING ctid",
                "0A000 ctid of a table without a primary key at this place is not supported",
            ),
        ] {
            let error = client.fails(sql);
            assert_eq!(format!("{} {}", error.code(), error.message()), expected, "{sql}");
        }
    });
}

//! Statements that PostgreSQL knows beyond the common ones; each answer is PostgreSQL 15's.

mod common;

use common::{Client, database};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, a int, b text);
    CREATE TABLE u (id int PRIMARY KEY, x int UNIQUE, y text);
    CREATE TABLE k (a int, b int, c text, UNIQUE (a, b));
    INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, 'three');
    INSERT INTO u VALUES (1, 100, 'u1'), (2, 200, 'u2');
    INSERT INTO k VALUES (1, 1, 'x'), (1, 2, 'y'), (2, 1, 'z');
";

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let database = database();
    let mut client = Client::new(&database);
    client.run(SCHEMA);
    for (sql, expected) in cases {
        match client.try_run(sql) {
            Ok(answer) => {
                let lines: Vec<String> = answer.rows.iter().map(|row| row.join("|").replace("<null>", "")).collect();
                assert_eq!(lines.join("\n"), *expected, "{sql}");
            }
            Err(error) => assert_eq!(format!("ERROR {} {}", error.code(), error.message()), *expected, "{sql}"),
        }
    }
}

#[test]
fn table_is_a_query() {
    check(&[
        ("TABLE t", "1|10|one\n2|20|two\n3|30|three"),
        ("(TABLE t) ORDER BY id DESC LIMIT 1", "3|30|three"),
        ("TABLE t UNION ALL TABLE t ORDER BY 1, 2", "1|10|one\n1|10|one\n2|20|two\n2|20|two\n3|30|three\n3|30|three"),
        ("TABLE t ORDER BY a % 20, id LIMIT 2", "2|20|two\n1|10|one"),
        ("WITH q AS (TABLE u) TABLE q", "1|100|u1\n2|200|u2"),
        ("SELECT count(*) FROM (TABLE t UNION ALL TABLE u) s", "5"),
        ("SELECT 1 AS table, 2 \"table\"", "1|2"),
        ("SELECT 1 table UNION SELECT 2 ORDER BY 1", "1\n2"),
        ("CREATE VIEW tables AS TABLE t", ""),
        ("SELECT count(*) FROM tables", "3"),
        ("INSERT INTO u TABLE u RETURNING id", "ERROR 23505 duplicate key value violates unique constraint \"u_pkey\""),
        ("CREATE TABLE copy AS TABLE u", ""),
        ("TABLE copy", "1|100|u1\n2|200|u2"),
    ]);
}

#[test]
fn between_symmetric() {
    check(&[
        ("SELECT 2 BETWEEN SYMMETRIC 3 AND 1, 5 BETWEEN ASYMMETRIC 3 AND 1, 2 NOT BETWEEN SYMMETRIC 3 AND 1", "t|f|f"),
        (
            "SELECT id FROM t WHERE a BETWEEN SYMMETRIC 25 + 1 AND CASE WHEN id > 0 AND true THEN 15 END ORDER BY id",
            "2",
        ),
        (
            "SELECT NULL BETWEEN SYMMETRIC 1 AND 2, 3 BETWEEN SYMMETRIC NULL AND 1, 1 BETWEEN SYMMETRIC (2) AND (0) AND true",
            "||t",
        ),
        ("CREATE TABLE checked (v int CHECK (v BETWEEN SYMMETRIC 5 AND 1))", ""),
        ("INSERT INTO checked VALUES (2)", ""),
        (
            "INSERT INTO checked VALUES (6)",
            "ERROR 23514 new row for relation \"checked\" violates check constraint \"checked_v_check\"",
        ),
        ("CREATE VIEW between_view AS SELECT id FROM t WHERE a BETWEEN SYMMETRIC 25 AND 15", ""),
        ("SELECT * FROM between_view", "2"),
    ]);
}

#[test]
fn frames_exclude() {
    check(&[
        (
            "SELECT id, sum(a) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM t",
            "1|20\n2|40\n3|20",
        ),
        (
            "SELECT id, count(*) OVER (PARTITION BY 1 ORDER BY a / 20 GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t",
            "1|1\n2|2\n3|2",
        ),
        (
            "SELECT id, count(*) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) FROM t WINDOW w AS (ORDER BY a / 20)",
            "1|2\n2|1\n3|1",
        ),
        ("SELECT id, sum(a) OVER (ROWS UNBOUNDED PRECEDING EXCLUDE NO OTHERS) FROM t", "1|10\n2|30\n3|60"),
        (
            "CREATE VIEW frames AS SELECT id, sum(a) OVER (ORDER BY id ROWS 2 PRECEDING EXCLUDE CURRENT ROW) AS s FROM t",
            "",
        ),
        ("SELECT * FROM frames", "1|\n2|10\n3|30"),
        ("SELECT exclude.id FROM (SELECT 1 AS id) exclude", "1"),
    ]);
}

#[test]
fn rows_from() {
    check(&[
        (
            "SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a', 'b'])) WITH ORDINALITY AS x(n, s, o)",
            "1|a|1\n2|b|2\n3||3",
        ),
        (
            "SELECT t.id, n FROM t, LATERAL ROWS FROM (generate_series(1, t.id)) AS x(n) WHERE id < 3 ORDER BY 1, 2",
            "1|1\n2|1\n2|2",
        ),
        ("SELECT rows FROM (SELECT 1 AS rows) q", "1"),
        ("SELECT 2, rows FROM (SELECT 1 AS rows) q", "2|1"),
        (
            "CREATE VIEW both_rows AS SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(5, 7)) AS x(a, b)",
            "",
        ),
        ("SELECT * FROM both_rows", "1|5\n2|6\n|7"),
    ]);
}

#[test]
fn locking_clauses() {
    check(&[
        ("SELECT * FROM t FOR NO KEY UPDATE", "1|10|one\n2|20|two\n3|30|three"),
        ("SELECT id FROM t WHERE id = 1 FOR KEY SHARE", "1"),
        ("SELECT t.id FROM t, u WHERE t.id = u.id FOR UPDATE OF t, u", "1\n2"),
        ("SELECT t.id FROM t, u WHERE t.id = u.id FOR NO KEY UPDATE OF t FOR KEY SHARE OF u", "1\n2"),
        ("SELECT substring('abcdef' FROM 2 FOR 3)", "bcd"),
        (
            "SELECT t.id FROM t FOR UPDATE OF v",
            "ERROR 42P01 relation \"v\" in FOR UPDATE clause not found in FROM clause",
        ),
    ]);
}

#[test]
fn on_conflict_forms() {
    check(&[
        (
            "INSERT INTO u VALUES (1, 100, 'v') ON CONFLICT (id) WHERE id > 0 DO UPDATE SET y = excluded.y RETURNING *",
            "1|100|v",
        ),
        ("INSERT INTO k SELECT 1, 1, 'n' ON CONFLICT (b, a) WHERE (a > 0) DO NOTHING", ""),
        (
            "INSERT INTO k (a, b) SELECT 1, 1 UNION SELECT 9, 9 ON CONFLICT (a, b) DO UPDATE SET c = 'met' RETURNING *",
            "1|1|met\n9|9|",
        ),
        ("INSERT INTO k SELECT 7, 7, 'n' ON CONFLICT DO NOTHING RETURNING a", "7"),
    ]);
}

#[test]
fn identity_options() {
    check(&[
        (
            "CREATE TABLE numbered (id int GENERATED BY DEFAULT AS IDENTITY (START 5 INCREMENT BY 3 NO CYCLE MAXVALUE 100), v text)",
            "",
        ),
        ("INSERT INTO numbered (v) VALUES ('a'), ('b') RETURNING *", "5|a\n8|b"),
        ("CREATE SEQUENCE sq MAXVALUE 10 START 3 INCREMENT 2 MINVALUE 1 CYCLE", ""),
        ("SELECT nextval('sq')", "3"),
        ("SELECT id, a INTO taken FROM t WHERE id < 3", ""),
        ("TABLE taken", "1|10\n2|20"),
        ("SELECT * INTO TEMP TABLE taken2 FROM t", ""),
        ("SELECT count(*) FROM taken2", "3"),
        ("VALUES (1, 'a'), (2, 'b') ORDER BY 1 DESC", "2|b\n1|a"),
    ]);
}

#[test]
fn with_that_writes() {
    check(&[
        (
            "WITH x AS (INSERT INTO t VALUES (9, 90, 'nine') RETURNING *) SELECT * FROM x UNION ALL SELECT * FROM t ORDER BY 1",
            "1|10|one\n2|20|two\n3|30|three\n9|90|nine",
        ),
        (
            "WITH x AS (DELETE FROM t WHERE id = 9 RETURNING id) INSERT INTO u SELECT id, id, 'moved' FROM x RETURNING *",
            "9|9|moved",
        ),
        (
            "WITH x AS (UPDATE t SET a = a + 1 RETURNING id, a), y AS (SELECT sum(a) FROM t) SELECT * FROM x, y ORDER BY 1",
            "1|11|60\n2|21|60\n3|31|60",
        ),
        ("WITH x AS (DELETE FROM u WHERE id = 9) SELECT count(*) FROM u", "3"),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3), ins AS (INSERT INTO u SELECT n + 50, n + 50, 'r' FROM r RETURNING id) SELECT count(*), min(id) FROM ins",
            "3|51",
        ),
        ("DELETE FROM u WHERE id > 50 RETURNING id", "51\n52\n53"),
        (
            "WITH a AS (INSERT INTO u VALUES (70, 70, 'a') RETURNING id), b AS (INSERT INTO k SELECT id, id, 'b' FROM a RETURNING a) SELECT a.id, b.a FROM a, b",
            "70|70",
        ),
        (
            "WITH ins AS (INSERT INTO u VALUES (70, 71, 'new') ON CONFLICT (id) DO NOTHING RETURNING id, 'new') SELECT * FROM ins UNION ALL SELECT id, 'old' FROM u WHERE id = 70",
            "70|old",
        ),
        (
            "WITH ins AS (INSERT INTO u VALUES (80, 80, 'new') ON CONFLICT (id) DO NOTHING RETURNING id, 'new') SELECT * FROM ins UNION ALL SELECT id, 'old' FROM u WHERE id = 80",
            "80|new",
        ),
        (
            "WITH d AS (DELETE FROM u WHERE id = 80 RETURNING *) INSERT INTO u SELECT id, x, y || '!' FROM d RETURNING *",
            "80|80|new!",
        ),
        (
            "WITH moved AS (DELETE FROM k WHERE a = 1 RETURNING *) SELECT (SELECT count(*) FROM k), (SELECT count(*) FROM moved), EXISTS (SELECT 1 FROM moved WHERE b = 2)",
            "4|2|t",
        ),
        (
            "WITH x AS (UPDATE t SET a = 0 WHERE id = 1 RETURNING id) UPDATE u SET y = (SELECT max(id)::text FROM x) WHERE u.id IN (SELECT id FROM x) RETURNING *",
            "1|100|1",
        ),
        (
            "WITH x AS (UPDATE t SET a = 5 WHERE id = 1 RETURNING id) DELETE FROM u USING x WHERE u.id = x.id RETURNING u.id, x.id",
            "1|1",
        ),
        (
            "WITH x AS (INSERT INTO t VALUES (99, 1, 'x')) SELECT * FROM x",
            "ERROR 0A000 WITH query \"x\" does not have a RETURNING clause",
        ),
        (
            "SELECT * FROM (WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x) s",
            "ERROR 0A000 WITH clause containing a data-modifying statement must be at the top level",
        ),
        (
            "WITH x AS (INSERT INTO t VALUES (1, 1, 'x') RETURNING id) SELECT * FROM x",
            "ERROR 23505 duplicate key value violates unique constraint \"t_pkey\"",
        ),
        (
            "WITH x AS (DELETE FROM t RETURNING *), y AS (INSERT INTO t SELECT id + 10, a, b FROM x RETURNING id) SELECT sum(id) FROM y",
            "36",
        ),
        ("SELECT id FROM t ORDER BY id", "11\n12\n13"),
        (
            "WITH x(p, q) AS (INSERT INTO u (id) SELECT 500 WHERE false RETURNING id, y) SELECT q, p FROM x RIGHT JOIN (VALUES (1)) v(w) ON p = w",
            "|",
        ),
        (
            "WITH x AS (SELECT 1 AS one), y AS (DELETE FROM u USING x WHERE u.id = one RETURNING u.id) SELECT * FROM x, y",
            "",
        ),
        ("PREPARE p AS WITH x AS (INSERT INTO u VALUES ($1, $1, $2) RETURNING *) SELECT y, id FROM x", ""),
        ("EXECUTE p(901, 'prepared')", "prepared|901"),
        ("SELECT y FROM u WHERE id = 901", "prepared"),
        (
            "INSERT INTO u VALUES (901, 1, 'a'), (902, 902, 'b'), (902, 903, 'c') ON CONFLICT DO NOTHING RETURNING id",
            "902",
        ),
        (
            "INSERT INTO u VALUES (903, 904, 'a'), (903, 905, 'b') ON CONFLICT (id) DO UPDATE SET y = 'z'",
            "ERROR 21000 ON CONFLICT DO UPDATE command cannot affect row a second time",
        ),
    ]);
}

#[test]
fn records_expand() {
    check(&[
        ("SELECT (t).* FROM t ORDER BY id", "1|10|one\n2|20|two\n3|30|three"),
        ("SELECT count(t.*) FROM t", "3"),
        ("SELECT (x.t).* FROM (SELECT t FROM t) x ORDER BY 1", "1|10|one\n2|20|two\n3|30|three"),
        ("SELECT (x.t).a, (t).b FROM (SELECT t FROM t) x ORDER BY 1", "10|one\n20|two\n30|three"),
        ("SELECT (t).a, (t).b FROM t ORDER BY id", "10|one\n20|two\n30|three"),
        ("SELECT (information_schema._pg_expandarray('7 8'::int2vector)).*", "7|1\n8|2"),
        ("SELECT (information_schema._pg_expandarray('7 8'::int2vector)).n", "1\n2"),
        (
            "SELECT (r.k).x, (r.k).n FROM (SELECT information_schema._pg_expandarray('7 8'::int2vector) AS k) r WHERE (r.k).n = 2",
            "8|2",
        ),
        ("WITH q AS (SELECT k AS r FROM k) SELECT (r).c, (q.r).b FROM q ORDER BY 1, 2", "x|1\ny|2\nz|1"),
        ("SELECT (x.r).f2, (x.r).f1 FROM (SELECT ROW(1, 2.5) AS r) x", "2.5|1"),
        ("SELECT (x.s).sum FROM (SELECT s FROM (SELECT sum(a) FROM t) s) x", "60"),
        (
            "SELECT (x.t).missing FROM (SELECT ROW(1) AS t) x",
            "ERROR 42703 could not identify column \"missing\" in record data type",
        ),
        (
            "SELECT (id).a FROM t",
            "ERROR 42809 column notation .a applied to type integer, which is not a composite type",
        ),
        ("SELECT (id).* FROM t", "ERROR 42809 type integer is not composite"),
        (
            "SELECT result.n, result.a FROM (SELECT (information_schema._pg_expandarray(i.indkey)).n AS n, information_schema._pg_expandarray(i.indkey) AS keys, a.attnum AS a FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid WHERE i.indrelid = 'k'::regclass) result WHERE result.a = (result.keys).x ORDER BY 1",
            "1|1\n2|2",
        ),
    ]);
}

#[test]
fn arrays_and_extremes_by_index() {
    check(&[
        ("PREPARE ids(int[]) AS SELECT id, b FROM t WHERE id = ANY($1)", ""),
        ("EXECUTE ids('{3,1,NULL,3,77}')", "1|one\n3|three"),
        ("EXECUTE ids(NULL)", ""),
        ("EXECUTE ids('{{1,2},{2,3}}')", "1|one\n2|two\n3|three"),
        ("PREPARE pairs(int, int[]) AS SELECT a, b FROM k WHERE a = $1 AND b = ANY($2) ORDER BY b", ""),
        ("EXECUTE pairs(1, '{2,1,9}')", "1|1\n1|2"),
        ("PREPARE wide(bigint[]) AS SELECT id FROM t WHERE id = ANY($1) ORDER BY id", ""),
        ("EXECUTE wide('{1,99999999999}')", "1"),
        (
            "SELECT id FROM t WHERE id = ANY((SELECT array_agg(x) FROM generate_series(2, 9) x)::int[]) ORDER BY id",
            "2\n3",
        ),
        ("INSERT INTO u VALUES (3, NULL, NULL), (4, NULL, 'n')", ""),
        ("SELECT min(id), max(id) FROM t", "1|3"),
        ("SELECT max(id) FROM t WHERE id < 3", "2"),
        ("SELECT min(id) FROM t WHERE b = 'two'", "2"),
        ("SELECT max(x) FROM u", "200"),
        ("SELECT min(x) FROM u", "100"),
        ("SELECT max(x) FROM u WHERE x < 0", ""),
        ("SELECT max(b) FROM k WHERE a = 1", "2"),
        ("SELECT min(b) FROM k WHERE a = 7", ""),
        ("SELECT max(x) FROM u WHERE y IS NULL", ""),
        ("SELECT max(id) + 1 FROM t HAVING max(id) > 2", "4"),
        ("SELECT coalesce((SELECT max(k.b) FROM k WHERE k.a = t.id), 0) FROM t ORDER BY id", "2\n1\n0"),
    ]);
}

#[test]
fn subqueries_with_projections() {
    check(&[
        (
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM (SELECT a / 10 AS x, 0 AS id FROM t) s WHERE s.x = t.id AND s.id < 1) ORDER BY id",
            "1\n2\n3",
        ),
        ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM (SELECT a AS x, id AS y FROM t) s WHERE s.x = t.id)", ""),
        (
            "SELECT id FROM t WHERE id IN (SELECT x FROM (SELECT a / 10 AS x, id + 1 AS y FROM t) s WHERE s.y = t.id + 1) ORDER BY id",
            "1\n2\n3",
        ),
        (
            "SELECT id FROM t WHERE NOT EXISTS (SELECT DISTINCT y FROM (SELECT id + 1 AS y FROM t) s WHERE s.y = t.id) ORDER BY id",
            "1",
        ),
    ]);
}

#[test]
fn rows_compared_with_queries() {
    check(&[
        (
            "SELECT (1, 2) < (SELECT 1, 3), (1, 2) = (SELECT 1, 2), (2, 1) > ALL (SELECT 1, 5), (1, 2) < ANY (SELECT 1, 3), (1, NULL) < (SELECT 1, 3), (1, NULL) <= ANY (SELECT 2, 0)",
            "t|t|t|t||t",
        ),
        ("SELECT a, b FROM k WHERE (a, b) >= ALL (SELECT a, b FROM k)", "2|1"),
        ("SELECT a, b FROM k WHERE (a, b) < ANY (SELECT a, b FROM k WHERE c = 'z') ORDER BY 1, 2", "1|1\n1|2"),
        ("SELECT id FROM t WHERE (id, a) = (SELECT u.id, u.x / 10 FROM u WHERE u.id = t.id) ORDER BY id", "1\n2"),
        ("SELECT (1, 2) = (SELECT 1, 2 WHERE false), (1, 2) <> (SELECT 1, 3)", "|t"),
        // NULL is not equal to NULL, though the rows have the same types.
        (
            "SELECT (1, NULL::int) = (SELECT 1, NULL::int), (1, NULL::int) <> (SELECT 1, 2), (1, NULL::int) <> (SELECT 2, 2)",
            "||t",
        ),
        (
            "SELECT (NULL::int, 1) = (SELECT 1, 2), (1, 2) < (SELECT 1, NULL::int), (1, 2) < (SELECT 2, NULL::int), (1, NULL::int) >= (SELECT 1, NULL::int)",
            "f||t|",
        ),
        ("SELECT (ROW(1, NULL::int), 1) = (SELECT ROW(1, NULL::int), 1)", "t"),
        (
            "SELECT (1, 2) = (SELECT a, b FROM k)",
            "ERROR 21000 more than one row returned by a subquery used as an expression",
        ),
        ("SELECT (1, 2, 3) < ANY (SELECT 1, 2)", "ERROR 42601 subquery has too few columns"),
        ("SELECT a, (a, count(*)) = (SELECT 1, 2::bigint) FROM k GROUP BY a ORDER BY a", "1|t\n2|f"),
        ("CREATE SEQUENCE looks", ""),
        (
            "SELECT CASE nextval('looks') WHEN 3 THEN 'three' WHEN 2 THEN 'two' WHEN 1 THEN 'one' END FROM t",
            "one\ntwo\nthree",
        ),
        ("SELECT nextval('looks')", "4"),
        (
            "SELECT nextval('looks') BETWEEN 5 AND 5, nextval('looks') NOT BETWEEN SYMMETRIC t.id + 10 AND t.id - 20 FROM t",
            "f|f\nf|t\nf|t",
        ),
        ("SELECT nextval('looks')", "22"),
        (
            "SELECT id, CASE nextval('looks') - 11 WHEN id THEN b ELSE b || '!' END FROM t ORDER BY id",
            "1|one!\n2|two!\n3|three!",
        ),
    ]);
}

#[test]
fn functions_of_the_server() {
    check(&[
        (
            "SELECT pg_size_bytes('1 MB'), pg_size_bytes('2.5kB'), pg_size_bytes('12'), pg_size_bytes('1e3 kb'), pg_size_bytes(' -.5MB '), pg_size_bytes('1.'), pg_size_bytes('0.1')",
            "1048576|2560|12|1024000|-524288|1|0",
        ),
        ("SELECT pg_size_bytes('1 xx')", "ERROR 22023 invalid size: \"1 xx\""),
        ("SELECT pg_size_bytes('abc')", "ERROR 22023 invalid size: \"abc\""),
        ("SELECT pg_size_bytes('')", "ERROR 22023 invalid size: \"\""),
        ("SELECT pg_size_bytes('99999999 PB')", "ERROR 22003 bigint out of range"),
        ("SELECT pg_postmaster_start_time() <= now()", "t"),
        ("CREATE SEQUENCE sp MINVALUE 2 INCREMENT 3 CYCLE", ""),
        ("SELECT * FROM pg_sequence_parameters('sp'::regclass)", "2|2|9223372036854775807|3|t|1|20"),
        (
            "CREATE TABLE dd (a int DEFAULT 1 + 2, b text DEFAULT 'a' || 'b', c text DEFAULT lower('X'), d int DEFAULT -1, e numeric DEFAULT 2 * 3.5, CHECK (a > 1 + 1))",
            "",
        ),
        (
            "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'dd'::regclass ORDER BY adnum",
            "(1 + 2)\n('a'::text || 'b'::text)\nlower('X'::text)\n'-1'::integer\n((2)::numeric * 3.5)",
        ),
        (
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'dd'::regclass",
            "CHECK ((a > (1 + 1)))",
        ),
        ("INSERT INTO dd DEFAULT VALUES RETURNING *", "3|ab|x|-1|7.0"),
    ]);
}

#[test]
fn keys_and_indexes_as_jdbc_asks() {
    check(&[
        (
            "SELECT        result.TABLE_CAT,        result.TABLE_SCHEM,        result.TABLE_NAME,        result.COLUMN_NAME,        result.KEY_SEQ,        result.PK_NAME FROM      (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME,   (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,   information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON ( a.attrelid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE true  AND n.nspname = 'public' AND ct.relname = 't' AND i.indisprimary  ) result where  result.A_ATTNUM = (result.KEYS).x  ORDER BY result.table_name, result.pk_name, result.key_seq",
            "|public|t|id|1|t_pkey",
        ),
        (
            "SELECT non_unique, index_name, type, ordinal_position, column_name, asc_or_desc FROM (SELECT     tmp.TABLE_CAT,     tmp.TABLE_SCHEM,     tmp.TABLE_NAME,     tmp.NON_UNIQUE,     tmp.INDEX_QUALIFIER,     tmp.INDEX_NAME,     tmp.TYPE,     tmp.ORDINAL_POSITION,     trim(both '\"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION, false)) AS COLUMN_NAME,   CASE tmp.AM_NAME     WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION - 1] & 1::smallint       WHEN 1 THEN 'D'       ELSE 'A'     END     ELSE NULL   END AS ASC_OR_DESC,     tmp.CARDINALITY,     tmp.PAGES,     tmp.FILTER_CONDITION FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, NOT i.indisunique AS NON_UNIQUE,   NULL AS INDEX_QUALIFIER, ci.relname AS INDEX_NAME,   CASE i.indisclustered     WHEN true THEN 1    ELSE CASE am.amname       WHEN 'hash' THEN 2      ELSE 3    END   END AS TYPE,   (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION,   ci.reltuples AS CARDINALITY,   ci.relpages AS PAGES,   pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS FILTER_CONDITION,   ci.oid AS CI_OID,   i.indoption AS I_INDOPTION,   am.amname AS AM_NAME FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)   JOIN pg_catalog.pg_am am ON (ci.relam = am.oid) WHERE true  AND n.nspname = 'public' AND ct.relname = 'k') AS tmp ORDER BY NON_UNIQUE, TYPE, INDEX_NAME, ORDINAL_POSITION) asked",
            "f|k_a_b_key|3|1|a|A\nf|k_a_b_key|3|2|b|A",
        ),
    ]);
}

#[test]
fn indexes_lead_to_arrays_and_extremes() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(SCHEMA);
    let cases = [
        ("SELECT max(id) FROM t", "Aggregate\n  ->  Limit\n        ->  Index Scan Backward using t_pkey on t"),
        (
            "SELECT min(b) FROM k WHERE a = 1",
            "Aggregate\n  ->  Limit\n        ->  Index Scan using k_a_b_key on k\n              \
             Index Cond: (a = 1)\n              Filter: (NOT (b IS NULL))",
        ),
        ("SELECT * FROM t WHERE id = ANY((SELECT ARRAY[1, 2])::int[])", ""),
    ];
    for (query, expected) in cases {
        let plan = client.show(&format!("EXPLAIN (COSTS OFF) {query}"));
        match expected {
            "" => assert!(plan.starts_with("Index Scan using t_pkey on t\n  Index Cond: (id = ANY ("), "{plan}"),
            _ => assert_eq!(plan, expected, "{query}"),
        }
    }
}

/// What PostgreSQL has and this server lacks is refused by its name, at its place, with a way out; nothing says a parser's words.
#[test]
fn what_is_absent_is_refused_by_name() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(SCHEMA);
    let cases = [
        ("SELECT jsonb_path_query('{}', '$')", "function jsonb_path_query is not supported", 8),
        ("SELECT 1, ts_headline('x', 'y')", "function ts_headline is not supported", 11),
        (
            "WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w WHERE n < 3) SEARCH DEPTH FIRST BY n SET o TABLE w",
            "SEARCH in WITH is not supported",
            1,
        ),
        ("SELECT a FROM t ORDER BY a USING <", "ORDER BY ... USING is not supported", 1),
        ("UPDATE t SET a = 1 WHERE CURRENT OF c", "WHERE CURRENT OF is not supported", 1),
        ("CREATE TYPE r AS RANGE (subtype = int4)", "CREATE TYPE AS RANGE is not supported", 1),
        ("ALTER SYSTEM SET work_mem = '1MB'", "the statement ALTER SYSTEM is not supported", 1),
        ("DROP FUNCTION f()", "the statement DROP FUNCTION is not supported", 1),
        ("COMMENT ON TRIGGER x ON t IS 'y'", "the statement COMMENT ON TRIGGER is not supported", 1),
        ("ALTER VIEW v SET (security_barrier = true)", "ALTER VIEW ... SET is not supported", 1),
        ("ALTER VIEW v ALTER a SET DEFAULT 1", "ALTER VIEW ... ALTER COLUMN is not supported", 1),
        ("CREATE TABLE s () INHERITS (t)", "INHERITS is not supported", 1),
        ("CREATE TABLE s (a int) PARTITION BY RANGE (a)", "partitioning is not supported", 1),
        ("UPDATE t SET a = 1, b[2] = 5", "an assignment to a part of a column is not supported", 1),
        ("SELECT xmlelement(name a)", "a function of XML is not supported", 1),
        ("SELECT * FROM t TABLESAMPLE SYSTEM (1)", "TABLESAMPLE is not supported", 1),
        ("SELECT 'a' IS NORMALIZED", "IS NORMALIZED is not supported", 8),
        ("SELECT 1, crypt('a', 'b')", "function crypt is not supported", 11),
        ("SELECT '{}'::jsonb @? '$'", "operator @? of jsonb is not supported", 20),
        ("SELECT '1.2.3.4'::inet", "type inet is not supported", 19),
    ];
    for (sql, message, position) in cases {
        let error = client.try_run(sql).expect_err(sql);
        assert_eq!((error.code(), error.message()), ("0A000", message), "{sql}");
        assert!(error.fields().hint.is_some(), "{sql}");
        assert_eq!(error.fields().position, Some(position), "{sql}");
    }
    assert_eq!(client.run("LOAD 'x'").notices, ["WARNING: LOAD has no effect: the server has no modules"]);
    client.run("ALTER TABLE t ALTER a SET (n_distinct = 5), ALTER a RESET (n_distinct)");
    for sql in ["SELECT nothing(1)", "SELECT abs('x', 1)"] {
        assert_eq!(client.try_run(sql).expect_err(sql).code(), "42883", "{sql}");
    }
    for sql in ["SELECT 1 FROM", "SELECT a FROM t ORDER BY a USING", "ALTER TABLE t FROBNICATE", "SELECT (1"] {
        let error = client.try_run(sql).expect_err(sql);
        assert_eq!((error.code(), error.fields().detail.as_deref()), ("42601", None), "{sql}");
    }
}

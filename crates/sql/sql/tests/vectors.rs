//! Operators over batches answer what the row executor answers, and PostgreSQL: the same rows, and the same errors.
//!
//! `VECTORS_QUERIES` and `VECTORS_SEED` make more or other random queries.

mod common;

use common::{Client, Random, databases};
use env::{Disk, Operation, SimDisk, SimDiskOptions};
use seriatim_sql::database::{Database, Options};
use std::sync::Arc;
use testing::reference::Reference;
use testing::{Directory, has};

/// Rows of the large table: enough that several threads work.
const ROWS: usize = 15_000;
/// Random queries of one run.
const QUERIES: usize = 120;

/// Tables with values at the edges of their types, NULLs and equal values of different forms.
fn fill(database: &Arc<Database>, rows: usize) {
    let mut client = Client::new(database);
    tables(rows).iter().for_each(|statement| drop(client.run(statement)));
}

/// The statements that make them.
fn tables(rows: usize) -> Vec<String> {
    let mut statements = vec![
        "CREATE TABLE m (id int PRIMARY KEY, w numeric(18,4), h numeric(18), s numeric(5,-2), y numeric, x text); \
            CREATE TABLE t (id int PRIMARY KEY, a int, b bigint, s smallint, p numeric(12,2), n numeric, f float8, r real, \
            x text, c char(4), v varchar(10), o bool, d date, w timestamp, z timestamptz, u uuid, i interval); \
         CREATE TABLE k (a int, x text, q numeric(10,3)); CREATE TABLE e (a int, x text)"
            .to_owned(),
    ];
    let fill = "INSERT INTO t SELECT g, nullif(g % 50, 7), g::bigint * 1000003 % 977, (g % 7)::smallint, \
             nullif(g % 1000, 5) / 4.0, (array[1, 1.0, 1.50, -3.25, 'NaN', 100000000000000000000, NULL, 'Infinity'])[g % 8 + 1], \
             (array[0, '-0', 'NaN', 'Infinity', 1.5, -2.25, NULL])[g % 7 + 1], (g % 11)::real / 4, \
             (array['', 'a', 'b ', 'ünï', NULL, 'abc'])[g % 6 + 1] || (g % 13), (array['a', 'a ', 'b', NULL])[g % 4 + 1], \
             (g % 17)::text, nullif(g % 3, 2) = 1, date '2024-01-01' + g % 400, \
             timestamp '2024-01-01' + g % 100 * interval '1 hour', timestamptz '2024-01-01 00:00:00+00' + g % 90 * interval '7 minutes', \
             ('00000000-0000-0000-0000-0000000000' || lpad((g % 20)::text, 2, '0'))::uuid, g % 9 * interval '1 day' \
         FROM generate_series(";
    let mut from = 1;
    while from <= rows {
        let to = (from + 5999).min(rows);
        statements.push(format!("{fill}{from}, {to}) g"));
        from = to + 1;
    }
    statements.push(
        "INSERT INTO k SELECT nullif(g % 40, 3), (array['a', 'b ', 'abc', NULL])[g % 4 + 1] || (g % 13), g / 8.0 FROM generate_series(1, 300) g"
            .to_owned(),
    );
    // Numerics at the edges of eighteen digits, and texts that are few.
    statements.push(
        "INSERT INTO m SELECT g, (array[99999999999999.9999, -99999999999999.9999, 0, 0.0001, -0.0001, NULL, 12.5])[g % 7 + 1], \
             (array[999999999999999999, -999999999999999999, 1, 0, NULL])[g % 5 + 1], g % 70 * 100, \
             (array[9223372036854775807, -9223372036854775808, 1.0, 1.00, 1e-20, 1e30, 0])[g % 7 + 1], \
             (array['A', 'N', 'R', '', NULL])[g % 5 + 1] FROM generate_series(1, 6000) g; \
         INSERT INTO m VALUES (6001, 'NaN', 'NaN', 'NaN', 'NaN', 'seldom'), (6002, 1, 1, 100, 'Infinity', repeat('long', 100))"
            .to_owned(),
    );
    statements
}

const INTS: &[&str] = &["a", "s", "id", "b"];
const CONDITIONS: &[&str] = &[
    "a > 20",
    "a between 3 and 30",
    "a is null",
    "p < 100",
    "p = 12.25",
    "p > 100.125",
    "12.2 >= p",
    "p between -1 and 3.333",
    "p <> 40.000",
    "p not in (1, 2.50, 40.5)",
    "p = 1.001",
    "n <> 1.5",
    "n >= -3.25",
    "v like '1%'",
    "x not like 'a%'",
    "x like '%1'",
    "c in ('a', 'b  ')",
    "c <> 'a'",
    "p * 2 >= 17.5",
    "n > 1",
    "n = 1.00",
    "f < 0.5",
    "f = 'NaN'",
    "x like 'a%'",
    "x = 'a1'",
    "c = 'a'",
    "v in ('1', '7', '16')",
    "o",
    "not o",
    "o is not true",
    "d >= '2024-06-01'",
    "d < timestamp '2024-06-01 12:00'",
    "d <= timestamp '2024-06-01'",
    "timestamp '2024-02-29 00:00:00.000001' <= d",
    "d > date '2024-12-01' - interval '90 days'",
    "d = timestamp '2024-06-01' or d <> timestamp '2024-06-01 01:00'",
    "w < '2024-01-03'",
    "a in (1, 2, 3, 40)",
    "a not in (1, 2, null)",
    "s = any (array[1, 3, 5])",
    "b % 3 = 1",
    "length(x) > 2",
    "coalesce(a, s) = 3",
    "case when s = 0 then o else a > 10 end",
    "a <> 0 and 100 / a > 5",
    "s <> 3 or 1 / (s - 3) > 0",
    "nullif(s, 2) is null",
    "greatest(a, s) > 20",
    "a is not distinct from s",
    "i > interval '3 days'",
];
const VALUES: &[&str] = &[
    "a",
    "a + s",
    "b - a",
    "b * 2",
    "s * s",
    "p + n",
    "p * p",
    "p - 1",
    "-a",
    "a % 7",
    "a / 3",
    "f * 2",
    "f + 1",
    "x || v",
    "upper(x)",
    "c",
    "v",
    "o",
    "d",
    "d + 1",
    "w",
    "z",
    "u",
    "i",
    "n",
    "p",
    "r",
    "abs(a)",
    "round(p)",
    "a::bigint",
    "a::text",
    "p::int",
    "s::numeric",
    "case when o then a else b end",
    "coalesce(x, v, 'none')",
    "extract(year from d)",
];
const FAILING: &[&str] = &[
    "a / (s - 3)",
    "s * 30000::smallint",
    "a * 100000000",
    "b * 9223372036854775",
    "1 / (a - 20)",
    "x::int",
    "sqrt(f)",
    "p / (a - 5)",
];
const AGGREGATES: &[&str] = &[
    "count(*)",
    "count(a)",
    "count(x)",
    "sum(a)",
    "sum(b)",
    "sum(s)",
    "avg(a)",
    "avg(b)",
    "sum(p)",
    "avg(p)",
    "min(a)",
    "max(b)",
    "min(p)",
    "max(p)",
    "sum(p * (1 - p))",
    "max(p) filter (where a > 10)",
    "max(d)",
    "min(w)",
    "max(x)",
    "min(c)",
    "bool_and(o)",
    "bool_or(o)",
    "bit_or(s)",
    "sum(a) filter (where o)",
    "count(*) filter (where p > 50)",
    "max(i)",
    "sum(case when o then p else 0 end)",
    "variance(s)",
    "count(distinct x)",
    "count(distinct n)",
    "sum(distinct a)",
    "avg(distinct s) filter (where o)",
];
/// Their results depend on the order of rows, or on which of two equal values comes first.
const ORDERED: &[&str] = &[
    "sum(f)",
    "avg(f)",
    "sum(n)",
    "avg(n)",
    "min(n)",
    "max(f)",
    "min(f)",
    "string_agg(x, ',')",
    "array_agg(a)",
    "max(n)",
];

fn list(random: &mut Random, from: &[&str], most: usize) -> Vec<String> {
    let count = 1 + random.below(most);
    (0..count).map(|_| random.pick(from).to_owned()).collect()
}

/// WHERE, or nothing.
fn condition(random: &mut Random) -> String {
    if random.one_in(3) {
        return String::new();
    }
    let (first, second) = (random.pick(CONDITIONS), random.pick(CONDITIONS));
    match random.below(4) {
        0 => format!(" where ({first}) and ({second})"),
        1 => format!(" where ({first}) or ({second})"),
        2 => format!(" where not ({first})"),
        _ => format!(" where {first}"),
    }
}

fn query(random: &mut Random) -> String {
    let (other, condition) = (condition(random), condition(random));
    let value = |random: &mut Random| match random.one_in(25) {
        true => random.pick(FAILING).to_owned(),
        false => random.pick(VALUES).to_owned(),
    };
    match random.below(11) {
        10 => {
            let value = value(random);
            read_twice(random, &condition, &value)
        }
        0 | 1 => {
            let mut calls = list(random, AGGREGATES, 4);
            calls.extend(list(random, ORDERED, 2).into_iter().filter(|_| random.one_in(2)));
            let key = value(random);
            let grouped = [String::new(), format!("{key}, "), format!("{key}, {}, ", random.pick(INTS))];
            let keys = grouped[random.below(3)].clone();
            let by = keys.trim_end_matches(", ");
            let by = if by.is_empty() { String::new() } else { format!(" group by {by}") };
            let having = if random.one_in(4) { " having count(*) > 3" } else { "" };
            format!("select {keys}{} from t{condition}{by}{having}", calls.join(", "))
        }
        2 => format!("select distinct {}, {} from t{condition}", value(random), random.pick(&["a", "s", "o", "c"])),
        3 => {
            let (first, direction) = (value(random), random.pick(&["", " desc", " nulls first", " desc nulls last"]));
            let limit = if random.one_in(2) { " limit 37 offset 5" } else { "" };
            format!("select {first}, id from t{condition} order by 1{direction}, 2{limit}")
        }
        4 => {
            let join = random.pick(&["join", "left join", "right join"]);
            let on = random.pick(&[
                "k.a = t.a",
                "k.a = t.a and k.q > t.p",
                "k.x = t.x",
                "k.q = t.p",
                "k.a = t.s and k.x = t.x",
            ]);
            let few = random.pick(&["t.id % 7 = 0", "t.id < 3000", "t.a > 45"]);
            format!(
                "select k.a, t.s, count(*), sum(t.p), max(k.q), min(t.id) from t {join} k on {on} where {few} or t.id is null group by 1, 2"
            )
        }
        5 => {
            let not = random.pick(&["", "not "]);
            let on = random.pick(&["k.a = t.a", "k.x = t.x", "k.a = t.a and k.q > t.p"]);
            let table = random.pick(&["k", "e k"]);
            let on = if table == "k" { on } else { "k.a = t.a" };
            if random.one_in(2) {
                let (value, of) = [("a", "a"), ("x", "x"), ("s", "a"), ("p", "q"), ("b", "a")][random.below(5)];
                let of = if table == "e k" && of == "q" { "a" } else { of };
                let few = random.pick(&[
                    "",
                    " where k.a > 3",
                    " where k.a is not null and k.x is not null",
                    " where k.a < 0",
                ]);
                return format!(
                    "select count(*), sum(id) from t where {value} {not}in (select k.{of} from {table}{few})"
                );
            }
            match random.below(3) {
                0 => format!(
                    "select s, {not}exists (select from {table} where {on}) as m, count(*) from t{condition} group by 1, 2"
                ),
                1 => format!(
                    "select count(*), sum(id) from t where s = 3 or {not}exists (select from {table} where {on})"
                ),
                _ => format!("select count(*), sum(id) from t where {not}exists (select from {table} where {on})"),
            }
        }
        6 => {
            let window = random.pick(&[
                "row_number() over (partition by s order by id)",
                "sum(b) over (partition by a order by id rows 3 preceding)",
                "rank() over (order by a nulls first, s)",
                "lag(x) over (partition by s order by id)",
                "count(*) over (partition by o)",
            ]);
            format!(
                "select g, count(*), min(w), max(w) from (select {} as g, {window} as w from t{condition}) q group by g",
                random.pick(&["a", "s", "o"])
            )
        }
        7 => {
            let joins = random.pick(&[
                "t left join k on k.a = t.a left join k l on l.x = k.x and l.q < 10",
                "t join k on k.a = t.s join k l on l.a = k.a and l.x is not distinct from k.x",
                "(select * from t where s = 2) t full join (select * from k where q < 20) k on k.a = t.a",
                "k join (select a, sum(p) as p, max(x) as x from t group by a) t on k.a = t.a",
                "t left join (select distinct a, x from k) k on k.a = t.a and k.x = t.x",
            ]);
            let few = random.pick(&["t.x like 'a%'", "t.x is null", "k.x is null or k.a > 20", "true"]);
            format!("select k.a, t.x, count(*), sum(t.p) from {joins} where {few} group by 1, 2")
        }
        8 => {
            let values = format!("{}, {}", random.pick(&["a", "x", "p", "c"]), random.pick(&["s", "d", "u"]));
            let operation = random.pick(&["union", "union all", "except", "intersect"]);
            format!(
                "select count(*), min(q::text) from (select {values} from t{condition} {operation} select {values} from t{other}) q"
            )
        }
        _ => format!(
            "select g, count(*), sum(b) from (select {} as g, b from t{condition}) q group by g order by count(*) desc, 3 limit 50",
            random.pick(&["a", "x", "s", "d"])
        ),
    }
}

/// A query of WITH that is read twice.
fn read_twice(random: &mut Random, condition: &str, value: &str) -> String {
    let key = random.pick(&["a", "s", "x", "o", "c"]);
    match random.below(5) {
        0 => format!(
            "with v as (select {key} as g, count(*) as c, sum(b) as b from t{condition} group by 1) \
             select count(*), sum(l.c), sum(r.b) from v l join v r on r.g = l.g"
        ),
        1 => format!(
            "with v as (select id, {value} as g, b from t{condition}) \
             select count(*), sum(l.b), min(r.g::text) from v l join v r on r.id = l.id where l.id % 3 = 0"
        ),
        2 => format!(
            "with v as (select {key} as g, p from t{condition}) \
             select g, count(*) from v where p > (select avg(p) from v) group by g"
        ),
        3 => format!(
            "select s, count(*) from (with v as (select id, s, b from t{condition}) select l.id, l.s from v l \
             where l.id < 2000 and (id not in (select id from v where b % 2 = 0) or exists (select from v r where r.s = l.id))) q group by s"
        ),
        _ => format!(
            "with v as materialized (select {key} as g, {value} as b from t{condition}), w as (select g, b from v union all select g, b from v) \
             select count(*), max(l.b::text) from w l where g is not null"
        ),
    }
}

/// Rows, sorted unless the query sorts them wholly; or the error's code.
fn answer(client: &mut Client, query: &str) -> Result<Vec<String>, String> {
    let answer = client.try_run(query).map_err(|error| error.code().to_owned())?;
    let mut rows: Vec<String> = answer.rows.iter().map(|row| row.join("|")).collect();
    if !query.contains(" order by 1") {
        rows.sort();
    }
    Ok(rows)
}

/// Small plans stay with rows, large ones do not, and a prepared statement follows the setting.
#[test]
fn plans_that_read_many_rows_use_vectors() {
    // An engine that does not say how many rows a table has gets no vectors but by force.
    let database = common::database_with_versions();
    let mut client = Client::new(&database);
    fill(&database, 15_000);
    let uses =
        |client: &mut Client, query: &str| client.show(&format!("EXPLAIN (COSTS OFF) {query}")).contains("Vectors");
    assert!(uses(&mut client, "SELECT a, count(*) FROM t GROUP BY a"));
    assert!(uses(&mut client, "SELECT * FROM (SELECT id FROM t ORDER BY x) q LIMIT 3"));
    assert!(uses(&mut client, "INSERT INTO e SELECT a, max(x) FROM t GROUP BY a"));
    for small in [
        "SELECT a, count(*) FROM k GROUP BY a",
        "SELECT count(*) FROM t WHERE id = 3",
        "SELECT * FROM t",
        "SELECT id FROM t ORDER BY id",
        "SELECT id FROM t ORDER BY x FOR UPDATE",
        "SELECT sum(random()) FROM t",
        "UPDATE t SET a = 1 FROM k WHERE k.a = t.a",
    ] {
        assert!(!uses(&mut client, small), "{small}");
    }
    client.run("PREPARE p AS SELECT count(*) FROM k");
    assert!(!uses(&mut client, "EXECUTE p"));
    client.run("SET enable_vectors = force");
    assert!(uses(&mut client, "EXECUTE p"));
    assert_eq!(client.show("EXECUTE p"), "300");
    client.run("SET enable_vectors = off");
    assert!(!uses(&mut client, "EXECUTE p") && !uses(&mut client, "SELECT a, count(*) FROM t GROUP BY a"));
    assert_eq!(client.fails("SET enable_vectors = maybe").code(), "22023");
}

/// Batches without a partner, and others with some: of the right side's columns only those exist that are read.
#[test]
fn outer_joins_make_the_columns_that_are_read() {
    let mut client = Client::new(&common::database());
    client.run("CREATE TABLE l (id int, k int); CREATE TABLE r (k int, x text, y int)");
    client.run("INSERT INTO l SELECT g, g % 3000 FROM generate_series(1, 6000) g");
    client.run("INSERT INTO r SELECT g, 'x' || g, g FROM generate_series(2500, 2999) g");
    for query in [
        "SELECT l.id FROM l LEFT JOIN r ON l.k = r.k ORDER BY l.k, l.id",
        "SELECT l.id, r.y FROM l LEFT JOIN r ON l.k = r.k ORDER BY r.y, l.id",
        "SELECT o.id FROM l o JOIN (l LEFT JOIN r ON l.k = r.k) ON o.id = l.id ORDER BY o.k, o.id",
        "SELECT count(y), count(*) FROM (SELECT l.id, r.x, r.y FROM l LEFT JOIN r ON l.k = r.k) q",
    ] {
        client.run("SET enable_vectors = force");
        let by_batch = client.show(query);
        client.run("SET enable_vectors = off");
        assert_eq!(by_batch, client.show(query), "{query}");
    }
}

/// What is computed for a column that nobody reads is not evaluated, by rows or over batches, where PostgreSQL does not either.
#[test]
fn what_nobody_reads_is_not_computed() {
    let mut client = Client::new(&common::database());
    client.run("CREATE TABLE z (a int, b int); INSERT INTO z VALUES (1, 0); CREATE SEQUENCE s");
    client.run("CREATE VIEW zv AS SELECT a, 1 / b AS r FROM z");
    for vectors in ["off", "force"] {
        client.run(&format!("SET enable_vectors = {vectors}"));
        for query in [
            "SELECT a FROM zv",
            "SELECT count(*) FROM zv",
            "SELECT max(a) FROM zv",
            "SELECT z.a FROM z LEFT JOIN zv ON z.a = zv.a",
            "SELECT a FROM (SELECT a, r + 1 AS q FROM zv) i ORDER BY a",
            "SELECT a FROM (SELECT a, sum(1 / b) AS r FROM z GROUP BY a) g",
            "SELECT m FROM (SELECT a, sum(1 / b) AS r, max(a) AS m, count(1 / b) FROM z GROUP BY a) g",
            "SELECT count(*) FROM (SELECT sum(1 / b) FROM z) g",
            "SELECT count(*) FROM (SELECT min(b), max(1 / b) FROM z) g",
            "SELECT a FROM (SELECT a, sum(1 / b) OVER (ORDER BY a) AS r FROM z) w",
            "SELECT n FROM (SELECT sum(1 / b) OVER (ORDER BY a) AS r, count(*) OVER (ORDER BY a) AS n FROM z) w",
            "SELECT a FROM (SELECT a, 1 / b AS r FROM z ORDER BY a LIMIT 1) l",
            "SELECT a FROM (SELECT DISTINCT ON (a) a, 1 / b AS r FROM z ORDER BY a) d",
            "SELECT a FROM (SELECT a, generate_series(1, 1), sum(1 / b) AS r FROM z GROUP BY a) s",
            "SELECT a FROM z, LATERAL (SELECT 1 / z.b AS r) l",
            "SELECT a FROM zv, LATERAL (SELECT r + 1 AS q) l",
            "SELECT 1 WHERE EXISTS (SELECT 1 / b FROM z)",
            "WITH v AS (SELECT a, 1 / b AS r FROM z) SELECT a FROM v",
            "SELECT (SELECT a FROM zv)",
            "SELECT count(a) - 1 FROM (SELECT a, 1 / b AS r FROM z UNION ALL SELECT a, 1 / b FROM z) u",
        ] {
            assert_eq!(client.show(query), "1", "{query}");
        }
        for query in [
            "SELECT a FROM (SELECT DISTINCT a, 1 / b AS r FROM z) d",
            "SELECT a FROM (SELECT a, 1 / b AS r FROM z UNION SELECT a, 1 / b FROM z) u",
            "SELECT a FROM (SELECT a, 1 / b AS r FROM z ORDER BY r LIMIT 1) l",
            "SELECT a FROM (SELECT a, count(*) FROM z GROUP BY a, 1 / b) g",
            "SELECT a FROM zv WHERE r > 0",
            "WITH v AS (SELECT a, 1 / b AS r FROM z) SELECT p.a FROM v p, v q",
        ] {
            assert_eq!(client.fails(query).code(), "22012", "{query}");
        }
        // A side effect happens.
        client.run("SELECT setval('s', 1)");
        assert_eq!(client.show("SELECT a FROM (SELECT a, nextval('s') FROM z) v"), "1");
        assert_eq!(client.show("SELECT a FROM (SELECT a, sum(nextval('s')) FROM z GROUP BY a) v"), "1");
        assert_eq!(client.show("SELECT nextval('s')"), "4");
    }
}

#[test]
fn explain_shows_how_a_limit_is_sorted() {
    let database = common::database();
    let mut client = Client::new(&database);
    fill(&database, 200);
    client.run("SET enable_vectors = force");
    let shown = client.show("EXPLAIN (COSTS OFF) SELECT id, x FROM t ORDER BY p LIMIT 3");
    assert!(shown.contains("Sort Method: top-N"), "{shown}");
    for all in ["SELECT id, x FROM t ORDER BY p", "SELECT id FROM t ORDER BY p FETCH FIRST 3 ROWS WITH TIES"] {
        let shown = client.show(&format!("EXPLAIN (COSTS OFF) {all}"));
        assert!(shown.contains("Sort") && !shown.contains("top-N"), "{shown}");
    }
}

#[test]
fn explain_shows_what_ran_over_batches() {
    let database = common::database();
    let mut client = Client::new(&database);
    fill(&database, 200);
    client.run("SET enable_vectors = force");
    let query = "SELECT s, count(*) FROM t WHERE a > 10 AND length(x) > 2 GROUP BY s ORDER BY s";
    let plan = "Vectors\n  ->  Sort\n        Sort Key: t.s\n        ->  HashAggregate\n";
    let shown = client.show(&format!("EXPLAIN (COSTS OFF) {query}"));
    assert!(shown.starts_with(&plan.replace("t.s", "s")), "{shown}");
    let shown = client.show(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {query}"));
    let groups = client.run(query).rows.len();
    let read: i64 = client.show("SELECT count(*) FROM t WHERE a > 10 AND length(x) > 2").parse().expect("a number");
    for rows in
        [format!("Vectors (actual rows={groups} loops=1)"), format!("Seq Scan on t (actual rows={read} loops=1)")]
    {
        assert!(shown.contains(&rows), "{rows} in {shown}");
    }
    for (format, part) in [
        ("JSON", "\"Node Type\": \"Vectors\""),
        ("YAML", "Node Type: \"Vectors\""),
        ("XML", "<Node-Type>Vectors</Node-Type>"),
    ] {
        let shown = client.show(&format!("EXPLAIN (FORMAT {format}) {query}"));
        assert!(shown.contains(part), "{shown}");
    }
}

/// An engine that protects a scan by writing down what it asked for says so.
#[test]
fn explain_names_what_is_logged() {
    let query = "SELECT s, count(*) FROM t WHERE a > 10 AND length(x) > 2 GROUP BY s";
    for subject in common::engines() {
        let database = common::open(subject.store);
        fill(&database, 50);
        let mut client = Client::new(&database);
        let logged = |client: &mut Client, query: &str| {
            let plan = client.show(&format!("EXPLAIN (COSTS OFF) {query}"));
            plan.lines().find_map(|line| line.trim().strip_prefix("Logged: ").map(str::to_owned))
        };
        let is_hyper = subject.name == "hyper";
        let expect = |text: &str| is_hyper.then(|| text.to_owned());
        for vectors in ["off", "force"] {
            client.run(&format!("SET enable_vectors = {vectors}"));
            assert_eq!(logged(&mut client, query), expect("(a > 10), columns s, x"), "{}", subject.name);
            assert_eq!(logged(&mut client, "SELECT count(*) FROM k"), expect("all rows, no columns"));
            let two = "SELECT * FROM k WHERE a = 3 AND x IS NULL";
            assert_eq!(logged(&mut client, two), expect("((a = 3) AND (x IS NULL)), all columns"));
            let least = "SELECT min(b) FROM t WHERE a > 10";
            assert_eq!(logged(&mut client, least), expect("(a > 10) with b below the least, columns b"));
            let greatest = "SELECT max(x) FROM k";
            assert_eq!(logged(&mut client, greatest), expect("all rows with x above the greatest, columns x"));
            let both = "SELECT min(b), max(a), min(b) FROM t";
            let ends = "all rows with b below the least or a above the greatest, columns a, b";
            assert_eq!(logged(&mut client, both), expect(ends));
            let by_row = "SELECT min(b) FROM t WHERE length(x) > 2";
            assert_eq!(logged(&mut client, by_row), expect("all rows, columns b, x"));
        }
    }
}

/// A database whose temporary files lie on a disk of their own, with a table of 30,000 numbers.
fn on_disk(disk: &Arc<SimDisk>) -> Arc<Database> {
    let options = Options { temporary: Some(disk.clone()), ..Options::default() };
    let database = Database::open(common::store(), options).expect("a database");
    Client::new(&database).run("CREATE TABLE g (n int); INSERT INTO g SELECT * FROM generate_series(1, 30000)");
    database
}

#[test]
fn what_does_not_fit_goes_to_files_that_are_removed() {
    let disk = Arc::new(SimDisk::new(1, SimDiskOptions::default()));
    disk.create_dir_all("").expect("a directory");
    disk.create_new("left by a process that was killed").expect("a file");
    let database = on_disk(&disk);
    assert!(disk.list("").expect("a directory").is_empty(), "what was left is removed");
    let mut client = Client::new(&database);
    client.run("SET enable_vectors = force");
    let queries = [
        "SELECT n, 'text ' || n % 977 AS x FROM g ORDER BY x, n DESC",
        "SELECT DISTINCT n % 20000, 'text ' || n % 20000 FROM g",
        "SELECT n % 15000, count(*), string_agg(n::text, ',') FROM g GROUP BY 1",
        "SELECT a.n, b.x FROM g a LEFT JOIN (SELECT n * 2 AS n, 'text ' || n AS x FROM g) b ON a.n = b.n",
        "SELECT n, n NOT IN (SELECT n * 3 FROM g) FROM g",
        "WITH v AS (SELECT n, 'text ' || n AS x FROM g) SELECT a.n, b.x FROM v a JOIN v b ON a.n = b.n * 2",
        // Whoever reads row by row reads the same file.
        "WITH v AS (SELECT n, -n AS m FROM g WHERE n > 10) SELECT * FROM v UNION ALL SELECT * FROM v WHERE n < 100",
        "WITH v AS (SELECT n, 'text ' || n AS x FROM g) SELECT n, x FROM v UNION ALL SELECT n + 1, x FROM v",
    ];
    for query in queries {
        let mut answers = Vec::new();
        for memory in ["256MB", "64kB"] {
            client.run(&format!("SET work_mem = '{memory}'"));
            let writes = || disk.counts().get(&Operation::Write).copied().unwrap_or(0);
            let before = writes();
            let mut rows = client.run(query).rows;
            assert_eq!(writes() > before, memory == "64kB", "{memory}: {query}");
            if !query.contains("ORDER BY x") {
                rows.sort();
            }
            answers.push(rows);
        }
        assert!(answers[0] == answers[1], "{query}");
        assert!(disk.list("").expect("a directory").is_empty(), "{query} leaves files");
    }
    client.run(&format!("BEGIN; DECLARE c CURSOR FOR {}; FETCH 3 FROM c", queries[0]));
    assert!(!disk.list("").expect("a directory").is_empty(), "an open cursor has its rows there");
    client.run("ROLLBACK");
    assert!(disk.list("").expect("a directory").is_empty(), "a closed one leaves files");
    // A reader that wants few rows has the query run no further.
    let writes = || disk.counts().get(&Operation::Write).copied().unwrap_or(0);
    let before = writes();
    let few = "WITH v AS (SELECT n, -n AS m FROM g) (SELECT n FROM v LIMIT 2) UNION ALL (SELECT m FROM v LIMIT 3)";
    assert_eq!(client.run(few).rows.len(), 5);
    assert!(writes() - before <= 2, "{}", writes() - before);
}

#[test]
fn limits_of_files_are_named_errors() {
    let disk = Arc::new(SimDisk::new(1, SimDiskOptions::default()));
    let database = on_disk(&disk);
    let mut client = Client::new(&database);
    let sort = "SELECT n, 'text ' || n AS x FROM g ORDER BY x";
    client.run("SET enable_vectors = force; SET work_mem = '100kB'; SET temp_file_limit = '1MB'");
    assert_eq!(client.show("SHOW temp_file_limit"), "1MB");
    let error = client.fails(sort);
    assert_eq!((error.code(), error.message()), ("53400", "temporary file size exceeds temp_file_limit (1024kB)"));
    client.run("SET temp_file_limit = -1");
    disk.set_capacity(300_000);
    let error = client.fails(sort);
    assert_eq!(error.code(), "53100", "{error:?}");
    assert!(error.message().ends_with("No space left on device"), "{error:?}");
    disk.set_capacity(u64::MAX);
    assert_eq!(client.run(sort).rows.len(), 30_000);
    // One group stays in memory, and ends there as row by row.
    let error = client.fails("SELECT string_agg(repeat('x', 100) || n, ',') FROM g");
    assert_eq!(error.code(), "53200", "{error:?}");
}

#[test]
fn random_queries_have_one_answer() {
    let number =
        |name: &str, default: usize| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default);
    let (queries, seed) = (number("VECTORS_QUERIES", QUERIES), number("VECTORS_SEED", 1));
    let mut random = Random(seed as u64);
    let mut answered = Vec::new();
    let databases = databases();
    for database in &databases {
        fill(database, ROWS);
        let connect = |settings: &str| {
            let mut client = Client::new(database);
            client.run(settings);
            client
        };
        let mut rows = connect("SET enable_vectors = off");
        let mut vectors = connect("SET enable_vectors = force");
        let mut small = connect("SET enable_vectors = force; SET work_mem = '64kB'");
        let (mut used, mut without_memory) = (0, 0);
        for _ in 0..queries / databases.len() {
            let query = query(&mut random);
            let expected = answer(&mut rows, &query);
            assert!(answer(&mut vectors, &query) == expected, "seed {seed}: {query}");
            match answer(&mut small, &query) {
                Err(code) if code == "53200" => without_memory += 1,
                found => assert!(found == expected, "seed {seed}, little memory: {query}"),
            }
            used += usize::from(vectors.show(&format!("EXPLAIN {query}")).contains("Vectors"));
            answered.push((query, expected));
        }
        let all = queries / databases.len();
        assert!(used > all * 2 / 3, "only {used} of {all} queries used vectors");
        // The row executor's part of a plan has no files.
        assert!(without_memory < all / 3, "{without_memory} of {all} queries ended without memory");
    }
    compare_with_postgresql(&answered, ROWS, seed);
}

/// Of `m`, whose numerics have up to eighteen digits, or are no numbers, with `{}` for a column.
const OF_NUMERICS: &[&str] = &[
    "select count(*), sum({}), avg({}), min({}), max({}) from m",
    "select x, count(*), sum({}), avg({}), min({}), max({}) from m group by x order by 1",
    "select sum({} + 1), sum({} - 0.00001), sum(-1 - {}), sum({} * {}), sum({} * {} * 3.7) from m where id <= 6000",
    "select sum({} / 3), sum(round({}, 1)), sum(abs({})) from m where id <= 6000",
    "select count(*) from m where {} > 0",
    "select count(*) from m where {} >= 0.00005",
    "select count(*) from m where {} < -0.0001 or {} = 99999999999999.9999",
    "select count(*) from m where {} <= 99999999999999.99990",
    "select count(*) from m where {} <> 1.000 and x <> 'N'",
    "select count(*) from m where {} in (1, 0.00010, 12.50, 100)",
    "select count(*) from m where {} not in (1, 100.0)",
    "select count(*) from m where {} > 1e30 or {} < -9223372036854775807",
    "select count(*) from m where {} = 'NaN'",
    "select {}, count(*) from m where id <= 6000 group by {} order by 1, 2",
    "select distinct {} from m where x like 'N%' or x like 'sel%' order by 1",
    "select id, {} from m order by 2 desc, 1 limit 20",
    "select count(*) from m where x in ('A', 'seldom') and {} is not null",
];

#[test]
fn numerics_at_their_edges_have_one_answer() {
    let mut answered = Vec::new();
    for database in databases() {
        fill(&database, 10);
        let connect = |settings: &str| {
            let mut client = Client::new(&database);
            client.run(settings);
            client
        };
        let mut rows = connect("SET enable_vectors = off");
        let mut vectors = connect("SET enable_vectors = force");
        for (query, column) in OF_NUMERICS.iter().flat_map(|query| ["w", "h", "s", "y"].map(|column| (query, column))) {
            let query = query.replace("{}", column);
            let expected = answer(&mut rows, &query);
            assert_eq!(answer(&mut vectors, &query), expected, "{query}");
            answered.push((query, expected));
        }
    }
    // Which of 1.0 and 1.00 stands for a group, or is the least, PostgreSQL is free to choose.
    answered.retain(|(query, _)| !query.contains("y)") && !query.contains("group by y") && !query.contains(" y "));
    compare_with_postgresql(&answered, 10, 0);
}

/// An engine that stores columns adds them up where they lie: of any type, width and scale, with NULLs, of older rows and of one's own.
#[test]
fn sums_of_columns_are_those_of_their_rows() {
    let of_t =
        ["count(*)", "count(x), sum(a)", "sum(b), avg(s), count(*)", "sum(p), avg(p), count(n)", "sum(n), count(f)"];
    let of_m = ["sum(w), count(*), avg(h)", "sum(h), sum(y)", "avg(s), count(x)", "sum(s), count(w), sum(id)"];
    let conditions =
        ["", " WHERE id > 20 AND id < 3000", " WHERE id % 3 = 1", " WHERE id < 0", " WHERE x = 'a1' OR x IS NULL"];
    let both = of_t.map(|sums| (sums, "t")).into_iter().chain(of_m.map(|sums| (sums, "m")));
    let queries: Vec<String> = both
        .flat_map(|(sums, table)| conditions.map(|condition| format!("SELECT {sums} FROM {table}{condition}")))
        .collect();
    let check = |client: &mut Client| {
        for query in &queries {
            client.run("SET LOCAL enable_vectors = force");
            let by_batch = client.show(query);
            client.run("SET LOCAL enable_vectors = off");
            assert_eq!(by_batch, client.show(query), "{query}");
        }
    };
    for subject in common::engines() {
        // Beside locks nobody writes what somebody reads.
        let is_locking = subject.name == "twopl";
        let database = common::open(subject.store);
        fill(&database, 5_000);
        let [mut old, mut own] = [(); 2].map(|()| Client::new(&database));
        old.run("BEGIN READ ONLY");
        check(&mut old);
        if is_locking {
            old.run("COMMIT; BEGIN");
        }
        own.run("BEGIN; UPDATE t SET a = a + 7, p = NULL, b = b * 1000000000000 WHERE id % 9 = 1; DELETE FROM t WHERE id % 11 = 2");
        own.run("UPDATE m SET w = -w, y = 2.50, s = NULL WHERE id % 7 = 3");
        own.run("INSERT INTO t (id, b, p, n) VALUES (90001, 9223372036854775807, 12345.67, 1.125)");
        check(&mut own);
        if !is_locking {
            check(&mut old);
        }
        own.run("COMMIT");
        check(&mut old);
        old.run("COMMIT; BEGIN");
        check(&mut old);
    }
}

#[test]
fn rows_that_are_added_up_are_counted() {
    for database in databases() {
        fill(&database, 5_000);
        let mut client = Client::new(&database);
        client.run("SET enable_vectors = force; DELETE FROM t WHERE id % 2 = 0");
        let explained =
            client.show("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*), sum(p) FROM t");
        let scan = explained.lines().find(|line| line.contains("on t")).expect("a scan");
        assert!(scan.contains("rows=2500"), "{explained}");
    }
}

/// Aggregates of `k` in a subquery, with and without a value where there are no rows.
const OF_SUBQUERIES: &[&str] = &[
    "count(*)",
    "count(k.x)",
    "sum(k.q)",
    "min(k.q)",
    "max(k.x)",
    "avg(k.q)",
    "0.5 * sum(k.q)",
    "count(*) + 1",
    "coalesce(sum(k.a), -1)",
    "max(k.q) + t.s",
    "sum(k.a) filter (where k.q > 10)",
    "count(distinct k.x)",
    "sum(k.q * 2 - 1)",
    "sum(10 / (k.q - 3))",
    "1 / (count(*) - 3)",
    "bool_or(k.q > 20)::int",
];
/// What makes them refer to a row of `t`.
const CORRELATIONS: &[&str] = &[
    "k.a = t.a",
    "k.x = t.x",
    "k.q = t.p",
    "k.a = t.s",
    "k.a = t.a and k.q > 12",
    "k.a = t.a and k.x = t.x",
    "t.b = k.a",
    "k.a = t.a and k.q > t.p",
    "k.a = t.a + 1 and k.x is not null",
    "k.a = t.a group by t.s",
    "k.a = t.a having count(*) > 5",
    "k.a = t.a and k.q <> 3 and 1 / (k.q - 3) < 1",
];

fn subquery(random: &mut Random) -> String {
    let (of, on) = (random.pick(OF_SUBQUERIES), random.pick(CORRELATIONS));
    let table = random.pick(&["k", "k", "e k", "(select a, x, q from k where q < 30) k", "k join e on e.a = k.a", "k"]);
    let (of, on) = if table == "e k" { ("count(*)", "k.a = t.a") } else { (of, on) };
    let scalar = format!("(select {of} from {table} where {on})");
    let few = random.pick(&["t.id < 900", "t.id % 3 = 0", "t.a > 30", "t.x is not null"]);
    let not = random.pick(&["", "not "]);
    let (left, right) = [("t.a", "k.a"), ("t.x", "k.x"), ("(t.a, t.x)", "k.a, k.x"), ("t.s", "k.a")][random.below(4)];
    let listed = {
        let where_k =
            random.pick(&["", " where k.a > 0 and k.x > ''", " where k.q > 30 and k.a <> 5", " where k.q > 90"]);
        format!("{left} {not}in (select {right} from k{where_k})")
    };
    let asked = {
        let on =
            random.pick(&["k.a = t.a", "k.x = t.x and k.q < 30", "k.a = t.s and k.a > 1", "k.a = t.a and k.q > t.p"]);
        let by_list = format!("{left} {not}in (select {right} from k where {on})");
        if random.one_in(2) { by_list } else { format!("{not}exists (select from k where {on})") }
    };
    match random.below(13) {
        9 => format!("select count(*), sum(t.id) from t where {few} and (t.s = 2 or {listed})"),
        10 => format!("select count(*), sum(t.id) from t where {few} and (t.s = 2 and {listed} or not {asked})"),
        11 => format!("select t.id, {listed}, {asked} from t where {few} order by 1"),
        12 => format!("select t.a, count(*), sum(case when {asked} then 1 else 2 end) from t where {few} group by 1"),
        0 => format!("select t.id, {scalar} from t where {few} order by 1"),
        1 => format!("select count(*), sum(t.id) from t where {few} and {scalar} > 3"),
        2 => format!("select count(*), sum(t.id) from t where {few} and (t.s = 2 or {scalar} is null)"),
        3 => format!("select t.a, sum(case when t.s < 3 then {scalar} else 0 end) from t where {few} group by 1"),
        4 => {
            // Some of these have no NULL, and some no row.
            let where_k = random.pick(&[
                "",
                "",
                " where k.a > 0 and k.x > ''",
                " where k.q > 30 and k.a <> 5",
                " where k.q > 90",
            ]);
            format!("select count(*), sum(t.id) from t where {few} and {left} {not}in (select {right} from k{where_k})")
        }
        5 => {
            let on = random.pick(&["k.a = t.a", "k.x = t.x and k.q < 30", "k.a = t.s and k.a is not null"]);
            format!(
                "select count(*), sum(t.id) from t where {few} and {left} {not}in (select {right} from k where {on})"
            )
        }
        6 => format!(
            "select count(*), sum(t.id) from t where {few} and t.id {not}in (select u.id from t u where u.s = 3 and u.b > \
             (select min(v.b) + 400 from t v where v.a = u.a))"
        ),
        7 => format!("select t.id, {scalar} from t where {few} order by 1 limit 7"),
        _ => format!(
            "select count(*) from t where {few} and t.p >= (select max(u.p) from t u where u.a = t.a and u.s = t.s)"
        ),
    }
}

/// Subqueries become joins with groups where that pays; the answers are those of the subqueries.
#[test]
fn random_subqueries_have_one_answer() {
    let seed = std::env::var("VECTORS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random(seed);
    let (rows, mut answered) = (2_000, Vec::new());
    for database in databases() {
        fill(&database, rows);
        let [mut off, mut force] = ["off", "force"].map(|setting| {
            let mut client = Client::new(&database);
            client.run(&format!("SET enable_vectors = {setting}"));
            client
        });
        let mut joined = 0;
        for _ in 0..60 {
            let query = subquery(&mut random);
            let expected = answer(&mut off, &query);
            assert!(answer(&mut force, &query) == expected, "seed {seed}: {query}");
            let plan = if expected.is_ok() { off.show(&format!("EXPLAIN {query}")) } else { String::new() };
            joined += usize::from(plan.contains("Join") && !plan.contains("SubPlan"));
            answered.push((query, expected));
        }
        assert!(joined > 10, "only {joined} of 60 queries are joins");
    }
    compare_with_postgresql(&answered, rows, seed as usize);
}

/// The same queries by PostgreSQL: where one answers, the other does, and equally.
fn compare_with_postgresql(answered: &[(String, Result<Vec<String>, String>)], rows: usize, seed: usize) {
    let what = "random queries beside PostgreSQL";
    if !has("psql", what) {
        return;
    }
    let Some(reference) = Reference::start(what) else { return };
    let directory = Directory::made("vectors");
    let queries = answered.iter().map(|(query, _)| format!("{query};\n\\echo ===\n"));
    let script: String = tables(rows).iter().map(|statement| format!("{statement};\n")).chain(queries).collect();
    let script = directory.file("script.sql", format!("\\pset null <null>\n{script}"));
    let printed = std::fs::File::create(directory.join("printed")).expect("a file");
    let mut command = std::process::Command::new("psql");
    command.args(["-X", "-A", "-t", "-q", "-v", "VERBOSITY=sqlstate", "-h", "127.0.0.1", "-U", "postgres"]);
    command.args(["-d", "postgres", "-p", &reference.port.to_string(), "-f"]).arg(script);
    command.stderr(printed.try_clone().expect("a file")).stdout(printed);
    assert!(command.status().expect("psql runs").success());
    let printed = std::fs::read_to_string(directory.join("printed")).expect("what psql printed");
    for ((query, expected), found) in answered.iter().zip(printed.split("===\n")) {
        // What depends on the order of rows, or on which of two equal values comes first, PostgreSQL is free to choose.
        if ["_agg(", "(f)", "(n)", "(p + n)", " n,", ", n", " n ", "select n"].iter().any(|part| query.contains(part)) {
            continue;
        }
        let mut found: Vec<&str> = found.lines().collect();
        if !query.contains(" order by 1") {
            found.sort_unstable();
        }
        let has_failed = found.iter().any(|line| line.contains("ERROR:"));
        match expected {
            Ok(expected) => {
                let first = found.iter().zip(expected).find(|(found, expected)| *found != expected);
                let counts = (found.len(), expected.len());
                assert!(
                    found == *expected,
                    "seed {seed}, PostgreSQL: {query}\n{counts:?} rows, first difference {first:?}"
                );
            }
            Err(code) => assert!(has_failed, "seed {seed}: {code}, and PostgreSQL answers: {query}"),
        }
    }
}

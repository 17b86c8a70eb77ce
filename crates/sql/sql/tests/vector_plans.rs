//! Which plans run over batches, of joins of a large table with small ones, and that they answer what rows do.

mod common;

use common::{Client, database_hyper, database_mvto, databases};

/// 12,000 sales of 40 goods in 12 shops, in 3 of 5 regions.
fn fill(client: &mut Client) {
    client.run(
        "CREATE TABLE regions (id int PRIMARY KEY, name text); \
         CREATE TABLE shops (id int PRIMARY KEY, region int, note text); \
         CREATE TABLE goods (id int PRIMARY KEY, kind int, note text); \
         CREATE TABLE sales (id int PRIMARY KEY, shop int, good int, amount numeric(12,2), note text); \
         CREATE INDEX ON sales (good); \
         INSERT INTO regions SELECT g, 'region ' || g FROM generate_series(1, 5) g; \
         INSERT INTO shops SELECT g, g % 3 + 1, 'shop' FROM generate_series(1, 12) g; \
         INSERT INTO goods SELECT g, g % 10, 'good' FROM generate_series(1, 40) g",
    );
    for from in [1, 6_001] {
        client.run(&format!(
            "INSERT INTO sales SELECT g, g % 12 + 1, g % 40 + 1, g % 1000 / 4.0, 'sale' FROM generate_series({from}, {}) g",
            from + 5_999
        ));
    }
}

/// The answer of a query, which is the same row by row, and its plan.
fn answer(client: &mut Client, query: &str) -> (Vec<Vec<String>>, String) {
    let plan = client.show(&format!("EXPLAIN {query}"));
    let found = client.run(query).rows;
    let setting = client.show("SHOW enable_vectors");
    client.run("SET enable_vectors = off");
    assert_eq!(client.run(query).rows, found, "{query}");
    client.run(&format!("SET enable_vectors = {setting}"));
    (found, plan)
}

/// A column that an order of joins only passes on is not read.
#[test]
fn reordered_joins_read_the_columns_that_are_used() {
    let mut client = Client::new(&database_hyper());
    fill(&mut client);
    let query = "SELECT count(*), sum(s.amount) FROM regions r, sales s, goods g, shops o \
         WHERE r.id = o.region AND s.shop = o.id AND s.good = g.id AND g.kind = 3 AND r.name = 'region 2'";
    let (found, plan) = answer(&mut client, query);
    assert_eq!(found.len(), 1);
    let logged: Vec<&str> = plan.lines().filter_map(|line| line.trim().strip_prefix("Logged: ")).collect();
    assert!(plan.contains("Vectors") && logged.len() > 1, "{plan}");
    assert!(logged.iter().all(|logged| !logged.ends_with("all columns")), "{plan}");
}

/// What a window adds behind the columns of a join below it is none of the join's, which runs over batches as what is above does.
#[test]
fn a_window_between_batches_adds_its_own_columns() {
    let mut client = Client::new(&database_hyper());
    fill(&mut client);
    client.run("SET enable_vectors = force");
    let plan = answer(
        &mut client,
        "SELECT o.id, s.total, lag(s.total) OVER (ORDER BY o.id) FROM shops o \
         LEFT JOIN (SELECT shop, sum(amount) AS total FROM sales WHERE shop < 9 GROUP BY shop) s ON s.shop = o.id ORDER BY o.id",
    );
    assert_eq!(plan.0.len(), 12);
}

/// A column that a set-returning projection passes on is the key of a join: every row finds its partners.
#[test]
fn rows_of_sets_find_their_partners() {
    let mut client = Client::new(&database_hyper());
    fill(&mut client);
    for setting in ["on", "force"] {
        client.run(&format!("SET enable_vectors = {setting}"));
        let (rows, _) = answer(
            &mut client,
            "SELECT count(*), sum(n) FROM sales s JOIN (SELECT id, generate_series(1, 2) AS n FROM sales) c ON c.id = s.id",
        );
        assert_eq!(rows, [["24000", "36000"]], "{setting}");
    }
}

/// Beside a large table a small one counts for the rows that it has: one region of five has four shops of twelve, and a third of all
/// sales.
#[test]
fn small_tables_count_beside_a_large_one() {
    for database in databases() {
        let mut client = Client::new(&database);
        fill(&mut client);
        let query = "SELECT s.id FROM sales s JOIN shops o ON s.shop = o.id JOIN regions r ON r.id = o.region WHERE r.name = 'region 2'";
        let plan = client.show(&format!("EXPLAIN {query}"));
        let estimate = plan.split("rows=").nth(1).and_then(|rest| rest.split(' ').next()).map(str::parse::<f64>);
        let Some(Ok(estimate)) = estimate else { panic!("{plan}") };
        if plan.contains("rows=1000 ") {
            continue; // An engine that does not know how large its tables are.
        }
        assert_eq!(client.run(query).rows.len(), 4_000);
        // Which of the regions has shops, nobody knows: a fifth.
        assert!((1_200.0..=8_000.0).contains(&estimate), "{estimate}: {plan}");
    }
}

/// An operator of rows in the middle of a plan leaves batches to what is below it.
#[test]
fn batches_run_below_an_operator_of_rows() {
    for database in databases() {
        let mut client = Client::new(&database);
        fill(&mut client);
        let query = "SELECT g.note, count(*), max(all_of) FROM (SELECT shop, sum(amount) OVER (PARTITION BY shop) AS all_of, n \
             FROM (SELECT shop, amount, count(*) AS n FROM sales GROUP BY shop, amount) s) w \
             JOIN goods g ON g.id = w.shop WHERE w.n > 0 GROUP BY g.note";
        client.run("SET enable_vectors = force");
        let plan = client.show(&format!("EXPLAIN {query}"));
        let above = plan.lines().position(|line| line.contains("WindowAgg")).unwrap_or_else(|| panic!("{plan}"));
        let vectors = plan.lines().enumerate().filter(|(_, line)| line.contains("Vectors")).map(|(at, _)| at);
        let vectors: Vec<usize> = vectors.collect();
        assert!(vectors.iter().any(|at| *at < above) && vectors.iter().any(|at| *at > above), "{plan}");
        let found = client.run(query).rows;
        client.run("SET enable_vectors = off");
        assert_eq!(client.run(query).rows, found);
        assert_eq!(found.len(), 1);
    }
}

/// A key that a subquery computes for each row is a column below the join.
#[test]
fn keys_of_subqueries_are_computed_below_the_join() {
    for database in databases() {
        let mut client = Client::new(&database);
        fill(&mut client);
        client.run("SET enable_vectors = force");
        for (kind, select) in
            [("JOIN", "count(*), sum(s.id), max(g.note)"), ("LEFT JOIN", "count(*), count(s.id), max(s.note)")]
        {
            let query = format!(
                "SELECT {select} FROM goods g {kind} sales s ON s.good = g.id \
                 AND s.amount = (SELECT o.id + g.kind FROM shops o WHERE o.id = g.kind LIMIT 1) AND s.id + g.id > 20"
            );
            let plan = client.show(&format!("EXPLAIN {query}"));
            let at = |what: &str| plan.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{plan}"));
            let subplan = plan.lines().position(|line| line.trim() == "SubPlan 1").unwrap_or_else(|| panic!("{plan}"));
            // Of the scan of the left side, and not of the join.
            assert!(at("Vectors") < at("Join") && at("on goods") < subplan && subplan < at("on sales"), "{plan}");
            let found = client.run(&query).rows;
            client.run("SET enable_vectors = off");
            assert_eq!(client.run(&query).rows, found, "{query}");
            client.run("SET enable_vectors = force");
        }
        let query = "SELECT count(*) FROM goods g WHERE g.id IN (SELECT s.good FROM sales s WHERE s.amount > 100 AND s.shop = g.kind)";
        let found = client.show(query);
        client.run("SET enable_vectors = off");
        assert_eq!(client.show(query), found);
    }
}

/// The first few rows by a column tell the scan how far they reach: none that counts is missing.
#[test]
fn the_first_rows_narrow_the_scan() {
    let mut client = Client::new(&database_hyper());
    client.run("CREATE TABLE tops (id int PRIMARY KEY, v int, s smallint, b bigint, d date, w timestamp, n int)");
    for from in [0, 6_000, 12_000, 18_000] {
        client.run(&format!(
            "INSERT INTO tops SELECT g, g * 7919 % 24001 - 12000, (g % 90)::smallint, nullif(g * 1000003::bigint % 24007, g % 5) * 1000000, \
                 date '2024-01-01' + g * 31 % 2003, timestamp '2024-01-01' + g * 37 % 5003 * interval '1 minute', \
                 CASE WHEN g % 9000 = 17 THEN NULL ELSE g * 17 % 12007 END FROM generate_series({from}, {}) g",
            from + 5_999
        ));
    }
    for column in ["v", "s", "b", "d", "w", "n"] {
        for direction in ["", "DESC", "NULLS FIRST", "DESC NULLS LAST"] {
            for (from, limit) in
                [("tops", "10"), ("tops WHERE id % 3 > 0 AND v > -11000", "25 OFFSET 5"), ("tops WHERE n IS NULL", "4")]
            {
                let query = format!("SELECT {column}, id FROM {from} ORDER BY {column} {direction}, id LIMIT {limit}");
                answer(&mut client, &query);
                // Those whose keys are equal may be any.
                answer(
                    &mut client,
                    &format!("SELECT {column} FROM {from} ORDER BY {column} {direction} LIMIT {limit}"),
                );
            }
        }
    }
    for query in [
        "SELECT t.v, u.id FROM tops t JOIN tops u ON u.id = t.n WHERE u.s < 40 ORDER BY t.v DESC, t.id LIMIT 12",
        "SELECT t.v, u.id FROM tops t LEFT JOIN tops u ON u.id = t.n AND u.s < 40 ORDER BY u.v DESC, t.id LIMIT 12",
        "SELECT s, count(*) FROM tops GROUP BY s ORDER BY s DESC LIMIT 3",
        "SELECT v, 1000 / (v + 30000) FROM tops ORDER BY v, 1000 / (v + 30000) LIMIT 3",
    ] {
        let (_, plan) = answer(&mut client, query);
        assert!(plan.contains("Vectors"), "{plan}");
    }
    // A row that would not be among the first still fails.
    client.run("SET enable_vectors = force");
    assert_eq!(client.fails("SELECT id FROM tops ORDER BY v DESC, 1 / (v + 11999) LIMIT 3").code(), "22012");
}

/// What NOT IN says of NULL on either side, and of no rows, is the same over batches and row by row; little memory changes nothing.
#[test]
fn not_in_minds_null() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run(
            "CREATE TABLE l (id int PRIMARY KEY, x int, s text); CREATE TABLE r (y int, s text, k int); \
             INSERT INTO l SELECT g, nullif(g % 500, 7), 'text ' || nullif(g % 500, 9) FROM generate_series(1, 5000) g; \
             INSERT INTO r SELECT g, 'text ' || g, g % 3 FROM generate_series(1, 400) g; INSERT INTO r VALUES (NULL, NULL, 9)",
        );
        let known = (1..=5000).filter(|id| id % 500 > 400 || id % 500 == 0).count();
        for (of, where_, expected) in [
            ("x", "y IS NOT NULL", known),
            ("x", "true", 0),
            ("x", "y IS NULL", 0),
            ("x", "y > 1000", 5000),
            ("x", "y = 3", 5000 - 20),
            ("id % 500", "y IS NOT NULL", known),
            ("coalesce(x, 1000)", "y IS NOT NULL AND y < 401", known + 10),
        ] {
            let of_texts = format!("SELECT count(*) FROM l WHERE s NOT IN (SELECT s FROM r WHERE {where_})");
            let query = format!("SELECT count(*) FROM l WHERE {of} NOT IN (SELECT y FROM r WHERE {where_})");
            for settings in ["off", "force", "force; SET work_mem = '64kB'"] {
                client.run(&format!("SET enable_vectors = {settings}"));
                assert_eq!(client.show(&query), expected.to_string(), "{settings}: {query}");
                if of == "x" {
                    assert_eq!(client.show(&of_texts), expected.to_string(), "{settings}: {of_texts}");
                }
                client.run("RESET work_mem");
            }
            let plan = client.show(&format!("EXPLAIN {query}"));
            assert!(plan.contains("Vectors") && plan.contains("Hash Anti Join"), "{plan}");
            assert!(!plan.contains("SubPlan"), "{plan}");
        }
        // Lists of which some values are known, with a correlation and without, and the same said otherwise.
        for (listed, exists) in [
            (
                "l.x NOT IN (SELECT y FROM r WHERE r.k = l.id % 11)",
                "NOT EXISTS (SELECT FROM r WHERE r.k = l.id % 11 AND (r.y = l.x) IS NOT FALSE)",
            ),
            (
                "(l.id, l.x) NOT IN (SELECT id, x FROM l o WHERE o.id % 3 = 0)",
                "NOT EXISTS (SELECT FROM l o WHERE o.id % 3 = 0 AND o.id = l.id AND (o.x = l.x) IS NOT FALSE)",
            ),
        ] {
            let mut answers = Vec::new();
            for (setting, condition) in [("off", exists), ("off", listed), ("force", exists), ("force", listed)] {
                client.run(&format!("SET enable_vectors = {setting}"));
                answers.push(client.show(&format!("SELECT count(*), sum(id) FROM l WHERE {condition}")));
            }
            answers.dedup();
            assert_eq!(answers.len(), 1, "{listed}");
        }
    }
}

/// EXISTS and IN whose answer is a part of an expression are true, false or NULL as in PostgreSQL, over batches and row by row, with much
/// memory and with little.
#[test]
fn marks_are_the_answers_of_subqueries() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run(
            "CREATE TABLE l (id int PRIMARY KEY, x int, k int); CREATE TABLE r (y int, k int); \
             INSERT INTO l SELECT g, nullif(g % 500, 7), g % 5 FROM generate_series(1, 5000) g; \
             INSERT INTO r SELECT g, g % 4 FROM generate_series(1, 400) g; INSERT INTO r VALUES (NULL, 0), (3, NULL)",
        );
        // Of 5,000 rows ten have NULL, and 990 a value that is not listed.
        for (mark, expected) in [
            ("x IN (SELECT y FROM r WHERE y IS NOT NULL)", [4000 - 10, 1000, 10]),
            ("x IN (SELECT y FROM r)", [3990, 0, 1010]),
            ("x NOT IN (SELECT y FROM r)", [0, 3990, 1010]),
            ("x IN (SELECT y FROM r WHERE y > 1000)", [0, 5000, 0]),
            ("x IN (SELECT y FROM r WHERE y IS NULL)", [0, 0, 5000]),
            ("EXISTS (SELECT FROM r WHERE r.y = l.x)", [3990, 1010, 0]),
            ("NOT EXISTS (SELECT FROM r WHERE r.y = l.x)", [1010, 3990, 0]),
            ("EXISTS (SELECT FROM r WHERE r.y = l.x AND r.k < l.k)", [2000, 3000, 0]),
            // By 4 as by 5 four of twenty leave the same. NULL is in the list of 0, and that of 4 is empty.
            ("x IN (SELECT y FROM r WHERE r.k = l.k)", [800, 3390, 810]),
            ("(x IN (SELECT y FROM r)) IS NULL", [1010, 3990, 0]),
        ] {
            let counts = "count(*) FILTER (WHERE m), count(*) FILTER (WHERE NOT m), count(*) FILTER (WHERE m IS NULL)";
            let query = format!("SELECT {counts} FROM (SELECT {mark} AS m FROM l) q");
            let below_or = format!("SELECT count(*) FROM l WHERE id = 0 OR {mark}");
            for settings in ["off", "force", "force; SET work_mem = '64kB'"] {
                client.run(&format!("SET enable_vectors = {settings}"));
                assert_eq!(
                    client.show(&query),
                    expected.map(|count| count.to_string()).join("|"),
                    "{settings}: {query}"
                );
                assert_eq!(client.show(&below_or), expected[0].to_string(), "{settings}: {below_or}");
                client.run("RESET work_mem");
            }
            for query in [&query, &below_or] {
                let plan = client.show(&format!("EXPLAIN {query}"));
                assert!(plan.contains("Vectors") && plan.contains("Hash Mark Join"), "{query}: {plan}");
            }
        }
    }
}

/// A query of WITH that is read more than once runs once; over batches, it is kept as batches for operators over batches and of rows.
#[test]
fn queries_of_with_are_kept_as_batches() {
    for database in databases() {
        let mut client = Client::new(&database);
        fill(&mut client);
        client.run("CREATE SEQUENCE drawn");
        for query in [
            "WITH v AS (SELECT shop, good, sum(amount) AS total FROM sales GROUP BY shop, good) \
                 SELECT a.shop, count(*), sum(a.total - b.total) FROM v a JOIN v b ON a.good = b.good GROUP BY a.shop ORDER BY 1",
            "WITH v AS (SELECT id, shop, amount FROM sales WHERE good > 3) \
                 SELECT a.shop, count(*), max(b.amount) FROM v a JOIN v b ON a.id = b.id + 40 GROUP BY a.shop ORDER BY 1",
            "WITH v AS (SELECT id, amount FROM sales WHERE good > 3) \
                 SELECT id FROM v WHERE amount = (SELECT max(amount) FROM v) AND id NOT IN (SELECT id FROM v WHERE id < 1000) ORDER BY id",
            "SELECT count(*), sum(q.n) FROM (WITH v AS (SELECT shop, count(*) AS n FROM sales GROUP BY shop) \
                 SELECT a.n FROM v a, v b WHERE a.shop <= b.shop) q JOIN sales s ON s.id = q.n",
            "WITH v AS MATERIALIZED (SELECT id, note, amount FROM sales), w AS (SELECT id, amount FROM v WHERE id > 11000) \
                 SELECT count(*), sum(x.amount) FROM v JOIN w x ON x.id = v.id JOIN w y ON y.id = v.id",
        ] {
            client.run("SET enable_vectors = off");
            let expected = client.run(query).rows;
            for settings in ["on", "force", "force; SET work_mem = '64kB'"] {
                client.run(&format!("SET enable_vectors = {settings}"));
                assert_eq!(client.run(query).rows, expected, "{settings}: {query}");
                client.run("RESET work_mem");
            }
        }
        client.run("SET enable_vectors = force");
        let twice =
            "WITH v AS (SELECT id, amount FROM sales WHERE shop > 3) SELECT count(*) FROM v a JOIN v b ON a.id = b.id";
        let plan = client.show(&format!("EXPLAIN (COSTS OFF) {twice}"));
        let lines: Vec<&str> = plan.lines().map(str::trim).collect();
        let at = |what: &str| {
            lines.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what} in {plan}"))
        };
        assert!(
            lines[at("CTE ") + 1].contains("Vectors") && lines[at("CTE ") + 2].contains("Seq Scan on sales"),
            "{plan}"
        );
        assert_eq!(lines.iter().filter(|line| line.contains("CTE Scan")).count(), 2, "{plan}");
        assert_eq!(lines.iter().filter(|line| line.contains("Seq Scan")).count(), 1, "{plan}");
        let analyzed = client.show(&format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {twice}"));
        let rows = client.show("SELECT count(*) FROM sales WHERE shop > 3");
        let counted = format!("(actual rows={rows} loops=1)");
        let counts = analyzed.lines().filter(|line| line.contains("Scan") && line.contains(&counted)).count();
        assert_eq!(counts, 3, "{analyzed}");
        // What is volatile runs once for each row, and no further than somebody reads.
        let drawn = "WITH v AS (SELECT id, nextval('drawn') AS n FROM sales)";
        let pairs = format!("{drawn} SELECT count(*) FROM v a JOIN v b ON a.n = b.n AND a.id = b.id");
        assert_eq!(client.show(&pairs), "12000");
        assert_eq!(client.show("SELECT nextval('drawn')"), "12001");
        client.run(&format!("{drawn} SELECT n FROM v LIMIT 3"));
        assert_eq!(client.show("SELECT nextval('drawn')"), "12005");
        // A row that fails behind those that are read does not count.
        let failing = "WITH v AS (SELECT 1 / (good - 4) AS q FROM sales) SELECT count(*) FROM";
        let few = "((SELECT q FROM v LIMIT 2) UNION ALL (SELECT q FROM v LIMIT 1)) r";
        assert_eq!(client.show(&format!("{failing} {few}")), "3");
        assert_eq!(client.fails(&format!("{failing} v a JOIN v b ON a.q = b.q")).code(), "22012");
    }
}

/// What a join adds to rows that are sorted below it leaves them sorted, also where the join has to write rows away.
#[test]
fn joins_above_a_sort_keep_its_order() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run(
            "CREATE TABLE l (id int PRIMARY KEY, x int); INSERT INTO l SELECT g, g FROM generate_series(1, 3000) g; \
             CREATE TABLE r (y int)",
        );
        for from in (1..24_000).step_by(6_000) {
            client.run(&format!("INSERT INTO r SELECT g FROM generate_series({from}, {}) g", from + 5_999));
        }
        let sum: String = (1..=3000).map(|id| format!("{id},")).collect();
        let sorted = "FROM (SELECT id, x FROM l ORDER BY -x DESC) s WHERE";
        let cases = [
            // What is volatile is computed above the sort.
            (
                "SELECT id, (x IN (SELECT y FROM r)) AND random() >= 0 FROM l ORDER BY id LIMIT 3".to_owned(),
                "1|t\n2|t\n3|t",
            ),
            (
                "SELECT id, (SELECT count(*) FROM r WHERE r.y = l.x) + 0 * random() FROM l ORDER BY -x DESC LIMIT 3"
                    .to_owned(),
                "1|1\n2|1\n3|1",
            ),
            (format!("SELECT string_agg(id::text, ',') || ',' {sorted} x NOT IN (SELECT y + 3000 FROM r)"), &sum),
            (format!("SELECT string_agg(id::text, ',') || ',' {sorted} x = 0 OR x IN (SELECT y FROM r)"), &sum),
        ];
        for (query, expected) in &cases {
            for settings in ["off", "force", "force; SET work_mem = '64kB'"] {
                client.run(&format!("SET enable_vectors = {settings}"));
                // Whoever holds the rows of a join holds them all.
                match client.try_run(query) {
                    Ok(_) => assert_eq!(client.show(query), *expected, "{settings}: {query}"),
                    Err(error) => assert_eq!((error.code(), settings.len() > 5), ("53200", true), "{query}"),
                }
                client.run("RESET work_mem");
            }
            let plan = client.show(&format!("EXPLAIN {query}"));
            assert!(plan.contains("Join") && !plan.contains("SubPlan"), "{plan}");
        }
    }
}

/// A mark join that has to hold more rows than fit does not keep an order, and where no rows are written away it is none.
#[test]
fn mark_joins_do_not_hold_what_does_not_fit() {
    // Both tell how many rows there are.
    for database in [database_hyper(), database_mvto()] {
        let mut client = Client::new(&database);
        client.run(
            "CREATE TABLE l (id int PRIMARY KEY, x int); INSERT INTO l SELECT g, g FROM generate_series(1, 300) g; \
             CREATE TABLE b (k int, v int)",
        );
        for from in (1..24_000).step_by(6_000) {
            client.run(&format!("INSERT INTO b SELECT g % 300, g FROM generate_series({from}, {}) g", from + 5_999));
        }
        let marks = "EXISTS (SELECT FROM b WHERE b.k = l.id AND b.v > l.x)";
        let ordered = format!("SELECT id, {marks} FROM l ORDER BY id");
        let late = format!("SELECT id, {marks} AND random() >= 0 FROM l ORDER BY id");
        client.run("SET enable_vectors = force");
        let expected = client.run(&ordered).rows;
        let plan = client.show(&format!("EXPLAIN {ordered}"));
        assert!(plan.contains("Mark Join") && !plan.contains("Sort"), "{plan}");
        for setting in ["off", "force"] {
            client.run(&format!("SET enable_vectors = {setting}; SET work_mem = '64kB'"));
            let plan = client.show(&format!("EXPLAIN {ordered}"));
            assert_eq!(plan.contains("Mark Join"), setting == "force", "{setting}: {plan}");
            for query in [&ordered, &late] {
                assert!(client.run(&format!("{query} -- {setting}")).rows == expected, "{setting}: {query}");
            }
        }
    }
}

//! EXPLAIN in PostgreSQL's form, as programs read it.

mod common;

use common::{Answer, Client, database, database_with_versions};
use seriatim_sql::database::Database;
use seriatim_sql::session::Format;
use seriatim_sql::types::Encoding;
use std::sync::Arc;

fn client() -> Client {
    client_of(&database())
}

fn client_of(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, x int, n text); CREATE TABLE u (id int PRIMARY KEY, t int)");
    client.run("INSERT INTO t SELECT i, i % 10, 'row' FROM generate_series(1, 2000) i");
    client.run("INSERT INTO u SELECT i, i FROM generate_series(1, 50) i");
    client
}

/// The numbers of `(cost=a..b rows=n width=w)`, as postgres_fdw scans the first line.
fn costs(line: &str) -> (f64, f64, f64, usize) {
    let inside = line.split_once("  (cost=").unwrap_or_else(|| panic!("{line}")).1;
    let (costs, rest) = inside.split_once(" rows=").expect("rows");
    let (rows, rest) = rest.split_once(" width=").expect("width");
    let (startup, total) = costs.split_once("..").expect("two costs");
    let width = rest.split(')').next().expect("an end");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    (number(startup), number(total), number(rows), width.parse().expect("a number"))
}

#[test]
fn lines_have_costs_rows_and_width() {
    let mut client = client_of(&database_with_versions());
    let first = |client: &mut Client, query: &str| -> (f64, f64, f64, usize) {
        costs(client.show(&format!("EXPLAIN {query}")).lines().next().expect("a line"))
    };
    let (startup, total, rows, width) = first(&mut client, "SELECT id FROM t");
    assert!(startup == 0.0 && total > 1.0 && (1000.0..4000.0).contains(&rows) && width == 4, "{total} {rows} {width}");
    let (_, _, found, _) = first(&mut client, "SELECT id FROM t WHERE id = 7");
    assert_eq!(found, 1.0);
    let (_, _, range, _) = first(&mut client, "SELECT id FROM t WHERE id <= 20");
    assert!((5.0..80.0).contains(&range), "{range} of 20");
    let (startup, total, ..) = first(&mut client, "SELECT * FROM t ORDER BY n");
    assert!(startup > 1.0 && total > startup, "a sort ends before its first row");
    let (_, _, joined, _) = first(&mut client, "SELECT * FROM t JOIN u ON u.t = t.id");
    assert!((25.0..500.0).contains(&joined), "{joined} of 50");
    let (_, total, rows, width) = first(&mut client, "UPDATE t SET x = 1 WHERE id = 1");
    assert!(total > 0.0 && rows == 0.0 && width == 0);
    for line in client.show("EXPLAIN (COSTS OFF) SELECT * FROM t JOIN u ON u.t = t.id WHERE t.x = 1").lines() {
        assert!(!line.contains("cost="), "{line}");
    }
}

#[test]
fn analyze_counts_what_conditions_remove() {
    let mut client = client();
    let shown = client.show("EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM t WHERE x = 3 AND n = 'row'");
    assert!(shown.contains("Filter: ((x = 3) AND (n = 'row'::text))\n  Rows Removed by Filter: 1800"), "{shown}");
    assert!(shown.contains("Planning Time: ") && shown.contains("Execution Time: "), "{shown}");
    let shown = client.show("EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM t JOIN u ON u.t = t.id AND u.id + t.x > 40");
    assert!(shown.contains("Rows Removed by Join Filter: "), "{shown}");
    let shown = client.show("EXPLAIN (ANALYZE, COSTS OFF) SELECT x, count(*) FROM t GROUP BY x HAVING count(*) > 500");
    assert!(shown.contains("Rows Removed by Filter: 10"), "{shown}");
    let shown = client.show("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS) SELECT * FROM u WHERE id = 1");
    assert!(shown.contains("(cost=") && shown.contains(") (actual rows=1 loops=1)\n"), "{shown}");
    assert!(!shown.contains("Time"), "{shown}");
    let shown = client.show("EXPLAIN (SUMMARY) SELECT 1");
    assert!(shown.contains("Planning Time: ") && !shown.contains("Execution Time: "), "{shown}");
}

#[test]
fn structured_formats_have_postgresqls_names() {
    let mut client = client();
    let query = "SELECT t.n, u.id FROM u LEFT JOIN t ON t.id = u.t WHERE u.id < 9 ORDER BY u.t";
    let text = client.show(&format!("EXPLAIN (VERBOSE, FORMAT JSON) {query}"));
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let plan = &json[0]["Plan"];
    assert_eq!((&plan["Node Type"], &plan["Sort Key"][0]), (&"Sort".into(), &"u.t".into()), "{text}");
    for key in ["Startup Cost", "Total Cost", "Plan Rows", "Plan Width"] {
        assert!(plan[key].is_number(), "{key} in {text}");
    }
    let join = &plan["Plans"][0];
    assert_eq!((&join["Join Type"], &join["Parent Relationship"]), (&"Left".into(), &"Outer".into()), "{text}");
    assert_eq!(join["Plans"][1]["Parent Relationship"], "Inner");
    assert_eq!(plan["Output"], serde_json::json!(["t.n", "u.id"]), "{text}");

    let yaml = client.show(&format!("EXPLAIN (FORMAT YAML, COSTS OFF) {query}"));
    assert!(yaml.starts_with("- Plan: \n    Node Type: \"Sort\"\n    Parallel Aware: false\n"), "{yaml}");
    assert!(
        yaml.contains("\n    Sort Key: \n      - \"u.t\"\n    Plans: \n      - Node Type: \"Nested Loop\"\n"),
        "{yaml}"
    );
    let xml = client.show(&format!("EXPLAIN (FORMAT XML, COSTS OFF) {query}"));
    let start = "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n    <Plan>\n      \
                 <Node-Type>Sort</Node-Type>\n";
    assert!(xml.starts_with(start) && xml.ends_with("    </Plan>\n  </Query>\n</explain>"), "{xml}");
    assert!(xml.contains("<Index-Cond>(u.id &lt; 9)</Index-Cond>"), "{xml}");
}

#[test]
fn options_are_checked() {
    let mut client = client();
    for (options, code) in [("FORMAT csv", "22023"), ("COSTS maybe", "42601"), ("NOTHING", "42601")] {
        assert_eq!(client.fails(&format!("EXPLAIN ({options}) SELECT 1")).code(), code, "{options}");
    }
    assert_eq!(client.fails("EXPLAIN SELECT $1::int").code(), "42P02");
}

/// Drivers prepare EXPLAIN with the parameters of its statement, and explain what they have prepared.
#[test]
fn parameters_may_be_explained() {
    let mut client = client();
    client.session.parse("", "EXPLAIN SELECT * FROM t WHERE id = $1 AND n = $2", &[]).expect("Parse");
    assert_eq!(client.session.describe_statement("").expect("Describe").parameters.len(), 2);
    client
        .session
        .bind("", "", &[(Format::Text, Some(b"7")), (Format::Text, Some(b"row"))], Encoding::Utf8)
        .expect("Bind");
    let mut answer = Answer::default();
    client.session.execute("", 0, true, &mut answer).expect("Execute");
    client.session.sync(false).expect("Sync");
    let lines: Vec<&String> = answer.rows.iter().flatten().collect();
    assert!(lines[1].contains("Index Cond: (id = $1)"), "{lines:?}");
    client.run("PREPARE p AS SELECT * FROM t WHERE x = $1 AND n = $2");
    let shown = client.show("EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE p(NULL, NULL)");
    assert!(shown.contains("Output"), "{shown}");
}

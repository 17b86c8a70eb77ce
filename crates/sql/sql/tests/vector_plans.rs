//! Which plans run over batches, of joins of a large table with small ones, and that they answer what rows do.

mod common;

use common::{Client, database_hyper};

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
    client.run("SET enable_vectors = off");
    assert_eq!(client.run(query).rows, found, "{query}");
    client.run("RESET enable_vectors");
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

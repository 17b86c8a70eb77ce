//! Random joins of three to six relations, inner and outer, through this server and PostgreSQL 15: the order in which tables are
//! joined changes no answer.
//!
//! `SEEDS=n` tries that many, from `FIRST` on; a failure prints its seed and the query.

mod server;

use server::{Server, psql};
use std::fmt::Write;
use testing::reference::Reference;
use testing::{Directory, has, text};

/// Queries of each run.
const SEEDS: u64 = 80;

/// Tables by size: keys, references to each other that miss some rows, NULLs, an index on some columns.
const SCHEMA: &str = "
CREATE TABLE t0 (id int PRIMARY KEY, a int, b int, c int);
CREATE TABLE t1 (id int PRIMARY KEY, a int, b int, c int); CREATE INDEX t1_a ON t1 (a);
CREATE TABLE t2 (id int PRIMARY KEY, a int, b int, c int); CREATE INDEX t2_ab ON t2 (a, b); CREATE UNIQUE INDEX t2_c ON t2 (c);
CREATE TABLE t3 (id int, a int, b int, c int); CREATE INDEX t3_b ON t3 (b);
INSERT INTO t0 SELECT i, i % 3, nullif(i % 4, 0), i FROM generate_series(1, 6) i;
INSERT INTO t1 SELECT i, nullif(i % 7, 3), i % 5, i % 2 FROM generate_series(1, 40) i;
INSERT INTO t2 SELECT i, i % 10, i % 6, nullif(i, 9) FROM generate_series(1, 300) i;
INSERT INTO t3 SELECT nullif(i % 50, 0), i % 12, i % 30, i % 4 FROM generate_series(1, 900) i;
ANALYZE;
";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    /// A column of one of the first `among` relations.
    fn column(&mut self, among: u64) -> String {
        let relation = self.below(among);
        format!("r{relation}.{}", self.pick(&["id", "id", "a", "b", "c"]))
    }
}

/// A condition on the first `among` relations.
fn condition(random: &mut Random, among: u64) -> String {
    let column = random.column(among);
    let number = random.below(8);
    match random.below(9) {
        0 | 1 => format!("{column} = {number}"),
        2 => format!("{column} < {number}"),
        3 => format!("{column} IN ({number}, {}, 12)", number + 2),
        4 => format!("{column} IS NULL"),
        5 => format!("{column} = {}", random.column(among)),
        6 => format!("coalesce({column}, 1) = {number}"),
        7 => {
            let (other, common) = (random.column(among), random.column(among));
            format!("(({common} = {number} AND {column} = 1) OR ({common} = {number} AND {other} = 2))")
        }
        _ => format!("({column} = {number} OR {} = 3)", random.column(among)),
    }
}

/// A query whose one row tells all of what it joins: each relation after the first is connected with one before by a key, or almost.
fn query(seed: u64) -> String {
    let mut random = Random(seed);
    let count = 3 + random.below(4);
    let relation = |random: &mut Random, number: u64| {
        let table = random.pick(&["t0", "t1", "t2", "t3"]);
        match random.below(6) {
            0 => format!("(SELECT * FROM {table} WHERE a < 6) r{number}"),
            1 => format!("(SELECT id, a, b, max(c) AS c FROM {table} GROUP BY id, a, b) r{number}"),
            _ => format!("{table} r{number}"),
        }
    };
    let mut from = relation(&mut random, 0);
    for number in 1..count {
        let kind = random.pick(&["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let next = relation(&mut random, number);
        let own = random.pick(&["id", "id", "id", "a"]);
        let mut on = format!("r{number}.{own} = {}", random.column(number));
        // A full join needs a condition that can hash or merge.
        while kind != "FULL JOIN" && random.below(4) == 0 {
            write!(on, " AND {}", condition(&mut random, number + 1)).unwrap();
        }
        from = format!("{from} {kind} {next} ON {on}");
        if random.below(5) == 0 && number + 1 < count {
            from = format!("({from})");
        }
    }
    let mut filters: Vec<String> = (0..random.below(3)).map(|_| condition(&mut random, count)).collect();
    if random.below(4) == 0 {
        let inner = random.pick(&["t1", "t2", "t3"]);
        let not = random.pick(&["", "NOT "]);
        filters.push(format!("{not}EXISTS (SELECT 1 FROM {inner} e WHERE e.a = {} AND e.b = 2)", random.column(count)));
    }
    let filter = if filters.is_empty() { "true".to_owned() } else { filters.join(" AND ") };
    let columns = (0..count).map(|relation| {
        let of = |column: &str, factor: u64| format!("sum(coalesce(r{relation}.{column}, -1) * {factor})");
        format!("{}, {}", of("id", 3 + relation), of("b", 7 + relation))
    });
    format!("SELECT count(*), {} FROM {from} WHERE {filter}", columns.collect::<Vec<_>>().join(", "))
}

#[test]
fn joins_in_any_order_answer_as_postgresql() {
    let what = "random joins beside PostgreSQL";
    if !has("psql", what) {
        return;
    }
    let Some(reference) = Reference::start(what) else { return };
    let directory = Directory::made("joins");
    let server = Server::start(&directory.join("data"), &["--durability", "none"]);
    let [seeds, first] = [("SEEDS", SEEDS), ("FIRST", 0)].map(|(name, default)| {
        std::env::var(name).map_or(default, |number| number.parse().unwrap_or_else(|_| panic!("{name}: {number}")))
    });
    let queries: Vec<String> = (first..first + seeds).map(query).collect();
    let script = format!("{SCHEMA}{};\n", queries.join(";\n"));
    let file = directory.file("joins.sql", script);
    let answers = |port: u16| -> Vec<String> {
        let output = psql(port).arg("-f").arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).lines().map(str::to_owned).collect()
    };
    let (wanted, found) = (answers(reference.port), answers(server.port));
    assert_eq!(wanted.len() as u64, seeds);
    for ((seed, query), (wanted, found)) in (first..).zip(&queries).zip(wanted.iter().zip(&found)) {
        assert_eq!(found, wanted, "FIRST={seed} SEEDS=1: {query}");
    }
    let rows = wanted.iter().filter(|line| !line.starts_with("0|")).count() as u64;
    assert!(rows * 4 > seeds, "most queries join nothing: {rows} of {seeds} have rows");
    assert_eq!(server.stop(), Some(0));
}

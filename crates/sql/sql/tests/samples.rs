//! Plans by sampled rows: conditions on columns without an index are estimated as the rows are, small statements ask for no sample, and
//! nothing comes to depend on one.

mod common;

use common::{Client, database_hyper, databases, engines, open};
use model::{Begin, Columns, Got, Key, LogPosition, Pending, RowBuf, RowRef, Schema, Snapshots, TableId, Tables};
use seriatim_sql::store::{Store, Transaction};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// 6,000 rows: `kind` is common in nine of ten, seldom in one of a hundred; `same` follows `half`.
fn fill(client: &mut Client) {
    client.run("CREATE TABLE t (id int PRIMARY KEY, kind text, half int, same int, low int, high int, d date, many int, wide text)");
    for from in [0, 3_000] {
        client.run(&format!(
            "INSERT INTO t SELECT i, CASE WHEN i % 100 = 7 THEN 'seldom' WHEN i % 10 = 3 THEN 'other' ELSE 'common' END, \
                 i % 2, i % 2, i % 7, i % 11, date '2024-01-01' + i % 400, i / 2, repeat('w', i % 50) \
             FROM generate_series({from}, {}) i",
            from + 2_999
        ));
    }
}

/// The estimated rows of a query's first operator.
fn rows(client: &mut Client, query: &str) -> f64 {
    let plan = client.show(&format!("EXPLAIN {query}"));
    let estimate = plan.lines().next().and_then(|line| line.split("rows=").nth(1));
    let digits = estimate.and_then(|rest| rest.split(' ').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{query}\nhas no estimate:\n{plan}"))
}

#[test]
fn conditions_are_estimated_as_the_rows_are() {
    for database in databases() {
        let mut client = Client::new(&database);
        fill(&mut client);
        if rows(&mut client, "SELECT * FROM t WHERE half = 0") < 1000.0 {
            // The engine shows no rows: it is the guess of one in two hundred.
            assert_eq!(client.show("SELECT count(*) FROM t WHERE half = 0"), "3000");
            continue;
        }
        for condition in [
            "kind = 'common'",
            "kind <> 'common'",
            "kind = 'seldom'",
            "kind IN ('seldom', 'other')",
            "kind LIKE '%ommo%'",
            "half = 0 AND same = 0",
            "half = 0 AND same = 1",
            "low < high",
            "d >= date '2024-02-01' AND d < date '2024-02-01' + interval '3 months'",
            "id % 3 = 0 OR kind = 'other'",
            "substring(kind from 1 for 1) = 'c'",
            "NOT (low < 3)",
            "id < 1000 AND half = 1",
            "wide = 'no such text'",
        ] {
            let query = format!("SELECT * FROM t WHERE {condition}");
            let estimate = rows(&mut client, &query);
            let counted = client.show(&format!("SELECT count(*) FROM t WHERE {condition}"));
            let counted: f64 = counted.parse().expect("a number");
            // Of 256 sampled rows, one in a hundred is two or three; of trees, the sizes are known by a factor.
            let (least, most) = (counted / 2.0 - 100.0, counted * 2.0 + 100.0);
            assert!(least <= estimate && estimate <= most, "{condition}: {estimate} for {counted}");
        }
    }
}

/// Groups are as many as there are values.
#[test]
fn distinct_values_are_estimated_from_the_sample() {
    let mut client = Client::new(&database_hyper());
    fill(&mut client);
    client.run("SET enable_vectors = off");
    for (column, least, most) in [("kind", 3.0, 5.0), ("low", 7.0, 9.0), ("many", 1500.0, 6000.0), ("d", 200.0, 800.0)]
    {
        let found = rows(&mut client, &format!("SELECT {column} FROM t GROUP BY {column}"));
        assert!((least..=most).contains(&found), "{column}: {found}");
    }
}

/// What fails for a row, and what has no value before the statement runs, is left to a guess. A plan fails for neither.
#[test]
fn a_plan_does_not_fail_by_a_sample() {
    let mut client = Client::new(&database_hyper());
    fill(&mut client);
    assert!(rows(&mut client, "SELECT * FROM t WHERE 1 / (low - low) > 0") >= 1.0);
    assert_eq!(client.fails("SELECT * FROM t WHERE 1 / (low - low) > 0").code(), "22012");
    // No plan waits for what could take long, or much memory.
    assert!(rows(&mut client, "SELECT * FROM t WHERE length(repeat(wide, 100000000)) > 0") >= 1.0);
    client.run("PREPARE p (text) AS SELECT * FROM t WHERE kind = $1");
    assert_eq!(client.show("SELECT count(*) FROM t WHERE kind = 'other'"), "600");
    assert_eq!(client.run("EXECUTE p ('other')").rows.len(), 600);
}

/// Rows that a plan was chosen by may change: the transaction that has planned commits.
#[test]
fn nothing_depends_on_a_sample() {
    for subject in engines() {
        let database = open(subject.store);
        let (mut one, mut two) = (Client::new(&database), Client::new(&database));
        fill(&mut one);
        one.run("CREATE TABLE u (id int PRIMARY KEY, x int); INSERT INTO u VALUES (1, 1)");
        one.run("BEGIN; SELECT x FROM u WHERE id = 1");
        let plan = one.show("EXPLAIN SELECT * FROM t WHERE kind = 'seldom'");
        assert!(plan.contains("Seq Scan"), "{plan}");
        two.run("UPDATE t SET kind = 'seldom' WHERE id % 5 = 0");
        one.run("UPDATE u SET x = 2 WHERE id = 1; COMMIT");
        assert_eq!(one.show("SELECT x FROM u"), "2", "{}", subject.name);
    }
}

/// A store that counts the samples that are taken.
struct Counting {
    store: Arc<dyn Store>,
    samples: Arc<AtomicUsize>,
}

impl Store for Counting {
    fn begin(&self, how: Begin) -> model::Result<Box<dyn Transaction>> {
        self.store.begin(how)
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> model::Result<Got> {
        self.store.get(table, key, columns, row)
    }

    fn wait_durable(&self, position: LogPosition) -> model::Result<()> {
        self.store.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> model::Result<bool> {
        self.store.wait_durable_unless(position, is_over)
    }

    fn recheck_waits(&self) {
        self.store.recheck_waits();
    }

    fn durable(&self, position: LogPosition) -> Pending<model::Result<()>> {
        self.store.durable(position)
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.store.snapshots()
    }
}

impl Counting {
    fn tables(&self) -> &dyn Tables {
        self.store.ddl().expect("tables come and go")
    }
}

impl Tables for Counting {
    fn create_table_unlisted(&self, schema: Schema) -> model::Result<TableId> {
        self.tables().create_table_unlisted(schema)
    }

    fn drop_table(&self, name: &str) -> model::Result<()> {
        self.tables().drop_table(name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        Counting::tables(self).tables()
    }

    fn estimate_keys(&self, table: TableId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        Counting::tables(self).estimate_keys(table, lower, upper)
    }

    fn sample_keys(&self, table: TableId, most: usize) -> Vec<Key> {
        Counting::tables(self).sample_keys(table, most)
    }

    fn sample_rows(&self, table: TableId, most: usize, visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>) {
        self.samples.fetch_add(1, SeqCst);
        Counting::tables(self).sample_rows(table, most, visit);
    }

    fn checkpoint(&self) -> model::Result<()> {
        Counting::tables(self).checkpoint()
    }
}

/// A sample serves many plans, and is taken anew when the table has other rows. Who searches by a key asks for none.
#[test]
fn samples_are_taken_where_they_decide() {
    let samples = Arc::new(AtomicUsize::new(0));
    let subject = engines().pop().expect("an engine");
    assert_eq!(subject.name, "hyper");
    let database = open(Arc::new(Counting { store: subject.store, samples: samples.clone() }));
    let mut client = Client::new(&database);
    fill(&mut client);
    client.run("CREATE TABLE small (id int PRIMARY KEY, t_id int); INSERT INTO small SELECT i, i FROM generate_series(1, 50) i");
    let taken = |client: &mut Client, statement: &str| {
        let before = samples.load(SeqCst);
        client.run(statement);
        samples.load(SeqCst) - before
    };
    for statement in [
        "SELECT * FROM t WHERE id = 7",
        "SELECT * FROM t WHERE id = 7 AND kind = 'common' AND half = 1",
        "SELECT * FROM small WHERE t_id = 7",
        "UPDATE t SET kind = 'common' WHERE id = 8 AND half = 0",
        "SELECT * FROM t JOIN small ON small.id = t.half WHERE t.id = 7 AND t.kind = 'common'",
        "DELETE FROM t WHERE id = 9",
        "INSERT INTO t VALUES (9, 'common')",
    ] {
        assert_eq!(taken(&mut client, statement), 0, "{statement}");
    }
    let asks = |kind: &str| format!("EXPLAIN SELECT * FROM t WHERE kind = '{kind}'");
    assert_eq!(taken(&mut client, &asks("common")), 1);
    assert_eq!(taken(&mut client, &asks("seldom")), 0, "it is kept");
    client.run("INSERT INTO t SELECT i, 'late' FROM generate_series(10000, 22000) i");
    assert_eq!(taken(&mut client, &asks("late")), 1, "the table has three times as many rows");
    assert!(rows(&mut client, "SELECT * FROM t WHERE kind = 'late'") > 8_000.0);
    client.run("ALTER TABLE t ADD COLUMN more int");
    assert_eq!(taken(&mut client, &asks("late")), 1, "it has another column");
    client.run("DROP TABLE t");
}

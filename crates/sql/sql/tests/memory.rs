//! Memory: what statements hold is bounded for each and for all together, and the engine's limit reaches the client as 53200. In
//! each case the session lives on, others answer, and in the end nothing is held.

mod common;

use common::{Answer, Client};
use seriatim_sql::database::{Database, Options};
use seriatim_sql::session::Outcome;
use seriatim_sql::store::{Engine, Store};
use std::sync::Arc;

const BUDGET: usize = 4 << 20;

/// Its statements run row by row: operators over batches write away what they cannot hold (`tests/vectors.rs`).
fn database(options: Options) -> Arc<Database> {
    database_on(common::store(), options)
}

fn database_on(store: Arc<dyn Store>, options: Options) -> Arc<Database> {
    let settings = vec![("enable_vectors".to_owned(), "off".to_owned())];
    let options = Options { settings, ..options };
    Database::open(store, options).expect("a database")
}

/// The statements together may hold four megabytes, and each of them nominally more.
fn small_budget() -> Options {
    Options { budget_bytes: BUDGET, work_bytes: 64 << 20, ..Options::default() }
}

fn small() -> Arc<Database> {
    database(small_budget())
}

/// Statements that would hold more than any machine has, or at least more than the budget.
const GREEDY: &[&str] = &[
    "SELECT i FROM generate_series(1, 1000000000) i ORDER BY -i",
    "SELECT DISTINCT i FROM generate_series(1, 1000000000) i",
    "SELECT i, count(*) FROM generate_series(1, 1000000000) i GROUP BY i",
    "SELECT array_agg(i) FROM generate_series(1, 1000000000) i",
    "SELECT array_agg(DISTINCT i) FROM generate_series(1, 1000000000) i",
    "SELECT string_agg('some words', ',') FROM generate_series(1, 1000000000) i",
    "SELECT json_agg(i) FROM generate_series(1, 1000000000) i",
    "SELECT jsonb_object_agg(i, i) FROM generate_series(1, 1000000000) i",
    "SELECT ARRAY(SELECT i FROM generate_series(1, 1000000000) i)",
    "SELECT sum(i) OVER () FROM generate_series(1, 1000000000) i",
    "SELECT 1 WHERE 0 NOT IN (SELECT i FROM generate_series(1, 1000000000) i)",
    "WITH RECURSIVE r(i, t) AS (SELECT 1, 'x' UNION SELECT i + 1, t || 'x' FROM r) SELECT count(*) FROM r",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r",
    "WITH m AS MATERIALIZED (SELECT i FROM generate_series(1, 1000000000) i) SELECT count(*) FROM m a, m b",
    "SELECT count(*) FROM generate_series(1, 1000000000) a JOIN generate_series(1, 1000000000) b ON a = b",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM generate_series(1, 1000000000) i",
    "SELECT i FROM generate_series(1, 1000000000) i EXCEPT SELECT 1",
    "INSERT INTO t SELECT i FROM generate_series(1, 1000000000) i ORDER BY -i",
    "SELECT repeat('x', 900000000)",
    "SELECT lpad('x', 200000000), rpad('x', 200000000)",
    "SELECT replace(repeat('x', 100000), 'x', repeat('y', 5000))",
    "SELECT repeat(repeat('x', 1000000), 1000) || repeat(repeat('x', 1000000), 1000)",
    "SELECT array_fill(1, ARRAY[100000000])",
    "SELECT string_to_array(repeat('x,', 2000000), ',')",
    "SELECT format('%900000000s', 'x')",
    "SELECT translate(repeat('x', 900000000), 'x', 'y')",
];

/// A statement's syntax takes many times its text, before anything else of it is counted.
#[test]
fn the_syntax_of_a_long_text_is_counted() {
    let database = small();
    let mut client = Client::new(&database);
    client.run("CREATE TABLE t (i bigint)");
    let idle = database.budget.used();
    let long = format!("SELECT count(*) FROM (VALUES {}(1)) v", "(1),".repeat(50_000));
    let error = client.fails(&long);
    assert_eq!(error.code(), "53200", "{error:?}");
    assert!(error.fields().hint.as_deref().is_some_and(|hint| hint.contains("COPY")), "{error:?}");
    assert_eq!(client.session.parse("s", &long, &[]).expect_err("as long").code(), "53200");
    client.session.sync(true).expect("Sync");
    assert_eq!(database.budget.used(), idle, "nothing is kept");

    let string = "a, b ".repeat(20_000);
    assert_eq!(client.show(&format!("SELECT length('{string}')")), "100000", "a string is one token");
    let copied = format!("COPY t FROM STDIN; SELECT {}1", "1 + ".repeat(500));
    let outcome = client.session.simple(&copied, &mut Answer::default()).expect("it waits for data");
    assert!(matches!(outcome, Outcome::CopyIn { .. }) && database.budget.used() > idle, "the rest is counted");
    client.session.copy_data(b"7\n").expect("data");
    client.session.copy_done(&mut Answer::default()).expect("the end");
    assert_eq!(database.budget.used(), idle);
    assert_eq!(client.show("SELECT i FROM t"), "7");
}

#[test]
fn greedy_statements_end_in_53200_and_leave_nothing() {
    let database = small();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("CREATE TABLE t (i bigint PRIMARY KEY)");
    let idle = database.budget.used();
    for sql in GREEDY {
        let error = client.try_run(sql).err().unwrap_or_else(|| panic!("{sql} has found the memory"));
        assert_eq!(error.code(), "53200", "{sql}: {error:?}");
        assert_eq!(other.show("SELECT count(*) FROM t"), "0", "{sql}");
    }
    assert_eq!(client.show("SELECT sum(i) FROM generate_series(1, 1000) i"), "500500", "it lives on");
    let recent_statements = 256 << 10;
    assert!(database.budget.used() < idle + recent_statements, "{} of {idle}", database.budget.used());
    drop((client, other));
    assert_eq!(database.budget.used(), 0);
}

/// SQL.md B12: a hundred cursors, each well below its own limit, and then a write, which has to read them to their ends.
#[test]
fn a_hundred_cursors_and_a_write_stay_within_the_sum() {
    let database = small();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("CREATE TABLE f (i int PRIMARY KEY); INSERT INTO f SELECT generate_series(1, 5000)");
    client.run("BEGIN");
    for number in 0..100 {
        client.run(&format!("DECLARE c{number} CURSOR FOR SELECT a.i, repeat('x', 50) FROM f a"));
    }
    let error = client.fails("UPDATE f SET i = i WHERE i = 1");
    assert_eq!(error.code(), "53200", "{error:?}");
    assert!(database.budget.used() <= BUDGET);
    assert_eq!(other.show("SELECT count(*) FROM f"), "5000");
    client.run("ROLLBACK");
    client.run("UPDATE f SET i = i WHERE i = 1");
    drop((client, other));
    assert_eq!(database.budget.used(), 0);
}

/// What a cursor holds between its calls counts until it is closed.
#[test]
fn a_cursor_holds_its_share_until_it_is_closed() {
    let database = small();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    let sorted = "SELECT i, repeat('x', 100) FROM generate_series(1, 11000) i ORDER BY -i";
    client.run(&format!("BEGIN; DECLARE c CURSOR FOR {sorted}; FETCH 1 FROM c"));
    assert!(database.budget.used() > BUDGET / 2, "{}", database.budget.used());
    let error = other.fails(sorted);
    assert_eq!(error.code(), "53200");
    assert!(error.message().contains("all sessions together") && error.message().contains("4194304"), "{error:?}");
    client.run("CLOSE c");
    assert_eq!(other.run(sorted).rows.len(), 11000);
    client.run("COMMIT");
}

#[test]
fn work_mem_beyond_the_sum_is_worth_no_more_than_the_sum() {
    let database = small();
    let mut client = Client::new(&database);
    client.run("SET work_mem = '1000GB'");
    let error = client.fails("SELECT i FROM generate_series(1, 1000000000) i ORDER BY -i");
    assert_eq!(error.code(), "53200");
    client.run("SET work_mem = '64kB'");
    let error = client.fails("SELECT i FROM generate_series(1, 10000) i ORDER BY -i");
    assert!(error.message().contains("65536"), "{error:?}");
    assert!(error.fields().hint.as_deref().is_some_and(|hint| hint.contains("work_mem")), "{error:?}");
}

/// The checks that wait for COMMIT count until they have been made or taken back.
#[test]
fn deferred_checks_count() {
    let database = small();
    let mut client = Client::new(&database);
    client.run("CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1)");
    client.run("CREATE TABLE c (id int REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
    let insert = |rows: u32| format!("INSERT INTO c SELECT i FROM generate_series(1, {rows}) i");
    client.run("BEGIN");
    let before = database.budget.used();
    client.run(&insert(8000));
    let held = database.budget.used();
    assert!(held > before + 8000 * 64, "{held} after {before}");
    client.run(&format!("SAVEPOINT s; {}", insert(8000)));
    assert!(database.budget.used() > held + 8000 * 64, "{}", database.budget.used());
    client.run("ROLLBACK TO s");
    assert!(
        database.budget.used() < held + held / 4,
        "what was taken back is held no more: {}",
        database.budget.used()
    );
    let error = client.fails(&insert(100_000));
    assert_eq!(error.code(), "53200", "{error:?}");
    client.run("ROLLBACK");
    let recent_statements = 256 << 10;
    assert!(database.budget.used() < before + recent_statements, "{} after {before}", database.budget.used());
    client.run("BEGIN; INSERT INTO c VALUES (1); COMMIT");
    assert_eq!(client.fails("INSERT INTO c VALUES (2)").code(), "23503");
    drop(client);
    assert_eq!(database.budget.used(), 0);
}

/// What is used, as SQL shows it. Two-phase locking does not count what its rows use.
#[test]
fn memory_can_be_seen() {
    let store = common::subject(testing::Engine::of_tests_with_versions()).store;
    let database = database_on(store, small_budget());
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    assert_eq!(client.show("SELECT limit_bytes FROM seriatim_memory WHERE name = 'statements'"), BUDGET.to_string());
    let rows = "SELECT used_bytes FROM seriatim_memory WHERE name = 'database'";
    let number = |client: &mut Client, sql: &str| client.show(sql).parse::<i64>().expect("a number");
    let before = number(&mut client, rows);
    client.run("CREATE TABLE t (v text); INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 500)");
    assert!(number(&mut client, rows) >= before + 500_000);
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT i, repeat('x', 100) FROM generate_series(1, 11000) i ORDER BY -i; FETCH 1 FROM c");
    let used = number(&mut other, "SELECT used_bytes FROM seriatim_memory WHERE name = 'statements'");
    assert!(used > BUDGET as i64 / 2, "{used}");
    client.run("COMMIT");
    assert_eq!(client.show("SELECT count(*) FROM seriatim_log"), "0", "this one has no log");
}

/// What the log has written, checkpoints included.
#[test]
fn writing_can_be_seen() {
    let disk = Arc::new(env::SimDisk::new(1, env::SimDiskOptions::default()));
    let store = common::store_on(disk, wal::LogOptions::default()).expect("an engine");
    let database = Database::open(store, Options::default()).expect("a database");
    let mut client = Client::new(&database);
    client.run("CREATE TABLE t (v text); INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 500)");
    let seen = "SELECT log_bytes > 500000, checkpoints, checkpoint_bytes > 500000, last_checkpoint_bytes > 500000, \
        write_amplification = (log_bytes + checkpoint_bytes)::float8 / log_bytes, write_amplification > 1.5, \
        sync_method FROM seriatim_log";
    assert_eq!(client.show(seen), "t|0|f|f|t|f|fdatasync");
    client.run("CHECKPOINT");
    assert_eq!(client.show(seen), "t|1|t|t|t|t|fdatasync");
}

/// A sort by columns holds a row of one column in less than eighty bytes, and of a bounded one only what is wanted and some.
#[test]
fn sorts_and_distinct_hold_little() {
    let database = database(Options { work_bytes: 8 << 20, ..Options::default() });
    let mut client = Client::new(&database);
    let sorted = "SELECT i FROM generate_series(1, 100000) i ORDER BY i DESC";
    assert_eq!(client.run(sorted).rows.len(), 100_000);
    let far = "SELECT i FROM generate_series(1, 1000000) i ORDER BY i DESC LIMIT 2 OFFSET 30000";
    assert_eq!(client.show(far), "970000\n969999");
    assert_eq!(client.show("SELECT count(DISTINCT i) FROM generate_series(1, 300000) i"), "300000");
    assert_eq!(client.show("SELECT array_agg(DISTINCT i % 3) FROM generate_series(1, 1000) i"), "{0,1,2}");
    let with_null = "SELECT array_agg(DISTINCT nullif(i % 3, 1)) FROM generate_series(1, 1000) i";
    assert_eq!(client.show(with_null), "{0,2,NULL}");
    let error = client.fails("SELECT count(DISTINCT i) FROM generate_series(1, 1000000) i");
    assert!(error.code() == "53200" && error.fields().detail.as_deref().is_some_and(|detail| detail.contains("bytes")));
}

/// Prepared statements stay, so they count.
#[test]
fn prepared_statements_count() {
    let database = small();
    let mut client = Client::new(&database);
    let refused = (0..10_000).find_map(|number| client.session.parse(&format!("s{number}"), "SELECT 1", &[]).err());
    assert_eq!(refused.expect("there is a limit").code(), "53200");
    client.run("DEALLOCATE ALL");
    client.session.parse("again", "SELECT 1", &[]).expect("there is room again");
}

/// At the engine's limit inserts fail with 53200, while rows can be read, changed in place, deleted, and tables emptied and
/// dropped; then there is room again.
#[test]
fn a_full_engine_can_be_emptied() {
    let memory_bytes = Some(8 << 20);
    let mvto = mvto::Mvto::in_memory(mvto::Options { memory_bytes, ..mvto::Options::default() }).expect("an engine");
    let hyper = hyper::Hyper::new(hyper::Options { memory_bytes, ..hyper::Options::default() });
    is_full_and_can_be_emptied(Arc::new(Engine(Arc::new(mvto))));
    is_full_and_can_be_emptied(Arc::new(Engine(Arc::new(hyper))));
}

fn is_full_and_can_be_emptied(store: Arc<dyn Store>) {
    let database = Database::open(store, Options::default()).expect("a database");
    let mut client = Client::new(&database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE u (id int PRIMARY KEY, v text)");
    let mut batches = 0..;
    let mut fill = |client: &mut Client, table: &str| {
        let insert = |batch: i32| {
            format!(
                "INSERT INTO {table} SELECT i, repeat('x', 200) FROM generate_series({}, {}) i",
                batch * 100,
                batch * 100 + 99
            )
        };
        batches.by_ref().take(1000).find_map(|batch| client.try_run(&insert(batch)).err()).expect("there is a limit")
    };
    let error = fill(&mut client, "t");
    assert_eq!(error.code(), "53200", "{error:?}");
    assert!(error.message().contains("memory"), "{error:?}");
    let rows: i32 = client.show("SELECT count(*) FROM t").parse().expect("a number");
    client.run("UPDATE t SET v = repeat('y', 200) WHERE id < 50");
    client.run("UPDATE t SET v = 'short' WHERE id BETWEEN 50 AND 99");
    for from in (rows / 2..rows).step_by(1000) {
        client.run(&format!("DELETE FROM t WHERE id >= {from} AND id < {from} + 1000"));
    }
    client.run("INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(100000, 101000) i");
    assert_eq!(fill(&mut client, "u").code(), "53200");
    client.run("TRUNCATE t");
    client.run("INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i");
    assert_eq!(fill(&mut client, "u").code(), "53200");
    client.run("DROP TABLE u");
    client.run("CREATE TABLE u (id int PRIMARY KEY, v text)");
    client.run("INSERT INTO u SELECT i, repeat('x', 200) FROM generate_series(1, 1000) i");
}

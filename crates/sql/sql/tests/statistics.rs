//! Figures of `pg_stat_*`, and what a session shows of itself: what is counted is exact, the rest is NULL.

mod common;

use common::{Client, database_with_versions, databases, engines, open};

fn on_each(test: impl Fn(&mut Client, &mut Client)) {
    for database in databases() {
        test(&mut Client::new(&database), &mut Client::new(&database));
    }
}

const TABLE: &str = "SELECT n_tup_ins, n_tup_upd, n_tup_del, seq_scan, idx_scan, n_dead_tup, seq_tup_read
                     FROM pg_stat_user_tables WHERE relname = 't'";

#[test]
fn rows_and_scans_of_a_table_are_counted() {
    on_each(|client, other| {
        client.run("CREATE TABLE t (id int PRIMARY KEY, x int); CREATE INDEX tx ON t (x)");
        assert_eq!(client.show(TABLE), "0|0|0|0|0||");
        client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 10) g");
        client.run("UPDATE t SET x = x + 100 WHERE id = 3");
        client.run("DELETE FROM t WHERE id IN (4, 5)");
        client.run("SELECT sum(x) FROM t");
        client.run("SELECT * FROM t WHERE x = 103");
        assert_eq!(other.show(TABLE), "10|1|2|1|3||");
        assert_eq!(
            other.show("SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = 't' ORDER BY 1"),
            "t_pkey|2\ntx|1"
        );
    });
}

#[test]
fn a_transaction_counts_when_it_ends_whatever_becomes_of_it() {
    on_each(|client, other| {
        client.run("CREATE TABLE t (id int PRIMARY KEY)");
        client.run("BEGIN; INSERT INTO t VALUES (1)");
        assert!(other.show(TABLE).starts_with("0|"));
        client.run("ROLLBACK");
        assert!(other.show(TABLE).starts_with("1|"));
        assert_eq!(other.show("SELECT count(*) FROM t"), "0");
    });
}

#[test]
fn what_a_session_counted_outlives_it() {
    for database in databases() {
        let mut first = Client::new(&database);
        first.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)");
        let before = first.show("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'");
        drop(first);
        let mut second = Client::new(&database);
        assert!(second.show(TABLE).starts_with("2|"));
        let after = second.show("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'");
        assert!(after.parse::<u64>().unwrap() > before.parse().unwrap(), "{before} {after}");
        assert_eq!(second.show("SELECT sessions, numbackends FROM pg_stat_database WHERE datname = 'postgres'"), "2|1");
    }
}

#[test]
fn transactions_of_the_database_are_counted() {
    on_each(|client, _| {
        let counts = "SELECT xact_commit, xact_rollback, tup_inserted, tup_updated, tup_deleted, deadlocks,
                      blks_hit IS NULL, tup_returned IS NULL FROM pg_stat_database WHERE datname = 'postgres'";
        client.run("CREATE TABLE t (id int PRIMARY KEY)");
        let numbers = |client: &mut Client| -> Vec<i64> {
            client.show(counts).split('|').filter_map(|field| field.parse().ok()).collect()
        };
        let before = numbers(client);
        client.run("INSERT INTO t VALUES (1), (2)");
        client.run("BEGIN; UPDATE t SET id = 3 WHERE id = 1; COMMIT");
        client.run("BEGIN; DELETE FROM t; ROLLBACK");
        assert_eq!(client.fails("INSERT INTO t VALUES (3)").code(), "23505");
        let after = numbers(client);
        let grown: Vec<i64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        // Two statements and a block have committed, and the query before; a block and a statement were rolled back.
        assert_eq!(grown, [3, 2, 2, 1, 2, 0]);
        assert!(client.show(counts).ends_with("|t|t"));
    });
}

#[test]
fn prepared_statements_and_cursors_are_listed() {
    on_each(|client, other| {
        client.run("PREPARE p (int, text) AS SELECT $1, $2");
        client.session.parse("driver", "SELECT 2", &[]).unwrap();
        client.session.sync(false).unwrap();
        assert_eq!(
            client.show("SELECT name, statement, parameter_types, from_sql FROM pg_prepared_statements ORDER BY name"),
            "driver|SELECT 2|{}|f\np|PREPARE p (int, text) AS SELECT $1, $2|{integer,text}|t"
        );
        assert_eq!(other.show("SELECT count(*) FROM pg_prepared_statements"), "0");
        client.run("DEALLOCATE p");
        assert_eq!(client.show("SELECT name FROM pg_prepared_statements"), "driver");
        client.run("BEGIN; DECLARE c CURSOR FOR SELECT 1; DECLARE h CURSOR WITH HOLD FOR SELECT 2");
        let cursors = "SELECT name, statement, is_holdable, is_scrollable FROM pg_cursors ORDER BY name";
        assert_eq!(
            client.show(cursors),
            "c|DECLARE c CURSOR FOR SELECT 1|f|f\nh|DECLARE h CURSOR WITH HOLD FOR SELECT 2|t|f"
        );
        client.run("COMMIT");
        assert_eq!(client.show("SELECT name FROM pg_cursors"), "h");
        client.run("CLOSE h");
        assert_eq!(client.show("SELECT count(*) FROM pg_cursors"), "0");
    });
}

#[test]
fn the_statements_of_one_text_are_a_block() {
    on_each(|client, _| {
        client.run("CREATE TABLE t (id int PRIMARY KEY)");
        assert_eq!(client.show("DECLARE c CURSOR FOR SELECT 1; FETCH ALL FROM c"), "1");
        assert_eq!(client.fails("FETCH c").code(), "34000");
        assert_eq!(client.show("LOCK TABLE t; SELECT 1"), "1");
        assert_eq!(client.show("SET LOCAL work_mem = '1MB'; SHOW work_mem"), "1MB");
        assert_ne!(client.show("SHOW work_mem"), "1MB");
        assert!(client.run("SET LOCAL work_mem = '1MB'; SELECT 1").notices.is_empty());
        assert_eq!(client.run("SET LOCAL work_mem = '1MB'").notices.len(), 1);
        for (alone, code) in
            [("LOCK TABLE t", "25P01"), ("DECLARE c CURSOR FOR SELECT 1", "25P01"), ("SAVEPOINT s; SELECT 1", "25P01")]
        {
            assert_eq!(client.fails(alone).code(), code, "{alone}");
        }
        // The second statement's error takes back the first.
        client.fails("INSERT INTO t VALUES (1); SELECT 1/0");
        assert_eq!(client.show("SELECT count(*) FROM t"), "0");
    });
}

#[test]
fn figures_of_the_log_are_its_own() {
    on_each(|client, _| {
        client.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)");
        // Both engines of the tests are in memory.
        assert_eq!(client.show("SELECT count(*) FROM pg_stat_wal"), "0");
        assert_eq!(
            client.show(
                "SELECT checkpoints_timed, checkpoints_req, buffers_alloc, stats_reset <= now() FROM pg_stat_bgwriter"
            ),
            "0|||t"
        );
        assert_eq!(client.show("SELECT archived_count, failed_count FROM pg_stat_archiver"), "0|0");
        assert_eq!(client.show("SELECT ssl, gss_authenticated FROM pg_stat_ssl JOIN pg_stat_gssapi USING (pid) WHERE pid = pg_backend_pid()"), "f|f");
    });
}

#[test]
fn sizes_are_those_of_rows_and_entries() {
    for subject in engines() {
        // A table of hyper takes a block at least.
        let least = if subject.name == "hyper" { 1 << 18 } else { 1000 };
        let mut client = Client::new(&open(subject.store));
        client.run(
            "CREATE TABLE t (id int PRIMARY KEY, note text); CREATE INDEX tn ON t (note); CREATE TABLE small (id int)",
        );
        let mut number = |query: &str| -> i64 { client.show(&format!("SELECT {query}")).parse().expect(query) };
        assert_eq!(number("pg_total_relation_size('t')"), 0);
        let empty = number("pg_database_size(current_database())");
        assert!(empty > 0, "the catalog takes something");
        client.run("INSERT INTO t SELECT g, repeat('x', 1000) || g FROM generate_series(1, 2000) g; INSERT INTO small VALUES (1)");
        let mut number = |query: &str| -> i64 { client.show(&format!("SELECT {query}")).parse().expect(query) };
        let table = number("pg_table_size('t')");
        assert!((1_000_000..8_000_000).contains(&table), "{table}");
        let index = number("pg_relation_size('tn', 'main')");
        assert!((1_000_000..8_000_000).contains(&index), "{index}");
        assert_eq!(number("pg_relation_size('t', 'fsm')"), 0);
        assert_eq!(number("pg_indexes_size('t')"), index);
        assert_eq!(number("pg_total_relation_size('t')"), table + index);
        assert_eq!(number("relpages FROM pg_class WHERE relname = 't'"), (table + 8191) / 8192);
        assert!((1..least).contains(&number("pg_table_size('small')")));
        let database = number("pg_database_size(current_database())");
        assert!(database >= empty + table + index, "{empty} {database}");
        let oid = number("oid FROM pg_database WHERE datname = 'postgres'");
        assert_eq!(number(&format!("pg_database_size({oid}::oid)")), database);
        assert!(number("pg_tablespace_size('pg_default')") >= database);
        assert_eq!(client.show("SELECT pg_table_size(1::oid) IS NULL, pg_table_size('pg_class')"), "t|0");
        assert_eq!(client.fails("SELECT pg_relation_size('t', 'other')").code(), "22023");
        assert_eq!(client.fails("SELECT pg_database_size('nowhere')").code(), "3D000");
    }
}

#[test]
fn rows_of_a_table_are_estimated() {
    let mut client = Client::new(&database_with_versions());
    client.run("CREATE TABLE t (id int PRIMARY KEY); CREATE VIEW v AS TABLE t");
    client.run("INSERT INTO t SELECT generate_series(1, 5000)");
    let shown = client.show("SELECT n_live_tup FROM pg_stat_user_tables WHERE relname = 't'");
    let rows: u64 = shown.parse().unwrap();
    assert!((2_500..10_000).contains(&rows), "{rows}");
    assert_eq!(client.show("SELECT pg_stat_get_live_tuples('v'::regclass) IS NULL"), "t");
    let tuples = "SELECT reltuples BETWEEN 2500 AND 10000 FROM pg_class WHERE relname IN ('t', 't_pkey')";
    assert_eq!(client.show(tuples), "t\nt");
}

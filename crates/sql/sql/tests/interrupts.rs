//! Functions that take long are stopped by a cancel request in the midst of one call.

mod common;

use common::{Client, database, database_hyper};
use seriatim_sql::cancel::Cancel;
use seriatim_sql::session::{Format, Sink};
use seriatim_sql::types::{Datum, Encoding, Styles};
use seriatim_sql::{Field, Result};
use std::sync::Arc;
use std::thread;

/// Cancels the statement until it has ended; each of these would take minutes, if not days.
fn stopped(sql: &str) {
    let database = database();
    let (mut client, mut watcher) = (Client::new(&database), Client::new(&database));
    let cancel = format!("SELECT pg_cancel_backend({})", client.session.key().0);
    let error = thread::scope(|scope| {
        let running = scope.spawn(|| client.fails(sql));
        // A request that comes before the statement has begun is forgotten.
        while !running.is_finished() {
            watcher.run(&cancel);
            thread::yield_now();
        }
        running.join().expect("no panic")
    });
    assert_eq!((error.code(), error.message()), ("57014", "canceling statement due to user request"), "{sql}");
    assert_eq!(client.show("SELECT 1"), "1", "the session lives on");
}

#[test]
fn like_is_stopped() {
    stopped("SELECT repeat('a', 20000000) LIKE '%' || repeat('a', 1000000) || 'b'");
}

#[test]
fn regular_expressions_are_stopped_between_matches() {
    stopped("SELECT length(regexp_replace(repeat('ab', 20000000), '(a)(b)', '\\2\\1', 'g'))");
    stopped("SELECT regexp_count(repeat('ab', 20000000), 'b')");
}

#[test]
fn the_greatest_common_divisor_is_stopped() {
    // Numbers without a pattern: those of repeated digits have their divisor after a few steps.
    stopped("SELECT gcd(3::numeric ^ 250000, 7::numeric ^ 140000)");
}

/// All matches together would take many times what the statement may hold.
#[test]
fn matches_are_not_held_all_at_once() {
    let mut client = Client::new(&database());
    client.run("SET work_mem = '4MB'");
    assert_eq!(client.show("SELECT regexp_count(repeat('ab', 200000), 'b')"), "200000");
    assert_eq!(client.show("SELECT length(regexp_replace(repeat('ab', 200000), 'b', '', 'g'))"), "200000");
    assert_eq!(client.show("SELECT regexp_substr(repeat('ab', 200000), '.', 1, 200000)"), "b");
    let error = client.fails("SELECT count(*) FROM regexp_matches(repeat('ab', 200000), 'b', 'g')");
    assert_eq!(error.code(), "53200", "{error:?}");
}

/// Cancels its statement when that is about to look for its first row.
struct CancelsFirst(Arc<Cancel>);

impl Sink for CancelsFirst {
    fn rows(&mut self, _: &[Field], _: &Styles) {
        self.0.raise();
    }

    fn row(&mut self, row: &[Datum]) -> Result<()> {
        panic!("a row of a cancelled statement: {row:?}")
    }

    fn restart(&mut self) -> bool {
        true
    }
}

#[test]
fn scans_that_find_nothing_are_stopped() {
    let database = database_hyper();
    let mut client = Client::new(&database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t SELECT n, n FROM generate_series(1, 70000) AS n");
    for vectors in ["on", "off"] {
        client.run(&format!("SET enable_vectors = {vectors}"));
        for sql in [
            "SELECT count(*) FROM t WHERE v < 0",
            "SELECT min(v) FROM t WHERE v < 0",
            "SELECT id FROM t WHERE v < 0",
            "SELECT min(v) FROM t WHERE v < 0 AND id > 0",
        ] {
            let mut sink = CancelsFirst(client.session.cancel());
            // In a block that writes, answers are logged: the engine looks for the least value itself.
            client.run("BEGIN");
            let error = client.session.simple(sql, &mut sink).expect_err("a cancelled statement");
            assert_eq!((error.code(), error.message()), ("57014", "canceling statement due to user request"), "{sql}");
            client.run("ROLLBACK");
        }
    }
    assert_eq!(client.show("SELECT count(*) FROM t WHERE v > 0"), "70000", "the session lives on");
}

/// Bind reads long values outside of a statement, on a thread that has run other sessions.
#[test]
fn bind_is_stopped_by_no_request_that_came_before() {
    const JSONB: u32 = 3802;
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    client.run("CREATE TABLE t (v jsonb)");
    client.session.parse("s", "INSERT INTO t VALUES ($1)", &[JSONB]).expect("Parse");
    client.session.sync(false).expect("Sync");
    let long = format!("[{}0]", "0,".repeat(1 << 20));
    let bind = |client: &mut Client| {
        let value = (Format::Text, Some(long.as_bytes()));
        client.session.bind("", "s", &[value], Encoding::Utf8)
    };
    client.session.cancel().raise();
    bind(&mut client).expect("the request was for an earlier statement");
    other.run("SET work_mem = '64kB'");
    other.run("SELECT 1");
    other.session.cancel().end();
    bind(&mut client).expect("the request and the limit were another session's");
    client.session.cancel().end();
    assert_eq!(bind(&mut client).expect_err("its own session is to end").code(), "57P01");
}

//! Sessions that wait for a log whose disk does not return from a sync: each of them can be ended.

mod common;

use common::gate::{stage, until, until_gone, waiting_for_the_log};
use common::query;

const TERMINATED: &str = "E[FATAL 57P01 terminating connection due to administrator command] end";

/// The client is told that the outcome is unknown; the commit stays visible, and is durable when the disk goes on.
#[test]
fn a_commit_that_waits_for_the_log_is_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let mut waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    assert!(watcher.query(&format!("select pg_cancel_backend({})", waiter.key.0)).contains("D[t]"));
    until(&mut watcher, &format!("select wait_event from pg_stat_activity where pid = {}", waiter.key.0), "D[WALSync]");
    assert!(watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0)).contains("D[t]"));
    let (kind, body) = waiter.message().unwrap();
    let told = String::from_utf8_lossy(&body);
    assert!(kind == b'E' && told.contains("57P01") && told.contains("may not be durable"), "{told}");
    assert_eq!(waiter.answer(), "end", "nothing else was said of the commit");
    until_gone(&mut watcher, waiter.key.0);
    stage.gate.0.open();
    assert_eq!(watcher.query("select id from t"), "T[id:23:0] D[1] C[SELECT 1] Z[I]");
}

/// An answer that rests on a commit which is not durable yet waits, and can be ended, like the commit's own.
#[test]
fn a_reader_that_waits_for_the_log_is_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let writer = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    let mut reader = waiting_for_the_log(&stage, &mut watcher, "select id from t");
    watcher.query(&format!("select pg_terminate_backend({})", reader.key.0));
    assert_eq!(reader.answer(), TERMINATED);
    until_gone(&mut watcher, reader.key.0);
    drop(writer);
}

/// Rows of a long answer leave early; they wait, too.
#[test]
fn rows_that_wait_for_the_log_are_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let _writer = waiting_for_the_log(&stage, &mut watcher, "insert into t select generate_series(1, 50000)");
    for sql in ["select id, repeat('x', 100) from t", "copy t to stdout"] {
        let mut reader = waiting_for_the_log(&stage, &mut watcher, sql);
        watcher.query(&format!("select pg_terminate_backend({})", reader.key.0));
        assert_eq!(reader.answer(), TERMINATED, "{sql}");
    }
}

#[test]
fn a_client_that_leaves_while_its_commit_waits_for_the_log_is_gone() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    let process = waiter.key.0;
    drop(waiter);
    until_gone(&mut watcher, process);
}

/// Temporary tables would have to be dropped, which the log would have to take.
#[test]
fn a_session_with_temporary_tables_ends_while_the_log_stands_still() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let mut waiter = stage.server.client();
    assert_eq!(waiter.query("create temporary table own (id int)"), "C[CREATE TABLE] Z[I]");
    stage.gate.0.shut();
    waiter.send(&query("insert into t values (1)"));
    until(&mut watcher, &format!("select wait_event from pg_stat_activity where pid = {}", waiter.key.0), "D[WALSync]");
    watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0));
    until_gone(&mut watcher, waiter.key.0);
}

#[test]
fn a_log_that_stands_still_does_not_keep_the_server_from_stopping() {
    let mut stage = stage();
    let mut watcher = stage.server.client();
    let mut waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    stage.server.join();
    assert_eq!(waiter.answer(), TERMINATED);
}

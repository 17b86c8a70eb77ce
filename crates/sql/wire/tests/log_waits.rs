//! Sessions that wait for a log whose disk does not return from a sync: each of them can be ended.

mod common;

use common::gate::{Stage, stage, stage_on, stage_with, until, until_gone, waiting_for_the_log};
use common::{Client, query, slow_to_stop};
use seriatim_wire::Options;
use sql::store::{Engine, Store};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use wal::LogOptions;

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
    let message = String::from_utf8_lossy(&body);
    assert!(kind == b'E' && message.contains("57P01") && message.contains("may not be durable"), "{message}");
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
    let mut stage = stage_with(|_| {}, slow_to_stop);
    let mut watcher = stage.server.client();
    let mut waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    stage.server.join();
    assert_eq!(waiter.answer(), TERMINATED);
}

const CANCELLED: &str = "E[ERROR 57014 canceling statement due to user request] Z[I]";

/// Fills the log from a session of its own, until a statement does not come through.
fn fill(stage: &Stage) -> (u32, thread::JoinHandle<Client>) {
    let mut filler = stage.server.client();
    filler.query("set synchronous_commit = off");
    let process = filler.key.0;
    let filling = thread::spawn(move || {
        while filler.query("insert into wide values (repeat('x', 4000))") == "C[INSERT 0 1] Z[I]" {}
        filler
    });
    (process, filling)
}

/// A stage whose log has a small buffer, which is full; and a session whose statement waits for room in it.
fn waiting_for_space(sql: &str) -> (Stage, Client, Client) {
    waiting_for_space_with(sql, |_| {})
}

/// The same, of a server with other options.
fn waiting_for_space_with(sql: &str, change: impl FnOnce(&mut Options)) -> (Stage, Client, Client) {
    let stage = stage_with(|log| log.buffer_bytes = 16 << 10, change);
    let mut watcher = stage.server.client();
    assert_eq!(watcher.query("create table wide (t text)"), "C[CREATE TABLE] Z[I]");
    let of = |process: u32| format!("select wait_event from pg_stat_activity where pid = {process}");
    stage.gate.0.shut();
    let (_, first) = fill(&stage);
    stage.gate.0.await_writer();
    // Who waited before the writer stood still may have room again. Who waits now has none until the gate opens.
    let (process, second) = fill(&stage);
    until(&mut watcher, &of(process), "D[WALWrite]");
    let mut waiter = stage.server.client();
    waiter.query("set synchronous_commit = off");
    waiter.send(&query(sql));
    until(&mut watcher, &of(waiter.key.0), "D[WALWrite]");
    let fillers = "select pid from pg_stat_activity where wait_event = 'WALWrite' and pid <> ";
    until(&mut watcher, &format!("select count(*) from ({fillers}{}) f", waiter.key.0), "D[2]");
    watcher.query(&format!("select pg_cancel_backend(pid) from ({fillers}{}) f", waiter.key.0));
    for filling in [first, second] {
        drop(filling.join().unwrap());
    }
    (stage, watcher, waiter)
}

/// Nothing was logged: the statement is undone, and the client is told so before the session ends.
const UNDONE: &str = "E[ERROR 57P01 terminating connection due to administrator command] Z[I]";
const WRITER: &str = "insert into wide values (repeat('y', 4000))";

/// The statement is undone, and the session goes on.
#[test]
fn a_commit_that_waits_for_space_in_the_log_is_cancelled() {
    for sql in [WRITER, "create table another (id int)"] {
        let (stage, mut watcher, mut waiter) = waiting_for_space(sql);
        stage.server.cancel(waiter.key);
        assert_eq!(waiter.answer(), CANCELLED, "{sql}");
        stage.gate.0.open();
        assert_eq!(waiter.query(sql).replace("INSERT 0 1", "CREATE TABLE"), "C[CREATE TABLE] Z[I]", "{sql}");
        let written = watcher.query("select count(*) from wide where t like 'y%'");
        assert!(written.contains(if sql == WRITER { "D[1]" } else { "D[0]" }), "{written}");
    }
}

#[test]
fn a_commit_that_waits_for_space_in_the_log_meets_its_timeout() {
    let (stage, _watcher, waiter) = waiting_for_space(WRITER);
    let mut other = stage.server.client();
    other.query("set synchronous_commit = off; set statement_timeout = '30ms'");
    assert_eq!(other.query(WRITER), "E[ERROR 57014 canceling statement due to statement timeout] Z[I]");
    drop(waiter);
}

#[test]
fn a_commit_that_waits_for_space_in_the_log_is_terminated_or_left() {
    let (_stage, mut watcher, mut waiter) = waiting_for_space(WRITER);
    watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0));
    assert_eq!(waiter.answer(), UNDONE);
    let (_stage, mut watcher, waiter) = waiting_for_space(WRITER);
    let process = waiter.key.0;
    drop(waiter);
    until_gone(&mut watcher, process);
}

#[test]
fn a_log_without_space_does_not_keep_the_server_from_stopping() {
    let (mut stage, _watcher, mut waiter) = waiting_for_space_with(WRITER, slow_to_stop);
    stage.server.join();
    assert_eq!(waiter.answer(), UNDONE);
}

/// Every transaction needs a timestamp below the durable ceiling, which the disk does not raise. Only the ceiling of `mvto` follows the
/// clock, and can be at its end at once.
#[test]
fn a_wait_for_the_ceiling_of_timestamps_is_ended() {
    let open = |disk| -> Arc<dyn Store> {
        // What is written when the server stops needs a timestamp, too, and gives up in the end.
        let log = LogOptions { append_timeout: Duration::from_secs(20), ..LogOptions::default() };
        let options = mvto::Options { log, ceiling_lease: Duration::from_nanos(1), ..mvto::Options::default() };
        Arc::new(Engine(Arc::new(mvto::Mvto::open(disk, options).unwrap())))
    };
    let stage = stage_on(open, |_| {});
    let (mut timed, mut cancelled) = (stage.server.client(), stage.server.client());
    timed.query("set statement_timeout = '30ms'");
    stage.gate.0.shut();
    assert_eq!(
        timed.query("select id from t"),
        "E[ERROR 57014 canceling statement due to statement timeout] Z[I]",
        "what is being raised is not there yet"
    );
    // A request that comes before its statement is for the one before, so there are many.
    let key = cancelled.key;
    let answered = thread::spawn(move || cancelled.query("select id from t"));
    while !answered.is_finished() {
        stage.server.cancel(key);
        thread::yield_now();
    }
    assert_eq!(answered.join().unwrap(), CANCELLED);
    stage.gate.0.open();
}

/// A definition is logged with its transaction, and waits with it.
#[test]
fn a_definition_that_waits_for_the_log_is_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    for sql in
        ["create table another (id serial primary key)", "truncate t", "alter table t add column x int default 1"]
    {
        let mut waiter = waiting_for_the_log(&stage, &mut watcher, sql);
        watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0));
        assert!(waiter.answer().contains("57P01"), "{sql}");
        until_gone(&mut watcher, waiter.key.0);
        stage.gate.0.open();
        watcher.query("insert into t values (7) on conflict do nothing");
    }
}

/// Values of sequences are returned when they are durable; they belong to no transaction.
#[test]
fn a_sequence_that_waits_for_the_log_is_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    assert_eq!(watcher.query("create sequence s"), "C[CREATE SEQUENCE] Z[I]");
    let mut waiter = waiting_for_the_log(&stage, &mut watcher, "select nextval('s')");
    watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0));
    assert_eq!(waiter.answer(), TERMINATED);
    stage.gate.0.open();
    assert!(watcher.query("select nextval('s')").contains("D[2]"), "nothing is given twice");
}

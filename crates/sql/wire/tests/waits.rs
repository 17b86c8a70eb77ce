//! Sessions that wait for each other or for their clients: every wait can be seen, and ended.

mod common;

use common::{Client, Running, message, parse, query, start, start_with_options, sync};
use std::thread;
use std::time::Duration;

const TERMINATED: &str = "E[FATAL 57P01 terminating connection due to administrator command] end";

/// A table of one row, which the first client has in an open block.
fn with_owner(server: &Running) -> Client {
    let mut owner = server.client();
    owner.query("create table t (id int primary key, x int)");
    owner.query("insert into t values (1, 1)");
    own(&mut owner);
    owner
}

fn own(client: &mut Client) {
    assert!(client.query("begin; update t set x = 2 where id = 1").ends_with("C[UPDATE 1] Z[T]"));
}

/// More than fits between the server and a client that does not read.
const TOO_MUCH: &str = "select repeat('x', 100000) from generate_series(1, 100000)";

/// Returns once a session is seen to wait so.
fn until_waits(watcher: &mut Client, process: u32, event: &str) {
    let seen = format!("select wait_event from pg_stat_activity where pid = {process}");
    until(watcher, &seen, &format!("D[{event}]"));
}

/// Returns once a session is gone.
fn until_gone(watcher: &mut Client, process: u32) {
    until(watcher, &format!("select count(*) from pg_stat_activity where pid = {process}"), "D[0]");
}

fn until(watcher: &mut Client, sql: &str, answer: &str) {
    while !watcher.query(sql).contains(answer) {
        thread::yield_now();
    }
}

fn update(client: &mut Client) {
    assert_eq!(client.query("update t set x = 3 where id = 1"), "C[UPDATE 1] Z[I]");
}

#[test]
fn a_client_that_reads_nothing_is_terminated_and_its_rows_are_free() {
    let server = start();
    let mut slow = with_owner(&server);
    slow.send(&query(TOO_MUCH));
    let mut other = server.client();
    until_waits(&mut other, slow.key.0, "ClientWrite");
    assert!(other.query(&format!("select pg_terminate_backend({})", slow.key.0)).contains("D[t]"));
    until_gone(&mut other, slow.key.0);
    update(&mut other);
}

/// The statement fails and its block holds nothing any more; the client gets to hear of it when it reads.
#[test]
fn a_statement_whose_client_reads_nothing_meets_its_timeout() {
    let server = start();
    let mut slow = with_owner(&server);
    assert_eq!(slow.query("set statement_timeout = '1s'"), "C[SET] Z[T]");
    slow.send(&query(TOO_MUCH));
    let mut other = server.client();
    other.query("set lock_timeout = '1h'");
    update(&mut other);
    let answer = slow.answer();
    assert!(answer.ends_with("E[ERROR 57014 canceling statement due to statement timeout] Z[E]"));
    assert_eq!(slow.query("rollback"), "C[ROLLBACK] Z[I]");
}

#[test]
fn a_client_that_reads_nothing_is_given_up() {
    let server = start_with_options(|options| options.send_timeout = Duration::from_millis(50));
    let mut slow = with_owner(&server);
    slow.send(&query(TOO_MUCH));
    let mut other = server.client();
    until_gone(&mut other, slow.key.0);
    update(&mut other);
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_the_server_from_stopping() {
    let mut server = start();
    let mut slow = with_owner(&server);
    slow.send(&query(TOO_MUCH));
    until_waits(&mut server.client(), slow.key.0, "ClientWrite");
    server.join();
}

#[test]
fn a_copy_whose_client_sends_nothing_meets_its_timeout() {
    let server = start();
    let mut silent = with_owner(&server);
    assert_eq!(silent.query("set statement_timeout = '100ms'"), "C[SET] Z[T]");
    assert_eq!(silent.query("copy t from stdin"), "G[0:2]");
    assert_eq!(silent.answer(), "E[ERROR 57014 canceling statement due to statement timeout] Z[E]");
    // Data that were on their way already are passed over.
    silent.send(&[message(b'd', "5\t5\n"), message(b'c', [])].concat());
    assert_eq!(silent.query("rollback"), "C[ROLLBACK] Z[I]");
    assert_eq!(silent.query("select count(*) from t"), "T[count:20:0] D[1] C[SELECT 1] Z[I]");
}

/// In the middle of a message, in the middle of COPY data: cancelled, and terminated.
#[test]
fn a_client_that_stops_in_the_middle_is_cancelled_and_terminated() {
    let server = start();
    let mut other = server.client();
    let mut silent = with_owner(&server);
    assert_eq!(silent.query("copy t from stdin"), "G[0:2]");
    silent.send(&message(b'd', "5\t5\n6\t")[..8]);
    until_waits(&mut other, silent.key.0, "ClientRead");
    other.query(&format!("select pg_cancel_backend({})", silent.key.0));
    assert_eq!(silent.answer(), "E[ERROR 57014 canceling statement due to user request] Z[E]");
    update(&mut other);
    for half in [message(b'd', "5\t5\n"), query("select 1")] {
        let mut silent = server.client();
        own(&mut silent);
        if half[0] == b'd' {
            assert_eq!(silent.query("copy t from stdin"), "G[0:2]");
        }
        silent.send(&half[..7]);
        other.query(&format!("select pg_terminate_backend({})", silent.key.0));
        assert_eq!(silent.answer(), TERMINATED);
        until_gone(&mut other, silent.key.0);
        update(&mut other);
    }
}

/// Nobody would hear the answer.
#[test]
fn a_client_that_leaves_while_its_statement_waits_is_gone() {
    let server = start();
    let mut owner = with_owner(&server);
    let mut waiter = server.client();
    assert_eq!(waiter.query("set lock_timeout = '1h'"), "C[SET] Z[I]");
    waiter.send(&query("update t set x = 4 where id = 1"));
    let process = waiter.key.0;
    let mut watcher = server.client();
    until_waits(&mut watcher, process, "transactionid");
    drop(waiter);
    until_gone(&mut watcher, process);
    assert_eq!(owner.query("commit"), "C[COMMIT] Z[I]");
    assert!(watcher.query("select x from t").contains("D[2]"));
}

#[test]
fn a_statement_that_waits_for_a_row_is_cancelled_by_whoever_knows_the_key() {
    let server = start();
    let owner = with_owner(&server);
    let (mut waiter, mut watcher) = (server.client(), server.client());
    waiter.query("set lock_timeout = '1h'");
    waiter.send(&query("update t set x = 4 where id = 1"));
    until_waits(&mut watcher, waiter.key.0, "transactionid");
    let blocking = format!("select pg_blocking_pids({})", waiter.key.0);
    assert!(watcher.query(&blocking).contains(&format!("D[{{{}}}]", owner.key.0)));
    server.cancel(waiter.key);
    assert_eq!(waiter.answer(), "E[ERROR 57014 canceling statement due to user request] Z[I]");
}

/// State of a session as others see it after it has only prepared something, and after its pipeline is over.
#[test]
fn a_session_is_idle_when_it_is_ready() {
    let server = start();
    let (mut client, mut watcher) = (server.client(), server.client());
    assert_eq!(client.ask(&[parse("s", "select 1", &[]), sync()]), "1 Z[I]");
    let seen =
        format!("select state, wait_event, xact_start is null from pg_stat_activity where pid = {}", client.key.0);
    assert!(watcher.query(&seen).contains("D[idle,ClientRead,t]"));
    let run = |portal: &str| [common::bind(portal, "s", &[], &[]), common::execute(portal, 0)].concat();
    assert_eq!(client.ask(&[run(""), run("b"), sync()]), "2 D[1] C[SELECT 1] 2 D[1] C[SELECT 1] Z[I]");
    assert!(watcher.query(&seen).contains("D[idle,ClientRead,t]"));
}

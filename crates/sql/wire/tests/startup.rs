//! Start-up, limits on connections, and how connections end.

mod common;

use common::{
    Client, message, query, slow_to_stop, start, start_with, start_with_options, startup, store, stranger, with_length,
};
use seriatim_wire::{Entrance, Options, Server};
use sql::database::{Database, Options as Limits};
use sql::error::{SqlError, state};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const VERSION: u32 = 3 << 16;

/// A statement that takes hours, and hardly any memory.
const ENDLESS: &str = "select count(*) from generate_series(1, 20000) a, generate_series(1, 20000) b, \
                       generate_series(1, 20000) c";

fn code(code: u32) -> Vec<u8> {
    with_length(code.to_be_bytes().to_vec())
}

#[test]
fn a_client_is_greeted_with_settings_and_a_key() {
    let server = start();
    let mut client = server.stranger();
    client.send(&startup(VERSION, &[("user", "postgres"), ("database", "postgres"), ("application_name", "test")]));
    let mut settings = Vec::new();
    loop {
        let (kind, body) = client.message().unwrap();
        match kind {
            b'S' => settings.push(String::from_utf8(body).unwrap()),
            b'Z' => break,
            _ => assert!(b"RK".contains(&kind)),
        }
    }
    for wanted in [
        "server_version\x0015",
        "server_encoding\0UTF8",
        "client_encoding\0UTF8",
        "DateStyle\0ISO, MDY",
        "TimeZone\0",
        "IntervalStyle\0postgres",
        "integer_datetimes\0on",
        "standard_conforming_strings\0on",
        "application_name\0test",
        "is_superuser\0on",
        "session_authorization\0postgres",
        "default_transaction_read_only\0off",
        "in_hot_standby\0off",
    ] {
        assert!(settings.iter().any(|setting| setting.starts_with(wanted)), "{wanted} in {settings:?}");
    }
}

#[test]
fn encryption_is_declined_and_versions_are_negotiated() {
    let server = start();
    let mut client = server.stranger();
    client.send(&code(80_877_103));
    assert_eq!(client.byte(), b'N');
    client.send(&code(80_877_104));
    assert_eq!(client.byte(), b'N');
    client.send(&startup(VERSION + 2, &[("user", "postgres"), ("_pq_.x", "1")]));
    assert_eq!(client.answer(), "v[196608:1] R Z[I]");
}

#[test]
fn start_up_errors_are_named() {
    let server = start();
    let cases: &[(Vec<u8>, &str)] = &[
        (startup(VERSION, &[("user", "x")]), "E[FATAL 28000 role \"x\" does not exist] end"),
        (
            startup(VERSION, &[("user", "postgres"), ("database", "x")]),
            "E[FATAL 3D000 database \"x\" does not exist] end",
        ),
        (startup(VERSION, &[]), "E[FATAL 28000 no PostgreSQL user name specified in startup packet] end"),
        (startup(2 << 16, &[]), "E[FATAL 0A000 unsupported frontend protocol 2.0: server supports 3.0 to 3.0] end"),
        (vec![0, 0, 0, 3, 0, 0, 0, 0], "E[FATAL 08P01 invalid length of startup packet] end"),
        (b"GET / HTTP/1.1\r\n".to_vec(), "E[FATAL 08P01 invalid length of startup packet] end"),
        (
            with_length(b"\0\x03\0\0user\0postgres".to_vec()),
            "E[FATAL 08P01 invalid startup packet layout: expected terminator as last byte] end",
        ),
        (
            startup(VERSION, &[("user", "postgres"), ("replication", "true")]),
            "E[FATAL 0A000 replication over this protocol is not supported] end",
        ),
    ];
    for (packet, answer) in cases {
        let mut client = server.stranger();
        client.send(packet);
        assert_eq!(client.answer(), *answer);
    }
    let mut client = server.stranger();
    client.send(&[code(80_877_103), code(80_877_103)].concat());
    assert_eq!(client.byte(), b'N');
    assert_eq!(
        client.answer(),
        "E[FATAL 0A000 unsupported frontend protocol 1234.5679: server supports 3.0 to 3.0] end"
    );
}

#[test]
fn one_session_more_than_the_limit_is_refused() {
    let server = start_with(Limits { connections: 2, ..Limits::default() });
    let (mut first, second) = (server.client(), server.client());
    let mut third = server.stranger();
    third.send(&startup(VERSION, &[("user", "postgres")]));
    assert_eq!(third.answer(), "E[FATAL 53300 sorry, too many clients already] end");
    assert_eq!(first.query(""), "I Z[I]");
    leave(second);
    assert_eq!(server.client().query(""), "I Z[I]");
}

/// Ends a session, and waits until the server has ended it too.
fn leave(mut client: Client) {
    client.send(&message(b'X', []));
    assert_eq!(client.answer(), "end");
}

#[test]
fn addresses_beyond_the_loopback_are_refused() {
    let database = Database::open(store(), Limits::default()).unwrap();
    let address = "0.0.0.0:0".parse().unwrap();
    let refused = Server::bind(database, Options { address, ..Options::default() }).err().unwrap();
    assert!(refused.to_string().contains("without passwords and encryption"), "{refused}");
}

#[test]
fn a_session_that_idles_inside_a_transaction_is_ended() {
    let server = start_with(Limits { idle_in_transaction: Duration::from_millis(20), ..Limits::default() });
    let mut client = server.client();
    assert_eq!(client.query(""), "I Z[I]");
    assert_eq!(client.query("begin"), "C[BEGIN] Z[T]");
    assert_eq!(client.answer(), "E[FATAL 25P03 terminating connection due to idle-in-transaction timeout] end");
}

#[test]
fn a_session_may_ask_for_any_idle_time_and_for_no_limit() {
    let server = start_with(Limits { idle_in_transaction: Duration::from_millis(20), ..Limits::default() });
    let mut client = server.client();
    let show = "show idle_in_transaction_session_timeout";
    assert_eq!(client.query(show), "T[idle_in_transaction_session_timeout:25:0] D[20ms] C[SHOW] Z[I]");
    assert_eq!(client.query("set idle_in_transaction_session_timeout = 0"), "C[SET] Z[I]");
    assert_eq!(client.query("begin"), "C[BEGIN] Z[T]");
    // A session beside it that begins later and keeps the limit is ended by it; this one goes on.
    let mut limited = server.client();
    assert_eq!(limited.query("begin"), "C[BEGIN] Z[T]");
    assert_eq!(limited.answer(), "E[FATAL 25P03 terminating connection due to idle-in-transaction timeout] end");
    assert_eq!(client.query("commit"), "C[COMMIT] Z[I]");
    assert_eq!(client.query("reset idle_in_transaction_session_timeout"), "C[RESET] Z[I]");
    assert_eq!(client.query(show), "T[idle_in_transaction_session_timeout:25:0] D[20ms] C[SHOW] Z[I]");
}

#[test]
fn sessions_hear_that_the_server_stops() {
    let mut server = start_with_options(slow_to_stop);
    let (mut idle, mut busy, mut stranger) = (server.client(), server.client(), server.stranger());
    assert_eq!(busy.query("begin"), "C[BEGIN] Z[T]");
    stranger.send(&code(80_877_103));
    assert_eq!(stranger.byte(), b'N');
    server.ask_to_stop();
    let farewell = "E[FATAL 57P01 terminating connection due to administrator command] end";
    assert_eq!(idle.answer(), farewell);
    assert_eq!(busy.answer(), farewell);
    assert_eq!(stranger.answer(), farewell);
    server.join();
}

#[test]
fn a_statement_that_never_ends_is_cancelled_by_whoever_knows_the_key() {
    let server = start();
    let mut client = server.client();
    client.send(&query(ENDLESS));
    client.stream.set_nonblocking(true).unwrap();
    let mut byte = [0];
    server.cancel((client.key.0, client.key.1 ^ 1));
    // A request may come before the statement has begun.
    while client.stream.peek(&mut byte).is_err() {
        server.cancel(client.key);
    }
    client.stream.set_nonblocking(false).unwrap();
    let answer = client.answer();
    assert!(answer.ends_with("E[ERROR 57014 canceling statement due to user request] Z[I]"), "{answer}");
    assert_eq!(client.query(""), "I Z[I]");
}

#[test]
fn a_running_statement_does_not_keep_the_server_from_stopping() {
    let mut server = start_with_options(slow_to_stop);
    let mut client = server.client();
    client.send(&query(ENDLESS));
    server.ask_to_stop();
    let mut answer = client.answer();
    while !answer.ends_with("end") {
        answer += &client.answer();
    }
    assert!(answer.ends_with("E[FATAL 57P01 terminating connection due to administrator command] end"), "{answer}");
    server.join();
}

#[test]
fn a_client_that_does_not_read_does_not_keep_the_server_from_stopping() {
    let mut server = start();
    let mut client = server.client();
    client.send(&query("select repeat('x', 1000000) from generate_series(1, 1000)"));
    // It has begun to answer.
    assert_eq!(client.byte(), b'T');
    server.join();
}

/// The address answers before there is a database, with a reason that may change, and serves at the same address afterwards.
#[test]
fn before_the_database_is_open_clients_are_refused_with_the_reason() {
    let options = Options { address: SocketAddr::from(([127, 0, 0, 1], 0)), ..Options::default() };
    let mut entrance = Entrance::bind(options, 10).unwrap();
    let reached = Arc::new(AtomicU64::new(1));
    entrance.refuse({
        let reached = reached.clone();
        move || {
            let message = format!("{} of 3 nodes", reached.load(Ordering::SeqCst));
            SqlError::new(state::CANNOT_CONNECT_NOW, message)
        }
    });
    let address = entrance.address();
    let ask = || {
        let mut client = stranger(address);
        client.send(&startup(VERSION, &[("user", "postgres")]));
        client.answer()
    };
    assert_eq!(ask(), "E[FATAL 57P03 1 of 3 nodes] end");
    reached.store(2, Ordering::SeqCst);
    assert_eq!(ask(), "E[FATAL 57P03 2 of 3 nodes] end");
    // A client that says nothing holds up nobody.
    let silent = stranger(address);
    assert_eq!(ask(), "E[FATAL 57P03 2 of 3 nodes] end");
    let server = entrance.open(Database::open(store(), Limits::default()).unwrap());
    assert_eq!(server.address(), address);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        server.run(async {
            // A sender that was dropped means the same.
            let _ = stopped.await;
        });
    });
    assert!(ask().ends_with("Z[I]"));
    drop((stop, silent));
    thread.join().unwrap();
}

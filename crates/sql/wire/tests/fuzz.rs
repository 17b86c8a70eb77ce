//! Any bytes in any state: the server answers, or ends the one connection, and goes on.

mod common;

use common::{bind, bind_as, close, describe, execute, message, parse, query, start, startup, sync, with_length};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};

const CASES: u32 = 3_000;

/// States of a connection before the bytes arrive.
const STATES: &[&[&str]] = &[
    &[],
    &["begin"],
    &["begin", "selec"],
    &["create temp table copied (a int, b text)", "copy copied from stdin"],
    &["begin", "create temp table copied (a int, b text)", "copy copied from stdin"],
];

/// Messages as clients send them.
fn valid() -> impl Strategy<Value = Vec<u8>> {
    let name = || prop::sample::select(vec!["", "s", "p", "none"]);
    let sql = || {
        prop::sample::select(vec![
            "",
            ";",
            "select 1",
            "select $1::int4, $2",
            "select 1; select 'two'",
            "selec",
            "begin",
            "commit",
            "rollback",
            "select 1/0",
            "create temp table copied (a int, b text)",
            "insert into copied values (1, 'one')",
            "copy copied from stdin",
            "copy copied to stdout",
            "select * from generate_series(1, 100)",
        ])
    };
    let values = || vec(prop::option::of(vec(any::<u8>(), 0..12)), 0..4);
    let formats = || vec(prop::sample::select(vec![0_u16, 0, 1, 2]), 0..3);
    prop_oneof![
        sql().prop_map(query),
        (name(), sql(), vec(prop::sample::select(vec![0_u32, 23, 25, 1]), 0..3))
            .prop_map(|(name, sql, types)| parse(name, sql, &types)),
        (name(), name()).prop_map(|(portal, statement)| bind(portal, statement, &[], &[])),
        (name(), name(), formats(), values(), formats()).prop_map(|(portal, statement, formats, values, results)| {
            let values: Vec<_> = values.iter().map(Option::as_deref).collect();
            bind_as(portal, statement, &formats, &values, &results)
        }),
        (prop::sample::select(b"SPx".to_vec()), name()).prop_map(|(what, name)| describe(what, name)),
        (prop::sample::select(b"SPx".to_vec()), name()).prop_map(|(what, name)| close(what, name)),
        (name(), prop::sample::select(vec![0, 1, 7, u32::MAX])).prop_map(|(portal, rows)| execute(portal, rows)),
        Just(sync()),
        Just(message(b'H', [])),
        vec(prop::sample::select(b"12\t\n\\.xN\xff\0".to_vec()), 0..40).prop_map(|data| message(b'd', data)),
        Just(message(b'c', [])),
        Just(message(b'f', "no\0")),
        Just(message(b'F', [0; 8])),
        vec(any::<u8>(), 0..30).prop_map(|body| message(b'Q', body)),
        (any::<u8>(), vec(any::<u8>(), 0..30)).prop_map(|(kind, body)| message(kind, body)),
    ]
}

/// Corruption of bytes in transit.
#[derive(Clone, Debug)]
enum Harm {
    None,
    /// They end early.
    Cut(prop::sample::Index),
    /// One of them is another.
    Change(prop::sample::Index, u8),
    /// Bytes are inserted.
    Insert(prop::sample::Index, Vec<u8>),
    /// A length field is changed.
    Length(prop::sample::Index, u32),
}

fn harm() -> impl Strategy<Value = Harm> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => Just(Harm::None),
        3 => index().prop_map(Harm::Cut),
        3 => (index(), any::<u8>()).prop_map(|(at, byte)| Harm::Change(at, byte)),
        2 => (index(), vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
        2 => (index(), prop_oneof![any::<u32>(), 0..20_000_000_u32]).prop_map(|(at, length)| Harm::Length(at, length)),
    ]
}

/// Messages, some of them harmed.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    (vec(valid(), 1..12), harm()).prop_map(|(messages, harm)| {
        let mut bytes = messages.concat();
        match harm {
            Harm::None => {}
            Harm::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Harm::Change(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            Harm::Insert(at, inserted) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, inserted);
            }
            Harm::Length(at, length) => {
                let message = at.index(messages.len());
                let start = messages[..message].iter().map(Vec::len).sum::<usize>() + 1;
                bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        bytes
    })
}

/// Packets before there is a session.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let code = prop::sample::select(vec![80_877_102_u32, 80_877_103, 80_877_104, 3 << 16, (3 << 16) + 1, 2 << 16, 0]);
    prop_oneof![
        vec(any::<u8>(), 0..40),
        vec(any::<u8>(), 0..40).prop_map(with_length),
        (code, vec(any::<u8>(), 0..40)).prop_map(|(code, rest)| with_length([&code.to_be_bytes()[..], &rest].concat())),
        vec(
            prop::sample::select(vec!["user", "postgres", "database", "", "options", "-c x=1", "client_encoding"]),
            0..8
        )
        .prop_map(|words| {
            let pairs: Vec<_> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            startup(3 << 16, &pairs)
        }),
    ]
}

fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Sends bytes, then nothing more, and reads what comes until the server ends the connection too.
fn answers(client: &mut common::Client, bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    // The server may have ended the connection before it has read all of them.
    if client.stream.write_all(bytes).is_ok() {
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
    }
    let mut answers = Vec::new();
    loop {
        match client.message() {
            Ok(message) => answers.push(message),
            Err(error) => {
                let is_the_end = matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                );
                assert!(is_the_end, "no end: {error}");
                return answers;
            }
        }
    }
}

/// The messages of a session are whole, and none of its errors is a fault of the server.
fn look_at(answers: &[(u8, Vec<u8>)]) -> Result<(), TestCaseError> {
    for (kind, body) in answers {
        prop_assert!(b"123CDEGHINSTZRKVcdnstvW".contains(kind), "{}", char::from(*kind));
        let is_fault = *kind == b'E' && body.windows(7).any(|field| field == b"\0CXX000");
        prop_assert!(!is_fault, "{}", common::show(*kind, body));
    }
    Ok(())
}

#[test]
fn any_bytes_in_any_state_of_a_session() {
    let server = start();
    let witness = RefCell::new(server.client());
    let strategy = (prop::sample::select(STATES), stream());
    let outcome = runner().run(&strategy, |(state, bytes)| {
        let mut client = server.client();
        for sql in state {
            client.query(sql);
        }
        look_at(&answers(&mut client, &bytes))?;
        prop_assert_eq!(witness.borrow_mut().query("select 1"), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]");
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(server.client().query("select 1"), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]");
}

#[test]
fn any_bytes_at_start_up() {
    let server = start();
    let outcome = runner().run(&packet(), |bytes| {
        let mut client = server.stranger();
        if client.stream.write_all(&bytes).is_ok() {
            let _ = client.stream.shutdown(std::net::Shutdown::Write);
        }
        let mut rest = Vec::new();
        match client.stream.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(server.client().query("select 1"), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]");
}

//! Clients whose encoding is not UTF-8: every text of the protocol is converted, and what does not convert is an error.

mod common;

use common::{
    Client, Running, bind_as, close, describe, execute, message, start, start_with, startup, sync, with_length,
};
use sql::database::Options as Limits;

const TEXT: u32 = 25;

/// A simple query of these bytes.
fn bytes(sql: &[u8]) -> Vec<u8> {
    message(b'Q', [sql, b"\0"].concat())
}

/// A session with this client encoding from its start.
fn client(server: &Running, encoding: &str) -> Client {
    let mut client = server.stranger();
    client.send(&startup(3 << 16, &[("user", "postgres"), ("client_encoding", encoding)]));
    assert!(client.answer().ends_with("Z[I]"));
    client
}

/// The messages until ReadyForQuery, as they are.
fn raw(client: &mut Client, messages: &[Vec<u8>]) -> Vec<(u8, Vec<u8>)> {
    client.send(&messages.concat());
    let mut answer = Vec::new();
    while answer.last().is_none_or(|(kind, _)| *kind != b'Z') {
        answer.push(client.message().unwrap());
    }
    answer
}

#[test]
fn the_encoding_is_that_of_the_start_up_packet() {
    let server = start();
    let mut client = server.stranger();
    let packet = [("user", "postgres"), ("options", "-c client_encoding=iso-8859-15")];
    client.send(&startup(3 << 16, &packet));
    let mut reported = Vec::new();
    loop {
        let (kind, body) = client.message().unwrap();
        match kind {
            b'S' => reported.push(body),
            b'Z' => break,
            _ => {}
        }
    }
    assert!(reported.contains(&b"client_encoding\0LATIN9\0".to_vec()), "by its own name");
    assert_eq!(
        client.ask(&[bytes(b"select '\xa4' = U&'\\20AC', '\xa4'")]),
        "T[?column?:16:0,?column?:25:0] D[t,\\xa4] C[SELECT 1] Z[I]"
    );
    for (encoding, error) in [
        ("latin11", "E[FATAL 22023 invalid value for parameter \"client_encoding\": \"latin11\"] end"),
        ("mule_internal", "E[FATAL 0A000 invalid value for parameter \"client_encoding\": \"mule_internal\"] end"),
    ] {
        let mut stranger = server.stranger();
        stranger.send(&startup(3 << 16, &[("user", "postgres"), ("client_encoding", encoding)]));
        assert_eq!(stranger.answer(), error);
    }
}

#[test]
fn a_change_counts_from_the_next_statement_on() {
    let server = start();
    let mut client = server.client();
    let answer = raw(&mut client, &[bytes("select 'é'; set client_encoding to latin1; select 'é'".as_bytes())]);
    let kinds: String = answer.iter().map(|(kind, _)| char::from(*kind)).collect();
    assert_eq!(kinds, "TDCCSTDCZ", "the client knows before it reads");
    assert_eq!(answer[1].1, b"\0\x01\0\0\0\x02\xc3\xa9");
    assert_eq!(answer[4].1, b"client_encoding\0LATIN1\0");
    assert_eq!(answer[6].1, b"\0\x01\0\0\0\x01\xe9");
    assert_eq!(client.ask(&[bytes(b"show client_encoding")]), "T[client_encoding:25:0] D[LATIN1] C[SHOW] Z[I]");
    let undone = raw(&mut client, &[bytes(b"begin; set names 'koi8-r'; select 1/0")]);
    assert_eq!(undone.last().unwrap().1, b"E");
    let reported = |answer: &[(u8, Vec<u8>)]| -> Vec<Vec<u8>> {
        answer.iter().filter(|(kind, _)| *kind == b'S').map(|(_, body)| body.clone()).collect()
    };
    assert_eq!(reported(&undone), [b"client_encoding\0KOI8R\0"]);
    assert_eq!(reported(&raw(&mut client, &[bytes(b"rollback")])), [b"client_encoding\0LATIN1\0"]);
    // Sync ends the transaction of a failed series, and what it has set.
    let parse = |sql: &str| common::parse("", sql, &[]);
    let bound = || bind_as("", "", &[], &[], &[]);
    let series = [
        parse("set client_encoding to win1252"),
        bound(),
        execute("", 1),
        parse("select 1/0"),
        bound(),
        execute("", 0),
        sync(),
    ];
    let answer = raw(&mut client, &series);
    assert_eq!(reported(&answer).last().map(Vec::as_slice), Some(&b"client_encoding\0LATIN1\0"[..]));
    assert_eq!(client.ask(&[bytes(b"select '\xe9' as a")]), "T[a:25:0] D[\\xe9] C[SELECT 1] Z[I]");
}

#[test]
fn every_text_of_the_extended_protocol_is_converted() {
    let server = start();
    let mut client = client(&server, "latin1");
    let parse = message(b'P', b"\xe9\0select $1 as \"\xdf\", $2, $3\0\0\x03\0\0\0\x19\0\0\0\x19\0\0\x03\xf1".to_vec());
    let mut bind = b"\xfc\0\xe9\0\0\x03\0\0\0\x01\0\x01\0\x03".to_vec();
    for value in [&b"\xe9"[..], b"\xdf", b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x01\0\0\0\x01\0\0\0\x01\xe4"] {
        bind.extend((value.len() as u32).to_be_bytes());
        bind.extend(value);
    }
    bind.extend(b"\0\x03\0\0\0\x01\0\x01");
    let portal = |kind: u8, body: &[u8]| message(kind, body.to_vec());
    let series = [
        parse,
        portal(b'D', b"S\xe9\0"),
        message(b'B', bind),
        portal(b'D', b"P\xfc\0"),
        portal(b'E', b"\xfc\0\0\0\0\0"),
        portal(b'C', b"P\xfc\0"),
        sync(),
    ];
    let array = r"\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x19\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\xe4";
    let described = |format: u8| format!(r"T[\xdf:25:0,?column?:25:{format},?column?:1009:{format}]");
    let expected =
        format!(r"1 t[25,25,1009] {} 2 {} D[\xe9,\xdf,{array}] C[SELECT 1] 3 Z[I]", described(0), described(1));
    assert_eq!(client.ask(&series), expected);
    assert_eq!(
        client.ask(&[portal(b'B', b"\0\xe8\0\0\0\0\0\0\0"), sync()]),
        r#"E[ERROR 26000 prepared statement \"\xe8\" does not exist] Z[I]"#
    );
    let mut other = server.client();
    assert_eq!(
        other.ask(&[describe(b'S', "é"), close(b'S', "é"), sync()]),
        "E[ERROR 26000 prepared statement \"é\" does not exist] Z[I]"
    );
}

#[test]
fn what_does_not_convert_is_an_error_and_the_session_lives() {
    let server = start();
    let mut client = client(&server, "win1252");
    let lacks = |bytes: &str, from: &str, to: &str| {
        format!(
            "E[ERROR 22P05 character with byte sequence {bytes} in encoding \"{from}\" has no equivalent in encoding \"{to}\"]"
        )
    };
    let unread = lacks("0x81", "WIN1252", "UTF8");
    let unwritten = lacks("0xe5 0xad 0x97", "UTF8", "WIN1252");
    assert_eq!(client.ask(&[bytes(b"select '\x81'")]), format!("{unread} Z[I]"));
    assert_eq!(client.query(r"select U&'\5B57'"), format!("T[?column?:25:0] {unwritten} Z[I]"));
    server.client().query("create table t (\"字\" int not null)");
    assert_eq!(client.query("select * from t"), format!("{unwritten} Z[I]"), "a column's name");
    let described = [common::parse("", "select * from t", &[]), describe(b'S', ""), sync()];
    assert_eq!(client.ask(&described), format!("1 {unwritten} Z[I]"));
    assert_eq!(client.query("insert into t default values"), format!("{unwritten} Z[I]"), "an error's own message");
    let parse = common::parse("", r#"select U&'\5B57' as "a""#, &[TEXT]);
    let series = [parse, bind_as("", "", &[], &[], &[1]), execute("", 0), sync()];
    assert!(client.ask(&series).contains("bind message supplies 0 parameters"));
    let parse = common::parse("", r#"select $1 || U&'\5B57' as "a""#, &[TEXT]);
    let series = [parse, bind_as("", "", &[], &[Some(b"\x80")], &[1]), execute("", 0), sync()];
    assert_eq!(client.ask(&series), format!("1 2 {unwritten} Z[I]"), "a binary value");
    let parse = common::parse("", "select $1", &[TEXT]);
    let series = [parse, bind_as("", "", &[], &[Some(b"a\x81")], &[1]), execute("", 0), sync()];
    assert_eq!(client.ask(&series), format!("1 {unread} Z[I]"));
    assert_eq!(client.ask(&[bytes(b"select '\x80'")]), r"T[?column?:25:0] D[\x80] C[SELECT 1] Z[I]");
}

#[test]
fn positions_count_characters() {
    let server = start();
    let mut client = client(&server, "gb18030");
    // Characters of one, two and four bytes in front of the column.
    let answer = raw(&mut client, &[bytes(b"select 'a\xa2\xe3\x81\x30\x84\x36', nothing")]);
    let position = answer[0].1.split(|byte| *byte == 0).find(|field| field.first() == Some(&b'P'));
    assert_eq!(position, Some(&b"P15"[..]));
}

#[test]
fn copied_data_are_in_the_clients_encoding_or_in_the_named_one() {
    let server = start();
    let mut client = client(&server, "latin1");
    client.query("create table t (a text)");
    let data = |data: &[u8]| message(b'd', data.to_vec());
    let done = || message(b'c', []);
    assert_eq!(client.query("copy t from stdin"), "G[0:1]");
    assert_eq!(client.ask(&[data(b"\xe9\n"), data(b"\xdf"), data(b"\n"), done()]), "C[COPY 2] Z[I]");
    assert_eq!(client.query("copy t from stdin (encoding 'sjis', format csv)"), "G[0:1]");
    assert_eq!(client.ask(&[data(b"\"\x82"), data(b"\xa0\x83\x5c\"\n"), done()]), "C[COPY 1] Z[I]");
    assert_eq!(
        client.query("copy t to stdout (encoding 'utf8')"),
        r"H[0:1] d[\xc3\xa9\n] d[\xc3\x9f\n] d[\xe3\x81\x82\xe3\x82\xbd\n] c C[COPY 3] Z[I]"
    );
    assert_eq!(
        client.query("copy t to stdout"),
        r#"H[0:1] d[\xe9\n] d[\xdf\n] E[ERROR 22P05 character with byte sequence 0xe3 0x81 0x82 in encoding "UTF8" has no equivalent in encoding "LATIN1"] Z[I]"#
    );
    let named = bytes(b"copy (select '\xe9' as \"\xdf\") to stdout (header, format csv, encoding 'utf8')");
    assert_eq!(client.ask(&[named]), r"H[0:1] d[\xc3\x9f\n] d[\xc3\xa9\n] c C[COPY 1] Z[I]");
    assert_eq!(
        client
            .query("copy (select U&'\\00e9' as b) to stdout (format binary)")
            .matches(r"\x00\x00\x00\x01\xe9")
            .count(),
        1
    );
    assert_eq!(client.query("copy t from stdin (encoding 'euc_kr')"), "G[0:1]");
    let error = r#"E[ERROR 22021 invalid byte sequence for encoding "EUC_KR": 0xff 0xff] Z[I]"#;
    assert_eq!(client.ask(&[data(b"a\nb\xff\xffc\n"), done()]), error);
    assert_eq!(client.query("copy t from stdin (encoding 'euc_kr')"), "G[0:1]");
    assert_eq!(
        client.ask(&[data(b"a\nb\xb0"), done()]),
        r#"E[ERROR 22021 invalid byte sequence for encoding "EUC_KR": 0xb0] Z[I]"#
    );
    assert_eq!(client.query("copy t from stdin (encoding 'euc_kr')"), "G[0:1]");
    assert_eq!(client.ask(&[data(b"a\n\\.\n\xff\xff\n"), done()]), "C[COPY 1] Z[I]", "the end marker ends the data");
    assert!(client.query("copy t to stdout encoding 'mule_internal'").starts_with("E[ERROR 42883"));
}

#[test]
fn notifications_are_converted_or_their_loss_is_reported() {
    let server = start();
    let (mut listener, mut sender) = (client(&server, "latin1"), server.client());
    listener.query("listen news");
    assert_eq!(sender.query("notify news, 'é'"), "C[NOTIFY] Z[I]");
    let (kind, body) = listener.message().unwrap();
    assert_eq!((kind, &body[4..]), (b'A', &b"news\0\xe9\0"[..]));
    assert_eq!(sender.query("notify news, '字'"), "C[NOTIFY] Z[I]");
    let (kind, body) = listener.message().unwrap();
    assert_eq!(kind, b'N');
    let text = String::from_utf8(body).unwrap();
    assert!(text.contains("C22P05\0") && text.contains("a notification was not sent"), "{text}");
    assert!(listener.query("select 1").ends_with("C[SELECT 1] Z[I]"));
}

/// A message that grows when it is read counts with what it becomes, and not more.
#[test]
fn converted_messages_count() {
    let server = start_with(Limits { budget_bytes: 16 << 20, statement_bytes: 32 << 20, ..Limits::default() });
    let long = |byte: u8, length: usize| bytes(&[b"select 1 --", &vec![byte; length][..]].concat());
    let (mut plain, mut latin) = (server.client(), client(&server, "latin1"));
    assert!(plain.ask(&[long(b'x', 4_500_000)]).contains("D[1]"));
    assert!(latin.ask(&[long(b'x', 1_000_000)]).contains("D[1]"));
    let refused = "E[ERROR 53200 out of memory: the statements of all sessions together may hold 16777216 bytes] Z[I]";
    assert_eq!(latin.ask(&[long(0xe9, 4_500_000)]), refused);
    assert!(latin.ask(&[long(0xe9, 1_000_000)]).contains("D[1]"));
    let given_back = "select used_bytes < 1000000 from seriatim_memory where name = 'statements'";
    assert!(latin.query(given_back).contains("D[t]"));
}

/// Start-up packets come before the encoding is known: their texts are UTF-8.
#[test]
fn start_up_packets_are_utf8() {
    let server = start();
    let mut stranger = server.stranger();
    stranger.send(&with_length(
        [&(3_u32 << 16).to_be_bytes()[..], b"user\0postgres\0application_name\0\xe9\0client_encoding\0latin1\0\0"]
            .concat(),
    ));
    assert_eq!(stranger.answer(), "E[FATAL 22021 invalid byte sequence for encoding \"UTF8\": 0xe9] end");
}

/// Long texts are converted before their statement begins, on a thread that knows the request to an earlier one.
#[test]
fn a_long_text_is_stopped_by_no_request_that_came_before() {
    let server = start();
    let mut client = client(&server, "latin1");
    let long = [&b"select length('"[..], &vec![0xe9; 400_000], b"')"].concat();
    for _ in 0..20 {
        client.ask(&[bytes(b"select pg_cancel_backend(pg_backend_pid())")]);
        assert_eq!(client.ask(&[bytes(&long)]), "T[length:23:0] D[400000] C[SELECT 1] Z[I]");
    }
}

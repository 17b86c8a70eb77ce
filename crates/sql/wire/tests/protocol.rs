//! Responses to messages. Expected responses are PostgreSQL 15's.

mod common;

use common::{bind, bind_as, close, describe, execute, message, parse, query, start, start_with, sync};
use sql::database::Options as Limits;

#[test]
fn simple_queries() {
    let server = start();
    let mut client = server.client();
    let cases = [
        ("", "I Z[I]"),
        (" ; ", "I Z[I]"),
        ("select 1 as a, null::text as b", "T[a:23:0,b:25:0] D[1,NULL] C[SELECT 1] Z[I]"),
        ("select 1; select 'x'", "T[?column?:23:0] D[1] C[SELECT 1] T[?column?:25:0] D[x] C[SELECT 1] Z[I]"),
        ("create table t (a int primary key)", "C[CREATE TABLE] Z[I]"),
        ("insert into t values (1), (2)", "C[INSERT 0 2] Z[I]"),
        ("select a from t where a > 5", "T[a:23:0] C[SELECT 0] Z[I]"),
        ("select 1; selec", "E[ERROR 42601 syntax error at or near \"selec\"] Z[I]"),
        ("select 1/0", "T[?column?:23:0] E[ERROR 22012 division by zero] Z[I]"),
        ("begin", "C[BEGIN] Z[T]"),
        ("insert into t values (1)", "E[ERROR 23505 duplicate key value violates unique constraint \"t_pkey\"] Z[E]"),
        (
            "select 1",
            "E[ERROR 25P02 current transaction is aborted, commands ignored until end of transaction block] Z[E]",
        ),
        ("commit", "C[ROLLBACK] Z[I]"),
        ("rollback", "N[WARNING 25P01 there is no transaction in progress] C[ROLLBACK] Z[I]"),
    ];
    for (sql, answer) in cases {
        // PostgreSQL finds that it cannot divide before it describes the rows.
        let shown = client.query(sql).replace("T[?column?:23:0] E[", "E[");
        assert_eq!(shown, answer.replace("T[?column?:23:0] E[", "E["), "{sql}");
    }
}

#[test]
fn the_extended_protocol() {
    let server = start();
    let mut client = server.client();
    let answer = client.ask(&[
        parse("s", "select $1::int4 + 1 as a, $2 as b", &[0, 25]),
        describe(b'S', "s"),
        bind("", "s", &[Some("41"), None], &[]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(answer, "1 t[23,25] T[a:23:0,b:25:0] 2 T[a:23:0,b:25:0] D[42,NULL] C[SELECT 1] Z[I]");
    // Parameters and columns in their own forms.
    let answer = client.ask(&[
        bind_as("", "s", &[1, 0], &[Some(&[0, 0, 1, 0]), Some(b"x")], &[1, 0]),
        describe(b'P', ""),
        execute("", 0),
        sync(),
    ]);
    assert_eq!(answer, "2 T[a:23:1,b:25:0] D[\\x00\\x00\\x01\\x01,x] C[SELECT 1] Z[I]");
    let answer = client.ask(&[bind("", "s", &[Some("1"), Some("y")], &[1]), execute("", 0), sync()]);
    assert_eq!(answer, "2 D[\\x00\\x00\\x00\\x02,y] C[SELECT 1] Z[I]");
    // No rows, no text, nothing there any more.
    let answer =
        client.ask(&[parse("", "begin", &[]), describe(b'S', ""), bind("", "", &[], &[]), execute("", 0), sync()]);
    assert_eq!(answer, "1 t[] n 2 C[BEGIN] Z[T]");
    let answer = client.ask(&[parse("", "", &[]), bind("", "", &[], &[]), describe(b'P', ""), execute("", 0), sync()]);
    assert_eq!(answer, "1 2 n I Z[T]");
    assert_eq!(client.ask(&[close(b'S', "s"), close(b'P', "none"), sync()]), "3 3 Z[T]");
    let answer = client.ask(&[bind("", "s", &[], &[]), sync()]);
    assert_eq!(answer, "E[ERROR 26000 prepared statement \"s\" does not exist] Z[E]");
}

/// Identifiers that print as names: a parameter in text is a name, or a number; in binary it is an oid, and so is a column.
#[test]
fn names_are_parameters() {
    let server = start();
    let mut client = server.client();
    let answer = client.ask(&[
        parse("s", "select $1::regclass, $2::regtype[], $1::oid", &[]),
        describe(b'S', "s"),
        bind("", "s", &[Some("pg_class"), Some("{int,text}")], &[]),
        execute("", 0),
        bind("", "s", &[Some("1259"), None], &[1, 0, 0]),
        execute("", 0),
        bind_as("", "s", &[1, 0], &[Some(&[0, 0, 4, 0xeb]), None], &[0, 0, 1]),
        execute("", 0),
        sync(),
    ]);
    let binary = "\\x00\\x00\\x04\\xeb";
    assert_eq!(
        answer,
        format!(
            "1 t[2205,2211] T[regclass:2205:0,regtype:2211:0,oid:26:0] \
             2 D[pg_class,{{integer,text}},1259] C[SELECT 1] \
             2 D[{binary},NULL,1259] C[SELECT 1] 2 D[pg_class,NULL,{binary}] C[SELECT 1] Z[I]"
        )
    );
    let answer = client.ask(&[bind("", "s", &[Some("nothing"), None], &[]), execute("", 0), sync()]);
    assert_eq!(answer, "2 E[ERROR 42P01 relation \"nothing\" does not exist] Z[I]");
}

/// A statement without rows runs once; a query that has ended has no more rows.
#[test]
fn portals_run_once() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int)"), "C[CREATE TABLE] Z[I]");
    let twice = |sql: &str| [parse("", sql, &[]), bind("p", "", &[], &[]), execute("p", 0), execute("p", 0), sync()];
    let refused = "E[ERROR 55000 portal \"p\" cannot be run] Z[I]";
    assert_eq!(client.ask(&twice("insert into t values (1)")), format!("1 2 C[INSERT 0 1] {refused}"));
    assert_eq!(client.ask(&twice("create table u (a int)")), format!("1 2 C[CREATE TABLE] {refused}"));
    assert_eq!(client.ask(&twice("select 1")), "1 2 D[1] C[SELECT 1] C[SELECT 0] Z[I]");
    assert_eq!(client.query("select count(*) from t"), "T[count:20:0] D[0] C[SELECT 1] Z[I]");
}

/// A weaker isolation level is exceeded, and the client is told so once.
#[test]
fn weaker_isolation_is_reported_once() {
    let server = start();
    let mut client = server.client();
    let notice = "N[NOTICE 00000 isolation level READ COMMITTED runs as SERIALIZABLE]";
    assert_eq!(client.query("begin isolation level serializable; commit"), "C[BEGIN] C[COMMIT] Z[I]");
    assert_eq!(client.query("begin isolation level read committed"), format!("{notice} C[BEGIN] Z[T]"));
    assert_eq!(client.query("commit"), "C[COMMIT] Z[I]");
    assert_eq!(client.query("begin isolation level read committed; commit"), "C[BEGIN] C[COMMIT] Z[I]");
    let mut other = server.client();
    let set = "set session characteristics as transaction isolation level read committed";
    assert_eq!(other.query(set), format!("{notice} C[SET] Z[I]"));
}

#[test]
fn an_error_passes_over_everything_until_sync() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int)"), "C[CREATE TABLE] Z[I]");
    let insert = |sql: &str| [parse("", sql, &[]), bind("", "", &[], &[]), execute("", 0)].concat();
    let answer = client.ask(&[
        insert("insert into t values (1)"),
        parse("", "selec", &[]),
        bind("", "", &[], &[]),
        describe(b'S', ""),
        query("select 1"),
        message(b'F', []),
        message(b'H', []),
        sync(),
    ]);
    assert_eq!(answer, "1 2 C[INSERT 0 1] E[ERROR 42601 syntax error at or near \"selec\"] Z[I]");
    assert_eq!(client.query("select count(*) from t"), "T[count:20:0] D[0] C[SELECT 1] Z[I]");
    // Each Sync ends a transaction, and its answer.
    client.send(&[insert("insert into t values (2)"), sync(), parse("", "selec", &[]), sync(), sync()].concat());
    assert_eq!(client.answer(), "1 2 C[INSERT 0 1] Z[I]");
    assert_eq!(client.answer(), "E[ERROR 42601 syntax error at or near \"selec\"] Z[I]");
    assert_eq!(client.answer(), "Z[I]");
    assert_eq!(client.query("select a from t"), "T[a:23:0] D[2] C[SELECT 1] Z[I]");
}

#[test]
fn portals_give_their_rows_in_parts() {
    let server = start();
    let mut client = server.client();
    let begin = [parse("", "select * from generate_series(1, 5) g", &[]), bind("p", "", &[], &[1])];
    let answer = client.ask(&[begin.concat(), execute("p", 2), execute("p", 2), execute("p", 2), sync()]);
    let row = |number: u32| format!("D[\\x00\\x00\\x00\\x0{number}]");
    let expected = format!("1 2 {} {} s {} {} s {} C[SELECT 1] Z[I]", row(1), row(2), row(3), row(4), row(5));
    assert_eq!(answer, expected);
    // They end with their transaction.
    assert_eq!(client.ask(&[execute("p", 0), sync()]), "E[ERROR 34000 portal \"p\" does not exist] Z[I]");
    let answer = client.ask(&[parse("", "select 1, 2, 3", &[]), bind("", "", &[], &[0, 1]), sync()]);
    assert_eq!(answer, "1 E[ERROR 08P01 bind message has 2 result formats but query has 3 columns] Z[I]");
}

#[test]
fn malformed_messages_are_answered() {
    let server = start();
    let mut client = server.client();
    let lives: &[(Vec<u8>, &str)] = &[
        (message(b'Q', "select 1"), "E[ERROR 08P01 invalid string in message] Z[I]"),
        (message(b'Q', b"select '\xff'\0"), "E[ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0xff] Z[I]"),
        (message(b'F', "rubbish"), "E[ERROR 0A000 the function call protocol is not supported] Z[I]"),
        ([message(b'P', "x"), sync()].concat(), "E[ERROR 08P01 invalid string in message] Z[I]"),
        ([message(b'D', "x\0"), sync()].concat(), "E[ERROR 08P01 invalid DESCRIBE message subtype 120] Z[I]"),
        ([message(b'S', "x"), sync()].concat(), "E[ERROR 08P01 invalid message format] Z[I]"),
        ([message(b'd', "stray"), message(b'c', []), sync()].concat(), "Z[I]"),
    ];
    for (bytes, answer) in lives {
        client.send(bytes);
        assert_eq!(client.answer(), *answer);
        if answer.contains("invalid message format") {
            assert_eq!(client.answer(), "Z[I]");
        }
    }
    let ends: &[(&[u8], &str)] = &[
        (b"z\0\0\0\x04", "E[FATAL 08P01 invalid frontend message type 122] end"),
        (b"p\0\0\0\x05\0", "E[FATAL 08P01 invalid frontend message type 112] end"),
        (b"Q\0\0\0\x03", "E[FATAL 08P01 invalid message length] end"),
        (b"S\x7f\0\0\0", "E[FATAL 08P01 invalid message length] end"),
        (b"X\0\0\0\x04", "end"),
    ];
    for (bytes, answer) in ends {
        let mut client = server.client();
        client.send(bytes);
        assert_eq!(client.answer(), *answer);
    }
}

#[test]
fn what_is_too_long_is_passed_over_and_the_session_lives() {
    let server = start_with(Limits { statement_bytes: 100_000, ..Limits::default() });
    let mut client = server.client();
    let long = format!("select '{}'", "x".repeat(3_000_000));
    let allowed = format!("select length('{}') as a", "x".repeat(90_000));
    assert_eq!(client.query(&allowed), "T[a:23:0] D[90000] C[SELECT 1] Z[I]");
    // Exactly the limit, and one byte more.
    let exactly = |bytes: usize| format!("select 1{}", " ".repeat(bytes - 8));
    assert_eq!(client.query(&exactly(100_000)), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]");
    let answer = client.query(&exactly(100_001));
    assert_eq!(answer, "E[ERROR 54000 statement too long: 100001 bytes of 100000 allowed] Z[I]");
    let answer = client.query(&long);
    assert!(answer.starts_with("E[ERROR 54000 statement too long: "), "{answer}");
    assert!(answer.ends_with("Z[I]"), "{answer}");
    let answer = client.ask(&[parse("", &long, &[]), bind("", "", &[], &[]), execute("", 0), sync()]);
    assert!(answer.starts_with("E[ERROR 54000 statement too long: ") && answer.ends_with("allowed] Z[I]"), "{answer}");
    let answer = client.ask(&[parse("", "select $1", &[25]), bind("", "", &[Some(&long)], &[]), sync()]);
    assert!(answer.starts_with("1 E[ERROR 54000 parameters too long: "), "{answer}");
    assert_eq!(client.query("begin"), "C[BEGIN] Z[T]");
    assert!(client.query(&long).ends_with("Z[E]"));
    assert_eq!(client.query("rollback"), "C[ROLLBACK] Z[I]");
}

#[test]
fn copy_takes_data_in_pieces_of_any_size() {
    let server = start_with(Limits { statement_bytes: 1_000, ..Limits::default() });
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int, b text)"), "C[CREATE TABLE] Z[I]");
    let data = |text: &str| message(b'd', text);
    let done = || message(b'c', []);
    // In pieces that end anywhere, with messages in between that do not count.
    assert_eq!(client.query("copy t from stdin"), "G[0:2]");
    let answer = client.ask(&[data("1\tone\n2"), message(b'H', []), sync(), data("\tt"), data("wo\n"), done()]);
    assert_eq!(answer, "C[COPY 2] Z[I]");
    // One message that is longer than a statement may be.
    let rows: String = (10..2_000).map(|row| format!("{row}\tx\n")).collect();
    assert_eq!(client.query("copy t from stdin"), "G[0:2]");
    assert_eq!(client.ask(&[data(&rows), done()]), "C[COPY 1990] Z[I]");
    // With what follows in the same text.
    assert_eq!(client.query("copy t from stdin; select count(*) from t; copy t from stdin"), "G[0:2]");
    assert_eq!(client.ask(&[data("3\tthree\n"), done()]), "C[COPY 1] T[count:20:0] D[1993] C[SELECT 1] G[0:2]");
    assert_eq!(client.ask(&[done()]), "C[COPY 0] Z[I]");
    // In the extended protocol.
    let answer = client.ask(&[parse("", "copy t from stdin", &[]), bind("", "", &[], &[]), execute("", 0), sync()]);
    assert_eq!(answer, "1 2 G[0:2]");
    assert_eq!(client.ask(&[data("4\tfour\n"), done(), sync()]), "C[COPY 1] Z[I]");
    assert_eq!(client.query("select count(*) from t"), "T[count:20:0] D[1994] C[SELECT 1] Z[I]");
}

#[test]
fn a_copy_fails_as_a_statement_does() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int, b text)"), "C[CREATE TABLE] Z[I]");
    let data = |text: &str| message(b'd', text);
    let done = || message(b'c', []);
    let copy = || [parse("", "copy t from stdin", &[]), bind("", "", &[], &[]), execute("", 0)].concat();
    assert_eq!(client.query("copy t from stdin"), "G[0:2]");
    let answer = client.ask(&[data("1\tone\n"), message(b'f', "enough\0")]);
    assert_eq!(answer, "E[ERROR 57014 COPY from stdin failed: enough] Z[I]");
    assert_eq!(client.query("copy t from stdin"), "G[0:2]");
    let answer = client.ask(&[data("x\tone\n"), data("2\ttwo\n"), done()]);
    assert_eq!(answer, "E[ERROR 22P02 invalid input syntax for type integer: \"x\"] Z[I]");
    client.send(&copy());
    assert_eq!(client.answer(), "1 2 G[0:2]");
    let answer = client.ask(&[data("x\tone\n"), done(), query("select 1"), sync()]);
    assert_eq!(answer, "E[ERROR 22P02 invalid input syntax for type integer: \"x\"] Z[I]");
    assert_eq!(client.query("select count(*) from t"), "T[count:20:0] D[0] C[SELECT 1] Z[I]");
}

#[test]
fn a_statement_amidst_copy_data_ends_the_connection() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int)"), "C[CREATE TABLE] Z[I]");
    assert_eq!(client.query("copy t from stdin"), "G[0:1]");
    client.send(&query("select 1"));
    assert_eq!(
        client.answer(),
        "E[ERROR 08P01 unexpected message type 0x51 during COPY from stdin] \
         E[FATAL 08P01 terminating connection because protocol synchronization was lost] end"
    );
}

#[test]
fn copy_gives_data() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int, b text)"), "C[CREATE TABLE] Z[I]");
    assert_eq!(client.query("insert into t values (1, 'one'), (2, null)"), "C[INSERT 0 2] Z[I]");
    assert_eq!(client.query("copy t to stdout"), "H[0:2] d[1\\tone\\n] d[2\\t\\\\N\\n] c C[COPY 2] Z[I]");
}

#[test]
fn a_slow_reader_stops_nobody_else() {
    let server = start();
    let (mut slow, mut quick) = (server.client(), server.client());
    slow.send(&query("select repeat('x', 1000) from generate_series(1, 50000)"));
    assert_eq!(quick.query("select 1"), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]");
    let mut rows = 0;
    loop {
        match slow.message().unwrap() {
            (b'D', row) => {
                assert_eq!(row.len(), 1_006);
                rows += 1;
            }
            (b'Z', _) => break,
            _ => {}
        }
    }
    assert_eq!(rows, 50_000);
    // And one that never reads and goes does not stay behind.
    slow.send(&query("select repeat('x', 1000) from generate_series(1, 50000)"));
    drop(slow);
    assert_eq!(quick.query("select 1"), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]");
}

#[test]
fn a_client_that_dies_leaves_nothing_behind() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.query("create table t (a int primary key, b int)"), "C[CREATE TABLE] Z[I]");
    assert_eq!(client.query("insert into t values (1, 0)"), "C[INSERT 0 1] Z[I]");
    let update = "update t set b = b + 1 where a = 1";
    let deaths: [&[Vec<u8>]; 6] = [
        &[],
        &[b"Q\0\0".to_vec()],
        &[b"Q\0\0\0\x20selec".to_vec()],
        &[parse("s", update, &[]), bind("", "s", &[], &[]), execute("", 0)],
        &[query("copy t from stdin"), message(b'd', "2\t")],
        &[query("copy t from stdin"), b"d\0\0\x01\x005\t5\n".to_vec()],
    ];
    for death in deaths {
        let mut dying = server.client();
        assert_eq!(dying.query("begin"), "C[BEGIN] Z[T]");
        assert_eq!(dying.query(update), "C[UPDATE 1] Z[T]");
        dying.send(&death.concat());
        drop(dying);
        // It waits until the other one's transaction is gone.
        assert_eq!(client.query("update t set b = b where a = 1"), "C[UPDATE 1] Z[I]");
    }
    assert_eq!(client.query("select * from t"), "T[a:23:0,b:23:0] D[1,0] C[SELECT 1] Z[I]");
}

#[test]
fn a_session_ends_at_the_wish_of_another() {
    let server = start();
    let (mut client, mut other) = (server.client(), server.client());
    let shown = client.query("select pg_backend_pid()");
    let process: String = shown.split("D[").nth(1).unwrap_or("").chars().take_while(char::is_ascii_digit).collect();
    assert_eq!(
        other.query(&format!("select pg_terminate_backend({process})")),
        "T[pg_terminate_backend:16:0] D[t] C[SELECT 1] Z[I]"
    );
    let (kind, body) = client.message().expect("a farewell");
    assert_eq!(common::show(kind, &body), "E[FATAL 57P01 terminating connection due to administrator command]");
    assert!(client.message().is_err(), "the connection is closed");
    let answer = other.query("select pg_terminate_backend(987654)");
    assert!(answer.contains("N[WARNING 01000 PID 987654 is not a PostgreSQL server process]"), "{answer}");
}

/// Long messages count while they are received, and one for which there is no room is passed over.
#[test]
fn messages_that_are_received_count() {
    let server = start_with(Limits { budget_bytes: 16 << 20, statement_bytes: 32 << 20, ..Limits::default() });
    let (mut slow, mut other) = (server.client(), server.client());
    let long = query(&format!("select length('{}')", "x".repeat(700_000)));
    let out_of_memory =
        "E[ERROR 53200 out of memory: the statements of all sessions together may hold 16777216 bytes] Z[I]";
    let longer = query(&format!("select length('{}')", "x".repeat(16_200_000)));
    slow.send(&long[..500_000]);
    let held = "select used_bytes >= 700000 from seriatim_memory where name = 'statements'";
    while !other.query(held).contains("D[t]") {
        std::thread::yield_now();
    }
    assert_eq!(other.ask(&[longer]), out_of_memory);
    assert_eq!(other.query("select 1"), "T[?column?:23:0] D[1] C[SELECT 1] Z[I]", "the stream is in step");
    slow.send(&long[500_000..]);
    let answer = slow.answer();
    assert!(answer.contains("D[700000]"), "{answer}");
    let too_much = query(&format!("select length('{}')", "x".repeat(17_000_000)));
    assert_eq!(slow.ask(&[too_much]), out_of_memory);
    assert!(other.query(held).contains("D[f]"), "it is given back");
}

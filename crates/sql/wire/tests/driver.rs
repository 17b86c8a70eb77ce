//! A driver that uses binary formats: values of every kind come back as they were sent.

mod common;

use common::start;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use std::io::{Read, Write};

fn connect(server: &common::Running) -> Client {
    let mut config = Config::new();
    config.host("127.0.0.1").port(server.address.port()).user("postgres").dbname("postgres");
    config.connect(NoTls).unwrap()
}

#[test]
fn prepared_statements_in_binary() {
    let server = start();
    let mut client = connect(&server);
    client.batch_execute("create table t (a int primary key, b bigint, c text, d float8, e bool, f bytea)").unwrap();
    let insert = client.prepare("insert into t values ($1, $2, $3, $4, $5, $6)").unwrap();
    let bytes: &[u8] = &[0, 255, 10];
    for at in 0..100_i32 {
        let text = (at % 3 != 0).then(|| format!("text {at}"));
        let changed = client
            .execute(&insert, &[&at, &i64::from(at).pow(5), &text, &(f64::from(at) / 7.0), &(at % 2 == 0), &bytes])
            .unwrap();
        assert_eq!(changed, 1);
    }
    let rows = client.query("select * from t where a >= $1 order by a", &[&40]).unwrap();
    assert_eq!(rows.len(), 60);
    for (row, at) in rows.iter().zip(40..) {
        assert_eq!(row.get::<_, i32>(0), at);
        assert_eq!(row.get::<_, i64>(1), i64::from(at).pow(5));
        assert_eq!(row.get::<_, Option<String>>(2), (at % 3 != 0).then(|| format!("text {at}")));
        assert_eq!(row.get::<_, f64>(3), f64::from(at) / 7.0);
        assert_eq!(row.get::<_, bool>(4), at % 2 == 0);
        assert_eq!(row.get::<_, &[u8]>(5), bytes);
    }
    let none = client.query_opt("select 1 from t where a = $1", &[&1_000]).unwrap();
    assert!(none.is_none());
}

#[test]
fn transactions_portals_and_errors() {
    let server = start();
    let mut client = connect(&server);
    client.batch_execute("create table t (a int primary key)").unwrap();
    let mut transaction = client.transaction().unwrap();
    transaction.execute("insert into t select g from generate_series(1, 10) g", &[]).unwrap();
    let portal = transaction.bind("select a from t order by a", &[]).unwrap();
    let mut sizes = Vec::new();
    loop {
        let rows = transaction.query_portal(&portal, 4).unwrap();
        sizes.push(rows.len());
        if rows.len() < 4 {
            break;
        }
    }
    assert_eq!(sizes, [4, 4, 2]);
    let error = transaction.execute("insert into t values (1)", &[]).unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "23505");
    assert_eq!(error.detail(), Some("Key (a)=(1) already exists."));
    assert_eq!((error.schema(), error.table(), error.constraint()), (Some("public"), Some("t"), Some("t_pkey")));
    transaction.rollback().unwrap();
    assert_eq!(client.query_one("select count(*) from t", &[]).unwrap().get::<_, i64>(0), 0);
}

#[test]
fn copy_in_and_out() {
    let server = start();
    let mut client = connect(&server);
    client.batch_execute("create table t (a int primary key, b text)").unwrap();
    let mut writer = client.copy_in("copy t from stdin").unwrap();
    for row in 0..20_000 {
        writeln!(writer, "{row}\tline {row}").unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 20_000);
    let mut lines = String::new();
    client.copy_out("copy t to stdout").unwrap().read_to_string(&mut lines).unwrap();
    assert_eq!(lines.lines().count(), 20_000);
    assert!(lines.contains("19999\tline 19999\n"));
    let messages = client.simple_query("select b from t where a = 7").unwrap();
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    assert_eq!(row, Some("line 7"));
}

/// What pools and migration tools send: each with a session of its own, by the extended protocol and by the simple one.
#[test]
fn locks_and_notifications_of_pools_and_migration_tools() {
    let server = start();
    let (mut migration, mut other) = (connect(&server), connect(&server));
    let tries = |client: &mut Client, function: &str| -> bool {
        client.query_one(&format!("select {function}($1)"), &[&5_461_838_i64]).unwrap().get(0)
    };
    migration.execute("select pg_advisory_lock($1)", &[&5_461_838_i64]).unwrap();
    assert!(!tries(&mut other, "pg_try_advisory_lock"));
    assert!(tries(&mut migration, "pg_advisory_unlock"));
    assert!(tries(&mut other, "pg_try_advisory_xact_lock"), "and it ends with its statement");
    migration.execute("select pg_advisory_lock($1, $2)", &[&1_i32, &2_i32]).unwrap();
    migration.batch_execute("listen jobs").unwrap();
    other.execute("select pg_notify($1, $2)", &[&"jobs", &"first"]).unwrap();
    other.batch_execute("begin; notify jobs, 'second'; notify jobs, 'second'; commit").unwrap();
    let mut payloads = Vec::new();
    while payloads.len() < 2 {
        let received = migration.notifications().blocking_iter().next().unwrap().unwrap();
        assert_eq!(received.channel(), "jobs");
        payloads.push(received.payload().to_owned());
    }
    assert_eq!(payloads, ["first", "second"]);
    // As asyncpg gives a connection back to its pool.
    migration.batch_execute("SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;").unwrap();
    let free: bool = other.query_one("select pg_try_advisory_lock(1, 2)", &[]).unwrap().get(0);
    assert!(free);
    let channels = migration.query("select pg_listening_channels()", &[]).unwrap();
    assert!(channels.is_empty());
}

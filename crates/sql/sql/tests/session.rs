//! Sessions: transactions, settings, prepared statements, cursors.

mod common;

use common::{Answer, Client, database, database_twopl, database_with_versions, store_on};
use seriatim_sql::database::Database;
use seriatim_sql::session::{Format, Status};
use seriatim_sql::types::Encoding;
use std::sync::Arc;

#[test]
fn transactions_begin_end_and_fail_as_psql_knows_it() {
    let database = database();
    let mut client = Client::new(&database);
    assert_eq!(client.run("begin; rollback").tags, ["BEGIN", "ROLLBACK"]);
    assert_eq!(client.run("commit").notices, ["WARNING: there is no transaction in progress"]);
    client.run("begin");
    assert_eq!(client.session.status(), Status::InTransaction);
    assert_eq!(client.run("begin").notices, ["WARNING: there is already a transaction in progress"]);
    assert_eq!(client.fails("selec").code(), "42601");
    assert_eq!(client.session.status(), Status::Failed);
    assert_eq!(client.fails("show timezone").code(), "25P02");
    assert_eq!(client.run("commit").tags, ["ROLLBACK"], "a block that failed cannot commit");
    assert_eq!(client.session.status(), Status::Idle);
}

#[test]
fn settings_follow_transactions() {
    let database = database();
    let mut client = Client::new(&database);
    assert_eq!(client.show("show transaction isolation level"), "serializable");
    client.run("begin isolation level read committed read only");
    assert_eq!(client.show("show transaction_isolation"), "serializable", "what is done is told");
    assert_eq!(client.show("show transaction_read_only"), "on");
    client.run("set local timezone to 'Europe/Vienna'");
    assert_eq!(client.show("show time zone"), "Europe/Vienna");
    client.run("commit");
    assert_eq!(client.show("show timezone; show transaction_read_only"), "off");
    assert_eq!(client.show("show timezone"), "UTC");
    client.run("begin; set application_name = 'x'; rollback");
    assert_eq!(client.show("show application_name"), "");
    client.run("set application_name = 'x'");
    assert_eq!(client.show("show application_name"), "x");
    assert_eq!(client.fails("set nonsense = 1").code(), "42704");
}

#[test]
fn a_commit_keeps_what_was_set_after_set_local() {
    let mut client = Client::new(&database());
    client.run("begin; set local search_path = a; set search_path = b; commit");
    assert_eq!(client.show("show search_path"), "b");
    client.run("begin; set search_path = c; set local search_path = d; set search_path = e; commit");
    assert_eq!(client.show("show search_path"), "e");
    client.run("begin; set local search_path = f; savepoint s; set search_path = g; release s; commit");
    assert_eq!(client.show("show search_path"), "g");
    client.run("begin; set local search_path = h; savepoint s; set search_path = i; rollback to s");
    assert_eq!(client.show("show search_path"), "h");
    client.run("commit");
    assert_eq!(client.show("show search_path"), "g", "what would have kept i was rolled back");
    client.run("begin; set local search_path = j; reset search_path; commit");
    assert_eq!(client.show("show search_path"), "\"$user\", public");
}

/// The protocol counts columns in 16 bits.
#[test]
fn results_have_a_greatest_width() {
    let mut client = Client::new(&database());
    client.run("create table t (x int)");
    let ones = |count: usize| vec!["1"; count].join(", ");
    assert_eq!(client.run(&format!("select {}", ones(1664))).columns.len(), 1664);
    let half = ones(900);
    for sql in [
        format!("select {}", ones(1665)),
        format!("select {}", ones(70_000)),
        format!("select * from (select {half}) a, (select {half}) b"),
        format!("select count(*) from (select {}) a", ones(1665)),
        format!("values ({})", ones(1665)),
        format!("insert into t values (1) returning {}", ones(1665)),
    ] {
        let error = client.fails(&sql);
        assert_eq!((error.code(), error.message()), ("54011", "target lists can have at most 1664 entries"));
    }
    assert_eq!(client.show("select count(*) from t"), "0");
}

/// Executes what was bound to the unnamed portal, and shows its only value.
fn executed(client: &mut Client) -> String {
    let mut answer = Answer::default();
    client.session.execute("", 0, true, &mut answer).expect("Execute");
    client.session.sync(false).expect("Sync");
    answer.rows.concat().concat()
}

/// Bind reads the values, before Execute begins the statement's own transaction.
#[test]
fn now_in_a_parameter_is_the_time_of_bind() {
    const TIMESTAMPTZ: u32 = 1184;
    let database = database();
    let (mut client, mut other) = (Client::new(&database), Client::new(&database));
    let now = (Format::Text, Some(&b"now"[..]));
    client.session.parse("s", "select $1 >= $2", &[TIMESTAMPTZ; 2]).expect("Parse");
    client.session.parse("b", "select $1 = now()", &[TIMESTAMPTZ]).expect("Parse");
    client.session.sync(false).expect("Sync");
    let since = other.show("select clock_timestamp()");
    client.session.bind("", "s", &[now, (Format::Text, Some(since.as_bytes()))], Encoding::Utf8).expect("Bind");
    assert_eq!(executed(&mut client), "t", "later than the client's last transaction");
    client.run("begin");
    client.session.bind("", "b", &[now], Encoding::Utf8).expect("Bind");
    assert_eq!(executed(&mut client), "t", "in a block it is the block's time");
}

#[test]
fn a_text_that_comes_again_means_what_it_means_now() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    a.run("create table t (x int, y int); insert into t values (1, 2)");
    assert_eq!(a.show("select * from t"), "1|2");
    a.run("prepare p as select * from t");
    b.run("alter table t drop column x; alter table t add column z text default 'new'");
    assert_eq!(a.run("select * from t").columns, ["y", "z"]);
    assert_eq!(a.show("select * from t"), "2|new");
    let refused = a.fails("execute p");
    assert_eq!((refused.code(), refused.message()), ("0A000", "cached plan must not change result type"));
    assert_eq!(refused.fields().routine, Some("RevalidateCachedQuery"));
}

#[test]
fn a_limit_on_time_counts_from_the_statement_that_sets_it() {
    let database = database();
    let mut client = Client::new(&database);
    let endless = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    assert_eq!(client.fails(&format!("set statement_timeout = 1; {endless}")).code(), "57014");
    client.run("set statement_timeout = 1");
    assert_eq!(client.fails(endless).code(), "57014");
    client.run("set statement_timeout = 0");
    assert_eq!(client.show("select 1"), "1");
}

/// Threads know the session that ran on them last: that must not keep the engine open, and its directory locked.
#[test]
fn a_database_that_is_dropped_is_closed() {
    let disk = Arc::new(env::SimDisk::new(1, env::SimDiskOptions::default()));
    for rows in ["1", "2", "3"] {
        let store = store_on(disk.clone(), wal::LogOptions::default()).expect("nobody has it open");
        let database = Database::open(store, Default::default()).expect("a database");
        let mut client = Client::new(&database);
        client.run("CREATE TABLE IF NOT EXISTS t (i int); INSERT INTO t VALUES (1)");
        assert_eq!(client.show("SELECT count(*) FROM t"), rows);
    }
}

/// Two-phase locking has no snapshots: what it exports is the transaction, with its locks.
#[test]
fn an_exported_transaction_keeps_what_it_has_read_until_the_last_has_left_it() {
    let database = database_twopl();
    let [mut leader, mut worker, mut writer] = [(); 3].map(|()| Client::new(&database));
    writer.run("create table t (x int); insert into t values (1); set lock_timeout = '1ms'");
    leader.run("begin read only");
    assert_eq!(leader.show("select count(*) from t"), "1");
    let name = leader.show("select pg_export_snapshot()");
    assert_eq!(writer.fails("insert into t values (2)").code(), "55P03");
    worker.run(&format!("begin read only; set transaction snapshot '{name}'"));
    leader.run("commit");
    assert_eq!(writer.fails("insert into t values (2)").code(), "55P03", "the worker has it still");
    assert_eq!(worker.show("select count(*) from t"), "1");
    worker.run("commit");
    writer.run("insert into t values (2)");
}

#[test]
fn an_exported_snapshot_is_one_state_for_all_who_import_it() {
    let database = database_with_versions();
    let [mut leader, mut worker, mut writer] = [(); 3].map(|()| Client::new(&database));
    writer.run("create table t (x int); insert into t values (1)");
    leader.run("begin read only");
    let name = leader.show("select pg_export_snapshot()");
    writer.run("insert into t values (2); create table later (x int)");
    let import = format!("set transaction snapshot '{name}'");
    worker.run(&format!("begin read only; {import}"));
    assert_eq!([worker.show("select count(*) from t"), leader.show("select count(*) from t")], ["1", "1"]);
    assert_eq!(worker.fails("select * from later").code(), "42P01");
    worker.run("rollback");
    assert_eq!(worker.show("select count(*) from t"), "2");

    // Whoever is the last to end it keeps it.
    worker.run(&format!("begin transaction isolation level repeatable read, read only; {import}"));
    leader.run("commit");
    assert_eq!([worker.show("select count(*) from t"), leader.show("select count(*) from t")], ["1", "2"]);
    assert_eq!(worker.fails("insert into t values (3)").code(), "25006");
    worker.run("rollback");
    assert_eq!(worker.fails(&format!("begin read only; {import}")).code(), "22023");
    worker.run("rollback");
    assert_eq!(worker.fails("begin read only; select 1; set transaction snapshot 'x'").code(), "25001");
    worker.run("rollback");
    assert_eq!(worker.fails("begin; set transaction snapshot 'x'").code(), "0A000");
    worker.run("rollback");
    assert_eq!(worker.fails("select pg_export_snapshot()").code(), "0A000");
    assert_eq!(worker.fails("set transaction snapshot 'x'").code(), "0A000");
}

/// As psycopg declares its server-side cursors.
#[test]
fn a_cursor_has_the_parameters_of_its_declaration() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 20); BEGIN");
    let declare = "DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id, $2 FROM t WHERE id = ANY($1) ORDER BY id";
    client.session.parse("", declare, &[]).expect("Parse");
    let parameters = client.session.describe_statement("").expect("Describe").parameters;
    assert_eq!(parameters.len(), 2);
    client
        .session
        .bind("", "", &[(Format::Text, Some(b"{7,9,11}")), (Format::Text, Some(b"x"))], Encoding::Utf8)
        .expect("Bind");
    client.session.execute("", 0, true, &mut Answer::default()).expect("Execute");
    client.session.sync(false).expect("Sync");
    assert_eq!(client.show("FETCH 2 FROM c"), "7|x\n9|x");
    client.run("COMMIT");
    assert_eq!(client.show("FETCH ALL FROM c"), "11|x");
    assert_eq!(client.show("FETCH BACKWARD 2 FROM c"), "11|x\n9|x");
    assert_eq!(client.fails("DECLARE d CURSOR WITH HOLD FOR SELECT $1").code(), "42P02");
}

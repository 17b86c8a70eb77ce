//! Sequences: outside transactions, never twice. Answers are PostgreSQL 15's.

mod common;

use common::{Client, database, open, store};
use std::collections::HashSet;

#[test]
fn values_follow_the_definition() {
    let mut client = Client::new(&database());
    for (options, values) in [
        ("", vec!["1", "2", "3"]),
        ("start 5 increment 10", vec!["5", "15", "25"]),
        ("start with 100 increment by 5 no minvalue no maxvalue cache 1", vec!["100", "105"]),
        ("increment -1", vec!["-1", "-2"]),
        ("increment by -1 minvalue -3 maxvalue -1 cycle", vec!["-1", "-2", "-3", "-1"]),
        ("maxvalue 2 cycle", vec!["1", "2", "1"]),
        (
            "minvalue 3 maxvalue 9223372036854775807 start 9223372036854775806",
            vec!["9223372036854775806", "9223372036854775807"],
        ),
    ] {
        client.run(&format!("create sequence s {options}"));
        for value in values {
            assert_eq!(client.show("select nextval('s')"), value, "{options}");
        }
        client.run("drop sequence s");
    }
}

#[test]
fn the_end_is_an_error() {
    let mut client = Client::new(&database());
    client
        .run("create sequence s maxvalue 2; create sequence d increment -2 minvalue -3; create sequence g as smallint");
    for (sequence, values, message) in [
        ("s", 2, "nextval: reached maximum value of sequence \"s\" (2)"),
        ("d", 2, "nextval: reached minimum value of sequence \"d\" (-3)"),
    ] {
        for _ in 0..values {
            client.run(&format!("select nextval('{sequence}')"));
        }
        let error = client.fails(&format!("select nextval('{sequence}')"));
        assert_eq!((error.code(), error.message()), ("2200H", message));
    }
    client.run("select setval('g', 32767)");
    assert_eq!(client.fails("select nextval('g')").code(), "2200H");
    let error = client.fails("select setval('g', 0)");
    let message = "setval: value 0 is out of bounds for sequence \"g\" (1..32767)";
    assert_eq!((error.code(), error.message()), ("22003", message));
}

#[test]
fn values_are_not_rolled_back_but_restart_is() {
    let mut client = Client::new(&database());
    client.run("create sequence s");
    client.run("begin; select nextval('s'), nextval('s'); rollback");
    assert_eq!(client.show("select nextval('s')"), "3");
    client.run("begin; select setval('s', 50); rollback");
    assert_eq!(client.show("select nextval('s')"), "51");
    client.run("begin; alter sequence s restart with 7");
    assert_eq!(client.show("select nextval('s')"), "7");
    client.run("rollback");
    assert_eq!(client.show("select nextval('s')"), "52");
    client.run("alter sequence s restart");
    assert_eq!(client.show("select nextval('s')"), "1");
    client.run("alter sequence s increment 10");
    assert_eq!(client.show("select nextval('s')"), "11");
    client.run("select setval('s', 40, false)");
    assert_eq!(client.show("select nextval('s')"), "40");
    assert_eq!(client.show("select currval('s')"), "40");
}

#[test]
fn a_crash_repeats_no_value_and_a_clean_stop_loses_none() {
    let store = store();
    let database = open(store.clone());
    let mut client = Client::new(&database);
    client.run("create sequence s; create table t (a text); insert into t values ('x'), ('y')");
    let mut given = HashSet::new();
    for _ in 0..40 {
        assert!(given.insert(client.show("select nextval('s')")));
    }
    // As after a crash: the first database never stops.
    let crashed = open(store.clone());
    let mut client = Client::new(&crashed);
    for _ in 0..40 {
        let value = client.show("select nextval('s')");
        assert!(given.insert(value.clone()), "{value} twice");
    }
    client.run("insert into t values ('z')");
    assert_eq!(client.show("select count(*) from t"), "3", "row numbers are not given twice either");
    let last: i64 = client.show("select nextval('s')").parse().expect("a number");
    drop(client);
    drop(crashed);
    std::mem::forget(database);
    let stopped = open(store);
    let mut client = Client::new(&stopped);
    assert_eq!(client.show("select nextval('s')"), (last + 1).to_string());
}

#[test]
fn sessions_share_a_sequence() {
    let database = database();
    Client::new(&database).run("create sequence s");
    let take = |_| {
        let database = database.clone();
        std::thread::spawn(move || {
            let mut client = Client::new(&database);
            (0..100).map(|_| client.show("select nextval('s')")).collect::<Vec<_>>()
        })
    };
    let threads: Vec<_> = (0..4).map(take).collect();
    let values: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect();
    let distinct: HashSet<i64> = values.iter().map(|value| value.parse().expect("a number")).collect();
    assert_eq!(distinct.len(), 400);
    assert_eq!(distinct.iter().max(), Some(&400), "none is passed over");
}

#[test]
fn identity_columns_own_sequences() {
    let mut client = Client::new(&database());
    client.run("create table t (a int not null, b text)");
    client.run(
        "alter table only public.t alter column a add generated by default as identity (
            sequence name public.own start with 10 increment by 5 no minvalue no maxvalue cache 1)",
    );
    assert_eq!(client.show("insert into t (b) values ('x') returning a"), "10");
    assert_eq!(client.show("select nextval('own')"), "15");
    client.run("alter table t alter a set generated always set increment by 1 restart with 90");
    assert_eq!(client.fails("insert into t values (1, 'y')").code(), "428C9");
    assert_eq!(client.show("insert into t (b) values ('y') returning a"), "90");
    client.run("truncate t restart identity");
    assert_eq!(client.show("insert into t (b) values ('z') returning a"), "10");
    client
        .run("create unlogged table u (a int generated always as identity (start 7 increment by 2 minvalue 5), b int)");
    assert_eq!(client.run("insert into u (b) values (1), (2) returning a").rows, [["7"], ["9"]]);
    client.run("alter table t alter a drop identity");
    assert_eq!(client.fails("select nextval('own')").code(), "42P01");
    let error = client.fails("alter table t alter a drop identity");
    let message = "column \"a\" of relation \"t\" is not an identity column";
    assert_eq!((error.code(), error.message()), ("55000", message));
}

#[test]
fn a_sequence_that_is_used_is_not_dropped() {
    let mut client = Client::new(&database());
    client.run("create sequence s; create table t (a int default nextval('s'), b serial)");
    for (sequence, column) in [("s", "a"), ("t_b_seq", "b")] {
        let error = client.fails(&format!("drop sequence {sequence}"));
        assert_eq!(error.code(), "2BP01");
        let detail = format!("default value for column {column} of table t depends on sequence {sequence}");
        assert_eq!(error.fields().detail.as_ref(), Some(&detail));
        let answer = client.run(&format!("drop sequence {sequence} cascade"));
        assert_eq!(answer.notices, [format!("NOTICE: drop cascades to default value for column {column} of table t")]);
    }
    assert_eq!(client.fails("insert into t default values").code(), "23502", "b was serial, and stays NOT NULL");
}

/// What is volatile and no key of the sort is computed behind it: in the order of the rows, and for those only that are read.
#[test]
fn a_sorted_query_takes_values_in_its_order() {
    let mut client = Client::new(&database());
    client.run("create table o (id int primary key, x int); insert into o values (1, 30), (2, 10), (3, 20)");
    client.run("create sequence s; create table w (n bigint, x int)");
    for (query, expected) in [
        ("select nextval('s'), x from o order by x", "1|10\n2|20\n3|30"),
        ("select nextval('s') from o order by x limit 1", "4"),
        // The rows before OFFSET are read.
        ("select nextval('s'), x from o order by x limit 1 offset 1", "6|20"),
        ("select x, nextval('s') + x * 0, 2 * x from o order by 3 desc limit 2", "30|7|60\n20|8|40"),
        ("insert into w select nextval('s'), x from o order by x returning *", "9|10\n10|20\n11|30"),
        ("select distinct on (x / 20) x, nextval('s') from o order by x / 20, x", "10|12\n20|13"),
        ("select x / 20, nextval('s') from o group by x / 20 order by 1 desc", "1|14\n0|15"),
        (
            "select row_number() over (order by id desc) as r, nextval('s'), x from o order by x fetch first 1 rows with ties",
            "2|16|10",
        ),
        (
            "select (select max(i.id) from o i where i.x < o.x) + nextval('s') * 0 as y, id from o order by x",
            "|2\n2|3\n3|1",
        ),
        ("select nextval('s') + y from (select 1 as y) v order by y", "22"),
        // A key is computed before, and so is what DISTINCT compares.
        ("select nextval('s') as n, x from o order by n", "22|30\n23|10\n24|20"),
        ("select distinct nextval('s') as n, x from o order by x", "26|10\n27|20\n25|30"),
        ("select nextval('s'), x from o order by x for update", "28|10\n29|20\n30|30"),
    ] {
        assert_eq!(client.show(query).replace("<null>", ""), expected, "{query}");
    }
    client.run("set enable_vectors = force");
    assert_eq!(client.show("select x, nextval('s') from o order by x desc limit 2"), "30|31\n20|32");
    assert_eq!(client.show("select nextval('s')"), "33");
}

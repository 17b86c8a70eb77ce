//! DateStyle and IntervalStyle, in and out: each answer is PostgreSQL 15's.

mod common;

use common::{Client, database};

#[track_caller]
fn check(client: &mut Client, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(client.show(sql), *expected, "{sql}");
    }
}

#[test]
fn dates_are_written_in_every_style() {
    let mut client = Client::new(&database());
    client.run(
        "CREATE TABLE d (a date, t timestamp, z timestamptz);
         INSERT INTO d VALUES ('1997-12-17', '1997-12-17 07:37:16.5', '1997-12-17 07:37:16-08'),
            ('0044-03-15 BC', '0044-03-15 01:02:03 BC', 'infinity');
         SET timezone = 'America/Los_Angeles'",
    );
    for (style, shown, first, second) in [
        (
            "SQL",
            "SQL, MDY",
            "12/17/1997|12/17/1997 07:37:16.5|12/17/1997 07:37:16 PST",
            "03/15/0044 BC|03/15/0044 01:02:03 BC|infinity",
        ),
        (
            "DMY",
            "SQL, DMY",
            "17/12/1997|17/12/1997 07:37:16.5|17/12/1997 07:37:16 PST",
            "15/03/0044 BC|15/03/0044 01:02:03 BC|infinity",
        ),
        (
            "Postgres",
            "Postgres, DMY",
            "17-12-1997|Wed 17 Dec 07:37:16.5 1997|Wed 17 Dec 07:37:16 1997 PST",
            "15-03-0044 BC|Fri 15 Mar 01:02:03 0044 BC|infinity",
        ),
        (
            "Postgres, US",
            "Postgres, MDY",
            "12-17-1997|Wed Dec 17 07:37:16.5 1997|Wed Dec 17 07:37:16 1997 PST",
            "03-15-0044 BC|Fri Mar 15 01:02:03 0044 BC|infinity",
        ),
        (
            "German",
            "German, DMY",
            "17.12.1997|17.12.1997 07:37:16.5|17.12.1997 07:37:16 PST",
            "15.03.0044 BC|15.03.0044 01:02:03 BC|infinity",
        ),
        (
            "ISO, YMD",
            "ISO, YMD",
            "1997-12-17|1997-12-17 07:37:16.5|1997-12-17 07:37:16-08",
            "0044-03-15 BC|0044-03-15 01:02:03 BC|infinity",
        ),
    ] {
        client.run(&format!("SET datestyle = '{style}'"));
        check(&mut client, &[("SHOW datestyle", shown), ("SELECT * FROM d", &format!("{first}\n{second}"))]);
        assert_eq!(client.show("SELECT to_json(t) FROM d LIMIT 1"), "\"1997-12-17T07:37:16.5\"");
    }
}

#[test]
fn dates_are_read_in_every_order() {
    let mut client = Client::new(&database());
    for (order, cases) in [
        (
            "DMY",
            [
                ("1/2/2020", "2020-02-01"),
                ("1-2-03", "2003-02-01"),
                ("Jan 2 2020", "2020-01-02"),
                ("2020-03-04", "2020-03-04"),
            ],
        ),
        (
            "YMD",
            [
                ("20/2/3", "2020-02-03"),
                ("03-02-01", "2003-02-01"),
                ("2 Jan 2020", "2020-01-02"),
                ("2020-03-04", "2020-03-04"),
            ],
        ),
        (
            "MDY",
            [
                ("1/2/2020", "2020-01-02"),
                ("1-2-03", "2003-01-02"),
                ("Jan 2 2020", "2020-01-02"),
                ("2020-03-04", "2020-03-04"),
            ],
        ),
    ] {
        client.run(&format!("SET datestyle = 'ISO, {order}'"));
        for (text, date) in cases {
            assert_eq!(client.show(&format!("SELECT '{text}'::date")), date, "{order} {text}");
        }
    }
    client.run("SET datestyle = 'DMY'");
    let error = client.fails("SELECT '2/13/2020'::date");
    assert_eq!((error.code(), error.fields().hint.is_some()), ("22008", true));
}

#[test]
fn definitions_keep_their_dates() {
    let mut client = Client::new(&database());
    client.run(
        "SET datestyle = 'DMY';
         CREATE TABLE t (a int, d date DEFAULT '01/02/2020');
         CREATE VIEW v AS SELECT date '05/06/2021' AS x;
         SET datestyle = 'MDY'; INSERT INTO t VALUES (1)",
    );
    check(&mut client, &[("SELECT d FROM t", "2020-02-01"), ("SELECT x FROM v", "2021-06-05")]);
    client.run("SET datestyle = 'German'; INSERT INTO t VALUES (2)");
    check(&mut client, &[("SELECT d FROM t", "01.02.2020\n01.02.2020"), ("SELECT x FROM v", "05.06.2021")]);
}

#[test]
fn settings_that_are_none_are_refused() {
    let mut client = Client::new(&database());
    for (style, detail) in [
        ("nonsense", "Unrecognized key word: \"nonsense\"."),
        ("ISO, SQL", "Conflicting \"datestyle\" specifications."),
        ("DMY, MDY", "Conflicting \"datestyle\" specifications."),
    ] {
        let error = client.fails(&format!("SET datestyle = '{style}'"));
        assert_eq!((error.code(), error.fields().detail.as_deref()), ("22023", Some(detail)), "{style}");
    }
}

#[test]
fn intervals_are_written_and_read_in_every_style() {
    let mut client = Client::new(&database());
    client.run(
        "CREATE TABLE i (n int, i interval);
         INSERT INTO i VALUES (1, '1 year 2 months -3 days 04:05:06.7'), (2, '-1 day -2:03:04'), (3, '0'), (4, '3 days 4:00'),
            (5, '-1 year -2 months'), (6, '-00:00:01.5'), (7, '1 mon 1 day 1 sec'), (8, '1:00:00.25')",
    );
    for (style, expected) in [
        (
            "postgres_verbose",
            "@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs\n@ 1 day 2 hours 3 mins 4 secs ago\n@ 0\n@ 3 days 4 hours\n\
             @ 1 year 2 mons ago\n@ 1.5 secs ago\n@ 1 mon 1 day 1 sec\n@ 1 hour 0.25 secs",
        ),
        (
            "sql_standard",
            "+1-2 -3 +4:05:06.7\n-1 2:03:04\n0\n3 4:00:00\n-1-2\n-0:00:01.5\n+0-1 +1 +0:00:01\n1:00:00.25",
        ),
    ] {
        client.run(&format!("SET intervalstyle = '{style}'"));
        assert_eq!(client.show("SELECT i FROM i ORDER BY n"), expected, "{style}");
        // What is written is read as the same.
        assert_eq!(client.show("SELECT count(*) FROM i WHERE i::text::interval = i"), "8", "{style}");
    }
    check(&mut client, &[("SELECT extract(epoch from '-1 2:03:04'::interval)", "-93784.000000")]);
    client.run("SET intervalstyle = 'postgres'");
    check(&mut client, &[("SELECT extract(epoch from '-1 2:03:04'::interval)", "-79016.000000")]);
}

//! LISTEN and NOTIFY between sessions: when notifications arrive, which, and in which order.

mod common;

use common::{Client, database, open, store};
use seriatim_sql::database::{Database, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What a session receives now: `channel:payload`.
fn received(client: &mut Client) -> Vec<String> {
    let received = client.session.notifications();
    client.session.wait_durable().expect("the commits are durable");
    received.iter().map(|it| format!("{}:{}", it.notification.channel, it.notification.payload)).collect()
}

#[test]
fn notifications_arrive_at_commit_in_order_and_once() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    assert_eq!(a.run("LISTEN c; LISTEN \"D\"").tags, ["LISTEN", "LISTEN"]);
    b.run("BEGIN; NOTIFY c, 'one'; SELECT pg_notify('D', 'two'); NOTIFY c; NOTIFY c, 'one'; NOTIFY other, 'x'");
    assert_eq!(received(&mut a), [""; 0], "nothing is sent before the commit");
    b.run("COMMIT");
    assert_eq!(received(&mut a), ["c:one", "D:two", "c:"]);
    assert_eq!(received(&mut a), [""; 0]);
    b.run("BEGIN; NOTIFY c, 'lost'; ROLLBACK");
    b.run("BEGIN; NOTIFY c, 'a'; SAVEPOINT s; NOTIFY c, 'b'; NOTIFY c, 'a'; ROLLBACK TO s; NOTIFY c, 'c'; NOTIFY c, 'b'; COMMIT");
    assert_eq!(b.fails("SELECT pg_notify('c', 'failed'), 1 / 0").code(), "22012");
    assert_eq!(received(&mut a), ["c:a", "c:c", "c:b"]);
    a.run("NOTIFY c, 'to itself'");
    assert_eq!(a.session.notifications()[0].process, a.session.key().0);
    assert_eq!(a.show("SELECT pg_notification_queue_usage()"), "0");
}

#[test]
fn channels_are_changed_at_commit() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    let channels = "SELECT * FROM pg_listening_channels() ORDER BY 1";
    a.run("BEGIN; LISTEN a; LISTEN b; SAVEPOINT s; LISTEN c; ROLLBACK TO s");
    assert_eq!(a.show(channels), "");
    b.run("NOTIFY a, 'too early'");
    a.run("COMMIT");
    assert_eq!(a.show(channels), "a\nb");
    b.run("NOTIFY a, '1'; NOTIFY b, '2'");
    a.run("BEGIN; UNLISTEN a; ROLLBACK");
    a.run("UNLISTEN b");
    assert_eq!(a.show(channels), "a");
    b.run("NOTIFY a, '3'; NOTIFY b, '4'");
    assert_eq!(received(&mut a), ["a:1", "b:2", "a:3"]);
    a.run("BEGIN; LISTEN b; UNLISTEN *; COMMIT");
    assert_eq!(a.show(channels), "");
    a.run("LISTEN b");
    a.run("DISCARD ALL");
    b.run("NOTIFY a; NOTIFY b");
    assert_eq!(received(&mut a), [""; 0]);
}

/// A block receives nothing; its end does.
#[test]
fn notifications_wait_for_the_end_of_a_block() {
    let database = database();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    let woken = Arc::new(AtomicUsize::new(0));
    let count = woken.clone();
    a.session.on_notify(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    a.run("LISTEN c");
    a.run("BEGIN; SELECT 1");
    b.run("NOTIFY c, '1'");
    assert_eq!(woken.load(Ordering::SeqCst), 1);
    assert_eq!(received(&mut a), [""; 0]);
    a.run("ROLLBACK");
    assert_eq!(received(&mut a), ["c:1"]);
}

#[test]
fn names_payloads_and_the_queue_have_limits() {
    let options = Options { notification_bytes: 20_000, ..Options::default() };
    let database: Arc<Database> = Database::open(store(), options).unwrap();
    let (mut a, mut b) = (Client::new(&database), Client::new(&database));
    for (sql, message) in [
        ("SELECT pg_notify('', 'x')", "channel name cannot be empty"),
        ("SELECT pg_notify(NULL, 'x')", "channel name cannot be empty"),
        ("SELECT pg_notify(repeat('c', 64), 'x')", "channel name too long"),
        ("SELECT pg_notify('c', repeat('x', 8000))", "payload string too long"),
    ] {
        let error = b.fails(sql);
        assert_eq!((error.code(), error.message()), ("22023", message));
    }
    a.run("CREATE TABLE t (x int); LISTEN c");
    a.run("BEGIN; SELECT 1");
    b.run("SELECT pg_notify('c', repeat('x', 7999)); SELECT pg_notify('c', repeat('y', 7999))");
    let error = b.fails("BEGIN; INSERT INTO t VALUES (1); SELECT pg_notify('c', repeat('z', 7999)); COMMIT");
    assert_eq!((error.code(), error.message()), ("54000", "too many notifications in the NOTIFY queue"));
    assert_eq!(b.fails("SELECT pg_notify('c', n || repeat('z', 7000)) FROM generate_series(1, 5) n").code(), "54000");
    assert_eq!(b.show("SELECT pg_notification_queue_usage() > 0.8"), "t");
    assert_eq!(b.show("SELECT count(*) FROM t"), "0", "what cannot notify does not commit");
    a.run("ROLLBACK");
    assert_eq!(received(&mut a).len(), 2);
    b.run("SELECT pg_notify('c', repeat('z', 7999))");
    drop(a);
    assert_eq!(b.show("SELECT pg_notification_queue_usage()"), "0");
}

/// Whoever is told of a commit sees it, and commits are told in an order that agrees with what they have written.
#[test]
fn what_is_told_can_be_seen() {
    const ROUNDS: i32 = 40;
    let database = open(store());
    Client::new(&database).run("CREATE TABLE t (id int PRIMARY KEY, x int); INSERT INTO t VALUES (1, 0)");
    let mut listener = Client::new(&database);
    listener.run("LISTEN c");
    let writers = (0..2).map(|_| {
        let database = database.clone();
        thread::spawn(move || {
            let mut client = Client::new(&database);
            for _ in 0..ROUNDS {
                client.run(
                    "WITH u AS (UPDATE t SET x = x + 1 WHERE id = 1 RETURNING x) SELECT pg_notify('c', x::text) FROM u",
                );
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut told = 0;
    while told < 2 * ROUNDS {
        let news = received(&mut listener);
        let seen: i32 = listener.show("SELECT x FROM t").parse().unwrap();
        for news in news {
            told += 1;
            let x: i32 = news.trim_start_matches("c:").parse().unwrap();
            assert!(x <= seen, "told of {x}, seen {seen}");
        }
        thread::yield_now();
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
}

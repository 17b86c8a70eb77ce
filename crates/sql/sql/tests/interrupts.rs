//! Functions that take long are stopped by a cancel request in the midst of one call.

mod common;

use common::{Client, database};
use std::thread;

/// Cancels the statement until it has ended; each of these would take minutes, if not days.
fn stopped(sql: &str) {
    let database = database();
    let (mut client, mut watcher) = (Client::new(&database), Client::new(&database));
    let cancel = format!("SELECT pg_cancel_backend({})", client.session.key().0);
    let error = thread::scope(|scope| {
        let running = scope.spawn(|| client.fails(sql));
        // A request that comes before the statement has begun is forgotten.
        while !running.is_finished() {
            watcher.run(&cancel);
            thread::yield_now();
        }
        running.join().expect("no panic")
    });
    assert_eq!((error.code(), error.message()), ("57014", "canceling statement due to user request"), "{sql}");
    assert_eq!(client.show("SELECT 1"), "1", "the session lives on");
}

#[test]
fn like_is_stopped() {
    stopped("SELECT repeat('a', 20000000) LIKE '%' || repeat('a', 1000000) || 'b'");
}

#[test]
fn regular_expressions_are_stopped_between_matches() {
    stopped("SELECT length(regexp_replace(repeat('ab', 20000000), '(a)(b)', '\\2\\1', 'g'))");
    stopped("SELECT regexp_count(repeat('ab', 20000000), 'b')");
}

#[test]
fn the_greatest_common_divisor_is_stopped() {
    // Numbers without a pattern: those of repeated digits have their divisor after a few steps.
    stopped("SELECT gcd(3::numeric ^ 250000, 7::numeric ^ 140000)");
}

/// All matches together would take many times what the statement may hold.
#[test]
fn matches_are_not_held_all_at_once() {
    let mut client = Client::new(&database());
    client.run("SET work_mem = '4MB'");
    assert_eq!(client.show("SELECT regexp_count(repeat('ab', 200000), 'b')"), "200000");
    assert_eq!(client.show("SELECT length(regexp_replace(repeat('ab', 200000), 'b', '', 'g'))"), "200000");
    assert_eq!(client.show("SELECT regexp_substr(repeat('ab', 200000), '.', 1, 200000)"), "b");
    let error = client.fails("SELECT count(*) FROM regexp_matches(repeat('ab', 200000), 'b', 'g')");
    assert_eq!(error.code(), "53200", "{error:?}");
}

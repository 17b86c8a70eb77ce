//! Memory of the server: statements over a limit fail, none of them ends the server, and unused memory is returned to the
//! system.

mod server;

use server::Server;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use testing::{Directory, has, text};

/// The words of a server that does not start.
fn refused(directory: &Directory, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    command.args(["serve", "--pg", "127.0.0.1:0", "--data"]).arg(directory.path()).args(arguments);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    text(&output.stderr)
}

/// Returns psql's output for a statement that must fail.
#[track_caller]
fn fails(server: &Server, sql: &str) -> String {
    let output = server.psql(&["-v", "VERBOSITY=verbose", "-c", sql]);
    assert!(!output.status.success(), "{sql}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// Turns of who tries again.
fn for_a_minute() -> impl Iterator<Item = ()> {
    let begun = Instant::now();
    std::iter::repeat(()).take_while(move |()| begun.elapsed() < Duration::from_secs(60))
}

/// The same of a statement that a session could be started for. A thread needs some pages of the system before it can answer anything,
/// and what used up the last ones may not have given them back yet: then the connection is closed.
fn fails_in_a_session(server: &Server, sql: &str) -> String {
    let mut errors = for_a_minute().map(|()| fails(server, sql));
    errors.find(|error| !error.contains("server closed the connection")).expect("memory comes back")
}

/// Runs a statement once there is memory for it and for its session: sessions are told that a statement has failed before its threads have
/// given back all that it used. Threads that wait for the next session keep for some seconds what they have freed.
fn comes_back(server: &Server, sql: &str) -> String {
    let mut outputs = for_a_minute().map(|()| server.psql(&["-v", "VERBOSITY=verbose", "-Atc", sql]));
    let is_early = |error: &str| error.contains("53200") || error.contains("failed: server closed the connection");
    let is_over = |output: &Output| output.status.success() || !is_early(&text(&output.stderr));
    let output = outputs.find(is_over).expect("memory comes back");
    assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

/// Inserts rows of about two kilobytes from `first` on, a thousand at a time, until it is refused, or `batches` times.
fn fill(server: &Server, first: u32, batches: u32) -> Option<String> {
    (0..batches).find_map(|batch| {
        let from = first + batch * 1000;
        let insert =
            format!("INSERT INTO t SELECT i, repeat('x', 2000) FROM generate_series({from}, {}) i", from + 999);
        let output = server.psql(&["-v", "VERBOSITY=verbose", "-c", &insert]);
        (!output.status.success()).then(|| text(&output.stderr))
    })
}

#[test]
fn a_full_server_refuses_rows_and_goes_on() {
    if !has("psql", "a_full_server_refuses_rows_and_goes_on") {
        return;
    }
    for engine in ["mvto", "hyper"] {
        full_server_refuses_rows_and_goes_on(engine);
    }
}

fn full_server_refuses_rows_and_goes_on(engine: &str) {
    let directory = Directory::new("memory-full");
    let server = Server::start(directory.path(), &["--engine", engine, "--memory", "64MB", "--durability", "async"]);
    server.show("CREATE TABLE t (id int PRIMARY KEY, v text)");
    let error = fill(&server, 0, 1000).expect("the limit is somewhere");
    assert!(error.contains("53200") && error.contains("50331648"), "{error}");
    server.show("DELETE FROM t WHERE id < 1000");
    server.show("UPDATE t SET v = 'short' WHERE id BETWEEN 1000 AND 1999");
    server.show("INSERT INTO t SELECT i, repeat('x', 2000) FROM generate_series(0, 499) i");
    let rows: u32 = server.show("SELECT count(*) FROM t").parse().unwrap();
    assert!(rows > 10_000, "{rows}");
    for greedy in ["SELECT array_agg(i) FROM generate_series(1, 100000000) i", "SELECT repeat('x', 100000000)"] {
        assert!(fails(&server, greedy).contains("53200"));
    }
    assert_eq!(server.stop(), Some(0));

    let error = refused(&directory, &["--engine", engine, "--memory", "30MB"]);
    let needed = error.rsplit("--memory ").next().unwrap().trim();
    assert!(needed.ends_with("MB") && error.contains("may have"), "{error}");
    let server = Server::start(directory.path(), &["--engine", engine, "--memory", needed]);
    assert_eq!(server.show("SELECT count(*) FROM t"), rows.to_string());
    // A session that is about to end may still hold the rows that are gone.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        server.show("TRUNCATE t");
        let Some(error) = fill(&server, 0, 5) else { break };
        assert!(Instant::now() < until, "{error}");
    }
    assert_eq!(server.stop(), Some(0));
}

/// The system has less than the server was told (`ulimit -v`): what fails is a statement, never the server.
#[test]
fn a_system_without_memory_is_an_answer() {
    if !has("psql", "a_system_without_memory_is_an_answer") || !has("prlimit", "a_system_without_memory_is_an_answer") {
        return;
    }
    let directory = Directory::new("memory-address");
    let server = Server::start(directory.path(), &["--memory", "8GB", "--durability", "async", "--work-mem", "1GB"]);
    server.show("CREATE TABLE t (id int PRIMARY KEY, v text)");
    server.show("INSERT INTO t SELECT i, repeat('x', 2000) FROM generate_series(-1000, -1) i");
    server.limit_addresses(1528 << 20);
    let sort = "SELECT count(*) FROM (SELECT i, repeat('y', 900) t FROM generate_series(1, 100000000) i ORDER BY t OFFSET 1) x";
    let greedy =
        [sort, "SELECT length(repeat('x', 900000000))", "SELECT array_agg(i) FROM generate_series(1, 100000000) i"];
    for sql in greedy {
        let error = fails_in_a_session(&server, sql);
        assert!(error.contains("53200"), "{error}");
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let error = fails_in_a_session(&server, sort);
                assert!(error.contains("53200"), "{error}");
            });
        }
    });
    comes_back(&server, "DELETE FROM t WHERE id < -500");
    assert_eq!(comes_back(&server, "SELECT count(*) FROM t"), "500");
    comes_back(&server, "INSERT INTO t VALUES (1, 'again')");
    assert_eq!(server.stop(), Some(0));
}

/// Operators that keep rows, each with too little in the whole system (`ulimit -v`): their tables grow by allocations that
/// can fail.
#[test]
fn operators_without_memory_are_an_answer() {
    if !has("psql", "operators_without_memory") || !has("prlimit", "operators_without_memory") {
        return;
    }
    let directory = Directory::new("memory-operators");
    let server = Server::start(directory.path(), &["--memory", "8GB", "--durability", "async", "--work-mem", "2GB"]);
    server.show("CREATE TABLE t (id int PRIMARY KEY)");
    server.show("INSERT INTO t VALUES (1)");
    server.show("CREATE TABLE wide (id int PRIMARY KEY, t text)");
    server.limit_addresses(1128 << 20);
    let series = "generate_series(1, 100000000)";
    let texts = "(SELECT i, repeat('x', 900) || i AS t FROM generate_series(1, 100000000) i)";
    let greedy = [
        format!("SELECT count(*) FROM {texts} a JOIN {texts} b ON a.t = b.t"),
        format!("SELECT count(*) FROM (SELECT t, min(t) FROM {texts} a GROUP BY t) x"),
        format!("SELECT count(*) FROM (SELECT DISTINCT t FROM {texts} a) x"),
        format!("SELECT count(*) FROM (SELECT t FROM {texts} a EXCEPT SELECT 'a') x"),
        format!("SELECT max(m) FROM (SELECT max(t) OVER (ORDER BY i) AS m FROM {texts} a) x"),
        format!("SELECT length(string_agg(t, ',' ORDER BY t)) FROM {texts} a"),
        format!("INSERT INTO wide SELECT i, t FROM {texts} a"),
        format!("SELECT count(*) FROM {series} a JOIN {series} b ON a = b"),
        format!("SELECT count(*) FROM (SELECT i, count(*) FROM {series} i GROUP BY i) x"),
        format!("SELECT count(*) FROM (SELECT DISTINCT i FROM {series} i) x"),
        format!("SELECT max(s) FROM (SELECT sum(i) OVER (ORDER BY i) AS s FROM {series} i) x"),
    ];
    for sql in &greedy {
        let error = fails_in_a_session(&server, sql);
        assert!(error.contains("53200"), "{sql}: {error}");
    }
    std::thread::scope(|scope| {
        for sql in &greedy {
            let server = &server;
            scope.spawn(move || assert!(fails_in_a_session(server, sql).contains("53200")));
        }
    });
    // It lives on, and has what it had, where the system has memory again.
    server.limit_addresses(1 << 40);
    assert_eq!(comes_back(&server, "SELECT count(*) FROM t"), "1");
    assert_eq!(server.stop(), Some(0));
}

/// Large statements on many threads: what they used comes back, whichever thread used it.
#[test]
fn large_statements_leave_nothing_behind() {
    if !has("psql", "large_statements_leave_nothing_behind") {
        return;
    }
    let directory = Directory::new("memory-back");
    let server = Server::start(directory.path(), &["--durability", "async"]);
    let sort = "SELECT count(*) FROM (SELECT i, 'text ' || i t FROM generate_series(1, 20000) i ORDER BY t OFFSET 1) x";
    let eight = || {
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| server.show(sort))));
        });
    };
    // How many of them run at once, and so how much they take, is the machine's affair; after some rounds all threads have taken theirs.
    (0..6).for_each(|_| eight());
    let first = server.resident_bytes();
    (0..12).for_each(|_| eight());
    let until = Instant::now() + Duration::from_secs(60);
    let after = || Some(server.resident_bytes()).filter(|&after| after >= first / 2 * 3);
    while let Some(after) = after() {
        assert!(Instant::now() < until, "{first} bytes after the first statements, {after} after twice as many more");
        eight();
    }
    assert_eq!(server.stop(), Some(0));
}

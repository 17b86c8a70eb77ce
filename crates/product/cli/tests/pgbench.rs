//! PostgreSQL's own benchmark runs unmodified, and its books balance. (Figures are taken elsewhere, from an optimized build.)

mod server;

use server::Server;
use std::process::Command;
use testing::{Directory, has, text};

/// pgbench against a server; what it prints.
#[track_caller]
fn pgbench(server: &Server, arguments: &[&str]) -> String {
    let mut command = Command::new("pgbench");
    command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &server.port.to_string()]).args(arguments);
    let output = command.arg("postgres").output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}\n{out}\n{err}");
    out
}

#[test]
fn it_initializes_runs_both_workloads_in_every_mode_and_balances() {
    let what = "pgbench";
    if !has("pgbench", what) || !has("psql", what) {
        return;
    }
    let directory = Directory::made("pgbench");
    let server = Server::start(&directory.join("data"), &["--durability", "async"]);
    pgbench(&server, &["-i", "-q", "-I", "dtgvp", "-s", "1"]);
    pgbench(&server, &["-i", "-q", "-I", "f"]);
    assert_eq!(server.show("SELECT count(*) FROM pgbench_accounts"), "100000");
    let mut transactions = 0;
    for mode in ["simple", "extended", "prepared"] {
        let out = pgbench(&server, &["-n", "-M", mode, "-c", "4", "-t", "25", "--max-tries=100"]);
        assert!(out.contains("number of transactions actually processed: 100/100"), "{mode}: {out}");
        assert!(out.contains("number of failed transactions: 0 (0.000%)"), "{mode}: {out}");
        transactions += 100;
        let out = pgbench(&server, &["-n", "-S", "-M", mode, "-c", "4", "-t", "50"]);
        assert!(out.contains("number of failed transactions: 0 (0.000%)"), "{mode}: {out}");
    }
    let books = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history),
                        (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history),
                        (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history),
                        (SELECT count(*) FROM pgbench_history)";
    assert_eq!(server.show(books), format!("t|t|t|{transactions}"));
    assert_eq!(server.stop(), Some(0));
}

//! The example job: every payment is settled or refused, reports add up, and a second run goes on with what the first has left.

use postgres::{Client, NoTls};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use testing::{Directory, Ran};

fn settlement(options: &[&str]) -> String {
    Ran::of(Command::new(env!("CARGO_BIN_EXE_settlement")).args(options)).ok()
}

fn outcome(options: &[&str]) -> Value {
    serde_json::from_str(&settlement(&[options, &["--format", "json"]].concat())).expect("one line of JSON")
}

#[test]
fn payments_add_up_in_memory() {
    let outcome = outcome(&["--payments", "3000", "--accounts", "50", "--threads", "3", "--together", "100"]);
    let count = |name: &str| outcome[name].as_i64().unwrap();
    assert_eq!(count("settled") + count("refused"), 3000, "{outcome}");
    assert_eq!((count("settled"), &outcome["adds_up"]), (count("payments_in_all"), &Value::Bool(true)), "{outcome}");
    let banks = outcome["banks"].as_array().unwrap();
    let sum = |name: &str| banks.iter().map(|bank| bank[name].as_i64().unwrap()).sum::<i64>();
    assert_eq!((banks.len(), sum("accounts"), sum("balance"), sum("payments")), (8, 50, 50_000, count("settled")));
}

#[test]
fn a_second_run_goes_on() {
    let directory = Directory::new("settlement");
    let run = || {
        let data = directory.path().to_str().unwrap();
        outcome(&["--data", data, "--payments", "500", "--accounts", "20", "--executors", "2", "--durability", "async"])
    };
    let (first, second) = (run(), run());
    let settled = |outcome: &Value| outcome["settled"].as_i64().unwrap();
    assert_eq!(second["payments_in_all"].as_i64().unwrap(), settled(&first) + settled(&second));
    assert_eq!(second["adds_up"], Value::Bool(true));
}

#[test]
fn the_table_says_whether_the_money_adds_up() {
    let out = settlement(&["--payments", "100", "--accounts", "8"]);
    assert!(out.starts_with("   settled    refused   payments/s"), "{out}");
    assert_eq!(out.lines().last(), Some("the money adds up"));
}

/// A job that listens; killed if the test fails.
struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn clients_of_postgresql_read_the_tables_and_write_nothing() {
    let command = ["--payments", "3000", "--accounts", "50", "--listen", "0", "--format", "json"];
    let job = Command::new(env!("CARGO_BIN_EXE_settlement"))
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut job = Job(job.expect("the example is there"));
    let mut says = String::new();
    BufReader::new(job.0.stderr.take().unwrap()).read_line(&mut says).unwrap();
    let port: u16 = says.split_whitespace().nth(4).and_then(|port| port.parse().ok()).expect(&says);
    let mut client =
        Client::connect(&format!("host=127.0.0.1 port={port} user=postgres"), NoTls).expect("it listens on loopback");
    // While payments are under way: each block is of one state.
    let mut last = 0_i64;
    while last < 1 {
        let mut block = client.transaction().unwrap();
        let total: i64 = block.query_one("SELECT sum(balance)::bigint FROM accounts", &[]).unwrap().get(0);
        last = block.query_one("SELECT count(*)::bigint FROM payments", &[]).unwrap().get(0);
        assert_eq!(total, 50_000);
    }
    for read_only in ["on", "off"] {
        client.batch_execute(&format!("SET default_transaction_read_only = {read_only}")).unwrap();
        for write in [
            "DELETE FROM payments",
            "INSERT INTO accounts VALUES (99, 'b', 1)",
            "BEGIN READ WRITE; UPDATE accounts SET balance = 0",
            "CREATE TABLE mine (id bigint PRIMARY KEY)",
        ] {
            let refused = client.batch_execute(write).expect_err(write);
            assert_eq!(refused.code().expect(write).code(), "25006", "{write}: {refused}");
            client.batch_execute("ROLLBACK").unwrap();
        }
    }
    let mut out = String::new();
    BufReader::new(job.0.stdout.take().unwrap()).read_line(&mut out).unwrap();
    let outcome: Value = serde_json::from_str(&out).expect("one line of JSON");
    assert_eq!(outcome["adds_up"], Value::Bool(true));
    let stored: i64 = client.query_one("SELECT count(*)::bigint FROM payments", &[]).unwrap().get(0);
    assert_eq!(Some(stored), outcome["payments_in_all"].as_i64(), "after the payments all of them are there");
    drop(job.0.stdin.take());
    assert_eq!(job.0.wait().unwrap().code(), Some(0), "it ends when its input does");
}

#[test]
fn other_addresses_than_loopback_are_refused() {
    let ran =
        Ran::of(Command::new(env!("CARGO_BIN_EXE_settlement")).args(["--listen", "0.0.0.0:0", "--payments", "1"]));
    ran.refused(2, "loopback");
}

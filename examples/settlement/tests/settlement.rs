//! The example job: every payment is settled or refused, reports add up, and a second run goes on with what the first has left.

use serde_json::Value;
use std::process::Command;
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

//! The experiments on a replicated database at smoke size, as a user runs them. What they measure decides nothing here.

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testing::{has, skip};

/// The rows of an experiment; nothing, where a program is missing.
fn rows(arguments: &str) -> Option<Vec<Value>> {
    let lab = Path::new(env!("CARGO_BIN_EXE_lab"));
    if !lab.with_file_name("seriatim").exists() {
        skip("the program `seriatim` is not built (cargo build -p seriatim-cli)", arguments);
        return None;
    }
    let output = Command::new(lab).arg("experiment").args(arguments.split(' ')).args(["--format", "json"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments}\n{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    Some(rows.as_array().expect("a list").clone())
}

#[test]
fn each_node_is_killed_once_and_others_go_on() {
    let Some(rows) = rows("cluster-failover --repeat 1 --seconds 0.5 --clients 1") else { return };
    let mut killed: Vec<u64> = rows.iter().map(|row| row["node"].as_u64().unwrap()).collect();
    killed.sort_unstable();
    assert_eq!(killed, [0, 1, 2]);
    assert_eq!(rows[0]["led"], true, "the leader is the first");
    for row in &rows {
        assert!(row["outage_ms"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["outage_of_one_node_ms"].as_f64() >= row["outage_ms"].as_f64(), "{row}");
        assert!(row["commits_per_s_before"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn pgbench_runs_on_both_and_the_books_balance() {
    if !has("pgbench", "cluster-pgbench") {
        return;
    }
    if !Path::new("/usr/lib/postgresql/15/bin/pg_basebackup").exists() {
        return skip("PostgreSQL 15 is not installed (Debian: postgresql-15)", "cluster-pgbench");
    }
    let Some(rows) = rows("cluster-pgbench --seconds 1 --scale 1 --clients 3") else { return };
    let systems: Vec<&str> = rows.iter().map(|row| row["system"].as_str().unwrap()).collect();
    let each = ["postgresql", "all-nodes", "one-node"];
    assert_eq!(systems, [each, each].concat());
    for row in &rows {
        assert!(row["txn_per_s"].as_f64().unwrap() > 0.0 && row["failed"] == 0.0, "{row}");
        assert_eq!(row["ratio"].is_number(), row["system"] != "postgresql", "{row}");
    }
}

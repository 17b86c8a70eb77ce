//! The soak at smoke size, as a user runs it: a server that is killed twice under load.

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testing::{has, skip};

#[test]
fn the_books_of_a_killed_server_balance() {
    let lab = Path::new(env!("CARGO_BIN_EXE_lab"));
    if !lab.with_file_name("seriatim").exists() {
        return skip("the program `seriatim` is not built (cargo build -p seriatim-cli)", "the soak");
    }
    if !has("pgbench", "the soak") {
        return;
    }
    let arguments = "soak --minutes 0.05 --kill-every 3 --clients 2 --copy-rows 2000 --format json";
    let output = Command::new(lab).args(arguments.split(' ')).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{shown}", String::from_utf8_lossy(&output.stdout));
    let soak: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(soak["verdict"]["failures"], serde_json::json!([]));
    let rounds = soak["rounds"].as_array().unwrap();
    assert!(!rounds.is_empty());
    assert!(rounds.iter().all(|round| round["resident_mb"][0].as_f64().unwrap() > 0.0), "{soak}");
}

//! The kill loop at smoke size, as a user runs it.

use std::process::Command;

#[test]
fn every_answer_is_found_once_after_each_kill() {
    let arguments = "kill --engine bohm --rounds 4 --answers 600 --seed 3";
    let output = Command::new(env!("CARGO_BIN_EXE_lab")).args(arguments.split(' ')).output().expect("it starts");
    let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{errors}");
    let rounds: Vec<&str> = shown.lines().collect();
    assert_eq!(rounds.len(), 4, "{shown}");
    assert!(rounds.iter().all(|round| round.ends_with(": good")), "{shown}");
    assert!(rounds.iter().any(|round| round.contains("recovered from a crash")), "{shown}");
}

#[test]
fn a_directory_that_exists_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_lab")).args(["kill", "--data", "."]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("exists already"));
}

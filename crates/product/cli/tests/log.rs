//! The server's log as a program reads it, and a log that cannot be written.

mod server;

use serde_json::Value;
use server::Server;
use std::path::Path;
use testing::Directory;

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn each_event_is_an_object_with_its_session() {
    let directory = Directory::made("log");
    let file = directory.join("server.log");
    let options = ["--log", file.to_str().unwrap(), "--log-format", "json"];
    let settings = ["log_connections=on", "log_disconnections=on", "log_min_duration_statement=0"];
    let options: Vec<&str> = options.into_iter().chain(settings.iter().flat_map(|setting| ["-c", setting])).collect();
    let server = Server::start(&directory.join("data"), &options);
    server.show("CREATE DATABASE shop");
    let gone = "BEGIN; CREATE TABLE gone (); ROLLBACK";
    assert!(server.psql(&["-c", "CREATE ROLE app LOGIN", "-c", gone]).status.success());
    let failing = server.psql(&[
        "-U",
        "app",
        "-d",
        "shop",
        "-c",
        "SET application_name = 'till'",
        "-c",
        "SELECT 1 / 0 AS \"two\nlines\"",
    ]);
    assert!(!failing.status.success());
    let quiet = server.psql(&["-c", "SET log_min_messages = fatal", "-c", "SELECT nope"]);
    assert!(!quiet.status.success());
    assert!(!server.psql(&["-U", "nobody", "-c", "SELECT 1"]).status.success());
    assert_eq!(server.stop(), Some(0));

    let lines = lines(&file);
    let find = |what: &str| lines.iter().filter(|line| line["message"] == what).collect::<Vec<_>>();
    for once in ["starting", "ready to accept connections", "stopped"] {
        assert_eq!(find(once).len(), 1, "{once}: {lines:?}");
    }
    assert!(lines.iter().all(|line| line["time"].as_str().is_some_and(|time| time.ends_with('Z'))), "{lines:?}");
    let [error] = find("division by zero")[..] else { panic!("{lines:?}") };
    let who = ["severity", "sqlstate", "user", "database", "application", "statement"]
        .map(|name| error[name].as_str().unwrap());
    assert_eq!(who, ["ERROR", "22012", "app", "shop", "till", "SELECT 1 / 0 AS \"two\nlines\""]);
    assert!(error["pid"].as_i64().is_some_and(|pid| pid > 0));
    assert!(!lines.iter().any(|line| line["sqlstate"] == "42703"), "log_min_messages = fatal: {lines:?}");
    let [refused] = find("role \"nobody\" does not exist")[..] else { panic!("{lines:?}") };
    assert_eq!((&refused["severity"], &refused["sqlstate"]), (&"FATAL".into(), &"28000".into()));
    let slow = find("slow statement");
    let created = slow.iter().find(|line| line["statement"] == "CREATE DATABASE shop").unwrap();
    assert!(created["duration_ms"].as_f64().is_some_and(|duration| duration > 0.0));
    let begun = lines
        .iter()
        .filter(|line| line["message"].as_str().is_some_and(|it| it.starts_with("connection authorized: ")))
        .count();
    assert_eq!((begun, find("disconnection").len()), (4, 4), "{lines:?}");
    let [statistics] = find("statistics")[..] else { panic!("{lines:?}") };
    assert!(statistics["commits"].as_u64().is_some_and(|commits| commits > 0));
    assert_eq!(statistics["aborts"], 0, "ROLLBACK is no abort");
}

/// A log on a full device, and one whose reader has gone.
#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let directory = Directory::made("log-full");
    let server = Server::start(&directory.join("data"), &["--log", "/dev/full", "-c", "log_min_duration_statement=0"]);
    for _ in 0..3 {
        assert_eq!(server.show("SELECT 1"), "1");
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_setting_that_no_session_could_begin_with_is_refused_at_the_start() {
    let directory = Directory::made("log-setting");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_seriatim"));
    command
        .args(["serve", "--pg", "127.0.0.1:0", "-c", "log_min_duration_statement=soon", "--data"])
        .arg(directory.join("data"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = testing::text(&output.stderr);
    assert!(said.contains("invalid value for parameter \"log_min_duration_statement\": \"soon\""), "{said}");
}

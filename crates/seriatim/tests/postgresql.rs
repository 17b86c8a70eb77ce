//! Scripts of SQL through psql, compared with all that psql printed when PostgreSQL 15 ran them: rows, tags, notices, and errors
//! with their SQLSTATEs, details, hints and places.
//!
//! `RECORD=1 cargo test --test postgresql` writes down anew what a PostgreSQL 15, started for it, answers.
#![cfg(feature = "server")]

mod server;

use server::reference::Reference;
use server::{Directory, Server, skip, text};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn scripts_print_what_postgresql_printed() {
    let what = "scripts compared with PostgreSQL 15";
    if !has_psql_15() {
        return skip("psql 15 is missing, which recorded the output", what);
    }
    if std::env::var_os("RECORD").is_some() {
        return record(what);
    }
    let directory = Directory::made("postgresql");
    let server = Server::start(&directory.join("data"), &["--durability", "none"]);
    let scripts = scripts();
    assert!(scripts.len() >= 10);
    let different: Vec<String> = scripts.iter().filter_map(|script| compare(script, server.port, &directory)).collect();
    assert!(different.is_empty(), "{}", different.join("\n\n"));
    assert_eq!(server.stop(), Some(0));
}

fn has_psql_15() -> bool {
    let version = Command::new("psql").arg("--version").output();
    version.is_ok_and(|output| text(&output.stdout).contains(" 15."))
}

fn scripts() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgresql");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "sql")).collect();
    scripts.sort();
    scripts
}

/// What PostgreSQL prints, into the files beside the scripts.
fn record(what: &str) {
    let Some(reference) = Reference::start(what) else { return };
    let directory = Directory::made("postgresql-recorded");
    for script in scripts() {
        std::fs::write(script.with_extension("out"), run(&script, reference.port, &directory)).unwrap();
    }
}

/// All that psql prints for a script, errors among the rest, in order. What only PostgreSQL has is left out: the places in its
/// source; and what only this server has: what its parser expected.
fn run(script: &Path, port: u16, directory: &Directory) -> String {
    let printed = directory.join("printed");
    let out = File::create(&printed).unwrap();
    let mut command = Command::new("psql");
    command.args(["-X", "-a", "-v", "VERBOSITY=verbose", "-h", "127.0.0.1", "-U", "postgres", "-d", "postgres"]);
    command.args(["-p", &port.to_string()]).env("LC_ALL", "C.UTF-8").env_remove("PGOPTIONS");
    command.stdin(File::open(script).unwrap()).stderr(Stdio::from(out.try_clone().unwrap())).stdout(out);
    command.status().unwrap();
    let printed = std::fs::read_to_string(&printed).unwrap();
    let is_common = |line: &&str| !line.starts_with("LOCATION:  ") && !line.starts_with("DETAIL:  Expected: ");
    printed.lines().filter(is_common).flat_map(|line| [line, "\n"]).collect()
}

/// The first lines that differ.
fn compare(script: &Path, port: u16, directory: &Directory) -> Option<String> {
    let wanted = std::fs::read_to_string(script.with_extension("out")).unwrap();
    let found = run(script, port, directory);
    if found == wanted {
        return None;
    }
    let (found, wanted): (Vec<&str>, Vec<&str>) = (found.lines().collect(), wanted.lines().collect());
    let first = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
    let first = first.unwrap_or(found.len().min(wanted.len()));
    let shown =
        |lines: &[&str]| lines.iter().skip(first.saturating_sub(3)).take(12).copied().collect::<Vec<_>>().join("\n");
    let name = script.file_name().unwrap_or_default().display();
    Some(format!("{name}, line {}:\n--- is\n{}\n--- wanted\n{}", first + 1, shown(&found), shown(&wanted)))
}

//! Scripts of SQL through psql, compared with all that psql prints when PostgreSQL 15 runs them: rows, tags, notices, and errors
//! with their SQLSTATEs, details, hints and places.
//!
//! Where PostgreSQL 15 is installed, the test starts a server of it, so that its minor version and psql's do not matter.
//! Elsewhere the recorded output is used: `RECORD=1 cargo test --test postgresql` records it again. Scripts avoid what differs
//! between minor versions, or the record would hold for one of them only.

mod server;

use server::Server;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testing::reference::Reference;
use testing::{Directory, say, skip, version};

#[test]
fn scripts_print_what_postgresql_prints() {
    let what = "scripts compared with PostgreSQL 15";
    if !version("psql").contains(" 15.") {
        return skip("psql 15 is missing", what);
    }
    let directory = Directory::made("postgresql");
    let reference = Reference::start_if_installed(what);
    if std::env::var_os("RECORD").is_some() {
        return record(&reference.expect("PostgreSQL 15 is needed to record (Debian: postgresql-15)"), &directory);
    }
    if reference.is_none() {
        say(&format!("{what}: as recorded, {}", version("psql")));
    }
    let scripts = scripts();
    assert!(scripts.len() >= 10);
    let wanted = |script: &Path| match &reference {
        Some(reference) => live(script, reference, &directory),
        None => recorded(script),
    };
    let wanted: Vec<(&PathBuf, String)> = scripts.iter().map(|script| (script, wanted(script))).collect();
    // Once as a server starts, and once with operators over batches wherever they can run.
    for (data, setting) in [("data", "enable_vectors=on"), ("forced", "enable_vectors=force")] {
        let server = Server::start(&directory.join(data), &["--durability", "none", "-c", setting]);
        let compare = |(script, wanted): &(&PathBuf, String)| {
            compare(script, &run(script, server.port, &directory), wanted).map(|text| format!("{setting}, {text}"))
        };
        let different: Vec<String> = wanted.iter().filter_map(compare).collect();
        assert!(different.is_empty(), "{}", different.join("\n\n"));
        assert_eq!(server.stop(), Some(0));
    }
}

/// psql echoes what it reads but rows of COPY, so that a script that was changed and not recorded again shows.
#[test]
fn every_script_is_recorded_as_it_is() {
    for script in scripts() {
        let recorded = recorded(&script);
        let mut printed = recorded.lines();
        let mut in_rows = false;
        for line in std::fs::read_to_string(&script).unwrap().lines().filter(|line| !line.trim().is_empty()) {
            if in_rows {
                in_rows = line != "\\.";
                continue;
            }
            in_rows = line.starts_with("COPY ") && line.contains(" FROM STDIN");
            let found = printed.any(|printed| printed == line);
            assert!(found, "{} has no {line:?} in its place: record it again", script.with_extension("out").display());
        }
    }
}

fn scripts() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgresql");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "sql")).collect();
    scripts.sort();
    scripts
}

fn recorded(script: &Path) -> String {
    std::fs::read_to_string(script.with_extension("out")).unwrap()
}

/// Records the output of PostgreSQL in the files beside the scripts.
fn record(reference: &Reference, directory: &Directory) {
    for script in scripts() {
        std::fs::write(script.with_extension("out"), run(&script, reference.port, directory)).unwrap();
    }
}

/// Returns the output of this machine's PostgreSQL. Reports a record that differs: another minor version may be the reason.
fn live(script: &Path, reference: &Reference, directory: &Directory) -> String {
    let printed = run(script, reference.port, directory);
    if let Some(difference) = compare(script, &printed, &recorded(script)) {
        say(&format!("{} and psql print otherwise than was recorded: {difference}", reference.version()));
    }
    printed
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
    let is_common = |line: &&str| !line.starts_with("LOCATION:  ");
    printed.lines().filter(is_common).flat_map(|line| [line, "\n"]).collect()
}

/// The first lines that differ.
fn compare(script: &Path, found: &str, wanted: &str) -> Option<String> {
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

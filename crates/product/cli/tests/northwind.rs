//! Dump of a real database: it loads unchanged, and its teaching queries answer exactly as PostgreSQL 15 does.

mod server;

use server::{Server, psql, repository};
use std::path::{Path, PathBuf};
use testing::reference::Reference;
use testing::{Directory, has, text};

/// The dump, which is not part of the repository.
fn dump(what: &str) -> Option<PathBuf> {
    let dump = repository().join("../shared/data/northwind/northwind.sql");
    if dump.exists() {
        return Some(dump);
    }
    eprintln!("skipped: {what}, since {} is not there", dump.display());
    None
}

#[test]
fn the_dump_loads_unchanged_and_twelve_queries_answer_as_postgresql_does() {
    let what = "northwind beside postgresql";
    let Some(dump) = dump(what) else { return };
    if !has("psql", what) {
        return;
    }
    let Some(reference) = Reference::start(what) else { return };
    let directory = Directory::made("northwind");
    let servers: Vec<Server> = [("mvto", "async"), ("hyper", "async"), ("twopl", "none")]
        .map(|(engine, durability)| {
            Server::start(&directory.join(engine), &["--durability", durability, "--engine", engine])
        })
        .into();
    for port in servers.iter().map(|server| server.port).chain([reference.port]) {
        let output = psql(port).arg("-f").arg(&dump).output().unwrap();
        let errors =
            text(&output.stderr).lines().filter(|line| !line.contains("NOTICE")).collect::<Vec<_>>().join("\n");
        assert!(output.status.success() && errors.is_empty(), "port {port}: {errors}");
    }
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/northwind");
    let mut files: Vec<PathBuf> = std::fs::read_dir(queries).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 12);
    for (server, vectors) in servers.iter().flat_map(|server| [(server, "on"), (server, "force")]) {
        let compare = |file: &PathBuf| compare(server, &reference, file, vectors);
        let different: Vec<String> = files.iter().filter_map(compare).collect();
        assert!(different.is_empty(), "{}", different.join("\n\n"));
    }
    for form in [&[][..], &["--inserts"], &["--schema-only", "--clean", "--if-exists"]] {
        let dumped = |port: u16| dumped(&reference, port, form);
        let expected = dumped(reference.port);
        servers.iter().for_each(|server| assert!(dumped(server.port) == expected, "pg_dump {form:?} differs"));
    }
    servers.into_iter().for_each(|server| assert_eq!(server.stop(), Some(0)));
}

/// Returns the output of pg_dump, without the lines that differ between servers and between runs.
fn dumped(reference: &Reference, port: u16, form: &[&str]) -> Vec<String> {
    let mut command = std::process::Command::new(reference.program("pg_dump"));
    command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &port.to_string()]).args(form).arg("postgres");
    let output = command.output().unwrap();
    assert!(output.status.success(), "pg_dump {form:?} from port {port}: {}", text(&output.stderr));
    let varies =
        |line: &&str| ["-- Dumped from", "\\restrict", "\\unrestrict"].iter().any(|start| line.starts_with(start));
    let lines: Vec<String> = text(&output.stdout).lines().filter(|line| !varies(line)).map(str::to_owned).collect();
    assert!(lines.len() > 100);
    lines
}

/// Returns the difference between the answers to a file's query, with this value of `enable_vectors`.
fn compare(server: &Server, reference: &Reference, file: &Path, vectors: &str) -> Option<String> {
    let print = |port: u16, options: String| {
        let mut command = std::process::Command::new("psql");
        command.args(["-X", "-h", "127.0.0.1", "-U", "postgres", "-d", "postgres", "-p", &port.to_string(), "-f"]);
        let output = command.arg(file).env("PGOPTIONS", options).output().unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    let options = format!("-c enable_vectors={vectors}");
    let (found, expected) = (print(server.port, options), print(reference.port, String::new()));
    assert!(expected.1.is_empty() && expected.0.lines().count() > 3, "{}: {expected:?}", file.display());
    if found == expected {
        return None;
    }
    let lines = found.0.lines().zip(expected.0.lines());
    let first = lines.filter(|(found, expected)| found != expected).take(3);
    let shown: Vec<String> = first.map(|(found, expected)| format!("  is     {found}\n  wanted {expected}")).collect();
    Some(format!("{}, vectors {vectors}:\n{}\n{}", file.display(), shown.join("\n"), found.1))
}

//! Backups: a random schema that either server dumps restores into the other, and is the same there.
//!
//! `SEEDS=n` tries that many, from `FIRST` on; a failure prints its seed.

mod dump {
    pub mod schema;
}
mod server;

use dump::schema;
use server::{Server, psql};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::reference::Reference;
use testing::{Directory, has, text};

/// Tries of each test run, one for each way; `make nightly` runs more.
const SEEDS: u64 = WAYS.len() as u64;

/// How a database goes to another: the options of each pg_dump, and those of pg_restore, unless psql runs what was dumped.
type Way = (&'static [&'static [&'static str]], Option<&'static [&'static str]>);

const WAYS: &[Way] = &[
    (&[&[]], None),
    (&[&["--inserts"]], None),
    (&[&["-Fc"]], Some(&[])),
    (&[&["--schema-only"], &["--data-only", "--disable-triggers"]], None),
    (&[&["-Fc"]], Some(&["-1"])),
    (&[&["--column-inserts", "--rows-per-insert=3", "--quote-all-identifiers"]], None),
    (&[&["-Fc"]], Some(&["-j", "2"])),
    (&[&["--section=pre-data"], &["--section=data", "--disable-triggers"], &["--section=post-data"]], None),
    // The second time onto what the first has made.
    (&[&["--clean", "--if-exists"], &["--clean", "--if-exists"]], None),
    (&[&["-Fc", "--schema-only"], &["-Fc", "--data-only"]], Some(&["--disable-triggers"])),
    (&[&["-Fd", "-j", "2"]], Some(&["-j", "2"])),
];

#[test]
fn a_random_schema_dumped_from_either_server_restores_into_the_other() {
    let what = "backups beside postgresql";
    if !has("psql", what) {
        return;
    }
    let Some(reference) = Reference::start(what) else { return };
    let directory = Directory::made("dump");
    let server = Server::start(&directory.join("data"), &["--durability", "none"]);
    let [seeds, first] = [("SEEDS", SEEDS), ("FIRST", 0)].map(|(name, default)| {
        std::env::var(name).map_or(default, |number| number.parse().unwrap_or_else(|_| panic!("{name}: {number}")))
    });
    let servers = Servers { reference: &reference, own: server.port, directory: &directory };
    let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| servers.try_seed(*seed))).is_err();
    let failed: Vec<u64> = (first..first + seeds).filter(fails).collect();
    assert!(failed.is_empty(), "seeds {failed:?} failed");
    assert_eq!(server.stop(), Some(0));
}

/// The two servers. Both are empty between seeds.
struct Servers<'t> {
    reference: &'t Reference,
    own: u16,
    directory: &'t Directory,
}

impl Servers<'_> {
    fn try_seed(&self, seed: u64) {
        let theirs = self.reference.port;
        let script = self.directory.file("schema.sql", schema::script(seed));
        let told = |what: &str| format!("seed {seed}, {what} (FIRST={seed} SEEDS=1 repeats it)");
        for port in [theirs, self.own] {
            empty(port);
            run(psql(port).arg("-f").arg(&script), &told(&format!("the schema into port {port}")));
        }
        let (wanted, shown) = (self.dump(theirs), [theirs, self.own].map(views));
        same(&without_queries(&self.dump(self.own)), &without_queries(&wanted), &told("as it was made"));
        same(&shown[1], &shown[0], &told("rows of views"));

        let way = WAYS[usize::try_from(seed).unwrap() % WAYS.len()];
        let from_theirs = self.save(theirs, way, &told("a dump of PostgreSQL's"));
        let from_own = self.save(self.own, way, &told("a dump of ours"));
        for (to, files) in [(theirs, &from_own), (self.own, &from_theirs)] {
            empty(to);
            self.restore(to, files, way, &told(&format!("a restore into port {to} by {way:?}")));
        }
        same(&self.dump(theirs), &wanted, &told(&format!("ours in PostgreSQL by {way:?}")));
        let back = self.dump(self.own);
        same(&without_queries(&back), &without_queries(&wanted), &told(&format!("PostgreSQL's in ours by {way:?}")));
        same(&views(self.own), &shown[0], &told("rows of views that were restored"));

        // What ours made of PostgreSQL's views means the same to PostgreSQL.
        empty(theirs);
        let plain = WAYS[0];
        let files = self.save(self.own, plain, &told("a dump of what was restored"));
        self.restore(theirs, &files, plain, &told("a restore of what was restored"));
        same(&self.dump(theirs), &wanted, &told("PostgreSQL's, through ours, in PostgreSQL"));
    }

    /// Dumps a database into files.
    fn save(&self, port: u16, (dumps, _): Way, what: &str) -> Vec<PathBuf> {
        let save = |(number, options): (usize, &&[&str])| {
            let file = self.directory.join(&format!("dump-{port}-{number}"));
            let _ = std::fs::remove_file(&file).or_else(|_| std::fs::remove_dir_all(&file)); // -Fd makes a directory.
            // Of circles of foreign keys it warns.
            let output = self.pg_dump(port).args(*options).arg("-f").arg(&file).output().unwrap();
            assert!(output.status.success(), "{what}: {}", text(&output.stderr));
            file
        };
        dumps.iter().enumerate().map(save).collect()
    }

    fn restore(&self, port: u16, files: &[PathBuf], (_, restores): Way, what: &str) {
        for file in files {
            let mut command = match restores {
                None => psql(port),
                Some(options) => {
                    let mut command = connected(&self.reference.program("pg_restore"), port);
                    command.args(["-d", "postgres", "--exit-on-error"]).args(options);
                    command
                }
            };
            if restores.is_none() {
                command.args(["-o", "/dev/null", "-f"]);
            }
            run(command.arg(file), what);
        }
    }

    fn pg_dump(&self, port: u16) -> Command {
        connected(&self.reference.program("pg_dump"), port)
    }

    /// What pg_dump writes, without what differs between servers and between runs: versions, and the order of rows.
    fn dump(&self, port: u16) -> Vec<String> {
        let printed = run(&mut self.pg_dump(port), "pg_dump");
        let varies = ["-- Dumped from", "\\restrict", "\\unrestrict"];
        let lines = printed.lines().filter(|line| !varies.iter().any(|start| line.starts_with(start)));
        let (mut found, mut rows) = (Vec::<String>::new(), None);
        for line in lines {
            if line == "\\." {
                let from = rows.take().unwrap();
                found[from..].sort();
            }
            found.push(line.to_owned());
            if line.starts_with("COPY ") {
                rows = Some(found.len());
            }
        }
        found
    }
}

fn connected(program: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &port.to_string()]).env("LC_ALL", "C.UTF-8");
    command
}

/// Runs a command that must succeed and complain of nothing; its output.
#[track_caller]
fn run(command: &mut Command, what: &str) -> String {
    let output = command.output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{what}: {command:?}\n{err}");
    out
}

/// Drops everything that users have made.
fn empty(port: u16) {
    let objects =
        "SELECT format('DROP %s IF EXISTS %I.%I CASCADE', CASE relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW'
         ELSE 'SEQUENCE' END, nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE nspname = 'public' AND relkind IN ('r', 'v', 'S') ORDER BY relkind DESC \\gexec\n";
    let types = "SELECT format('DROP TYPE IF EXISTS %I.%I CASCADE', nspname, typname) FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace
         WHERE nspname = 'public' AND typtype IN ('e', 'd', 'c') \\gexec\n";
    let schemas = "SELECT format('DROP SCHEMA %I CASCADE', nspname) FROM pg_namespace
         WHERE nspname NOT IN ('public', 'information_schema') AND nspname !~ '^pg_' \\gexec\n";
    let mut command = psql(port);
    command.args(["-c", "SET client_min_messages = error", "-f", "-"]).stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::null());
    let mut running = command.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{objects}{types}{schemas}").as_bytes()).unwrap();
    drop(input);
    assert!(running.wait().unwrap().success(), "port {port} could not be emptied");
}

/// The rows of all views, as text.
fn views(port: u16) -> Vec<String> {
    let each = "SELECT format('SELECT %L, v::text FROM %I.%I v ORDER BY v::text COLLATE \"C\"', relname, nspname, relname) FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relkind = 'v' AND nspname NOT IN ('pg_catalog', 'information_schema')
         ORDER BY nspname COLLATE \"C\", relname COLLATE \"C\" \\gexec\n";
    let mut command = psql(port);
    command.args(["-f", "-"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, each.as_bytes()).unwrap();
    drop(input);
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "views of port {port}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// A dump without the queries of views, which each server prints in its own form.
fn without_queries(dump: &[String]) -> Vec<String> {
    let (mut kept, mut inside) = (vec![], false);
    for line in dump {
        if !inside {
            kept.push(line.clone());
        }
        inside = (inside || line.starts_with("CREATE VIEW ")) && !line.ends_with(';');
    }
    kept
}

/// Fails at the first line that differs.
#[track_caller]
fn same(found: &[String], wanted: &[String], what: &str) {
    if found == wanted {
        return;
    }
    let first = found.iter().zip(wanted).position(|(found, wanted)| found != wanted);
    let first = first.unwrap_or(found.len().min(wanted.len()));
    let shown =
        |lines: &[String]| lines.iter().skip(first.saturating_sub(8)).take(16).cloned().collect::<Vec<_>>().join("\n");
    panic!("{what}: line {}:\n--- is\n{}\n--- wanted\n{}", first + 1, shown(found), shown(wanted));
}

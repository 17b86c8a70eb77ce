//! Starts a client's program, and reads its steps.
//!
//! A program prints `version TEXT`, then `ok STEP` or `failed STEP: SQLSTATE MESSAGE` for each step, among anything else. What must be
//! the same on both servers it prints before its step's end, as `saw WHAT: TEXT`.
//! It connects by libpq's variables (`PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE`) or by `DATABASE_URL`.

use super::catalog::{Client, programs};
use crate::server::repository;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use testing::{Directory, text};

/// Time for one program against one server; then it is killed.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// A database to connect to.
pub struct Target<'t> {
    /// Name of the server in the names of logs.
    pub server: &'static str,
    pub port: u16,
    pub database: &'t str,
}

/// What a program did.
pub struct Run {
    pub version: String,
    /// Steps in the order of their ends.
    pub steps: Vec<Step>,
    /// Why the program did not end well.
    pub fault: Option<String>,
}

/// A step that has ended.
pub struct Step {
    pub name: String,
    /// `None` has passed.
    pub error: Option<String>,
    /// What it has seen: of what, and a text.
    pub saw: Vec<(String, String)>,
}

/// Runs a program to its end or to the time limit, and keeps its output in a log.
pub fn run(client: &Client, target: &Target) -> Run {
    let place = Directory::made(&format!("run-{}-{}", client.file_name(), target.server));
    let mut child = command(client, target).current_dir(place.path()).spawn().unwrap();
    let outputs = [read(child.stdout.take().unwrap()), read(child.stderr.take().unwrap())];
    let (status, on_time) = wait(&mut child);
    let [out, err] = outputs.map(|output| text(&output.recv().unwrap_or_default()));
    std::fs::create_dir_all(logs()).unwrap();
    let log = logs().join(format!("{}-{}.log", client.file_name(), target.server));
    std::fs::write(log, format!("{out}\n--- standard error\n{err}")).unwrap();
    let fault = match on_time {
        false => Some(format!("killed after {} s", TIME_LIMIT.as_secs())),
        true => (!status.success()).then(|| format!("{status}: {}", last_line(&err))),
    };
    let of = |line: &str, start: &str| line.strip_prefix(start).map(str::to_owned);
    let version = out.lines().find_map(|line| of(line, "version ")).unwrap_or_default();
    Run { version, steps: steps(&out), fault }
}

fn steps(out: &str) -> Vec<Step> {
    let (mut steps, mut saw) = (Vec::new(), Vec::new());
    for line in out.lines() {
        if let Some((what, text)) = line.strip_prefix("saw ").and_then(|seen| seen.split_once(": ")) {
            saw.push((what.to_owned(), text.to_owned()));
        } else if let Some((name, error)) = ended(line) {
            steps.push(Step { name: name.to_owned(), error: error.map(str::to_owned), saw: std::mem::take(&mut saw) });
        }
    }
    steps
}

/// The name of the step that a line ends, and its error.
fn ended(line: &str) -> Option<(&str, Option<&str>)> {
    if let Some(name) = line.strip_prefix("ok ") {
        return Some((name, None));
    }
    let (name, error) = line.strip_prefix("failed ")?.split_once(": ")?;
    Some((name, Some(error)))
}

impl Step {
    /// Fails, unless it has seen what the same step has seen in PostgreSQL. What PostgreSQL refuses does not count.
    pub fn compare(&mut self, control: &Step) {
        let differs = |(what, wanted): &(String, String)| {
            let found = self.saw.iter().find(|(own, _)| own == what).map_or("nothing", |(_, found)| found);
            let counts = !wanted.starts_with("failed ") && found != wanted;
            counts.then(|| format!("----- {what}: {found}; in PostgreSQL: {wanted}"))
        };
        if self.error.is_none() {
            self.error = control.saw.iter().find_map(differs);
        }
    }
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

/// Reads to the end on a thread of its own, so that a full pipe stops nobody.
fn read(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What a killed program has written counts.
        let _ = stream.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// Waits for the end of the program, and kills its whole group at the time limit.
fn wait(child: &mut Child) -> (std::process::ExitStatus, bool) {
    let (ended, killer) = channel::<()>();
    let group = format!("-{}", child.id());
    let watch = std::thread::spawn(move || {
        let late = killer.recv_timeout(TIME_LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        }
        !late
    });
    let status = child.wait().unwrap();
    drop(ended);
    (status, watch.join().unwrap())
}

/// Folder of the installed clients.
fn installed() -> PathBuf {
    repository().join("target/clients")
}

/// Folder of the programs' output.
pub fn logs() -> PathBuf {
    installed().join("logs")
}

/// Returns whether `make test-clients` has installed the client's language.
pub fn is_installed(client: &Client) -> bool {
    installed().join(&client.language).join("ready").exists()
}

fn command(client: &Client, target: &Target) -> Command {
    let mut command = program(client);
    let url = format!("postgresql://postgres@127.0.0.1:{}/{}", target.port, target.database);
    command.args(&client.program[1..]).envs([
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &target.port.to_string()),
        ("PGUSER", "postgres"),
        ("PGDATABASE", target.database),
        ("DATABASE_URL", &url),
        // Some drivers insist on one; neither server asks for it.
        ("PGPASSWORD", "unused"),
        ("LC_ALL", "C.UTF-8"),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command
}

/// Returns the command that starts a program of a language.
fn program(client: &Client) -> Command {
    let (home, name) = (installed().join(&client.language), &client.program[0]);
    let sources = programs().canonicalize().unwrap().join(&client.language);
    let interpreted = |interpreter: &Path, file: PathBuf| {
        let mut command = Command::new(interpreter);
        command.arg(file);
        command
    };
    match client.language.as_str() {
        "python" => interpreted(&home.join("bin/python"), sources.join(name)),
        // Modules are looked for beside the program's file: the copies lie beside them.
        "node" => interpreted(Path::new("node"), home.canonicalize().unwrap().join(name)),
        "java" => {
            let mut command = Command::new("java");
            command.arg("-cp").arg(format!("{0}/classes:{0}/lib/*", home.display())).arg(name);
            command
        }
        "go" | "rust" => Command::new(home.join("bin").join(name)),
        interpreter => interpreted(Path::new(interpreter), sources.join(name)),
    }
}

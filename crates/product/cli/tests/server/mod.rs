//! A server of this build, and its clients: psql and Python's psycopg.
#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
pub use testing::psql;
use testing::{Engine, skip, text};

/// A server that accepts connections.
pub struct Server {
    process: Child,
    /// Port of the listener.
    pub port: u16,
    /// Lines of standard error after the first, so far.
    said: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server with these options besides the port, and waits until it is ready. Where no option names the engine, the
    /// variable `ENGINE` does ([`testing::Engine::of_tests`]); if it is not set, the engine is the server's default.
    pub fn start(data: &Path, options: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
        command.args(["serve", "--pg", "127.0.0.1:0", "--data"]).arg(data).args(options);
        if !options.contains(&"--engine") && std::env::var_os("ENGINE").is_some() {
            command.args(["--engine", engine(options).name()]);
        }
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(process.stderr.take().unwrap());
        let mut banner = String::new();
        // It may say first what it waits for.
        while errors.read_line(&mut banner).unwrap() > 0 && !banner.contains(" serves ") {}
        let mut ready = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        if ready != "ready\n" {
            std::io::Read::read_to_string(&mut errors, &mut banner).unwrap();
            panic!("the server did not start: {banner}");
        }
        let banner = banner.lines().last().unwrap_or_default();
        let port = banner.rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in: {banner}"));
        // Whoever writes to standard error must have a reader; the test's own shows it when a test fails.
        let said = Arc::<Mutex<Vec<String>>>::default();
        let hears = said.clone();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                eprintln!("server: {line}");
                hears.lock().unwrap().push(line);
            }
        });
        Server { process, port, said }
    }

    /// Waits for a line on standard error with this in it, which it has written or will write.
    pub fn says(&self, what: &str) -> String {
        loop {
            if let Some(line) = self.said.lock().unwrap().iter().find(|line| line.contains(what)) {
                return line.clone();
            }
            std::thread::yield_now();
        }
    }

    /// psql with a statement or options, its output without decoration.
    pub fn psql(&self, arguments: &[&str]) -> Output {
        let mut command = psql(self.port);
        command.args(arguments).output().unwrap()
    }

    /// Returns psql's output for a statement that must succeed.
    #[track_caller]
    pub fn show(&self, sql: &str) -> String {
        let output = self.psql(&["-c", sql]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{sql}\n{out}\n{err}");
        out.trim_end().to_owned()
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &process]).status().unwrap().success());
    }

    /// Bytes of memory that it has in use, as the system counts.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
    }

    /// Limits its addresses (`ulimit -v`) from now on, until another limit.
    pub fn limit_addresses(&self, bytes: u64) {
        let mut command = Command::new("prlimit");
        command.args(["--pid", &self.process.id().to_string(), &format!("--as={bytes}:")]);
        assert!(command.status().unwrap().success());
    }

    /// Kills it without warning.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Kills it by the number of its process, from any thread.
    pub fn killer(&self) -> impl FnOnce() + Send + use<> {
        let process = self.process.id().to_string();
        move || assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success())
    }

    /// Waits for the end of a server that was killed.
    pub fn wait(mut self) {
        self.process.wait().unwrap();
    }

    /// Asks it to stop; its exit code.
    pub fn stop(mut self) -> Option<i32> {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the engine of a server with these options.
fn engine(options: &[&str]) -> Engine {
    if options.contains(&"none") { Engine::of_tests() } else { Engine::of_tests_with_versions() }
}

/// The Python with psycopg 3 that `make clients` sets up.
pub fn python(what: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/clients/bin/python");
    if python.exists() {
        return Some(python);
    }
    skip("there is no Python with psycopg (`make clients` sets it up)", what);
    None
}

/// The directory of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

//! A PostgreSQL 15, to compare with.

use crate::{Directory, say, skip, version};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A PostgreSQL on a port of its own, in a directory that goes with it.
pub struct Reference {
    directory: Directory,
    programs: PathBuf,
    /// Port on 127.0.0.1, where the user `postgres` needs no password.
    pub port: u16,
}

/// PostgreSQL refuses to run as root; its packages make this user.
const USER: &str = "postgres";

impl Reference {
    /// Starts one, and says which versions `what` is about; `None`, with a reason, where PostgreSQL 15 is not installed.
    pub fn start(what: &str) -> Option<Reference> {
        let reference = Reference::start_if_installed(what);
        if reference.is_none() {
            skip("PostgreSQL 15 is not installed (Debian: postgresql-15)", what);
        }
        reference
    }

    /// The same for those who can do without one.
    pub fn start_if_installed(what: &str) -> Option<Reference> {
        let programs = programs()?;
        let directory = Directory::made(&format!("reference-{}", what.replace(' ', "-")));
        let reference = Reference { directory, programs, port: free_port() };
        if is_root() {
            let owner = Command::new("chown").arg(USER).arg(reference.directory.path()).status().unwrap();
            assert!(owner.success(), "the user {USER} must exist");
        }
        let data = reference.data();
        reference.run("initdb", &["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]);
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c timezone=UTC",
            reference.port
        );
        let log = reference.directory.join("log").to_str().unwrap().to_owned();
        reference.run("pg_ctl", &["-D", &data, "-o", &options, "-l", &log, "-w", "start"]);
        say(&format!("{what}: {}, {}", reference.version(), version("psql")));
        Some(reference)
    }

    /// Returns the path of one of PostgreSQL's programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Returns its version string.
    pub fn version(&self) -> String {
        version(self.program("postgres"))
    }

    fn data(&self) -> String {
        self.directory.join("data").to_str().unwrap().to_owned()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--init-groups"]).arg(&program);
            command
        } else {
            Command::new(&program)
        };
        // pg_ctl leaves the server behind with its standard output: a pipe would never end.
        let status = command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("LC_ALL", "C.UTF-8")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{} {arguments:?}", program.display());
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let data = self.data();
        self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}

fn programs() -> Option<PathBuf> {
    let debian = Path::new("/usr/lib/postgresql/15/bin");
    if debian.join("initdb").exists() {
        return Some(debian.to_owned());
    }
    let version = Command::new("initdb").arg("--version").output().ok()?;
    let is_15 = String::from_utf8_lossy(&version.stdout).contains(" 15.");
    let place = Command::new("pg_config").arg("--bindir").output().ok()?;
    is_15.then(|| PathBuf::from(String::from_utf8_lossy(&place.stdout).trim()))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

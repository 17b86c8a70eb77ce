//! The rival: a PostgreSQL with a standby that confirms each COMMIT, on this machine.

use crate::processes::{Failure, Processes, free_ports};
use crate::servers::Address;
use env::thread::sleep;
use env::time::{Duration, Instant};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// PostgreSQL refuses to run as root; its packages make this user.
const USER: &str = "postgres";
/// What a server is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between looks at a server that starts.
const LOOK: Duration = Duration::from_millis(50);

/// A primary and its standby.
#[derive(Debug)]
pub struct Replicated {
    programs: PathBuf,
    directory: PathBuf,
    /// In this order: the primary, the standby.
    ports: Vec<u16>,
    processes: Processes,
}

/// The directories, by position.
const NAMES: [&str; 2] = ["primary", "standby"];

impl Replicated {
    /// Starts both in a directory, and waits until the standby confirms.
    ///
    /// # Errors
    /// A program is missing or fails.
    pub fn start(programs: &Path, directory: &Path) -> Result<Replicated, Failure> {
        let cannot = |error: std::io::Error| format!("{}: {error}", directory.display());
        std::fs::create_dir_all(directory).map_err(cannot)?;
        // Its programs run in it, so that their paths must not begin elsewhere.
        let directory = &directory.canonicalize().map_err(cannot)?;
        if is_root()? {
            run(Command::new("chown").arg(USER).arg(directory))?;
        }
        let mut servers = Replicated {
            programs: programs.to_owned(),
            directory: directory.to_owned(),
            ports: free_ports(2)?,
            processes: Processes::default(),
        };
        let made = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-D"];
        run(servers.command("initdb")?.args(made).arg(servers.data(0)))?;
        servers.serve(0)?;
        let copied = ["-U", "postgres", "-h", "127.0.0.1", "-R", "-X", "stream", "-c", "fast", "-p"];
        let port = servers.ports[0].to_string();
        run(servers.command("pg_basebackup")?.args(copied).arg(port).arg("-D").arg(servers.data(1)))?;
        servers.serve(1)?;
        servers.await_synchronous()?;
        Ok(servers)
    }

    /// Where clients connect: the primary.
    pub fn address(&self) -> Address {
        Address(self.ports[0])
    }

    fn data(&self, server: usize) -> PathBuf {
        self.directory.join(NAMES[server])
    }

    /// One of PostgreSQL's programs, as a user that it accepts.
    fn command(&self, program: &str) -> Result<Command, Failure> {
        let path = self.programs.join(program);
        if !path.exists() {
            return Err(format!("there is no {}: install PostgreSQL 15, or say --postgresql", path.display()));
        }
        let mut command = Command::new("setpriv");
        match is_root()? {
            true => command.args(["--reuid", USER, "--regid", USER, "--init-groups"]).arg(path),
            false => {
                command = Command::new(path);
                &mut command
            }
        };
        command.current_dir(&self.directory).env("LC_ALL", "C.UTF-8");
        Ok(command)
    }

    /// Starts a server, and waits until it answers.
    fn serve(&mut self, server: usize) -> Result<(), Failure> {
        let log = self.directory.join(format!("{}.log", NAMES[server]));
        let log = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.data(server)).args(["-p", &self.ports[server].to_string()]);
        // Defaults but for what replication needs, and memory that holds the tables.
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "shared_buffers=512MB",
            "max_wal_size=4GB",
            "wal_level=replica",
            "synchronous_standby_names=*",
            "synchronous_commit=on",
            "fsync=on",
            "hot_standby=on",
        ] {
            command.args(["-c", setting]);
        }
        self.processes.start(command.stderr(Stdio::from(log)))?;
        await_true(&format!("PostgreSQL's {}", NAMES[server]), || Address(self.ports[server]).connect().is_ok())
    }

    fn await_synchronous(&self) -> Result<(), Failure> {
        let mut client = self.address().connect().map_err(|error| format!("PostgreSQL refuses a client: {error:?}"))?;
        let sql = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'";
        await_true("a synchronous standby", || client.query(sql, &[]).is_ok_and(|rows| rows.len() == 1))
    }
}

impl Drop for Replicated {
    /// In order, so that nothing of its shared memory stays behind; the processes are killed afterwards.
    fn drop(&mut self) {
        for server in 0..self.processes.len() {
            let stop = self.command("pg_ctl").and_then(|mut stop| {
                run(stop.arg("-D").arg(self.data(server)).args(["-m", "immediate", "-w", "stop"]))
            });
            if let Err(why) = stop {
                eprintln!("{why}");
            }
        }
    }
}

fn is_root() -> Result<bool, Failure> {
    let id = Command::new("id").arg("-u").output().map_err(|error| format!("cannot run id: {error}"))?;
    Ok(id.stdout.trim_ascii() == b"0")
}

/// Runs a program to its end.
///
/// # Errors
/// It fails: what it said.
pub fn run(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot run {program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn await_true(what: &str, mut is_there: impl FnMut() -> bool) -> Result<(), Failure> {
    let begun = Instant::now();
    while !is_there() {
        if begun.elapsed() > PATIENCE {
            return Err(format!("{what} was not there after {PATIENCE:?}"));
        }
        sleep(LOOK);
    }
    Ok(())
}

//! What all programs that are servers have in common, a single one and the nodes of a cluster: their program, and their clients.

use crate::processes::{Failure, Processes};
use postgres::{Client, Config, NoTls};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The database and the role of a new server.
const NAME: &str = "postgres";

/// The server's program: what was asked for, or else the one beside this program.
///
/// # Errors
/// There is none.
pub fn server_program(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let beside = || std::env::current_exe().ok().map(|lab| lab.with_file_name("seriatim"));
    let program = asked.map(Path::to_owned).or_else(beside).unwrap_or_else(|| "seriatim".into());
    if program.exists() {
        return Ok(program);
    }
    let program = program.display();
    Err(format!("there is no {program}: build it (cargo build --release -p seriatim-cli), or say --server"))
}

/// Waits until a server that was started accepts clients.
///
/// # Errors
/// It ends instead.
pub fn await_ready(processes: &mut Processes, server: usize) -> Result<(), Failure> {
    match processes.hear(server)?.as_str() {
        "ready" => Ok(()),
        other => Err(format!("server {server} says {other:?} instead of ready")),
    }
}

/// A loopback port where PostgreSQL's clients connect.
#[derive(Clone, Copy, Debug)]
pub struct Address(pub u16);

impl Address {
    /// A new session.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn connect(self) -> Result<Client, postgres::Error> {
        Config::new().host("127.0.0.1").port(self.0).user(NAME).dbname(NAME).connect(NoTls)
    }

    /// pgbench with these options.
    pub fn pgbench(self, options: &[&str]) -> Command {
        let mut command = Command::new("pgbench");
        command.args(["-h", "127.0.0.1", "-U", NAME, "-p", &self.0.to_string()]).args(options).arg(NAME);
        command
    }
}

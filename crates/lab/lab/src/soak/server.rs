//! The server under test: a process that is started, inspected and killed.

use super::arguments::SoakArguments;
use crate::new_directory::NewDirectory;
use crate::processes::{Failure, Processes, free_ports};
use crate::servers::{Address, await_ready, server_program};
use env::time::Instant;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// One server and its data.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    options: Vec<String>,
    address: Address,
    /// In front of its data, so that it has ended when that is removed.
    processes: Processes,
    data: NewDirectory,
}

impl Server {
    /// A server that does not run yet.
    ///
    /// # Errors
    /// Its program or a free port is missing, or there is data already.
    pub fn new(arguments: &SoakArguments) -> Result<Server, Failure> {
        let program = server_program(arguments.server.as_deref())?;
        let data = NewDirectory::of(arguments.data.as_deref(), "soak")?;
        Ok(Server {
            program,
            options: arguments.serve_options.split_whitespace().map(str::to_owned).collect(),
            address: Address(free_ports(1)?[0]),
            processes: Processes::default(),
            data,
        })
    }

    /// Starts it on its data and waits until it accepts clients. Returns how long that took.
    ///
    /// # Errors
    /// It ends instead.
    pub fn start(&mut self) -> Result<Duration, Failure> {
        let started = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(["serve", "--pg", &format!("{}:{}", Ipv4Addr::LOCALHOST, self.address.0), "--data"]);
        command.arg(self.data.path()).args(&self.options).stderr(Stdio::inherit());
        match self.processes.len() {
            0 => self.processes.start(&mut command)?,
            _ => self.processes.restart(0, &mut command)?,
        }
        await_ready(&mut self.processes, 0)?;
        Ok(started.elapsed())
    }

    /// Kills it without warning.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&mut self) -> Result<(), Failure> {
        self.processes.kill(0)
    }

    /// Returns its address for clients.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Memory that it uses, in MiB.
    ///
    /// # Errors
    /// It has ended.
    pub fn resident_mb(&self) -> Result<f64, Failure> {
        self.processes.resident_mb()?.first().copied().ok_or_else(|| "the server does not run".to_owned())
    }

    /// Size of its directory, in MiB.
    pub fn disk_mb(&self) -> f64 {
        bytes_below(self.data.path()) as f64 / f64::from(1 << 20)
    }
}

/// Files come and go meanwhile: one that has gone counts nothing.
fn bytes_below(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

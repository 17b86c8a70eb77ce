//! `seriatim order cluster`: replicas as processes of this machine.

use super::monitor::Monitor;
use crate::failure::{Failure, Outcome};
use crate::processes::{LOOK, Process, free_ports, stop_all};
use crate::signals::stop_on_signals;
use clap::Args;
use env::thread::sleep;
use std::ffi::OsString;
use std::io::{self, Write, stdout};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run a cluster on this machine, one process per replica, until Ctrl-C.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order cluster 3\n  \
    seriatim order cluster 5 --data ./data/order --port 9000 -- --window 8 --suspicion 200ms\n\n\
    Prints the replicas' addresses, then `ready` on standard output. A killed replica is not restarted; the others continue \
    while they are a majority.\n\n\
    Exit codes: 0 stopped by the user; 1 no majority of replicas was left; 2 the command could not run.")]
pub struct Cluster {
    /// Number of replicas.
    #[arg(value_parser = clap::value_parser!(u16).range(1..=31))]
    replicas: u16,
    /// Directory for the replicas' journals, one subdirectory each; a restarted cluster resumes from them. Without it, all is in
    /// memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Loopback port of the first replica; the others use the following ports. 0 picks free ports.
    #[arg(long, default_value_t = 7400)]
    port: u16,
    /// File with the key that replicas and clients must share.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Further arguments for each `seriatim order node`.
    #[arg(last = true, value_name = "ARGS")]
    node: Vec<OsString>,
}

impl Cluster {
    pub fn run(&self) -> Outcome {
        let stop = stop_on_signals()?;
        let ports = free_ports(self.port, self.replicas)?;
        let peers: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let mut replicas = Vec::new();
        for id in 0..ports.len() {
            replicas.push(Process::start(format!("replica {id}"), self.command(id, &peers.join(","))?)?);
        }
        for replica in &mut replicas {
            if !replica.is_ready(&stop) && !stop.load(Ordering::Relaxed) {
                return Err(Failure::Trouble(format!("{} does not start", replica.name)));
            }
        }
        self.greet(&replicas, &peers)?;
        let mut monitor = Monitor::start(&peers, self.key.as_deref())?;
        let outcome = watch(&mut replicas, &mut monitor, &stop);
        monitor.iter().for_each(Monitor::finish);
        stop_all(&mut replicas);
        outcome
    }

    fn command(&self, id: usize, peers: &str) -> Outcome<Command> {
        let program = std::env::current_exe().map_err(Failure::trouble)?;
        let mut command = Command::new(program);
        command.args(["order", "node", "--until-stdin-ends", "--id", &id.to_string(), "--peers", peers]);
        if let Some(data) = &self.data {
            command.args(["--durability", "fsync", "--data"]).arg(data.join(format!("replica-{id}")));
        }
        if let Some(key) = &self.key {
            command.arg("--key").arg(key);
        }
        command.args(&self.node);
        Ok(command)
    }

    fn greet(&self, replicas: &[Process], peers: &[String]) -> Outcome {
        let mut out = stdout().lock();
        for (replica, address) in replicas.iter().zip(peers) {
            writeln!(out, "{}  {address}  process {}", replica.name, replica.id())?;
        }
        let key = self.key.as_ref().map_or(String::new(), |key| format!(" --key {}", key.display()));
        writeln!(out, "try:  seriatim order put --at {}{key} colour blue", peers.join(","))?;
        writeln!(out, "ready")?;
        Ok(out.flush()?)
    }
}

/// Waits until it is to stop, or no majority is left.
fn watch(replicas: &mut [Process], monitor: &mut Option<Monitor>, stop: &AtomicBool) -> Outcome {
    while !stop.load(Ordering::Relaxed) {
        replicas.iter_mut().filter_map(Process::ending).for_each(|ending| say(monitor.as_ref(), &ending));
        let ended = replicas.iter().filter(|replica| replica.has_ended()).count();
        if ended * 2 >= replicas.len() {
            let all = replicas.len();
            say(monitor.as_ref(), &format!("seriatim: {ended} of {all} replicas have ended: no majority is left"));
            return Err(Failure::Finding);
        }
        monitor.iter_mut().for_each(Monitor::look);
        sleep(LOOK);
    }
    Ok(())
}

fn say(monitor: Option<&Monitor>, what: &str) {
    match monitor {
        Some(monitor) => monitor.say(what),
        // Whoever read it may be gone.
        None => drop(writeln!(io::stderr(), "{what}")),
    }
}

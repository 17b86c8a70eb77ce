//! `seriatim order cluster`: replicas as processes of this machine.

use super::monitor::Monitor;
use crate::failure::{Failure, Outcome};
use crate::signals::stop_on_signals;
use clap::Args;
use env::thread::{sleep, spawn_named};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write, stdout};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval between checks of the processes.
const LOOK: Duration = Duration::from_millis(50);
/// Time limit for replicas to stop before they are killed.
const STOPPING: Duration = Duration::from_secs(10);

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
        let ports = self.ports()?;
        let peers: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let mut replicas = Vec::new();
        for id in 0..ports.len() {
            replicas.push(Replica::start(id, self.command(id, &peers.join(","))?)?);
        }
        for replica in &mut replicas {
            if !replica.is_ready(&stop) && !stop.load(Ordering::Relaxed) {
                return Err(Failure::Trouble(format!("replica {} does not start", replica.id)));
            }
        }
        self.greet(&replicas, &peers)?;
        let mut monitor = Monitor::start(&peers, self.key.as_deref())?;
        let outcome = watch(&mut replicas, &mut monitor, &stop);
        monitor.iter().for_each(Monitor::finish);
        stop_all(&mut replicas);
        outcome
    }

    fn ports(&self) -> Outcome<Vec<u16>> {
        if self.port != 0 {
            let ports = (0..self.replicas).map(|id| self.port.checked_add(id)).collect::<Option<_>>();
            return ports.ok_or_else(|| {
                Failure::Trouble(format!("{} ports from {} on go beyond 65535", self.replicas, self.port))
            });
        }
        // All are held until all are found, so that they differ.
        let sockets = (0..self.replicas).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<io::Result<Vec<_>>>();
        let ports = sockets.and_then(|sockets| sockets.iter().map(|socket| Ok(socket.local_addr()?.port())).collect());
        ports.map_err(|error: io::Error| Failure::Trouble(format!("no free port: {error}")))
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
        command.args(&self.node).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command)
    }

    fn greet(&self, replicas: &[Replica], peers: &[String]) -> Outcome {
        let mut out = stdout().lock();
        for (replica, address) in replicas.iter().zip(peers) {
            writeln!(out, "replica {}  {address}  process {}", replica.id, replica.child.id())?;
        }
        let key = self.key.as_ref().map_or(String::new(), |key| format!(" --key {}", key.display()));
        writeln!(out, "try:  seriatim order put --at {}{key} colour blue", peers.join(","))?;
        writeln!(out, "ready")?;
        Ok(out.flush()?)
    }
}

/// One replica's process.
struct Replica {
    id: usize,
    child: Child,
    /// Its lines of standard output.
    lines: Receiver<String>,
    ended: bool,
}

impl Replica {
    fn start(id: usize, mut command: Command) -> Outcome<Self> {
        let mut child =
            command.spawn().map_err(|error| Failure::Trouble(format!("cannot start replica {id}: {error}")))?;
        let lines = lines(child.stdout.take())?;
        Ok(Self { id, child, lines, ended: false })
    }

    /// Waits until it takes connections; false if it has ended, or all is to stop.
    fn is_ready(&mut self, stop: &AtomicBool) -> bool {
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) if line == "ready" => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return false,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Returns the exit of the process, once.
    fn ending(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        let how = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        self.ended = true;
        Some(format!("seriatim: replica {} has ended: {how}", self.id))
    }
}

impl Drop for Replica {
    /// No process is left behind, whatever happens here.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The lines that a process writes, until its output ends.
fn lines(out: Option<ChildStdout>) -> Outcome<Receiver<String>> {
    let (sender, lines) = channel();
    let out = out.ok_or_else(|| Failure::trouble("a process has no standard output"))?;
    let read = move || BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| sender.send(line));
    spawn_named("lines", read).map_err(Failure::trouble)?;
    Ok(lines)
}

/// Waits until it is to stop, or no majority is left.
fn watch(replicas: &mut [Replica], monitor: &mut Option<Monitor>, stop: &AtomicBool) -> Outcome {
    while !stop.load(Ordering::Relaxed) {
        replicas.iter_mut().filter_map(Replica::ending).for_each(|ending| say(monitor.as_ref(), &ending));
        let ended = replicas.iter().filter(|replica| replica.ended).count();
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

/// Asks all to stop, and kills those that do not.
fn stop_all(replicas: &mut [Replica]) {
    replicas.iter_mut().for_each(|replica| drop(replica.child.stdin.take()));
    let give_up = Instant::now() + STOPPING;
    for replica in replicas {
        while !replica.ended && Instant::now() < give_up {
            match replica.child.try_wait() {
                Ok(None) => sleep(LOOK),
                Ok(Some(_)) | Err(_) => replica.ended = true,
            }
        }
    }
}

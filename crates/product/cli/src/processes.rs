//! Processes of this program that a supervisor starts, watches and stops.

use crate::failure::{Failure, Outcome};
use env::thread::{sleep, spawn_named};
use std::io::{self, BufRead, BufReader, Read, stdin};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval between checks of the processes.
pub const LOOK: Duration = Duration::from_millis(50);
/// Time limit for processes to stop before they are killed.
const STOPPING: Duration = Duration::from_secs(20);

/// A process, which ends when its standard input does.
pub struct Process {
    /// As it is called in messages: `replica 2`.
    pub name: String,
    child: Child,
    /// Its lines of standard output.
    lines: Receiver<String>,
    has_ended: bool,
}

impl Process {
    /// Starts it.
    pub fn start(name: String, mut command: Command) -> Outcome<Process> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| Failure::Trouble(format!("cannot start {name}: {error}")))?;
        let lines = lines(child.stdout.take())?;
        Ok(Process { name, child, lines, has_ended: false })
    }

    /// Returns its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it takes connections; false if it has ended, or all is to stop.
    pub fn is_ready(&mut self, stop: &AtomicBool) -> bool {
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

    /// Returns how it has ended, once.
    pub fn ending(&mut self) -> Option<String> {
        if self.has_ended {
            return None;
        }
        let how = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        self.has_ended = true;
        Some(format!("seriatim: {} has ended: {how}", self.name))
    }

    /// Whether [`Process::ending`] has returned that it has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl Drop for Process {
    /// No process is left behind, whatever happens here.
    fn drop(&mut self) {
        if !self.has_ended {
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

/// So many loopback ports from `first` on; of zero, free ones.
pub fn free_ports(first: u16, count: u16) -> Outcome<Vec<u16>> {
    if first != 0 {
        let ports = (0..count).map(|at| first.checked_add(at)).collect::<Option<_>>();
        return ports.ok_or_else(|| Failure::Trouble(format!("{count} ports from {first} on go beyond 65535")));
    }
    // All are held until all are found, so that they differ.
    let sockets = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<io::Result<Vec<_>>>();
    let ports = sockets.and_then(|sockets| sockets.iter().map(|socket| Ok(socket.local_addr()?.port())).collect());
    ports.map_err(|error: io::Error| Failure::Trouble(format!("no free port: {error}")))
}

/// Asks all to stop, and kills those that do not.
pub fn stop_all(processes: &mut [Process]) {
    processes.iter_mut().for_each(|process| drop(process.child.stdin.take()));
    let give_up = Instant::now() + STOPPING;
    for process in processes {
        while !process.has_ended && Instant::now() < give_up {
            match process.child.try_wait() {
                Ok(None) => sleep(LOOK),
                Ok(Some(_)) | Err(_) => process.has_ended = true,
            }
        }
    }
}

/// Calls when standard input ends, which it does when whoever holds its other end is gone.
pub fn on_end_of_stdin(call: impl FnOnce() + Send + 'static) -> Outcome {
    let wait = move || {
        let mut byte = [0];
        while matches!(stdin().read(&mut byte), Ok(1)) {}
        call();
    };
    spawn_named("stdin", wait).map(drop).map_err(Failure::trouble)
}

//! Child processes: trials, replicas and servers that are started, watched and killed.

use crate::machine;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// This program, to be started again: the one that runs, also if its file was replaced meanwhile.
///
/// # Errors
/// The operating system does not say where it is.
pub fn own_program() -> io::Result<PathBuf> {
    // A link to the file, and not to its name. Whoever follows it is this process, or its child before it becomes another program.
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { std::env::current_exe() }
}

/// A hash of this program's file: equal for equal programs, and good for nothing else.
///
/// # Errors
/// The file cannot be read.
pub fn own_fingerprint() -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    hasher.write(&std::fs::read(own_program()?)?);
    Ok(format!("{:016x}", hasher.finish()))
}

/// Ends this process when its standard input does: a pipe from the process that started it, so that it does not outlive that one,
/// however that one ended.
pub fn end_with_starter() {
    std::thread::spawn(|| {
        // Whatever the reason is, nobody waits for this process any more.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(1);
    });
}

/// Why something failed: a sentence for the user.
pub type Failure = String;

/// Processes that are killed when this is dropped.
#[derive(Debug, Default)]
pub struct Processes(Vec<Option<Process>>);

#[derive(Debug)]
struct Process {
    child: Mutex<Child>,
    input: ChildStdin,
    output: Lines,
}

impl Processes {
    /// Starts one more.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(&mut self, command: &mut Command) -> Result<(), Failure> {
        let process = Process::start(command)?;
        self.0.push(Some(process));
        Ok(())
    }

    /// Kills the process at `position`, as a machine fails: without a chance to say anything.
    ///
    /// # Errors
    /// It had been killed already.
    pub fn kill(&mut self, position: usize) -> Result<(), Failure> {
        let process = self.0.get_mut(position).and_then(Option::take).ok_or("this process was killed already")?;
        process.end().map_err(|error| format!("cannot kill process {position}: {error}"))
    }

    /// Starts another process in the place of one that was killed.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn restart(&mut self, position: usize, command: &mut Command) -> Result<(), Failure> {
        self.0[position] = Some(Process::start(command)?);
        Ok(())
    }

    /// The next line that the process at `position` writes.
    ///
    /// # Errors
    /// It does not run, or ends.
    pub fn hear(&mut self, position: usize) -> Result<String, Failure> {
        self.process(position)?.output.read()?.ok_or_else(|| format!("process {position} has ended"))
    }

    /// Writes a line to the process at `position`, and reads one.
    ///
    /// # Errors
    /// It does not run, or ends.
    pub fn ask(&mut self, position: usize, question: &str) -> Result<String, Failure> {
        let asked = writeln!(self.process(position)?.input, "{question}");
        asked.map_err(|error| format!("cannot ask process {position}: {error}"))?;
        self.hear(position)
    }

    fn process(&mut self, position: usize) -> Result<&mut Process, Failure> {
        self.0.get_mut(position).and_then(Option::as_mut).ok_or_else(|| format!("process {position} does not run"))
    }

    /// Returns the number of processes, killed ones included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no processes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Time that those which run have spent on processors.
    ///
    /// # Errors
    /// One has ended by itself, or the operating system does not say.
    pub fn cpu_time(&self) -> Result<Duration, Failure> {
        self.running().map(|process| process.ask_system(machine::cpu_time_of)).sum()
    }

    /// Memory that each of those which run uses, in MiB, by position.
    ///
    /// # Errors
    /// One has ended by itself, or the operating system does not say.
    pub fn resident_mb(&self) -> Result<Vec<f64>, Failure> {
        let sizes = self.running().map(|process| process.ask_system(machine::resident_bytes_of));
        sizes.map(|bytes| Ok(bytes? as f64 / f64::from(1 << 20))).collect()
    }

    fn running(&self) -> impl Iterator<Item = &Process> {
        self.0.iter().flatten()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in self.0.iter_mut().filter_map(Option::take) {
            // One that cannot be killed has ended already.
            let _ = process.end();
        }
    }
}

impl Process {
    fn start(command: &mut Command) -> Result<Process, Failure> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Process { child: Mutex::new(child), input, output: Lines::new(output) }),
            _ => Err(format!("{program} has no input or no output")),
        }
    }

    /// Asks the operating system about the process; fails with how it ended, if it has.
    fn ask_system<T>(&self, question: impl Fn(u32) -> Option<T>) -> Result<T, Failure> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let id = child.id();
        question(id).ok_or_else(|| match child.try_wait() {
            Ok(Some(status)) => format!("process {id} has ended by itself: {status}"),
            Ok(None) => format!("process {id} is ending, or the operating system says nothing of it"),
            Err(error) => format!("cannot look at process {id}: {error}"),
        })
    }

    fn end(self) -> std::io::Result<()> {
        let mut child = self.child.into_inner().unwrap_or_else(PoisonError::into_inner);
        let killed = child.kill();
        child.wait()?;
        killed
    }
}

/// Output of a process, line by line.
#[derive(Debug)]
pub struct Lines(BufReader<ChildStdout>);

impl Lines {
    /// Reads from `output`.
    pub fn new(output: ChildStdout) -> Lines {
        Lines(BufReader::new(output))
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&mut self) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).map_err(|error| format!("cannot read what a process says: {error}"))?;
        Ok((read > 0).then(|| line.trim_end().to_owned()))
    }
}

/// Below the ports that the system gives to outgoing connections, so that none of those takes what was free a moment ago.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Returns ports of this machine that are not in use.
///
/// # Errors
/// There are not so many.
pub fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    // Elsewhere for each process, so that two that look at the same time find different ones.
    let start = std::process::id() as usize * 61 % PORTS.len();
    let candidates = PORTS.cycle().skip(start).take(PORTS.len());
    let listening: Vec<TcpListener> =
        candidates.filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()).take(count).collect();
    let ports = listening.iter().map(|listener| listener.local_addr().map(|address| address.port()));
    let ports: Vec<u16> =
        ports.collect::<Result<_, _>>().map_err(|error| format!("cannot find free ports: {error}"))?;
    if ports.len() == count { Ok(ports) } else { Err(format!("there are no {count} free ports")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ() {
        let mut ports = free_ports(5).unwrap();
        ports.dedup();
        assert_eq!(ports.len(), 5);
        assert!(ports.iter().all(|port| PORTS.contains(port)));
    }

    #[test]
    fn a_process_is_heard_and_killed() {
        let mut processes = Processes::default();
        processes.start(Command::new("sh").args(["-c", "echo ready; cat"])).unwrap();
        assert_eq!(processes.hear(0).unwrap(), "ready");
        assert_eq!(processes.ask(0, "an echo").unwrap(), "an echo");
        processes.cpu_time().unwrap();
        processes.kill(0).unwrap();
        assert!(processes.kill(0).is_err());
        assert!(processes.ask(0, "an echo").is_err());
        assert!(processes.resident_mb().unwrap().is_empty());
        assert!(processes.start(&mut Command::new("/no/such/program")).is_err());
    }

    #[test]
    fn a_process_that_ends_by_itself_is_reported_with_its_status() {
        let mut processes = Processes::default();
        processes.start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        assert!(processes.hear(0).is_err(), "it writes nothing, and ends");
        // Its output is closed a moment before it ends.
        while !processes.resident_mb().is_err_and(|report| report.contains("has ended by itself: exit status: 3")) {
            std::thread::yield_now();
        }
    }
}

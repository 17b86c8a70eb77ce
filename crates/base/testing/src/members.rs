//! Members of a cluster of etcd, as processes.

use crate::{Directory, free_ports};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A cluster of etcd on free ports of 127.0.0.1, in a directory that goes with it.
pub struct Members {
    directory: Directory,
    /// For clients, then for members.
    ports: Vec<u16>,
    /// Of the addresses for clients.
    scheme: &'static str,
    arguments: Vec<String>,
    running: Vec<Option<Child>>,
}

impl Members {
    /// Members with these options that listen to clients by this scheme.
    pub fn start(count: u64, scheme: &'static str, arguments: &[&str]) -> Members {
        let ports = free_ports(2 * count as usize);
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let running = (0..count).map(|_| None).collect();
        let mut members = Members { directory: Directory::made("etcd"), ports, scheme, arguments, running };
        (0..count).for_each(|at| members.start_again(at));
        members
    }

    /// Port for clients.
    pub fn port(&self, at: u64) -> u16 {
        self.ports[at as usize]
    }

    /// Address for clients.
    pub fn address(&self, at: u64) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port(at))
    }

    fn peer(&self, at: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[self.running.len() + at])
    }

    /// Starts a member that does not run, on its directory.
    pub fn start_again(&mut self, at: u64) {
        let name = |at: usize| format!("member-{at}");
        let at = at as usize;
        let all: Vec<_> = (0..self.running.len()).map(|at| format!("{}={}", name(at), self.peer(at))).collect();
        let client = self.address(at as u64);
        let log = File::options().create(true).append(true).open(self.directory.join(&(name(at) + ".log"))).unwrap();
        let mut command = Command::new("etcd");
        command
            .args(["--name", &name(at), "--initial-cluster", &all.join(","), "--initial-cluster-state", "new"])
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &self.peer(at), "--initial-advertise-peer-urls", &self.peer(at)])
            .arg("--data-dir")
            .arg(self.directory.join(&name(at)))
            .args(["--logger", "zap", "--log-level", "error"])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let before = self.running[at].replace(command.spawn().unwrap());
        assert!(before.is_none(), "it runs");
    }

    /// Ends a member at once.
    pub fn kill(&mut self, at: u64) {
        if let Some(mut child) = self.running[at as usize].take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Makes a backup of all members, which do not run.
    pub fn back_up(&self) {
        self.copy(self.directory.path(), &self.directory.join("backup"));
    }

    /// Brings the backup back to the members, which do not run.
    pub fn restore(&self) {
        let backup = self.directory.join("backup");
        (0..self.running.len())
            .for_each(|at| std::fs::remove_dir_all(self.directory.join(&format!("member-{at}"))).unwrap());
        self.copy(&backup, self.directory.path());
    }

    fn copy(&self, from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        let members = (0..self.running.len()).map(|at| from.join(format!("member-{at}")));
        let copied = Command::new("cp").arg("-a").args(members).arg(to).status().unwrap();
        assert!(copied.success());
    }

    /// Sends a signal to a member.
    pub fn signal(&self, at: u64, name: &str) {
        let child = self.running[at as usize].as_ref().expect("it runs");
        let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks a member over HTTP, and returns its answer; `None` if there is none.
    pub fn ask(&self, at: u64, path: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port(at))).ok()?;
        write!(
            stream,
            "POST /v3/{path} HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(answer)
    }

    /// Returns a number of a member's answer.
    pub fn number(answer: &str, name: &str) -> Option<u64> {
        let rest = answer.split_once(&format!("\"{name}\":\""))?.1;
        rest.split_once('"')?.0.parse().ok()
    }

    /// The member that leads, waiting for one.
    pub fn leader(&self) -> u64 {
        let leads = |at: &u64| {
            let status = self.ask(*at, "maintenance/status", "{}")?;
            (Members::number(&status, "member_id")? == Members::number(&status, "leader")?).then_some(())
        };
        loop {
            let running = (0..self.running.len() as u64).filter(|at| self.running[*at as usize].is_some());
            if let Some(leader) = running.into_iter().find(|at| leads(at).is_some()) {
                return leader;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        (0..self.running.len() as u64).for_each(|at| self.kill(at));
    }
}

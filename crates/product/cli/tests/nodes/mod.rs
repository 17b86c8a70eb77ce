//! Nodes of a cluster as processes, which are killed, stopped and started again, and their clients.
#![allow(dead_code)]

use postgres::error::SqlState;
use postgres::{Client, Config, Error, NoTls};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use testing::{Directory, Proxy};

/// A host that nobody else uses, in this test or another one: all of 127/8 is the loopback.
fn host() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    format!("127.{}.{}.{}", 1 + process % 254, 1 + process / 254 % 254, 101 + number % 100)
}

/// The nodes of a cluster, and their directory.
pub struct Nodes {
    pub directory: Directory,
    host: String,
    arguments: Vec<String>,
    running: Vec<Option<Process>>,
    links: Option<Links>,
    /// Further arguments of each node's next process.
    next_arguments: Vec<Vec<String>>,
}

/// What the nodes of a cluster reach each other through.
pub struct Links {
    /// Those of the order, and those of the states: by the node that connects, and the one that is connected to.
    proxies: [Vec<Vec<Option<Proxy>>>; 2],
}

/// Where a node listens: for the order, and for states.
fn listens(host: &str, node: usize) -> [String; 2] {
    [format!("{host}:{}", 7400 + node), format!("{host}:{}", 7500 + node)]
}

impl Links {
    fn start(host: &str, count: usize) -> Links {
        let proxy = |kind: usize, from: usize, to: usize| {
            let address = listens(host, to)[kind].parse().unwrap();
            (from != to).then(|| Proxy::between(host.parse().unwrap(), address))
        };
        let from = |kind, from| (0..count).map(|to| proxy(kind, from, to)).collect();
        Links { proxies: [0, 1].map(|kind| (0..count).map(|node| from(kind, node)).collect()) }
    }

    fn count(&self) -> usize {
        self.proxies[0].len()
    }

    /// Those by which a node connects to another one.
    fn between(&self, from: usize, to: usize) -> impl Iterator<Item = &Proxy> {
        self.proxies.iter().filter_map(move |all| all[from][to].as_ref())
    }

    /// Ends all connections between two nodes, and lets none begin.
    pub fn cut(&self, a: usize, b: usize) {
        self.between(a, b).chain(self.between(b, a)).for_each(Proxy::cut);
    }

    /// What a node sends to another one does not arrive for now, whoever has connected; the other direction stays as it is.
    pub fn hold(&self, from: usize, to: usize) {
        self.between(from, to).for_each(Proxy::hold_questions);
        self.between(to, from).for_each(Proxy::hold_answers);
    }

    /// All reach all, and what was held back arrives.
    pub fn heal(&self) {
        let count = self.count();
        let all = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        all.for_each(|(from, to)| self.between(from, to).for_each(Proxy::connect));
    }

    /// The file that describes the cluster to one of its nodes.
    fn file(&self, name: &str, host: &str, node: usize) -> String {
        let of = |to: usize| {
            let mut at = listens(host, to);
            for (address, proxy) in at.iter_mut().zip(self.between(node, to)) {
                *address = proxy.address().to_string();
            }
            at
        };
        described(name, (0..self.count()).map(of))
    }
}

/// The file that describes a cluster.
fn described(name: &str, nodes: impl Iterator<Item = [String; 2]>) -> String {
    let nodes = nodes.map(|[order, state]| format!("\n[[node]]\norder = \"{order}\"\nstate = \"{state}\"\n"));
    format!("name = \"{name}\"\n{}", nodes.collect::<String>())
}

/// A node's process. It does not outlive the test.
pub struct Process {
    child: Child,
    /// Held while the process may run.
    _stdin: Option<ChildStdin>,
    out: BufReader<std::process::ChildStdout>,
    /// Lines of standard error so far.
    said: Arc<Mutex<Vec<String>>>,
}

impl Process {
    pub fn start(command: &mut Command, name: String) -> Process {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, out) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let errors = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::<Mutex<Vec<String>>>::default();
        let hears = said.clone();
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                eprintln!("{name}: {line}");
                hears.lock().unwrap().push(line);
            }
        });
        Process { child, _stdin: stdin, out, said }
    }

    /// Waits until it says `ready`; the lines before. Nothing, if it ends instead.
    pub fn ready(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.out.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end() {
                "ready" => return Some(lines),
                other => lines.push(other.to_owned()),
            }
        }
    }

    /// Waits for a line on standard error with this in it.
    pub fn says(&self, what: &str) -> String {
        loop {
            if let Some(line) = self.said.lock().unwrap().iter().find(|line| line.contains(what)) {
                return line.clone();
            }
            std::thread::yield_now();
        }
    }

    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &process]).status().unwrap().success());
    }

    /// The exit code, when it has ended.
    pub fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended, unless it was to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nodes {
    /// Starts a cluster, and waits until it serves.
    pub fn start(name: &str, count: usize, arguments: &[&str]) -> Nodes {
        let mut nodes = Nodes::described(name, count, arguments);
        nodes.start_all();
        nodes
    }

    /// A cluster whose nodes do not run yet.
    pub fn described(name: &str, count: usize, arguments: &[&str]) -> Nodes {
        let (directory, host) = (Directory::made(name), host());
        directory.file("cluster.toml", described(name, (0..count).map(|node| listens(&host, node))));
        Nodes::of(directory, host, count, arguments)
    }

    /// A cluster whose nodes do not run yet, and reach each other through links that can be cut.
    pub fn linked(name: &str, count: usize, arguments: &[&str]) -> Nodes {
        let (directory, host) = (Directory::made(name), host());
        let links = Links::start(&host, count);
        for node in 0..count {
            directory.file(&format!("cluster-{node}.toml"), links.file(name, &host, node));
        }
        Nodes { links: Some(links), ..Nodes::of(directory, host, count, arguments) }
    }

    /// A cluster over an etcd cluster, whose nodes do not run yet.
    pub fn on_etcd(name: &str, count: usize, endpoints: &[String]) -> Nodes {
        Nodes::on_servers(name, count, &format!("[etcd]\nendpoints = {endpoints:?}\n"))
    }

    /// A cluster over a Kafka cluster, whose nodes do not run yet.
    pub fn on_kafka(name: &str, count: usize, brokers: &[String]) -> Nodes {
        Nodes::on_servers(name, count, &format!("[kafka]\nbrokers = {brokers:?}\n"))
    }

    fn on_servers(name: &str, count: usize, servers: &str) -> Nodes {
        let (directory, host) = (Directory::made(name), host());
        let mut text = format!("name = \"{name}\"\n");
        for node in 0..count {
            let [_, state] = listens(&host, node);
            text.push_str(&format!("\n[[node]]\nstate = \"{state}\"\n"));
        }
        directory.file("cluster.toml", format!("{text}\n{servers}"));
        Nodes::of(directory, host, count, &[])
    }

    /// Describes one more node, without a vote, to those that start from now on.
    pub fn add(&mut self) -> usize {
        let node = self.count();
        let [order, state] = listens(&self.host, node);
        let mut text = std::fs::read_to_string(self.file()).unwrap();
        text.push_str(&format!("\n[[node]]\norder = \"{order}\"\nstate = \"{state}\"\nvotes = false\n"));
        self.directory.file("cluster.toml", &text);
        self.running.push(None);
        self.next_arguments.push(Vec::new());
        node
    }

    fn of(directory: Directory, host: String, count: usize, arguments: &[&str]) -> Nodes {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let (running, next_arguments) = ((0..count).map(|_| None).collect(), vec![Vec::new(); count]);
        Nodes { directory, host, arguments, running, links: None, next_arguments }
    }

    /// The file that describes the cluster to all of its nodes.
    pub fn file(&self) -> PathBuf {
        self.directory.join("cluster.toml")
    }

    fn file_of(&self, node: usize) -> PathBuf {
        match &self.links {
            Some(_) => self.directory.join(&format!("cluster-{node}.toml")),
            None => self.file(),
        }
    }

    /// What its nodes reach each other through.
    pub fn links(&self) -> &Links {
        self.links.as_ref().expect("a cluster with links")
    }

    /// Further arguments of this node from its next start on.
    pub fn next_arguments(&mut self, node: usize, arguments: &[&str]) {
        self.next_arguments[node] = arguments.iter().map(ToString::to_string).collect();
    }

    pub fn data(&self, node: usize) -> PathBuf {
        self.directory.join(&format!("node-{node}"))
    }

    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// Starts all, and waits until they serve: a new cluster needs all of its nodes once.
    pub fn start_all(&mut self) {
        (0..self.count()).for_each(|node| self.spawn(node));
        (0..self.count()).for_each(|node| self.await_ready(node));
    }

    /// Starts one, without waiting for it.
    pub fn spawn(&mut self, node: usize) {
        let mut command = self.command(node, &self.data(node));
        command.arg("--until-stdin-ends");
        self.running[node] = Some(Process::start(&mut command, format!("node {node}")));
    }

    pub fn command(&self, node: usize, data: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
        command.args(["serve", "--pg", &format!("{}:{}", self.host, 5400 + node), "--cluster"]);
        command.arg(self.file_of(node)).args(["--node", &node.to_string(), "--data"]).arg(data).args(&self.arguments);
        command.args(self.next_arguments.get(node).into_iter().flatten());
        command
    }

    pub fn await_ready(&mut self, node: usize) {
        assert!(self.process(node).ready().is_some(), "node {node} has ended before it was ready");
    }

    pub fn revive(&mut self, node: usize) {
        self.spawn(node);
        self.await_ready(node);
    }

    pub fn process(&mut self, node: usize) -> &mut Process {
        self.running[node].as_mut().expect("it runs")
    }

    /// Kill -9.
    pub fn kill(&mut self, node: usize) {
        drop(self.running[node].take().expect("it runs"));
    }

    /// SIGTERM, and the exit code.
    pub fn stop(&mut self, node: usize) -> Option<i32> {
        let process = self.running[node].take().expect("it runs");
        process.signal("TERM");
        process.end()
    }

    /// Tries to connect once.
    pub fn try_client(&self, node: usize) -> Result<Client, Error> {
        connect(&self.host, node)
    }

    /// A session at a node that serves.
    pub fn client(&self, node: usize) -> Client {
        self.try_client(node).unwrap()
    }

    /// What connects clients while the nodes are killed.
    pub fn door(&self) -> Door {
        Door { host: self.host.clone(), nodes: self.count() }
    }
}

fn connect(host: &str, node: usize) -> Result<Client, Error> {
    let mut config = Config::new();
    config.host(host).port(5400 + node as u16).user("postgres").dbname("postgres");
    config.connect_timeout(std::time::Duration::from_secs(60));
    config.connect(NoTls)
}

/// Connects clients while the nodes are killed.
#[derive(Clone)]
pub struct Door {
    host: String,
    pub nodes: usize,
}

impl Door {
    pub fn try_client(&self, node: usize) -> Result<Client, Error> {
        connect(&self.host, node)
    }
}

/// The texts of a query's only column.
pub fn texts(client: &mut Client, sql: &str) -> Vec<String> {
    use postgres::SimpleQueryMessage::Row;
    let messages = client.simple_query(sql).unwrap_or_else(|error| panic!("{sql}: {}", words(&error)));
    let rows = messages.iter().filter_map(|message| if let Row(row) = message { Some(row) } else { None });
    rows.map(|row| (0..row.len()).map(|at| row.get(at).unwrap_or("")).collect::<Vec<_>>().join("|")).collect()
}

/// The only value of a query.
#[track_caller]
pub fn show(client: &mut Client, sql: &str) -> String {
    texts(client, sql).join("\n")
}

/// What the server says of an error.
pub fn words(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} {} {}", said.code().code(), said.message(), said.detail().unwrap_or_default()),
        None => error.to_string(),
    }
}

/// Whether a transaction had no effect and may be run again: a conflict, or a node that has not caught up.
pub fn is_to_repeat(error: &Error) -> bool {
    error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) || error.code() == Some(&SqlState::CANNOT_CONNECT_NOW)
}

/// Runs a statement that has no effect twice over, until it succeeds.
pub fn until_done(client: &mut Client, sql: &str) {
    loop {
        match client.batch_execute(sql) {
            Ok(()) => return,
            Err(error) if is_to_repeat(&error) => {}
            Err(error) => panic!("{sql}: {}", words(&error)),
        }
    }
}

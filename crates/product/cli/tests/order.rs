//! `seriatim order`, from the outside: clusters of processes, which are killed.

mod common;

use common::{Directory, Ran, TIME_LIMIT, run, run_while, seriatim};
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Runs a command that is refused with this complaint, as soon as it has tried to connect.
#[track_caller]
fn refused_at_last(complaint: &str, run: impl Fn() -> Ran) {
    run_while(|ran| ran.code == 2 && !ran.err.contains(complaint), run).refused(2, complaint);
}

/// A process of ours, which does not outlive the test.
struct Process {
    child: Child,
    /// Held while the process may run.
    _stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it, and waits until it is ready; the lines before.
    fn start(command: &mut Command) -> (Self, Vec<String>) {
        Self::try_start(command).unwrap_or_else(|lines| panic!("it ended before it was ready: {lines:?}"))
    }

    /// The same; only the lines if it has ended instead.
    fn try_start(command: &mut Command) -> Result<(Self, Vec<String>), Vec<String>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, out) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut process = Self { child, _stdin: stdin, out };
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if process.out.read_line(&mut line).unwrap() == 0 {
                return Err(lines);
            }
            match line.trim_end() {
                "ready" => return Ok((process, lines)),
                other => lines.push(other.to_owned()),
            }
        }
    }

    /// Kill -9.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ctrl-C; the exit code.
    fn interrupt(mut self) -> Option<i32> {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Addresses that nobody else uses, in this test or another one: all of 127/8 is the loopback.
fn addresses(count: u16) -> Vec<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let host = format!("127.{}.{}.{}", 1 + process % 254, 1 + process / 254 % 254, 1 + number % 254);
    (0..count).map(|id| format!("{host}:{}", 7400 + id)).collect()
}

/// Nodes started one by one.
struct Nodes {
    addresses: Vec<String>,
    arguments: Vec<String>,
    running: Vec<Option<Process>>,
}

impl Nodes {
    fn start(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let mut nodes = Self { addresses: addresses(3), arguments, running: vec![None, None, None] };
        (0..3).for_each(|id| nodes.revive(id));
        nodes
    }

    fn fsync(directory: &Directory) -> Self {
        let data = format!("{}/DATA", directory.path().display());
        Self::start(&["--durability", "fsync", "--data", &data])
    }

    /// Starts one, or starts it again.
    fn revive(&mut self, id: usize) {
        let mut command = seriatim();
        command.args(["order", "node", "--until-stdin-ends", "--suspicion", "150ms"]);
        command.args(["--id", &id.to_string(), "--peers", &self.at()]);
        command.args(self.arguments.iter().map(|argument| argument.replace("DATA", &format!("replica-{id}"))));
        self.running[id] = Some(Process::start(command.stderr(Stdio::null())).0);
    }

    fn kill(&mut self, id: usize) {
        self.running[id].take().expect("it runs").kill();
    }

    fn at(&self) -> String {
        self.addresses.join(",")
    }

    /// A command to this cluster.
    fn ask(&self, arguments: &[&str]) -> Ran {
        let at = self.at();
        run([&["order"], arguments, &["--at", &at, "--timeout", "60s"]].concat())
    }

    /// Returns the replica's status.
    fn status(&self, id: usize) -> Json {
        let all = run(["order", "status", "--format", "json", &self.addresses[id]]).ok();
        serde_json::from_str::<Json>(&all).unwrap()[0]["status"].take()
    }

    /// Returns the leader according to a running replica.
    fn leader(&self) -> usize {
        loop {
            let known = (0..3).filter(|id| self.running[*id].is_some()).find_map(|id| {
                let leader = self.status(id)["leader"].as_u64()? as usize;
                self.running[leader].is_some().then_some(leader)
            });
            if let Some(leader) = known {
                return leader;
            }
        }
    }
}

#[test]
fn a_cluster_serves_one_map_at_every_replica_and_stops_with_ctrl_c() {
    let directory = Directory::new("order-cluster");
    let errors = directory.file("errors", "");
    let start = || {
        let mut command = seriatim();
        command.args(["order", "cluster", "3", "--port", "0", "--data"]).arg(directory.path());
        let begun = Instant::now();
        let (cluster, lines) = loop {
            match Process::try_start(command.stderr(File::create(&errors).unwrap())) {
                Ok(started) => break started,
                // Somebody else has taken a port since it was found free.
                Err(lines) => {
                    let said = std::fs::read_to_string(&errors).unwrap();
                    let is_taken = said.contains("cannot listen on") && begun.elapsed() < TIME_LIMIT;
                    assert!(is_taken, "it ended before it was ready: {lines:?} {said}");
                }
            }
        };
        let replicas = lines.iter().filter(|line| line.starts_with("replica "));
        let addresses: Vec<_> = replicas.map(|line| line.split_whitespace().nth(2).unwrap().to_owned()).collect();
        assert_eq!(addresses.len(), 3, "{lines:?}");
        (cluster, addresses)
    };
    let (cluster, addresses) = start();
    let at = |id: usize, arguments: &[&str]| run([&["order"], arguments, &["--at", &addresses[id]]].concat());
    assert_eq!(at(0, &["put", "colour", "blue"]).ok(), "");
    (0..3).for_each(|id| assert_eq!(at(id, &["get", "colour"]).ok(), "blue\n"));
    at(1, &["cas", "colour", "--expect", "red", "--set", "green"]).refused(1, "blue");
    at(1, &["cas", "colour", "--expect", "blue", "--set", "green"]).ok();
    at(2, &["cas", "colour", "--expect-none", "--delete"]).refused(1, "green");
    assert_eq!(at(2, &["add", "visits", "5"]).ok(), "5\n");
    assert_eq!(at(0, &["add", "visits", "-7"]).ok(), "-2\n");
    at(0, &["add", "colour"]).refused(2, "not a decimal integer");
    assert_eq!(at(1, &["list"]).ok(), "colour\tgreen\nvisits\t-2\n");
    assert_eq!(at(1, &["list", "--limit", "1", "--format", "json"]).ok().matches("\"more\": true").count(), 1);
    at(2, &["del", "colour"]).ok();
    assert_eq!(at(2, &["del", "colour"]).code, 1);
    assert_eq!(at(2, &["get", "colour"]).code, 1);
    // They are asked one after the other, and a busy machine may change the leader in between.
    let status = || run(["order", "status"].into_iter().chain(addresses.iter().map(String::as_str)));
    let table = run_while(|ran| ran.code == 0 && ran.out.matches("leader").count() != 1, status).ok();
    assert_eq!((table.lines().count(), table.matches("leader").count()), (4, 1), "{table}");
    assert_eq!(cluster.interrupt(), Some(0));

    let (cluster, addresses) = start();
    assert_eq!(run(["order", "get", "visits", "--at", &addresses.join(",")]).ok(), "-2\n");
    // Its replicas do not outlive it, however it ends.
    cluster.kill();
    while run(["order", "status", "--timeout", "100ms", &addresses[0], &addresses[1], &addresses[2]]).code != 2 {}
}

/// A client counts up, one acknowledged step after another, while processes are killed.
#[test]
fn no_kill_takes_an_acknowledged_request_away_or_executes_it_twice() {
    let directory = Directory::new("order-kill");
    let mut nodes = Nodes::fsync(&directory);
    let mut count = 0;
    let mut step = |nodes: &Nodes| {
        count += 1;
        assert_eq!(nodes.ask(&["add", "count"]).ok(), format!("{count}\n"));
    };
    (0..3).for_each(|_| step(&nodes));
    let leader = nodes.leader();
    // While a client waits for its answers.
    std::thread::scope(|scope| {
        let at = nodes.at();
        let client = scope.spawn(move || {
            (1..=20).for_each(|number| {
                let added = run(["order", "add", "other", "--at", &at, "--timeout", "60s"]).ok();
                assert_eq!(added, format!("{number}\n"));
            });
        });
        nodes.kill(leader);
        (0..3).for_each(|_| step(&nodes));
        client.join().unwrap();
    });
    nodes.revive(leader);
    let second = nodes.leader();
    nodes.kill(second);
    (0..3).for_each(|_| step(&nodes));
    // All at once: what was acknowledged is on the disks of a majority.
    (0..3).filter(|id| *id != second).collect::<Vec<_>>().into_iter().for_each(|id| nodes.kill(id));
    (0..3).for_each(|id| nodes.revive(id));
    step(&nodes);
    assert_eq!(nodes.ask(&["get", "count"]).ok(), "10\n");
    assert_eq!(nodes.ask(&["get", "other"]).ok(), "20\n");
}

#[test]
fn without_a_journal_a_killed_replica_comes_back_as_a_learner() {
    let directory = Directory::new("order-learner");
    let data = format!("{}/DATA", directory.path().display());
    let mut nodes = Nodes::start(&["--data", &data]);
    nodes.ask(&["put", "a", "1"]).ok();
    let leader = nodes.leader();
    nodes.kill(leader);
    nodes.revive(leader);
    nodes.ask(&["put", "b", "2"]).ok();
    let status = nodes.status(leader);
    assert_eq!(
        (status["role"].as_str(), status["id"].as_u64()),
        (Some("learner"), Some(leader as u64 + 3)),
        "{status}"
    );
    let listed = run(["order", "list", "--timeout", "60s", "--at", &nodes.addresses[leader]]).ok();
    assert_eq!(listed, "a\t1\nb\t2\n");
}

#[test]
fn a_replica_that_nothing_reminds_of_its_promises_is_refused_by_the_others() {
    let mut nodes = Nodes::start(&[]);
    nodes.ask(&["put", "a", "1"]).ok();
    let (leader, at) = (nodes.leader(), nodes.at());
    nodes.kill(leader);
    let again = ["order", "node", "--id", &leader.to_string(), "--peers", &at, "--suspicion", "150ms"];
    run(again).refused(2, "has lost its promises");
    assert_eq!(nodes.ask(&["get", "a"]).ok(), "1\n");
}

#[test]
fn whoever_has_the_wrong_key_is_not_served() {
    let directory = Directory::made("order-key");
    let [own, clients, wrong] =
        ["own", "clients", "wrong"].map(|name| directory.file(name, name.repeat(20)).display().to_string());
    let nodes = Nodes::start(&["--key", &own, "--client-key", &clients]);
    nodes.ask(&["put", "a", "1", "--key", &clients]).ok();
    let refused = |arguments: &[&str], complaint| {
        let at = nodes.at();
        let get = [&["order", "get", "a", "--timeout", "500ms", "--at", &at], arguments].concat();
        refused_at_last(complaint, || run(&get));
    };
    refused(&["--key", &wrong], "key");
    refused(&[], "key");
    run(["order", "status", "--key", &wrong, &nodes.addresses[0]]).refused(2, "no replica has answered");
    let missing = directory.join("missing").display().to_string();
    refused(&["--key", &missing], "missing: the key file cannot be read");
}

#[test]
fn one_replica_of_three_is_no_majority_and_a_client_is_told() {
    let mut nodes = Nodes::start(&[]);
    nodes.ask(&["put", "a", "1"]).ok();
    nodes.kill(1);
    nodes.kill(2);
    let at = nodes.at();
    run(["order", "get", "a", "--timeout", "1s", "--at", &at]).refused(2, "in time");
    let status = run(["order", "status", &nodes.addresses[0], &nodes.addresses[1]]);
    status.refused(1, "memory");
}

#[test]
fn a_directory_belongs_to_one_replica() {
    let directory = Directory::new("order-resident");
    let mut nodes = Nodes::fsync(&directory);
    let at = nodes.at();
    let other = |id: &str, durability: &str| {
        let data = directory.join("replica-1");
        let arguments = ["order", "node", "--id", id, "--peers", &at, "--listen", "127.0.0.1:0"];
        let arguments = [&arguments[..], &["--durability", durability, "--data"]].concat();
        run(arguments.into_iter().map(Path::new).chain([data.as_path()]))
    };
    other("1", "fsync").refused(2, "locked");
    nodes.kill(1);
    other("2", "fsync").refused(2, "id 1, not 2");
    other("1", "memory").refused(2, "durability fsync, not memory");
}

#[test]
fn arguments_that_cannot_be_are_explained() {
    let node = |arguments: &[&str]| run([&["order", "node"], arguments].concat());
    node(&["--id", "0"]).refused(2, "--peers");
    node(&["--id", "3", "--peers", "127.0.0.1:1,127.0.0.1:2"]).refused(2, "a learner needs --listen");
    node(&["--id", "0", "--peers", "127.0.0.1:0", "--durability", "fsync"]).refused(2, "needs a data directory");
    node(&["--id", "0", "--peers", "192.0.2.1:7400"]).refused(2, "without a shared key");
    node(&["--id", "0", "--peers", "127.0.0.1:0", "--window", "0"]).refused(2, "option window must be 1 to 1,024");
    node(&["--id", "0", "--peers", "127.0.0.1:0", "--batch-bytes", "lots"]).refused(2, "not a size");
    run(["order", "cluster", "0"]).refused(2, "0 is not in 1..=31");
    run(["order", "cluster", "3", "--port", "65535"]).refused(2, "3 ports from 65535");
    run(["order", "cluster", "1", "--port", "0", "--", "--window", "0"]).refused(2, "replica 0 does not start");
    run(["order", "cas", "key", "--set", "value"]).refused(2, "--expect");
    let get = ["order", "get", "key", "--at", "127.0.0.1:1", "--timeout", "200ms"];
    refused_at_last("127.0.0.1:1", || run(get));
}

#[test]
fn a_load_is_generated_and_reported() {
    let nodes = Nodes::start(&["--service", "empty"]);
    let at = nodes.at();
    let load = |arguments: &[&str]| run([&["order", "load", "--seconds", "300ms", "--at", &at], arguments].concat());
    let counted = |arguments: &[&str]| {
        run_while(|ran| ran.code == 2 && ran.err.contains("no request was executed"), || load(arguments)).ok()
    };
    let report = counted(&["--warm-up", "300ms", "--clients", "50", "--format", "json"]);
    let report: Json = serde_json::from_str(&report).unwrap();
    assert!(report["requests"].as_u64().unwrap() > 0, "{report}");
    assert_eq!((&report["clients"], &report["connections"]), (&50.into(), &3.into()), "{report}");
    let table = counted(&["--warm-up", "0", "--rate", "1000", "--size", "1kB", "--connections", "1"]);
    assert!(table.contains("p99.9"), "{table}");
    load(&["--clients", "0"]).refused(2, "0 is not in 1..");
    load(&["--rate", "0"]).refused(2, "not a number of requests a second");
    load(&["--size", "9MB"]).refused(2, "at most 8388608 bytes");
    let nowhere = ["order", "load", "--at", "127.0.0.1:1", "--seconds", "100ms", "--warm-up", "0"];
    refused_at_last("127.0.0.1:1", || run(nowhere));
}

/// The same load on orders that need nothing else; and etcd's, where there is none.
#[test]
fn orders_are_compared_by_one_load() {
    let bench = |arguments: &[&str]| {
        let common = ["order", "bench", "--open", "8", "--seconds", "200ms", "--warm-up", "100ms", "--format", "json"];
        run([&common[..], arguments].concat())
    };
    let data = Directory::made("order-bench");
    let data = data.path().to_str().unwrap();
    for (arguments, durable) in [
        (&["--order", "sequencer", "--nodes", "2"][..], false),
        (&["--order", "paxos", "--nodes", "1"], false),
        (&["--order", "paxos", "--nodes", "1", "--data", data], true),
    ] {
        // A busy machine may deliver nothing in so short a time.
        let ran = bench(arguments);
        if ran.code == 2 && ran.err.contains("nothing was delivered") {
            continue;
        }
        let row: Json = serde_json::from_str(&ran.ok()).unwrap();
        assert_eq!((&row["order"], &row["durable"]), (&arguments[1].into(), &durable.into()));
        assert!(row["proposals_per_s"].as_f64().unwrap() > 0.0 && row["p50_us"].as_f64().unwrap() > 0.0);
    }
    bench(&["--order", "sequencer", "--size", "0"]).refused(2, "a payload has 1 to 8388608 bytes");
    bench(&["--order", "etcd", "--endpoints", "nowhere at all"]).refused(2, "this is no address of an etcd member");
}

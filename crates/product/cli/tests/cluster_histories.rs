//! Clients on all nodes of a cluster whose nodes are killed, stopped, paused and emptied, cut off from each other, and have clocks that
//! are wrong in different ways: what the clients have seen and done has one serial order, and it agrees with real time.
//!
//! The nodes reach each other through proxies. A node is cut off at once, or what it sends or hears does not arrive for a while, with
//! all others or with one. Each life of a node has another clock: the time of day, the ticks of the engine and the timers of the order
//! differ by hours, and pass up to three times as fast or as slow as they should.
//!
//! `BUDGET=600 cargo test -p seriatim-cli --test cluster_histories` runs longer, and `SEED=7` another history.

mod nodes;

use check::{History, Model, Operation, Record, Status, judge};
use env::Randomness;
use nodes::{Door, Nodes, is_to_repeat, until_done, words};
use postgres::Client;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Clients of each node.
const CLIENTS: usize = 2;
const LISTS: u64 = 6;
const REGISTERS: u64 = 16;
/// Transactions that each node which should go on commits in a round.
const COMMITS: u64 = 20;
/// Attempts after which a round in which perhaps nobody goes on has lasted long enough.
const ATTEMPTS: u64 = 60;

/// What the clients of a cluster have done.
struct Recording {
    door: Door,
    begun: Instant,
    stop: AtomicBool,
    records: Mutex<Vec<Record>>,
    /// Names of transactions and values: unique.
    next: AtomicU64,
    /// Transactions that committed at each node.
    committed: Vec<AtomicU64>,
    /// Transactions that have ended, however.
    ended: AtomicU64,
    /// A client has panicked.
    is_broken: AtomicBool,
}

/// Says so when a client panics, so that nobody waits for it.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(std::thread::panicking(), Ordering::SeqCst);
    }
}

/// How a statement has ended.
enum Failed {
    /// The transaction certainly had no effect.
    NoEffect,
    /// The connection is of no use any more.
    Gone,
    /// It may have committed.
    Unknown,
}

impl Recording {
    fn new(door: Door) -> Recording {
        Recording {
            door,
            begun: Instant::now(),
            stop: AtomicBool::new(false),
            records: Mutex::default(),
            next: AtomicU64::new(1),
            committed: (0..3).map(|_| AtomicU64::new(0)).collect(),
            ended: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap()
    }

    fn unique(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// A client's life: sessions, one after the other.
    fn live(&self, node: usize, process: u64, mut random: Randomness) {
        let _alarm = Alarm(&self.is_broken);
        while !self.stop.load(Ordering::SeqCst) {
            let Ok(mut session) = self.door.try_client(node) else {
                std::thread::yield_now();
                continue;
            };
            let mut is_there = true;
            while is_there && !self.stop.load(Ordering::SeqCst) {
                is_there = self.transaction(&mut session, node, process, &mut random);
            }
        }
    }

    /// Runs a transaction and records it; false if the session is gone.
    fn transaction(&self, session: &mut Client, node: usize, process: u64, random: &mut Randomness) -> bool {
        let (id, start_ns) = (self.unique(), self.now());
        let mut operations = Vec::new();
        let how = match random.in_range(0..4) {
            0 => None,
            1 => Some("BEGIN READ ONLY"),
            _ => Some("BEGIN"),
        };
        let ended = self.run(session, how, random, &mut operations);
        let end_ns = self.now();
        let (status, is_there) = match ended {
            Ok(()) => (Status::Committed, true),
            Err(Failed::NoEffect) => (Status::Aborted, how.is_none_or(|_| session.batch_execute("ROLLBACK").is_ok())),
            Err(Failed::Gone) => (Status::Aborted, false),
            Err(Failed::Unknown) => (Status::Unknown, false),
        };
        if status == Status::Committed {
            self.committed[node].fetch_add(1, Ordering::SeqCst);
        }
        let record = Record { id, process, start_ns, end_ns, status, serial_point: None, operations };
        self.records.lock().unwrap().push(record);
        self.ended.fetch_add(1, Ordering::SeqCst);
        is_there
    }

    fn run(
        &self,
        session: &mut Client,
        how: Option<&str>,
        random: &mut Randomness,
        operations: &mut Vec<Operation>,
    ) -> Result<(), Failed> {
        let Some(begin) = how else {
            // Its only statement is its COMMIT.
            return self.operation(session, random.chance(1, 2), random, operations).map_err(|failed| match failed {
                Failed::Gone => Failed::Unknown,
                failed => failed,
            });
        };
        session.batch_execute(begin).map_err(|error| failed(&error))?;
        for _ in 0..random.in_range(1..5) {
            let writes = begin == "BEGIN" && random.chance(3, 5);
            self.operation(session, writes, random, operations)?;
        }
        session.batch_execute("COMMIT").map_err(|error| match failed(&error) {
            Failed::Gone => Failed::Unknown,
            failed => failed,
        })
    }

    fn operation(
        &self,
        session: &mut Client,
        writes: bool,
        random: &mut Randomness,
        operations: &mut Vec<Operation>,
    ) -> Result<(), Failed> {
        let failed = |error: postgres::Error| failed(&error);
        let list = random.in_range(0..LISTS);
        let register = random.in_range(0..REGISTERS);
        let (list_key, value) = (format!("list {list}"), self.unique());
        match (writes, random.chance(1, 2)) {
            (true, true) => {
                // Noted first: where the outcome is unknown, it may have happened.
                operations.push(Operation::Append { key: list_key.into(), value: value.into() });
                let sql = format!("UPDATE lists SET v = v || ' {value}' WHERE k = {list}");
                session.batch_execute(&sql).map_err(failed)?;
            }
            (true, false) => {
                operations.push(Operation::Write { key: register.into(), value: value.into(), version: None });
                let sql = format!(
                    "INSERT INTO registers VALUES ({register}, {value}) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v"
                );
                session.batch_execute(&sql).map_err(failed)?;
            }
            (false, true) => {
                let row = session.query_one(&format!("SELECT v FROM lists WHERE k = {list}"), &[]).map_err(failed)?;
                let values: &str = row.get(0);
                let values = values.split_whitespace().map(|value| value.parse::<u64>().unwrap().into()).collect();
                operations.push(Operation::ReadList { key: list_key.into(), values });
            }
            (false, false) => {
                let high = random.in_range(register..REGISTERS);
                let sql = format!("SELECT k, v FROM registers WHERE k BETWEEN {register} AND {high}");
                let rows = session.query(&sql, &[]).map_err(failed)?;
                let number = |value: i64| u64::try_from(value).unwrap().into();
                let entries = rows.iter().map(|row| (number(row.get(0)), number(row.get(1)))).collect();
                operations.push(Operation::Scan { low: Some(register.into()), high: Some(high.into()), entries });
            }
        }
        Ok(())
    }

    /// Waits until each of these nodes has committed so many transactions more.
    fn await_commits(&self, nodes: &[usize]) {
        for node in nodes {
            self.await_count(&self.committed[*node], COMMITS);
        }
    }

    /// Waits until so many transactions more have ended, however.
    fn await_attempts(&self) {
        self.await_count(&self.ended, ATTEMPTS);
    }

    fn await_count(&self, count: &AtomicU64, more: u64) {
        let before = count.load(Ordering::SeqCst);
        while count.load(Ordering::SeqCst) < before + more {
            assert!(!self.is_broken.load(Ordering::SeqCst), "a client has failed");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn failed(error: &postgres::Error) -> Failed {
    match error.as_db_error() {
        Some(_) if is_to_repeat(error) => Failed::NoEffect,
        Some(said) if said.code().code() == "08007" => Failed::Unknown,
        Some(said) if said.code().code() == "57P01" => Failed::Gone,
        // A duplicate key may be another client's insertion of the same key, and a cancelled wait one for its row.
        Some(_) => panic!("{}", words(error)),
        None => Failed::Gone,
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// What happens to a node in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// It stands still.
    Pause,
    /// It is asked to stop.
    Stop,
    /// It is killed.
    Kill,
    /// It is killed, and loses its directory.
    Empty,
    /// Its connections to all others end.
    CutOff,
    /// Nothing passes between it and all others, and nobody is told.
    Silence,
    /// What it sends does not arrive.
    Mute,
    /// What others send does not arrive at it.
    Deaf,
    /// What it sends to the next node does not arrive there.
    Link,
}

impl Trouble {
    /// While all have their votes.
    const ALL: [Trouble; 8] = [
        Trouble::Pause,
        Trouble::Stop,
        Trouble::Kill,
        Trouble::CutOff,
        Trouble::Silence,
        Trouble::Mute,
        Trouble::Deaf,
        Trouble::Link,
    ];

    /// After a vote was lost.
    const AFTER: [Trouble; 4] = [Trouble::Kill, Trouble::CutOff, Trouble::Pause, Trouble::Silence];

    /// In some order.
    fn shuffled(troubles: &[Trouble], random: &mut Randomness) -> Vec<Trouble> {
        let mut all = troubles.to_vec();
        for at in (1..all.len()).rev() {
            all.swap(at, random.in_range(0..at as u64 + 1) as usize);
        }
        all
    }
}

/// The cluster, its clients, and what has happened to it.
struct Run {
    nodes: Nodes,
    recording: Arc<Recording>,
    random: Randomness,
    /// One vote may be lost for good; the nodes that have theirs must be a majority.
    has_emptied: Option<usize>,
}

impl Run {
    /// Starts a node with another clock than before.
    fn spawn(&mut self, node: usize) {
        let (ahead, hours) = (self.random.chance(1, 2), self.random.in_range(0..48));
        let rate = self.random.in_range(33..300);
        let sign = if ahead { "" } else { "-" };
        self.nodes.next_arguments(node, &["--test-clock", &format!("{sign}{}:{rate}", hours * 3600)]);
        self.nodes.spawn(node);
    }

    fn revive(&mut self, node: usize) {
        self.spawn(node);
        self.nodes.await_ready(node);
    }

    /// A round: something happens to a node, the others go on if they are enough, and in the end all do.
    fn round(&mut self, trouble: Trouble, node: usize) {
        let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
        let is_needed = self.has_emptied.is_some_and(|emptied| emptied != node);
        let recording = self.recording.clone();
        // Without a majority nothing happens, but that clients give up.
        let others_go_on = || {
            if !is_needed {
                recording.await_commits(&others);
            }
        };
        match trouble {
            Trouble::Pause => {
                self.nodes.process(node).signal("STOP");
                others_go_on();
                self.nodes.process(node).signal("CONT");
            }
            Trouble::Stop => {
                assert_eq!(self.nodes.stop(node), Some(0));
                others_go_on();
                self.revive(node);
            }
            Trouble::Empty => {
                assert_eq!(self.has_emptied, None, "of two lost votes a majority does not come back");
                self.nodes.kill(node);
                std::fs::remove_dir_all(self.nodes.data(node)).unwrap();
                others_go_on();
                self.revive(node);
                self.has_emptied = Some(node);
            }
            Trouble::Kill => {
                self.nodes.kill(node);
                others_go_on();
                self.revive(node);
            }
            Trouble::CutOff => {
                self.partition(others_go_on, |links| others.iter().for_each(|other| links.cut(node, *other)))
            }
            Trouble::Silence => self.partition(others_go_on, |links| {
                others.iter().for_each(|other| links.hold(node, *other));
                others.iter().for_each(|other| links.hold(*other, node));
            }),
            Trouble::Mute => {
                self.partition(others_go_on, |links| others.iter().for_each(|other| links.hold(node, *other)))
            }
            // It takes the others for dead, and they hear so: they may not get far.
            Trouble::Deaf => self.partition(
                || recording.await_attempts(),
                |links| others.iter().for_each(|other| links.hold(*other, node)),
            ),
            Trouble::Link => self.partition(|| recording.await_attempts(), |links| links.hold(node, (node + 1) % 3)),
        }
        recording.await_commits(&[0, 1, 2]);
    }

    fn partition(&self, meanwhile: impl FnOnce(), begin: impl FnOnce(&nodes::Links)) {
        begin(self.nodes.links());
        meanwhile();
        self.nodes.links().heal();
    }
}

#[test]
fn histories_of_clients_on_all_nodes_are_strictly_serializable() {
    // Each trouble once; then more of them, as far as the time goes; then a vote is lost, and some more.
    let least = Trouble::ALL.len();
    let (seed, rounds, seconds) = (number("SEED", 1), number("ROUNDS", 1000) as usize, number("BUDGET", 40));
    println!("SEED={seed} ROUNDS={rounds} BUDGET={seconds}");
    let mut random = Randomness::from_seed(seed);
    let mut shuffle = Randomness::from_seed(random.next_u64());
    let nodes = Nodes::linked("histories", 3, &[]);
    let recording = Arc::new(Recording::new(nodes.door()));
    let mut run = Run {
        nodes,
        recording: recording.clone(),
        random: Randomness::from_seed(random.next_u64()),
        has_emptied: None,
    };
    (0..3).for_each(|node| run.spawn(node));
    (0..3).for_each(|node| run.nodes.await_ready(node));
    let mut first = until_served(|| run.nodes.try_client(0));
    until_done(&mut first, "CREATE TABLE lists (k int PRIMARY KEY, v text)");
    until_done(&mut first, "CREATE TABLE registers (k bigint PRIMARY KEY, v bigint)");
    until_done(&mut first, &format!("INSERT INTO lists SELECT g, '' FROM generate_series(0, {}) g", LISTS - 1));
    drop(first);
    let clients = (0..3 * CLIENTS).map(|client| {
        let (recording, random) = (recording.clone(), Randomness::from_seed(random.next_u64()));
        std::thread::spawn(move || recording.live(client % 3, client as u64, random))
    });
    let clients: Vec<_> = clients.collect();
    recording.await_commits(&[0, 1, 2]);
    let mut round = |trouble: Trouble| {
        let node = random.in_range(0..3) as usize;
        println!("{:6} ms: {trouble:?} of node {node}", recording.begun.elapsed().as_millis());
        run.round(trouble, node);
    };
    let mut deck = Vec::new();
    for at in 0..rounds.max(least) {
        if at >= least && recording.begun.elapsed().as_secs() >= seconds {
            break;
        }
        if deck.is_empty() {
            deck = Trouble::shuffled(&Trouble::ALL, &mut shuffle);
        }
        round(deck.pop().unwrap());
    }
    round(Trouble::Empty);
    Trouble::shuffled(&Trouble::AFTER, &mut shuffle).into_iter().for_each(round);
    recording.stop.store(true, Ordering::SeqCst);
    clients.into_iter().for_each(|client| client.join().unwrap());
    let mut records = std::mem::take(&mut *recording.records.lock().unwrap());
    records.push(at_last(&mut until_served(|| run.nodes.try_client(0)), &recording));
    let of = |status: Status| records.iter().filter(|record| record.status == status).count();
    println!(
        "{} committed, {} without effect, {} unknown",
        of(Status::Committed),
        of(Status::Aborted),
        of(Status::Unknown)
    );
    let report = judge(&History::from_records(records).unwrap(), Model::Strict);
    assert!(report.valid, "{report}");
}

/// Asks until a node has caught up: one whose clock is fast waits for a shorter time than it is told to.
fn until_served<T>(mut ask: impl FnMut() -> Result<T, postgres::Error>) -> T {
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(error) => assert!(is_to_repeat(&error), "{}", words(&error)),
        }
    }
}

/// A transaction that reads all lists, so that each append has a place.
fn at_last(client: &mut Client, recording: &Recording) -> Record {
    let id = recording.unique();
    let (start_ns, rows) = until_served(|| {
        let start_ns = recording.now();
        Ok((start_ns, client.query("SELECT k, v FROM lists", &[])?))
    });
    let read = |row: &postgres::Row| {
        let (list, values): (i32, &str) = (row.get(0), row.get(1));
        let values = values.split_whitespace().map(|value| value.parse::<u64>().unwrap().into()).collect();
        Operation::ReadList { key: format!("list {list}").into(), values }
    };
    let operations = rows.iter().map(read).collect();
    let end_ns = recording.now();
    Record { id, process: 1_000, start_ns, end_ns, status: Status::Committed, serial_point: None, operations }
}

//! Clients on all nodes of a cluster whose nodes are killed, stopped, paused and emptied: what they have seen and done has one serial
//! order, and it agrees with real time.
//!
//! `ROUNDS=200 cargo test -p seriatim-cli --test cluster_histories` runs longer, and `SEED=7` another history.

mod nodes;

use check::{History, Model, Operation, Record, Status, judge};
use env::Randomness;
use nodes::{Door, Nodes, is_to_repeat, words};
use postgres::Client;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Clients of each node.
const CLIENTS: usize = 2;
const LISTS: u64 = 6;
const REGISTERS: u64 = 16;

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
    fn await_commits(&self, nodes: &[usize], more: u64) {
        let count = |node: &usize| self.committed[*node].load(Ordering::SeqCst);
        let before: Vec<u64> = nodes.iter().map(count).collect();
        for (node, before) in nodes.iter().zip(before) {
            while count(node) < before + more {
                assert!(!self.is_broken.load(Ordering::SeqCst), "a client has failed");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
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

#[test]
fn histories_of_clients_on_all_nodes_are_strictly_serializable() {
    let (seed, rounds) = (number("SEED", 1), number("ROUNDS", 8));
    println!("SEED={seed} ROUNDS={rounds}");
    let mut random = Randomness::from_seed(seed);
    let mut nodes = Nodes::start("histories", 3, &[]);
    let mut first = nodes.client(0);
    first
        .batch_execute(
            "CREATE TABLE lists (k int PRIMARY KEY, v text); CREATE TABLE registers (k bigint PRIMARY KEY, v bigint)",
        )
        .unwrap();
    first.batch_execute(&format!("INSERT INTO lists SELECT g, '' FROM generate_series(0, {}) g", LISTS - 1)).unwrap();
    drop(first);
    let recording = Arc::new(Recording {
        door: nodes.door(),
        begun: Instant::now(),
        stop: AtomicBool::new(false),
        records: Mutex::default(),
        next: AtomicU64::new(1),
        committed: (0..3).map(|_| AtomicU64::new(0)).collect(),
        is_broken: AtomicBool::new(false),
    });
    let clients = (0..3 * CLIENTS).map(|client| {
        let (recording, random) = (recording.clone(), Randomness::from_seed(random.next_u64()));
        std::thread::spawn(move || recording.live(client % 3, client as u64, random))
    });
    let clients: Vec<_> = clients.collect();
    recording.await_commits(&[0, 1, 2], 20);
    // One vote may be lost for good; the nodes that have theirs must be a majority.
    let mut has_emptied = None;
    for round in 0..rounds {
        let node = random.in_range(0..3) as usize;
        let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
        let is_needed = has_emptied.is_some_and(|emptied| emptied != node);
        match random.in_range(0..4) {
            0 => {
                println!("round {round}: node {node} stands still");
                nodes.process(node).signal("STOP");
                if !is_needed {
                    recording.await_commits(&others, 20);
                }
                nodes.process(node).signal("CONT");
            }
            1 => {
                println!("round {round}: node {node} is asked to stop");
                assert_eq!(nodes.stop(node), Some(0));
                if !is_needed {
                    recording.await_commits(&others, 20);
                }
                nodes.revive(node);
            }
            2 if has_emptied.is_none() && round > 0 => {
                println!("round {round}: node {node} is killed and loses its directory");
                nodes.kill(node);
                std::fs::remove_dir_all(nodes.data(node)).unwrap();
                recording.await_commits(&others, 20);
                nodes.revive(node);
                has_emptied = Some(node);
            }
            _ => {
                println!("round {round}: node {node} is killed");
                nodes.kill(node);
                if !is_needed {
                    recording.await_commits(&others, 20);
                }
                nodes.revive(node);
            }
        }
        recording.await_commits(&[0, 1, 2], 20);
    }
    recording.stop.store(true, Ordering::SeqCst);
    clients.into_iter().for_each(|client| client.join().unwrap());
    let mut records = std::mem::take(&mut *recording.records.lock().unwrap());
    records.push(at_last(&mut nodes.client(0), &recording));
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

/// A transaction that reads all lists, so that each append has a place.
fn at_last(client: &mut Client, recording: &Recording) -> Record {
    let (id, start_ns) = (recording.unique(), recording.now());
    let rows = client.query("SELECT k, v FROM lists", &[]).unwrap();
    let read = |row: &postgres::Row| {
        let (list, values): (i32, &str) = (row.get(0), row.get(1));
        let values = values.split_whitespace().map(|value| value.parse::<u64>().unwrap().into()).collect();
        Operation::ReadList { key: format!("list {list}").into(), values }
    };
    let operations = rows.iter().map(read).collect();
    let end_ns = recording.now();
    Record { id, process: 1_000, start_ns, end_ns, status: Status::Committed, serial_point: None, operations }
}

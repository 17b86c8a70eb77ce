//! Each node is killed under load: how long is nobody answered?
//!
//! Each client has one node and one row, and adds one to it, again and again; what it notes is when a COMMIT was acknowledged. Rows are
//! not shared, so that nobody waits for a transaction of a client that died. The outage is the longest time after a kill in which no
//! client of the *other* nodes got an answer. The longest of a single node's clients is shown beside it: a node that comes back later
//! than the others has an outage of its own.

use super::arguments::FailoverArguments;
use super::gaps::longest_gap;
use super::nodes::Nodes;
use super::show;
use crate::failure::Failure;
use crate::machine;
use crate::new_directory::NewDirectory;
use crate::report::{grouped, write_cells};
use crate::servers::Address;
use env::time::{Duration, Instant};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bar: milliseconds after which a client of another node is answered again.
const BAR_MS: f64 = 1000.0;
/// Pause of a client that was not let in.
const AGAIN: Duration = Duration::from_millis(5);
/// What a node that does not come back is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node killed once.
#[derive(Clone, Debug, Serialize)]
pub struct FailoverRow {
    /// Always `cluster-failover`.
    pub experiment: &'static str,
    /// Number of nodes.
    pub nodes: usize,
    /// Clients of each node.
    pub clients: u32,
    /// The node that was killed.
    pub node: usize,
    /// Whether it led the order.
    pub led: bool,
    /// Longest time without an answer to a client of the other nodes before the kill, in milliseconds.
    pub calm_ms: f64,
    /// The same after the kill: the outage.
    pub outage_ms: f64,
    /// The longest after the kill of any one of the other nodes' clients together.
    pub outage_of_one_node_ms: f64,
    /// Longest time without an answer to the others while the node comes back and after.
    pub return_ms: f64,
    /// Milliseconds from the start of the node until it serves again.
    pub until_ready_ms: f64,
    /// COMMITs in a second, of all clients, before the kill.
    pub commits_per_s_before: f64,
    /// COMMITs in a second, of the others' clients, between the end of the outage and the node's return.
    pub commits_per_s_without: f64,
    /// The bar of `outage_ms`.
    pub bar_ms: f64,
    /// Processors of the machine.
    pub cores: usize,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

/// Measures and writes the figures.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &FailoverArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let rows = rows(arguments).map_err(Failure::Run)?;
    show(arguments.cluster.format, &rows, out, |out| write_table(&rows, out))
}

/// Acknowledged COMMITs of one node's clients: nanoseconds since the load began.
type Acknowledged = Mutex<Vec<u64>>;

/// Stops the clients when it goes, however that happens: a scope waits for them.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Clients of all nodes.
struct Load {
    begun: Instant,
    stop: AtomicBool,
    addresses: Vec<Address>,
    acknowledged: Vec<Acknowledged>,
    failure: Mutex<Option<String>>,
}

impl Load {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A client's life.
    fn live(&self, node: usize, row: i32) {
        while !self.stop.load(Ordering::Relaxed) {
            let session = self.addresses[node].connect().and_then(|mut client| {
                let statement = client.prepare("UPDATE failover SET n = n + 1 WHERE k = $1")?;
                Ok((client, statement))
            });
            let Ok((mut client, statement)) = session else {
                thread::sleep(AGAIN);
                continue;
            };
            while !self.stop.load(Ordering::Relaxed) {
                match client.execute(&statement, &[&row]) {
                    Ok(1) => self.note(node),
                    Ok(rows) => return self.fail(format!("a client has changed {rows} rows instead of its own")),
                    // The session is gone, or the node does not answer for now.
                    Err(_) if client.is_closed() => break,
                    Err(_) => {}
                }
            }
        }
    }

    fn note(&self, node: usize) {
        let now = self.now();
        self.acknowledged[node].lock().unwrap_or_else(PoisonError::into_inner).push(now);
    }

    fn fail(&self, why: String) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// All that some nodes' clients were acknowledged.
    fn of(&self, nodes: &[usize]) -> Vec<u64> {
        let lists = nodes.iter().map(|node| &self.acknowledged[*node]);
        lists.flat_map(|list| list.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect()
    }

    /// Waits until a client of each of these nodes is answered after `after`.
    fn await_answers(&self, nodes: &[usize], after: u64) -> Result<(), String> {
        let begun = Instant::now();
        let is_answered = |node: &usize| {
            let list = self.acknowledged[*node].lock().unwrap_or_else(PoisonError::into_inner);
            list.last().is_some_and(|last| *last > after)
        };
        while !nodes.iter().all(is_answered) {
            if let Some(why) = self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone() {
                return Err(why);
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("clients of some of the nodes {nodes:?} were not answered for {PATIENCE:?}"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

fn rows(arguments: &FailoverArguments) -> Result<Vec<FailoverRow>, String> {
    let directory = NewDirectory::of(arguments.cluster.data.as_deref(), "cluster-failover")?;
    let mut nodes = Nodes::start(&arguments.cluster, directory.path())?;
    let addresses = nodes.addresses();
    if addresses.len() < 3 {
        return Err("of fewer than three nodes none can be missed".to_owned());
    }
    let rows = addresses.len() * arguments.clients as usize;
    let make = format!(
        "CREATE TABLE failover (k int PRIMARY KEY, n bigint NOT NULL);
         INSERT INTO failover SELECT g, 0 FROM generate_series(0, {}) g",
        rows - 1
    );
    let made = addresses[0].connect().and_then(|mut client| client.batch_execute(&make));
    made.map_err(|error| format!("cannot make the table: {error:?}"))?;
    let load = Load {
        begun: Instant::now(),
        stop: AtomicBool::new(false),
        acknowledged: addresses.iter().map(|_| Acknowledged::default()).collect(),
        addresses,
        failure: Mutex::default(),
    };
    thread::scope(|scope| {
        for row in 0..rows {
            let load = &load;
            scope.spawn(move || load.live(row % load.addresses.len(), row as i32));
        }
        let _stop = Stop(&load.stop);
        kill_each(arguments, &mut nodes, &load)
    })
}

/// Kills the leader, and then each of the others, so many times.
fn kill_each(arguments: &FailoverArguments, nodes: &mut Nodes, load: &Load) -> Result<Vec<FailoverRow>, String> {
    let all: Vec<usize> = (0..load.addresses.len()).collect();
    load.await_answers(&all, 0)?;
    let mut rows = Vec::new();
    for _ in 0..arguments.repeat {
        let mut left = all.clone();
        while !left.is_empty() {
            // Each kill of the leader makes another one lead: those that lead now go first.
            let leader = nodes.leader()?;
            let node = left.iter().copied().find(|node| *node == leader).unwrap_or(left[0]);
            left.retain(|other| *other != node);
            let row = kill(arguments, nodes, load, (node, node == leader))?;
            eprintln!("node {node}{}: {:.0} ms", if row.led { ", which led" } else { "" }, row.outage_ms);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn kill(
    arguments: &FailoverArguments,
    nodes: &mut Nodes,
    load: &Load,
    (node, led): (usize, bool),
) -> Result<FailoverRow, String> {
    let window = Duration::from_secs_f64(arguments.seconds);
    let others: Vec<usize> = (0..load.addresses.len()).filter(|other| *other != node).collect();
    let everybody: Vec<usize> = (0..load.addresses.len()).collect();
    let from = load.now();
    thread::sleep(window);
    // There is a rate before the kill only if somebody was answered.
    load.await_answers(&everybody, from)?;
    let killed = load.now();
    nodes.kill(node)?;
    thread::sleep(window);
    // All of them, however long that takes.
    load.await_answers(&others, killed)?;
    let watched = load.now();
    let starting = Instant::now();
    nodes.restart(node)?;
    let until_ready = starting.elapsed();
    load.await_answers(&[node], watched)?;
    thread::sleep(window);
    let end = load.now();
    let ms = |nanos: u64| nanos as f64 / 1e6;
    let gap = |nodes: &[usize], from, to| ms(longest_gap(load.of(nodes).into_iter(), from, to));
    let rate = |nodes: &[usize], from: u64, to: u64| {
        let count = load.of(nodes).into_iter().filter(|moment| (from..to).contains(moment)).count();
        count as f64 / ((to - from) as f64 / 1e9)
    };
    // From the last answer before the kill on: whoever waits then has waited before.
    let last = load.of(&others).into_iter().filter(|moment| *moment <= killed).max().unwrap_or(from);
    let second_half = killed + (watched - killed) / 2;
    Ok(FailoverRow {
        experiment: "cluster-failover",
        nodes: load.addresses.len(),
        clients: arguments.clients,
        node,
        led,
        calm_ms: gap(&others, from, killed),
        outage_ms: gap(&others, last, watched),
        outage_of_one_node_ms: others.iter().map(|other| gap(&[*other], last, watched)).fold(0.0, f64::max),
        return_ms: gap(&others, watched, end),
        until_ready_ms: until_ready.as_secs_f64() * 1000.0,
        commits_per_s_before: rate(&everybody, from, killed),
        commits_per_s_without: rate(&others, second_half, watched),
        bar_ms: BAR_MS,
        cores: machine::cores(),
        commit: machine::commit(),
    })
}

const TITLES: [&str; 9] = [
    "killed",
    "led",
    "calm ms",
    "outage ms",
    "of one node",
    "at its return",
    "ready after ms",
    "commits/s before",
    "without it",
];

/// Writes the rows as an aligned table, and whether the bar is met.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[FailoverRow], out: &mut dyn Write) -> io::Result<()> {
    let cells = rows.iter().map(|row| {
        [
            format!("node {}", row.node),
            if row.led { "yes" } else { "no" }.to_owned(),
            format!("{:.0}", row.calm_ms),
            format!("{:.0}", row.outage_ms),
            format!("{:.0}", row.outage_of_one_node_ms),
            format!("{:.0}", row.return_ms),
            format!("{:.0}", row.until_ready_ms),
            grouped(row.commits_per_s_before),
            grouped(row.commits_per_s_without),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    writeln!(out, "cluster-failover: each node is killed under load; longest times without an acknowledged COMMIT\n")?;
    write_cells(&lines, out)?;
    let worst = rows.iter().map(|row| row.outage_ms).fold(0.0, f64::max);
    let verdict = if worst <= BAR_MS { "met" } else { "not met" };
    writeln!(out, "\n{verdict}: nobody of the others was answered for {worst:.0} ms at most; the bar is {BAR_MS:.0} ms")
}

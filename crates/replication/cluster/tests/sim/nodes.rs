//! Nodes of the database: the replicated store over the order, on a local store with a disk, as they start, stop and give each other their
//! states.

use crate::clients::Tables as ClientTables;
use crate::items;
use crate::mixed;
use crate::order::SimOrder;
use crate::run::{Sim, lock};
use crate::setting::Setting;
use crate::store::SimStore;
use conformance::registers::registers;
use env::time::Duration;
use env::{Disk, Moment, Randomness, SimDisk, SimDiskOptions, Survival};
use model::{Engine, Result, Storage, Store, Tables};
use seriatim_cluster::{Cluster, Doing, Host, States, Threads, position_of_start};
use sim::{DriftingClock, MILLISECOND, SECOND, Schedule, Violation};
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use total::Position;

/// Longest time for which a node stays away.
const AWAY_NS: u64 = 3 * SECOND;

/// A node of the database.
pub struct Node {
    state: Mutex<State>,
    /// Whether it is lost for good when it is next asked for its state.
    is_doomed: AtomicBool,
    /// Rung when it is to start or to stop.
    bell: u64,
}

struct State {
    /// While it runs.
    cluster: Option<Arc<Cluster>>,
    disk: SimDisk,
    /// Where deliveries are kept while a state is fetched. It always has room.
    spool: SimDisk,
    /// When it starts.
    start_at: u64,
    /// Whether it runs, or is about to.
    is_up: bool,
    /// Whether it never starts again.
    is_lost: bool,
}

impl Node {
    pub fn new(schedule: &Schedule, setting: &Setting, randomness: &mut Randomness) -> Node {
        let disk = SimDisk::new(randomness.next_u64(), setting.disk);
        let start_at = randomness.in_range(0..100 * MILLISECOND);
        let spool = SimDisk::new(0, SimDiskOptions::default());
        let state = State { cluster: None, disk, spool, start_at, is_up: false, is_lost: false };
        Node { state: Mutex::new(state), is_doomed: AtomicBool::new(false), bell: schedule.bell() }
    }

    pub fn cluster(&self) -> Option<Arc<Cluster>> {
        lock(&self.state).cluster.clone()
    }

    pub fn is_up(&self) -> bool {
        lock(&self.state).is_up
    }

    /// Whether it was lost for good.
    fn is_lost(&self) -> bool {
        lock(&self.state).is_lost
    }

    /// Bytes of its disk.
    pub fn disk_bytes(&self) -> u64 {
        let disk = lock(&self.state).disk.clone();
        bytes_of(&disk)
    }
}

/// Bytes of all files of a disk.
pub fn bytes_of(disk: &SimDisk) -> u64 {
    let names = disk.list("").unwrap_or_default();
    names.iter().filter_map(|name| disk.open(name).ok()?.len().ok()).sum()
}

/// The clock and the threads of one life of a node.
struct Machine {
    schedule: Schedule,
    node: usize,
    clock: DriftingClock,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Machine({})", self.node)
    }
}

/// When a wait on a node ends that lasts for so long by its clock.
pub fn end_of_wait(clock: &DriftingClock, now: u64, longest: Duration) -> u64 {
    let Ok(longest) = u64::try_from(longest.as_nanos()) else { return u64::MAX };
    clock.when(Moment(clock.shows(now).0.saturating_add(longest)))
}

impl Host for Machine {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.shows(self.schedule.now()).0)
    }
}

impl Threads for Machine {
    fn spawn(&self, body: Box<dyn FnOnce() + Send>) {
        self.schedule.spawn(self.node, body);
    }

    fn bell(&self) -> u64 {
        self.schedule.bell()
    }

    fn wait(&self, bell: u64, longest: Duration) {
        self.schedule.wait_until(bell, end_of_wait(&self.clock, self.schedule.now(), longest));
    }

    fn ring(&self, bell: u64, all: bool) {
        self.schedule.ring(bell, all);
    }
}

/// Starts a node whenever it is to run, until the run is closing.
pub fn supervise(sim: &Arc<Sim>, node: usize) {
    loop {
        let own = &sim.nodes[node];
        loop {
            if sim.is_closing.load(SeqCst) {
                return;
            }
            let start_at = lock(&own.state).start_at;
            if start_at <= sim.schedule.now() {
                break;
            }
            sim.schedule.wait_until(own.bell, start_at);
        }
        lock(&own.state).is_up = true;
        let lived = live(sim, node);
        if let Err(error) = lived.filter_stopped(sim, node) {
            sim.fail(format!("node {node} has stopped: {error}"));
        }
        sim.step(|| format!("the last life of node {node} has ended"));
    }
}

/// Errors of a node that was stopped mean nothing.
trait FilterStopped {
    fn filter_stopped(self, sim: &Arc<Sim>, node: usize) -> Result<()>;
}

impl FilterStopped for Result<()> {
    fn filter_stopped(self, sim: &Arc<Sim>, node: usize) -> Result<()> {
        if sim.nodes[node].is_up() { self } else { Ok(()) }
    }
}

/// One life of a node.
fn live(sim: &Arc<Sim>, node: usize) -> Result<()> {
    let own = &sim.nodes[node];
    let (disk, spool) = {
        let state = lock(&own.state);
        (state.disk.clone(), state.spool.clone())
    };
    let log = wal::LogOptions {
        segment_bytes: sim.setting.segment_bytes,
        part_bytes: 1024,
        buffer_bytes: 8192,
        driver: wal::Driver::Caller,
        ..wal::LogOptions::default()
    };
    let options = hyper::Options { log, ..hyper::Options::default() };
    let engine: Arc<dyn Store> = Arc::new(Engine(Arc::new(hyper::Hyper::open(Arc::new(disk), options)?)));
    let resume_after = position_of_start(&*engine)?;
    let started = sim.with_orders(|orders| {
        let started = orders.start(node, resume_after);
        started.map(|life| (life, orders.hosts[node].clock))
    });
    let (life, clock) = match started {
        Ok(started) => started,
        Err(Violation(violation)) => {
            sim.fail(violation);
            return Ok(());
        }
    };
    let local: Arc<dyn Store> = Arc::new(SimStore::new(engine.clone(), sim, (node, life)));
    let order = Arc::new(SimOrder::new(sim, node, life));
    let machine = Arc::new(Machine { schedule: sim.schedule.clone(), node, clock });
    let states = Arc::new(SimStates { sim: sim.clone(), node, life, spool });
    let cluster = Cluster::open_on(machine, local, order, states, sim.setting.options.clone())?;
    lock(&own.state).cluster = Some(cluster.clone());
    while is_alive(sim, node, life) {
        sim.schedule.wait_until(own.bell, sim.schedule.now() + sim.setting.checkpoint_ns);
        if is_alive(sim, node, life) {
            if let Some(failure) = cluster.status().failure {
                sim.fail(format!("node {node} has stopped by itself: {failure}"));
            }
            engine.checkpoint()?;
            sim.count("checkpoints");
        }
    }
    let fetched = cluster.status().fetched;
    sim.with_orders(|orders| orders.world.trace.add("states fetched", fetched));
    Ok(())
}

/// Whether a life of a node lasts.
pub fn is_alive(sim: &Arc<Sim>, node: usize, life: u64) -> bool {
    sim.with_orders(|orders| orders.hosts[node].lives == life && orders.hosts[node].life.is_some())
}

/// A node stops at once. Its threads end, and nobody sees what they do until then.
pub fn stop(sim: &Arc<Sim>, node: usize, survival: Survival) {
    let own = &sim.nodes[node];
    let away = sim.schedule.now() + sim.draw(AWAY_NS);
    {
        let mut state = lock(&own.state);
        if !state.is_up {
            return;
        }
        state.is_up = false;
        state.cluster = None;
        state.disk = state.disk.power_cut_with(survival);
        state.spool = state.spool.power_cut_with(survival);
        state.start_at = away;
    }
    sim.schedule.freeze(node, 0);
    sim.with_orders(|orders| {
        orders.world.step(|| format!("node {node} stops; of what is not synced, {survival:?} survives"));
        orders.world.trace.count("stops");
        orders.crash(node, survival);
    });
    sim.schedule.ring(own.bell, true);
}

/// The next life of a node finds an empty local store.
pub fn lose_rows(sim: &Arc<Sim>, node: usize) {
    let disk = SimDisk::new(sim.draw(u64::MAX), sim.setting.disk);
    lock(&sim.nodes[node].state).disk = disk;
}

/// A node is lost for good when it is next asked for its state.
pub fn doom(sim: &Arc<Sim>, node: usize) {
    sim.nodes[node].is_doomed.store(true, SeqCst);
}

/// Nodes that are doomed, and were not asked, are lost now.
pub fn lose_doomed(sim: &Arc<Sim>) {
    let doomed = left(sim).into_iter().filter(|node| sim.nodes[*node].is_doomed.load(SeqCst));
    doomed.for_each(|node| lose(sim, node));
}

/// A node stops for good, and nobody has what it had on its disks.
fn lose(sim: &Arc<Sim>, node: usize) {
    sim.count("nodes lost");
    stop(sim, node, Survival::SyncedOnly);
    let mut state = lock(&sim.nodes[node].state);
    (state.is_lost, state.start_at) = (true, u64::MAX);
}

/// The nodes that were not lost for good.
pub fn left(sim: &Arc<Sim>) -> Vec<usize> {
    (0..sim.nodes.len()).filter(|node| !sim.nodes[*node].is_lost()).collect()
}

/// Ends the supervision of all nodes.
pub fn close(sim: &Arc<Sim>) {
    sim.is_closing.store(true, SeqCst);
    for (node, own) in sim.nodes.iter().enumerate() {
        stop(sim, node, Survival::Everything);
        sim.schedule.ring(own.bell, true);
    }
}

/// A node stops, and comes back when all do.
pub fn send_away(sim: &Arc<Sim>, node: usize) {
    stop(sim, node, Survival::SyncedOnly);
    lock(&sim.nodes[node].state).start_at = u64::MAX;
}

/// A node stands still until a time.
pub fn pause(sim: &Arc<Sim>, node: usize, until: u64) {
    if sim.nodes[node].is_up() {
        sim.schedule.freeze(node, until);
        sim.with_orders(|orders| orders.pause(node, until));
    }
}

/// Nodes that are away start now.
pub fn start_all(sim: &Arc<Sim>) {
    for node in left(sim).into_iter().map(|node| &sim.nodes[node]) {
        let mut state = lock(&node.state);
        state.start_at = state.start_at.min(sim.schedule.now());
        drop(state);
        sim.schedule.ring(node.bell, true);
    }
}

/// Waits until a node runs, takes part and has everything. Without a fault it must.
pub fn await_current(sim: &Arc<Sim>, node: usize, longest_ns: u64) -> Option<Arc<Cluster>> {
    let until = sim.schedule.now() + longest_ns;
    loop {
        sim.schedule.stand_on(node);
        if let Some(cluster) = sim.nodes[node].cluster()
            && cluster.wait_until_current(Duration::from_secs(1)).is_ok()
        {
            sim.schedule.stand_on(sim.outside());
            return Some(cluster);
        }
        sim.schedule.stand_on(sim.outside());
        if sim.has_failed() {
            return None;
        }
        if sim.schedule.now() > until {
            let statuses = sim.nodes.iter().map(|node| node.cluster().map(|cluster| cluster.status()));
            let statuses: Vec<String> = statuses.map(|status| format!("{status:?}")).collect();
            let order = sim.with_orders(|orders| sim::Replicas::describe(orders));
            sim.fail(format!("node {node} does not come back\n{}\n{order}", statuses.join("\n")));
            return None;
        }
        sim.schedule.sleep_until(sim.schedule.now() + 50 * MILLISECOND);
    }
}

/// Waits until a node fetches a state. It must, since it is behind.
pub fn await_fetch(sim: &Arc<Sim>, node: usize) {
    let fetches = || sim.nodes[node].cluster().is_some_and(|cluster| cluster.status().doing == Doing::FetchingState);
    while !fetches() && !sim.has_failed() {
        sim.schedule.sleep_until(sim.schedule.now() + 10 * MILLISECOND);
    }
}

/// Waits until all nodes serve, and creates the tables.
pub fn create_tables(sim: &Arc<Sim>) -> ClientTables {
    let clusters: Vec<Arc<Cluster>> =
        (0..sim.nodes.len()).filter_map(|node| await_current(sim, node, 60 * SECOND)).collect();
    let create = |node: usize, schema| clusters[node % clusters.len()].create_table_unlisted(schema);
    let tables = ClientTables {
        registers: create(0, registers("registers", Storage::Ordered)).expect("a new table"),
        items: create(1, items::schema()).expect("a new table"),
    };
    for node in 0..sim.nodes.len() {
        await_current(sim, node, 60 * SECOND);
    }
    tables
}

/// Everything that a node would hand over to another one, apart from how far it has come.
pub fn state(node: &Arc<Cluster>) -> Vec<u8> {
    mixed::state(node)
}

/// Where a node gets the states of others: over connections of the network between them.
struct SimStates {
    sim: Arc<Sim>,
    node: usize,
    life: u64,
    spool: SimDisk,
}

impl States for SimStates {
    fn spool(&self) -> Option<Arc<dyn Disk>> {
        Some(Arc::new(self.spool.clone()))
    }

    fn fetch(&self, holder: u64, at_least: Position) -> io::Result<Box<dyn Read + Send>> {
        let sim = &self.sim;
        let holder = holder as usize;
        sim.sleep(5 * MILLISECOND);
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "it cannot be reached");
        let own = sim.nodes.get(holder).ok_or_else(refused)?;
        let life = sim.with_orders(|orders| orders.hosts[holder].life.is_some().then(|| orders.hosts[holder].lives));
        let (life, cluster) = life.zip(own.cluster()).ok_or_else(refused)?;
        let pipe = Arc::new(Pipe {
            ends: [(self.node, self.life), (holder, life)],
            state: Mutex::default(),
            bell: sim.schedule.bell(),
        });
        if !pipe.is_whole(sim) {
            return Err(refused());
        }
        sim.count("states asked for");
        if own.is_doomed.load(SeqCst) {
            sim.count("nodes lost when they were asked for a state");
            lose(sim, holder);
            return Err(refused());
        }
        let writing = pipe.clone();
        sim.spawn(holder, move |sim| {
            let mut out = PipeWriter { sim: sim.clone(), pipe: writing, lines: 0 };
            // A holder without a state closes the pipe: the reader finds its end.
            let _ = cluster.write_state(at_least, Duration::from_secs(5), &mut out);
        });
        Ok(Box::new(PipeReader { sim: sim.clone(), pipe }))
    }
}

/// A connection over which a state is sent.
struct Pipe {
    /// The nodes, and their lives.
    ends: [(usize, u64); 2],
    state: Mutex<PipeState>,
    bell: u64,
}

#[derive(Default)]
struct PipeState {
    bytes: VecDeque<u8>,
    is_closed: bool,
}

/// The first lines of a state, which say where it ends.
const HEAD_LINES: u32 = 4;
/// Bytes on the way.
const IN_FLIGHT: usize = 4096;

impl Pipe {
    fn is_whole(&self, sim: &Arc<Sim>) -> bool {
        let [(one, _), (other, _)] = self.ends;
        let is_cut = |from, to| sim.with_orders(|orders| orders.world.network.is_cut(from, to));
        self.ends.iter().all(|(node, life)| is_alive(sim, *node, *life)) && !is_cut(one, other) && !is_cut(other, one)
    }
}

struct PipeReader {
    sim: Arc<Sim>,
    pipe: Arc<Pipe>,
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let schedule = &self.sim.schedule;
        let until = schedule.now() + 5 * SECOND;
        loop {
            {
                let mut state = lock(&self.pipe.state);
                if !state.bytes.is_empty() || state.is_closed {
                    let count = into.len().min(state.bytes.len());
                    into.iter_mut().zip(state.bytes.drain(..count)).for_each(|(to, from)| *to = from);
                    drop(state);
                    schedule.ring(self.pipe.bell, true);
                    return Ok(count);
                }
            }
            if schedule.now() >= until || !is_alive(&self.sim, self.pipe.ends[0].0, self.pipe.ends[0].1) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            schedule.wait_until(self.pipe.bell, schedule.now() + 100 * MILLISECOND);
        }
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        lock(&self.pipe.state).is_closed = true;
        self.sim.schedule.ring(self.pipe.bell, true);
    }
}

struct PipeWriter {
    sim: Arc<Sim>,
    pipe: Arc<Pipe>,
    /// Lines that were sent.
    lines: u32,
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let schedule = &self.sim.schedule;
        self.lines += 1;
        if self.sim.setting.line_ns > 0 && self.lines > HEAD_LINES {
            schedule.sleep_until(schedule.now() + self.sim.setting.line_ns);
        }
        loop {
            if lock(&self.pipe.state).is_closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if !self.pipe.is_whole(&self.sim) {
                // Silence: the reader gives up.
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            let mut state = lock(&self.pipe.state);
            let room = IN_FLIGHT.saturating_sub(state.bytes.len());
            if room > 0 {
                let count = room.min(bytes.len());
                state.bytes.extend(&bytes[..count]);
                drop(state);
                schedule.ring(self.pipe.bell, true);
                return Ok(count);
            }
            drop(state);
            schedule.wait_until(self.pipe.bell, schedule.now() + 100 * MILLISECOND);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        lock(&self.pipe.state).is_closed = true;
        self.sim.schedule.ring(self.pipe.bell, true);
    }
}

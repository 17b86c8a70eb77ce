//! Nodes of deferred update with their database and their clients: on this machine, or in virtual time.

use super::clients::{Books, Front, Inbox, Time};
use super::gauge::Gauge;
use crate::driver::passes::{Load, Pass, Walk};
use crate::workloads::{Audit, Client, ClientSlot, LOADER, Partitioned, Stamps};
use dur::{Dur, Options, Partition, Policy, Stats};
use env::Randomness;
use model::{Begin, Error, Key, Mode, Reexecutable, TableId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use total::TotalOrder;

/// A system of the thesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Many speculative transactions at a time.
    Pxdur,
    /// One at a time.
    Xdur,
    /// Transactions that hold what they write.
    ConflictAware,
}

/// Transactions that execute at a time, where it is more than one. The thesis does not say how many it had.
pub const MAX_SPEC: usize = 8;

impl System {
    /// All of them.
    pub const ALL: [System; 3] = [System::Pxdur, System::Xdur, System::ConflictAware];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            System::Pxdur => "PXDUR",
            System::Xdur => "XDUR",
            System::ConflictAware => "conflict-aware",
        }
    }

    fn options(self) -> Options {
        let (policy, speculative) = match self {
            System::Pxdur => (Policy::Speculative, MAX_SPEC),
            System::Xdur => (Policy::Speculative, 1),
            System::ConflictAware => (Policy::ConflictAware, MAX_SPEC),
        };
        Options { policy, speculative, executors: speculative, ..Options::default() }
    }
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub system: System,
    pub nodes: u64,
    pub clients: u32,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Measured {
    pub seconds: f64,
    pub commits: u64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    /// Attempts that did not commit, by rule.
    pub aborts: BTreeMap<String, u64>,
    /// Transactions that were applied without validation, of a hundred.
    pub skipped_percent: f64,
}

impl Measured {
    /// Commits in a second.
    pub fn per_second(&self) -> f64 {
        self.commits as f64 / self.seconds
    }
}

/// Where tables are at home.
struct Homes<W> {
    workload: Arc<W>,
    nodes: u64,
}

impl<W> std::fmt::Debug for Homes<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Homes on {} nodes", self.nodes)
    }
}

impl<W: Partitioned + Send> Partition for Homes<W> {
    fn home(&self, table: TableId, key: &[u8]) -> Option<u64> {
        self.workload.home(self.nodes, table.0 as usize, key)
    }

    fn home_of_range(&self, table: TableId, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<u64> {
        self.workload.home_of_range(self.nodes, table.0 as usize, lower, upper)
    }
}

/// The nodes, and what they serve.
pub struct Nodes<O: TotalOrder + 'static, W: Partitioned> {
    pub nodes: Vec<Arc<Dur<O>>>,
    pub books: Arc<Mutex<Books<W::Client>>>,
    inboxes: Vec<Arc<Inbox<W::Client>>>,
    workload: Arc<W>,
    setting: Setting,
    tables: Vec<TableId>,
    time: Time,
    gauge: Option<Arc<Gauge>>,
}

/// Records of a load's transaction.
const LOAD_BATCH: usize = 200;
/// Rows of an audit's transaction.
const AUDITED_ROWS: usize = 100_000;

impl<O: TotalOrder + 'static, W: Partitioned + Send> Nodes<O, W>
where
    W::Client: Client<Call: 'static> + 'static,
{
    /// Nodes at the ends of an order, with empty tables. `change` says what they run on.
    pub fn open(
        workload: &Arc<W>,
        setting: Setting,
        ends: impl Iterator<Item = O>,
        change: impl Fn(usize, Options) -> Options,
        (time, gauge): (Time, Option<Arc<Gauge>>),
    ) -> Nodes<O, W> {
        let partition: Arc<dyn Partition> = Arc::new(Homes { workload: workload.clone(), nodes: setting.nodes });
        let options = || Options {
            partition: Some(partition.clone()),
            queue: setting.clients as usize + 65_536,
            ..setting.system.options()
        };
        let open = |(number, end)| Arc::new(Dur::new(end, change(number, options())));
        let nodes: Vec<_> = ends.enumerate().map(open).collect();
        let inboxes = nodes.iter().map(|_| Arc::new(Inbox::new(&time))).collect();
        let (workload, tables) = (workload.clone(), Vec::new());
        Nodes { nodes, books: Books::new(), inboxes, workload, setting, tables, time, gauge }
    }

    fn lock(&self) -> MutexGuard<'_, Books<W::Client>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates the tables and fills them. `advance` waits until something may have happened.
    pub fn load(&mut self, advance: impl Fn()) -> Result<(), String> {
        for schema in self.workload.schemas() {
            let (created, cell) = (self.nodes[0].define_table(schema), Arc::new(OnceLock::new()));
            let told = cell.clone();
            created.on_resolved(move |created| _ = told.set(created));
            wait_until(&advance, || cell.get().is_some())?;
            let created = cell.get().cloned().ok_or("a table was not created")?;
            self.tables.push(created.map_err(|error| error.to_string())?);
        }
        let loaded = Arc::new(Mutex::new((0, None::<String>)));
        let mut records = self.workload.load(Stamps::of_client(LOADER));
        let mut batches = 0;
        loop {
            let batch = Load::new(&self.tables, records.by_ref().take(LOAD_BATCH));
            if batch.is_empty() {
                break;
            }
            let ticket = self.nodes[0].enqueue(batch, Begin::default(), Box::new(|_: u32, _: &Error| true));
            let loaded = loaded.clone();
            ticket.on_resolved(move |done| {
                let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
                loaded.0 += 1;
                loaded.1 = loaded.1.take().or(done.err().map(|error| error.to_string()));
            });
            batches += 1;
        }
        drop(records);
        wait_until(&advance, || loaded.lock().unwrap_or_else(PoisonError::into_inner).0 == batches)?;
        let failed = loaded.lock().unwrap_or_else(PoisonError::into_inner).1.take();
        failed.map_or(Ok(()), Err)?;
        self.settle(advance)
    }

    /// Waits until all nodes have applied as much as the first.
    fn settle(&self, advance: impl Fn()) -> Result<(), String> {
        let place = |node: &Arc<Dur<O>>| node.stats().place;
        wait_until(&advance, || self.nodes.iter().all(|node| place(node) == place(&self.nodes[0])))
    }

    /// What serves the clients of a node, in a thread of its own.
    pub fn front(&self, node: usize) -> Front<O, W::Client> {
        Front {
            node: self.nodes[node].clone(),
            inbox: self.inboxes[node].clone(),
            books: self.books.clone(),
            gauge: self.gauge.clone(),
            time: self.time.clone(),
        }
    }

    /// Lets the clients go.
    pub fn start(&self, seed: u64) {
        let mut seeds = Randomness::from_seed(seed);
        for number in 1..=self.setting.clients {
            let stamps = Stamps::of_client(number);
            let at = ClientSlot { number, tables: &self.tables, randomness: seeds.fork(), stamps };
            let node = self.workload.node_of(self.setting.nodes, number);
            self.inboxes[node as usize].push(self.workload.client(at));
        }
    }

    fn stats(&self) -> Vec<Stats> {
        self.nodes.iter().map(|node| node.stats()).collect()
    }

    /// Counts what happens while `wait` lasts.
    pub fn measure(&self, wait: impl FnOnce()) -> Measured {
        let (before, begun) = (self.stats(), self.time.now());
        self.lock().counts = true;
        wait();
        let mut books = self.lock();
        books.counts = false;
        let (after, seconds) = (self.stats(), (self.time.now() - begun) as f64 / 1e9);
        let sum = |count: fn(&Stats) -> u64| -> u64 {
            after.iter().map(count).sum::<u64>() - before.iter().map(count).sum::<u64>()
        };
        let first = |count: fn(&Stats) -> u64| count(&after[0]) - count(&before[0]);
        let aborts = [
            ("certification", first(|stats| stats.refused)),
            ("cascade", sum(|stats| stats.cascaded)),
            ("overtaken", sum(|stats| stats.overtaken)),
        ];
        let quantile_us = |quantile| books.latency_ns.value_at_quantile(quantile) as f64 / 1000.0;
        Measured {
            seconds,
            commits: books.commits,
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
            aborts: aborts
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            skipped_percent: first(|stats| stats.skipped) as f64 * 100.0 / first(|stats| stats.committed).max(1) as f64,
        }
    }

    /// Has the clients stop, and audits what they leave, on the last node.
    pub fn finish(&self, advance: impl Fn()) -> Result<(), String> {
        self.lock().stops = true;
        let clients = self.setting.clients as usize;
        wait_until(&advance, || {
            let books = self.lock();
            books.stopped.len() == clients || books.wrong.is_some()
        })?;
        self.inboxes.iter().for_each(|inbox| inbox.close());
        self.settle(&advance)?;
        let books = self.lock();
        books.wrong.clone().map_or(Ok(()), Err)?;
        let clients: Vec<&W::Client> = books.stopped.iter().collect();
        let (Some(audit), Some(node)) = (self.workload.audit(&clients), self.nodes.last()) else { return Ok(()) };
        self.audit(node, audit)
    }

    fn audit(&self, node: &Dur<O>, mut audit: W::Audit) -> Result<(), String> {
        let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
        for (position, &table) in self.tables.iter().enumerate() {
            let mut walk = Walk::new(table, AUDITED_ROWS);
            while walk.has_more() {
                let read = node.execute(&mut walk, how, &mut |_: u32, _: &Error| false);
                let (rows, _) = read.map_err(|error| error.to_string())?;
                rows.iter().try_for_each(|(key, row)| audit.see(position, key, row.row()))?;
                walk.advance();
            }
        }
        audit.finish()
    }
}

/// Looks and waits, often enough for anything that goes on.
fn wait_until(advance: impl Fn(), is_so: impl Fn() -> bool) -> Result<(), String> {
    const MOST: usize = 100_000;
    for _ in 0..MOST {
        if is_so() {
            return Ok(());
        }
        advance();
    }
    Err("nothing goes on".to_owned())
}

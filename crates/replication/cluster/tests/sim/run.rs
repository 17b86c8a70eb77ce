//! One run: nodes, their clients and what goes wrong, in virtual time, from one seed.

use crate::clients::{self, Seen};
use crate::faults;
use crate::nodes::{self, Node};
use crate::orders::Orders;
use crate::setting::Setting;
use env::Randomness;
use env::time::Duration;
use sim::cluster::{next_at, run_due};
use sim::{NetworkOptions, Outcome, SECOND, Schedule, Trace, Violation};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Virtual time within which everything must be as it was before, once nothing goes wrong any more.
const PATIENCE_NS: u64 = 120 * SECOND;

/// What the threads of a run share.
pub struct Sim {
    pub schedule: Schedule,
    pub setting: Arc<Setting>,
    orders: Mutex<Orders>,
    pub nodes: Vec<Node>,
    random: Mutex<Randomness>,
    pub seen: Mutex<Seen>,
    /// What nodes kept, in each minute of a long run.
    pub kept: Mutex<Vec<crate::flat::Kept>>,
    /// Clients begin no more transactions.
    pub is_over: AtomicBool,
    /// Clients that have not ended.
    pub clients: AtomicUsize,
    /// Nodes that have stopped stay so.
    pub is_closing: AtomicBool,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sim {
    fn new(setting: Setting, mut randomness: Randomness, trace: Trace) -> Arc<Sim> {
        let setting = Arc::new(setting);
        // A machine for each node, and one for everything else.
        let schedule = Schedule::new(&vec![1; setting.nodes() + 1]);
        let nodes = (0..setting.nodes()).map(|_| Node::new(&schedule, &setting, &mut randomness)).collect();
        let random = Mutex::new(randomness.fork());
        let orders = Mutex::new(Orders::new(setting.clone(), schedule.clone(), randomness, trace));
        let (is_over, is_closing) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Sim {
            schedule,
            setting,
            orders,
            nodes,
            random,
            seen: Mutex::default(),
            kept: Mutex::default(),
            is_over,
            clients: AtomicUsize::new(0),
            is_closing,
        })
    }

    /// The machine on which clients stand between their transactions.
    pub fn outside(&self) -> usize {
        self.nodes.len()
    }

    /// Does something with the nodes of the order, now.
    pub fn with_orders<T>(self: &Arc<Self>, act: impl FnOnce(&mut Orders) -> T) -> T {
        let mut orders = lock(&self.orders);
        orders.world.now = orders.world.now.max(self.schedule.now());
        let done = act(&mut orders);
        self.arm(&mut orders);
        done
    }

    /// Has the schedule call when something is due.
    fn arm(self: &Arc<Self>, orders: &mut Orders) {
        let Some(at) = next_at(orders).filter(|_| orders.violation.is_none()) else { return };
        if orders.armed.is_none_or(|armed| at < armed) {
            orders.armed = Some(at);
            let own = Arc::downgrade(self);
            self.schedule.enter(at, move || {
                if let Some(own) = own.upgrade() {
                    own.pump();
                }
            });
        }
    }

    fn pump(self: &Arc<Self>) {
        self.with_orders(|orders| {
            let now = orders.world.now;
            if orders.armed.is_some_and(|armed| armed <= now) {
                orders.armed = None;
            }
            let ran = if orders.violation.is_none() { run_due(orders, now) } else { Ok(()) };
            orders.note(ran);
        });
    }

    /// A promise was broken: the run ends.
    pub fn fail(self: &Arc<Self>, violation: String) {
        self.with_orders(|orders| orders.note(Err(Violation(violation))));
    }

    pub fn has_failed(&self) -> bool {
        lock(&self.orders).violation.is_some()
    }

    pub fn step(self: &Arc<Self>, words: impl FnOnce() -> String) {
        self.with_orders(|orders| orders.world.step(words));
    }

    pub fn count(self: &Arc<Self>, what: &'static str) {
        self.with_orders(|orders| orders.world.trace.count(what));
    }

    /// A number below a limit.
    pub fn draw(&self, limit: u64) -> u64 {
        lock(&self.random).in_range(0..limit.max(1))
    }

    /// Sleeps for so long at most.
    pub fn sleep(&self, most_ns: u64) {
        let at = self.schedule.now() + self.draw(most_ns);
        self.schedule.sleep_until(at);
    }

    /// Starts a thread whose panic fails the run.
    pub fn spawn(self: &Arc<Self>, machine: usize, body: impl FnOnce(&Arc<Sim>) + Send + 'static) {
        let own = self.clone();
        self.schedule.spawn(machine, move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(&own))) {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                own.fail(format!("a thread has panicked: {}", text.unwrap_or_default()));
            }
        });
    }
}

/// Runs the cluster that follows from `seed`; the last `trace_lines` steps are kept in words.
pub fn simulate(seed: u64, trace_lines: usize) -> Outcome {
    let mut randomness = Randomness::from_seed(seed);
    let setting = Setting::draw(&mut randomness);
    judged(run(setting, randomness, trace_lines, direct))
}

/// With what the judges find.
fn judged((mut outcome, sim): (Outcome, Arc<Sim>)) -> Outcome {
    if outcome.violation.is_none() {
        outcome.violation = clients::judge(&sim).err();
    }
    outcome
}

/// Runs nodes with this setting, under a director.
pub fn run(
    setting: Setting,
    randomness: Randomness,
    trace_lines: usize,
    director: fn(&Arc<Sim>),
) -> (Outcome, Arc<Sim>) {
    let mut trace = Trace::new(trace_lines);
    trace.step(|| format!("{setting:?}"));
    let sim = Sim::new(setting, randomness, trace);
    for node in 0..sim.nodes.len() {
        sim.spawn(node, move |sim| nodes::supervise(sim, node));
    }
    sim.spawn(sim.outside(), director);
    let limit = sim.setting.faults_ns + 2 * PATIENCE_NS;
    let mut live = 1;
    while live > 0 && !sim.has_failed() {
        let now = sim.schedule.now();
        if now > limit {
            let described = sim.with_orders(|orders| sim::Replicas::describe(orders));
            sim.fail(format!("no progress: {live} threads have not ended\n{described}"));
            break;
        }
        live = sim.schedule.run(now + SECOND);
    }
    let outcome = sim.with_orders(|orders| {
        let milliseconds = orders.world.now / sim::MILLISECOND;
        let mut trace = std::mem::take(&mut orders.world.trace);
        trace.add("simulated milliseconds", milliseconds);
        Outcome::of(trace, orders.violation.clone().map_or(Ok(()), Err))
    });
    (outcome, sim)
}

/// What happens in a run: tables are made, clients come, things go wrong, and in the end all is as it was.
fn direct(sim: &Arc<Sim>) {
    let tables = nodes::create_tables(sim);
    let faults = sim.setting.faults;
    clients::start(sim, tables);
    let until = sim.schedule.now() + sim.setting.faults_ns;
    faults::make(sim, faults, until);
    faults::heal(sim);
    // Clients go on for a while when all is well.
    sim.schedule.sleep_until(sim.schedule.now() + SECOND);
    finish(sim, tables);
}

/// Runs readers until the order has forgotten what it began with, and then all nodes stop at one moment.
pub fn reads_and_a_power_failure(seed: u64) -> Outcome {
    let mut randomness = Randomness::from_seed(seed);
    let mut setting = Setting::draw(&mut randomness);
    (setting.faults, setting.learners) = (crate::setting::Faults::None, 0);
    (setting.replica.span, setting.replica.batch_bytes, setting.replica.snapshot_bytes) = (64, 400, 1_000);
    run(setting, randomness, 0, |sim| {
        let tables = nodes::create_tables(sim);
        for _ in 0..200 {
            (0..sim.nodes.len()).for_each(|node| clients::read_all(sim, node, tables));
        }
        (0..sim.nodes.len()).for_each(|node| nodes::stop(sim, node, env::Survival::Everything));
        nodes::start_all(sim);
        finish(sim, tables);
    })
    .0
}

/// A node comes back to two others that serve their clients without a pause, and keep little. It gets a state in a time in which they
/// forget many times over what they have ordered, and serves.
pub fn a_state_takes_long_under_load(seed: u64) -> Outcome {
    let (setting, randomness) = long_states(seed);
    judged(run(setting, randomness, 0, |sim| come_back_under_load(sim, |_| ())))
}

/// The same, and the node is killed in the middle of its fetch. When it starts again, its replica has a snapshot that was another one's.
pub fn a_long_fetch_begins_again_under_load(seed: u64) -> Outcome {
    let (setting, randomness) = long_states(seed);
    judged(run(setting, randomness, 0, |sim| {
        come_back_under_load(sim, |sim| {
            nodes::await_fetch(sim, 2);
            sim.schedule.sleep_until(sim.schedule.now() + SECOND);
            nodes::stop(sim, 2, env::Survival::Everything);
            nodes::start_all(sim);
        });
    }))
}

/// A setting in which a state takes long, and the order keeps little.
fn long_states(seed: u64) -> (Setting, Randomness) {
    let mut randomness = Randomness::from_seed(seed);
    let mut setting = Setting::draw(&mut randomness);
    (setting.faults, setting.voters, setting.learners, setting.clients) = (crate::setting::Faults::None, 3, 0, 6);
    let replica = &mut setting.replica;
    (replica.replicas, replica.span, replica.batch_bytes, replica.window) = (3, 64, 400, 16);
    (replica.snapshot_bytes, replica.undone_batches) = (1_000, 256);
    (setting.limits.kept_bytes, setting.limits.deliveries) = (4 << 10, 128);
    // Clients that come to the node do not wait there for long.
    setting.options.catch_up = Duration::from_millis(100);
    (setting.think_ns, setting.network.in_order, setting.line_ns) = (sim::MILLISECOND, true, 200 * sim::MILLISECOND);
    (setting, randomness)
}

/// A node is away for a while, comes back, and serves, whatever happens to it meanwhile.
fn come_back_under_load(sim: &Arc<Sim>, meanwhile: impl FnOnce(&Arc<Sim>)) {
    let tables = nodes::create_tables(sim);
    clients::start(sim, tables);
    nodes::send_away(sim, 2);
    sim.schedule.sleep_until(sim.schedule.now() + 2 * SECOND);
    nodes::start_all(sim);
    meanwhile(sim);
    let _ = nodes::await_current(sim, 2, 20 * SECOND);
    finish(sim, tables);
}

/// Two nodes of three go on over a bad network, by few instances at a time. The one with all rows is lost when the other one has to fetch
/// them: that one has given up its votes for what it lacks.
pub fn a_holder_is_lost(seed: u64) -> Outcome {
    let mut randomness = Randomness::from_seed(seed);
    let mut setting = Setting::draw(&mut randomness);
    (setting.faults, setting.voters, setting.learners, setting.clients) = (crate::setting::Faults::None, 3, 0, 6);
    let replica = &mut setting.replica;
    (replica.replicas, replica.span, replica.batch_bytes, replica.window) = (3, 24, 400, 16);
    (replica.snapshot_bytes, replica.undone_batches) = (1_000, 256);
    (setting.think_ns, setting.network.in_order, setting.piece_bytes) = (sim::MILLISECOND, false, 1 << 20);
    judged(run(setting, randomness, 0, |sim| {
        let tables = nodes::create_tables(sim);
        clients::start(sim, tables);
        nodes::send_away(sim, 2);
        nodes::doom(sim, 0);
        sim.with_orders(|orders| {
            let usual = orders.setting.network;
            orders.world.network.set_options(NetworkOptions { loss_ppm: 300_000, ..usual });
        });
        sim.schedule.sleep_until(sim.schedule.now() + 10 * SECOND);
        nodes::lose_doomed(sim);
        faults::heal(sim);
        finish(sim, tables);
    }))
}

/// All clients get their last answer; all nodes come back, have the same state, and everything that was acknowledged.
pub fn finish(sim: &Arc<Sim>, tables: clients::Tables) {
    // States are equal only when nothing is on its way.
    clients::end(sim, PATIENCE_NS);
    let mut states = Vec::new();
    let left = nodes::left(sim);
    for &node in &left {
        let Some(cluster) = nodes::await_current(sim, node, PATIENCE_NS) else { return };
        states.push(cluster);
    }
    // Once more: what came to a later node may not have come to an earlier one.
    for &node in &left {
        if nodes::await_current(sim, node, PATIENCE_NS).is_none() {
            return;
        }
        clients::read_all(sim, node, tables);
    }
    let states: Vec<Vec<u8>> = states.iter().map(nodes::state).collect();
    for (nodes, pair) in left.windows(2).zip(states.windows(2)) {
        if pair[0] != pair[1] {
            sim.fail(format!("the states of nodes {} and {} differ", nodes[0], nodes[1]));
        }
    }
    nodes::close(sim);
}

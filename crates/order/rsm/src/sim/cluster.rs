//! The simulated cluster: nodes, clients and networks in virtual time, and the loop from one event to the next.

mod access;
mod faults;
mod nodes;
mod wires;

use super::client::Client;
use super::host::Host;
use super::judge::Judge;
use super::setting::{FaultLevel, FixedSettings, Setting};
use env::Randomness;
use net::frame::{Decoder, MAX_FRAME_BYTES};
use paxos::config::Durability;
use paxos::core::ReplicaId;
use paxos::replica::{Effect, Input};
use sim::cluster::{clock, run};
use sim::{MILLISECOND, Outcome, Packet, Replicas, SECOND, Trace, Violation, World, demand};
use std::fmt::Debug;

/// Clients stop thinking of commands so long after the last fault.
const AFTERMATH_NS: u64 = SECOND;

/// Within this time of virtual time after that, everything that was begun must be done, on every replica. See [`Cluster::limit`].
const PATIENCE_NS: u64 = 20 * SECOND;

/// Future event, in addition to those of every cluster.
#[derive(Clone, Copy, Debug)]
enum ScheduledEvent {
    /// A fault.
    Fault,
    /// The faults are over.
    Calm,
    /// Clients think of no more commands.
    Close,
    /// A node starts.
    Start(usize),
    /// A node's disk has synced what was journalled up to this record, in this life.
    Synced { node: usize, life: u64, record: u64 },
    /// A node's service is done with the first of its work, in this life.
    Worked { node: usize, life: u64 },
    /// A pause of a node is over.
    Resume(usize),
    /// A client's attempt to connect has come to an end.
    Dialed { client: usize, attempt: u64 },
}

/// One run.
struct Cluster {
    world: World<ScheduledEvent>,
    setting: Setting,
    judge: Judge,
    /// By number. Where replicas without a journal crash, their second lives are nodes of their own.
    hosts: Vec<Host>,
    clients: Vec<Client>,
    client_decoder: Decoder,
    /// Voters without a journal that may still crash.
    expendable: u64,
    is_calm: bool,
    /// Empty between inputs: kept for its memory.
    effects: Vec<Effect>,
    /// Ticks of one node at one moment.
    ticks: (u64, usize, u32),
}

/// Runs the cluster that follows from `seed`; the last `trace_lines` steps are kept in words.
#[must_use]
pub fn simulate(seed: u64, given: &FixedSettings, trace_lines: usize) -> Outcome {
    let mut randomness = Randomness::from_seed(seed);
    let setting = Setting::draw(&mut randomness, given);
    let mut trace = Trace::new(trace_lines);
    trace.step(|| format!("{setting:?}"));
    match Cluster::new(setting, randomness, trace) {
        Err((trace, violation)) => Outcome::of(trace, Err(violation)),
        Ok(mut cluster) => {
            cluster.begin();
            let result = run(&mut cluster).and_then(|()| cluster.finish());
            let mut world = cluster.world;
            world.trace.add("simulated milliseconds", world.now / MILLISECOND);
            Outcome::of(world.trace, result)
        }
    }
}

impl Cluster {
    fn new(setting: Setting, mut randomness: Randomness, trace: Trace) -> Result<Self, (Trace, Violation)> {
        let voters = setting.options.replicas;
        let without_journal = setting.options.durability == Durability::Memory;
        let second_lives = if without_journal { voters } else { 0 };
        let nodes = (voters + second_lives + setting.learners) as usize;
        let clients: Result<Vec<Client>, _> =
            (0..setting.clients).map(|number| Client::new(number, &setting, &mut randomness)).collect();
        let clients = match clients {
            Ok(clients) => clients,
            Err(violation) => return Err((trace, violation)),
        };
        let mut world = World::new(randomness, trace, nodes, clients.len(), setting.network);
        Ok(Self {
            judge: Judge::default(),
            hosts: (0..nodes as u64).map(|id| Host::new(id, &setting, &mut world.randomness)).collect(),
            world,
            clients,
            client_decoder: Decoder::new(MAX_FRAME_BYTES),
            expendable: (voters - 1) / 2,
            is_calm: false,
            effects: Vec::new(),
            ticks: (0, 0, 0),
            setting,
        })
    }

    fn begin(&mut self) {
        let voters = self.setting.options.replicas as usize;
        let first_learner = self.hosts.len() - self.setting.learners as usize;
        for node in (0..voters).chain(first_learner..self.hosts.len()) {
            let at = self.world.randomness.in_range(0..100 * MILLISECOND);
            self.world.enter(at, ScheduledEvent::Start(node));
        }
        self.world.connect_all();
        if self.setting.faults != FaultLevel::Calm {
            self.world.enter(SECOND / 2, ScheduledEvent::Fault);
        }
        self.world.enter(self.setting.faults_ns, ScheduledEvent::Calm);
        self.world.enter(self.setting.faults_ns + AFTERMATH_NS, ScheduledEvent::Close);
    }

    /// Nodes that are up at the end.
    fn must_live(&self) -> impl Iterator<Item = usize> + use<'_> {
        let voters = self.setting.options.replicas as usize;
        let with_journal = self.setting.options.durability == Durability::Fsync;
        (0..self.hosts.len()).filter(move |node| {
            let stays_dead = *node < voters && !with_journal && self.hosts[*node].lives > 0;
            let unborn = self.hosts[*node].lives == 0;
            let is_away = self.hosts[*node].is_dismissed;
            self.hosts[*node].life.is_some() || !(stays_dead || unborn || is_away)
        })
    }

    /// All replicas have the same state, byte for byte, and the clients' story has an order.
    fn finish(&mut self) -> Result<(), Violation> {
        let states: Vec<_> =
            self.hosts.iter().filter_map(|host| Some((host.options.id, host.life.as_ref()?.state()))).collect();
        for pair in states.windows(2) {
            let [(one, (at, state)), (other, (other_at, other_state))] = pair else { continue };
            demand!(at == other_at && state == other_state, "R{one} and R{other} differ after instance {at}");
        }
        for life in self.hosts.iter().filter_map(|host| host.life.as_ref()) {
            nodes::count_replica(&mut self.world.trace, life.replica.counters());
        }
        self.world.trace.add("instances", self.judge.instances());
        self.world.trace.digest(self.judge.instances());
        self.judge.check_history()
    }
}

/// Owner of a timer.
#[derive(Clone, Copy, Debug)]
enum Timer {
    Replica(usize),
    Client(usize),
}

impl Replicas for Cluster {
    type ScheduledEvent = ScheduledEvent;
    type Timer = Timer;

    fn world(&mut self) -> &mut World<ScheduledEvent> {
        &mut self.world
    }

    fn is_up(&self, node: usize) -> bool {
        self.hosts[node].life.is_some()
    }

    /// Nodes before clients.
    fn next_timer(&self, now: u64) -> Option<(u64, Timer)> {
        let alive = self.hosts.iter().enumerate().filter_map(|(node, host)| Some((node, host, host.life.as_ref()?)));
        let ticks =
            alive.map(|(node, host, life)| (life.deadline.max(host.paused_until).max(now), Timer::Replica(node)));
        let clients = self.clients.iter().enumerate();
        let acts = clients.map(|(client, state)| (state.deadline().max(now), Timer::Client(client)));
        ticks.chain(acts).min_by_key(|(at, _)| *at)
    }

    fn wake(&mut self, timer: Timer) -> Result<(), Violation> {
        match timer {
            Timer::Replica(node) => self.tick(node),
            Timer::Client(client) => self.act(client),
        }
    }

    fn on_scheduled(&mut self, what: ScheduledEvent) -> Result<(), Violation> {
        match what {
            ScheduledEvent::Fault => self.next_fault(),
            ScheduledEvent::Calm => self.heal_all(),
            ScheduledEvent::Close => {
                self.clients.iter_mut().for_each(Client::close);
                Ok(())
            }
            ScheduledEvent::Start(node) => self.start(node),
            ScheduledEvent::Synced { node, .. } | ScheduledEvent::Worked { node, .. } if self.is_paused(node) => {
                self.world.enter(self.hosts[node].paused_until, what);
                Ok(())
            }
            ScheduledEvent::Synced { node, life, record } => self.synced(node, life, record),
            ScheduledEvent::Worked { node, life } => self.worked(node, life),
            ScheduledEvent::Resume(node) => self.resume(node),
            ScheduledEvent::Dialed { client, attempt } => self.dialed(client, attempt),
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Violation> {
        self.carry(packet)
    }

    fn receive_outside(&mut self, packet: &Packet) -> Result<(), Violation> {
        self.carry_to_access(packet)
    }

    fn greet(&mut self, one: usize, other: usize) -> Result<bool, Violation> {
        self.judge_each_other(one, other)
    }

    fn connected(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        self.feed(node, Input::Connected(peer as ReplicaId))
    }

    fn disconnected(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        self.lose_peer(node, peer)
    }

    fn hung_up(&mut self, client: usize, node: usize) {
        self.hang_up(client, node);
    }

    /// Nothing is to be done any more, anywhere.
    fn is_over(&self) -> bool {
        let known = self.judge.instances();
        self.clients.iter().all(Client::is_done)
            && self.is_calm
            && self.hosts.iter().filter_map(|host| host.life.as_ref()).all(|life| {
                life.replica.view().executed == known && life.work.is_empty() && life.executor.executed().next == known
            })
            && self.must_live().all(|node| self.hosts[node].life.is_some())
    }

    /// The time limit of a run: a candidate may have to wait out the suspicion timeout a few times.
    fn limit(&self) -> u64 {
        let suspicion = u64::try_from(self.setting.options.suspicion.as_nanos()).unwrap_or(u64::MAX);
        self.setting.faults_ns + AFTERMATH_NS + PATIENCE_NS + 20 * suspicion
    }

    fn describe(&self) -> String {
        let waiting: Vec<String> =
            self.clients.iter().filter(|client| !client.is_done()).map(|client| format!("{client:?}")).collect();
        let nodes: Vec<String> = self
            .hosts
            .iter()
            .filter_map(|host| Some((host.options.id, host.life.as_ref()?)))
            .map(|(id, life)| {
                let (view, next) = (life.replica.view(), life.executor.executed().next);
                format!(
                    "R{id} leader {:?} {view:?} service at {next}, {} waiting",
                    life.replica.leader(),
                    life.work.len()
                )
            })
            .collect();
        let known = self.judge.instances();
        format!("{known} instances are known\n{}\nwaiting clients:\n{}", nodes.join("\n"), waiting.join("\n"))
    }
}

/// The first words of something long.
fn brief(what: &impl Debug) -> String {
    let mut words = format!("{what:?}");
    if let Some((end, _)) = words.char_indices().nth(160) {
        words.truncate(end);
        words.push_str("...");
    }
    words
}

//! Cores without a runtime, driven by a random scheduler that does whatever the model permits: any event at any replica at any
//! time; messages late, twice, out of order or never; crashes that lose all but the durable journal.
//!
//! It checks agreement only, so it has no timeouts and needs no progress. It finds disagreement sooner than a simulated cluster:
//! ballots, instances and replicas are few, and most of its events are ones that are rare in a cluster.

use crate::core::{Ballot, Config, Core, Event, Image, Instance, Message, Output, Record, ReplicaId, Value, generated};
use env::Randomness;
use sim::{Outcome, Trace, Violation, demand};
use std::collections::BTreeMap;

/// Parameters of one exploration.
#[derive(Clone, Copy, Debug)]
pub struct Exploration {
    /// Number of replicas that vote: from, to (inclusive).
    pub replicas: (u64, u64),
    /// Events.
    pub steps: u32,
    /// Whether replicas crash, and recover from what was durable.
    pub crashes: bool,
    /// Whether replicas take snapshots and forget what is in them.
    pub truncates: bool,
}

impl Default for Exploration {
    fn default() -> Self {
        Self { replicas: (1, 5), steps: 4_000, crashes: true, truncates: true }
    }
}

/// Maximum number of messages on their way: others are lost.
const POOL: usize = 192;

/// Runs the exploration of a seed; the last `trace_lines` steps are kept in words.
#[must_use]
pub fn explore<C: Core>(seed: u64, exploration: &Exploration, trace_lines: usize) -> Outcome {
    let mut world = World::<C>::new(seed, exploration, trace_lines);
    let result = (0..exploration.steps).try_for_each(|_| world.step());
    world.trace.add("instances", world.prefixes.len() as u64 - 1);
    Outcome::of(world.trace, result)
}

struct World<C> {
    config: Config,
    randomness: Randomness,
    trace: Trace,
    nodes: Vec<Node<C>>,
    pool: Vec<Letter>,
    /// Weight of each act.
    weights: Vec<(u64, Act)>,
    /// Values requested so far are the numbers up to this.
    requested: u64,
    /// Values proposed at each ballot: one for each instance.
    proposed: BTreeMap<(Ballot, Instance), Value>,
    /// Values that a majority has voted for, as announced.
    chosen: BTreeMap<Instance, Value>,
    /// The service's state after each prefix of what was delivered first by anybody.
    prefixes: Vec<u64>,
}

struct Node<C> {
    core: C,
    journal: Vec<Record>,
    /// Number of durable records.
    durable: usize,
    /// Messages that may be sent once this number of records is durable.
    held: Vec<(usize, ReplicaId, Message)>,
    /// The greatest ballot in which anything was sent that has to be remembered.
    sworn: Ballot,
    /// The next instance for the service, and its state.
    next: Instance,
    state: u64,
}

struct Letter {
    from: ReplicaId,
    to: ReplicaId,
    message: Message,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Receive,
    Request,
    Suspect,
    Heartbeat,
    Execute,
    CatchUp,
    Snapshot,
    Truncate,
    Sync,
    Compact,
    Crash,
}

impl<C: Core> World<C> {
    fn new(seed: u64, exploration: &Exploration, trace_lines: usize) -> Self {
        let mut randomness = Randomness::from_seed(seed);
        let replicas = randomness.in_range(exploration.replicas.0..exploration.replicas.1 + 1);
        let window = randomness.in_range(1..5);
        let span = window + randomness.in_range(2..12);
        let config = Config { replicas, span, window, chunk: randomness.in_range(1..4) };
        let all = replicas + randomness.in_range(0..2);
        let weights = draw_weights(&mut randomness, exploration);
        let mut trace = Trace::new(trace_lines);
        trace.step(|| format!("{config:?}, {} learners, weights {weights:?}", all - replicas));
        Self {
            config,
            randomness,
            trace,
            nodes: (0..all).map(|id| Node::new(config, id)).collect(),
            pool: Vec::new(),
            weights,
            requested: 0,
            proposed: BTreeMap::new(),
            chosen: BTreeMap::new(),
            prefixes: vec![0],
        }
    }

    fn step(&mut self) -> Result<(), Violation> {
        let id = self.randomness.in_range(0..self.nodes.len() as u64);
        let act = self.draw_act();
        let node = &mut self.nodes[id as usize];
        match act {
            Act::Receive => return self.receive(),
            Act::Sync => {
                node.durable = self.randomness.in_range(node.durable as u64..node.journal.len() as u64 + 1) as usize;
                self.release(id);
            }
            Act::Compact => {
                node.journal = node.core.checkpoint();
                node.durable = node.journal.len();
                node.held.iter_mut().for_each(|(position, ..)| *position = 0);
                self.release(id);
            }
            Act::Crash => return self.crash(id),
            Act::Request => {
                self.requested += 1;
                let value = Value::from(self.requested.to_be_bytes().to_vec());
                return self.take(id, Event::Request(value));
            }
            Act::Suspect => return self.take(id, Event::Suspect),
            Act::Heartbeat => return self.take(id, Event::Heartbeat),
            Act::Execute => return self.take(id, Event::Execute),
            Act::CatchUp => {
                let peer = self.randomness.in_range(0..self.nodes.len() as u64);
                let high = self.randomness.in_range(0..self.prefixes.len() as u64 + 2);
                return self.take(id, Event::CatchUp(peer, high));
            }
            Act::Snapshot => {
                let event = Event::Snapshot(node.next, image(node.next, node.state));
                return self.take(id, event);
            }
            Act::Truncate => {
                // Also beyond the snapshot: the core must refuse that by itself.
                let instance = self.randomness.in_range(0..node.next + 3);
                return self.take(id, Event::Truncate(instance));
            }
        }
        Ok(())
    }

    fn draw_act(&mut self) -> Act {
        let total = self.weights.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.randomness.in_range(0..total);
        for &(weight, act) in &self.weights {
            if drawn < weight {
                return act;
            }
            drawn -= weight;
        }
        Act::Receive
    }

    /// Delivers a message: mostly a recent one, and mostly once.
    fn receive(&mut self) -> Result<(), Violation> {
        let count = self.pool.len() as u64;
        if count == 0 {
            return Ok(());
        }
        let low = if self.randomness.chance(3, 4) { count.saturating_sub(3 * self.nodes.len() as u64) } else { 0 };
        let which = self.randomness.in_range(low..count) as usize;
        let Letter { from, to, message } = if self.randomness.chance(1, 8) {
            let Letter { from, to, message } = &self.pool[which];
            Letter { from: *from, to: *to, message: message.clone() }
        } else {
            self.pool.remove(which)
        };
        self.take(to, Event::Receive(from, message))
    }

    fn take(&mut self, id: ReplicaId, event: Event) -> Result<(), Violation> {
        self.trace.step(|| format!("R{id} {event:?}"));
        let mut outputs = Vec::new();
        let node = &mut self.nodes[id as usize];
        node.core.step(event, &mut outputs);
        for output in &outputs {
            self.trace.step(|| format!("     {output:?}"));
        }
        let mut messages = Vec::new();
        for output in outputs {
            match output {
                Output::Journal(record) => self.nodes[id as usize].journal.push(record),
                Output::Send(to, message) => messages.push((Some(to), message)),
                Output::Broadcast(message) => messages.push((None, message)),
                Output::Deliver(instance, value) => self.deliver(id, instance, &value)?,
                Output::Install(instance, image) => self.install(id, instance, &image)?,
                Output::Return(_) => {}
            }
        }
        for (to, message) in messages {
            self.look_at(&message)?;
            self.post(id, to, message);
        }
        self.release(id);
        self.check_bounds(id)
    }

    /// Holds a message back until everything on which it depends is durable.
    fn post(&mut self, id: ReplicaId, to: Option<ReplicaId>, message: Message) {
        let everybody = 0..self.nodes.len() as u64;
        let receivers = to.map_or(everybody, |to| to..to + 1);
        let node = &mut self.nodes[id as usize];
        let position = if generated::waits(&message) { node.journal.len() } else { 0 };
        node.held.extend(receivers.map(|receiver| (position, receiver, message.clone())));
    }

    fn release(&mut self, id: ReplicaId) {
        let node = &mut self.nodes[id as usize];
        let durable = node.durable;
        for (_, to, message) in node.held.extract_if(.., |(position, ..)| *position <= durable) {
            if let Message::Prepare(ballot, _) | Message::Promise(ballot, ..) | Message::Accept(ballot, _) = message {
                node.sworn = node.sworn.max(ballot);
            }
            if self.pool.len() == POOL {
                self.pool.remove(self.randomness.in_range(0..POOL as u64) as usize);
            }
            self.pool.push(Letter { from: id, to, message });
        }
    }

    fn crash(&mut self, id: ReplicaId) -> Result<(), Violation> {
        let Node { journal, durable, sworn, .. } = &self.nodes[id as usize];
        let kept = self.randomness.in_range(*durable as u64..journal.len() as u64 + 1) as usize;
        let (sworn, records) = (*sworn, journal[..kept].to_vec());
        self.trace.step(|| format!("R{id} crashes; {kept} records are left"));
        self.trace.count("crashes");
        let node = Node::<C>::recover(self.config, id, records, sworn)?;
        let promised = node.core.view().promised;
        demand!(promised >= sworn, "R{id} has forgotten ballot {sworn}: after a crash it knows {promised}");
        self.nodes[id as usize] = node;
        Ok(())
    }

    /// One value for each ballot and instance, and one that is chosen.
    fn look_at(&mut self, message: &Message) -> Result<(), Violation> {
        match message {
            Message::Propose(ballot, instance, value) => {
                let first = self.proposed.entry((*ballot, *instance)).or_insert_with(|| value.clone());
                demand!(first == value, "ballot {ballot} proposes {first:?} and {value:?} for instance {instance}");
            }
            Message::Commit(ballot, instance) => {
                let proposal = self.proposed.get(&(*ballot, *instance));
                demand!(proposal.is_some(), "{ballot} commits instance {instance}, where it has proposed nothing");
                let value = proposal.cloned().unwrap_or_default();
                let first = self.chosen.entry(*instance).or_insert_with(|| value.clone());
                demand!(*first == value, "instance {instance}: {first:?} was chosen, and now {value:?} at {ballot}");
            }
            _ => {}
        }
        Ok(())
    }

    fn deliver(&mut self, id: ReplicaId, instance: Instance, value: &Value) -> Result<(), Violation> {
        let node = &mut self.nodes[id as usize];
        demand!(node.next == instance, "R{id} delivers instance {instance} where {} is the next", node.next);
        demand!(self.chosen.get(&instance) == Some(value), "R{id} delivers {value:?}, not chosen, at {instance}");
        let number = value.as_ref().try_into().map_or(0, u64::from_be_bytes);
        demand!(number <= self.requested, "R{id} delivers {number}, which nobody requested");
        node.state = fold(node.state, number);
        node.next += 1;
        self.trace.digest(node.state);
        self.trace.count("deliveries");
        if self.prefixes.len() as u64 == node.next {
            self.prefixes.push(node.state);
        }
        Ok(())
    }

    fn install(&mut self, id: ReplicaId, instance: Instance, x: &Image) -> Result<(), Violation> {
        let state = self.prefixes.get(instance as usize).copied();
        demand!(
            state.is_some_and(|state| image(instance, state) == *x),
            "R{id} installs {x:?} as the state of everything below {instance}, which was another one"
        );
        let node = &mut self.nodes[id as usize];
        (node.next, node.state) = (instance, state.unwrap_or_default());
        self.trace.count("installs");
        Ok(())
    }

    /// Whatever is kept lies within the span.
    fn check_bounds(&mut self, id: ReplicaId) -> Result<(), Violation> {
        if !self.randomness.chance(1, 16) {
            return Ok(());
        }
        let core = &self.nodes[id as usize].core;
        let view = core.view();
        let (low, high) = (view.low, view.low + self.config.span);
        for record in core.checkpoint() {
            let instances = match record {
                Record::Vote(_, instance, _) => vec![instance],
                Record::Learned(decisions) => decisions.iter().map(|decision| decision.instance).collect(),
                _ => Vec::new(),
            };
            let outside = instances.iter().find(|instance| !(low..high).contains(instance));
            demand!(outside.is_none(), "R{id} keeps {outside:?}, outside of {low}..{high}");
        }
        demand!(view.low <= view.snapshot_at, "R{id} has forgotten what is not in its snapshot: {view:?}");
        demand!(view.snapshot_at <= view.executed, "R{id} has a snapshot of what it has not delivered: {view:?}");
        Ok(())
    }
}

impl<C: Core> Node<C> {
    fn new(config: Config, id: ReplicaId) -> Self {
        let core = C::new(config, id);
        Self { core, journal: Vec::new(), durable: 0, held: Vec::new(), sworn: 0, next: 0, state: 0 }
    }

    /// The replica after a crash that left these records. Its service starts from the snapshot among them.
    fn recover(config: Config, id: ReplicaId, records: Vec<Record>, sworn: Ballot) -> Result<Self, Violation> {
        let core = C::recover(config, id, records.clone());
        let next = core.view().executed;
        let snapshots = core.checkpoint().into_iter().filter_map(|record| match record {
            Record::Snapshot(instance, x) => Some((instance, x)),
            _ => None,
        });
        let Some((instance, image)) = snapshots.last() else {
            return Err(Violation(format!("R{id} has no snapshot in its checkpoint")));
        };
        demand!(instance == next, "R{id} recovers to deliver {next}, from a snapshot of what is below {instance}");
        let bytes = image.to_vec().map_err(|error| Violation(error.to_string()))?;
        let state = bytes.get(8..16).and_then(|state| state.try_into().ok()).map_or(0, u64::from_be_bytes);
        let durable = records.len();
        Ok(Self { core, journal: records, durable, held: Vec::new(), sworn, next, state })
    }
}

/// Each exploration has its own mixture.
fn draw_weights(randomness: &mut Randomness, exploration: &Exploration) -> Vec<(u64, Act)> {
    let mut weights = vec![
        (600, Act::Receive),
        (60, Act::Request),
        (6, Act::Suspect),
        (5, Act::Heartbeat),
        (80, Act::Execute),
        (20, Act::CatchUp),
        (100, Act::Sync),
    ];
    if exploration.truncates {
        weights.extend([(12, Act::Snapshot), (12, Act::Truncate)]);
    }
    if exploration.crashes {
        weights.extend([(3, Act::Compact), (3, Act::Crash)]);
    }
    for (weight, _) in &mut weights {
        *weight = randomness.in_range(*weight / 4..*weight * 2 + 1);
    }
    weights
}

/// The service: its state is the sequence of delivered values.
fn fold(state: u64, number: u64) -> u64 {
    (state ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 1
}

fn image(instance: Instance, state: u64) -> Image {
    Image::from([instance.to_be_bytes(), state.to_be_bytes()].concat())
}

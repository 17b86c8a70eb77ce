//! Replicas among themselves: a small cluster whose time, network, disks and service are a queue of what happens next.

mod admission;
mod batching;
mod consumers;
mod elections;
mod hostility;
mod recovery;
mod repairs;
mod storms;

use super::{Effect, Input, Replica};
use crate::config::{Durability, Options};
use crate::core::{Image, Instance, Message, Record, ReplicaId, Value};
use crate::message::PeerMessage;
use crate::request::{Chunk, Request};
use env::Moment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) const MS: Duration = Duration::from_millis(1);
pub(super) const SUSPICION: Duration = Duration::from_millis(500);

/// A body of 40 bytes, as the experiments have it.
pub(super) fn chunk(origin: ReplicaId, session: u64, sequences: std::ops::Range<u64>) -> Chunk {
    let mut chunk = Chunk::new();
    for sequence in sequences {
        chunk.push(Request { origin, session, sequence, nonce: Some(7), body: &[7; 40] }).unwrap();
    }
    chunk
}

/// Origin and sequence of every request of a batch.
pub(super) fn read(value: &Value) -> Vec<(ReplicaId, u64)> {
    crate::request::requests(value).map(|request| request.map(|r| (r.origin, r.sequence)).unwrap()).collect()
}

pub(super) struct Node {
    pub(super) replica: Replica,
    pub(super) delivered: Vec<(Instance, Value)>,
    /// The service: the next instance, and a digest of all before it.
    pub(super) service: (Instance, u64),
    pub(super) journal: Vec<Record>,
    /// Records that this life of the node has journalled.
    records: u64,
    pub(super) leaders: Vec<Option<ReplicaId>>,
    /// Below which instance it may forget everything, as it was told.
    pub(super) may_forget: Vec<Instance>,
    /// Messages sent so far.
    pub(super) sent: Vec<(Moment, ReplicaId, PeerMessage)>,
    pub(super) compactions: u64,
    pub(super) service_stopped: bool,
    pub(super) disk_stopped: bool,
}

/// Something that will happen to a node of the life named.
struct FutureInput {
    node: usize,
    life: u64,
    input: Input,
}

/// Decides whether a message, given its sender and receiver, is lost.
pub(super) type LossRule = Box<dyn FnMut(ReplicaId, ReplicaId, &PeerMessage) -> bool>;

pub(super) struct Cluster {
    pub(super) now: Moment,
    pub(super) nodes: Vec<Option<Node>>,
    lives: Vec<u64>,
    coming: BTreeMap<(Moment, u64), FutureInput>,
    number: u64,
    pub(super) latency: Duration,
    /// Links (from, to) that lose everything.
    pub(super) cut: BTreeSet<(usize, usize)>,
    /// Messages that are lost.
    pub(super) loses: LossRule,
    options: fn(&mut Options),
    /// First delivery at each instance, by any replica.
    log: BTreeMap<Instance, Value>,
}

impl Cluster {
    /// Creates a cluster of this number of voters and learners, connected, at the beginning.
    pub(super) fn new(voters: usize, learners: usize, options: fn(&mut Options)) -> Self {
        let mut cluster = Self {
            now: Moment(1_000_000_000),
            nodes: Vec::new(),
            lives: vec![0; voters + learners],
            coming: BTreeMap::new(),
            number: 0,
            latency: MS / 2,
            cut: BTreeSet::new(),
            loses: Box::new(|_, _, _| false),
            options,
            log: BTreeMap::new(),
        };
        cluster.nodes.resize_with(voters + learners, || None);
        for id in 0..voters + learners {
            let options = cluster.options_of(voters, id);
            let replica = Replica::new(options, cluster.now, id as u64).unwrap();
            cluster.start(id, replica, Vec::new());
        }
        cluster
    }

    fn options_of(&self, voters: usize, id: usize) -> Options {
        let mut options = Options::new(voters as u64, id as u64);
        options.suspicion = SUSPICION;
        (self.options)(&mut options);
        options
    }

    fn start(&mut self, id: usize, replica: Replica, journal: Vec<Record>) {
        self.lives[id] += 1;
        self.nodes[id] = Some(Node {
            replica,
            delivered: Vec::new(),
            service: (0, 0),
            journal,
            records: 0,
            leaders: Vec::new(),
            may_forget: Vec::new(),
            sent: Vec::new(),
            compactions: 0,
            service_stopped: false,
            disk_stopped: false,
        });
        for other in 0..self.nodes.len() {
            if other != id && self.nodes[other].is_some() {
                self.later(Duration::ZERO, id, Input::Connected(other as u64));
                self.later(Duration::ZERO, other, Input::Connected(id as u64));
            }
        }
        self.later(Duration::ZERO, id, Input::Tick);
    }

    pub(super) fn kill(&mut self, id: usize) -> Node {
        let node = self.nodes[id].take().unwrap();
        for other in 0..self.nodes.len() {
            self.later(Duration::ZERO, other, Input::Disconnected(id as u64));
        }
        node
    }

    /// Starts a node that was killed, with its journal.
    pub(super) fn restart(&mut self, node: Node) {
        let options = node.replica.options().clone();
        let id = options.id as usize;
        let replica = Replica::recover(options, self.now, 99, node.journal.clone()).unwrap();
        self.start(id, replica, node.journal);
    }

    pub(super) fn node(&self, id: usize) -> &Node {
        self.nodes[id].as_ref().unwrap()
    }

    pub(super) fn node_mut(&mut self, id: usize) -> &mut Node {
        self.nodes[id].as_mut().unwrap()
    }

    pub(super) fn replica(&self, id: usize) -> &Replica {
        &self.node(id).replica
    }

    /// Schedules an input of a node after a delay.
    pub(super) fn later(&mut self, after: Duration, node: usize, input: Input) {
        let life = self.lives[node];
        self.number += 1;
        self.coming.insert((self.now + after, self.number), FutureInput { node, life, input });
    }

    /// Applies an input to a node now.
    pub(super) fn input(&mut self, node: usize, input: Input) {
        let mut effects = Vec::new();
        let now = self.now;
        self.node_mut(node).replica.handle(now, input, &mut effects);
        effects.into_iter().for_each(|effect| self.perform(node, effect));
    }

    pub(super) fn submit(&mut self, node: usize, requests: Chunk) {
        self.input(node, Input::Submit(requests));
    }

    fn perform(&mut self, id: usize, effect: Effect) {
        let now = self.now;
        let latency = self.latency;
        match effect {
            Effect::Send(to, message) => {
                assert_ne!(to, id as u64, "nobody sends to itself");
                self.node_mut(id).sent.push((now, to, message.clone()));
                let lost = self.cut.contains(&(id, to as usize)) || (self.loses)(id as u64, to, &message);
                if !lost && (to as usize) < self.nodes.len() {
                    self.later(latency, to as usize, Input::Peer { from: id as u64, message });
                }
            }
            Effect::Journal(record) => {
                let node = self.node_mut(id);
                assert_eq!(node.replica.options().durability, Durability::Fsync);
                node.journal.push(record);
                node.records += 1;
                let records = node.records;
                if !node.disk_stopped {
                    self.later(MS / 10, id, Input::Durable(records));
                }
            }
            Effect::Compact(records, instead) => {
                let node = self.node_mut(id);
                assert_eq!(records, node.records, "all records so far");
                node.journal = instead;
                node.compactions += 1;
            }
            Effect::Admitted => {}
            Effect::Deliver(instance, value) => self.deliver(id, instance, value),
            Effect::Recover(at, image) | Effect::Install(at, image) => {
                let digest = u64::from_le_bytes(image.to_vec().unwrap()[..8].try_into().unwrap());
                self.node_mut(id).service = (at, digest);
                self.later(Duration::ZERO, id, Input::Executed(at));
            }
            Effect::TakeSnapshot => {
                let (next, digest) = self.node(id).service;
                let image = Image::from(digest.to_le_bytes().as_slice());
                self.later(MS / 10, id, Input::Taken(next, image));
            }
            Effect::Leader(leader, _) => self.node_mut(id).leaders.push(leader),
            Effect::MayForget(below) => self.node_mut(id).may_forget.push(below),
        }
    }

    fn deliver(&mut self, id: usize, instance: Instance, value: Value) {
        let first = self.log.entry(instance).or_insert_with(|| value.clone());
        assert_eq!(*first, value, "two values of instance {instance}");
        let node = self.node_mut(id);
        assert_eq!(node.service.0, instance, "deliveries come in order, without holes");
        let digest = node.service.1.rotate_left(7) ^ u64::from(crc32c::crc32c(&value)) ^ instance;
        node.service = (instance + 1, digest);
        node.delivered.push((instance, value));
        if !node.service_stopped {
            self.later(Duration::ZERO, id, Input::Executed(instance + 1));
        }
    }

    /// The next thing happens, if it does until then.
    fn next(&mut self, until: Moment) -> bool {
        let input = self.coming.first_key_value().map_or(Moment::NEVER, |((at, _), _)| *at);
        let alive =
            self.nodes.iter().enumerate().filter_map(|(id, node)| Some((node.as_ref()?.replica.deadline(), id)));
        let (tick, ticker) = alive.min().unwrap_or((Moment::NEVER, 0));
        if input.min(tick) > until {
            return false;
        }
        if tick < input {
            self.now = self.now.max(tick);
            self.input(ticker, Input::Tick);
            return true;
        }
        if let Some(((at, _), coming)) = self.coming.pop_first() {
            self.now = self.now.max(at);
            if self.nodes[coming.node].is_some() && self.lives[coming.node] == coming.life {
                self.input(coming.node, coming.input);
            }
        }
        true
    }

    pub(super) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        let mut events = 0_u64;
        while self.next(until) {
            events += 1;
            assert!(events < 3_000_000, "time stands still");
        }
        self.now = until;
    }

    /// Returns the time until the condition holds.
    pub(super) fn wait(&mut self, limit: Duration, mut so: impl FnMut(&Self) -> bool) -> Duration {
        let since = self.now;
        while !so(self) {
            assert!(self.next(since + limit), "not within {limit:?}");
        }
        self.now.since(since)
    }

    /// Returns the leader on which all living nodes agree.
    pub(super) fn leader(&self) -> Option<usize> {
        let mut leaders = self.nodes.iter().flatten().map(|node| node.replica.leader());
        let first = leaders.next().flatten()?;
        leaders.all(|leader| leader == Some(first)).then_some(first as usize)
    }

    /// A cluster that has a leader.
    pub(super) fn led(voters: usize, learners: usize, options: fn(&mut Options)) -> Self {
        let mut cluster = Self::new(voters, learners, options);
        cluster.wait(SUSPICION, |cluster| cluster.leader() == Some(0));
        cluster.run(10 * MS);
        cluster
    }

    /// Requests that a node has delivered: origin and sequence.
    pub(super) fn requests(&self, id: usize) -> Vec<(ReplicaId, u64)> {
        self.node(id).delivered.iter().flat_map(|(_, value)| read(value)).collect()
    }

    /// Core messages that a node has sent since a moment.
    pub(super) fn sent(&self, id: usize, since: Moment) -> impl Iterator<Item = (ReplicaId, &Message)> {
        self.node(id).sent.iter().filter(move |(at, ..)| *at >= since).filter_map(|(_, to, message)| match message {
            PeerMessage::Core(message) => Some((*to, message)),
            _ => None,
        })
    }
}

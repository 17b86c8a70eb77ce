//! A cluster in virtual time: the loop from one event to the next, for replicas of any protocol.
//!
//! ```text
//!             queue: scheduled events, connections to make or to give up
//!   earliest  network: packets between nodes
//!      of     access: packets between nodes and those outside (clients)
//!             timers of replicas and outsiders
//!                │
//!                ▼
//!   run ──► Replicas::{on_scheduled, receive, answer, wake} ──► World::{enter, network, access, cut, partition, ...}
//! ```
//!
//! [`World`] is the environment of the nodes: time, networks, and the record of the run. A simulation owns one, and implements
//! [`Replicas`] for what its nodes do. The harness opens connections, reopens those that broke, and reports both to the two ends.
//! It ends the run when the simulation is done, when an invariant is violated, or when nothing makes progress.

use std::fmt::Debug;

use env::Randomness;

use crate::network::{Delay, NetworkOptions, Packet, SimNetwork};
use crate::{EventQueue, MILLISECOND, SECOND, Trace, Violation, demand, one_of};

/// Event in a cluster.
#[derive(Clone, Copy, Debug)]
enum Event<H> {
    /// Two nodes try to connect.
    Connect(usize, usize),
    /// A connection over a link that is cut is given up.
    GiveUp(usize, usize),
    /// The simulation's own.
    Own(H),
}

/// Environment of the nodes of a cluster: time, random numbers, networks, and the record of the run.
#[derive(Debug)]
pub struct World<H> {
    /// Virtual time, in nanoseconds.
    pub now: u64,
    /// All chance but that of the networks.
    pub randomness: Randomness,
    /// The story.
    pub trace: Trace,
    /// Between nodes.
    pub network: SimNetwork,
    /// Between nodes and outsiders, whose numbers follow those of the nodes: streams, always.
    pub access: SimNetwork,
    nodes: usize,
    queue: EventQueue<Event<H>>,
    /// Whether two nodes are connected.
    connected: Vec<bool>,
}

impl<H> World<H> {
    /// Nodes that know nobody, and outsiders, at the beginning of time.
    pub fn new(
        mut randomness: Randomness,
        trace: Trace,
        nodes: usize,
        outsiders: usize,
        options: NetworkOptions,
    ) -> Self {
        let streams = NetworkOptions { in_order: true, ..options };
        Self {
            now: 0,
            trace,
            network: SimNetwork::new(randomness.next_u64(), nodes, options),
            access: SimNetwork::new(randomness.next_u64(), nodes + outsiders, streams),
            randomness,
            nodes,
            queue: EventQueue::new(),
            connected: vec![false; nodes * nodes],
        }
    }

    /// Enters what will happen at `at`.
    pub fn enter(&mut self, at: u64, what: H) {
        self.queue.enter(at, Event::Own(what));
    }

    /// Lets every two nodes try to connect, now.
    pub fn connect_all(&mut self) {
        for one in 0..self.nodes {
            (0..one).for_each(|other| self.queue.enter(self.now, Event::Connect(one, other)));
        }
    }

    /// Tells a step of the story, with its time.
    pub fn step(&mut self, words: impl FnOnce() -> String) {
        let now = self.now;
        self.trace.step(|| format!("{} {}", clock(now), words()));
    }

    /// Returns whether two nodes are connected.
    #[must_use]
    pub fn is_connected(&self, one: usize, other: usize) -> bool {
        self.connected[self.pair(one, other)]
    }

    fn pair(&self, one: usize, other: usize) -> usize {
        one.min(other) * self.nodes + one.max(other)
    }

    fn link(&mut self, one: usize, other: usize) -> &mut bool {
        let pair = self.pair(one, other);
        &mut self.connected[pair]
    }

    /// Breaks all connections of a node that stops.
    pub fn disconnect(&mut self, node: usize) {
        self.network.disconnect(node);
        self.access.disconnect(node);
    }

    /// Any node.
    pub fn node(&mut self) -> usize {
        self.randomness.in_range(0..self.nodes as u64) as usize
    }

    /// Two different nodes, if there are two.
    pub fn two_nodes(&mut self) -> (usize, usize) {
        let one = self.node();
        let step = self.randomness.in_range(1..self.nodes.max(2) as u64) as usize;
        (one, (one + step) % self.nodes)
    }

    /// Makes the network between nodes better or worse than `usual`.
    pub fn change_network(&mut self, usual: NetworkOptions) {
        let NetworkOptions { delay, in_order, .. } = usual;
        let slower = *one_of(&mut self.randomness, &[1, 1, 5, 50]);
        // A stream breaks with each packet lost.
        let losses: &[u32] = if in_order { &[0, 200, 2_000] } else { &[0, 10_000, 100_000, 300_000] };
        let options = NetworkOptions {
            delay: Delay { usual_ns: delay.usual_ns * slower, longest_ns: delay.longest_ns * slower, ..delay },
            loss_ppm: *one_of(&mut self.randomness, losses),
            duplicate_ppm: *one_of(&mut self.randomness, &[0, 0, 50_000, 300_000]),
            bytes_per_second: *one_of(&mut self.randomness, &[None, None, Some(1 << 20)]),
            ..usual
        };
        self.network.set_options(options);
    }

    /// Breaks a connection between nodes.
    pub fn break_one(&mut self) {
        let (one, other) = self.two_nodes();
        self.network.break_connection(one, other);
    }

    /// Cuts one direction between two nodes.
    pub fn cut_one_way(&mut self) {
        let (one, other) = self.two_nodes();
        self.network.cut(one, other);
        self.give_up_later();
    }

    /// Cuts some nodes off from the others.
    pub fn partition(&mut self) {
        let sides = self.randomness.next_u64();
        let side: Vec<usize> = (0..self.nodes).filter(|node| sides >> node & 1 == 1).collect();
        self.network.partition(&side);
        self.give_up_later();
    }

    /// Cuts one node off from all others.
    pub fn isolate(&mut self, node: usize) {
        self.network.isolate(node);
        self.give_up_later();
    }

    /// Lets those who are behind a cut notice in their own time: soon, late, or never.
    fn give_up_later(&mut self) {
        for one in 0..self.nodes {
            for other in 0..one {
                if self.is_cut(one, other) {
                    let at = self.now + self.randomness.in_range(0..4 * SECOND);
                    self.queue.enter(at, Event::GiveUp(one, other));
                }
            }
        }
    }

    fn is_cut(&self, one: usize, other: usize) -> bool {
        self.network.is_cut(one, other) || self.network.is_cut(other, one)
    }

    fn give_up(&mut self, one: usize, other: usize) {
        if self.is_cut(one, other) {
            self.network.break_connection(one, other);
        }
    }

    fn connect_later(&mut self, one: usize, other: usize, least: u64, most: u64) {
        let at = self.now + self.randomness.in_range(least..most);
        self.queue.enter(at, Event::Connect(one, other));
    }
}

/// Nodes of a protocol, and their clients, as a cluster runs them. An error is a violated guarantee and ends the run.
pub trait Replicas {
    /// Event that was entered for a certain time ([`World::enter`]).
    type ScheduledEvent: Copy + Debug;

    /// Owner of a timer.
    type Timer: Copy + Debug;

    /// Returns the environment of the nodes.
    fn world(&mut self) -> &mut World<Self::ScheduledEvent>;

    /// Returns whether a node runs.
    fn is_up(&self, node: usize) -> bool;

    /// The earliest timer of all, and its time: not before `now`. Of two at one time always the same one.
    fn next_timer(&self, now: u64) -> Option<(u64, Self::Timer)>;

    /// A timer has run out.
    ///
    /// # Errors
    /// A promise was broken, as with all methods below.
    fn wake(&mut self, timer: Self::Timer) -> Result<(), Violation>;

    /// Something happens that was entered.
    ///
    /// # Errors
    /// [`Violation`].
    fn on_scheduled(&mut self, what: Self::ScheduledEvent) -> Result<(), Violation>;

    /// A packet has arrived from another node.
    ///
    /// # Errors
    /// [`Violation`].
    fn receive(&mut self, packet: &Packet) -> Result<(), Violation>;

    /// A packet has arrived from an outsider at a node, or from a node at an outsider.
    ///
    /// # Errors
    /// [`Violation`].
    fn receive_outside(&mut self, packet: &Packet) -> Result<(), Violation>;

    /// Connects two nodes that run and reach each other, and returns whether they accept each other. If not, they try again.
    ///
    /// # Errors
    /// [`Violation`].
    fn greet(&mut self, one: usize, other: usize) -> Result<bool, Violation>;

    /// A node is connected with a peer.
    ///
    /// # Errors
    /// [`Violation`].
    fn connected(&mut self, node: usize, peer: usize) -> Result<(), Violation>;

    /// The connection of a node with a peer has broken.
    ///
    /// # Errors
    /// [`Violation`].
    fn disconnected(&mut self, node: usize, peer: usize) -> Result<(), Violation>;

    /// The connection of an outsider (counted from 0) with a node has broken.
    fn hung_up(&mut self, outsider: usize, node: usize);

    /// Returns whether the run is complete.
    fn is_over(&self) -> bool;

    /// Virtual time after which the run has failed, if it is not over.
    fn limit(&self) -> u64;

    /// Describes the state of all nodes and clients, for a run that has failed.
    fn describe(&self) -> String;
}

/// Next thing to happen.
#[derive(Clone, Copy, Debug)]
enum Next<T> {
    Event,
    Packet,
    Outside,
    Timer(T),
}

/// Runs a cluster until it is over.
///
/// # Errors
/// A promise was broken, or nothing progresses.
pub fn run<R: Replicas>(replicas: &mut R) -> Result<(), Violation> {
    loop {
        let Some((at, what)) = next(replicas) else { return Err(Violation("nothing will ever happen".into())) };
        demand!(at <= replicas.limit(), "no progress: {}", replicas.describe());
        replicas.world().now = at;
        step(replicas, what)?;
        notice_broken(replicas)?;
        if replicas.is_over() {
            return Ok(());
        }
    }
}

/// Returns when something happens next, if anything does.
pub fn next_at<R: Replicas>(replicas: &mut R) -> Option<u64> {
    next(replicas).map(|(at, _)| at)
}

/// Has happen what is due at a time: for a simulation whose cluster is one part of it.
///
/// # Errors
/// A promise was broken.
pub fn run_due<R: Replicas>(replicas: &mut R, now: u64) -> Result<(), Violation> {
    while let Some((at, what)) = next(replicas).filter(|(at, _)| *at <= now) {
        let world = replicas.world();
        world.now = world.now.max(at);
        step(replicas, what)?;
        notice_broken(replicas)?;
    }
    Ok(())
}

/// Returns the next thing to happen and its time. At equal times the queue comes first, then networks, then timers.
fn next<R: Replicas>(replicas: &mut R) -> Option<(u64, Next<R::Timer>)> {
    let world = replicas.world();
    let firsts = [
        world.queue.next_at().map(|at| (at, Next::Event)),
        world.network.next_at().map(|at| (at, Next::Packet)),
        world.access.next_at().map(|at| (at, Next::Outside)),
    ];
    let now = world.now;
    let timer = replicas.next_timer(now).map(|(at, timer)| (at, Next::Timer(timer)));
    firsts.into_iter().chain([timer]).flatten().min_by_key(|(at, _)| *at).filter(|(at, _)| *at < u64::MAX)
}

fn step<R: Replicas>(replicas: &mut R, what: Next<R::Timer>) -> Result<(), Violation> {
    let world = replicas.world();
    let now = world.now;
    match what {
        Next::Event => match world.queue.take_due(now) {
            Some((_, Event::Connect(one, other))) => connect(replicas, one, other),
            Some((_, Event::GiveUp(one, other))) => {
                world.give_up(one, other);
                Ok(())
            }
            Some((_, Event::Own(what))) => replicas.on_scheduled(what),
            None => Ok(()),
        },
        Next::Packet => match world.network.deliver(now) {
            Some(packet) => replicas.receive(&packet),
            None => Ok(()),
        },
        Next::Outside => match world.access.deliver(now) {
            Some(packet) => replicas.receive_outside(&packet),
            None => Ok(()),
        },
        Next::Timer(timer) => replicas.wake(timer),
    }
}

/// Two nodes try to connect, and try again later if they cannot.
fn connect<R: Replicas>(replicas: &mut R, one: usize, other: usize) -> Result<(), Violation> {
    let is_reachable = !replicas.world().is_cut(one, other) && replicas.is_up(one) && replicas.is_up(other);
    if !is_reachable || !replicas.greet(one, other)? {
        replicas.world().connect_later(one, other, 20 * MILLISECOND, 100 * MILLISECOND);
        return Ok(());
    }
    *replicas.world().link(one, other) = true;
    replicas.connected(one, other)?;
    replicas.connected(other, one)
}

/// Notifies the nodes whose connection has broken. They then try to reconnect.
fn notice_broken<R: Replicas>(replicas: &mut R) -> Result<(), Violation> {
    for (one, other) in replicas.world().network.take_broken() {
        if !std::mem::take(replicas.world().link(one, other)) {
            continue;
        }
        replicas.disconnected(one, other)?;
        replicas.disconnected(other, one)?;
        replicas.world().connect_later(one, other, MILLISECOND, 50 * MILLISECOND);
    }
    let nodes = replicas.world().nodes;
    for (one, other) in replicas.world().access.take_broken() {
        let (node, outsider) = (one.min(other), one.max(other));
        if outsider >= nodes && node < nodes {
            replicas.hung_up(outsider - nodes, node);
        }
    }
    Ok(())
}

/// A time as the story tells it: seconds and microseconds.
#[must_use]
pub fn clock(now: u64) -> String {
    format!("{:>5}.{:06}", now / SECOND, now % SECOND / 1_000)
}

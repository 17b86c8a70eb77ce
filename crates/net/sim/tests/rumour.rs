//! The harness with replicas of a protocol as small as can be: nodes that tell each other all rumours that they know, on a network that
//! loses, doubles and cuts, and an outsider who asks one of them.

use env::Randomness;
use seriatim_sim::cluster::run;
use seriatim_sim::{
    DriftingClock, MILLISECOND, NetworkOptions, Outcome, Packet, Replicas, SECOND, Trace, Violation, World, demand,
};
use std::collections::BTreeSet;

const NODES: usize = 5;
/// Faults end then.
const CALM: u64 = 5 * SECOND;

#[derive(Clone, Copy, Debug)]
enum ScheduledEvent {
    Fault,
    Calm,
    /// A node stops, and starts again without what it knew.
    Restart(usize),
    Start(usize),
}

struct Node {
    clock: DriftingClock,
    is_up: bool,
    /// Rumours by who has begun them. Every node begins one.
    known: BTreeSet<u8>,
    tells_at: u64,
    peers: BTreeSet<usize>,
}

struct Gossip {
    world: World<ScheduledEvent>,
    nodes: Vec<Node>,
    is_calm: bool,
    /// Answer that the outsider received.
    answer: BTreeSet<u8>,
    asks_at: u64,
}

impl Gossip {
    fn new(seed: u64, trace_lines: usize) -> Self {
        let options = NetworkOptions { loss_ppm: 1_000, ..NetworkOptions::default() };
        let mut world = World::new(Randomness::from_seed(seed), Trace::new(trace_lines), NODES, 1, options);
        let node = |id: usize| Node {
            clock: DriftingClock::draw(1_000, &mut world.randomness),
            is_up: true,
            known: BTreeSet::from([id as u8]),
            tells_at: 0,
            peers: BTreeSet::new(),
        };
        let nodes = (0..NODES).map(node).collect();
        world.connect_all();
        world.enter(SECOND / 4, ScheduledEvent::Fault);
        world.enter(CALM, ScheduledEvent::Calm);
        Self { world, nodes, is_calm: false, answer: BTreeSet::new(), asks_at: CALM }
    }

    fn fault(&mut self) {
        if self.is_calm {
            return;
        }
        let node = self.world.node();
        match self.world.randomness.in_range(0..6) {
            0 => self.world.cut_one_way(),
            1 => self.world.partition(),
            2 => self.world.isolate(node),
            3 => self.world.break_one(),
            4 => self.world.change_network(NetworkOptions::default()),
            _ => self.world.enter(self.world.now, ScheduledEvent::Restart(node)),
        }
        let at = self.world.now + self.world.randomness.in_range(0..SECOND / 2);
        self.world.enter(at, ScheduledEvent::Fault);
    }

    fn restart(&mut self, node: usize) {
        let own = BTreeSet::from([node as u8]);
        let state = &mut self.nodes[node];
        (state.is_up, state.known) = (false, own);
        self.world.disconnect(node);
        self.world.trace.count("restarts");
        self.world.enter(self.world.now + 10 * MILLISECOND, ScheduledEvent::Start(node));
    }

    fn tell(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        state.tells_at = self.world.now + 20 * MILLISECOND;
        let rumours: Vec<u8> = state.known.iter().copied().collect();
        for &peer in &state.peers {
            self.world.network.send(self.world.now, node, peer, rumours.clone());
        }
    }
}

impl Replicas for Gossip {
    type ScheduledEvent = ScheduledEvent;
    /// A node's, or (by the number after the last) the outsider's.
    type Timer = usize;

    fn world(&mut self) -> &mut World<ScheduledEvent> {
        &mut self.world
    }

    fn is_up(&self, node: usize) -> bool {
        self.nodes[node].is_up
    }

    fn next_timer(&self, now: u64) -> Option<(u64, usize)> {
        let nodes = self.nodes.iter().enumerate().filter(|(_, node)| node.is_up);
        let timers = nodes.map(|(id, node)| (node.clock.when(node.clock.shows(node.tells_at)).max(now), id));
        timers.chain([(self.asks_at.max(now), NODES)]).min()
    }

    fn wake(&mut self, timer: usize) -> Result<(), Violation> {
        if timer < NODES {
            self.tell(timer);
        } else {
            self.asks_at = self.world.now + SECOND;
            self.world.access.send(self.world.now, NODES, 0, *b"?");
        }
        Ok(())
    }

    fn on_scheduled(&mut self, what: ScheduledEvent) -> Result<(), Violation> {
        match what {
            ScheduledEvent::Fault => self.fault(),
            ScheduledEvent::Calm => {
                self.is_calm = true;
                self.world.network.heal();
            }
            ScheduledEvent::Restart(node) => self.restart(node),
            ScheduledEvent::Start(node) => self.nodes[node].is_up = true,
        }
        Ok(())
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Violation> {
        self.world.trace.digest(self.world.now);
        let node = &mut self.nodes[packet.to];
        demand!(node.is_up, "a node that is down receives");
        demand!(node.peers.contains(&packet.from), "a packet comes over no connection");
        node.known.extend(packet.bytes.iter());
        self.world.step(|| format!("{} hears from {}", packet.to, packet.from));
        Ok(())
    }

    fn receive_outside(&mut self, packet: &Packet) -> Result<(), Violation> {
        if packet.to == NODES {
            self.answer.extend(packet.bytes.iter());
        } else if self.nodes[packet.to].is_up {
            let known: Vec<u8> = self.nodes[packet.to].known.iter().copied().collect();
            self.world.access.send(self.world.now, packet.to, packet.from, known);
        }
        Ok(())
    }

    fn greet(&mut self, _: usize, _: usize) -> Result<bool, Violation> {
        Ok(true)
    }

    fn connected(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        demand!(self.nodes[node].peers.insert(peer), "{node} is connected with {peer} twice");
        Ok(())
    }

    fn disconnected(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        demand!(self.nodes[node].peers.remove(&peer), "{node} was not connected with {peer}");
        Ok(())
    }

    fn hung_up(&mut self, _: usize, _: usize) {
        self.world.trace.count("hung up");
    }

    fn is_over(&self) -> bool {
        self.is_calm && self.answer.len() == NODES && self.nodes.iter().all(|node| node.known.len() == NODES)
    }

    fn limit(&self) -> u64 {
        CALM + 20 * SECOND
    }

    fn describe(&self) -> String {
        format!("{} rumours have come out", self.answer.len())
    }
}

fn simulate(seed: u64, trace_lines: usize) -> Outcome {
    let mut gossip = Gossip::new(seed, trace_lines);
    let result = run(&mut gossip);
    Outcome::of(gossip.world.trace, result)
}

#[test]
fn in_the_end_everybody_knows_everything() {
    let (mut restarts, mut hung_up) = (0, 0);
    for seed in 0..60 {
        let outcome = simulate(seed, 0);
        assert_eq!(outcome.violation, None, "seed {seed}");
        restarts += outcome.tally.get("restarts").copied().unwrap_or(0);
        hung_up += outcome.tally.get("hung up").copied().unwrap_or(0);
    }
    assert!(restarts > 50 && hung_up > 0, "{restarts} restarts, {hung_up} times hung up: too little happens");
}

#[test]
fn equal_seeds_take_equal_steps_and_tell_the_same_story() {
    let (one, other) = (simulate(7, 50), simulate(7, 50));
    assert_eq!((one.digest, &one.story, one.story.len()), (other.digest, &other.story, 50));
    assert_eq!(simulate(7, 0).digest, one.digest, "traced or not");
    assert_ne!(simulate(8, 0).digest, one.digest);
}

#[test]
fn a_run_without_progress_ends_with_a_description() {
    let mut gossip = Gossip::new(3, 0);
    // The outsider never asks.
    gossip.asks_at = u64::MAX;
    let violation = run(&mut gossip).expect_err("nobody asks");
    assert_eq!(violation.to_string(), "no progress: 0 rumours have come out");
}

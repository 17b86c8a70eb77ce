//! Faults of all kinds for a while, and then none: from then on there must be progress, and soon.

use super::*;
use env::Randomness;

/// Timeouts after the last fault within which everybody has delivered a new request.
const TIME_LIMIT: u32 = 8;

struct Storm {
    cluster: Cluster,
    randomness: Randomness,
    dead: Vec<Node>,
    nodes: usize,
    sequence: u64,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let mut randomness = Randomness::from_seed(seed);
        let voters = [1, 2, 3, 3, 4, 5, 7][randomness.in_range(0..7) as usize];
        let learners = randomness.in_range(0..2) as usize;
        let mut cluster = Cluster::new(voters, learners, |options| {
            options.durability = Durability::Fsync;
            (options.span, options.window, options.snapshot_bytes) = (32, 5, 20_000);
            options.batch_bytes = 400;
        });
        cluster.latency = [MS / 10, MS, 20 * MS][randomness.in_range(0..3) as usize];
        Self { cluster, randomness, dead: Vec::new(), nodes: voters + learners, sequence: 0 }
    }

    fn any_node(&mut self) -> usize {
        self.randomness.in_range(0..self.nodes as u64) as usize
    }

    fn fault(&mut self) {
        let (a, b) = (self.any_node(), self.any_node());
        match self.randomness.in_range(0..10) {
            0 => drop(self.cluster.cut.insert((a, b))),
            1 => self.cluster.cut.extend((0..self.nodes).map(|other| (a, other))),
            2 => self.cluster.cut.extend((0..self.nodes).map(|other| (other, a))),
            3 => self.cluster.cut.extend((0..self.nodes).flat_map(|other| [(a, other), (other, a)])),
            4 | 5 => self.cluster.cut.clear(),
            6 => {
                let (percent, mut randomness) = (self.randomness.in_range(0..60), self.randomness.fork());
                self.cluster.loses = Box::new(move |_, _, _| randomness.chance(percent, 100));
            }
            7 if self.cluster.nodes[a].is_some() => {
                let killed = self.cluster.kill(a);
                self.dead.push(killed);
            }
            8 if !self.dead.is_empty() => {
                let node = self.dead.remove(0);
                self.cluster.restart(node);
            }
            _ => {
                for id in [a, b] {
                    if self.cluster.nodes[id].is_some() {
                        let stopped = self.randomness.chance(1, 3);
                        self.cluster.node_mut(id).disk_stopped = stopped;
                        self.sync(id);
                    }
                }
            }
        }
    }

    /// A disk that goes on makes durable what was journalled meanwhile.
    fn sync(&mut self, id: usize) {
        let node = self.cluster.node(id);
        if !node.disk_stopped {
            let records = node.records;
            self.cluster.input(id, Input::Durable(records));
        }
    }

    fn submit(&mut self, id: usize) {
        if self.cluster.nodes[id].is_some() && self.cluster.replica(id).room() > 0 {
            self.sequence += 1;
            let requests = chunk(id as u64, self.sequence, 0..1 + self.sequence % 5);
            self.cluster.submit(id, requests);
        }
    }

    fn calm(&mut self) {
        self.cluster.cut.clear();
        self.cluster.loses = Box::new(|_, _, _| false);
        for node in std::mem::take(&mut self.dead) {
            self.cluster.restart(node);
        }
        for id in 0..self.nodes {
            self.cluster.node_mut(id).disk_stopped = false;
            self.sync(id);
        }
    }

    /// Returns whether the requests of this number from all nodes are delivered to all nodes. Requests in a snapshot do not
    /// count as deliveries: equal states do.
    fn all_have_delivered(&self, sequence: u64) -> bool {
        let (cluster, nodes) = (&self.cluster, 0..self.nodes);
        let state = cluster.node(0).service;
        let delivered: BTreeSet<_> = nodes.clone().flat_map(|id| cluster.requests(id)).collect();
        nodes.clone().all(|id| cluster.node(id).service == state && delivered.contains(&(id as u64, sequence)))
    }

    /// Returns the time until a leader is known everywhere and each node's new request is delivered everywhere.
    fn recovery(&mut self) -> Duration {
        let since = self.cluster.now;
        self.cluster.wait(SUSPICION * TIME_LIMIT, |cluster| cluster.leader().is_some());
        let sequence = 1_000_000;
        for id in 0..self.nodes {
            self.cluster.submit(id, chunk(id as u64, 1, sequence..sequence + 1));
        }
        while !self.all_have_delivered(sequence) {
            assert!(self.cluster.now.since(since) < SUSPICION * TIME_LIMIT, "no progress");
            self.cluster.run(MS * 5);
        }
        self.cluster.now.since(since)
    }
}

fn storm(seed: u64) -> Duration {
    let mut storm = Storm::new(seed);
    for _ in 0..storm.randomness.in_range(5..60) {
        storm.fault();
        for _ in 0..storm.randomness.in_range(0..20) {
            let id = storm.any_node();
            storm.submit(id);
            let time = MS * storm.randomness.in_range(1..30) as u32;
            storm.cluster.run(time);
        }
    }
    storm.calm();
    storm.recovery()
}

#[test]
fn after_any_storm_there_is_progress() {
    for seed in 0..40 {
        let time = std::panic::catch_unwind(|| storm(seed)).unwrap_or_else(|_| panic!("seed {seed}"));
        assert!(time < SUSPICION * TIME_LIMIT, "seed {seed}: {time:?}");
    }
}

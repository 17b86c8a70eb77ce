//! The plain core against the proved one: the same events must give the same outputs, state and journal.
//!
//! Two sources of events. In a *cluster*, replicas exchange messages over a network that drops, duplicates and reorders, and are
//! suspected, truncated and restarted at random: events as they happen, deep into the protocol. A *stranger* makes up messages
//! with small numbers: events that no correct replica sends.

use env::Randomness;
use paxos::core::generated::{Decision, Vote};
use paxos::core::{Config, Core, Event, Image, Message, Output, Proved, Record, ReplicaId, Value};
use seriatim_lab::plain_core::Plain;

/// Both cores of one replica, in step, and the journal that they agree on.
struct Twins {
    config: Config,
    id: ReplicaId,
    proved: Proved,
    plain: Plain,
    journal: Vec<Record>,
}

impl Twins {
    fn new(config: Config, id: ReplicaId) -> Twins {
        Twins { config, id, proved: Proved::new(config, id), plain: Plain::new(config, id), journal: Vec::new() }
    }

    fn step(&mut self, event: Event) -> Vec<Output> {
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        self.proved.step(event.clone(), &mut expected);
        self.plain.step(event.clone(), &mut found);
        assert_eq!(expected, found, "replica {} at {event:?}", self.id);
        assert_eq!(self.proved.view(), self.plain.view(), "replica {} after {event:?}", self.id);
        self.journal.extend(expected.iter().filter_map(|output| match output {
            Output::Journal(record) => Some(record.clone()),
            _ => None,
        }));
        expected
    }

    /// Both start again from the journal, or from what stands for it.
    fn restart(&mut self) {
        self.check_checkpoints();
        self.proved = Proved::recover(self.config, self.id, self.journal.clone());
        self.plain = Plain::recover(self.config, self.id, self.journal.clone());
        self.check_checkpoints();
        self.journal = self.plain.checkpoint();
    }

    fn check_checkpoints(&self) {
        assert_eq!(self.proved.view(), self.plain.view());
        assert_eq!(self.proved.checkpoint(), self.plain.checkpoint());
    }
}

fn config(replicas: u64) -> Config {
    Config { replicas, span: 12, window: 4, chunk: 3 }
}

fn value(randomness: &mut Randomness) -> Value {
    Value::from(vec![b'v'; randomness.in_range(0..6) as usize])
}

fn image(randomness: &mut Randomness) -> Image {
    Image::from(vec![b'i'; randomness.in_range(0..6) as usize])
}

/// Counts of events, so that a test that exercises nothing fails.
#[derive(Debug, Default)]
struct Seen {
    delivered: u64,
    installed: u64,
    proposed: u64,
    answered: u64,
    truncated: u64,
}

impl Seen {
    fn count(&mut self, outputs: &[Output]) {
        for output in outputs {
            match output {
                Output::Deliver(..) => self.delivered += 1,
                Output::Install(..) => self.installed += 1,
                Output::Broadcast(Message::Propose(..)) => self.proposed += 1,
                Output::Send(_, Message::Learned(decisions)) if !decisions.is_empty() => self.answered += 1,
                Output::Journal(Record::Truncate(_)) => self.truncated += 1,
                _ => {}
            }
        }
    }
}

/// Replicas and what is on its way between them. The last replica is a learner.
struct Cluster {
    replicas: Vec<Twins>,
    travelling: Vec<(ReplicaId, ReplicaId, Message)>,
    seen: Seen,
}

impl Cluster {
    fn new(voters: u64) -> Cluster {
        let replicas = (0..=voters).map(|id| Twins::new(config(voters), id)).collect();
        Cluster { replicas, travelling: Vec::new(), seen: Seen::default() }
    }

    fn step(&mut self, id: ReplicaId, event: Event) {
        let outputs = self.replicas[id as usize].step(event);
        self.seen.count(&outputs);
        for output in outputs {
            match output {
                Output::Send(dst, message) => self.travelling.push((id, dst, message)),
                Output::Broadcast(message) => {
                    let everyone = 0..self.replicas.len() as u64;
                    self.travelling.extend(everyone.map(|dst| (id, dst, message.clone())));
                }
                _ => {}
            }
        }
    }

    fn advance(&mut self, randomness: &mut Randomness) {
        let id = randomness.in_range(0..self.replicas.len() as u64);
        let view = self.replicas[id as usize].plain.view();
        match randomness.in_range(0..200) {
            0..120 => self.transmit(randomness),
            120..150 => self.step(id, Event::Request(value(randomness))),
            150..185 => self.step(id, Event::Execute),
            185 | 186 => self.step(id, Event::Suspect),
            187 | 188 => self.step(id, Event::Heartbeat),
            189 | 190 => {
                let dst = randomness.in_range(0..self.replicas.len() as u64);
                self.step(id, Event::CatchUp(dst, view.executed + randomness.in_range(0..9)));
            }
            191..194 => {
                let at = view.executed.saturating_sub(randomness.in_range(0..3));
                self.step(id, Event::Snapshot(at, image(randomness)));
            }
            194..198 => self.step(id, Event::Truncate(view.snapshot_at.saturating_sub(randomness.in_range(0..2)))),
            198 => self.travelling.retain(|(src, dst, _)| *src != id && *dst != id),
            _ => self.replicas[id as usize].restart(),
        }
    }

    /// One message arrives, perhaps not for the last time, or is lost.
    fn transmit(&mut self, randomness: &mut Randomness) {
        if self.travelling.is_empty() {
            return;
        }
        // Mostly among the oldest, so that what is behind is not behind for ever.
        let oldest = if randomness.chance(9, 10) { self.travelling.len().min(8) } else { self.travelling.len() };
        let at = randomness.in_range(0..oldest as u64) as usize;
        let (src, dst, message) = match randomness.in_range(0..50) {
            0 => self.travelling[at].clone(),
            1 => return drop(self.travelling.remove(at)),
            _ => self.travelling.remove(at),
        };
        self.step(dst, Event::Receive(src, message));
    }
}

#[test]
fn a_cluster_does_the_same_on_both_cores() {
    let mut seen = Seen::default();
    for seed in 0..60 {
        let mut randomness = Randomness::from_seed(seed);
        let mut cluster = Cluster::new([1, 3, 4, 5][seed as usize % 4]);
        (0..2_000).for_each(|_| cluster.advance(&mut randomness));
        cluster.replicas.iter().for_each(Twins::check_checkpoints);
        seen.delivered += cluster.seen.delivered;
        seen.installed += cluster.seen.installed;
        seen.proposed += cluster.seen.proposed;
        seen.answered += cluster.seen.answered;
        seen.truncated += cluster.seen.truncated;
    }
    let least = [seen.delivered, seen.installed, seen.proposed, seen.answered, seen.truncated].into_iter().min();
    assert!(least >= Some(50), "the runs reach too little: {seen:?}");
}

fn message(randomness: &mut Randomness) -> Message {
    let mut small = || randomness.in_range(0..24);
    let (ballot, at, other) = (small(), small(), small());
    let votes = |randomness: &mut Randomness| -> Vec<Vote> {
        (0..randomness.in_range(0..4))
            .map(|_| {
                let (instance, ballot) = (randomness.in_range(0..24), randomness.in_range(0..24));
                Vote { instance, ballot, value: value(randomness) }
            })
            .collect()
    };
    match randomness.in_range(0..12) {
        0 => Message::Prepare(ballot, at),
        1 => Message::Promise(ballot, at, votes(randomness)),
        2 => Message::Propose(ballot, at, value(randomness)),
        3 => Message::Accept(ballot, at),
        4 => Message::Commit(ballot, at),
        5 => Message::Reject(ballot),
        6 => Message::Alive(ballot, at),
        7 => Message::Query(at, other),
        8 => {
            let votes = votes(randomness).into_iter();
            Message::Learned(votes.map(|vote| Decision { instance: vote.instance, value: vote.value }).collect())
        }
        9 => Message::Snapshot(at, image(randomness)),
        10 => Message::Truncated(at),
        _ => Message::Forward(value(randomness)),
    }
}

fn event(randomness: &mut Randomness, replicas: u64) -> Event {
    let at = randomness.in_range(0..24);
    match randomness.in_range(0..20) {
        0 => Event::Request(value(randomness)),
        1 => Event::Suspect,
        2 => Event::Heartbeat,
        3 | 4 => Event::Execute,
        5 => Event::CatchUp(randomness.in_range(0..replicas), at),
        6 => Event::Snapshot(at, image(randomness)),
        7 => Event::Truncate(at),
        _ => Event::Receive(randomness.in_range(0..replicas + 2), message(randomness)),
    }
}

#[test]
fn made_up_events_do_the_same_on_both_cores() {
    let mut seen = Seen::default();
    for seed in 0..400 {
        let mut randomness = Randomness::from_seed(seed);
        let mut twins = Twins::new(config(3), seed % 4);
        for _ in 0..300 {
            let outputs = twins.step(event(&mut randomness, 3));
            seen.count(&outputs);
        }
        twins.restart();
    }
    assert!(seen.delivered > 50 && seen.installed > 50, "the events reach too little: {seen:?}");
}

/// The largest possible numbers allocate nothing and cause no panic.
#[test]
fn the_plain_core_survives_the_greatest_numbers() {
    let far = u64::MAX;
    let mut plain = Plain::new(config(3), 1);
    let mut outputs = Vec::new();
    let vote = Vote { instance: far, ballot: far, value: Value::new() };
    let decision = Decision { instance: far, value: Value::new() };
    for event in [
        Event::Suspect,
        Event::Receive(0, Message::Promise(1, 0, vec![vote])),
        Event::Receive(0, Message::Propose(far, far, Value::new())),
        Event::Receive(0, Message::Accept(far, far)),
        Event::Receive(0, Message::Query(far, far)),
        Event::Receive(0, Message::Learned(vec![decision])),
        Event::Receive(0, Message::Prepare(far, far)),
        Event::CatchUp(0, far),
        Event::Truncate(far),
        Event::Receive(0, Message::Snapshot(far, Image::blank())),
        Event::Execute,
        Event::Request(Value::new()),
    ] {
        plain.step(event, &mut outputs);
    }
    assert_eq!((plain.view().promised, plain.view().low), (far, far));
    assert!(plain.checkpoint().len() < 10);
}

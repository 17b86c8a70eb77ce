//! Commands from a seed.

use env::random::Randomness;
use paxos::core::generated::{Config, Decision, Demand, Event, Message, Output, Vote};
use paxos::core::prim::{Image, NUMBER_LIMIT, Value};

use crate::{Command, Machine};

/// Commands between two starts.
const EPISODE: u64 = 20_000;
/// Packets that are under way at most; beyond, the network loses some.
const UNDER_WAY: usize = 400;
/// Keys of the maps with which single primitives are tried.
const KEYS: u64 = 100;

/// A packet that was sent and may arrive, now or later, never or twice.
#[derive(Clone, Debug)]
struct Packet {
    src: u64,
    dst: u64,
    message: Message,
}

/// Draws commands.
#[derive(Debug)]
pub struct Traffic {
    random: Randomness,
    under_way: Vec<Packet>,
    /// Commands until the next start.
    left: u64,
    /// Requests so far: each is another value.
    requests: u64,
}

impl Traffic {
    /// The traffic that follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { random: Randomness::from_seed(seed), under_way: Vec::new(), left: 0, requests: 0 }
    }

    /// The next command for a machine that has run all before it.
    pub fn next(&mut self, machine: &Machine) -> Command {
        if self.left == 0 {
            self.left = EPISODE;
            self.under_way.clear();
            return self.start();
        }
        self.left -= 1;
        let id = self.below(machine.replicas.len() as u64);
        match self.below(1000) {
            0..2 => Command::Shorten(id),
            2..3 => Command::Restart(id),
            3..30 => self.primitive(),
            30..50 => self.session(),
            50..80 => Command::Report(id, self.below(machine.replicas[id as usize].release().numbered + 3)),
            _ => self.event(machine, id),
        }
    }

    /// Takes up what a step at `id` has sent.
    pub fn sent(&mut self, machine: &Machine, id: u64, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                // Whoever does not exist is answered, too, if the packet that nobody sent said so.
                Output::Send(dst, message) if (dst as usize) < machine.replicas.len() => {
                    self.send(Packet { src: id, dst, message });
                }
                Output::Broadcast(message) => {
                    for dst in 0..machine.replicas.len() as u64 {
                        self.send(Packet { src: id, dst, message: message.clone() });
                    }
                }
                Output::Send(..)
                | Output::Journal(_)
                | Output::Deliver(..)
                | Output::Install(..)
                | Output::Return(_) => {}
            }
        }
    }

    fn send(&mut self, packet: Packet) {
        if self.under_way.len() < UNDER_WAY {
            self.under_way.push(packet);
        } else {
            let lost = self.below(UNDER_WAY as u64) as usize;
            self.under_way[lost] = packet;
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.in_range(0..bound.max(1))
    }

    fn among<const N: usize>(&mut self, numbers: [u64; N]) -> u64 {
        numbers[self.below(N as u64) as usize]
    }

    /// Mostly configurations with which a cluster works, now and then any.
    fn start(&mut self) -> Command {
        let voters = self.among([1, 2, 3, 3, 3, 4, 5, 5, 7]);
        let learners = self.among([0, 0, 0, 1, 2]);
        let config = if self.random.chance(1, 10) {
            Config {
                replicas: self.below(voters + 1),
                span: self.below(4),
                window: self.below(4),
                chunk: self.below(3),
            }
        } else {
            let span = self.among([8, 16, 40, 100]);
            Config { replicas: voters, span, window: self.among([1, 4, 10, 200]), chunk: self.among([1, 5, 50]) }
        };
        Command::Start(voters + learners, config)
    }

    // --- Events.

    fn event(&mut self, machine: &Machine, id: u64) -> Command {
        let state = machine.replicas[id as usize].state();
        let event = match self.below(1000) {
            0..60 => self.request(),
            60..160 => Event::Execute,
            160..170 => Event::Heartbeat,
            170..200 => Event::CatchUp(self.below(machine.replicas.len() as u64 + 1), state.executed + self.below(20)),
            200..201 => Event::Suspect,
            201..215 => Event::Snapshot(state.executed.saturating_sub(self.below(4)) + self.below(2), self.image()),
            215..225 => Event::Truncate(state.snapshot_at.saturating_sub(self.below(4)) + self.below(2)),
            225..227 => Event::Snapshot(self.instance(machine, id), self.image()),
            227..229 => Event::Truncate(self.instance(machine, id)),
            229..250 => Event::Receive(self.below(machine.replicas.len() as u64 + 2), self.hostile(machine, id)),
            _ => return self.arrival(),
        };
        Command::Step(id, event)
    }

    /// A packet that is under way arrives; one in eight may arrive again.
    fn arrival(&mut self) -> Command {
        if self.under_way.is_empty() {
            return Command::Step(0, if self.random.chance(1, 4) { Event::Suspect } else { self.request() });
        }
        let index = self.below(self.under_way.len() as u64) as usize;
        let Packet { src, dst, message } =
            if self.random.chance(1, 8) { self.under_way[index].clone() } else { self.under_way.swap_remove(index) };
        Command::Step(dst, Event::Receive(src, message))
    }

    fn request(&mut self) -> Event {
        self.requests += 1;
        Event::Request(self.value())
    }

    fn value(&mut self) -> Value {
        let length = self.below(6) as usize;
        Value::copy_from_slice(&self.requests.to_le_bytes()[..length])
    }

    fn image(&mut self) -> Image {
        let length = self.below(5) as usize;
        Image::from(&self.random.next_u64().to_le_bytes()[..length])
    }

    // --- What nobody has sent.

    /// A ballot near that of a replica, or anywhere.
    fn ballot(&mut self, machine: &Machine, id: u64) -> u64 {
        let near = machine.replicas[id as usize].state().promised;
        match self.below(200) {
            0 => self.below(NUMBER_LIMIT / 4),
            1..100 => near,
            _ => near.saturating_sub(3) + self.below(8),
        }
    }

    /// An instance near those of a replica, or anywhere.
    fn instance(&mut self, machine: &Machine, id: u64) -> u64 {
        let state = machine.replicas[id as usize].state();
        match self.below(300) {
            0 => self.below(NUMBER_LIMIT / 4),
            1..80 => state.executed.saturating_sub(2) + self.below(5),
            80..160 => state.next.saturating_sub(2) + self.below(5),
            _ => state.low.saturating_sub(5) + self.below(machine.config.span + 10),
        }
    }

    fn hostile(&mut self, machine: &Machine, id: u64) -> Message {
        let (b, i) = (self.ballot(machine, id), self.instance(machine, id));
        match self.below(12) {
            0 => Message::Prepare(b, i),
            1 => {
                let state = machine.replicas[id as usize].state();
                let b = if self.random.chance(3, 4) { state.promised } else { b };
                let i = match self.below(8) {
                    0 => i,
                    1..4 => state.first.saturating_sub(1) + self.below(3),
                    _ => state.first,
                };
                let count = self.below(6);
                let votes = (0..count).map(|_| Vote {
                    instance: i + self.below(machine.config.span + 2),
                    ballot: self.below(b.max(1)),
                    value: self.value(),
                });
                Message::Promise(b, i, votes.collect())
            }
            2 => Message::Propose(b, i, self.value()),
            3 => Message::Accept(b, i),
            4 => Message::Commit(b, i),
            5 => Message::Reject(b),
            6 => Message::Alive(b, i),
            7 => Message::Query(i, self.instance(machine, id)),
            8 => {
                let count = self.below(6);
                let decisions =
                    (0..count).map(|_| Decision { instance: self.instance(machine, id), value: self.value() });
                Message::Learned(decisions.collect())
            }
            // Far ahead of the others rarely: nobody would be left to talk to.
            9 if self.random.chance(1, 20) => Message::Snapshot(i, self.image()),
            10 => Message::Forward(self.value()),
            _ => Message::Truncated(i),
        }
    }

    // --- Sessions and single primitives.

    fn session(&mut self) -> Command {
        let id = self.below(12);
        match self.below(20) {
            0 => Command::Open,
            1 => Command::Forget(id),
            2 => Command::Turn(true, Demand::Opens),
            3..12 => Command::Turn(self.random.chance(7, 8), Demand::Calls(id, self.below(6))),
            _ => Command::Admit(id, self.below(6)),
        }
    }

    fn primitive(&mut self) -> Command {
        let (key, other) = (self.below(KEYS), self.below(KEYS));
        match self.below(40) {
            0 => Command::Clear,
            1..4 => Command::Arithmetic(self.number(), self.number()),
            4..6 => Command::Range(key, other),
            6..14 => Command::InstanceSet(key, self.number()),
            14 => Command::InstanceDrop(key.min(other)),
            15..20 => Command::InstanceGet(key),
            20..23 => Command::InstanceRange(key, other),
            23..26 => Command::ReplicaAdd(self.below(64)),
            26..29 => Command::ReplicaMember(self.below(70)),
            29..33 => Command::SessionSet(key, self.number()),
            33..36 => Command::SessionRemove(key),
            _ => Command::SessionGet(key),
        }
    }

    fn number(&mut self) -> u64 {
        let bound = self.among([3, 100, 1 << 24, NUMBER_LIMIT / 4]);
        self.below(bound)
    }
}

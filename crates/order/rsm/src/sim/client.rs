//! A simulated client: the product's own session and route, a few commands open at a time, and a connection that may break.

use super::judge::{Knowledge, Observation};
use super::registers::{Command, KEYS, Named, answer};
use super::setting::Setting;
use crate::client::{ClientSession, Completed, Completion, Route};
use crate::message::{ClientMessage, ReplicaMessage};
use bytes::Bytes;
use env::Moment;
use env::Randomness;
use paxos::core::ReplicaId;
use sim::Violation;
use std::collections::BTreeMap;
use std::time::Duration;

/// Action of a client on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// It waits until then and dials.
    Pausing(u64),
    /// It has dialed this replica.
    Dialing(ReplicaId),
    /// It has talked to this replica since then.
    Open(ReplicaId, u64),
}

/// One client.
#[derive(Debug)]
pub struct Client {
    number: u16,
    randomness: Randomness,
    route: Route,
    session: ClientSession,
    /// Its connection.
    pub connection: Connection,
    /// Counts connections: what belongs to an older one is ignored.
    pub attempt: u64,
    /// Commands without an outcome, by ticket, and when they were handed in.
    open: BTreeMap<u64, (Named, u64)>,
    /// Last known value of each register.
    seen: [u64; KEYS as usize],
    commands: u32,
    depth: usize,
    think_ns: u64,
    padding: u64,
    /// When it thinks of the next command.
    next_at: u64,
    /// No more commands.
    closing: bool,
}

impl Client {
    /// A client that dials one of the replicas of the setting at once.
    ///
    /// # Errors
    /// There is no replica to talk to.
    pub fn new(number: u16, setting: &Setting, randomness: &mut Randomness) -> Result<Self, Violation> {
        let mut randomness = randomness.fork();
        let addresses = (0..setting.options.replicas).map(|id| id.to_string()).collect();
        let route = Route::new(addresses, randomness.next_u64()).map_err(|error| Violation(error.to_string()))?;
        let retry = setting.options.suspicion.max(Duration::from_millis(100));
        Ok(Self {
            number,
            route,
            session: ClientSession::new(randomness.next_u64(), retry),
            connection: Connection::Pausing(0),
            attempt: 0,
            open: BTreeMap::new(),
            seen: [0; KEYS as usize],
            commands: 0,
            depth: setting.depth,
            think_ns: setting.think_ns,
            padding: setting.padding,
            next_at: randomness.in_range(0..setting.think_ns + 1),
            closing: false,
            randomness,
        })
    }

    /// The replica that it wants to talk to.
    #[must_use]
    pub fn destination(&self) -> Option<ReplicaId> {
        self.route.address().parse().ok()
    }

    /// It thinks of no more commands.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Returns whether it has no more commands and waits for no answer.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.closing && self.open.is_empty()
    }

    /// When it acts by itself.
    #[must_use]
    pub fn deadline(&self) -> u64 {
        let thinks = !self.closing && self.open.len() < self.depth;
        let next = if thinks { self.next_at } else { u64::MAX };
        let line = if let Connection::Pausing(until) = self.connection { until } else { u64::MAX };
        next.min(line).min(self.session.deadline().0)
    }

    /// Its connection is gone, or was never made.
    pub fn on_disconnected(&mut self, now: u64) {
        self.session.disconnected();
        let pause = u64::try_from(self.route.failed().as_nanos()).unwrap_or(u64::MAX);
        self.attempt += 1;
        self.connection = Connection::Pausing(now.saturating_add(pause));
    }

    /// The time of [`deadline`](Self::deadline) has come: appends what it says now. True: it gives its connection up.
    pub fn act(&mut self, now: u64, messages: &mut Vec<ClientMessage>) -> bool {
        if !self.closing && self.next_at <= now && self.open.len() < self.depth {
            self.think(now);
        }
        self.session.poll(Moment(now), |message| messages.push(message))
    }

    /// A replica says something. True: it goes to another one.
    pub fn on_message(&mut self, now: u64, message: &ReplicaMessage, completions: &mut Vec<Observation>) -> bool {
        let mut completed = Vec::new();
        self.session.handle(Moment(now), message, &mut completed);
        if !completed.is_empty() {
            self.route.succeeded();
        }
        completions.extend(completed.into_iter().filter_map(|completed| self.learn(now, completed)));
        match (message, self.connection) {
            (ReplicaMessage::Leader { leader, address }, Connection::Open(connected, _)) => {
                let leaves = self.route.on_leader(connected, *leader, address.as_deref());
                if leaves {
                    self.session.disconnected();
                    self.attempt += 1;
                    self.connection = Connection::Pausing(now);
                }
                leaves
            }
            _ => false,
        }
    }

    fn learn(&mut self, now: u64, Completed { ticket, completion }: Completed) -> Option<Observation> {
        let (named, start_ns) = self.open.remove(&ticket)?;
        let outcome = match completion {
            Completion::Executed(instance, reply) => {
                let before = answer(&reply).unwrap_or(u64::MAX);
                self.see(named.command, before);
                Knowledge::Executed(instance, before)
            }
            Completion::Forgotten => Knowledge::Forgotten,
            Completion::Unknown | Completion::TooManySessions(_) => Knowledge::Unknown,
            // No command and no answer here is as long as that: the judge will find that it was not executed so.
            Completion::TooLarge(_) | Completion::AnswerTooLarge(_) => Knowledge::Executed(u64::MAX, 0),
        };
        Some(Observation { named, start_ns, end_ns: now, outcome })
    }

    fn see(&mut self, command: Command, before: u64) {
        let (key, value) = match command {
            Command::Read { key } => (key, before),
            Command::Write { key, value } => (key, value),
            Command::CompareAndSet { key, expected, value } => (key, if before == expected { value } else { before }),
        };
        self.seen[usize::from(key)] = value;
    }

    fn think(&mut self, now: u64) {
        self.commands += 1;
        let key = self.randomness.in_range(0..KEYS.into()) as u8;
        let value = u64::from(self.number + 1) << 32 | u64::from(self.commands);
        let command = match self.randomness.in_range(0..10) {
            0..4 => Command::Read { key },
            4..7 => Command::Write { key, value },
            _ => Command::CompareAndSet { key, expected: self.seen[usize::from(key)], value },
        };
        let named = Named { client: self.number, number: self.commands, command };
        let padding = self.randomness.in_range(0..self.padding + 1) as usize;
        if let Ok(ticket) = self.session.submit(Bytes::from(named.encode(padding))) {
            self.open.insert(ticket, (named, now));
        }
        self.next_at = now + self.randomness.in_range(0..2 * self.think_ns + 1);
    }
}

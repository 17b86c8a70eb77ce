//! Many logical clients that share a connection, without I/O: what they send when, and how long each waits.
//!
//! Each client has a session of its own and one request open at a time, as a program has that waits for its answers.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use foldhash::fast::FixedState;

use env::Moment;
use paxos::core::Session;
use rsm::client::{ClientSession, Completed};
use rsm::message::{ClientMessage, ReplicaMessage};

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each client sends its next request when the last one is answered.
    Closed,
    /// Requests come at this rate, of all clients together in a second, from the first leader on, answered or not. One
    /// that finds all clients waiting waits too, and its latency counts from when it came: a slow answer is not hidden
    /// by the requests that it keeps from being sent.
    Rate(f64),
}

/// Interval between two checks for sessions without messages.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Requests that may wait for a client.
const MAX_WAITING: usize = 1 << 20;

/// The clients of one connection.
#[derive(Debug)]
pub struct ClientGroup {
    clients: Vec<Client>,
    by_nonce: HashMap<u64, usize, FixedState>,
    by_session: HashMap<Session, usize, FixedState>,
    body: Bytes,
    arrivals: Option<Arrivals>,
    /// Without a request; used only where requests come at a rate.
    idle: Vec<usize>,
    /// With something to send.
    ready: Vec<usize>,
    /// When all are looked at again.
    look_at: Moment,
    completed: Vec<Completed>,
}

#[derive(Debug)]
struct Client {
    session: ClientSession,
    /// When its request came.
    since: Moment,
    is_ready: bool,
}

/// Requests that come at a rate.
#[derive(Debug)]
struct Arrivals {
    /// When somebody first led: before, there is nobody whose slowness they could show.
    start: Option<Moment>,
    ns_between: f64,
    arrived: u64,
    /// Requests for which no client was idle.
    waiting: VecDeque<Moment>,
    shed: u64,
}

impl Arrivals {
    fn next(&self) -> Moment {
        let Some(start) = self.start else { return Moment::NEVER };
        start + Duration::from_nanos((self.arrived as f64 * self.ns_between) as u64)
    }
}

impl ClientGroup {
    /// `clients` clients whose nonces count from `nonce` on; each request is `body`. What has no answer for `retry` is sent again.
    #[must_use]
    pub fn new(now: Moment, clients: usize, nonce: u64, body: Bytes, pace: Pace, retry: Duration) -> Self {
        let client = |nonce| Client { session: ClientSession::new(nonce, retry), since: now, is_ready: false };
        let nonces = (0..clients as u64).map(|position| nonce.wrapping_add(position));
        let arrivals = match pace {
            Pace::Closed => None,
            Pace::Rate(rate) => {
                Some(Arrivals { start: None, ns_between: 1e9 / rate, arrived: 0, waiting: VecDeque::new(), shed: 0 })
            }
        };
        let mut group = Self {
            clients: nonces.clone().map(client).collect(),
            by_nonce: nonces.zip(0..).collect(),
            by_session: HashMap::default(),
            body,
            arrivals,
            idle: Vec::new(),
            ready: Vec::new(),
            look_at: now,
            completed: Vec::new(),
        };
        match pace {
            Pace::Closed => (0..clients).for_each(|position| group.submit(position, now)),
            Pace::Rate(_) => group.idle = (0..clients).collect(),
        }
        group
    }

    /// The connection is gone: nothing is sent until the next one says who leads.
    pub fn disconnected(&mut self) {
        self.clients.iter_mut().for_each(|client| client.session.disconnected());
    }

    /// Handles a message of a replica. Calls `answered` with the duration of each request that is done.
    pub fn handle(&mut self, now: Moment, message: &ReplicaMessage, mut answered: impl FnMut(Duration)) {
        match message {
            ReplicaMessage::Leader { leader, .. } => {
                if let (Some(arrivals), Some(_)) = (&mut self.arrivals, leader) {
                    arrivals.start.get_or_insert(now);
                }
                (0..self.clients.len()).for_each(|position| self.tell(position, now, message, &mut answered));
            }
            ReplicaMessage::Opened { nonce, session } => {
                if let Some(&position) = self.by_nonce.get(nonce) {
                    self.by_session.insert(*session, position);
                    self.tell(position, now, message, &mut answered);
                }
            }
            ReplicaMessage::Reply { session, .. } => {
                if let Some(&position) = self.by_session.get(session) {
                    self.tell(position, now, message, &mut answered);
                }
            }
            // Asked for again after a while, as what is lost.
            ReplicaMessage::TooManySessions { .. } | ReplicaMessage::Status(_) => {}
        }
    }

    fn tell(&mut self, position: usize, now: Moment, message: &ReplicaMessage, answered: &mut impl FnMut(Duration)) {
        let client = &mut self.clients[position];
        let (nonce, session) = (client.session.nonce(), client.session.session());
        client.session.handle(now, message, &mut self.completed);
        let since = client.since;
        if client.session.nonce() != nonce {
            self.by_nonce.remove(&nonce);
            self.by_nonce.insert(client.session.nonce(), position);
            session.map(|session| self.by_session.remove(&session));
        }
        self.make_ready(position);
        while self.completed.pop().is_some() {
            answered(now.since(since));
            match self.arrivals.as_mut().map(|arrivals| arrivals.waiting.pop_front()) {
                None => self.submit(position, now),
                Some(Some(since)) => self.submit(position, since),
                Some(None) => self.idle.push(position),
            }
        }
    }

    fn submit(&mut self, position: usize, since: Moment) {
        let client = &mut self.clients[position];
        client.since = since;
        let taken = client.session.submit(self.body.clone());
        debug_assert!(taken.is_ok(), "a client has one request at a time");
        self.make_ready(position);
    }

    fn make_ready(&mut self, position: usize) {
        if !std::mem::replace(&mut self.clients[position].is_ready, true) {
            self.ready.push(position);
        }
    }

    /// The next moment at which [`poll`](Self::poll) has something to do without anything having been heard.
    #[must_use]
    pub fn deadline(&self) -> Moment {
        self.arrivals.as_ref().map_or(self.look_at, |arrivals| arrivals.next().min(self.look_at))
    }

    /// Hands over what is to be sent now.
    pub fn poll(&mut self, now: Moment, mut send: impl FnMut(ClientMessage)) {
        self.arrive(now);
        if now >= self.look_at {
            self.look_at = now + BETWEEN_LOOKS;
            (0..self.clients.len()).for_each(|position| self.make_ready(position));
        }
        for position in self.ready.drain(..) {
            let client = &mut self.clients[position];
            client.is_ready = false;
            client.session.poll(now, &mut send);
        }
    }

    fn arrive(&mut self, now: Moment) {
        while let Some(arrivals) = &mut self.arrivals {
            let due = arrivals.next();
            if due > now {
                return;
            }
            arrivals.arrived += 1;
            match self.idle.pop() {
                Some(position) => self.submit(position, due),
                None if arrivals.waiting.len() < MAX_WAITING => arrivals.waiting.push_back(due),
                None => arrivals.shed += 1,
            }
        }
    }

    /// Requests that came while so many waited that they were given up, since it was last asked: the rate is far beyond what is served.
    pub fn take_shed(&mut self) -> u64 {
        self.arrivals.as_mut().map_or(0, |arrivals| std::mem::take(&mut arrivals.shed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsm::message::Outcome;

    /// A replica that numbers sessions and executes each request at once.
    #[derive(Default)]
    struct Replica {
        sessions: u64,
        requests: u64,
    }

    impl Replica {
        fn answer(&mut self, message: &ClientMessage) -> ReplicaMessage {
            match message {
                ClientMessage::Open(nonce) => {
                    self.sessions += 1;
                    ReplicaMessage::Opened { nonce: *nonce, session: self.sessions }
                }
                ClientMessage::Request { session, sequence, .. } => {
                    self.requests += 1;
                    let outcome = Outcome::Executed(self.requests, Bytes::new());
                    ReplicaMessage::Reply { session: *session, sequence: *sequence, outcome }
                }
                ClientMessage::Status => ReplicaMessage::Status(String::new()),
            }
        }
    }

    const RETRY: Duration = Duration::from_secs(1);

    fn at_ms(ms: u64) -> Moment {
        Moment(ms * 1_000_000)
    }

    fn group(clients: usize, pace: Pace) -> ClientGroup {
        let mut group = ClientGroup::new(at_ms(0), clients, 7, Bytes::from_static(b"body"), pace, RETRY);
        let leader = ReplicaMessage::Leader { leader: Some(0), address: None };
        group.handle(at_ms(0), &leader, |_| panic!("nothing was sent"));
        group
    }

    fn sent(group: &mut ClientGroup, ms: u64) -> Vec<ClientMessage> {
        let mut sent = Vec::new();
        group.poll(at_ms(ms), |message| sent.push(message));
        sent
    }

    /// Answers all of these; how long each request took, in milliseconds.
    fn answer(group: &mut ClientGroup, replica: &mut Replica, messages: &[ClientMessage], ms: u64) -> Vec<u128> {
        let mut latencies = Vec::new();
        for message in messages {
            group.handle(at_ms(ms), &replica.answer(message), |latency| latencies.push(latency.as_millis()));
        }
        latencies
    }

    #[test]
    fn each_client_of_a_closed_loop_has_one_request_open() {
        let (mut group, mut replica) = (group(3, Pace::Closed), Replica::default());
        let opening = sent(&mut group, 1);
        assert_eq!(opening, [7, 8, 9].map(ClientMessage::Open));
        answer(&mut group, &mut replica, &opening, 2);
        for round in 1..=4 {
            let requests = sent(&mut group, 10 * round);
            let sequences: Vec<_> = requests
                .iter()
                .map(|request| match request {
                    ClientMessage::Request { session, sequence, .. } => (*session, *sequence),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(sequences, [(1, round), (2, round), (3, round)]);
            assert!(sent(&mut group, 10 * round).is_empty());
            let since_last = if round == 1 { 17 } else { 10 };
            assert_eq!(answer(&mut group, &mut replica, &requests, 10 * round + 7), [since_last; 3]);
        }
        assert_eq!(replica.requests, 12);
    }

    #[test]
    fn requests_that_come_at_a_rate_count_from_when_they_came() {
        let (mut group, mut replica) = (group(2, Pace::Rate(1000.0)), Replica::default());
        let opening = sent(&mut group, 0);
        assert_eq!(opening.len(), 1, "one request has come");
        assert_eq!(group.deadline(), at_ms(1));
        answer(&mut group, &mut replica, &opening, 0);
        // Those of 0 and 1 ms find an idle client, those of 2 to 5 ms wait for one.
        let first = sent(&mut group, 5);
        assert_eq!(first.len(), 2);
        let latencies = answer(&mut group, &mut replica, &first, 6);
        assert_eq!(latencies, [6]);
        let second = sent(&mut group, 6);
        assert_eq!(answer(&mut group, &mut replica, &second, 6), [4, 5]);
    }

    #[test]
    fn nothing_comes_before_somebody_leads() {
        let pace = Pace::Rate(1000.0);
        let mut group = ClientGroup::new(at_ms(0), 2, 7, Bytes::new(), pace, RETRY);
        assert!(sent(&mut group, 500).is_empty());
        group.handle(at_ms(500), &ReplicaMessage::Leader { leader: None, address: None }, |_| {});
        assert!(sent(&mut group, 600).is_empty());
        group.handle(at_ms(600), &ReplicaMessage::Leader { leader: Some(2), address: None }, |_| {});
        assert_eq!(sent(&mut group, 600).len(), 1);
    }

    #[test]
    fn what_was_lost_with_a_connection_is_sent_again() {
        let (mut group, mut replica) = (group(2, Pace::Closed), Replica::default());
        let opening = sent(&mut group, 1);
        answer(&mut group, &mut replica, &opening, 2);
        let lost = sent(&mut group, 3);
        group.disconnected();
        assert!(sent(&mut group, 2_000).is_empty());
        group.handle(at_ms(2_001), &ReplicaMessage::Leader { leader: Some(1), address: None }, |_| {});
        assert_eq!(sent(&mut group, 2_002), lost);
    }

    #[test]
    fn clients_whose_sessions_were_forgotten_open_others() {
        let (mut group, mut replica) = (group(1, Pace::Closed), Replica::default());
        let opening = sent(&mut group, 1);
        answer(&mut group, &mut replica, &opening, 2);
        sent(&mut group, 3);
        let outcome = Outcome::UnknownSession;
        group.handle(at_ms(4), &ReplicaMessage::Reply { session: 1, sequence: 1, outcome }, |_| {});
        let opening = sent(&mut group, 5);
        assert!(matches!(opening[..], [ClientMessage::Open(nonce)] if nonce != 7));
        answer(&mut group, &mut replica, &opening, 6);
        let requests = sent(&mut group, 7);
        assert!(matches!(requests[..], [ClientMessage::Request { session: 2, sequence: 1, .. }]));
        assert_eq!(answer(&mut group, &mut replica, &requests, 8).len(), 1);
    }
}

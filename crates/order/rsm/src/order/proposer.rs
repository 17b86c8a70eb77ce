//! One node's proposals on their way into the order, without I/O.
//!
//! They travel as the requests of one session, numbered in the order of their submission, and replicas execute a session's requests in
//! that order, each once: so they are delivered first in, first out. What has not been delivered is sent again from the oldest on whenever
//! it may be lost.
//!
//! Other than a client, the proposer needs no replies to know what was executed, since its own node delivers it. So it is not bound to the
//! replies that replicas keep, and when its session has been forgotten (it was idle for long) it knows what of its proposals has been
//! executed: all that was delivered before it hears so, and nothing else ever will.

use super::OrderError;
use super::proposal::Proposal;
use crate::message::{ClientMessage, Outcome, ReplicaMessage};
use bytes::Bytes;
use env::Moment;
use paxos::core::{ReplicaId, Sequence, Session};
use std::collections::VecDeque;
use std::time::Duration;

/// After a request came early, this passes before all is sent again: the others that came early with it have been heard of then.
const EARLY_PAUSE: Duration = Duration::from_millis(5);
/// Bytes of requests that are handed over at once: what is not taken is handed over again.
const TURN_BYTES: usize = 256 << 10;

/// How much may wait to be ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Proposals.
    pub(super) proposals: usize,
    /// Bytes of them.
    pub(super) bytes: usize,
}

/// Proposals that were not delivered yet, and the session that carries them.
#[derive(Debug)]
pub(super) struct Proposer {
    origin: ReplicaId,
    life: u64,
    limit: Waiting,
    /// Under which the session is opened.
    nonce: u64,
    session: Option<Session>,
    opening: bool,
    /// The sequence of the oldest of `pending`.
    first: Sequence,
    /// Bodies of requests, the oldest first.
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    /// Those of `pending` before this one have been sent.
    sent: usize,
    /// How many were proposed.
    submissions: u64,
    retry: Duration,
    /// When all is sent again.
    resend_at: Moment,
    /// A request came early, so that is soon.
    early: bool,
    last_rewind: Moment,
}

impl Proposer {
    /// For a life that no other node has, nor this one ever had. What is not delivered within `retry` is sent again.
    pub(super) fn new(life: u64, limit: Waiting, retry: Duration) -> Self {
        Self {
            origin: 0,
            life,
            limit,
            nonce: life,
            session: None,
            opening: false,
            first: 1,
            pending: VecDeque::new(),
            pending_bytes: 0,
            sent: 0,
            submissions: 0,
            retry,
            resend_at: Moment::NEVER,
            early: false,
            last_rewind: Moment::default(),
        }
    }

    /// The node's number: before the first proposal.
    pub(super) fn begin(&mut self, origin: ReplicaId) {
        self.origin = origin;
    }

    /// Takes a payload, and returns how many were taken before it.
    pub(super) fn propose(&mut self, payload: &[u8]) -> Result<u64, OrderError> {
        let submission = self.submissions;
        let body = Proposal { origin: self.origin, life: self.life, submission, payload }.to_bytes()?;
        let full = self.pending.len() >= self.limit.proposals || self.pending_bytes >= self.limit.bytes;
        if full {
            return Err(OrderError::Busy);
        }
        self.pending_bytes += body.len();
        self.pending.push_back(body.into());
        self.submissions += 1;
        Ok(submission)
    }

    /// The own node has delivered the oldest proposal.
    pub(super) fn delivered(&mut self, now: Moment, submission: u64) {
        let oldest = self.submissions - self.pending.len() as u64;
        assert_eq!(submission, oldest, "a session's requests are executed in its order, each once");
        let body = self.pending.pop_front().expect("it was proposed and not delivered");
        self.pending_bytes -= body.len();
        self.first += 1;
        self.sent = self.sent.saturating_sub(1);
        if !self.early {
            self.resend_at = now + self.retry;
        }
    }

    /// What the node has said.
    pub(super) fn hear(&mut self, now: Moment, message: &ReplicaMessage) {
        match message {
            // Whoever led before may have lost what was sent.
            ReplicaMessage::Leader { leader: Some(_), .. } => self.rewind(now),
            ReplicaMessage::Opened { nonce, session } if *nonce == self.nonce && self.session.is_none() => {
                self.session = Some(*session);
                self.rewind(now);
            }
            ReplicaMessage::Reply { session, outcome, .. } if self.session == Some(*session) => match outcome {
                Outcome::Early => {
                    self.resend_at = now.max(self.last_rewind + EARLY_PAUSE);
                    self.early = true;
                }
                Outcome::UnknownSession | Outcome::ForeignSession => self.reopen(now),
                // Delivered already, or to be sent again in its time.
                Outcome::Executed(..) | Outcome::Forgotten | Outcome::TooLarge(_) | Outcome::ReplyTooLarge(_) => {}
            },
            _ => {}
        }
    }

    /// All is to be sent again.
    fn rewind(&mut self, now: Moment) {
        self.sent = 0;
        self.opening = false;
        self.early = false;
        self.last_rewind = now;
        self.resend_at = now + self.retry;
    }

    /// Moves what is pending to a new session.
    fn reopen(&mut self, now: Moment) {
        self.nonce = self.nonce.wrapping_add(1);
        self.session = None;
        self.first = 1;
        self.rewind(now);
    }

    /// When to [`poll`](Self::poll) if nothing happens until then.
    pub(super) fn deadline(&self) -> Moment {
        if self.pending.is_empty() { Moment::NEVER } else { self.resend_at }
    }

    /// Hands over what is to be said now, as long as it is taken.
    pub(super) fn poll(&mut self, now: Moment, mut take: impl FnMut(Vec<ClientMessage>) -> bool) {
        if self.pending.is_empty() {
            return;
        }
        if now >= self.resend_at {
            self.rewind(now);
        }
        let Some(session) = self.session else {
            if !self.opening && take(vec![ClientMessage::Open(self.nonce)]) {
                self.opening = true;
                self.resend_at = now + self.retry;
            }
            return;
        };
        while self.sent < self.pending.len() {
            let turn = self.turn(session);
            let count = turn.len();
            if !take(turn) {
                // Tried again in a while.
                self.resend_at = self.resend_at.min(now + self.retry);
                return;
            }
            if self.sent == 0 {
                self.resend_at = now + self.retry;
            }
            self.sent += count;
        }
    }

    /// The next requests to send: at least one.
    fn turn(&self, session: Session) -> Vec<ClientMessage> {
        let (mut turn, mut bytes) = (Vec::new(), 0);
        for (place, body) in self.pending.iter().enumerate().skip(self.sent) {
            if bytes >= TURN_BYTES {
                break;
            }
            bytes += body.len();
            let sequence = self.first + place as u64;
            turn.push(ClientMessage::Request { session, sequence, nonce: self.nonce, body: body.clone() });
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Executor, Limits, Reply};
    use crate::service::{BadSnapshot, Service};
    use env::Randomness;
    use paxos::core::Instance;
    use paxos::request::{Chunk, OPEN, Request};

    /// Remembers what was executed.
    #[derive(Debug, Default)]
    struct Record(Vec<(u64, Vec<u8>)>);

    impl Service for Record {
        fn execute(&mut self, _: Instance, request: &[u8], _: &mut Vec<u8>) {
            let proposal = Proposal::decode(request).expect("only proposals are executed");
            self.0.push((proposal.submission, proposal.payload.to_vec()));
        }

        fn snapshot(&self) -> Vec<u8> {
            Vec::new()
        }

        fn restore(&mut self, _: &[u8]) -> Result<(), BadSnapshot> {
            Ok(())
        }
    }

    const LIMIT: Waiting = Waiting { proposals: 64, bytes: 10_000 };
    const RETRY: Duration = Duration::from_millis(100);

    fn proposer() -> Proposer {
        Proposer::new(99, LIMIT, RETRY)
    }

    /// A node whose order loses, repeats and mixes what it is handed, and forgets sessions early.
    struct Rough {
        executor: Executor<Record>,
        proposer: Proposer,
        on_the_way: Vec<Chunk>,
        randomness: Randomness,
        now: Moment,
    }

    impl Rough {
        fn new(seed: u64) -> Self {
            let limits = Limits { sessions: 3, ..Limits::default() };
            Self {
                executor: Executor::with_limits(0, limits, Record::default()),
                proposer: proposer(),
                on_the_way: Vec::new(),
                randomness: Randomness::from_seed(seed),
                now: Moment::default(),
            }
        }

        fn one_in(&mut self, n: u64) -> bool {
            self.randomness.in_range(0..n) == 0
        }

        fn step(&mut self, rough: bool) {
            self.now = self.now + Duration::from_millis(self.randomness.in_range(0..20));
            let busy = rough && self.one_in(6);
            let mut said = Vec::new();
            self.proposer.poll(self.now, |messages| {
                if !busy {
                    said.push(chunk(messages));
                }
                !busy
            });
            for chunk in said {
                if !(rough && self.one_in(4)) {
                    self.on_the_way.push(chunk);
                }
            }
            if rough && self.one_in(10) {
                self.proposer.hear(self.now, &ReplicaMessage::Leader { leader: Some(1), address: None });
            }
            while !(self.on_the_way.is_empty() || rough && self.one_in(3)) {
                let which = if rough { self.randomness.in_range(0..self.on_the_way.len() as u64) as usize } else { 0 };
                let again = rough && self.one_in(4);
                let chunk = if again { self.on_the_way[which].clone() } else { self.on_the_way.remove(which) };
                self.order(chunk);
            }
            if rough && self.one_in(5) {
                let mut open = Chunk::new();
                open.push(Request { origin: 1, session: OPEN, sequence: 7, nonce: Some(7), body: &[] }).unwrap();
                self.order(open);
            }
        }

        fn order(&mut self, chunk: Chunk) {
            let before = self.executor.service().0.len();
            let mut replies = Vec::new();
            self.executor.deliver(self.executor.executed().next, &chunk.into_value(), &mut replies).unwrap();
            for (submission, _) in &self.executor.service().0[before..] {
                self.proposer.delivered(self.now, *submission);
            }
            for reply in replies {
                let message = match reply {
                    Reply::Opened { nonce, session } => ReplicaMessage::Opened { nonce, session },
                    Reply::Done { session, sequence, outcome, .. } => {
                        ReplicaMessage::Reply { session, sequence, outcome }
                    }
                };
                self.proposer.hear(self.now, &message);
            }
        }
    }

    /// What a node makes of messages of its client.
    fn chunk(messages: Vec<ClientMessage>) -> Chunk {
        let mut chunk = Chunk::new();
        for message in &messages {
            let request = match message {
                ClientMessage::Open(nonce) => {
                    Request { origin: 0, session: OPEN, sequence: *nonce, nonce: Some(*nonce), body: &[] }
                }
                ClientMessage::Request { session, sequence, nonce, body } => {
                    Request { origin: 0, session: *session, sequence: *sequence, nonce: Some(*nonce), body }
                }
                ClientMessage::Status => panic!("nobody asks"),
            };
            chunk.push(request).expect("a batch holds it");
        }
        chunk
    }

    #[test]
    fn whatever_is_lost_or_forgotten_all_are_delivered_once_and_in_order() {
        for seed in 0..200 {
            let mut rough = Rough::new(seed);
            let mut proposed = Vec::new();
            for _ in 0..300 {
                let payload = vec![proposed.len() as u8; proposed.len() % 300];
                match rough.proposer.propose(&payload) {
                    Ok(submission) => {
                        assert_eq!(submission, proposed.len() as u64);
                        proposed.push((submission, payload));
                    }
                    Err(error) => assert_eq!(error, OrderError::Busy),
                }
                rough.step(true);
            }
            for _ in 0..1_000 {
                rough.step(false);
            }
            assert_eq!(rough.executor.service().0, proposed, "seed {seed}");
            assert_eq!(rough.proposer.deadline(), Moment::NEVER);
        }
    }

    #[test]
    fn too_many_are_not_taken() {
        let mut proposer = proposer();
        for _ in 0..LIMIT.proposals {
            proposer.propose(b"x").unwrap();
        }
        assert_eq!(proposer.propose(b"x"), Err(OrderError::Busy));
        let long = vec![0; super::super::proposal::MAX_PAYLOAD_BYTES + 1];
        assert!(matches!(proposer.propose(&long), Err(OrderError::TooLarge { .. })));
    }

    #[test]
    fn nothing_is_sent_twice_without_a_reason() {
        fn said(proposer: &mut Proposer, now: Moment) -> Vec<u64> {
            let mut said = Vec::new();
            proposer.poll(now, |messages| {
                said.extend(messages.into_iter().map(|message| match message {
                    ClientMessage::Request { sequence, .. } => sequence,
                    ClientMessage::Open(nonce) => nonce,
                    ClientMessage::Status => panic!("nobody asks"),
                }));
                true
            });
            said
        }
        let mut proposer = proposer();
        let (now, later) = (Moment(1), Moment(1) + RETRY);
        assert!(said(&mut proposer, now).is_empty());
        proposer.propose(b"x").unwrap();
        assert_eq!((said(&mut proposer, now), said(&mut proposer, now)), (vec![99], vec![]));
        proposer.hear(now, &ReplicaMessage::Opened { nonce: 99, session: 5 });
        assert_eq!((said(&mut proposer, now), said(&mut proposer, now)), (vec![1], vec![]));
        proposer.propose(b"y").unwrap();
        assert_eq!((said(&mut proposer, now), said(&mut proposer, now)), (vec![2], vec![]));
        assert_eq!(proposer.deadline(), later);
        assert_eq!(said(&mut proposer, later), [1, 2]);
        proposer.propose(b"z").unwrap();
        proposer.poll(later, |_| false);
        assert_eq!(said(&mut proposer, later), [3], "what is not taken is said again, and only that");
    }
}

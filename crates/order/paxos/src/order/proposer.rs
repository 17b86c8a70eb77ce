//! Payloads of one node that are proposed and not yet ordered, without I/O.
//!
//! They are handed to the own replica, numbered in the order of their submission. The replica may lose them, and says
//! so: whenever who leads has changed, or what it forwarded seems to be lost
//! ([`Effect::Leader`](crate::replica::Effect::Leader)). Then all that was not delivered is handed over again from the
//! oldest on; whatever comes twice, or too early, is not delivered ([`Lives`](super::lives::Lives)).

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use env::Moment;

use super::MAX_PAYLOAD_BYTES;
use super::lives::Life;
use crate::core::ReplicaId;
use crate::request::{Chunk, Request};
use total::{OrderError, Room};

/// Bytes of requests that are handed over at once: between two looks at whether there is room.
const TURN_BYTES: usize = 256 << 10;

/// Limits of the proposals that wait to be ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Proposals.
    pub(super) proposals: usize,
    /// Bytes of them.
    pub(super) bytes: usize,
}

/// Proposals that were not delivered yet.
#[derive(Debug)]
pub(super) struct Proposer {
    origin: ReplicaId,
    life: Life,
    limit: Waiting,
    /// The oldest first.
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    /// Number of entries of `pending`, from the front, that were submitted.
    sent: usize,
    /// Number of proposals.
    submissions: u64,
    retry: Duration,
    /// When all is handed over again, unless something is delivered until then.
    resend_at: Moment,
    /// One came early, all was handed over again, and nothing was delivered since.
    hurried: bool,
}

impl Proposer {
    /// For a life that its node never had. What is not delivered within `retry` is handed over again.
    pub(super) fn new(origin: ReplicaId, life: Life, limit: Waiting, retry: Duration) -> Self {
        Self {
            origin,
            life,
            limit,
            pending: VecDeque::new(),
            pending_bytes: 0,
            sent: 0,
            submissions: 0,
            retry,
            resend_at: Moment::NEVER,
            hurried: false,
        }
    }

    /// Returns how much is taken.
    pub(super) fn room(&self) -> Room {
        Room {
            proposals: self.limit.proposals.saturating_sub(self.pending.len()),
            bytes: self.limit.bytes.saturating_sub(self.pending_bytes),
        }
    }

    /// Takes a payload, or a barrier if it has no bytes, and returns how many were taken before it.
    pub(super) fn propose(&mut self, payload: Bytes) -> Result<u64, OrderError> {
        let bytes = payload.len();
        if bytes > MAX_PAYLOAD_BYTES {
            return Err(OrderError::TooLarge { bytes, limit: MAX_PAYLOAD_BYTES });
        }
        if !self.room().is_left() {
            return Err(OrderError::Busy);
        }
        self.pending_bytes += bytes;
        self.pending.push_back(payload);
        self.submissions += 1;
        Ok(self.submissions - 1)
    }

    /// The number of the oldest proposal that was not delivered.
    fn oldest(&self) -> u64 {
        self.submissions - self.pending.len() as u64
    }

    /// The own node has delivered the oldest proposal.
    pub(super) fn delivered(&mut self, now: Moment, submission: u64) {
        assert_eq!(submission, self.oldest(), "O2: a life's payloads are delivered in their order, each once");
        self.drop_oldest();
        self.resend_at = now + self.retry;
        self.hurried = false;
    }

    /// All before this number were delivered elsewhere.
    pub(super) fn passed(&mut self, now: Moment, next: u64) {
        while self.oldest() < next {
            self.drop_oldest();
        }
        self.lost(now);
    }

    fn drop_oldest(&mut self) {
        let payload = self.pending.pop_front().expect("it was proposed and not delivered");
        self.pending_bytes -= payload.len();
        self.sent = self.sent.saturating_sub(1);
    }

    /// A proposal came, and one before it is missing.
    pub(super) fn early(&mut self, now: Moment) {
        if !self.hurried {
            self.lost(now);
            self.hurried = true;
        }
    }

    /// Whatever was handed over may be lost.
    pub(super) fn lost(&mut self, now: Moment) {
        self.sent = 0;
        self.resend_at = now + self.retry;
    }

    /// When to [`poll`](Self::poll) if nothing happens until then.
    pub(super) fn deadline(&self) -> Moment {
        if self.pending.is_empty() { Moment::NEVER } else { self.resend_at }
    }

    /// Submits the payloads that are not submitted yet, as long as there is room.
    pub(super) fn poll(&mut self, now: Moment, has_room: impl Fn() -> bool, mut submit: impl FnMut(Chunk)) {
        if self.deadline() <= now {
            self.lost(now);
        }
        while self.sent < self.pending.len() && has_room() {
            if self.sent == 0 {
                self.resend_at = now + self.retry;
            }
            let chunk = self.turn();
            self.sent += chunk.requests();
            submit(chunk);
        }
        // The first proposals of a life may find no room, and room is not announced.
        if self.sent < self.pending.len() && self.resend_at == Moment::NEVER {
            self.resend_at = now + self.retry;
        }
    }

    /// The next requests to hand over: at least one.
    fn turn(&self) -> Chunk {
        let mut chunk = Chunk::new();
        for (sequence, payload) in (self.oldest()..).zip(&self.pending).skip(self.sent) {
            if chunk.bytes().len() >= TURN_BYTES {
                break;
            }
            let request = Request { origin: self.origin, session: self.life, sequence, nonce: None, body: payload };
            chunk.push(request).expect("a batch holds every payload that was taken");
        }
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::super::lives::{Lives, Turn};
    use super::*;
    use crate::request::requests;
    use env::Randomness;
    use std::cell::Cell;

    const LIMIT: Waiting = Waiting { proposals: 64, bytes: 10_000 };
    const RETRY: Duration = Duration::from_millis(100);
    const LIFE: Life = 99;

    fn proposer() -> Proposer {
        Proposer::new(2, LIFE, LIMIT, RETRY)
    }

    /// A node whose order loses, repeats and reorders submissions.
    struct FaultyOrder {
        lives: Lives,
        proposer: Proposer,
        delivered: Vec<(u64, Vec<u8>)>,
        on_the_way: Vec<Chunk>,
        randomness: Randomness,
        now: Moment,
    }

    impl FaultyOrder {
        fn new(seed: u64) -> Self {
            Self {
                lives: Lives::default(),
                proposer: proposer(),
                delivered: Vec::new(),
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
            let room = Cell::new(if rough { self.randomness.in_range(0..4) } else { 1_000 });
            let mut handed = Vec::new();
            self.proposer.poll(
                self.now,
                || room.get() > 0,
                |chunk| {
                    room.set(room.get() - 1);
                    handed.push(chunk);
                },
            );
            for chunk in handed {
                if !(rough && self.one_in(4)) {
                    self.on_the_way.push(chunk);
                }
            }
            if rough && self.one_in(10) {
                self.proposer.lost(self.now);
            }
            while !(self.on_the_way.is_empty() || rough && self.one_in(3)) {
                let which = if rough { self.randomness.in_range(0..self.on_the_way.len() as u64) as usize } else { 0 };
                let again = rough && self.one_in(4);
                let chunk = if again { self.on_the_way[which].clone() } else { self.on_the_way.remove(which) };
                self.order(&chunk);
            }
        }

        fn order(&mut self, chunk: &Chunk) {
            for request in chunk.iter() {
                match self.lives.judge(request.origin, request.session, request.sequence, 0) {
                    Turn::Next => {
                        self.delivered.push((request.sequence, request.body.to_vec()));
                        self.proposer.delivered(self.now, request.sequence);
                    }
                    Turn::Early => self.proposer.early(self.now),
                    Turn::Repeated => {}
                }
            }
        }
    }

    #[test]
    fn a_first_proposal_without_room_is_looked_at_again() {
        let mut proposer = proposer();
        proposer.propose(Bytes::from_static(b"first")).unwrap();
        proposer.poll(Moment::default(), || false, |_| panic!("there is no room"));
        let again = proposer.deadline();
        assert_eq!(again, Moment::default() + RETRY);
        let mut submitted = 0;
        proposer.poll(again, || true, |chunk| submitted += chunk.requests());
        assert_eq!(submitted, 1);
    }

    #[test]
    fn whatever_is_lost_or_repeated_all_are_delivered_once_and_in_order() {
        for seed in 0..200 {
            let mut rough = FaultyOrder::new(seed);
            let mut proposed = Vec::new();
            for _ in 0..300 {
                let payload = vec![proposed.len() as u8; proposed.len() % 300];
                match rough.proposer.propose(payload.clone().into()) {
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
            assert_eq!(rough.delivered, proposed, "seed {seed}");
            assert_eq!(rough.proposer.deadline(), Moment::NEVER);
        }
    }

    #[test]
    fn too_many_are_not_taken() {
        let mut proposer = proposer();
        for _ in 0..LIMIT.proposals {
            proposer.propose(Bytes::from_static(b"x")).unwrap();
        }
        assert_eq!(proposer.propose(Bytes::from_static(b"x")), Err(OrderError::Busy));
        let long = vec![0; MAX_PAYLOAD_BYTES + 1];
        assert!(matches!(proposer.propose(long.into()), Err(OrderError::TooLarge { .. })));
    }

    #[test]
    fn nothing_is_handed_over_twice_without_a_reason() {
        fn handed(proposer: &mut Proposer, now: Moment) -> Vec<u64> {
            let mut handed = Vec::new();
            proposer.poll(
                now,
                || true,
                |chunk| {
                    let batch = chunk.into_value();
                    handed.extend(requests(&batch).map(|request| request.unwrap().sequence));
                },
            );
            handed
        }
        let mut proposer = proposer();
        let (now, later) = (Moment(1), Moment(1) + RETRY);
        assert!(handed(&mut proposer, now).is_empty());
        proposer.propose(Bytes::from_static(b"x")).unwrap();
        assert_eq!((handed(&mut proposer, now), handed(&mut proposer, now)), (vec![0], vec![]));
        proposer.propose(Bytes::from_static(b"y")).unwrap();
        assert_eq!((handed(&mut proposer, now), handed(&mut proposer, now)), (vec![1], vec![]));
        assert_eq!(proposer.deadline(), later);
        assert_eq!(handed(&mut proposer, later), [0, 1]);
        proposer.propose(Bytes::from_static(b"z")).unwrap();
        proposer.poll(later, || false, |_| panic!("there is no room"));
        assert_eq!(handed(&mut proposer, later), [2], "what finds no room is handed over later, and only that");
        proposer.early(later);
        assert_eq!(handed(&mut proposer, later), [0, 1, 2]);
        proposer.early(later);
        assert!(handed(&mut proposer, later).is_empty(), "once for all that come early with it");
        proposer.delivered(later, 0);
        proposer.lost(later);
        assert_eq!(handed(&mut proposer, later), [1, 2]);
    }
}

use std::collections::{BTreeMap, VecDeque};

use env::Randomness;

use super::*;
use paxos::core::generated::{Sessions, Verdict, admit, forget_session, no_sessions, open_session};

const RETRY: Duration = Duration::from_millis(100);

fn body(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn leader() -> ReplicaMessage {
    ReplicaMessage::Leader { leader: Some(0), address: None }
}

fn request(session: Session, sequence: Sequence, text: &'static str) -> ClientMessage {
    owned(5, session, sequence, text)
}

fn owned(nonce: u64, session: Session, sequence: Sequence, text: &'static str) -> ClientMessage {
    ClientMessage::Request { session, sequence, nonce, body: body(text) }
}

fn reply(session: Session, sequence: Sequence, outcome: Outcome) -> ReplicaMessage {
    ReplicaMessage::Reply { session, sequence, outcome }
}

fn executed() -> Outcome {
    Outcome::Executed(1, Bytes::new())
}

/// A session and what it says and is told, by hand.
struct Script {
    session: ClientSession,
    now: Moment,
}

impl Script {
    /// With session 7 open and these requests sent.
    fn open(requests: &[&'static str]) -> Self {
        let mut script = Self { session: ClientSession::new(5, RETRY), now: Moment(0) };
        for text in requests {
            script.session.submit(body(text)).expect("room");
        }
        assert_eq!(script.receive(&leader()), []);
        assert_eq!(script.says(), [ClientMessage::Open(5)]);
        assert_eq!(script.says(), []);
        assert_eq!(script.receive(&ReplicaMessage::Opened { nonce: 5, session: 7 }), []);
        script
    }

    fn says(&mut self) -> Vec<ClientMessage> {
        let mut messages = Vec::new();
        self.session.poll(self.now, |message| messages.push(message));
        messages
    }

    fn receive(&mut self, message: &ReplicaMessage) -> Vec<(u64, Completion)> {
        let mut completed = Vec::new();
        self.session.handle(self.now, message, &mut completed);
        completed.into_iter().map(|c| (c.ticket, c.completion)).collect()
    }

    fn passes(&mut self, duration: Duration) {
        self.now = self.now + duration;
    }
}

#[test]
fn requests_are_numbered_sent_once_and_completed() {
    let mut script = Script::open(&["a", "b"]);
    assert_eq!(script.says(), [request(7, 1, "a"), request(7, 2, "b")]);
    assert_eq!(script.says(), []);
    assert_eq!(script.receive(&reply(7, 2, executed())), [(1, Completion::Executed(1, Bytes::new()))]);
    assert_eq!(script.receive(&reply(7, 2, executed())), [], "a repeated answer");
    assert_eq!(script.receive(&reply(8, 1, executed())), [], "another session's answer");
    assert_eq!(script.receive(&reply(7, 9, executed())), [], "an answer to nothing");
    assert_eq!(script.receive(&reply(7, 1, Outcome::Forgotten)), [(0, Completion::Forgotten)]);
    assert_eq!(script.session.open_requests(), 0);
    assert_eq!(script.session.deadline(), Moment::NEVER);
    assert_eq!(script.session.submit(body("c")), Ok(2));
    assert_eq!(script.says(), [request(7, 3, "c")]);
}

#[test]
fn nothing_is_said_before_a_leader_is_known() {
    let mut session = ClientSession::new(5, RETRY);
    session.submit(body("a")).expect("room");
    let says = |session: &mut ClientSession| {
        let mut count = 0;
        session.poll(Moment(0), |_| count += 1);
        count
    };
    assert_eq!(says(&mut session), 0);
    session.handle(Moment(0), &ReplicaMessage::Leader { leader: None, address: None }, &mut Vec::new());
    assert_eq!(says(&mut session), 0);
    session.handle(Moment(0), &leader(), &mut Vec::new());
    assert_eq!(says(&mut session), 1);
    session.disconnected();
    assert_eq!((says(&mut session), session.deadline()), (0, Moment::NEVER));
}

#[test]
fn a_replica_that_knows_no_leader_for_long_is_reported() {
    let mut session = ClientSession::new(5, RETRY);
    let nobody = ReplicaMessage::Leader { leader: None, address: None };
    session.handle(Moment(0), &nobody, &mut Vec::new());
    assert_eq!(session.deadline(), Moment::NEVER, "there is nothing to send");
    session.submit(body("a")).expect("room");
    let due = Moment(0) + RETRY;
    assert_eq!(session.deadline(), due);
    assert!(!session.poll(Moment(0), |_| {}));
    assert!(session.poll(due, |_| {}));
    assert!(!session.poll(due, |_| {}), "once");
    assert_eq!(session.deadline(), due + RETRY);
    session.disconnected();
    assert!(!session.poll(due + RETRY, |_| {}));
}

#[test]
fn what_has_no_answer_is_sent_again_after_a_timeout_a_new_leader_and_an_early_one() {
    let mut script = Script::open(&["a", "b"]);
    let all = [request(7, 1, "a"), request(7, 2, "b")];
    assert_eq!(script.says(), all);
    assert_eq!(script.session.deadline(), script.now + RETRY);
    script.passes(RETRY);
    assert_eq!(script.says(), all, "after a timeout");
    assert_eq!(script.session.deadline(), script.now + RETRY * 2, "more patient each time");
    script.receive(&leader());
    assert_eq!(script.says(), all, "after a new leader");
    assert_eq!(script.receive(&reply(7, 2, Outcome::Early)), []);
    assert_eq!(script.says(), [], "not at once: more early ones may follow");
    script.passes(EARLY_PAUSE);
    assert_eq!(script.says(), all, "after an early one");
    assert_eq!(script.session.resent(), 6);
    script.receive(&reply(7, 1, executed()));
    script.receive(&leader());
    assert_eq!(script.says(), all[1..], "what is done is not sent again");
}

#[test]
fn a_silent_replica_is_reported_an_early_request_is_not() {
    let mut script = Script::open(&["a"]);
    assert!(!script.session.poll(script.now, |_| {}));
    script.receive(&reply(7, 1, Outcome::Early));
    script.passes(EARLY_PAUSE);
    assert!(!script.session.poll(script.now, |_| {}));
    script.passes(RETRY);
    assert!(script.session.poll(script.now, |_| {}));
}

#[test]
fn requests_that_met_a_forgotten_session_once_move_to_a_new_one() {
    let mut script = Script::open(&["a", "b"]);
    assert_eq!(script.says().len(), 2);
    assert_eq!(script.receive(&reply(7, 2, Outcome::UnknownSession)), [], "the first may have been executed");
    assert_eq!(script.receive(&reply(7, 1, Outcome::UnknownSession)), []);
    let nonce = script.session.nonce();
    assert_ne!(nonce, 5);
    assert_eq!(script.says(), [ClientMessage::Open(nonce)]);
    assert_eq!(script.receive(&ReplicaMessage::Opened { nonce: 5, session: 9 }), [], "the old nonce");
    script.receive(&ReplicaMessage::Opened { nonce, session: 8 });
    assert_eq!(script.says(), [owned(nonce, 8, 1, "a"), owned(nonce, 8, 2, "b")]);
}

#[test]
fn the_outcome_of_a_request_that_was_sent_twice_and_met_a_forgotten_session_is_unknown() {
    let mut script = Script::open(&["a", "b"]);
    script.says();
    script.receive(&leader());
    script.says();
    assert_eq!(script.receive(&reply(7, 1, Outcome::UnknownSession)), [(0, Completion::Unknown)]);
    assert_eq!(script.receive(&reply(7, 2, Outcome::UnknownSession)), [(1, Completion::Unknown)]);
    script.session.submit(body("c")).expect("room");
    assert_eq!(script.says(), [ClientMessage::Open(script.session.nonce())]);
}

#[test]
fn after_a_request_that_is_too_large_the_others_move_to_a_new_session() {
    let mut script = Script::open(&["a", "b"]);
    script.says();
    assert_eq!(script.receive(&reply(7, 1, Outcome::TooLarge(3))), [(0, Completion::TooLarge(3))]);
    let nonce = script.session.nonce();
    assert_eq!(script.says(), [ClientMessage::Open(nonce)]);
    script.receive(&ReplicaMessage::Opened { nonce, session: 8 });
    assert_eq!(script.says(), [owned(nonce, 8, 1, "b")]);
}

#[test]
fn what_finds_no_session_was_not_executed_and_what_comes_later_asks_again() {
    let mut script = Script { session: ClientSession::new(5, RETRY), now: Moment(0) };
    script.session.submit(body("a")).expect("room");
    script.receive(&leader());
    assert_eq!(script.says(), [ClientMessage::Open(5)]);
    let refused = |nonce| ReplicaMessage::TooManySessions { nonce, limit: 3 };
    assert_eq!(script.receive(&refused(6)), [], "another's");
    assert_eq!(script.receive(&refused(5)), [(0, Completion::TooManySessions(3))]);
    assert_eq!(script.says(), []);
    script.session.submit(body("b")).expect("room");
    assert_eq!(script.says(), [ClientMessage::Open(5)]);
}

#[test]
fn a_session_that_is_another_s_is_none() {
    let mut script = Script::open(&["a"]);
    script.says();
    assert_eq!(script.receive(&reply(7, 1, Outcome::ForeignSession)), []);
    assert_eq!(script.says(), [ClientMessage::Open(script.session.nonce())]);
}

#[test]
fn the_window_is_the_limit() {
    let mut session = ClientSession::new(1, RETRY);
    for ticket in 0..SESSION_WINDOW {
        assert_eq!(session.submit(Bytes::new()), Ok(ticket));
    }
    assert_eq!((session.submit(Bytes::new()), session.room()), (Err(SubmitError::Full), 0));
    let long = Bytes::from(vec![0; MAX_BODY_BYTES + 1]);
    assert_eq!(session.submit(long), Err(SubmitError::TooLarge));
}

/// The replicated part of a service, with the proved rule of sessions, and the last answers of each.
struct Cluster {
    sessions: Option<Sessions>,
    answers: BTreeMap<Session, VecDeque<(Sequence, Instance)>>,
    /// Tickets in the order of their execution.
    executed: Vec<u64>,
}

impl Cluster {
    fn take(&mut self, message: &ClientMessage) -> ReplicaMessage {
        let sessions = self.sessions.take().expect("always put back");
        match message {
            ClientMessage::Open(nonce) => {
                let (sessions, session) = open_session(sessions);
                self.sessions = Some(sessions);
                ReplicaMessage::Opened { nonce: *nonce, session }
            }
            ClientMessage::Request { session, sequence, body, .. } => {
                let (sessions, verdict) = admit(*session, *sequence, sessions);
                self.sessions = Some(sessions);
                let outcome = self.outcome(verdict, *session, *sequence, body);
                ReplicaMessage::Reply { session: *session, sequence: *sequence, outcome }
            }
            ClientMessage::Status => unreachable!("sessions do not ask for the status"),
        }
    }

    fn outcome(&mut self, verdict: Verdict, session: Session, sequence: Sequence, body: &Bytes) -> Outcome {
        let answers = self.answers.entry(session).or_default();
        match verdict {
            Verdict::Early => return Outcome::Early,
            Verdict::Unknown => return Outcome::UnknownSession,
            Verdict::Repeated => {}
            Verdict::Fresh => {
                self.executed.push(u64::from_le_bytes(body[..].try_into().expect("a ticket")));
                answers.push_back((sequence, self.executed.len() as u64));
                if answers.len() > SESSION_WINDOW as usize {
                    answers.pop_front();
                }
            }
        }
        let answer = answers.iter().find(|(number, _)| *number == sequence);
        answer.map_or(Outcome::Forgotten, |(_, at)| Outcome::Executed(*at, Bytes::new()))
    }

    fn forget(&mut self, session: Session) {
        self.sessions = self.sessions.take().map(|sessions| forget_session(session, sessions));
        self.answers.remove(&session);
    }
}

/// Takes a random message out: the network reorders, loses and doubles while it is `faulty`.
fn carry<M: Clone>(bag: &mut VecDeque<M>, faulty: bool, randomness: &mut Randomness) -> Option<M> {
    if bag.is_empty() {
        return None;
    }
    let position = if faulty { randomness.in_range(0..bag.len() as u64) as usize } else { 0 };
    let message = bag.remove(position)?;
    if faulty && randomness.chance(1, 10) {
        bag.push_back(message.clone());
    }
    (!faulty || !randomness.chance(1, 8)).then_some(message)
}

/// Checks that the outcomes reported to a client agree with the cluster's executions, that each request is executed at most
/// once and in the order of submission, and that everything is completed once faults stop.
fn run(seed: u64) {
    const REQUESTS: u64 = 200;
    let mut randomness = Randomness::from_seed(seed);
    let mut cluster = Cluster { sessions: Some(no_sessions()), answers: BTreeMap::new(), executed: Vec::new() };
    let mut session = ClientSession::new(seed, RETRY);
    let (mut requests, mut replies) = (VecDeque::new(), VecDeque::from([leader()]));
    let mut completions: BTreeMap<u64, Completion> = BTreeMap::new();
    let (mut now, mut submitted, mut steps) = (Moment(0), 0, 0);
    while completions.len() < REQUESTS as usize {
        steps += 1;
        assert!(steps < 100_000, "seed {seed}: no progress: {session:?}");
        let faulty = steps < 3_000;
        now = now + Duration::from_micros(randomness.in_range(0..3_000));
        if submitted < REQUESTS && session.room() > 0 && randomness.chance(1, 3) {
            assert_eq!(session.submit(Bytes::copy_from_slice(&u64::to_le_bytes(submitted))), Ok(submitted));
            submitted += 1;
        }
        if faulty && randomness.chance(1, 100) {
            replies.push_back(leader());
        }
        if faulty && randomness.chance(1, 400) {
            cluster.forget(session.session().unwrap_or(1));
        }
        session.poll(now, |message| requests.push_back(message));
        if let Some(message) = carry(&mut requests, faulty, &mut randomness) {
            replies.push_back(cluster.take(&message));
        }
        if let Some(message) = carry(&mut replies, faulty, &mut randomness) {
            let mut completed = Vec::new();
            session.handle(now, &message, &mut completed);
            for Completed { ticket, completion } in completed {
                assert!(completions.insert(ticket, completion).is_none(), "seed {seed}: {ticket} completed twice");
            }
        }
        if !faulty && replies.is_empty() && steps % 100 == 0 {
            replies.push_back(leader());
        }
    }
    assert!(cluster.executed.is_sorted_by(|a, b| a < b), "seed {seed}: {:?}", cluster.executed);
    for (ticket, completion) in completions {
        let position = cluster.executed.iter().position(|executed| *executed == ticket);
        match completion {
            Completion::Executed(at, _) => assert_eq!(position.map(|p| p as u64 + 1), Some(at), "seed {seed}"),
            Completion::Forgotten => assert!(position.is_some(), "seed {seed}"),
            Completion::Unknown => {}
            Completion::TooLarge(_) | Completion::AnswerTooLarge(_) | Completion::TooManySessions(_) => {
                panic!("seed {seed}: nothing was too large")
            }
        }
    }
}

#[test]
fn whatever_the_network_does_the_client_is_told_the_truth() {
    (0..300).for_each(run);
}

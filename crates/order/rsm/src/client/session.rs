//! One session of a client, without I/O: decides which messages to send and when, and records the outcome of each request.
//!
//! A session numbers its requests; replicas execute them in this sequence, each at most once, however often they are sent.
//! Requests without an answer are therefore sent again, from the oldest on: after a timeout, after a new connection, after a
//! new leader, and when a request came early (its predecessor was lost). Replicas remember the last [`SESSION_WINDOW`] answers
//! of a session; no more requests are open at a time.
//!
//! An answer is not guaranteed, since replicas forget sessions that were idle for long. A request that was sent once, and met a
//! forgotten session, was not executed, nor were its successors: they move to a new session. One that was sent several times
//! may have been executed before the session was forgotten: its outcome is [`Completion::Unknown`].

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::message::{ClientMessage, Outcome, ReplicaMessage, SESSION_WINDOW};
use env::Moment;
use paxos::core::{Instance, Sequence, Session};
use paxos::request::MAX_BODY_BYTES;

#[cfg(test)]
mod tests;

/// A session that sends again does so after a pause that doubles with each timeout, this many times at most.
const MAX_DOUBLINGS: u32 = 4;

/// After a request came early, this passes before all is sent again: the others that came early with it have been heard of then.
const EARLY_PAUSE: Duration = Duration::from_millis(5);

/// A new nonce is the old one and this: odd, so that all of them differ.
const NONCE_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It was executed once, at this instance; the service's answer.
    Executed(Instance, Bytes),
    /// It was executed once; the answer is lost.
    Forgotten,
    /// It was executed once; the answer has this many bytes, too many to be sent.
    AnswerTooLarge(u64),
    /// It was executed once or not at all.
    Unknown,
    /// It was not executed: replicas take at most this many bytes.
    TooLarge(u64),
    /// It was not executed: the limit of sessions on one connection or from one address is reached.
    TooManySessions(u64),
}

/// A request is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Ticket that [`ClientSession::submit`] returned.
    pub ticket: u64,
    /// Outcome of the request.
    pub completion: Completion,
}

/// A request that the session does not take; it was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// [`SESSION_WINDOW`] requests are open.
    Full,
    /// The body is longer than any request may be.
    TooLarge,
}

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "{SESSION_WINDOW} requests of the session have no answer yet"),
            Self::TooLarge => write!(f, "a request has at most {MAX_BODY_BYTES} bytes"),
        }
    }
}

impl std::error::Error for SubmitError {}

/// A request without an answer, or one whose predecessors have none.
#[derive(Debug)]
struct Pending {
    ticket: u64,
    body: Bytes,
    /// Number of times that it was sent in this session.
    copies: u32,
    answer: Answer,
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    None,
    /// The caller has it.
    Done,
    /// The session is not known there.
    NoSession,
    /// Too long.
    Refused(u64),
}

/// One session of a client.
#[derive(Debug)]
pub struct ClientSession {
    nonce: u64,
    session: Option<Session>,
    /// The sequence of the oldest of `pending`.
    first: Sequence,
    pending: VecDeque<Pending>,
    /// Number of requests of `pending`, from the front, that have been sent since the last rewind.
    sent: usize,
    open_sent: bool,
    next_ticket: u64,
    /// Whether there is a connection to a replica that knows a leader.
    online: bool,
    /// There is a connection, and the replica at its end has known no leader since, or since that was last reported.
    leaderless: Option<Moment>,
    retry: Duration,
    doublings: u32,
    /// When all that has no answer is sent again.
    resend_at: Moment,
    /// A request came early, so that is soon.
    early: bool,
    last_rewind: Moment,
    resent: u64,
}

impl ClientSession {
    /// A session that will be opened under this nonce, which no other client should use. What has no answer for `retry` is sent again.
    #[must_use]
    pub fn new(nonce: u64, retry: Duration) -> Self {
        Self {
            nonce,
            session: None,
            first: 1,
            pending: VecDeque::new(),
            sent: 0,
            open_sent: false,
            next_ticket: 0,
            online: false,
            leaderless: None,
            retry,
            doublings: 0,
            resend_at: Moment::NEVER,
            early: false,
            last_rewind: Moment::default(),
            resent: 0,
        }
    }

    /// Accepts a request and returns its ticket, which its [`Completed`] names. Tickets count up from 0.
    ///
    /// # Errors
    /// See [`SubmitError`].
    pub fn submit(&mut self, body: Bytes) -> Result<u64, SubmitError> {
        if body.len() > MAX_BODY_BYTES {
            return Err(SubmitError::TooLarge);
        }
        if self.room() == 0 {
            return Err(SubmitError::Full);
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.pending.push_back(Pending { ticket, body, copies: 0, answer: Answer::None });
        Ok(ticket)
    }

    /// Returns the number of requests that [`submit`](Self::submit) accepts now.
    #[must_use]
    pub fn room(&self) -> usize {
        (SESSION_WINDOW as usize).saturating_sub(self.pending.len())
    }

    /// Requests that have been taken and are not completed.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.pending.iter().filter(|pending| pending.answer != Answer::Done).count()
    }

    /// The nonce under which the session is opened: for telling to whom a [`ReplicaMessage::Opened`] belongs.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The session's number, once it is open.
    #[must_use]
    pub fn session(&self) -> Option<Session> {
        self.session
    }

    /// Messages that were sent again so far.
    #[must_use]
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// The connection is gone: nothing is sent until the next one says who leads.
    pub fn disconnected(&mut self) {
        self.online = false;
        self.leaderless = None;
    }

    /// Handles a message of a replica; messages for other sessions do no harm. Completed requests are appended to `completed`.
    pub fn handle(&mut self, now: Moment, message: &ReplicaMessage, completed: &mut Vec<Completed>) {
        match message {
            ReplicaMessage::Leader { leader, .. } => {
                self.online = leader.is_some();
                self.leaderless = leader.is_none().then_some(now);
                self.rewind(now);
            }
            ReplicaMessage::Opened { nonce, session } if *nonce == self.nonce && self.session.is_none() => {
                self.session = Some(*session);
                self.rewind(now);
            }
            ReplicaMessage::TooManySessions { nonce, limit } if *nonce == self.nonce && self.session.is_none() => {
                self.give_up(*limit, completed);
            }
            ReplicaMessage::Reply { session, sequence, outcome } if self.session == Some(*session) => {
                self.on_reply(now, *sequence, outcome, completed);
            }
            _ => {}
        }
    }

    /// Fails the requests that waited for a session, since none could be opened: they were never sent.
    fn give_up(&mut self, limit: u64, completed: &mut Vec<Completed>) {
        let waiting = self.pending.drain(..).filter(|pending| pending.answer != Answer::Done);
        completed.extend(waiting.map(|Pending { ticket, .. }| {
            let completion = Completion::TooManySessions(limit);
            Completed { ticket, completion }
        }));
        (self.sent, self.open_sent) = (0, false);
    }

    fn on_reply(&mut self, now: Moment, sequence: Sequence, outcome: &Outcome, completed: &mut Vec<Completed>) {
        let position = sequence.checked_sub(self.first).and_then(|position| usize::try_from(position).ok());
        let Some(pending) = position.and_then(|position| self.pending.get_mut(position)) else { return };
        if pending.answer != Answer::None {
            return;
        }
        let done = match outcome {
            Outcome::Executed(at, answer) => Some(Completion::Executed(*at, answer.clone())),
            Outcome::Forgotten => Some(Completion::Forgotten),
            Outcome::ReplyTooLarge(bytes) => Some(Completion::AnswerTooLarge(*bytes)),
            Outcome::Early => {
                // Not before the pause is over, so that the early ones of one burst make one resend.
                self.resend_at = (self.last_rewind + EARLY_PAUSE).max(now);
                self.early = true;
                return;
            }
            // Another's: in this cluster there never was one of this client's of that number.
            Outcome::UnknownSession | Outcome::ForeignSession => {
                pending.answer = Answer::NoSession;
                None
            }
            Outcome::TooLarge(limit) => {
                pending.answer = Answer::Refused(*limit);
                None
            }
        };
        if let Some(completion) = done {
            pending.answer = Answer::Done;
            completed.push(Completed { ticket: pending.ticket, completion });
        }
        self.doublings = 0;
        if !self.early {
            self.set_timer(now);
        }
        self.retire(now, completed);
    }

    /// Takes answered requests from the front, where it is known what became of those before them.
    fn retire(&mut self, now: Moment, completed: &mut Vec<Completed>) {
        while let Some(oldest) = self.pending.front() {
            let ticket = oldest.ticket;
            match oldest.answer {
                Answer::None => return,
                Answer::Done => self.retire_oldest(),
                Answer::Refused(limit) => {
                    completed.push(Completed { ticket, completion: Completion::TooLarge(limit) });
                    self.retire_oldest();
                    // Its number will never be executed, so no later one of the session will.
                    return self.reopen(now);
                }
                Answer::NoSession if oldest.copies > 1 => {
                    completed.push(Completed { ticket, completion: Completion::Unknown });
                    self.retire_oldest();
                    if self.pending.is_empty() {
                        return self.reopen(now);
                    }
                }
                // Its only copy was refused, and its successors with it.
                Answer::NoSession => return self.reopen(now),
            }
        }
    }

    fn retire_oldest(&mut self) {
        self.pending.pop_front();
        self.first += 1;
        self.sent = self.sent.saturating_sub(1);
    }

    /// Moves the pending requests to a new session.
    fn reopen(&mut self, now: Moment) {
        self.nonce = self.nonce.wrapping_add(NONCE_STEP);
        self.session = None;
        self.open_sent = false;
        self.first = 1;
        for pending in &mut self.pending {
            pending.copies = 0;
            pending.answer = Answer::None;
        }
        self.rewind(now);
    }

    /// All that has no answer is to be sent again.
    fn rewind(&mut self, now: Moment) {
        self.sent = 0;
        self.open_sent = false;
        self.early = false;
        self.last_rewind = now;
        self.set_timer(now);
    }

    fn set_timer(&mut self, now: Moment) {
        self.resend_at = now + self.retry * (1 << self.doublings);
    }

    /// Next time at which [`poll`](Self::poll) has something to do if no message arrives.
    #[must_use]
    pub fn deadline(&self) -> Moment {
        match self.leaderless {
            _ if self.pending.is_empty() => Moment::NEVER,
            Some(since) => since + self.retry,
            None if self.online => self.resend_at,
            None => Moment::NEVER,
        }
    }

    /// Hands over what is to be sent now. True if nothing was heard for too long, or no leader was known: a client whose sessions all
    /// say so looks for another replica.
    pub fn poll(&mut self, now: Moment, mut send: impl FnMut(ClientMessage)) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        if !self.online {
            let is_late = self.leaderless.is_some_and(|since| now >= since + self.retry);
            self.leaderless = if is_late { Some(now) } else { self.leaderless };
            return is_late;
        }
        let is_waiting = self.sent > 0 || self.open_sent;
        let timed_out = is_waiting && now >= self.resend_at && !self.early;
        if timed_out {
            self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
        }
        if is_waiting && now >= self.resend_at {
            self.rewind(now);
        }
        match self.session {
            None if self.open_sent => {}
            None => {
                self.open_sent = true;
                self.set_timer(now);
                send(ClientMessage::Open(self.nonce));
            }
            Some(session) => self.send_requests(now, session, send),
        }
        timed_out
    }

    fn send_requests(&mut self, now: Moment, session: Session, mut send: impl FnMut(ClientMessage)) {
        if self.sent == 0 {
            self.set_timer(now);
        }
        for (position, pending) in self.pending.iter_mut().enumerate().skip(self.sent) {
            if pending.answer == Answer::None {
                self.resent += u64::from(pending.copies > 0);
                pending.copies = pending.copies.saturating_add(1);
                let sequence = self.first + position as u64;
                send(ClientMessage::Request { session, sequence, nonce: self.nonce, body: pending.body.clone() });
            }
        }
        self.sent = self.pending.len();
    }
}

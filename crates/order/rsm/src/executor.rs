//! Executes batches: sessions, the service, and the replies kept for repeated requests.
//!
//! Every replica runs one, over the same batches in the same order, so that all of them execute the same requests, refuse the same
//! ones, keep the same replies and forget the same sessions. The proved functions of `proofs/paxos/Sessions.v` decide what becomes of
//! each request; this module calls them, does it, and keeps the replies, as `proofs/paxos/Executor.v` says.
//!
//! Invariants:
//! - X1 The state (service, sessions, replies, next instance) is a function of the values delivered so far: what is forgotten, and when,
//!   depends on instances and session numbers, never on clocks or the order of a hash table.
//! - X2 (needed by P9) A snapshot's bytes are a function of the state, so replicas at the same instance have the same image.
//! - X3 A request reaches the sessions only with the nonce with which its session was opened: no client uses another's session.
//! - X4 Sessions, replies and the bytes of replies are bounded by [`Limits`].

mod checksum;
mod image;
mod replies;
#[cfg(test)]
mod tests;

use crate::message::Outcome;
use crate::service::{BadSnapshot, Service};
use bytes::{Bytes, BytesMut};
use checksum::{CheckedReader, Checksummed};
use paxos::config::Options;
use paxos::core::generated::{self, Demand, Sessions, Turn};
use paxos::core::{Image, Instance, ReplicaId, Sequence, Session, Value, prim};
use paxos::image::ImageWriter;
use paxos::request::{BadBatch, OPEN, Request, requests};
use replies::{Answer, Replies};
use std::io;

/// An answer for a client of this replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The session that the client with this nonce has opened.
    Opened {
        /// The client's.
        nonce: u64,
        /// The new session.
        session: Session,
    },
    /// A request was processed.
    Done {
        /// The request's session.
        session: Session,
        /// Its number there.
        sequence: Sequence,
        /// Nonce of the request: that of the client that receives the reply.
        nonce: Option<u64>,
        /// Outcome of the request.
        outcome: Outcome,
    },
}

/// Counts of an executor since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Executed {
    /// Requests that were executed.
    pub requests: u64,
    /// Requests that had been executed before, or came too early, or had no session.
    pub refused: u64,
    /// Sessions that are open.
    pub sessions: u64,
    /// The next instance.
    pub next: Instance,
}

/// Limits of the state of an executor. All replicas of a cluster must have the same, since evictions are part of their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open sessions, at least 1; each takes about 1 KiB, its answers' bytes not counted. When there are so many, the
    /// next one to open makes the longest idle quarter be forgotten. Default 65,536.
    pub sessions: usize,
    /// Bytes of one reply. A longer one is neither sent nor kept ([`Outcome::ReplyTooLarge`]). Default 8 MiB.
    pub reply_bytes: usize,
    /// Bytes of all replies that are kept to be asked for again. Beyond it those of the longest idle sessions are forgotten, until a
    /// quarter is free. Default 64 MiB.
    pub kept_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { sessions: 1 << 16, reply_bytes: 8 << 20, kept_bytes: 64 << 20 }
    }
}

/// The replicated state of one replica, and its transitions.
#[derive(Debug)]
pub struct Executor<S> {
    id: ReplicaId,
    limits: Limits,
    service: S,
    /// Always there: taken out only while a proved function replaces it.
    sessions: Option<Sessions>,
    replies: Replies,
    next: Instance,
    executed: u64,
    refused: u64,
    /// The service's answer to the request at hand.
    answer: Vec<u8>,
    /// Answers on their way out share its memory.
    outgoing: BytesMut,
}

impl<S: Service> Executor<S> {
    /// An executor for replica [`Options::id`], before the first instance.
    pub fn new(options: &Options, service: S) -> Self {
        let sessions = usize::try_from(options.sessions).unwrap_or(usize::MAX);
        Self::with_limits(options.id, Limits { sessions, ..Limits::default() }, service)
    }

    /// The same with limits of one's own.
    pub fn with_limits(id: ReplicaId, limits: Limits, service: S) -> Self {
        Self {
            id,
            limits,
            service,
            sessions: Some(generated::no_sessions()),
            replies: Replies::default(),
            next: 0,
            executed: 0,
            refused: 0,
            answer: Vec::new(),
            outgoing: BytesMut::new(),
        }
    }

    /// Executes the batch of instance `at`, which is the next one, and appends the replies for clients of this replica.
    ///
    /// # Errors
    /// [`BadBatch`]: some peer has proposed what no replica makes. The entries before the one that cannot be read are executed and the
    /// rest is skipped, on every replica alike, so the replica may go on.
    ///
    /// # Panics
    /// If `at` is not the next instance: executing it would make this replica differ from the others.
    pub fn deliver(&mut self, at: Instance, value: &Value, replies: &mut Vec<Reply>) -> Result<(), BadBatch> {
        assert_eq!(at, self.next, "instances are delivered in order and without holes");
        self.next += 1;
        for request in requests(value) {
            self.execute(at, &request?, replies);
        }
        Ok(())
    }

    fn execute(&mut self, at: Instance, request: &Request<'_>, replies: &mut Vec<Reply>) {
        let is_own = request.origin == self.id;
        let turn = self.take_turn(request);
        match turn {
            Turn::Opened(session) => {
                self.replies.open(session, at, request.nonce);
                if is_own {
                    replies.push(Reply::Opened { nonce: request.sequence, session });
                }
                return;
            }
            Turn::Run => self.run(at, request),
            Turn::Again | Turn::Early | Turn::Unknown | Turn::Foreign => self.refused += 1,
        }
        if is_own {
            let outcome = self.outcome(at, request, turn);
            let Request { session, sequence, nonce, .. } = *request;
            replies.push(Reply::Done { session, sequence, nonce, outcome });
        }
    }

    /// What becomes of a request: the sessions decide, after some of them were forgotten.
    fn take_turn(&mut self, request: &Request<'_>) -> Turn {
        let demand = if request.session == OPEN {
            self.make_room();
            Demand::Opens
        } else {
            Demand::Calls(request.session, request.sequence)
        };
        let owned = self.replies.owner(request.session).is_none_or(|owner| owner == request.nonce);
        self.step_sessions(|sessions| generated::take_turn(owned, demand, sessions))
    }

    /// Forgets the quarter of the sessions that has been idle longest, if there is no room for one more.
    fn make_room(&mut self) {
        if self.replies.sessions() < self.limits.sessions {
            return;
        }
        for session in self.replies.longest_idle(self.limits.sessions.div_ceil(4)) {
            self.step_sessions(|sessions| (generated::forget_session(session, sessions), ()));
            self.replies.close(session);
        }
    }

    /// Executes a request and keeps the service's answer.
    fn run(&mut self, at: Instance, request: &Request<'_>) {
        self.executed += 1;
        self.answer.clear();
        self.service.execute(at, request.body, &mut self.answer);
        let length = self.answer.len();
        let answer = if length > self.limits.reply_bytes {
            Answer::TooLarge(length as u64)
        } else {
            Answer::Bytes(self.answer.as_slice().into())
        };
        self.replies.keep(request.session, at, answer);
        if self.replies.bytes() > self.limits.kept_bytes {
            self.replies.forget_down_to(self.limits.kept_bytes / 4 * 3);
        }
    }

    /// Returns the outcome to report to the client.
    fn outcome(&mut self, at: Instance, request: &Request<'_>, turn: Turn) -> Outcome {
        match turn {
            Turn::Run if self.answer.len() > self.limits.reply_bytes => {
                Outcome::ReplyTooLarge(self.answer.len() as u64)
            }
            Turn::Run => Outcome::Executed(at, send(&mut self.outgoing, &self.answer)),
            Turn::Again => self.repeat(request),
            Turn::Early => Outcome::Early,
            Turn::Foreign => Outcome::ForeignSession,
            // A session that was opened is told to its client otherwise.
            Turn::Unknown | Turn::Opened(_) => Outcome::UnknownSession,
        }
    }

    /// The answer to a request that was executed before.
    fn repeat(&mut self, request: &Request<'_>) -> Outcome {
        let last = prim::sm_get(request.session, &self.sessions().last).copied().unwrap_or(0);
        let kept = last.checked_sub(request.sequence).and_then(|age| self.replies.find(request.session, age));
        match kept {
            Some((at, Answer::Bytes(bytes))) => Outcome::Executed(at, send(&mut self.outgoing, bytes)),
            Some((_, Answer::TooLarge(length))) => Outcome::ReplyTooLarge(*length),
            None => Outcome::Forgotten,
        }
    }

    /// Writes the state after all instances so far to `out`, and returns its image.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn snapshot(&self, out: ImageWriter) -> io::Result<(Instance, Image)> {
        let mut out = Checksummed::new(out);
        image::write(&mut out, self.next, self.sessions(), &self.replies)?;
        self.service.snapshot(&mut out)?;
        Ok((self.next, out.finish()?))
    }

    /// Replaces the state by the one that `image` holds, which must be that before instance `at`.
    ///
    /// # Errors
    /// [`BadSnapshot`]: the bytes are no snapshot of this version, of that instance, or of this service, or they cannot be read; this
    /// executor must not go on.
    pub fn install(&mut self, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        let mut input = CheckedReader::new(image)?;
        let decoded = image::read(&mut input)?;
        if decoded.next != at {
            return Err(BadSnapshot(format!("it is the state before instance {}, not {at}", decoded.next)));
        }
        self.service.restore(&mut input)?;
        input.finish()?;
        self.sessions = Some(decoded.sessions);
        self.replies = decoded.replies;
        self.next = at;
        Ok(())
    }

    /// Returns the counts so far.
    pub fn executed(&self) -> Executed {
        Executed {
            requests: self.executed,
            refused: self.refused,
            sessions: self.replies.sessions() as u64,
            next: self.next,
        }
    }

    /// The service.
    pub fn service(&self) -> &S {
        &self.service
    }

    fn sessions(&self) -> &Sessions {
        self.sessions.as_ref().expect("a step panicked: the replica must not go on")
    }

    fn step_sessions<R>(&mut self, step: impl FnOnce(Sessions) -> (Sessions, R)) -> R {
        let sessions = self.sessions.take().expect("a step panicked: the replica must not go on");
        let (sessions, result) = step(sessions);
        self.sessions = Some(sessions);
        result
    }
}

/// A copy that shares one allocation with the answers around it.
fn send(outgoing: &mut BytesMut, answer: &[u8]) -> Bytes {
    if answer.is_empty() {
        return Bytes::new();
    }
    outgoing.extend_from_slice(answer);
    outgoing.split().freeze()
}

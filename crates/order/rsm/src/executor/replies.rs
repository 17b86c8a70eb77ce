//! The replies that clients may ask for again, by session.

use crate::message::SESSION_WINDOW;
use foldhash::fast::FixedState;
use paxos::core::{Instance, Session};
use std::collections::{HashMap, VecDeque};

/// Answer of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// This. An empty one takes no memory of its own.
    Bytes(Box<[u8]>),
    /// Answer of this number of bytes, too many to keep.
    TooLarge(u64),
}

impl Answer {
    fn bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::TooLarge(_) => 0,
        }
    }
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remembered {
    /// The instance that opened it or executed its last request.
    pub(super) active: Instance,
    /// With which its client opened it. `None`: a client of a version that knew no owners.
    pub(super) nonce: Option<u64>,
    /// Instances and answers of its last requests, the newest at the end; at most [`SESSION_WINDOW`].
    pub(super) answers: VecDeque<(Instance, Answer)>,
}

impl Remembered {
    fn bytes(&self) -> usize {
        self.answers.iter().map(|(_, answer)| answer.bytes()).sum()
    }
}

/// All open sessions: the same ones as in the proved sessions.
#[derive(Debug, Default)]
pub(super) struct Replies {
    sessions: HashMap<Session, Remembered, FixedState>,
    bytes: usize,
}

impl Replies {
    /// Returns the number of open sessions.
    pub(super) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Bytes of all answers.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A new session.
    pub(super) fn open(&mut self, session: Session, at: Instance, nonce: Option<u64>) {
        self.insert(session, Remembered { active: at, nonce, answers: VecDeque::new() });
    }

    /// The nonce with which a session was opened, if it is open.
    pub(super) fn owner(&self, session: Session) -> Option<Option<u64>> {
        self.sessions.get(&session).map(|remembered| remembered.nonce)
    }

    /// A session as it was.
    pub(super) fn insert(&mut self, session: Session, remembered: Remembered) {
        self.bytes += remembered.bytes();
        self.sessions.insert(session, remembered);
    }

    /// A session that is forgotten.
    pub(super) fn close(&mut self, session: Session) {
        if let Some(remembered) = self.sessions.remove(&session) {
            self.bytes -= remembered.bytes();
        }
    }

    /// Adds the answer to the session's newest request.
    pub(super) fn keep(&mut self, session: Session, at: Instance, answer: Answer) {
        let Some(remembered) = self.sessions.get_mut(&session) else { return };
        remembered.active = at;
        if remembered.answers.len() as u64 >= SESSION_WINDOW {
            let oldest = remembered.answers.pop_front();
            self.bytes -= oldest.map_or(0, |(_, answer)| answer.bytes());
        }
        self.bytes += answer.bytes();
        remembered.answers.push_back((at, answer));
    }

    /// The answer to the request that came `age` requests before the session's newest one.
    pub(super) fn find(&self, session: Session, age: u64) -> Option<(Instance, &Answer)> {
        let answers = &self.sessions.get(&session)?.answers;
        let index = answers.len().checked_sub(usize::try_from(age).ok()?)?.checked_sub(1)?;
        answers.get(index).map(|(at, answer)| (*at, answer))
    }

    /// The `count` sessions that have been idle longest; of those that were idle equally long, the oldest.
    pub(super) fn longest_idle(&self, count: usize) -> Vec<Session> {
        let mut all: Vec<_> = self.sessions.iter().map(|(session, remembered)| (remembered.active, *session)).collect();
        if count < all.len() {
            all.select_nth_unstable(count);
            all.truncate(count);
        }
        all.into_iter().map(|(_, session)| session).collect()
    }

    /// Forgets answers, those of the longest idle sessions first, until at most `bytes` bytes of them are left.
    pub(super) fn forget_down_to(&mut self, bytes: usize) {
        let with_answers = self.sessions.iter_mut().filter(|(_, remembered)| remembered.bytes() > 0);
        let mut all: Vec<_> =
            with_answers.map(|(session, remembered)| (remembered.active, *session, remembered)).collect();
        all.sort_unstable_by_key(|(active, session, _)| (*active, *session));
        for (_, _, remembered) in all {
            if self.bytes <= bytes {
                break;
            }
            self.bytes -= remembered.bytes();
            remembered.answers = VecDeque::new();
        }
    }

    /// All sessions by number.
    pub(super) fn in_order(&self) -> Vec<(Session, &Remembered)> {
        let mut all: Vec<_> = self.sessions.iter().map(|(session, remembered)| (*session, remembered)).collect();
        all.sort_unstable_by_key(|(session, _)| *session);
        all
    }
}

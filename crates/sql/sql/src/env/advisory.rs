//! A session's notes on its advisory locks: what ends with its transaction, and what an attempt of a statement has taken.

use ::advisory::{Grant, Key, Level, Locks, Mode, Request};
use model::LogPosition;
use std::collections::BTreeMap;

/// A session's notes on its advisory locks.
#[derive(Debug, Default)]
pub struct Advisory {
    /// What the transaction has taken, in order: a savepoint is a place in it.
    taken: Vec<(Key, Mode)>,
    /// How often the statement's attempt has taken locks for the session.
    attempted: BTreeMap<(Key, Mode), u64>,
    /// Whether the attempt has given one of the session's locks back: others may have it by now.
    has_given_back: bool,
    /// Log position that the answers of ended transactions rest on.
    pub settled: LogPosition,
}

impl Advisory {
    /// Notes a lock that was granted.
    pub fn note(&mut self, request: Request, grant: Grant) {
        let lock = (request.key, request.mode);
        match request.level {
            Level::Session => *self.attempted.entry(lock).or_default() += 1,
            Level::Transaction if grant.is_new => self.taken.push(lock),
            Level::Transaction => {}
        }
    }

    /// Notes that a lock of the session was given back.
    pub fn note_given_back(&mut self) {
        self.has_given_back = true;
    }

    /// A place in what the transaction takes, for [`Advisory::end_since`].
    pub(crate) fn mark(&self) -> usize {
        self.taken.len()
    }

    /// Gives back what the transaction has taken since a mark.
    pub(crate) fn end_since(&mut self, mark: usize, locks: &Locks, owner: i32, position: LogPosition) {
        if self.taken.len() > mark {
            locks.end_transaction(owner, Some(&self.taken.split_off(mark)), position.to_raw());
        }
    }

    /// A statement begins, for the first time or again.
    pub(crate) fn begin_attempt(&mut self) {
        self.attempted.clear();
        self.has_given_back = false;
    }

    /// Takes back what an attempt has taken for the session, so that it can be made again. `false` if it has given locks back:
    /// that cannot be undone.
    pub(crate) fn undo_attempt(&mut self, locks: &Locks, owner: i32) -> bool {
        if self.has_given_back {
            return false;
        }
        for ((key, mode), times) in std::mem::take(&mut self.attempted) {
            for _ in 0..times {
                locks.unlock(owner, key, mode, self.settled.to_raw());
            }
        }
        true
    }
}

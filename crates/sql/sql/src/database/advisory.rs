//! Advisory locks of sessions: waits for them, and the deadlocks that they and waits for rows make together.

use super::Instance;
use crate::cancel::{Cancel, Wait, Waiting, this_thread};
use crate::error::{Result, SqlError, state};
use ::advisory::{Answer, Edge, Full, Grant, Key, Owner, Request, Wait as Poll};
use std::time::Duration;

impl From<Full> for SqlError {
    fn from(full: Full) -> SqlError {
        SqlError::new(state::OUT_OF_MEMORY, "out of shared memory")
            .detail(format!("{full}."))
            .hint("Give some back with pg_advisory_unlock() or pg_advisory_unlock_all(), or by ending transactions.")
    }
}

impl Instance {
    /// Waits for an advisory lock, for at most `limit`.
    ///
    /// # Errors
    /// 40P01 for a deadlock, 55P03 beyond the limit, 57014, 57P01, 53200 for too many locks.
    pub fn lock_advisory(&self, cancel: &Cancel, request: Request, limit: Option<Duration>) -> Result<Grant> {
        if let Answer::Granted(grant) = self.advisory.lock(request, this_thread())? {
            return Ok(grant);
        }
        self.search_deadlock(request.owner);
        cancel.notify_long_wait();
        let slept = cancel.sleep_until(Wait::Advisory, limit, || match self.advisory.poll(request.owner) {
            Poll::Queued => None,
            ended => Some(ended),
        });
        // Granted at the last moment, it is held: the statement meets the end of its time where it looks next.
        match (self.advisory.withdraw(request.owner), slept) {
            (Some(grant), _) => Ok(grant),
            (None, Ok(Some(Poll::Deadlock(cycle)))) => Err(self.deadlock(&cycle)),
            (None, Ok(_)) => Err(SqlError::new(state::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout")),
            (None, Err(error)) => Err(error),
        }
    }

    /// Searches for a deadlock that a wait of this session has closed, and ends a wait for an advisory lock in it. Those of rows
    /// alone cannot occur: the engine's waits go from younger to older transactions.
    pub fn search_deadlock(&self, process: Owner) {
        if self.advisory.has_waiting() {
            self.advisory.search(process, &|process| self.sessions.row_blockers(process));
        }
    }

    /// The sessions that one waits for; zero stands for a transaction that is no session's.
    pub fn blockers(&self, process: Owner) -> Vec<Owner> {
        let mut blockers = self.advisory.blocking(process);
        blockers.extend(self.sessions.row_blockers(process));
        blockers
    }

    /// 40P01
    fn deadlock(&self, cycle: &[Edge]) -> SqlError {
        let waits: Vec<String> = cycle.iter().map(|edge| self.described(edge)).collect();
        SqlError::new(state::DEADLOCK_DETECTED, "deadlock detected")
            .detail(waits.join("\n"))
            .hint("Run the transaction again. Deadlocks do not occur where all take their locks in one order.")
    }

    fn described(&self, Edge { owner, lock, by }: &Edge) -> String {
        let what = match lock {
            Some((Key { database, class, object, kind }, mode)) => {
                format!("{} on advisory lock [{database},{class},{object},{kind}]", mode.name())
            }
            None => {
                let other = self.sessions.waiting(*owner).and_then(|waiting| match waiting {
                    Waiting { reason: Wait::Transaction { other, .. }, .. } => other,
                    _ => None,
                });
                other.map_or_else(|| "older transactions".into(), |other| format!("ShareLock on transaction {other}"))
            }
        };
        format!("Process {owner} waits for {what}; blocked by process {by}.")
    }
}

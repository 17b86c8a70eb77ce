//! Locks, as a transaction takes them: of a record (`record.rs`), and of a range (`ranges.rs`). `owner.rs` decides who waits and
//! who gives way.

mod owner;
mod ranges;
mod record;

pub(crate) use owner::{Kind, Owner, Refusal, WaitPolicy, latch};
pub(crate) use ranges::Ranges;
pub(crate) use record::{Granted, Lock, LockMode, wait_for_lock};

use crate::begin::Transaction;
use crate::store::{Keyspace, Record, State};
use crate::{Reason, TwoPhaseLocking};
use model::{Error, Key, Limit, LimitKind, Result, Target};
use parts::sync::MutexGuard;
use std::ops::{Bound, Deref};
use std::sync::Arc;

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Locks the record of a key, there or not, and looks at it.
    ///
    /// # Errors
    /// [`LimitKind::Locks`]; the abort that ended the wait for another transaction.
    pub(super) fn with_record<R>(
        &mut self,
        keyspace: &Arc<Keyspace>,
        key: &[u8],
        mode: LockMode,
        look: impl FnOnce(&mut State) -> R,
    ) -> Result<(Arc<Record>, R)> {
        loop {
            let record = keyspace.record(key);
            let Some(mut state) = self.lock(keyspace, &record, mode)? else { continue };
            let seen = look(&mut state);
            drop(state);
            return Ok((record, seen));
        }
    }

    /// Locks a record; `None` if it has left its map. An exclusive lock also waits out the ranges that cover it (I4).
    ///
    /// # Errors
    /// Same as [`Transaction::with_record`].
    pub(super) fn lock<'r>(
        &mut self,
        keyspace: &Arc<Keyspace>,
        record: &'r Arc<Record>,
        mode: LockMode,
    ) -> Result<Option<MutexGuard<'r, State>>> {
        let mut state = record.latch();
        if state.gone {
            return Ok(None);
        }
        let is_full = self.locks() >= self.engine.options.locks;
        if is_full && !state.lock.is_held_by(&self.owner) {
            drop(state);
            keyspace.forget_if_empty(record);
            return Err(self.locks_limit());
        }
        let granted = match state.lock.request(&self.owner, mode) {
            Some(granted) => granted,
            None => {
                let waited = self.with_wait_policy(keyspace, &record.key, |policy, owner| {
                    wait_for_lock((&record.state, state), |state| &mut state.lock, (owner, mode), policy)
                });
                let (guard, granted) = waited.map_err(|refusal| self.refused(keyspace, &record.key, refusal))?;
                state = guard;
                granted
            }
        };
        assert!(!state.gone, "I3: a record that is locked is in its map");
        self.note(keyspace, record, granted);
        if granted.newly_exclusive && keyspace.ranges.is_any() {
            drop(state);
            let wait_out = |policy: &WaitPolicy<'_>, owner: &_| keyspace.ranges.wait_out(owner, &record.key, policy);
            let waited = self.with_wait_policy(keyspace, &record.key, wait_out);
            waited.map_err(|refusal| self.refused(keyspace, &record.key, refusal))?;
            state = record.latch();
            assert!(state.lock.is_exclusive_to(&self.owner), "I4: a writer waits for ranges with its record locked");
        }
        Ok(Some(state))
    }

    fn note(&mut self, keyspace: &Arc<Keyspace>, record: &Arc<Record>, granted: Granted) {
        if granted.first {
            self.locked.push((keyspace.clone(), record.clone()));
        }
    }

    /// Returns the number of records and ranges that the transaction has locked.
    fn locks(&self) -> u64 {
        (self.locked.len() + self.ranges.len()) as u64
    }

    fn locks_limit(&self) -> Error {
        Limit { kind: LimitKind::Locks, limit: self.engine.options.locks, actual: self.locks() + 1 }.into()
    }

    /// Locks a range.
    ///
    /// # Errors
    /// [`LimitKind::Locks`].
    pub(super) fn lock_range(&mut self, keyspace: &Arc<Keyspace>, lower: Bound<Key>, upper: Bound<Key>) -> Result<()> {
        if self.locks() >= self.engine.options.locks {
            return Err(self.locks_limit());
        }
        keyspace.ranges.lock(&self.owner, lower, upper);
        self.ranges.push(keyspace.clone());
        Ok(())
    }

    fn with_wait_policy<R>(
        &self,
        keyspace: &Keyspace,
        key: &Key,
        wait: impl FnOnce(&WaitPolicy<'_>, &Arc<Owner>) -> R,
    ) -> R {
        let TwoPhaseLocking { sleepers, clock, options, counters, .. } = &*self.engine;
        let limit = self.how.wait_limit.unwrap_or(options.wait_limit);
        let about = |other| self.abort_for(Reason::WaitLimit, keyspace, Target::Key(key.clone()), Some(other));
        let supervisor = self.supervisor.as_deref().map(|supervisor| (supervisor, &about as &dyn Fn(_) -> _));
        wait(&WaitPolicy { sleepers, clock, limit, waits: &counters.waits, supervisor }, &self.owner)
    }
}

//! Locks, as a transaction takes them: of a record (`word.rs` while one transaction wants it, else `table.rs` with
//! `queue.rs`), and of a range (`ranges.rs`). `owner.rs` decides who waits and who gives way.
//!
//! Public for the model checker: `tests/loom_locks.rs`.

mod owner;
mod queue;
mod ranges;
mod table;
mod word;

pub use owner::{Kind, Owner, Refusal, Supervised, WaitPolicy};
pub use ranges::Ranges;
pub use table::LockTable;
pub use word::{Granted, LockMode, LockWord, OwnerNumber, Requested, Seen};

pub(crate) use owner::latch;

use crate::begin::Transaction;
use crate::record::RecordRef;
use crate::store::TableRef;
use crate::{Reason, TwoPhaseLocking};
use model::{Error, Key, Limit, LimitKind, Result, Target};
use parts::epoch;
use parts::spin::Backoff;
use std::ops::{Bound, Deref};
use std::sync::Arc;

impl<H: Deref<Target = TwoPhaseLocking>> Transaction<H> {
    /// Locks the record of a key, there or not; one that is made has room for a row of so many bytes. An exclusive lock
    /// also waits out the ranges that cover it (I4).
    ///
    /// # Errors
    /// [`LimitKind::Locks`]; the abort that ended the wait for another transaction.
    pub(super) fn lock(&mut self, table: TableRef, key: &[u8], mode: LockMode, row_bytes: usize) -> Result<RecordRef> {
        if self.worker().locks() >= self.engine.options.locks {
            self.check_held(table, key)?;
        }
        let (record, granted) = self.request(table, key, mode, row_bytes)?;
        if granted.first {
            self.worker().locked.push((table, record));
        }
        if granted.newly_exclusive && table.has_ranges() {
            let lock_table = &self.engine.lock_table;
            let is_exclusive = lock_table.is_exclusive_to(&record.word, &self.open_worker().owner);
            assert!(is_exclusive, "I4: a writer waits for ranges with its record locked");
            let key = Key::from_bytes(key);
            let wait_out = |policy: &WaitPolicy<'_>, owner: &_| table.ranges.wait_out(owner, &key, policy);
            let waited = self.with_wait_policy(table, &key, wait_out);
            waited.map_err(|refusal| self.refused(table, &key, refusal))?;
        }
        Ok(record)
    }

    /// Finds or makes a record, and locks it.
    #[inline]
    fn request(
        &mut self,
        table: TableRef,
        key: &[u8],
        mode: LockMode,
        row_bytes: usize,
    ) -> Result<(RecordRef, Granted)> {
        let number = self.worker().owner.number;
        let mut backoff = Backoff::new();
        loop {
            let guard = epoch::pin();
            let found = match table.index.get(key, &guard) {
                Some(record) => Err(record),
                None => table.index.insert(key, row_bytes, (number, mode), &guard),
            };
            let record = match found {
                Ok(made) => {
                    return Ok((made, Granted { first: true, newly_exclusive: mode == LockMode::Exclusive }));
                }
                Err(record) => record,
            };
            record.prefetch_row();
            match record.word.request(number, mode) {
                Requested::Granted(granted) => return Ok((record, granted)),
                Requested::Gone => {}
                Requested::Contended => {
                    if let Some(granted) = self.request_contended(table, record, mode, guard)? {
                        return Ok((record, granted));
                    }
                }
            }
            backoff.pause(); // The record is about to leave the index.
        }
    }

    /// Locks a record that others hold or want; `None`: it is gone.
    #[cold]
    fn request_contended(
        &mut self,
        table: TableRef,
        record: RecordRef,
        mode: LockMode,
        guard: epoch::Guard,
    ) -> Result<Option<Granted>> {
        let key = Key::from_bytes(parts::index::Entry::key(&*record));
        let locked = self.with_wait_policy(table, &key, |policy, owner| {
            self.engine.lock_table.request(&record.word, (owner, mode), policy, || drop(guard))
        });
        locked.map_err(|refusal| self.refused(table, &key, refusal))
    }

    /// Fails unless the transaction has locked the record of a key: it has no room for another lock.
    #[cold]
    fn check_held(&mut self, table: TableRef, key: &[u8]) -> Result<()> {
        let guard = epoch::pin();
        let record = table.index.get(key, &guard);
        let owner = &self.open_worker().owner;
        let is_held = record.is_some_and(|record| self.engine.lock_table.is_held_by(&record.word, owner));
        if is_held { Ok(()) } else { Err(self.locks_limit()) }
    }

    fn locks_limit(&self) -> Error {
        Limit { kind: LimitKind::Locks, limit: self.engine.options.locks, actual: self.open_worker().locks() + 1 }
            .into()
    }

    /// Locks a range.
    ///
    /// # Errors
    /// [`LimitKind::Locks`].
    pub(super) fn lock_range(&mut self, table: TableRef, lower: Bound<Key>, upper: Bound<Key>) -> Result<()> {
        let worker = self.open_worker();
        if worker.locks() >= self.engine.options.locks {
            return Err(self.locks_limit());
        }
        table.ranges.lock(&worker.owner, lower, upper);
        self.worker().ranges.push(table);
        Ok(())
    }

    fn with_wait_policy<R>(
        &self,
        table: TableRef,
        key: &Key,
        wait: impl FnOnce(&WaitPolicy<'_>, &Arc<Owner>) -> R,
    ) -> R {
        let TwoPhaseLocking { sleepers, clock, options, counters, .. } = &*self.engine;
        let limit = self.how.wait_limit.unwrap_or(options.wait_limit);
        let about = |other| self.abort_for(Reason::WaitLimit, table, Target::Key(key.clone()), Some(other));
        let supervisor = self.supervisor.as_deref().map(|supervisor| (supervisor, &about as &dyn Fn(_) -> _));
        let policy = WaitPolicy { sleepers, clock, limit, waits: &counters.waits, supervisor };
        wait(&policy, &self.open_worker().owner)
    }
}

//! The lock table: the locks that more than one transaction wants, by the addresses of their words.
//!
//! A lock is here while its word says `contended`. A shard's latch guards the locks of its addresses, and the changes of
//! their words to and from `contended`. Nothing is here while transactions touch different records.

use super::owner::{Owner, Refusal, WaitPolicy, latch};
use super::queue::Lock;
use super::word::{Granted, LockMode, LockWord, OwnerNumber, Requested, Seen};
use crate::Reason;
use parts::CachePadded;
use parts::sync::atomic::Ordering::Relaxed;
use parts::sync::{Mutex, MutexGuard, RwLock};
use parts::wait::WaitTable;
use std::sync::{Arc, PoisonError};

/// Parts that are latched apart. A power of two, many times the number of threads: two hot records rarely share one.
const SHARDS: usize = if cfg!(loom) { 1 } else { 256 };

/// The lock table of an engine, and its lock owners by number.
#[derive(Debug)]
pub struct LockTable {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    owners: RwLock<Vec<Arc<Owner>>>,
}

/// A few locks: a search from end to end is short.
#[derive(Debug, Default)]
struct Shard(Vec<(usize, Lock)>);

impl Default for LockTable {
    fn default() -> LockTable {
        LockTable { shards: (0..SHARDS).map(|_| CachePadded::default()).collect(), owners: RwLock::default() }
    }
}

impl LockTable {
    /// A new owner. It is never forgotten: workers keep theirs.
    pub fn new_owner(&self) -> Arc<Owner> {
        let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
        let owner = Owner::new(OwnerNumber(u32::try_from(owners.len() + 1).expect("far fewer transactions are open")));
        owners.push(owner.clone());
        owner
    }

    fn owner(&self, number: OwnerNumber) -> Arc<Owner> {
        let owners = self.owners.read().unwrap_or_else(PoisonError::into_inner);
        owners[number.0 as usize - 1].clone()
    }

    fn shard(&self, word: &LockWord) -> &Mutex<Shard> {
        // Fibonacci hashing: words lie at multiples of their alignment, so the low bits say little.
        let mixed = (word.address() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.shards[mixed as usize & (SHARDS - 1)]
    }

    /// Locks a record of which the word has just said that others hold it or want it. `None`: it is gone.
    /// The record may leave its index until this call has it in a queue or granted, and calls `queued`.
    ///
    /// # Errors
    /// The owner has to give way, or its wait limit has passed; then it is in no queue.
    pub fn request(
        &self,
        word: &LockWord,
        (owner, mode): (&Arc<Owner>, LockMode),
        policy: &WaitPolicy<'_>,
        queued: impl FnOnce(),
    ) -> Result<Option<Granted>, Refusal> {
        let latched = self.shard(word);
        let mut shard = latch(latched);
        match self.make_contended(&mut shard, word, owner.number, mode) {
            Requested::Granted(granted) => return Ok(Some(granted)),
            Requested::Gone => return Ok(None),
            Requested::Contended => {}
        }
        let lock = shard.lock(word);
        if let Some(granted) = lock.request(owner, mode) {
            return Ok(Some(granted));
        }
        let (is_held, other) = (lock.is_held_by(owner), lock.blocker(owner));
        if policy.limit.is_zero() {
            return Err(policy.refusal(other));
        }
        lock.enqueue(owner, mode, policy.sleepers);
        queued();
        let _registered = policy.register_wait(owner, other);
        policy.waits.fetch_add(1, Relaxed);
        wait((latched, shard), word, (owner, mode), policy, other)?;
        Ok(Some(Granted { first: !is_held, newly_exclusive: mode == LockMode::Exclusive }))
    }

    /// Brings a lock into the table, with its only holder; or answers what the word has come to say meanwhile.
    fn make_contended(&self, shard: &mut Shard, word: &LockWord, owner: OwnerNumber, mode: LockMode) -> Requested {
        loop {
            match word.seen() {
                Seen::Contended => return Requested::Contended,
                Seen::Thin(holder, held) if holder != owner => {
                    if word.inflate(holder, held) {
                        shard.0.push((word.address(), Lock::held(self.owner(holder), held)));
                        return Requested::Contended;
                    }
                }
                Seen::Free | Seen::Gone | Seen::Thin(..) => match word.request(owner, mode) {
                    Requested::Contended => {}
                    answer => return answer,
                },
            }
        }
    }

    /// Releases a lock that is in the table; true: the record is gone, since nobody holds it or wants it, and it is empty.
    pub fn release(&self, word: &LockWord, owner: &Arc<Owner>, is_empty: bool, sleepers: &WaitTable) -> bool {
        let mut shard = latch(self.shard(word));
        let lock = shard.lock(word);
        assert!(lock.is_held_by(owner), "I3: a record that is locked is in its index, and its lock in the table");
        lock.release(owner, sleepers);
        if !lock.is_idle() {
            return false;
        }
        shard.0.retain(|(address, _)| *address != word.address());
        word.deflate(is_empty);
        is_empty
    }

    /// Returns whether another owner may be changing the record.
    #[inline]
    pub fn is_exclusive_to_another(&self, word: &LockWord, owner: &Arc<Owner>) -> bool {
        match word.seen() {
            Seen::Free | Seen::Gone => false,
            Seen::Thin(holder, mode) => mode == LockMode::Exclusive && holder != owner.number,
            Seen::Contended => self.if_contended(word, |lock| lock.is_exclusive_to_another(owner)),
        }
    }

    /// Returns whether this owner alone may change the record.
    #[inline]
    pub fn is_exclusive_to(&self, word: &LockWord, owner: &Arc<Owner>) -> bool {
        word.is_exclusive_to(owner.number) || self.if_contended(word, |lock| lock.is_exclusive_to(owner))
    }

    /// Returns whether this owner holds the lock.
    pub fn is_held_by(&self, word: &LockWord, owner: &Arc<Owner>) -> bool {
        match word.seen() {
            Seen::Free | Seen::Gone => false,
            Seen::Thin(holder, _) => holder == owner.number,
            Seen::Contended => self.if_contended(word, |lock| lock.is_held_by(owner)),
        }
    }

    /// Asks a lock; false if it is not in the table any more: then its last holder has released it.
    fn if_contended(&self, word: &LockWord, ask: impl FnOnce(&Lock) -> bool) -> bool {
        let shard = latch(self.shard(word));
        shard.0.iter().find(|(address, _)| *address == word.address()).is_some_and(|(_, lock)| ask(lock))
    }
}

impl Shard {
    fn lock(&mut self, word: &LockWord) -> &mut Lock {
        let found = self.0.iter_mut().find(|(address, _)| *address == word.address());
        &mut found.expect("I2: a contended lock is in the table").1
    }
}

/// Waits in the queue of a lock, in which the owner stands.
fn wait<'l>(
    (latched, mut shard): (&'l Mutex<Shard>, MutexGuard<'l, Shard>),
    word: &LockWord,
    (owner, mode): (&Arc<Owner>, LockMode),
    policy: &WaitPolicy<'_>,
    other: model::Timestamp,
) -> Result<(), Refusal> {
    let until = policy.deadline();
    let mut in_time = true;
    loop {
        let lock = shard.lock(word);
        if lock.satisfies(owner, mode) {
            return Ok(());
        }
        let refusal = match owner.wounded_by() {
            Some(by) => Some(Refusal { reason: Reason::Wounded, other: by }),
            None if !in_time => Some(policy.refusal(other)),
            None => None,
        };
        if let Some(refusal) = refusal {
            lock.withdraw(owner, policy.sleepers);
            return Err(refusal);
        }
        drop(shard);
        in_time = owner.sleep(policy, until);
        shard = latch(latched);
    }
}

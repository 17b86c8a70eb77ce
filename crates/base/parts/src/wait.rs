//! Parking on an address: the rare wait of one transaction for another.
//!
//! A waiter names the address of the word that blocks it (a tuple's owner word, say) and sleeps in the shard of the
//! table that this address hashes to. The word itself stays the only truth: the table holds no state about it, so a
//! spurious wake-up, or one meant for another address of the same shard, costs a look at the word and nothing else.
//!
//! A wait can also end without its word: `remaining` is called again after each wake-up, and a [`WaitTable::waker`] wakes the
//! sleepers of an address; its caller must make `remaining` return zero *before*.
//!
//! # The waker's contract
//! A release without waiters must not pay for the table, so the word carries a *waiters bit*:
//! 1. the waiter sets the bit by compare-and-swap against the very value that blocks it, then calls
//!    [`WaitTable::wait`] with `still_blocked` = "the word still is that value with the bit";
//! 2. the waker takes the blocking value away by *one read-modify-write* (a swap, say) and calls [`WaitTable::wake`]
//!    if and only if the value that it took away had the bit.
//!
//! No wake-up is lost. Both steps are read-modify-writes of one word, so its modification order decides:
//! - the waker's came first: the waiter's compare-and-swap fails, and it looks again instead of sleeping;
//! - the waiter's came first: the waker sees the bit and takes the shard's lock to wake. If it takes the lock before
//!   the waiter does, the lock carries the new value to the waiter's check under the lock, and it does not sleep; if
//!   after, the waiter has released the lock by falling asleep, and receives the notification.
//!
//! `AcqRel` is enough for that. A bit in a *different* word than the one that is released (or a release by a plain
//! store) would need sequentially consistent operations on both words, each side writing its own before reading the
//! other's: the store-buffering pattern. Keep the bit in the word.
//!
//! A word that changes owner while its waiters sleep must keep the rule: the new value lacks the bit until a waiter
//! sets it again, and `still_blocked` compares the whole value, so each waiter looks again after any change.

use crate::{
    CachePadded,
    sync::{Condvar, Mutex, MutexGuard},
};
use std::{
    sync::{Arc, PoisonError},
    task::{Wake, Waker},
    time::Duration,
};

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Waited {
    /// `still_blocked` said no.
    Released,
    /// The waiter's time was up while `still_blocked` said yes.
    TimedOut,
}

/// A fixed table of places to sleep, owned by one engine.
///
/// It is no global static, so that engines do not wake each other and a model checker can build a fresh one for each
/// execution.
#[derive(Debug)]
pub struct WaitTable {
    /// A power of two of them; padded, since a waker of one must not slow the others.
    shards: Box<[CachePadded<Shard>]>,
}

#[derive(Debug)]
struct Shard {
    /// Number of threads that sleep here. Its lock orders the waiter's last check against the waker's notification.
    sleepers: Mutex<usize>,
    changed: Condvar,
}

impl WaitTable {
    /// Creates a table of at least `shards` shards (rounded up to a power of two).
    ///
    /// Threads that wait for different addresses of one shard wake each other for nothing; a few times the number of
    /// threads that can wait at once makes that rare.
    ///
    /// # Panics
    /// If `shards` is zero.
    pub fn new(shards: usize) -> Self {
        assert!(shards > 0, "a wait table needs a shard");
        let shard = |_| CachePadded::new(Shard { sleepers: Mutex::new(0), changed: Condvar::new() });
        Self { shards: (0..shards.next_power_of_two()).map(shard).collect() }
    }

    /// Sleeps until `still_blocked` says no, or until no time remains.
    ///
    /// `still_blocked` is asked first, and again after each wake-up, always under the shard's lock: it must be short,
    /// and must neither wait nor call into this table. `remaining` is asked before each sleep how long the waiter is
    /// ready to sleep still, by whatever clock the caller goes: `None` for as long as it takes, zero to give up. With
    /// zero at once this is a check without a wait.
    ///
    /// Under loom and shuttle time does not pass: a sleep ends by a wake-up only.
    pub fn wait(
        &self,
        address: usize,
        mut remaining: impl FnMut() -> Option<Duration>,
        mut still_blocked: impl FnMut() -> bool,
    ) -> Waited {
        let shard = self.shard(address);
        let mut sleepers = shard.lock();
        while still_blocked() {
            let limit = remaining();
            if limit == Some(Duration::ZERO) {
                return Waited::TimedOut;
            }
            *sleepers += 1;
            sleepers = shard.sleep(sleepers, limit);
            *sleepers -= 1;
        }
        Waited::Released
    }

    /// Wakes every thread that waits for `address`, after the word there has changed.
    ///
    /// Call it only when the value taken away had the waiters bit (see the module's contract): it takes a lock. A waiter that
    /// is to give up is woken so, too ([`WaitTable::waker`]).
    pub fn wake(&self, address: usize) {
        let shard = self.shard(address);
        let sleepers = shard.lock();
        if *sleepers > 0 {
            shard.changed.notify_all();
        }
    }

    /// Wakes whoever waits for `address` from outside of the engine: after what `remaining` answers has become zero.
    ///
    /// No such wake-up is lost either: it takes the shard's lock, so the waiter has either not yet asked under that lock, and
    /// will be told zero, or it sleeps and receives the notification.
    pub fn waker(self: &Arc<Self>, address: usize) -> Waker {
        Waker::from(Arc::new(Place { table: self.clone(), address }))
    }

    /// Returns the number of threads that sleep in the table at this moment, for figures and tests.
    pub fn sleepers(&self) -> usize {
        self.shards.iter().map(|shard| *shard.lock()).sum()
    }

    fn shard(&self, address: usize) -> &Shard {
        // Fibonacci hashing: words lie at multiples of their alignment, so the low bits say little.
        let mixed = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.shards[mixed as usize & (self.shards.len() - 1)]
    }
}

/// Address on which a thread sleeps, for a wake-up from outside.
struct Place {
    table: Arc<WaitTable>,
    address: usize,
}

impl Wake for Place {
    fn wake(self: Arc<Self>) {
        self.table.wake(self.address);
    }
}

impl Shard {
    /// The lock, poisoned or not: a panic in a caller's `still_blocked` leaves the count as it was before.
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock, sleeps until a notification, until `limit` has passed, or for no reason; locks again.
    #[cfg(not(any(loom, feature = "shuttle")))]
    fn sleep<'a>(&self, sleepers: MutexGuard<'a, usize>, limit: Option<Duration>) -> MutexGuard<'a, usize> {
        match limit {
            None => self.changed.wait(sleepers).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => self.changed.wait_timeout(sleepers, limit).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// Same as above, for model checkers, in which time does not pass.
    #[cfg(any(loom, feature = "shuttle"))]
    fn sleep<'a>(&self, sleepers: MutexGuard<'a, usize>, _: Option<Duration>) -> MutexGuard<'a, usize> {
        self.changed.wait(sleepers).unwrap_or_else(PoisonError::into_inner)
    }
}

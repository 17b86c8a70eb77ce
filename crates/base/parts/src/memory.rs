//! Counts bytes that many threads allocate and free, without a counter that all of them write.
//!
//! Each thread adds to a share of its own and moves the share to the sum once it has reached a step in either direction. So
//! the sum alone, which costs one load of a line that is rarely written, is off by less than a step for each share; the
//! sum and all shares together are exact once no thread counts any more.

use crate::{CachePadded, threads};
// Not from `sync`: the counts publish nothing and order nothing, so a model checker has nothing to find between them.
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Threads with the same number modulo this share a line.
const SHARES: usize = 64;
/// The longest step: small against any machine's memory, large against what one operation takes.
const STEP_BYTES: usize = 64 << 10;

/// Bytes in use by somebody's structures.
#[derive(Debug)]
pub struct Meter {
    sum: CachePadded<AtomicIsize>,
    shares: Box<[CachePadded<AtomicIsize>]>,
    step: usize,
}

impl Default for Meter {
    fn default() -> Self {
        Self::for_limit(usize::MAX)
    }
}

impl Meter {
    /// A meter whose sum is off by less than a sixteenth of `limit`.
    pub fn for_limit(limit: usize) -> Self {
        Self {
            sum: CachePadded::default(),
            shares: (0..SHARES).map(|_| CachePadded::default()).collect(),
            step: (limit / (16 * SHARES)).clamp(1, STEP_BYTES),
        }
    }

    /// Counts `bytes` more.
    #[inline]
    pub fn charge(&self, bytes: usize) {
        self.add(bytes.cast_signed());
    }

    /// Counts `bytes` less.
    #[inline]
    pub fn credit(&self, bytes: usize) {
        self.add(-bytes.cast_signed());
    }

    /// Counts `bytes` more, or less.
    #[inline]
    pub fn add(&self, bytes: isize) {
        let share = &self.shares[threads::number() % SHARES];
        if (share.fetch_add(bytes, Relaxed) + bytes).unsigned_abs() >= self.step {
            self.sum.fetch_add(share.swap(0, Relaxed), Relaxed);
        }
    }

    /// The count, off by less than a step for each thread. Cheap.
    #[inline]
    pub fn about(&self) -> usize {
        self.sum.load(Relaxed).max(0).cast_unsigned()
    }

    /// Returns by how much [`Meter::about`] may be off.
    #[inline]
    pub fn tolerance(&self) -> usize {
        SHARES * self.step
    }

    /// The count; exact while nobody counts.
    pub fn used(&self) -> usize {
        let shares: isize = self.shares.iter().map(|share| share.load(Relaxed)).sum();
        (self.sum.load(Relaxed) + shares).max(0).cast_unsigned()
    }

    /// Returns the bytes that a thread may gather before others see them: less than this need not be counted at all.
    #[inline]
    pub fn step(&self) -> usize {
        self.step
    }
}

/// A limit on what a meter counts, and when to collect before it is reached.
#[derive(Debug)]
pub struct Allowance {
    /// The count.
    pub meter: Arc<Meter>,
    /// Its limit. Unit: bytes.
    pub limit: usize,
    /// Writes that find more than this in use collect. Advice.
    collect_at: AtomicUsize,
}

impl Allowance {
    /// Nothing in use, of so many bytes.
    pub fn new(limit: usize) -> Allowance {
        let collect_at = AtomicUsize::new(begin_collecting(limit));
        Allowance { meter: Arc::new(Meter::for_limit(limit)), limit, collect_at }
    }

    /// Returns whether so many bytes more are far from the limit. Cheap.
    #[inline]
    pub fn has_room(&self, needed: usize) -> bool {
        self.meter.about() + needed < self.collect_at.load(Relaxed)
    }

    /// Returns what is in use after a collection. The next one is worth it when as much has come as may have become garbage meanwhile.
    pub fn collected(&self) -> usize {
        let used = self.meter.used();
        let next = (used + self.limit / 64).clamp(begin_collecting(self.limit), self.limit);
        self.collect_at.store(next, Relaxed);
        used
    }

    /// The limit for writes that take no more than they replace: they need some memory until that is collected.
    pub fn limit_of_updates(&self) -> usize {
        self.limit.saturating_add(self.limit / 8)
    }

    /// The limit for deletes, which need a place in a write buffer and a version before they make room.
    pub fn limit_of_deletes(&self) -> usize {
        self.limit.saturating_add(self.limit / 4)
    }
}

/// From nine tenths of the limit on, writers collect.
fn begin_collecting(limit: usize) -> usize {
    limit - limit / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_counts_add_up_and_back_to_nothing() {
        let meter = Meter::default();
        let taken = |rounds: usize| (0..rounds).map(|round| round * 37 % 5000).sum::<usize>();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|round| meter.charge(round * 37 % 5000)));
            }
        });
        assert_eq!(meter.used(), 4 * taken(10_000));
        assert!(meter.used().abs_diff(meter.about()) < SHARES * meter.step());
        std::thread::scope(|scope| {
            scope.spawn(|| (0..40_000).for_each(|round| meter.credit(round % 10_000 * 37 % 5000)));
        });
        assert_eq!(meter.used(), 0);
    }

    #[test]
    fn a_small_limit_makes_small_steps() {
        let meter = Meter::for_limit(1 << 20);
        meter.charge(100_000);
        assert!(meter.used() - meter.about() < (1 << 20) / 16);
        assert_eq!(Meter::for_limit(0).step(), 1);
    }
}

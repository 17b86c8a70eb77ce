//! Memory accounting of sorting, hashing and results: a limit for each statement, and one budget for all together.

use crate::error::{Result, SqlError, state};
use pgtypes::memory::{PIECE, begin_statement, check_piece, check_room};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory budget of all statements of all sessions.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    /// Relaxed: a counter that publishes nothing.
    used: AtomicUsize,
    /// Peak since the last query of it, if it was near the limit. Relaxed for the same reason.
    peak: AtomicUsize,
}

/// Reports once when usage comes near its limit.
#[derive(Debug, Default)]
pub struct Watermark {
    is_high: bool,
}

/// From so many percent of the limit on it is near, and it is far again below so many.
const NEAR: usize = 90;
const FAR: usize = 80;

impl Watermark {
    /// Returns whether `used` has come near `limit` for the first time since it was last far from it.
    pub fn crosses_limit(&mut self, used: usize, limit: usize) -> bool {
        let percent = (used as u128 * 100 / limit.max(1) as u128) as usize;
        let was_high = self.is_high;
        self.is_high = percent >= NEAR || was_high && percent >= FAR;
        self.is_high && !was_high
    }
}

/// Bytes that a statement may hold without a reservation in the budget: most need none.
const FREE: usize = 16 << 10;
/// Minimum reservation of a statement.
const STEP: usize = 64 << 10;

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Arc<Budget> {
        Arc::new(Budget { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) })
    }

    /// Size of the budget.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes reserved by statements.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        let more = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(used) => {
                if used + bytes > self.limit / 100 * FAR {
                    self.peak.fetch_max(used + bytes, Ordering::Relaxed);
                }
                Ok(())
            }
            Err(used) => {
                self.peak.fetch_max(used, Ordering::Relaxed);
                Err(self.exhausted(used, bytes))
            }
        }
    }

    /// Peak of the statements' memory since the last call, if it was near the limit; at least the current usage.
    pub fn take_peak(&self) -> usize {
        self.peak.swap(0, Ordering::Relaxed).max(self.used())
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn exhausted(&self, used: usize, bytes: usize) -> SqlError {
        let message = format!("out of memory: the statements of all sessions together may hold {} bytes", self.limit);
        SqlError::new(state::OUT_OF_MEMORY, message)
            .detail(format!("They hold {used}, and this one asked for {bytes} more."))
            .hint("Close cursors, try again when other statements have ended, or give the server more by --memory.")
    }
}

/// Memory of one statement, or of one portal between its calls. Releases everything when dropped.
#[derive(Debug)]
pub struct Memory {
    budget: Arc<Budget>,
    used: usize,
    /// Bytes allowed.
    limit: usize,
    /// Bytes reserved in the budget for this statement.
    reserved: usize,
    /// Longest value computed so far; included in the bytes used.
    longest: usize,
}

impl Memory {
    /// Empty accounting with a limit of `limit` bytes.
    pub fn new(budget: Arc<Budget>, limit: usize) -> Memory {
        Memory { budget, used: 0, limit, reserved: 0, longest: 0 }
    }

    /// Memory of a long-lived object: all of it is reserved.
    ///
    /// # Errors
    /// 53200 beyond the budget.
    pub fn kept(budget: &Arc<Budget>, bytes: usize) -> Result<Memory> {
        budget.reserve(bytes)?;
        Ok(Memory { budget: budget.clone(), used: bytes, limit: bytes, reserved: bytes, longest: 0 })
    }

    /// Memory for a part of the statement: as much as is left.
    pub fn rest(&self) -> Memory {
        Memory::new(self.budget.clone(), self.limit.saturating_sub(self.used))
    }

    /// The same, or at least so much, where a part needs it to work at all.
    pub fn rest_of_at_least(&self, bytes: usize) -> Memory {
        Memory::new(self.budget.clone(), self.limit.saturating_sub(self.used).max(bytes).min(self.budget.limit()))
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes that the statement may hold.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Adds `bytes` to the memory in use.
    ///
    /// # Errors
    /// 53200 beyond the statement's limit, or beyond the budget.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            return Err(self.exceeded());
        }
        if self.used > self.reserved + FREE {
            return self.reserve_more();
        }
        Ok(())
    }

    #[cold]
    fn reserve_more(&mut self) -> Result<()> {
        // Rows are kept in vectors, which double: the next allocation may be as large as everything so far.
        check_piece(self.used)?;
        let missing = self.used - FREE - self.reserved;
        // At least an eighth of the current usage, so that a growing statement reserves rarely.
        let wanted = missing.max(STEP).max((self.used / 8).min(self.limit - self.used));
        if self.used >= PIECE {
            // Rows are small pieces, whose allocation cannot fail. All statements may hold an eighth more than they do by now.
            check_room(wanted + self.budget.used() / 8)?;
        }
        let got = match self.budget.reserve(wanted) {
            Ok(()) => wanted,
            Err(_) => self.budget.reserve(missing).map(|()| missing)?,
        };
        self.reserved += got;
        Ok(())
    }

    /// Sets the limit for values of this thread to what the statement may still take.
    pub fn begin(&self) {
        let left = self.budget.limit.saturating_sub(self.budget.used()) + self.reserved;
        begin_statement(left.min(self.limit));
    }

    /// Counts a computed value if it is the longest: it will be copied, sent, or become part of the next value.
    ///
    /// # Errors
    /// Errors of [`Memory::take`].
    pub fn note(&mut self, bytes: usize) -> Result<()> {
        if bytes < PIECE || bytes <= self.longest {
            return Ok(());
        }
        let more = bytes - self.longest;
        self.longest = bytes;
        self.take(more)
    }

    /// Subtracts `bytes` from the memory in use.
    pub fn give_back(&mut self, bytes: usize) {
        self.back_to(self.used.saturating_sub(bytes));
    }

    /// Reduces the memory in use to `used`: memory taken since then is free again.
    pub fn back_to(&mut self, used: usize) {
        self.used = used.max(self.longest);
        let needed = self.used.saturating_sub(FREE);
        if self.reserved > needed + needed / 4 + 4 * STEP {
            self.budget.release(self.reserved - needed);
            self.reserved = needed;
        }
    }

    /// Takes over the memory that the portal's previous call left in use.
    pub fn resume(&mut self, left: &mut Memory) {
        std::mem::swap(&mut self.used, &mut left.used);
        std::mem::swap(&mut self.reserved, &mut left.reserved);
        std::mem::swap(&mut self.longest, &mut left.longest);
    }

    fn exceeded(&self) -> SqlError {
        let message = format!("out of memory: the statement needs more than {} bytes at once", self.limit);
        let hint = if self.limit < self.budget.limit {
            "Sort or group fewer rows, or raise the setting \"work_mem\" of the session."
        } else {
            "Sort or group fewer rows, or give the server more by --memory: this is what it has for all statements."
        };
        SqlError::new(state::OUT_OF_MEMORY, message).hint(hint)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.reserved > 0 {
            self.budget.release(self.reserved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_statements_do_not_ask_and_large_ones_give_all_back() {
        let budget = Budget::new(1 << 20);
        let mut small = Memory::new(budget.clone(), 1 << 20);
        small.take(FREE).expect("within the step");
        assert_eq!(budget.used(), 0);
        let mut large = Memory::new(budget.clone(), 1 << 20);
        for _ in 0..60 {
            large.take(10_000).expect("within the budget");
            assert!(budget.used() + FREE >= large.used() && budget.used() <= large.used() + large.used() / 8 + STEP);
        }
        large.back_to(10);
        assert_eq!(budget.used(), 0);
        large.take(300_000).expect("within the budget");
        drop(large);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn statements_together_stay_within_the_budget() {
        let budget = Budget::new(1 << 20);
        let mut first = Memory::new(budget.clone(), 1 << 20);
        let mut second = Memory::new(budget.clone(), 1 << 20);
        first.take(700_000).expect("alone");
        let error = second.take(600_000).expect_err("there is not that much left");
        assert_eq!(error.code(), state::OUT_OF_MEMORY);
        assert!(error.message().contains("1048576"), "{}", error.message());
        drop(first);
        second.take(0).expect("now there is");
        let error = second.take(600_000).expect_err("more than its limit");
        assert!(error.fields().hint.as_deref().is_some_and(|hint| hint.contains("--memory")));
    }

    #[test]
    fn the_peak_is_seen_once_and_is_news_once() {
        let budget = Budget::new(10 << 20);
        drop(Memory::kept(&budget, 1 << 20).expect("there is room"));
        assert_eq!(budget.take_peak(), 0, "far from the limit nobody counts peaks");
        drop(Memory::kept(&budget, (10 << 20) - 5).expect("there is room"));
        assert_eq!((budget.take_peak(), budget.take_peak()), ((10 << 20) - 5, 0));
        let mut watermark = Watermark::default();
        let news: Vec<usize> = [50, 89, 90, 95, 81, 92, 79, 89, 90]
            .into_iter()
            .filter(|used| watermark.crosses_limit(*used, 100))
            .collect();
        assert_eq!(news, [90, 90], "once for each crossing, and not while it hovers");
    }

    #[test]
    fn a_portal_keeps_what_it_holds_between_calls() {
        let budget = Budget::new(1 << 20);
        let mut portal = Memory::new(budget.clone(), 1 << 20);
        {
            let mut call = Memory::new(budget.clone(), 1 << 20);
            call.take(500_000).expect("alone");
            portal.resume(&mut call);
        }
        assert_eq!(portal.used(), 500_000);
        assert!(budget.used() >= 400_000);
        drop(portal);
        assert_eq!(budget.used(), 0);
    }
}

//! Numbers of orders and restocks: unique over threads and restarts, without a shared counter.
//!
//! A number is `run * 10^12 + thread * 10^9 + count`, so that it can be read: `3_002_000000017` is the 17th order of thread
//! 2 in run 3. Northwind's own orders have five digits.

const PER_RUN: i64 = 1_000_000_000_000;
const PER_THREAD: i64 = 1_000_000_000;

/// At most so many threads have numbers of their own.
pub const MAX_THREADS: usize = 999;

/// The numbers of one thread in one run.
#[derive(Debug)]
pub struct Ids {
    next: i64,
}

impl Ids {
    /// # Panics
    /// With a thread beyond [`MAX_THREADS`].
    pub fn of(run: i64, thread: usize) -> Ids {
        assert!(thread <= MAX_THREADS, "thread {thread}");
        Ids { next: run * PER_RUN + thread as i64 * PER_THREAD + 1 }
    }

    /// The next number.
    pub fn draw(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }
}

/// Returns whether this program placed the order.
pub fn is_ours(id: i64) -> bool {
    id >= PER_RUN
}

/// The run that placed the order.
pub fn run_of(id: i64) -> i64 {
    id / PER_RUN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_tell_their_run() {
        let mut seen = std::collections::HashSet::new();
        for run in 1..4 {
            for thread in [0, 1, MAX_THREADS] {
                let mut ids = Ids::of(run, thread);
                for _ in 0..10 {
                    let id = ids.draw();
                    assert!(seen.insert(id) && is_ours(id) && run_of(id) == run, "{id}");
                }
            }
        }
        assert!(!is_ours(11_077), "Northwind's last order");
    }
}

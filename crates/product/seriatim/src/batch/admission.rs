//! Admission of procedures: how many are under way, and whether more are accepted.
//!
//! The engine has the queue, and seals what has come in to a batch. Here is only a count: who finds it full waits, or gets a
//! named error, and who closes waits until it is zero.

use crate::{Fault, Limit, LimitKind, Result};
use env::time::{Duration, Instant};
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bit of the state: closed.
const CLOSED: u64 = 1 << 63;

/// Who leaves changes the state and then looks whether somebody waits; who waits says so and then looks at the state again.
/// All four are sequentially consistent, so at least one of the two sees the other.
#[derive(Debug)]
pub(crate) struct Admission {
    /// Procedures under way, and [`CLOSED`].
    state: AtomicU64,
    limit: u64,
    waiting: AtomicU64,
    latch: Mutex<()>,
    changed: Condvar,
}

/// The place of a procedure that is under way: given back when it has ended.
#[derive(Debug)]
pub(crate) struct Admitted(Arc<Admission>);

/// How long to wait for a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    None,
    Until(Instant),
    Endless,
}

impl Patience {
    /// Waits for so long at most.
    pub fn within(limit: Duration) -> Patience {
        Patience::Until(Instant::now() + limit)
    }
}

impl Admission {
    pub fn new(limit: usize) -> Arc<Admission> {
        Arc::new(Admission {
            state: AtomicU64::new(0),
            limit: limit.max(1) as u64,
            waiting: AtomicU64::new(0),
            latch: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Number of procedures under way.
    pub fn under_way(&self) -> u64 {
        self.state.load(SeqCst) & !CLOSED
    }

    /// Returns whether nothing more is accepted.
    pub fn is_closed(&self) -> bool {
        self.state.load(SeqCst) & CLOSED != 0
    }

    /// Takes a place.
    ///
    /// # Errors
    /// [`Fault::Closed`]; [`LimitKind::Queue`] if there is no place, for as long as the caller has patience.
    pub fn enter(self: &Arc<Self>, patience: Patience) -> Result<Admitted> {
        if self.try_enter()? {
            return Ok(Admitted(self.clone()));
        }
        let full = Limit { kind: LimitKind::Queue, limit: self.limit, actual: self.limit + 1 };
        let mut latch = match patience {
            Patience::None => return Err(full.into()),
            _ => self.begin_wait(),
        };
        let entered = loop {
            match self.try_enter() {
                Ok(false) => {}
                Ok(true) => break Ok(Admitted(self.clone())),
                Err(closed) => break Err(closed),
            }
            latch = match patience {
                Patience::Until(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break Err(full.into());
                    }
                    self.changed.wait_timeout(latch, left).unwrap_or_else(PoisonError::into_inner).0
                }
                _ => self.changed.wait(latch).unwrap_or_else(PoisonError::into_inner),
            };
        };
        self.end_wait(latch);
        entered
    }

    fn try_enter(&self) -> Result<bool> {
        let mut state = self.state.load(SeqCst);
        loop {
            if state & CLOSED != 0 {
                return Err(Fault::Closed.into());
            }
            if state >= self.limit {
                return Ok(false);
            }
            match self.state.compare_exchange_weak(state, state + 1, SeqCst, SeqCst) {
                Ok(_) => return Ok(true),
                Err(now) => state = now,
            }
        }
    }

    /// Accepts nothing more, and waits until nothing is under way.
    pub fn close(&self) {
        self.state.fetch_or(CLOSED, SeqCst);
        let mut latch = self.begin_wait();
        self.changed.notify_all();
        while self.under_way() > 0 {
            latch = self.changed.wait(latch).unwrap_or_else(PoisonError::into_inner);
        }
        self.end_wait(latch);
    }

    fn begin_wait(&self) -> MutexGuard<'_, ()> {
        let latch = self.latch.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, SeqCst);
        latch
    }

    fn end_wait(&self, latch: MutexGuard<'_, ()>) {
        // Relaxed: the latch orders it, and who sees the old number notifies once too often.
        self.waiting.fetch_sub(1, Relaxed);
        drop(latch);
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.state.fetch_sub(1, SeqCst);
        if self.0.waiting.load(SeqCst) > 0 {
            drop(self.0.latch.lock().unwrap_or_else(PoisonError::into_inner));
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::thread;

    fn kind(refused: Result<Admitted>) -> Option<LimitKind> {
        refused.unwrap_err().limit()
    }

    #[test]
    fn who_has_no_patience_is_refused_while_it_is_full() {
        let admission = Admission::new(2);
        let first = admission.enter(Patience::Endless).unwrap();
        let _second = admission.enter(Patience::None).unwrap();
        assert_eq!(kind(admission.enter(Patience::None)), Some(LimitKind::Queue));
        assert_eq!(kind(admission.enter(Patience::within(Duration::from_millis(1)))), Some(LimitKind::Queue));
        drop(first);
        assert!(admission.enter(Patience::None).is_ok());
    }

    /// Every thread gets its place in the end, and never more than the limit have one.
    #[test]
    fn who_waits_gets_a_place() {
        let (admission, most) = (Admission::new(2), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _place = admission.enter(Patience::Endless).unwrap();
                        most.fetch_max(admission.under_way(), SeqCst);
                    }
                });
            }
        });
        assert_eq!((admission.under_way(), most.load(SeqCst) <= 2), (0, true));
    }

    #[test]
    fn closing_refuses_who_waits_and_waits_for_who_is_in() {
        let admission = Admission::new(1);
        let place = admission.enter(Patience::None).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| admission.enter(Patience::Endless).map(drop));
            let closes = scope.spawn(|| admission.close());
            let refused = waits.join().unwrap().unwrap_err();
            assert!(matches!(refused, Error::Fault(Fault::Closed)), "{refused}");
            assert!(!closes.is_finished(), "one is under way");
            drop(place);
        });
        assert!(admission.is_closed() && admission.enter(Patience::Endless).is_err());
    }
}

//! Rows that open transactions of this node have: others of the node queue for them instead of failing at their places in the order.
//!
//! Locks decide nothing: what a transaction may do is decided at its place, from what it has read. So they need not be shared by nodes,
//! and a lock that is lost costs an abort. A row is handed to those that wait in the order in which they came (C8).

use crate::codes::TableKey;
use crate::error::WaitEnd;
use crate::host::Hosted;
use env::time::Duration;
use model::{Abort, Supervisor};
use parts::bell::Bell;
use parts::sync::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};

/// The locks of a node.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    state: Mutex<State>,
    host: Hosted,
}

#[derive(Debug, Default)]
struct State {
    rows: HashMap<TableKey, Row>,
    /// What each waiting transaction waits for: one row.
    waits: HashMap<u64, TableKey>,
}

#[derive(Debug)]
struct Row {
    holder: u64,
    queue: VecDeque<(u64, Arc<Signal>)>,
}

/// Wakes a waiting transaction.
#[derive(Debug)]
struct Signal {
    is_raised: Mutex<bool>,
    raised: Bell,
}

impl Signal {
    fn new(host: &Hosted) -> Signal {
        Signal { is_raised: Mutex::new(false), raised: host.bell() }
    }

    fn raise(&self) {
        *self.is_raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.raised.ring_one();
    }

    /// Waits until it is raised, or for so long, or shorter; takes it back.
    fn wait(&self, longest: Duration) {
        let mut is_raised = self.is_raised.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_raised {
            is_raised = self.raised.wait_for(&self.is_raised, is_raised, longest);
        }
        *is_raised = false;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.raise();
    }
}

/// How a transaction waits.
pub(crate) struct Patience<'p> {
    pub limit: Duration,
    pub supervisor: Option<&'p dyn Supervisor>,
    /// The abort with which the wait for a holder would end at its limit.
    pub abort: &'p dyn Fn(u64) -> Abort,
}

/// The locks of one transaction. Dropped, they pass to who waits.
#[derive(Debug)]
pub(crate) struct Held {
    locks: Arc<Locks>,
    owner: u64,
    rows: Vec<TableKey>,
}

/// How a row was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    AtOnce,
    AfterAWait,
}

impl Locks {
    pub fn new(host: &Hosted) -> Locks {
        Locks { state: Mutex::default(), host: host.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of transactions that wait.
    pub fn waiting(&self) -> usize {
        self.lock().waits.len()
    }

    /// The number of rows that somebody has.
    pub fn held(&self) -> usize {
        self.lock().rows.len()
    }
}

impl State {
    /// Whether the holder of a row waits, over others maybe, for what `owner` has.
    fn closes_a_circle(&self, mut holder: u64, owner: u64) -> bool {
        // Each transaction waits for one row, so there is one way to go; it ends, since no circle is ever closed (C8).
        while let Some(row) = self.waits.get(&holder).and_then(|key| self.rows.get(key)) {
            holder = row.holder;
            if holder == owner {
                return true;
            }
        }
        false
    }

    fn release(&mut self, key: &TableKey, owner: u64) {
        let row = self.rows.get_mut(key).expect("C8: who releases a row has it");
        assert_eq!(row.holder, owner, "C8: who releases a row has it");
        match row.queue.pop_front() {
            Some((next, signal)) => {
                row.holder = next;
                self.waits.remove(&next);
                signal.raise();
            }
            None => _ = self.rows.remove(key),
        }
    }
}

impl Held {
    pub fn new(locks: &Arc<Locks>, owner: u64) -> Held {
        Held { locks: locks.clone(), owner, rows: Vec::new() }
    }

    /// Whether another transaction has a row.
    pub fn is_taken_from(&self, key: &TableKey) -> bool {
        self.locks.lock().rows.get(key).is_some_and(|row| row.holder != self.owner)
    }

    /// Takes a row, after those that came before.
    ///
    /// # Errors
    /// How the wait ended, and who has the row.
    pub fn take(&mut self, key: &TableKey, patience: &Patience<'_>) -> Result<Taken, (WaitEnd, u64)> {
        let mut state = self.locks.lock();
        let Some(row) = state.rows.get(key) else {
            state.rows.insert(key.clone(), Row { holder: self.owner, queue: VecDeque::new() });
            self.rows.push(key.clone());
            return Ok(Taken::AtOnce);
        };
        let holder = row.holder;
        if holder == self.owner {
            return Ok(Taken::AtOnce);
        }
        if state.closes_a_circle(holder, self.owner) {
            return Err((WaitEnd::Deadlock, holder));
        }
        if patience.limit.is_zero() {
            return Err((WaitEnd::Limit, holder));
        }
        let signal = Arc::new(Signal::new(&self.locks.host));
        state.rows.get_mut(key).expect("it was just there").queue.push_back((self.owner, signal.clone()));
        state.waits.insert(self.owner, key.clone());
        drop(state);
        self.wait(key, holder, &signal, patience)
    }

    /// Sleeps until the row is handed over.
    fn wait(
        &mut self,
        key: &TableKey,
        holder: u64,
        signal: &Arc<Signal>,
        patience: &Patience<'_>,
    ) -> Result<Taken, (WaitEnd, u64)> {
        let began = self.locks.host.now();
        if let Some(supervisor) = patience.supervisor {
            supervisor.wait_begins(&(patience.abort)(holder), Waker::from(signal.clone()));
        }
        let _watched = Watched(patience.supervisor);
        loop {
            let waited = self.locks.host.since(began);
            let outside = patience.supervisor.and_then(Supervisor::wait_limit);
            let left = outside.map_or(patience.limit, |outside| outside.min(patience.limit)).saturating_sub(waited);
            if !left.is_zero() {
                signal.wait(left);
            }
            let mut state = self.locks.lock();
            let row = state.rows.get_mut(key).expect("C8: a row that somebody waits for is held");
            if row.holder == self.owner {
                self.rows.push(key.clone());
                return Ok(Taken::AfterAWait);
            }
            if left.is_zero() {
                let holder = row.holder;
                row.queue.retain(|(waiter, _)| *waiter != self.owner);
                state.waits.remove(&self.owner);
                let is_interrupted = outside == Some(Duration::ZERO);
                return Err((if is_interrupted { WaitEnd::Interrupted } else { WaitEnd::Limit }, holder));
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let mut state = self.locks.lock();
        for key in &self.rows {
            state.release(key, self.owner);
        }
    }
}

/// A wait that a supervisor watches, until it is dropped.
struct Watched<'p>(Option<&'p dyn Supervisor>);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.inspect(|supervisor| supervisor.wait_ends());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Conflict;
    use model::{Key, TableId, Timestamp};
    use std::thread;

    fn row(key: u64) -> TableKey {
        (TableId(1), Key::from_u64(key))
    }

    fn abort(holder: u64) -> Abort {
        Conflict::waited(WaitEnd::Limit, row(0), holder).abort(Timestamp(0), |_| None)
    }

    fn take(held: &mut Held, key: u64, limit: Duration) -> Result<Taken, (WaitEnd, u64)> {
        held.take(&row(key), &Patience { limit, supervisor: None, abort: &abort })
    }

    const LONG: Duration = Duration::from_secs(60);

    fn await_waiting(locks: &Locks, count: usize) {
        while locks.waiting() < count {
            thread::yield_now();
        }
    }

    #[test]
    fn a_row_is_handed_over_in_the_order_of_the_waits() {
        let locks = Arc::new(Locks::default());
        let mut first = Held::new(&locks, 1);
        assert_eq!(take(&mut first, 7, Duration::ZERO), Ok(Taken::AtOnce));
        assert_eq!(take(&mut first, 7, Duration::ZERO), Ok(Taken::AtOnce), "it has it");
        assert!(!first.is_taken_from(&row(7)));
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for owner in 2..5 {
                let (locks, order) = (&locks, &order);
                scope.spawn(move || {
                    let mut held = Held::new(locks, owner);
                    assert_eq!(take(&mut held, 7, LONG), Ok(Taken::AfterAWait));
                    order.lock().expect("no panic").push(owner);
                });
                await_waiting(locks, owner as usize - 1);
            }
            drop(first);
        });
        assert_eq!(*order.lock().expect("no panic"), [2, 3, 4]);
        assert_eq!((locks.held(), locks.waiting()), (0, 0));
    }

    #[test]
    fn who_would_close_a_circle_is_refused() {
        let locks = Arc::new(Locks::default());
        let mut all: Vec<Held> = (1..=3).map(|owner| Held::new(&locks, owner)).collect();
        for (key, held) in (1..).zip(&mut all) {
            assert_eq!(take(held, key, Duration::ZERO), Ok(Taken::AtOnce));
        }
        let (mut third, mut second, mut first) =
            (all.pop().expect("three"), all.pop().expect("two"), all.pop().expect("one"));
        thread::scope(|scope| {
            scope.spawn(move || assert_eq!(take(&mut first, 2, LONG), Ok(Taken::AfterAWait)));
            await_waiting(&locks, 1);
            scope.spawn(move || assert_eq!(take(&mut second, 3, LONG), Ok(Taken::AfterAWait)));
            await_waiting(&locks, 2);
            assert_eq!(take(&mut third, 1, LONG), Err((WaitEnd::Deadlock, 1)));
            drop(third);
        });
        assert_eq!(locks.held(), 0);
    }

    #[test]
    fn who_gives_up_leaves_the_queue() {
        let locks = Arc::new(Locks::default());
        let (mut first, mut second) = (Held::new(&locks, 1), Held::new(&locks, 2));
        assert_eq!(take(&mut first, 7, Duration::ZERO), Ok(Taken::AtOnce));
        assert!(second.is_taken_from(&row(7)));
        for limit in [Duration::ZERO, Duration::from_millis(1)] {
            assert_eq!(take(&mut second, 7, limit), Err((WaitEnd::Limit, 1)));
        }
        assert_eq!(locks.waiting(), 0);
        drop(first);
        assert_eq!(locks.held(), 0, "nobody was handed it");
        assert_eq!(take(&mut second, 7, Duration::ZERO), Ok(Taken::AtOnce));
    }
}

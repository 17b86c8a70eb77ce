//! The limit on ages: a session's transaction that is older keeps no versions in the local store, even if nobody ever calls it again.
//!
//! The local store has no such limit of its own: what the node does there itself, applying and handing over states, takes as long as it
//! takes.

use crate::core::Core;
use env::time::Duration;
use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};

/// A local transaction, until it ends or is taken away.
type Cell = Mutex<Option<Box<dyn model::Transaction>>>;

/// A local transaction that is taken away when it is too old and between two statements.
pub(crate) struct Reading(Arc<Cell>);

impl Reading {
    pub fn new(local: Box<dyn model::Transaction>) -> Reading {
        Reading(Arc::new(Mutex::new(Some(local))))
    }

    /// Runs a statement, during which the transaction is left alone. `None`: it was taken away.
    pub fn enter<T>(&self, statement: impl FnOnce(&mut Box<dyn model::Transaction>) -> T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(statement)
    }
}

/// When a transaction began, and its number.
type Seat = (Duration, u64);

/// The transactions of sessions that may become too old, the oldest first. None, where ages have no limit.
#[derive(Default)]
pub(crate) struct Ages(Mutex<BTreeMap<Seat, Weak<Cell>>>);

impl Ages {
    fn seats(&self) -> impl DerefMut<Target = BTreeMap<Seat, Weak<Cell>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a transaction among them, until it is dropped.
pub(crate) struct Aging {
    core: Arc<Core>,
    seat: Seat,
}

impl Aging {
    /// A transaction begins now; `None`: it may have any age.
    pub fn begin(core: &Arc<Core>, number: u64) -> Option<Aging> {
        core.options.transaction_age.map(|_| Aging { core: core.clone(), seat: (core.host.now(), number) })
    }

    /// This is what it reads from now on.
    pub fn reads(&self, reading: &Reading) {
        self.core.ages.seats().insert(self.seat, Arc::downgrade(&reading.0));
    }

    pub fn is_over(&self) -> bool {
        self.core.options.transaction_age.is_some_and(|limit| self.core.host.since(self.seat.0) > limit)
    }
}

impl Drop for Aging {
    fn drop(&mut self) {
        self.core.ages.seats().remove(&self.seat);
    }
}

impl Core {
    /// Ends the local transactions of those that are too old and between two statements. Those that are in one are left alone.
    pub fn end_old(&self) {
        let Some(limit) = self.options.transaction_age else { return };
        let Some(allowed) = self.host.now().checked_sub(limit) else { return };
        let old: Vec<_> = self.ages.seats().range(..(allowed, 0)).filter_map(|(_, cell)| cell.upgrade()).collect();
        for cell in old {
            let local = match cell.try_lock() {
                Ok(mut local) => local.take(),
                Err(TryLockError::Poisoned(local)) => local.into_inner().take(),
                Err(TryLockError::WouldBlock) => None,
            };
            drop(local);
        }
    }
}

//! What a node runs on: threads of the operating system, or of a simulation that gives them turns in virtual time. The protocol is the
//! same: threads wait at bells, and say which step they take.

use parts::sync::{Condvar, Mutex, MutexGuard};
use std::fmt::Debug;
use std::sync::{Arc, PoisonError};

/// Threads of a simulation: one runs at a time, until it waits.
pub trait Threads: Debug + Send + Sync {
    /// Starts a thread.
    fn spawn(&self, body: Box<dyn FnOnce() + Send>);

    /// A bell that no other has.
    fn bell(&self) -> u64;

    /// Waits until a bell is rung. The caller holds no latch.
    fn wait(&self, bell: u64);

    /// Wakes one that waits at a bell, or all.
    fn ring(&self, bell: u64, all: bool);
}

/// What steps cost: a simulation charges, a measurement looks at its clock. The caller holds no latch.
pub trait Meter: Debug + Send + Sync {
    /// A step begins, on so many objects.
    fn begin(&self, step: Step, count: u64) -> u64;

    /// The step has ended that began with this.
    fn end(&self, step: Step, count: u64, begun: u64);
}

/// A step of a node that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Writes a record of the objects that a transaction has accessed.
    Encode,
    /// Commits speculatively, or holds, what was written.
    Commit,
    /// Takes a payload apart, by its bytes.
    Decode,
    /// Ends a transaction of this node that was certified, and tells its client.
    Deliver,
    /// Certifies reads.
    Certify,
    /// Applies writes.
    Apply,
}

/// The steps of a node, metered if anybody wants to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metered(pub Option<Arc<dyn Meter>>);

impl Metered {
    /// Takes a step on some objects.
    pub fn step<T>(&self, step: Step, count: usize, body: impl FnOnce() -> T) -> T {
        let Some(meter) = &self.0 else { return body() };
        let begun = meter.begin(step, count as u64);
        let done = body();
        meter.end(step, count as u64, begun);
        done
    }
}

/// A condition that threads wait for, beside the latch of what it is about.
#[derive(Debug)]
pub(crate) enum Bell {
    Real(Condvar),
    Simulated(Arc<dyn Threads>, u64),
}

impl Bell {
    pub fn new(threads: Option<&Arc<dyn Threads>>) -> Bell {
        match threads {
            None => Bell::Real(Condvar::new()),
            Some(threads) => Bell::Simulated(threads.clone(), threads.bell()),
        }
    }

    /// Gives up the latch until the bell is rung; it may return without that.
    pub fn wait<'m, T>(&self, latch: &'m Mutex<T>, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        match self {
            Bell::Real(condition) => condition.wait(guard).unwrap_or_else(PoisonError::into_inner),
            Bell::Simulated(threads, bell) => {
                // Nothing else runs between the two.
                drop(guard);
                threads.wait(*bell);
                latch.lock().unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// Wakes one.
    pub fn ring_one(&self) {
        match self {
            Bell::Real(condition) => condition.notify_one(),
            Bell::Simulated(threads, bell) => threads.ring(*bell, false),
        }
    }

    /// Wakes all.
    pub fn ring(&self) {
        match self {
            Bell::Real(condition) => condition.notify_all(),
            Bell::Simulated(threads, bell) => threads.ring(*bell, true),
        }
    }
}

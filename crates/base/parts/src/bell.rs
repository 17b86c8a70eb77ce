//! Bells: conditions that threads wait for, of the operating system, or of a simulation that gives threads turns in virtual time. What
//! waits at bells alone runs in either, by the same code.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::fmt::Debug;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Threads of a simulation: one runs at a time, until it waits.
pub trait Threads: Debug + Send + Sync {
    /// Starts a thread.
    fn spawn(&self, body: Box<dyn FnOnce() + Send>);

    /// A bell that no other has.
    fn bell(&self) -> u64;

    /// Waits until a bell is rung, or for so long by the clock of the threads' machine. The caller holds no latch.
    fn wait(&self, bell: u64, longest: Duration);

    /// Wakes one that waits at a bell, or all.
    fn ring(&self, bell: u64, all: bool);
}

/// A condition that threads wait for, beside the latch of what it is about.
#[derive(Debug)]
pub enum Bell {
    /// Of the operating system.
    Real(Condvar),
    /// Of a simulation.
    Simulated(Arc<dyn Threads>, u64),
}

impl Bell {
    /// A bell of a simulation, or of the operating system.
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
            Bell::Simulated(..) => self.wait_for(latch, guard, Duration::MAX),
        }
    }

    /// Same as [`Bell::wait`], for so long at most.
    pub fn wait_for<'m, T>(
        &self,
        latch: &'m Mutex<T>,
        guard: MutexGuard<'m, T>,
        longest: Duration,
    ) -> MutexGuard<'m, T> {
        match self {
            Bell::Real(condition) => condition.wait_timeout(guard, longest).unwrap_or_else(PoisonError::into_inner).0,
            Bell::Simulated(threads, bell) => {
                // Nothing else runs between the two.
                drop(guard);
                threads.wait(*bell, longest);
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

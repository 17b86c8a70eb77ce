//! What a node runs on: the threads and the clock of the operating system, or those of a simulation, which gives threads turns in virtual
//! time. The protocol is the same: threads wait at bells, and measure waits by the host's clock.

use env::time::{Duration, Instant};
use model::Pending;
use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads and clock of a simulation: one thread runs at a time, until it waits.
pub trait Host: Debug + Send + Sync {
    /// Time since some start by the clock of the node, which does not go back.
    fn now(&self) -> Duration;

    /// Starts a thread.
    fn spawn(&self, body: Box<dyn FnOnce() + Send>);

    /// A bell that no other has.
    fn bell(&self) -> u64;

    /// Waits until a bell is rung, or for so long by the clock of the node. The caller holds no latch.
    fn wait(&self, bell: u64, longest: Duration);

    /// Wakes all that wait at a bell.
    fn ring(&self, bell: u64);
}

/// The host of a node: the operating system, unless a simulation is named.
#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    simulated: Option<Arc<dyn Host>>,
    start: Instant,
}

impl Default for Hosted {
    fn default() -> Hosted {
        Hosted { simulated: None, start: Instant::now() }
    }
}

impl Hosted {
    pub fn simulated(host: Arc<dyn Host>) -> Hosted {
        Hosted { simulated: Some(host), ..Hosted::default() }
    }

    /// Time since some start.
    pub fn now(&self) -> Duration {
        self.simulated.as_ref().map_or_else(|| self.start.elapsed(), |host| host.now())
    }

    /// Time since a moment of [`Hosted::now`].
    pub fn since(&self, moment: Duration) -> Duration {
        self.now().saturating_sub(moment)
    }

    pub fn bell(&self) -> Bell {
        match &self.simulated {
            None => Bell::Real(Condvar::new()),
            Some(host) => Bell::Simulated(host.clone(), host.bell()),
        }
    }

    pub fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let Some(host) = &self.simulated else {
            return thread::Builder::new().name(name.to_owned()).spawn(body).map(Thread::Real);
        };
        let (has_ended, bell) = (Arc::new(AtomicBool::new(false)), host.bell());
        let (ending, ringing) = (has_ended.clone(), host.clone());
        host.spawn(Box::new(move || {
            body();
            ending.store(true, SeqCst);
            ringing.ring(bell);
        }));
        Ok(Thread::Simulated(host.clone(), has_ended, bell))
    }

    /// Waits for a value.
    pub fn await_value<T: Send + 'static>(&self, pending: Pending<T>) -> T {
        let Some(host) = &self.simulated else { return pending.wait() };
        let (slot, bell) = (Arc::new(Mutex::new(None)), host.bell());
        let (filled, ringing) = (slot.clone(), host.clone());
        pending.on_resolved(move |value| {
            *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            ringing.ring(bell);
        });
        loop {
            if let Some(value) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return value;
            }
            host.wait(bell, Duration::MAX);
        }
    }
}

/// A condition that threads wait for, beside the latch of what it is about.
#[derive(Debug)]
pub(crate) enum Bell {
    Real(Condvar),
    Simulated(Arc<dyn Host>, u64),
}

impl Bell {
    /// Gives up the latch until the bell is rung, or for so long; it may return without either.
    pub fn wait<'m, T>(&self, latch: &'m Mutex<T>, guard: MutexGuard<'m, T>, longest: Duration) -> MutexGuard<'m, T> {
        match self {
            Bell::Real(condition) => condition.wait_timeout(guard, longest).unwrap_or_else(PoisonError::into_inner).0,
            Bell::Simulated(host, bell) => {
                // Nothing else runs between the two.
                drop(guard);
                host.wait(*bell, longest);
                latch.lock().unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// Wakes one that waits, where only one does.
    pub fn ring_one(&self) {
        match self {
            Bell::Real(condition) => condition.notify_one(),
            Bell::Simulated(host, bell) => host.ring(*bell),
        }
    }

    /// Wakes all that wait.
    pub fn ring(&self) {
        match self {
            Bell::Real(condition) => condition.notify_all(),
            Bell::Simulated(host, bell) => host.ring(*bell),
        }
    }
}

/// A thread of a node.
#[derive(Debug)]
pub(crate) enum Thread {
    Real(JoinHandle<()>),
    Simulated(Arc<dyn Host>, Arc<AtomicBool>, u64),
}

impl Thread {
    /// Waits until it has ended, unless it is the caller.
    pub fn join(self) {
        match self {
            Thread::Real(thread) => {
                if thread.thread().id() != thread::current().id() {
                    let _ = thread.join();
                }
            }
            Thread::Simulated(host, has_ended, bell) => {
                while !has_ended.load(SeqCst) {
                    host.wait(bell, Duration::MAX);
                }
            }
        }
    }
}

/// A turn that one thread has at a time, for longer than a latch may be held: who has it may wait.
#[derive(Debug)]
pub(crate) struct Turns {
    is_taken: Mutex<bool>,
    given_back: Bell,
    host: Hosted,
}

/// The turn, until it is dropped.
pub(crate) struct Turn<'t>(&'t Turns);

impl Turns {
    pub fn new(host: &Hosted) -> Turns {
        Turns { is_taken: Mutex::new(false), given_back: host.bell(), host: host.clone() }
    }

    /// Takes the turn, as soon as nobody else has it; `None` if that takes too long.
    pub fn take(&self, longest: Duration) -> Option<Turn<'_>> {
        let asked = self.host.now();
        let mut is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_taken {
            let left = longest.saturating_sub(self.host.since(asked));
            if left.is_zero() {
                return None;
            }
            is_taken = self.given_back.wait(&self.is_taken, is_taken, left);
        }
        *is_taken = true;
        Some(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.given_back.ring_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_had_by_one_and_waited_for_so_long() {
        let turns = Turns::new(&Hosted::default());
        let first = turns.take(Duration::ZERO);
        assert!(first.is_some() && turns.take(Duration::ZERO).is_none());
        thread::scope(|scope| {
            let second = scope.spawn(|| turns.take(Duration::MAX).is_some());
            drop(first);
            assert!(second.join().expect("no panic"));
        });
        assert!(turns.take(Duration::ZERO).is_some());
    }
}

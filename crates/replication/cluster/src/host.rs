//! What a node runs on: the threads and the clock of the operating system, or those of a simulation, which gives threads turns in virtual
//! time. The protocol is the same: threads wait at bells, and measure waits by the host's clock.

use env::time::{Duration, Instant};
use model::Pending;
use parts::bell::{Bell, Threads};
use parts::sync::Mutex;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads and clock of a simulation.
pub trait Host: Threads {
    /// Time since some start by the clock of the node, which does not go back.
    fn now(&self) -> Duration;
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
        let threads = self.simulated.clone().map(|host| host as Arc<dyn Threads>);
        Bell::new(threads.as_ref())
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
            ringing.ring(bell, true);
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
            ringing.ring(bell, true);
        });
        loop {
            if let Some(value) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return value;
            }
            host.wait(bell, Duration::MAX);
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
            is_taken = self.given_back.wait_for(&self.is_taken, is_taken, left);
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

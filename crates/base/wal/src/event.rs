//! A wake-up for all who wait for the same thing: no latch is taken, neither to sleep nor after waking.
//!
//! # Contract
//! - Whoever waits takes a [`Ticket`] first, then looks whether there is anything to wait for, then calls [`Event::wait`].
//! - Whoever changes what they look at changes it first, and calls [`Event::raise`] second.
//!
//! No wake-up is lost: a ticket of the generation before `raise` does not let anybody sleep after it, and whoever takes a
//! ticket of the generation after it sees the change (the ticket's Acquire is the partner of the Release in `raise`).
//! The bit for sleepers stands in the same word as the generation, and both change by read-modify-writes, so `raise` either
//! sees the bit and wakes, or the sleeper's attempt to set it fails.

use crate::sync::futex::{AtomicU32, Ordering, Place};
use env::time::Duration;

/// Somebody sleeps: the lowest bit. The others count the generations.
const SLEEPERS: u32 = 1;

/// Something that happens again and again.
#[derive(Debug, Default)]
pub struct Event {
    word: AtomicU32,
    place: Place,
}

/// The generation that a waiter has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u32);

impl Event {
    /// What to take before looking.
    pub fn ticket(&self) -> Ticket {
        Ticket(self.word.load(Ordering::Acquire) & !SLEEPERS)
    }

    /// Sleeps until the event is raised; returns at once if it was since the ticket was taken. May return for no reason.
    pub fn wait(&self, ticket: Ticket) {
        self.sleep(ticket, None);
    }

    /// Same as [`wait`](Self::wait), but sleeps no longer than `limit`.
    pub fn wait_for(&self, ticket: Ticket, limit: Duration) {
        self.sleep(ticket, Some(limit));
    }

    fn sleep(&self, ticket: Ticket, limit: Option<Duration>) {
        let sleeping = ticket.0 | SLEEPERS;
        // Relaxed: the bit carries nothing, and what is waited for is looked at with a partner of its own.
        match self.word.compare_exchange(ticket.0, sleeping, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => self.place.sleep(&self.word, sleeping, limit),
            Err(seen) if seen == sleeping => self.place.sleep(&self.word, sleeping, limit),
            Err(_) => {}
        }
    }

    /// Begins the next generation, and wakes everybody who has a ticket of this one. A system call only if somebody sleeps.
    pub fn raise(&self) {
        let next = |word: u32| Some((word | SLEEPERS).wrapping_add(1));
        // Release: partner of the Acquire in `ticket`.
        let before = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, next).unwrap_or_else(|word| word);
        if before & SLEEPERS != 0 {
            self.place.wake_all(&self.word);
        }
    }
}

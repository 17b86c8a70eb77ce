//! The kernel of a tuple's memory: the pins that keep it from being killed, and whether it is queued for a collector. Checked
//! by loom (`tests/loom_pins.rs`).
//!
//! Both are one word, so that garbage is not forgotten when a transaction that leaves it meets a collector that has just taken the
//! tuple's entry. If the transaction finds the tuple queued, it queues nothing, and has given up its pin before the collector
//! counts the pins; so the collector sees the garbage (invariant S3). Otherwise the transaction queues the tuple.

use parts::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Set while an entry of a garbage queue names the tuple. The entry counts as a pin.
const QUEUED: u32 = 1 << 31;

/// Pins of a tuple: 1 per write set, collector at work, and queue entry. All accesses are sequentially consistent: a pin comes
/// before the look at the owner word that follows, and is counted after the kill (S1).
#[derive(Debug)]
pub struct Pins(AtomicU32);

impl Pins {
    /// `count` pins, none of them a queue entry's.
    pub fn new(count: u32) -> Pins {
        Pins(AtomicU32::new(count))
    }

    /// Adds a pin.
    pub fn pin(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// Removes a pin.
    pub fn unpin(&self) {
        let before = self.0.fetch_sub(1, SeqCst);
        debug_assert!(before & !QUEUED > 0, "S1: it was pinned");
    }

    /// Makes the caller's pin that of a queue entry. `false` if there is an entry already: the pin is given up, and the entry
    /// will be looked at later than this.
    #[must_use = "an entry must be queued"]
    pub fn queue(&self) -> bool {
        let before = self.0.fetch_update(SeqCst, SeqCst, |pins| Some((pins - 1) | QUEUED)).expect("always some");
        before & QUEUED == 0
    }

    /// Makes the queue entry's pin an ordinary one: of whoever took the entry, before it looks at the tuple.
    pub fn dequeue(&self) {
        let before = self.0.fetch_sub(QUEUED - 1, SeqCst);
        debug_assert!(before & QUEUED != 0, "S3: there is an entry");
    }

    /// Returns whether there is no pin. For use after the kill (S1).
    pub fn is_zero(&self) -> bool {
        self.0.load(SeqCst) == 0
    }

    /// Returns whether the caller's pin is the only one, and nothing is queued. For use after the kill (S1).
    pub fn is_one(&self) -> bool {
        self.0.load(SeqCst) == 1
    }
}

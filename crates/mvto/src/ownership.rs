//! The kernel of a tuple: who owns it, and who has read it last. Checked by loom (`tests/loom_ownership.rs`).
//!
//! A reader at `T` must see every older write or forbid it. It *stamps first and looks second*; an owner *owns first
//! and checks second*:
//!
//! ```text
//! reader at T    raise last_read to T     then   look at the owner, then at the newest version
//! writer at W    own the word             then   look at last_read (abort if it is above W), install, release
//! ```
//!
//! All four accesses are sequentially consistent, each thread's store before its load, so at least one of the two sees
//! the other (invariant M3). A reader that sees an older owner waits for it; one that sees a younger owner, or none,
//! reads versions that are final: nothing below `T` can be installed any more.
//!
//! Source: vMVCC, section 2 (`tslast`, and the tuple's mutex, which this word replaces).

use model::Timestamp;
use parts::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Set while somebody sleeps until the owner releases; set and cleared by read-modify-writes of the word itself, as
/// `parts::wait` demands.
const WAITERS: u64 = 1 << 63;
/// The tuple has left its index: look the key up again.
const DEAD: u64 = 1 << 62;
/// Timestamps stay below: 2^62 ticks of a 5 GHz clock are 29 years of uptime across restarts.
pub const TIMESTAMP_LIMIT: u64 = 1 << 62;

/// The owner word and the last-read stamp.
#[derive(Debug)]
pub struct Ownership {
    /// 0, or the owner's timestamp with perhaps [`WAITERS`], or [`DEAD`]. Release publishes the owner's new version.
    word: AtomicU64,
    /// Highest timestamp of a transaction that has read the tuple, or created it. Partner of `word` (M3).
    last_read: AtomicU64,
}

/// Who holds a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody.
    Free,
    /// This transaction is committing it (or owns it since a statement).
    Owner(Timestamp),
    /// It has left its index.
    Dead,
}

impl Ownership {
    /// Owned from the start, as an inserted tuple is; counts as read at `owner`, so that it covers the gap it came from.
    pub fn owned_by(owner: Timestamp) -> Ownership {
        Ownership::new(owner.0)
    }

    /// Owned by nobody and read by nobody, as a recovered tuple is.
    pub fn free() -> Ownership {
        Ownership::new(0)
    }

    fn new(owner: u64) -> Ownership {
        let (word, last_read) = (AtomicU64::new(owner), AtomicU64::new(owner));
        Ownership { word, last_read }
    }

    /// Who holds it now.
    pub fn holder(&self) -> Holder {
        holder(load_in_total_order(&self.word))
    }

    /// Forbids every later write below `at`. No store when a later reader has done so already.
    pub fn raise_last_read(&self, at: Timestamp) {
        if load_in_total_order(&self.last_read) < at.0 {
            self.last_read.fetch_max(at.0, SeqCst);
        }
    }

    /// The highest timestamp that has read it. A writer asks after it owns.
    pub fn last_read(&self) -> Timestamp {
        Timestamp(load_in_total_order(&self.last_read))
    }

    /// Becomes the owner if nobody is; otherwise says who.
    ///
    /// # Errors
    /// The holder that stands in the way.
    pub fn try_own(&self, at: Timestamp) -> Result<(), Holder> {
        debug_assert!(at.0 > 0 && at.0 < TIMESTAMP_LIMIT, "M1: {at:?} is no timestamp");
        self.word.compare_exchange(0, at.0, SeqCst, SeqCst).map(|_| ()).map_err(holder)
    }

    /// Announces that somebody is about to sleep until `owner` releases. `false` if it has released already.
    pub fn announce_waiter(&self, owner: Timestamp) -> bool {
        let waiting = owner.0 | WAITERS;
        match self.word.compare_exchange(owner.0, waiting, SeqCst, SeqCst) {
            Ok(_) => true,
            Err(seen) => seen == waiting,
        }
    }

    /// Whether `owner` still holds it and knows of a sleeper.
    pub fn is_awaited(&self, owner: Timestamp) -> bool {
        self.word.load(SeqCst) == owner.0 | WAITERS
    }

    /// Gives it up. Says whether somebody sleeps and must be woken.
    #[must_use = "sleepers must be woken"]
    pub fn release(&self) -> bool {
        self.word.swap(0, SeqCst) & WAITERS != 0
    }

    /// Takes a tuple that nobody owns out of everybody's hands, before it leaves its index. Readers look the key up
    /// again; a stamp raised before is seen by [`Ownership::last_read`] afterwards (M3: it is like owning).
    pub fn try_kill(&self) -> bool {
        self.word.compare_exchange(0, DEAD, SeqCst, SeqCst).is_ok()
    }

    /// Takes [`Ownership::try_kill`] back.
    pub fn revive(&self) {
        self.word.store(0, SeqCst);
    }
}

fn holder(word: u64) -> Holder {
    match word & !WAITERS {
        0 => Holder::Free,
        DEAD => Holder::Dead,
        owner => Holder::Owner(Timestamp(owner)),
    }
}

/// A sequentially consistent load. Loom gives such loads no place in the total order, but it does so with fences, and a
/// fence before the load says no more than the load itself does in the language.
fn load_in_total_order(word: &AtomicU64) -> u64 {
    #[cfg(loom)]
    parts::sync::fence(SeqCst);
    word.load(SeqCst)
}

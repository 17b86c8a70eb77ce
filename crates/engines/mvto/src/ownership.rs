//! The kernel of a tuple: its owner and its last-read stamp. Checked by loom (`tests/loom_ownership.rs`).
//!
//! A reader at `T` must see every older write or forbid it. It *stamps first and looks second*; a committing owner *takes
//! hold first and checks second*:
//!
//! ```text
//! reader at T            raise last_read to T            then   look at the owner, then at the newest version
//! writer at W            own the word, committing        then   look at last_read (abort if it is above W), install, release
//! owner since a          own the word, executing
//!   statement, from W    ... statements ...
//!   on                   turn the word to committing     then   look at last_read (move if it is above W), install, release
//! ```
//!
//! All four accesses are sequentially consistent, each thread's store before its load, so at least one of the two sees
//! the other (invariant M3). A reader that sees an older *committing* owner waits for it, which takes microseconds. One that
//! sees a younger owner, or none, reads versions that are final: nothing below `T` can be installed any more.
//!
//! An owner that still *executes* may do so for hours, and its place in the serial order is not settled: a reader above it
//! reads the version before, without a wait, and its stamp *pushes* the owner. For either the owner finds the stamp once it has
//! turned to committing, and commits above it (`advance.rs`); or the stamp came after that turn, and then the reader looks
//! after it too, and waits. Hence M3 holds of executing owners as it does of others, and the timestamp that such an owner
//! commits at is one that it draws after its last word has turned: it lies above every reader that has pushed it, since
//! those had drawn theirs before (M10).
//!
//! An owner may also come before its own timestamp (`own_first.rs`). It is *undated* then: it owns, looks at the stamp, draws
//! above that, and writes its timestamp into the word. It waits for nobody meanwhile, so whoever meets it waits for its timestamp,
//! awake. A stamp that comes after it has owned belongs to a reader that looks after it too, and finds it: undated, or committing. So
//! M3 holds, and no stamp that it has not seen can belong to a reader that has missed it, be that above its timestamp or below.
//!
//! ```text
//! undated owner          own the word, undated         then   look at last_read, draw W above it, turn the word to
//!                                                             committing at W, install, release
//! ```
//!
//! Source: vMVCC, section 2 (`tslast`, and the tuple's mutex, which this word replaces). Deviation: pushing is this project's
//! (in the manner of CockroachDB's pushed timestamps and read refreshes); the paper's transactions own at commit only, and so do
//! ours in [`model::Mode::ReadWrite`].

use model::Timestamp;
use parts::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Set while a transaction sleeps until the owner releases; set and cleared by read-modify-writes of the word itself, as
/// `parts::wait` demands.
const WAITERS: u64 = 1 << 63;
/// The tuple has left its index: look the key up again.
const DEAD: u64 = 1 << 62;
/// The owner executes statements: readers push it.
const EXECUTING: u64 = 1 << 61;
/// The owner has no timestamp yet.
const UNDATED: u64 = DEAD | EXECUTING;
/// Timestamps stay below: 2^61 ticks of a 5 GHz clock are 14 years of uptime across restarts.
pub const TIMESTAMP_LIMIT: u64 = 1 << 61;

/// The owner word and the last-read stamp.
#[derive(Debug)]
pub struct Ownership {
    /// 0, or the owner's timestamp with perhaps [`WAITERS`] and [`EXECUTING`], or [`DEAD`], or [`UNDATED`]. Release publishes the
    /// owner's new version.
    word: AtomicU64,
    /// Highest timestamp of a transaction that has read the tuple, or created it. Partner of `word` (M3).
    last_read: AtomicU64,
}

/// Holder of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No transaction holds it.
    Free,
    /// This transaction owns it since a statement, and will commit at this timestamp or above it.
    Executing(Timestamp),
    /// This transaction is committing it, at this timestamp or, if it has yet to move, above it.
    Committing(Timestamp),
    /// A transaction that waits for nobody owns it, and is about to draw its timestamp and to commit there. Nobody sleeps until then.
    Undated,
    /// It has left its index.
    Dead,
}

impl Holder {
    /// The transaction that owns it, if one does.
    pub fn owner(self) -> Option<Timestamp> {
        match self {
            Holder::Executing(owner) | Holder::Committing(owner) => Some(owner),
            Holder::Free | Holder::Undated | Holder::Dead => None,
        }
    }
}

/// Owner of a tuple: the transaction's timestamp and its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Names the transaction. It commits here or above.
    pub at: Timestamp,
    /// Whether it may still be pushed.
    pub executes: bool,
}

impl Owner {
    #[inline]
    fn word(self) -> u64 {
        debug_assert!(self.at.0 > 0 && self.at.0 < TIMESTAMP_LIMIT, "M1: {:?} is no timestamp", self.at);
        if self.executes { self.at.0 | EXECUTING } else { self.at.0 }
    }
}

impl Ownership {
    /// Owned from the start, as an inserted tuple is. It counts as read at `last_read`, so that it covers the gap it came from.
    pub fn owned_by(owner: Owner, last_read: Timestamp) -> Ownership {
        Ownership::new(owner.word(), last_read.0)
    }

    /// Free, and never read, as a recovered tuple is.
    pub fn free() -> Ownership {
        Ownership::new(0, 0)
    }

    fn new(word: u64, last_read: u64) -> Ownership {
        Ownership { word: AtomicU64::new(word), last_read: AtomicU64::new(last_read) }
    }

    /// Returns the present holder.
    #[inline]
    pub fn holder(&self) -> Holder {
        holder(load_in_total_order(&self.word))
    }

    /// Forbids every later write below `at`. No store when a later reader has done so already.
    #[inline]
    pub fn raise_last_read(&self, at: Timestamp) {
        if load_in_total_order(&self.last_read) < at.0 {
            self.last_read.fetch_max(at.0, SeqCst);
        }
    }

    /// The highest timestamp that has read it. A writer asks after it owns, one that owns since a statement after
    /// [`Ownership::start_commit`].
    #[inline]
    pub fn last_read(&self) -> Timestamp {
        Timestamp(load_in_total_order(&self.last_read))
    }

    /// Becomes the owner if the tuple is free.
    ///
    /// # Errors
    /// The holder that stands in the way.
    #[inline]
    pub fn try_own(&self, owner: Owner) -> Result<(), Holder> {
        self.word.compare_exchange(0, owner.word(), SeqCst, SeqCst).map(|_| ()).map_err(holder)
    }

    /// Becomes the owner before it has a timestamp, if the tuple is free. An undated owner waits for nobody.
    ///
    /// # Errors
    /// The holder that stands in the way.
    #[inline]
    pub fn try_own_undated(&self) -> Result<(), Holder> {
        self.word.compare_exchange(0, UNDATED, SeqCst, SeqCst).map(|_| ()).map_err(holder)
    }

    /// Shows the timestamp that an undated owner, who is the caller, has drawn above [`Ownership::last_read`]. It commits there. No
    /// waiter has announced itself.
    #[inline]
    pub fn date(&self, at: Timestamp) {
        debug_assert!(self.holder() == Holder::Undated, "M3: it owns before it draws");
        self.word.store(Owner { at, executes: false }.word(), SeqCst);
    }

    /// Turns the word of an executing owner to committing: from here on readers above it wait instead of pushing it. Who sleeps
    /// goes on sleeping. The caller is the owner.
    pub fn start_commit(&self) {
        self.word.fetch_and(!EXECUTING, SeqCst);
    }

    /// Moves the committing owner, who is the caller, to a later timestamp. Says whether somebody sleeps and must be woken, to
    /// look again.
    #[must_use = "sleepers must be woken"]
    pub fn move_to(&self, at: Timestamp) -> bool {
        self.word.swap(Owner { at, executes: false }.word(), SeqCst) & WAITERS != 0
    }

    /// Announces a waiter that is about to sleep until `holder` releases or moves. `false` if it has already, or if there is no owner.
    pub fn announce_waiter(&self, holder: Holder) -> bool {
        let Some(word) = word_of(holder) else { return false };
        match self.word.compare_exchange(word, word | WAITERS, SeqCst, SeqCst) {
            Ok(_) => true,
            Err(seen) => seen == word | WAITERS,
        }
    }

    /// Returns whether `holder`, in any phase, still owns it with a sleeper announced.
    pub fn is_awaited(&self, holder: Holder) -> bool {
        word_of(holder).is_some_and(|word| self.word.load(SeqCst) | EXECUTING == word | EXECUTING | WAITERS)
    }

    /// Releases it. Returns whether waiters sleep and must be woken.
    #[must_use = "sleepers must be woken"]
    #[inline]
    pub fn release(&self) -> bool {
        self.word.swap(0, SeqCst) & WAITERS != 0
    }

    /// Releases it if `owner`, which executes, still owns it. Returns whether waiters sleep and must be woken.
    ///
    /// For the rows of a doomed transaction, which can no longer turn to committing (M12). Other transactions take its rows by this,
    /// and its own end releases the rest by this: where another one was first, it finds another word and leaves it alone. Names
    /// are unique, so a word with the name `owner` is the one that this transaction stored.
    #[must_use = "sleepers must be woken"]
    pub fn take_from(&self, owner: Timestamp) -> bool {
        let word = Owner { at: owner, executes: true }.word();
        let mut seen = self.word.load(SeqCst);
        while seen & !WAITERS == word {
            match self.word.compare_exchange(seen, 0, SeqCst, SeqCst) {
                Ok(taken) => return taken & WAITERS != 0,
                Err(now) => seen = now, // A waiter has announced itself, or somebody was first.
            }
        }
        false
    }

    /// Marks a free tuple as dead, before it leaves its index: it can no longer be owned, and readers look the key up again.
    /// [`Ownership::last_read`] afterwards sees every stamp that was raised before (M3: killing is like owning).
    pub fn try_kill(&self) -> bool {
        self.word.compare_exchange(0, DEAD, SeqCst, SeqCst).is_ok()
    }

    /// Takes [`Ownership::try_kill`] back.
    pub fn revive(&self) {
        self.word.store(0, SeqCst);
    }
}

#[inline]
fn holder(word: u64) -> Holder {
    match word & !WAITERS {
        0 => Holder::Free,
        DEAD => Holder::Dead,
        UNDATED => Holder::Undated,
        owner if owner & EXECUTING != 0 => Holder::Executing(Timestamp(owner & !EXECUTING)),
        owner => Holder::Committing(Timestamp(owner)),
    }
}

/// The word of an owner without waiters.
fn word_of(holder: Holder) -> Option<u64> {
    match holder {
        Holder::Free | Holder::Undated | Holder::Dead => None,
        Holder::Executing(at) => Some(Owner { at, executes: true }.word()),
        Holder::Committing(at) => Some(Owner { at, executes: false }.word()),
    }
}

/// A sequentially consistent load. Loom gives such loads no place in the total order, but it does so with fences, and a
/// fence before the load says no more than the load itself does in the language.
#[inline]
pub(crate) fn load_in_total_order(word: &AtomicU64) -> u64 {
    #[cfg(loom)]
    parts::sync::fence(SeqCst);
    word.load(SeqCst)
}

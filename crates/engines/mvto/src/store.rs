//! Tuples and versions: the memory of the engine, and most of its `unsafe`.
//!
//! ```text
//! index ---> Tuple { ownership, head, pins, key, home: Version{ begin 12 } }
//!                                 \--> Version{ begin 40 } --/                 newest first; immutable once linked
//! ```
//!
//! A tuple has room for one version behind its key, its *home*, if the row that it is made for is short. The versions of a row
//! that is written again and again lie there and in a block of their own in turn; a row that is not written again lies there, where
//! one miss of the cache brings it along with its owner and its stamp (docs/decisions/0053, 0093).
//!
//! Lifetimes:
//! - A **tuple** is in its index until it is killed there, and is then freed through the epoch. Code that keeps a tuple beyond an
//!   epoch guard *pins* it (write sets, waits, the garbage queues), and a pinned tuple is never killed (S1).
//! - A **version** is the newest until another one replaces it at `r`. By the stamp-first rule (M3) a registered reader returns only
//!   the newest version below its timestamp. So only readers at or below `r` look at the one that was replaced, and its memory is used
//!   again once the bound has passed `r` (S2). Who replaces it decides which way it goes:
//!   - It began below the bound: it is *retired*. The writer notes it with `r` (`retired.rs`), and whoever finds the note ready takes its
//!     block; its home, if it is there, is taken by a later owner. Nobody unlinks it: the link to it is marked, and dangles (S5).
//!   - It began at the bound or above: it is *kept*, and the tuple's to collect. It is *cut off*, together with all kept versions
//!     behind the newest one below the bound, or *spliced out* from between two others, if no open snapshot reads it (M5).
//! - Only the newest version can have begun below the bound when it is replaced, and whoever replaces it has cut off all that were kept
//!   behind it. So a chain is the newest version, kept ones, and then retired ones.
//! - A reader *walks* over versions newer than the one that it returns. They lie above the bound while the reader is registered, so
//!   they are never cut off, nor taken from the notes. They may be spliced out while a reader stands
//!   on them; therefore readers walk under an epoch guard, and a version that is spliced out is freed through the epoch. Its own link
//!   stays, and leads on to the version that the reader seeks (S4). Where it was at home, the home stays as it is until the bound
//!   has passed its begin: whoever walks over a version began before it or at it.
//! - A **chain** is changed by the tuple's owner, or by a collector that *holds* it, which is to kill it for a moment.
//!
//! The newest and the kept versions of a killed tuple are freed with it.
//!
//! **S5, walkers of links.** A marked link is followed only by readers at or below the begin of the version that has it: their registration
//! keeps what it leads to ([`VersionRef::older`]). All others stop there ([`VersionRef::kept_older`]): `cut`, `splice`, `key_state`,
//! `size_with_versions` and `free`. Whoever is neither registered nor has the tuple to himself looks at the newest version while the bound
//! stands still (`gc.rs` `hold_still`): a checkpoint, a sample, and who asks for a row's size.
//!
//! Versions are never overwritten while anybody may look at them, so readers copy payloads without races (docs/decisions/0002).

mod pool;
mod space;

use crate::home::Home;
use crate::horizon::Horizon;
use crate::ownership::{Holder, Ownership};
use crate::pins::Pins;
use crate::retired::has_passed;
use model::{LogPosition, RowRef, Timestamp};
use parts::epoch::{self, Guard};
use parts::index::Entry;
use parts::index::prefetch::prefetch;
use parts::memory::Meter;
use parts::sync::atomic::{AtomicPtr, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};

pub use pool::{Block, RetiredVersions, VersionPool, version_size};
pub use space::Space;

/// A key and all its versions. Its bytes: this header, the key, and the home of a version if there is one.
#[derive(Debug)]
pub struct Tuple {
    /// Owner and last-read stamp.
    pub ownership: Ownership,
    /// Newest version; null in a tuple that an unfinished or aborted insert left. Stored by the owner with Release, loaded
    /// with Acquire: publishes the version's bytes.
    head: AtomicPtr<Version>,
    /// Pins that keep it from being killed.
    pins: Pins,
    /// The key's bytes, behind this header in the same allocation.
    key: NonNull<u8>,
    key_length: u16,
    /// Bytes of the longest row that the home has room for, or [`NO_HOME`].
    room: u16,
    /// Whether the home may be used. Accessed by who owns or holds the tuple.
    home: Home,
}

/// One value of a key, from `begin` on. Its bytes: this header, then the row.
#[derive(Debug)]
struct Version {
    begin: u64,
    /// The next older version, with [`RETIRED`] where it is not the tuple's to collect. Changed only by who owns or holds the tuple,
    /// and only while linked.
    older: AtomicPtr<Version>,
    /// The end of its redo record.
    log_position: u64,
    /// Bytes of the row, or [`TOMBSTONE`].
    length: u32,
    /// Size of the block, in units of [`BLOCK`]; [`AT_HOME`] for a version that is part of its tuple.
    blocks: u32,
}

const TOMBSTONE: u32 = u32::MAX;
/// Versions are allocated in multiples of this, as allocators do: a whole line for each would be half as much again for rows of
/// 100 bytes.
const BLOCK: usize = 16;
/// The size of the block of a version that has none.
const AT_HOME: u32 = 0;
/// Rows up to this length are given a home. For longer ones, a miss more is little beside copying them.
const LONGEST_AT_HOME: usize = 256;
/// Mark of a link to a version that has been retired: it may be used again once the bound has passed the begin of the version that
/// has this link.
const RETIRED: usize = 1;
/// The room of a tuple without a home.
const NO_HOME: u16 = u16::MAX;
/// Bytes of a version that are asked for before it is read: the processor itself finds the rest of a long row.
const PREFETCHED_BYTES: usize = 256;
/// State of a key, as collection finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// A row.
    Row,
    /// A row or a tombstone, with older versions that somebody may read: nobody does once the bound is above this.
    Until(Timestamp),
    /// A tombstone that everybody sees, or no version at all.
    Nothing {
        /// Timestamp from which the tombstone is valid.
        begin: Timestamp,
        /// The end of its redo record.
        log_position: LogPosition,
    },
}

/// A tuple that nobody owns, held by a collector until dropped: killed for a moment. Writers and readers look again.
#[derive(Debug)]
pub struct Held<'a>(&'a Tuple);

/// What became of the version that was replaced by an install.
#[derive(Debug, PartialEq, Eq)]
pub enum Replaced {
    /// There was none.
    Nothing,
    /// It is the caller's to note, with its block if it has one of its own: nobody looks at it once the bound is above the begin of
    /// the one that replaced it.
    Retired(Option<Block>),
    /// It is the tuple's to collect.
    Kept,
}

/// A version, readable for as long as whatever `'a` stands for protects it (S2).
#[derive(Clone, Copy, Debug)]
pub struct VersionRef<'a>(NonNull<Version>, PhantomData<&'a Version>);

// SAFETY: the fields that other threads change are atomics; the rest is written before the tuple is shared.
unsafe impl Send for Tuple {}
// SAFETY: as above.
unsafe impl Sync for Tuple {}

// SAFETY: `key` and `key_length` are written once, before the tuple is shared, and the bytes live as long as the header.
unsafe impl Entry for Tuple {
    fn key(&self) -> &[u8] {
        // SAFETY: `allocate` made `key_length` initialized bytes there, in the same allocation as the header.
        unsafe { std::slice::from_raw_parts(self.key.as_ptr(), usize::from(self.key_length)) }
    }
}

impl Tuple {
    /// The layout of a tuple, and where its home begins.
    fn layout(key_length: usize, room: u16) -> (Layout, usize) {
        let home = (size_of::<Tuple>() + key_length).next_multiple_of(align_of::<Version>());
        let bytes = if room == NO_HOME { home } else { home + size_of::<Version>() + usize::from(room) };
        (Layout::from_size_align(bytes, align_of::<Tuple>()).expect("keys and rows at home are short"), home)
    }

    /// The room of a tuple that is made for a row of this length: what its allocation has left over belongs to it.
    fn room(key_length: usize, row: Option<usize>) -> u16 {
        let Some(row) = row.filter(|&row| Tuple::has_home(row)) else { return NO_HOME };
        let bytes = Tuple::layout(key_length, row as u16).0.size();
        (row + bytes.next_multiple_of(BLOCK) - bytes) as u16
    }

    /// Returns whether a tuple that is made for a row of this length has a home for it.
    pub fn has_home(row: usize) -> bool {
        row <= LONGEST_AT_HOME
    }

    /// The bytes that a tuple without versions takes, made for a row of this length.
    pub fn size(key_length: usize, row: Option<usize>) -> usize {
        Tuple::layout(key_length, Tuple::room(key_length, row)).0.size()
    }

    /// The bytes that the tuple takes without blocks of versions.
    pub fn own_size(&self) -> usize {
        Tuple::layout(usize::from(self.key_length), self.room).0.size()
    }

    /// The bytes that the tuple and its versions take; without the versions while somebody owns it. The caller found the tuple
    /// under a guard that it still has.
    pub fn size_about(&self) -> usize {
        match self.try_hold() {
            Some(_held) => self.size_with_versions(),
            None => self.own_size(),
        }
    }

    /// The bytes that the tuple takes with its newest and its kept versions. The caller has it to itself, killed it, or holds it.
    pub fn size_with_versions(&self) -> usize {
        let mut bytes = self.own_size();
        let mut version = self.newest();
        while let Some(counted) = version {
            bytes += counted.size();
            version = counted.kept_older();
        }
        bytes
    }

    /// A tuple without versions, outside any index, with `pins` pins. It is made for a row of this length, if that is known.
    pub fn allocate(key: &[u8], ownership: Ownership, pins: u32, row: Option<usize>) -> NonNull<Tuple> {
        let room = Tuple::room(key.len(), row);
        let (layout, _) = Tuple::layout(key.len(), room);
        // SAFETY: the layout has the header's size at least.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        let tuple = block.cast::<Tuple>();
        // SAFETY: the block is ours, aligned for the header, and has room for it and the key behind it.
        unsafe {
            let key_at = block.add(size_of::<Tuple>());
            ptr::copy_nonoverlapping(key.as_ptr(), key_at.as_ptr(), key.len());
            tuple.write(Tuple {
                ownership,
                head: AtomicPtr::new(ptr::null_mut()),
                pins: Pins::new(pins),
                key: key_at,
                key_length: u16::try_from(key.len()).expect("the limit on keys is below 64 KiB"),
                room,
                home: Home::empty(),
            });
        }
        tuple
    }

    /// Frees a tuple with its newest and its kept versions.
    ///
    /// # Safety
    /// No thread can reach the tuple any more.
    pub unsafe fn free(tuple: NonNull<Tuple>) {
        // SAFETY: the caller's promise: it is ours alone now.
        let (key_length, room, mut version) = unsafe {
            let tuple = &mut *tuple.as_ptr();
            (usize::from(tuple.key_length), tuple.room, *tuple.head.get_mut())
        };
        while let Some(dead) = NonNull::new(version) {
            // SAFETY: the newest and the kept versions are ours alone now.
            unsafe {
                version = kept(*(*dead.as_ptr()).older.get_mut()).map_or(ptr::null_mut(), NonNull::as_ptr);
                free_version(dead);
            }
        }
        // SAFETY: allocated by `Tuple::allocate` with this layout.
        unsafe { dealloc(tuple.as_ptr().cast(), Tuple::layout(key_length, room).0) };
    }

    /// Frees a tuple that has left its index, once no reader can still look at it. It is counted no more from here on.
    ///
    /// # Safety
    /// The tuple was killed (S1) and removed from its index by this caller, who never uses it again.
    pub unsafe fn retire(tuple: NonNull<Tuple>, space: &Space, guard: &Guard) {
        // SAFETY: freed no earlier than our guard allows; killed, so that its chain changes no more.
        let killed = unsafe { tuple.as_ref() };
        debug_assert!(killed.ownership.holder() == Holder::Dead, "S1: what is retired was killed");
        let bytes = killed.size_with_versions();
        space.meter().credit(bytes);
        // SAFETY: whoever found the tuple in the index did so under a guard pinned before now; nobody else can (caller).
        unsafe { epoch::retire(guard, bytes, move || Tuple::free(tuple)) };
    }

    /// The newest version.
    ///
    /// The caller owns the tuple, or holds it, or nobody else sees it yet, or the bound stands still (S5); else a newer version may be
    /// installed and this one used again (registered readers ask for [`Tuple::version_below`], which S2 and S4 protect).
    #[inline]
    pub fn newest(&self) -> Option<VersionRef<'_>> {
        NonNull::new(self.head.load(Ordering::Acquire)).map(|version| VersionRef(version, PhantomData))
    }

    /// Asks for the tuple, its key, and the first lines of its home, so that one wait brings them all.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self, PREFETCHED_BYTES);
    }

    /// Asks for the first lines of the newest version.
    pub fn prefetch_newest(&self) {
        prefetch(self.head.load(Ordering::Relaxed), PREFETCHED_BYTES); // A hint: it is not looked at here.
    }

    /// From when on the newest version is valid; zero without versions. For a registered transaction under a guard that has stamped
    /// the tuple: the version may be replaced meanwhile, above the transaction, and is not used again before that has ended (S2).
    pub fn newest_begin(&self) -> Timestamp {
        self.newest().map_or(Timestamp::ZERO, VersionRef::begin)
    }

    /// The newest version below `at`, tombstones included. The chain is newest first. Source: vMVCC, section 2.
    ///
    /// `at` belongs to the caller's registered transaction, which outlives the reference's use, and nobody writes the tuple below `at`
    /// any more (S2); the guard lasts as long as the walk (S4).
    #[inline]
    pub fn version_below(&self, at: Timestamp, _guard: &Guard) -> Option<VersionRef<'_>> {
        self.newest()?.below(at)
    }

    /// The key and the row of a version of this tuple, without a guard; `None` for a tombstone.
    ///
    /// The version is what the caller's registered transaction has found below its timestamp ([`Tuple::version_below`]), and
    /// `space` is borrowed from that transaction's catalog while it is in a statement, so the transaction stays registered for
    /// `'a`. Until it ends the version stays (S2), and so does its tuple: what is removed has
    /// nothing, or a tombstone that is alone or below the bound, which this reader would have found in the row's place.
    #[inline]
    pub fn keep<'a>(&self, version: VersionRef<'_>, _space: &'a Space) -> Option<(&'a [u8], RowRef<'a>)> {
        let row = VersionRef(version.0, PhantomData).row()?;
        // SAFETY: as in `Entry::key`; the tuple lives for `'a`, as argued above.
        let key = unsafe { std::slice::from_raw_parts(self.key.as_ptr(), usize::from(self.key_length)) };
        Some((key, row))
    }

    /// Links a version as the newest: `row` (`None`: a tombstone) from `begin` on. The caller owns the tuple, and keeps nothing behind a
    /// newest version below `bound`, which is the bound, or was a moment ago.
    #[inline]
    #[must_use = "what is retired is noted, what is kept is queued"]
    pub fn install(
        &self,
        begin: Timestamp,
        log_position: LogPosition,
        row: Option<&[u8]>,
        pool: &mut VersionPool,
        bound: Timestamp,
    ) -> Replaced {
        let bytes = row.unwrap_or_default();
        let (block, blocks) = match self.take_home(bytes.len(), bound) {
            Some(home) => (home, AT_HOME),
            None => pool.take(bytes.len()),
        };
        let (replaced, older) = self.replace(begin, bound);
        // SAFETY: the block or home is ours alone, aligned, and has room for the header and the row.
        unsafe {
            block.write(Version {
                begin: begin.0,
                older: AtomicPtr::new(older),
                log_position: log_position.to_raw(),
                length: row.map_or(TOMBSTONE, |row| row.len() as u32),
                blocks,
            });
            let payload = block.cast::<u8>().add(size_of::<Version>());
            ptr::copy_nonoverlapping(bytes.as_ptr(), payload.as_ptr(), bytes.len());
        }
        self.head.store(block.as_ptr(), Ordering::Release);
        replaced
    }

    /// Decides what becomes of the newest version when one from `begin` on replaces it, and returns the link to it.
    #[inline]
    fn replace(&self, begin: Timestamp, bound: Timestamp) -> (Replaced, *mut Version) {
        let Some(newest) = self.newest() else { return (Replaced::Nothing, ptr::null_mut()) };
        let link = newest.0.as_ptr();
        debug_assert!(newest.begin() < begin, "M4");
        if newest.begin() >= bound {
            return (Replaced::Kept, link);
        }
        debug_assert!(newest.kept_older().is_none(), "S5: what is kept lies before what is retired");
        let block = if newest.is_at_home() {
            self.home.leave(begin);
            None
        } else {
            Some(Block::of(newest.0))
        };
        (Replaced::Retired(block), link.map_addr(|address| address | RETIRED))
    }

    /// Takes the home for a row of this length, if there is one with room and nobody looks at it (S2, S4). The caller owns the tuple.
    #[inline]
    fn take_home(&self, row: usize, bound: Timestamp) -> Option<NonNull<Version>> {
        if self.room == NO_HOME || row > usize::from(self.room) {
            return None;
        }
        self.home.try_move_in(bound).then(|| {
            let (_, offset) = Tuple::layout(usize::from(self.key_length), self.room);
            // SAFETY: inside the allocation, which has a home; `key` points into it, behind the header.
            unsafe { self.key.sub(size_of::<Tuple>()).add(offset) }.cast::<Version>()
        })
    }

    /// Returns whether it keeps versions behind the newest. The caller owns or holds it.
    #[inline]
    pub fn keeps_older(&self) -> bool {
        self.newest().is_some_and(|newest| newest.kept_older().is_some())
    }

    /// Returns whether it has no version at all, as an aborted insert leaves it. For whoever has pinned it.
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire).is_null()
    }

    /// Holds the tuple, if nobody owns or holds it. The caller has pinned it, or found it under a guard that it still has.
    pub fn try_hold(&self) -> Option<Held<'_>> {
        self.ownership.try_kill().then(|| Held(self))
    }

    fn assert_exclusive(&self) {
        debug_assert!(self.ownership.holder() != Holder::Free, "S5: who changes a chain owns or holds the tuple");
    }

    /// Returns whether there is no pin. For use after the kill (S1).
    pub fn is_unpinned(&self) -> bool {
        self.pins.is_zero()
    }

    /// Returns whether the caller's pin is the only one. For use after the kill (S1).
    pub fn is_pinned_once_only(&self) -> bool {
        self.pins.is_one()
    }
}

/// Taking kept versions out. The caller owns or holds the tuple.
impl Tuple {
    /// Cuts off every kept version that is unreadable at or above `bound` (M5): all behind the newest below it. Returns how
    /// many went back to the pool.
    pub fn cut(&self, bound: Timestamp, pool: &mut VersionPool) -> usize {
        self.assert_exclusive();
        let mut newest_below = self.newest();
        while let Some(version) = newest_below.filter(|version| !has_passed(bound, version.begin())) {
            newest_below = version.kept_older();
        }
        let Some(last) = newest_below else { return 0 };
        debug_assert!(last.begin() < bound, "M5: the newest version below the bound stays");
        let (mut version, mut count) = (last.kept_older(), 0);
        if version.is_some() {
            last.version().older.store(ptr::null_mut(), Ordering::Release);
        }
        while let Some(dead) = version {
            version = dead.kept_older();
            if dead.is_at_home() {
                // SAFETY: cut off by us, and no registered transaction returns it or walks over it (S2, S4): it is ours alone.
                unsafe { poison(dead.0, usize::from(self.room)) };
                self.home.clear();
            } else {
                pool.recycle(Block::of(dead.0));
            }
            count += 1;
        }
        count
    }

    /// Splices out every kept version that no snapshot of the horizon can read (M5), and returns how many. The newest stays. They
    /// are counted no more from here on.
    pub fn splice(&self, horizon: &Horizon, meter: &Meter, guard: &Guard) -> usize {
        self.assert_exclusive();
        let (mut kept, mut count) = (self.newest(), 0);
        while let Some(last) = kept {
            let run = Run::behind(last, horizon);
            if let Some(first) = last.kept_older().filter(|_| run.count > 0) {
                // Release: whoever walks here finds the next version's bytes.
                last.version().older.store(run.link, Ordering::Release);
                if first.is_at_home() {
                    self.home.leave(first.begin());
                } else {
                    // SAFETY: unlinked just now, by whoever has the right to.
                    unsafe { retire_run(first.0, run.count, run.bytes, guard) };
                    meter.credit(run.bytes);
                }
                count += run.count;
                continue; // There may be more behind what was at home, or it itself.
            }
            kept = last.kept_older();
        }
        count as usize
    }

    /// Returns what is left of the key for transactions at or above `bound`, and for the snapshots of the horizon.
    pub fn key_state(&self, bound: Timestamp, horizon: &Horizon) -> KeyState {
        let Some(newest) = self.newest() else {
            return KeyState::Nothing { begin: Timestamp::ZERO, log_position: LogPosition::ZERO };
        };
        let begin = newest.begin();
        // A retired version may be used again already, and may be read still: the mark does not say.
        let is_alone = newest.version().older.load(Ordering::Relaxed).is_null();
        let keeps_none = newest.kept_older().is_none();
        match newest.is_tombstone() {
            false if keeps_none => KeyState::Row,
            // Alone, it says what its absence says: nobody reads a row of this key below it.
            true if begin < bound || is_alone && begin < horizon.floor() => {
                KeyState::Nothing { begin, log_position: newest.log_position() }
            }
            _ => KeyState::Until(begin),
        }
    }
}

/// Kept versions behind one another that no snapshot can read: either all have blocks of their own, or it is the one at home alone.
struct Run {
    count: u32,
    /// Size of their blocks.
    bytes: usize,
    /// The link of the last of them.
    link: *mut Version,
}

impl Run {
    /// The run behind a version, perhaps an empty one.
    fn behind(last: VersionRef<'_>, horizon: &Horizon) -> Run {
        let mut run = Run { count: 0, bytes: 0, link: ptr::null_mut() };
        let mut next = last.kept_older();
        while let Some(version) = next.filter(|version| !horizon.needs(version.begin(), last.begin())) {
            debug_assert!(version.begin() < last.begin(), "M4");
            if version.is_at_home() && run.count > 0 {
                break;
            }
            run.bytes += version.size();
            run.count += 1;
            run.link = version.version().older.load(Ordering::Relaxed);
            next = version.kept_older();
            if version.is_at_home() {
                break;
            }
        }
        run
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.ownership.revive();
    }
}

/// The version that a link leads to.
#[inline]
fn linked(link: *mut Version) -> Option<NonNull<Version>> {
    NonNull::new(link.map_addr(|address| address & !RETIRED))
}

/// The version that a link leads to, if it is the tuple's to collect.
#[inline]
fn kept(link: *mut Version) -> Option<NonNull<Version>> {
    NonNull::new(link).filter(|link| link.addr().get() & RETIRED == 0)
}

/// Frees `count` versions of `bytes` bytes from `first` on, which their own links still connect, once nobody can stand on
/// them.
///
/// # Safety
/// They have been unlinked by the caller.
unsafe fn retire_run(first: NonNull<Version>, count: u32, bytes: usize, guard: &Guard) {
    let mut next = first;
    // SAFETY: who stands on one of them walks under a guard pinned before now (S4), and no registered reader returns it (S2).
    // Nobody changes the link of a version that is not linked.
    unsafe {
        epoch::retire(guard, bytes, move || {
            for left in (0..count).rev() {
                let version = next;
                if left > 0 {
                    next = NonNull::new_unchecked(*(*version.as_ptr()).older.get_mut());
                }
                free_version(version);
            }
        });
    }
}

/// Frees a version that has a block of its own.
///
/// # Safety
/// The version is the caller's alone.
unsafe fn free_version(version: NonNull<Version>) {
    // SAFETY: the caller's alone; allocated by `VersionPool::take` with this layout.
    unsafe {
        let blocks = version.as_ref().blocks;
        if blocks != AT_HOME {
            let layout = Version::layout(blocks);
            poison(version, layout.size() - size_of::<Version>());
            dealloc(version.as_ptr().cast(), layout);
        }
    }
}

/// The poison of a freed version: its begin, and each byte of its row. Later than every timestamp.
const POISON: u8 = 0xDB;
const POISONED: u64 = u64::from_ne_bytes([POISON; 8]);

/// Overwrites a freed version and the `room` bytes behind its header with a pattern, in debug builds: a reader that still uses
/// it fails an assertion (S2), also before its block or home is reused.
///
/// # Safety
/// The version is the caller's alone.
unsafe fn poison(version: NonNull<Version>, room: usize) {
    if cfg!(debug_assertions) {
        // SAFETY: as the caller says; there is a header, and the bytes behind it are a row's.
        unsafe {
            version.cast::<u8>().add(size_of::<Version>()).write_bytes(POISON, room);
            (*version.as_ptr()).begin = POISONED;
        }
    }
}

impl<'a> VersionRef<'a> {
    #[inline]
    fn version(self) -> &'a Version {
        // SAFETY: protected for `'a` (S2); the header is immutable but for `older`, which is atomic.
        unsafe { self.0.as_ref() }
    }

    /// The newest version below `at`, from this one on.
    #[inline]
    fn below(mut self, at: Timestamp) -> Option<VersionRef<'a>> {
        while self.begin() >= at {
            self = self.older()?;
        }
        Some(self)
    }

    /// The next older version. For readers at or below this one's begin: for others it may be in use again (S5).
    #[inline]
    fn older(self) -> Option<VersionRef<'a>> {
        linked(self.version().older.load(Ordering::Acquire)).map(|version| VersionRef(version, PhantomData))
    }

    /// The next older version, if it is the tuple's to collect. For who owns or holds the tuple.
    #[inline]
    fn kept_older(self) -> Option<VersionRef<'a>> {
        kept(self.version().older.load(Ordering::Acquire)).map(|version| VersionRef(version, PhantomData))
    }

    /// From when on it is valid.
    #[inline]
    pub fn begin(self) -> Timestamp {
        let begin = self.version().begin;
        debug_assert!(begin != POISONED, "S2: a version that is gone is looked at");
        Timestamp(begin)
    }

    /// The end of its redo record.
    #[inline]
    pub fn log_position(self) -> LogPosition {
        LogPosition::from_raw(self.version().log_position)
    }

    /// Returns whether it is part of its tuple.
    fn is_at_home(self) -> bool {
        self.version().blocks == AT_HOME
    }

    /// The bytes of its block, if it has one of its own.
    pub fn size(self) -> usize {
        self.version().blocks as usize * BLOCK
    }

    /// Returns whether it says that the key is absent.
    #[inline]
    pub fn is_tombstone(self) -> bool {
        self.version().length == TOMBSTONE
    }

    /// The row; `None` for a tombstone.
    #[inline]
    pub fn row(self) -> Option<RowRef<'a>> {
        let length = self.version().length;
        if length == TOMBSTONE {
            return None;
        }
        // SAFETY: the block has the row's bytes behind the header, initialized before the version was linked, immutable
        // since. The pointer has the whole block's provenance.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.0.cast::<u8>().add(size_of::<Version>()).as_ptr(), length as usize)
        };
        Some(RowRef::new(bytes))
    }
}

impl Version {
    fn layout(blocks: u32) -> Layout {
        Layout::from_size_align(blocks as usize * BLOCK, BLOCK).expect("rows are at most 4 MB")
    }
}

/// A tuple that cannot be killed while this exists (S1), though its table may be dropped: whoever holds one also holds
/// the catalog that has the table, or looks the table up first (`gc.rs`).
#[derive(Debug)]
pub struct Pinned(NonNull<Tuple>);

// SAFETY: a tuple may be used from any thread; the pin is an atomic count.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Pins a tuple found under a guard; `None` if it is being killed.
    pub fn new(tuple: &Tuple) -> Option<Pinned> {
        tuple.pins.pin();
        let pinned = Pinned(NonNull::from(tuple));
        if tuple.ownership.holder() == Holder::Dead {
            pinned.unpin();
            return None;
        }
        Some(pinned)
    }

    /// Takes over the pin that a tuple was allocated with.
    pub fn adopt(tuple: &Tuple) -> Pinned {
        Pinned(NonNull::from(tuple))
    }

    /// The tuple's address, for the index to compare and for the epoch to free.
    pub fn address(&self) -> NonNull<Tuple> {
        self.0
    }

    /// Gives the pin up. Not a `Drop`: the tuple's table must still be there.
    #[inline]
    pub fn unpin(self) {
        self.pins.unpin();
    }

    /// Makes the pin that of a queue entry, unless there is one that will be looked at later than this (S3).
    pub fn queued(self) -> Option<Pinned> {
        self.pins.queue().then_some(self)
    }

    /// Takes the entry's pin over, before looking at the tuple.
    pub fn dequeue(&self) {
        self.pins.dequeue();
    }
}

impl Deref for Pinned {
    type Target = Tuple;
    #[inline]
    fn deref(&self) -> &Tuple {
        // SAFETY: pinned, so not killed, so not freed (S1); the table is there (type's documentation).
        unsafe { self.0.as_ref() }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;
    use crate::ownership::Owner;
    use std::sync::Arc;

    /// A tuple that nobody else knows, with versions of `row` from each of these timestamps on. The caller frees it.
    fn tuple(begins: &[u64], row: &[u8], pool: &mut VersionPool) -> NonNull<Tuple> {
        let address = Tuple::allocate(b"key", Ownership::free(), 0, Some(row.len()));
        // SAFETY: allocated just now.
        let tuple = unsafe { address.as_ref() };
        for &begin in begins {
            assert!(!is_retired(&install(tuple, begin, row, pool, 1)), "the bound is below them all");
        }
        address
    }

    fn install(tuple: &Tuple, begin: u64, row: &[u8], pool: &mut VersionPool, bound: u64) -> Replaced {
        tuple.install(Timestamp(begin), LogPosition::ZERO, Some(row), pool, Timestamp(bound))
    }

    fn newest_is_at_home(tuple: &Tuple) -> bool {
        tuple.newest().expect("it has versions").is_at_home()
    }

    fn is_retired(replaced: &Replaced) -> bool {
        matches!(replaced, Replaced::Retired(_))
    }

    #[test]
    fn versions_of_a_row_live_at_home_and_in_a_block_in_turn() {
        let mut pool = VersionPool::new(Arc::default());
        let address = tuple(&[10], b"row", &mut pool);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        assert!(newest_is_at_home(tuple));
        for round in 2..6 {
            // The bound has passed the newest version, which passed the one before it.
            let Replaced::Retired(block) = install(tuple, 10 * round, b"row", &mut pool, 10 * round - 9) else {
                panic!("it began below the bound")
            };
            assert_eq!(newest_is_at_home(tuple), round % 2 == 1);
            assert_eq!(block.is_none(), round % 2 == 0, "it was at home");
            block.into_iter().for_each(|block| pool.recycle(block));
        }
        install(tuple, 100, &[7; LONGEST_AT_HOME], &mut pool, 0);
        assert!(!newest_is_at_home(tuple), "it has grown");
        // SAFETY: nobody else knows it.
        unsafe { Tuple::free(address) };
    }

    #[test]
    fn a_home_is_used_again_above_all_who_may_look_at_what_was_there() {
        let mut pool = VersionPool::new(Arc::default());
        let address = tuple(&[10], b"old", &mut pool);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        let guard = epoch::pin();
        assert_eq!(install(tuple, 20, b"new", &mut pool, 11), Replaced::Retired(None));
        let seen = tuple.version_below(Timestamp(20), &guard).expect("valid from 10 on");
        install(tuple, 30, b"new", &mut pool, 19);
        install(tuple, 40, b"new", &mut pool, 20);
        assert!(!newest_is_at_home(tuple), "a reader at 20 looks there");
        assert_eq!(seen.row().expect("a row").bytes(), b"old");
        install(tuple, 50, b"new", &mut pool, 21);
        assert!(newest_is_at_home(tuple));
        // SAFETY: nobody else knows it.
        unsafe { Tuple::free(address) };
    }

    #[test]
    fn nobody_but_a_reader_walks_on_to_what_is_retired() {
        let mut pool = VersionPool::new(Arc::default());
        let row = [7; LONGEST_AT_HOME + 1];
        let address = tuple(&[10], &row, &mut pool);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        let (one, own) = (version_size(row.len()), tuple.own_size());
        let Replaced::Retired(Some(block)) = install(tuple, 20, &row, &mut pool, 11) else {
            panic!("it began below the bound")
        };
        assert_eq!(install(tuple, 30, &row, &mut pool, 20), Replaced::Kept);
        assert_eq!(tuple.size_with_versions(), own + 2 * one, "what is retired is not the tuple's");
        pool.recycle(block); // Its memory is overwritten, in debug builds.
        let held = tuple.try_hold().expect("nobody owns it");
        assert_eq!(tuple.size_with_versions(), own + 2 * one);
        assert_eq!(tuple.key_state(Timestamp(25), &Horizon::default()), KeyState::Until(Timestamp(30)));
        assert_eq!(tuple.cut(Timestamp(15), &mut pool), 0, "all that is kept is above the bound");
        assert_eq!(tuple.cut(Timestamp(25), &mut pool), 0);
        assert_eq!(tuple.splice(&Horizon::new(1, vec![5], 40), &Meter::default(), &epoch::pin()), 1);
        assert_eq!(tuple.splice(&Horizon::new(1, vec![5], 40), &Meter::default(), &epoch::pin()), 0);
        assert_eq!(tuple.key_state(Timestamp(25), &Horizon::default()), KeyState::Row);
        drop(held);
        // SAFETY: nobody else knows it.
        unsafe { Tuple::free(address) };
    }

    #[test]
    fn a_home_that_was_left_stays_as_it_is_for_whoever_walks_over_it() {
        let (mut pool, guard) = (VersionPool::new(Arc::default()), epoch::pin());
        let address = tuple(&[10, 20, 30], b"old", &mut pool);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        let walked_over = tuple.version_below(Timestamp(11), &guard).expect("valid from 10 on");
        assert!(walked_over.is_at_home());
        let horizon = Horizon::new(1, vec![5], 50);
        let held = tuple.try_hold().expect("nobody owns it");
        assert_eq!(tuple.splice(&horizon, &Meter::default(), &guard), 2);
        assert!(!tuple.keeps_older());
        drop(held);
        // Somebody at 5 may still walk over the version that is valid from 10 on: the bound is no greater than 5.
        install(tuple, 50, b"new", &mut pool, 5);
        assert!(!newest_is_at_home(tuple));
        assert_eq!(walked_over.row().expect("a row").bytes(), b"old");
        install(tuple, 60, b"new", &mut pool, 10);
        assert!(!newest_is_at_home(tuple), "a reader at 10 walks over it, too");
        install(tuple, 70, b"new", &mut pool, 11);
        assert!(newest_is_at_home(tuple));
        // SAFETY: nobody else knows it.
        unsafe { Tuple::free(address) };
    }

    #[test]
    fn a_tuple_takes_what_it_needs_and_no_more() {
        for key in 1..40 {
            assert_eq!(Tuple::size(key, None), Tuple::size(key, Some(LONGEST_AT_HOME + 1)), "no home");
            for row in [0, 1, 100, LONGEST_AT_HOME] {
                let needed = size_of::<Tuple>() + key + size_of::<Version>() + row;
                assert!((needed..needed + 24).contains(&Tuple::size(key, Some(row))), "{key}, {row}");
            }
        }
        assert_eq!(Tuple::size(8, Some(100)), 192);
    }

    #[test]
    fn one_at_a_time_owns_or_holds_a_tuple() {
        let address = Tuple::allocate(b"key", Ownership::free(), 0, None);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        let held = tuple.try_hold().expect("nobody has it");
        assert!(tuple.try_hold().is_none() && Pinned::new(tuple).is_none());
        drop(held);
        let owner = Owner { at: Timestamp(1), executes: false };
        tuple.ownership.try_own(owner).expect("nobody has it");
        assert!(tuple.try_hold().is_none());
        assert!(!tuple.ownership.release(), "nobody waits");
        assert!(tuple.try_hold().is_some());
        // SAFETY: nobody else knows it.
        unsafe { Tuple::free(address) };
    }
}

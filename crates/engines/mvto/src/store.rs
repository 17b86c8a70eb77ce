//! Tuples and versions: the memory of the engine, and most of its `unsafe`.
//!
//! ```text
//! index ---> Tuple { ownership, head, pins, key, home: Version{ begin 12 } }
//!                                 \--> Version{ begin 40 } --/                 newest first; immutable once linked
//! ```
//!
//! A tuple has room for one version behind its key, its *home*, if the row that it is made for is short. The versions of a row
//! that is written again and again lie there and in a block of their own in turn; a row that is not written again lies there, where
//! one miss of the cache brings it along with its owner and its stamp (docs/decisions/0053).
//!
//! Lifetimes:
//! - A **tuple** is in its index until it is killed there, and is then freed through the epoch. Code that keeps a tuple beyond an
//!   epoch guard *pins* it (write sets, waits, the garbage queues), and a pinned tuple is never killed (S1).
//! - A **version** is linked until no transaction can read it any more. It is then *cut off*, together with all versions behind the
//!   newest one below the bound, or *spliced out* from between two others, if no open snapshot reads it (M5). The newest
//!   version is always linked. By the stamp-first rule (M3) a registered reader returns only the newest version below
//!   its timestamp, and that one stays until the reader has ended (S2).
//! - A reader *walks* over versions newer than the one that it returns. They lie above the bound while the reader is registered, so
//!   they are never cut off; therefore versions that are cut off are recycled at once. They may be spliced out while a reader stands
//!   on them; therefore readers walk under an epoch guard, and a version that is spliced out is freed through the epoch. Its own link
//!   stays, and leads on to the version that the reader seeks (S4). Where it was at home, the home stays as it is until the bound
//!   has passed its begin: whoever walks over a version began before it or at it.
//!
//! The last versions of a killed tuple are freed with it.
//!
//! Versions are never overwritten while anybody may look at them, so readers copy payloads without races (docs/decisions/0002).

mod space;

use crate::horizon::Horizon;
use crate::ownership::{Holder, Ownership};
use crate::pins::Pins;
use model::{LogPosition, RowRef, Timestamp};
use parts::epoch::{self, Guard};
use parts::index::Entry;
use parts::index::prefetch::prefetch;
use parts::memory::Meter;
use parts::spin::Backoff;
use parts::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

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
    /// Versions in the chain.
    versions: AtomicU32,
    /// The key's bytes, behind this header in the same allocation.
    key: NonNull<u8>,
    key_length: u16,
    /// Bytes of the longest row that the home has room for, or [`NO_HOME`].
    room: u16,
    /// Held by the one thread that takes versions out of the chain. Acquire and Release: each sees the chain as the one
    /// before left it.
    trimming: AtomicBool,
    /// State of the home: [`EMPTY`], [`LIVED_IN`] or [`LEFT`]. Lived in from the owner's store on; emptied or left, with Release, by
    /// who has the right to trim.
    home: AtomicU8,
}

/// One value of a key, from `begin` on. Its bytes: this header, then the row.
#[derive(Debug)]
struct Version {
    begin: u64,
    /// The next older version that somebody may read. Changed only by who holds the right to trim, and only while linked.
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
/// The home of a version that is not linked, or has none yet.
const EMPTY: u8 = 0;
/// The home of a linked version.
const LIVED_IN: u8 = 1;
/// The home of a version that was spliced out. Readers that began before that version, or at it, may stand on it: the next version
/// moves in when the bound has passed its begin (S4).
const LEFT: u8 = 2;
/// The room of a tuple without a home.
const NO_HOME: u16 = u16::MAX;
/// Bytes of a version that are asked for before it is read: the processor itself finds the rest of a long row.
const PREFETCHED_BYTES: usize = 256;
/// Blocks of fewer units than this are kept for reuse.
const POOLED_CLASSES: usize = 2048 / BLOCK;
/// Blocks kept of each size, at most.
const POOLED_BLOCKS: usize = 128;
/// Bytes kept of each size, at most.
const POOLED_BYTES: usize = 64 << 10;

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

/// The right to take versions out of a tuple's chain, until dropped. One thread has it at a time, whoever owns the tuple.
#[derive(Debug)]
pub struct Trimming<'a>(&'a Tuple);

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

    /// The bytes that the tuple and its versions take; without the versions while another thread takes some of them out. The
    /// caller found the tuple under a guard that it still has.
    pub fn size_about(&self) -> usize {
        match self.try_trim() {
            Some(_trimming) => self.size_with_versions(),
            None => self.own_size(),
        }
    }

    /// The bytes that the tuple and its versions take. The caller has it to itself, killed it, or has the right to trim it.
    pub fn size_with_versions(&self) -> usize {
        let mut bytes = self.own_size();
        let mut version = self.newest();
        while let Some(counted) = version {
            bytes += counted.size();
            version = counted.older();
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
                versions: AtomicU32::new(0),
                key: key_at,
                key_length: u16::try_from(key.len()).expect("the limit on keys is below 64 KiB"),
                room,
                trimming: AtomicBool::new(false),
                home: AtomicU8::new(EMPTY),
            });
        }
        tuple
    }

    /// Frees a tuple and its versions.
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
            // SAFETY: the chain is ours alone now.
            unsafe {
                version = *(*dead.as_ptr()).older.get_mut();
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
    /// The caller owns the tuple, or holds the right to trim it, or nobody else sees it yet; else a newer version may be
    /// installed and this one taken out (registered readers ask for [`Tuple::version_below`], which S2 and S4 protect).
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

    /// From when on the newest version is valid; zero without versions. For a registered transaction under a guard: the version
    /// may be replaced meanwhile, and is not freed before the guard is gone, nor before the transaction has ended if it is
    /// younger than that (S2).
    pub fn newest_begin(&self) -> Timestamp {
        self.newest().map_or(Timestamp::ZERO, VersionRef::begin)
    }

    /// The newest version below `at`, tombstones included. The chain is newest first. Source: vMVCC, section 2.
    ///
    /// `at` belongs to the caller's registered transaction, which outlives the reference's use (S2); the guard lasts as long
    /// as the walk (S4).
    #[inline]
    pub fn version_below(&self, at: Timestamp, _guard: &Guard) -> Option<VersionRef<'_>> {
        self.newest()?.below(at)
    }

    /// The key and the row of a version of this tuple, without a guard; `None` for a tombstone.
    ///
    /// The version is what the caller's registered transaction has found below its timestamp ([`Tuple::version_below`]), and
    /// `space` is borrowed from that transaction's catalog while it is in a statement, so the transaction stays registered for
    /// `'a`. Until it ends the version stays linked (S2), and a tuple with a linked row is not removed: what is removed has
    /// nothing, or a tombstone that is alone or below the bound, which this reader would have found in the row's place.
    #[inline]
    pub fn keep<'a>(&self, version: VersionRef<'_>, _space: &'a Space) -> Option<(&'a [u8], RowRef<'a>)> {
        let row = VersionRef(version.0, PhantomData).row()?;
        // SAFETY: as in `Entry::key`; the tuple lives for `'a`, as argued above.
        let key = unsafe { std::slice::from_raw_parts(self.key.as_ptr(), usize::from(self.key_length)) };
        Some((key, row))
    }

    /// Links a version as the newest: `row` (`None`: a tombstone) from `begin` on. The caller owns the tuple. `bound` is asked for
    /// the bound if need be.
    pub fn install(
        &self,
        begin: Timestamp,
        log_position: LogPosition,
        row: Option<&[u8]>,
        pool: &mut VersionPool,
        bound: impl FnOnce() -> Timestamp,
    ) {
        let bytes = row.unwrap_or_default();
        let (block, blocks) = match self.take_home(bytes.len(), bound) {
            Some(home) => (home, AT_HOME),
            None => pool.take(bytes.len()),
        };
        let newest = self.head.load(Ordering::Relaxed); // Ours: only the owner stores.
        // SAFETY: the block or home is ours alone, aligned, and has room for the header and the row. The newest cannot be trimmed.
        unsafe {
            debug_assert!(NonNull::new(newest).is_none_or(|newest| newest.as_ref().begin < begin.0), "M4");
            block.write(Version {
                begin: begin.0,
                older: AtomicPtr::new(newest),
                log_position: log_position.to_raw(),
                length: row.map_or(TOMBSTONE, |row| row.len() as u32),
                blocks,
            });
            let payload = block.cast::<u8>().add(size_of::<Version>());
            ptr::copy_nonoverlapping(bytes.as_ptr(), payload.as_ptr(), bytes.len());
        }
        self.head.store(block.as_ptr(), Ordering::Release);
        self.versions.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the home for a row of this length, if there is one with room and nobody looks at it. The caller owns the tuple.
    #[inline]
    fn take_home(&self, row: usize, bound: impl FnOnce() -> Timestamp) -> Option<NonNull<Version>> {
        if self.room == NO_HOME || row > usize::from(self.room) {
            return None;
        }
        let (_, offset) = Tuple::layout(usize::from(self.key_length), self.room);
        // SAFETY: inside the allocation, which has a home; `key` points into it, behind the header.
        let home = unsafe { self.key.sub(size_of::<Tuple>()).add(offset) }.cast::<Version>();
        // Acquire: nobody looks any more at the version that was there.
        let is_free = match self.home.load(Ordering::Acquire) {
            EMPTY => true,
            // SAFETY: a version was there, and its header stays until the next one moves in.
            LEFT => unsafe { home.as_ref() }.begin < bound().0,
            _ => false,
        };
        is_free.then(|| {
            self.home.store(LIVED_IN, Ordering::Relaxed);
            home
        })
    }

    /// Gives the home of a version back.
    ///
    /// # Safety
    /// The version is at home here, and has been cut off by the caller.
    unsafe fn leave_home(&self, version: NonNull<Version>) {
        // SAFETY: the caller's alone.
        unsafe { poison(version, usize::from(self.room)) };
        self.home.store(EMPTY, Ordering::Release);
    }

    /// Returns the number of linked versions.
    #[inline]
    pub fn version_count(&self) -> usize {
        self.versions.load(Ordering::Relaxed) as usize // A count publishes nothing.
    }

    /// Takes the right to trim; `None` if another thread has it.
    pub fn try_trim(&self) -> Option<Trimming<'_>> {
        // Made only by whoever has the right: dropping it gives the right up.
        (!self.trimming.swap(true, Ordering::Acquire)).then(|| Trimming(self))
    }

    /// Takes the right to trim; spins while another thread has it.
    pub fn trim(&self) -> Trimming<'_> {
        let mut backoff = Backoff::new();
        loop {
            match self.try_trim() {
                Some(trimming) => return trimming,
                None => backoff.pause(),
            }
        }
    }

    /// Returns what is left of the key for transactions at or above `bound`, and for the snapshots of the horizon. The caller
    /// need not own the tuple, nor be registered.
    pub fn key_state(&self, bound: Timestamp, horizon: &Horizon) -> KeyState {
        self.trim().key_state(bound, horizon)
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

impl Trimming<'_> {
    /// Cuts off every version that is unreadable at or above `bound` (M5): all behind the newest below it. Returns how
    /// many went back to the pool.
    pub fn cut(&self, bound: Timestamp, pool: &mut VersionPool) -> usize {
        let Some(last) = self.0.newest().and_then(|newest| newest.below(bound)) else { return 0 };
        debug_assert!(last.begin() < bound, "M5: the newest version below the bound stays");
        // AcqRel: what the versions' writers stored is there for the next user of the blocks.
        let mut version = last.version().older.swap(ptr::null_mut(), Ordering::AcqRel);
        let mut count = 0;
        while let Some(dead) = NonNull::new(version) {
            // SAFETY: cut off by us, and no registered transaction returns it or walks over it (S2, S4): it is ours alone.
            let blocks = unsafe {
                version = dead.as_ref().older.load(Ordering::Relaxed);
                dead.as_ref().blocks
            };
            match blocks {
                // SAFETY: as above.
                AT_HOME => unsafe { self.0.leave_home(dead) },
                _ => pool.recycle(dead),
            }
            count += 1;
        }
        self.forget(count)
    }

    /// Splices out every version that no snapshot of the horizon can read (M5), and returns how many. The newest stays. They
    /// are counted no more from here on.
    pub fn splice(&self, horizon: &Horizon, meter: &Meter, guard: &Guard) -> usize {
        let (mut kept, mut count) = (self.0.newest(), 0);
        while let Some(last) = kept {
            let run = Run::behind(last, horizon);
            if let Some(first) = last.older().filter(|_| run.count > 0) {
                let to = run.next.map_or(ptr::null_mut(), |next| next.0.as_ptr());
                // Release: whoever walks here finds the next version's bytes.
                last.version().older.store(to, Ordering::Release);
                if first.is_at_home() {
                    self.0.home.store(LEFT, Ordering::Release);
                } else {
                    // SAFETY: unlinked just now, by whoever has the right to.
                    unsafe { retire_run(first.0, run.count, run.bytes, guard) };
                    meter.credit(run.bytes);
                }
                count += run.count;
                continue; // There may be more behind what was at home, or it itself.
            }
            kept = run.next;
        }
        self.forget(count)
    }

    /// The newest version. Writers may install meanwhile, but no other thread removes the one that is returned.
    pub fn newest(&self) -> Option<VersionRef<'_>> {
        self.0.newest()
    }

    /// Returns what is left of the key for transactions at or above `bound`, and for the snapshots of the horizon.
    pub fn key_state(&self, bound: Timestamp, horizon: &Horizon) -> KeyState {
        let Some(newest) = self.newest() else {
            return KeyState::Nothing { begin: Timestamp::ZERO, log_position: LogPosition::ZERO };
        };
        let begin = newest.begin();
        let is_alone = newest.older().is_none();
        match newest.is_tombstone() {
            false if is_alone => KeyState::Row,
            // Alone, it says what its absence says: nobody reads a row of this key below it.
            true if begin < bound || is_alone && begin < horizon.floor() => {
                KeyState::Nothing { begin, log_position: newest.log_position() }
            }
            _ => KeyState::Until(begin),
        }
    }

    fn forget(&self, count: u32) -> usize {
        if count > 0 {
            self.0.versions.fetch_sub(count, Ordering::Relaxed);
        }
        count as usize
    }
}

/// Versions behind one another that no snapshot can read: either all have blocks of their own, or it is the one at home alone.
struct Run<'a> {
    count: u32,
    /// Size of their blocks.
    bytes: usize,
    /// The version behind them.
    next: Option<VersionRef<'a>>,
}

impl<'a> Run<'a> {
    /// The run behind a version, perhaps an empty one.
    fn behind(last: VersionRef<'a>, horizon: &Horizon) -> Run<'a> {
        let mut run = Run { count: 0, bytes: 0, next: last.older() };
        while let Some(version) = run.next.filter(|version| !horizon.needs(version.begin(), last.begin())) {
            debug_assert!(version.begin() < last.begin(), "M4");
            if version.is_at_home() && run.count > 0 {
                break;
            }
            run.bytes += version.size();
            run.count += 1;
            run.next = version.older();
            if version.is_at_home() {
                break;
            }
        }
        run
    }
}

impl Drop for Trimming<'_> {
    fn drop(&mut self) {
        self.0.trimming.store(false, Ordering::Release);
    }
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

    #[inline]
    fn older(self) -> Option<VersionRef<'a>> {
        NonNull::new(self.version().older.load(Ordering::Acquire)).map(|version| VersionRef(version, PhantomData))
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

/// Free version blocks of one workspace, by size. "No malloc on hot paths": a steady writer gets back what it replaced.
#[derive(Debug)]
pub struct VersionPool {
    classes: [Vec<NonNull<Version>>; POOLED_CLASSES],
    /// Counts every block from its allocation to its return, in the pool or not: whoever takes one from the pool counts nothing.
    meter: Arc<Meter>,
}

// SAFETY: the blocks are the pool's alone.
unsafe impl Send for VersionPool {}
// SAFETY: a shared reference to a pool gives access to nothing.
unsafe impl Sync for VersionPool {}

/// The bytes that a version with a row of this length takes.
pub fn version_size(row_length: usize) -> usize {
    (size_of::<Version>() + row_length).div_ceil(BLOCK) * BLOCK
}

impl VersionPool {
    /// An empty pool.
    pub fn new(meter: Arc<Meter>) -> VersionPool {
        VersionPool { classes: std::array::from_fn(|_| Vec::new()), meter }
    }

    /// The bytes that wait in it for reuse.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.classes.iter().enumerate().map(|(blocks, class)| class.len() * blocks * BLOCK).sum()
    }

    /// A block for a version with a row of this length, and its size in units of [`BLOCK`].
    fn take(&mut self, row_length: usize) -> (NonNull<Version>, u32) {
        let blocks = u32::try_from(version_size(row_length) / BLOCK).expect("rows are at most 4 MB");
        if let Some(block) = self.classes.get_mut(blocks as usize).and_then(Vec::pop) {
            return (block, blocks);
        }
        let layout = Version::layout(blocks);
        self.meter.charge(layout.size());
        // SAFETY: a version has at least one block, so the size is not zero.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        (block.cast(), blocks)
    }

    fn recycle(&mut self, version: NonNull<Version>) {
        // SAFETY: the caller's alone.
        let blocks = unsafe { version.as_ref() }.blocks;
        let bytes = blocks as usize * BLOCK;
        // SAFETY: as above.
        unsafe { poison(version, bytes - size_of::<Version>()) };
        match self.classes.get_mut(blocks as usize) {
            Some(class) if class.len() < POOLED_BLOCKS && (class.len() + 1) * bytes <= POOLED_BYTES => {
                class.push(version);
            }
            _ => {
                self.meter.credit(bytes);
                // SAFETY: the caller's alone, and now ours.
                unsafe { free_version(version) };
            }
        }
    }
}

impl Drop for VersionPool {
    fn drop(&mut self) {
        for (blocks, class) in self.classes.iter_mut().enumerate() {
            self.meter.credit(blocks * BLOCK * class.len());
            for version in class.drain(..) {
                // SAFETY: the pool's alone.
                unsafe { free_version(version) };
            }
        }
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

    /// A tuple that nobody else knows, with versions of `row` from each of these timestamps on. The caller frees it.
    fn tuple(begins: &[u64], row: &[u8], pool: &mut VersionPool) -> NonNull<Tuple> {
        let address = Tuple::allocate(b"key", Ownership::free(), 0, Some(row.len()));
        // SAFETY: allocated just now.
        let tuple = unsafe { address.as_ref() };
        begins.iter().for_each(|&begin| install(tuple, begin, row, pool, 0));
        address
    }

    fn install(tuple: &Tuple, begin: u64, row: &[u8], pool: &mut VersionPool, bound: u64) {
        tuple.install(Timestamp(begin), LogPosition::ZERO, Some(row), pool, || Timestamp(bound));
    }

    fn newest_is_at_home(tuple: &Tuple) -> bool {
        tuple.newest().expect("it has versions").is_at_home()
    }

    #[test]
    fn versions_of_a_row_live_at_home_and_in_a_block_in_turn() {
        let mut pool = VersionPool::new(Arc::default());
        let address = tuple(&[10], b"row", &mut pool);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        assert!(newest_is_at_home(tuple));
        for round in 2..6 {
            install(tuple, 10 * round, b"row", &mut pool, 0);
            assert_eq!(newest_is_at_home(tuple), round % 2 == 1);
            assert_eq!(tuple.trim().cut(Timestamp(10 * round + 1), &mut pool), 1);
        }
        install(tuple, 100, &[7; LONGEST_AT_HOME], &mut pool, 0);
        assert!(!newest_is_at_home(tuple), "it has grown");
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
        assert_eq!(tuple.trim().splice(&horizon, &Meter::default(), &guard), 2);
        assert_eq!(tuple.version_count(), 1);
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
    fn one_at_a_time_has_the_right_to_trim() {
        let address = Tuple::allocate(b"key", Ownership::free(), 0, None);
        // SAFETY: allocated just now, and freed below.
        let tuple = unsafe { address.as_ref() };
        let held = tuple.try_trim().expect("nobody has it");
        assert!(tuple.try_trim().is_none());
        assert!(tuple.try_trim().is_none(), "an attempt that fails takes the right from nobody");
        drop(held);
        assert!(tuple.try_trim().is_some());
        // SAFETY: nobody else knows it.
        unsafe { Tuple::free(address) };
    }
}

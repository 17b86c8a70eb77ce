//! Tuples and versions: the memory of the engine, and most of its `unsafe`.
//!
//! ```text
//! index ---> Tuple { ownership, head, pins, key } ---> Version{ begin 40 } ---> Version{ begin 12 } ---> null
//!                                                       newest first; immutable once linked
//! ```
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
//!   stays, and leads on to the version that the reader seeks (S4).
//!
//! The last versions of a killed tuple are freed with it.
//!
//! Versions are never overwritten, so readers copy payloads without races (docs/decisions/0002).

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
use parts::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

pub use space::Space;

/// A key and all its versions. Its bytes: this header, then the key.
#[derive(Debug)]
pub struct Tuple {
    /// Owner and last-read stamp.
    pub ownership: Ownership,
    /// Newest version; null in a tuple that an unfinished or aborted insert left. Stored by the owner with Release, loaded
    /// with Acquire: publishes the version's bytes.
    head: AtomicPtr<Version>,
    /// Pins that keep it from being killed.
    pins: Pins,
    /// Held by the one thread that takes versions out of the chain. Acquire and Release: each sees the chain as the one
    /// before left it.
    trimming: AtomicBool,
    key_length: u16,
    /// Versions in the chain.
    versions: AtomicU32,
    /// The key's bytes, behind this header in the same allocation.
    key: NonNull<u8>,
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
    /// Size of the block, in units of [`BLOCK`].
    blocks: u16,
}

const TOMBSTONE: u32 = u32::MAX;
/// Versions are allocated in multiples of a cache line.
const BLOCK: usize = 64;
/// Bytes of a version that are asked for before it is read: the processor itself finds the rest of a long row.
const PREFETCHED_BYTES: usize = 4 * BLOCK;
/// Blocks up to this many units are kept for reuse.
const POOLED_CLASSES: usize = 32;
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
    fn layout(key_length: usize) -> Layout {
        Layout::new::<Tuple>()
            .extend(Layout::array::<u8>(key_length).expect("keys are short"))
            .expect("keys are short")
            .0
    }

    /// The bytes that a tuple without versions takes.
    pub fn size(key_length: usize) -> usize {
        Tuple::layout(key_length).size()
    }

    /// The bytes that the tuple and its versions take; without the versions while another thread takes some of them out. The
    /// caller found the tuple under a guard that it still has.
    pub fn size_about(&self) -> usize {
        match self.try_trim() {
            Some(_trimming) => self.size_with_versions(),
            None => Tuple::size(usize::from(self.key_length)),
        }
    }

    /// The bytes that the tuple and its versions take. The caller has it to itself, killed it, or has the right to trim it.
    pub fn size_with_versions(&self) -> usize {
        let mut bytes = Tuple::size(usize::from(self.key_length));
        let mut version = self.newest();
        while let Some(counted) = version {
            bytes += counted.size();
            version = counted.older();
        }
        bytes
    }

    /// A tuple without versions, outside any index, with `pins` pins.
    pub fn allocate(key: &[u8], ownership: Ownership, pins: u32) -> NonNull<Tuple> {
        let layout = Tuple::layout(key.len());
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
                trimming: AtomicBool::new(false),
                versions: AtomicU32::new(0),
                key_length: u16::try_from(key.len()).expect("the limit on keys is below 64 KiB"),
                key: key_at,
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
        let (key_length, mut version) = unsafe { ((*tuple.as_ptr()).key_length, *(*tuple.as_ptr()).head.get_mut()) };
        while let Some(dead) = NonNull::new(version) {
            // SAFETY: the chain is ours alone now.
            unsafe {
                version = *(*dead.as_ptr()).older.get_mut();
                free_version(dead);
            }
        }
        // SAFETY: allocated by `Tuple::allocate` with this layout.
        unsafe { dealloc(tuple.as_ptr().cast(), Tuple::layout(usize::from(key_length))) };
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

    /// Asks for the tuple and the first bytes of its key.
    pub fn prefetch(&self) {
        prefetch(self, size_of::<Tuple>() + size_of::<u64>());
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

    /// Links a version as the newest. The caller owns the tuple.
    pub fn install(&self, block: NewVersion) {
        let version = block.0;
        let newest = self.head.load(Ordering::Relaxed); // Ours: only the owner stores.
        // SAFETY: the block is not shared yet; the old newest cannot be trimmed, since it is the newest.
        unsafe {
            let version = &mut *version.as_ptr();
            version.older = AtomicPtr::new(newest);
            debug_assert!(NonNull::new(newest).is_none_or(|newest| newest.as_ref().begin < version.begin), "M4");
        }
        self.head.store(version.as_ptr(), Ordering::Release);
        self.versions.fetch_add(1, Ordering::Relaxed);
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
            version = unsafe { dead.as_ref() }.older.load(Ordering::Relaxed);
            pool.recycle(dead);
            count += 1;
        }
        self.forget(count)
    }

    /// Splices out every version that no snapshot of the horizon can read (M5), and returns how many. The newest stays. They
    /// are counted no more from here on.
    pub fn splice(&self, horizon: &Horizon, meter: &Meter, guard: &Guard) -> usize {
        let (mut kept, mut count) = (self.0.newest(), 0);
        while let Some(last) = kept {
            let first = last.older();
            let (mut next, mut run, mut bytes) = (first, 0, 0);
            while let Some(version) = next.filter(|version| !horizon.needs(version.begin(), last.begin())) {
                debug_assert!(version.begin() < last.begin(), "M4");
                bytes += version.size();
                next = version.older();
                run += 1;
            }
            if let Some(first) = first.filter(|_| run > 0) {
                let to = next.map_or(ptr::null_mut(), |next| next.0.as_ptr());
                // Release: whoever walks here finds the next version's bytes.
                last.version().older.store(to, Ordering::Release);
                // SAFETY: unlinked just now, by whoever has the right to.
                unsafe { retire_run(first.0, run, bytes, guard) };
                meter.credit(bytes);
                count += run;
            }
            kept = next;
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

/// # Safety
/// The version is the caller's alone.
unsafe fn free_version(version: NonNull<Version>) {
    // SAFETY: the caller's alone; allocated by `VersionPool::take` with this layout.
    unsafe {
        let layout = Version::layout(version.as_ref().blocks);
        poison(version);
        dealloc(version.as_ptr().cast(), layout);
    }
}

/// The poison of a freed version: its begin, and each byte of its row. Later than every timestamp.
const POISON: u8 = 0xDB;
const POISONED: u64 = u64::from_ne_bytes([POISON; 8]);

/// Overwrites a freed version with a pattern, in debug builds: a reader that still uses it fails an assertion (S2), also before
/// its block is reused.
///
/// # Safety
/// The version is the caller's alone.
unsafe fn poison(version: NonNull<Version>) {
    if cfg!(debug_assertions) {
        // SAFETY: as the caller says; the block has a header, and the bytes behind it are a row's.
        unsafe {
            let bytes = Version::layout(version.as_ref().blocks).size() - size_of::<Version>();
            version.cast::<u8>().add(size_of::<Version>()).write_bytes(POISON, bytes);
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

    /// The bytes that it takes.
    pub fn size(self) -> usize {
        usize::from(self.version().blocks) * BLOCK
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
    fn layout(blocks: u16) -> Layout {
        Layout::from_size_align(usize::from(blocks) * BLOCK, BLOCK).expect("rows are at most 4 MB")
    }
}

/// A version that is not linked yet.
#[derive(Debug)]
#[must_use = "an unlinked version leaks"]
pub struct NewVersion(NonNull<Version>);

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
        VersionPool { classes: Default::default(), meter }
    }

    /// A version of `row` (`None`: a tombstone) from `begin` on.
    pub fn allocate(&mut self, begin: Timestamp, log_position: LogPosition, row: Option<&[u8]>) -> NewVersion {
        let bytes = row.unwrap_or_default();
        let blocks = u16::try_from(version_size(bytes.len()) / BLOCK).expect("rows are at most 4 MB");
        let block = self.take(blocks);
        let length = row.map_or(TOMBSTONE, |row| row.len() as u32);
        // SAFETY: the block is ours alone, aligned, and has room for the header and the row.
        unsafe {
            block.write(Version {
                begin: begin.0,
                older: AtomicPtr::new(ptr::null_mut()),
                log_position: log_position.to_raw(),
                length,
                blocks,
            });
            let payload = block.cast::<u8>().add(size_of::<Version>());
            ptr::copy_nonoverlapping(bytes.as_ptr(), payload.as_ptr(), bytes.len());
        }
        NewVersion(block)
    }

    /// The bytes that wait in it for reuse.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.classes.iter().enumerate().map(|(blocks, class)| class.len() * blocks * BLOCK).sum()
    }

    fn take(&mut self, blocks: u16) -> NonNull<Version> {
        if let Some(block) = self.classes.get_mut(usize::from(blocks)).and_then(Vec::pop) {
            return block;
        }
        let layout = Version::layout(blocks);
        self.meter.charge(layout.size());
        // SAFETY: a version has at least one block, so the size is not zero.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        block.cast()
    }

    fn recycle(&mut self, version: NonNull<Version>) {
        // SAFETY: the caller's alone.
        let blocks = unsafe {
            poison(version);
            version.as_ref().blocks
        };
        let bytes = usize::from(blocks) * BLOCK;
        match self.classes.get_mut(usize::from(blocks)) {
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

    #[test]
    fn one_at_a_time_has_the_right_to_trim() {
        let address = Tuple::allocate(b"key", Ownership::free(), 0);
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

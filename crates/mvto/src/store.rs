//! Tuples and versions: the memory of the engine, and most of its `unsafe`.
//!
//! ```text
//! index ---> Tuple { ownership, head, pins, key } ---> Version{ begin 40 } ---> Version{ begin 12 } ---> null
//!                                                       newest first; immutable once linked
//! ```
//!
//! Who keeps what alive:
//! - a **tuple** is in its index until it is killed there, then freed through the epoch; whoever holds one beyond an epoch
//!   guard has *pinned* it (write sets and the garbage queue), and a pinned tuple is never killed (S1);
//! - a **version** is linked until trimmed; a version that is the newest below some registered timestamp is never trimmed
//!   (M5), and the stamp-first rule (M3) means that a registered reader looks at no other. So versions need no epoch: they
//!   are recycled at once (S2). The last version of a killed tuple is freed with it.
//!
//! Versions are never overwritten, so readers copy payloads without races (docs/decisions/0002).

mod space;

use crate::ownership::Ownership;
use model::{LogPosition, RowRef, Timestamp};
use parts::epoch::Guard;
use parts::index::Entry;
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
    /// Who owns it and who has read it last.
    pub ownership: Ownership,
    /// Newest version; null in a tuple that an unfinished or aborted insert left. Stored by the owner with Release, loaded
    /// with Acquire: publishes the version's bytes.
    head: AtomicPtr<Version>,
    /// Who keeps it from being killed: 1 per write set or garbage entry.
    pins: AtomicU32,
    /// Held by the one thread that cuts the chain. Acquire and Release: each sees the chain as the one before left it.
    trimming: AtomicBool,
    key_length: u16,
    /// Versions in the chain, for the limit on them.
    versions: AtomicU32,
    /// The key's bytes, behind this header in the same allocation.
    key: NonNull<u8>,
}

/// One value of a key, from `begin` on. Its bytes: this header, then the row.
#[derive(Debug)]
struct Version {
    begin: u64,
    /// The next older version. Cut (to null) by the trimmer only.
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
/// Blocks up to this many units are kept for reuse.
const POOLED_CLASSES: usize = 32;
/// Blocks kept of each size.
const POOLED_BLOCKS: usize = 128;

/// What is left of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// A row, or versions that somebody may still read.
    Something,
    /// A tombstone that everybody sees, or no version at all.
    Nothing {
        /// The end of the tombstone's redo record.
        log_position: LogPosition,
    },
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

    /// The bytes that the tuple and its versions take. The caller has it to itself, or killed it.
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
                pins: AtomicU32::new(pins),
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
    /// Nobody can reach the tuple any more.
    pub unsafe fn free(tuple: NonNull<Tuple>) {
        // SAFETY: the caller's promise: it is ours alone now.
        let (key_length, mut version) =
            unsafe { (tuple.as_ref().key_length, tuple.as_ref().head.load(Ordering::Acquire)) };
        while let Some(dead) = NonNull::new(version) {
            // SAFETY: the chain is ours alone now, and each version was allocated by `VersionPool::allocate`.
            unsafe {
                version = dead.as_ref().older.load(Ordering::Acquire);
                dealloc(dead.as_ptr().cast(), Version::layout(dead.as_ref().blocks));
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
        space.meter().credit(unsafe { tuple.as_ref() }.size_with_versions());
        let tuple = TupleAddress(tuple);
        // SAFETY: whoever found the tuple in the index did so under a guard pinned before now; nobody else can (caller).
        unsafe {
            guard.defer_unchecked(move || {
                let tuple = tuple;
                Tuple::free(tuple.0);
            });
        }
    }

    /// The newest version.
    ///
    /// The caller owns the tuple, or holds the right to trim it, or nobody else sees it yet; else a newer version may be
    /// installed and this one recycled (registered readers ask for [`Tuple::version_below`], which S2 protects).
    pub fn newest(&self) -> Option<VersionRef<'_>> {
        NonNull::new(self.head.load(Ordering::Acquire)).map(|version| VersionRef(version, PhantomData))
    }

    /// The newest version below `at`, tombstones included. The chain is newest first. Source: vMVCC, section 2.
    ///
    /// `at` belongs to the caller's registered transaction, which outlives the reference's use (S2).
    pub fn version_below(&self, at: Timestamp) -> Option<VersionRef<'_>> {
        let mut version = self.newest()?;
        while version.begin() >= at {
            version = version.older()?;
        }
        Some(version)
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

    /// How many versions are linked.
    pub fn version_count(&self) -> usize {
        self.versions.load(Ordering::Relaxed) as usize // A count publishes nothing.
    }

    /// Cuts off every version that nobody at or above `bound` can read (M5): all behind the newest below it. Returns how
    /// many went back to the pool; `None` if somebody else is trimming.
    pub fn trim(&self, bound: Timestamp, pool: &mut VersionPool) -> Option<usize> {
        if self.trimming.swap(true, Ordering::Acquire) {
            return None;
        }
        let cut = self.version_below(bound).map_or(ptr::null_mut(), |last| {
            // SAFETY: `last` stays linked: only the trimmer, which we are, cuts.
            unsafe { last.0.as_ref() }.older.swap(ptr::null_mut(), Ordering::AcqRel)
        });
        self.trimming.store(false, Ordering::Release);
        let (mut version, mut count) = (cut, 0);
        while let Some(dead) = NonNull::new(version) {
            // SAFETY: cut off by us, and no registered transaction reads it (S2): it is ours alone.
            version = unsafe { dead.as_ref() }.older.load(Ordering::Relaxed);
            pool.recycle(dead);
            count += 1;
        }
        self.versions.fetch_sub(count, Ordering::Relaxed);
        Some(count as usize)
    }

    /// What is left of the key for those at or above `bound`.
    ///
    /// The asker may be unregistered and need not own the tuple: writers may install meanwhile, but as long as we hold the
    /// right to trim, nobody recycles the version that we look at.
    pub fn remains(&self, bound: Timestamp) -> Remains {
        let mut backoff = Backoff::new();
        while self.trimming.swap(true, Ordering::Acquire) {
            backoff.pause();
        }
        let remains = match self.newest() {
            None => Remains::Nothing { log_position: LogPosition::ZERO },
            Some(newest) if newest.is_tombstone() && newest.begin() < bound => {
                Remains::Nothing { log_position: newest.log_position() }
            }
            Some(_) => Remains::Something,
        };
        self.trimming.store(false, Ordering::Release);
        remains
    }

    /// Whether nobody has it pinned. Asked after the kill (S1).
    pub fn is_unpinned(&self) -> bool {
        self.pins.load(Ordering::SeqCst) == 0
    }

    fn pin(&self) {
        // SeqCst: before the look at the owner word that follows; partner of `is_pinned_once_only` (S1).
        self.pins.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether the asker's pin is the only one. Asked after the kill (S1).
    pub fn is_pinned_once_only(&self) -> bool {
        self.pins.load(Ordering::SeqCst) == 1
    }
}

impl<'a> VersionRef<'a> {
    fn version(self) -> &'a Version {
        // SAFETY: protected for `'a` (S2); the header is immutable but for `older`, which is atomic.
        unsafe { self.0.as_ref() }
    }

    fn older(self) -> Option<VersionRef<'a>> {
        NonNull::new(self.version().older.load(Ordering::Acquire)).map(|version| VersionRef(version, PhantomData))
    }

    /// From when on it is valid.
    pub fn begin(self) -> Timestamp {
        Timestamp(self.version().begin)
    }

    /// The end of its redo record.
    pub fn log_position(self) -> LogPosition {
        LogPosition(self.version().log_position)
    }

    /// The bytes that it takes.
    pub fn size(self) -> usize {
        usize::from(self.version().blocks) * BLOCK
    }

    /// Whether it says that the key is absent.
    pub fn is_tombstone(self) -> bool {
        self.version().length == TOMBSTONE
    }

    /// The row; `None` for a tombstone.
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
                log_position: log_position.0,
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
        let blocks = unsafe { version.as_ref() }.blocks;
        match self.classes.get_mut(usize::from(blocks)) {
            Some(class) if class.len() < POOLED_BLOCKS => class.push(version),
            _ => {
                let layout = Version::layout(blocks);
                self.meter.credit(layout.size());
                // SAFETY: allocated by `take` with this layout.
                unsafe { dealloc(version.as_ptr().cast(), layout) };
            }
        }
    }
}

impl Drop for VersionPool {
    fn drop(&mut self) {
        for (blocks, class) in self.classes.iter_mut().enumerate() {
            let layout = Version::layout(blocks as u16);
            self.meter.credit(layout.size() * class.len());
            for version in class.drain(..) {
                // SAFETY: the pool's alone, allocated by `take` with this layout.
                unsafe { dealloc(version.as_ptr().cast(), layout) };
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
        tuple.pin();
        let pinned = Pinned(NonNull::from(tuple));
        if tuple.ownership.holder() == crate::ownership::Holder::Dead {
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
    pub fn unpin(self) {
        self.pins.fetch_sub(1, Ordering::Release);
    }
}

impl Deref for Pinned {
    type Target = Tuple;
    fn deref(&self) -> &Tuple {
        // SAFETY: pinned, so not killed, so not freed (S1); the table is there (type's documentation).
        unsafe { self.0.as_ref() }
    }
}

/// A tuple's address on its way to the epoch's collector.
struct TupleAddress(NonNull<Tuple>);
// SAFETY: a tuple may be freed by any thread.
unsafe impl Send for TupleAddress {}

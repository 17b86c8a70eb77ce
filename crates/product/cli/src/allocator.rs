//! The command's allocator: mimalloc, and a reserve for the moment when the system has nothing left.
//!
//! mimalloc, because it gives back what large statements and deleted rows have used, whichever thread freed it (the C library's
//! arenas keep it: docs/decisions/0023). The reserve, because a failed allocation ends the process: large requests are tried
//! before they are made (`sql::memory`, the engine's write buffers), and the small ones that cannot be are served from it.
//! Statements that grow end with 53200 while it is in use (`memory::check_reserve`), so that it is not used up.

use mimalloc::MiMalloc;
use sql::types::memory;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

/// mimalloc with a reserve.
pub struct WithReserve(Reserve);

/// Memory of the program's own image: pages that are never touched are addresses and no more. It is no memory that mimalloc has
/// given up: which thread finds that again, and for which sizes, is mimalloc's affair.
struct Reserve {
    memory: UnsafeCell<Memory>,
    blocks: Mutex<Blocks>,
}

#[repr(align(4096))]
struct Memory {
    _bytes: [MaybeUninit<u8>; RESERVE],
}

/// What is free of the reserve. Blocks have sizes of powers of two, and are aligned to their sizes or to pages; so the halves of a
/// block are blocks.
struct Blocks {
    /// Free blocks of each size.
    free: [Option<NonNull<FreeBlock>>; SIZES],
    /// The rest, from this offset on, has never been used.
    unused: usize,
    /// Bytes that are handed out.
    taken: usize,
    /// Whether a block has become free since blocks were merged.
    may_merge: bool,
    /// Which units of the smallest size are free, while blocks are merged.
    map: [u64; RESERVE >> SMALLEST >> WORD],
}

struct FreeBlock {
    next: Option<NonNull<FreeBlock>>,
}

const RESERVE: usize = 256 << 20;
/// The smallest block, in bits of its size.
const SMALLEST: u32 = 4;
/// Units in a word of the map, in bits of their number.
const WORD: u32 = u64::BITS.trailing_zeros();
/// Requests up to this size are served. Larger ones are tried before they are made, and so are some of these; but what was tried may be
/// another thread's a moment later, and batches of long texts have some megabytes.
const SERVED: usize = 8 * memory::PIECE;
const SIZES: usize = (SERVED.trailing_zeros() - SMALLEST + 1) as usize;
const ALIGNMENT: usize = align_of::<Memory>();

// SAFETY: the memory is handed out in blocks that do not overlap, under the lock; their pointers belong to no thread.
unsafe impl Sync for Reserve {}
// SAFETY: free blocks belong to whoever has the lock.
unsafe impl Send for Blocks {}

impl Reserve {
    const fn new() -> Reserve {
        let memory = Memory { _bytes: [const { MaybeUninit::uninit() }; RESERVE] };
        Reserve {
            memory: UnsafeCell::new(memory),
            blocks: Mutex::new(Blocks {
                free: [None; SIZES],
                unused: 0,
                taken: 0,
                may_merge: false,
                map: [0; RESERVE >> SMALLEST >> WORD],
            }),
        }
    }

    /// Returns whether a block is the reserve's.
    #[inline]
    fn contains(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.memory.get().addr()) < RESERVE
    }

    /// A block; null if there is none of its size, or none that large.
    #[cold]
    fn allocate(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size_of_block(layout) else { return ptr::null_mut() };
        memory::set_reserve_in_use();
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let free = blocks.take(size).or_else(|| self.take_unused(&mut blocks, size)).or_else(|| blocks.split(size));
        let free = free.or_else(|| {
            blocks.merge(self.memory.get().cast());
            blocks.take(size).or_else(|| blocks.split(size))
        });
        let Some(block) = free else { return ptr::null_mut() };
        blocks.count(|taken| taken + size);
        block.as_ptr().cast()
    }

    /// A block of what has never been used.
    fn take_unused(&self, blocks: &mut Blocks, size: usize) -> Option<NonNull<FreeBlock>> {
        let start = blocks.unused.next_multiple_of(size.min(ALIGNMENT));
        if start + size > RESERVE {
            return None;
        }
        blocks.unused = start + size;
        // SAFETY: within the memory.
        NonNull::new(unsafe { self.memory.get().cast::<u8>().add(start) }.cast())
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from [`Reserve::allocate`] by this layout, and nobody uses it any more.
    #[cold]
    unsafe fn release(&self, block: *mut u8, layout: Layout) {
        let (Some(size), Some(block)) = (size_of_block(layout), NonNull::new(block.cast::<FreeBlock>())) else {
            return;
        };
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.put(block, size);
        blocks.may_merge = true;
        blocks.count(|taken| taken.saturating_sub(size));
        if blocks.taken == 0 {
            // Whole again, whatever sizes the last ones had.
            (blocks.free, blocks.unused) = ([None; SIZES], 0);
        }
    }
}

impl Blocks {
    /// Takes a free block of a size.
    fn take(&mut self, size: usize) -> Option<NonNull<FreeBlock>> {
        let free = &mut self.free[place(size)];
        let block = (*free)?;
        // SAFETY: `put` has written it; whoever has the lock has all free blocks.
        *free = unsafe { block.read() }.next;
        Some(block)
    }

    /// Takes a part of the smallest free block that is larger, and puts the other parts back: statements differ in the sizes that they
    /// ask for, and what one of them has left must serve the next.
    fn split(&mut self, size: usize) -> Option<NonNull<FreeBlock>> {
        let larger = (place(size) + 1..SIZES).find(|&place| self.free[place].is_some())?;
        let mut whole = 1 << (larger as u32 + SMALLEST);
        let block = self.take(whole)?;
        while whole > size {
            whole /= 2;
            // SAFETY: the second half of a block of twice this size.
            self.put(unsafe { block.byte_add(whole) }, whole);
        }
        Some(block)
    }

    /// Makes large blocks of small ones that lie behind each other: what is still in use of the reserve may be little, and keep it from
    /// being whole again, while statements that have ended have left it in pieces.
    fn merge(&mut self, base: *mut u8) {
        if !std::mem::take(&mut self.may_merge) {
            return;
        }
        for place in 0..SIZES {
            let mut next = self.free[place].take();
            while let Some(block) = next {
                self.mark(block.addr().get() - base.addr(), 1 << (place as u32 + SMALLEST));
                // SAFETY: `put` has written it; whoever has the lock has all free blocks.
                next = unsafe { block.read() }.next;
            }
        }
        let mut run = None;
        for unit in 0..=self.unused >> SMALLEST {
            let word = self.map.get(unit >> WORD).copied().unwrap_or(0);
            let is_free = word >> (unit % 64) & 1 != 0;
            match run {
                None if is_free => run = Some(unit),
                Some(start) if !is_free => {
                    self.put_run(base, start << SMALLEST, unit << SMALLEST);
                    run = None;
                }
                _ => {}
            }
        }
        self.map.fill(0);
    }

    /// Notes that a block is free.
    fn mark(&mut self, start: usize, size: usize) {
        let (first, units) = (start >> SMALLEST, size >> SMALLEST);
        for unit in (first..first + units).step_by(64) {
            // Blocks of fewer units do not cross words: they are aligned to their sizes.
            let bits = if units >= 64 { u64::MAX } else { ((1 << units) - 1) << (unit % 64) };
            self.map[unit >> WORD] |= bits;
        }
    }

    /// Adds free memory, in blocks as large as they can be.
    fn put_run(&mut self, base: *mut u8, mut start: usize, end: usize) {
        while start < end {
            let mut size = 1 << (end - start).min(SERVED).ilog2();
            while !start.is_multiple_of(size.min(ALIGNMENT)) {
                size /= 2;
            }
            // SAFETY: within the memory.
            let block = NonNull::new(unsafe { base.add(start) }).expect("the reserve has an address");
            self.put(block.cast(), size);
            start += size;
        }
    }

    /// Adds a free block of a size.
    fn put(&mut self, block: NonNull<FreeBlock>, size: usize) {
        let free = &mut self.free[place(size)];
        // SAFETY: no block is smaller or less aligned than this, and it is nobody else's.
        unsafe { block.write(FreeBlock { next: *free }) };
        *free = Some(block);
    }

    fn count(&mut self, change: impl FnOnce(usize) -> usize) {
        self.taken = change(self.taken);
        memory::set_reserve_taken(self.taken);
    }
}

fn size_of_block(layout: Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).max(1 << SMALLEST);
    (size <= SERVED && layout.align() <= ALIGNMENT).then(|| size.next_power_of_two())
}

fn place(size: usize) -> usize {
    (size.trailing_zeros() - SMALLEST) as usize
}

impl WithReserve {
    /// With all of its reserve.
    pub const fn new() -> WithReserve {
        WithReserve(Reserve::new())
    }

    /// Moves a block that mimalloc could not enlarge, or that is the reserve's.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn move_block(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return ptr::null_mut() };
        // SAFETY: the size is not zero, by the caller's promise.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both have so many bytes; the old block is the caller's to give, by its layout.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

// SAFETY: every block comes from mimalloc or the reserve by the layout that it was asked for, and goes back there.
unsafe impl GlobalAlloc for WithReserve {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { MiMalloc.alloc(layout) };
        if block.is_null() { self.0.allocate(layout) } else { block }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { if self.0.contains(block) { self.0.release(block, layout) } else { MiMalloc.dealloc(block, layout) } }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { MiMalloc.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = self.0.allocate(layout);
        if !block.is_null() {
            // SAFETY: a block of at least this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.0.contains(block) {
            // SAFETY: the caller's promise; after a failure the block is as it was.
            let enlarged = unsafe { MiMalloc.realloc(block, layout, size) };
            if !enlarged.is_null() || size > SERVED {
                return enlarged;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.move_block(block, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Blocks of the reserve do not overlap, keep what is written to them, are aligned, and are found again when they are free.
    #[test]
    fn the_reserve_serves_small_requests_until_it_is_used_up() {
        static RESERVE_OF_TEST: Reserve = Reserve::new();
        let reserve = &RESERVE_OF_TEST;
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        assert!(reserve.allocate(layout(SERVED + 1, 1)).is_null() && reserve.allocate(layout(8, 8192)).is_null());
        let sizes = [(1, 1), (17, 16), (900, 8), (4096, 4096), (5000, 64), (98_304, 8), (SERVED, 8)];
        let mut used = 0;
        for _ in 0..3 {
            let mut blocks = BTreeMap::new();
            for (size, align) in sizes.into_iter().cycle() {
                let block = reserve.allocate(layout(size, align));
                if block.is_null() {
                    break;
                }
                assert!(reserve.contains(block) && block.addr().is_multiple_of(align));
                // SAFETY: a block of this size.
                unsafe { block.write_bytes(size as u8, size) };
                blocks.insert(block.addr(), (block, size, align));
            }
            assert!(blocks.len() > 100 && (used == 0 || used == blocks.len()), "all is found again");
            used = blocks.len();
            let mut end = 0;
            for (address, (block, size, align)) in blocks {
                assert!(address >= end, "blocks overlap");
                end = address + size;
                // SAFETY: written above, and given back once.
                unsafe {
                    assert!((0..size).all(|at| block.add(at).read() == size as u8));
                    reserve.release(block, layout(size, align));
                }
            }
        }
    }

    /// What one statement has left in large blocks serves another one that wants small ones.
    #[test]
    fn free_blocks_of_the_reserve_serve_smaller_requests() {
        static RESERVE_OF_TEST: Reserve = Reserve::new();
        let reserve = &RESERVE_OF_TEST;
        let (large, small) = (Layout::new::<[u8; SERVED]>(), Layout::new::<[u64; 3]>());
        let all = || std::iter::from_fn(|| NonNull::new(reserve.allocate(large)));
        let blocks: Vec<_> = all().collect();
        assert!(blocks.len() == RESERVE / SERVED && reserve.allocate(small).is_null());
        // SAFETY: blocks of these sizes, each given back once.
        unsafe {
            reserve.release(blocks[0].as_ptr(), large);
            let parts: Vec<_> = (0..1000).map(|_| reserve.allocate(small)).collect();
            let (first, last) = (blocks[0].addr().get(), blocks[0].addr().get() + SERVED);
            assert!(parts.iter().all(|part| (first..last).contains(&part.addr()) && part.addr() % 8 == 0));
            parts.iter().for_each(|part| part.write_bytes(1, 24));
            parts.iter().for_each(|part| reserve.release(*part, small));
            blocks[1..].iter().for_each(|block| reserve.release(block.as_ptr(), large));
        }
        assert_eq!(all().count(), blocks.len(), "whole again");
    }

    /// What one statement has left in small blocks serves another one that wants large ones, beside a few that are still in use.
    #[test]
    fn free_blocks_of_the_reserve_serve_larger_requests() {
        static RESERVE_OF_TEST: Reserve = Reserve::new();
        let reserve = &RESERVE_OF_TEST;
        let (large, small, odd) =
            (Layout::new::<[u8; SERVED]>(), Layout::new::<[u8; 300]>(), Layout::new::<[u64; 2]>());
        let kept = reserve.allocate(odd);
        let all = |layout| std::iter::from_fn(move || NonNull::new(reserve.allocate(layout))).collect::<Vec<_>>();
        // SAFETY: blocks of these sizes, each given back once.
        unsafe {
            kept.write_bytes(7, 16);
            for _ in 0..2 {
                let blocks = all(small);
                assert!(blocks.len() > RESERVE / 512 - 10 && reserve.allocate(large).is_null());
                blocks.iter().for_each(|block| reserve.release(block.as_ptr(), small));
                let blocks = all(large);
                assert_eq!(blocks.len(), RESERVE / SERVED - 1, "all but what is kept");
                blocks.iter().for_each(|block| block.as_ptr().write_bytes(1, SERVED));
                blocks.iter().for_each(|block| reserve.release(block.as_ptr(), large));
            }
            assert!((0..16).all(|at| kept.add(at).read() == 7));
        }
    }

    #[test]
    fn a_block_of_the_reserve_grows_and_goes_back_there() {
        static ALLOCATOR_OF_TEST: WithReserve = WithReserve::new();
        let layout = Layout::new::<[u8; 100]>();
        let first = ALLOCATOR_OF_TEST.0.allocate(layout);
        // SAFETY: blocks of these sizes, each given back once.
        unsafe {
            first.write_bytes(7, 100);
            let moved = ALLOCATOR_OF_TEST.realloc(first, layout, 1000);
            assert!(!ALLOCATOR_OF_TEST.0.contains(moved) && (0..100).all(|at| moved.add(at).read() == 7));
            assert_eq!(ALLOCATOR_OF_TEST.0.allocate(layout), first, "it was free again");
            ALLOCATOR_OF_TEST.dealloc(moved, Layout::new::<[u8; 1000]>());
        }
    }
}

//! Blocks of versions: those that wait until nobody looks at them, and those that wait to be used.

use super::{BLOCK, Version, free_version, poison};
use crate::retired::{Note, Notes};
use model::Timestamp;
use parts::memory::Meter;
use std::alloc::{alloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

/// Blocks of fewer units than this are kept for reuse.
const POOLED_CLASSES: usize = 2048 / BLOCK;
/// Blocks kept of each size, at most.
const POOLED_BLOCKS: usize = 128;
/// Bytes kept of each size, at most.
const POOLED_BYTES: usize = 64 << 10;

/// The block of a version that is not the tuple's to collect any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Block(NonNull<Version>);

// SAFETY: its owner reads it once nobody else does.
unsafe impl Send for Block {}
// SAFETY: a shared reference to a block gives access to nothing.
unsafe impl Sync for Block {}

impl Block {
    /// The block of a version that has one of its own.
    pub(super) fn of(version: NonNull<Version>) -> Block {
        Block(version)
    }
}

/// Retired versions, each with its block if it was not at home. Dropped with the engine.
#[derive(Debug, Default)]
pub struct RetiredVersions(Notes<Option<Block>>);

impl RetiredVersions {
    /// Adds what a transaction has noted at its timestamp, or the transactions of a batch at theirs, which lie close together.
    #[inline]
    pub fn take_over(&mut self, notes: &mut Vec<Note<Option<Block>>>) {
        while let Some(note) = notes.pop() {
            self.0.push(note);
        }
    }

    /// Gives a pool the blocks of up to `most` of those that nobody looks at any more, and returns how many they were.
    #[inline]
    pub fn give_back(&mut self, bound: Timestamp, most: usize, pool: &mut VersionPool) -> usize {
        let mut given = 0;
        while given < most
            && let Some(block) = self.0.take(bound)
        {
            given += 1;
            if let Some(block) = block {
                pool.recycle(block);
            }
        }
        given
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Drop for RetiredVersions {
    fn drop(&mut self) {
        for Block(version) in self.0.drain().flatten() {
            // SAFETY: no transaction is left that could look at it, and it is in no pool.
            unsafe { free_version(version) };
        }
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
    pub(super) fn take(&mut self, row_length: usize) -> (NonNull<Version>, u32) {
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

    /// Takes a block that nobody looks at any more: one that was cut off, or whose note the bound has passed.
    pub fn recycle(&mut self, Block(version): Block) {
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

//! Stack for recursion: syntax and plans are trees, and a client chooses their depth (within `parse`'s bounds).

/// Stack bytes that must be left before another level of recursion.
const RED_ZONE: usize = 256 << 10;
/// Bytes of the segment that is added if fewer are left.
const SEGMENT: usize = 4 << 20;

/// Runs one level of a recursion over a tree; gives it a new piece of stack when the thread's own is nearly used up.
pub fn deeper<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, level)
}

/// Statements up to this length cannot be deep enough to need room: a level takes at least two bytes, and the walks that do
/// not ask for more stack themselves bear that many.
const SHORT: usize = 512;
/// Stack bytes that a long statement needs.
const ROOM: usize = 48 << 20;
/// Bytes of the segment that is added if fewer are left: address space, of which only touched pages become memory.
const ROOMY_SEGMENT: usize = 64 << 20;

/// Runs what handles a statement of this text on enough stack for the deepest tree that `parse` lets such a text have,
/// whatever thread a program calls from.
pub fn roomy<T>(text_bytes: usize, handle: impl FnOnce() -> T) -> T {
    if text_bytes <= SHORT { handle() } else { stacker::maybe_grow(ROOM, ROOMY_SEGMENT, handle) }
}

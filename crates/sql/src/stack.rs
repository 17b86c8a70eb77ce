//! Room for recursion: syntax and plans are trees, and their depth is a client's choice (within `parse`'s bounds).

/// What must be left of the stack before another level of recursion.
const RED_ZONE: usize = 256 << 10;
/// What is added when it is not.
const SEGMENT: usize = 4 << 20;

/// Runs one level of a recursion over a tree; gives it a new piece of stack when the thread's own is nearly used up.
pub fn deeper<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, level)
}

//! Stack space for recursion: syntax and plans are trees, and a client chooses their depth (within the parser's bounds).

/// Stack bytes that must be left before another level of recursion.
const RED_ZONE: usize = 256 << 10;
/// Bytes of the segment that is added if fewer are left.
const SEGMENT: usize = 4 << 20;

/// Runs one level of a recursion over a tree. Allocates another stack segment first if the thread's stack is nearly used up.
pub fn ensure_stack<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, level)
}

/// Texts up to this length need no more stack than a thread has: a level of nesting takes at least two bytes of text, and the
/// recursions that do not call [`ensure_stack`] are safe at half as many levels.
const SHORT: usize = 512;
/// Stack bytes that a long statement needs.
const STATEMENT_STACK: usize = 80 << 20;
/// Bytes of the segment that is added if fewer are left: address space, of which only touched pages become memory.
const STATEMENT_SEGMENT: usize = 96 << 20;

/// Runs `handle` with enough stack for the deepest tree that the parser accepts in a text of this length, on whatever thread
/// it is called.
pub fn ensure_statement_stack<T>(text_bytes: usize, handle: impl FnOnce() -> T) -> T {
    if text_bytes <= SHORT { handle() } else { stacker::maybe_grow(STATEMENT_STACK, STATEMENT_SEGMENT, handle) }
}

//! Memory limit of a single value. A function allocates a value in one piece, and a failed allocation would end the process, so
//! large pieces are checked before they are allocated. Small ones are not: where the program's allocator keeps a reserve for them,
//! it tells here that the reserve is in use, and statements that grow end before it is used up.

use crate::error::{Error, Result, state};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Smaller pieces are not checked.
pub const PIECE: usize = 1 << 20;
/// Bytes that must stay free beside a piece: for unchecked allocations, and for other threads that have checked and not yet
/// allocated. Untouched addresses cost nothing.
const MARGIN: usize = 16 << 20;
const HINT: &str = "Make it in smaller parts, or raise \"work_mem\", or give the server more by --memory.";

/// Whether the allocator has taken its reserve into use. Relaxed: it orders nothing, and a statement that misses a change sees it at
/// its next row.
static RESERVE_IN_USE: AtomicBool = AtomicBool::new(false);
/// Bytes of the reserve that are handed out.
static RESERVE_TAKEN: AtomicUsize = AtomicUsize::new(0);
/// More than this is a part of the reserve that another statement may not take.
const RESERVE_LOW: usize = 8 << 20;
/// Room in which any allocator finds a place for its own blocks: mimalloc takes 128 MiB at a time, aligned. With less, trials pass
/// that small requests do not, until the reserve is used up.
const SYSTEM_ROOM: usize = 256 << 20;

thread_local! {
    /// Length limit of one value, for the statement on this thread. A pure function has no other way to the statement.
    static LONGEST: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Largest piece that has been checked for the statement.
    static TRIED: Cell<usize> = const { Cell::new(0) };
}

/// Begins a statement on this thread. A single value may have at most `longest` bytes.
pub fn begin_statement(longest: usize) {
    LONGEST.set(longest);
    TRIED.set(0);
}

/// Tells that the program's allocator has served a small request from its reserve, as the system had nothing left.
pub fn set_reserve_in_use() {
    RESERVE_IN_USE.store(true, Ordering::Relaxed);
}

/// Tells how many bytes of the reserve are handed out.
pub fn set_reserve_taken(bytes: usize) {
    RESERVE_TAKEN.store(bytes, Ordering::Relaxed);
}

/// Returns whether small requests are served from the allocator's reserve. Cheap enough for each row.
#[inline]
pub fn is_reserve_in_use() -> bool {
    RESERVE_IN_USE.load(Ordering::Relaxed)
}

/// Checks that the allocator need not use its reserve, or need not any more.
///
/// # Errors
/// 53200.
pub fn check_reserve() -> Result<()> {
    if is_reserve_in_use() {
        // An allocator may find room for a trial among what it has, and none for blocks of another size: where much of the
        // reserve is gone, the room must be the system's.
        let is_low = RESERVE_TAKEN.load(Ordering::Relaxed) > RESERVE_LOW;
        check_room(if is_low { SYSTEM_ROOM } else { 0 })
            .map_err(|_| Error::new(state::OUT_OF_MEMORY, "out of memory: the system has none left").hint(HINT))?;
        RESERVE_IN_USE.store(false, Ordering::Relaxed);
    }
    Ok(())
}

/// Checks that one value, or any other single piece of memory, may have so many bytes. Large ones are allocated once for
/// trial: what is free for one piece now is still there a moment later, or was not much.
///
/// # Errors
/// 53200.
pub fn check_piece(bytes: usize) -> Result<()> {
    if bytes < PIECE || bytes <= TRIED.get() {
        return Ok(());
    }
    if bytes > LONGEST.get() {
        let message = format!("out of memory: one value of {bytes} bytes is more than the statement may hold");
        return Err(Error::new(state::OUT_OF_MEMORY, message).hint(HINT));
    }
    // What grows bit by bit doubles.
    let piece = bytes.checked_next_power_of_two().unwrap_or(bytes);
    TRIED.set(piece);
    check_room(piece).inspect_err(|_| TRIED.set(0))
}

/// Checks that the system has so many bytes, by allocating them for trial.
///
/// # Errors
/// 53200.
pub fn check_room(bytes: usize) -> Result<()> {
    let (mut piece, mut margin) = (Vec::<u8>::new(), Vec::<u8>::new());
    let found = piece.try_reserve_exact(bytes).and_then(|()| margin.try_reserve_exact(MARGIN));
    // Without this the compiler may leave out allocations that nobody uses.
    hint::black_box((&piece, &margin));
    found.map_err(|_| no_room(bytes))
}

/// Checks the room for a large piece; small ones are not checked.
///
/// # Errors
/// 53200.
pub fn check_large(bytes: usize) -> Result<()> {
    if bytes < PIECE { Ok(()) } else { check_room(bytes) }
}

/// Appends to a vector that may become large. Another thread may have taken what was checked a moment ago, so its growth is an
/// allocation that can fail.
///
/// # Errors
/// 53200.
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        values.try_reserve(1).map_err(|_| no_room(2 * values.len() * size_of::<T>()))?;
    }
    values.push(value);
    Ok(())
}

/// Makes room in a vector that may become large, as [`push`] does.
///
/// # Errors
/// 53200.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    let wanted = values.len().saturating_add(more).saturating_mul(size_of::<T>());
    values.try_reserve(more).map_err(|_| no_room(wanted))
}

/// Makes room for one more entry of a hash table that may become large, as [`push`] does in a vector.
///
/// # Errors
/// 53200.
pub fn reserve_entry<K: Eq + Hash, V, S: BuildHasher>(table: &mut HashMap<K, V, S>) -> Result<()> {
    if table.len() < table.capacity() {
        return Ok(());
    }
    table.try_reserve(1).map_err(|_| no_room(2 * table.len() * size_of::<(K, V)>()))
}

/// An empty vector with room for so many values, as [`push`] makes it.
///
/// # Errors
/// 53200.
pub fn with_room<T>(length: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(length).map_err(|_| no_room(length.saturating_mul(size_of::<T>())))?;
    Ok(values)
}

fn no_room(bytes: usize) -> Error {
    let message = format!("out of memory: the system has no {bytes} bytes left in one piece");
    Error::new(state::OUT_OF_MEMORY, message).hint(HINT)
}

//! Clock for the times of sessions, statements and waits.

/// Microseconds since 1970 by the system clock.
pub(crate) fn now() -> i64 {
    env::clock::wall_clock()
}

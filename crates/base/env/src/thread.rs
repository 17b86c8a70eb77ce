//! Threads of the operating system, under names that a debugger and `top -H` show.

use std::io;
use std::time::{Duration, Instant};

pub use std::thread::{
    JoinHandle, Scope, ScopedJoinHandle, available_parallelism, current, panicking, scope, yield_now,
};

/// Starts a thread called `name` (shown by the operating system; Linux keeps the first 15 bytes).
///
/// # Errors
/// The operating system refuses another thread.
pub fn spawn_named<T, F>(name: &str, body: F) -> io::Result<JoinHandle<T>>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// Same as [`spawn_named`], for a thread that ends before `scope` does.
///
/// # Errors
/// The operating system refuses another thread.
pub fn spawn_scoped<'scope, T, F>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    body: F,
) -> io::Result<ScopedJoinHandle<'scope, T>>
where
    T: Send + 'scope,
    F: FnOnce() -> T + Send + 'scope,
{
    std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, body)
}

/// Shorter waits are spent yielding: a sleep of a microsecond takes 55, by the operating system's timers.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);

/// Stands back for about `duration` before another attempt, so that others may finish what was in the way.
pub fn stand_back(duration: Duration) {
    if duration >= SHORTEST_SLEEP {
        return sleep(duration);
    }
    let start = Instant::now();
    while start.elapsed() < duration {
        yield_now();
    }
}

/// Puts the calling thread to sleep for at least `duration`. For back-off only: nothing may rely on it for order.
pub fn sleep(duration: Duration) {
    if !duration.is_zero() {
        std::thread::sleep(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short wait takes no timer, and lasts nevertheless.
    #[test]
    fn standing_back_lasts_as_long_as_asked() {
        for micros in [0, 1, 49, 50, 1_000] {
            let (wanted, start) = (Duration::from_micros(micros), Instant::now());
            stand_back(wanted);
            assert!(start.elapsed() >= wanted);
        }
    }
}

//! Threads of the operating system, under names that a debugger and `top -H` show.

use std::io;
use std::time::Duration;

pub use std::thread::{JoinHandle, available_parallelism, current, panicking, yield_now};

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

/// Puts the calling thread to sleep for at least `duration`. For back-off only: nothing may rely on it for order.
pub fn sleep(duration: Duration) {
    if !duration.is_zero() {
        std::thread::sleep(duration);
    }
}

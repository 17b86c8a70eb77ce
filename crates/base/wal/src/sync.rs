//! The one place of this crate from which synchronization is imported, so that shuttle can stand in (feature `shuttle`).

#[cfg(feature = "shuttle")]
pub use shuttle::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
#[cfg(not(feature = "shuttle"))]
pub use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

pub use std::sync::{Arc, mpsc};

/// Takes a latch of this crate. No foreign code runs under one, so a poisoned latch is a bug here, and going on would be
/// worse than stopping.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this latch panics")
}

/// Threads, as far as the log uses them.
pub mod thread {
    #[cfg(not(feature = "shuttle"))]
    pub use env::thread::{JoinHandle, current, panicking, spawn_named};
    #[cfg(feature = "shuttle")]
    pub use shuttle::thread::{JoinHandle, current, panicking};

    // Replay, which takes no threads in shuttle's models.
    pub use env::thread::{ScopedJoinHandle, scope, spawn_scoped};

    /// Same as [`env::thread::spawn_named`].
    #[cfg(feature = "shuttle")]
    pub fn spawn_named<T: Send + 'static>(
        name: &str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<JoinHandle<T>> {
        shuttle::thread::Builder::new().name(name.to_owned()).spawn(body)
    }
}

/// What an event sleeps by: the operating system's futex.
#[cfg(all(target_os = "linux", not(feature = "shuttle")))]
pub mod futex {
    use env::time::Duration;
    pub use std::sync::atomic::{AtomicU32, Ordering};

    /// Needs nothing beside the word.
    #[derive(Debug, Default)]
    pub struct Place;

    impl Place {
        /// Sleeps while `word` is `expected`, or shorter; no longer than `limit`.
        pub fn sleep(&self, word: &AtomicU32, expected: u32, limit: Option<Duration>) {
            env::futex::wait(word, expected, limit);
        }

        /// Wakes whoever sleeps on `word`, which has changed.
        pub fn wake_all(&self, word: &AtomicU32) {
            env::futex::wake_all(word);
        }
    }
}

/// What an event sleeps by where there is no futex: its contract, by a mutex.
#[cfg(not(all(target_os = "linux", not(feature = "shuttle"))))]
pub mod futex {
    use super::{Condvar, Mutex, lock};
    use env::time::Duration;

    #[cfg(feature = "shuttle")]
    pub use shuttle::sync::atomic::{AtomicU32, Ordering};
    #[cfg(not(feature = "shuttle"))]
    pub use std::sync::atomic::{AtomicU32, Ordering};

    /// Orders the last look at the word before the notification, or after it.
    #[derive(Debug, Default)]
    pub struct Place {
        order: Mutex<()>,
        changed: Condvar,
    }

    impl Place {
        /// Sleeps while `word` is `expected`, or shorter; no longer than `limit`.
        pub fn sleep(&self, word: &AtomicU32, expected: u32, limit: Option<Duration>) {
            let order = lock(&self.order);
            if word.load(Ordering::Relaxed) != expected {
                return;
            }
            match limit {
                None => drop(self.changed.wait(order).expect("no holder of this latch panics")),
                Some(limit) => {
                    drop(self.changed.wait_timeout(order, limit).expect("no holder of this latch panics"));
                }
            }
        }

        /// Wakes whoever sleeps on `word`, which has changed.
        pub fn wake_all(&self, _word: &AtomicU32) {
            drop(lock(&self.order));
            self.changed.notify_all();
        }
    }
}

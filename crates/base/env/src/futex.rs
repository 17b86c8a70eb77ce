//! Sleeping on a word of memory until another thread changes it, without a lock: Linux's `futex`.

use crate::time::Duration;
use rustix::thread::futex::{self, Flags, Timespec};
use std::sync::atomic::AtomicU32;

/// Sleeps while `word` is `expected`, no longer than `limit`. Returns at a [`wake_all`], at once if the word is another
/// already, or for no reason: the caller looks again.
pub fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    // A limit that the system cannot express is none.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    // An error is a word that has changed, a signal, or the limit: reasons to look again.
    let _ = futex::wait(word, Flags::PRIVATE, expected, limit.as_ref());
}

/// Wakes every thread that sleeps on `word`.
pub fn wake_all(word: &AtomicU32) {
    // Fails only for an address that is none.
    let _ = futex::wake(word, Flags::PRIVATE, i32::MAX as u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::{Acquire, Release};

    #[test]
    fn a_sleeper_is_woken_and_another_word_or_the_limit_ends_the_sleep() {
        let word = AtomicU32::new(1);
        wait(&word, 0, None);
        wait(&word, 1, Some(Duration::from_micros(1)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Acquire) == 1 {
                    wait(&word, 1, None);
                }
            });
            word.store(2, Release);
            wake_all(&word);
        });
    }
}

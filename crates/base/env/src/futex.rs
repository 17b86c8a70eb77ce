//! Sleeping on a word of memory until another thread changes it, without a lock: Linux's `futex`.

use rustix::thread::futex::{self, Flags};
use std::sync::atomic::AtomicU32;

/// Sleeps while `word` is `expected`. Returns at a [`wake_all`], at once if the word is another already, or for no reason:
/// the caller looks again.
pub fn wait(word: &AtomicU32, expected: u32) {
    // An error is a word that has changed, or a signal: reasons to look again.
    let _ = futex::wait(word, Flags::PRIVATE, expected, None);
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
    fn a_sleeper_is_woken_and_another_word_is_no_reason_to_sleep() {
        let word = AtomicU32::new(1);
        wait(&word, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Acquire) == 1 {
                    wait(&word, 1);
                }
            });
            word.store(2, Release);
            wake_all(&word);
        });
    }
}

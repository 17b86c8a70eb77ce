//! An entry as an engine might have it: a boxed record that carries its key and is freed through the epoch.

use seriatim_parts::{
    epoch::Guard,
    index::{Entry, Insert, Ordered},
};
use std::{
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

const ALIVE: u64 = 0x5eed_a11e;

/// Records allocated and not yet freed, in one test.
#[derive(Default)]
pub struct Census(AtomicUsize);

impl Census {
    pub fn alive(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

pub struct Record {
    key: Box<[u8]>,
    canary: AtomicU64,
    census: Arc<Census>,
}

// SAFETY: the key is immutable.
unsafe impl Entry for Record {
    fn key(&self) -> &[u8] {
        assert_eq!(self.canary.load(Ordering::Relaxed), ALIVE, "a freed record is read");
        &self.key
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.canary.store(0, Ordering::Relaxed);
        self.census.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An index of records, and who frees them.
pub struct Records<const FANOUT: usize> {
    pub index: Ordered<Record, FANOUT>,
    pub census: Arc<Census>,
}

impl<const FANOUT: usize> Records<FANOUT> {
    pub fn new(width: seriatim_parts::index::KeyWidth) -> Self {
        Self { index: Ordered::with_fanout(width), census: Arc::default() }
    }

    pub fn insert<'g>(&self, key: &[u8], at: u64, guard: &'g Guard) -> Insert<'g, Record> {
        let make = || {
            self.census.0.fetch_add(1, Ordering::SeqCst);
            let record = Record { key: key.into(), canary: AtomicU64::new(ALIVE), census: Arc::clone(&self.census) };
            NonNull::from(Box::leak(Box::new(record)))
        };
        // SAFETY: freed by `remove` through the epoch, or by `drop` with exclusive access.
        unsafe { self.index.insert(key, at, guard, make) }
    }

    pub fn remove(&self, key: &[u8], stamp: u64, guard: &Guard) -> bool {
        let removed = self.index.remove(key, guard, |record| {
            assert_eq!(record.key(), key);
            Some(stamp)
        });
        if let Some(record) = removed {
            // SAFETY: out of the index, once, and still alive for the guards of now.
            unsafe { guard.defer_unchecked(move || drop(Box::from_raw(record.as_ptr()))) };
        }
        removed.is_some()
    }
}

impl<const FANOUT: usize> Drop for Records<FANOUT> {
    fn drop(&mut self) {
        for record in self.index.drain() {
            // SAFETY: drained, hence nobody else's; the test is over.
            drop(unsafe { Box::from_raw(record.as_ptr()) });
        }
    }
}

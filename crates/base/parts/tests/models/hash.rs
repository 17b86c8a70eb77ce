//! The hash index under the model checkers: absence against insert, and both against the split of a bucket.
//!
//! loom searches the reorderings, but keeps only the last access of each word, so it misses a race with a reader
//! when the writer has loaded the word just before it stores; shuttle puts few preemptions at random places and
//! misses none of these. Each finds failures that the other misses.
//!
//! Run as `tests/loom_hash.rs` and `tests/shuttle_hash.rs`.

use seriatim_parts::{
    epoch::pin,
    index::{Entry, Hash, Insert, KeyWidth, hash::HashCursor},
    sync::{Arc, thread},
};
use std::ptr::NonNull;

/// Number of keys that the first four buckets hold before the next insert splits one.
const FULL: u64 = 8;
/// Each spreads the keys in another way, so that some go to the bucket that the split makes. None makes a bucket
/// overflow: nothing is then retired, which the model could not follow.
const SEEDS: std::ops::Range<u64> = 0..16;

struct Row([u8; 8]);

// SAFETY: the key never changes.
unsafe impl Entry for Row {
    fn key(&self) -> &[u8] {
        &self.0
    }
}

/// An index that owns its rows.
struct Table(Hash<Row>);

impl Table {
    fn with(keys: u64, seed: u64) -> Arc<Self> {
        let table = Self(Hash::with_shape(KeyWidth::Eight, 1, seed));
        assert!((0..keys).all(|key| table.insert(key, 0)));
        Arc::new(table)
    }

    fn insert(&self, key: u64, at: u64) -> bool {
        let guard = pin();
        let make = || NonNull::from(Box::leak(Box::new(Row(key.to_be_bytes()))));
        // SAFETY: the row has this key; `drop` and `remove` free it.
        matches!(unsafe { self.0.insert(&key.to_be_bytes(), at, &guard, make) }, Insert::Inserted(_))
    }

    fn remove(&self, key: u64, stamp: u64) -> bool {
        let guard = pin();
        let removed = self.0.remove(&key.to_be_bytes(), &guard, |_| Some(stamp));
        // SAFETY: made by `insert`; no reader of these models looks into the row of a removed key.
        removed.inspect(|row| drop(unsafe { Box::from_raw(row.as_ptr()) })).is_some()
    }

    fn has(&self, key: u64) -> bool {
        self.0.get(&key.to_be_bytes(), &pin()).is_some()
    }

    fn has_or_stamp(&self, key: u64, at: u64) -> bool {
        self.0.get_or_stamp(&key.to_be_bytes(), at, &pin()).is_some()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: made by `insert`, and in nobody else's hands.
        self.0.drain(|row| drop(unsafe { Box::from_raw(row.as_ptr()) }));
    }
}

/// Two preemptions let a reader and a writer interrupt each other once.
#[cfg(loom)]
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 20_000;
    builder.check(body);
}

#[cfg(not(loom))]
fn model(body: impl Fn() + Sync + Send + 'static) {
    use shuttle::{Config, Runner, scheduler::PctScheduler};
    Runner::new(PctScheduler::new_from_seed(1, 3, 300), Config::new()).run(body);
}

fn beside<T: Send + 'static>(
    table: &Arc<Table>,
    body: impl FnOnce(&Table) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let table = table.clone();
    thread::spawn(move || body(&table))
}

#[test]
fn absent_at_ten_or_inserted_at_five_but_not_both() {
    model(|| {
        let table = Table::with(0, 0);
        let writer = beside(&table, |table| table.insert(1, 5));
        let seen = table.has_or_stamp(1, 10);
        assert_eq!(writer.join().unwrap(), seen);
    });
}

/// The split comes first, and some of the keys then belong to the new bucket: its stamp is inherited, and a reader
/// that still looks into the old one must not trust it.
#[test]
fn the_same_while_a_bucket_splits() {
    for (seed, key) in SEEDS.flat_map(|seed| (FULL + 1..FULL + 9).map(move |key| (seed, key))) {
        model(move || {
            let table = Table::with(FULL, seed);
            let writer = beside(&table, move |table| table.insert(FULL, 20) && table.insert(key, 5));
            let seen = table.has_or_stamp(key, 10);
            assert_eq!(writer.join().unwrap(), seen);
        });
    }
}

#[test]
fn every_key_is_found_while_a_bucket_splits() {
    for (seed, key) in SEEDS.flat_map(|seed| (0..FULL).map(move |key| (seed, key))) {
        model(move || {
            let table = Table::with(FULL, seed);
            let writer = beside(&table, |table| table.insert(FULL, 0));
            assert!(table.has(key), "{key}");
            assert!(writer.join().unwrap());
        });
    }
}

#[test]
fn a_scan_visits_every_key_once_while_a_bucket_splits() {
    for seed in SEEDS {
        model(move || {
            let table = Table::with(FULL, seed);
            let writer = beside(&table, |table| table.insert(FULL, 0));
            let (guard, mut rows) = (pin(), Vec::new());
            assert!(!table.0.scan_batch(&mut HashCursor::default(), &guard, &mut rows));
            let mut keys: Vec<_> = rows.iter().map(|row| u64::from_be_bytes(row.0)).collect();
            keys.sort_unstable();
            keys.retain(|key| *key != FULL);
            assert!(keys.into_iter().eq(0..FULL));
            assert!(writer.join().unwrap());
        });
    }
}

#[test]
fn a_removal_leaves_its_stamp_to_whoever_inserts_next() {
    model(|| {
        let table = Table::with(2, 0);
        let remover = beside(&table, |table| table.remove(1, 10));
        let inserted = table.insert(1, 5);
        assert!(remover.join().unwrap());
        assert!(!inserted, "either it is there still, or it was there up to 10");
        assert!(!table.has(1));
    });
}

#[test]
fn one_of_two_inserts_of_a_key_wins() {
    model(|| {
        let table = Table::with(FULL, 0);
        let other = beside(&table, |table| table.insert(FULL, 0));
        let own = table.insert(FULL, 0);
        assert!(own ^ other.join().unwrap());
        assert!(table.has(FULL));
    });
}

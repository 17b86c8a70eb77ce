//! The hash index under loom: absence against insert, and both against the split of a bucket.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p seriatim-parts --release --test loom_hash`
#![cfg(loom)]

use seriatim_parts::{
    epoch::pin,
    index::{Entry, Hash, Insert, KeyWidth, hash::HashCursor},
    sync::{Arc, thread},
};
use std::ptr::NonNull;

/// As many keys as the first four buckets hold before the next insert splits one.
const FULL: u64 = 8;
/// Spreads keys over the buckets so that none overflows: nothing is then retired, which the model could not follow.
const SEED: u64 = 1;

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
    fn with(keys: u64) -> Arc<Self> {
        let table = Self(Hash::with_shape(KeyWidth::Eight, 1, SEED));
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

/// Two preemptions find what needs a reader and a writer to interrupt each other once each.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 20_000;
    builder.check(body);
}

fn beside<T: 'static>(table: &Arc<Table>, body: impl FnOnce(&Table) -> T + 'static) -> loom::thread::JoinHandle<T> {
    let table = table.clone();
    thread::spawn(move || body(&table))
}

#[test]
fn absent_at_ten_or_inserted_at_five_but_not_both() {
    model(|| {
        let table = Table::with(0);
        let writer = beside(&table, |table| table.insert(1, 5));
        let seen = table.has_or_stamp(1, 10);
        assert_eq!(writer.join().unwrap(), seen);
    });
}

/// The reader's key is the one whose insert splits a bucket, or one that another insert moves: with every key of a
/// range, both happen.
#[test]
fn the_same_while_a_bucket_splits() {
    for key in FULL + 1..FULL + 4 {
        model(move || {
            let table = Table::with(FULL);
            let writer = beside(&table, move |table| table.insert(FULL, 20) && table.insert(key, 5));
            let seen = table.has_or_stamp(key, 10);
            assert_eq!(writer.join().unwrap(), seen);
        });
    }
}

#[test]
fn every_key_is_found_while_a_bucket_splits() {
    for key in 0..FULL {
        model(move || {
            let table = Table::with(FULL);
            let writer = beside(&table, |table| table.insert(FULL, 0));
            assert!(table.has(key), "{key}");
            assert!(writer.join().unwrap());
        });
    }
}

#[test]
fn a_scan_visits_every_key_once_while_a_bucket_splits() {
    model(|| {
        let table = Table::with(FULL);
        let writer = beside(&table, |table| table.insert(FULL, 0));
        let (guard, mut rows) = (pin(), Vec::new());
        assert!(!table.0.scan_batch(&mut HashCursor::default(), &guard, &mut rows));
        let mut keys: Vec<_> = rows.iter().map(|row| u64::from_be_bytes(row.0)).collect();
        keys.sort_unstable();
        keys.truncate(FULL as usize);
        assert!(keys.into_iter().eq(0..FULL));
        assert!(writer.join().unwrap());
    });
}

#[test]
fn a_removal_leaves_its_stamp_to_whoever_inserts_next() {
    model(|| {
        let table = Table::with(2);
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
        let table = Table::with(FULL);
        let other = beside(&table, |table| table.insert(FULL, 0));
        let own = table.insert(FULL, 0);
        assert!(own ^ other.join().unwrap());
        assert!(table.has(FULL));
    });
}

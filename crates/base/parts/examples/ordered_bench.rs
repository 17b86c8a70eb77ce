//! Cost of the operations of the ordered index: one thread, nanoseconds per operation.
//!
//! `cargo run --release -p seriatim-parts --example ordered_bench [ENTRIES]`

use model::Direction;
use seriatim_parts::{
    epoch,
    index::{Entry, KeyWidth, Ordered, ordered::Cursor},
};
use std::{hint::black_box, ops::Bound, ptr::NonNull, time::Instant};

struct Record([u8; 8]);

// SAFETY: the key is immutable.
unsafe impl Entry for Record {
    fn key(&self) -> &[u8] {
        &self.0
    }
}

/// Twice the `n`-th of `count` numbers in an order without a pattern, and a remainder: entries are even.
fn shuffled(n: u64, count: u64, remainder: u64) -> [u8; 8] {
    (n * 2_654_435_761 % count * 2 + remainder).to_be_bytes()
}

/// Runs an operation with the numbers from 0 on and prints what it takes: the median over short stretches, so that a
/// machine that is busy with other work disturbs it little.
fn report(what: &str, operations: u64, mut operation: impl FnMut(u64)) {
    const STRETCH: u64 = 500;
    let mut nanoseconds: Vec<f64> = Vec::new();
    for first in (0..operations - operations % STRETCH).step_by(STRETCH as usize) {
        let start = Instant::now();
        (first..first + STRETCH).for_each(&mut operation);
        nanoseconds.push(start.elapsed().as_nanos() as f64 / STRETCH as f64);
    }
    (operations - operations % STRETCH..operations).for_each(&mut operation);
    nanoseconds.sort_by(f64::total_cmp);
    println!("{what:<44} {:>8.0} ns", nanoseconds[nanoseconds.len() / 2]);
}

fn insert(index: &Ordered<Record>, key: [u8; 8]) {
    let make = || NonNull::from(Box::leak(Box::new(Record(key))));
    let guard = epoch::pin();
    // SAFETY: records are freed when they are drained or removed, and nobody else reads the index.
    black_box(unsafe { index.insert(&key, 1, &guard, make) });
}

fn measure(width: KeyWidth, count: u64) {
    println!("{count} entries, keys of eight bytes, KeyWidth::{width:?}");
    let mut ascending = Ordered::new(width);
    report("insert, ascending", count, |n| insert(&ascending, n.to_be_bytes()));
    free(&mut ascending);
    let mut index = Ordered::new(width);
    report("insert, random", count, |n| insert(&index, shuffled(n, count, 0)));
    report("get, random", count, |n| {
        assert!(index.get(&shuffled(n, count, 0), &epoch::pin()).is_some());
    });
    report("get_or_stamp of an absent key, random", count, |n| {
        assert!(index.get_or_stamp(&shuffled(n, count, 1), n, &epoch::pin()).is_none());
    });
    for at in [None, Some(1)] {
        scans(&index, count, at);
    }
    report("remove, random", count, |n| {
        let guard = &epoch::pin();
        let record = index.remove(&shuffled(n, count, 0), guard, |_| Some(0)).expect("inserted above");
        // SAFETY: nobody else reads the index.
        drop(unsafe { Box::from_raw(record.as_ptr()) });
    });
    free(&mut index);
}

fn scans(index: &Ordered<Record>, count: u64, at: Option<u64>) {
    const SCANS: u64 = 100_000;
    const LENGTH: u64 = 100;
    let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut found = 0;
    report(&format!("scan of {LENGTH}, random start, stamp {at:?}"), SCANS, |n| {
        let lower = shuffled(n, count - LENGTH, 0);
        let upper = (u64::from_be_bytes(lower) + 2 * LENGTH).to_be_bytes();
        cursor.restart(Bound::Included(&lower), Bound::Excluded(&upper), Direction::Forward);
        let guard = &epoch::pin();
        let mut batch = Vec::with_capacity(64);
        while !cursor.is_finished() {
            index.scan_leaf(&mut cursor, at, usize::MAX, guard, &mut batch);
            found += batch.len() as u64;
        }
    });
    assert_eq!(found, SCANS * LENGTH);
}

fn free(index: &mut Ordered<Record>) {
    for record in index.drain() {
        // SAFETY: drained, and nobody else reads the index.
        drop(unsafe { Box::from_raw(record.as_ptr()) });
    }
}

fn main() {
    let count = std::env::args().nth(1).map_or(1_000_000, |count| count.parse().expect("a number of entries"));
    for width in [KeyWidth::Eight, KeyWidth::Any] {
        measure(width, count);
    }
}

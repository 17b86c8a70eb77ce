//! The index under threads. Schedules differ from run to run; what is asserted holds in all of them.

use super::record::Records;
use model::Direction;
use seriatim_parts::{
    epoch,
    index::{Entry, Insert, KeyWidth, ordered::Cursor},
    sync::thread,
};
use std::{
    collections::BTreeSet,
    ops::{Bound, RangeInclusive},
    sync::atomic::{AtomicU64, Ordering},
};

/// Small, so that a leaf sees all threads.
const FANOUT: usize = 4;
const THREADS: u64 = 4;
/// Few enough that threads meet, and enough for four levels (two under shuttle, where threads do little).
const KEYS: u64 = if SHUTTLE { 24 } else { 240 };
const SHUTTLE: bool = cfg!(feature = "shuttle");

/// Number of repetitions of a thread's work.
const fn rounds(rounds: u64) -> u64 {
    if SHUTTLE { rounds / 160 } else { rounds }
}

/// Runs a test once with real threads, or with many schedules under shuttle.
fn explore(test: impl Fn() + Send + Sync + 'static) {
    #[cfg(feature = "shuttle")]
    shuttle::check_random(test, 2_000);
    #[cfg(not(feature = "shuttle"))]
    test();
}

/// xorshift: every thread its own programs.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % limit
    }

    fn range(&mut self) -> RangeInclusive<u64> {
        let (a, b) = (self.below(KEYS), self.below(KEYS));
        a.min(b)..=a.max(b)
    }
}

/// A number as a key; in an index of any keys, one that ties with all the others in its first eight bytes.
fn key(width: KeyWidth, number: u64) -> Vec<u8> {
    match width {
        KeyWidth::Eight => number.to_be_bytes().to_vec(),
        KeyWidth::Any => [&b"the same"[..], &number.to_be_bytes()].concat(),
    }
}

fn number(key: &[u8]) -> u64 {
    u64::from_be_bytes(*key.last_chunk().expect("a key of these tests"))
}

/// A whole scan, each leaf under a guard of its own, in ascending order.
fn scan(records: &Records<FANOUT>, range: &RangeInclusive<u64>, direction: Direction, at: Option<u64>) -> Vec<u64> {
    let width = records.index.width();
    let (lower, upper) = (key(width, *range.start()), key(width, *range.end()));
    let mut cursor = Cursor::new(Bound::Included(&lower), Bound::Included(&upper), direction);
    let mut found = Vec::new();
    while !cursor.is_finished() {
        let guard = &epoch::pin();
        let mut batch = Vec::new();
        // Some leaves in pieces, some whole.
        let most = if found.len().is_multiple_of(2) { usize::MAX } else { 2 };
        records.index.scan_leaf(&mut cursor, at, most, guard, &mut batch);
        found.extend(batch.iter().map(|record| number(record.key())));
    }
    if direction == Direction::Backward {
        found.reverse();
    }
    assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
    assert!(found.iter().all(|number| range.contains(number)));
    found
}

/// Every third key stays; each other key comes and goes at the hands of one thread, which knows whether it is there.
fn churn(records: &Records<FANOUT>, thread: u64, rounds: u64) -> BTreeSet<u64> {
    let (width, mut random) = (records.index.width(), Random::new(thread + 1));
    let stays = |number: &u64| number.is_multiple_of(3);
    let mut mine = BTreeSet::new();
    for _ in 0..rounds {
        let own = (0..).map(|_| random.below(KEYS)).find(|number| !stays(number) && number % THREADS == thread);
        let number = own.expect("endless");
        let key = key(width, number);
        let guard = &epoch::pin();
        if mine.remove(&number) {
            assert!(records.index.get(&key, guard).is_some());
            assert!(matches!(records.insert(&key, u64::MAX, guard), Insert::Exists(_)));
            assert!(records.remove(&key, 0, guard));
        } else {
            assert!(records.index.get_or_stamp(&key, 1, guard).is_none());
            assert!(!records.remove(&key, 0, guard));
            assert!(matches!(records.insert(&key, u64::MAX, guard), Insert::Inserted(_)));
            mine.insert(number);
        }
        if random.below(8) == 0 {
            let direction = if random.below(2) == 0 { Direction::Forward } else { Direction::Backward };
            let range = random.range();
            let found = scan(records, &range, direction, None);
            let known = |number: &u64| stays(number) || number % THREADS == thread;
            let expected = range.filter(|number| stays(number) || mine.contains(number));
            assert!(found.into_iter().filter(known).eq(expected));
        }
    }
    mine
}

fn contents_are_exact(width: KeyWidth) {
    let records = Records::<FANOUT>::new(width);
    let mut expected: BTreeSet<u64> = (0..KEYS).step_by(3).collect();
    for &number in &expected {
        records.insert(&key(width, number), 0, &epoch::pin());
    }
    thread::scope(|scope| {
        let records = &records;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || churn(records, thread, rounds(4_000)))).collect();
        for thread in threads {
            expected.extend(thread.join().expect("its assertions held"));
        }
    });
    let found = scan(&records, &(0..=KEYS), Direction::Forward, None);
    assert!(found.into_iter().eq(expected.iter().copied()));
    assert_eq!(records.index.len(&epoch::pin()), expected.len());
    // Every removed record is freed once no guard of then is left, and no other. Guards of the tests beside this one count too: they are
    // waited for in the operating system's schedule, since no step of a modelled one brings their end nearer.
    while records.census.alive() > expected.len() {
        epoch::pin().flush();
        std::thread::yield_now();
    }
    assert_eq!(records.census.alive(), expected.len());
}

#[test]
fn contents_are_exact_with_keys_of_eight_bytes() {
    explore(|| contents_are_exact(KeyWidth::Eight));
}

#[test]
fn contents_are_exact_with_keys_that_tie() {
    explore(|| contents_are_exact(KeyWidth::Any));
}

/// Result of a scan at a position: these keys of the range, and no other.
struct Look {
    at: u64,
    range: RangeInclusive<u64>,
    found: Vec<u64>,
}

/// Keys by remainder: 0 is inserted once and watched, 1 comes and goes so that leaves split and merge meanwhile.
const WATCHED: u64 = 2;

/// Looks at ranges and keys, each at a position of its own.
fn look(records: &Records<FANOUT>, clock: &AtomicU64, seed: u64, rounds: u64) -> Vec<Look> {
    let mut random = Random::new(seed);
    let mut looks = Vec::new();
    for round in 0..rounds {
        let at = clock.fetch_add(1, Ordering::Relaxed);
        if round % 4 != 0 {
            let number = random.below(KEYS);
            let guard = &epoch::pin();
            let found = records.index.get_or_stamp(&key(records.index.width(), number), at, guard);
            looks.push(Look { at, range: number..=number, found: found.map(|_| number).into_iter().collect() });
            continue;
        }
        let start = random.below(KEYS);
        let range = start..=start + random.below(12);
        let direction = if round % 8 == 0 { Direction::Forward } else { Direction::Backward };
        let found = scan(records, &range, direction, Some(at));
        looks.push(Look { at, range, found });
    }
    looks
}

/// Inserts each watched key of a thread at a position drawn a while before. Returns what went in, and where.
fn insert_late(records: &Records<FANOUT>, clock: &AtomicU64, thread: u64) -> Vec<(u64, u64)> {
    let (width, mut random) = (records.index.width(), Random::new(thread + 77));
    let mut inserted = Vec::new();
    for _ in 0..rounds(4_000) {
        let number = random.below(KEYS) / WATCHED * WATCHED;
        if number / WATCHED % 2 != thread {
            continue;
        }
        let at = clock.fetch_add(1, Ordering::Relaxed);
        for _ in 0..random.below(3) {
            thread::yield_now();
        }
        let guard = &epoch::pin();
        if let Insert::Inserted(_) = records.insert(&key(width, number), at, guard) {
            inserted.push((number, at));
        }
    }
    inserted
}

/// Makes leaves split and merge, and never leaves a stamp of its own.
fn split_and_merge(records: &Records<FANOUT>, rounds: u64) {
    let (width, mut random) = (records.index.width(), Random::new(99));
    for _ in 0..rounds {
        let key = key(width, random.below(KEYS) / WATCHED * WATCHED + 1);
        let guard = &epoch::pin();
        if !records.remove(&key, 0, guard) {
            records.insert(&key, u64::MAX, guard);
        }
    }
}

fn no_phantoms(width: KeyWidth) {
    let clock = AtomicU64::new(1);
    let records = Records::<FANOUT>::new(width);
    let (mut looks, mut inserted) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        let (records, clock) = (&records, &clock);
        let lookers: Vec<_> =
            (0..2).map(|thread| scope.spawn(move || look(records, clock, thread + 1, rounds(2_000)))).collect();
        let inserters: Vec<_> = (0..2).map(|thread| scope.spawn(move || insert_late(records, clock, thread))).collect();
        split_and_merge(records, rounds(8_000));
        looks.extend(lookers.into_iter().flat_map(|thread| thread.join().expect("its assertions held")));
        inserted.extend(inserters.into_iter().flat_map(|thread| thread.join().expect("its assertions held")));
    });
    for look in &looks {
        for (number, at) in inserted.iter().filter(|(number, at)| *at < look.at && look.range.contains(number)) {
            assert!(look.found.contains(number), "{number}, inserted at {at}, is a phantom to {}", look.at);
        }
    }
    let contents = scan(&records, &(0..=KEYS), Direction::Forward, None);
    let watched = contents.into_iter().filter(|number| number % WATCHED == 0);
    let expected: BTreeSet<_> = inserted.iter().map(|(number, _)| *number).collect();
    assert!(watched.eq(expected));
}

#[test]
fn no_phantoms_among_keys_of_eight_bytes() {
    explore(|| no_phantoms(KeyWidth::Eight));
}

#[test]
fn no_phantoms_among_keys_that_tie() {
    explore(|| no_phantoms(KeyWidth::Any));
}

#[test]
fn a_queue_leaves_nothing_behind() {
    explore(a_queue);
}

/// A queue: everybody inserts at the high end and removes at the low end, so that whole subtrees empty out.
fn a_queue() {
    let records = Records::<FANOUT>::new(KeyWidth::Eight);
    let (tail, head) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..rounds(4_000) {
                    let number = tail.fetch_add(1, Ordering::Relaxed);
                    let guard = &epoch::pin();
                    let inserted = records.insert(&number.to_be_bytes(), u64::MAX, guard);
                    assert!(matches!(inserted, Insert::Inserted(_)));
                }
            });
            scope.spawn(|| {
                for _ in 0..rounds(4_000) {
                    let number = head.fetch_add(1, Ordering::Relaxed);
                    while !records.remove(&number.to_be_bytes(), 0, &epoch::pin()) {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert!(records.index.is_empty(&epoch::pin()));
    let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let more = records.index.scan_leaf(&mut cursor, None, usize::MAX, &epoch::pin(), &mut Vec::new());
    assert!(!more, "one empty leaf is all that is left");
}

//! The hash index against its naive twin, and under concurrent growth.
#![cfg(not(any(loom, feature = "shuttle")))]

use proptest::prelude::*;
use seriatim_parts::{
    epoch::{Guard, pin},
    index::{Entry, Hash, KeyWidth, hash::HashCursor},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ptr::NonNull,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread,
};

/// An entry that knows whether it has been freed, as far as anybody may still look.
struct Row {
    key: Vec<u8>,
    live: AtomicBool,
}

// SAFETY: the key never changes.
unsafe impl Entry for Row {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        self.live.store(false, Ordering::Relaxed);
    }
}

/// The owner of an index, as an engine is: it retires what it removes and frees what is left.
struct Table(Hash<Row>);

#[derive(Debug, PartialEq, Eq)]
enum Insert {
    Inserted,
    Exists,
    Stamped(u64),
}

impl Table {
    fn new(width: KeyWidth, shards: usize, seed: u64) -> Self {
        Self(Hash::with_shape(width, shards, seed))
    }

    fn has(&self, key: &[u8]) -> bool {
        let guard = pin();
        check(key, self.0.get(key, &guard))
    }

    fn has_or_stamp(&self, key: &[u8], at: u64) -> bool {
        let guard = pin();
        check(key, self.0.get_or_stamp(key, at, &guard))
    }

    fn insert(&self, key: &[u8], at: u64) -> Insert {
        let guard = pin();
        let make = || NonNull::from(Box::leak(Box::new(Row { key: key.to_vec(), live: AtomicBool::new(true) })));
        // SAFETY: the row has this key, and `remove` and `drop` retire it.
        match unsafe { self.0.insert(key, at, &guard, make) } {
            seriatim_parts::index::Insert::Inserted(row) => {
                assert!(check(key, Some(row)));
                Insert::Inserted
            }
            seriatim_parts::index::Insert::Exists(row) => {
                assert!(check(key, Some(row)));
                Insert::Exists
            }
            seriatim_parts::index::Insert::Stamped(stamp) => Insert::Stamped(stamp),
        }
    }

    fn remove(&self, key: &[u8], stamp: Option<u64>) -> bool {
        let guard = pin();
        let removed = self.0.remove(key, &guard, |row| {
            assert!(check(key, Some(row)));
            stamp
        });
        removed.inspect(|row| retire(*row, &guard)).is_some()
    }

    fn scan(&self) -> Vec<Vec<u8>> {
        let (mut cursor, mut keys) = (HashCursor::default(), Vec::new());
        loop {
            let guard = pin();
            let mut batch = Vec::new();
            let more = self.0.scan_batch(&mut cursor, &guard, &mut batch);
            keys.extend(batch.iter().map(|row| row.key.clone()));
            if !more {
                return keys;
            }
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: made by `insert`, and in nobody else's hands.
        self.0.drain(|row| drop(unsafe { Box::from_raw(row.as_ptr()) }));
        assert!(self.0.is_empty());
    }
}

fn check(key: &[u8], row: Option<&Row>) -> bool {
    row.inspect(|row| {
        assert!(row.live.load(Ordering::Relaxed), "freed under a guard");
        assert_eq!(row.key, key);
    })
    .is_some()
}

fn retire(row: NonNull<Row>, guard: &Guard) {
    let row = row.as_ptr().expose_provenance();
    // SAFETY: made by `insert`, and no longer in the index.
    unsafe { guard.defer_unchecked(move || drop(Box::from_raw(std::ptr::with_exposed_provenance_mut::<Row>(row)))) };
}

fn eight(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[derive(Clone, Debug)]
enum Move {
    Get(u16),
    GetOrStamp(u16, u64),
    Insert(u16, u64),
    Remove(u16, Option<u64>),
    Scan,
}

fn moves(keys: u16) -> impl Strategy<Value = Vec<Move>> {
    let key = move || 0..keys;
    let one = prop_oneof![
        2 => key().prop_map(Move::Get),
        1 => (key(), 0..100_u64).prop_map(|(key, at)| Move::GetOrStamp(key, at)),
        4 => (key(), 50..150_u64).prop_map(|(key, at)| Move::Insert(key, at)),
        2 => (key(), proptest::option::of(0..100_u64)).prop_map(|(key, stamp)| Move::Remove(key, stamp)),
        1 => Just(Move::Scan),
    ];
    proptest::collection::vec(one, 0..600)
}

/// Stamps are per bucket, so the index may know a higher one than the twin, but none that nobody left.
fn run_against_twin(table: &Table, moves: Vec<Move>, name: impl Fn(u16) -> Vec<u8>) {
    let (mut present, mut stamps, mut highest) = (BTreeSet::new(), BTreeMap::new(), 0);
    let leave = |stamps: &mut BTreeMap<u16, u64>, highest: &mut u64, key, at: u64| {
        let stamp = stamps.entry(key).or_insert(0);
        *stamp = at.max(*stamp);
        *highest = at.max(*highest);
    };
    for step in moves {
        match step {
            Move::Get(key) => assert_eq!(table.has(&name(key)), present.contains(&key)),
            Move::GetOrStamp(key, at) => {
                assert_eq!(table.has_or_stamp(&name(key), at), present.contains(&key));
                if !present.contains(&key) {
                    leave(&mut stamps, &mut highest, key, at);
                }
            }
            Move::Insert(key, at) => match table.insert(&name(key), at) {
                Insert::Exists => assert!(present.contains(&key)),
                Insert::Inserted => {
                    assert!(stamps.get(&key).is_none_or(|stamp| *stamp <= at), "a stamp was lost");
                    assert!(present.insert(key));
                }
                Insert::Stamped(stamp) => {
                    assert!(!present.contains(&key) && at < stamp && stamp <= highest);
                    assert!(stamps.get(&key).is_none_or(|own| *own <= stamp));
                    assert_eq!(table.insert(&name(key), stamp), Insert::Inserted, "its own position is no conflict");
                    present.insert(key);
                }
            },
            Move::Remove(key, stamp) => {
                assert_eq!(table.remove(&name(key), stamp), present.contains(&key) && stamp.is_some());
                if let Some(stamp) = stamp
                    && present.remove(&key)
                {
                    leave(&mut stamps, &mut highest, key, stamp);
                }
            }
            Move::Scan => {
                let mut keys = table.scan();
                keys.sort_unstable();
                let mut expected: Vec<_> = present.iter().map(|key| name(*key)).collect();
                expected.sort_unstable();
                assert_eq!(keys, expected);
            }
        }
        assert_eq!(table.0.len(), present.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_of_eight_bytes_agree_with_the_twin(seed: u64, moves in moves(300)) {
        run_against_twin(&Table::new(KeyWidth::Eight, 1, seed), moves, |key| eight(key.into()).to_vec());
    }

    /// Every tenth key has some length of its own, the empty key among them; no two are the same.
    #[test]
    fn keys_of_any_length_agree_with_the_twin(seed: u64, moves in moves(300)) {
        run_against_twin(&Table::new(KeyWidth::Any, 2, seed), moves, |key| match key {
            0 => Vec::new(),
            key if key % 10 == 0 => vec![b'k'; key.into()],
            key => key.to_string().into_bytes(),
        });
    }
}

#[test]
#[should_panic(expected = "a key of eight bytes")]
fn a_key_of_another_width_is_refused() {
    Table::new(KeyWidth::Eight, 1, 0).has(b"nine long");
}

#[test]
fn a_panic_of_make_or_decide_leaves_the_bucket_as_it_was() {
    let table = Table::new(KeyWidth::Eight, 1, 0);
    let unwound = |body: &mut dyn FnMut()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).expect_err("it panics");
    };
    unwound(&mut || {
        // SAFETY: nothing is inserted.
        unsafe { table.0.insert(&eight(1), 0, &pin(), || panic!("no memory for a row")) };
    });
    assert!(!table.has(&eight(1)));
    assert_eq!(table.insert(&eight(1), 0), Insert::Inserted);
    unwound(&mut || {
        table.0.remove(&eight(1), &pin(), |_| panic!("cannot decide"));
    });
    assert!(table.has(&eight(1)));
    assert_eq!(table.0.len(), 1);
}

/// Stamps survive any number of splits: every bucket that descends from a stamped one refuses.
#[test]
fn stamps_are_inherited_by_every_descendant_of_a_bucket() {
    let table = Table::new(KeyWidth::Eight, 1, 7);
    for key in 0..500 {
        assert!(!table.has_or_stamp(&eight(key), 10));
    }
    for key in 1_000..20_000 {
        assert_eq!(table.insert(&eight(key), 10), Insert::Inserted);
    }
    for key in 0..500 {
        assert_eq!(table.insert(&eight(key), 9), Insert::Stamped(10));
    }
}

/// Four writers make it grow from the smallest size, while each key, once inserted, is found by everybody for ever.
#[test]
fn nothing_is_lost_while_the_index_grows() {
    const WRITERS: u64 = 4;
    const KEYS: u64 = 10_000;
    let table = Table::new(KeyWidth::Eight, 2, 3);
    let inserted: Vec<_> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (table, inserted) = (&table, &inserted);
            scope.spawn(move || {
                for number in 0..KEYS {
                    assert_eq!(table.insert(&eight(number * WRITERS + writer), 0), Insert::Inserted);
                    inserted[writer as usize].store(number + 1, Ordering::Release);
                    let other = (writer + 1) % WRITERS;
                    let known = inserted[other as usize].load(Ordering::Acquire);
                    for number in [known.saturating_sub(1), number * 7919 % known.max(1)] {
                        assert!(known == 0 || table.has(&eight(number * WRITERS + other)), "{number} of {other}");
                    }
                }
            });
        }
    });
    assert_eq!(table.0.len() as u64, WRITERS * KEYS);
    assert!((0..WRITERS * KEYS).all(|key| table.has(&eight(key))));
    assert!((WRITERS * KEYS..2 * WRITERS * KEYS).all(|key| !table.has(&eight(key))));
}

/// Keys come and go under readers; what a reader holds under its guard stays what it is.
#[test]
fn readers_are_safe_while_entries_come_and_go() {
    const KEYS: u64 = 64;
    let table = Table::new(KeyWidth::Any, 1, 5);
    let done = AtomicBool::new(false);
    let seen = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let found = (0..KEYS).filter(|key| table.has(&eight(*key))).count();
                    seen.fetch_add(found, Ordering::Relaxed);
                }
            });
        }
        for round in 0..1_000 {
            for key in 0..KEYS {
                assert_eq!(table.insert(&eight(key), round), Insert::Inserted);
            }
            for key in 0..KEYS {
                assert!(table.remove(&eight(key), Some(round)));
            }
        }
        while seen.load(Ordering::Relaxed) == 0 {
            assert_eq!(table.insert(&eight(0), 1_000), Insert::Inserted);
            thread::yield_now();
            assert!(table.remove(&eight(0), Some(0)));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(table.0.is_empty());
}

/// A reader at 10 finds a key absent, or a writer at 5 inserts it: never both, while the index grows under them.
#[test]
fn an_absent_key_cannot_be_inserted_before_its_reader() {
    const KEYS: u64 = 20_000;
    let table = Table::new(KeyWidth::Eight, 1, 11);
    let (read, written) = (AtomicU64::new(0), AtomicU64::new(0));
    // Each walks on when the other has come within one key: they meet at almost every one.
    let meet = |own: &AtomicU64, other: &AtomicU64, key: u64| {
        own.store(key, Ordering::Relaxed);
        for spins in 0_u32.. {
            if other.load(Ordering::Relaxed) + 1 >= key {
                break;
            }
            if spins % 64 == 63 {
                thread::yield_now();
            }
        }
    };
    let (absent, inserted): (Vec<bool>, Vec<Insert>) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            (0..KEYS)
                .map(|key| {
                    meet(&read, &written, key);
                    !table.has_or_stamp(&eight(key), 10)
                })
                .collect()
        });
        let inserted = (0..KEYS)
            .map(|key| {
                meet(&written, &read, key);
                table.insert(&eight(key), 5)
            })
            .collect();
        (reader.join().unwrap(), inserted)
    });
    for key in 0..KEYS as usize {
        match inserted[key] {
            Insert::Inserted => assert!(!absent[key], "a phantom: {key}"),
            Insert::Stamped(stamp) => assert_eq!(stamp, 10),
            Insert::Exists => panic!("{key} was inserted once"),
        }
    }
}

/// Entries that are present throughout are visited exactly once, although the index grows tenfold during the scan.
#[test]
fn a_scan_visits_every_entry_once_while_the_index_grows() {
    const KEYS: u64 = 2_000;
    let table = Table::new(KeyWidth::Eight, 2, 13);
    for key in 0..KEYS {
        table.insert(&eight(key), 0);
    }
    let mut later = KEYS..KEYS * 10;
    let (mut cursor, mut visits) = (HashCursor::default(), BTreeMap::new());
    loop {
        let guard = pin();
        let mut batch = Vec::new();
        let more = table.0.scan_batch(&mut cursor, &guard, &mut batch);
        for row in batch {
            *visits.entry(row.key.clone()).or_insert(0) += 1;
        }
        for key in later.by_ref().take(3_000) {
            table.insert(&eight(key), 0);
        }
        if !more {
            break;
        }
    }
    assert_eq!(later.next(), None, "the scan was over before the growth");
    assert!(visits.values().all(|count| *count == 1));
    assert!((0..KEYS).all(|key| visits.contains_key(&eight(key)[..])));
}

#[test]
fn a_scan_beside_writers_misses_nothing() {
    const KEYS: u64 = 1_000;
    let table = Table::new(KeyWidth::Eight, 1, 17);
    for key in 0..KEYS {
        table.insert(&eight(key), 0);
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in KEYS..KEYS * 20 {
                table.insert(&eight(key), 0);
                if key % 3 == 0 {
                    table.remove(&eight(key), Some(0));
                }
            }
        });
        for _ in 0..20 {
            let keys = table.scan();
            let distinct: BTreeSet<_> = keys.iter().collect();
            assert_eq!(distinct.len(), keys.len(), "visited twice");
            assert!((0..KEYS).all(|key| distinct.contains(&eight(key).to_vec())));
        }
    });
}

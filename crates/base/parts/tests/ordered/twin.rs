//! The index against a naive twin: a sorted set of keys, and a list of the ranges that were found empty or scanned.

use super::record::Records;
use model::Direction;
use proptest::prelude::*;
use seriatim_parts::{
    epoch,
    index::{Entry, Insert, KeyWidth, ordered::Cursor, prefetch::SIDE_BY_SIDE},
};
use std::{collections::BTreeSet, ops::Bound};

type Key = Vec<u8>;
type Range = (Bound<Key>, Bound<Key>);

/// One call. Keys are drawn from a small set, so that they meet.
#[derive(Clone, Debug)]
enum Call {
    Insert(Key, u64),
    Remove(Key, u64),
    Get(Key),
    GetOrStamp(Key, u64),
    /// Leaves the scan in progress and starts another.
    Start(Range, bool),
    /// One leaf of the scan in progress, or so many of its entries.
    Step(Option<u64>, usize),
}

/// Expected state of the index.
#[derive(Default)]
struct Twin {
    keys: BTreeSet<Key>,
    stamps: Vec<(Range, u64)>,
}

impl Twin {
    /// The least position at which the key may be inserted.
    fn stamp_of(&self, key: &Key) -> u64 {
        let covers = |range: &Range| within(range, key);
        self.stamps.iter().filter(|(range, _)| covers(range)).map(|(_, stamp)| *stamp).max().unwrap_or(0)
    }

    fn highest_stamp(&self) -> u64 {
        self.stamps.iter().map(|(_, stamp)| *stamp).max().unwrap_or(0)
    }

    fn stamp(&mut self, key: &Key, at: u64) {
        self.stamps.push(((Bound::Included(key.clone()), Bound::Included(key.clone())), at));
    }

    fn range(&self, range: &Range) -> Vec<Key> {
        self.keys.iter().filter(|key| within(range, key)).cloned().collect()
    }
}

fn within(range: &Range, key: &Key) -> bool {
    let above = match &range.0 {
        Bound::Unbounded => true,
        Bound::Included(lower) => lower <= key,
        Bound::Excluded(lower) => lower < key,
    };
    let below = match &range.1 {
        Bound::Unbounded => true,
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
    };
    above && below
}

fn borrowed(bound: &Bound<Key>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

fn owned((lower, upper): (Bound<&[u8]>, Bound<&[u8]>)) -> Range {
    (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec))
}

/// The keys that a scan passed between two of its positions.
fn passed(before: &Range, after: &Cursor) -> Range {
    let left = owned(after.remaining());
    let flip = |bound| match bound {
        Bound::Included(key) => Bound::Excluded(key),
        Bound::Excluded(key) => Bound::Included(key),
        Bound::Unbounded => unreachable!("a scan that goes on stands at a key"),
    };
    match (after.is_finished(), after.direction()) {
        (true, _) => before.clone(),
        (_, Direction::Forward) => (before.0.clone(), flip(left.0)),
        (_, Direction::Backward) => (flip(left.1), before.1.clone()),
    }
}

/// Runs a program on the index and on its twin.
fn run<const FANOUT: usize>(width: KeyWidth, program: &[Call]) {
    let records = Records::<FANOUT>::new(width);
    let mut twin = Twin::default();
    let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    for call in program {
        let guard = &epoch::pin();
        match call {
            Call::Insert(key, at) => match records.insert(key, *at, guard) {
                Insert::Inserted(record) => {
                    assert_eq!(record.key(), &key[..]);
                    assert!(twin.stamp_of(key) <= *at, "{key:?} at {at} is a phantom");
                    assert!(twin.keys.insert(key.clone()));
                }
                Insert::Exists(record) => {
                    assert_eq!(record.key(), &key[..]);
                    assert!(twin.keys.contains(key));
                }
                // Stamps are per leaf, so some refusals are for another key's sake.
                Insert::Stamped(stamp) => {
                    assert!(stamp > *at && stamp <= twin.highest_stamp() && !twin.keys.contains(key));
                }
            },
            Call::Remove(key, stamp) => {
                let removed = records.remove(key, *stamp, guard);
                assert_eq!(removed, twin.keys.remove(key));
                if removed {
                    twin.stamp(key, *stamp);
                }
            }
            Call::Get(key) => {
                let found = records.index.get(key, guard).map(Entry::key);
                assert_eq!(found, twin.keys.get(key).map(Vec::as_slice));
            }
            Call::GetOrStamp(key, at) => {
                let found = records.index.get_or_stamp(key, *at, guard).map(Entry::key);
                assert_eq!(found, twin.keys.get(key).map(Vec::as_slice));
                if found.is_none() {
                    twin.stamp(key, *at);
                }
            }
            Call::Start((lower, upper), backward) => {
                let direction = if *backward { Direction::Backward } else { Direction::Forward };
                cursor.restart(borrowed(lower), borrowed(upper), direction);
            }
            Call::Step(at, most) => step(&records, &mut twin, &mut cursor, (*at, *most)),
        }
    }
    finish(records, &twin);
}

fn step<const FANOUT: usize>(
    records: &Records<FANOUT>,
    twin: &mut Twin,
    cursor: &mut Cursor,
    (at, most): (Option<u64>, usize),
) {
    if cursor.is_finished() {
        return;
    }
    let guard = &epoch::pin();
    let before = owned(cursor.remaining());
    let mut batch = Vec::new();
    let more = records.index.scan_leaf(cursor, at, most, guard, &mut batch);
    assert!(batch.len() <= most);
    assert_eq!(more, !cursor.is_finished());
    let range = passed(&before, cursor);
    let mut expected = twin.range(&range);
    if cursor.direction() == Direction::Backward {
        expected.reverse();
    }
    assert_eq!(batch.iter().map(|record| record.key()).collect::<Vec<_>>(), expected, "{range:?}");
    twin.stamps.extend(at.map(|at| (range, at)));
}

/// The whole contents, both ways, by length and by draining; then nothing may be left.
fn finish<const FANOUT: usize>(mut records: Records<FANOUT>, twin: &Twin) {
    let everything = (Bound::Unbounded, Bound::Unbounded);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, direction);
        let mut all = Vec::new();
        while !cursor.is_finished() {
            let guard = &epoch::pin();
            let mut batch = Vec::new();
            records.index.scan_leaf(&mut cursor, None, usize::MAX, guard, &mut batch);
            all.extend(batch.iter().map(|record| record.key().to_vec()));
        }
        if direction == Direction::Backward {
            all.reverse();
        }
        assert_eq!(all, twin.range(&everything));
    }
    assert_eq!(records.index.len(&epoch::pin()), twin.keys.len());
    let drained: Vec<_> = records.index.drain().collect();
    // SAFETY: drained records are ours; the index is empty now.
    let drained = drained.into_iter().map(|record| unsafe { Box::from_raw(record.as_ptr()) });
    assert!(drained.map(|record| record.key().to_vec()).eq(twin.keys.iter().cloned()));
    assert!(records.index.is_empty(&epoch::pin()));
}

/// Byte strings that tie in their first eight bytes, extend each other, and hold the extreme bytes.
fn any_key() -> impl Strategy<Value = Key> {
    let prefix = prop::sample::select(vec![&b""[..], b"\0\0", b"aaaaaaaa", b"aaaaaaaaaaaa", &[0xff; 8], &[0xff; 9]]);
    let tail = prop::collection::vec(prop::sample::select(vec![0, 1, b'a', 0xff]), 0..3);
    (prefix, tail).prop_map(|(prefix, tail)| [prefix, &tail].concat())
}

/// Numbers that lie close together at both ends, and far apart between.
fn eight_byte_key() -> impl Strategy<Value = Key> {
    let number = prop_oneof![0..48_u64, (0..12_u64).prop_map(|n| u64::MAX - n), (0..6_u64).prop_map(|n| n << 56)];
    number.prop_map(|number| number.to_be_bytes().to_vec())
}

/// A bound is a key, or (also among keys of eight bytes) a byte string of any length.
fn bound(key: BoxedStrategy<Key>) -> impl Strategy<Value = Bound<Key>> {
    let key = prop_oneof![key, any_key()];
    prop_oneof![Just(Bound::Unbounded), key.clone().prop_map(Bound::Included), key.prop_map(Bound::Excluded)]
}

fn program(key: BoxedStrategy<Key>, calls: usize) -> impl Strategy<Value = Vec<Call>> {
    let range = (bound(key.clone()), bound(key.clone()));
    let call = prop_oneof![
        8 => (key.clone(), 0..100_u64).prop_map(|(key, at)| Call::Insert(key, at)),
        4 => key.clone().prop_map(|key| Call::Insert(key, u64::MAX)),
        6 => (key.clone(), 0..50_u64).prop_map(|(key, stamp)| Call::Remove(key, stamp)),
        2 => key.clone().prop_map(Call::Get),
        1 => (key, 0..100_u64).prop_map(|(key, at)| Call::GetOrStamp(key, at)),
        1 => (range, any::<bool>()).prop_map(|(range, backward)| Call::Start(range, backward)),
        3 => (prop::option::of(0..30_u64), prop_oneof![Just(usize::MAX), 1..4_usize]).prop_map(|(at, most)| Call::Step(at, most)),
    ];
    prop::collection::vec(call, 0..calls)
}

fn config() -> ProptestConfig {
    // The interpreter that checks for undefined behaviour is a thousand times slower.
    let cases = if cfg!(miri) { 4 } else { 300 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

const CALLS: usize = if cfg!(miri) { 120 } else { 400 };

proptest! {
    #![proptest_config(config())]

    #[test]
    fn byte_string_keys_agree_with_the_twin(program in program(any_key().boxed(), CALLS)) {
        run::<4>(KeyWidth::Any, &program);
        run::<7>(KeyWidth::Any, &program);
    }

    #[test]
    fn eight_byte_keys_agree_with_the_twin(program in program(eight_byte_key().boxed(), CALLS)) {
        run::<4>(KeyWidth::Eight, &program);
        run::<7>(KeyWidth::Eight, &program);
    }

    #[test]
    fn eight_byte_keys_may_live_in_an_index_of_any_keys(program in program(eight_byte_key().boxed(), CALLS)) {
        run::<5>(KeyWidth::Any, &program);
    }
}

/// The random programs seldom grow a tree beyond three levels; this one does, and takes it down again.
#[test]
fn a_tall_tree_grows_and_shrinks_in_any_order() {
    let count: u64 = if cfg!(miri) { 200 } else { 3_000 };
    let orders: [fn(u64, u64) -> u64; 3] = [|n, _| n, |n, count| count - 1 - n, |n, count| n * 7_919 % count];
    for insert_order in orders {
        for remove_order in orders {
            let key = |number: u64| number.to_be_bytes().to_vec();
            let inserts = (0..count).map(|n| Call::Insert(key(insert_order(n, count)), 0));
            let removes = (0..count).map(|n| Call::Remove(key(remove_order(n, count)), 0));
            let half = removes.clone().take(count as usize / 2);
            let program: Vec<_> = inserts.chain(half).collect();
            run::<4>(KeyWidth::Eight, &program);
            run::<4>(KeyWidth::Any, &program.into_iter().chain(removes).collect::<Vec<_>>());
        }
    }
}

#[test]
fn an_inverted_range_is_finished_before_it_starts() {
    for (lower, upper) in [
        (Bound::Included(&b"b"[..]), Bound::Included(&b"a"[..])),
        (Bound::Included(b"a"), Bound::Excluded(b"a")),
        (Bound::Excluded(b"a"), Bound::Included(b"a")),
        (Bound::Excluded(b"a"), Bound::Excluded(b"a")),
        (Bound::Unbounded, Bound::Excluded(b"")),
    ] {
        assert_eq!(Cursor::new(lower, upper, Direction::Forward).is_finished(), upper != Bound::Excluded(b""));
        let records = Records::<4>::new(KeyWidth::Any);
        let guard = &epoch::pin();
        assert!(matches!(records.insert(b"a", 0, guard), Insert::Inserted(_)));
        let (mut cursor, mut batch) = (Cursor::new(lower, upper, Direction::Backward), Vec::new());
        assert!(!records.index.scan_leaf(&mut cursor, Some(9), usize::MAX, guard, &mut batch) && batch.is_empty());
    }
}

#[test]
#[should_panic(expected = "a key of eight bytes")]
fn a_key_of_the_wrong_width_is_refused() {
    let records = Records::<4>::new(KeyWidth::Eight);
    records.insert(b"short", 0, &epoch::pin());
}

#[test]
fn nothing_is_inserted_when_making_the_entry_panics() {
    let records = Records::<4>::new(KeyWidth::Any);
    let insert = || {
        let guard = epoch::pin();
        // SAFETY: nothing is made.
        unsafe { records.index.insert(b"key", 0, &guard, || panic!("out of memory")) };
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(insert)).is_err());
    let guard = &epoch::pin();
    assert!(records.index.get(b"key", guard).is_none());
    assert!(matches!(records.insert(b"key", 0, guard), Insert::Inserted(_)));
}

#[test]
fn prefetching_comes_upon_what_is_there_and_leaves_no_trace() {
    for width in [KeyWidth::Eight, KeyWidth::Any] {
        let records = Records::<4>::new(width);
        let guard = &epoch::pin();
        let key = |number: u64| number.to_be_bytes();
        for number in (0..400).step_by(2) {
            assert!(matches!(records.insert(&key(number), 0, guard), Insert::Inserted(_)));
        }
        for first in 0..400 {
            let keys: Vec<[u8; 8]> = (0..20).map(|step| key((first + step * 37) % 400)).collect();
            let mut found = Vec::new();
            records.index.prefetch_entries(&keys, guard, |record| found.push(record.key().to_vec()));
            let together = &keys[..SIDE_BY_SIDE];
            let expected: Vec<_> = together.iter().filter(|key| key[7] % 2 == 0).map(|key| key.to_vec()).collect();
            assert!(expected.iter().all(|key| found.contains(key)), "{width:?}: {found:?}");
        }
        assert!(matches!(records.insert(&key(7), 0, guard), Insert::Inserted(_)), "nothing was stamped");
        records.index.prefetch_entries(&[[0; 8]; 0], guard, |_| unreachable!("nothing was wanted"));
    }
}

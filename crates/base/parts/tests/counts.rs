//! Counts of leaves and buckets (L5): one that is unchanged says that nothing has come, whatever else has happened; and
//! an inserter that follows the changes which are reported to it finds every count as it says.
#![cfg(not(any(loom, feature = "shuttle")))]

use model::Direction;
use seriatim_parts::{
    epoch,
    index::{Entry, Hash, Insert, KeyWidth, LeafChange, LeafCount, Ordered, ordered::Cursor},
};
use std::{collections::BTreeSet, ops::Bound, ptr::NonNull};

type Key = Vec<u8>;

#[derive(Debug)]
struct Record(Key);

// SAFETY: the key is immutable.
unsafe impl Entry for Record {
    fn key(&self) -> &[u8] {
        &self.0
    }
}

fn record(key: &[u8]) -> NonNull<Record> {
    NonNull::from(Box::leak(Box::new(Record(key.into()))))
}

fn key(width: KeyWidth, number: u64) -> Key {
    match width {
        KeyWidth::Eight => number.to_be_bytes().to_vec(),
        KeyWidth::Any => format!("a long prefix that all share {number:04}").into_bytes(),
    }
}

/// What a reader remembers: a leaf from its lowest key, with the keys below the next leaf that were not there.
struct Noted {
    low: Option<Key>,
    high: Option<Key>,
    there: BTreeSet<Key>,
    count: LeafCount,
}

type Index = Ordered<Record, 4>;

fn note_all(index: &Index) -> Vec<Noted> {
    let guard = &epoch::pin();
    let mut cursor = Cursor::new(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let (mut batch, mut noted): (_, Vec<Noted>) = (Vec::new(), Vec::new());
    loop {
        let mut leaf = None;
        let more = index.scan_leaf_counted(&mut cursor, usize::MAX, guard, &mut batch, |count, low| {
            leaf = Some((count, low.map(<[u8]>::to_vec)));
        });
        let (count, low) = leaf.expect("a leaf is noted");
        if let Some(last) = noted.last_mut() {
            last.high.clone_from(&low);
        }
        noted.push(Noted { low, high: None, there: batch.iter().map(|record| record.0.clone()).collect(), count });
        if !more {
            return noted;
        }
    }
}

fn insert(index: &Index, key: &[u8], changed: impl FnMut(LeafChange<'_>)) -> bool {
    let guard = &epoch::pin();
    // SAFETY: freed by `remove` or `free`.
    matches!(unsafe { index.insert_counted(key, guard, || record(key), changed) }, Insert::Inserted(_))
}

fn remove(index: &Index, key: &[u8]) -> bool {
    let guard = &epoch::pin();
    let removed = index.remove(key, guard, |_| Some(0));
    // SAFETY: out of the index, and one thread looks.
    removed.map(|record| drop(unsafe { Box::from_raw(record.as_ptr()) })).is_some()
}

fn free(mut index: Index) {
    // SAFETY: drained.
    index.drain().for_each(|record| drop(unsafe { Box::from_raw(record.as_ptr()) }));
}

/// A number that follows from a step.
fn scrambled(step: u64) -> u64 {
    step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

#[test]
fn an_unchanged_count_says_that_nothing_has_come() {
    for width in [KeyWidth::Eight, KeyWidth::Any] {
        let index = Index::with_fanout(width);
        let mut notes: Vec<Noted> = Vec::new();
        let (mut unchanged, mut changed) = (0, 0);
        for step in 0..3_000 {
            let number = scrambled(step) % 150;
            match scrambled(step * 7 + 1) % 2 {
                0 => insert(&index, &key(width, number), |_| {}),
                _ => remove(&index, &key(width, number)),
            };
            if step % 13 == 0 {
                notes = note_all(&index);
            }
            let now: BTreeSet<Key> = note_all(&index).into_iter().flat_map(|leaf| leaf.there).collect();
            for noted in &notes {
                let is_in = |key: &&Key| {
                    noted.low.as_ref().is_none_or(|low| low <= *key)
                        && noted.high.as_ref().is_none_or(|high| *key < high)
                };
                let has_come = now.iter().filter(is_in).any(|key| !noted.there.contains(key));
                let is_same = index.count_of(noted.low.as_deref(), &epoch::pin()) == noted.count;
                assert!(!(has_come && is_same), "step {step}: a key has come unnoticed");
                unchanged += u64::from(is_same);
                changed += u64::from(!is_same);
            }
        }
        assert!(unchanged > 1_000 && changed > 1_000, "{unchanged} and {changed}: both happen");
        free(index);
    }
}

#[test]
fn who_follows_its_own_changes_finds_every_count() {
    for width in [KeyWidth::Eight, KeyWidth::Any] {
        let index = Index::with_fanout(width);
        (0..40).for_each(|number| assert!(insert(&index, &key(width, number * 20), |_| {})));
        let mut notes: Vec<(Option<Key>, LeafCount)> =
            note_all(&index).into_iter().map(|leaf| (leaf.low, leaf.count)).collect();
        for step in 0..400 {
            let key = key(width, scrambled(step) % 800);
            insert(&index, &key, |change| {
                for at in 0..notes.len() {
                    if notes[at].1 == change.before && (change.covered)(notes[at].0.as_deref()) {
                        notes[at].1 = change.after;
                        if let Some(low) = change.split {
                            notes.push((Some(low.to_vec()), change.after));
                        }
                    }
                }
            });
            for (low, count) in &notes {
                assert_eq!(index.count_of(low.as_deref(), &epoch::pin()), *count, "step {step}");
            }
        }
        let leaves = note_all(&index);
        assert!(leaves.len() > 40, "leaves have split");
        assert!(leaves.iter().all(|leaf| notes.iter().any(|(low, _)| *low == leaf.low)), "each half is followed");
        free(index);
    }
}

#[test]
fn buckets_count_too() {
    let mut index = Hash::<Record>::with_shape(KeyWidth::Eight, 1, 7);
    let key = |number: u64| number.to_be_bytes();
    let guard = &epoch::pin();
    let mut notes: Vec<(u64, LeafCount)> = Vec::new();
    for number in 0..2_000_u64 {
        if let Err(count) = index.get_or_count(&key(number + 1_000_000), guard) {
            notes.push((number + 1_000_000, count));
        }
        let absent = index.get_or_count(&key(number), guard).expect_err("it has not come");
        let follow = |change: LeafChange<'_>| {
            for (noted, count) in &mut notes {
                if *count == change.before && (change.covered)(Some(&key(*noted))) {
                    *count = change.after;
                }
            }
        };
        // SAFETY: drained below.
        let inserted = unsafe { index.insert_counted(&key(number), guard, || record(&key(number)), follow) };
        assert!(matches!(inserted, Insert::Inserted(_)));
        assert_ne!(index.count_of(&key(number)), absent, "the insert counts");
        assert!(index.get_or_count(&key(number), guard).is_ok());
    }
    for (noted, count) in notes {
        assert_eq!(index.count_of(&key(noted)), count, "key {noted}");
    }
    // SAFETY: drained.
    index.drain(|record| drop(unsafe { Box::from_raw(record.as_ptr()) }));
}

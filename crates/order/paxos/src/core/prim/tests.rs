//! Each primitive against its definition in `Prim.v`, read anew over ordered maps and 128-bit numbers.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// Numbers as they occur, and at their ends.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..20u64, any::<u64>(), (0..20u64).prop_map(|n| u64::MAX - n)]
}

/// Instances near each other.
fn instance() -> impl Strategy<Value = u64> {
    0..40u64
}

#[derive(Clone, Debug)]
enum Change {
    Set(u64, u8),
    DropBelow(u64),
    Remove(u64),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (instance(), any::<u8>()).prop_map(|(i, v)| Change::Set(i, v)),
        1 => (0..45u64).prop_map(Change::DropBelow),
        1 => instance().prop_map(Change::Remove),
    ]
}

fn same(map: &InstanceMap<u8>, model: &BTreeMap<u64, u8>) {
    assert!(map.iter().eq(model.iter().map(|(key, value)| (*key, value))), "{map:?} is not {model:?}");
}

proptest! {
    #[test]
    fn a_sum_is_exact_or_stops(a in number(), b in number()) {
        let sum = std::panic::catch_unwind(|| n_add(a, b)).ok();
        prop_assert_eq!(sum, u64::try_from(u128::from(a) + u128::from(b)).ok());
    }

    #[test]
    fn a_product_is_exact_or_stops(a in number(), b in number()) {
        let product = std::panic::catch_unwind(|| n_mul(a, b)).ok();
        prop_assert_eq!(product, u64::try_from(u128::from(a) * u128::from(b)).ok());
    }

    #[test]
    fn quotient_and_remainder_are_coqs(a in number(), b in number()) {
        if b == 0 {
            prop_assert_eq!((n_div(a, b), n_mod(a, b)), (0, a));
        } else {
            prop_assert_eq!(u128::from(n_div(a, b)) * u128::from(b) + u128::from(n_mod(a, b)), u128::from(a));
            prop_assert!(n_mod(a, b) < b);
        }
    }

    #[test]
    fn the_greater_and_the_lesser(a in number(), b in number()) {
        prop_assert!(n_max(a, b) >= a && n_max(a, b) >= b && [a, b].contains(&n_max(a, b)));
        prop_assert!(n_min(a, b) <= a && n_min(a, b) <= b && [a, b].contains(&n_min(a, b)));
    }

    #[test]
    fn a_range_is_the_numbers_between(lo in 0..50u64, hi in 0..50u64) {
        let length = hi.saturating_sub(lo);
        prop_assert_eq!(n_range(lo, hi), (0..length).map(|k| lo + k).collect::<Vec<_>>());
    }

    #[test]
    fn append_is_concatenation(a: Vec<u8>, b: Vec<u8>) {
        prop_assert_eq!(list_append(a.clone(), b.clone()), [a, b].concat());
    }

    #[test]
    fn a_replica_set_is_a_set(added in prop::collection::vec(0..64u64, 0..80), asked in number()) {
        let set = added.iter().fold(ns_empty(), |set, replica| ns_add(*replica, set));
        let model: BTreeSet<u64> = added.into_iter().collect();
        prop_assert_eq!(ns_size(set), model.len() as u64);
        prop_assert_eq!(ns_mem(asked, set), model.contains(&asked));
        prop_assert!((0..64).all(|replica| ns_mem(replica, set) == model.contains(&replica)));
    }

    #[test]
    fn a_map_of_instances_is_a_map(
        place in prop_oneof![Just(0), any::<u64>().prop_map(|n| n >> 1), Just(u64::MAX - 50)],
        changes in prop::collection::vec(change(), 0..60),
        asked in instance(),
        (lo, hi) in (0..50u64, 0..50u64),
    ) {
        let (mut map, mut model) = (im_empty(), BTreeMap::new());
        for change in changes {
            match change {
                Change::Set(i, v) => {
                    map = im_set(place + i, v, map);
                    model.insert(place + i, v);
                }
                Change::DropBelow(k) => {
                    map = im_drop_below(place + k, map);
                    model.retain(|key, _| *key >= place + k);
                }
                Change::Remove(_) => {}
            }
            same(&map, &model);
        }
        let i = place + asked;
        prop_assert_eq!(im_get(i, &map), model.get(&i));
        prop_assert_eq!(im_has(i, &map), model.contains_key(&i));
        let (lo, hi) = (place + lo, place + hi);
        let between = model.iter().filter(|(key, _)| (lo..hi).contains(*key)).map(|(key, value)| (*key, *value));
        prop_assert_eq!(im_range(lo, hi, &map), between.collect::<Vec<_>>());
        let again = model.iter().rev().fold(im_empty(), |map, (key, value)| im_set(*key, *value, map));
        prop_assert_eq!(&again, &map, "equal however they came about");
    }

    #[test]
    fn keys_that_are_nowhere_near_are_absent(kept in number(), asked in number()) {
        let map = im_set(kept, (), im_empty());
        prop_assert_eq!(im_has(asked, &map), asked == kept);
        prop_assert_eq!(im_range(asked, u64::MAX, &map).len(), usize::from(asked <= kept && kept < u64::MAX));
        let rest = im_drop_below(asked, map);
        prop_assert_eq!(im_has(kept, &rest), asked <= kept);
    }

    #[test]
    fn a_map_of_sessions_is_a_map(changes in prop::collection::vec(change(), 0..60), asked in instance()) {
        let (mut map, mut model) = (sm_empty(), BTreeMap::new());
        for change in changes {
            match change {
                Change::Set(i, v) => {
                    map = sm_set(i, v, map);
                    model.insert(i, v);
                }
                Change::Remove(i) => {
                    map = sm_remove(i, map);
                    model.remove(&i);
                }
                Change::DropBelow(_) => {}
            }
        }
        prop_assert_eq!(sm_get(asked, &map), model.get(&asked));
        prop_assert_eq!(map.iter().map(|(key, value)| (key, *value)).collect::<BTreeMap<_, _>>(), model);
    }
}

#[test]
fn nothing_is_nothing() {
    assert!(noop().is_empty());
    assert!(blank().is_empty());
    assert_eq!(format!("{:?}", Image::from(vec![1, 2, 3])), "Image(3 bytes)");
    assert_eq!(ns_size(ns_empty()), 0);
    assert!(!ns_mem(64, ns_add(63, ns_empty())));
}

#[test]
#[should_panic(expected = "beyond the 64")]
fn a_replica_that_no_set_holds_stops() {
    let _ = ns_add(64, ns_empty());
}

#[test]
#[should_panic(expected = "too far from")]
fn a_key_far_above_stops_before_it_allocates() {
    let _ = im_set(u64::MAX, (), im_set(0, (), im_empty()));
}

#[test]
#[should_panic(expected = "too far from")]
fn a_key_far_below_stops_before_it_allocates() {
    let _ = im_set(0, (), im_set(u64::MAX - 1, (), im_empty()));
}

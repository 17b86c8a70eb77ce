//! A system that has less than a sort may hold: the sort fails, and not the process. Alone in its process, whose addresses it limits.

use pgtypes::Type;
use seriatim_vectors::sort::{SortKey, Sorter};
use seriatim_vectors::threads::Threads;
use seriatim_vectors::{Batch, Column, Expression};
use std::fs;
use std::process::{Command, id};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

const ROWS: usize = 1 << 16;
/// Rows whose columns take a piece of 32 MiB each.
const MANY: usize = 1 << 22;

fn sorter(sharing: &Arc<AtomicUsize>) -> Sorter {
    let key = SortKey { expression: Expression::column(0, Type::INT8), descending: true, nulls_first: false };
    Sorter::new(Arc::new(vec![key]), &[(0, Type::INT8)], (None, None), None, sharing)
}

fn batch() -> Batch {
    let values = (0..ROWS as i64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed())).collect();
    Batch::new(ROWS, [Column::of_integers(values, vec![false; ROWS])])
}

/// Lets the process have so many bytes of addresses more than now. Returns whether that could be done.
fn limit_addresses(more: usize) -> bool {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let Some(pages) = pages.and_then(|statm| statm.split(' ').next()?.parse::<usize>().ok()) else { return false };
    let limit = format!("--as={}:", pages * 4096 + more);
    Command::new("prlimit").args(["--pid", &id().to_string(), &limit]).status().is_ok_and(|status| status.success())
}

#[test]
fn a_sort_without_room_is_an_error() {
    let sharing = Arc::new(AtomicUsize::new(0));
    let [mut one, mut other, mut third] = [(); 3].map(|()| sorter(&sharing));
    let batch = batch();
    for _ in 0..MANY / ROWS {
        [&mut one, &mut other, &mut third].into_iter().for_each(|it| it.add(&batch).expect("there is room"));
    }
    if !limit_addresses(60 << 20) {
        return eprintln!("a_sort_without_room_is_an_error: skipped, needs prlimit and /proc");
    }
    let added = (0..MANY / ROWS).try_for_each(|_| one.add(&batch)).expect_err("both columns double");
    assert_eq!(added.code(), "53200", "{added:?}");
    // What was freed meanwhile may be used again, so the later ones need more.
    assert!(limit_addresses(60 << 20));
    let merged = third.merge(other).expect_err("both columns double");
    assert_eq!(merged.code(), "53200", "{merged:?}");
    let sorted = one.finish(&Threads::one()).err().expect("36 bytes for each row");
    assert_eq!(sorted.code(), "53200", "{sorted:?}");
}

//! What keeps a scan apart from writers, and what that costs: decision 0104. And how far the engine's own scan is from the limit.
//!
//! ```sh
//! cargo run --release -p seriatim-hyper --example latches
//! ```
//!
//! Sums over sixteen million integers in blocks of 1,024, each block at an address of its own. Every form copies a block's values and adds
//! up the copy, as a scan does whose caller's code runs without a latch.

use env::time::Instant;
use model::columns::{Batch, Sums, Values, batches};
use model::{
    Access, Begin, ColumnType, Columns, Finish, Interactive, Key, Mode, RowBuf, Scan, Schema, SharedReads, ValueRef,
};
use parts::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use parts::sync::{RwLock, fence};
use seriatim_hyper::{Hyper, Options};
use std::hint::black_box;

// As in the programs: where blocks lie decides how fast they come.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BLOCKS: usize = 16_384;
const ROWS: usize = 1024;
const ROUNDS: usize = 25;
/// Beyond four bytes.
const FIRST: i64 = 1 << 40;

fn add_up(values: &[i64]) -> i64 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

/// The least time of a row over all rounds, in nanoseconds.
fn measure(name: &str, expected: i64, mut sum: impl FnMut() -> i64) {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let found = black_box(sum());
        least = least.min(began.elapsed().as_nanos() as f64 / (BLOCKS * ROWS) as f64);
        assert_eq!(found, expected, "{name}");
    }
    println!("{name:<58} {least:.3} ns a row");
}

/// A block whose writers change its version before and after: readers copy and look again.
struct Optimistic {
    version: AtomicU64,
    values: Box<[AtomicI64]>,
}

impl Optimistic {
    fn copy(&self, to: &mut Vec<i64>) {
        loop {
            let seen = self.version.load(Ordering::Acquire);
            to.clear();
            to.extend(self.values.iter().map(|value| value.load(Ordering::Relaxed)));
            fence(Ordering::Acquire);
            if seen & 1 == 0 && self.version.load(Ordering::Relaxed) == seen {
                return;
            }
        }
    }
}

fn main() {
    let values: Vec<i64> = (0..(BLOCKS * ROWS) as i64).map(|key| FIRST + key).collect();
    let expected = add_up(&values);
    let latched: Vec<RwLock<Vec<i64>>> = values.chunks(ROWS).map(|block| RwLock::new(block.to_vec())).collect();
    let optimistic: Vec<Optimistic> = values
        .chunks(ROWS)
        .map(|block| Optimistic {
            version: AtomicU64::new(0),
            values: block.iter().map(|value| AtomicI64::new(*value)).collect(),
        })
        .collect();
    let marked: Vec<RwLock<(Vec<i64>, Vec<u64>)>> =
        values.chunks(ROWS).map(|block| RwLock::new((block.to_vec(), vec![0; ROWS]))).collect();
    let mut copy: Vec<i64> = Vec::with_capacity(ROWS);

    measure("the limit: one array", expected, || add_up(black_box(&values)));
    measure("plain integers, a latch for each block", expected, || {
        latched.iter().fold(0i64, |sum, block| {
            copy.clear();
            copy.extend_from_slice(&block.read().expect("nobody panics"));
            sum.wrapping_add(add_up(black_box(&copy)))
        })
    });
    measure("relaxed atomics, a version for each block", expected, || {
        optimistic.iter().fold(0i64, |sum, block| {
            block.copy(&mut copy);
            sum.wrapping_add(add_up(black_box(&copy)))
        })
    });
    measure("relaxed atomics, not copied and never looked at again", expected, || {
        let sum_of = |block: &Optimistic| {
            block.values.iter().fold(0i64, |sum, value| sum.wrapping_add(value.load(Ordering::Relaxed)))
        };
        optimistic.iter().fold(0i64, |sum, block| sum.wrapping_add(sum_of(block)))
    });
    measure("plain integers, a latch, a branch for each record", expected, || {
        marked.iter().fold(0i64, |sum, block| {
            copy.clear();
            let rows = block.read().expect("nobody panics");
            let unversioned = rows.0.iter().zip(&rows.1).filter(|(_, chain)| **chain == 0);
            unversioned.for_each(|(value, _)| copy.push(*value));
            sum.wrapping_add(add_up(black_box(&copy)))
        })
    });
    engine(expected);
}

/// The engine's sum of a column where it lies, and its scan by column, of a table that nobody changes.
fn engine(expected: i64) {
    let engine = Hyper::new(Options::default());
    let schema = Schema::table("pairs").u64_key().column("value", ColumnType::Int).build().expect("a good schema");
    let table = engine.create_table(schema.clone()).expect("a new table");
    let mut row = RowBuf::new();
    for block in 0..BLOCKS {
        let mut load = engine.begin(Begin::default()).expect("room for one");
        for key in block * ROWS..(block + 1) * ROWS {
            row.set_values([ValueRef::Int(FIRST + key as i64)].into_iter());
            load.insert(table, &Key::from_u64(key as u64), row.row()).expect("alone");
        }
        load.commit().expect("alone");
    }
    let mut reader = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room for one");
    let view = reader.read_view().expect("it is open");
    let mut batch = Batch::default();
    measure("the engine's sum of a column", expected, || {
        let columns = view.columns().expect("it stores columns");
        let scan = Scan::table(table).columns(Columns::Some(&[0]));
        let (summing, mut sums) = (columns.sum_columns(scan).expect("a typed table"), Sums::new(1));
        while summing.next(&mut sums, &mut batch).expect("nobody changes anything") {}
        sums.columns[0].digits as i64
    });
    measure("the engine's scan by column", expected, || {
        let batches = batches(&*view, &schema, Scan::table(table).columns(Columns::Some(&[0]))).expect("a typed table");
        let mut sum = 0i64;
        while batches.next(&mut batch).expect("nobody changes anything") {
            let Values::Int(values) = batch.column(0).values() else { unreachable!("the column has integers") };
            sum = sum.wrapping_add(add_up(values));
        }
        sum
    });
}

//! Cost of the hash index, compared with standard hash maps behind reader-writer locks.
//!
//! `cargo run --release -p seriatim-parts --example hash_bench [KEYS]`
//!
//! Both hold pointers to the same rows of 64 bytes, and every read looks into its row. One thread, keys in random
//! order, nanoseconds per operation: the median of several rounds, and their spread.

#[cfg(not(any(loom, feature = "shuttle")))]
fn main() {
    bench::main();
}

#[cfg(any(loom, feature = "shuttle"))]
fn main() {}

#[cfg(not(any(loom, feature = "shuttle")))]
mod bench {
    use foldhash::fast::FixedState;
    use seriatim_parts::{
        epoch::pin,
        index::{Entry, Hash, Insert, KeyWidth, hash::HashCursor},
    };
    use std::{collections::HashMap, hash::BuildHasher, hint::black_box, ptr::NonNull, sync::RwLock, time::Instant};

    const ROUNDS: usize = 5;
    const SHARDS: usize = 64;

    #[repr(align(64))]
    struct Row {
        key: [u8; 8],
        value: u64,
    }

    // SAFETY: the key never changes.
    unsafe impl Entry for Row {
        fn key(&self) -> &[u8] {
            &self.key
        }
    }

    struct Yardstick {
        state: FixedState,
        shards: Vec<RwLock<HashMap<u64, &'static Row, FixedState>>>,
    }

    impl Yardstick {
        fn new() -> Self {
            let state = FixedState::with_seed(1);
            let shard = |_| RwLock::new(HashMap::with_hasher(FixedState::with_seed(2)));
            Self { state, shards: (0..SHARDS).map(shard).collect() }
        }

        fn shard(&self, key: u64) -> &RwLock<HashMap<u64, &'static Row, FixedState>> {
            &self.shards[(self.state.hash_one(key) >> 58) as usize]
        }

        fn get(&self, key: u64) -> Option<u64> {
            self.shard(key).read().expect("no panics").get(&key).map(|row| row.value)
        }

        fn insert(&self, row: &'static Row) {
            let key = u64::from_be_bytes(row.key);
            self.shard(key).write().expect("no panics").insert(key, row);
        }
    }

    fn insert(index: &Hash<Row>, row: &'static Row, at: u64) {
        let guard = pin();
        // SAFETY: the row has this key and lives for ever.
        let inserted = unsafe { index.insert(&row.key, at, &guard, || NonNull::from(row)) };
        assert!(matches!(inserted, Insert::Inserted(_)));
    }

    fn get(index: &Hash<Row>, key: u64) -> Option<u64> {
        index.get(&key.to_be_bytes(), &pin()).map(|row| row.value)
    }

    pub fn main() {
        let keys: u64 = std::env::args().nth(1).map_or(1_000_000, |keys| keys.parse().expect("a number of keys"));
        let make = |number| Row { key: mix(number).to_be_bytes(), value: number };
        let rows: &'static [Row] = Vec::leak((0..keys).map(make).collect());
        println!("{keys} keys, one thread, ns per operation: median (least-most) of {ROUNDS} rounds");

        let mut built = Vec::new();
        report("insert, maps behind locks", keys, || {
            let map = Yardstick::new();
            rows.iter().for_each(|row| map.insert(row));
            built = vec![map];
        });
        let map = built.pop().expect("built");
        let mut built = Vec::new();
        report("insert, hash index", keys, || {
            let index = Hash::new(KeyWidth::Eight);
            rows.iter().for_each(|row| insert(&index, row, 0));
            built = vec![index];
        });
        let index = built.pop().expect("built");

        let present: Vec<u64> = (0..keys).map(|number| mix(mix(number) % keys)).collect();
        let absent: Vec<u64> = (0..keys).map(|number| mix(keys + number)).collect();
        report("get, maps behind locks", keys, || sum(&present, |key| map.get(key)));
        report("get, hash index, pin included", keys, || sum(&present, |key| get(&index, key)));
        report("get absent, maps behind locks", keys, || sum(&absent, |key| map.get(key)));
        report("get absent, hash index", keys, || sum(&absent, |key| get(&index, key)));
        let mut at = 0;
        report("get_or_stamp absent, hash index, stamp raised", keys, || {
            sum(&absent, |key| {
                at += 1;
                index.get_or_stamp(&key.to_be_bytes(), at, &pin()).map(|row| row.value)
            });
        });
        report("scan of all, hash index", keys, || assert_eq!(scan(&index), keys));
        report("remove and insert again, hash index", keys, || {
            for row in rows {
                assert!(index.remove(&row.key, &pin(), |_| Some(0)).is_some());
                // Above every stamp that was left above.
                insert(&index, row, u64::MAX);
            }
        });
        worst_insert(rows);
    }

    fn sum(keys: &[u64], get: impl FnMut(u64) -> Option<u64>) {
        black_box(keys.iter().copied().filter_map(get).fold(0, u64::wrapping_add));
    }

    fn scan(index: &Hash<Row>) -> u64 {
        let (mut cursor, mut visited) = (HashCursor::default(), 0);
        loop {
            let (guard, mut batch) = (pin(), Vec::with_capacity(512));
            let more = index.scan_batch(&mut cursor, &guard, &mut batch);
            visited += batch.len() as u64;
            if !more {
                return visited;
            }
        }
    }

    fn report(what: &str, operations: u64, mut run: impl FnMut()) {
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                run();
                start.elapsed().as_nanos() as f64 / operations as f64
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        println!("{what:50} {:6.1} ({:.1}-{:.1})", rounds[ROUNDS / 2], rounds[0], rounds[ROUNDS - 1]);
    }

    /// The tail of single inserts; on a busy machine its far end is the scheduler's.
    fn worst_insert(rows: &'static [Row]) {
        let index = Hash::new(KeyWidth::Eight);
        let mut spent: Vec<u128> = rows
            .iter()
            .map(|row| {
                let start = Instant::now();
                insert(&index, row, 0);
                start.elapsed().as_nanos()
            })
            .collect();
        spent.sort_unstable();
        let at = |part: f64| spent[((spent.len() - 1) as f64 * part) as usize] as f64 / 1_000.0;
        println!(
            "single inserts, us: p50 {:.2}, p99 {:.2}, p99.9 {:.2}, p99.99 {:.2}, p99.999 {:.2}, worst {:.2}",
            at(0.5),
            at(0.99),
            at(0.999),
            at(0.9999),
            at(0.99999),
            at(1.0)
        );
    }

    /// One to one, and looks random.
    fn mix(number: u64) -> u64 {
        let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
    }
}

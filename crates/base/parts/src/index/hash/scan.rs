//! Visits every entry while the index grows.

use super::{super::Entry, LazyShard, shard::Shard};
use crate::epoch::Guard;

/// Buckets visited under one guard.
const BUCKETS_PER_BATCH: usize = 128;

/// Progress of a scan of the index; the default is the start.
///
/// It counts in *reversed hashes*, lowest bit first. In that order a bucket covers one contiguous range, and a split
/// cuts the range in two halves next to each other: what lies before the cursor stays before it, however the index
/// grows.
#[derive(Clone, Debug, Default)]
pub struct HashCursor {
    shard: usize,
    /// The reversed hash from which on the shard has not been visited.
    position: u64,
}

impl HashCursor {
    pub(super) fn advance<'g, E: Entry>(
        &mut self,
        shards: &[LazyShard<E>],
        guard: &'g Guard,
        batch: &mut Vec<&'g E>,
    ) -> bool {
        for _ in 0..BUCKETS_PER_BATCH {
            let Some(shard) = shards.get(self.shard) else { return false };
            let Some(shard) = shard.get() else {
                *self = Self { shard: self.shard + 1, position: 0 };
                continue;
            };
            let visited = visit(shard, self.position.reverse_bits(), guard, batch);
            match self.position.checked_add(visited) {
                Some(position) => self.position = position,
                None => *self = Self { shard: self.shard + 1, position: 0 },
            }
        }
        self.shard < shards.len()
    }
}

/// Appends the entries of the bucket that `hash` is assigned to, and returns how long the range of reversed hashes is
/// that it covers.
fn visit<'g, E: Entry>(shard: &Shard<E>, hash: u64, guard: &'g Guard, batch: &mut Vec<&'g E>) -> u64 {
    let before = batch.len();
    loop {
        let (home, bucket) = shard.locate(hash);
        let seen = bucket.latch.begin();
        // SAFETY: read from their slots under the guard.
        batch.extend(bucket.slots(guard).filter_map(|slot| unsafe { slot.load().entry() }));
        if shard.home(hash) == home && bucket.latch.validate(seen) {
            return 1 << (u64::BITS - home.depth);
        }
        batch.truncate(before);
    }
}

//! What a key looks like to the hash index: its hash, and how it is compared.

use super::super::{Entry, KeyWidth};
use foldhash::{SharedSeed, quality::FoldHasher};
use std::hash::Hasher;

/// The bits of a hash from which the shard is taken: the topmost.
const SHARD_SHIFT: u32 = 58;
/// The bits of a hash from which the tag is taken: below the shard's, far above any bucket's.
const TAG_SHIFT: u32 = 43;
/// How many bits a tag has; the lowest is always one.
pub(super) const TAG_BITS: u32 = 16;

/// Hashes keys by a seed.
///
/// The quality form of foldhash, since shard, tag and bucket each want good bits of their own; it costs a second
/// multiplication (about a nanosecond). Without the seed nobody can tell which keys share a bucket.
pub(super) struct KeyHasher {
    width: KeyWidth,
    seed: u64,
    shared: SharedSeed,
}

/// A key on its way through the index.
pub(super) struct Probe<'a> {
    pub(super) hash: u64,
    key: Key<'a>,
}

enum Key<'a> {
    Eight(u64),
    Any(&'a [u8]),
}

impl KeyHasher {
    pub(super) fn new(width: KeyWidth, seed: u64) -> Self {
        Self { width, seed, shared: SharedSeed::from_u64(seed) }
    }

    #[inline]
    pub(super) fn probe<'a>(&self, key: &'a [u8]) -> Probe<'a> {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared);
        let key = match self.width {
            KeyWidth::Eight => {
                let word = eight(key).expect("a key of eight bytes");
                hasher.write_u64(word);
                Key::Eight(word)
            }
            KeyWidth::Any => {
                hasher.write(key);
                Key::Any(key)
            }
        };
        Probe { hash: hasher.finish(), key }
    }
}

impl Probe<'_> {
    /// Whether `entry` is the one that this probe looks for.
    #[inline]
    pub(super) fn is_of<E: Entry>(&self, entry: &E) -> bool {
        match self.key {
            Key::Eight(word) => eight(entry.key()) == Some(word),
            Key::Any(bytes) => entry.key() == bytes,
        }
    }

    #[inline]
    pub(super) fn shard(&self, shards: usize) -> usize {
        (self.hash >> SHARD_SHIFT) as usize & (shards - 1)
    }

    /// What a slot shows of the hash: odd, so never that of an empty slot (H4).
    #[inline]
    pub(super) fn tag(&self) -> usize {
        (self.hash >> TAG_SHIFT) as usize & ((1 << TAG_BITS) - 1) | 1
    }
}

#[inline]
fn eight(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_le_bytes)
}

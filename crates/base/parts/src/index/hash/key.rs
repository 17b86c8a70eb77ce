//! Keys in the hash index: hashes, and comparison.

use super::super::{Entry, KeyWidth};
use foldhash::{SharedSeed, quality::FoldHasher};
use std::hash::Hasher;

/// The bits of a hash from which the shard is taken: the topmost.
const SHARD_SHIFT: u32 = 58;
/// Bits of a tag; the lowest is always one.
pub(super) const TAG_BITS: u32 = 16;
/// Tags are taken anew from the hash whenever so many more of its bits have gone into the choice of the bucket: at
/// least eight bits of a tag then tell the entries of one bucket apart.
const TAG_WINDOW: u32 = 8;

/// Returns the first hash bit of the tags in a bucket that `depth` low bits of the hash decide.
///
/// The tag holds the bits that come next, so nearly all splits read off it where an entry goes, and never touch the
/// entry, which would be a cache miss each.
#[inline]
fn window(depth: u32) -> u32 {
    depth - depth % TAG_WINDOW
}

/// Tag: the part of a hash that a slot shows in a bucket that `depth` bits decide: odd, so never that of an empty slot (H4).
#[inline]
pub(super) fn tag(hash: u64, depth: u32) -> usize {
    (hash >> window(depth) << 1) as usize & ((1 << TAG_BITS) - 1) | 1
}

/// Returns whether an entry with this tag goes to the new bucket when a bucket that `depth` bits decide is split.
#[inline]
pub(super) fn goes_up(tag: usize, depth: u32) -> bool {
    tag >> (depth - window(depth) + 1) & 1 == 1
}

/// Returns whether a bucket that `depth` bits decide has other tags than one that one bit more decides.
#[inline]
pub(super) fn is_last_of_window(depth: u32) -> bool {
    window(depth) != window(depth + 1)
}

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

    /// The same, with the hash that an earlier probe of the key had.
    #[inline]
    pub(super) fn probe_hashed<'a>(&self, key: &'a [u8], hash: u64) -> Probe<'a> {
        let key = match self.width {
            KeyWidth::Eight => Key::Eight(eight(key).expect("a key of eight bytes")),
            KeyWidth::Any => Key::Any(key),
        };
        Probe { hash, key }
    }
}

/// Number of the shard, among so many, that has the keys of a hash.
#[inline]
pub(super) fn shard_of(hash: u64, shards: usize) -> usize {
    (hash >> SHARD_SHIFT) as usize & (shards - 1)
}

impl Probe<'_> {
    /// Returns whether `entry` is the one that this probe looks for.
    #[inline]
    pub(super) fn is_of<E: Entry>(&self, entry: &E) -> bool {
        match self.key {
            Key::Eight(word) => eight(entry.key()) == Some(word),
            Key::Any(bytes) => entry.key() == bytes,
        }
    }
}

#[inline]
fn eight(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_shows_where_a_split_sends_its_entry() {
        for depth in 2..40 {
            for hash in [0, u64::MAX, 1 << depth, !(1 << depth), 0x9E37_79B9_7F4A_7C15] {
                let tag = tag(hash, depth);
                assert!(tag & 1 == 1 && tag < 1 << TAG_BITS);
                assert_eq!(goes_up(tag, depth), hash >> depth & 1 == 1, "{hash:x} at {depth}");
            }
            assert_eq!(
                is_last_of_window(depth),
                tag(u64::MAX << (depth + 1), depth + 1) != tag(u64::MAX << (depth + 1), depth)
            );
        }
    }
}

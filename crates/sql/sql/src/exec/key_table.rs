//! Hash tables keyed by typed values: used for groups, joins, DISTINCT, set operations and IN.

use crate::error::Result;
use crate::types::{Datum, Row, Type, equal_typed, hash_typed};
use foldhash::fast::{FixedState, FoldHasher};
use pgtypes::memory::{push, reserve_entry};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

/// Keys of one list of types; NULL equals NULL. Keys are numbered from 0 in order of insertion.
pub(super) struct KeyTable {
    types: Vec<Type>,
    /// Newest key of each hash.
    heads: HashMap<u64, usize, BuildHasherDefault<Hashed>>,
    keys: Vec<Entry>,
}

struct Entry {
    key: Row,
    /// Next older key of the same hash.
    older: Option<usize>,
}

impl KeyTable {
    /// An empty table for keys of these types.
    pub fn new(types: Vec<Type>) -> KeyTable {
        KeyTable { types, heads: HashMap::default(), keys: Vec::new() }
    }

    /// Returns the number of a key, if it exists.
    pub fn find(&self, key: &[Datum]) -> Option<usize> {
        self.find_hashed(self.hash(key), key)
    }

    /// Inserts a key if it is new. Returns its number, and whether it is new.
    ///
    /// # Errors
    /// 53200 if the system has no memory for a larger table.
    pub fn insert(&mut self, key: Row) -> Result<(usize, bool)> {
        let hash = self.hash(&key);
        if let Some(number) = self.find_hashed(hash, &key) {
            return Ok((number, false));
        }
        let number = self.keys.len();
        reserve_entry(&mut self.heads)?;
        let older = self.heads.get(&hash).copied();
        push(&mut self.keys, Entry { key, older })?;
        self.heads.insert(hash, number);
        Ok((number, true))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// A key by its number.
    pub fn key(&self, number: usize) -> &[Datum] {
        &self.keys[number].key
    }

    /// The keys by number.
    pub fn into_keys(self) -> impl Iterator<Item = Row> {
        self.keys.into_iter().map(|entry| entry.key)
    }

    fn find_hashed(&self, hash: u64, key: &[Datum]) -> Option<usize> {
        let mut at = self.heads.get(&hash).copied();
        while let Some(number) = at {
            let entry = &self.keys[number];
            if same(&self.types, &entry.key, key) {
                return Some(number);
            }
            at = entry.older;
        }
        None
    }

    fn hash(&self, key: &[Datum]) -> u64 {
        let mut hasher: FoldHasher<'_> = FixedState::with_seed(0).build_hasher();
        for (data_type, value) in self.types.iter().zip(key) {
            if !Datum::is_null(value) {
                hash_typed(*data_type, value, &mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Returns whether two rows are equal by their types; NULL equals NULL.
pub(super) fn same(types: &[Type], left: &[Datum], right: &[Datum]) -> bool {
    types.iter().zip(left.iter().zip(right)).all(|(data_type, (left, right))| equal_typed(*data_type, left, right))
}

/// Uses a number that is already a hash as its own hash.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

//! Audits: what the database must look like after a run, from what the committed transactions returned. An engine that loses,
//! invents or repeats a write must not win a comparison.

use super::Stamp;
use model::RowRef;
use std::collections::HashMap;

/// Looks at every row of every table once nothing else runs: tables in the order of the workload's schemas, rows of an ordered
/// table in the order of their keys.
pub trait Audit {
    /// Looks at a row.
    ///
    /// # Errors
    /// Describes the violation.
    fn see(&mut self, table: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String>;

    /// Concludes, after all rows.
    ///
    /// # Errors
    /// Describes the violation.
    fn finish(self) -> Result<(), String>;
}

/// One in so many keys is followed from write to write: enough that a fault which strikes everywhere is seen, too few to disturb
/// the caches of a run.
const FOLLOWED: u64 = 64;

/// Returns whether the writes of a key are followed.
#[inline]
pub fn is_followed(key: u64) -> bool {
    key.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 40 & (FOLLOWED - 1) == 0
}

/// A client's last committed write of each key that is followed. Its own transactions are ordered as it ran them, so that the
/// row found at the end is the last write of some client.
#[derive(Clone, Debug, Default)]
pub struct LastWrites(HashMap<u64, Stamp>);

impl LastWrites {
    /// Takes note of a committed write.
    pub fn note(&mut self, key: u64, stamp: Stamp) {
        self.0.insert(key, stamp);
    }
}

/// Checks rows against the last writes of all clients.
#[derive(Clone, Debug)]
pub struct LastWritesAudit {
    by_client: Vec<LastWrites>,
}

impl LastWritesAudit {
    /// For the writes of these clients.
    pub fn new<'a>(clients: impl Iterator<Item = &'a LastWrites>) -> LastWritesAudit {
        LastWritesAudit { by_client: clients.filter(|writes| !writes.0.is_empty()).cloned().collect() }
    }

    /// Checks a row that is left at the end.
    ///
    /// # Errors
    /// The row is not what a client wrote last, or what was loaded if nobody wrote it.
    pub fn check(&self, key: u64, found: Stamp) -> Result<(), String> {
        if !is_followed(key) {
            return Ok(());
        }
        let mut written = self.by_client.iter().filter_map(|writes| writes.0.get(&key)).peekable();
        let is_right =
            if written.peek().is_none() { found.is_loaded() } else { written.clone().any(|stamp| *stamp == found) };
        if is_right {
            return Ok(());
        }
        let expected: Vec<u64> = written.map(|stamp| stamp.0).collect();
        Err(format!("key {key} holds write {}, and the last committed writes of the clients are {expected:?}", found.0))
    }
}

/// Fails unless two counts are equal.
///
/// # Errors
/// Names what differs.
pub fn expect<T: PartialEq + std::fmt::Display>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found} instead of {expected}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::Stamps;

    #[test]
    fn about_one_key_in_sixty_four_is_followed() {
        let followed = (0..64_000).filter(|&key| is_followed(key)).count();
        assert!((800..1200).contains(&followed), "{followed}");
    }

    #[test]
    fn only_a_last_write_may_be_left() {
        let key = (0..).find(|&key| is_followed(key)).unwrap();
        let [loaded, one, another, of_other] = [0, 1, 1, 2].map(Stamps::of_client).map(|mut stamps| stamps.draw());
        let another = Stamp(another.0 + 1);
        let (mut first, mut second) = (LastWrites::default(), LastWrites::default());
        first.note(key, one);
        first.note(key, another);
        second.note(key, of_other);
        let audit = LastWritesAudit::new([&first, &second].into_iter());
        assert!(audit.check(key, another).is_ok() && audit.check(key, of_other).is_ok());
        assert!(audit.check(key, one).is_err(), "a lost write");
        assert!(audit.check(key, loaded).is_err(), "all writes lost");
        let untouched = LastWritesAudit::new(std::iter::empty());
        assert!(untouched.check(key, loaded).is_ok() && untouched.check(key, one).is_err());
    }
}

//! What is taken from the log, without I/O: which payloads of an entry are delivered, and whether entries are missing.
//!
//! etcd counts how often a key was put. So entries of a node have numbers without gaps, and one that is missing, or one that
//! another program has written, is noticed (E3).

use crate::batch;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use total::{Delivered, Origin, Position};

/// A put of a node's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub node: u64,
    /// The key's version after it.
    pub version: u64,
    pub revision: u64,
    pub value: Bytes,
}

/// An entry that the order's nodes do not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The value is no batch.
    Value { node: u64, revision: u64 },
    /// The entry does not follow the one before it.
    Gap { node: u64, revision: u64, version: u64, expected: u64 },
    /// Its first payload is not the one that follows.
    Payloads { node: u64, revision: u64, first: u64, expected: u64 },
    /// A node's key was deleted, or is none.
    Key { revision: u64 },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { node, revision } => write!(f, "the entry of node {node} at revision {revision} is no batch"),
            Self::Gap { node, revision, version, expected } => write!(
                f,
                "the entry of node {node} at revision {revision} has version {version}, but {expected} follows"
            ),
            Self::Payloads { node, revision, first, expected } => write!(
                f,
                "the entry of node {node} at revision {revision} begins with payload {first}, but {expected} follows"
            ),
            Self::Key { revision } => write!(f, "a key of the log was deleted or is none, at revision {revision}"),
        }?;
        write!(f, "; another program has changed the order's keys: begin a new order with another prefix")
    }
}

/// Where this node stands in the log.
#[derive(Debug)]
pub struct Incoming {
    /// Everything up to here is in the consumer's state.
    after: Option<Position>,
    /// All entries up to this revision were taken.
    reached: u64,
    /// The last version of each node's key that was taken; unknown where the log was compacted beyond the begin.
    versions: Option<BTreeMap<u64, u64>>,
    /// The last life of each node, and the number of its next payload.
    lives: BTreeMap<u64, (u64, u64)>,
}

impl Incoming {
    /// At the begin of an order, which was made at this revision.
    pub fn at_begin(created: u64) -> Self {
        Self { after: None, reached: created, versions: Some(BTreeMap::new()), lives: BTreeMap::new() }
    }

    /// Behind this position. `found` is the log as of its revision, if it is kept: nodes with version and revision of their last
    /// entry.
    pub fn behind(after: Position, found: Option<&[(u64, u64, u64)]>) -> Self {
        let before = |&(node, version, revision): &(u64, u64, u64)| {
            // The entry of this revision is taken again: some of its payloads may be behind the position.
            (node, if revision == after.instance { version.saturating_sub(1) } else { version })
        };
        Self {
            after: Some(after),
            reached: after.instance.saturating_sub(1),
            versions: found.map(|found| found.iter().map(before).collect()),
            lives: BTreeMap::new(),
        }
    }

    /// Returns the revision up to which all entries were taken.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Returns the last version of a node's key that was taken.
    pub fn version(&self, node: u64) -> Option<u64> {
        self.versions.as_ref().map(|versions| versions.get(&node).copied().unwrap_or(0))
    }

    /// Returns how many entries of a node are missing, if the last one up to some revision is this.
    pub fn missing(&self, node: u64, version: u64, revision: u64) -> u64 {
        if revision <= self.reached {
            return 0;
        }
        match (self.version(node), self.after) {
            (Some(taken), _) => version.saturating_sub(taken),
            // The position's own entry; and otherwise more than is known.
            (None, Some(after)) if after.instance == revision => 1,
            (None, _) => u64::MAX,
        }
    }

    /// All entries up to this revision were taken, and the last ones of the nodes are these.
    pub fn skip_to(&mut self, revision: u64, found: &[(u64, u64, u64)]) {
        self.reached = self.reached.max(revision);
        self.versions = Some(found.iter().map(|&(node, version, _)| (node, version)).collect());
    }

    /// Takes the next entry, and returns what of it is delivered.
    ///
    /// # Errors
    /// It is not the next one, or none of ours.
    pub fn take(&mut self, entry: &Entry) -> Result<Vec<Delivered>, Damage> {
        let Entry { node, version, revision, .. } = *entry;
        if revision <= self.reached {
            return Ok(Vec::new());
        }
        let expected = self.version(node).map_or(version, |taken| taken + 1);
        if version != expected {
            return Err(Damage::Gap { node, revision, version, expected });
        }
        let batch = batch::decode(&entry.value).map_err(|_| Damage::Value { node, revision })?;
        let count = batch.payloads.len() as u64;
        let known = self.lives.get(&node).copied();
        let expected = match known {
            Some((life, next)) if life == batch.life => next,
            None if version > 1 => batch.first,
            _ => 0,
        };
        if batch.first != expected || known.is_some_and(|(life, _)| life > batch.life) {
            return Err(Damage::Payloads { node, revision, first: batch.first, expected });
        }
        self.lives.insert(node, (batch.life, batch.first + count));
        if let Some(versions) = &mut self.versions {
            versions.insert(node, version);
        }
        self.reached = revision;
        let origin = Origin { node, life: batch.life };
        let delivered = (0u32..).zip(batch.first..).zip(batch.payloads).map(|((index, submission), payload)| {
            let position = Position { instance: revision, index };
            Delivered { position, origin, submission, payload }
        });
        Ok(delivered.filter(|delivered| Some(delivered.position) > self.after).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(node: u64, version: u64, revision: u64, (life, first): (u64, u64), count: usize) -> Entry {
        let payloads = vec![Bytes::from_static(b"x"); count];
        Entry { node, version, revision, value: batch::encode(life, first, payloads.iter()) }
    }

    fn at(instance: u64, index: u32) -> Position {
        Position { instance, index }
    }

    fn taken(incoming: &mut Incoming, entry: &Entry) -> Vec<(u64, u32, u64)> {
        let all = incoming.take(entry).unwrap();
        all.iter().map(|it| (it.position.instance, it.position.index, it.submission)).collect()
    }

    #[test]
    fn entries_are_taken_once_and_in_their_order() {
        let mut incoming = Incoming::at_begin(3);
        assert_eq!(taken(&mut incoming, &entry(1, 1, 5, (4, 0), 2)), [(5, 0, 0), (5, 1, 1)]);
        assert_eq!(taken(&mut incoming, &entry(1, 1, 5, (4, 0), 2)), [], "again");
        assert_eq!(taken(&mut incoming, &entry(2, 1, 7, (6, 0), 1)), [(7, 0, 0)]);
        assert_eq!(taken(&mut incoming, &entry(1, 2, 8, (4, 2), 1)), [(8, 0, 2)]);
        assert_eq!(taken(&mut incoming, &entry(1, 3, 10, (9, 0), 1)), [(10, 0, 0)], "another life");
        assert_eq!(incoming.reached(), 10);
    }

    #[test]
    fn what_is_missing_or_foreign_is_noticed() {
        let mut incoming = Incoming::at_begin(3);
        taken(&mut incoming, &entry(1, 1, 5, (4, 0), 2));
        let gap = Damage::Gap { node: 1, revision: 9, version: 3, expected: 2 };
        assert_eq!(incoming.take(&entry(1, 3, 9, (4, 2), 1)), Err(gap));
        let payloads = |first, expected| Err(Damage::Payloads { node: 1, revision: 9, first, expected });
        assert_eq!(incoming.take(&entry(1, 2, 9, (4, 3), 1)), payloads(3, 2));
        assert_eq!(incoming.take(&entry(1, 2, 9, (8, 1), 1)), payloads(1, 0), "a life begins with its first");
        assert_eq!(incoming.take(&entry(1, 2, 9, (3, 0), 1)), payloads(0, 0), "an earlier life is over");
        let foreign = Entry { value: Bytes::from_static(b"hello"), ..entry(1, 2, 9, (4, 2), 1) };
        assert_eq!(incoming.take(&foreign), Err(Damage::Value { node: 1, revision: 9 }));
        assert_eq!(taken(&mut incoming, &entry(1, 2, 9, (4, 2), 1)), [(9, 0, 2)], "nothing of it was taken");
    }

    #[test]
    fn a_position_within_a_batch_has_the_rest_of_it() {
        let found = [(1, 6, 20), (2, 3, 11)];
        let mut incoming = Incoming::behind(at(20, 0), Some(&found));
        assert_eq!((incoming.version(1), incoming.version(2), incoming.version(3)), (Some(5), Some(3), Some(0)));
        assert_eq!(taken(&mut incoming, &entry(1, 6, 20, (7, 30), 3)), [(20, 1, 31), (20, 2, 32)]);
        assert_eq!(taken(&mut incoming, &entry(2, 4, 21, (8, 9), 1)), [(21, 0, 9)]);
    }

    #[test]
    fn entries_that_a_compaction_has_removed_are_counted() {
        let mut incoming = Incoming::at_begin(3);
        taken(&mut incoming, &entry(1, 1, 5, (4, 0), 2));
        let missing = |incoming: &Incoming| {
            [(1, 1, 5), (1, 2, 9), (1, 4, 12), (2, 1, 8)].map(|(n, v, r)| incoming.missing(n, v, r))
        };
        assert_eq!(missing(&incoming), [0, 1, 3, 1]);
        let unknown = Incoming::behind(at(8, 0), None);
        assert_eq!(missing(&unknown), [0, u64::MAX, u64::MAX, 1]);
        incoming.skip_to(12, &[(1, 4, 12), (2, 1, 8)]);
        assert_eq!((incoming.reached(), incoming.version(1), incoming.version(2)), (12, Some(4), Some(1)));
    }
}

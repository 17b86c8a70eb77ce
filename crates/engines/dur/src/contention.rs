//! The commit optimization: transactions that cannot have met a conflict are applied without validation (section 3.1.3).
//!
//! Each object has a home, a node. A transaction that accesses objects of its own node only is *local*; others announce themselves.
//! What a local transaction has read can be changed by others only if a transaction of another node wrote to its home, or if one that
//! it rests on aborted. Both have places. So the last such place is kept for each node, its *contention*; and a local transaction that
//! began when its node had applied everything up to there cannot have met either.
//!
//! *Deviation:* the thesis keeps a map of suspected objects for each node, and skips when it is empty. An object leaves the map when
//! it is written again, so with a few transactions in a hundred that cross, the maps never empty, and the optimization is switched off
//! by load. A contention is passed as soon as a node has applied it, it costs a comparison, and there is nothing to switch
//! (decision 0141).

use crate::turn::Place;
use model::{Key, TableId};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound;
use total::Origin;

/// Which node each object belongs to: the same on all nodes, for ever.
pub trait Partition: Debug + Send + Sync {
    /// The home of a key. `None`: it is at home on every node, for those that only read it. Who writes it crosses.
    fn home(&self, table: TableId, key: &[u8]) -> Option<u64>;

    /// The home of all keys of a range; `None` if they may have several.
    fn home_of_range(&self, table: TableId, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<u64>;
}

/// The contentions, by node.
#[derive(Debug, Default)]
pub(crate) struct Contentions {
    by_node: BTreeMap<u64, Contention>,
    /// The last place at which a transaction committed a write to an object that is at home everywhere.
    everywhere: Place,
}

#[derive(Debug, Default)]
struct Contention {
    place: Place,
    /// The life that was delivered last: turns of different lives do not follow each other.
    life: u64,
}

impl Contentions {
    fn raise(&mut self, node: u64, place: Place) -> &mut Contention {
        let contention = self.by_node.entry(node).or_default();
        contention.place = place;
        contention
    }

    /// A transaction of a life was delivered.
    pub fn note_life(&mut self, origin: Origin, place: Place) {
        if self.by_node.get(&origin.node).is_none_or(|contention| contention.life != origin.life) {
            self.raise(origin.node, place).life = origin.life;
        }
    }

    /// A transaction of a node aborted: those that rest on it began before.
    pub fn note_abort(&mut self, origin: Origin, place: Place) {
        self.raise(origin.node, place);
    }

    /// A transaction committed a write to an object of a home.
    pub fn note_write(&mut self, home: Option<u64>, origin: Origin, place: Place) {
        match home {
            None => self.everywhere = place,
            Some(home) if home != origin.node => _ = self.raise(home, place),
            Some(_) => {}
        }
    }

    /// Returns whether a transaction that began at `base` cannot have met a conflict.
    pub fn may_skip(&self, origin: Origin, base: Place, crosses: bool) -> bool {
        let is_behind = |contention: &Contention| contention.place <= base;
        !crosses && self.everywhere <= base && self.by_node.get(&origin.node).is_some_and(is_behind)
    }
}

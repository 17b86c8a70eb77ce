//! What tests of faults share: load at all nodes, and the comparison of what all lives were delivered.

use super::{Cluster, NODES, Taken, payload, propose};
use crate::{Delivered, OrderError, Origin, Position, TotalOrder};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// The nodes of a cluster.
pub fn all_nodes() -> Vec<u64> {
    (0..NODES).collect()
}

/// Hands in the payloads with these numbers at each node.
pub fn propose_each<C: Cluster>(cluster: &C, numbers: Range<u64>) {
    for node in all_nodes() {
        for number in numbers.clone() {
            propose::<C>(cluster.node(node), payload(node, number));
        }
    }
}

/// Takes so many payloads of each node, at each node, and compares.
pub fn assert_agreement<C: Cluster>(cluster: &C, taken: &mut [Taken], count: u64) {
    for (node, taken) in all_nodes().into_iter().zip(&mut *taken) {
        taken.until::<C>(cluster.node(node), &all_nodes(), count);
        all_nodes().into_iter().for_each(|node| taken.assert_payloads(node, 0..count));
    }
    assert!(taken.iter().all(|other| other.all == taken[0].all), "O1");
}

/// Takes until the order ends, and returns the reason.
pub fn end_of<C: Cluster>(order: &C::Order) -> String {
    loop {
        match order.deliver(&mut Vec::new(), 1, C::PATIENCE) {
            Ok(()) => (),
            Err(OrderError::Stopped(why)) => return why,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What each life has handed in: its payloads and their numbers, in the order in which they were handed in.
#[derive(Debug, Default)]
pub struct Proposed(BTreeMap<Origin, Vec<(u64, Bytes)>>);

impl Proposed {
    /// A life has handed in a payload, and was told its number.
    pub fn add(&mut self, origin: Origin, submission: u64, payload: Bytes) {
        let all = self.0.entry(origin).or_default();
        assert!(all.last().is_none_or(|(last, _)| *last < submission), "O2: numbers grow: {submission} of {origin:?}");
        all.push((submission, payload));
    }

    /// The number of the last payload that a life has handed in.
    pub fn last_of(&self, origin: Origin) -> Option<&u64> {
        self.0.get(&origin)?.last().map(|(submission, _)| submission)
    }

    /// Asserts that what was delivered of each life is what it has handed in, in this order and from its first payload on, without a hole
    /// and with nothing else (O2). A number that no payload has stands for nothing: a barrier may have taken it.
    fn assert_delivered<'a>(&self, all: impl Iterator<Item = &'a Delivered>) {
        let mut rest: BTreeMap<Origin, &[(u64, Bytes)]> =
            self.0.iter().map(|(origin, all)| (*origin, &**all)).collect();
        for Delivered { origin, submission, payload, .. } in all {
            let rest = rest.get_mut(origin).unwrap_or_else(|| panic!("O2: {origin:?} has handed in nothing"));
            let Some(((number, bytes), further)) = rest.split_first() else {
                panic!("O2: {origin:?} has not handed in {submission}, or it came before")
            };
            assert!((number, bytes) == (submission, payload), "O2: {number} of {origin:?} is next, not {submission}");
            *rest = further;
        }
    }
}

/// Asserts that what the consumers of all lives were delivered is one order (O1, O2): one payload at a position, no life with a hole, and
/// of each origin what it has handed in, from its first payload on. Returns how many payloads there are.
pub fn assert_one_order(lives: &[Vec<Delivered>], proposed: &Proposed) -> usize {
    let mut by_position: BTreeMap<Position, &Delivered> = BTreeMap::new();
    for delivered in lives.iter().flatten() {
        let before = by_position.entry(delivered.position).or_insert(delivered);
        assert_eq!(*before, delivered, "O1: one payload at a position");
    }
    for life in lives {
        let (Some(first), Some(last)) = (life.first(), life.last()) else { continue };
        let all = by_position.range(first.position..=last.position).map(|(_, delivered)| *delivered);
        assert!(all.eq(life), "O1: without holes");
    }
    proposed.assert_delivered(by_position.values().copied());
    by_position.len()
}

//! What tests of faults share: load at all nodes, and the comparison of what all lives were delivered.

use super::{Cluster, NODES, Taken, payload, propose};
use crate::{Delivered, OrderError, Position, TotalOrder};
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

/// Asserts that what the consumers of all lives were delivered is one order (O1, O2): one payload at a position, no life with a hole, and
/// the payloads of each origin in the order of their submission from the first one on. Returns how many payloads there are.
pub fn assert_one_order(lives: &[Vec<Delivered>]) -> usize {
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
    let mut next = BTreeMap::new();
    for delivered in by_position.values() {
        let expected = next.entry(delivered.origin).or_insert(0);
        assert_eq!(delivered.submission, *expected, "O2: {:?}", delivered.origin);
        *expected += 1;
    }
    by_position.len()
}

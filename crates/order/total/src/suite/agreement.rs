//! One order for all (O1 to O3).

use super::{Cluster, NODES, payload, propose, take};
use crate::OrderLimits;

/// Payloads that each node hands in.
const COUNT: u64 = 2_000;

/// All nodes propose at once, and take at once.
pub fn all_nodes_are_delivered_the_same<C: Cluster>() {
    let cluster = C::start(OrderLimits { proposals: 100, ..OrderLimits::default() });
    let nodes: Vec<u64> = (0..NODES).collect();
    let taken: Vec<_> = std::thread::scope(|scope| {
        for &node in &nodes {
            let order = cluster.node(node);
            scope.spawn(move || {
                let numbers = (0..COUNT).map(|number| propose::<C>(order, payload(node, number)));
                let numbers: Vec<u64> = numbers.collect();
                assert!(numbers.is_sorted_by(|one, next| one < next));
            });
        }
        let take = |node: u64| take::<C>(cluster.node(node), &nodes, COUNT);
        let takers: Vec<_> = nodes.iter().map(|&node| scope.spawn(move || take(node))).collect();
        takers.into_iter().map(|taker| taker.join().expect("the taker's test holds")).collect()
    });
    nodes.iter().for_each(|&node| taken[0].assert_payloads(node, 0..COUNT));
    assert!(taken.iter().all(|others| others.all == taken[0].all), "O1");
}

/// The leader dies with what is under way: what the others have handed in comes without a hole.
pub fn the_others_go_on_when_a_node_dies<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    let dying = cluster.leader();
    let propose_each = |cluster: &C, nodes: &[u64], numbers: std::ops::Range<u64>| {
        for &node in nodes {
            numbers.clone().for_each(|number| {
                propose::<C>(cluster.node(node), payload(node, number));
            });
        }
    };
    let others: Vec<u64> = (0..NODES).filter(|node| *node != dying).collect();
    propose_each(&cluster, &(0..NODES).collect::<Vec<_>>(), 0..500);
    cluster.stop(dying);
    propose_each(&cluster, &others, 500..1_000);
    let taken = [0, 1].map(|other| take::<C>(cluster.node(others[other]), &others, 1_000));
    taken.iter().for_each(|taken| others.iter().for_each(|&node| taken.assert_payloads(node, 0..1_000)));
    let common = taken[0].all.len().min(taken[1].all.len());
    assert!(taken[0].all[..common] == taken[1].all[..common], "O1");
}

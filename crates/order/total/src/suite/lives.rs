//! Nodes that start again.

use super::{Cluster, payload, propose, take};
use crate::{OrderError, OrderLimits, TotalOrder};
use env::time::Duration;

/// A life is delivered what follows the state that it says it has, and nothing twice.
pub fn a_life_resumes_where_its_state_ends<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    (0..10).for_each(|number| {
        propose::<C>(cluster.node(0), payload(0, number));
    });
    let seen = take::<C>(cluster.node(1), &[0], 10).all;
    cluster.stop(1);
    cluster.restart(1, Some(seen[3].position));
    let again = take::<C>(cluster.node(1), &[0], 6).all;
    assert_eq!(again, seen[4..]);
}

/// A life that has no state is delivered everything.
pub fn a_life_without_a_state_begins_with_the_first_payload<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    propose::<C>(cluster.node(0), payload(0, 0));
    let first = take::<C>(cluster.node(0), &[0], 1).all;
    let others = cluster.node(1).deliver(&mut Vec::new(), 1, Duration::ZERO);
    assert!(matches!(others, Ok(()) | Err(OrderError::TimedOut)));
    cluster.stop(0);
    cluster.restart(0, None);
    assert_eq!(take::<C>(cluster.node(0), &[0], 1).all, first);
}

/// What a life has handed in is delivered under its name, also to the next life; and lives differ.
pub fn an_earlier_life_keeps_its_name<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    let first = cluster.node(2).origin();
    let one = propose::<C>(cluster.node(2), payload(2, 0));
    take::<C>(cluster.node(2), &[2], 1);
    cluster.stop(2);
    cluster.restart(2, None);
    let second = cluster.node(2).origin();
    assert_eq!((first.node, second.node), (2, 2));
    assert_ne!(first.life, second.life, "a life has its own number");
    let other = propose::<C>(cluster.node(2), payload(2, 1));
    for node in [0, 2] {
        let taken = take::<C>(cluster.node(node), &[2], 2).all;
        let named: Vec<_> = taken.iter().map(|it| (it.origin, it.submission)).collect();
        assert_eq!(named, [(first, one), (second, other)]);
    }
}

//! Nodes that are cut off from the others.

use super::{Partitions, payload, propose, take};
use crate::{OrderError, OrderLimits, TotalOrder};
use env::time::Duration;

/// Who is cut off is delivered nothing; connected again, it has what it missed, and the others have what it handed in.
pub fn who_is_cut_off_catches_up<C: Partitions>() {
    let cluster = C::start(OrderLimits::default());
    cluster.cut_off(2);
    propose::<C>(cluster.node(2), payload(2, 0));
    (0..10).for_each(|number| {
        propose::<C>(cluster.node(0), payload(0, number));
    });
    let others = take::<C>(cluster.node(1), &[0], 10);
    assert!(others.all.iter().all(|delivered| delivered.origin.node == 0));
    assert_eq!(cluster.node(2).deliver(&mut Vec::new(), 1, Duration::ZERO), Err(OrderError::TimedOut));
    cluster.connect(2);
    let whole = take::<C>(cluster.node(2), &[0, 2], 1);
    assert_eq!(whole.all[..10], others.all[..10]);
    take::<C>(cluster.node(1), &[2], 1).assert_payloads(2, 0..1);
}

/// A barrier of a node that is cut off cannot be placed: its state may be stale.
pub fn a_barrier_waits_for_the_connection<C: Partitions>() {
    let cluster = C::start(OrderLimits::default());
    cluster.cut_off(1);
    propose::<C>(cluster.node(0), payload(0, 0));
    let at = take::<C>(cluster.node(0), &[0], 1).all[0].position;
    assert_eq!(cluster.node(1).barrier(Duration::ZERO), Err(OrderError::TimedOut));
    cluster.connect(1);
    assert!(cluster.node(1).barrier(C::PATIENCE).expect("it is placed") >= at);
}

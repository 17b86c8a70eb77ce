//! Limits of what is handed in, and the end.

use super::{Cluster, payload, propose, take};
use crate::{OrderError, OrderLimits, TotalOrder};
use bytes::Bytes;

/// A node whose deliveries nobody takes has no room in the end, and has some when they are taken.
pub fn too_many_proposals_wait_for_room<C: Cluster>() {
    let limits = OrderLimits { proposals: 10, deliveries: 1, delivered_bytes: 100, ..OrderLimits::default() };
    let cluster = C::start(limits);
    let order = cluster.node(0);
    let mut taken = 0;
    // Orders may deliver ahead of the consumer, by as much as their queue holds.
    let error = loop {
        match order.propose(payload(0, taken)) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 10_000, "nothing limits proposals");
    };
    assert_eq!(error, OrderError::Busy);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| order.room(C::PATIENCE));
        take::<C>(order, &[0], taken).assert_payloads(0, 0..taken);
        assert!(waits.join().expect("it waits for room").expect("room comes").is_left());
    });
    propose::<C>(order, payload(0, taken));
    take::<C>(order, &[0], 1).assert_payloads(0, taken..taken + 1);
}

/// Neither nothing nor too much is handed in; the longest payload is delivered whole.
pub fn payloads_have_a_length<C: Cluster>() {
    let cluster = C::start(OrderLimits::default());
    let order = cluster.node(1);
    let limit = order.capabilities().payload_bytes;
    assert_eq!(order.propose(Bytes::new()), Err(OrderError::Empty));
    let too_long = Bytes::from(vec![7; limit + 1]);
    assert_eq!(order.propose(too_long), Err(OrderError::TooLarge { bytes: limit + 1, limit }));
    propose::<C>(order, vec![9; limit].into());
    let longest = take::<C>(cluster.node(2), &[1], 1).all.remove(0).payload;
    assert!(longest.len() == limit && longest.iter().all(|byte| *byte == 9));
}

//! Barriers (O4).

use super::{Cluster, NODES, Taken, payload, propose, take};
use crate::{OrderLimits, TotalOrder};

/// What one node has been delivered is before the barrier of each other node that asks afterwards.
pub fn a_barrier_is_behind_what_was_delivered_anywhere<C: Cluster>() {
    let cluster = C::start(OrderLimits::default());
    let mut readers: Vec<Taken> = (0..NODES).map(|_| Taken::default()).collect();
    for round in 0..20 {
        let writer = round % NODES;
        propose::<C>(cluster.node(writer), payload(writer, round));
        let at = {
            let taken = &mut readers[writer as usize];
            let count = round / NODES + 1;
            taken.until::<C>(cluster.node(writer), &[writer], count);
            taken.all.last().expect("one was taken").position
        };
        let reader = (round + 1) % NODES;
        let barrier = std::thread::scope(|scope| {
            let order = cluster.node(reader);
            let asks = scope.spawn(move || order.barrier(C::PATIENCE).expect("it is placed"));
            let taken = &mut readers[reader as usize];
            // The asker waits for deliveries in some orders.
            while !asks.is_finished() {
                taken.take(order, std::time::Duration::from_millis(1));
            }
            asks.join().expect("it was placed")
        });
        assert!(barrier >= at, "O4: a barrier at {barrier:?}, behind {at:?}");
        let taken = &mut readers[reader as usize];
        taken.until_barrier::<C>(cluster.node(reader), barrier);
        assert!(taken.all.iter().any(|delivered| delivered.position == at), "O4: a state after it is not stale");
    }
}

/// A barrier comes behind the payloads of its node, and the payloads come as if there were no barriers.
pub fn barriers_and_payloads_come_in_one_order<C: Cluster>() {
    let cluster = C::start(OrderLimits::default());
    let order = cluster.node(1);
    std::thread::scope(|scope| {
        let taker = scope.spawn(|| take::<C>(order, &[1], 100));
        for number in 0..100 {
            propose::<C>(order, payload(1, number));
            if number % 10 == 0 {
                order.barrier(C::PATIENCE).expect("it is placed");
            }
        }
        taker.join().expect("all came").assert_payloads(1, 0..100);
    });
    take::<C>(cluster.node(0), &[1], 100).assert_payloads(1, 0..100);
}

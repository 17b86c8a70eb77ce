//! The tests that every order passes, as a library.
//!
//! # How to test an order
//! Implement [`Cluster`] in a test, and call [`order_suite!`](crate::order_suite) with it. An order that can be cut off from the others
//! implements [`Partitions`] too, and calls [`order_partitions!`](crate::order_partitions). Tests of faults that only one order has use
//! [`propose`], [`Taken`] and [`histories`]; [`faults`] needs [`Faults`].
//!
//! Nothing here depends on time: who waits, waits for an event, with [`Cluster::PATIENCE`] as the end of a failing test.
//! That the suite can fail is tested by orders that break an invariant each (`tests/broken.rs`).

pub mod agreement;
pub mod barriers;
pub mod faults;
pub mod histories;
pub mod lag;
pub mod lives;
pub mod partitions;
pub mod room;

use crate::{Delivered, Event, OrderError, OrderLimits, Position, TotalOrder};
use bytes::Bytes;
use env::time::Duration;
use std::collections::BTreeMap;

/// Nodes of a cluster.
pub const NODES: u64 = 3;

/// Three nodes of an order. What the order itself keeps survives the stop of a node, as on a disk.
pub trait Cluster: Sync + Sized {
    /// A node's end.
    type Order: TotalOrder;

    /// Longer than anything here takes; nothing waits so long unless something is wrong.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Returns whether the order can be had on this machine; if not, says so ([`order_suite!`](crate::order_suite) asks).
    #[must_use]
    fn can_start() -> bool {
        true
    }

    /// A new order, whose three nodes run.
    fn start(limits: OrderLimits) -> Self;

    /// A node that runs.
    fn node(&self, node: u64) -> &Self::Order;

    /// Stops a node without a farewell.
    fn stop(&mut self, node: u64);

    /// Starts a node that was stopped: another life, which has what is up to `resume_after`.
    fn restart(&mut self, node: u64, resume_after: Option<Position>);

    /// The node to stop where the worst is wanted: one that leads, if the order has such.
    fn leader(&self) -> u64;
}

/// A cluster whose nodes can be cut off from each other.
pub trait Partitions: Cluster {
    /// Cuts a node off.
    fn cut_off(&self, node: u64);

    /// Connects it again.
    fn connect(&self, node: u64);
}

/// A cluster on servers of its own: as many as nodes, each beside one.
pub trait Faults: Partitions {
    /// What servers answer to a node is lost from here on, until it is cut off.
    fn lose_answers(&self, node: u64);

    /// Stops a server where it is.
    fn pause(&self, server: u64);

    /// Lets a paused server go on.
    fn go_on(&self, server: u64);

    /// Ends a server at once.
    fn kill(&mut self, server: u64);

    /// Starts a server that was killed.
    fn start_again(&mut self, server: u64);
}

/// A payload that says who handed it in, and as the how-manieth.
pub fn payload(node: u64, number: u64) -> Bytes {
    format!("{node} {number}").into()
}

/// Hands in a payload, waiting for room.
pub fn propose<C: Cluster>(order: &C::Order, payload: Bytes) -> u64 {
    loop {
        match order.propose(payload.clone()) {
            Ok(number) => return number,
            Err(OrderError::Busy) => {
                order.room(C::PATIENCE).expect("room comes as deliveries are taken");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// What a consumer was delivered, checked as it comes: O1 and O2 as far as one node sees them.
#[derive(Debug, Default)]
pub struct Taken {
    /// Deliveries so far.
    pub all: Vec<Delivered>,
    /// The last barrier.
    pub barrier: Option<Position>,
    by_node: BTreeMap<u64, u64>,
    last_submission: BTreeMap<crate::Origin, u64>,
}

impl Taken {
    /// Takes once; `None` if nothing came in time.
    pub fn take(&mut self, order: &impl TotalOrder, patience: Duration) -> Option<()> {
        let mut events = Vec::new();
        match order.deliver(&mut events, 100, patience) {
            Ok(()) => assert!((1..=100).contains(&events.len()), "so many as were asked for"),
            Err(OrderError::TimedOut) => return None,
            Err(error) => panic!("{error}"),
        }
        events.into_iter().for_each(|event| self.add(event));
        Some(())
    }

    fn add(&mut self, event: Event) {
        match event {
            Event::Ordered(delivered) => self.add_delivered(delivered),
            Event::Barrier(at) => {
                assert!(self.barrier.is_none_or(|last| last <= at), "barriers come in their order");
                self.barrier = Some(at);
            }
            Event::Behind { .. } => panic!("nobody was away so long"),
        }
    }

    fn add_delivered(&mut self, delivered: Delivered) {
        assert!(self.all.last().is_none_or(|last| last.position < delivered.position), "O1: positions increase");
        let last = self.last_submission.insert(delivered.origin, delivered.submission);
        assert!(last.is_none_or(|last| last < delivered.submission), "O2: in the order of their submission");
        *self.by_node.entry(delivered.origin.node).or_default() += 1;
        self.all.push(delivered);
    }

    /// Takes until so many payloads of each of the nodes came.
    pub fn until<C: Cluster>(&mut self, order: &C::Order, nodes: &[u64], count: u64) {
        while nodes.iter().any(|node| self.by_node.get(node).copied().unwrap_or(0) < count) {
            self.take(order, C::PATIENCE).expect("what was taken is delivered (O3)");
        }
    }

    /// Takes until a barrier at or behind this position was reached.
    pub fn until_barrier<C: Cluster>(&mut self, order: &C::Order, at: Position) {
        while self.barrier < Some(at) {
            self.take(order, C::PATIENCE).expect("a barrier is delivered");
        }
    }

    /// Asserts that the payloads of a node are those with these numbers, in this order.
    pub fn assert_payloads(&self, node: u64, numbers: impl Iterator<Item = u64>) {
        let found = self.all.iter().filter(|delivered| delivered.origin.node == node);
        let found: Vec<Bytes> = found.map(|delivered| delivered.payload.clone()).collect();
        let expected: Vec<Bytes> = numbers.map(|number| payload(node, number)).collect();
        assert!(found == expected, "O2: node {node}: {} payloads, {} expected", found.len(), expected.len());
    }
}

/// Takes so many payloads of each of the nodes.
pub fn take<C: Cluster>(order: &C::Order, nodes: &[u64], count: u64) -> Taken {
    let mut taken = Taken::default();
    taken.until::<C>(order, nodes, count);
    taken
}

/// Calls the suite's tests on a cluster.
#[macro_export]
macro_rules! order_suite {
    ($cluster:ty) => {
        $crate::order_suite! {
            $cluster:
            agreement::all_nodes_are_delivered_the_same,
            agreement::the_others_go_on_when_a_node_dies,
            room::too_many_proposals_wait_for_room,
            room::payloads_have_a_length,
            lives::a_life_without_a_state_begins_with_the_first_payload,
            lives::a_life_resumes_where_its_state_ends,
            lives::an_earlier_life_keeps_its_name,
            lag::a_slow_consumer_holds_up_nobody,
            lag::what_is_kept_is_delivered_again,
            lag::who_is_behind_is_told_and_resumes,
            lag::who_follows_a_state_misses_nothing,
            barriers::a_barrier_is_behind_what_was_delivered_anywhere,
            barriers::barriers_and_payloads_come_in_one_order,
        }
    };
    ($cluster:ty: $($part:ident::$test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                if <$cluster as $crate::suite::Cluster>::can_start() {
                    $crate::suite::$part::$test::<$cluster>();
                }
            }
        )*
    };
}

/// Calls the tests of partitions on a cluster.
#[macro_export]
macro_rules! order_partitions {
    ($cluster:ty) => {
        $crate::order_suite! {
            $cluster:
            partitions::who_is_cut_off_catches_up,
            partitions::a_barrier_waits_for_the_connection,
        }
    };
}

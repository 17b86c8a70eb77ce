//! The order within one process passes the suite.

mod common;

use common::Nodes;
use seriatim_total::sequencer::Sequencer;
use seriatim_total::{Event, OrderError, OrderLimits, TotalOrder, order_partitions, order_suite};
use std::time::Duration;

order_suite!(Nodes);
order_partitions!(Nodes);

#[test]
fn a_later_life_stops_an_earlier_one() {
    let sequencer = Sequencer::new(OrderLimits::default());
    let first = sequencer.join(0, None);
    let second = sequencer.join(0, None);
    assert!(matches!(first.propose("x".into()), Err(OrderError::Stopped(_))));
    drop(first);
    second.propose("y".into()).unwrap();
    let mut events = Vec::new();
    second.deliver(&mut events, 1, Duration::ZERO).unwrap();
    assert!(matches!(&events[..], [Event::Ordered(delivered)] if delivered.origin == second.origin()));
    sequencer.stop(0);
    assert!(matches!(second.deliver(&mut events, 1, Duration::ZERO), Err(OrderError::Stopped(_))));
}

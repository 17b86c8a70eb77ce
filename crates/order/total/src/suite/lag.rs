//! Nodes that are slow or away.

use super::{Cluster, Taken, payload, propose, take};
use crate::{Event, OrderError, OrderLimits, Position, TotalOrder};
use bytes::Bytes;

/// A node that takes nothing does not keep the others from their deliveries, and has its own later.
pub fn a_slow_consumer_holds_up_nobody<C: Cluster>() {
    let cluster = C::start(OrderLimits { deliveries: 10, proposals: 100, ..OrderLimits::default() });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..500).for_each(|number| {
                propose::<C>(cluster.node(0), payload(0, number));
            });
        });
        scope.spawn(|| take::<C>(cluster.node(0), &[0], 500));
        scope.spawn(|| take::<C>(cluster.node(1), &[0], 500));
    });
    take::<C>(cluster.node(2), &[0], 500).assert_payloads(0, 0..500);
}

/// Payloads that fill what is kept by default, many times over.
const LARGE: usize = 256 << 10;
const MANY: u64 = 400;

fn large(number: u64) -> Bytes {
    let mut bytes = vec![number as u8; LARGE];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes.into()
}

fn number_of(payload: &Bytes) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().expect("it has eight bytes"))
}

/// Hands in so many large payloads at a node, and takes them there and at others as they come.
fn fill<C: Cluster>(cluster: &C, at: u64, others: &[u64], count: u64, mut each: impl FnMut(Position)) -> Vec<Position> {
    let mut taken = Taken::default();
    let mut elsewhere: Vec<_> = others.iter().map(|&node| (node, Taken::default())).collect();
    for number in 0..count {
        propose::<C>(cluster.node(at), large(number));
        taken.until::<C>(cluster.node(at), &[at], number + 1);
        for (node, taken) in &mut elsewhere {
            taken.until::<C>(cluster.node(*node), &[at], number + 1);
        }
        each(taken.all.last().expect("one was taken").position);
    }
    taken.all.iter().map(|delivered| delivered.position).collect()
}

/// What follows the place that a node said is delivered to its next life, though the others have gone on.
pub fn what_is_kept_is_delivered_again<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    let mut kept = None;
    let positions = fill(&cluster, 0, &[1, 2], 40, |at| {
        let from = *kept.get_or_insert(at);
        cluster.node(0).keep_from(from);
    });
    cluster.stop(0);
    cluster.restart(0, Some(positions[0]));
    let again = take::<C>(cluster.node(0), &[0], 39).all;
    let found: Vec<_> = again.iter().map(|it| (it.position, number_of(&it.payload))).collect();
    let expected: Vec<_> = positions[1..].iter().copied().zip(1..).collect();
    assert_eq!(found, expected);
}

/// A node that was away longer than payloads are kept is told so, is delivered nothing that would leave a hole, and
/// goes on from a state that it fetches.
pub fn who_is_behind_is_told_and_resumes<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    cluster.stop(2);
    let positions = fill(&cluster, 0, &[1], MANY, |_| ());
    cluster.restart(2, None);
    let order = cluster.node(2);
    let mut events = Vec::new();
    while !matches!(events.last(), Some(Event::Behind { .. })) {
        order.deliver(&mut events, 1, C::PATIENCE).expect("it is told");
    }
    let Some(Event::Behind { earliest, holders }) = events.pop() else { unreachable!("it ended the loop") };
    // Before that, whatever was still there, without a hole.
    let before = events.iter().filter_map(|event| match event {
        Event::Ordered(delivered) => Some(delivered.position),
        _ => None,
    });
    assert!(before.eq(positions[..events.len()].iter().copied()), "O5");
    assert!(!holders.is_empty() && !holders.contains(&2), "somebody else has a state");
    assert_eq!(order.deliver(&mut Vec::new(), 1, C::PATIENCE), Err(OrderError::Missed), "first it resumes");
    assert_eq!(order.resume(positions[0]), Err(OrderError::Missed), "a state that is too old");
    // A state of node 0, which has everything so far; then all goes on.
    let state = *positions.last().expect("many were ordered");
    assert!(earliest <= state);
    order.resume(state).expect("what follows is kept");
    let next = propose::<C>(order, payload(2, 0));
    let mut taken = Taken::default();
    taken.until::<C>(order, &[2], 1);
    assert_eq!(taken.all.iter().map(|it| it.submission).collect::<Vec<_>>(), [next], "nothing before it");
}

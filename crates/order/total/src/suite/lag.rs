//! Nodes that are slow or away.

use super::{Cluster, Taken, payload, propose, take};
use crate::{Event, OrderError, OrderLimits, Position, TotalOrder};
use bytes::Bytes;
use env::time::Duration;

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

/// Takes what is delivered until the node is told that it is behind, which is the last event.
fn until_behind<C: Cluster>(order: &C::Order) -> Vec<Event> {
    let mut events = Vec::new();
    while !matches!(events.last(), Some(Event::Behind { .. })) {
        order.deliver(&mut events, 1, C::PATIENCE).expect("it is told");
    }
    events
}

/// A node that was away longer than payloads are kept is told so, is delivered nothing that would leave a hole, and
/// goes on from a state that it fetches.
pub fn who_is_behind_is_told_and_resumes<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    cluster.stop(2);
    let positions = fill(&cluster, 0, &[1], MANY, |_| ());
    cluster.restart(2, None);
    let order = cluster.node(2);
    let mut events = until_behind::<C>(order);
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

/// A node that fetches a state for longer than payloads are kept misses nothing: what follows the state is delivered meanwhile, though it
/// has nothing on its disk. Once it has the state, it goes on as all do.
pub fn who_follows_a_state_misses_nothing<C: Cluster>() {
    let mut cluster = C::start(OrderLimits::default());
    cluster.stop(2);
    let positions = fill(&cluster, 0, &[1], MANY, |_| ());
    cluster.restart(2, None);
    let order = cluster.node(2);
    order.keep_from(Position::default());
    until_behind::<C>(order);
    assert_eq!(order.follow(positions[0]), Err(OrderError::Missed), "a state that is too old");
    order.follow(*positions.last().expect("many were ordered")).expect("what follows is kept");
    let meanwhile = fill(&cluster, 0, &[1, 2], MANY, |_| ());
    let state = *meanwhile.last().expect("many were ordered");
    order.resume(state).expect("it has taken everything up to there");
    order.keep_from(state);
    propose::<C>(cluster.node(0), payload(0, 0));
    let next = take::<C>(order, &[0], 1).all;
    assert!(next.len() == 1 && next[0].position > state, "nothing comes twice: {next:?}");
}

/// Time in which nothing comes, by which an order is taken to stand still. On a machine that is too slow for it the test sees less, and
/// does not fail.
const STILL: Duration = Duration::from_secs(2);

/// Takes once, and says that it is on the disk.
fn take_and_keep(taken: &mut Taken, order: &impl TotalOrder, patience: Duration) -> Option<()> {
    taken.take(order, patience)?;
    taken.all.last().into_iter().for_each(|last| order.keep_from(last.position));
    Some(())
}

/// Of two nodes of three, one was told that it is behind and has no state yet. The other one stands still before it has to forget what it
/// alone has on its disk, and goes on when that one has a state. For orders that know [`OrderLimits::forgets_by_majority`].
pub fn a_bare_majority_waits_for_who_is_behind<C: Cluster>() {
    let limits = OrderLimits { forgets_by_majority: true, ..OrderLimits::default() };
    let mut cluster = C::start(limits);
    cluster.stop(1);
    let keep = |at| [0, 2].into_iter().for_each(|node| cluster.node(node).keep_from(at));
    let positions = fill(&cluster, 0, &[2], MANY, keep);
    cluster.restart(1, None);
    let mut events = Vec::new();
    while !matches!(events.last(), Some(Event::Behind { .. })) {
        cluster.node(1).deliver(&mut events, 1, C::PATIENCE).expect("it is told");
    }
    cluster.stop(2);
    let (order, behind) = (cluster.node(0), cluster.node(1));
    let (mut taken, mut next) = (Taken::default(), Some(0));
    // Whether something came.
    let mut pump = |taken: &mut Taken, patience| {
        while let Some(number) = next.filter(|number| order.propose(large(*number)).is_ok()) {
            next = (number + 1 < MANY).then_some(number + 1);
        }
        take_and_keep(taken, order, patience).is_some()
    };
    while (taken.all.len() as u64) < MANY && pump(&mut taken, STILL) {}
    let kept = taken.all.len() * LARGE;
    assert!(kept <= limits.kept_bytes * 5 / 4, "it keeps {kept} bytes that nobody else has, or has forgotten them");
    let state = taken.all.last().map_or(positions[positions.len() - 1], |last| last.position);
    behind.resume(state).expect("what follows is kept");
    behind.keep_from(state);
    let left = MANY as usize - taken.all.len();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut taken = Taken::default();
            while taken.all.len() < left {
                take_and_keep(&mut taken, behind, C::PATIENCE).expect("it goes on");
            }
        });
        while (taken.all.len() as u64) < MANY {
            assert!(pump(&mut taken, C::PATIENCE), "it goes on");
        }
    });
    assert!(taken.all.iter().map(|it| number_of(&it.payload)).eq(0..MANY), "O2");
}

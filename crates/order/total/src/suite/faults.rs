//! Faults in any order, under load.

use super::histories::{Proposed, all_nodes, assert_one_order};
use super::{Faults, NODES, Taken, payload, propose};
use crate::{Delivered, OrderError, OrderLimits, Position, TotalOrder};
use bytes::Bytes;
use env::Randomness;
use env::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Pause,
    CutOff,
    LostAnswers,
    NodeStarts,
    ServerStarts,
}

const FAULTS: [Fault; 5] = [Fault::Pause, Fault::CutOff, Fault::LostAnswers, Fault::NodeStarts, Fault::ServerStarts];

/// Servers are paused, killed and started again, connections are cut and lose answers, nodes start again: in any order, so many times,
/// under load. Asserts that all lives were delivered one order, in which the lives that run at the end have everything that they have
/// handed in (O1 to O3). Returns how many payloads were delivered.
pub fn under_faults<C: Faults>(seed: u64, rounds: u64) -> usize {
    let mut randomness = Randomness::from_seed(seed);
    let limits = OrderLimits { retry: Duration::from_millis(300), proposals: 200, ..OrderLimits::default() };
    let mut cluster = C::start(limits);
    let mut lives: Vec<Vec<Delivered>> = Vec::new();
    let mut proposed = Proposed::default();
    let mut resume: [Option<Position>; NODES as usize] = [None; NODES as usize];
    for round in 0..rounds {
        let at = randomness.in_range(0..NODES);
        let fault = FAULTS[randomness.in_range(0..FAULTS.len() as u64) as usize];
        for (node, taken) in (0..).zip(under_load(&cluster, round, fault, at, &mut proposed)) {
            resume[node] = taken.all.last().map(|last| last.position).or(resume[node]);
            lives.push(taken.all);
        }
        match fault {
            Fault::NodeStarts => {
                cluster.stop(at);
                cluster.restart(at, resume[at as usize]);
            }
            Fault::ServerStarts => {
                cluster.kill(at);
                cluster.start_again(at);
            }
            Fault::Pause | Fault::CutOff | Fault::LostAnswers => (),
        }
    }
    lives.extend(last_parts(&cluster, rounds, &mut proposed));
    assert_one_order(&lives, &proposed)
}

/// Ends the threads of a test, also where it fails.
struct EndsAtDrop<'a>(&'a AtomicBool);

impl Drop for EndsAtDrop<'_> {
    fn drop(&mut self) {
        // Only the end of the threads is said by it.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A fault of a server, or of the connections of a node, while all nodes propose and take; until all is well again.
fn under_load<C: Faults>(cluster: &C, round: u64, fault: Fault, at: u64, proposed: &mut Proposed) -> Vec<Taken> {
    let (load_ended, all_ended) = &(AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let all = EndsAtDrop(all_ended);
        let load = EndsAtDrop(load_ended);
        let propose = |node| scope.spawn(move || propose_until(cluster.node(node), node, round, load_ended));
        let proposers: Vec<_> = all_nodes().into_iter().map(propose).collect();
        let take = |node| scope.spawn(move || take_until(cluster.node(node), all_ended));
        let takers: Vec<_> = all_nodes().into_iter().map(take).collect();
        match fault {
            Fault::Pause => cluster.pause(at),
            Fault::CutOff => cluster.cut_off(at),
            Fault::LostAnswers => cluster.lose_answers(at),
            Fault::NodeStarts | Fault::ServerStarts => (),
        }
        // With two servers, and for two nodes, all goes on.
        let watched = cluster.node((at + 1) % NODES);
        for _ in 0..3 {
            barrier::<C>(watched);
        }
        match fault {
            Fault::Pause => cluster.go_on(at),
            Fault::CutOff => cluster.connect(at),
            Fault::LostAnswers => {
                cluster.cut_off(at);
                cluster.connect(at);
            }
            Fault::NodeStarts | Fault::ServerStarts => (),
        }
        for node in all_nodes() {
            barrier::<C>(cluster.node(node));
        }
        drop(load);
        for (node, proposer) in all_nodes().into_iter().zip(proposers) {
            let origin = cluster.node(node).origin();
            let all = proposer.join().expect("it proposes");
            all.into_iter().for_each(|(submission, payload)| proposed.add(origin, submission, payload));
        }
        drop(all);
        takers.into_iter().map(|taker| taker.join().expect("it takes")).collect()
    })
}

/// Waits for a barrier. Where barriers take room, the load may have all of it.
fn barrier<C: Faults>(order: &C::Order) -> Position {
    loop {
        match order.barrier(C::PATIENCE) {
            // A caller that found no room waits for it; whether it came, the next barrier tells.
            Err(OrderError::Busy) => drop(order.room(C::PATIENCE)),
            placed => return placed.expect("a majority answers"),
        }
    }
}

/// Payloads that each node hands in beside each fault, at least.
const LEAST: usize = 20;

/// Hands in payloads, and returns them with their numbers.
fn propose_until(order: &impl TotalOrder, node: u64, round: u64, ended: &AtomicBool) -> Vec<(u64, Bytes)> {
    let mut proposed = Vec::new();
    for number in round * 1_000_000.. {
        if ended.load(Ordering::Relaxed) && proposed.len() >= LEAST {
            break;
        }
        let payload = payload(node, number);
        match order.propose(payload.clone()) {
            Ok(submission) => proposed.push((submission, payload)),
            Err(OrderError::Busy) => drop(order.room(Duration::from_millis(10))),
            Err(error) => panic!("{error}"),
        }
    }
    proposed
}

fn take_until(order: &impl TotalOrder, ended: &AtomicBool) -> Taken {
    let mut taken = Taken::default();
    while !ended.load(Ordering::Relaxed) {
        taken.take(order, Duration::from_millis(10));
    }
    taken
}

/// What each node is delivered until it has a last payload of each node, and with it all before (O3); then up to a barrier.
fn last_parts<C: Faults>(cluster: &C, round: u64, proposed: &mut Proposed) -> Vec<Vec<Delivered>> {
    let ended = AtomicBool::new(false);
    let ended = &ended;
    let taken: Vec<Taken> = std::thread::scope(|scope| {
        let ends = EndsAtDrop(ended);
        let take = |node| scope.spawn(move || take_until(cluster.node(node), ended));
        let takers: Vec<_> = all_nodes().into_iter().map(take).collect();
        for node in all_nodes() {
            let (order, last) = (cluster.node(node), payload(node, round * 1_000_000));
            proposed.add(order.origin(), propose::<C>(order, last.clone()), last);
        }
        drop(ends);
        takers.into_iter().map(|taker| taker.join().expect("it takes")).collect()
    });
    let parts = all_nodes().into_iter().zip(taken);
    parts.map(|(node, taken)| last_part(cluster, node, taken, proposed)).collect()
}

/// What a node is delivered until it has all that the lives that run have handed in, and up to a barrier.
fn last_part<C: Faults>(cluster: &C, node: u64, mut taken: Taken, proposed: &Proposed) -> Vec<Delivered> {
    let order = cluster.node(node);
    for origin in all_nodes().into_iter().map(|node| cluster.node(node).origin()) {
        while taken.last_submission.get(&origin) < proposed.last_of(origin) {
            taken.take(order, C::PATIENCE).expect("what was taken is delivered (O3)");
        }
    }
    std::thread::scope(|scope| {
        let barrier = scope.spawn(|| barrier::<C>(order));
        while !barrier.is_finished() {
            taken.take(order, Duration::from_millis(1));
        }
        taken.until_barrier::<C>(order, barrier.join().expect("it is placed"));
    });
    taken.all
}

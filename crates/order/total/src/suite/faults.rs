//! Faults in any order, under load.

use super::histories::{all_nodes, assert_one_order};
use super::{Faults, NODES, Taken, payload};
use crate::{Delivered, OrderError, OrderLimits, Position, TotalOrder};
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
/// under load. Asserts that all lives were delivered one order, and returns how many payloads were.
pub fn under_faults<C: Faults>(seed: u64, rounds: u64) -> usize {
    let mut randomness = Randomness::from_seed(seed);
    let limits = OrderLimits { retry: Duration::from_millis(300), proposals: 200, ..OrderLimits::default() };
    let mut cluster = C::start(limits);
    let mut lives: Vec<Vec<Delivered>> = Vec::new();
    let mut resume: [Option<Position>; NODES as usize] = [None; NODES as usize];
    for round in 0..rounds {
        let at = randomness.in_range(0..NODES);
        let fault = FAULTS[randomness.in_range(0..FAULTS.len() as u64) as usize];
        for (node, taken) in (0..).zip(under_load(&cluster, round, fault, at)) {
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
    lives.extend(all_nodes().into_iter().map(|node| last_part(&cluster, node)));
    assert_one_order(&lives)
}

/// A fault of a server, or of the connections of a node, while all nodes propose and take; until all is well again.
fn under_load<C: Faults>(cluster: &C, round: u64, fault: Fault, at: u64) -> Vec<Taken> {
    let ended = AtomicBool::new(false);
    let ended = &ended;
    std::thread::scope(|scope| {
        for node in all_nodes() {
            scope.spawn(move || propose_until(cluster.node(node), node, round, ended));
        }
        let take = |node| scope.spawn(move || take_until(cluster.node(node), ended));
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
            watched.barrier(C::PATIENCE).expect("a majority answers");
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
            cluster.node(node).barrier(C::PATIENCE).expect("all is well");
        }
        // Only the end of the threads is said by it.
        ended.store(true, Ordering::Relaxed);
        takers.into_iter().map(|taker| taker.join().expect("it takes")).collect()
    })
}

fn propose_until(order: &impl TotalOrder, node: u64, round: u64, ended: &AtomicBool) {
    for number in 0.. {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        match order.propose(payload(node, round * 1_000_000 + number)) {
            Ok(_) => (),
            Err(OrderError::Busy) => drop(order.room(Duration::from_millis(10))),
            Err(error) => panic!("{error}"),
        }
    }
}

fn take_until(order: &impl TotalOrder, ended: &AtomicBool) -> Taken {
    let mut taken = Taken::default();
    while !ended.load(Ordering::Relaxed) {
        taken.take(order, Duration::from_millis(10));
    }
    taken
}

/// What a node is delivered up to a barrier.
fn last_part<C: Faults>(cluster: &C, node: u64) -> Vec<Delivered> {
    let mut taken = Taken::default();
    let order = cluster.node(node);
    std::thread::scope(|scope| {
        let barrier = scope.spawn(|| order.barrier(C::PATIENCE).expect("all is well"));
        while !barrier.is_finished() {
            taken.take(order, Duration::from_millis(1));
        }
        taken.until_barrier::<C>(order, barrier.join().expect("it is placed"));
    });
    taken.all
}

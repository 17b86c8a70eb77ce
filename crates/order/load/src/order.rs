//! A load for any total order: at each node so many proposals are open at any time.

use bytes::Bytes;
use env::thread::{scope, spawn_scoped};
use env::time::{Duration, Instant};
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use total::{Event, OrderError, TotalOrder};

use crate::{LONGEST_NS, Latencies};

/// Events that are taken at once.
const MOST: usize = 1_000;
/// Time between two looks at whether it is over.
const LOOK: Duration = Duration::from_millis(50);

/// What is proposed.
#[derive(Clone, Debug)]
pub struct OrderLoad {
    /// Proposals of a node that are open at any time.
    pub open: usize,
    /// Every proposal's payload.
    pub payload: Bytes,
    /// Time before it is counted.
    pub warm_up: Duration,
    /// Time that is counted.
    pub measured: Duration,
}

/// What was measured: proposals from when they were handed in until their own node was delivered them.
#[derive(Clone, Copy, Debug)]
pub struct OrderFigures {
    /// Proposals, and how long they took.
    pub latencies: Latencies,
    /// Counted seconds.
    pub seconds: f64,
}

/// Loads each of the nodes from a thread of its own, until the time is over or `stop` is set.
///
/// # Errors
/// The first error of a node, or the operating system refuses a thread.
pub fn run<O: TotalOrder>(nodes: &[O], load: &OrderLoad, stop: &AtomicBool) -> io::Result<OrderFigures> {
    let begin = Instant::now() + load.warm_up;
    let end = begin + load.measured;
    let failed = AtomicBool::new(false);
    let all = scope(|scope| {
        let threads = nodes.iter().map(|node| {
            let is_over = || Instant::now() >= end || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            spawn_scoped(scope, "order-load", move || drive(node, load, begin, is_over))
        });
        let threads = threads.collect::<io::Result<Vec<_>>>()?;
        let mut all = new_histogram()?;
        for thread in threads {
            let measured = thread.join().map_err(|_| io::Error::other("a load's thread has panicked"))?;
            // Relaxed: it only ends the others early.
            let measured = measured.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            all.add(measured).map_err(io::Error::other)?;
        }
        io::Result::Ok(all)
    })?;
    let seconds = Instant::now().min(end).saturating_duration_since(begin).as_secs_f64();
    Ok(OrderFigures { latencies: Latencies::of(&all), seconds })
}

fn new_histogram() -> io::Result<Histogram<u64>> {
    Histogram::new_with_bounds(1_000, LONGEST_NS, 3).map_err(io::Error::other)
}

/// Loads one node, and returns the times of those proposals that were delivered after `begin`.
fn drive(
    node: &impl TotalOrder,
    load: &OrderLoad,
    begin: Instant,
    is_over: impl Fn() -> bool,
) -> io::Result<Histogram<u64>> {
    let mut times = new_histogram()?;
    let mut open: VecDeque<Instant> = VecDeque::new();
    let mut events = Vec::new();
    while !is_over() {
        while open.len() < load.open {
            let now = Instant::now();
            match node.propose(load.payload.clone()) {
                Ok(_) => open.push_back(now),
                Err(OrderError::Busy) => break,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        match node.deliver(&mut events, MOST, LOOK) {
            Ok(()) | Err(OrderError::TimedOut) => (),
            Err(error) => return Err(io::Error::other(error)),
        }
        let now = Instant::now();
        for event in events.drain(..) {
            match event {
                Event::Ordered(delivered) if delivered.origin == node.origin() => {
                    let begun = open.pop_front().filter(|_| now >= begin);
                    begun.into_iter().for_each(|begun| times.saturating_record((now - begun).as_nanos() as u64));
                }
                Event::Behind { .. } => {
                    return Err(io::Error::other("a node fell behind: proposals are kept too short"));
                }
                _ => (),
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use total::OrderLimits;
    use total::sequencer::Sequencer;

    fn load() -> OrderLoad {
        let (warm_up, measured) = (Duration::ZERO, Duration::from_secs(3600));
        OrderLoad { open: 10, payload: Bytes::from_static(b"x"), warm_up, measured }
    }

    #[test]
    fn each_node_s_proposals_are_counted() {
        let sequencer = Sequencer::new(OrderLimits::default());
        let nodes = [0, 1].map(|node| sequencer.join(node, None));
        let watcher = sequencer.join(2, None);
        let stop = AtomicBool::new(false);
        let figures = scope(|scope| {
            let runs = scope.spawn(|| run(&nodes, &load(), &stop));
            let mut seen = [0; 2];
            let mut events = Vec::new();
            while seen.iter().any(|seen| *seen < 100) {
                watcher.deliver(&mut events, 100, Duration::from_secs(60)).unwrap();
                for event in events.drain(..) {
                    let Event::Ordered(delivered) = event else { panic!("nothing else happens") };
                    seen[delivered.origin.node as usize] += 1;
                }
            }
            stop.store(true, Ordering::Relaxed);
            runs.join().unwrap().unwrap()
        });
        assert!(figures.latencies.requests >= 200 - 20 && figures.seconds > 0.0);
    }

    #[test]
    fn an_error_of_a_node_ends_it() {
        let sequencer = Sequencer::new(OrderLimits::default());
        let nodes = [0, 1].map(|node| sequencer.join(node, None));
        sequencer.stop(0);
        sequencer.stop(1);
        assert!(run(&nodes, &load(), &AtomicBool::new(false)).is_err());
    }
}

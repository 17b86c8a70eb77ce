//! Measures the cost of a step of the proved core: replicas in one loop, without network, disk or threads.
//!
//! `cargo run --release -p seriatim-paxos --example step [REQUESTS] [REPLICAS] [VALUE_BYTES]`

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use seriatim_paxos::core::{Config, Core, Event, Image, Message, Output, Proved, Value};

/// Requests under way at most: the window of the leader.
const WINDOW: u64 = 16;
/// Instances between two snapshots, each followed by a truncation.
const SNAPSHOT_EVERY: u64 = 1_024;

struct Cluster {
    replicas: Vec<Proved>,
    /// Messages sent, in order, with their receivers.
    queue: VecDeque<(u64, Event)>,
    outputs: Vec<Output>,
    steps: u64,
    stepping: Duration,
    /// Delivered at the leader.
    delivered: u64,
}

impl Cluster {
    fn new(replicas: u64) -> Self {
        let config = Config { replicas, span: 4_096, window: WINDOW, chunk: 256 };
        Self {
            replicas: (0..replicas).map(|id| Proved::new(config, id)).collect(),
            queue: VecDeque::from([(0, Event::Suspect)]),
            outputs: Vec::new(),
            steps: 0,
            stepping: Duration::ZERO,
            delivered: 0,
        }
    }

    /// Hands in what is queued, until nothing is.
    fn run(&mut self) {
        while let Some((id, event)) = self.queue.pop_front() {
            let may_choose = matches!(event, Event::Receive(_, Message::Accept(..) | Message::Commit(..)));
            self.step(id, event);
            while may_choose && self.step(id, Event::Execute) > 0 {}
        }
    }

    /// One step; how many outputs it had.
    fn step(&mut self, id: u64, event: Event) -> usize {
        let begun = Instant::now();
        self.replicas[id as usize].step(event, &mut self.outputs);
        self.stepping += begun.elapsed();
        self.steps += 1;
        let count = self.outputs.len();
        for output in std::mem::take(&mut self.outputs) {
            self.put_out(id, output);
        }
        count
    }

    fn put_out(&mut self, id: u64, output: Output) {
        match output {
            Output::Send(dst, message) => self.queue.push_back((dst, Event::Receive(id, message))),
            Output::Broadcast(message) => {
                for dst in 0..self.replicas.len() as u64 {
                    self.queue.push_back((dst, Event::Receive(id, message.clone())));
                }
            }
            Output::Deliver(instance, _) => {
                self.delivered += u64::from(id == 0);
                if (instance + 1).is_multiple_of(SNAPSHOT_EVERY) {
                    let image = Image::from(instance.to_le_bytes().as_slice());
                    self.queue.push_back((id, Event::Snapshot(instance + 1, image)));
                    self.queue.push_back((id, Event::Truncate(instance + 1 - SNAPSHOT_EVERY / 2)));
                }
            }
            Output::Journal(_) | Output::Install(..) | Output::Return(_) => {}
        }
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let requests = numbers.next().unwrap_or(1_000_000);
    let replicas = numbers.next().unwrap_or(3);
    let value = Value::from(vec![7; numbers.next().unwrap_or(64) as usize]);

    let mut cluster = Cluster::new(replicas);
    cluster.run();
    let clock = clock_cost();
    let begun = Instant::now();
    while cluster.delivered < requests {
        for _ in 0..WINDOW.min(requests - cluster.delivered) {
            cluster.queue.push_back((0, Event::Request(value.clone())));
        }
        cluster.run();
    }
    let (wall, steps) = (begun.elapsed().as_nanos() as f64, cluster.steps as f64);
    println!(
        "{requests} requests, {replicas} replicas, {steps} steps: {:.0} ns a step, {:.0} ns with queues and clock, {:.0} steps a request",
        cluster.stepping.as_nanos() as f64 / steps - clock,
        wall / steps,
        steps / requests as f64,
    );
}

/// Cost of measuring one step, in nanoseconds.
fn clock_cost() -> f64 {
    const READINGS: u32 = 1_000_000;
    let measured: Duration = (0..READINGS).map(|_| Instant::now().elapsed()).sum();
    measured.as_nanos() as f64 / f64::from(READINGS)
}

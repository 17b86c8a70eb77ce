//! The cores alone: a cluster in one thread, without clients, network, disk or clock.
//!
//! The runtime is the same with either core, so the cores differ most here, and nothing else disturbs the figures.

use super::arguments::Engine;
use crate::plain_core::Plain;
use env::time::Instant;
use paxos::core::{Config, Core, Event, Message, Output, Proved, ReplicaId, Value};
use std::collections::VecDeque;

/// Cost of a core.
#[derive(Clone, Copy, Debug)]
pub struct CoreCost {
    /// Batches that every replica has delivered.
    pub batches: u64,
    /// Events that all replicas together took for a batch.
    pub events_per_batch: f64,
    /// Nanoseconds that all replicas together spent on a batch.
    pub ns_per_batch: f64,
}

/// Instances that the leader has open.
const WINDOW: u64 = 16;
/// Instances that are kept; the snapshots after which the others are forgotten are empty.
const SPAN: u64 = 4096;

/// Orders `batches` batches of `batch_bytes` among `replicas`.
pub fn measure(engine: Engine, replicas: u64, batches: u64, batch_bytes: usize) -> Option<CoreCost> {
    match engine {
        Engine::Proved => Some(Cluster::<Proved>::new(replicas).run(batches, batch_bytes)),
        Engine::Plain => Some(Cluster::<Plain>::new(replicas).run(batches, batch_bytes)),
        Engine::Etcd | Engine::EtcdSingle => None,
    }
}

struct Cluster<C> {
    replicas: Vec<C>,
    events: VecDeque<(ReplicaId, Event)>,
    outputs: Vec<Output>,
    taken: u64,
    delivered: Vec<u64>,
}

impl<C: Core> Cluster<C> {
    fn new(replicas: u64) -> Cluster<C> {
        let config = Config { replicas, span: SPAN, window: WINDOW, chunk: 64 };
        let mut cluster = Cluster {
            replicas: (0..replicas).map(|id| C::new(config, id)).collect(),
            events: VecDeque::from([(0, Event::Suspect)]),
            outputs: Vec::new(),
            taken: 0,
            delivered: vec![0; usize::try_from(replicas).expect("few replicas")],
        };
        cluster.settle();
        cluster
    }

    fn run(mut self, batches: u64, batch_bytes: usize) -> CoreCost {
        let value = Value::from(vec![b'v'; batch_bytes]);
        self.order(batches / 10, &value);
        self.taken = 0;
        let start = Instant::now();
        self.order(batches, &value);
        let elapsed = start.elapsed();
        CoreCost {
            batches,
            events_per_batch: self.taken as f64 / batches as f64,
            ns_per_batch: elapsed.as_nanos() as f64 / batches as f64,
        }
    }

    /// A windowful at a time, as a leader under load has it.
    fn order(&mut self, batches: u64, value: &Value) {
        let end = self.delivered[0] + batches;
        while self.delivered[0] < end {
            let count = WINDOW.min(end - self.delivered[0]);
            self.events.extend((0..count).map(|_| (0, Event::Request(value.clone()))));
            self.settle();
        }
        assert!(self.delivered.iter().all(|delivered| *delivered == end), "nothing is lost here");
    }

    /// Delivers until no message is in flight.
    fn settle(&mut self) {
        while let Some((id, event)) = self.events.pop_front() {
            self.step(id, event);
        }
    }

    fn step(&mut self, id: ReplicaId, event: Event) {
        let replica = &mut self.replicas[usize::try_from(id).expect("few replicas")];
        let is_chosen_now = matches!(event, Event::Receive(_, Message::Commit(..)));
        replica.step(event, &mut self.outputs);
        self.taken += 1;
        for output in self.outputs.drain(..) {
            match output {
                Output::Send(dst, message) => self.events.push_back((dst, Event::Receive(id, message))),
                Output::Broadcast(message) => {
                    let everyone = 0..self.delivered.len() as u64;
                    self.events.extend(everyone.map(|dst| (dst, Event::Receive(id, message.clone()))));
                }
                Output::Deliver(at, _) => {
                    self.delivered[usize::try_from(id).expect("few replicas")] = at + 1;
                    if (at + 1) % (SPAN / 2) == 0 {
                        self.events.push_back((id, Event::Snapshot(at + 1, paxos::core::prim::blank())));
                        self.events.push_back((id, Event::Truncate(at + 1)));
                    }
                }
                Output::Journal(_) | Output::Install(..) | Output::Return(_) => {}
            }
        }
        if is_chosen_now {
            self.events.push_back((id, Event::Execute));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cores_take_the_same_events() {
        let costs = [Engine::Proved, Engine::Plain].map(|engine| measure(engine, 5, 10_000, 100).expect("a core"));
        assert_eq!(costs[0].events_per_batch, costs[1].events_per_batch);
        // A request at the leader; a proposal, a vote, an announcement and an execution for each of five.
        assert!((21.0..21.1).contains(&costs[0].events_per_batch), "{costs:?}");
        assert!(costs.iter().all(|cost| cost.ns_per_batch > 0.0));
        assert!(measure(Engine::Etcd, 3, 10, 10).is_none());
    }
}

//! A total order between simulated nodes: a leader numbers payloads one after another, and sends each to all others. On each node a
//! thread of the order spends processor time on what comes, before the engine gets it.

use bytes::Bytes;
use env::time::Duration;
use sim::Schedule;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use total::{Capabilities, Delivered, Event, OrderError, Origin, Position, Room, TotalOrder};

/// What an order takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkCosts {
    /// From the proposal of a payload to its delivery, with nothing else on its way.
    pub latency_ns: f64,
    /// The leader's time for a payload and a follower.
    pub payload_ns: f64,
    /// The leader's time for a byte and a follower.
    pub byte_ns: f64,
    /// Processor time of each node for a payload.
    pub node_payload_ns: f64,
    /// Processor time of each node for a byte.
    pub node_byte_ns: f64,
}

/// The order that simulated nodes share. A clone is the same.
#[derive(Clone, Debug)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    schedule: Schedule,
    costs: LinkCosts,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ends: Vec<End>,
    /// When the leader is free.
    free_at: u64,
    ordered: u64,
    is_stopped: bool,
}

/// What was ordered and waits for a node.
#[derive(Debug)]
struct End {
    /// For the node's thread of the order.
    arrived: VecDeque<Delivered>,
    arrival: u64,
    /// For its engine.
    waiting: VecDeque<Event>,
    bell: u64,
    submissions: u64,
}

/// A node's end.
#[derive(Debug)]
pub struct LinkOrder {
    link: Link,
    node: u64,
}

/// The longest payload.
const PAYLOAD_BYTES: usize = 8 << 20;

impl Link {
    /// An order of so many nodes, which are on the machines of the schedule in turn.
    pub fn new(schedule: &Schedule, (nodes, machines): (u64, usize), costs: LinkCosts) -> Link {
        let end = |_| End {
            arrived: VecDeque::new(),
            arrival: schedule.bell(),
            waiting: VecDeque::new(),
            bell: schedule.bell(),
            submissions: 0,
        };
        let state = State { ends: (0..nodes).map(end).collect(), ..State::default() };
        let link = Link(Arc::new(Shared { schedule: schedule.clone(), costs, state: Mutex::new(state) }));
        for node in 0..nodes as usize {
            let own = link.clone();
            schedule.spawn(node % machines, move || own.receive(node));
        }
        link
    }

    /// The end of a node.
    pub fn end(&self, node: u64) -> LinkOrder {
        LinkOrder { link: self.clone(), node }
    }

    /// Orders no more: whoever waits for deliveries is told so.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        for bell in state.ends.iter().flat_map(|end| [end.arrival, end.bell]) {
            self.0.schedule.ring(bell, true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn half_latency(&self) -> u64 {
        (self.0.costs.latency_ns / 2.0) as u64
    }

    /// A payload is with the leader: it is ordered when those before it were sent.
    fn arrive(&self, mut delivered: Delivered) {
        let Shared { schedule, costs, .. } = &*self.0;
        let mut state = self.lock();
        let followers = state.ends.len().saturating_sub(1) as f64;
        let taken = followers * (costs.payload_ns + costs.byte_ns * delivered.payload.len() as f64);
        state.free_at = state.free_at.max(schedule.now()) + taken as u64;
        state.ordered += 1;
        delivered.position = Position { instance: state.ordered, index: 0 };
        let (at, link) = (state.free_at + self.half_latency(), self.clone());
        drop(state);
        schedule.enter(at, move || link.deliver_everywhere(&delivered));
    }

    fn deliver_everywhere(&self, delivered: &Delivered) {
        for end in &mut self.lock().ends {
            end.arrived.push_back(delivered.clone());
            self.0.schedule.ring(end.arrival, true);
        }
    }

    /// A node's thread of the order: hands one payload after another to the engine, until the order stops.
    fn receive(&self, node: usize) {
        let Shared { schedule, costs, .. } = &*self.0;
        loop {
            let mut state = self.lock();
            let is_stopped = state.is_stopped;
            let end = &mut state.ends[node];
            let (next, arrival) = (end.arrived.pop_front(), end.arrival);
            drop(state);
            let Some(delivered) = next else {
                if is_stopped {
                    return;
                }
                schedule.wait(arrival);
                continue;
            };
            schedule.compute((costs.node_payload_ns + costs.node_byte_ns * delivered.payload.len() as f64) as u64);
            let end = &mut self.lock().ends[node];
            end.waiting.push_back(Event::Ordered(delivered));
            schedule.ring(end.bell, true);
        }
    }
}

impl TotalOrder for LinkOrder {
    fn origin(&self) -> Origin {
        Origin { node: self.node, life: 1 }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: PAYLOAD_BYTES, has_cheap_barrier: false }
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        let bytes = payload.len();
        match bytes {
            0 => return Err(OrderError::Empty),
            _ if bytes > PAYLOAD_BYTES => return Err(OrderError::TooLarge { bytes, limit: PAYLOAD_BYTES }),
            _ => {}
        }
        let mut state = self.link.lock();
        let submission = state.ends[self.node as usize].submissions;
        state.ends[self.node as usize].submissions += 1;
        drop(state);
        let delivered = Delivered { position: Position::default(), origin: self.origin(), submission, payload };
        let (link, schedule) = (self.link.clone(), &self.link.0.schedule);
        schedule.enter(schedule.now() + self.link.half_latency(), move || link.arrive(delivered));
        Ok(submission)
    }

    /// There is always room: who proposes has a limit on what is on its way.
    fn room(&self, _: Duration) -> Result<Room, OrderError> {
        Ok(Room { proposals: usize::MAX, bytes: usize::MAX })
    }

    /// Waits in virtual time, however long.
    fn deliver(&self, into: &mut Vec<Event>, most: usize, _: Duration) -> Result<(), OrderError> {
        loop {
            let mut state = self.link.lock();
            let is_stopped = state.is_stopped;
            let end = &mut state.ends[self.node as usize];
            let taken = most.min(end.waiting.len());
            if taken > 0 {
                into.extend(end.waiting.drain(..taken));
                return Ok(());
            }
            if is_stopped {
                return Err(OrderError::Stopped("the simulation has ended".into()));
            }
            let bell = end.bell;
            drop(state);
            self.link.0.schedule.wait(bell);
        }
    }

    fn keep_from(&self, _: Position) {}

    fn resume(&self, _: Position) -> Result<(), OrderError> {
        Ok(())
    }

    fn barrier(&self, _: Duration) -> Result<Position, OrderError> {
        Err(OrderError::Stopped("a simulated link orders payloads only".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of three nodes propose; both are delivered both payloads in one order. Returns when each got which.
    fn delivered_in_turn(costs: LinkCosts, machines: usize) -> Vec<(u64, u64, u64)> {
        let schedule = Schedule::new(&vec![1; machines]);
        let link = Link::new(&schedule, (3, machines), costs);
        let log = Arc::new(Mutex::new(Vec::new()));
        for node in 0..2 {
            let (end, own, log) = (link.end(node), schedule.clone(), log.clone());
            schedule.spawn(node as usize % machines, move || {
                end.propose(Bytes::from(vec![node as u8; 5])).expect("a payload");
                let mut events = Vec::new();
                while end.deliver(&mut events, 9, Duration::ZERO).is_ok() {
                    for event in events.drain(..) {
                        let Event::Ordered(delivered) = event else { panic!("a payload") };
                        log.lock().unwrap().push((own.now(), node, delivered.origin.node));
                    }
                }
            });
        }
        assert_eq!(schedule.run(1_000), 2 + 3, "they and the order's threads wait for more");
        link.stop();
        assert_eq!(schedule.run(2_000), 0);
        Arc::into_inner(log).unwrap().into_inner().unwrap()
    }

    const LEADER: LinkCosts =
        LinkCosts { latency_ns: 100.0, payload_ns: 10.0, byte_ns: 1.0, node_payload_ns: 0.0, node_byte_ns: 0.0 };

    #[test]
    fn payloads_wait_for_each_other_at_the_leader() {
        // Two followers, 15 ns each.
        assert_eq!(delivered_in_turn(LEADER, 3), [(130, 0, 0), (130, 1, 0), (160, 0, 1), (160, 1, 1)]);
    }

    /// On machines of their own the order's threads of all nodes work at a time; on one core they take turns.
    #[test]
    fn payloads_take_processor_time_of_each_node() {
        let costs = LinkCosts { node_payload_ns: 15.0, node_byte_ns: 1.0, ..LEADER };
        assert_eq!(delivered_in_turn(costs, 3), [(150, 0, 0), (150, 1, 0), (180, 0, 1), (180, 1, 1)]);
        let on_one = delivered_in_turn(costs, 1);
        // Five of six, if the node without a reader comes last.
        assert!(on_one.last().unwrap().0 >= 130 + 5 * 20, "{on_one:?}");
    }
}

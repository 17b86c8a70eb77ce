//! One life of a node's end of the order, as the replicated store calls it.

use crate::nodes::end_of_wait;
use crate::orders::Orders;
use crate::replica::Life;
use crate::run::Sim;
use bytes::Bytes;
use env::time::Duration;
use paxos::order::MAX_PAYLOAD_BYTES;
use std::sync::Arc;
use total::{Capabilities, Event, OrderError, Origin, Position, Room, TotalOrder};

pub struct SimOrder {
    sim: Arc<Sim>,
    node: usize,
    life: u64,
    origin: Origin,
}

fn stopped() -> OrderError {
    OrderError::Stopped("the node was stopped".to_owned())
}

impl SimOrder {
    /// # Panics
    /// The life has ended already.
    pub fn new(sim: &Arc<Sim>, node: usize, life: u64) -> SimOrder {
        let origin = sim.with_orders(|orders| orders.hosts[node].life.as_ref().expect("it has begun").order.origin());
        SimOrder { sim: sim.clone(), node, life, origin }
    }

    /// Does something with the order, as long as this life lasts.
    fn with<T>(&self, act: impl FnOnce(&mut Life) -> Result<T, OrderError>) -> Result<T, OrderError> {
        self.sim.with_orders(|orders| {
            let done = act(self.own(orders)?)?;
            let submitted = orders.submit(self.node);
            orders.note(submitted);
            Ok(done)
        })
    }

    fn own<'o>(&self, orders: &'o mut Orders) -> Result<&'o mut Life, OrderError> {
        let host = &mut orders.hosts[self.node];
        if host.lives == self.life { host.life.as_mut().ok_or_else(stopped) } else { Err(stopped()) }
    }

    /// Waits until `ready` returns something, and meanwhile at one of the life's bells.
    fn wait<T>(
        &self,
        patience: Duration,
        bell: impl Fn(&Life) -> u64,
        mut ready: impl FnMut(&mut Life) -> Result<Option<T>, OrderError>,
    ) -> Result<T, OrderError> {
        let schedule = &self.sim.schedule;
        let clock = self.sim.with_orders(|orders| orders.hosts[self.node].clock);
        let until = end_of_wait(&clock, schedule.now(), patience);
        loop {
            let (found, bell) = self.with(|life| Ok((ready(life)?, bell(life))))?;
            if let Some(found) = found {
                return Ok(found);
            }
            if schedule.now() >= until {
                return Err(OrderError::TimedOut);
            }
            schedule.wait_until(bell, until);
        }
    }
}

impl TotalOrder for SimOrder {
    fn origin(&self) -> Origin {
        self.origin
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: MAX_PAYLOAD_BYTES, has_cheap_barrier: false }
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        self.with(|life| life.order.propose(payload))
    }

    fn room(&self, patience: Duration) -> Result<Room, OrderError> {
        self.wait(patience, |life| life.changed, |life| Ok(Some(life.order.room()).filter(|room| room.is_left())))
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError> {
        self.wait(
            patience,
            |life| life.deliveries,
            |life| {
                let before = into.len();
                life.order.hand_over(into, most)?;
                Ok((into.len() > before).then_some(()))
            },
        )
    }

    fn keep_from(&self, at: Position) {
        // Of a life that has ended nobody wants to know.
        let _ = self.with(|life| {
            life.order.keep_from(at);
            Ok(())
        });
    }

    fn resume(&self, after: Position) -> Result<(), OrderError> {
        self.with(|life| life.order.resume(after))
    }

    fn follow(&self, after: Position) -> Result<(), OrderError> {
        self.with(|life| life.order.follow(after))
    }

    fn barrier(&self, patience: Duration) -> Result<Position, OrderError> {
        let submission = self.with(|life| life.order.begin_barrier())?;
        let placed = self.wait(patience, |life| life.changed, |life| Ok(life.order.take_barrier(submission)));
        if placed.is_err() {
            let _ = self.with(|life| {
                life.order.forget_barrier(submission);
                Ok(())
            });
        }
        placed
    }
}

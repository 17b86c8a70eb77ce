//! Events that the consumer has not taken, and where the consumer is, without I/O.

use crate::{Delivered, Event, OrderError, OrderLimits, Position};
use std::collections::VecDeque;

/// What was read and is not taken.
#[derive(Debug)]
pub struct Inbox {
    events: VecDeque<Event>,
    bytes: usize,
    /// Weight of an event in addition to its payload, so that the limit bounds their number too.
    share: usize,
    limit: usize,
    /// This node is behind, and the consumer has not resumed.
    behind: Option<Position>,
    /// The consumer was told so.
    is_told: bool,
    /// The last instance of which the consumer took something.
    taken: u64,
    /// Up to where the consumer's state is durable.
    durable: Option<u64>,
}

impl Inbox {
    /// For a consumer that has everything up to `resume_after`, where an order begins behind the instance `created`.
    #[must_use]
    pub fn new(limits: &OrderLimits, created: u64, resume_after: Option<Position>) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            share: (limits.delivered_bytes / limits.deliveries.max(1)).max(1),
            limit: limits.delivered_bytes.max(1),
            behind: None,
            is_told: false,
            taken: resume_after.map_or(created, |at| at.instance),
            durable: resume_after.map(|at| at.instance),
        }
    }

    /// A payload was read.
    pub fn push(&mut self, delivered: Delivered) {
        self.bytes += self.weight(&delivered);
        self.events.push_back(Event::Ordered(delivered));
    }

    /// All up to a barrier was read.
    pub fn push_barrier(&mut self, at: Position) {
        self.events.push_back(Event::Barrier(at));
    }

    /// What follows is not kept any more, up to `earliest`.
    pub fn fall_behind(&mut self, earliest: Position, holders: Vec<u64>) {
        self.behind = Some(earliest);
        self.is_told = false;
        self.events.push_back(Event::Behind { earliest, holders });
    }

    /// Returns whether the consumer has to resume first.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Returns whether nothing more should be read.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes >= self.limit
    }

    /// The consumer goes on from a state that has everything up to `after`.
    ///
    /// # Errors
    /// [`OrderError::Missed`]: the state is too old.
    pub fn resume(&mut self, after: Position) -> Result<(), OrderError> {
        if self.behind > Some(after) {
            return Err(OrderError::Missed);
        }
        let is_skipped = |event: &Event| match event {
            Event::Ordered(delivered) => delivered.position <= after,
            Event::Behind { .. } => true,
            Event::Barrier(_) => false,
        };
        self.events.retain(|event| !is_skipped(event));
        let weight = |event: &Event| if let Event::Ordered(it) = event { self.weight(it) } else { 0 };
        self.bytes = self.events.iter().map(weight).sum();
        (self.behind, self.is_told) = (None, false);
        self.taken = self.taken.max(after.instance);
        Ok(())
    }

    /// Hands over at most so many events; `None` if there is none.
    ///
    /// # Errors
    /// [`OrderError::Missed`]: the consumer was told that it is behind.
    pub fn hand_over(&mut self, into: &mut Vec<Event>, most: usize) -> Result<Option<()>, OrderError> {
        if self.is_told {
            return Err(OrderError::Missed);
        }
        let before = into.len();
        while into.len() < before + most && !self.is_told {
            let Some(event) = self.events.pop_front() else { break };
            match &event {
                Event::Ordered(delivered) => {
                    self.bytes -= self.weight(delivered);
                    self.taken = delivered.position.instance;
                }
                Event::Behind { .. } => self.is_told = true,
                Event::Barrier(_) => (),
            }
            into.push(event);
        }
        Ok((into.len() > before).then_some(()))
    }

    /// The consumer's state is durable up to this instance.
    pub fn keep_from(&mut self, instance: u64) {
        self.durable = self.durable.max(Some(instance));
    }

    /// Returns the instance from which on this node needs the log.
    #[must_use]
    pub fn needed(&self) -> u64 {
        self.durable.unwrap_or(self.taken)
    }

    fn weight(&self, delivered: &Delivered) -> usize {
        delivered.payload.len() + self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;
    use bytes::Bytes;

    fn delivered(instance: u64) -> Delivered {
        let position = Position { instance, index: 0 };
        Delivered {
            position,
            origin: Origin { node: 0, life: 1 },
            submission: instance,
            payload: Bytes::from_static(b"x"),
        }
    }

    fn at(instance: u64) -> Position {
        Position { instance, index: 0 }
    }

    #[test]
    fn who_is_behind_resumes_from_a_state_that_is_new_enough() {
        let mut inbox = Inbox::new(&OrderLimits::default(), 0, None);
        inbox.push(delivered(3));
        inbox.fall_behind(at(7), vec![1]);
        let mut events = Vec::new();
        assert_eq!(inbox.hand_over(&mut events, 9), Ok(Some(())));
        assert_eq!(events.len(), 2);
        assert_eq!(
            (inbox.hand_over(&mut events, 9), inbox.resume(at(6))),
            (Err(OrderError::Missed), Err(OrderError::Missed))
        );
        assert_eq!((inbox.needed(), inbox.resume(at(8)), inbox.needed()), (3, Ok(()), 8));
        inbox.push(delivered(9));
        assert_eq!((inbox.hand_over(&mut events, 1), inbox.needed()), (Ok(Some(())), 9));
        inbox.keep_from(5);
        assert_eq!((inbox.needed(), inbox.hand_over(&mut events, 1)), (5, Ok(None)));
    }

    #[test]
    fn a_state_that_is_fetched_makes_what_it_has_superfluous() {
        let limits = OrderLimits { deliveries: 2, delivered_bytes: 10, ..OrderLimits::default() };
        let mut inbox = Inbox::new(&limits, 0, None);
        (1..=2).for_each(|instance| inbox.push(delivered(instance)));
        assert!(inbox.is_full());
        inbox.push_barrier(at(2));
        inbox.resume(at(1)).unwrap();
        assert!(!inbox.is_full());
        let mut events = Vec::new();
        inbox.hand_over(&mut events, 9).unwrap();
        assert_eq!(events, [Event::Ordered(delivered(2)), Event::Barrier(at(2))]);
    }
}

//! What was taken from the queue of deliveries, and what its consumer was told.

use std::collections::VecDeque;
use total::{Event, OrderError, Position};

/// What was taken from the queue of deliveries, and what its consumer was told.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) events: VecDeque<Event>,
    /// The consumer was told that it is behind this place, and has not resumed.
    behind: Option<Position>,
    /// Its state has what is up to here.
    resumed: Option<Position>,
}

impl Taken {
    /// # Errors
    /// The consumer has to resume first.
    pub(super) fn check(&self) -> Result<(), OrderError> {
        if self.behind.is_some() { Err(OrderError::Missed) } else { Ok(()) }
    }

    /// Hands over at most so many events, and ends where the consumer is told that it is behind.
    pub(super) fn hand_over(&mut self, into: &mut Vec<Event>, most: usize) {
        let full = into.len() + most;
        while into.len() < full && self.behind.is_none() {
            let Some(event) = self.events.pop_front() else { return };
            match &event {
                Event::Ordered(delivered) if Some(delivered.position) <= self.resumed => continue,
                Event::Behind { earliest, .. } if Some(*earliest) <= self.resumed => continue,
                Event::Behind { earliest, .. } => self.behind = Some(*earliest),
                _ => (),
            }
            into.push(event);
        }
    }

    /// The consumer goes on from a state that has everything up to `after`, or will have it.
    ///
    /// # Errors
    /// The state is too old.
    pub(super) fn resume(&mut self, after: Position) -> Result<(), OrderError> {
        if self.behind > Some(after) {
            return Err(OrderError::Missed);
        }
        self.behind = None;
        self.resumed = self.resumed.max(Some(after));
        Ok(())
    }
}

//! Deliveries while a state is fetched: they wait in a spool, and when the state is there they are applied from there, while others come in
//! behind. So a fetch may last longer than anything is kept by the order (decision 0178).
//!
//! ```text
//!   order    ... forgotten ...  S ───────────────────► now
//!   fetch    a state that ends at S, or behind
//!   spool                       what is behind S, from the moment at which S is known, until all of it is applied
//! ```

use crate::deliver::{Deliverer, EVENTS};
use crate::error::order_failed;
use crate::replica::Life;
use crate::status::Doing;
use env::time::Duration;
use model::Result;
use total::{Event, OrderError};

/// So many times events are moved from the order to the spool, before something else is done again.
const MOVES: usize = 256;

impl Deliverer {
    /// Applies what waits in the spool, and goes over to the order when nothing does any more. What the order delivers meanwhile goes
    /// behind it.
    pub fn apply_kept(&mut self, events: &mut Vec<Event>) -> Result<()> {
        self.spool.pop(events, EVENTS)?;
        let is_last = self.spool.is_empty();
        self.take_all(events)?;
        if !is_last {
            return self.follow();
        }
        self.followed = None;
        match self.core.order.resume(self.core.progress.state().reached) {
            // It has forgotten what comes next, and will say so.
            Ok(()) | Err(OrderError::Missed) => {}
            Err(error) => return Err(order_failed(&error)),
        }
        self.show_doing();
        Ok(())
    }

    /// Puts what the order delivers behind the place that is followed into the spool, without a wait. If it has forgotten what comes next,
    /// the spool is of no use, nor is the state that is fetched to it: another one is needed.
    ///
    /// # Errors
    /// There is no room; the order has stopped.
    pub fn follow(&mut self) -> Result<()> {
        let mut events = Vec::new();
        for _ in 0..MOVES {
            match self.core.order.deliver(&mut events, EVENTS, Duration::ZERO) {
                Ok(()) => {}
                Err(OrderError::TimedOut) => return Ok(()),
                Err(error) => return Err(order_failed(&error)),
            }
            self.note_known(&events);
            let is_behind = |event: &mut Event| matches!(event, Event::Behind { .. });
            if let Some(Event::Behind { earliest, holders }) = events.pop_if(is_behind) {
                self.spool.clear()?;
                (self.followed, self.behind) = (None, Some((earliest, holders)));
                return Ok(());
            }
            self.spool.push(&events)?;
            events.clear();
        }
        Ok(())
    }

    /// What was delivered of this life of the node; `None` before its first payload.
    pub fn own_life(&self) -> Option<Life> {
        let origin = self.core.order.origin();
        self.lives.get(&origin.node).copied().filter(|last| last.life == origin.life)
    }

    /// Shows whether the node takes part: its own first payload has come, and no delivery waits for its turn in the spool.
    pub fn show_doing(&self) {
        let takes_part = self.own_life().is_some() && self.followed.is_none();
        self.core.progress.set_doing(if takes_part { Doing::Serving } else { Doing::CatchingUp });
    }
}

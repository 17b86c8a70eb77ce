//! Barriers that callers share: those that ask while one is under way get the next one, together (C6).

use crate::error::{behind, order_failed};
use crate::host::Hosted;
use env::time::Duration;
use model::Result;
use parts::bell::Bell;
use parts::sync::Mutex;
use std::sync::PoisonError;
use total::{OrderError, Position, TotalOrder};

/// The barriers of a node.
#[derive(Debug)]
pub(crate) struct Barriers {
    state: Mutex<State>,
    changed: Bell,
    host: Hosted,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the barrier that was begun last.
    begun: u64,
    /// Callers that sleep.
    waiting: usize,
    /// Whether it is under way.
    is_running: bool,
    /// The number of the last one that ended, and how.
    ended: Option<(u64, std::result::Result<Position, OrderError>)>,
}

impl Barriers {
    pub fn new(host: &Hosted) -> Barriers {
        Barriers { state: Mutex::default(), changed: host.bell(), host: host.clone() }
    }

    /// Returns a position at or behind everything that was delivered anywhere before the call.
    ///
    /// # Errors
    /// None came in time.
    pub fn ask(&self, order: &dyn TotalOrder, longest: Duration) -> Result<Position> {
        let asked = self.host.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is under way was begun before this call.
        let mut wanted = state.begun + 1;
        loop {
            if let Some((number, ended)) = &state.ended
                && *number >= wanted
            {
                // Who has begun it may have had less time than this caller.
                let may_go_on = *ended == Err(OrderError::TimedOut) && self.host.since(asked) < longest;
                if !may_go_on {
                    return ended.clone().map_err(|error| failed(&error, longest));
                }
                wanted = number + 1;
            }
            if !state.is_running {
                state.begun += 1;
                state.is_running = true;
                drop(state);
                let ended = self.barrier(order, longest, asked);
                state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                state.is_running = false;
                state.ended = Some((state.begun, ended));
                self.changed.ring();
                continue;
            }
            let left = longest.saturating_sub(self.host.since(asked));
            if left.is_zero() {
                return Err(failed(&OrderError::TimedOut, longest));
            }
            state.waiting += 1;
            state = self.changed.wait_for(&self.state, state, left);
            state.waiting -= 1;
        }
    }

    /// A barrier of the order, once there is room for one.
    fn barrier(
        &self,
        order: &dyn TotalOrder,
        longest: Duration,
        asked: Duration,
    ) -> std::result::Result<Position, OrderError> {
        loop {
            match order.barrier(longest.saturating_sub(self.host.since(asked))) {
                Err(OrderError::Busy) => _ = order.room(longest.saturating_sub(self.host.since(asked)))?,
                ended => return ended,
            }
        }
    }

    /// The number of callers that wait for the barrier of another one.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting
    }
}

fn failed(error: &OrderError, longest: Duration) -> model::Error {
    match error {
        OrderError::TimedOut | OrderError::Busy => behind(format!("the order did not answer within {longest:.1?}")),
        error => order_failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::thread;
    use total::{Capabilities, Event, Origin, Room};

    const LONG: Duration = Duration::from_secs(60);

    /// An order whose barriers end when the test says so, at positions that count them.
    struct Held {
        begun: SyncSender<()>,
        ends: Mutex<(Receiver<()>, u64)>,
    }

    impl TotalOrder for Held {
        fn barrier(&self, _: Duration) -> std::result::Result<Position, OrderError> {
            self.begun.send(()).expect("the test listens");
            let mut ends = self.ends.lock().expect("no panic");
            ends.0.recv().expect("the test ends it");
            ends.1 += 1;
            Ok(Position { instance: ends.1, index: 0 })
        }

        fn origin(&self) -> Origin {
            Origin { node: 0, life: 1 }
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities { payload_bytes: 1, has_cheap_barrier: true }
        }

        fn propose(&self, _: Bytes) -> std::result::Result<u64, OrderError> {
            Err(OrderError::Busy)
        }

        fn room(&self, _: Duration) -> std::result::Result<Room, OrderError> {
            Err(OrderError::TimedOut)
        }

        fn deliver(&self, _: &mut Vec<Event>, _: usize, _: Duration) -> std::result::Result<(), OrderError> {
            Err(OrderError::TimedOut)
        }

        fn keep_from(&self, _: Position) {}

        fn resume(&self, _: Position) -> std::result::Result<(), OrderError> {
            Ok(())
        }
    }

    /// Who asks while a barrier is under way gets the next one: what was acknowledged in between may not be before the first.
    #[test]
    fn who_asks_later_shares_the_next_one() {
        let ((begun, begins), (end, ends)) = (sync_channel(9), sync_channel(9));
        let (order, barriers) = (Held { begun, ends: Mutex::new((ends, 0)) }, Barriers::new(&Hosted::default()));
        thread::scope(|scope| {
            let first = scope.spawn(|| barriers.ask(&order, LONG));
            begins.recv().expect("it asks");
            let later: Vec<_> = (0..3).map(|_| scope.spawn(|| barriers.ask(&order, LONG))).collect();
            while barriers.waiting() < 3 {
                thread::yield_now();
            }
            // As many as there are callers may be needed: each that asks only now gets one that was begun after that.
            (0..4).for_each(|_| end.send(()).expect("the order listens"));
            assert_eq!(first.join().expect("no panic").expect("it ends").instance, 1);
            for later in later {
                assert!(later.join().expect("no panic").expect("it ends").instance >= 2);
            }
        });
    }
}

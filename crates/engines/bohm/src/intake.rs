//! The intake: what has been submitted and is in no batch yet. Its order is the order of positions.

use crate::call::Call;
use crate::pipeline::Pipeline;
use parts::sync::{Condvar, Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

/// The queue in front of the sequencer. A submitter takes its latch once for each submission, or for each batch of
/// them.
pub(crate) struct Intake {
    queue: Mutex<Queue>,
    /// For the sequencer: there is something to seal.
    work: Condvar,
    /// For submitters: there is room again.
    room: Condvar,
    limit: usize,
    /// Of a sequencer that executes, too, and sleeps there.
    pipeline: Option<Arc<Pipeline>>,
}

#[derive(Default)]
struct Queue {
    calls: Vec<Call>,
    /// Calls whose footprint missed: they come first.
    again: Vec<Call>,
    /// How many of all these have no footprint yet.
    due: usize,
    is_closed: bool,
    /// Whether nothing is sealed for now.
    is_held: bool,
    /// Whether the sequencer sleeps.
    is_awaited: bool,
    /// Submitters that sleep.
    crowd: usize,
}

/// What the sequencer does next.
pub(crate) enum Taken {
    /// Seals these, first those again. `due` of them have no footprint yet.
    Calls { again: Vec<Call>, calls: Vec<Call>, due: usize },
    /// Nothing is left, and nothing comes but what runs again.
    Closed,
}

impl Intake {
    /// `pipeline`: where the sequencer sleeps, if it is not here.
    pub fn new(limit: usize, pipeline: Option<Arc<Pipeline>>) -> Intake {
        Intake { queue: Mutex::default(), work: Condvar::new(), room: Condvar::new(), limit, pipeline }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends calls in their order; waits while the queue is full.
    pub fn submit(&self, calls: impl IntoIterator<Item = Call>) {
        let mut queue = self.lock();
        for call in calls {
            while queue.calls.len() >= self.limit {
                self.wake(&mut queue);
                queue.crowd += 1;
                queue = self.room.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.crowd -= 1;
            }
            queue.due += usize::from(call.due.is_some());
            queue.calls.push(call);
        }
        self.wake(&mut queue);
    }

    /// Appends a call whose footprint has missed. Never waits: executing threads must not.
    pub fn submit_again(&self, call: Call) {
        let mut queue = self.lock();
        queue.due += usize::from(call.due.is_some());
        queue.again.push(call);
        self.wake(&mut queue);
    }

    /// Lets the sequencer end once nothing is left.
    pub fn close(&self) {
        let mut queue = self.lock();
        (queue.is_closed, queue.is_held) = (true, false);
        self.wake(&mut queue);
    }

    /// Has submissions wait, or go on.
    pub fn set_held(&self, is_held: bool) {
        let mut queue = self.lock();
        queue.is_held = is_held && !queue.is_closed;
        self.wake(&mut queue);
    }

    /// Returns whether nothing is sealed for now.
    pub fn is_held(&self) -> bool {
        self.lock().is_held
    }

    fn wake(&self, queue: &mut Queue) {
        if std::mem::take(&mut queue.is_awaited) {
            match &self.pipeline {
                Some(pipeline) => pipeline.poke(),
                None => self.work.notify_one(),
            }
        }
    }

    /// Returns the number of calls that wait to be sealed.
    pub fn len(&self) -> usize {
        let queue = self.lock();
        queue.calls.len() + queue.again.len()
    }

    /// Returns whether nothing waits to be sealed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes everything; waits for something if `must_have` some. The sequencer.
    pub fn take(&self, must_have: bool) -> Taken {
        let mut queue = self.lock();
        loop {
            if let Some(taken) = self.take_of(&mut queue, must_have) {
                return taken;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Same as [`Intake::take`] without waiting: `None` if there is nothing, and the pipeline will be poked when there is.
    pub fn try_take(&self, must_have: bool) -> Option<Taken> {
        self.take_of(&mut self.lock(), must_have)
    }

    fn take_of(&self, queue: &mut Queue, must_have: bool) -> Option<Taken> {
        let has_work = !queue.is_held && !queue.calls.is_empty() || !queue.again.is_empty();
        if has_work || !must_have {
            if queue.crowd > 0 {
                self.room.notify_all();
            }
            let again = std::mem::take(&mut queue.again);
            let calls = if queue.is_held { Vec::new() } else { std::mem::take(&mut queue.calls) };
            let left = queue.calls.iter().filter(|call| call.due.is_some()).count(); // While submissions are held.
            let due = std::mem::replace(&mut queue.due, left) - left;
            return Some(Taken::Calls { again, calls, due });
        }
        if queue.is_closed {
            return Some(Taken::Closed);
        }
        queue.is_awaited = true;
        None
    }
}

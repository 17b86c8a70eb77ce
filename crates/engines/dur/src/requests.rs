//! Requests that a delivery answers: definitions of tables, and barriers.

use model::{Error, Pending, Result, TableId};
use parts::promise::{Promise, promise};
use parts::sync::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use total::Position;

/// Definitions of this node that were not delivered.
#[derive(Debug, Default)]
pub(crate) struct Definitions(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    last: u64,
    promises: BTreeMap<u64, Promise<Result<TableId>>>,
}

impl Definitions {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a request, and its answer.
    pub fn request(&self) -> (u64, Pending<Result<TableId>>) {
        let (promise, answer) = promise();
        let mut open = self.lock();
        open.last += 1;
        let number = open.last;
        open.promises.insert(number, promise);
        (number, answer)
    }

    /// Answers a request, unless it was.
    pub fn resolve(&self, request: u64, answer: Result<TableId>) {
        let promise = self.lock().promises.remove(&request);
        if let Some(promise) = promise {
            promise.resolve(answer);
        }
    }

    /// Answers all with an error.
    pub fn fail(&self, error: &Error) {
        let promises = std::mem::take(&mut self.lock().promises);
        promises.into_values().for_each(|promise| promise.resolve(Err(error.clone())));
    }
}

/// How far the order was delivered and applied.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    position: Mutex<Position>,
    changed: Condvar,
}

impl Reached {
    /// Everything up to a position is applied.
    pub fn set(&self, position: Position) {
        let mut reached = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        *reached = position.max(*reached);
        drop(reached);
        self.changed.notify_all();
    }

    /// Has those that wait ask again whether it is over.
    pub fn wake(&self) {
        drop(self.position.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits for a position. Returns whether it was reached before it is over.
    pub fn wait(&self, position: Position, is_over: impl Fn() -> bool) -> bool {
        let mut reached = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        while *reached < position {
            if is_over() {
                return false;
            }
            reached = self.changed.wait(reached).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}

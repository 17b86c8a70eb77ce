//! Figures about sessions and clients that the threads of a node publish.

use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::executor::Executed;

/// Written by the threads, each in its own place. The counters are for people; nothing is published by them, so `Relaxed` does.
#[derive(Debug, Default)]
pub(super) struct Figures {
    service: Mutex<ServiceFigures>,
    /// Clients that are connected.
    pub(super) connected: AtomicUsize,
    /// Clients that were disconnected for misbehaviour.
    pub(super) dismissed: AtomicU64,
}

/// Figures of the service's thread.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceFigures {
    pub(super) executed: Executed,
    /// Batches that could not be read to their end.
    pub(super) bad_batches: u64,
}

impl Figures {
    /// No code that could panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, ServiceFigures> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write_service(&self, figures: ServiceFigures) {
        *self.lock() = figures;
    }

    pub(super) fn service(&self) -> ServiceFigures {
        self.lock().clone()
    }
}

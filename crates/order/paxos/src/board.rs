//! Figures that the threads of a node publish.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::{Instance, ReplicaId, View};
use crate::journal::Compactions;
use crate::replica::Counters;

/// Figures of a node. Each thread writes its own place; status queries read all.
#[derive(Debug, Default)]
pub(crate) struct Board {
    core: Mutex<Option<CoreFigures>>,
    /// Durable records of the journal, those of earlier lives too.
    records: AtomicU64,
    pub(crate) network: NetworkFigures,
}

/// Figures of the core thread.
#[derive(Clone, Debug)]
pub(crate) struct CoreFigures {
    pub(crate) view: View,
    pub(crate) leader: Option<ReplicaId>,
    pub(crate) admitted: bool,
    pub(crate) counters: Counters,
    pub(crate) room: usize,
    pub(crate) journal: Option<JournalFigures>,
    pub(crate) durable: Vec<(ReplicaId, Instance)>,
}

/// Figures of the journal.
#[derive(Clone, Debug)]
pub(crate) struct JournalFigures {
    pub(crate) records: u64,
    pub(crate) syncs: u64,
    pub(crate) compactions: Compactions,
}

/// Figures of the I/O thread. All are counts for people; nothing is published by them, so `Relaxed` suffices.
#[derive(Debug, Default)]
pub(crate) struct NetworkFigures {
    /// Frames for peers that were dropped because the I/O thread lagged behind.
    pub(crate) dropped: AtomicU64,
    peers: Mutex<BTreeMap<ReplicaId, Arc<PeerFigures>>>,
}

/// Figures of the connection with one peer.
#[derive(Debug, Default)]
pub(crate) struct PeerFigures {
    pub(crate) connected: AtomicBool,
    /// Bytes that wait to be sent.
    pub(crate) queued: AtomicUsize,
    /// Messages that were dropped because too many waited.
    pub(crate) dropped: AtomicU64,
    /// Connections made so far.
    pub(crate) connections: AtomicU64,
    /// Snapshots that the peer began to send and was not asked for.
    pub(crate) unasked_snapshots: AtomicU64,
    /// Why there was no connection, the last time.
    error: Mutex<Option<String>>,
}

impl Board {
    pub(crate) fn write_core(&self, figures: CoreFigures) {
        *lock(&self.core) = Some(figures);
    }

    pub(crate) fn core(&self) -> Option<CoreFigures> {
        lock(&self.core).clone()
    }
}

impl Board {
    /// Only the core's thread raises it. What it vouches for is on the disk: nothing is published by it, so `Relaxed` does.
    pub(crate) fn write_records(&self, records: u64) {
        self.records.fetch_max(records, Ordering::Relaxed);
    }

    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }
}

impl NetworkFigures {
    /// The figures of this peer.
    pub(crate) fn peer(&self, id: ReplicaId) -> Arc<PeerFigures> {
        Arc::clone(lock(&self.peers).entry(id).or_default())
    }

    pub(crate) fn peers(&self) -> BTreeMap<ReplicaId, Arc<PeerFigures>> {
        lock(&self.peers).clone()
    }
}

impl PeerFigures {
    pub(crate) fn write_error(&self, error: String) {
        *lock(&self.error) = Some(error);
    }

    pub(crate) fn error(&self) -> Option<String> {
        lock(&self.error).clone()
    }
}

/// Counts one more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// No code that could panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What the threads of a node share: sessions that read and propose, and the one that delivers.

use crate::age::Ages;
use crate::barrier::Barriers;
use crate::error::{order_failed, unknown};
use crate::host::{Hosted, Turns};
use crate::locks::{Held, Locks};
use crate::options::Options;
use crate::payload;
use crate::progress::Progress;
use crate::replica::{self, Generation};
use crate::window::Window;
use bytes::Bytes;
use env::time::Duration;
use model::{Committed, Error, Fault, Mode, Result, Store, TableId};
use parts::promise::Promise;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use total::{OrderError, Position, TotalOrder};

/// What the threads of a node share.
pub(crate) struct Core {
    pub host: Hosted,
    pub options: Options,
    pub local: Arc<dyn Store>,
    pub order: Arc<dyn TotalOrder>,
    pub root_table: TableId,
    /// The state that counts. Replaced, under the latch, with the row of the root that names it.
    generation: RwLock<Arc<Generation>>,
    /// Never older than the local store: an entry is pushed before its writes are there (C2).
    window: Mutex<Window>,
    pub progress: Progress,
    barriers: Barriers,
    pub locks: Arc<Locks>,
    proposed: Mutex<Proposed>,
    /// Held while the parts of a payload are proposed: those of two must not mix.
    parts: Turns,
    /// When the last barrier was asked for that the state has reached.
    fresh: Mutex<Option<Duration>>,
    pub counts: Counts,
    /// Number of the last transaction that began here.
    pub numbers: AtomicU64,
    /// Open transactions.
    pub open: AtomicU64,
    pub ages: Ages,
}

/// Counters since the node was opened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub commits: AtomicU64,
    pub fetched: AtomicU64,
    pub aborts: Mutex<BTreeMap<&'static str, u64>>,
}

/// Own payloads that are to be answered when they are delivered.
#[derive(Debug, Default)]
struct Proposed {
    by_submission: BTreeMap<u64, (Duration, Waiting)>,
    is_closed: bool,
}

/// Who waits for a delivery.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A transaction, its number, and its rows, which it has until it is answered.
    Commit {
        promise: Promise<Result<Committed>>,
        number: u64,
        held: Option<Held>,
    },
    Create(Promise<Result<TableId>>),
    Drop(Promise<Result<()>>),
}

impl Waiting {
    /// Says that it did not happen, or that nobody knows.
    pub fn refuse(self, error: Error) {
        match self {
            Waiting::Commit { promise, held, .. } => {
                drop(held);
                promise.resolve(Err(error));
            }
            Waiting::Create(promise) => promise.resolve(Err(error)),
            Waiting::Drop(promise) => promise.resolve(Err(error)),
        }
    }
}

/// A snapshot of the local store, and where it stands in the order.
pub(crate) struct Snapshot<Local = Box<dyn model::Transaction>> {
    pub local: Local,
    /// What was ordered up to here is in it, and nothing else.
    pub base: Position,
    /// Transactions that were certified up to there.
    pub place: u64,
    pub tables: replica::Tables,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub fn new(
        (local, order): (Arc<dyn Store>, Arc<dyn TotalOrder>),
        host: Hosted,
        options: Options,
        root_table: TableId,
        root: crate::root::Root,
        generation: Arc<Generation>,
        window: Window,
    ) -> Core {
        Core {
            options,
            local,
            order,
            root_table,
            generation: RwLock::new(generation),
            window: Mutex::new(window),
            progress: Progress::new(&host, root.position, root.place),
            barriers: Barriers::new(&host),
            locks: Arc::new(Locks::new(&host)),
            proposed: Mutex::default(),
            parts: Turns::new(&host),
            fresh: Mutex::default(),
            counts: Counts::default(),
            numbers: AtomicU64::new(0),
            open: AtomicU64::new(0),
            ages: Ages::default(),
            host,
        }
    }

    pub fn window(&self) -> MutexGuard<'_, Window> {
        lock(&self.window)
    }

    pub fn generation(&self) -> Arc<Generation> {
        self.generation.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the state: `publish` makes the local store's root name it, and no snapshot begins meanwhile (C5).
    pub fn replace(
        &self,
        generation: Arc<Generation>,
        window: Window,
        publish: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut current = self.generation.write().unwrap_or_else(PoisonError::into_inner);
        publish()?;
        *current = generation;
        *lock(&self.window) = window;
        Ok(())
    }

    /// A snapshot of what is applied.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let generation = self.generation.read().unwrap_or_else(PoisonError::into_inner);
        let mut local = replica::begin_snapshot(&*self.local, Some(self.options.catch_up))?;
        let root = replica::read_root(&mut local, self.root_table)?;
        let root = root.ok_or_else(|| crate::error::damaged("it has no position"))?;
        assert_eq!(root.generation, generation.number, "C5: a snapshot is of the state that counts");
        Ok(Snapshot { local, base: root.base(), place: root.place, tables: generation.tables() })
    }

    /// Waits until the state has everything that was acknowledged anywhere before the call (C6).
    ///
    /// # Errors
    /// [`Fault::Behind`], or the node has stopped.
    pub fn catch_up(&self) -> Result<Position> {
        let asked = self.host.now();
        let at = self.barriers.ask(&*self.order, self.options.catch_up)?;
        self.progress.set_known(at);
        self.progress.wait_reached(at, self.options.catch_up.saturating_sub(self.host.since(asked)))?;
        let mut fresh = lock(&self.fresh);
        *fresh = (*fresh).max(Some(asked));
        Ok(at)
    }

    /// Same as [`Core::catch_up`], unless a state of this mode may be older: as old as the transaction says, or else the node.
    pub fn catch_up_for(&self, mode: Mode, staleness: Option<Duration>) -> Result<()> {
        let default = if mode == Mode::Snapshot { self.options.staleness } else { Duration::ZERO };
        let staleness = staleness.unwrap_or(default);
        let is_fresh = |at: Duration| self.host.since(at) <= staleness;
        if !staleness.is_zero() && lock(&self.fresh).is_some_and(is_fresh) {
            return Ok(());
        }
        self.catch_up().map(drop)
    }

    /// Proposes a payload, in parts if it is long. Who waits for it is answered by the thread that delivers.
    ///
    /// # Errors
    /// Nothing was proposed, or nothing that counts.
    pub fn propose(&self, payload: Vec<u8>, waiting: Waiting) -> std::result::Result<(), (Error, Waiting)> {
        if let Err(error) = self.progress.wait_serving(self.options.catch_up) {
            return Err((error, waiting));
        }
        let mut parts = payload::in_parts(payload, self.options.part_bytes);
        let last = parts.pop().expect("a payload has a part");
        let turn = (!parts.is_empty()).then(|| self.parts.take(self.options.catch_up));
        if let Some(None) = turn {
            let detail = format!("other long proposals took the node longer than {:.1?}", self.options.catch_up);
            return Err((crate::error::behind(detail), waiting));
        }
        for part in parts {
            if let Err(error) = self.propose_part(part.into(), None) {
                return Err((error.0, waiting));
            }
        }
        let refused = self.propose_part(last.into(), Some(waiting));
        refused.map_err(|(error, waiting)| (error, waiting.expect("it is given back")))
    }

    /// Proposes one payload, waiting for room.
    fn propose_part(
        &self,
        payload: Bytes,
        mut waiting: Option<Waiting>,
    ) -> std::result::Result<(), (Error, Option<Waiting>)> {
        let began = self.host.now();
        loop {
            match self.try_propose(&payload, &mut waiting) {
                Ok(()) => return Ok(()),
                Err(OrderError::Busy) => {}
                Err(error) => return Err((order_failed(&error), waiting)),
            }
            let left = self.options.catch_up.saturating_sub(self.host.since(began));
            match self.order.room(left) {
                Ok(_) => {}
                Err(OrderError::TimedOut) => {
                    let detail = format!("the order had no room for a proposal for {:.1?}", self.options.catch_up);
                    return Err((crate::error::behind(detail), waiting));
                }
                Err(error) => return Err((order_failed(&error), waiting)),
            }
        }
    }

    /// Under the latch: the delivery may come before the submission's number is entered.
    fn try_propose(&self, payload: &Bytes, waiting: &mut Option<Waiting>) -> std::result::Result<(), OrderError> {
        let mut proposed = lock(&self.proposed);
        if proposed.is_closed {
            return Err(OrderError::Stopped("the node was closed".to_owned()));
        }
        let submission = self.order.propose(payload.clone())?;
        if let Some(waiting) = waiting.take() {
            proposed.by_submission.insert(submission, (self.host.now(), waiting));
        }
        Ok(())
    }

    /// Proposes the first payload of a life, for which nobody waits, unless there is no room now.
    pub fn announce(&self, payload: Vec<u8>) -> Result<bool> {
        match self.try_propose(&payload.into(), &mut None) {
            Ok(()) => Ok(true),
            Err(OrderError::Busy) => Ok(false),
            Err(error) => Err(order_failed(&error)),
        }
    }

    /// Who waits for a submission of this life.
    pub fn take_waiting(&self, submission: u64) -> Option<Waiting> {
        lock(&self.proposed).by_submission.remove(&submission).map(|(_, waiting)| waiting)
    }

    /// Those who wait for submissions up to this one, which a state that was fetched has or has not.
    pub fn take_waiting_up_to(&self, submission: u64) -> Vec<(u64, Waiting)> {
        let mut proposed = lock(&self.proposed);
        let later = proposed.by_submission.split_off(&(submission + 1));
        let passed = std::mem::replace(&mut proposed.by_submission, later);
        passed.into_iter().map(|(submission, (_, waiting))| (submission, waiting)).collect()
    }

    /// The number of those who wait.
    pub fn proposed(&self) -> usize {
        lock(&self.proposed).by_submission.len()
    }

    /// Ends what has lasted too long. Called from time to time, by the thread that delivers.
    pub fn tick(&self) {
        self.expire();
        self.end_old();
    }

    /// Answers those who have waited too long: they do not learn the outcome.
    fn expire(&self) {
        let longest: Duration = self.options.answer;
        let mut late = Vec::new();
        let mut proposed = lock(&self.proposed);
        while let Some(oldest) = proposed.by_submission.first_entry()
            && self.host.since(oldest.get().0) > longest
        {
            late.push(oldest.remove().1);
        }
        drop(proposed);
        late.into_iter().for_each(|waiting| {
            waiting.refuse(unknown(format!("the order did not deliver the transaction within {longest:.1?}")));
        });
    }

    /// Stops the node: everybody is told why.
    pub fn stop(&self, error: &Error) {
        self.progress.fail(error);
        let mut proposed = lock(&self.proposed);
        proposed.is_closed = true;
        let all = std::mem::take(&mut proposed.by_submission);
        drop(proposed);
        all.into_values().for_each(|(_, waiting)| waiting.refuse(self.progress.unanswered()));
    }

    pub fn count_abort(&self, rule: &'static str) {
        *lock(&self.counts.aborts).entry(rule).or_default() += 1;
    }

    pub fn closed() -> Error {
        Fault::Closed.into()
    }
}

//! Slots: what other transactions see of a transaction, by the id that stands in its versions; and who commits only if it does.

use crate::Reason;
use crate::reclaim::Lists;
use crate::words::{Id, MAX_SLOTS, NEVER, Phase};
use crate::worker::Worker;
use parts::spin::Backoff;
use parts::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use parts::sync::{Arc, Mutex, MutexGuard, OnceLock, fence};
use parts::{CachePadded, threads};
use std::sync::PoisonError;

/// No transaction is open.
const IDLE: u64 = u64::MAX;

/// The slots of one engine, made when they are first used.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[OnceLock<Box<CachePadded<Slot>>>]>,
    /// Slots from here on were never used. `Relaxed`: whoever has taken one of them says so before it looks at the clock, with a
    /// fence between.
    used: AtomicUsize,
    /// The counter from which all timestamps are drawn (K1).
    clock: CachePadded<AtomicU64>,
    /// The latest horizon that somebody has computed. `Relaxed`: an older one frees less.
    horizon: AtomicU64,
}

/// The place of one open transaction at a time.
#[derive(Debug)]
pub(crate) struct Slot {
    is_taken: AtomicBool,
    /// Which transaction it is, as it stands in versions. Stored before `phase`: whoever reads the phase and finds the id unchanged has
    /// read that transaction's.
    id: AtomicU64,
    /// See [`Phase`]. `Release` publishes what was done before: versions before `Drawing`, words before the next `Active`.
    phase: AtomicU64,
    /// Its begin timestamp, which names it in errors. `Relaxed`.
    begin: AtomicU64,
    /// A timestamp below its begin timestamp; [`IDLE`]: none is open. What has ended at or before it, it does not need (K7).
    floor: AtomicU64,
    /// Transactions that commit only if this one does.
    dependents: Mutex<Vec<Arc<Standing>>>,
    /// The worker between transactions.
    worker: Mutex<Option<Box<Worker>>>,
    /// What its transactions leave.
    pub lists: Mutex<Lists>,
    pub counts: Counts,
}

/// Ended transactions of one slot. `Relaxed`: written by its transaction only, and added up for statistics.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub committed: AtomicU64,
    pub aborted: [AtomicU64; Reason::ALL.len()],
    pub speculated: AtomicU64,
    pub replaced: AtomicU64,
}

/// Adds to a counter. By the only writer.
pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Relaxed);
}

/// What a transaction waits for before it commits: others on whose commit it has speculated (K5).
#[derive(Debug, Default)]
pub(crate) struct Standing {
    open: AtomicU32,
    has_failed: AtomicBool,
}

impl Standing {
    /// One of them has aborted. `Release` and `Acquire`: the versions that it has rolled back are of no interest any more.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Acquire)
    }

    /// Waits for all. Returns whether all have committed.
    pub fn settle(&self) -> bool {
        let mut backoff = Backoff::new();
        loop {
            if self.has_failed() {
                return false;
            }
            if self.open.load(Acquire) == 0 {
                return true;
            }
            backoff.pause(); // Each of them is in its commit, and waits for lower timestamps alone (K5).
        }
    }
}

/// What a word of a version means to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A timestamp, or the id of a transaction that has committed at it.
    At(u64),
    /// The transaction itself.
    Mine,
    /// A transaction that will draw its end timestamp later.
    Open(Id),
    /// A transaction that commits at this timestamp, if it does.
    Perhaps(Id, u64),
}

impl Slots {
    /// Room for so many open transactions.
    pub fn new(limit: u64) -> Slots {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, MAX_SLOTS);
        Slots {
            slots: (0..limit).map(|_| OnceLock::new()).collect(),
            used: AtomicUsize::new(0),
            clock: CachePadded::new(AtomicU64::new(1)),
            horizon: AtomicU64::new(0),
        }
    }

    pub fn limit(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Takes a free slot, near the place of the calling thread; `None`: all are taken.
    #[inline]
    pub fn take(&self) -> Option<Box<Worker>> {
        let first = threads::number() % self.slots.len();
        (first..self.slots.len()).chain(0..first).find_map(|at| {
            let slot = self.slots[at].get_or_init(|| Box::new(CachePadded::new(Slot::new())));
            if slot.is_taken.load(Relaxed) || slot.is_taken.swap(true, Acquire) {
                return None;
            }
            if at >= self.used.load(Relaxed) {
                self.used.fetch_max(at + 1, SeqCst);
            }
            let worker = slot.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
            Some(worker.unwrap_or_else(|| Box::new(Worker::new(Id::first(at)))))
        })
    }

    /// The slot of a transaction.
    #[inline]
    pub fn slot(&self, id: Id) -> &Slot {
        self.slots[id.slot()].get().expect("a slot that was taken")
    }

    /// Begins a transaction. Returns its begin timestamp.
    #[inline]
    pub fn begin(&self, id: Id) -> u64 {
        let slot = self.slot(id);
        slot.floor.store(self.clock.load(Relaxed), Relaxed);
        // Whoever computes a horizon sees this, or has read the clock before the draw below (K7).
        fence(SeqCst);
        let begin = self.draw();
        slot.begin.store(begin, Relaxed);
        slot.id.store(id.word(), Release);
        slot.phase.store(Phase::Active.word(), Release);
        begin
    }

    /// Draws a timestamp. `AcqRel`: whoever draws a later one sees all that was done before this draw (K1).
    #[inline]
    pub fn draw(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst) + 1
    }

    /// The latest timestamp that was drawn.
    pub fn now(&self) -> u64 {
        self.clock.load(SeqCst)
    }

    /// Draws the end timestamp of a transaction, whose versions are all in their chains (K1).
    #[inline]
    pub fn prepare(&self, id: Id) -> u64 {
        let slot = self.slot(id);
        slot.phase.store(Phase::Drawing.word(), Release);
        let end = self.draw();
        slot.phase.store(Phase::Preparing(end).word(), Release);
        end
    }

    /// Decides a transaction, and with it those that have speculated on it.
    #[inline]
    pub fn decide(&self, id: Id, phase: Phase) {
        let slot = self.slot(id);
        slot.phase.store(phase.word(), Release);
        // Whoever registers after this has locked after it, and sees the phase.
        for standing in slot.dependents().drain(..) {
            match phase {
                Phase::Committed(_) => drop(standing.open.fetch_sub(1, Release)),
                _ => standing.has_failed.store(true, Release),
            }
        }
    }

    /// Makes a transaction's commit depend on another one's; false if that one is decided by now.
    pub fn depend(&self, standing: &Arc<Standing>, on: Id) -> bool {
        let slot = self.slot(on);
        let mut dependents = slot.dependents();
        let is_open = matches!(slot.phase_of(on), Some(Phase::Preparing(_)));
        if is_open {
            standing.open.fetch_add(1, Relaxed);
            dependents.push(standing.clone());
        }
        is_open
    }

    /// Ends a transaction none of whose words is left in a version (K6).
    pub fn end(&self, id: Id, worker: Box<Worker>) {
        let slot = self.slot(id);
        slot.floor.store(IDLE, Release);
        *slot.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
        slot.is_taken.store(false, Release);
    }

    /// Returns what a word means to a transaction.
    #[inline]
    pub fn read(&self, word: &AtomicU64, me: Id) -> Meaning {
        let mut backoff = Backoff::new();
        loop {
            let word = word.load(Acquire);
            let Some(id) = Id::in_word(word) else { return Meaning::At(word) };
            if id == me {
                return Meaning::Mine;
            }
            match self.slot(id).phase_of(id) {
                Some(Phase::Active) => return Meaning::Open(id),
                Some(Phase::Preparing(at)) => return Meaning::Perhaps(id, at),
                Some(Phase::Committed(at)) => return Meaning::At(at),
                Some(Phase::Aborted) => return Meaning::At(NEVER),
                Some(Phase::Drawing) => backoff.pause(), // Until the next of its instructions (K1).
                None => {}                               // It has ended: the word is a timestamp now (K6).
            }
        }
    }

    /// Returns the begin timestamp of a transaction that is open, by which errors name it.
    pub fn begin_of(&self, id: Id) -> u64 {
        self.slot(id).begin.load(Relaxed)
    }

    /// No transaction, open or to come, needs what has ended before this.
    pub fn horizon(&self) -> u64 {
        self.horizon.load(Relaxed)
    }

    /// Computes the horizon anew.
    pub fn find_horizon(&self) -> u64 {
        let now = self.now();
        fence(SeqCst);
        let used = self.used.load(SeqCst);
        let floors = self.slots[..used].iter().filter_map(OnceLock::get).map(|slot| slot.floor.load(SeqCst));
        let horizon = floors.fold(now, u64::min);
        self.horizon.fetch_max(horizon, AcqRel);
        horizon
    }

    /// The slots that were ever used.
    pub fn each(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter_map(OnceLock::get).map(|slot| &***slot)
    }
}

impl Slot {
    fn new() -> Slot {
        Slot {
            is_taken: AtomicBool::new(false),
            id: AtomicU64::new(0),
            phase: AtomicU64::new(Phase::Active.word()),
            begin: AtomicU64::new(0),
            floor: AtomicU64::new(IDLE),
            dependents: Mutex::default(),
            worker: Mutex::default(),
            lists: Mutex::default(),
            counts: Counts::default(),
        }
    }

    /// Where a transaction of this slot stands; `None`: it has ended, and another one has begun.
    #[inline]
    fn phase_of(&self, id: Id) -> Option<Phase> {
        let phase = self.phase.load(Acquire);
        (self.id.load(Acquire) == id.word()).then(|| Phase::from_word(phase))
    }

    pub fn is_open(&self) -> bool {
        self.is_taken.load(Relaxed)
    }

    pub fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dependents(&self) -> MutexGuard<'_, Vec<Arc<Standing>>> {
        self.dependents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

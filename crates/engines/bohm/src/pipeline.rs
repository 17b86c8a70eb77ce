//! Batches on their way: sealed, planned by all planners, executed, collected.
//!
//! One latch, taken a few times for each batch and never for a procedure. A batch is freed when it is at or below the
//! low-water mark: it is complete, as are all before it, and no thread executes that entered before it was complete. So
//! a thread that finds a version empty may look at its producer: that one's batch was not complete when the thread
//! entered.

use crate::call::Call;
use crate::position::Position;
use crate::readers::Readers;
use parts::CachePadded;
use parts::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use parts::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// Calls that an executing thread takes at a time.
const TAKEN_AT_ONCE: usize = 16;
const IDLE: u64 = u64::MAX;

/// A sealed batch.
pub(crate) struct Batch {
    pub number: u64,
    pub calls: Vec<Call>,
    /// Planners that have not planned it yet.
    unplanned: AtomicUsize,
    /// The first call that no executing thread has taken.
    next: CachePadded<AtomicUsize>,
}

/// The batches, and where the threads are.
pub(crate) struct Pipeline {
    stages: Mutex<Stages>,
    /// For planners: another batch is sealed.
    sealed: Condvar,
    /// For executing threads: another batch is planned.
    planned: Condvar,
    /// For the sequencer, and for those that wait for a batch to be complete.
    complete: Condvar,
    /// Calls of batch `n`, modulo the length, that are not complete.
    unfinished: Box<[CachePadded<AtomicU64>]>,
    pub readers: Readers,
    planners: usize,
    run_ahead: u64,
}

struct Stages {
    /// All batches above the low-water mark, oldest first, up to `sealed`.
    batches: VecDeque<Arc<Batch>>,
    sealed: u64,
    planned: u64,
    complete: u64,
    /// For each executing thread the first batch that was not complete when it entered the one that it executes.
    entered: Box<[u64]>,
    is_closing: bool,
}

impl Pipeline {
    pub fn new(planners: usize, executors: usize, run_ahead: u64, readers: usize) -> Pipeline {
        let stages = Stages {
            batches: VecDeque::new(),
            sealed: 0,
            planned: 0,
            complete: 0,
            entered: vec![IDLE; executors].into_boxed_slice(),
            is_closing: false,
        };
        Pipeline {
            stages: Mutex::new(stages),
            sealed: Condvar::new(),
            planned: Condvar::new(),
            complete: Condvar::new(),
            unfinished: (0..run_ahead + 1).map(|_| CachePadded::default()).collect(),
            readers: Readers::new(readers),
            planners,
            run_ahead,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unfinished(&self, batch: u64) -> &AtomicU64 {
        &self.unfinished[(batch % self.unfinished.len() as u64) as usize]
    }

    /// Seals a batch, once fewer than the limit are on their way: its calls get their positions (B1). The sequencer.
    pub fn seal(&self, mut calls: Vec<Call>) -> Arc<Batch> {
        let mut stages = self.lock();
        while stages.sealed - stages.complete >= self.run_ahead {
            stages = self.complete.wait(stages).unwrap_or_else(PoisonError::into_inner);
        }
        let number = stages.sealed + 1;
        for (index, call) in calls.iter_mut().enumerate() {
            call.position = Position::new(number, index);
        }
        self.unfinished(number).store(calls.len() as u64, Relaxed);
        let unplanned = AtomicUsize::new(self.planners);
        let batch = Arc::new(Batch { number, calls, unplanned, next: CachePadded::default() });
        stages.batches.push_back(batch.clone());
        stages.sealed = number;
        drop(stages);
        if self.planners > 1 {
            self.sealed.notify_all();
        }
        batch
    }

    /// Waits for a batch to be sealed. `None`: there will be none.
    pub fn wait_sealed(&self, number: u64) -> Option<Arc<Batch>> {
        let mut stages = self.lock();
        loop {
            if number <= stages.sealed {
                return Some(stages.batch(number));
            }
            if stages.is_closing {
                return None;
            }
            stages = self.sealed.wait(stages).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Passes the barrier of a batch: what the last planner passes, executing threads see (B3).
    pub fn pass_barrier(&self, batch: &Batch) {
        if batch.unplanned.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        let mut stages = self.lock();
        assert!(stages.planned + 1 == batch.number, "B3: batches are planned in their order");
        stages.planned = batch.number;
        self.advance(&mut stages);
        drop(stages);
        if batch.calls.len() > TAKEN_AT_ONCE {
            self.planned.notify_all();
        } else {
            self.planned.notify_one();
        }
    }

    /// Leaves the batch that an executing thread was in, and waits for the next one that it may execute. `None`: there
    /// will be none.
    pub fn enter_next(&self, executor: usize, last: u64) -> Option<Arc<Batch>> {
        let mut stages = self.lock();
        stages.entered[executor] = IDLE;
        loop {
            let number = last.max(stages.complete) + 1;
            if number <= stages.planned {
                stages.entered[executor] = stages.complete + 1;
                return Some(stages.batch(number));
            }
            if stages.is_closing {
                return None;
            }
            stages = self.planned.wait(stages).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts calls of a batch as complete.
    pub fn finish(&self, batch: u64, calls: u64) {
        if calls > 0 && self.unfinished(batch).fetch_sub(calls, AcqRel) == calls {
            self.advance(&mut self.lock());
        }
    }

    /// Moves the last complete batch on.
    fn advance(&self, stages: &mut Stages) {
        let before = stages.complete;
        while stages.complete < stages.planned && self.unfinished(stages.complete + 1).load(Acquire) == 0 {
            stages.complete += 1;
        }
        if stages.complete > before {
            self.readers.set_complete(stages.complete);
            self.complete.notify_all();
        }
    }

    /// The low-water mark: no thread reads below the end of this batch any more (B8).
    pub fn low_water(&self) -> u64 {
        let mut freed = Vec::new();
        let mut stages = self.lock();
        let entered = stages.entered.iter().map(|first| first - 1).fold(stages.complete, u64::min);
        let low = self.readers.oldest(entered);
        while stages.batches.front().is_some_and(|batch| batch.number <= low) {
            freed.extend(stages.batches.pop_front());
        }
        drop(stages);
        drop(freed); // Outside of the latch.
        low
    }

    /// Waits until a batch is complete, as all before it.
    pub fn wait_complete(&self, batch: u64) {
        let mut stages = self.lock();
        while stages.complete < batch {
            stages = self.complete.wait(stages).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The last sealed batch.
    pub fn last_sealed(&self) -> u64 {
        self.lock().sealed
    }

    /// Lets the threads end. Everything sealed is complete.
    pub fn close(&self) {
        let mut stages = self.lock();
        assert!(stages.complete == stages.sealed, "the sequencer waits for what it has sealed");
        stages.is_closing = true;
        drop(stages);
        self.sealed.notify_all();
        self.planned.notify_all();
    }
}

impl Stages {
    fn batch(&self, number: u64) -> Arc<Batch> {
        let newer = (self.sealed - number) as usize;
        let batch = &self.batches[self.batches.len() - 1 - newer];
        assert!(batch.number == number, "B8: a batch is kept until it is complete and nobody is in it");
        batch.clone()
    }
}

impl Batch {
    /// Takes the next calls that no executing thread has.
    pub fn take(&self) -> &[Call] {
        // Relaxed: the calls were published by the barrier; this only deals them out.
        if self.next.load(Relaxed) >= self.calls.len() {
            return &[];
        }
        let first = self.next.fetch_add(TAKEN_AT_ONCE, Relaxed).min(self.calls.len());
        &self.calls[first..(first + TAKEN_AT_ONCE).min(self.calls.len())]
    }
}

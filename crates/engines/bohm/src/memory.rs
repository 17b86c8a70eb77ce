//! The limit on memory: what counts, and which calls are refused.
//!
//! | counts | from | until |
//! | --- | --- | --- |
//! | a call: its slots, its footprint, its entry of the log | it is accepted | its batch is freed |
//! | the placeholders that it will get | it is accepted | its batch is planned: then they count themselves |
//! | a call whose footprint is due: as much as such calls have needed | it is accepted | its footprint is found |
//! | what is foreseen (`foresight.rs`) | its call is sealed | that is complete |
//! | versions with the room for their rows, long rows, records | they are made | they are collected |
//! | nodes and buckets of the indexes | they are made | they are freed |
//! | rows on their way into a checkpoint | a planner hands them over | they are written |
//!
//! A call is refused before it has a place (B14): recovery, which meets other counts, executes every logged call. What a body writes is
//! not known then, but its keys are, and what it may do to them; and a placeholder has room for the longest row of its table so far.
//! So what is counted for a call is what it will take, unless it writes rows longer than any before.

use crate::Shared;
use crate::attempt::panicked;
use crate::call::{Call, Due, Slot};
use crate::job::Job;
use crate::position::Position;
use crate::record::Record;
use crate::version;
use model::{Error, Limit, LimitKind, Result, TableId};
use parts::epoch;
use parts::memory::Allowance;
use parts::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use parts::sync::{Mutex, MutexGuard};
use parts::threads;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

/// Batches that a submission at the limit waits for, at most, so that what was deleted before is collected: versions go in the second,
/// records in the third or fourth.
const COLLECTING_ROUNDS: usize = 4;

/// A database that needs more than so many times the limit is not opened. What was accepted under the limit is opened under it: only
/// rows longer than any before them may have gone beyond.
const OPENED_TIMES: usize = 2;

/// Calls after which the need of a larger one before them is forgotten, about.
const GUESSES_REMEMBERED: usize = 64;

/// What is in use, and who must not wait for more.
#[derive(Debug)]
pub(crate) struct Memory {
    pub allowance: Allowance,
    /// What calls have needed, of late at most, whose footprints were found at sealing. `Relaxed`: an estimate of the sequencer's.
    guess_bytes: AtomicUsize,
    /// The engine's threads by their numbers.
    threads: Mutex<Vec<usize>>,
}

/// Bytes that count for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Until its batch is freed.
    pub call: usize,
    /// Until it is planned.
    pub placeholders: usize,
}

/// Calls that are submitted together.
#[derive(Debug, Default)]
pub(crate) struct Submission {
    /// Bytes that count for those that were admitted.
    bytes: usize,
    /// Whether it has waited in vain: it does not wait again.
    has_waited: bool,
}

impl Charge {
    pub fn total(self) -> usize {
        self.call + self.placeholders
    }

    pub fn add(&mut self, other: Charge) {
        self.call += other.call;
        self.placeholders += other.placeholders;
    }
}

impl Memory {
    pub fn new(limit: usize) -> Memory {
        Memory { allowance: Allowance::new(limit), guess_bytes: AtomicUsize::new(0), threads: Mutex::default() }
    }

    /// Counts bytes that were made, or freed, since the last time.
    #[inline]
    pub fn count(&self, made: &mut isize) {
        if *made != 0 {
            self.allowance.meter.add(std::mem::take(made));
        }
    }

    /// Returns whether so many bytes more are far from the limit, for certain. Cheap.
    #[inline]
    fn has_room(&self, needed: usize) -> bool {
        self.allowance.has_room(needed + self.allowance.meter.tolerance())
    }

    /// Notes what a call has needed whose footprint was found at sealing. A larger one counts at once, and is forgotten by and by.
    fn note_guess(&self, bytes: usize) {
        let before = self.guess_bytes.load(Relaxed);
        self.guess_bytes.store(bytes.max(before - before / GUESSES_REMEMBERED), Relaxed);
    }

    /// Notes that the calling thread is the engine's.
    pub fn add_thread(&self) {
        self.threads().push(threads::number());
    }

    fn threads(&self) -> MutexGuard<'_, Vec<usize>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_own_thread(&self) -> bool {
        self.threads().contains(&threads::number())
    }
}

impl Shared {
    /// What counts for a call.
    pub fn charge_of(&self, call: &Call) -> Charge {
        // Neighbours are of the same table.
        let mut last = (TableId(u32::MAX), 0);
        let placeholder = |slot: &Slot| {
            if last.0 != slot.table {
                let table = self.tables.get(slot.table);
                let row_bytes = table.map_or(0, |table| table.row_bytes.load(Relaxed) as usize);
                last = (slot.table, version::bytes_with_row(row_bytes) + size_of::<Record>());
            }
            last.1
        };
        Charge { call: call.memory(), placeholders: call.written().map(placeholder).sum() }
    }

    /// Refuses a call for which there is no memory (B14).
    ///
    /// # Errors
    /// [`LimitKind::Memory`].
    #[inline]
    pub fn admit(&self, call: &Call, with: &mut Submission) -> Result<()> {
        let needed = with.bytes + call.charge.total();
        if !self.memory.has_room(needed) && call.writes() {
            self.find_memory(call, needed, with)?;
        }
        with.bytes = needed;
        Ok(())
    }

    /// Near the limit: knows exactly, and waits for what can be collected.
    #[cold]
    fn find_memory(&self, call: &Call, needed: usize, with: &mut Submission) -> Result<()> {
        let most = self.limit_for(call);
        if self.try_to_fit(needed, most, !with.has_waited && self.may_wait()) {
            return Ok(());
        }
        with.has_waited = true;
        let Allowance { limit, meter, .. } = &self.memory.allowance;
        let actual = meter.used().saturating_add(needed).max(most.saturating_add(1));
        Err(Limit { kind: LimitKind::Memory, limit: *limit as u64, actual: actual as u64 }.into())
    }

    fn try_to_fit(&self, needed: usize, most: usize, may_wait: bool) -> bool {
        for round in 0.. {
            if self.memory.allowance.collected().saturating_add(needed) <= most {
                return true;
            }
            if !may_wait || round == COLLECTING_ROUNDS || round > 0 && self.counts.garbage() == 0 {
                return false;
            }
            self.settle_and_leave();
        }
        unreachable!("rounds are bounded")
    }

    /// Whoever makes room must not wait for it, and while submissions are held nobody makes any.
    fn may_wait(&self) -> bool {
        !self.memory.is_own_thread() && !self.intake.is_held()
    }

    /// The limit for a call: the furthest for one that deletes what it writes, since it makes room once it is collected; a further one
    /// for a call whose keys are all there, since each takes the place of what it replaces.
    fn limit_for(&self, call: &Call) -> usize {
        let allowance = &self.memory.allowance;
        if call.written().all(|slot| slot.actions.delete_only()) {
            return allowance.limit_of_deletes();
        }
        let guard = epoch::pin();
        let is_there = |slot: &Slot| {
            let table = self.tables.get(slot.table);
            table.is_some_and(|table| table.index.get(slot.key(&call.footprint), &guard).is_some())
        };
        match call.written().all(|slot| slot.actions.delete_only() || is_there(slot)) {
            true => allowance.limit_of_updates(),
            false => allowance.limit,
        }
    }

    /// Submits calls that were admitted, and counts them.
    pub fn submit(&self, calls: impl IntoIterator<Item = Call>, admitted: Submission) {
        self.memory.allowance.meter.charge(admitted.bytes);
        self.intake.submit(calls);
    }

    /// Submits a job whose footprint has missed. It is not refused, since it was accepted before.
    pub fn submit_again(&self, job: Box<dyn Job>) {
        let mut call = Call::without_footprint(job, Due::Again);
        call.charge.call = call.memory();
        self.memory.allowance.meter.charge(call.charge.total());
        self.intake.submit_again(call);
    }

    /// A call for a job whose footprint is found when it is sealed. Until then as much counts for it as such calls have needed. Near the
    /// limit a trial run tells what it needs now, since a submitter can wait for memory, and the sequencer cannot.
    ///
    /// # Errors
    /// Those of the trial run.
    pub fn weighed(&self, job: Box<dyn Job>, with: &Submission) -> std::result::Result<Call, (Box<dyn Job>, Error)> {
        let mut call = Call::without_footprint(job, Due::First);
        call.charge = Charge { call: call.memory(), placeholders: self.memory.guess_bytes.load(Relaxed) };
        if self.memory.has_room(with.bytes + call.charge.total()) {
            return Ok(call);
        }
        let job = call.into_job();
        let found = catch_unwind(AssertUnwindSafe(|| self.footprint_of(&*job)));
        match found.unwrap_or_else(|_| (Err(panicked(Position::START)), true)) {
            (Ok(footprint), is_guess) => self.call(job, footprint, is_guess),
            (Err(error), _) => Err((job, error)),
        }
    }

    /// Counts for a call what its footprint needs, instead of what was counted `before` while that was due. Refuses it where the limit
    /// does not allow more: it has no place yet (B14).
    ///
    /// # Errors
    /// [`LimitKind::Memory`]: what was counted before still counts.
    pub fn weigh_again(&self, call: &Call, before: Charge, due: Due) -> Result<()> {
        let (needed, counted) = (call.charge.total(), before.total());
        self.memory.note_guess(needed);
        if needed > counted && due == Due::First {
            let more = needed - counted;
            if !self.memory.has_room(more) && call.writes() {
                self.find_memory(call, more, &mut Submission { bytes: 0, has_waited: true })?;
            }
        }
        self.memory.allowance.meter.add(needed.cast_signed() - counted.cast_signed());
        Ok(())
    }

    /// Counts a call no more that was refused after it had been submitted.
    pub fn discharge(&self, call: &Call) {
        self.memory.allowance.meter.credit(call.charge.total());
    }

    /// Submits a logged call, or rows of a checkpoint, behind what makes room for it. A call is not refused: that was decided when it was
    /// submitted first.
    ///
    /// # Errors
    /// [`LimitKind::MemoryToOpen`]: the database does not fit by far.
    pub fn submit_recovered(&self, call: Call) -> Result<()> {
        let Allowance { limit, meter, .. } = &self.memory.allowance;
        let (needed, limit) = (call.charge.total(), *limit);
        if !self.memory.has_room(needed) && !self.try_to_fit(needed, limit, true) {
            let actual = meter.used().saturating_add(needed);
            if actual > limit.saturating_mul(OPENED_TIMES) {
                let (limit, actual) = (limit as u64, actual as u64);
                return Err(Error::from(Limit { kind: LimitKind::MemoryToOpen, limit, actual }));
            }
        }
        self.submit([call], Submission { bytes: needed, has_waited: false });
        Ok(())
    }
}

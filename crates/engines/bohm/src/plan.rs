//! Planning: placeholders for every declared write, references for every declared read, and collection of what nobody
//! reads any more.
//!
//! A key has one planner, so planners never wait for each other but at the barrier of a batch.

use crate::Shared;
use crate::call::{Call, Slot};
use crate::checkpoint::HandedOver;
use crate::foresight::Foresight;
use crate::intake::Taken;
use crate::pipeline::Batch;
use crate::pool::Pool;
use crate::record::RecordRef;
use crate::store::{Table, planner_of};
use crate::version::{Content, VersionRef, class_of};
use env::time::Instant;
use parts::epoch::{self, Guard};
use parts::index::KeyHash;
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::index::{Entry, Walk};
use parts::sync::atomic::Ordering::Relaxed;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// Keys between two steps of a lookup: so many misses overlap.
const APART: usize = 12;
/// Keys that are looked up under one guard.
const UNDER_ONE_GUARD: usize = 64;
/// Calls ahead of the one whose garbage is collected, the heads of whose garbage are fetched.
const COLLECTED_AHEAD: usize = 2;

/// Records of a dropped table that are taken out before a batch, at least.
const DRAINED_AT_ONCE: usize = 8192;

/// One planner. Planner 0 is the sequencer too: it seals the batches.
pub(crate) struct Planner {
    shared: Arc<Shared>,
    number: u8,
    pub pool: Pool,
    /// Batches that it has planned, and not collected, oldest first: their slots say what was placed, and what that has
    /// replaced.
    planned: VecDeque<Arc<Batch>>,
    /// Versions that it has placed in those batches.
    placed: u64,
    /// Records that have left their index, with the batch that was to be planned then.
    removed: VecDeque<(u64, RecordRef)>,
    /// Rows for the checkpoint that is being written.
    handed_over: HandedOver,
    /// Its boundary, or zero.
    boundary: u64,
    /// Drops of tables that it knows.
    drops_seen: u64,
    /// Dropped tables with own records, perhaps, and how far it has walked over them.
    draining: Vec<(model::TableId, Walk)>,
    /// Submitted calls that did not fit into the last batch.
    backlog: VecDeque<Call>,
    /// How many of them have no footprint yet.
    due: usize,
    /// How many of them the next batch has.
    length: usize,
    foresight: Foresight,
    /// Memory for a record of the log.
    record: Vec<u8>,
    last: u64,
}

/// A key on its way through planning.
struct Step<'b> {
    call: &'b Call,
    slot: &'b Slot,
    table: &'b Table,
    hash: KeyHash,
}

impl Planner {
    pub fn new(shared: Arc<Shared>, number: u8) -> Planner {
        let last = shared.pipeline.last_sealed();
        Planner {
            shared,
            number,
            pool: Pool::new(),
            planned: VecDeque::new(),
            placed: 0,
            removed: VecDeque::new(),
            handed_over: HandedOver::default(),
            boundary: 0,
            drops_seen: 0,
            draining: Vec::new(),
            backlog: VecDeque::new(),
            due: 0,
            length: 0,
            foresight: Foresight::default(),
            record: Vec::new(),
            last,
        }
    }

    /// Plans batches until the engine is closed. Returns itself: its pool has the memory of the versions.
    pub fn run(mut self) -> Planner {
        self.shared.memory.add_thread();
        while let Some(batch) = self.next_batch() {
            self.see_through(batch);
        }
        self
    }

    /// Plans the next batch, if there is one: a thread that moves and has claimed the partition. Returns whether there was.
    pub fn plan_now(&mut self) -> bool {
        let next = self.next_batch_now();
        let is_there = next.is_some();
        next.into_iter().for_each(|batch| self.see_through(batch));
        is_there
    }

    /// The last batch that it has planned.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Collects, and plans a batch.
    fn see_through(&mut self, batch: Arc<Batch>) {
        let begun = Instant::now();
        self.last = batch.number;
        self.collect(batch.number);
        self.plan(&batch);
        self.shared.length.planned(batch.calls.len(), begun.elapsed());
        self.shared.memory.count(&mut self.pool.made);
        self.shared.pipeline.pass_barrier(&batch);
        self.planned.push_back(batch);
    }

    /// The next batch, if there is one to plan now. The sequencer, who has room for one, closes the pipeline once nothing is left.
    fn next_batch_now(&mut self) -> Option<Arc<Batch>> {
        if self.number > 0 {
            return self.shared.pipeline.sealed(self.last + 1);
        }
        match self.shared.intake.try_take(self.backlog.is_empty())? {
            Taken::Calls { again, calls, due } => {
                self.queue(again, calls, due);
                // The thread goes and executes what this waits for.
                let may_guess = !self.has_guesses() || self.foresight.is_right_now(&self.shared);
                may_guess.then(|| self.seal())
            }
            Taken::Closed => {
                self.close_if_done();
                None
            }
        }
    }

    fn next_batch(&mut self) -> Option<Arc<Batch>> {
        if self.number > 0 {
            return self.shared.pipeline.wait_sealed(self.last + 1);
        }
        loop {
            match self.shared.intake.take(self.backlog.is_empty()) {
                Taken::Calls { again, calls, due } => {
                    self.queue(again, calls, due);
                    if self.has_guesses() {
                        self.foresight.wait_until_right(&self.shared);
                    }
                    return Some(self.seal());
                }
                Taken::Closed => {
                    self.shared.pipeline.wait_complete(self.shared.pipeline.last_sealed());
                    if self.close_if_done() {
                        return None;
                    }
                }
            }
        }
    }

    /// Takes over what was submitted.
    fn queue(&mut self, again: Vec<Call>, calls: Vec<Call>, due: usize) {
        match self.backlog.is_empty() {
            true => self.backlog = calls.into(), // Copies nothing.
            false => self.backlog.extend(calls),
        }
        again.into_iter().rev().for_each(|call| self.backlog.push_front(call));
        self.due += due;
        self.length = self.shared.length.next(self.backlog.len());
    }

    /// Returns whether footprints are due in the next batch.
    fn has_guesses(&self) -> bool {
        self.due > 0 && self.backlog.iter().take(self.length).any(|call| call.due.is_some())
    }

    /// Seals a batch of what waits: the sequencer.
    fn seal(&mut self) -> Arc<Batch> {
        let has_guesses = self.has_guesses();
        let mut calls: Vec<Call> = self.backlog.drain(..self.length).collect();
        if has_guesses {
            self.due -= calls.iter().filter(|call| call.due.is_some()).count();
            calls = self.foresight.complete(&self.shared, calls);
        }
        self.shared.seal(calls, &mut self.record)
    }

    /// Closes the pipeline if nothing is left: what is executed still may come again.
    fn close_if_done(&self) -> bool {
        let is_done = self.shared.pipeline.is_all_complete() && self.shared.intake.is_empty();
        if is_done {
            self.shared.pipeline.close();
        }
        is_done
    }

    /// Plans a batch, key by key in the order of positions. The lookups are made in steps, some keys apart, so that
    /// their misses overlap.
    fn plan(&mut self, batch: &Batch) {
        let (shared, number) = (self.shared.clone(), self.number);
        let mut steps = batch.calls_of(number).flat_map(|call| {
            let own = call.owned_by(number);
            if call.has_order {
                fetch_ordered(&shared, call, own);
            }
            own.iter().map(move |slot| (call, slot))
        });
        let mut ahead = VecDeque::with_capacity(2 * APART + 1);
        let mut is_over = false;
        while !is_over {
            let guard = epoch::pin();
            for _ in 0..UNDER_ONE_GUARD {
                let Some((call, slot)) = steps.next() else {
                    is_over = true;
                    break;
                };
                ahead.push_back(Step::begin(&shared, call, slot));
                if let Some(at) = ahead.len().checked_sub(APART) {
                    ahead[at].go_on();
                }
                if ahead.len() > 2 * APART {
                    self.finish(ahead.pop_front().expect("it is full"), &guard);
                }
            }
        }
        let guard = epoch::pin();
        ahead.iter().rev().take(APART).for_each(Step::go_on);
        ahead.into_iter().for_each(|step| self.finish(step, &guard));
    }

    /// Finds a key's record, leaves the reference to the version that is read, and places a placeholder on it if the
    /// key is written (B2).
    #[inline]
    fn finish(&mut self, step: Step<'_>, guard: &Guard) {
        let Step { call, slot, table, hash } = step;
        let found = slot.with_key(&call.footprint, |key| table.index.get_hashed(key, hash, guard));
        let below = found.map(|record| record.newest_below(call.position));
        if !slot.actions.write() {
            return slot.refer(below, None);
        }
        let class = class_of(table.row_bytes.load(Relaxed) as usize);
        // SAFETY: the pool gives memory of the class, and gives it once.
        let version = unsafe { VersionRef::create(self.pool.take(class), class, call, below) };
        match found {
            Some(record) => record.place(version, call.position),
            None => {
                let record = table.index.insert(slot.key(&call.footprint), version, guard);
                self.pool.made += record.memory() as isize;
            }
        }
        slot.refer(below, Some(version));
        self.placed += 1;
    }

    /// Frees what nobody reads any more, before a batch is planned.
    fn collect(&mut self, now: u64) {
        let low = self.shared.pipeline.low_water();
        self.foresight.forget(&self.shared, low);
        // After the mark (C1).
        self.boundary = self.shared.checkpoints.boundary();
        while let Some((left, record)) = self.removed.front().copied()
            && left <= low
        {
            self.removed.pop_front();
            let guard = epoch::pin();
            // SAFETY: B9: every thread that found the record has left; who looks it up meanwhile is pinned.
            unsafe {
                self.pool.give_back(record.newest());
                self.pool.made -= record.memory() as isize;
                record.free_later(&guard);
            }
        }
        while self.planned.front().is_some_and(|batch| batch.number <= low) {
            let batch = self.planned.pop_front().expect("it is there");
            self.collect_batch(&batch, now);
        }
        self.shared.checkpoints.take(self.number, &mut self.handed_over, low);
        self.drain_dropped(low, now);
        let garbage = self.placed + (self.removed.len() + self.draining.len()) as u64;
        self.shared.counts.garbage[usize::from(self.number)].store(garbage, Relaxed);
    }

    /// Frees the versions that a batch has replaced, below which nobody reads any more.
    fn collect_batch(&mut self, batch: &Batch, now: u64) {
        let number = self.number;
        let mut ahead = batch.calls_of(number).skip(COLLECTED_AHEAD);
        for call in batch.calls_of(number) {
            if let Some(later) = ahead.next() {
                later.placed_by(number).filter_map(Slot::below).for_each(VersionRef::prefetch_head);
            }
            for slot in call.placed_by(number) {
                self.collect_below(call, slot, now);
            }
        }
    }

    /// Frees the version below one, and takes the record out if nothing is left of it.
    #[inline]
    fn collect_below(&mut self, call: &Call, slot: &Slot, now: u64) {
        assert!(slot.draft() != Content::Empty, "B8: below the low-water mark every version has its row");
        self.placed -= 1;
        if let Some(below) = slot.below() {
            assert!(below.begin() < call.position, "B4: a read returns a version that begins below its position");
            self.hand_over(call, slot, below);
            // SAFETY: B8: whoever reads now finds the version on top of it, or a later one, first.
            unsafe { self.pool.give_back(below) };
        }
        if slot.draft() == Content::Absent {
            self.remove_if_absent(call, slot, now);
        }
    }

    /// Hands the row of a version that is about to be freed over to the checkpoint that is being written, if that shows it.
    #[inline]
    fn hand_over(&mut self, call: &Call, slot: &Slot, below: VersionRef) {
        if self.handed_over.shows(self.boundary, below, call.position) {
            self.handed_over.hand_over(slot.table, slot.key(&call.footprint), below);
        }
    }

    /// Takes the record of a key out of its index, if its newest version is one that a call has placed, without a row.
    #[cold]
    fn remove_if_absent(&mut self, call: &Call, slot: &Slot, now: u64) {
        let table = self.shared.tables.get(slot.table).expect("a table stays in its place");
        let guard = epoch::pin();
        let record = table.index.get(slot.key(&call.footprint), &guard);
        let record = record.expect("B9: a record is in its index until its planner takes it out");
        if record.newest() == slot.placeholder() {
            table.index.remove(record, &guard);
            self.removed.push_back((now, record));
        }
    }

    /// Takes the own records of dropped tables out of their indexes, once nobody reads before the drop: the other planners take
    /// theirs.
    fn drain_dropped(&mut self, low: u64, now: u64) {
        let tables = &self.shared.tables;
        let drops = tables.drops();
        if drops != self.drops_seen {
            let known = |id| self.draining.iter().any(|(draining, _)| *draining == id);
            let dropped = tables.all().filter(|table| table.is_dropped() && !known(table.id));
            let new: Vec<_> = dropped.map(|table| (table.id, table.index.walk())).collect();
            self.draining.extend(new);
            self.drops_seen = drops;
        }
        // A checkpoint shows what was dropped behind its boundary.
        let shown = if self.boundary == 0 { low } else { low.min(self.boundary) };
        let (number, planners) = (self.number, self.shared.options.planners);
        let mut records = Vec::new();
        let removed = &mut self.removed;
        self.draining.retain_mut(|(id, walk)| {
            let table = tables.get(*id).expect("a table stays in its place");
            if table.was_dropped_after(shown) {
                return true;
            }
            let mut taken = 0;
            while taken < DRAINED_AT_ONCE {
                records.clear();
                let has_more = table.index.walk_on(walk, &mut records);
                let is_own = |record: &RecordRef| planner_of(*id, Entry::key(&**record), planners) == number;
                for record in records.drain(..).filter(is_own) {
                    table.index.remove(record, &epoch::pin());
                    removed.push_back((now, record));
                    taken += 1;
                }
                if !has_more {
                    return false;
                }
            }
            true
        });
    }

    /// Ends the lives of the versions that were replaced, and of the records that have left their index. The engine has
    /// ended: nobody else has them.
    pub fn dispose(&mut self) {
        let number = self.number;
        for batch in self.planned.drain(..) {
            let placed = batch.calls_of(number).flat_map(|call| call.placed_by(number));
            for below in placed.filter_map(Slot::below) {
                // SAFETY: as this method says.
                unsafe { self.pool.give_back(below) };
            }
        }
        for (_, record) in self.removed.drain(..) {
            // SAFETY: as this method says.
            unsafe {
                self.pool.give_back(record.newest());
                record.free();
            }
        }
    }
}

impl<'b> Step<'b> {
    /// Asks for the bucket.
    #[inline]
    fn begin(shared: &'b Shared, call: &'b Call, slot: &'b Slot) -> Step<'b> {
        let table = shared.tables.get(slot.table).expect("a footprint was checked when it came in");
        let hash = slot.with_key(&call.footprint, |key| table.index.begin_lookup(key));
        Step { call, slot, table, hash }
    }

    /// Asks for the record.
    #[inline]
    fn go_on(&self) {
        self.table.index.prefetch_record(self.hash);
    }
}

/// Brings the records of some keys of a call near that ordered tables have.
fn fetch_ordered(shared: &Shared, call: &Call, slots: &[Slot]) {
    for slots in slots.chunk_by(|a, b| a.table == b.table) {
        let Some(table) = shared.tables.get(slots[0].table).filter(|table| table.index.is_ordered()) else {
            continue;
        };
        let guard = epoch::pin();
        for slots in slots.chunks(SIDE_BY_SIDE) {
            let keys: SmallVec<[&[u8]; SIDE_BY_SIDE]> = slots.iter().map(|slot| slot.key(&call.footprint)).collect();
            table.index.prefetch_ordered(&keys, &guard);
        }
    }
}

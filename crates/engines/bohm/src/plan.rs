//! Planning: placeholders for every declared write, references for every declared read, and collection of what nobody
//! reads any more.
//!
//! A key has one planner, so planners never wait for each other but at the barrier of a batch.

use crate::Shared;
use crate::call::{Call, Slot};
use crate::checkpoint::HandedOver;
use crate::intake::Taken;
use crate::pipeline::Batch;
use crate::pool::Pool;
use crate::record::RecordRef;
use crate::store::{Near, Table, planner_of};
use crate::version::{Content, VersionRef, class_of};
use model::FootprintEntry;
use parts::epoch::{self, Guard};
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::index::{Entry, Walk};
use parts::sync::atomic::Ordering::Relaxed;
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls ahead of the one that is planned, whose records are fetched.
const RECORDS_AHEAD: usize = 4;
/// Calls ahead whose newest versions are fetched: the records are there by then.
const VERSIONS_AHEAD: usize = 2;

/// Records of a dropped table that are taken out before a batch, at least.
const DRAINED_AT_ONCE: usize = 8192;

/// One planner. Planner 0 is the sequencer too: it seals the batches.
pub(crate) struct Planner {
    shared: Arc<Shared>,
    number: u8,
    pub pool: Pool,
    /// Versions that were placed, oldest first: each says what it has replaced.
    placed: VecDeque<Placed>,
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
    /// Memory for a record of the log.
    record: Vec<u8>,
    last: u64,
}

/// A version that was placed on a record.
struct Placed {
    version: VersionRef,
    record: RecordRef,
    table: model::TableId,
}

// SAFETY: what it refers to is owned by the engine, and its planner moves to its thread with all of it.
unsafe impl Send for Placed {}

impl Planner {
    pub fn new(shared: Arc<Shared>, number: u8) -> Planner {
        let last = shared.pipeline.last_sealed();
        Planner {
            shared,
            number,
            pool: Pool::new(),
            placed: VecDeque::new(),
            removed: VecDeque::new(),
            handed_over: HandedOver::default(),
            boundary: 0,
            drops_seen: 0,
            draining: Vec::new(),
            backlog: VecDeque::new(),
            record: Vec::new(),
            last,
        }
    }

    /// Plans batches until the engine is closed. Returns itself: its pool has the memory of the versions.
    pub fn run(mut self) -> Planner {
        while let Some(batch) = self.next_batch() {
            self.last = batch.number;
            self.collect(batch.number);
            self.plan(&batch);
            self.shared.pipeline.pass_barrier(&batch);
        }
        self
    }

    fn next_batch(&mut self) -> Option<Arc<Batch>> {
        if self.number > 0 {
            return self.shared.pipeline.wait_sealed(self.last + 1);
        }
        loop {
            match self.shared.intake.take(self.backlog.is_empty()) {
                Taken::Calls { again, calls } => {
                    again.into_iter().rev().for_each(|call| self.backlog.push_front(call));
                    self.backlog.extend(calls);
                    let most = self.backlog.len().min(self.shared.options.batch);
                    let calls = self.backlog.drain(..most).collect();
                    return Some(self.shared.seal(calls, &mut self.record));
                }
                Taken::Closed => {
                    // What is executed still may come again.
                    let sealed = self.shared.pipeline.last_sealed();
                    self.shared.pipeline.wait_complete(sealed);
                    if self.shared.intake.is_empty() {
                        self.shared.pipeline.close();
                        return None;
                    }
                }
            }
        }
    }

    fn plan(&mut self, batch: &Batch) {
        let shared = self.shared.clone();
        for (at, call) in batch.calls.iter().enumerate() {
            let guard = epoch::pin();
            if let Some(later) = batch.calls.get(at + RECORDS_AHEAD) {
                fetch(&shared, later, &guard, Near::Record);
            }
            if let Some(later) = batch.calls.get(at + VERSIONS_AHEAD) {
                fetch(&shared, later, &guard, Near::Version);
            }
            let number = self.number;
            for slot in call.slots.iter().filter(|slot| slot.planner == number) {
                let table = shared.tables.get(slot.table).expect("a footprint was checked when it came in");
                if slot.actions.write() {
                    self.place(table, call, slot, &guard);
                } else {
                    let record = table.index.get(slot.key(&call.footprint), &guard);
                    slot.set_version(record.map(|record| record.newest()));
                }
            }
        }
    }

    /// Places a placeholder on a key's record (B2).
    fn place(&mut self, table: &Table, call: &Call, slot: &Slot, guard: &Guard) {
        let key = slot.key(&call.footprint);
        let found = table.index.get(key, guard);
        let previous = found.map(|record| record.newest());
        let class = class_of(table.row_bytes.load(Relaxed) as usize);
        // SAFETY: the pool gives memory of the class, and gives it once.
        let version = unsafe { VersionRef::create(self.pool.take(class), class, call, previous) };
        if let Some(previous) = previous {
            assert!(previous.begin() < call.position, "B2: placeholders of a key are placed in the order of positions");
            previous.replace_at(call.position);
        }
        let record = match found {
            Some(record) => {
                record.place(version);
                record
            }
            None => table.index.insert(key, version, guard),
        };
        slot.set_version(Some(version));
        self.placed.push_back(Placed { version, record, table: table.id });
    }

    /// Frees what nobody reads any more, before a batch is planned.
    fn collect(&mut self, now: u64) {
        let low = self.shared.pipeline.low_water();
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
                record.free_later(&guard);
            }
        }
        while self.placed.front().is_some_and(|placed| placed.version.begin().batch() <= low) {
            let placed = self.placed.pop_front().expect("it is there");
            self.collect_below(&placed, now);
        }
        self.shared.checkpoints.take(self.number, &mut self.handed_over, low);
        self.drain_dropped(low, now);
        let garbage = (self.placed.len() + self.removed.len() + self.draining.len()) as u64;
        self.shared.counts.garbage[usize::from(self.number)].store(garbage, Relaxed);
    }

    /// Frees the version below one whose batch nobody reads below any more, and takes the record out if nothing is left
    /// of it.
    fn collect_below(&mut self, placed: &Placed, now: u64) {
        let Placed { version, record, table } = *placed;
        assert!(version.content() != Content::Empty, "B8: below the low-water mark every version has its row");
        if let Some(previous) = version.cut() {
            assert!(previous.end() == version.begin(), "B4: a version ends where the next one begins");
            self.handed_over.hand_over(self.boundary, table, record, previous, version);
            // SAFETY: B8: whoever reads now finds `version`, or a later one, first.
            unsafe { self.pool.give_back(previous) };
        }
        if version.content() == Content::Absent && record.newest() == version {
            let table = self.shared.tables.get(table).expect("a table stays in its place");
            table.index.remove(record, &epoch::pin());
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

    /// Ends the lives of the records that have left their index. The engine has ended: nobody else has them.
    pub fn dispose(&mut self) {
        for (_, record) in self.removed.drain(..) {
            // SAFETY: as this method says.
            unsafe {
                self.pool.give_back(record.newest());
                record.free();
            }
        }
    }
}

/// Brings the records of a call near, or their newest versions.
fn fetch(shared: &Shared, call: &Call, guard: &Guard, near: Near) {
    let same_table = |a: &FootprintEntry, b: &FootprintEntry| a.table == b.table;
    for entries in call.footprint.keys().chunk_by(same_table) {
        let Some(table) = shared.tables.get(entries[0].table) else { continue };
        entries.chunks(SIDE_BY_SIDE).for_each(|entries| table.index.prefetch(entries, guard, near));
    }
}

//! Planning: placeholders for every declared write, references for every declared read, and collection of what nobody
//! reads any more.
//!
//! A key has one planner, so planners never wait for each other but at the barrier of a batch.

use crate::Shared;
use crate::call::{Call, Slot};
use crate::intake::Taken;
use crate::pipeline::Batch;
use crate::pool::Pool;
use crate::record::RecordRef;
use crate::store::{Near, Table};
use crate::version::{Content, VersionRef, class_of};
use model::FootprintEntry;
use parts::epoch::{self, Guard};
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::sync::atomic::Ordering::Relaxed;
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls ahead of the one that is planned, whose records are fetched.
const RECORDS_AHEAD: usize = 4;
/// Calls ahead whose newest versions are fetched: the records are there by then.
const VERSIONS_AHEAD: usize = 2;

/// One planner. Planner 0 is the sequencer too: it seals the batches.
pub(crate) struct Planner {
    shared: Arc<Shared>,
    number: u8,
    pub pool: Pool,
    /// Versions that were placed, oldest first: each says what it has replaced.
    placed: VecDeque<Placed>,
    /// Records that have left their index, with the batch that was to be planned then.
    removed: VecDeque<(u64, RecordRef)>,
    /// Submitted calls that did not fit into the last batch.
    backlog: VecDeque<Call>,
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
        Planner {
            shared,
            number,
            pool: Pool::new(),
            placed: VecDeque::new(),
            removed: VecDeque::new(),
            backlog: VecDeque::new(),
            last: 0,
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
                    return Some(self.shared.pipeline.seal(self.backlog.drain(..most).collect()));
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
        let garbage = (self.placed.len() + self.removed.len()) as u64;
        self.shared.counts.garbage[usize::from(self.number)].store(garbage, Relaxed);
    }

    /// Frees the version below one whose batch nobody reads below any more, and takes the record out if nothing is left
    /// of it.
    fn collect_below(&mut self, placed: &Placed, now: u64) {
        let Placed { version, record, table } = *placed;
        assert!(version.content() != Content::Empty, "B8: below the low-water mark every version has its row");
        if let Some(previous) = version.cut() {
            assert!(previous.end() == version.begin(), "B4: a version ends where the next one begins");
            // SAFETY: B8: whoever reads now finds `version`, or a later one, first.
            unsafe { self.pool.give_back(previous) };
        }
        if version.content() == Content::Absent && record.newest() == version {
            let table = self.shared.tables.get(table).expect("a table is never dropped");
            table.index.remove(record, &epoch::pin());
            self.removed.push_back((now, record));
        }
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

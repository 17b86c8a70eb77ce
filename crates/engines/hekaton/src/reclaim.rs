//! Reclamation by the makers of garbage: a transaction leaves the versions that it has replaced or taken back, and the records that have
//! no row any more, in lists of its slot, and those that end there later free them when no open transaction can need them.

use crate::Hekaton;
use crate::record::{RecordRef, VersionRef};
use crate::slots::Slots;
use crate::store::{Table, TableRef};
use crate::words::NEVER;
use crate::worker::Worker;
use parts::epoch;
use parts::sync::atomic::Ordering::SeqCst;
use parts::sync::fence;
use std::collections::VecDeque;
use std::sync::Arc;

/// What one transaction frees at its end, beside twice as much as it has left: so the lists end.
const AT_ONCE: usize = 4;
/// A slot computes the horizon once in so many transactions. A power of two.
const LOOKS_AT_OTHERS: u64 = 32;
/// The same for tables that were dropped.
const LOOKS_AT_TABLES: u64 = 1024;

/// Something that a transaction has left.
pub(crate) enum Garbage {
    /// A version that was replaced at a timestamp; without one, that was taken back.
    Version(VersionRef, Option<u64>),
    /// A record whose newest version is no row since a timestamp; without one, that lost its only version.
    Record(RecordRef, Arc<Table>, Option<u64>),
}

impl std::fmt::Debug for Garbage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Garbage::Version(..) => "a version",
            Garbage::Record(..) => "a record",
        })
    }
}

impl Garbage {
    /// Notes a record, unless a list has it (K8).
    pub fn look_after(made: &mut Vec<Garbage>, record: RecordRef, table: TableRef, since: Option<u64>) {
        if record.enter_queue() {
            made.push(Garbage::Record(record, table.counted(), since));
        }
    }
}

/// What the transactions of one slot have left, each with the timestamp above which all open transactions must have begun.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    versions: VecDeque<(u64, VersionRef)>,
    records: VecDeque<(u64, RecordRef, Arc<Table>)>,
    /// Records that are out of their index.
    dead: VecDeque<(u64, RecordRef)>,
}

impl Hekaton {
    /// Takes over what a worker's transaction has left, and frees more than that.
    pub(super) fn tend(&self, worker: &mut Worker) {
        let slot = self.slots.slot(worker.id);
        let mut lists = slot.lists();
        if worker.garbage.is_empty() && lists.len() == 0 {
            return;
        }
        let most = 2 * worker.garbage.len() + AT_ONCE;
        let now = self.slots.now();
        worker.garbage.drain(..).for_each(|garbage| lists.take(garbage, now));
        let is_due = worker.id.count().is_multiple_of(LOOKS_AT_OTHERS);
        let horizon = if is_due { self.slots.find_horizon() } else { self.slots.horizon() };
        lists.reclaim(&self.slots, horizon, most);
        drop(lists);
        if worker.id.count().is_multiple_of(LOOKS_AT_TABLES) {
            self.free_tables();
        }
    }

    /// Frees what no open transaction can see any more. Returns how much it looked at.
    pub fn collect(&self) -> usize {
        let mut done = 0;
        // A record is looked at, then freed: each at a horizon of its own.
        for _ in 0..2 {
            self.slots.draw();
            let horizon = self.slots.find_horizon();
            self.slots.each().for_each(|slot| done += slot.lists().reclaim(&self.slots, horizon, usize::MAX));
        }
        self.free_tables();
        done
    }
}

impl Lists {
    /// Returns how much waits.
    pub fn len(&self) -> usize {
        self.versions.len() + self.records.len() + self.dead.len()
    }

    /// Returns the number of versions that wait.
    pub fn versions(&self) -> usize {
        self.versions.len()
    }

    fn take(&mut self, garbage: Garbage, now: u64) {
        match garbage {
            Garbage::Version(version, replaced) => self.versions.push_back((replaced.unwrap_or(now), version)),
            Garbage::Record(record, table, since) => self.records.push_back((since.unwrap_or(now), record, table)),
        }
    }

    /// Looks at a few of those that are due. Returns at how many.
    fn reclaim(&mut self, slots: &Slots, horizon: u64, most: usize) -> usize {
        let mut done = 0;
        while done < most && self.versions.front().is_some_and(|(at, _)| *at < horizon) {
            let (_, version) = self.versions.pop_front().expect("just seen");
            done += 1;
            // SAFETY: it was replaced or taken back at or before a timestamp at which every open transaction has begun since (K7).
            unsafe { version.free() };
        }
        while done < most && self.records.front().is_some_and(|(at, ..)| *at < horizon) {
            let (_, record, table) = self.records.pop_front().expect("just seen");
            done += 1;
            self.look_at(slots, horizon, (record, table));
        }
        while done < most && self.dead.front().is_some_and(|(at, _)| *at < horizon) {
            let (_, record) = self.dead.pop_front().expect("just seen");
            done += 1;
            // SAFETY: `look_at` took it out of its index, and every transaction that began before that has ended (K7).
            unsafe { record.free_later(&epoch::pin()) };
        }
        done
    }

    /// Takes a record out of its index if it has had no row since before the horizon.
    fn look_at(&mut self, slots: &Slots, horizon: u64, (record, table): (RecordRef, Arc<Table>)) {
        if table.is_dropped() {
            return; // Its records are freed with it.
        }
        let mut latched = record.latch().expect("K8: the list that has a record takes it out");
        // Whoever leaves it without a row from here on takes it on.
        record.leave_queue();
        let newest = latched.newest();
        // A word with an id is greater than any timestamp.
        let since = newest.map_or(0, VersionRef::begin_word);
        let has_row = newest.is_some_and(|version| version.row().is_some());
        if has_row || since > NEVER || !record.enter_queue() {
            return;
        }
        if since >= horizon {
            drop(latched);
            self.records.push_back((since, record, table));
            return;
        }
        table.index.remove(record, &epoch::pin());
        latched.kill();
        drop(latched);
        // Whoever begins at a later timestamp than this sees that it is gone (K7).
        fence(SeqCst);
        let now = slots.now();
        newest.inspect(|version| self.versions.push_back((now, *version)));
        self.dead.push_back((now, record));
    }
}

impl Drop for Hekaton {
    fn drop(&mut self) {
        for slot in self.slots.each() {
            let mut lists = slot.lists();
            // SAFETY: nobody has a transaction any more, so nobody finds what is out of its chain or index (K7).
            lists.versions.drain(..).for_each(|(_, version)| unsafe { version.free() });
            // SAFETY: as above; a dead record has no version.
            lists.dead.drain(..).for_each(|(_, record)| unsafe { record.free(false) });
            lists.records.clear();
        }
    }
}

//! Commit: lock what was written, take the epoch, validate what was read, install. And its failure.
//!
//! ```text
//! place     records for keys that have none, absent            own changes of leaves are followed (S5)
//! lock      the records that are written, by address (S2)
//! ----      take the epoch: THE PLACE IN THE SERIAL ORDER (S3)
//! validate  every record that was read has its word still, every leaf its count
//! install   kept versions, rows, words with the new TID (S1, S4), which unlock
//! ```

use crate::begin::{Conflict, Transaction};
use crate::reclaim::look_after;
use crate::tid::{Tid, Word};
use crate::worker::{LeafRead, Place, Read, Worker, count, follow};
use crate::write_set::{Value, Write};
use crate::{Reason, Silo};
use model::{Committed, LogPosition, SerialPoint, Target, Timestamp};
use parts::epoch;
use parts::index::LeafChange;
use parts::sync::atomic::Ordering::SeqCst;
use parts::sync::fence;
use std::ops::{Bound, Deref};

impl<H: Deref<Target = Silo>> Transaction<H> {
    /// Commits.
    ///
    /// # Errors
    /// The abort that poisoned the transaction, or a conflict.
    pub(super) fn finish(mut self) -> model::Result<Committed> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        let mut worker = self.worker.take().expect("open: it would be poisoned");
        let decided = match self.snapshot {
            Some(epoch) => Ok(self.engine.options.claims.then(|| self.engine.epochs.draw_snapshot(epoch))),
            None => self.engine.commit(&mut worker),
        };
        match decided {
            Ok(place) => {
                count(if self.snapshot.is_some() { &worker.counts.snapshots } else { &worker.counts.committed });
                self.engine.end(worker);
                let serial_point = place.map(|tid| SerialPoint(tid.number()));
                Ok(Committed { serial_point, log_position: LogPosition::ZERO })
            }
            Err(conflict) => {
                self.worker = Some(worker);
                Err(self.fail(*conflict))
            }
        }
    }

    /// Looks whether everything that was read still holds at one moment.
    ///
    /// # Errors
    /// The conflict; the transaction is aborted.
    pub(super) fn check_reads(&mut self) -> model::Result<()> {
        let worker = self.worker.as_ref().expect("a statement begins by looking whether the transaction is open");
        fence(SeqCst);
        validate(worker, false).map_err(|conflict| self.fail(*conflict))
    }
}

impl Silo {
    /// Commits what a worker holds. Returns its place in the serial order, if places are claimed.
    fn commit(&self, worker: &mut Worker) -> Result<Option<Tid>, Box<Conflict>> {
        worker.locked.clear();
        let changes = worker.writes.entries.iter().enumerate().filter(|(_, write)| write.value != Value::Unchanged);
        worker.locked.extend(changes.map(|(at, _)| at as u32));
        if worker.locked.is_empty() {
            let place = self.options.claims.then(|| self.draw());
            fence(SeqCst);
            return validate(worker, false).map(|()| place);
        }
        loop {
            place(worker);
            if lock(worker) {
                break;
            }
        }
        worker.slot.begin_commit(&self.epochs);
        let tid = if self.options.claims { self.draw() } else { self.next_tid(worker) };
        let validated = validate(worker, true);
        match &validated {
            Ok(()) => self.install(worker, tid),
            Err(_) => self.release(worker),
        }
        worker.slot.end_commit();
        validated.map(|()| self.options.claims.then_some(tid))
    }

    /// The TID of a worker's transaction, all of whose locks are held (S3, S4).
    fn next_tid(&self, worker: &Worker) -> Tid {
        loop {
            let epoch = self.epochs.now();
            match worker.last.max(worker.seen).next_in(epoch) {
                Some(tid) => return tid,
                None => self.epochs.advance(),
            }
        }
    }

    /// The same where places are claimed: the next of all.
    fn draw(&self) -> Tid {
        loop {
            match self.epochs.draw() {
                Some(tid) => return tid,
                None => self.epochs.advance(),
            }
        }
    }

    /// Replaces what the transaction has written, record by record, and unlocks.
    fn install(&self, worker: &mut Worker, tid: Tid) {
        assert!(tid > worker.seen && tid > worker.last, "S4: a TID is above all that its transaction has seen");
        worker.last = tid;
        let guard = epoch::pin();
        let Worker { locked, writes, garbage, .. } = worker;
        let oldest = self.epochs.oldest();
        for &at in locked.iter() {
            let Write { record, before, table, .. } = writes.entries[at as usize];
            let record = record.expect("it is locked");
            let is_new = before.is_absent() && record.has_no_versions();
            if !is_new && self.epochs.must_keep(before.tid().epoch(), tid.epoch()) {
                record.preserve(before, tid.epoch());
            }
            if !record.has_no_versions() {
                record.prune(oldest, &guard);
            }
            let row = writes.value(at as usize).expect("only changes are locked");
            row.inspect(|row| record.install(row, &guard));
            if row.is_none() || !record.has_no_versions() {
                look_after(garbage, record, table, tid.epoch());
            }
            record.word.unlock_as(Word::new(tid, row.is_none()));
        }
    }

    /// Unlocks, and leaves the records that were made to be taken out again.
    fn release(&self, worker: &mut Worker) {
        unlock(worker, worker.locked.len());
        let Worker { writes, garbage, .. } = worker;
        for write in writes.entries.iter().filter(|write| write.is_made) {
            look_after(garbage, write.record.expect("it was made"), write.table, 0);
        }
    }
}

/// Finds or makes a record for each written key.
fn place(worker: &mut Worker) {
    let Worker { writes, leaves, reads, locked, .. } = worker;
    for &at in locked.iter() {
        if writes.entries[at as usize].record.is_none() {
            let bytes = writes.value(at as usize).flatten().map_or(0, <[u8]>::len);
            let write = &mut writes.entries[at as usize];
            let table = write.table;
            let mut was_read = false;
            let changed = |change: LeafChange<'_>| was_read |= follow(leaves, table, &change);
            let (record, is_made) = table.index.get_or_insert(&write.key, bytes, changed);
            (write.record, write.is_made) = (Some(record), is_made);
            if was_read {
                // Until it is locked, another transaction may fill it, which no count tells (S5).
                reads.push(Read { record, word: Word::new(Tid::ZERO, true), table: table.id });
            }
        }
    }
}

/// Locks the written records in the order of their addresses. False if one has left its index: then none is locked, and
/// its key is looked up again.
fn lock(worker: &mut Worker) -> bool {
    let Worker { writes, locked, .. } = &mut *worker;
    let record = |at: &u32| writes.entries[*at as usize].record;
    locked.sort_unstable_by_key(record);
    assert!(
        locked.is_sorted_by(|a, b| record(a) < record(b)),
        "S2: records are locked in the order of their addresses"
    );
    for count in 0..worker.locked.len() {
        let write = &mut worker.writes.entries[worker.locked[count] as usize];
        let record = write.record.expect("placed");
        let word = record.word.lock();
        if word.is_dead() {
            record.word.unlock_as(word);
            (write.record, write.is_made) = (None, false);
            unlock(worker, count);
            return false;
        }
        write.before = word;
        worker.seen = worker.seen.max(word.tid());
    }
    true
}

/// Gives the first locks back.
fn unlock(worker: &Worker, count: usize) {
    for at in &worker.locked[..count] {
        let write = &worker.writes.entries[*at as usize];
        write.record.expect("it is locked").word.unlock_as(write.before);
    }
}

/// Looks whether every record that was read has its word still, and every leaf its count. `holds_locks`: the
/// transaction has locked what it writes, which it may have read too.
fn validate(worker: &Worker, holds_locks: bool) -> Result<(), Box<Conflict>> {
    let Worker { reads, leaves, writes, locked, .. } = worker;
    for read in reads {
        let is_mine = || {
            let record = |at: &u32| writes.entries[*at as usize].record;
            holds_locks && locked.binary_search_by_key(&Some(read.record), record).is_ok()
        };
        if let Err(now) = read.record.word.validate(read.word, is_mine) {
            let is_changed = now.tid() != read.word.tid();
            let reason = if is_changed { Reason::ReadChanged } else { Reason::ReadLocked };
            let other = is_changed.then(|| Timestamp(now.tid().number()));
            return Err(Box::new(Conflict::of_record(reason, read.table, read.record, other)));
        }
    }
    if leaves.is_empty() {
        return Ok(());
    }
    let guard = epoch::pin();
    let changed = leaves.iter().find(|leaf| leaf.table.index.count_of(leaf.place.key(), &guard) != leaf.count);
    let Some(LeafRead { table, place, .. }) = changed else { return Ok(()) };
    let target = match place {
        Place::Key(key) => Target::Gap(key.clone()),
        Place::From(low) => Target::Range(low.clone().map_or(Bound::Unbounded, Bound::Included), Bound::Unbounded),
    };
    Err(Box::new(Conflict { reason: Reason::LeafChanged, table: table.id, target, other: None }))
}

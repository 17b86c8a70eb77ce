//! Commit: draw the end timestamp, look whether everything that was read is the same at that timestamp, wait for those on whose commit
//! the transaction has speculated, decide, and leave timestamps in the versions. And its failure.
//!
//! ```text
//! prepare    THE END TIMESTAMP IS THE PLACE IN THE SERIAL ORDER (K1); from here on others may speculate on the commit
//! validate   versions that were read, keys that were absent, ranges that were scanned (K4)
//! settle     those on whom the transaction has speculated have committed (K5)
//! decide     all versions are there for all, at once
//! finish     ids in versions become timestamps (K6)
//! ```
//!
//! A transaction that has written nothing is done at its begin timestamp: what it has read was the state at that moment. Snapshot
//! isolation leaves the validation out.

use crate::begin::{Conflict, Seen, Transaction};
use crate::reclaim::Garbage;
use crate::record::{RecordRef, VersionRef};
use crate::slots::{Meaning, count};
use crate::store::TableRef;
use crate::words::{Id, NEVER, Phase};
use crate::worker::{Range, Read, Worker, Write};
use crate::{Hekaton, Reason};
use model::{Committed, Direction, Key, LogPosition, SerialPoint, Target};
use parts::index::Entry;
use parts::index::ordered::Cursor;
use parts::sync::atomic::Ordering::Release;
use std::ops::Deref;

impl<H: Deref<Target = Hekaton>> Transaction<H> {
    /// Commits.
    ///
    /// # Errors
    /// The abort that poisoned the transaction, or a conflict.
    pub(super) fn finish(mut self) -> model::Result<Committed> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        self.ensure_begun();
        let place = if self.worker().writes.is_empty() {
            self.check_speculation()?;
            self.begin
        } else {
            self.commit_writes()?
        };
        let worker = self.worker.take().expect("open: nothing above has ended it");
        count(&self.engine.slots.slot(worker.id).counts.committed, 1);
        self.engine.end(worker);
        // Under snapshot isolation no order of the transactions explains what they have read.
        let serial_point = self.engine.options.validates.then_some(SerialPoint(place));
        Ok(Committed { serial_point, log_position: LogPosition::ZERO })
    }

    /// Commits a transaction that has written. Returns its end timestamp.
    fn commit_writes(&mut self) -> model::Result<u64> {
        let me = self.worker().id;
        let end = self.engine.slots.prepare(me);
        let worker = self.worker.as_ref().expect("just used");
        if let Err(conflict) = self.engine.validate(worker, self.begin, end) {
            return Err(self.fail(*conflict));
        }
        self.check_speculation()?;
        self.engine.slots.decide(me, Phase::Committed(end));
        let worker = self.worker.as_mut().expect("just used");
        self.engine.leave_timestamps(worker, end);
        Ok(end)
    }
}

impl Hekaton {
    /// Looks whether what a transaction has read as of its begin is what it would read as of its end.
    fn validate(&self, worker: &Worker, begin: u64, end: u64) -> Result<(), Box<Conflict>> {
        let me = worker.id;
        for read in &worker.reads {
            self.check_version(read, end, me)?;
        }
        for (table, key) in &worker.absent {
            let record = table.index.get(key);
            record.map_or(Ok(()), |record| self.check_arrival((*table, record), (begin, end), me))?;
        }
        worker.ranges.iter().try_for_each(|range| self.check_range(range, (begin, end), me))
    }

    /// Fails if somebody has replaced a version before the end timestamp.
    fn check_version(&self, read: &Read, end: u64, me: Id) -> Result<(), Box<Conflict>> {
        let other = match self.slots.read(&read.version.end, me) {
            Meaning::Mine | Meaning::Open(_) => return Ok(()),
            Meaning::At(until) | Meaning::Perhaps(_, until) if until > end => return Ok(()),
            Meaning::At(until) => until,
            Meaning::Perhaps(other, _) => self.slots.begin_of(other),
        };
        let target = Target::Key(Key::from_bytes(read.record.key()));
        let (reason, table) = (Reason::ReadChanged, Some(read.table.id));
        Err(Box::new(Conflict { reason, table, target, other: Some(other) }))
    }

    /// Fails if a record has a version at the end timestamp that came after the begin timestamp, from another transaction.
    fn check_arrival(
        &self,
        (table, record): (TableRef, RecordRef),
        (begin, end): (u64, u64),
        me: Id,
    ) -> Result<(), Box<Conflict>> {
        let other = match self.seen(record.newest(), end, me) {
            Seen::Mine(_) | Seen::Nothing => return Ok(()),
            Seen::Committed(_, at) if at <= begin => return Ok(()),
            Seen::Committed(_, at) => at,
            // At the begin it was taken as committed, too.
            Seen::Perhaps(_, _, at) if at <= begin => return Ok(()),
            Seen::Perhaps(_, other, _) => self.slots.begin_of(other),
        };
        let target = Target::Gap(Key::from_bytes(record.key()));
        Err(Box::new(Conflict { reason: Reason::Phantom, table: Some(table.id), target, other: Some(other) }))
    }

    /// Scans a range again, and fails if anything in it has come, gone or changed.
    fn check_range(&self, range: &Range, moments: (u64, u64), me: Id) -> Result<(), Box<Conflict>> {
        let (lower, upper) = (range.lower.as_ref().map(|key| &key[..]), range.upper.as_ref().map(|key| &key[..]));
        let mut cursor = Cursor::new(lower, upper, Direction::Forward);
        let mut batch = Vec::new();
        loop {
            batch.clear();
            let more = range.table.index.scan_leaf(&mut cursor, usize::MAX, &mut batch);
            batch.iter().try_for_each(|record| self.check_arrival((range.table, *record), moments, me))?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Puts the end timestamp where a transaction's id stands in versions, and leaves what was replaced to be freed.
    fn leave_timestamps(&self, worker: &mut Worker, end: u64) {
        let Worker { writes, garbage, id, .. } = worker;
        let mut replaced = 0;
        for &Write { table, record, version, .. } in writes.iter() {
            if version.begin_word() != id.word() {
                garbage.push(Garbage::Version(version, None)); // A later one of its own took its place.
                continue;
            }
            version.begin.store(end, Release);
            if let Some(previous) = version.previous {
                replaced += 1;
                self.replace(previous, (end, *id), garbage);
            }
            if self.options.collects && version.row().is_none() {
                Garbage::look_after(garbage, record, table, Some(end));
            }
        }
        count(&self.slots.slot(*id).counts.replaced, replaced);
    }

    fn replace(&self, previous: VersionRef, (end, me): (u64, Id), garbage: &mut Vec<Garbage>) {
        // Its maker may have committed just now, and not left the timestamp yet.
        let begin = self.slots.read(&previous.begin, me);
        assert!(matches!(begin, Meaning::At(begin) if begin < end), "K2: versions of a chain have rising timestamps");
        previous.end.store(end, Release);
        if self.options.collects {
            garbage.push(Garbage::Version(previous, Some(end)));
        }
    }
}

const _: () = assert!(NEVER < 1 << 61, "a timestamp has room beside a phase");

//! The log: records before versions become visible, positions for answers to wait for, a ceiling above all timestamps.
//!
//! A record is appended when its transaction is validated and before it is published. Whoever reads a version, or writes over it,
//! has seen it published, and is logged after it: so recovery, which yields a prefix of the log, yields a state that holds together
//! (design, rule 3). A committed version stays in its row's chain until its record is durable; so a row without a chain is durable,
//! and a reader learns from the chain what its answer rests on (Y10).

use crate::begin::{Core, Transaction};
use crate::redo;
use crate::wait::Watched;
use crate::writer::Commit;
use crate::{Hyper, Reason};
use model::{Durability, Error, Fault, LogPosition, Result, Supervisor, Timestamp};
use parts::sync::atomic::Ordering::{Acquire, Release};
use std::cell::OnceCell;
use std::ops::Deref;
use std::time::Duration;
use wal::{CallersWaitLimit, LargeRecord, LargeRoom, Log, LogError};

/// Timestamps that one durable ceiling covers. Two small syncs for each of it; so many are lost in a crash.
const LEASE: u64 = 1 << 22;

impl Hyper {
    /// Position up to which the log is durable; in memory, the greatest.
    #[inline]
    pub(super) fn durable_position(&self) -> LogPosition {
        self.log.as_ref().map_or(LogPosition::from_raw(u64::MAX), Log::durable)
    }

    /// Refuses work on a failed log (design, rule 4).
    pub(super) fn check_log(&self) -> Result<()> {
        match self.log.as_ref().and_then(Log::failed) {
            None => Ok(()),
            Some(error) => Err(Fault::LogFailed { detail: error.to_string() }.into()),
        }
    }

    /// Returns why nothing can be written at present: the disk has been full since the database was opened and no append has found
    /// space since, or the log has failed.
    pub fn refuses_writes(&self) -> Option<Error> {
        let log = self.log.as_ref()?;
        self.check_log().err().or_else(|| log.refused().map(Error::from))
    }

    /// Appends the record of a definition; `None` if the log has no room for it at once. Whoever changes the list of tables keeps others
    /// from it, and does not wait for a disk meanwhile.
    pub(super) fn log_definition(&self, record: &[u8]) -> Result<Option<LogPosition>> {
        let Some(log) = &self.log else { return Ok(Some(LogPosition::ZERO)) };
        match log.append_within(self.order.now(), record, Durability::Fsync, &|| Some(Duration::ZERO)) {
            Err(LogError::Interrupted) => Ok(None),
            appended => Ok(Some(appended?)),
        }
    }

    /// Waits until the log has room for the record of a definition.
    pub(super) fn await_room(&self, bytes: usize, supervisor: Option<&dyn Supervisor>) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        log_wait(log, (supervisor, Timestamp::ZERO), |caller| log.await_room(bytes, caller))
    }

    /// Has a ceiling above a timestamp be durable before anybody learns the timestamp: a restart begins above it.
    #[inline]
    pub(super) fn check_ceiling(&self, core: &Core, at: u64) -> Result<()> {
        if at < self.renew_at.load(Acquire) { Ok(()) } else { self.renew_ceiling(core, at) }
    }

    #[cold]
    fn renew_ceiling(&self, core: &Core, at: u64) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        if at >= log.ceiling() {
            core.log_wait(log, |caller| log.cover(at, at.saturating_add(LEASE), caller))?;
        }
        let ceiling = log.ceiling();
        assert!(at < ceiling, "no timestamp is used before a ceiling above it is durable");
        let renew_at = ceiling.saturating_sub(LEASE / 2);
        if at < renew_at {
            self.renew_at.fetch_max(renew_at, Release);
        } else {
            log.raise_ceiling_ahead(ceiling.saturating_add(LEASE));
        }
        Ok(())
    }

    /// Waits until the log has room for the transaction's record, which is encoded if it is no large one; a large one's is returned.
    /// Before the commit timestamp is drawn, since readers wait for whoever has drawn it.
    pub(super) fn prepare_record(&self, core: &mut Core) -> Result<Option<LargeRoom>> {
        let Some(log) = &self.log else { return Ok(None) };
        self.check_log()?;
        let worker = core.worker();
        let mut record = std::mem::take(&mut worker.record);
        let next = redo::encode_writes(self, &mut record, &worker.writes, 0, log.part_bytes());
        worker.record = record;
        worker.next_part = next;
        if next.is_none() {
            let bytes = worker.record.len();
            return core.log_wait(log, |caller| log.await_room(bytes, caller)).map(|()| None);
        }
        let (size, least) = (redo::encoded_size(self, &worker.writes), log.part_bytes());
        core.log_wait(log, |caller| log.reserve_large(size.all, size.largest.max(least), caller)).map(Some)
    }

    /// Appends the record of a transaction that is validated, a large one where it has room.
    ///
    /// # Errors
    /// Nothing was appended.
    pub(super) fn append(&self, core: &mut Core, commit: &Commit, room: Option<LargeRoom>) -> Result<LogPosition> {
        let Some(log) = &self.log else { return Ok(LogPosition::ZERO) };
        let mut record = std::mem::take(&mut core.worker().record);
        let (next, durability) = (core.worker().next_part, core.durability(self));
        let appended = core.log_wait(log, |caller| match room.zip(next) {
            None => log.append_within(commit.at, &record, durability, caller),
            Some((room, next)) => {
                let mut large = room.begin(commit.at, caller);
                self.append_parts(&mut large, commit, &mut record, next, log.part_bytes())?;
                large.finish(&record, durability)
            }
        });
        core.worker().record = record;
        appended
    }

    /// Appends the first part, which is in `record`, and those that follow from a write on; leaves the last part in `record`.
    fn append_parts(
        &self,
        large: &mut LargeRecord<'_>,
        commit: &Commit,
        record: &mut Vec<u8>,
        next: usize,
        part_bytes: usize,
    ) -> std::result::Result<(), LogError> {
        let mut next = Some(next);
        while let Some(from) = next {
            large.append(record)?;
            next = redo::encode_writes(self, record, &commit.writes, from, part_bytes);
        }
        Ok(())
    }
}

impl Core {
    /// What its acknowledgement waits for.
    pub fn durability(&self, engine: &Hyper) -> Durability {
        self.how.durability.unwrap_or(engine.options.durability)
    }

    /// The position to wait for, by the durability that was asked for: zero if there is none.
    pub fn to_await(&self, engine: &Hyper, position: LogPosition) -> LogPosition {
        if self.durability(engine) == Durability::Fsync { position } else { LogPosition::ZERO }
    }

    /// Calls the log, which may wait for its disk for no longer than the supervisor lets it.
    pub fn log_wait<T>(
        &self,
        log: &Log,
        call: impl FnOnce(CallersWaitLimit<'_>) -> std::result::Result<T, LogError>,
    ) -> Result<T> {
        log_wait(log, (self.supervisor.as_deref(), self.name), call)
    }
}

/// Calls the log for a transaction, or for a definition without one: it may wait for its disk for no longer than the supervisor lets it.
fn log_wait<T>(
    log: &Log,
    (supervisor, name): (Option<&dyn Supervisor>, Timestamp),
    call: impl FnOnce(CallersWaitLimit<'_>) -> std::result::Result<T, LogError>,
) -> Result<T> {
    let Some(supervisor) = supervisor else { return Ok(call(&|| None)?) };
    let attended = OnceCell::new();
    let called = call(&|| {
        attended.get_or_init(|| {
            supervisor.log_wait_begins(log.waker());
            Watched(Some(supervisor))
        });
        supervisor.wait_limit()
    });
    called.map_err(|error| match error {
        LogError::Interrupted => Error::Unavailable(Box::new(Reason::Interrupted.abort_of(name))),
        error => error.into(),
    })
}

impl Reason {
    /// An abort without a place.
    pub(crate) fn abort_of(self, transaction: Timestamp) -> model::Abort {
        model::Abort {
            class: self.class(),
            rule: self.rule(),
            explanation: self.explanation(),
            table: None,
            target: model::Target::None,
            transaction,
            other: None,
            met: None,
        }
    }
}

impl<H: Deref<Target = Hyper>> Transaction<H> {
    /// Aborts the transaction for a reason that is none of the protocol's.
    pub(super) fn fail_with(&mut self, error: Error) -> Error {
        let error = error.into_abort();
        self.core.poison = Some(error.clone());
        self.engine.roll_back(&mut self.core, None);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Driver, LogOptions, Options};
    use env::{SimDisk, SimDiskOptions};
    use model::{Access, Begin, Finish, Interactive, Key, RowBuf, Schema};
    use std::sync::Arc;

    /// A start that moves is a place in the serial order: after a restart nobody gets it again.
    #[test]
    fn starts_move_below_the_ceiling_only() {
        let log = LogOptions { driver: Driver::Caller, ..LogOptions::default() };
        let disk = Arc::new(SimDisk::new(1, SimDiskOptions::default()));
        let engine = Hyper::open(disk, Options { log, ..Options::default() }).expect("a new database");
        let table =
            engine.create_table(Schema::bytes("t").u64_key().build().expect("a good schema")).expect("a new table");
        let row = RowBuf::from_bytes(&[7]);
        let write = |open: &mut Transaction<&Hyper>| open.put(table, &Key::from_u64(1), row.row());
        let begin = || {
            let mut open = engine.begin(Begin::default()).expect("room for one more");
            open.start().expect("a good disk");
            open
        };
        let (mut moving, mut other) = (begin(), begin());
        write(&mut other).expect("nobody in the way");
        other.commit().expect("nobody in the way");
        let ceiling = engine.log.as_ref().expect("it has one").ceiling();
        while engine.order.draw() < ceiling {}
        write(&mut moving).expect("its start moves");
        assert!(moving.core.start() > ceiling);
        assert!(moving.core.start() < engine.log.as_ref().expect("it has one").ceiling());
    }
}
